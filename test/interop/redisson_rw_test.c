/* SPDX-License-Identifier: MIT
 *
 * redisson_rw_test.c - readers and writers in C and Java on one lock. */
#include "redisson.h"
#include "support/dir.h"
#include "support/guarded.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { TURNS = 3 };

/* Who holds, who waits; two who read do not wait. */
static const struct pairing {
    hf_kind c;
    const char *java;
    bool share;
} pairings[] = {
    {HF_READ, "read", true},
    {HF_READ, "write", false},
    {HF_WRITE, "read", false},
    {HF_WRITE, "write", false},
};
enum { PAIRINGS = sizeof pairings / sizeof pairings[0] };

static bool is_gone(const char *name) {
    return hf_test_server_ask_number(server, "EXISTS \"%s\"", name) == 0;
}

/* ---- exclusion --------------------------------------------------------- */

static void meet(const struct pairing *p, const char *name) {
    hf_lock *lock = c_lock(p->c, name);
    const char *answer = p->share ? "YES" : "NO";
    const char *c = p->c == HF_READ ? "read" : "write";
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_says("YES", "%s locked %s", c, name);
    java_says("0", "%s holds %s", p->java, name);
    assert_in_range(java_number("%s ttl %s", c, name), 1, LONG_LEASE);
    java_says("NOT_OWNER", "%s unlock %s", p->java, name);
    java_says(answer, "%s try %s", p->java, name);
    java_says(p->share ? "1" : "0", "%s holds %s", p->java, name);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    if (!p->share)
        java_says("YES", "%s try %s", p->java, name);
    hf_expect(p->share ? HF_OK : HF_BUSY, hf_lock_try(lock, ERR));
    java_says("OK", "%s unlock %s", p->java, name);
    if (p->share)
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
    assert_true(is_gone(name));
    hf_test_free(lock);
}

static void readers_share_and_writers_are_alone(void **state) {
    (void)state;
    for (const struct pairing *p = pairings; p < pairings + PAIRINGS; p++)
        for (int i = 0; i < n_names; i++)
            meet(p, names[i]);
}

/* Writers on both sides guard what both count. */
static void together_they_count_without_losing_one(void **state) {
    (void)state;
    enum { THREADS = 2, ROUNDS = 100 };
    char path[200];
    hf_test_fresh_path(path, sizeof path, "counter");
    hf_test_guarded *g = hf_test_guarded_map(path);
    assert_non_null(g);
    java_begins(1, "contend write %s %d %d x", path, THREADS, ROUNDS);
    hf_test_contend_with(client, "x", HF_LOCK_WITH(.kind = HF_WRITE), g,
                         THREADS, ROUNDS);
    java_has_counted(1, g);
    assert_int_equal(g->counter, 2 * THREADS * ROUNDS);
    assert_int_equal(g->overlaps, 0);
    assert_int_equal(g->failures, 0);
    hf_test_guarded_unmap(g);
}

/* ---- waiting ----------------------------------------------------------- */

static void c_releases_and_java_enters(const struct pairing *p,
                                       const char *name) {
    hf_lock *lock = c_lock(p->c, name);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_waits(1, "%s lock %s", p->java, name);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_answers(1, "OK");
    java_thread_says("OK", 1, "%s unlock %s", p->java, name);
    hf_test_free(lock);
}

static void a_release_by_c_wakes_java(void **state) {
    (void)state;
    for (const struct pairing *p = pairings + 1; p < pairings + PAIRINGS; p++)
        for (int i = 0; i < n_names; i++)
            c_releases_and_java_enters(p, names[i]);
}

static int64_t java_unlocks_and_c_enters(const struct pairing *p,
                                         const char *name) {
    hf_test_thread waiter;
    hf_lock *lock = c_lock(p->c, name);
    java_says("OK", "%s lock %s", p->java, name);
    hf_test_begin(&waiter, lock, HF_TEST_LONG);
    int64_t began = hf_test_now_ms();
    java_says("OK", "%s unlock %s", p->java, name);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    int64_t took = hf_test_now_ms() - began;
    hf_expect(HF_OK, hf_test_end(&waiter));
    hf_test_free(lock);
    return took;
}

/* As with the plain lock: looking again would take longer. */
static void a_release_by_java_wakes_c(void **state) {
    (void)state;
    for (const struct pairing *p = pairings + 1; p < pairings + PAIRINGS; p++)
        for (int i = 0; i < n_names; i++) {
            int64_t spent = 0;
            for (int turn = 0; turn < TURNS; turn++)
                spent += java_unlocks_and_c_enters(p, names[i]);
            assert_in_range(spent, 0, SOON);
        }
}

