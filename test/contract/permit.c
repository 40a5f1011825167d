/* SPDX-License-Identifier: MIT
 *
 * permit.c - permits that somebody has: leased out of a semaphore's number,
 * kept alive, and back when their holder is gone. */
#include "contract.h"

#include "support/peer.h"

#include <signal.h>
#include <string.h>

#define PERMITS(n) HF_LOCK_WITH(.kind = HF_PERMIT, .permits = (n))

static hf_semaphore *semaphore_of(int permits) {
    hf_semaphore *sem = hf_test_semaphore(hf_contract_open(NULL), "x");
    hf_expect(HF_OK, hf_semaphore_set(sem, permits, 0, ERR));
    return sem;
}

static hf_lock *lease_of(const hf_lock_options *options) {
    return hf_test_lock(hf_contract_open(NULL), "x", options);
}

/* Free and leased are so many. */
static bool counts_are(hf_semaphore *sem, int free, int leased) {
    int64_t a = INT64_MIN, b = INT64_MIN;
    hf_expect(HF_OK, hf_semaphore_count(sem, &a, &b, ERR));
    return a == free && b == leased;
}

void permits_that_nobody_set_cannot_be_leased(void **state) {
    (void)state;
    hf_semaphore *sem = hf_test_semaphore(hf_contract_open(NULL), "x");
    hf_lock *a = lease_of(PERMITS(1));
    assert_true(counts_are(sem, 0, 0));
    hf_expect(HF_BUSY, hf_lock_try(a, ERR));
    hf_expect(HF_ETIMEOUT, hf_lock_acquire(a, 300, ERR));
    hf_expect(HF_OK, hf_semaphore_set(sem, 1, 0, ERR));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
}

