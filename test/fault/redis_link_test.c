/* SPDX-License-Identifier: MIT
 *
 * redis_link_test.c - the server is sound, the way to it is not.
 *
 * The client under test goes through a proxy; a second one goes straight to
 * the server and sees what is really held. */
#include "support/dir.h"
#include "support/guarded.h"
#include "support/proxy.h"
#include "support/server.h"
#include "support/stage.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

static hf_test_server *server;
static hf_test_proxy *proxy;
static hf_client *direct;
static char uri[64];

static void with_a_proxy(void **state) {
    server = hf_test_server_start(NULL);
    proxy = hf_test_proxy_start(hf_test_server_port(server));
    /* Requests are picked by a name, which records have in them as well. */
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d?hf_presence=off",
             hf_test_proxy_port(proxy));
    direct = hf_test_open(hf_test_server_uri(server), NULL);
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
    hf_test_proxy_stop(proxy);
    hf_test_server_stop(server);
    proxy = NULL;
    server = NULL;
    return 0;
}

/* Requests are given up soon, so that tests do not wait for it. */
static hf_client *through_the_proxy(void) {
    return hf_test_open(uri, HF_CLIENT_WITH(.timeout_ms = 500));
}

static void becomes_free(const char *name) {
    hf_lock *lock = hf_test_lock(direct, name, NULL);
    hf_expect(HF_OK, hf_lock_acquire(lock, 10000, ERR));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    hf_test_free(lock);
}

/* As Redisson keeps it: one field in the hash, its value the count. */
static void is_held_once(const char *name) {
    assert_int_equal(hf_test_server_ask_number(server, "HLEN %s", name), 1);
    assert_int_equal(hf_test_server_ask_number(server, "HVALS %s", name), 1);
}

/* ---- one answer is lost ------------------------------------------------ */

/* The acquire's answer is cut off after each of its bytes in turn. */
static void an_answer_cut_off_at_any_byte_is_asked_for_again(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(through_the_proxy(), "x", NULL);
    size_t size = 1;
    for (size_t n = 0; n < size; n++) {
        hf_test_proxy_catch(proxy, "EVALSHA", "x", (int)n);
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        size = hf_test_proxy_caught(proxy);
        assert_true(size > 0);
        assert_int_equal(hf_lock_holds(a), 1);
        is_held_once("x");
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        assert_int_equal(hf_test_server_ask_number(server, "EXISTS x"), 0);
    }
}

static void a_try_cut_off_at_any_byte_leaves_nothing(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(through_the_proxy(), "x", NULL);
    size_t size = 1;
    for (size_t n = 0; n < size; n += 3) {
        hf_test_proxy_catch(proxy, "EVALSHA", "x", (int)n);
        int result = hf_lock_try(a, ERR);
        size = hf_test_proxy_caught(proxy);
        if (result == HF_OK)
            hf_expect(HF_OK, hf_lock_release(a, ERR));
        else
            hf_expect(HF_EDOUBT, result);
        becomes_free("x");
    }
}

/* The answer never comes and the connection stays open: a peer sent its
 * acquire again and then held twice. */
static void an_answer_that_never_comes_is_not_counted_twice(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(through_the_proxy(), "x", NULL);
    hf_lock *b = hf_test_lock(direct, "x", NULL);
    hf_test_proxy_catch(proxy, "EVALSHA", "x", HF_MUTE);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    assert_true(hf_test_proxy_caught(proxy) > 0);
    uint64_t token = hf_lock_token(a);
    assert_int_equal(hf_lock_holds(a), 1);
    is_held_once("x");
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    assert_true(hf_lock_token(b) > token);
}

static void a_release_whose_answer_is_lost_is_finished_later(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(through_the_proxy(), "x", NULL);
    for (int bytes = HF_MUTE; bytes <= 1; bytes++) {
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        hf_test_proxy_catch(proxy, "EVALSHA", "x", bytes);
        int result = hf_lock_release(a, ERR);
        assert_true(result == HF_OK || result == HF_EDOUBT);
        assert_false(hf_lock_is_held(a));
        becomes_free("x");
    }
}

