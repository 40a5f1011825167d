/* SPDX-License-Identifier: MIT
 *
 * redisson_semaphore_test.c - permits of one semaphore in C and Java: the plain
 * ones, which are nobody's, and those that have an id and a lease. */
#include "redisson.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { TURNS = 3 };

static int64_t available(hf_semaphore *sem) {
    int64_t n = -1;
    hf_expect(HF_OK, hf_semaphore_count(sem, &n, NULL, ERR));
    return n;
}

static int64_t leased(hf_semaphore *sem) {
    int64_t n = -1;
    hf_expect(HF_OK, hf_semaphore_count(sem, NULL, &n, ERR));
    return n;
}

static hf_lock *permits(const char *name, int n) {
    return hf_test_lock(client, name,
                        HF_LOCK_WITH(.kind = HF_PERMIT, .permits = n));
}

/* ---- the plain semaphore ----------------------------------------------- */

static void both_count_the_same_permits(void **state) {
    (void)state;
    for (int i = 0; i < n_names; i++) {
        const char *name = names[i];
        hf_semaphore *sem = hf_test_semaphore(client, name);
        java_says("0", "sem free %s", name);
        hf_expect(HF_OK, hf_semaphore_set(sem, 5, 0, ERR));
        java_says("NO", "sem set 9 %s", name);
        java_says("5", "sem free %s", name);
        hf_expect(HF_OK, hf_semaphore_acquire(sem, 2, 0, ERR));
        java_says("YES", "sem acquire 3 0 %s", name);
        java_says("NO", "sem acquire 1 0 %s", name);
        hf_expect(HF_BUSY, hf_semaphore_acquire(sem, 1, 0, ERR));
        java_says("OK", "sem release 4 %s", name);
        assert_int_equal(available(sem), 4);
        java_says("OK", "sem add -6 %s", name);
        assert_int_equal(available(sem), -2);
        hf_expect(HF_OK, hf_semaphore_add(sem, 5, ERR));
        java_says("3", "sem free %s", name);
        java_says("3", "sem drain %s", name);
        hf_expect(HF_OK, hf_semaphore_release(sem, 2, ERR));
        int64_t taken = 0;
        hf_expect(HF_OK, hf_semaphore_drain(sem, &taken, ERR));
        assert_int_equal(taken, 2);
        java_says("0", "sem free %s", name);
        java_says("YES", "sem delete %s", name);
        hf_expect(HF_EFREE, hf_semaphore_release_if_set(sem, 1, ERR));
        if (java_is_4())
            java_says("NO", "sem give 1 %s", name);
        java_says("YES", "sem set 1 %s", name);
        hf_expect(HF_BUSY, hf_semaphore_set(sem, 7, 0, ERR));
        hf_expect(HF_OK, hf_semaphore_delete(sem, ERR));
        java_says("0", "sem free %s", name);
    }
}

static void a_semaphore_set_for_a_while_ends_for_both(void **state) {
    (void)state;
    hf_semaphore *c = hf_test_semaphore(client, "c");
    hf_semaphore *j = hf_test_semaphore(client, "j");
    hf_expect(HF_OK, hf_semaphore_set(c, 3, 500, ERR));
    java_says("YES", "sem setfor 3 500 j");
    java_says("YES", "sem acquire 1 0 c");
    hf_expect(HF_OK, hf_semaphore_acquire(j, 1, 0, ERR));
    hf_test_eventually(available(j) == 0, HF_TEST_LONG);
    hf_test_eventually(java_number("sem free c") == 0, HF_TEST_LONG);
}

static void a_release_by_c_wakes_java(void **state) {
    (void)state;
    for (int i = 0; i < TURNS * n_names; i++) {
        const char *name = names[i % n_names];
        hf_semaphore *sem = hf_test_semaphore(client, name);
        java_waits(1, "sem acquire 2 -1 %s", name);
        hf_expect(HF_OK, hf_semaphore_release(sem, 1, ERR));
        assert_false(java_answered(1)); /* it wants two */
        hf_expect(HF_OK, hf_semaphore_release(sem, 1, ERR));
        java_answers(1, "YES");
        java_waits(1, "sem acquire 1 -1 %s", name);
        java_waits(2, "sem acquire 1 -1 %s", name);
        hf_expect(HF_OK, hf_semaphore_add(sem, 2, ERR));
        java_answers(1, "YES");
        java_answers(2, "YES");
        hf_expect(HF_OK, hf_semaphore_delete(sem, ERR));
        java_waits(1, "sem acquire 1 -1 %s", name);
        hf_expect(HF_OK, hf_semaphore_set(sem, 1, 0, ERR));
        java_answers(1, "YES");
        java_waits(1, "sem acquire 1 -1 %s", name);
        hf_expect(HF_OK, hf_semaphore_resize(sem, 1, ERR));
        java_answers(1, "YES");
        hf_expect(HF_OK, hf_semaphore_delete(sem, ERR));
    }
}

