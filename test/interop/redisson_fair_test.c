/* SPDX-License-Identifier: MIT
 *
 * redisson_fair_test.c - one queue for C and Java: ours and Redisson's fair
 * lock.
 *
 * All who wait stand in Redisson's list.  Who leaves grants to the next of
 * ours and wakes the next of Java's. */
#include "redisson.h"
#include "support/dir.h"
#include "support/guarded.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static int64_t queued(const char *name) {
    return hf_test_server_ask_number(server, "LLEN \"%s\"",
                                     prefixed("redisson_lock_queue", name));
}

/* Nobody holds, nobody waits, and nothing else is left. */
static bool is_clean(const char *name) {
    return hf_test_server_ask_number(
               server, "EXISTS \"%s\" \"%s\" \"%s\"", name,
               prefixed("redisson_lock_queue", name),
               prefixed("redisson_lock_timeout", name)) == 0;
}

static hf_lock *fair(const char *name) {
    return c_lock(HF_FAIR, name);
}

/* ---- exclusion --------------------------------------------------------- */

static void what_either_holds_is_busy_for_the_other(void **state) {
    (void)state;
    for (int i = 0; i < n_names; i++) {
        hf_lock *lock = fair(names[i]);
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        java_says("NO", "fair try %s", names[i]);
        java_says("NO", "fair timed 20 -1 %s", names[i]);
        java_says("YES", "fair locked %s", names[i]);
        java_says("0", "fair holds %s", names[i]);
        java_says("NOT_OWNER", "fair unlock %s", names[i]);
        assert_in_range(java_number("fair ttl %s", names[i]), 1, LONG_LEASE);
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        assert_true(is_clean(names[i]));
        java_says("YES", "fair try %s", names[i]);
        java_says("YES", "fair try %s", names[i]);
        java_says("2", "fair holds %s", names[i]);
        hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
        if (i == 0)
            hf_expect(HF_ETIMEOUT, hf_lock_acquire(lock, A_MOMENT, ERR));
        java_says("OK", "fair unlock %s", names[i]);
        hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
        java_says("OK", "fair unlock %s", names[i]);
        assert_true(is_clean(names[i]));
    }
}

static void together_they_count_without_losing_one(void **state) {
    (void)state;
    enum { THREADS = 3, ROUNDS = 100 };
    char path[200];
    hf_test_fresh_path(path, sizeof path, "counter");
    hf_test_guarded *g = hf_test_guarded_map(path);
    assert_non_null(g);
    java_begins(1, "contend fair %s %d %d x", path, THREADS, ROUNDS);
    hf_test_contend_with(client, "x", HF_LOCK_WITH(.kind = HF_FAIR), g, THREADS,
                         ROUNDS);
    java_has_counted(1, g);
    assert_int_equal(g->counter, 2 * THREADS * ROUNDS);
    assert_int_equal(g->overlaps, 0);
    assert_int_equal(g->failures, 0);
    assert_true(is_clean("x"));
    hf_test_guarded_unmap(g);
}

/* ---- order ------------------------------------------------------------- */

/* Who waits, in that order; each digit is a thread of Java's, each letter one
 * of ours, a small one of the first client and a capital of the second. */
static const char *const queues[] = {"1a2bA", "ab12", "A12a3", "1a2b3A"};
enum { QUEUES = sizeof queues / sizeof queues[0], PLACES = 6 };

typedef struct waiter {
    char who;
    hf_test_thread c;
} waiter;

static void joins(waiter *w, char who, hf_lock *lock, const char *name) {
    int64_t before = queued(name);
    w->who = who;
    if (who < 'A')
        java_waits(who - '0', "fair lock %s", name);
    else
        hf_test_begin(&w->c, lock, HF_TEST_LONG);
    hf_test_eventually(queued(name) == before + 1, HF_TEST_LONG);
}

static bool has_entered(waiter *w) {
    return w->who < 'A' ? java_answered(w->who - '0') :
                          atomic_load(&w->c.answered);
}

static void enters_and_leaves(waiter *w, const char *name) {
    if (w->who < 'A') {
        java_answers(w->who - '0', "OK");
        java_thread_says("OK", w->who - '0', "fair unlock %s", name);
    } else {
        hf_expect(HF_OK, hf_test_answer(&w->c));
        hf_expect(HF_OK, hf_test_end(&w->c));
    }
}

