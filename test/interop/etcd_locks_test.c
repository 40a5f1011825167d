/* SPDX-License-Identifier: MIT
 *
 * etcd_locks_test.c - one lock for C and Go: ours, and the Mutex and the
 * Election of etcd's package concurrency. */
#include "etcd.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { TURNS = 4 };

/* ---- exclusion --------------------------------------------------------- */

static void each_keeps_the_other_out(const char *name) {
    hf_lock *lock = c_lock(HF_LOCK, name);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    go_says("NO", "lock try %s", name);
    go_says("NO", "lock timed 50 %s", name);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    go_says("YES", "lock try %s", name);
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    if (name == names[0])
        hf_expect(HF_ETIMEOUT, hf_lock_acquire(lock, A_MOMENT, ERR));
    assert_int_equal(hf_test_holders(client, name), 1);
    assert_int_equal(hf_test_waiters(client, name), 0);
    go_says("OK", "lock unlock %s", name);
    assert_int_equal(hf_test_holders(client, name), 0);
    go_says("NO", "keys %s", name);
    hf_test_free(lock);
}

static void what_either_holds_is_busy_for_the_other(void **state) {
    (void)state;
    for (int i = 0; i < n_names; i++)
        each_keeps_the_other_out(names[i]);
}

static void a_try_leaves_nothing_behind(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    char key[256];
    go_says("OK", "lock lock x");
    snprintf(key, sizeof key, "%s", go_ask("key x"));
    for (int i = 0; i < TURNS; i++)
        hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    go_says(key, "keys x");
    hf_expect(HF_ETIMEOUT, hf_lock_acquire(lock, A_MOMENT, ERR));
    go_says(key, "keys x");
}

/* NAME/<lease in hex> and a number of ours; its revision is the token. */
static void our_key_is_one_of_theirs(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    char key[256];
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    snprintf(key, sizeof key, "%s", go_ask("keys x"));
    assert_memory_equal(key, "x/", 2);
    size_t hex = strspn(key + 2, "0123456789abcdef");
    assert_in_range(hex, 8, 16);
    assert_int_equal(key[2 + hex], '.');
    assert_int_equal(go_number("rev %s", key), hf_lock_token(lock));
}

typedef struct seen {
    char owner[256];
    bool foreign, holds;
} seen;

static void look(void *arg, const hf_place *place) {
    seen *s = arg;
    snprintf(s->owner, sizeof s->owner, "%s", place->owner);
    s->foreign = place->foreign;
    s->holds = place->holds;
}

static void their_keys_are_listed(void **state) {
    (void)state;
    seen s = {.holds = false};
    go_says("OK", "lock lock x");
    hf_expect(HF_OK, hf_list(client, "x", look, &s, ERR));
    assert_true(s.holds);
    assert_true(s.foreign);
    assert_string_equal(s.owner, go_ask("key x") + 2);
}

static void together_they_count_without_losing_one(void **state) {
    (void)state;
    both_add_up(&the_go, HF_LOCK, "lock", "x");
}

static void tokens_grow_whoever_is_granted(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    uint64_t last = 0;
    for (int i = 0; i < 3 * TURNS; i++) {
        hf_expect(HF_OK, hf_lock_acquire(lock, HF_TEST_LONG, ERR));
        assert_true(hf_lock_token(lock) > last);
        last = hf_lock_token(lock);
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        go_says("OK", "lock lock x");
        char key[256];
        snprintf(key, sizeof key, "%s", go_ask("key x"));
        uint64_t token = (uint64_t)go_number("rev %s", key);
        assert_true(token > last);
        last = token;
        go_says("OK", "lock unlock x");
    }
}

/* ---- waiting ----------------------------------------------------------- */

static void a_release_by_c_wakes_go(void **state) {
    (void)state;
    for (int i = 0; i < TURNS * n_names; i++) {
        const char *name = names[i % n_names];
        hf_lock *lock = c_lock(HF_LOCK, name);
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        go_waits(1, "lock lock %s", name);
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        go_answers(1, "OK");
        go_thread_says("OK", 1, "lock unlock %s", name);
        hf_test_free(lock);
    }
}

