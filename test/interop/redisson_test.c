/* SPDX-License-Identifier: MIT
 *
 * redisson_test.c - one lock for C and Java: ours and Redisson's own.
 *
 * The other side is interop/redisson/Peer.java in a virtual machine of its
 * own, with the real Redisson.  Leases are a minute long but where they are
 * what the test is about, so that whoever enters was woken, or the test hangs.
 * Without Java, Maven or the registry that has Redisson all are skipped. */
#include "support/dir.h"
#include "support/guarded.h"
#include "support/peer.h"
#include "support/server.h"
#include "support/stage.h"
#include "support/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LONG_LEASE = 60000,
    SHORT_LEASE = 1500,
    SOON = 5000, /* no lease of a minute has ended by then */
};

static hf_test_server *server;
static hf_test_peer *java;
static hf_client *client;

/* What each side makes of a name goes into keys and channels. */
static const char *const names[] = {"a", "{t}a", "a:b", "Schlüssel 鍵",
                                    "a name with spaces"};
enum { NAMES = sizeof names / sizeof names[0], TURNS = 4 };

/* ---- the two sides ----------------------------------------------------- */

/* What build.sh had to say where it could not build. */
static const char *why_not(const char *folder) {
    static char line[256];
    char path[512];
    snprintf(path, sizeof path, "%s/why", folder);
    FILE *f = fopen(path, "re");
    if (f == NULL || fgets(line, sizeof line, f) == NULL)
        snprintf(line, sizeof line,
                 "run test/interop/redisson/build.sh FOLDER and set "
                 "HF_REDISSON to that folder");
    if (f != NULL)
        fclose(f);
    line[strcspn(line, "\n")] = 0;
    return line;
}

static void start_java(int lease_ms) {
    const char *folder = getenv("HF_REDISSON");
    char path[1024], uri[300];
    if (folder == NULL)
        folder = ".";
    snprintf(path, sizeof path, "%s/classes", folder);
    hf_test_need(access(path, R_OK) == 0, why_not(folder));
    snprintf(path, sizeof path, "%s/classes:%s/lib/*", folder, folder);
    snprintf(uri, sizeof uri, "%s lease_ms=%d", hf_test_server_uri(server),
             lease_ms);
    char *argv[] = {"java",
                    "-XX:TieredStopAtLevel=1", /* starts sooner */
                    "-XX:+UseSerialGC",
                    "-Dslf4j.internal.verbosity=ERROR",
                    "-cp",
                    path,
                    "Peer",
                    NULL};
    java = hf_test_peer_start_as(argv, uri);
}

#define java_says(wanted, ...)                                                 \
    assert_string_equal(hf_test_peer_ask(java, __VA_ARGS__), (wanted))

static void with_leases_of(int lease_ms, void **state) {
    server = hf_test_server_start(NULL);
    start_java(lease_ms);
    java_says("OK", "trylock 0 -1 first"); /* now the scripts are loaded */
    client = hf_test_open(hf_test_server_uri(server),
                          HF_CLIENT_WITH(.lease_ms = lease_ms));
    hf_test_body(state);
}

static void with_long_leases(void **state) {
    with_leases_of(LONG_LEASE, state);
}

static void with_short_leases(void **state) {
    with_leases_of(SHORT_LEASE, state);
}

static int end(void **state) {
    (void)state;
    hf_test_clear();
    hf_test_peer_stop(java);
    hf_test_server_stop(server);
    java = NULL;
    server = NULL;
    return 0;
}

/* The answer to what was sent before. */
static void java_answers(const char *wanted, int ms) {
    const char *answer = hf_test_peer_answer(java, ms);
    if (answer == NULL)
        fail_msg("Java did not answer within %d ms", ms);
    assert_string_equal(answer, wanted);
}

static uint64_t java_token(const char *name) {
    const char *answer = hf_test_peer_ask(java, "fenced %s", name);
    if (strncmp(answer, "OK ", 3) != 0)
        fail_msg("Java got no token: %s", answer);
    return strtoull(answer + 3, NULL, 10);
}

static int64_t scripts_run(void) {
    const char *key = "cmdstat_evalsha:calls=";
    const char *found =
        strstr(hf_test_server_ask(server, "INFO commandstats"), key);
    return found != NULL ? atoll(found + strlen(key)) : 0;
}

/* Redisson asks, listens, asks once more, and then sleeps until it is woken.
 * `word` is lock or wait; nobody else asks meanwhile. */
static void java_waits(const char *word, const char *name) {
    int64_t before = scripts_run();
    hf_test_peer_send(java, "%s %s", word, name);
    hf_test_eventually(scripts_run() >= before + 2, HF_TEST_LONG);
}

/* ---- exclusion --------------------------------------------------------- */

