/* SPDX-License-Identifier: MIT
 *
 * rw.c - many readers or one writer, and the writer who reads.
 *
 * The owner is the calling thread, so that one thread with a handle for each
 * side is a writer who may read; what others do is done through clients of
 * their own. */
#include "contract.h"

#include "support/peer.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define READ         HF_LOCK_WITH(.kind = HF_READ)
#define WRITE        HF_LOCK_WITH(.kind = HF_WRITE)
#define READ_BEHIND  HF_LOCK_WITH(.kind = HF_READ, .flags = HF_WRITERS_FIRST)
#define WRITE_BEFORE HF_LOCK_WITH(.kind = HF_WRITE, .flags = HF_WRITERS_FIRST)

/* The two sides of "x", as one client has them. */
typedef struct sides {
    hf_client *client;
    hf_lock *read, *write;
} sides;

static sides open_sides_with(const hf_lock_options *read,
                             const hf_lock_options *write) {
    hf_client *client = hf_contract_open(NULL);
    return (sides){client, hf_test_lock(client, "x", read),
                   hf_test_lock(client, "x", write)};
}

static sides open_sides(void) {
    return open_sides_with(READ, WRITE);
}

void readers_hold_together_and_a_writer_alone(void **state) {
    (void)state;
    sides a = open_sides(), b = open_sides(), c = open_sides();
    hf_expect(HF_OK, hf_lock_try(a.read, ERR));
    hf_expect(HF_OK, hf_lock_try(b.read, ERR));
    assert_int_equal(hf_test_elsewhere(hf_lock_try, a.read), HF_OK);
    assert_true(hf_lock_is_held(a.read) && hf_lock_is_held(b.read));
    hf_expect(HF_BUSY, hf_lock_try(c.write, ERR));
    hf_expect(HF_OK, hf_lock_release(b.read, ERR));
    hf_expect(HF_BUSY, hf_lock_try(c.write, ERR));
    hf_test_free(a.read); /* with the hold of the thread that has ended */
    hf_expect(HF_OK, hf_lock_try(c.write, ERR));
    hf_expect(HF_BUSY, hf_lock_try(b.read, ERR));
    hf_expect(HF_BUSY, hf_lock_try(b.write, ERR));
    assert_int_equal(hf_test_holders(a.client, "x"), 1);
    hf_expect(HF_OK, hf_lock_release(c.write, ERR));
    hf_expect(HF_OK, hf_lock_try(b.read, ERR));
}

void a_writer_enters_when_the_last_reader_has_left(void **state) {
    (void)state;
    hf_test_only_woken();
    enum { N = 3 };
    hf_test_thread writer;
    sides readers[N], w = open_sides();
    uint64_t last = 0;
    for (int i = 0; i < N; i++) {
        readers[i] = open_sides();
        hf_expect(HF_OK, hf_lock_try(readers[i].read, ERR));
        assert_true(hf_lock_token(readers[i].read) > last);
        last = hf_lock_token(readers[i].read);
    }
    hf_test_begin(&writer, w.write, HF_FOREVER);
    for (int i = 0; i < N; i++) {
        assert_false(atomic_load(&writer.answered));
        hf_expect(HF_OK, hf_lock_release(readers[i].read, ERR));
    }
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_test_answer(&writer));
    assert_in_range(hf_test_now_ms() - began, 0, HF_CONTRACT_SOON);
    assert_true(writer.token > last);
    hf_expect(HF_BUSY, hf_lock_try(readers[0].read, ERR));
    hf_expect(HF_OK, hf_test_end(&writer));
}

/* A peer let its readers in one by one. */
void twenty_readers_enter_together_when_the_writer_leaves(void **state) {
    (void)state;
    hf_test_only_woken();
    enum { CLIENTS = 4, N = 20 };
    hf_test_thread readers[N];
    sides all[CLIENTS], w = open_sides();
    hf_expect(HF_OK, hf_lock_try(w.write, ERR));
    for (int i = 0; i < CLIENTS; i++)
        all[i] = open_sides();
    for (int i = 0; i < N; i++)
        hf_test_begin(&readers[i], all[i % CLIENTS].read, HF_FOREVER);
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_release(w.write, ERR));
    for (int i = 0; i < N; i++) /* nobody leaves before all are in */
        hf_expect(HF_OK, hf_test_answer(&readers[i]));
    assert_in_range(hf_test_now_ms() - began, 0, HF_CONTRACT_SOON);
    assert_int_equal(hf_test_holders(w.client, "x"), N);
    for (int i = 0; i < N; i++)
        hf_expect(HF_OK, hf_test_end(&readers[i]));
    hf_expect(HF_OK, hf_lock_try(w.write, ERR));
}

