/* SPDX-License-Identifier: MIT
 *
 * curator_locks_test.c - one lock for C and Java: ours, and Curator's
 * InterProcessMutex, and so its LeaderSelector. */
#include "curator.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { TURNS = 4 };

/* The two manners of one lock. */
static const hf_kind kinds[] = {HF_LOCK, HF_FAIR};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* ---- exclusion --------------------------------------------------------- */

static void each_keeps_the_other_out(hf_kind kind, const char *name) {
    hf_lock *lock = c_lock(kind, name);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_says("NO", "lock try %s", name);
    java_says("NO", "lock timed 20 %s", name);
    java_says("NOT_OWNER", "lock unlock %s", name);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_says("YES", "lock try %s", name);
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    if (name == names[0])
        hf_expect(HF_ETIMEOUT, hf_lock_acquire(lock, A_MOMENT, ERR));
    assert_int_equal(hf_test_holders(client, name), 1);
    assert_int_equal(hf_test_waiters(client, name), 0);
    java_says("OK", "lock unlock %s", name);
    assert_int_equal(hf_test_holders(client, name), 0);
    assert_string_equal(java_node("lock", name, 0), "");
    hf_test_free(lock);
}

static void what_either_holds_is_busy_for_the_other(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < n_names; i++)
            each_keeps_the_other_out(kinds[k], names[i]);
}

static void a_try_leaves_nothing_behind(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    java_says("OK", "lock lock x");
    for (int i = 0; i < TURNS; i++)
        hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    assert_string_equal(java_node("lock", "x", 1), "");
    hf_expect(HF_ETIMEOUT, hf_lock_acquire(lock, A_MOMENT, ERR));
    assert_string_equal(java_node("lock", "x", 1), "");
}

/* ---- what the entries look like ---------------------------------------- */