void leased_permits_are_counted_apart(void **state) {
    (void)state;
    hf_semaphore *sem = semaphore_of(5);
    hf_lock *a = lease_of(PERMITS(2)), *b = lease_of(PERMITS(1));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_true(counts_are(sem, 3, 2));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    assert_true(counts_are(sem, 2, 3));
    assert_true(hf_lock_token(b) > hf_lock_token(a));
    hf_expect(HF_OK, hf_semaphore_count(sem, NULL, NULL, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    assert_true(counts_are(sem, 4, 1));
    hf_test_free(b);
    assert_true(counts_are(sem, 5, 0));
}

void many_permits_are_leased_together_or_not_at_all(void **state) {
    (void)state;
    hf_semaphore *sem = semaphore_of(5);
    hf_lock *a = lease_of(PERMITS(3)), *b = lease_of(PERMITS(3));
    hf_lock *c = lease_of(PERMITS(2));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    assert_true(counts_are(sem, 2, 3));
    hf_expect(HF_OK, hf_lock_try(c, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    assert_true(counts_are(sem, 0, 5));
}

void leased_permits_and_taken_ones_come_out_of_one_number(void **state) {
    (void)state;
    int64_t taken = 0;
    hf_semaphore *sem = semaphore_of(4);
    hf_lock *a = lease_of(PERMITS(2));
    hf_expect(HF_OK, hf_semaphore_acquire(sem, 3, 0, ERR));
    hf_expect(HF_BUSY, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_semaphore_release(sem, 1, ERR));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_BUSY, hf_semaphore_acquire(sem, 1, 0, ERR));
    hf_expect(HF_OK, hf_semaphore_release(sem, 2, ERR));
    hf_expect(HF_OK, hf_semaphore_drain(sem, &taken, ERR));
    assert_int_equal(taken, 2); /* not what is leased */
    assert_true(counts_are(sem, 0, 2));
    assert_true(hf_lock_is_held(a));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    assert_true(counts_are(sem, 2, 0));
}

/* ---- leases ------------------------------------------------------------ */

void a_leased_permit_is_kept_alive(void **state) {
    (void)state;
    hf_semaphore *sem = semaphore_of(2);
    hf_lock *a = lease_of(HF_LOCK_WITH(.kind = HF_PERMIT, .permits = 2,
                                       .watchdog_ms = 2000, .renew_ms = 100));
    hf_lock *b = lease_of(PERMITS(1));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_throughout(hf_lock_is_held(a) && hf_lock_try(b, ERR) == HF_BUSY,
                       2500);
    assert_true(counts_are(sem, 0, 2));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
}

void a_fixed_lease_returns_its_permits_once(void **state) {
    (void)state;
    hf_semaphore *sem = semaphore_of(5);
    hf_lock *a = lease_of(
        HF_LOCK_WITH(.kind = HF_PERMIT, .permits = 3, .lease_ms = 300));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_extend(a, 400, ERR));
    assert_true(counts_are(sem, 2, 3));
    hf_test_eventually(counts_are(sem, 5, 0), HF_TEST_LONG);
    assert_false(hf_lock_is_held(a));
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_expect(HF_ENOT_OWNER, hf_lock_release(a, ERR));
    assert_true(counts_are(sem, 5, 0));
}

void a_waiter_enters_when_a_permits_lease_ends(void **state) {
    (void)state;
    hf_test_task taker;
    hf_semaphore *sem = semaphore_of(2);
    const hf_lock_options *brief =
        HF_LOCK_WITH(.kind = HF_PERMIT, .lease_ms = 500);
    hf_lock *a = lease_of(brief), *b = lease_of(brief);
    hf_lock *c = lease_of(PERMITS(1));
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    hf_test_take(&taker, sem, 1, HF_FOREVER); /* nobody's, for a change */
    hf_expect(HF_OK, hf_lock_acquire(c, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_test_result(&taker));
    assert_in_range(hf_test_now_ms() - began, 480, 500 + 8000);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    assert_true(counts_are(sem, 0, 1));
}

void a_waiter_for_many_permits_needs_them_all(void **state) {
    (void)state;
    hf_test_only_woken();
    hf_test_thread waiter;
    hf_semaphore *sem = semaphore_of(3);
    hf_lock *a = lease_of(PERMITS(1)), *b = lease_of(PERMITS(2));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    hf_test_begin(&waiter, lease_of(PERMITS(3)), HF_FOREVER);
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    hf_test_throughout(!atomic_load(&waiter.answered), 200);
    assert_true(counts_are(sem, 2, 1));
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(hf_test_now_ms() - began, 0, HF_CONTRACT_SOON);
    assert_true(counts_are(sem, 0, 3));
    hf_expect(HF_OK, hf_test_end(&waiter));
    assert_true(counts_are(sem, 3, 0));
}

/* ---- the number changes under them ------------------------------------- */

void a_semaphore_may_become_smaller_than_what_is_leased(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_semaphore *sem = semaphore_of(5);
    hf_lock *a = lease_of(PERMITS(4)), *b = lease_of(PERMITS(1));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_semaphore_resize(sem, 2, ERR));
    assert_true(counts_are(sem, -2, 4));
    assert_true(hf_lock_is_held(a));
    hf_expect(HF_OK, hf_lock_extend(a, 20000, ERR));
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    assert_true(counts_are(sem, 2, 0));
    hf_expect(HF_OK, hf_semaphore_resize(sem, 0, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_expect(HF_OK, hf_semaphore_resize(sem, 1, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

void who_leases_from_a_deleted_semaphore_has_lost(void **state) {
    (void)state;
    hf_semaphore *sem = semaphore_of(3);
    hf_lock *a = lease_of(HF_LOCK_WITH(.kind = HF_PERMIT, .permits = 2,
                                       .watchdog_ms = 700, .renew_ms = 50));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_semaphore_delete(sem, ERR));
    hf_test_eventually(!hf_lock_is_held(a), HF_TEST_LONG);
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    assert_true(counts_are(sem, 0, 0)); /* nothing is given to what is gone */
    hf_expect(HF_EFREE, hf_semaphore_delete(sem, ERR));
}

void a_semaphore_that_vanishes_takes_its_leases_with_it(void **state) {
    (void)state;
    hf_semaphore *sem = hf_test_semaphore(hf_contract_open(NULL), "x");
    hf_lock *a = lease_of(HF_LOCK_WITH(.kind = HF_PERMIT, .permits = 2,
                                       .watchdog_ms = 700, .renew_ms = 50));
    hf_expect(HF_OK, hf_semaphore_set(sem, 3, 500, ERR));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_true(counts_are(sem, 1, 2));
    hf_test_eventually(counts_are(sem, 0, 0), HF_TEST_LONG);
    hf_test_eventually(!hf_lock_is_held(a), HF_TEST_LONG);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    assert_true(counts_are(sem, 0, 0));
}

void two_who_want_both_permits_lease_them_in_turn(void **state) {
    (void)state;
    hf_test_thread both[2];
    hf_semaphore *sem = semaphore_of(2);
    hf_lock *a = lease_of(PERMITS(1));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    for (int i = 0; i < 2; i++)
        hf_test_begin(&both[i], lease_of(PERMITS(2)), HF_FOREVER);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_test_eventually(atomic_load(&both[0].answered) ||
                           atomic_load(&both[1].answered),
                       HF_TEST_LONG);
    int first = atomic_load(&both[0].answered) ? 0 : 1;
    assert_false(atomic_load(&both[1 - first].answered));
    assert_true(counts_are(sem, 0, 2));
    hf_expect(HF_OK, hf_test_end(&both[first]));
    hf_expect(HF_OK, hf_test_answer(&both[1 - first]));
    assert_true(both[1 - first].token > both[first].token);
    hf_expect(HF_OK, hf_test_end(&both[1 - first]));
    assert_true(counts_are(sem, 2, 0));
}

void permits_are_returned_once(void **state) {
    (void)state;
    hf_semaphore *sem = semaphore_of(3);
    hf_lock *a = lease_of(PERMITS(2));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_EUSAGE, hf_lock_try(a, ERR)); /* two are not one twice */
    assert_true(counts_are(sem, 1, 2));
    assert_int_equal(hf_test_elsewhere(hf_lock_release, a), HF_OK);
    hf_expect(HF_ENOT_OWNER, hf_lock_release(a, ERR));
    assert_true(counts_are(sem, 3, 0));
}

/* ---- the list ---------------------------------------------------------- */

typedef struct seen {
    int holders, permits;
    int64_t free;
} seen;

static void look(void *arg, const hf_place *place) {
    seen *s = arg;
    if (strcmp(place->kind, "permit") == 0 && place->holds) {
        s->holders++;
        s->permits += place->permits;
        assert_string_not_equal(place->owner, "");
        assert_in_range(place->lease_ms, 1, 30000);
    }
    if (strcmp(place->kind, "semaphore") == 0)
        s->free = place->count;
}

void the_list_shows_who_has_how_many_permits(void **state) {
    (void)state;
    seen s = {0, 0, 0};
    semaphore_of(9);
    hf_lock *a = lease_of(PERMITS(3)), *b = lease_of(PERMITS(1));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    for (int i = 0; i < 2; i++) { /* asked for by name, and among all */
        memset(&s, 0, sizeof s);
        hf_expect(HF_OK, hf_list(hf_contract_open(NULL), i ? NULL : "x", look,
                                 &s, ERR));
        assert_int_equal(s.permits, 4);
        assert_int_equal(s.free, 5);
        assert_in_range(s.holders, 2, 4); /* perhaps one by one */
    }
}

/* ---- other processes --------------------------------------------------- */

/* A peer's users asked for it for years. */
void leased_permits_return_when_their_process_is_killed(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_semaphore *sem = semaphore_of(2);
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_peer_ask(peer, "lock 0 x kind=%d permits=2 watchdog_ms=3000",
                     HF_PERMIT);
    assert_non_null(strstr(hf_test_peer_ask(peer, "try 0"), "OK"));
    hf_test_begin(&waiter, lease_of(PERMITS(2)), HF_FOREVER);
    hf_test_throughout(counts_are(sem, 0, 2), 3300); /* kept alive so far */
    hf_test_peer_signal(peer, SIGKILL);
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(hf_test_now_ms() - began, 0, 3000 + 8000);
    hf_expect(HF_OK, hf_test_end(&waiter));
    assert_true(counts_are(sem, 2, 0));
    hf_test_peer_stop(peer);
}