/* ---- the writer who reads ---------------------------------------------- */

void a_writer_may_read_and_others_may_not(void **state) {
    (void)state;
    sides a = open_sides(), b = open_sides();
    hf_expect(HF_OK, hf_lock_try(a.write, ERR));
    hf_expect(HF_OK, hf_lock_try(a.read, ERR));
    if (hf_contract_under_test.shares_token)
        assert_true(hf_lock_token(a.read) == hf_lock_token(a.write));
    else
        assert_true(hf_lock_token(a.read) > hf_lock_token(a.write));
    hf_expect(HF_BUSY, hf_lock_try(b.read, ERR));
    hf_expect(HF_BUSY, hf_lock_try(b.write, ERR));
    assert_int_equal(hf_test_elsewhere(hf_lock_try, a.read), HF_BUSY);
    hf_expect(HF_OK, hf_lock_release(a.read, ERR));
    assert_true(hf_lock_is_held(a.write));
    hf_expect(HF_BUSY, hf_lock_try(b.read, ERR));
    hf_expect(HF_OK, hf_lock_release(a.write, ERR));
    assert_int_equal(hf_test_holders(b.client, "x"), 0);
    hf_expect(HF_OK, hf_lock_try(b.write, ERR));
}

/* Where a peer woke nobody, the readers slept until the end of the lease. */
void a_downgrade_lets_readers_in_and_keeps_writers_out(void **state) {
    (void)state;
    hf_test_only_woken();
    hf_test_thread reader, sibling;
    sides a = open_sides(), b = open_sides(), c = open_sides();
    hf_expect(HF_OK, hf_lock_try(a.write, ERR));
    hf_expect(HF_OK, hf_lock_try(a.read, ERR));
    hf_test_begin(&reader, b.read, HF_FOREVER);
    hf_test_begin(&sibling, a.read, HF_FOREVER); /* another of our threads */
    assert_false(atomic_load(&reader.answered));
    assert_false(atomic_load(&sibling.answered));
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_release(a.write, ERR));
    hf_expect(HF_OK, hf_test_answer(&reader));
    hf_expect(HF_OK, hf_test_answer(&sibling));
    assert_in_range(hf_test_now_ms() - began, 0, HF_CONTRACT_SOON);
    assert_true(hf_lock_is_held(a.read));
    assert_false(hf_lock_is_held(a.write));
    hf_expect(HF_BUSY, hf_lock_try(c.write, ERR));
    hf_expect(HF_OK, hf_test_end(&reader));
    hf_expect(HF_OK, hf_test_end(&sibling));
    hf_expect(HF_BUSY, hf_lock_try(c.write, ERR));
    hf_expect(HF_OK, hf_lock_release(a.read, ERR));
    hf_expect(HF_OK, hf_lock_try(c.write, ERR));
}

void a_reader_who_wants_to_write_is_told_that_it_cannot(void **state) {
    (void)state;
    sides a = open_sides();
    hf_expect(HF_OK, hf_lock_try(a.read, ERR));
    hf_expect(HF_EUSAGE, hf_lock_acquire(a.write, HF_FOREVER, ERR));
    assert_non_null(strstr(ERR->text, "release the read side"));
    hf_expect(HF_EUSAGE, hf_lock_try(a.write, ERR));
    assert_true(hf_lock_is_held(a.read));
    hf_expect(HF_OK, hf_lock_release(a.read, ERR));
    hf_expect(HF_OK, hf_lock_try(a.write, ERR));
}

void each_side_is_entered_again_and_counted_for_itself(void **state) {
    (void)state;
    sides a = open_sides(), b = open_sides();
    for (int i = 0; i < 2; i++)
        hf_expect(HF_OK, hf_lock_acquire(a.write, 1000, ERR));
    for (int i = 0; i < 3; i++)
        hf_expect(HF_OK, hf_lock_acquire(a.read, 1000, ERR));
    assert_int_equal(hf_lock_holds(a.write), 2);
    assert_int_equal(hf_lock_holds(a.read), 3);
    uint64_t read = hf_lock_token(a.read), write = hf_lock_token(a.write);
    hf_expect(HF_OK, hf_lock_release(a.write, ERR));
    hf_expect(HF_BUSY, hf_lock_try(b.read, ERR));
    hf_expect(HF_OK, hf_lock_release(a.read, ERR));
    assert_int_equal(hf_lock_holds(a.write), 1);
    assert_int_equal(hf_lock_holds(a.read), 2);
    assert_true(hf_lock_token(a.read) == read);
    assert_true(hf_lock_token(a.write) == write);
    hf_expect(HF_OK, hf_lock_release(a.write, ERR));
    hf_expect(HF_ENOT_OWNER, hf_lock_release(a.write, ERR));
    hf_expect(HF_OK, hf_lock_try(b.read, ERR));
    hf_expect(HF_OK, hf_lock_release(b.read, ERR));
    for (int i = 0; i < 2; i++) {
        hf_expect(HF_BUSY, hf_lock_try(b.write, ERR));
        hf_expect(HF_OK, hf_lock_release(a.read, ERR));
    }
    hf_expect(HF_ENOT_OWNER, hf_lock_release(a.read, ERR));
    hf_expect(HF_OK, hf_lock_try(b.write, ERR));
}

