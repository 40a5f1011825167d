/* SPDX-License-Identifier: MIT
 *
 * curator_semaphore_test.c - permits and numbers for C and Java: our leased
 * permits and Curator's InterProcessSemaphoreV2, our numbers and latches and
 * its SharedCount. */
#include "curator.h"
#include "support/dir.h"
#include "support/guarded.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

enum { TURNS = 4, LIMIT = 3 };

static hf_lock *permits(const char *name, int n) {
    return hf_test_lock(client, name,
                        HF_LOCK_WITH(.kind = HF_PERMIT, .permits = n));
}

static bool java_sees(int64_t number, const char *name) {
    return java_number("number get %s", name) == number;
}

static int64_t leased(hf_semaphore *sem) {
    int64_t n = -1;
    hf_expect(HF_OK, hf_semaphore_count(sem, NULL, &n, ERR));
    return n;
}

static int64_t available(hf_semaphore *sem) {
    int64_t n = -1;
    hf_expect(HF_OK, hf_semaphore_count(sem, &n, NULL, ERR));
    return n;
}

/* ---- permits ----------------------------------------------------------- */

static void both_take_of_the_same_permits(void **state) {
    (void)state;
    for (int i = 0; i < n_names; i++) {
        hf_semaphore *sem = hf_test_semaphore(client, names[i]);
        hf_lock *two = permits(names[i], 2);
        hf_expect(HF_OK, hf_semaphore_set(sem, LIMIT, 0, ERR));
        hf_test_eventually(java_sees(LIMIT, names[i]), HF_TEST_LONG);
        hf_expect(HF_OK, hf_lock_try(two, ERR));
        java_says("YES", "sem acquire 1 %d %s", SOON, names[i]);
        assert_int_equal(leased(sem), LIMIT);
        assert_int_equal(available(sem), 0);
        java_says("NO", "sem acquire 1 50 %s", names[i]);
        hf_expect(HF_BUSY, hf_lock_try(permits(names[i], 1), ERR));
        hf_expect(HF_OK, hf_lock_release(two, ERR));
        java_says("YES", "sem acquire 2 %d %s", SOON, names[i]);
        hf_expect(HF_BUSY, hf_lock_try(two, ERR));
        java_says("OK", "sem release 3 %s", names[i]);
        assert_int_equal(leased(sem), 0);
        hf_expect(HF_OK, hf_lock_try(two, ERR));
        hf_test_free(two);
    }
}

static void our_permits_are_participants(void **state) {
    (void)state;
    hf_semaphore *sem = hf_test_semaphore(client, "x");
    hf_lock *two = permits("x", 2);
    hf_expect(HF_OK, hf_semaphore_set(sem, LIMIT, 0, ERR));
    hf_expect(HF_OK, hf_lock_try(two, ERR));
    int64_t first = check_node(java_node("sem", "x", 0), "lease-");
    int64_t second = check_node(java_node("sem", "x", 1), "lease-");
    assert_true(second != first);
    assert_string_equal(java_node("sem", "x", 2), "");
    hf_expect(HF_OK, hf_lock_release(two, ERR));
    assert_string_equal(java_node("sem", "x", 0), "");
}

static void a_permit_from_either_wakes_the_other(void **state) {
    (void)state;
    hf_semaphore *sem = hf_test_semaphore(client, "x");
    hf_lock *lock = permits("x", 1);
    int64_t spent = 0;
    hf_expect(HF_OK, hf_semaphore_set(sem, 1, 0, ERR));
    for (int turn = 0; turn < TURNS; turn++) {
        hf_test_thread waiter;
        hf_expect(HF_OK, hf_lock_acquire(lock, HF_TEST_LONG, ERR));
        java_waits(1, "sem acquire 1 -1 x");
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        java_answers(1, "YES");
        hf_test_begin(&waiter, lock, HF_TEST_LONG);
        int64_t began = hf_test_now_ms();
        java_says("OK", "sem release 1 x");
        hf_expect(HF_OK, hf_test_answer(&waiter));
        spent += hf_test_now_ms() - began;
        hf_expect(HF_OK, hf_test_end(&waiter));
    }
    assert_in_range(spent, 0, SOON);
}

/* Java's waiter keeps a lease node while it waits, ours comes back to look; who
 * of the two is first is not promised, that both get in is. */