static void what_either_holds_is_busy_for_the_other(void **state) {
    (void)state;
    for (int i = 0; i < NAMES; i++) {
        hf_lock *lock = hf_test_lock(client, names[i], NULL);
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        java_says("BUSY", "trylock 0 -1 %s", names[i]);
        java_says("OK 1", "islocked %s", names[i]);
        java_says("OK 0", "holdcount %s", names[i]);
        java_says("NOT_OWNER", "unlock %s", names[i]);
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        java_says("OK 0", "islocked %s", names[i]);
        java_says("OK", "trylock 0 -1 %s", names[i]);
        hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
        hf_expect(HF_ETIMEOUT, hf_lock_acquire(lock, 50, ERR));
        assert_int_equal(hf_test_holders(client, names[i]), 1);
        java_says("OK", "unlock %s", names[i]);
        assert_int_equal(hf_test_holders(client, names[i]), 0);
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
    }
}

static void what_either_took_twice_is_free_after_two_releases(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    java_says("OK", "lock x");
    java_says("OK", "lock x");
    java_says("OK 2", "holdcount x");
    java_says("OK", "unlock x");
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    java_says("OK", "unlock x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_says("BUSY", "trylock 0 -1 x");
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_says("OK", "trylock 0 -1 x");
}

static void together_they_count_without_losing_one(void **state) {
    (void)state;
    enum { THREADS = 3, ROUNDS = 100 };
    char path[200];
    hf_test_fresh_path(path, sizeof path, "counter");
    hf_test_guarded *g = hf_test_guarded_map(path);
    assert_non_null(g);
    hf_test_peer_send(java, "contend %s x 1 %d", path, ROUNDS);
    hf_test_contend(client, "x", g, THREADS, ROUNDS);
    java_answers("OK", 2 * HF_TEST_LONG);
    assert_int_equal(g->counter, (THREADS + 1) * ROUNDS);
    assert_int_equal(g->overlaps, 0);
    assert_int_equal(g->disorders, 0);
    assert_int_equal(g->failures, 0);
    hf_test_guarded_unmap(g);
}

static void tokens_grow_whoever_is_granted(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    uint64_t last = 0;
    for (int i = 0; i < 20; i++) {
        hf_expect(HF_OK, hf_lock_acquire(lock, SOON, ERR));
        assert_true(hf_lock_token(lock) > last);
        last = hf_lock_token(lock);
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        uint64_t token = java_token("x");
        assert_true(token > last);
        last = token;
        java_says("OK", "unlock x");
    }
    /* Java's come first on this one. */
    uint64_t token = java_token("y");
    java_says("OK", "unlock y");
    lock = hf_test_lock(client, "y", NULL);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    assert_true(hf_lock_token(lock) > token);
}

/* ---- waiting ----------------------------------------------------------- */

static void a_release_by_c_wakes_java(void **state) {
    (void)state;
    for (int i = 0; i < TURNS * NAMES; i++) {
        const char *name = names[i % NAMES];
        hf_lock *lock = hf_test_lock(client, name, NULL);
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        java_waits("lock", name);
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        java_answers("OK", SOON);
        java_says("OK", "unlock %s", name);
        hf_test_free(lock);
    }
}

/* How long C then took to enter, in ms. */
static int64_t java_unlocks_and_c_enters(const char *name) {
    hf_test_thread waiter;
    hf_lock *lock = hf_test_lock(client, name, NULL);
    java_says("OK", "lock %s", name);
    hf_test_begin(&waiter, lock, HF_TEST_LONG);
    int64_t began = hf_test_now_ms();
    java_says("OK", "unlock %s", name);
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
    for (int i = 0; i < NAMES; i++) {
        int64_t spent = 0;
        for (int turn = 0; turn < TURNS; turn++)
            spent += java_unlocks_and_c_enters(names[i]);
        assert_in_range(spent, 0, SOON);
    }
}

static void of_many_who_wait_all_enter(void **state) {
    (void)state;
    enum { EACH = 3 };
    hf_test_thread waiters[EACH];
    hf_client *other = hf_test_open(hf_test_server_uri(server), NULL);
    hf_lock *holder = hf_test_lock(other, "x", NULL);
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(holder, ERR));
    for (int i = 0; i < EACH; i++)
        java_waits("wait", "x");
    for (int i = 0; i < EACH; i++)
        hf_test_begin(&waiters[i], lock, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(holder, ERR));
    for (int i = 0; i < EACH; i++) {
        hf_expect(HF_OK, hf_test_answer(&waiters[i]));
        hf_expect(HF_OK, hf_test_end(&waiters[i]));
    }
    for (int i = 0; i < EACH; i++)
        java_answers("ENTERED", SOON);
}