void releasing_one_side_keeps_the_other(void **state) {
    (void)state;
    sides a = open_sides(), b = open_sides();
    hf_expect(HF_OK, hf_lock_try(a.write, ERR));
    hf_expect(HF_OK, hf_lock_try(a.read, ERR));
    hf_expect(HF_OK, hf_lock_release(a.read, ERR));
    hf_expect(HF_OK, hf_lock_try(a.read, ERR)); /* again, beside it */
    hf_expect(HF_OK, hf_lock_release(a.write, ERR));
    hf_expect(HF_ENOT_OWNER, hf_lock_release(a.write, ERR));
    assert_true(hf_lock_is_held(a.read));
    hf_expect(HF_BUSY, hf_lock_try(b.write, ERR));
    hf_expect(HF_OK, hf_lock_extend(a.read, 20000, ERR));
    hf_expect(HF_OK, hf_lock_release(a.read, ERR));
    hf_expect(HF_ENOT_OWNER, hf_lock_release(a.read, ERR));
    assert_int_equal(hf_test_holders(b.client, "x"), 0);
}

/* ---- leases ------------------------------------------------------------ */

enum { LEASE = 2000, LONGER = LEASE + 500 };

#define KEPT_READ                                                              \
    HF_LOCK_WITH(.kind = HF_READ, .watchdog_ms = LEASE, .renew_ms = 100)
#define KEPT_WRITE                                                             \
    HF_LOCK_WITH(.kind = HF_WRITE, .watchdog_ms = LEASE, .renew_ms = 100)

/* A peer's read unlock ended the renewal of the write lock around it. */
void a_read_inside_a_write_outlives_the_watchdogs_lease(void **state) {
    (void)state;
    sides a = open_sides_with(KEPT_READ, KEPT_WRITE), b = open_sides();
    hf_expect(HF_OK, hf_lock_try(a.write, ERR));
    hf_expect(HF_OK, hf_lock_try(a.read, ERR));
    hf_test_throughout(hf_lock_is_held(a.write) && hf_lock_is_held(a.read) &&
                           hf_lock_try(b.read, ERR) == HF_BUSY,
                       LONGER);
    hf_expect(HF_OK, hf_lock_release(a.read, ERR));
    hf_test_throughout(hf_lock_is_held(a.write) &&
                           hf_lock_try(b.read, ERR) == HF_BUSY,
                       LONGER);
    hf_expect(HF_OK, hf_lock_try(a.read, ERR));
    hf_expect(HF_OK, hf_lock_release(a.write, ERR));
    hf_test_throughout(hf_lock_is_held(a.read) &&
                           hf_lock_try(b.write, ERR) == HF_BUSY,
                       LONGER);
    assert_false(hf_test_is_told(a.read) || hf_test_is_told(a.write));
    hf_expect(HF_OK, hf_lock_release(a.read, ERR));
    hf_expect(HF_OK, hf_lock_try(b.write, ERR));
}

void a_reader_with_a_short_lease_does_not_shorten_a_longer_one(void **state) {
    (void)state;
    const hf_lock_options *brief =
        HF_LOCK_WITH(.kind = HF_READ, .lease_ms = 1000);
    const hf_lock_options *longer =
        HF_LOCK_WITH(.kind = HF_READ, .lease_ms = 2500);
    sides a = open_sides_with(longer, WRITE), b = open_sides_with(brief, WRITE);
    sides c = open_sides_with(brief, WRITE), w = open_sides();
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_try(a.read, ERR));
    hf_expect(HF_OK, hf_lock_try(b.read, ERR)); /* will leave */
    hf_expect(HF_OK, hf_lock_try(c.read, ERR)); /* will be forgotten */
    hf_expect(HF_OK, hf_lock_release(b.read, ERR));
    assert_true(hf_lock_is_held(a.read));
    hf_expect(HF_OK, hf_lock_acquire(w.write, HF_TEST_LONG, ERR));
    assert_in_range(hf_test_now_ms() - began, 2480, 2500 + 8000);
    assert_false(hf_lock_is_held(a.read));
    hf_expect(HF_ELOST, hf_lock_release(c.read, ERR));
    hf_expect(HF_ELOST, hf_lock_release(a.read, ERR));
    assert_true(hf_lock_is_held(w.write));
    hf_expect(HF_OK, hf_lock_release(w.write, ERR));
}