static void a_writer_enters_behind_the_last_of_mixed_readers(void **state) {
    (void)state;
    hf_test_thread writer;
    hf_lock *reads = c_lock(HF_READ, "x"), *writes = c_lock(HF_WRITE, "x");
    for (int last = 0; last < 2; last++) { /* 0: ours, 1: Java's */
        hf_expect(HF_OK, hf_lock_try(reads, ERR));
        java_says("OK", "read lock x");
        java_thread_says("OK", 2, "read lock x");
        java_waits(1, "write lock x");
        if (last == 0) {
            java_says("OK", "read unlock x");
            java_thread_says("OK", 2, "read unlock x");
            assert_false(java_answered(1));
            hf_expect(HF_OK, hf_lock_release(reads, ERR));
        } else {
            java_says("OK", "read unlock x");
            hf_expect(HF_OK, hf_lock_release(reads, ERR));
            assert_false(java_answered(1));
            java_thread_says("OK", 2, "read unlock x");
        }
        java_answers(1, "OK");
        java_thread_says("OK", 1, "write unlock x");

        java_says("OK", "read lock x");
        hf_expect(HF_OK, hf_lock_try(reads, ERR));
        hf_test_begin(&writer, writes, HF_TEST_LONG);
        if (last == 0)
            java_says("OK", "read unlock x");
        hf_expect(HF_OK, hf_lock_release(reads, ERR));
        if (last == 1)
            java_says("OK", "read unlock x");
        hf_expect(HF_OK, hf_test_answer(&writer));
        hf_expect(HF_OK, hf_test_end(&writer));
        assert_true(is_gone("x"));
    }
}

static void all_readers_enter_behind_a_writer(void **state) {
    (void)state;
    enum { READERS = 3 };
    hf_test_thread readers[READERS];
    hf_lock *reads = c_lock(HF_READ, "x"), *writes = c_lock(HF_WRITE, "x");
    for (int who = 0; who < 2; who++) { /* 0: we write, 1: Java does */
        if (who == 0)
            hf_expect(HF_OK, hf_lock_try(writes, ERR));
        else
            java_says("OK", "write lock x");
        for (int i = 0; i < READERS; i++) {
            java_waits(1 + i, "read lock x");
            hf_test_begin(&readers[i], reads, HF_TEST_LONG);
        }
        if (who == 0)
            hf_expect(HF_OK, hf_lock_release(writes, ERR));
        else
            java_says("OK", "write unlock x");
        for (int i = 0; i < READERS; i++) {
            java_answers(1 + i, "OK");
            hf_expect(HF_OK, hf_test_answer(&readers[i]));
        }
        for (int i = 0; i < READERS; i++) {
            java_thread_says("OK", 1 + i, "read unlock x");
            hf_expect(HF_OK, hf_test_end(&readers[i]));
        }
        assert_true(is_gone("x"));
    }
}

/* ---- both sides at once ------------------------------------------------- */

static void what_c_downgrades_java_may_read(void **state) {
    (void)state;
    hf_lock *reads = c_lock(HF_READ, "x"), *writes = c_lock(HF_WRITE, "x");
    hf_expect(HF_OK, hf_lock_try(writes, ERR));
    hf_expect(HF_OK, hf_lock_try(reads, ERR));
    java_says("YES", "write locked x");
    java_says("YES", "read locked x");
    java_says("NO", "read try x");
    java_waits(1, "read lock x");
    java_waits(2, "read lock x");
    hf_expect(HF_OK, hf_lock_release(writes, ERR)); /* Java is woken by that */
    java_answers(1, "OK");
    java_answers(2, "OK");
    java_says("NO", "write locked x");
    java_says("NO", "write try x");
    java_thread_says("OK", 1, "read unlock x");
    java_thread_says("OK", 2, "read unlock x");
    java_says("NO", "write try x");
    hf_expect(HF_OK, hf_lock_release(reads, ERR));
    java_says("YES", "write try x");
}

/* Redisson wakes nobody then; we look again. */
static void what_java_downgrades_c_may_read(void **state) {
    (void)state;
    hf_test_thread reader;
    hf_lock *reads = c_lock(HF_READ, "x"), *writes = c_lock(HF_WRITE, "x");
    java_says("OK", "write lock x");
    java_says("OK", "read lock x");
    hf_expect(HF_BUSY, hf_lock_try(reads, ERR));
    hf_test_begin(&reader, reads, HF_TEST_LONG);
    java_says("OK", "write unlock x");
    hf_expect(HF_OK, hf_test_answer(&reader));
    hf_expect(HF_BUSY, hf_lock_try(writes, ERR));
    java_says("OK", "read unlock x");
    hf_expect(HF_BUSY, hf_lock_try(writes, ERR));
    hf_expect(HF_OK, hf_test_end(&reader));
    hf_expect(HF_OK, hf_lock_try(writes, ERR));
}

