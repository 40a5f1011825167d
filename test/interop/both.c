/* SPDX-License-Identifier: MIT
 *
 * both.c - what C and Java do to each other on one name. */
#include "both.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

const pairing pairings[PAIRINGS] = {
    {HF_LOCK, "lock"},  {HF_LOCK, "fenced"}, {HF_FAIR, "fair"},
    {HF_READ, "write"}, {HF_WRITE, "read"},  {HF_WRITE, "write"},
};

/* We look again after 1.5 to 3 s by ourselves; so many turns would take longer
 * than the bound if that were what let us in. */
enum { TURNS = 4 };

/* ---- locks ------------------------------------------------------------- */

void both_exclude(const pairing *p, const char *name) {
    hf_lock *lock = c_lock(p->c, name);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_says("NO", "%s try %s", p->java, name);
    java_says("NOT_OWNER", "%s unlock %s", p->java, name);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_says("YES", "%s try %s", p->java, name);
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    assert_int_equal(hf_test_holders(client, name), 1);
    java_says("OK", "%s unlock %s", p->java, name);
    assert_int_equal(hf_test_holders(client, name), 0);
    hf_test_free(lock);
}

static void c_wakes_java(const pairing *p, hf_lock *lock) {
    const char *name = hf_lock_name(lock);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_waits(1, "%s lock %s", p->java, name);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_answers(1, "OK");
    java_thread_says("OK", 1, "%s unlock %s", p->java, name);
}

/* How long it then took, in ms. */
static int64_t java_wakes_c(const pairing *p, hf_lock *lock) {
    hf_test_thread waiter;
    const char *name = hf_lock_name(lock);
    java_says("OK", "%s lock %s", p->java, name);
    hf_test_begin(&waiter, lock, HF_TEST_LONG);
    int64_t began = hf_test_now_ms();
    java_says("OK", "%s unlock %s", p->java, name);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    int64_t took = hf_test_now_ms() - began;
    hf_expect(HF_OK, hf_test_end(&waiter));
    return took;
}

void both_wake(const pairing *p, const char *name) {
    hf_lock *lock = c_lock(p->c, name);
    int64_t spent = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        c_wakes_java(p, lock);
        spent += java_wakes_c(p, lock);
    }
    assert_in_range(spent, 0, SOON);
    hf_test_free(lock);
}

void both_count(const char *name) {
    hf_lock *lock = c_lock(HF_LOCK, name);
    uint64_t last = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        hf_expect(HF_OK, hf_lock_acquire(lock, HF_TEST_LONG, ERR));
        assert_true(hf_lock_token(lock) > last);
        last = hf_lock_token(lock);
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        uint64_t token = (uint64_t)java_number("token lock %s", name);
        assert_true(token > last);
        last = token;
        java_says("OK", "fenced unlock %s", name);
    }
    hf_test_free(lock);
}

/* ---- the fair line ----------------------------------------------------- */

/* Each digit is a thread of Java's, each letter one of ours. */
static const char queue[] = "1a2b";
enum { PLACES = sizeof queue - 1 };

typedef struct place {
    int java; /* 0: ours */
    hf_test_thread c;
} place;

static void joins(place *p, char who, hf_lock *lock) {
    const char *name = hf_lock_name(lock);
    int before = hf_test_waiters(client, name);
    p->java = who < 'a' ? who - '0' : 0;
    if (p->java)
        java_waits(p->java, "fair lock %s", name);
    else
        hf_test_begin(&p->c, lock, HF_TEST_LONG);
    hf_test_eventually(hf_test_waiters(client, name) == before + 1,
                       HF_TEST_LONG);
}

static bool has_entered(place *p) {
    return p->java ? java_answered(p->java) : atomic_load(&p->c.answered);
}

static void leaves(place *p, const char *name) {
    if (p->java) {
        java_answers(p->java, "OK");
        java_thread_says("OK", p->java, "fair unlock %s", name);
    } else {
        hf_expect(HF_OK, hf_test_answer(&p->c));
        hf_expect(HF_OK, hf_test_end(&p->c));
    }
}

