/* SPDX-License-Identifier: MIT
 *
 * kazoo_bridge_test.c - a lock of ours that Curator and kazoo both wait for,
 * and that waits for both.  The two do not see each other, and no client of
 * ours can change that. */
#include "curator.h"
#include "kazoo.h"
#include "support/quorum.h"

#include <signal.h>
#include <stdio.h>

enum { TURNS = 4 };

static char uri[256]; /* without a layout */

static void meet(int session_ms) {
    char ours[300];
    hf_test_quorum_borrow(&hf_test_zookeeper_sort, uri, sizeof uri);
    kazoo_start(uri, session_ms);
    snprintf(ours, sizeof ours, "%s?layout=bridge", uri);
    meet_curator_at(ours, session_ms);
}

static void with_both(void **state) {
    meet(LONG_LEASE);
    hf_test_body(state);
}

static void with_both_briefly(void **state) {
    meet(SHORT_LEASE);
    hf_test_body(state);
}

static int end_both(void **state) {
    kazoo_kill();
    return end_curator(state);
}

static void what_any_holds_is_busy_for_us(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    java_says("OK", "lock lock x");
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    java_says("OK", "lock unlock x");
    kazoo_says("OK", "lock lock x");
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    hf_expect(HF_ETIMEOUT, hf_lock_acquire(lock, A_MOMENT, ERR));
    kazoo_says("OK", "lock unlock x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_says("NO", "lock try x");
    kazoo_says("NO", "lock try x");
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    kazoo_says("NO", "children x");
}

static void our_release_wakes_both(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    for (int turn = 0; turn < TURNS; turn++) {
        hf_expect(HF_OK, hf_lock_acquire(lock, HF_TEST_LONG, ERR));
        java_waits(1, "lock lock x");
        kazoo_waits(1, "lock lock x");
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        java_answers(1, "OK");
        kazoo_answers(1, "OK");
        java_thread_says("OK", 1, "lock unlock x");
        kazoo_thread_says("OK", 1, "lock unlock x");
    }
}

static void we_enter_when_the_last_of_both_has_left(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    for (int last = 0; last < 2; last++) { /* 0: Java's, 1: kazoo's */
        java_says("OK", "lock lock x");
        kazoo_says("OK", "lock lock x");
        hf_test_begin(&waiter, lock, HF_TEST_LONG);
        if (last == 0)
            kazoo_says("OK", "lock unlock x");
        else
            java_says("OK", "lock unlock x");
        hf_test_throughout(!atomic_load(&waiter.answered), A_MOMENT);
        int64_t began = hf_test_now_ms();
        if (last == 0)
            java_says("OK", "lock unlock x");
        else
            kazoo_says("OK", "lock unlock x");
        hf_expect(HF_OK, hf_test_answer(&waiter));
        assert_in_range(hf_test_now_ms() - began, 0, SOON);
        hf_expect(HF_OK, hf_test_end(&waiter));
    }
}

static void with_either_we_count_without_losing_one(void **state) {
    (void)state;
    both_add_up(&the_java, HF_LOCK, "lock", "j");
    both_add_up(&the_kazoo, HF_LOCK, "lock", "k");
}

static void a_killed_holder_of_ours_frees_both(void **state) {
    (void)state;
    hf_test_peer *c = c_peer(SHORT_LEASE);
    c_says(c, "OK", "lock 0 x");
    assert_memory_equal(hf_test_peer_ask(c, "try 0"), "OK ", 3);
    java_waits(1, "lock lock x");
    kazoo_waits(1, "lock lock x");
    hf_test_peer_signal(c, SIGKILL);
    java_answers(1, "OK");
    kazoo_answers(1, "OK");
    hf_test_peer_stop(c);
}

/* ---- why there is a bridge ----------------------------------------------- */

static void curator_and_kazoo_do_not_see_each_other(void **state) {
    (void)state;
    java_says("OK", "lock lock x");
    kazoo_says("YES", "lock try x");
    kazoo_says("OK", "lock unlock x");
    java_says("OK", "lock unlock x");
    kazoo_says("OK", "lock lock x");
    java_says("YES", "lock try x");
}

static void without_it_each_sees_its_own_layout_only(void **state) {
    (void)state;
    char kazoos[300];
    snprintf(kazoos, sizeof kazoos, "%s?layout=kazoo", uri);
    hf_lock *curator = hf_test_lock(hf_test_open(uri, NULL), "c", NULL);
    hf_lock *kazoo = hf_test_lock(hf_test_open(kazoos, NULL), "k", NULL);
    hf_expect(HF_OK, hf_lock_try(curator, ERR));
    java_says("NO", "lock try c");
    kazoo_says("YES", "lock try c");
    hf_expect(HF_OK, hf_lock_try(kazoo, ERR));
    kazoo_says("NO", "lock try k");
    java_says("YES", "lock try k");
}

#define WITH(name)       HF_TEST_IN(with_both, name, end_both)
#define WITH_BRIEF(name) HF_TEST_IN(with_both_briefly, name, end_both)
static const struct CMUnitTest tests[] = {
    WITH(what_any_holds_is_busy_for_us),
    WITH(our_release_wakes_both),
    WITH(we_enter_when_the_last_of_both_has_left),
    WITH(with_either_we_count_without_losing_one),
    WITH_BRIEF(a_killed_holder_of_ours_frees_both),
    WITH(curator_and_kazoo_do_not_see_each_other),
    WITH(without_it_each_sees_its_own_layout_only),
};
HF_SUITE(tests)
