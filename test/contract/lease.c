/* SPDX-License-Identifier: MIT
 *
 * lease.c - how long a hold lasts: fixed, kept alive, extended, left behind. */
#include "contract.h"

#include <unistd.h>

/* A watchdog's lease short enough that three of them fit into a test. */
#define KEPT_ALIVE HF_LOCK_WITH(.watchdog_ms = 2000, .renew_ms = 100)

static hf_lock *other_lock(const char *name) {
    return hf_test_lock(hf_contract_open(NULL), name, NULL);
}

void a_fixed_lease_ends_without_renewal(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(client, "x", HF_LOCK_WITH(.lease_ms = 300));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_in_range(hf_lock_remaining_ms(a), 1, 300);
    hf_test_eventually(!hf_lock_is_held(a), HF_TEST_LONG);
    assert_int_equal(hf_lock_remaining_ms(a), 0);
    assert_int_equal(hf_lock_holds(a), 0);
    assert_int_equal(hf_lock_owner(a, NULL, 0), 0);
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    hf_test_eventually(hf_test_holders(client, "x") == 0, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_acquire(other_lock("x"), HF_TEST_LONG, ERR));
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
}

void the_watchdog_keeps_a_lock_through_three_leases(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x", KEPT_ALIVE);
    hf_lock *b = other_lock("x");
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    hf_test_throughout(hf_lock_is_held(a) && hf_lock_try(b, ERR) == HF_BUSY,
                       3 * 2000);
    assert_false(hf_test_is_told(a));
    assert_true(hf_lock_token(a) == token);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
}

static void *be_busy(void *arg) {
    atomic_bool *stop = arg;
    while (!atomic_load(stop))
        ;
    return NULL;
}

/* Redisson#5697, #5698: renewals stood in one queue with all other work. */
void two_busy_processors_do_not_starve_the_watchdog(void **state) {
    (void)state;
    pthread_t busy[4];
    atomic_bool stop = false;
    hf_lock *a =
        hf_test_lock(hf_contract_open(NULL), "x",
                     HF_LOCK_WITH(.watchdog_ms = 1500, .renew_ms = 100));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    for (int i = 0; i < 4; i++)
        pthread_create(&busy[i], NULL, be_busy, &stop);
    int64_t by = hf_test_now_ms() + 2500;
    while (hf_lock_is_held(a) && hf_test_now_ms() < by)
        hf_test_breathe();
    bool held = hf_lock_is_held(a);
    atomic_store(&stop, true);
    for (int i = 0; i < 4; i++)
        pthread_join(busy[i], NULL);
    assert_true(held);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

/* What is left behind under the name must run out, although the client that
 * would renew it still lives. */
void nothing_is_renewed_after_its_release(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(client, "x", KEPT_ALIVE), *b = other_lock("x");
    for (int i = 0; i < 50; i++) {
        hf_expect(HF_OK, hf_lock_try(a, ERR));
        hf_expect(HF_OK, hf_lock_release(a, ERR));
    }
    assert_int_equal(hf_test_holders(client, "x"), 0);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release_after(a, 2000, ERR));
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
}

void freeing_the_handle_releases_the_lock(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_lock *b = other_lock("x");
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    if (hf_test_kind != HF_PERMIT)
        hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_free(a);
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
}

void extend_counts_the_lease_from_now(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x",
                              HF_LOCK_WITH(.lease_ms = 1500));
    hf_lock *b = other_lock("x");
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_extend(a, 30000, ERR));
    int longest = hf_contract_believed(30000);
    assert_in_range(hf_lock_remaining_ms(a), longest < 30000 ? 1 : 20000,
                    longest);
    hf_test_throughout(hf_lock_is_held(a) && hf_lock_try(b, ERR) == HF_BUSY,
                       1700);
    hf_expect(HF_OK, hf_lock_extend(a, 300, ERR)); /* shorter, too */
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_false(hf_lock_is_held(a));
}

void extend_after_the_end_says_lost(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x",
                              HF_LOCK_WITH(.lease_ms = 100));
    hf_lock *b = other_lock("x");
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    hf_expect(HF_ELOST, hf_lock_extend(a, 1000, ERR));
    assert_false(hf_lock_is_held(a));
    assert_true(hf_lock_is_held(b));
}

void re_entry_leaves_the_lease_as_it_was(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x",
                              HF_LOCK_WITH(.lease_ms = 10000));
    for (int i = 0; i < 3; i++)
        hf_expect(HF_OK, hf_lock_try(a, ERR));
    for (int i = 0; i < 2; i++)
        hf_expect(HF_OK, hf_lock_release(a, ERR));
    assert_in_range(hf_lock_remaining_ms(a), 1, 10000);
    assert_int_equal(hf_lock_holds(a), 1);
}

void a_shorter_lease_inside_a_longer_one_does_not_end_it(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(client, "x", HF_LOCK_WITH(.lease_ms = 20000));
    hf_lock *inner = hf_test_lock(client, "x", HF_LOCK_WITH(.lease_ms = 200));
    hf_lock *b = other_lock("x");
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_try(inner, ERR)); /* the same owner */
    hf_test_throughout(hf_lock_is_held(a) && hf_lock_try(b, ERR) == HF_BUSY,
                       500);
    hf_expect(HF_OK, hf_lock_release(inner, ERR));
    assert_true(hf_lock_remaining_ms(a) > hf_contract_believed(20000) - 10000);
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
}

void release_after_keeps_others_out_for_that_long(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(client, "x", NULL), *b = other_lock("x");
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_release_after(a, 2000, ERR));
    assert_false(hf_lock_is_held(a));
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_in_range(hf_test_now_ms() - began, 1980, HF_TEST_LONG);
    assert_true(hf_lock_token(b) > token);
}

void the_longest_hold_allowed_ends_the_hold(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(
        hf_contract_open(NULL), "x",
        HF_LOCK_WITH(.watchdog_ms = 600, .renew_ms = 100, .max_hold_ms = 300));
    hf_lock *b = other_lock("x");
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_false(hf_lock_is_held(a));
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    assert_true(hf_lock_is_held(b));
}

void what_the_holder_may_ask_is_nothing_when_it_does_not_hold(void **state) {
    (void)state;
    char owner[128] = "unset";
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    assert_false(hf_lock_is_held(a));
    assert_int_equal(hf_lock_remaining_ms(a), 0);
    assert_int_equal(hf_lock_holds(a), 0);
    assert_true(hf_lock_token(a) == 0);
    assert_int_equal(hf_lock_owner(a, owner, sizeof owner), 0);
    assert_string_equal(owner, "");
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_in_range(hf_lock_remaining_ms(a), 1000, 30000);
    assert_true(hf_lock_token(a) > 0);
    assert_true(hf_lock_owner(a, owner, sizeof owner) > 0);
    assert_string_not_equal(owner, "");
}