static void a_simple_lock_whose_answer_is_lost_is_held_once(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(through_the_proxy(), "simple",
                              HF_LOCK_WITH(.kind = HF_SIMPLE));
    hf_lock *b =
        hf_test_lock(direct, "simple", HF_LOCK_WITH(.kind = HF_SIMPLE));
    for (int bytes = HF_MUTE; bytes <= 1; bytes++) {
        hf_test_proxy_catch(proxy, NULL, "simple", bytes);
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        assert_true(hf_test_proxy_caught(proxy) > 0);
        hf_expect(HF_BUSY, hf_lock_try(b, ERR));
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        hf_expect(HF_OK, hf_lock_try(b, ERR));
        hf_expect(HF_OK, hf_lock_release(b, ERR));
    }
}

static void an_answer_that_makes_no_sense_is_not_believed(void **state) {
    (void)state;
    static const char *const nonsense[] = {
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "$99999999999\r\n",
        "*-7\r\n",
        "*2\r\n:0\r\n+\r\n",
        ":notanumber\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
    };
    hf_client *client = through_the_proxy();
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        hf_lock *a = hf_test_lock(client, "x", NULL);
        hf_test_proxy_forge(proxy, "EVALSHA", "x", nonsense[i]);
        assert_true(hf_lock_try(a, ERR) < 0);
        assert_false(hf_lock_is_held(a));
        becomes_free("x");
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        hf_test_free(a);
    }
}

/* ---- one direction is dead --------------------------------------------- */

