/* SPDX-License-Identifier: MIT
 *
 * kazoo_locks_test.c - one lock for C and Python: ours with the layout of
 * kazoo, and kazoo's own. */
#include "kazoo.h"
#include "support/quorum.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { TURNS = 4 };

static void meet(int session_ms) {
    char uri[256], ours[300];
    hf_test_quorum_borrow(&hf_test_zookeeper_sort, uri, sizeof uri);
    kazoo_start(uri, session_ms);
    snprintf(ours, sizeof ours, "%s?layout=kazoo", uri);
    c_meet(ours, session_ms);
}

static void with_kazoo(void **state) {
    meet(LONG_LEASE);
    hf_test_body(state);
}

static void with_readers(void **state) {
    hf_test_need(kazoo_can_read(),
                 "readers of kazoo before 2.9 wait for later writers");
    with_kazoo(state);
}

static void with_short_sessions(void **state) {
    meet(SHORT_LEASE);
    hf_test_body(state);
}

static int end(void **state) {
    (void)state;
    hf_test_clear();
    kazoo_kill();
    hf_test_give_back();
    return 0;
}

/* ---- exclusion --------------------------------------------------------- */

static void each_keeps_the_other_out(const char *name) {
    hf_lock *lock = c_lock(HF_LOCK, name);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    kazoo_says("NO", "lock try %s", name);
    kazoo_says("NO", "lock timed 50 %s", name);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    kazoo_says("YES", "lock try %s", name);
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    if (name == names[0])
        hf_expect(HF_ETIMEOUT, hf_lock_acquire(lock, A_MOMENT, ERR));
    assert_int_equal(hf_test_holders(client, name), 1);
    assert_int_equal(hf_test_waiters(client, name), 0);
    kazoo_says("OK", "lock unlock %s", name);
    assert_int_equal(hf_test_holders(client, name), 0);
    hf_test_free(lock);
}

static void what_either_holds_is_busy_for_the_other(void **state) {
    (void)state;
    for (int i = 0; i < n_names; i++)
        each_keeps_the_other_out(names[i]);
}

static void together_they_count_without_losing_one(void **state) {
    (void)state;
    both_add_up(&the_kazoo, HF_LOCK, "lock", "x");
}

/* <32 hex>__lock__<ten digits>, and what we say of ourselves in it. */
static void our_entries_are_contenders(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    const char *node = kazoo_ask("children x");
    assert_int_equal(strlen(node), 32 + 8 + 10);
    assert_int_equal(strspn(node, "0123456789abcdef"), 32);
    assert_memory_equal(node + 32, "__lock__", 8);
    kazoo_waits(1, "lock lock x");
    char who[512];
    snprintf(who, sizeof who, "%s", kazoo_ask("lock contenders x"));
    assert_memory_equal(who, "holdfast", 8);
    assert_string_equal(strchr(who, ','), ",kazoo");
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    kazoo_answers(1, "OK");
}

/* ---- waiting ----------------------------------------------------------- */

static void a_release_by_c_wakes_kazoo(void **state) {
    (void)state;
    for (int i = 0; i < TURNS * n_names; i++) {
        const char *name = names[i % n_names];
        hf_lock *lock = c_lock(HF_LOCK, name);
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        kazoo_waits(1, "lock lock %s", name);
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        kazoo_answers(1, "OK");
        kazoo_thread_says("OK", 1, "lock unlock %s", name);
        hf_test_free(lock);
    }
}

/* Looking again would take longer. */
static void a_release_by_kazoo_wakes_c(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    int64_t spent = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        hf_test_thread waiter;
        kazoo_says("OK", "lock lock x");
        hf_test_begin(&waiter, lock, HF_TEST_LONG);
        int64_t began = hf_test_now_ms();
        kazoo_says("OK", "lock unlock x");
        hf_expect(HF_OK, hf_test_answer(&waiter));
        spent += hf_test_now_ms() - began;
        hf_expect(HF_OK, hf_test_end(&waiter));
    }
    assert_in_range(spent, 0, SOON);
}