static void served_in_order(const char *queue, const char *name,
                            bool java_holds) {
    static waiter waiters[PLACES];
    hf_client *other = hf_test_open(hf_test_server_uri(server), NULL);
    hf_lock *lock = fair(name);
    hf_lock *others = hf_test_lock(other, name, HF_LOCK_WITH(.kind = HF_FAIR));
    int n = (int)strlen(queue);
    if (java_holds)
        java_says("OK", "fair lock %s", name);
    else
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
    for (int i = 0; i < n; i++)
        joins(&waiters[i], queue[i], queue[i] < 'a' ? others : lock, name);
    if (java_holds)
        java_says("OK", "fair unlock %s", name);
    else
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
    for (int i = 0; i < n; i++) {
        hf_test_eventually(has_entered(&waiters[i]), HF_TEST_LONG);
        for (int later = i + 1; later < n; later++)
            assert_false(has_entered(&waiters[later]));
        enters_and_leaves(&waiters[i], name);
    }
    assert_true(is_clean(name));
    hf_test_free(lock);
    hf_test_free(others);
    hf_test_close(other);
}

static void a_mixed_queue_is_served_in_order_when_c_held(void **state) {
    (void)state;
    for (int i = 0; i < QUEUES; i++)
        served_in_order(queues[i], names[i % n_names], false);
}

static void a_mixed_queue_is_served_in_order_when_java_held(void **state) {
    (void)state;
    for (int i = 0; i < QUEUES; i++)
        served_in_order(queues[i], names[(i + 1) % n_names], true);
}

/* Who is first in the queue is first, also where nobody holds the lock. */
static void who_tries_does_not_overtake(void **state) {
    (void)state;
    waiter c, j;
    hf_lock *lock = fair("x");
    java_says("OK", "fair lock x");
    joins(&j, '1', NULL, "x");
    joins(&c, 'a', lock, "x");
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    java_says("YES", "fair try x"); /* it holds: counted up */
    java_says("OK", "fair unlock x");
    java_thread_says("NO", 2, "fair try x");
    assert_int_equal(queued("x"), 2);
    java_says("OK", "fair unlock x");
    enters_and_leaves(&j, "x");
    enters_and_leaves(&c, "x");
    assert_true(is_clean("x"));
}

static void who_gives_up_leaves_the_queue(void **state) {
    (void)state;
    waiter c, j;
    hf_lock *lock = fair("x");
    java_says("OK", "fair lock x");
    hf_expect(HF_ETIMEOUT, hf_lock_acquire(fair("x"), A_MOMENT, ERR));
    java_thread_says("NO", 1, "fair timed 100 -1 x");
    assert_int_equal(queued("x"), 0);
    joins(&c, 'a', lock, "x");
    joins(&j, '1', NULL, "x");
    hf_expect(HF_ECANCELLED, hf_test_cancel(&c.c));
    hf_expect(HF_OK, hf_test_end(&c.c));
    assert_int_equal(queued("x"), 1);
    java_says("OK", "fair unlock x");
    enters_and_leaves(&j, "x");
    assert_true(is_clean("x"));
}

/* Ours counts for ten seconds at a time. */
static void a_place_is_kept_longer_than_it_counts(void **state) {
    (void)state;
    waiter c, j;
    hf_lock *lock = fair("x");
    java_says("OK", "fair lock x");
    joins(&c, 'a', lock, "x");
    joins(&j, '1', NULL, "x");
    hf_test_throughout(queued("x") == 2 && !has_entered(&c), 12000);
    java_says("OK", "fair unlock x");
    hf_test_eventually(has_entered(&c), HF_TEST_LONG);
    assert_false(has_entered(&j));
    enters_and_leaves(&c, "x");
    enters_and_leaves(&j, "x");
    assert_true(is_clean("x"));
}

/* ---- force ------------------------------------------------------------- */

static void force_by_either_lets_the_first_in(void **state) {
    (void)state;
    waiter c, j;
    hf_lock *lock = fair("x");
    java_says("OK", "fair lock x");
    joins(&j, '1', NULL, "x");
    hf_expect(HF_OK, hf_lock_force_release(lock, NULL, ERR));
    hf_test_eventually(has_entered(&j), HF_TEST_LONG);
    java_says("NOT_OWNER", "fair unlock x");
    joins(&c, 'a', lock, "x");
    java_says("YES", "fair force x");
    hf_test_eventually(has_entered(&c), HF_TEST_LONG);
    java_answers(1, "OK");
    java_thread_says("NOT_OWNER", 1, "fair unlock x");
    assert_int_equal(hf_test_end(&c.c), HF_OK);
    assert_true(is_clean("x"));
}

/* ---- leases and crashes ------------------------------------------------ */