static void all_who_wait_for_permits_get_them(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *holder = permits("x", 1);
    hf_lock *other =
        hf_test_lock(c_other(), "x", HF_LOCK_WITH(.kind = HF_PERMIT));
    hf_expect(HF_OK,
              hf_semaphore_set(hf_test_semaphore(client, "x"), 1, 0, ERR));
    hf_expect(HF_OK, hf_lock_try(holder, ERR));
    java_waits(1, "sem acquire 1 -1 x");
    hf_test_begin(&waiter, other, HF_TEST_LONG);
    java_waits(2, "sem acquire 1 -1 x");
    hf_expect(HF_OK, hf_lock_release(holder, ERR));
    for (int entered = 0, java = 0; entered < 3; entered++) {
        hf_test_eventually(atomic_load(&waiter.answered) || java_answered(1) ||
                               java_answered(2),
                           HF_TEST_LONG);
        if (java < 2 && (java_answered(1) || java_answered(2))) {
            java_answers(java_answered(1) ? 1 : 2, "YES");
            java_says("OK", "sem release 1 x");
            java++;
        } else {
            hf_expect(HF_OK, hf_test_answer(&waiter));
            hf_expect(HF_OK, hf_test_end(&waiter));
            atomic_store(&waiter.answered, false);
        }
    }
}