static void a_mixed_queue_is_served_in_order(void **state) {
    (void)state;
    hf_test_thread second;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    hf_lock *other = hf_test_lock(c_other(), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    kazoo_waits(1, "lock lock x");
    hf_test_begin(&second, other, HF_TEST_LONG);
    hf_test_eventually(hf_test_waiters(client, "x") == 2, HF_TEST_LONG);
    kazoo_waits(3, "lock lock x");
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    kazoo_answers(1, "OK");
    assert_false(atomic_load(&second.answered));
    kazoo_thread_says("OK", 1, "lock unlock x");
    hf_expect(HF_OK, hf_test_answer(&second));
    assert_false(kazoo_answered(3));
    hf_expect(HF_OK, hf_test_end(&second));
    kazoo_answers(3, "OK");
}

/* ---- readers and writers ----------------------------------------------- */

static const struct pairing {
    hf_kind c;
    const char *kazoo;
    bool share;
} pairings[] = {
    {HF_READ, "read", true},   {HF_READ, "write", false},
    {HF_WRITE, "read", false}, {HF_WRITE, "write", false},
    {HF_WRITE, "lock", false}, /* kazoo's Lock is its WriteLock, but that it */
};                             /* does not wait for readers                  */
enum { PAIRINGS = sizeof pairings / sizeof pairings[0] };

static void readers_share_and_writers_are_alone(void **state) {
    (void)state;
    for (const struct pairing *p = pairings; p < pairings + PAIRINGS; p++) {
        hf_lock *lock = c_lock(p->c, "x");
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        kazoo_says(p->share ? "YES" : "NO", "%s try x", p->kazoo);
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        if (!p->share)
            kazoo_says("YES", "%s try x", p->kazoo);
        hf_expect(p->share ? HF_OK : HF_BUSY, hf_lock_try(lock, ERR));
        kazoo_says("OK", "%s unlock x", p->kazoo);
        if (p->share)
            hf_expect(HF_OK, hf_lock_release(lock, ERR));
        hf_test_free(lock);
    }
}

static void readers_and_writers_wake_each_other(void **state) {
    (void)state;
    for (const struct pairing *p = pairings + 1; p < pairings + PAIRINGS; p++) {
        hf_test_thread waiter;
        hf_lock *lock = c_lock(p->c, "x");
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        kazoo_waits(1, "%s lock x", p->kazoo);
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        kazoo_answers(1, "OK");
        hf_test_begin(&waiter, lock, HF_TEST_LONG);
        kazoo_thread_says("OK", 1, "%s unlock x", p->kazoo);
        hf_expect(HF_OK, hf_test_answer(&waiter));
        assert_in_range(waiter.took_ms, 0, SOON);
        hf_expect(HF_OK, hf_test_end(&waiter));
        hf_test_free(lock);
    }
}

static void writers_count_without_losing_one(void **state) {
    (void)state;
    both_add_up(&the_kazoo, HF_WRITE, "write", "x");
}

/* ---- sessions ---------------------------------------------------------- */

static void a_killed_holder_frees_the_lock_within_its_session(void **state) {
    (void)state;
    hf_test_peer *c = c_peer(SHORT_LEASE);
    c_says(c, "OK", "lock 0 c");
    assert_memory_equal(hf_test_peer_ask(c, "try 0"), "OK ", 3);
    kazoo_waits(1, "lock lock c");
    hf_test_peer_signal(c, SIGKILL);
    kazoo_answers(1, "OK");
    hf_test_peer_stop(c);

    hf_test_thread waiter;
    kazoo_says("OK", "lock lock k");
    hf_test_begin(&waiter, c_lock(HF_LOCK, "k"), HF_TEST_LONG);
    kazoo_kill();
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(waiter.took_ms, 0, SHORT_LEASE + SOON);
    hf_expect(HF_OK, hf_test_end(&waiter));
}

#define WITH(name)       HF_TEST_IN(with_kazoo, name, end)
#define WITH_RW(name)    HF_TEST_IN(with_readers, name, end)
#define WITH_SHORT(name) HF_TEST_IN(with_short_sessions, name, end)
static const struct CMUnitTest tests[] = {
    WITH(what_either_holds_is_busy_for_the_other),
    WITH(together_they_count_without_losing_one),
    WITH(our_entries_are_contenders),
    WITH(a_release_by_c_wakes_kazoo),
    WITH(a_release_by_kazoo_wakes_c),
    WITH(a_mixed_queue_is_served_in_order),
    WITH_RW(readers_share_and_writers_are_alone),
    WITH_RW(readers_and_writers_wake_each_other),
    WITH_RW(writers_count_without_losing_one),
    WITH_SHORT(a_killed_holder_frees_the_lock_within_its_session),
};
HF_SUITE(tests)
