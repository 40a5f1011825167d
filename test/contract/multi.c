/* SPDX-License-Identifier: MIT
 *
 * multi.c - several locks as one: all of them or none, one deadline, one
 * answer.
 *
 * Somebody else is a client of his own, with a lock on each of the names. */
#include "contract.h"

#include "backend/fault.h"
#include "support/dir.h"
#include "support/guarded.h"
#include "world.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT_ALIVE HF_LOCK_WITH(.watchdog_ms = 2000, .renew_ms = 50)
#define BY_HANDLE  HF_LOCK_WITH(.flags = HF_OWNER_HANDLE)

enum { NAMES = 3, LATE = 4000 };
static const char *const names[NAMES] = {"a", "b", "c"};

typedef struct trio {
    hf_client *client;
    hf_lock *a, *b, *c;
    hf_lock *all; /* the multi-lock of them, unless they are somebody else's */
} trio;

static trio trio_of(hf_client *client, const hf_lock_options *options) {
    trio t = {.client = client};
    t.a = hf_test_lock(client, names[0], options);
    t.b = hf_test_lock(client, names[1], options);
    t.c = hf_test_lock(client, names[2], options);
    return t;
}

static trio somebody_else(void) {
    return trio_of(hf_contract_open(NULL), NULL);
}

static trio several(const hf_lock_options *options) {
    trio t = trio_of(hf_contract_open(NULL), options);
    t.all = HF_MULTI_OF(t.c, t.a, t.b);
    return t;
}

static bool is_free(hf_client *client, const char *name) {
    return hf_test_holders(client, name) == 0 &&
           hf_test_waiters(client, name) == 0;
}

static bool all_are_free(hf_client *client) {
    for (int i = 0; i < NAMES; i++)
        if (!is_free(client, names[i]))
            return false;
    return true;
}

