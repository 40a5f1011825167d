/* SPDX-License-Identifier: MIT
 *
 * redisson_cluster_test.c - C and Java on a Redis Cluster.
 *
 * Every sentence is said twice, with the messages that both choose by
 * themselves, which are sharded since Redis 7, and with those that go to all
 * nodes.  The names lie on different masters. */
#include "both.h"
#include "support/cluster.h"
#include "support/dir.h"
#include "support/guarded.h"

#include <stdio.h>
#include <string.h>

static const char *const modes[] = {"auto", "off"};
enum { MODES = sizeof modes / sizeof modes[0] };

static hf_test_cluster *cluster; /* with replicas; NULL: a lent one */
static const char *uri;
static int mode;

static const char *address(int in_mode) {
    static char text[300];
    snprintf(text, sizeof text, "%s?sharded=%s", uri, modes[in_mode]);
    return text;
}

static void in_each_mode(int lease_ms, void **state) {
    void *body = *state;
    for (mode = 0; mode < MODES; mode++) {
        meet_at(address(mode), lease_ms);
        *state = body;
        hf_test_body(state);
        hf_test_clear();
    }
}

static void with_masters(void **state) {
    uri = hf_test_borrow(&hf_test_cluster_sort)->uri;
    in_each_mode(LONG_LEASE, state);
}

static void with_replicas(void **state) {
    cluster = hf_test_cluster_start(
        &(hf_test_cluster_options){.masters = 3, .replicas = 1});
    uri = hf_test_cluster_uri(cluster);
    in_each_mode(LONG_LEASE, state);
}

static void with_short(void **state) {
    uri = hf_test_borrow(&hf_test_cluster_sort)->uri;
    in_each_mode(SHORT_LEASE, state);
}