/* Its own, and nobody else's: the other one has left when it is over. */
void a_reader_may_shorten_its_own_lease(void **state) {
    (void)state;
    sides a = open_sides(), b = open_sides(), w = open_sides();
    hf_expect(HF_OK, hf_lock_try(a.read, ERR));
    hf_expect(HF_OK, hf_lock_try(b.read, ERR));
    hf_expect(HF_OK, hf_lock_extend(a.read, 300, ERR));
    hf_test_eventually(!hf_lock_is_held(a.read), HF_TEST_LONG);
    assert_true(hf_lock_is_held(b.read));
    hf_expect(HF_BUSY, hf_lock_try(w.write, ERR));
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_extend(b.read, 500, ERR));
    hf_expect(HF_OK, hf_lock_acquire(w.write, HF_TEST_LONG, ERR));
    assert_in_range(hf_test_now_ms() - began, 480, 500 + 8000);
    hf_expect(HF_ELOST, hf_lock_release(a.read, ERR));
    hf_expect(HF_ELOST, hf_lock_release(b.read, ERR));
    assert_true(hf_lock_is_held(w.write));
}

void two_readers_enter_when_the_writers_lease_ends(void **state) {
    (void)state;
    hf_test_thread readers[2];
    sides a =
        open_sides_with(READ, HF_LOCK_WITH(.kind = HF_WRITE, .lease_ms = 500));
    sides b = open_sides(), c = open_sides();
    hf_expect(HF_OK, hf_lock_try(a.write, ERR));
    hf_test_begin(&readers[0], b.read, HF_FOREVER);
    hf_test_begin(&readers[1], c.read, HF_FOREVER);
    for (int i = 0; i < 2; i++) {
        hf_expect(HF_OK, hf_test_answer(&readers[i]));
        assert_in_range(readers[i].took_ms, 0, 500 + 8000);
    }
    assert_false(hf_lock_is_held(a.write));
    assert_int_equal(hf_test_holders(a.client, "x"), 2);
    hf_expect(HF_ELOST, hf_lock_release(a.write, ERR));
    for (int i = 0; i < 2; i++)
        hf_expect(HF_OK, hf_test_end(&readers[i]));
}

void a_writer_enters_when_the_last_readers_lease_ends(void **state) {
    (void)state;
    hf_test_thread writer;
    sides a =
        open_sides_with(HF_LOCK_WITH(.kind = HF_READ, .lease_ms = 400), WRITE);
    sides b =
        open_sides_with(HF_LOCK_WITH(.kind = HF_READ, .lease_ms = 900), WRITE);
    sides w = open_sides();
    hf_expect(HF_OK, hf_lock_try(a.read, ERR));
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_try(b.read, ERR));
    hf_test_begin(&writer, w.write, HF_FOREVER);
    hf_test_eventually(!hf_lock_is_held(a.read), HF_TEST_LONG);
    hf_expect(HF_OK, hf_test_answer(&writer));
    assert_in_range(hf_test_now_ms() - began, 880, 900 + 8000);
    assert_false(hf_lock_is_held(b.read));
    hf_expect(HF_OK, hf_test_end(&writer));
}

void fifty_readers_are_kept_alive_and_leave_cleanly(void **state) {
    (void)state;
    enum { N = 50 };
    hf_test_thread readers[N];
    sides a = open_sides_with(KEPT_READ, WRITE);
    sides b = open_sides_with(KEPT_READ, WRITE), w = open_sides();
    for (int i = 0; i < N; i++)
        hf_test_begin(&readers[i], i % 2 ? a.read : b.read, HF_TEST_LONG);
    hf_test_throughout(hf_lock_try(w.write, ERR) == HF_BUSY, LONGER);
    assert_int_equal(hf_test_holders(w.client, "x"), N);
    for (int i = 0; i < N; i++) {
        hf_expect(HF_OK, hf_test_answer(&readers[i]));
        hf_expect(HF_OK, hf_test_end(&readers[i]));
    }
    hf_expect(HF_OK, hf_lock_try(w.write, ERR));
    assert_int_equal(hf_test_holders(w.client, "x"), 1);
}