/* We look again after 1.5 to 3 s by ourselves; so many turns would take longer
 * than the bound if that were what let us in. */
static void a_release_by_java_wakes_c(void **state) {
    (void)state;
    hf_test_task one, two;
    for (int i = 0; i < n_names; i++) {
        const char *name = names[i];
        hf_semaphore *sem = hf_test_semaphore(client, name);
        int64_t began = hf_test_now_ms();
        for (int turn = 0; turn < TURNS; turn++) {
            hf_test_take(&one, sem, 1, HF_TEST_LONG);
            java_says("OK", "sem release 1 %s", name);
            hf_expect(HF_OK, hf_test_result(&one));
            hf_test_take(&two, sem, 2, HF_TEST_LONG);
            java_says("OK", "sem add 2 %s", name);
            hf_expect(HF_OK, hf_test_result(&two));
        }
        assert_in_range(hf_test_now_ms() - began, 0, SOON);
    }
}

/* A negative number throws in Redisson's listener. */
static void c_announces_no_negative_number(void **state) {
    (void)state;
    hf_semaphore *sem = hf_test_semaphore(client, "x");
    java_says("OK", "sem add -5 x");
    java_waits(1, "sem acquire 1 -1 x");
    int64_t before = scripts_run();
    hf_expect(HF_OK, hf_semaphore_release(sem, 1, ERR));
    hf_expect(HF_OK, hf_semaphore_add(sem, -1, ERR));
    assert_int_equal(available(sem), -5);
    hf_test_throughout(!java_answered(1), 200);
    assert_int_equal(scripts_run(), before + 3); /* ours; Java slept on */
    hf_expect(HF_OK, hf_semaphore_add(sem, 6, ERR));
    java_answers(1, "YES");
}

/* ---- permits with a lease ---------------------------------------------- */

/* The ids of all permits of a name, as Redisson writes them. */
static const char *ids(const char *name) {
    static char text[512];
    const char *lua = "local all = redis.call('ZRANGE', KEYS[1], 0, -1) "
                      "for i, id in ipairs(all) do all[i] = id:gsub('.', "
                      "function(c) return ('%02x'):format(c:byte()) end) end "
                      "return table.concat(all, ',')";
    char key[300];
    snprintf(key, sizeof key,
             strchr(name, '{') != NULL ? "%s:timeout" : "{%s}:timeout", name);
    snprintf(text, sizeof text, "%s",
             hf_test_server_ask(server, "EVAL \"%s\" 1 \"%s\"", lua, key));
    return text;
}

static void either_sees_what_the_other_leased(void **state) {
    (void)state;
    for (int i = 0; i < n_names; i++) {
        const char *name = names[i];
        char java[128];
        hf_semaphore *sem = hf_test_semaphore(client, name);
        hf_lock *two = permits(name, 2);
        java_says("YES", "permit set 5 %s", name);
        hf_expect(HF_OK, hf_lock_try(two, ERR));
        snprintf(java, sizeof java, "%s",
                 java_ask("permit acquire 2 0 %d %s", LONG_LEASE, name));
        assert_int_equal(strlen(java), 32 + 1 + 32);
        java_says("1", "permit free %s", name);
        java_says("4", "permit leased %s", name);
        java_says("5", "permit total %s", name);
        java_says("1", "sem free %s", name);
        assert_int_equal(available(sem), 1);
        assert_int_equal(leased(sem), 4);
        hf_expect(HF_BUSY, hf_lock_try(permits(name, 2), ERR));
        java_says("NO", "permit acquire 2 0 %d %s", LONG_LEASE, name);
        hf_expect(HF_OK, hf_lock_release(two, ERR));
        java_says("OK", "permit release %s %s", java, name);
        java_says("5", "permit free %s", name);
        assert_int_equal(leased(sem), 0);
        hf_expect(HF_OK, hf_semaphore_resize(sem, 2, ERR));
        java_says("2", "permit total %s", name);
        java_says("OK", "permit resize 3 %s", name);
        assert_int_equal(available(sem), 3);
        hf_expect(HF_OK, hf_semaphore_delete(sem, ERR));
    }
}

