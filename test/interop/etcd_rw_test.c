/* SPDX-License-Identifier: MIT
 *
 * etcd_rw_test.c - readers and writers in C and Go on one lock: ours, and the
 * RWMutex of etcd's package recipe. */
#include "etcd.h"

#include <signal.h>

enum { TURNS = 3 };

static const struct pairing {
    hf_kind c;
    const char *go;
} pairings[] = {{HF_READ, "write"}, {HF_WRITE, "read"}, {HF_WRITE, "write"}};
enum { PAIRINGS = sizeof pairings / sizeof pairings[0] };

static void readers_share(void **state) {
    (void)state;
    hf_lock *reads = c_lock(HF_READ, "x"), *writes = c_lock(HF_WRITE, "x");
    hf_expect(HF_OK, hf_lock_try(reads, ERR));
    go_says("OK", "read lock x");
    hf_expect(HF_OK, hf_lock_release(reads, ERR));
    hf_expect(HF_BUSY, hf_lock_try(writes, ERR));
    hf_expect(HF_OK, hf_lock_try(reads, ERR));
    go_says("OK", "read unlock x");
    hf_expect(HF_OK, hf_lock_release(reads, ERR));
    go_says("NO", "keys x");
}

static void a_release_by_c_wakes_go(void **state) {
    (void)state;
    for (const struct pairing *p = pairings; p < pairings + PAIRINGS; p++)
        for (int i = 0; i < n_names; i++) {
            hf_lock *lock = c_lock(p->c, names[i]);
            hf_expect(HF_OK, hf_lock_try(lock, ERR));
            go_waits(1, "%s lock %s", p->go, names[i]);
            hf_expect(HF_OK, hf_lock_release(lock, ERR));
            go_answers(1, "OK");
            go_thread_says("OK", 1, "%s unlock %s", p->go, names[i]);
            hf_test_free(lock);
        }
}

static void a_release_by_go_wakes_c(void **state) {
    (void)state;
    for (const struct pairing *p = pairings; p < pairings + PAIRINGS; p++) {
        hf_lock *lock = c_lock(p->c, "x");
        int64_t spent = 0;
        for (int turn = 0; turn < TURNS; turn++) {
            hf_test_thread waiter;
            go_says("OK", "%s lock x", p->go);
            hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
            hf_test_begin(&waiter, lock, HF_TEST_LONG);
            int64_t began = hf_test_now_ms();
            go_says("OK", "%s unlock x", p->go);
            hf_expect(HF_OK, hf_test_answer(&waiter));
            spent += hf_test_now_ms() - began;
            hf_expect(HF_OK, hf_test_end(&waiter));
        }
        assert_in_range(spent, 0, SOON);
        hf_test_free(lock);
    }
}

static void writers_count_without_losing_one(void **state) {
    (void)state;
    both_add_up(&the_go, HF_WRITE, "write", "x");
}

static void a_reader_does_not_overtake_a_writer_who_waits(void **state) {
    (void)state;
    hf_test_thread reader;
    hf_lock *reads = c_lock(HF_READ, "x");
    hf_lock *late = hf_test_lock(c_other(), "x", HF_LOCK_WITH(.kind = HF_READ));
    hf_expect(HF_OK, hf_lock_try(reads, ERR));
    go_waits(1, "write lock x");
    hf_expect(HF_BUSY, hf_lock_try(late, ERR));
    hf_test_begin(&reader, late, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(reads, ERR));
    go_answers(1, "OK");
    assert_false(atomic_load(&reader.answered));
    go_thread_says("OK", 1, "write unlock x");
    hf_expect(HF_OK, hf_test_answer(&reader));
    hf_expect(HF_OK, hf_test_end(&reader));
}

/* The reader beside has the place of the writer, whoever came in between. */
static void a_writer_who_waits_stays_behind_what_c_downgrades(void **state) {
    (void)state;
    hf_lock *reads = c_lock(HF_READ, "x"), *writes = c_lock(HF_WRITE, "x");
    hf_expect(HF_OK, hf_lock_try(writes, ERR));
    go_waits(1, "write lock x");
    hf_expect(HF_OK, hf_lock_try(reads, ERR));
    hf_expect(HF_OK, hf_lock_release(writes, ERR));
    assert_false(go_answered(1));
    hf_expect(HF_OK, hf_lock_release(reads, ERR));
    go_answers(1, "OK");
    go_thread_says("OK", 1, "write unlock x");
    go_says("NO", "keys x");
}

static void what_c_downgrades_go_may_read(void **state) {
    (void)state;
    hf_lock *reads = c_lock(HF_READ, "x"), *writes = c_lock(HF_WRITE, "x");
    hf_expect(HF_OK, hf_lock_try(writes, ERR));
    hf_expect(HF_OK, hf_lock_try(reads, ERR));
    go_waits(1, "read lock x");
    hf_expect(HF_OK, hf_lock_release(writes, ERR));
    go_answers(1, "OK");
    go_waits(2, "write lock x");
    go_thread_says("OK", 1, "read unlock x");
    assert_false(go_answered(2));
    hf_expect(HF_OK, hf_lock_release(reads, ERR));
    go_answers(2, "OK");
}

static void a_killed_holder_frees_its_side_within_its_lease(void **state) {
    (void)state;
    hf_test_thread writer, reader;
    hf_test_peer *c = c_peer(SHORT_LEASE);
    c_says(c, "OK", "lock 0 cr kind=%d", HF_READ);
    c_says(c, "OK", "lock 1 cw kind=%d", HF_WRITE);
    assert_memory_equal(hf_test_peer_ask(c, "try 0"), "OK ", 3);
    assert_memory_equal(hf_test_peer_ask(c, "try 1"), "OK ", 3);
    go_waits(1, "write lock cr");
    go_waits(2, "read lock cw");
    hf_test_peer_signal(c, SIGKILL);
    go_answers(1, "OK");
    go_answers(2, "OK");
    hf_test_peer_stop(c);

    go_says("OK", "read lock gr");
    go_says("OK", "write lock gw");
    hf_test_begin(&writer, c_lock(HF_WRITE, "gr"), HF_TEST_LONG);
    hf_test_begin(&reader, c_lock(HF_READ, "gw"), HF_TEST_LONG);
    go_kill();
    hf_expect(HF_OK, hf_test_answer(&writer));
    hf_expect(HF_OK, hf_test_answer(&reader));
    assert_in_range(writer.took_ms, 0, SHORT_LEASE + SOON);
    hf_expect(HF_OK, hf_test_end(&writer));
    hf_expect(HF_OK, hf_test_end(&reader));
}

static const struct CMUnitTest tests[] = {
    WITH_LONG(readers_share),
    WITH_LONG(a_release_by_c_wakes_go),
    WITH_LONG(a_release_by_go_wakes_c),
    WITH_LONG(writers_count_without_losing_one),
    WITH_LONG(a_reader_does_not_overtake_a_writer_who_waits),
    WITH_LONG(a_writer_who_waits_stays_behind_what_c_downgrades),
    WITH_LONG(what_c_downgrades_go_may_read),
    WITH_SHORT(a_killed_holder_frees_its_side_within_its_lease),
};
HF_SUITE(tests)