/* ---- who is first ------------------------------------------------------ */

/* Who is let in leaves again. */
static bool is_refused(hf_lock *lock) {
    int rc = hf_lock_try(lock, ERR);
    if (rc == HF_OK)
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
    return rc == HF_BUSY;
}

/* But where first come is first served, they stand behind it. */
void readers_pass_a_waiting_writer(void **state) {
    (void)state;
    hf_test_thread writer;
    sides a = open_sides(), b = open_sides(), w = open_sides();
    bool passes = !(hf_can(a.client, HF_READ) & HF_CAN_ORDER);
    hf_expect(HF_OK, hf_lock_try(a.read, ERR));
    hf_test_begin(&writer, w.write, HF_FOREVER);
    if (passes)
        hf_expect(HF_OK, hf_lock_try(b.read, ERR));
    else
        hf_test_eventually(is_refused(b.read), HF_TEST_LONG);
    assert_false(atomic_load(&writer.answered));
    hf_expect(HF_OK, hf_lock_release(a.read, ERR));
    if (passes) {
        assert_false(atomic_load(&writer.answered));
        hf_expect(HF_OK, hf_lock_release(b.read, ERR));
    }
    hf_expect(HF_OK, hf_test_answer(&writer));
    hf_expect(HF_OK, hf_test_end(&writer));
}

void where_writers_come_first_readers_stay_behind_them(void **state) {
    (void)state;
    hf_test_only_woken();
    hf_test_thread writer, reader;
    sides a = open_sides_with(READ_BEHIND, WRITE_BEFORE);
    sides b = open_sides_with(READ_BEHIND, WRITE_BEFORE);
    sides w = open_sides_with(READ_BEHIND, WRITE_BEFORE);
    hf_expect(HF_OK, hf_lock_try(a.read, ERR));
    hf_test_begin(&writer, w.write, HF_FOREVER);
    hf_test_eventually(is_refused(b.read), HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_try(a.read, ERR)); /* it is in already */
    hf_expect(HF_OK, hf_lock_release(a.read, ERR));
    hf_test_begin(&reader, b.read, HF_FOREVER);
    assert_false(atomic_load(&writer.answered));
    assert_false(atomic_load(&reader.answered));
    hf_expect(HF_OK, hf_lock_release(a.read, ERR));
    hf_expect(HF_OK, hf_test_answer(&writer));
    assert_false(atomic_load(&reader.answered));
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_test_end(&writer));
    hf_expect(HF_OK, hf_test_answer(&reader));
    assert_in_range(hf_test_now_ms() - began, 0, HF_CONTRACT_SOON);
    assert_true(reader.token > writer.token);
    hf_expect(HF_OK, hf_test_end(&reader));
}

void a_waiting_writer_that_gives_up_lets_readers_in(void **state) {
    (void)state;
    hf_test_only_woken();
    hf_test_thread writer, reader;
    sides a = open_sides_with(READ_BEHIND, WRITE_BEFORE);
    sides b = open_sides_with(READ_BEHIND, WRITE_BEFORE);
    sides w = open_sides_with(READ_BEHIND, WRITE_BEFORE);
    hf_expect(HF_OK, hf_lock_try(a.read, ERR));
    hf_test_begin(&writer, w.write, HF_FOREVER);
    hf_test_eventually(is_refused(b.read), HF_TEST_LONG);
    hf_test_begin(&reader, b.read, HF_FOREVER);
    assert_false(atomic_load(&reader.answered));
    int64_t began = hf_test_now_ms();
    hf_expect(HF_ECANCELLED, hf_test_cancel(&writer));
    hf_expect(HF_OK, hf_test_end(&writer));
    hf_expect(HF_OK, hf_test_answer(&reader));
    assert_in_range(hf_test_now_ms() - began, 0, HF_CONTRACT_SOON);
    hf_expect(HF_OK, hf_test_end(&reader));
    assert_int_equal(hf_test_waiters(a.client, "x"), 0);
}