static void what_c_releases_for_later_lets_java_in_then(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_release_after(lock, 300, ERR));
    java_says("BUSY", "trylock 0 -1 x");
    java_says("OK", "trylock %d -1 x", SOON);
    java_says("OK", "unlock x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_waits("lock", "x");
    hf_expect(HF_OK, hf_lock_release_after(lock, 300, ERR));
    java_answers("OK", SOON);
}

/* ---- force ------------------------------------------------------------- */

static void c_is_told_of_what_java_unlocks_by_force(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(client, "x", HF_LOCK_WITH(.renew_ms = 100));
    java_says("FREE", "forceunlock x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_says("OK", "forceunlock x");
    java_says("OK", "trylock 0 -1 x");
    hf_test_eventually(hf_test_is_told(lock), SOON);
    assert_false(hf_lock_is_held(lock));
    hf_expect(HF_ELOST, hf_lock_release(lock, ERR));
    java_says("OK 1", "holdcount x");
}

static void java_cannot_unlock_what_c_released_by_force(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    hf_expect(HF_EFREE, hf_lock_force_release(lock, NULL, ERR));
    uint64_t token = java_token("x");
    hf_expect(HF_OK, hf_lock_force_release(lock, NULL, ERR));
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    assert_true(hf_lock_token(lock) > token);
    java_says("NOT_OWNER", "unlock x");
    assert_true(hf_lock_is_held(lock));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
}

static void force_by_either_wakes_who_waits(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    java_says("OK", "lock x");
    java_waits("wait", "x");
    hf_expect(HF_OK, hf_lock_force_release(lock, NULL, ERR));
    java_answers("ENTERED", SOON);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_waits("wait", "x");
    java_says("OK", "forceunlock x");
    java_answers("ENTERED", SOON);
}

/* ---- leases ------------------------------------------------------------ */

static void the_watchdog_of_either_keeps_the_other_out(void **state) {
    (void)state;
    hf_lock *c = hf_test_lock(client, "c", NULL);
    hf_lock *j = hf_test_lock(client, "j", NULL);
    hf_expect(HF_OK, hf_lock_try(c, ERR));
    java_says("OK", "lock j");
    hf_test_throughout(
        hf_lock_is_held(c) && hf_lock_try(j, ERR) == HF_BUSY &&
            strcmp(hf_test_peer_ask(java, "trylock 0 -1 c"), "BUSY") == 0,
        3 * SHORT_LEASE);
    hf_expect(HF_OK, hf_lock_release(c, ERR));
    java_says("OK", "trylock 0 -1 c");
    java_says("OK", "unlock j");
    hf_expect(HF_OK, hf_lock_try(j, ERR));
}

static void a_killed_holder_frees_the_lock_within_its_lease(void **state) {
    (void)state;
    char uri[300];
    snprintf(uri, sizeof uri, "%s lease_ms=%d", hf_test_server_uri(server),
             SHORT_LEASE);
    hf_test_peer *c = hf_test_peer_start(uri);
    assert_string_equal(hf_test_peer_ask(c, "lock 0 c"), "OK");
    assert_memory_equal(hf_test_peer_ask(c, "try 0"), "OK ", 3);
    java_waits("lock", "c");
    hf_test_peer_signal(c, SIGKILL);
    java_answers("OK", SHORT_LEASE + SOON);
    hf_test_peer_stop(c);

    hf_test_thread waiter;
    java_says("OK", "lock j");
    hf_test_begin(&waiter, hf_test_lock(client, "j", NULL), HF_TEST_LONG);
    hf_test_peer_signal(java, SIGKILL);
    int64_t killed = hf_test_now_ms();
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(hf_test_now_ms() - killed, 0, SHORT_LEASE + SOON);
    hf_expect(HF_OK, hf_test_end(&waiter));
}

#define WITH_LONG(name)  HF_TEST_IN(with_long_leases, name, end)
#define WITH_SHORT(name) HF_TEST_IN(with_short_leases, name, end)

static const struct CMUnitTest tests[] = {
    WITH_LONG(what_either_holds_is_busy_for_the_other),
    WITH_LONG(what_either_took_twice_is_free_after_two_releases),
    WITH_LONG(together_they_count_without_losing_one),
    WITH_LONG(tokens_grow_whoever_is_granted),
    WITH_LONG(a_release_by_c_wakes_java),
    WITH_LONG(a_release_by_java_wakes_c),
    WITH_LONG(of_many_who_wait_all_enter),
    WITH_LONG(what_c_releases_for_later_lets_java_in_then),
    WITH_LONG(c_is_told_of_what_java_unlocks_by_force),
    WITH_LONG(java_cannot_unlock_what_c_released_by_force),
    WITH_LONG(force_by_either_wakes_who_waits),
    WITH_SHORT(the_watchdog_of_either_keeps_the_other_out),
    WITH_SHORT(a_killed_holder_frees_the_lock_within_its_lease),
};
HF_SUITE(tests)