static void what_either_took_twice_is_free_after_two_releases(void **state) {
    (void)state;
    static const hf_kind kinds[] = {HF_READ, HF_WRITE};
    static const char *const nouns[] = {"read", "write"};
    for (int i = 0; i < 2; i++) {
        hf_lock *lock = c_lock(kinds[i], "x"), *writes = c_lock(HF_WRITE, "x");
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        java_says("NO", "write try x");
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        java_says("OK", "%s lock x", nouns[i]);
        java_says("OK", "%s lock x", nouns[i]);
        java_says("2", "%s holds x", nouns[i]);
        java_says("OK", "%s unlock x", nouns[i]);
        hf_expect(HF_BUSY, hf_lock_try(writes, ERR));
        java_says("OK", "%s unlock x", nouns[i]);
        hf_expect(HF_OK, hf_lock_try(writes, ERR));
        hf_expect(HF_OK, hf_lock_release(writes, ERR));
    }
}

/* Redisson would grant both; we do not know what that would mean. */
static void c_neither_reads_nor_writes_beside_a_plain_lock(void **state) {
    (void)state;
    java_says("OK", "lock lock x");
    hf_expect(HF_ESTORE, hf_lock_try(c_lock(HF_READ, "x"), ERR));
    hf_expect(HF_ESTORE, hf_lock_try(c_lock(HF_WRITE, "x"), ERR));
    java_says("OK", "write lock y");
    hf_expect(HF_BUSY, hf_lock_try(c_lock(HF_LOCK, "y"), ERR));
}

/* ---- force ------------------------------------------------------------- */

static void force_by_either_wakes_who_waits(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_client *other = hf_test_open(hf_test_server_uri(server), NULL);
    hf_lock *reads = c_lock(HF_READ, "x");
    hf_lock *writes = hf_test_lock(other, "x", HF_LOCK_WITH(.kind = HF_WRITE));
    java_says("OK", "write lock x");
    java_waits(1, "read lock x");
    hf_expect(HF_OK, hf_lock_force_release(writes, NULL, ERR));
    java_answers(1, "OK");
    java_says("NOT_OWNER", "write unlock x");
    java_waits(2, "write lock x");
    hf_expect(HF_OK, hf_lock_force_release(reads, NULL, ERR));
    java_answers(2, "OK");
    hf_test_begin(&waiter, reads, HF_TEST_LONG);
    java_says("YES", "write force x");
    hf_expect(HF_OK, hf_test_answer(&waiter));
    java_says("NO", "write force x");
    java_says("YES", "read force x");
    hf_expect(HF_OK, hf_lock_try(writes, ERR));
    hf_expect(HF_ELOST, hf_test_end(&waiter));
    assert_true(hf_lock_is_held(writes));
}

/* ---- leases and crashes ------------------------------------------------- */

static void the_watchdog_of_either_keeps_the_other_out(void **state) {
    (void)state;
    hf_lock *cr = c_lock(HF_READ, "cr"), *cw = c_lock(HF_WRITE, "cw");
    hf_lock *both = c_lock(HF_READ, "both");
    hf_lock *jr = c_lock(HF_WRITE, "jr"), *jw = c_lock(HF_READ, "jw");
    hf_expect(HF_OK, hf_lock_try(cr, ERR));
    hf_expect(HF_OK, hf_lock_try(cw, ERR));
    hf_expect(HF_OK, hf_lock_try(both, ERR));
    java_says("OK", "read lock both");
    java_says("OK", "read lock jr");
    java_says("OK", "write lock jw");
    hf_test_throughout(hf_lock_is_held(cr) && hf_lock_is_held(cw) &&
                           hf_lock_is_held(both) &&
                           hf_lock_try(jr, ERR) == HF_BUSY &&
                           hf_lock_try(jw, ERR) == HF_BUSY &&
                           strcmp(java_ask("write try cr"), "NO") == 0 &&
                           strcmp(java_ask("read try cw"), "NO") == 0,
                       3 * SHORT_LEASE);
    java_says("OK", "read unlock both");
    java_says("NO", "write try both"); /* ours is alive, whoever left */
    hf_expect(HF_OK, hf_lock_release(both, ERR));
    java_says("YES", "write try both");
    hf_expect(HF_OK, hf_lock_release(cr, ERR));
    hf_expect(HF_OK, hf_lock_release(cw, ERR));
    java_says("OK", "read unlock jr");
    java_says("OK", "write unlock jw");
    hf_expect(HF_OK, hf_lock_try(jr, ERR));
    hf_expect(HF_OK, hf_lock_try(jw, ERR));
}

