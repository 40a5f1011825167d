/* SPDX-License-Identifier: MIT
 *
 * redis_family_test.c - dead neighbours, wrong clocks, lost messages and a
 * server that forgets, for the kinds that are more than a plain lock. */
#include "support/peer.h"
#include "support/server.h"
#include "support/stage.h"
#include "support/suite.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CROWD = 100, DEAD_FOR_MS = 4000, HOUR_MS = 3600 * 1000 };

#define JAVA "3f2504e0-4f89-41d3-9a0c-0305e82c3301:7"

static hf_test_server *server;
static hf_world skewed;
static _Atomic int64_t skew_us; /* keepers ask, too */

static int64_t skewed_wall(void) {
    return hf__real_world.wall_us() + skew_us;
}

static void with_a_server(void **state) {
    server = hf_test_server_start(NULL);
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
    hf__world = &hf__real_world;
    hf_test_server_stop(server);
    server = NULL;
    return 0;
}

static hf_client *client_of_its_own(void) {
    return hf_test_open(hf_test_server_uri(server), NULL);
}

static hf_lock *lock_of(hf_client *client, hf_kind kind) {
    return hf_test_lock(client, "x", HF_LOCK_WITH(.kind = kind));
}

static int64_t scripts_run(void) {
    const char *key = "cmdstat_evalsha:calls=";
    const char *found =
        strstr(hf_test_server_ask(server, "INFO commandstats"), key);
    return found != NULL ? atoll(found + strlen(key)) : 0;
}

static int64_t server_ms(void) {
    char *end;
    const char *time = hf_test_server_ask(server, "TIME");
    long long seconds = strtoll(time, &end, 10);
    return seconds * 1000 + strtoll(end, NULL, 10) / 1000;
}

static int64_t line_length(void) {
    return hf_test_server_ask_number(server, "LLEN redisson_lock_queue:{x}");
}

/* `n` threads, each with a place in the fair line of x. */
static void stand_in_line(hf_test_thread *threads, hf_lock *lock, int n) {
    int64_t before = line_length();
    for (int i = 0; i < n; i++) {
        hf_test_begin(&threads[i], lock, HF_FOREVER);
        hf_test_eventually(line_length() > before + i, HF_TEST_LONG);
    }
}

/* Each in turn is answered and lets go. */
static void all_get_through(hf_test_thread *threads, int n) {
    for (int i = 0; i < n; i++) {
        hf_expect(HF_OK, hf_test_answer(&threads[i]));
        hf_expect(HF_OK, hf_test_end(&threads[i]));
    }
}

/* ---- a dead head ------------------------------------------------------- */

/* A Java waiter that died keeps its place until its end, and Redisson's own
 * waiters ask 25 000 times a second meanwhile.  Ours ask a few times each. */
static void a_dead_head_with_a_crowd_behind_it_costs_few_questions(void **s) {
    (void)s;
    static hf_test_thread threads[CROWD];
    hf_lock *holder = lock_of(client_of_its_own(), HF_FAIR);
    hf_lock *lock = lock_of(client_of_its_own(), HF_FAIR);
    hf_expect(HF_OK, hf_lock_try(holder, ERR));
    hf_test_server_ask(server, "RPUSH redisson_lock_queue:{x} " JAVA);
    hf_test_server_ask(server, "ZADD redisson_lock_timeout:{x} %lld " JAVA,
                       (long long)server_ms() + HOUR_MS);
    stand_in_line(threads, lock, CROWD);
    hf_test_server_ask(server, "ZADD redisson_lock_timeout:{x} %lld " JAVA,
                       (long long)server_ms() + DEAD_FOR_MS);
    int64_t before = scripts_run();
    hf_expect(HF_OK, hf_lock_release(holder, ERR));
    hf_expect(HF_OK, hf_test_answer(&threads[0]));
    int64_t asked = scripts_run() - before;
    if (asked > 10 * CROWD)
        fail_msg("%lld questions while the head was dead", (long long)asked);
    before = scripts_run();
    all_get_through(threads, CROWD);
    asked = scripts_run() - before;
    if (asked > 3 * CROWD)
        fail_msg("%lld questions to let %d through", (long long)asked, CROWD);
    assert_int_equal(hf_test_server_ask_number(server,
                                               "EXISTS redisson_lock_queue:{x} "
                                               "redisson_lock_timeout:{x} x"),
                     0);
}

/* ---- a wrong clock ----------------------------------------------------- */