static void when_answers_are_lost_the_holder_stops_in_time(void **state) {
    (void)state;
    hf_lock *a =
        hf_test_lock(through_the_proxy(), "x",
                     HF_LOCK_WITH(.watchdog_ms = 900, .renew_ms = 100));
    hf_lock *b = hf_test_lock(direct, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_proxy_drop(proxy, HF_TO_CLIENT, true);
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    assert_false(hf_lock_is_held(a));
    hf_test_proxy_drop(proxy, HF_TO_CLIENT, false);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
}

static void when_requests_are_lost_the_next_one_enters_at_lease_end(void **s) {
    (void)s;
    hf_lock *a =
        hf_test_lock(through_the_proxy(), "x",
                     HF_LOCK_WITH(.watchdog_ms = 900, .renew_ms = 100));
    hf_lock *b = hf_test_lock(direct, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_proxy_drop(proxy, HF_TO_SERVER, true);
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_false(hf_lock_is_held(a));
    assert_true(hf_lock_release(a, ERR) < 0);
    assert_true(hf_lock_is_held(b));
}

static void every_wait_through_a_dead_link_ends_on_time(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(through_the_proxy(), "x", NULL);
    for (int way = 0; way < 2; way++) {
        hf_test_proxy_drop(proxy, (hf_way)way, true);
        for (int ms = 0; ms <= 800; ms += 400) {
            int64_t began = hf_test_now_ms();
            assert_true(hf_lock_acquire(a, ms, ERR) < 0);
            assert_in_range(hf_test_now_ms() - began, 0, ms + 3000);
        }
        hf_test_proxy_drop(proxy, (hf_way)way, false);
        hf_test_proxy_cut(proxy);
        becomes_free("x");
    }
}

static void a_link_that_stalls_and_recovers_costs_nothing(void **state) {
    (void)state;
    hf_client *client = hf_test_open(uri, NULL);
    hf_lock *a = hf_test_lock(
        client, "x", HF_LOCK_WITH(.watchdog_ms = 9000, .renew_ms = 100));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    for (int way = 0; way < 2; way++) {
        hf_test_proxy_stall(proxy, (hf_way)way, true);
        hf_test_throughout(hf_lock_is_held(a), 250);
        hf_test_proxy_stall(proxy, (hf_way)way, false);
    }
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    becomes_free("x");
}

/* A late answer must never be taken for the answer to the next question. */
static void a_late_answer_is_not_the_next_ones(void **state) {
    (void)state;
    hf_client *client = through_the_proxy();
    hf_lock *x = hf_test_lock(client, "x", NULL);
    hf_lock *y = hf_test_lock(client, "y", NULL);
    hf_lock *held = hf_test_lock(direct, "y", NULL);
    hf_expect(HF_OK, hf_lock_try(held, ERR));
    for (int i = 0; i < 3; i++) {
        hf_test_proxy_stall(proxy, HF_TO_CLIENT, true);
        assert_true(hf_lock_try(x, ERR) < 0); /* granted, but unheard */
        hf_test_proxy_stall(proxy, HF_TO_CLIENT, false);
        assert_int_not_equal(hf_lock_try(y, ERR), HF_OK);
        becomes_free("x");
    }
}

/* ---- slow, cut, refused ------------------------------------------------ */

/* With answers that are late a renewal may be under way when the lock is
 * released: nothing may be left that is renewed for ever. */
static void nothing_is_renewed_after_a_release_over_a_slow_link(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(through_the_proxy(), "x",
                              HF_LOCK_WITH(.watchdog_ms = 3000, .renew_ms = 3));
    hf_test_proxy_delay(proxy, HF_TO_SERVER, 4);
    hf_test_proxy_delay(proxy, HF_TO_CLIENT, 4);
    for (int i = 0; i < 60; i++) {
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        hf_expect(HF_OK, hf_lock_release(a, ERR));
    }
    hf_test_eventually(hf_test_server_ask_number(server, "EXISTS x") == 0,
                       HF_TEST_LONG);
    hf_test_throughout(hf_test_server_ask_number(server, "EXISTS x") == 0, 300);
}

typedef struct chaos {
    atomic_bool stop;
    pthread_t thread;
} chaos;

static void *cut_again_and_again(void *arg) {
    chaos *c = arg;
    while (!atomic_load(&c->stop)) {
        for (int i = 0; i < 3; i++)
            hf_test_breathe();
        hf_test_proxy_cut(proxy);
    }
    return NULL;
}

/* Calls may fail now, but nobody may be inside together, nor out of order. */
static void a_link_cut_all_the_time_lets_no_two_in(void **state) {
    (void)state;
    char path[160];
    chaos c = {.stop = false};
    hf_test_fresh_path(path, sizeof path, "counter");
    hf_test_guarded *g = hf_test_guarded_map(path);
    assert_non_null(g);
    hf_client *client = through_the_proxy();
    pthread_create(&c.thread, NULL, cut_again_and_again, &c);
    hf_test_contend(client, "counter", g, 6, 100);
    atomic_store(&c.stop, true);
    pthread_join(c.thread, NULL);
    assert_int_equal(g->overlaps, 0);
    assert_int_equal(g->disorders, 0);
    assert_true(g->counter > 0);
    hf_test_guarded_unmap(g);
    becomes_free("counter");
}

static void a_refused_link_is_tried_again_but_not_in_a_frenzy(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *a = hf_test_lock(through_the_proxy(), "x", NULL);
    hf_lock *b = hf_test_lock(direct, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    hf_test_begin(&waiter, a, HF_FOREVER);
    hf_test_proxy_refuse(proxy, true);
    hf_test_proxy_cut(proxy);
    int before = hf_test_proxy_connections(proxy);
    hf_test_throughout(!atomic_load(&waiter.answered), 1500);
    assert_in_range(hf_test_proxy_connections(proxy) - before, 1, 200);
    hf_test_proxy_refuse(proxy, false);
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

/* The message went to a connection that had just died. */
static void a_waiter_whose_link_is_cut_asks_again(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *a = hf_test_lock(direct, "x", NULL);
    hf_lock *b = hf_test_lock(through_the_proxy(), "x", NULL);
    for (int i = 0; i < 5; i++) {
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        hf_test_begin(&waiter, b, HF_FOREVER);
        hf_test_proxy_cut(proxy);
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        hf_expect(HF_OK, hf_test_answer(&waiter));
        assert_in_range(waiter.took_ms, 0, 10000);
        hf_expect(HF_OK, hf_test_end(&waiter));
    }
}

#define TEST(name) HF_TEST_IN(with_a_proxy, name, teardown)

static const struct CMUnitTest tests[] = {
    TEST(an_answer_cut_off_at_any_byte_is_asked_for_again),
    TEST(a_try_cut_off_at_any_byte_leaves_nothing),
    TEST(an_answer_that_never_comes_is_not_counted_twice),
    TEST(a_release_whose_answer_is_lost_is_finished_later),
    TEST(a_simple_lock_whose_answer_is_lost_is_held_once),
    TEST(an_answer_that_makes_no_sense_is_not_believed),
    TEST(when_answers_are_lost_the_holder_stops_in_time),
    TEST(when_requests_are_lost_the_next_one_enters_at_lease_end),
    TEST(every_wait_through_a_dead_link_ends_on_time),
    TEST(a_link_that_stalls_and_recovers_costs_nothing),
    TEST(a_late_answer_is_not_the_next_ones),
    TEST(nothing_is_renewed_after_a_release_over_a_slow_link),
    TEST(a_link_cut_all_the_time_lets_no_two_in),
    TEST(a_refused_link_is_tried_again_but_not_in_a_frenzy),
    TEST(a_waiter_whose_link_is_cut_asks_again),
};
HF_SUITE(tests)