/* It would wait for itself otherwise. */
void a_writer_reads_although_another_writer_waits(void **state) {
    (void)state;
    hf_test_thread writer;
    sides a = open_sides_with(READ_BEHIND, WRITE_BEFORE);
    sides w = open_sides_with(READ_BEHIND, WRITE_BEFORE);
    hf_expect(HF_OK, hf_lock_try(a.write, ERR));
    hf_test_begin(&writer, w.write, HF_FOREVER);
    hf_expect(HF_OK, hf_lock_acquire(a.read, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_release(a.write, ERR));
    assert_true(hf_lock_is_held(a.read));
    assert_false(atomic_load(&writer.answered));
    hf_expect(HF_OK, hf_lock_release(a.read, ERR));
    hf_expect(HF_OK, hf_test_answer(&writer));
    hf_expect(HF_OK, hf_test_end(&writer));
}

/* The same when they wait in the same process: who waits for us must not come
 * before us. */
void a_writer_reads_although_its_own_threads_wait(void **state) {
    (void)state;
    hf_test_thread writer, reader;
    sides a = open_sides();
    hf_expect(HF_OK, hf_lock_try(a.write, ERR));
    hf_test_begin(&writer, a.write, HF_FOREVER);
    hf_test_begin(&reader, a.read, HF_FOREVER);
    int tried = hf_lock_try(a.read, ERR);
    int waited = hf_lock_acquire(a.read, 2000, ERR);
    hf_expect(HF_OK, hf_lock_release(a.write, ERR));
    if (tried == HF_OK)
        hf_expect(HF_OK, hf_lock_release(a.read, ERR));
    if (waited == HF_OK)
        hf_expect(HF_OK, hf_lock_release(a.read, ERR));
    hf_test_eventually(atomic_load(&writer.answered) ||
                           atomic_load(&reader.answered),
                       HF_TEST_LONG);
    hf_test_thread *first = atomic_load(&writer.answered) ? &writer : &reader;
    hf_expect(HF_OK, hf_test_end(first));
    hf_expect(HF_OK, hf_test_end(first == &writer ? &reader : &writer));
    hf_expect(HF_OK, tried);
    hf_expect(HF_OK, waited);
}

/* The read side is asked for beside a write side that is gone. */
void who_lost_its_write_unawares_reads_like_anybody(void **state) {
    (void)state;
    sides a = open_sides(), b = open_sides(), operator_ = open_sides();
    hf_expect(HF_OK, hf_lock_try(a.write, ERR));
    hf_expect(HF_OK, hf_lock_force_release(operator_.write, NULL, ERR));
    hf_expect(HF_OK, hf_lock_try(b.write, ERR));
    hf_expect(HF_BUSY, hf_lock_try(a.read, ERR));
    hf_expect(HF_OK, hf_lock_release(b.write, ERR));
    hf_expect(HF_OK, hf_lock_try(a.read, ERR));
    hf_expect(HF_BUSY, hf_lock_try(b.write, ERR));
    hf_expect(HF_OK, hf_lock_release(a.read, ERR));
    hf_expect(HF_OK, hf_lock_try(b.write, ERR));
}

/* ---- many at once ------------------------------------------------------ */

typedef struct room {
    atomic_int readers, writers, wrong, together;
} room;

typedef struct visitor {
    pthread_t thread;
    sides sides;
    room *room;
    unsigned seed;
} visitor;

static void read_there(room *r) {
    int others = atomic_fetch_add(&r->readers, 1);
    if (others > 0)
        atomic_fetch_add(&r->together, 1);
    if (atomic_load(&r->writers) != 0)
        atomic_fetch_add(&r->wrong, 1);
    hf_test_breathe();
    atomic_fetch_sub(&r->readers, 1);
}

static void write_there(room *r) {
    if (atomic_fetch_add(&r->writers, 1) != 0 || atomic_load(&r->readers) != 0)
        atomic_fetch_add(&r->wrong, 1);
    hf_test_breathe();
    atomic_fetch_sub(&r->writers, 1);
}

/* Writes, reads on before anybody else writes, leaves. */
static int downgrade_there(visitor *v) {
    int rc = hf_lock_acquire(v->sides.write, 3 * HF_TEST_LONG, NULL);
    if (rc != HF_OK)
        return rc;
    write_there(v->room);
    rc = hf_lock_acquire(v->sides.read, HF_TEST_LONG, NULL);
    if (hf_lock_release(v->sides.write, NULL) != HF_OK || rc != HF_OK)
        return HF_BUSY;
    read_there(v->room);
    return hf_lock_release(v->sides.read, NULL);
}

static int visit(visitor *v, bool writes) {
    hf_lock *side = writes ? v->sides.write : v->sides.read;
    int rc = hf_lock_acquire(side, 3 * HF_TEST_LONG, NULL);
    if (rc != HF_OK)
        return rc;
    if (writes)
        write_there(v->room);
    else
        read_there(v->room);
    return hf_lock_release(side, NULL);
}

static void *visit_often(void *arg) {
    visitor *v = arg;
    for (int i = 0; i < 20; i++) {
        unsigned dice = (v->seed = v->seed * 1103515245u + 12345u) >> 16;
        int rc = dice % 8 == 0 ? downgrade_there(v) : visit(v, dice % 4 == 1);
        if (rc != HF_OK)
            atomic_fetch_add(&v->room->wrong, 1);
    }
    return NULL;
}

void a_crowd_of_readers_and_writers_keeps_to_the_rule(void **state) {
    (void)state;
    enum { CLIENTS = 3, N = 12 };
    visitor all[N];
    sides clients[CLIENTS];
    room r = {0};
    for (int i = 0; i < CLIENTS; i++)
        clients[i] =
            i == 0 ? open_sides_with(READ_BEHIND, WRITE_BEFORE) : open_sides();
    for (int i = 0; i < N; i++) {
        all[i] = (visitor){
            .sides = clients[i % CLIENTS], .room = &r, .seed = (unsigned)i + 1};
        pthread_create(&all[i].thread, NULL, visit_often, &all[i]);
    }
    for (int i = 0; i < N; i++)
        pthread_join(all[i].thread, NULL);
    assert_int_equal(atomic_load(&r.wrong), 0);
    assert_true(atomic_load(&r.together) > 0);
    assert_int_equal(hf_test_holders(clients[0].client, "x"), 0);
    assert_int_equal(hf_test_waiters(clients[0].client, "x"), 0);
}

/* ---- operators --------------------------------------------------------- */

void a_forced_release_of_readers_is_told_to_each(void **state) {
    (void)state;
    sides a = open_sides_with(KEPT_READ, WRITE);
    sides b = open_sides_with(KEPT_READ, WRITE), w = open_sides();
    hf_expect(HF_EFREE, hf_lock_force_release(w.read, NULL, ERR));
    hf_expect(HF_OK, hf_lock_try(a.read, ERR));
    hf_expect(HF_OK, hf_lock_try(b.read, ERR));
    uint64_t token = hf_lock_token(b.read);
    hf_expect(HF_OK, hf_lock_force_release(w.read, NULL, ERR));
    hf_expect(HF_OK, hf_lock_acquire(w.write, HF_TEST_LONG, ERR));
    assert_true(hf_lock_token(w.write) > token + 1);
    hf_test_eventually(hf_test_is_told(a.read) && hf_test_is_told(b.read),
                       HF_TEST_LONG);
    hf_expect(HF_ELOST, hf_lock_release(a.read, ERR));
    hf_expect(HF_ELOST, hf_lock_release(b.read, ERR));
    assert_true(hf_lock_is_held(w.write));
}

void force_acts_on_the_side_it_is_asked_of(void **state) {
    (void)state;
    sides a = open_sides(), w = open_sides();
    hf_expect(HF_OK, hf_lock_try(a.write, ERR));
    hf_expect(HF_EFREE, hf_lock_force_release(w.read, NULL, ERR));
    hf_expect(HF_OK, hf_lock_try(a.read, ERR));
    hf_expect(HF_OK, hf_lock_force_release(w.write, NULL, ERR));
    hf_expect(HF_ELOST, hf_lock_extend(a.write, 20000, ERR));
    hf_expect(HF_OK, hf_lock_extend(a.read, 20000, ERR)); /* it reads on */
    hf_expect(HF_BUSY, hf_lock_try(w.write, ERR));
    hf_expect(HF_EFREE, hf_lock_force_release(w.write, NULL, ERR));
    hf_expect(HF_OK, hf_lock_force_release(w.read, NULL, ERR));
    hf_expect(HF_OK, hf_lock_try(w.write, ERR));
    hf_expect(HF_ELOST, hf_lock_release(a.write, ERR));
    hf_expect(HF_ELOST, hf_lock_release(a.read, ERR));
    assert_int_equal(hf_test_holders(w.client, "x"), 1);
}

typedef struct words {
    int readers, writers, others;
} words;

static void sort_out(void *arg, const hf_place *place) {
    words *w = arg;
    if (!place->holds)
        return;
    if (strcmp(place->kind, "read") == 0)
        w->readers++;
    else if (strcmp(place->kind, "write") == 0)
        w->writers++;
    else
        w->others++;
}

void the_list_tells_readers_from_writers(void **state) {
    (void)state;
    words seen = {0, 0, 0};
    sides a = open_sides(), b = open_sides();
    hf_expect(HF_OK, hf_lock_try(a.write, ERR));
    hf_expect(HF_OK, hf_lock_try(a.read, ERR));
    hf_expect(HF_OK, hf_list(b.client, "x", sort_out, &seen, ERR));
    assert_int_equal(seen.writers, 1);
    assert_int_equal(seen.readers, 1);
    hf_expect(HF_OK, hf_lock_release(a.write, ERR));
    hf_expect(HF_OK, hf_lock_try(b.read, ERR));
    seen = (words){0, 0, 0};
    hf_expect(HF_OK, hf_list(b.client, NULL, sort_out, &seen, ERR));
    assert_int_equal(seen.writers, 0);
    assert_int_equal(seen.readers, 2);
    assert_int_equal(seen.others, 0);
}

void a_read_write_lock_may_have_a_tag_in_its_name(void **state) {
    (void)state;
    static const char *const names[] = {"{tag}:a:b", "a{tag}b:c", "a:b"};
    hf_client *client = hf_contract_open(NULL), *other = hf_contract_open(NULL);
    for (int i = 0; i < 3; i++) {
        hf_lock *read = hf_test_lock(client, names[i], READ);
        hf_lock *write = hf_test_lock(other, names[i], WRITE);
        hf_expect(HF_OK, hf_lock_try(read, ERR));
        hf_expect(HF_BUSY, hf_lock_try(write, ERR));
        hf_expect(HF_OK, hf_lock_release(read, ERR));
        hf_expect(HF_OK, hf_lock_try(write, ERR));
        hf_expect(HF_BUSY, hf_lock_try(read, ERR));
    }
}

/* ---- other processes --------------------------------------------------- */

void a_killed_reader_does_not_keep_a_writer_out(void **state) {
    (void)state;
    sides w = open_sides();
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_peer_ask(peer, "lock 0 x kind=%d watchdog_ms=1500", HF_READ);
    assert_non_null(strstr(hf_test_peer_ask(peer, "try 0"), "OK"));
    hf_expect(HF_BUSY, hf_lock_try(w.write, ERR));
    hf_test_peer_signal(peer, SIGKILL);
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_acquire(w.write, HF_TEST_LONG, ERR));
    assert_in_range(hf_test_now_ms() - began, 0, 1500 + 8000);
    hf_test_peer_stop(peer);
}