/* C looks again after some seconds although nobody wakes it; several turns
 * would take longer than the bound if that were what let it in. */
static void a_release_by_go_wakes_c(void **state) {
    (void)state;
    for (int i = 0; i < n_names; i++) {
        hf_lock *lock = c_lock(HF_LOCK, names[i]);
        int64_t spent = 0;
        for (int turn = 0; turn < TURNS; turn++) {
            hf_test_thread waiter;
            go_says("OK", "lock lock %s", names[i]);
            hf_test_begin(&waiter, lock, HF_TEST_LONG);
            int64_t began = hf_test_now_ms();
            go_says("OK", "lock unlock %s", names[i]);
            hf_expect(HF_OK, hf_test_answer(&waiter));
            spent += hf_test_now_ms() - began;
            hf_expect(HF_OK, hf_test_end(&waiter));
        }
        assert_in_range(spent, 0, SOON);
        hf_test_free(lock);
    }
}

static void a_mixed_queue_is_served_in_order(void **state) {
    (void)state;
    hf_test_thread second, fourth;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    go_waits(1, "lock lock x");
    hf_test_begin(&second, hf_test_lock(c_other(), "x", NULL), HF_TEST_LONG);
    hf_test_eventually(hf_test_waiters(client, "x") == 2, HF_TEST_LONG);
    go_waits(3, "lock lock x");
    hf_test_begin(&fourth, hf_test_lock(c_other(), "x", NULL), HF_TEST_LONG);
    hf_test_eventually(hf_test_waiters(client, "x") == 4, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    go_answers(1, "OK");
    assert_false(atomic_load(&second.answered));
    go_thread_says("OK", 1, "lock unlock x");
    hf_expect(HF_OK, hf_test_answer(&second));
    assert_false(go_answered(3));
    hf_expect(HF_OK, hf_test_end(&second));
    go_answers(3, "OK");
    assert_false(atomic_load(&fourth.answered));
    go_thread_says("OK", 3, "lock unlock x");
    hf_expect(HF_OK, hf_test_answer(&fourth));
    hf_expect(HF_OK, hf_test_end(&fourth));
}

/* Those behind it must go on waiting for the holder, and be woken by him. */
static void a_waiter_who_gives_up_leaves_the_others_in_line(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_test_begin(&waiter, hf_test_lock(c_other(), "x", NULL), HF_TEST_LONG);
    hf_test_eventually(hf_test_waiters(client, "x") == 1, HF_TEST_LONG);
    go_waits(1, "lock lock x");
    hf_expect(HF_ECANCELLED, hf_test_cancel(&waiter));
    hf_test_end(&waiter);
    hf_test_eventually(hf_test_waiters(client, "x") == 1, HF_TEST_LONG);
    assert_false(go_answered(1));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    go_answers(1, "OK");

    go_begins(2, "lock timed %d x", 2 * A_MOMENT);
    hf_test_eventually(hf_test_waiters(client, "x") == 1, HF_TEST_LONG);
    hf_test_begin(&waiter, lock, HF_TEST_LONG);
    go_answers(2, "NO");
    assert_false(atomic_load(&waiter.answered));
    go_thread_says("OK", 1, "lock unlock x");
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static void what_c_releases_for_later_lets_go_in_then(void **state) {
    (void)state;
    enum { LATER = 1500 };
    hf_lock *lock = c_lock(HF_LOCK, "x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_release_after(lock, LATER, ERR));
    go_says("NO", "lock try x");
    go_says("YES", "lock timed %d x", SOON);
    go_says("OK", "lock unlock x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    go_waits(1, "lock lock x");
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_release_after(lock, LATER, ERR));
    go_answers(1, "OK");
    assert_in_range(hf_test_now_ms() - began, LATER, LATER + SOON);
}

/* ---- force ------------------------------------------------------------- */

static void c_is_told_when_its_key_is_deleted(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    char key[256];
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    snprintf(key, sizeof key, "%s", go_ask("keys x"));
    go_says("OK", "delete %s", key);
    go_says("YES", "lock try x");
    hf_test_eventually(hf_test_is_told(lock), HF_TEST_LONG);
    hf_expect(HF_ELOST, hf_lock_release(lock, ERR));
    assert_int_equal(hf_test_holders(client, "x"), 1);
}

static void c_frees_by_force_what_go_holds(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    go_says("OK", "lock lock x");
    go_waits(1, "lock lock x");
    hf_expect(HF_OK, hf_lock_force_release(lock, NULL, ERR));
    go_answers(1, "OK");
}

/* ---- leaders ----------------------------------------------------------- */

static void an_election_is_such_a_lock(void **state) {
    (void)state;
    hf_test_thread next;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    go_waits(1, "leader lock x");
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    go_answers(1, "OK");
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    hf_test_begin(&next, lock, HF_TEST_LONG);
    go_thread_says("OK", 1, "leader unlock x");
    hf_expect(HF_OK, hf_test_answer(&next));
    hf_expect(HF_OK, hf_test_end(&next));
}

/* ---- leases ------------------------------------------------------------ */

static void the_lease_of_either_keeps_the_other_out(void **state) {
    (void)state;
    hf_lock *c = c_lock(HF_LOCK, "c"), *g = c_lock(HF_LOCK, "g");
    hf_expect(HF_OK, hf_lock_try(c, ERR));
    go_says("OK", "lock lock g");
    hf_test_throughout(hf_lock_is_held(c) && hf_lock_try(g, ERR) == HF_BUSY &&
                           strcmp(go_ask("lock try c"), "NO") == 0,
                       3 * SHORT_LEASE);
    hf_expect(HF_OK, hf_lock_release(c, ERR));
    go_says("YES", "lock try c");
    go_says("OK", "lock unlock g");
    hf_expect(HF_OK, hf_lock_try(g, ERR));
}

static void a_killed_holder_frees_the_lock_within_its_lease(void **state) {
    (void)state;
    hf_test_peer *c = c_peer(SHORT_LEASE);
    c_says(c, "OK", "lock 0 c");
    assert_memory_equal(hf_test_peer_ask(c, "try 0"), "OK ", 3);
    go_waits(1, "lock lock c");
    hf_test_peer_signal(c, SIGKILL);
    go_answers(1, "OK");
    hf_test_peer_stop(c);

    hf_test_thread waiter;
    go_says("OK", "lock lock g");
    hf_test_begin(&waiter, c_lock(HF_LOCK, "g"), HF_TEST_LONG);
    go_kill();
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(waiter.took_ms, 0, SHORT_LEASE + SOON);
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static const struct CMUnitTest tests[] = {
    WITH_LONG(what_either_holds_is_busy_for_the_other),
    WITH_LONG(a_try_leaves_nothing_behind),
    WITH_LONG(our_key_is_one_of_theirs),
    WITH_LONG(their_keys_are_listed),
    WITH_LONG(together_they_count_without_losing_one),
    WITH_LONG(tokens_grow_whoever_is_granted),
    WITH_LONG(a_release_by_c_wakes_go),
    WITH_LONG(a_release_by_go_wakes_c),
    WITH_LONG(a_mixed_queue_is_served_in_order),
    WITH_LONG(a_waiter_who_gives_up_leaves_the_others_in_line),
    WITH_LONG(what_c_releases_for_later_lets_go_in_then),
    WITH_LONG(c_is_told_when_its_key_is_deleted),
    WITH_LONG(c_frees_by_force_what_go_holds),
    WITH_LONG(an_election_is_such_a_lock),
    WITH_SHORT(the_lease_of_either_keeps_the_other_out),
    WITH_SHORT(a_killed_holder_frees_the_lock_within_its_lease),
};
HF_SUITE(tests)