/* Our ids are ids like others. */
static void java_may_extend_and_release_what_c_leased(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(
        client, "x", HF_LOCK_WITH(.kind = HF_PERMIT, .lease_ms = 30000));
    java_says("YES", "permit set 1 x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    const char *id = ids("x");
    assert_int_equal(strlen(id), 32);
    assert_in_range(java_number("permit lease %s x", id), 30000 - SOON, 30000);
    java_says("YES", "permit extend %s %d x", id, LONG_LEASE);
    assert_in_range(java_number("permit lease %s x", id), LONG_LEASE - SOON,
                    LONG_LEASE);
    java_says("YES", "permit tryrelease %s x", id);
    java_says("1", "permit free x");
    hf_expect(HF_ELOST, hf_lock_release(lock, ERR));
    java_says("1", "permit free x"); /* it was given back once */
}

static void a_permit_from_either_wakes_the_other(void **state) {
    (void)state;
    for (int i = 0; i < n_names; i++) {
        const char *name = names[i];
        int64_t spent = 0;
        hf_lock *lock = permits(name, 2);
        java_says("YES", "permit set 2 %s", name);
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
    }
}

/* The two sorts of one name share their number. */
static void leased_and_plain_permits_wake_each_other(void **state) {
    (void)state;
    hf_test_task task;
    hf_test_thread waiter;
    hf_semaphore *sem = hf_test_semaphore(client, "x");
    hf_lock *lock = permits("x", 1);
    java_says("YES", "sem set 1 x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_waits(1, "sem acquire 1 -1 x");
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_answers(1, "YES");
    hf_test_begin(&waiter, lock, HF_TEST_LONG);
    java_says("OK", "sem release 1 x");
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_test_take(&task, sem, 1, HF_TEST_LONG);
    hf_expect(HF_OK, hf_test_end(&waiter));
    hf_expect(HF_OK, hf_test_result(&task));
}

static void the_watchdog_keeps_permits_and_an_end_returns_them(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *lock = permits("x", 1);
    java_says("YES", "permit set 1 x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_test_throughout(
        hf_lock_is_held(lock) &&
            strcmp(java_ask("permit acquire 1 0 1000 x"), "NO") == 0,
        3 * SHORT_LEASE);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    assert_int_equal(strlen(java_ask("permit acquire 1 0 1000 x")), 32);
    hf_test_begin(&waiter, lock, HF_TEST_LONG);
    hf_expect(HF_OK, hf_test_answer(&waiter)); /* Java's lease is over */
    hf_expect(HF_OK, hf_test_end(&waiter));
    java_says("1", "permit free x");
}

static void a_killed_holder_returns_its_permits(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *lock = permits("x", 3);
    hf_test_peer *peer = c_peer(SHORT_LEASE);
    java_says("YES", "permit set 3 x");
    c_says(peer, "OK", "lock 0 x kind=%d permits=3", HF_PERMIT);
    assert_memory_equal(hf_test_peer_ask(peer, "try 0"), "OK ", 3);
    java_waits(1, "permit acquire 3 -1 %d x", SHORT_LEASE);
    hf_test_peer_signal(peer, SIGKILL);
    hf_test_peer_stop(peer);
    assert_int_equal(strlen(java_answer(1, SHORT_LEASE + HF_TEST_LONG)),
                     3 * 33 - 1);
    hf_test_begin(&waiter, lock, HF_TEST_LONG);
    java_kill();
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static const struct CMUnitTest tests[] = {
    WITH_LONG(both_count_the_same_permits),
    WITH_LONG(a_semaphore_set_for_a_while_ends_for_both),
    WITH_LONG(a_release_by_c_wakes_java),
    WITH_LONG(a_release_by_java_wakes_c),
    WITH_LONG(c_announces_no_negative_number),
    WITH_LONG(either_sees_what_the_other_leased),
    WITH_LONG(java_may_extend_and_release_what_c_leased),
    WITH_LONG(a_permit_from_either_wakes_the_other),
    WITH_LONG(leased_and_plain_permits_wake_each_other),
    WITH_SHORT(the_watchdog_keeps_permits_and_an_end_returns_them),
    WITH_SHORT(a_killed_holder_returns_its_permits),
};
HF_SUITE(tests)
