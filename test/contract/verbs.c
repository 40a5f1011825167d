/* SPDX-License-Identifier: MIT
 *
 * verbs.c - the contract between the core and a store, verb by verb.
 *
 * The rest of the suite looks at what users see; some promises the core needs
 * do not show there until something goes wrong: that asking twice is safe, and
 * that a request which arrives late harms nobody. */
#include "client.h"
#include "contract.h"

#include <stdio.h>
#include <string.h>

static hf_backend *be;
static hf_error err;

static hf_client *client;

/* A handle is made so that there is a permit where one is wanted. */
static void open_store(void) {
    client = hf_contract_open(NULL);
    hf_test_lock(client, "x", NULL);
    be = client->be;
}

/* Owners are numbers of this client's; the core itself has used none. */
static hf_claim claim_of(uint64_t owner) {
    hf_claim c = {.name = "x",
                  .kind = hf_test_kind,
                  .mode = hf__mode(hf_test_kind),
                  .permits = 1,
                  .owner = owner,
                  .lease_ms = 30000};
    memcpy(c.nonce, &owner, sizeof owner);
    return c;
}

static int attempt(hf_claim *c, bool waits) {
    return be->ops->attempt(be, c, waits, hf__after_ms(HF_TEST_LONG), &err);
}

static int release(hf_claim *c) {
    return be->ops->release(be, c, HF_RELEASE, NULL, hf__after_ms(HF_TEST_LONG),
                            &err);
}

static int renew(hf_claim *c) {
    c->result = HF_EDOUBT;
    int rc = be->ops->renew(be, &c, 1, hf__after_ms(HF_TEST_LONG), &err);
    return rc != HF_OK ? rc : c->result;
}

static void watch(hf_claim *c, bool on) {
    assert_int_equal(
        be->ops->watch(be, c, on, hf__after_ms(HF_TEST_LONG), &err), HF_OK);
}

static bool line_is(int holders, int waiters) {
    return hf_test_holders(client, "x") == holders &&
           hf_test_waiters(client, "x") == waiters;
}

void who_holds_and_asks_again_gets_the_same_grant(void **state) {
    (void)state;
    open_store();
    hf_claim c = claim_of(1001), again = claim_of(1001);
    c.lease_ms = 1000;
    assert_int_equal(attempt(&c, false), HF_OK);
    assert_int_equal(attempt(&again, true), HF_OK);
    assert_true(again.token == c.token);
    assert_true(line_is(1, 0));
    hf_test_throughout(line_is(1, 0), 1200); /* with a fresh lease */
    assert_int_equal(release(&c), HF_OK);
    assert_true(line_is(0, 0));
}

void who_is_refused_learns_when_to_ask_again(void **state) {
    (void)state;
    open_store();
    hf_claim c = claim_of(1001), other = claim_of(1002);
    assert_int_equal(attempt(&c, false), HF_OK);
    hf_time before = hf__now();
    assert_int_equal(attempt(&other, false), HF_BUSY);
    assert_true(other.ask_again >= before);
    assert_true(other.ask_again <= hf__now() + 31 * HF_SECOND);
    assert_true(line_is(1, 0)); /* a try takes no place */
}

void release_may_be_called_twice_and_for_nothing(void **state) {
    (void)state;
    open_store();
    hf_claim c = claim_of(1001), never = claim_of(1002);
    assert_int_equal(attempt(&c, false), HF_OK);
    assert_int_equal(release(&c), HF_OK);
    assert_int_equal(release(&c), HF_ELOST);
    assert_int_equal(release(&never), HF_ELOST);
    assert_true(line_is(0, 0));
}

void release_is_the_way_out_of_the_line_too(void **state) {
    (void)state;
    open_store();
    hf_claim holder = claim_of(1001), waiter = claim_of(1002);
    hf_claim next = claim_of(1003);
    assert_int_equal(attempt(&holder, false), HF_OK);
    assert_int_equal(attempt(&waiter, true), HF_BUSY);
    int rc = release(&waiter);
    assert_true(rc == HF_OK || rc == HF_ELOST);
    assert_true(line_is(1, 0));
    assert_int_equal(release(&holder), HF_OK);
    assert_int_equal(attempt(&next, false), HF_OK);
}

void where_order_is_kept_nobody_overtakes(void **state) {
    (void)state;
    open_store();
    hf_claim holder = claim_of(1001), waiter = claim_of(1002);
    hf_claim late = claim_of(1003);
    if (!(be->ops->can(be, hf_test_kind) & HF_CAN_ORDER))
        return; /* it does not promise to */
    assert_int_equal(attempt(&holder, false), HF_OK);
    assert_int_equal(attempt(&waiter, true), HF_BUSY);
    watch(&waiter, true); /* as the core does: who does not is taken for gone */
    assert_true(line_is(1, 1));
    assert_int_equal(release(&holder), HF_OK);
    assert_int_equal(attempt(&late, false), HF_BUSY);
    assert_int_equal(attempt(&waiter, true), HF_OK);
    assert_true(waiter.token > holder.token);
    watch(&waiter, false);
}

/* Every grant has an owner of its own, so that what belongs to an earlier one
 * finds nothing. */
void what_belongs_to_an_earlier_grant_comes_too_late(void **state) {
    (void)state;
    open_store();
    hf_claim earlier = claim_of(1001), c = claim_of(1002);
    assert_int_equal(attempt(&earlier, false), HF_OK);
    assert_int_equal(release(&earlier), HF_OK);
    assert_int_equal(attempt(&c, false), HF_OK);
    assert_int_equal(release(&earlier), HF_ELOST);
    assert_int_equal(renew(&earlier), HF_ELOST);
    assert_int_equal(renew(&c), HF_OK);
    assert_true(line_is(1, 0));
}

void renewal_never_brings_back_what_has_ended(void **state) {
    (void)state;
    open_store();
    hf_claim c = claim_of(1001), other = claim_of(1002);
    c.lease_ms = 50;
    assert_int_equal(attempt(&c, false), HF_OK);
    hf_test_eventually(attempt(&other, false) == HF_OK, HF_TEST_LONG);
    c.lease_ms = 30000;
    assert_int_equal(renew(&c), HF_ELOST);
    assert_int_equal(renew(&other), HF_OK);
    assert_true(other.token > c.token);
}

/* As the core would: what is tied to a session does not wait for ever. */
static void keep_alive(hf_claim *const *claims, size_t n) {
    assert_int_equal(
        be->ops->renew(be, claims, n, hf__after_ms(HF_TEST_LONG), &err), HF_OK);
}

void renewal_answers_for_every_claim(void **state) {
    (void)state;
    enum { N = 200 };
    open_store();
    static char names[N][16];
    static hf_claim claims[N];
    hf_claim *all[N];
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "x%d", i);
        claims[i] = claim_of(1001);
        claims[i].name = names[i];
        hf_test_free(hf_test_lock(client, names[i], NULL));
        all[i] = &claims[i];
        if (i % 3 != 0) /* the others are not held */
            assert_int_equal(attempt(&claims[i], false), HF_OK);
        if (i % 20 == 19)
            keep_alive(all, (size_t)i + 1);
    }
    for (int i = 0; i < N; i++)
        claims[i].result = HF_EDOUBT;
    assert_int_equal(
        be->ops->renew(be, all, N, hf__after_ms(HF_TEST_LONG), &err), HF_OK);
    for (int i = 0; i < N; i++)
        assert_int_equal(claims[i].result, i % 3 != 0 ? HF_OK : HF_ELOST);
}