/* A peer's watchdog once renewed the holds of readers that had died. */
void a_reader_does_not_keep_a_dead_one_alive(void **state) {
    (void)state;
    sides a = open_sides_with(KEPT_READ, WRITE), w = open_sides();
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_peer_ask(peer, "lock 0 x kind=%d watchdog_ms=1000", HF_READ);
    hf_expect(HF_OK, hf_lock_try(a.read, ERR));
    assert_non_null(strstr(hf_test_peer_ask(peer, "try 0"), "OK"));
    assert_int_equal(hf_test_holders(w.client, "x"), 2);
    hf_test_peer_signal(peer, SIGKILL);
    hf_test_throughout(hf_lock_is_held(a.read) &&
                           hf_lock_try(w.write, ERR) == HF_BUSY,
                       1500 + hf_contract_under_test.session_ms);
    hf_expect(HF_OK, hf_lock_release(a.read, ERR));
    hf_expect(HF_OK, hf_lock_try(w.write, ERR));
    hf_test_peer_stop(peer);
}

void readers_in_another_process_are_woken(void **state) {
    (void)state;
    hf_test_only_woken();
    sides w = open_sides();
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_peer_ask(peer, "lock 0 x kind=%d", HF_READ);
    int64_t spent = 0;
    for (int i = 0; i < 6; i++) {
        hf_expect(HF_OK, hf_lock_acquire(w.write, HF_TEST_LONG, ERR));
        hf_test_peer_send(peer, "acquire 0 %d", HF_TEST_LONG);
        assert_null(hf_test_peer_answer(peer, 50));
        if (i % 2 != 0) /* every other time by a downgrade */
            hf_expect(HF_OK, hf_lock_try(w.read, ERR));
        int64_t began = hf_test_now_ms();
        hf_expect(HF_OK, hf_lock_release(w.write, ERR));
        assert_non_null(strstr(hf_test_peer_answer(peer, HF_TEST_LONG), "OK"));
        spent += hf_test_now_ms() - began;
        assert_string_equal(hf_test_peer_ask(peer, "release 0"), "OK");
        if (i % 2 != 0)
            hf_expect(HF_OK, hf_lock_release(w.read, ERR));
    }
    assert_in_range(spent, 0, 2 * HF_CONTRACT_SOON);
    hf_test_peer_stop(peer);
}
