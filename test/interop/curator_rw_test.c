/* SPDX-License-Identifier: MIT
 *
 * curator_rw_test.c - readers and writers in C and Java on one lock: ours, and
 * Curator's InterProcessReadWriteLock. */
#include "curator.h"

#include <signal.h>
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

/* ---- exclusion --------------------------------------------------------- */

static void meet(const struct pairing *p, const char *name) {
    hf_lock *lock = c_lock(p->c, name);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_says("NOT_OWNER", "%s unlock %s", p->java, name);
    java_says(p->share ? "YES" : "NO", "%s try %s", p->java, name);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    if (!p->share)
        java_says("YES", "%s try %s", p->java, name);
    hf_expect(p->share ? HF_OK : HF_BUSY, hf_lock_try(lock, ERR));
    java_says("OK", "%s unlock %s", p->java, name);
    if (p->share)
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
    assert_string_equal(java_node("write", name, 0), "");
    hf_test_free(lock);
}

static void readers_share_and_writers_are_alone(void **state) {
    (void)state;
    for (const struct pairing *p = pairings; p < pairings + PAIRINGS; p++)
        for (int i = 0; i < n_names; i++)
            meet(p, names[i]);
}

static void writers_count_without_losing_one(void **state) {
    (void)state;
    both_add_up(&the_java, HF_WRITE, "write", "x");
}

static void our_entries_are_participants(void **state) {
    (void)state;
    hf_lock *reads = c_lock(HF_READ, "x"), *writes = c_lock(HF_WRITE, "x");
    hf_expect(HF_OK, hf_lock_try(reads, ERR));
    int64_t first = check_node(java_node("read", "x", 0), "__READ__");
    hf_expect(HF_OK, hf_lock_release(reads, ERR));
    hf_expect(HF_OK, hf_lock_try(writes, ERR));
    int64_t second = check_node(java_node("write", "x", 0), "__WRIT__");
    assert_true(second > first);
    hf_expect(HF_OK, hf_lock_try(reads, ERR)); /* a downgrade to come */
    assert_int_equal(check_node(java_node("read", "x", 0), "__READ__"), second);
    assert_int_equal(hf_lock_token(reads), hf_lock_token(writes));
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
        java_waits(1, "write lock x");
        if (last == 0) {
            java_says("OK", "read unlock x");
            assert_false(java_answered(1));
            hf_expect(HF_OK, hf_lock_release(reads, ERR));
        } else {
            hf_expect(HF_OK, hf_lock_release(reads, ERR));
            assert_false(java_answered(1));
            java_says("OK", "read unlock x");
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
        assert_string_equal(java_node("write", "x", 0), "");
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
        assert_string_equal(java_node("write", "x", 0), "");
    }
}

static void a_reader_does_not_overtake_a_writer_who_waits(void **state) {
    (void)state;
    hf_test_thread writer, reader;
    hf_lock *reads = c_lock(HF_READ, "x");
    hf_lock *late = hf_test_lock(c_other(), "x", HF_LOCK_WITH(.kind = HF_READ));
    hf_expect(HF_OK, hf_lock_try(reads, ERR));
    java_waits(1, "write lock x");
    hf_expect(HF_BUSY, hf_lock_try(late, ERR));
    hf_test_begin(&reader, late, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(reads, ERR));
    java_answers(1, "OK");
    assert_false(atomic_load(&reader.answered));
    java_thread_says("OK", 1, "write unlock x");
    hf_expect(HF_OK, hf_test_answer(&reader));

    hf_test_begin(&writer, c_lock(HF_WRITE, "x"), HF_TEST_LONG);
    hf_test_eventually(hf_test_waiters(client, "x") == 1, HF_TEST_LONG);
    java_says("NO", "read try x");
    java_waits(2, "read lock x");
    hf_expect(HF_OK, hf_test_end(&reader));
    hf_expect(HF_OK, hf_test_answer(&writer));
    assert_false(java_answered(2));
    hf_expect(HF_OK, hf_test_end(&writer));
    java_answers(2, "OK");
}

/* ---- both sides at once ------------------------------------------------- */

/* Ours keeps the writer's place, whatever the version of Java that waits. */
static void what_c_downgrades_java_may_read(void **state) {
    (void)state;
    hf_lock *reads = c_lock(HF_READ, "x"), *writes = c_lock(HF_WRITE, "x");
    hf_expect(HF_OK, hf_lock_try(writes, ERR));
    java_waits(1, "read lock x");
    hf_expect(HF_OK, hf_lock_try(reads, ERR));
    java_waits(2, "write lock x");
    hf_expect(HF_OK, hf_lock_release(writes, ERR));
    java_answers(1, "OK");
    java_thread_says("OK", 1, "read unlock x");
    assert_false(java_answered(2));
    hf_expect(HF_OK, hf_lock_release(reads, ERR));
    java_answers(2, "OK");
    java_thread_says("OK", 2, "write unlock x");
}