/* Of what was granted by message as well as of what was asked for. */
static void the_watchdog_of_either_keeps_the_other_out(void **state) {
    (void)state;
    waiter first, second;
    hf_lock *c = fair("c"), *j = fair("j"), *handed = fair("handed");
    hf_expect(HF_OK, hf_lock_try(c, ERR));
    java_says("OK", "fair lock j");
    java_says("OK", "fair lock handed");
    joins(&first, 'a', handed, "handed");
    joins(&second, 'b', handed, "handed");
    java_says("OK", "fair unlock handed");
    enters_and_leaves(&first, "handed");
    hf_expect(HF_OK, hf_test_answer(&second.c));
    hf_test_throughout(hf_lock_is_held(c) && hf_lock_try(j, ERR) == HF_BUSY &&
                           strcmp(java_ask("fair try c"), "NO") == 0 &&
                           strcmp(java_ask("fair try handed"), "NO") == 0,
                       3 * SHORT_LEASE);
    hf_expect(HF_OK, hf_test_end(&second.c));
    java_says("YES", "fair try handed");
    hf_expect(HF_OK, hf_lock_release(c, ERR));
    java_says("YES", "fair try c");
    java_says("OK", "fair unlock j");
    hf_expect(HF_OK, hf_lock_try(j, ERR));
}

static hf_test_peer *a_peer_that(const char *does, const char *name) {
    hf_test_peer *peer = c_peer(SHORT_LEASE);
    c_says(peer, "OK", "lock 0 %s kind=%d", name, HF_FAIR);
    hf_test_peer_send(peer, "%s", does);
    return peer;
}

static void a_killed_holder_frees_the_lock_within_its_lease(void **state) {
    (void)state;
    waiter c, j;
    hf_test_peer *peer = a_peer_that("try 0", "c");
    assert_memory_equal(hf_test_peer_answer(peer, HF_TEST_LONG), "OK ", 3);
    joins(&j, '1', NULL, "c");
    hf_test_peer_signal(peer, SIGKILL);
    enters_and_leaves(&j, "c");
    hf_test_peer_stop(peer);

    java_says("OK", "fair lock j");
    joins(&c, 'a', fair("j"), "j");
    java_kill();
    hf_expect(HF_OK, hf_test_answer(&c.c));
    hf_expect(HF_OK, hf_test_end(&c.c));
}

/* A place of ours counts for ten seconds from its last word. */
static bool first_spoke_long_ago(const char *name) {
    return hf_test_server_ask_number(
               server,
               "EVAL \"local now = redis.call('TIME')[1] * 1000 "
               "return redis.call('ZSCORE', KEYS[2], "
               "redis.call('LINDEX', KEYS[1], 0)) - now\" 2 %s %s",
               prefixed("redisson_lock_queue", name),
               prefixed("redisson_lock_timeout", name)) < 8500;
}

/* The one behind it enters as soon as its place no longer counts. */
static void a_killed_first_in_the_queue_holds_nobody_up(void **state) {
    (void)state;
    waiter c, j;
    hf_lock *lock = fair("x");
    /* Ours, when C leaves, and when Java does. */
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            hf_expect(HF_OK, hf_lock_try(lock, ERR));
        else
            java_says("OK", "fair lock x");
        hf_test_peer *peer = a_peer_that("acquire 0 60000", "x");
        hf_test_eventually(queued("x") == 1, HF_TEST_LONG);
        joins(&j, '1', NULL, "x");
        hf_test_peer_signal(peer, SIGKILL);
        hf_test_peer_stop(peer);
        if (i == 0) /* who spoke a moment ago may be about to listen */
            hf_test_eventually(first_spoke_long_ago("x"), HF_TEST_LONG);
        if (i == 0)
            hf_expect(HF_OK, hf_lock_release(lock, ERR));
        else
            java_says("OK", "fair unlock x");
        assert_string_equal(java_answer(1, HF_TEST_LONG), "OK");
        java_thread_says("OK", 1, "fair unlock x");
    }
    /* Java's, which took the holder with it. */
    java_says("OK", "fair lock x");
    joins(&j, '1', NULL, "x");
    joins(&c, 'a', lock, "x");
    java_kill();
    hf_expect(HF_OK, hf_test_answer(&c.c));
    hf_expect(HF_OK, hf_test_end(&c.c));
    assert_true(is_clean("x"));
}

static const struct CMUnitTest tests[] = {
    WITH_LONG(what_either_holds_is_busy_for_the_other),
    WITH_LONG(together_they_count_without_losing_one),
    WITH_LONG(a_mixed_queue_is_served_in_order_when_c_held),
    WITH_LONG(a_mixed_queue_is_served_in_order_when_java_held),
    WITH_LONG(who_tries_does_not_overtake),
    WITH_LONG(who_gives_up_leaves_the_queue),
    WITH_LONG(a_place_is_kept_longer_than_it_counts),
    WITH_LONG(force_by_either_lets_the_first_in),
    WITH_SHORT(the_watchdog_of_either_keeps_the_other_out),
    WITH_SHORT(a_killed_holder_frees_the_lock_within_its_lease),
    WITH_SHORT(a_killed_first_in_the_queue_holds_nobody_up),
};
HF_SUITE(tests)
