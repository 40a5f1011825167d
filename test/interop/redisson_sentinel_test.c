/* SPDX-License-Identifier: MIT
 *
 * redisson_sentinel_test.c - C and Java with the master that the sentinels
 * name, before and after it is another one. */
#include "both.h"
#include "support/dir.h"
#include "support/guarded.h"
#include "support/sentinel.h"

#include <stdio.h>
#include <string.h>

static hf_test_ensemble *ensemble; /* our own; NULL: a lent one */

static void with_sentinels(void **state) {
    meet_at(hf_test_borrow(&hf_test_sentinel_sort)->uri, LONG_LEASE);
    hf_test_body(state);
}

static void with_short(void **state) {
    meet_at(hf_test_borrow(&hf_test_sentinel_sort)->uri, SHORT_LEASE);
    hf_test_body(state);
}

/* Whose master may become another. */
static void with_own(void **state) {
    ensemble = hf_test_ensemble_start(NULL);
    meet_at(hf_test_ensemble_uri(ensemble), LONG_LEASE);
    hf_test_body(state);
}

static void with_watchful(void **state) {
    ensemble = hf_test_ensemble_start(
        &(hf_test_ensemble_options){.down_after_ms = 500});
    meet_at(hf_test_ensemble_uri(ensemble), LONG_LEASE);
    hf_test_body(state);
}

static int part_and_stop(void **state) {
    (void)state;
    part();
    hf_test_ensemble_stop(ensemble);
    ensemble = NULL;
    hf_test_give_back();
    return 0;
}

/* ---- every kind -------------------------------------------------------- */

static void what_either_holds_is_busy_for_the_other(void **state) {
    (void)state;
    for (int i = 0; i < PAIRINGS * n_names; i++)
        both_exclude(&pairings[i / n_names], names[i % n_names]);
}

static void a_release_wakes_the_other_side(void **state) {
    (void)state;
    for (int i = 0; i < n_names; i++)
        both_wake(&pairings[i % 3], names[i]); /* lock, fenced, fair */
}

static void readers_and_writers_wake_each_other(void **state) {
    (void)state;
    for (int i = 0; i < n_names; i++)
        both_wake(&pairings[3 + i % 3], names[i]);
}

static void tokens_grow_whoever_is_granted(void **state) {
    (void)state;
    for (int i = 0; i < n_names; i++)
        both_count(names[i]);
}

static void a_mixed_fair_queue_is_served_in_order(void **state) {
    (void)state;
    for (int i = 0; i < n_names; i++)
        both_queue(names[i]);
}

static void permits_from_either_wake_the_other(void **state) {
    (void)state;
    for (int i = 0; i < n_names; i++) {
        both_give(names[i]);
        both_lease(names[i]);
    }
}

static void a_latch_opened_by_either_lets_all_through(void **state) {
    (void)state;
    for (int i = 0; i < n_names; i++)
        both_pass(names[i]);
}

static void together_they_count_without_losing_one(void **state) {
    (void)state;
    enum { THREADS = 2, ROUNDS = 50 };
    char path[200];
    hf_test_fresh_path(path, sizeof path, "counter");
    hf_test_guarded *g = hf_test_guarded_map(path);
    assert_non_null(g);
    java_begins(1, "contend fenced %s %d %d x", path, THREADS, ROUNDS);
    hf_test_contend_with(client, "x", NULL, g, THREADS, ROUNDS);
    java_has_counted(1, g);
    assert_int_equal(g->counter, 2 * THREADS * ROUNDS);
    assert_int_equal(g->overlaps, 0);
    assert_int_equal(g->disorders, 0);
    assert_int_equal(g->failures, 0);
    hf_test_guarded_unmap(g);
}