static int part_and_stop(void **state) {
    (void)state;
    part();
    hf_test_cluster_stop(cluster);
    cluster = NULL;
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

/* A latch whose name has a tag lies in one slot and its channel in another:
 * Redisson's scripts, which name both as keys, are refused. */
static void a_latch_opened_by_either_lets_all_through(void **state) {
    (void)state;
    for (int i = 0; i < n_names; i++)
        if (strchr(names[i], '{') == NULL)
            both_pass(names[i]);
    assert_non_null(strstr(java_ask("latch set 1 {t}a"), "CROSSSLOT"));
}

static void together_they_count_without_losing_one(void **state) {
    (void)state;
    enum { THREADS = 2, ROUNDS = 30 };
    for (int i = 0; i < n_names; i++) {
        char path[200];
        hf_test_fresh_path(path, sizeof path, "counter");
        hf_test_guarded *g = hf_test_guarded_map(path);
        assert_non_null(g);
        java_begins(1, "contend fenced %s %d %d %s", path, THREADS, ROUNDS,
                    names[i]);
        hf_test_contend_with(client, names[i], NULL, g, THREADS, ROUNDS);
        java_has_counted(1, g);
        assert_int_equal(g->counter, 2 * THREADS * ROUNDS);
        assert_int_equal(g->overlaps, 0);
        assert_int_equal(g->disorders, 0);
        assert_int_equal(g->failures, 0);
        hf_test_guarded_unmap(g);
    }
}

static void a_killed_holder_frees_the_lock_within_its_lease(void **state) {
    (void)state;
    either_dies();
}

/* ---- messages ---------------------------------------------------------- */

/* Both sides must use the same ones; what is not heard costs us a look, and
 * Java the rest of the lease. */
static void who_publishes_otherwise_is_not_heard(void **state) {
    (void)state;
    hf_client *other = hf_test_open(address((mode + 1) % MODES),
                                    HF_CLIENT_WITH(.lease_ms = LONG_LEASE));
    hf_lock *lock = hf_test_lock(other, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_waits(1, "lock lock x");
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    hf_test_throughout(!java_answered(1), 1000);

    hf_lock *heard = hf_test_lock(client, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(heard, ERR));
    hf_expect(HF_OK, hf_lock_release(heard, ERR));
    java_answers(1, "OK");

    hf_test_thread waiter;
    hf_test_begin(&waiter, lock, HF_TEST_LONG);
    java_thread_says("OK", 1, "lock unlock x");
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

/* ---- failover ---------------------------------------------------------- */

static bool follows(int i, int master) {
    char role[64];
    snprintf(role, sizeof role, "slave\n127.0.0.1\n%d\nconnected",
             hf_test_server_port(hf_test_cluster_server(cluster, master)));
    return strncmp(
               hf_test_server_ask(hf_test_cluster_server(cluster, i), "ROLE"),
               role, strlen(role)) == 0;
}

/* The replica that would take over the name; -1: none yet. */
static int heir(const char *name) {
    int owner = hf_test_cluster_owner(cluster, name);
    for (int i = 0; i < hf_test_cluster_size(cluster); i++)
        if (owner >= 0 && follows(i, owner))
            return i;
    return -1;
}

static bool java_follows(int master) {
    hf_test_server *there = hf_test_cluster_server(cluster, master);
    return strcmp(java_ask("master %d", hf_test_server_port(there)), "YES") ==
           0;
}

/* By order, so that nothing is lost.  Until Java knows of it, its calls may end
 * with an exception: its client for the old master is shut. */
static void fail_over(const char *name) {
    int owner = hf_test_cluster_owner(cluster, name);
    hf_test_eventually(heir(name) >= 0, HF_TEST_LONG);
    assert_string_equal(
        hf_test_server_ask(hf_test_cluster_server(cluster, heir(name)),
                           "CLUSTER FAILOVER"),
        "OK");
    owner = hf_test_cluster_await_failover(cluster, name, owner);
    hf_test_eventually(java_follows(owner), HF_TEST_LONG);
}

static void after_a_failover_they_exclude_and_wake(void **state) {
    (void)state;
    hf_lock *c = c_lock(HF_LOCK, "{a}c"), *j = c_lock(HF_LOCK, "{a}j");
    hf_expect(HF_OK, hf_lock_try(c, ERR));
    java_says("OK", "lock lock {a}j");
    fail_over("{a}");
    java_says("NO", "lock try {a}c");
    hf_expect(HF_BUSY, hf_lock_try(j, ERR));
    hf_expect(HF_OK, hf_lock_release(c, ERR));
    java_says("OK", "lock unlock {a}j");
    for (int i = 0; i < PAIRINGS; i++)
        both_wake(&pairings[i], i < 3 ? "a" : "{a}rw");
    both_count("a");
    both_give("{a}s");
    both_lease("{a}p");
}

static bool java_listens(const char *name) {
    hf_test_server *there =
        hf_test_cluster_server(cluster, hf_test_cluster_owner(cluster, name));
    const char *reply = hf_test_server_ask(
        there, "PUBSUB %s %s", mode == 0 ? "SHARDNUMSUB" : "NUMSUB",
        prefixed("redisson_lock__channel", name));
    return strstr(reply, "\n1") != NULL;
}

/* Java listens again after a while; what is said meanwhile it does not hear,
 * and it sleeps until the lease would have ended. */
static void who_waits_through_a_failover_is_woken(void **state) {
    (void)state;
    hf_test_thread waiter;
    java_says("OK", "lock lock {a}j");
    hf_test_begin(&waiter, c_lock(HF_LOCK, "{a}j"), HF_TEST_LONG);
    hf_lock *c = c_lock(HF_LOCK, "{a}c");
    hf_expect(HF_OK, hf_lock_try(c, ERR));
    java_waits(1, "lock lock {a}c");
    fail_over("{a}");
    java_says("OK", "lock unlock {a}j");
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    hf_test_eventually(java_listens("{a}c"), HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(c, ERR));
    java_answers(1, "OK");
    java_thread_says("OK", 1, "lock unlock {a}c");
}

#define ON_MASTERS(name) HF_TEST_IN(with_masters, name, part_and_stop)
static const struct CMUnitTest tests[] = {
    ON_MASTERS(what_either_holds_is_busy_for_the_other),
    ON_MASTERS(a_release_wakes_the_other_side),
    ON_MASTERS(readers_and_writers_wake_each_other),
    ON_MASTERS(tokens_grow_whoever_is_granted),
    ON_MASTERS(a_mixed_fair_queue_is_served_in_order),
    ON_MASTERS(permits_from_either_wake_the_other),
    ON_MASTERS(a_latch_opened_by_either_lets_all_through),
    ON_MASTERS(together_they_count_without_losing_one),
    ON_MASTERS(who_publishes_otherwise_is_not_heard),
    HF_TEST_IN(with_short, a_killed_holder_frees_the_lock_within_its_lease,
               part_and_stop),
    HF_TEST_IN(with_replicas, after_a_failover_they_exclude_and_wake,
               part_and_stop),
    HF_TEST_IN(with_replicas, who_waits_through_a_failover_is_woken,
               part_and_stop),
};
HF_SUITE(tests)