static void is_served_in_order(const char *name, bool java_holds) {
    static place places[PLACES];
    hf_lock *lock = c_lock(HF_FAIR, name);
    if (java_holds)
        java_says("OK", "fair lock %s", name);
    else
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
    for (int i = 0; i < PLACES; i++)
        joins(&places[i], queue[i], lock);
    if (java_holds)
        java_says("OK", "fair unlock %s", name);
    else
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
    for (int i = 0; i < PLACES; i++) {
        hf_test_eventually(has_entered(&places[i]), HF_TEST_LONG);
        for (int later = i + 1; later < PLACES; later++)
            assert_false(has_entered(&places[later]));
        leaves(&places[i], name);
    }
    hf_test_free(lock);
}

void both_queue(const char *name) {
    is_served_in_order(name, false);
    is_served_in_order(name, true);
}

/* ---- permits and latches ----------------------------------------------- */

void both_give(const char *name) {
    hf_semaphore *sem = hf_test_semaphore(client, name);
    hf_test_task task;
    int64_t spent = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        java_waits(1, "sem acquire 1 -1 %s", name);
        hf_expect(HF_OK, hf_semaphore_release(sem, 1, ERR));
        java_answers(1, "YES");
        hf_test_take(&task, sem, 1, HF_TEST_LONG);
        int64_t began = hf_test_now_ms();
        java_says("OK", "sem release 1 %s", name);
        hf_expect(HF_OK, hf_test_result(&task));
        spent += hf_test_now_ms() - began;
    }
    assert_in_range(spent, 0, SOON);
    hf_expect(HF_OK, hf_semaphore_delete(sem, ERR));
}

void both_lease(const char *name) {
    hf_lock *lock = c_lock(HF_PERMIT, name);
    int64_t spent = 0;
    java_says("YES", "permit set 1 %s", name);
    for (int turn = 0; turn < TURNS; turn++) {
        char id[64];
        hf_test_thread waiter;
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        java_waits(1, "permit acquire 1 -1 %d %s", LONG_LEASE, name);
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        snprintf(id, sizeof id, "%s", java_answer(1, HF_TEST_LONG));
        assert_int_equal(strlen(id), 32);
        hf_test_begin(&waiter, lock, HF_TEST_LONG);
        int64_t began = hf_test_now_ms();
        java_says("OK", "permit release %s %s", id, name);
        hf_expect(HF_OK, hf_test_answer(&waiter));
        spent += hf_test_now_ms() - began;
        hf_expect(HF_OK, hf_test_end(&waiter));
    }
    assert_in_range(spent, 0, SOON);
    java_says("YES", "permit delete %s", name);
    hf_test_free(lock);
}

void both_pass(const char *name) {
    hf_latch *latch = hf_test_latch(client, name);
    hf_test_task task;
    for (int turn = 0; turn < TURNS; turn++) {
        hf_expect(HF_OK, hf_latch_set(latch, 2, ERR));
        java_waits(1, "latch await %s", name);
        hf_test_await(&task, latch, HF_TEST_LONG);
        if (turn % 2 == 0)
            java_says("OK", "latch down %s", name);
        hf_expect(HF_OK, hf_latch_count_down(latch, ERR));
        if (turn % 2 == 1)
            java_says("OK", "latch down %s", name);
        java_answers(1, "OK");
        hf_expect(HF_OK, hf_test_result(&task));
    }
}

/* ---- death ------------------------------------------------------------- */

void either_dies(void) {
    hf_test_thread waiter;
    hf_test_peer *c = c_peer(SHORT_LEASE);
    c_says(c, "OK", "lock 0 c");
    assert_memory_equal(hf_test_peer_ask(c, "try 0"), "OK ", 3);
    java_waits(1, "lock lock c");
    hf_test_peer_signal(c, SIGKILL);
    hf_test_peer_stop(c);
    java_answers(1, "OK");

    java_says("OK", "lock lock j");
    hf_test_begin(&waiter, c_lock(HF_LOCK, "j"), HF_TEST_LONG);
    java_kill();
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(waiter.took_ms, 0, SHORT_LEASE + SOON);
    hf_expect(HF_OK, hf_test_end(&waiter));
}