/* Redisson waits for its replicas by itself. */
static void a_lock_that_all_replicas_confirm_is_shared(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *lock = hf_test_lock(client, "x", HF_LOCK_WITH(.replicas = HF_ALL));
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_waits(1, "lock lock x");
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_answers(1, "OK");
    hf_test_begin(&waiter, lock, HF_TEST_LONG);
    java_thread_says("OK", 1, "lock unlock x");
    hf_expect(HF_OK, hf_test_answer(&waiter));
    java_says("NO", "lock try x");
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static void a_killed_holder_frees_the_lock_within_its_lease(void **state) {
    (void)state;
    either_dies();
}

/* ---- failover ---------------------------------------------------------- */

static bool java_follows(int master) {
    hf_test_server *there = hf_test_ensemble_server(ensemble, master);
    return strcmp(java_ask("master %d", hf_test_server_port(there)), "YES") ==
           0;
}

/* The old master still says yes for a moment: until Java has left it, the two
 * may be granted the same lock.  Nothing is lost otherwise. */
static void fail_over(void) {
    int master = hf_test_ensemble_master(ensemble);
    hf_test_ensemble_sync(ensemble, master);
    hf_test_ensemble_fail_over(ensemble);
    master = hf_test_ensemble_await_failover(ensemble, master);
    hf_test_eventually(java_follows(master), HF_TEST_LONG);
}

static void after_a_failover_they_exclude_and_wake(void **state) {
    (void)state;
    hf_lock *c = c_lock(HF_LOCK, "c"), *j = c_lock(HF_LOCK, "j");
    hf_expect(HF_OK, hf_lock_try(c, ERR));
    java_says("OK", "lock lock j");
    fail_over();
    java_says("NO", "lock try c");
    hf_expect(HF_BUSY, hf_lock_try(j, ERR));
    hf_expect(HF_OK, hf_lock_release(c, ERR));
    java_says("OK", "lock unlock j");
    for (int i = 0; i < PAIRINGS; i++)
        both_wake(&pairings[i], i < 3 ? "a" : "rw");
    both_count("a");
    both_queue("a");
    both_give("s");
    both_lease("p");
    both_pass("l");
}

static bool java_listens(const char *name) {
    hf_test_server *master =
        hf_test_ensemble_server(ensemble, hf_test_ensemble_master(ensemble));
    const char *reply = hf_test_server_ask(
        master, "PUBSUB NUMSUB %s", prefixed("redisson_lock__channel", name));
    return strstr(reply, "\n1") != NULL;
}

/* Java listens again after a while; what is said meanwhile it does not hear,
 * and it sleeps until the lease would have ended. */
static void who_waits_through_a_failover_is_woken(void **state) {
    (void)state;
    hf_test_thread waiter;
    java_says("OK", "lock lock j");
    hf_test_begin(&waiter, c_lock(HF_LOCK, "j"), HF_TEST_LONG);
    hf_lock *c = c_lock(HF_LOCK, "c");
    hf_expect(HF_OK, hf_lock_try(c, ERR));
    java_waits(1, "lock lock c");
    fail_over();
    java_says("OK", "lock unlock j");
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    hf_test_eventually(java_listens("c"), HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(c, ERR));
    java_answers(1, "OK");
}

static void when_the_master_died_they_exclude_and_wake(void **state) {
    (void)state;
    hf_lock *c = c_lock(HF_LOCK, "c");
    hf_expect(HF_OK, hf_lock_try(c, ERR));
    hf_test_ensemble_sync(ensemble, 0);
    hf_test_server_kill(hf_test_ensemble_server(ensemble, 0));
    int master = hf_test_ensemble_await_failover(ensemble, 0);
    hf_test_eventually(java_follows(master), HF_TEST_LONG);
    java_says("NO", "lock try c");
    hf_expect(HF_OK, hf_lock_release(c, ERR));
    java_says("YES", "lock try c");
    for (int i = 0; i < 3; i++)
        both_wake(&pairings[i], "a");
}

#define WITH_SENTINELS(name) HF_TEST_IN(with_sentinels, name, part_and_stop)
static const struct CMUnitTest tests[] = {
    WITH_SENTINELS(what_either_holds_is_busy_for_the_other),
    WITH_SENTINELS(a_release_wakes_the_other_side),
    WITH_SENTINELS(readers_and_writers_wake_each_other),
    WITH_SENTINELS(tokens_grow_whoever_is_granted),
    WITH_SENTINELS(a_mixed_fair_queue_is_served_in_order),
    WITH_SENTINELS(permits_from_either_wake_the_other),
    WITH_SENTINELS(a_latch_opened_by_either_lets_all_through),
    WITH_SENTINELS(together_they_count_without_losing_one),
    WITH_SENTINELS(a_lock_that_all_replicas_confirm_is_shared),
    HF_TEST_IN(with_own, after_a_failover_they_exclude_and_wake, part_and_stop),
    HF_TEST_IN(with_own, who_waits_through_a_failover_is_woken, part_and_stop),
    HF_TEST_IN(with_watchful, when_the_master_died_they_exclude_and_wake,
               part_and_stop),
    HF_TEST_IN(with_short, a_killed_holder_frees_the_lock_within_its_lease,
               part_and_stop),
};
HF_SUITE(tests)
