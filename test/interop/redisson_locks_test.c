/* SPDX-License-Identifier: MIT
 *
 * redisson_locks_test.c - one lock for C and Java: ours, and RLock, fenced,
 * non-reentrant and spin locks of Redisson's, which are one lock with several
 * manners. */
#include "redisson.h"
#include "support/dir.h"
#include "support/guarded.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { TURNS = 4 };

/* Ours and theirs of one name.  The first wake each other; those that spin
 * neither wake nor hear, and fair ones listen elsewhere. */
static const struct pair {
    hf_kind c;
    const char *java;
} pairs[] = {
    {HF_LOCK, "lock"}, {HF_LOCK, "fenced"}, {HF_LOCK, "once"},
    {HF_LOCK, "spin"}, {HF_SPIN, "spin"},   {HF_SPIN, "lock"},
    {HF_LOCK, "fair"}, {HF_FAIR, "lock"},
};
enum { WAKING = 3, SPINNING = 6, PAIRS = sizeof pairs / sizeof pairs[0] };

/* The non-reentrant lock is new in 4. */
static bool has(const struct pair *p) {
    return java_is_4() || strcmp(p->java, "once") != 0;
}

/* ---- exclusion --------------------------------------------------------- */

static void each_keeps_the_other_out(const struct pair *p, const char *name) {
    hf_lock *lock = c_lock(p->c, name);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_says("NO", "%s try %s", p->java, name);
    java_says("NO", "%s timed 20 -1 %s", p->java, name);
    java_says("YES", "%s locked %s", p->java, name);
    java_says("0", "%s holds %s", p->java, name);
    java_says("NOT_OWNER", "%s unlock %s", p->java, name);
    assert_in_range(java_number("%s ttl %s", p->java, name), 1, LONG_LEASE);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_says("NO", "%s locked %s", p->java, name);
    java_says("YES", "%s try %s", p->java, name);
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    if (name == names[0])
        hf_expect(HF_ETIMEOUT, hf_lock_acquire(lock, A_MOMENT, ERR));
    assert_int_equal(hf_test_holders(client, name), 1);
    java_says("OK", "%s unlock %s", p->java, name);
    assert_int_equal(hf_test_holders(client, name), 0);
    hf_test_free(lock);
}

static void what_either_holds_is_busy_for_the_other(void **state) {
    (void)state;
    for (const struct pair *p = pairs; p < pairs + PAIRS; p++)
        for (int i = 0; i < n_names && has(p); i++)
            each_keeps_the_other_out(p, names[i]);
}

typedef struct seen {
    char owner[80];
    bool foreign, holds;
    int64_t lease_ms;
} seen;

static void look(void *arg, const hf_place *place) {
    seen *s = arg;
    snprintf(s->owner, sizeof s->owner, "%s", place->owner);
    s->foreign = place->foreign;
    s->holds = place->holds;
    s->lease_ms = place->lease_ms;
}

static void either_reads_what_the_other_wrote(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(client, "x", HF_LOCK_WITH(.lease_ms = 30000));
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_says("YES", "lock locked x");
    assert_in_range(java_number("lock ttl x"), 30000 - SOON, 30000);
    assert_int_equal(java_number("token get x"), hf_lock_token(lock));
    hf_expect(HF_OK, hf_lock_extend(lock, 20000, ERR));
    assert_in_range(java_number("lock ttl x"), 20000 - SOON, 20000);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    assert_int_equal(java_number("lock ttl x"), -2);

    seen java = {.holds = false};
    uint64_t last = 0;
    int64_t token = java_number("token lock x");
    hf_expect(HF_OK, hf_list(client, "x", look, &java, ERR));
    assert_true(java.holds);
    assert_true(java.foreign);
    assert_in_range(java.lease_ms, LONG_LEASE - SOON, LONG_LEASE);
    assert_string_equal(java.owner, hf_test_server_ask(server, "HKEYS x"));
    hf_expect(HF_OK, hf_lock_last_token(lock, &last, ERR));
    assert_int_equal(last, token);
}