static hf_test_peer *a_peer_with(hf_kind kind, const char *name) {
    hf_test_peer *peer = c_peer(SHORT_LEASE);
    c_says(peer, "OK", "lock 0 %s kind=%d", name, kind);
    assert_memory_equal(hf_test_peer_ask(peer, "try 0"), "OK ", 3);
    return peer;
}

static void a_killed_holder_frees_the_lock_within_its_lease(void **state) {
    (void)state;
    hf_test_thread reader, writer;
    hf_test_peer *reads = a_peer_with(HF_READ, "cr");
    hf_test_peer *writes = a_peer_with(HF_WRITE, "cw");
    java_waits(1, "write lock cr");
    java_waits(2, "read lock cw");
    hf_test_peer_signal(reads, SIGKILL);
    hf_test_peer_signal(writes, SIGKILL);
    java_answers(1, "OK");
    java_answers(2, "OK");
    hf_test_peer_stop(reads);
    hf_test_peer_stop(writes);

    java_says("OK", "read lock jr");
    java_says("OK", "write lock jw");
    hf_test_begin(&writer, c_lock(HF_WRITE, "jr"), HF_TEST_LONG);
    hf_test_begin(&reader, c_lock(HF_READ, "jw"), HF_TEST_LONG);
    java_kill();
    hf_expect(HF_OK, hf_test_answer(&writer));
    hf_expect(HF_OK, hf_test_answer(&reader));
    hf_expect(HF_OK, hf_test_end(&writer));
    hf_expect(HF_OK, hf_test_end(&reader));
}

/* A killed reader leaves a field behind that its lease no longer covers. */
static void a_killed_reader_does_not_outlast_the_living(void **state) {
    (void)state;
    hf_test_thread writer;
    hf_lock *reads = c_lock(HF_READ, "j");
    hf_test_peer *peer = a_peer_with(HF_READ, "c");
    java_says("OK", "read lock c");
    java_says("OK", "read lock j");
    hf_expect(HF_OK, hf_lock_try(reads, ERR));
    hf_test_peer_signal(peer, SIGKILL);
    hf_test_peer_stop(peer);
    /* Before 4.4 Java renews the dead one as well, for as long as it reads. */
    if (java_is_4())
        hf_test_eventually(hf_test_server_ask_number(
                               server, "EVAL \"return #redis.call('KEYS', "
                                       "'{c}:*:rwlock_timeout:*')\" 0") == 1,
                           HF_TEST_LONG);
    java_waits(1, "write lock c");
    java_says("OK", "read unlock c");
    assert_string_equal(java_answer(1, HF_TEST_LONG), "OK");

    hf_test_begin(&writer, c_lock(HF_WRITE, "j"), HF_TEST_LONG);
    java_kill();
    hf_expect(HF_OK, hf_lock_release(reads, ERR));
    hf_expect(HF_OK, hf_test_answer(&writer));
    hf_expect(HF_OK, hf_test_end(&writer));
}

static const struct CMUnitTest tests[] = {
    WITH_LONG(readers_share_and_writers_are_alone),
    WITH_LONG(together_they_count_without_losing_one),
    WITH_LONG(a_release_by_c_wakes_java),
    WITH_LONG(a_release_by_java_wakes_c),
    WITH_LONG(a_writer_enters_behind_the_last_of_mixed_readers),
    WITH_LONG(all_readers_enter_behind_a_writer),
    WITH_LONG(what_c_downgrades_java_may_read),
    WITH_LONG(what_java_downgrades_c_may_read),
    WITH_LONG(what_either_took_twice_is_free_after_two_releases),
    WITH_LONG(c_neither_reads_nor_writes_beside_a_plain_lock),
    WITH_LONG(force_by_either_wakes_who_waits),
    WITH_SHORT(the_watchdog_of_either_keeps_the_other_out),
    WITH_SHORT(a_killed_holder_frees_the_lock_within_its_lease),
    WITH_SHORT(a_killed_reader_does_not_outlast_the_living),
};
HF_SUITE(tests)