static void our_entries_are_participants(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_client *other = c_other();
    hf_lock *lock = c_lock(HF_LOCK, "x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    int64_t first = check_node(java_node("lock", "x", 0), "lock-");
    int64_t czxid = java_number("node czxid x/%s", java_node("lock", "x", 0));
    assert_int_equal(hf_lock_token(lock), czxid);
    hf_test_begin(&waiter, hf_test_lock(other, "x", NULL), HF_TEST_LONG);
    java_waits(1, "lock lock x");
    assert_true(check_node(java_node("lock", "x", 1), "lock-") > first);
    assert_true(check_node(java_node("lock", "x", 2), "lock-") > first + 1);
    assert_string_equal(java_node("lock", "x", 3), "");
    assert_int_equal(hf_test_waiters(client, "x"), 2);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    java_answers(1, "OK");
}

typedef struct seen {
    char owner[256];
    bool foreign, holds;
} seen;

static void look(void *arg, const hf_place *place) {
    seen *s = arg;
    if (!place->holds)
        return;
    snprintf(s->owner, sizeof s->owner, "%s", place->owner);
    s->foreign = place->foreign;
    s->holds = true;
}

static void their_entries_are_listed(void **state) {
    (void)state;
    seen s = {.holds = false};
    java_says("OK", "lock lock x");
    hf_expect(HF_OK, hf_list(client, "x", look, &s, ERR));
    assert_true(s.holds);
    assert_true(s.foreign);
    assert_string_equal(s.owner, java_node("lock", "x", 0));
}

/* Curator takes every child for an entry; whose name is none is in nobody's
 * way but Curator's. */
static void a_child_that_is_no_entry_is_not_waited_for(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    java_says("OK", "node create x/zzz");
    java_says("OK", "node create x/0");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_says("NO", "lock try x");
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_says("OK", "node delete x/0");
    java_says("YES", "lock try x");
}

/* ---- holding ----------------------------------------------------------- */

static void what_either_took_twice_is_free_after_two_releases(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    java_says("OK", "lock lock x");
    java_says("OK", "lock lock x");
    java_says("OK", "lock unlock x");
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    java_says("OK", "lock unlock x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_says("NO", "lock try x");
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_says("YES", "lock try x");
}

static void together_they_count_without_losing_one(void **state) {
    (void)state;
    both_add_up(&the_java, HF_LOCK, "lock", "x");
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
        java_says("OK", "lock lock x");
        uint64_t token =
            (uint64_t)java_number("node czxid x/%s", java_node("lock", "x", 0));
        assert_true(token > last);
        last = token;
        java_says("OK", "lock unlock x");
    }
}

/* ---- waiting ----------------------------------------------------------- */

static void c_releases_and_java_enters(hf_lock *lock) {
    const char *name = hf_lock_name(lock);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_waits(1, "lock lock %s", name);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_answers(1, "OK");
    java_thread_says("OK", 1, "lock unlock %s", name);
}

static void a_release_by_c_wakes_java(void **state) {
    (void)state;
    for (int i = 0; i < TURNS * n_names; i++) {
        hf_lock *lock = c_lock(HF_LOCK, names[i % n_names]);
        c_releases_and_java_enters(lock);
        hf_test_free(lock);
    }
}

/* How long C then took to enter, in ms. */
static int64_t java_unlocks_and_c_enters(hf_lock *lock) {
    hf_test_thread waiter;
    const char *name = hf_lock_name(lock);
    java_says("OK", "lock lock %s", name);
    hf_test_begin(&waiter, lock, HF_TEST_LONG);
    int64_t began = hf_test_now_ms();
    java_says("OK", "lock unlock %s", name);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    int64_t took = hf_test_now_ms() - began;
    hf_expect(HF_OK, hf_test_end(&waiter));
    return took;
}

/* C looks again after some seconds although nobody wakes it; several turns
 * would take longer than the bound if that were what let it in. */
static void a_release_by_java_wakes_c(void **state) {
    (void)state;
    for (int i = 0; i < n_names; i++) {
        hf_lock *lock = c_lock(HF_LOCK, names[i]);
        int64_t spent = 0;
        for (int turn = 0; turn < TURNS; turn++)
            spent += java_unlocks_and_c_enters(lock);
        assert_in_range(spent, 0, SOON);
        hf_test_free(lock);
    }
}

/* Each digit is a thread of Java's, each letter one of ours. */
static const char queue[] = "1a2b3c";
enum { PLACES = sizeof queue - 1 };

typedef struct place {
    int java; /* 0: ours */
    hf_test_thread c;
} place;

/* Every one of ours is a client of its own, so that it is in the store's line
 * and not in ours. */
static void joins(place *p, char who) {
    int before = hf_test_waiters(client, "x");
    p->java = who < 'a' ? who - '0' : 0;
    if (p->java)
        java_begins(p->java, "lock lock x");
    else
        hf_test_begin(&p->c, hf_test_lock(c_other(), "x", NULL), HF_TEST_LONG);
    hf_test_eventually(hf_test_waiters(client, "x") == before + 1,
                       HF_TEST_LONG);
}

static bool has_entered(place *p) {
    return p->java ? java_answered(p->java) : atomic_load(&p->c.answered);
}

static void leaves(place *p) {
    if (p->java) {
        java_answers(p->java, "OK");
        java_thread_says("OK", p->java, "lock unlock x");
    } else {
        hf_expect(HF_OK, hf_test_answer(&p->c));
        hf_expect(HF_OK, hf_test_end(&p->c));
    }
}

static void a_mixed_queue_is_served_in_order(void **state) {
    (void)state;
    static place places[PLACES];
    hf_lock *lock = c_lock(HF_LOCK, "x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    for (int i = 0; i < PLACES; i++)
        joins(&places[i], queue[i]);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    for (int i = 0; i < PLACES; i++) {
        hf_test_eventually(has_entered(&places[i]), HF_TEST_LONG);
        for (int later = i + 1; later < PLACES; later++)
            assert_false(has_entered(&places[later]));
        leaves(&places[i]);
    }
}

/* Those behind it must go on waiting for the holder, and be woken by him. */
static void a_waiter_who_gives_up_leaves_the_others_in_line(void **state) {
    (void)state;
    place java = {.java = 0}, c = {.java = 0};
    hf_lock *lock = c_lock(HF_LOCK, "x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_waits(1, "lock lock x");
    joins(&c, 'a');
    java_says("OK", "interrupt 1");
    java_answers(1, "INTERRUPTED");
    hf_test_eventually(hf_test_waiters(client, "x") == 1, HF_TEST_LONG);
    assert_false(has_entered(&c));
    joins(&java, '2');
    hf_expect(HF_ECANCELLED, hf_test_cancel(&c.c));
    hf_test_end(&c.c);
    hf_test_eventually(hf_test_waiters(client, "x") == 1, HF_TEST_LONG);
    assert_false(has_entered(&java));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    leaves(&java);
}

static void what_c_releases_for_later_lets_java_in_then(void **state) {
    (void)state;
    enum { LATER = 1500 };
    hf_lock *lock = c_lock(HF_LOCK, "x");
    java_says("YES", "lock try x"); /* the first one takes its time */
    java_says("OK", "lock unlock x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_release_after(lock, LATER, ERR));
    java_says("NO", "lock try x");
    java_says("YES", "lock timed %d x", SOON);
    java_says("OK", "lock unlock x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_waits(1, "lock lock x");
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_release_after(lock, LATER, ERR));
    java_answers(1, "OK");
    assert_in_range(hf_test_now_ms() - began, LATER, LATER + SOON);
}

/* ---- force ------------------------------------------------------------- */

static void c_is_told_when_its_entry_is_deleted(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_says("OK", "node delete x/%s", java_node("lock", "x", 0));
    java_says("YES", "lock try x");
    hf_test_eventually(hf_test_is_told(lock), HF_TEST_LONG);
    assert_false(hf_lock_is_held(lock));
    hf_expect(HF_ELOST, hf_lock_release(lock, ERR));
    assert_int_equal(hf_test_holders(client, "x"), 1);
}

static void c_frees_by_force_what_java_holds(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    hf_expect(HF_EFREE, hf_lock_force_release(lock, NULL, ERR));
    java_says("OK", "lock lock x");
    java_waits(1, "lock lock x");
    hf_expect(HF_OK, hf_lock_force_release(lock, NULL, ERR));
    java_answers(1, "OK");
    java_thread_says("OK", 1, "lock unlock x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
}

/* ---- leaders ----------------------------------------------------------- */

static void a_leader_selector_is_such_a_lock(void **state) {
    (void)state;
    hf_test_thread next;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_says("OK", "leader join x");
    hf_test_eventually(java_number("leader count x") == 2, HF_TEST_LONG);
    java_says("NO", "leader leads x");
    assert_memory_equal(java_ask("leader who x"), "holdfast", 8);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    hf_test_eventually(strcmp(java_ask("leader leads x"), "YES") == 0,
                       HF_TEST_LONG);
    java_says("curator", "leader who x");
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    hf_test_begin(&next, lock, HF_TEST_LONG);
    java_says("OK", "leader resign x");
    hf_expect(HF_OK, hf_test_answer(&next));
    hf_expect(HF_OK, hf_test_end(&next));
}

/* ---- sessions ---------------------------------------------------------- */

static void the_session_of_either_keeps_the_other_out(void **state) {
    (void)state;
    hf_lock *c = c_lock(HF_LOCK, "c"), *j = c_lock(HF_LOCK, "j");
    hf_expect(HF_OK, hf_lock_try(c, ERR));
    java_says("OK", "lock lock j");
    hf_test_throughout(hf_lock_is_held(c) && hf_lock_try(j, ERR) == HF_BUSY &&
                           strcmp(java_ask("lock try c"), "NO") == 0,
                       3 * SHORT_LEASE);
    hf_expect(HF_OK, hf_lock_release(c, ERR));
    java_says("YES", "lock try c");
    java_says("OK", "lock unlock j");
    hf_expect(HF_OK, hf_lock_try(j, ERR));
}

static void a_killed_holder_frees_the_lock_within_its_session(void **state) {
    (void)state;
    hf_test_peer *c = c_peer(SHORT_LEASE);
    c_says(c, "OK", "lock 0 c");
    assert_memory_equal(hf_test_peer_ask(c, "try 0"), "OK ", 3);
    java_waits(1, "lock lock c");
    hf_test_peer_signal(c, SIGKILL);
    java_answers(1, "OK");
    hf_test_peer_stop(c);

    hf_test_thread waiter;
    java_says("OK", "lock lock j");
    hf_test_begin(&waiter, c_lock(HF_LOCK, "j"), HF_TEST_LONG);
    java_kill();
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(waiter.took_ms, 0, SHORT_LEASE + SOON);
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static const struct CMUnitTest tests[] = {
    WITH_LONG(what_either_holds_is_busy_for_the_other),
    WITH_LONG(a_try_leaves_nothing_behind),
    WITH_LONG(our_entries_are_participants),
    WITH_LONG(their_entries_are_listed),
    WITH_LONG(a_child_that_is_no_entry_is_not_waited_for),
    WITH_LONG(what_either_took_twice_is_free_after_two_releases),
    WITH_LONG(together_they_count_without_losing_one),
    WITH_LONG(tokens_grow_whoever_is_granted),
    WITH_LONG(a_release_by_c_wakes_java),
    WITH_LONG(a_release_by_java_wakes_c),
    WITH_LONG(a_mixed_queue_is_served_in_order),
    WITH_LONG(a_waiter_who_gives_up_leaves_the_others_in_line),
    WITH_LONG(what_c_releases_for_later_lets_java_in_then),
    WITH_LONG(c_is_told_when_its_entry_is_deleted),
    WITH_LONG(c_frees_by_force_what_java_holds),
    WITH_LONG(a_leader_selector_is_such_a_lock),
    WITH_SHORT(the_session_of_either_keeps_the_other_out),
    WITH_SHORT(a_killed_holder_frees_the_lock_within_its_session),
};
HF_SUITE(tests)