static void a_semaphore_mutex_is_one_permit(void **state) {
    (void)state;
    hf_semaphore *sem = hf_test_semaphore(client, "x");
    hf_lock *lock = permits("x", 1);
    hf_expect(HF_OK, hf_semaphore_set(sem, 1, 0, ERR));
    java_says("OK", "once lock x");
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    java_says("OK", "once unlock x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_says("NO", "once timed 50 x");
    java_waits(1, "once lock x");
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_answers(1, "OK");
}

/* ---- never too many ---------------------------------------------------- */

typedef struct visitor {
    pthread_t thread;
    hf_lock *lock;
    hf_test_guarded *g;
} visitor;

enum { VISITORS = 4, VISITS = 30 };

static void *visits(void *arg) {
    visitor *v = arg;
    for (int i = 0; i < VISITS; i++) {
        if (hf_lock_acquire(v->lock, HF_TEST_LONG, NULL) != HF_OK) {
            atomic_fetch_add(&v->g->failures, 1);
            continue;
        }
        if (atomic_fetch_add(&v->g->inside, 1) >= LIMIT)
            atomic_fetch_add(&v->g->overlaps, 1);
        sched_yield();
        atomic_fetch_add(&v->g->counter, 1);
        atomic_fetch_sub(&v->g->inside, 1);
        if (hf_lock_release(v->lock, NULL) != HF_OK)
            atomic_fetch_add(&v->g->failures, 1);
    }
    return NULL;
}

static void together_they_never_hold_too_many(void **state) {
    (void)state;
    visitor all[VISITORS];
    char path[200];
    hf_test_fresh_path(path, sizeof path, "crowd");
    hf_test_guarded *g = hf_test_guarded_map(path);
    assert_non_null(g);
    hf_expect(HF_OK,
              hf_semaphore_set(hf_test_semaphore(client, "x"), LIMIT, 0, ERR));
    hf_test_eventually(java_sees(LIMIT, "x"), HF_TEST_LONG);
    java_begins(1, "crowd %s %d %d %d x", path, VISITORS, VISITS, LIMIT);
    for (int i = 0; i < VISITORS; i++) {
        all[i] = (visitor){.lock = permits("x", 1), .g = g};
        pthread_create(&all[i].thread, NULL, visits, &all[i]);
    }
    for (int i = 0; i < VISITORS; i++)
        pthread_join(all[i].thread, NULL);
    assert_string_equal(java_answer(1, 2 * HF_TEST_LONG), "OK");
    assert_int_equal(g->counter, 2 * VISITORS * VISITS);
    assert_int_equal(g->overlaps, 0);
    assert_int_equal(g->failures, 0);
    hf_test_guarded_unmap(g);
}

/* ---- numbers ----------------------------------------------------------- */

static void both_count_with_the_same_number(void **state) {
    (void)state;
    hf_semaphore *sem = hf_test_semaphore(client, "x");
    hf_expect(HF_OK, hf_semaphore_set(sem, 5, 0, ERR));
    hf_test_eventually(java_sees(5, "x"), HF_TEST_LONG);
    hf_expect(HF_OK, hf_semaphore_acquire(sem, 2, SOON, ERR));
    hf_test_eventually(java_sees(3, "x"), HF_TEST_LONG);
    java_says("OK", "number add 4 x");
    assert_int_equal(available(sem), 7);
    hf_expect(HF_OK, hf_semaphore_release(sem, 1, ERR));
    java_says("OK", "number add -8 x");
    assert_int_equal(available(sem), 0);
    hf_expect(HF_BUSY, hf_semaphore_acquire(sem, 1, 0, ERR));
    java_says("OK", "number set 1 x");
    hf_expect(HF_OK, hf_semaphore_acquire(sem, 1, 0, ERR));
}

static void a_larger_number_wakes_either(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_test_task taker;
    hf_semaphore *sem = hf_test_semaphore(client, "x");
    hf_lock *lock = permits("x", 1);
    hf_expect(HF_OK, hf_semaphore_set(sem, 1, 0, ERR));
    hf_test_eventually(java_sees(1, "x"), HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_waits(1, "sem acquire 1 -1 x");
    hf_expect(HF_OK, hf_semaphore_release(sem, 1, ERR));
    java_answers(1, "YES");

    int64_t began = hf_test_now_ms();
    hf_test_begin(&waiter, permits("x", 1), HF_TEST_LONG);
    java_says("OK", "number add 1 x");
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_test_take(&taker, sem, 1, HF_TEST_LONG);
    java_says("OK", "number add 1 x");
    hf_expect(HF_OK, hf_test_result(&taker));
    assert_in_range(hf_test_now_ms() - began, 0, SOON);
    hf_expect(HF_OK, hf_test_end(&waiter));
}

/* Java passes where the count is 0 or less. */
static void a_latch_is_a_shared_count(void **state) {
    (void)state;
    for (int turn = 0; turn < TURNS; turn++) {
        hf_test_task task;
        int64_t left = -1;
        const char *name = names[turn % n_names];
        hf_latch *latch = hf_test_latch(client, name);
        hf_expect(HF_OK, hf_latch_set(latch, 2, ERR));
        hf_test_eventually(java_sees(2, name), HF_TEST_LONG);
        java_waits(1, "number await %s", name);
        hf_test_await(&task, latch, HF_TEST_LONG);
        if (turn % 2 == 0)
            java_says("OK", "number add -1 %s", name);
        hf_expect(HF_OK, hf_latch_count_down(latch, ERR));
        if (turn % 2 == 1) {
            hf_expect(HF_OK, hf_latch_count(latch, &left, ERR));
            assert_int_equal(left, 1);
            java_says("OK", "number add -1 %s", name);
        }
        java_answers(1, "OK");
        hf_expect(HF_OK, hf_test_result(&task));
        assert_in_range(task.took_ms, 0, SOON);
    }
}

/* ---- sessions ---------------------------------------------------------- */

static void a_killed_holder_returns_its_permits(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_test_peer *c = c_peer(SHORT_LEASE);
    hf_expect(HF_OK,
              hf_semaphore_set(hf_test_semaphore(client, "c"), 2, 0, ERR));
    hf_expect(HF_OK,
              hf_semaphore_set(hf_test_semaphore(client, "j"), 2, 0, ERR));
    c_says(c, "OK", "lock 0 c kind=%d permits=2", HF_PERMIT);
    assert_memory_equal(hf_test_peer_ask(c, "try 0"), "OK ", 3);
    java_waits(1, "sem acquire 2 -1 c");
    hf_test_peer_signal(c, SIGKILL);
    java_answers(1, "YES");
    hf_test_peer_stop(c);

    java_says("YES", "sem acquire 2 %d j", SOON);
    hf_test_begin(&waiter, permits("j", 2), HF_TEST_LONG);
    java_kill();
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(waiter.took_ms, 0, SHORT_LEASE + SOON);
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static const struct CMUnitTest tests[] = {
    WITH_LONG(both_take_of_the_same_permits),
    WITH_LONG(our_permits_are_participants),
    WITH_LONG(a_permit_from_either_wakes_the_other),
    WITH_LONG(all_who_wait_for_permits_get_them),
    WITH_LONG(a_semaphore_mutex_is_one_permit),
    WITH_LONG(together_they_never_hold_too_many),
    WITH_LONG(both_count_with_the_same_number),
    WITH_LONG(a_larger_number_wakes_either),
    WITH_LONG(a_latch_is_a_shared_count),
    WITH_SHORT(a_killed_holder_returns_its_permits),
};
HF_SUITE(tests)