static void what_either_took_twice_is_free_after_two_releases(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    java_says("OK", "lock lock x");
    java_says("OK", "lock lock x");
    java_says("2", "lock holds x");
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

static void they_count(hf_kind kind, const char *noun) {
    enum { THREADS = 3, ROUNDS = 100 };
    char path[200];
    hf_test_fresh_path(path, sizeof path, noun);
    hf_test_guarded *g = hf_test_guarded_map(path);
    assert_non_null(g);
    java_begins(1, "contend %s %s 2 %d %s", noun, path, ROUNDS, noun);
    hf_test_contend_with(client, noun, HF_LOCK_WITH(.kind = kind), g, THREADS,
                         ROUNDS);
    java_has_counted(1, g);
    assert_int_equal(g->counter, (THREADS + 2) * ROUNDS);
    assert_int_equal(g->overlaps, 0);
    assert_int_equal(g->disorders, 0);
    assert_int_equal(g->failures, 0);
    hf_test_guarded_unmap(g);
}

static void together_they_count_without_losing_one(void **state) {
    (void)state;
    they_count(HF_LOCK, "lock");
    they_count(HF_LOCK, "fenced"); /* their tokens are compared, too */
    they_count(HF_SPIN, "spin");
}

static void tokens_grow_whoever_is_granted(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    uint64_t last = 0;
    for (int i = 0; i < 20; i++) {
        hf_expect(HF_OK, hf_lock_acquire(lock, HF_TEST_LONG, ERR));
        assert_true(hf_lock_token(lock) > last);
        last = hf_lock_token(lock);
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        uint64_t token = (uint64_t)java_number("token lock x");
        assert_true(token > last);
        last = token;
        java_says("OK", "fenced unlock x");
    }
    /* Java's come first on this one. */
    uint64_t token = (uint64_t)java_number("token lock y");
    java_says("OK", "fenced unlock y");
    lock = hf_test_lock(client, "y", NULL);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    assert_true(hf_lock_token(lock) > token);
}

/* ---- waiting ----------------------------------------------------------- */

static void c_releases_and_java_enters(const struct pair *p, const char *name) {
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
    for (const struct pair *p = pairs; p < pairs + WAKING; p++)
        for (int i = 0; i < TURNS * n_names && has(p); i++)
            c_releases_and_java_enters(p, names[i % n_names]);
}

/* How long C then took to enter, in ms. */
static int64_t java_unlocks_and_c_enters(const struct pair *p,
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

/* C looks again after 1.5 to 3 s although nobody wakes it; several turns would
 * take longer than the bound if that were what let it in. */
static void a_release_by_java_wakes_c(void **state) {
    (void)state;
    for (const struct pair *p = pairs; p < pairs + WAKING; p++)
        for (int i = 0; i < n_names && has(p); i++) {
            int64_t spent = 0;
            for (int turn = 0; turn < TURNS; turn++)
                spent += java_unlocks_and_c_enters(p, names[i]);
            assert_in_range(spent, 0, SOON);
        }
}

/* Who spins enters by asking; who waits for one who spins, by looking again:
 * we do that, Java does it when the lease would have ended. */
static void who_spins_enters_without_being_woken(void **state) {
    (void)state;
    for (const struct pair *p = pairs + WAKING; p < pairs + SPINNING; p++) {
        java_unlocks_and_c_enters(p, p->java);
        if (strcmp(p->java, "spin") == 0)
            c_releases_and_java_enters(p, p->java);
    }
    hf_lock *lock = hf_test_lock(
        client, "x", HF_LOCK_WITH(.kind = HF_SPIN, .lease_ms = 2000));
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_waits(1, "lock lock x");
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    assert_false(java_answered(1));
    java_answers(1, "OK");
}

static void of_many_who_wait_all_enter(void **state) {
    (void)state;
    enum { EACH = 3 };
    hf_test_thread waiters[EACH];
    hf_client *other = hf_test_open(hf_test_server_uri(server), NULL);
    hf_lock *holder = hf_test_lock(other, "x", NULL);
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(holder, ERR));
    for (int i = 0; i < EACH; i++) {
        java_waits(1 + i, "lock lock x");
        java_begins(1 + i, "lock unlock x"); /* as soon as it has it */
    }
    for (int i = 0; i < EACH; i++)
        hf_test_begin(&waiters[i], lock, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(holder, ERR));
    for (int i = 0; i < EACH; i++) {
        hf_expect(HF_OK, hf_test_answer(&waiters[i]));
        hf_expect(HF_OK, hf_test_end(&waiters[i]));
    }
    for (int i = 0; i < EACH; i++) {
        java_answers(1 + i, "OK");
        java_answers(1 + i, "OK");
    }
}

static void what_c_releases_for_later_lets_java_in_then(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_release_after(lock, 4000, ERR));
    java_says("NO", "lock try x");
    java_says("YES", "lock timed %d -1 x", HF_TEST_LONG);
    java_says("OK", "lock unlock x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_waits(1, "lock lock x");
    hf_expect(HF_OK, hf_lock_release_after(lock, 300, ERR));
    java_answers(1, "OK");
}

/* ---- force ------------------------------------------------------------- */

static void c_is_told_of_what_java_unlocks_by_force(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(client, "x", HF_LOCK_WITH(.renew_ms = 100));
    java_says("NO", "lock force x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_says("YES", "lock force x");
    java_says("YES", "lock try x");
    hf_test_eventually(hf_test_is_told(lock), HF_TEST_LONG);
    assert_false(hf_lock_is_held(lock));
    hf_expect(HF_ELOST, hf_lock_release(lock, ERR));
    java_says("1", "lock holds x");
}

static void java_cannot_unlock_what_c_released_by_force(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    hf_expect(HF_EFREE, hf_lock_force_release(lock, NULL, ERR));
    uint64_t token = (uint64_t)java_number("token lock x");
    hf_expect(HF_OK, hf_lock_force_release(lock, NULL, ERR));
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    assert_true(hf_lock_token(lock) > token);
    java_says("NOT_OWNER", "fenced unlock x");
    assert_true(hf_lock_is_held(lock));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
}

static void force_by_either_wakes_who_waits(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    java_says("OK", "lock lock x");
    java_waits(1, "lock lock x");
    hf_expect(HF_OK, hf_lock_force_release(lock, NULL, ERR));
    java_answers(1, "OK");
    java_thread_says("OK", 1, "lock unlock x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_waits(1, "lock lock x");
    java_says("YES", "lock force x");
    java_answers(1, "OK");
}

/* ---- leases ------------------------------------------------------------ */

static void the_watchdog_of_either_keeps_the_other_out(void **state) {
    (void)state;
    hf_lock *c = hf_test_lock(client, "c", NULL);
    hf_lock *j = hf_test_lock(client, "j", NULL);
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

static void a_killed_holder_frees_the_lock_within_its_lease(void **state) {
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
    hf_test_begin(&waiter, hf_test_lock(client, "j", NULL), HF_TEST_LONG);
    java_kill();
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(waiter.took_ms, 0, SHORT_LEASE + SOON);
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static const struct CMUnitTest tests[] = {
    WITH_LONG(what_either_holds_is_busy_for_the_other),
    WITH_LONG(either_reads_what_the_other_wrote),
    WITH_LONG(what_either_took_twice_is_free_after_two_releases),
    WITH_LONG(together_they_count_without_losing_one),
    WITH_LONG(tokens_grow_whoever_is_granted),
    WITH_LONG(a_release_by_c_wakes_java),
    WITH_LONG(a_release_by_java_wakes_c),
    WITH_LONG(who_spins_enters_without_being_woken),
    WITH_LONG(of_many_who_wait_all_enter),
    WITH_LONG(what_c_releases_for_later_lets_java_in_then),
    WITH_LONG(c_is_told_of_what_java_unlocks_by_force),
    WITH_LONG(java_cannot_unlock_what_c_released_by_force),
    WITH_LONG(force_by_either_wakes_who_waits),
    WITH_SHORT(the_watchdog_of_either_keeps_the_other_out),
    WITH_SHORT(a_killed_holder_frees_the_lock_within_its_lease),
};
HF_SUITE(tests)