static void refused(int code, int got, const char *word) {
    hf_expect(code, got);
    assert_int_equal(ERR->code, code);
    if (strstr(ERR->text, word) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", ERR->text, word);
}

/* ---- all or none ------------------------------------------------------- */

void a_multi_lock_holds_all_of_its_members(void **state) {
    (void)state;
    char owner[128] = "something";
    trio t = several(NULL), other = somebody_else();
    assert_string_equal(hf_lock_name(t.all), "a + b + c");
    assert_false(hf_lock_is_held(t.all));
    assert_int_equal(hf_lock_remaining_ms(t.all), 0);
    hf_expect(HF_OK, hf_lock_acquire(t.all, HF_TEST_LONG, ERR));
    assert_true(hf_lock_is_held(t.all));
    assert_int_equal(hf_lock_holds(t.all), 1);
    assert_in_range(hf_lock_remaining_ms(t.all), 1, 30000);
    assert_true(hf_lock_token(t.all) == 0);
    assert_int_equal(hf_lock_owner(t.all, owner, sizeof owner), 0);
    assert_string_equal(owner, "");
    assert_true(hf_lock_token(t.b) > 0); /* members may be asked */
    hf_expect(HF_BUSY, hf_lock_try(other.a, ERR));
    hf_expect(HF_BUSY, hf_lock_try(other.b, ERR));
    hf_expect(HF_BUSY, hf_lock_try(other.c, ERR));
    hf_expect(HF_OK, hf_lock_release(t.all, ERR));
    assert_false(hf_lock_is_held(t.all));
    assert_true(all_are_free(t.client));
    hf_expect(HF_ENOT_OWNER, hf_lock_release(t.all, ERR));
    assert_non_null(strstr(ERR->text, "a + b + c"));
}

void who_cannot_have_all_has_none(void **state) {
    (void)state;
    trio t = several(NULL), other = somebody_else();
    hf_lock *const busy[] = {other.a, other.b, other.c};
    for (int i = 0; i < NAMES; i++) {
        char quoted[8];
        snprintf(quoted, sizeof quoted, "'%s'", names[i]);
        hf_expect(HF_OK, hf_lock_try(busy[i], ERR));
        hf_expect(HF_BUSY, hf_lock_try(t.all, ERR));
        assert_int_equal(hf_test_holders(t.client, NULL), 1);
        refused(HF_ETIMEOUT, hf_lock_acquire(t.all, 100, ERR), quoted);
        assert_int_equal(hf_test_holders(t.client, NULL), 1);
        assert_false(hf_lock_is_held(t.all));
        hf_expect(HF_OK, hf_lock_release(busy[i], ERR));
    }
    hf_expect(HF_OK, hf_lock_try(t.all, ERR));
}

void a_multi_lock_waits_for_the_member_that_is_busy(void **state) {
    (void)state;
    hf_test_thread waiter;
    trio t = several(NULL), other = somebody_else();
    hf_expect(HF_OK, hf_lock_try(other.b, ERR));
    hf_test_begin(&waiter, t.all, HF_FOREVER);
    assert_false(atomic_load(&waiter.answered));
    assert_int_equal(hf_test_holders(t.client, "c"), 0); /* b comes first */
    hf_expect(HF_OK, hf_lock_release(other.b, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_BUSY, hf_lock_try(other.a, ERR));
    hf_expect(HF_BUSY, hf_lock_try(other.c, ERR));
    hf_expect(HF_OK, hf_test_end(&waiter));
    assert_true(all_are_free(t.client));
}

/* The members are waited for one after the other, but not each for so long. */
void a_wait_for_several_has_one_deadline(void **state) {
    (void)state;
    enum { WAIT = 900 };
    hf_test_thread waiter;
    trio t = several(NULL), other = somebody_else();
    hf_expect(HF_OK, hf_lock_try(other.a, ERR));
    hf_expect(HF_OK, hf_lock_try(other.c, ERR));
    hf_test_begin(&waiter, t.all, WAIT);
    hf_expect(HF_OK, hf_lock_release(other.a, ERR));
    hf_expect(HF_ETIMEOUT, hf_test_answer(&waiter));
    assert_non_null(strstr(waiter.err.text, "'c'"));
    assert_in_range(waiter.took_ms, WAIT, WAIT + LATE);
    hf_test_end(&waiter);
    hf_expect(HF_OK, hf_lock_release(other.c, ERR));
    assert_true(all_are_free(t.client));
}

static uint64_t last_token(hf_lock *lock) {
    uint64_t token = 0;
    hf_expect(HF_OK, hf_lock_last_token(lock, &token, ERR));
    return token;
}

/* So that nobody waits for ever for somebody who waits for him; and whoever has
 * got the last one first keeps it no longer than it takes to ask for the
 * others. */
void who_waits_for_one_does_not_keep_the_others_for_ever(void **state) {
    (void)state;
    hf_test_thread waiter;
    trio t = several(NULL), other = somebody_else(), third = somebody_else();
    hf_expect(HF_OK, hf_lock_try(other.c, ERR));
    uint64_t token = hf_lock_token(other.c);
    hf_test_begin(&waiter, t.all, HF_FOREVER);
    hf_test_eventually(!is_free(t.client, "a"), HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_acquire(third.a, HF_TEST_LONG, ERR));
    assert_false(atomic_load(&waiter.answered));
    hf_expect(HF_OK, hf_lock_release(other.c, ERR));
    hf_test_eventually(last_token(other.c) > token, HF_TEST_LONG);
    hf_test_eventually(is_free(t.client, "c"), HF_CONTRACT_SOON);
    assert_false(atomic_load(&waiter.answered));
    hf_expect(HF_OK, hf_lock_release(third.a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    assert_true(all_are_free(t.client));
}

/* ---- under load -------------------------------------------------------- */

typedef struct runner {
    pthread_t thread;
    hf_lock *all;
    hf_test_guarded *g;
    int rounds;
} runner;

static void *visit(void *arg) {
    enum { PATIENCE = 60000 };
    runner *r = arg;
    for (int i = 0; i < r->rounds; i++) {
        if (hf_lock_acquire(r->all, PATIENCE, NULL) != HF_OK) {
            atomic_fetch_add(&r->g->failures, 1);
            continue;
        }
        hf_test_guarded_visit(r->g, 0);
        if (hf_lock_release(r->all, NULL) != HF_OK)
            atomic_fetch_add(&r->g->failures, 1);
    }
    return NULL;
}

/* Every pair of them has a member in common, and each names it in another
 * place. */
void overlapping_multi_locks_get_through_and_lose_nothing(void **state) {
    (void)state;
    enum { RUNNERS = 6, ROUNDS = 15 };
    char path[160];
    runner all[RUNNERS];
    hf_client *clients[] = {hf_contract_open(NULL), hf_contract_open(NULL)};
    hf_test_fresh_path(path, sizeof path, "counter");
    hf_test_guarded *g = hf_test_guarded_map(path);
    assert_non_null(g);
    for (int i = 0; i < RUNNERS; i++) {
        trio t = trio_of(clients[i % 2], NULL);
        all[i] = (runner){.g = g, .rounds = ROUNDS};
        all[i].all = i % 3 == 0 ? HF_MULTI_OF(t.a, t.b) :
                     i % 3 == 1 ? HF_MULTI_OF(t.b, t.c, t.a) :
                                  HF_MULTI_OF(t.c, t.b);
    }
    for (int i = 0; i < RUNNERS; i++)
        assert_int_equal(pthread_create(&all[i].thread, NULL, visit, &all[i]),
                         0);
    for (int i = 0; i < RUNNERS; i++)
        pthread_join(all[i].thread, NULL);
    assert_int_equal(g->failures, 0);
    assert_int_equal(g->overlaps, 0);
    assert_int_equal(g->counter, RUNNERS * ROUNDS);
    assert_true(all_are_free(clients[0]));
    hf_test_guarded_unmap(g);
}

/* ---- errors ------------------------------------------------------------ */

/* a and c are in trouble of their own, b is not. */
static trio troubled(hf_backend *be[2]) {
    trio t = {.client = hf_contract_open(NULL)};
    t.a = hf_test_lock(hf_contract_open_troubled(&be[0]), "a", NULL);
    t.b = hf_test_lock(t.client, "b", NULL);
    t.c = hf_test_lock(hf_contract_open_troubled(&be[1]), "c", NULL);
    t.all = HF_MULTI_OF(t.a, t.b, t.c);
    return t;
}

void a_member_that_fails_is_named_and_nothing_is_left(void **state) {
    (void)state;
    hf_backend *be[2];
    trio t = troubled(be);
    hf__fault_set(be[1], HF_VERB_ATTEMPT, HF_TROUBLE_UNSENT, 1);
    refused(HF_EDOWN, hf_lock_try(t.all, ERR), "'c'");
    assert_true(all_are_free(t.client));
    hf__fault_set(be[0], HF_VERB_ATTEMPT, HF_TROUBLE_UNANSWERED, 1);
    refused(HF_EDOUBT, hf_lock_try(t.all, ERR), "'a'");
    hf_test_eventually(all_are_free(t.client), HF_TEST_LONG);
    hf__fault_set(be[1], HF_VERB_ATTEMPT, HF_TROUBLE_UNSENT, 2);
    hf_expect(HF_OK, hf_lock_acquire(t.all, HF_TEST_LONG, ERR)); /* it passes */
}

/* Not any longer than by a lock alone, but without keeping the others. */
void a_member_whose_store_is_away_is_waited_for(void **state) {
    (void)state;
    hf_backend *be;
    hf_test_thread waiter;
    hf_lock *all =
        HF_MULTI_OF(hf_test_lock(hf_contract_open(NULL), "a", NULL),
                    hf_test_lock(hf_contract_open_troubled(&be), "c", NULL));
    trio other = somebody_else();
    hf__fault_set(be, HF_VERB_ATTEMPT, HF_TROUBLE_UNSENT, -1);
    hf_test_begin(&waiter, all, HF_FOREVER);
    hf_test_eventually(hf__fault_calls(be, HF_VERB_ATTEMPT) > 0, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_acquire(other.a, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_release(other.a, ERR));
    assert_false(atomic_load(&waiter.answered));
    hf__fault_set(be, HF_VERB_ATTEMPT, HF_TROUBLE_NONE, 0);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

void every_member_that_is_not_released_is_told_of(void **state) {
    (void)state;
    hf_backend *be[2];
    trio t = troubled(be);
    hf_expect(HF_OK, hf_lock_try(t.all, ERR));
    hf__fault_set(be[0], HF_VERB_RELEASE, HF_TROUBLE_UNANSWERED, 1);
    hf__fault_set(be[1], HF_VERB_RELEASE, HF_TROUBLE_UNSENT, 1);
    refused(HF_EDOUBT, hf_lock_release(t.all, ERR), "'c' DOWN");
    assert_non_null(strstr(ERR->text, "'a' DOUBT"));
    assert_null(strstr(ERR->text, "'b'"));
    assert_true(is_free(t.client, "b"));
    assert_false(hf_lock_is_held(t.all));
    hf_test_eventually(all_are_free(t.client), HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_try(t.all, ERR));
    hf__fault_set(be[1], HF_VERB_RENEW, HF_TROUBLE_UNSENT, 1);
    refused(HF_EDOWN, hf_lock_extend(t.all, 20000, ERR), "'c'");
    assert_true(hf_lock_is_held(t.all));
}

/* ---- loss -------------------------------------------------------------- */

/* Written on the library's threads. */
typedef struct ear {
    atomic_int held, doubt, lost, why;
    int released; /* what release from the callback said */
} ear;

static void hear(void *arg, hf_lock *lock, hf_state state, int why) {
    ear *e = arg;
    (void)lock;
    atomic_store(&e->why, why);
    atomic_fetch_add(state == HF_STATE_HELD  ? &e->held :
                     state == HF_STATE_DOUBT ? &e->doubt :
                                               &e->lost,
                     1);
}

static void hear_and_release(void *arg, hf_lock *lock, hf_state state,
                             int why) {
    ear *e = arg;
    e->released = hf_lock_release(lock, NULL);
    hf_lock_on_state(lock, NULL, NULL);
    hear(arg, lock, state, why);
}

void a_multi_lock_is_lost_as_soon_as_one_member_is(void **state) {
    (void)state;
    ear e = {0};
    trio t = several(KEPT_ALIVE), other = somebody_else();
    hf_lock_on_state(t.all, hear, &e);
    assert_false(hf_test_is_told(t.all));
    hf_expect(HF_OK, hf_lock_try(t.all, ERR));
    hf_expect(HF_OK, hf_lock_force_release(other.b, NULL, ERR));
    hf_test_eventually(atomic_load(&e.lost) == 1, HF_TEST_LONG);
    assert_int_equal(atomic_load(&e.why), HF_ELOST);
    assert_false(hf_lock_is_held(t.all));
    assert_int_equal(hf_lock_holds(t.all), 0);
    assert_int_equal(hf_lock_remaining_ms(t.all), 0);
    assert_true(hf_test_is_told(t.all));
    if (!hf_contract_under_test.bundled) {
        assert_true(hf_lock_is_held(t.a)); /* they wait for the release */
        hf_expect(HF_BUSY, hf_lock_try(other.c, ERR));
    }
    const char *lost = hf_contract_under_test.bundled ? "lost" : "'b'";
    refused(HF_ELOST, hf_lock_try(t.all, ERR), lost);
    refused(HF_ELOST, hf_lock_extend(t.all, 20000, ERR), lost);
    refused(HF_ELOST, hf_lock_release(t.all, ERR), lost);
    assert_false(hf_test_is_told(t.all));
    assert_true(all_are_free(t.client));
    hf_expect(HF_OK, hf_lock_try(t.all, ERR));
    hf_test_throughout(hf_lock_is_held(t.all), 200);
    assert_int_equal(atomic_load(&e.lost), 1);
    /* Nothing else, unless the store had no time to answer. */
    assert_true(atomic_load(&e.held) <= atomic_load(&e.doubt));
}

/* Each member has a client of its own, so that the news come on three
 * threads. */
void members_lost_together_are_one_loss(void **state) {
    (void)state;
    ear e = {0};
    hf_lock *members[NAMES];
    trio other = somebody_else();
    for (int i = 0; i < NAMES; i++)
        members[i] = hf_test_lock(hf_contract_open(NULL), names[i], KEPT_ALIVE);
    hf_lock *all = hf_test_multi(members, NAMES);
    hf_lock_on_state(all, hear, &e);
    for (int round = 1; round <= 3; round++) {
        hf_expect(HF_OK, hf_lock_try(all, ERR));
        hf_expect(HF_OK, hf_lock_force_release(other.c, NULL, ERR));
        hf_expect(HF_OK, hf_lock_force_release(other.a, NULL, ERR));
        hf_expect(HF_OK, hf_lock_force_release(other.b, NULL, ERR));
        for (int i = 0; i < NAMES; i++)
            hf_test_eventually(!hf_lock_is_held(members[i]), HF_TEST_LONG);
        hf_test_eventually(atomic_load(&e.lost) == round, HF_TEST_LONG);
        hf_expect(HF_ELOST, hf_lock_release(all, ERR));
        assert_non_null(strstr(ERR->text, "'c' LOST, 'b' LOST, 'a' LOST"));
        assert_false(hf_test_is_told(all));
        assert_int_equal(atomic_load(&e.lost), round);
    }
}

void one_member_in_doubt_puts_all_in_doubt(void **state) {
    (void)state;
    ear e = {0};
    hf_backend *be[2];
    hf_lock *members[NAMES];
    for (int i = 0; i < NAMES; i++)
        members[i] = hf_test_lock(
            i < 2 ? hf_contract_open_troubled(&be[i]) : hf_contract_open(NULL),
            names[i], HF_LOCK_WITH(.watchdog_ms = 20000, .renew_ms = 50));
    hf_lock *all = hf_test_multi(members, NAMES);
    hf_lock_on_state(all, hear, &e);
    hf_expect(HF_OK, hf_lock_try(all, ERR));
    hf__fault_set(be[0], HF_VERB_RENEW, HF_TROUBLE_UNSENT, -1);
    hf_test_eventually(atomic_load(&e.doubt) == 1, HF_TEST_LONG);
    assert_int_equal(atomic_load(&e.why), HF_EDOWN);
    int calls = hf__fault_calls(be[1], HF_VERB_RENEW);
    hf__fault_set(be[1], HF_VERB_RENEW, HF_TROUBLE_UNSENT, -1);
    hf_test_eventually(hf__fault_calls(be[1], HF_VERB_RENEW) > calls + 1,
                       HF_TEST_LONG);
    calls = hf__fault_calls(be[0], HF_VERB_RENEW);
    hf__fault_set(be[0], HF_VERB_RENEW, HF_TROUBLE_NONE, 0);
    hf_test_eventually(hf__fault_calls(be[0], HF_VERB_RENEW) > calls + 1,
                       HF_TEST_LONG);
    assert_int_equal(atomic_load(&e.held), 0); /* one is still in doubt */
    hf__fault_set(be[1], HF_VERB_RENEW, HF_TROUBLE_NONE, 0);
    hf_test_eventually(atomic_load(&e.held) == 1, HF_TEST_LONG);
    assert_int_equal(atomic_load(&e.doubt), 1);
    assert_int_equal(atomic_load(&e.lost), 0);
    assert_true(hf_lock_is_held(all));
    hf_expect(HF_OK, hf_lock_release(all, ERR));
}

/* A callback that takes its time over the doubt, until the loss has come. */
typedef struct slow_ear {
    atomic_int inside, lost;
    atomic_bool overlapped;
} slow_ear;

static void linger(slow_ear *e) {
    int64_t by = hf_test_now_ms() + 100;
    while (hf_test_now_ms() < by && atomic_load(&e->inside) == 1)
        hf_test_breathe();
}

static void hear_slowly(void *arg, hf_lock *lock, hf_state state, int why) {
    slow_ear *e = arg;
    (void)why;
    if (atomic_fetch_add(&e->inside, 1) != 0)
        atomic_store(&e->overlapped, true);
    if (state == HF_STATE_DOUBT) {
        struct pollfd p = {.fd = hf_lock_lost_fd(lock), .events = POLLIN};
        poll(&p, 1, HF_TEST_LONG);
        linger(e);
    } else if (state == HF_STATE_LOST) {
        atomic_fetch_add(&e->lost, 1);
        linger(e);
    }
    atomic_fetch_sub(&e->inside, 1);
}

/* The doubt comes on the thread of one client, the loss on another's. */
void news_of_a_multi_lock_come_one_at_a_time(void **state) {
    (void)state;
    slow_ear e = {0};
    hf_backend *be;
    trio other = somebody_else();
    hf_lock *all = HF_MULTI_OF(
        hf_test_lock(hf_contract_open_troubled(&be), "a",
                     HF_LOCK_WITH(.watchdog_ms = 40000, .renew_ms = 50)),
        hf_test_lock(hf_contract_open(NULL), "b", KEPT_ALIVE));
    hf_lock_on_state(all, hear_slowly, &e);
    hf_expect(HF_OK, hf_lock_try(all, ERR));
    hf__fault_set(be, HF_VERB_RENEW, HF_TROUBLE_UNSENT, -1);
    hf_test_eventually(atomic_load(&e.inside) == 1, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_force_release(other.b, NULL, ERR));
    hf_test_eventually(atomic_load(&e.lost) == 1, HF_TEST_LONG);
    hf_lock_on_state(all, NULL, NULL); /* e is ours again */
    assert_int_equal(atomic_load(&e.inside), 0);
    assert_int_equal(atomic_load(&e.lost), 1);
    assert_false(atomic_load(&e.overlapped));
    hf__fault_set(be, HF_VERB_RENEW, HF_TROUBLE_NONE, 0);
    hf_expect(HF_ELOST, hf_lock_release(all, ERR));
}

void a_callback_may_release_the_multi_lock(void **state) {
    (void)state;
    ear e = {0};
    trio t = several(HF_LOCK_WITH(.watchdog_ms = 1000, .renew_ms = 50,
                                  .flags = HF_OWNER_HANDLE));
    trio other = somebody_else();
    hf_lock_on_state(t.all, hear_and_release, &e);
    hf_expect(HF_OK, hf_lock_try(t.all, ERR));
    hf_expect(HF_OK, hf_lock_force_release(other.c, NULL, ERR));
    hf_test_eventually(atomic_load(&e.lost) == 1, HF_TEST_LONG);
    assert_int_equal(e.released, HF_ELOST);
    hf_test_eventually(all_are_free(t.client), HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_try(t.all, ERR));
}

/* Whoever got the last one has not got all. */
void a_member_lost_while_another_is_waited_for_ends_it(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(client, "a", KEPT_ALIVE);
    hf_lock *all = HF_MULTI_OF(a, hf_test_lock(client, "b", NULL),
                               hf_test_lock(client, "b2", NULL),
                               hf_test_lock(client, "c", NULL));
    trio other = somebody_else();
    hf_expect(HF_OK, hf_lock_try(other.c, ERR));
    hf_test_begin(&waiter, all, HF_FOREVER);
    hf_test_eventually(hf_test_holders(other.client, "b2") == 1, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_force_release(other.a, NULL, ERR));
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    assert_false(hf_test_is_told(all)); /* there was no whole to lose */
    hf_expect(HF_OK, hf_lock_release(other.c, ERR));
    hf_expect(HF_ELOST, hf_test_answer(&waiter));
    assert_non_null(strstr(waiter.err.text, "'a'"));
    hf_test_end(&waiter);
    assert_true(all_are_free(client));
    hf_expect(HF_OK, hf_lock_try(all, ERR));
}

/* A lease that nobody renews is not spent on waiting for the others. */
void a_fixed_lease_outlasts_the_wait_for_the_others(void **state) {
    (void)state;
    enum { LEASE = 1000 };
    hf_test_thread waiter;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *all = HF_MULTI_OF(
        hf_test_lock(client, "a", HF_LOCK_WITH(.lease_ms = LEASE)),
        hf_test_lock(client, "b", NULL), hf_test_lock(client, "b2", NULL),
        hf_test_lock(client, "c", NULL));
    trio other = somebody_else();
    hf_expect(HF_OK, hf_lock_try(other.c, ERR));
    hf_test_begin(&waiter, all, HF_FOREVER);
    hf_test_throughout(!atomic_load(&waiter.answered), 2 * LEASE);
    hf_expect(HF_OK, hf_lock_release(other.c, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_test_end(&waiter);
}

/* ---- who owns it ------------------------------------------------------- */

void each_member_is_entered_again_and_counted(void **state) {
    (void)state;
    trio t = several(NULL), other = somebody_else();
    for (int i = 0; i < 3; i++) {
        hf_expect(HF_OK, hf_lock_acquire(t.all, HF_TEST_LONG, ERR));
        assert_int_equal(hf_lock_holds(t.all), i + 1);
        assert_int_equal(hf_lock_holds(t.b), i + 1);
    }
    for (int i = 3; i > 0; i--) {
        hf_expect(HF_BUSY, hf_lock_try(other.a, ERR));
        hf_expect(HF_OK, hf_lock_release(t.all, ERR));
        assert_int_equal(hf_lock_holds(t.all), i - 1);
    }
    assert_true(all_are_free(t.client));
    hf_expect(HF_ENOT_OWNER, hf_lock_release(t.all, ERR));
}

void a_multi_lock_belongs_to_its_thread_or_to_its_handle(void **state) {
    (void)state;
    trio t = several(NULL);
    hf_expect(HF_OK, hf_lock_try(t.all, ERR));
    assert_int_equal(hf_test_elsewhere(hf_lock_release, t.all), HF_ENOT_OWNER);
    assert_int_equal(hf_test_elsewhere(hf_lock_try, t.all), HF_BUSY);
    assert_true(hf_lock_is_held(t.all));
    hf_expect(HF_OK, hf_lock_release(t.all, ERR));
    hf_test_free(t.all);
    trio by_handle = trio_of(t.client, BY_HANDLE);
    hf_lock *all = HF_MULTI_OF(by_handle.a, by_handle.b);
    hf_expect(HF_OK, hf_lock_try(all, ERR));
    assert_int_equal(hf_test_elsewhere(hf_lock_release, all), HF_OK);
    assert_false(hf_lock_is_held(all));
    hf_lock *mixed = HF_MULTI_OF(by_handle.c, t.a);
    hf_expect(HF_OK, hf_lock_try(mixed, ERR));
    assert_int_equal(hf_test_elsewhere(hf_lock_release, mixed), HF_ENOT_OWNER);
    hf_expect(HF_OK, hf_lock_release(mixed, ERR));
    assert_true(all_are_free(t.client));
}

/* ---- the other verbs --------------------------------------------------- */

void a_wait_for_several_can_be_cancelled(void **state) {
    (void)state;
    hf_test_thread waiter;
    trio t = several(NULL), other = somebody_else();
    hf_lock *const busy[] = {other.a, other.b, other.c};
    for (int i = 0; i < NAMES; i++) {
        hf_expect(HF_OK, hf_lock_try(busy[i], ERR));
        hf_test_begin(&waiter, t.all, HF_FOREVER);
        hf_expect(HF_ECANCELLED, hf_test_cancel(&waiter));
        hf_test_end(&waiter);
        hf_expect(HF_OK, hf_lock_release(busy[i], ERR));
        assert_true(all_are_free(t.client));
    }
    hf_lock_cancel(t.all); /* nobody waits */
    hf_expect(HF_OK, hf_lock_acquire(t.all, HF_TEST_LONG, ERR));
}

/* One cancel is enough, wherever it finds the wait. */
void one_cancel_ends_a_wait_that_is_under_way(void **state) {
    (void)state;
    enum { TURNS = 30 };
    trio t = several(NULL), other = somebody_else();
    for (int i = 0; i < TURNS; i++) {
        hf_test_thread waiter;
        hf_expect(HF_OK, hf_lock_try(other.a, ERR));
        hf_expect(HF_OK, hf_lock_try(other.c, ERR));
        hf_test_begin(&waiter, t.all, HF_FOREVER);
        hf_expect(HF_OK, hf_lock_release(other.a, ERR)); /* it moves on */
        hf_lock_cancel(t.all);
        hf_expect(HF_ECANCELLED, hf_test_answer(&waiter));
        hf_test_end(&waiter);
        hf_expect(HF_OK, hf_lock_release(other.c, ERR));
    }
    assert_true(all_are_free(t.client));
}

static void cancel_it(void *arg, const hf_event *event) {
    hf_lock **all = arg;
    if (event->kind == HF_EVENT_GRANTED && *all != NULL)
        hf_lock_cancel(*all);
}

/* The event comes when a is held and b not asked for yet. */
void a_wait_is_cancelled_between_two_members(void **state) {
    (void)state;
    hf_lock *all = NULL;
    hf_client *client = hf_contract_open(
        HF_CLIENT_WITH(.on_event = cancel_it, .event_arg = &all));
    trio t = trio_of(client, NULL);
    all = HF_MULTI_OF(t.a, t.b, t.c);
    refused(HF_ECANCELLED, hf_lock_acquire(all, HF_FOREVER, ERR), "a + b + c");
    assert_true(all_are_free(client));
    hf_test_clear(); /* the event's argument ends with this function */
}

void extend_and_release_after_are_for_all_members(void **state) {
    (void)state;
    trio t = several(HF_LOCK_WITH(.lease_ms = 5000)), other = somebody_else();
    hf_expect(HF_ENOT_OWNER, hf_lock_extend(t.all, 60000, ERR));
    hf_expect(HF_OK, hf_lock_try(t.all, ERR));
    assert_in_range(hf_lock_remaining_ms(t.all), 1, 5000);
    hf_expect(HF_OK, hf_lock_extend(t.all, 60000, ERR));
    int longest = hf_contract_believed(60000);
    assert_in_range(hf_lock_remaining_ms(t.all), longest < 60000 ? 1 : 5001,
                    longest);
    refused(HF_EUSAGE, hf_lock_extend(t.all, 1, ERR), "short");
    refused(HF_EUSAGE, hf_lock_release_after(t.all, -1, ERR), "negative");
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_release_after(t.all, 700, ERR));
    hf_expect(HF_BUSY, hf_lock_try(other.a, ERR));
    hf_expect(HF_BUSY, hf_lock_try(other.c, ERR));
    hf_expect(HF_OK, hf_lock_acquire(other.b, HF_TEST_LONG, ERR));
    assert_in_range(hf_test_now_ms() - began, 680, 700 + LATE);
}

void force_frees_all_members_that_are_held(void **state) {
    (void)state;
    trio t = several(KEPT_ALIVE), operator_ = several(NULL);
    refused(HF_EFREE, hf_lock_force_release(operator_.all, NULL, ERR), "a + b");
    hf_expect(HF_OK, hf_lock_try(t.all, ERR));
    refused(HF_EUSAGE, hf_lock_force_release(operator_.all, "me", ERR),
            "owner");
    if (!hf_contract_under_test.bundled)
        hf_expect(HF_OK, hf_lock_force_release(operator_.b, NULL, ERR));
    hf_expect(HF_OK, hf_lock_force_release(operator_.all, NULL, ERR));
    hf_expect(HF_OK, hf_lock_try(operator_.all, ERR));
    hf_test_eventually(hf_test_is_told(t.all), HF_TEST_LONG);
    hf_expect(HF_ELOST, hf_lock_release(t.all, ERR));
    assert_true(hf_lock_is_held(operator_.all));
}

/* ---- members ----------------------------------------------------------- */

void a_member_does_nothing_by_itself(void **state) {
    (void)state;
    uint64_t token;
    ear e = {0};
    trio t = several(KEPT_ALIVE), other = somebody_else();
    refused(HF_EUSAGE, hf_lock_acquire(t.a, 0, ERR), "a + b + c");
    refused(HF_EUSAGE, hf_lock_release(t.a, ERR), "a + b + c");
    hf_expect(HF_OK, hf_lock_try(t.all, ERR));
    refused(HF_EUSAGE, hf_lock_release(t.a, ERR), "'a'");
    refused(HF_EUSAGE, hf_lock_release_after(t.a, 10, ERR), "'a'");
    refused(HF_EUSAGE, hf_lock_extend(t.a, 1000, ERR), "'a'");
    refused(HF_EUSAGE, hf_lock_last_token(t.all, &token, ERR), "members");
    hf_expect(HF_OK, hf_lock_last_token(t.b, &token, ERR));
    assert_true(token == hf_lock_token(t.b));
    hf_lock_on_state(t.a, hear, &e); /* is the multi-lock's */
    hf_expect(HF_OK, hf_lock_force_release(other.a, NULL, ERR));
    hf_test_eventually(hf_test_is_told(t.all), HF_TEST_LONG);
    assert_int_equal(atomic_load(&e.lost), 0);
}

void members_that_make_no_sense_are_refused_in_words(void **state) {
    (void)state;
    hf_lock *multi = (hf_lock *)state; /* must become NULL */
    trio t = several(NULL), other = somebody_else();
    hf_client *again = hf_contract_open(NULL);
    hf_lock *twin = hf_test_lock(again, "a", NULL);
    hf_lock *spin = hf_test_lock(again, "b", NULL);
    refused(HF_EUSAGE, hf_multi_new(&multi, NULL, 1, ERR), "members is NULL");
    refused(HF_EUSAGE, hf_multi_new(&multi, &other.a, 0, ERR), "no members");
    refused(HF_EUSAGE, hf_multi_new(NULL, &other.a, 1, ERR), "ret");
    refused(HF_EUSAGE,
            hf_multi_new(&multi, (hf_lock *[]){other.a, NULL}, 2, ERR), "NULL");
    refused(HF_EUSAGE,
            hf_multi_new(&multi, (hf_lock *[]){other.a, other.a}, 2, ERR),
            "twice");
    refused(HF_EUSAGE,
            hf_multi_new(&multi, (hf_lock *[]){other.b, other.a, twin}, 3, ERR),
            "'a'");
    refused(HF_EUSAGE,
            hf_multi_new(&multi, (hf_lock *[]){other.a, t.b}, 2, ERR),
            "belongs to the multi-lock 'a + b + c'");
    refused(HF_EUSAGE,
            hf_multi_new(&multi, (hf_lock *[]){other.a, t.all}, 2, ERR),
            "multi-lock itself");
    hf_expect(HF_OK, hf_lock_try(other.a, ERR));
    refused(HF_EUSAGE,
            hf_multi_new(&multi, (hf_lock *[]){spin, other.a}, 2, ERR), "held");
    assert_null(multi);
    hf_expect(HF_OK, hf_lock_release(other.a, ERR)); /* it was not adopted */
    assert_int_equal(hf_multi_new(&multi, &other.a, 1, NULL), HF_OK);
    hf_expect(HF_OK, hf_lock_try(multi, ERR)); /* one is as good as many */
    hf_lock_free(multi);
    assert_true(all_are_free(again));
}

void freeing_a_multi_lock_releases_and_returns_its_members(void **state) {
    (void)state;
    ear e = {0};
    trio t = several(KEPT_ALIVE), other = somebody_else();
    hf_lock_on_state(t.all, hear, &e);
    hf_expect(HF_OK, hf_lock_try(t.all, ERR));
    hf_expect(HF_OK, hf_lock_try(t.all, ERR));
    assert_int_equal(hf_test_elsewhere(hf_lock_try, other.a), HF_BUSY);
    hf_test_free(t.all);
    assert_true(all_are_free(t.client));
    hf_expect(HF_OK, hf_lock_try(t.a, ERR));
    hf_lock_on_state(t.a, hear, &e);
    hf_expect(HF_OK, hf_lock_force_release(other.a, NULL, ERR));
    hf_test_eventually(atomic_load(&e.lost) == 1, HF_TEST_LONG);
    hf_expect(HF_ELOST, hf_lock_release(t.a, ERR));
    hf_expect(HF_OK, hf_lock_try(HF_MULTI_OF(t.a, t.c), ERR));
}

/* ---- fork -------------------------------------------------------------- */

/* In the child: the number of the step that went wrong, or 0. */
static int as_a_child(const trio *t) {
    hf_lock *another;
    hf_lock *members[] = {t->a};
    if (hf_lock_is_held(t->all) || hf_lock_holds(t->all) != 0)
        return 1;
    if (hf_lock_try(t->all, NULL) != HF_EFORKED)
        return 2;
    if (hf_lock_release(t->all, NULL) != HF_EFORKED)
        return 3;
    if (hf_multi_new(&another, members, 1, NULL) != HF_EFORKED)
        return 4;
    if (hf_lock_lost_fd(t->all) != HF_EFORKED)
        return 5;
    hf_lock_cancel(t->all);
    hf_lock_on_state(t->all, NULL, NULL);
    hf_lock_free(t->all);
    return 0;
}

void a_forked_child_does_not_own_several_either(void **state) {
    (void)state;
    hf_test_need_fork();
    int status;
    trio t = several(KEPT_ALIVE), other = somebody_else();
    hf_expect(HF_OK, hf_lock_try(t.all, ERR));
    pid_t pid = fork();
    if (pid == 0)
        _exit(as_a_child(&t));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    hf_test_throughout(hf_lock_is_held(t.all), 200);
    hf_expect(HF_BUSY, hf_lock_try(other.b, ERR));
    hf_expect(HF_OK, hf_lock_release(t.all, ERR));
}

/* ---- other kinds ------------------------------------------------------- */

typedef struct medley {
    hf_lock *read, *lock, *permit, *fair;
    hf_lock *all;
} medley;

static medley medley_of(hf_client *client) {
    medley m;
    m.read = hf_test_lock(client, "pages", HF_LOCK_WITH(.kind = HF_READ));
    m.lock = hf_test_lock(client, "turn", NULL);
    m.permit = hf_test_lock(client, "seats", HF_LOCK_WITH(.kind = HF_PERMIT));
    m.fair = hf_test_lock(client, "queue", HF_LOCK_WITH(.kind = HF_FAIR));
    m.all = HF_MULTI_OF(m.read, m.lock, m.permit, m.fair);
    return m;
}

static int64_t seats(hf_semaphore *sem) {
    int64_t n = -1;
    hf_expect(HF_OK, hf_semaphore_count(sem, &n, NULL, ERR));
    return n;
}

void members_may_be_of_different_kinds(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_client *client = hf_contract_open(NULL), *other = hf_contract_open(NULL);
    hf_semaphore *sem = hf_test_semaphore(client, "seats");
    hf_expect(HF_OK, hf_semaphore_set(sem, 2, 0, ERR));
    medley m = medley_of(client);
    hf_lock *reader =
        hf_test_lock(other, "pages", HF_LOCK_WITH(.kind = HF_READ));
    hf_lock *writer =
        hf_test_lock(other, "pages", HF_LOCK_WITH(.kind = HF_WRITE));
    hf_expect(HF_OK, hf_lock_try(m.all, ERR));
    assert_int_equal(seats(sem), 1);
    hf_expect(HF_BUSY, hf_lock_try(writer, ERR));
    hf_expect(HF_OK, hf_lock_try(reader, ERR));             /* readers share */
    refused(HF_EUSAGE, hf_lock_try(m.all, ERR), "'seats'"); /* not twice */
    assert_int_equal(hf_lock_holds(m.all), 1);
    hf_expect(HF_OK, hf_lock_release(m.all, ERR));
    assert_int_equal(seats(sem), 2);
    hf_expect(HF_OK, hf_lock_release(reader, ERR));
    hf_expect(HF_OK, hf_lock_try(writer, ERR));
    hf_test_begin(&waiter, m.all, HF_FOREVER);
    hf_expect(HF_OK, hf_lock_release(writer, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    hf_expect(HF_OK, hf_lock_try(writer, ERR));
    hf_expect(HF_BUSY, hf_lock_try(m.all, ERR));
    assert_int_equal(seats(sem), 2);
    assert_int_equal(hf_test_holders(client, NULL), 1);
}

/* Through one handle, each thread a hold of its own. */
void readers_share_a_multi_lock_and_each_is_told(void **state) {
    (void)state;
    enum { READERS = 3 };
    const hf_lock_options *read =
        HF_LOCK_WITH(.kind = HF_READ, .watchdog_ms = 1000, .renew_ms = 50);
    hf_test_thread readers[READERS];
    ear e = {0};
    hf_client *client = hf_contract_open(NULL), *other = hf_contract_open(NULL);
    hf_lock *all = HF_MULTI_OF(hf_test_lock(client, "x", read),
                               hf_test_lock(client, "y", read));
    hf_lock_on_state(all, hear, &e);
    for (int i = 0; i < READERS; i++) {
        hf_test_begin(&readers[i], all, HF_FOREVER);
        hf_expect(HF_OK, hf_test_answer(&readers[i]));
    }
    assert_false(hf_lock_is_held(all)); /* by this thread */
    assert_false(hf_test_is_told(all));
    hf_expect(HF_OK,
              hf_lock_force_release(hf_test_lock(other, "y", read), NULL, ERR));
    hf_test_eventually(atomic_load(&e.lost) == READERS, HF_TEST_LONG);
    for (int i = 0; i < READERS; i++) {
        assert_true(hf_test_is_told(all));
        hf_expect(HF_ELOST, hf_test_end(&readers[i]));
    }
    assert_false(hf_test_is_told(all));
    assert_int_equal(atomic_load(&e.lost), READERS);
    assert_int_equal(hf_test_holders(client, NULL), 0);
}

/* A world in which a cancel comes at the last moment before the wait begins:
 * while the permit's id is made. */
static hf_lock *_Atomic cancelled_by_chance;
static hf_world world_of_chance;

static void random_and_cancel(void *buf, size_t size) {
    hf_lock *all = atomic_exchange(&cancelled_by_chance, NULL);
    if (all != NULL)
        hf_lock_cancel(all);
    hf__real_world.random(buf, size);
}

void a_cancel_just_before_the_wait_is_heard(void **state) {
    (void)state;
    world_of_chance = hf__real_world;
    world_of_chance.random = random_and_cancel;
    hf__world = &world_of_chance; /* for the rest of this process */
    hf_client *client = hf_contract_open(NULL);
    hf_lock *all =
        HF_MULTI_OF(hf_test_lock(client, "a", HF_LOCK_WITH(.kind = HF_PERMIT)),
                    hf_test_lock(client, "b", NULL));
    hf_expect(HF_OK,
              hf_semaphore_set(hf_test_semaphore(client, "a"), 0, 0, ERR));
    atomic_store(&cancelled_by_chance, all);
    hf_expect(HF_ECANCELLED, hf_lock_acquire(all, HF_FOREVER, ERR));
    assert_null(atomic_load(&cancelled_by_chance));
    assert_int_equal(hf_test_holders(client, NULL), 0);
}

void both_sides_of_one_lock_are_no_two_members(void **state) {
    (void)state;
    hf_lock *multi;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *const sides[] = {
        hf_test_lock(client, "x", HF_LOCK_WITH(.kind = HF_READ)),
        hf_test_lock(client, "x", HF_LOCK_WITH(.kind = HF_WRITE))};
    hf_lock *const manners[] = {
        hf_test_lock(client, "y", HF_LOCK_WITH(.kind = HF_FAIR)),
        hf_test_lock(client, "y", HF_LOCK_WITH(.kind = HF_SPIN))};
    refused(HF_EUSAGE, hf_multi_new(&multi, sides, 2, ERR), "'x'");
    refused(HF_EUSAGE, hf_multi_new(&multi, manners, 2, ERR), "'y'");
}