/* Both an hour early and an hour late, beside a peer whose clock is right. */
static void nothing_depends_on_the_clock_of_a_client(void **s) {
    (void)s;
    static const int64_t hours[] = {1, -1};
    skewed = hf__real_world;
    skewed.wall_us = skewed_wall;
    hf__world = &skewed;
    for (int i = 0; i < 2; i++) {
        skew_us = hours[i] * HOUR_MS * 1000;
        hf_test_peer *peer = hf_test_peer_start(hf_test_server_uri(server));
        hf_client *client = client_of_its_own();
        hf_lock *fair = lock_of(client, HF_FAIR);
        hf_test_thread waiter;
        hf_test_peer_ask(peer, "lock 0 x kind=%d", HF_FAIR);
        assert_non_null(strstr(hf_test_peer_ask(peer, "try 0"), "OK"));
        uint64_t token = strtoull(hf_test_peer_ask(peer, "token 0") + 3, 0, 10);
        stand_in_line(&waiter, fair, 1);
        hf_test_peer_send(peer, "release 0");
        hf_expect(HF_OK, hf_test_answer(&waiter));
        assert_true(waiter.token > token);
        hf_expect(HF_OK, hf_test_end(&waiter));
        assert_string_equal(hf_test_peer_answer(peer, HF_TEST_LONG), "OK");

        hf_lock *permit = hf_test_lock(
            client, "p", HF_LOCK_WITH(.kind = HF_PERMIT, .lease_ms = 60000));
        hf_test_server_ask(server, "SET p 1");
        hf_expect(HF_OK, hf_lock_try(permit, ERR));
        hf_test_peer_ask(peer, "semaphore 0 p");
        assert_string_equal(hf_test_peer_ask(peer, "available 0"), "OK 0");
        hf_expect(HF_OK, hf_lock_release(permit, ERR));
        assert_string_equal(hf_test_peer_ask(peer, "available 0"), "OK 1");
        hf_test_peer_stop(peer);
    }
}

/* ---- what is forgotten ------------------------------------------------- */

/* One who has its answer and was not let go yet; -1: none has. */
static int who_is_in(const hf_test_thread *threads, const bool *gone, int n) {
    for (int i = 0; i < n; i++)
        if (!gone[i] && atomic_load(&threads[i].answered))
            return i;
    return -1;
}

/* Nobody calls those who are in no line any more: they notice. */
static void a_fair_line_that_was_wiped_out_forms_again(void **s) {
    (void)s;
    enum { N = 5 };
    hf_test_thread threads[N];
    bool gone[N] = {false};
    hf_lock *holder = lock_of(client_of_its_own(), HF_FAIR);
    hf_lock *lock = lock_of(client_of_its_own(), HF_FAIR);
    hf_expect(HF_OK, hf_lock_try(holder, ERR));
    stand_in_line(threads, lock, N);
    hf_test_server_ask(server, "DEL redisson_lock_queue:{x} "
                               "redisson_lock_timeout:{x}");
    hf_expect(HF_OK, hf_lock_release(holder, ERR));
    for (int left = N; left > 0; left--) {
        int i;
        hf_test_eventually((i = who_is_in(threads, gone, N)) >= 0,
                           HF_TEST_LONG);
        hf_expect(HF_OK, hf_test_end(&threads[i]));
        gone[i] = true;
    }
}

/* Nobody counts it down and nobody says anything: its time is over. */
static void a_latch_that_vanishes_lets_go_who_waits(void **s) {
    (void)s;
    hf_latch *latch;
    hf_expect(HF_OK, hf_latch_new(&latch, client_of_its_own(), "l", ERR));
    hf_test_server_ask(server, "SET l 1 PX 300");
    hf_expect(HF_OK, hf_latch_wait(latch, HF_TEST_LONG, ERR));
    hf_latch_free(latch);
}

/* A restart without memory frees everything, scripts and subscriptions too. */
static void waiters_of_every_kind_outlive_a_restart(void **s) {
    (void)s;
    static const hf_kind kinds[] = {HF_FAIR, HF_WRITE, HF_READ, HF_SPIN};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        hf_kind kind = kinds[i];
        hf_test_thread waiter;
        hf_lock *holder =
            lock_of(client_of_its_own(), kind == HF_READ ? HF_WRITE : kind);
        hf_lock *lock = lock_of(client_of_its_own(), kind);
        hf_expect(HF_OK, hf_lock_try(holder, ERR));
        hf_test_begin(&waiter, lock, HF_FOREVER);
        hf_test_server_restart(server);
        hf_expect(HF_OK, hf_test_answer(&waiter));
        hf_expect(HF_OK, hf_test_end(&waiter));
        hf_lock_release(holder, ERR);
    }
}

#define TEST(name) HF_TEST_IN(with_a_server, name, teardown)

static const struct CMUnitTest tests[] = {
    TEST(a_dead_head_with_a_crowd_behind_it_costs_few_questions),
    TEST(nothing_depends_on_the_clock_of_a_client),
    TEST(a_fair_line_that_was_wiped_out_forms_again),
    TEST(a_latch_that_vanishes_lets_go_who_waits),
    TEST(waiters_of_every_kind_outlive_a_restart),
};
HF_SUITE(tests)