static void a_writer_who_waits_stays_behind_what_c_downgrades(void **state) {
    (void)state;
    hf_lock *reads = c_lock(HF_READ, "x"), *writes = c_lock(HF_WRITE, "x");
    hf_expect(HF_OK, hf_lock_try(writes, ERR));
    java_waits(1, "write lock x");
    hf_expect(HF_OK, hf_lock_try(reads, ERR)); /* later, and yet before it */
    hf_expect(HF_OK, hf_lock_release(writes, ERR));
    assert_false(java_answered(1));
    hf_expect(HF_OK, hf_lock_release(reads, ERR));
    java_answers(1, "OK");
}

static void what_java_downgrades_c_may_read(void **state) {
    (void)state;
    hf_test_thread reader;
    java_says("OK", "write lock x");
    java_says("OK", "read lock x");
    hf_lock *reads = c_lock(HF_READ, "x");
    hf_expect(HF_BUSY, hf_lock_try(reads, ERR));
    hf_test_begin(&reader, reads, HF_TEST_LONG);
    java_says("OK", "write unlock x");
    hf_expect(HF_OK, hf_test_answer(&reader));
    hf_expect(HF_BUSY, hf_lock_try(c_lock(HF_WRITE, "x"), ERR));
    hf_expect(HF_OK, hf_test_end(&reader));
    hf_expect(HF_BUSY, hf_lock_try(c_lock(HF_WRITE, "x"), ERR));
    java_says("OK", "read unlock x");
    hf_expect(HF_OK, hf_lock_try(c_lock(HF_WRITE, "x"), ERR));
}

static void a_writer_of_ours_stays_behind_what_java_downgrades(void **state) {
    (void)state;
    hf_test_thread writer;
    hf_test_need(java_keeps_its_place(),
                 "Curator before 5.5 lets a writer in who came in between");
    java_says("OK", "write lock x");
    hf_test_begin(&writer, c_lock(HF_WRITE, "x"), HF_TEST_LONG);
    hf_test_eventually(hf_test_waiters(client, "x") == 1, HF_TEST_LONG);
    java_says("OK", "read lock x");
    java_says("OK", "write unlock x");
    hf_test_throughout(!atomic_load(&writer.answered), A_MOMENT);
    java_says("OK", "read unlock x");
    hf_expect(HF_OK, hf_test_answer(&writer));
    hf_expect(HF_OK, hf_test_end(&writer));
}

/* ---- sessions ---------------------------------------------------------- */

static void a_killed_holder_frees_its_side_within_its_session(void **state) {
    (void)state;
    hf_test_thread writer, reader;
    hf_test_peer *c = c_peer(SHORT_LEASE);
    c_says(c, "OK", "lock 0 cr kind=%d", HF_READ);
    c_says(c, "OK", "lock 1 cw kind=%d", HF_WRITE);
    assert_memory_equal(hf_test_peer_ask(c, "try 0"), "OK ", 3);
    assert_memory_equal(hf_test_peer_ask(c, "try 1"), "OK ", 3);
    java_waits(1, "write lock cr");
    java_waits(2, "read lock cw");
    hf_test_peer_signal(c, SIGKILL);
    java_answers(1, "OK");
    java_answers(2, "OK");
    hf_test_peer_stop(c);

    java_says("OK", "read lock jr");
    java_says("OK", "write lock jw");
    hf_test_begin(&writer, c_lock(HF_WRITE, "jr"), HF_TEST_LONG);
    hf_test_begin(&reader, c_lock(HF_READ, "jw"), HF_TEST_LONG);
    java_kill();
    hf_expect(HF_OK, hf_test_answer(&writer));
    hf_expect(HF_OK, hf_test_answer(&reader));
    assert_in_range(writer.took_ms, 0, SHORT_LEASE + SOON);
    hf_expect(HF_OK, hf_test_end(&writer));
    hf_expect(HF_OK, hf_test_end(&reader));
}

static const struct CMUnitTest tests[] = {
    WITH_LONG(readers_share_and_writers_are_alone),
    WITH_LONG(writers_count_without_losing_one),
    WITH_LONG(our_entries_are_participants),
    WITH_LONG(a_release_by_c_wakes_java),
    WITH_LONG(a_release_by_java_wakes_c),
    WITH_LONG(a_writer_enters_behind_the_last_of_mixed_readers),
    WITH_LONG(all_readers_enter_behind_a_writer),
    WITH_LONG(a_reader_does_not_overtake_a_writer_who_waits),
    WITH_LONG(what_c_downgrades_java_may_read),
    WITH_LONG(a_writer_who_waits_stays_behind_what_c_downgrades),
    WITH_LONG(what_java_downgrades_c_may_read),
    WITH_LONG(a_writer_of_ours_stays_behind_what_java_downgrades),
    WITH_SHORT(a_killed_holder_frees_its_side_within_its_session),
};
HF_SUITE(tests)
