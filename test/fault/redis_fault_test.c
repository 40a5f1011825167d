/* SPDX-License-Identifier: MIT
 *
 * redis_fault_test.c - the server dies, sleeps, forgets and comes back.
 *
 * Holders must know in time what they still hold; waiters must get in, or out,
 * by their deadline. */
#include "support/clock.h"
#include "support/server.h"
#include "support/stage.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hf_test_server *server;

static void with_a_server(void **state) {
    server = hf_test_server_start(NULL);
    hf_test_body(state);
}

static void with_a_durable_one(void **state) {
    server = hf_test_server_start(&(hf_test_server_options){.durable = true});
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
    hf_test_server_stop(server);
    server = NULL;
    return 0;
}

static hf_client *client_with(const hf_options *options) {
    return hf_test_open(hf_test_server_uri(server), options);
}

/* Requests are given up soon, so that tests do not wait for it. */
static hf_client *client_of_its_own(void) {
    return client_with(HF_CLIENT_WITH(.timeout_ms = 400));
}

/* ---- it dies ----------------------------------------------------------- */

static void a_server_that_forgot_the_lock_makes_the_holder_lose_it(void **s) {
    (void)s;
    hf_test_ear e = {0};
    hf_lock *a =
        hf_test_lock(client_of_its_own(), "x",
                     HF_LOCK_WITH(.watchdog_ms = 6000, .renew_ms = 100));
    hf_lock_on_state(a, hf_test_hear, &e);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    hf_test_server_restart(server);
    hf_test_eventually(atomic_load(&e.lost) == 1, HF_TEST_LONG);
    assert_false(hf_lock_is_held(a));
    assert_true(hf_test_is_told(a));
    hf_lock *b = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    assert_true(hf_lock_token(b) > token); /* though the counter is gone */
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    assert_true(hf_lock_is_held(b));
    assert_int_equal(atomic_load(&e.lost), 1);
}

static void a_hold_outlives_a_server_that_remembers(void **s) {
    (void)s;
    hf_test_ear e = {0};
    hf_lock *a =
        hf_test_lock(client_of_its_own(), "x",
                     HF_LOCK_WITH(.watchdog_ms = 15000, .renew_ms = 100));
    hf_lock_on_state(a, hf_test_hear, &e);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    hf_test_server_kill(server);
    hf_test_eventually(atomic_load(&e.doubt) == 1, HF_TEST_LONG);
    hf_test_server_restart(server);
    hf_test_eventually(atomic_load(&e.held) == 1, HF_TEST_LONG);
    hf_test_server_ask(server, "PEXPIRE x 9000");
    hf_test_eventually(hf_test_server_ask_number(server, "PTTL x") > 10000,
                       HF_TEST_LONG); /* renewal has resumed */
    assert_true(hf_lock_is_held(a));
    assert_int_equal(atomic_load(&e.lost), 0);
    hf_lock *b = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    assert_true(hf_lock_token(b) > token);
}

static void a_waiter_gets_in_when_the_server_is_back(void **s) {
    (void)s;
    hf_test_thread waiter;
    hf_lock *a = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_lock *b = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_server_restart(server); /* and forgot the holder */
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

/* The new connection listens again, and what happened meanwhile is asked. */
static void a_waiter_is_woken_across_a_restart(void **s) {
    (void)s;
    hf_test_thread waiter;
    hf_lock *a = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_lock *b = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_server_restart(server);
    assert_false(atomic_load(&waiter.answered));
    hf_test_eventually(hf_lock_release(a, ERR) != HF_EDOWN, HF_TEST_LONG);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static void a_wait_ends_on_time_although_the_server_died(void **s) {
    (void)s;
    hf_test_thread waiter;
    hf_lock *a = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_lock *b = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, 700);
    hf_test_server_kill(server);
    assert_true(hf_test_answer(&waiter) < 0);
    assert_in_range(waiter.took_ms, 0, 4000);
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static void a_wait_for_ever_ends_when_the_server_stays_away(void **s) {
    (void)s;
    hf_test_thread waiter;
    hf_lock *a = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_lock *b = hf_test_lock(
        client_with(HF_CLIENT_WITH(.patience_ms = 500, .timeout_ms = 200)), "x",
        NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_server_kill(server);
    hf_expect(HF_EDOWN, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static void a_client_outlives_its_server(void **s) {
    (void)s;
    hf_lock *a = hf_test_lock(client_of_its_own(), "x", NULL);
    for (int i = 0; i < 3; i++) {
        hf_test_server_kill(server);
        assert_true(hf_lock_try(a, ERR) < 0);
        hf_test_server_restart(server);
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        hf_expect(HF_OK, hf_lock_release(a, ERR));
    }
}

static void freeing_and_closing_end_although_the_server_is_gone(void **s) {
    (void)s;
    hf_client *client = client_with(HF_CLIENT_WITH(.timeout_ms = 300));
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_server_kill(server);
    int64_t began = hf_test_now_ms();
    hf_test_free(a);
    hf_test_close(client);
    assert_in_range(hf_test_now_ms() - began, 0, 5000);
}

/* ---- it sleeps --------------------------------------------------------- */

static void a_slow_server_loses_the_lock_at_our_own_deadline(void **s) {
    (void)s;
    hf_lock *a =
        hf_test_lock(client_of_its_own(), "x",
                     HF_LOCK_WITH(.watchdog_ms = 900, .renew_ms = 100));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    int64_t began = hf_test_now_ms();
    hf_test_server_tell(server, "DEBUG SLEEP 3");
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    assert_false(hf_lock_is_held(a));
    assert_in_range(hf_test_now_ms() - began, 0, 2500); /* it still sleeps */
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_test_throughout(hf_lock_is_held(a), 1000);
}

static void a_stopped_server_holds_nobody_up(void **s) {
    (void)s;
    hf_client *client = client_with(HF_CLIENT_WITH(.timeout_ms = 300));
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_lock *b = hf_test_lock(client, "y", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_server_pause(server);
    int64_t began = hf_test_now_ms();
    assert_true(hf_lock_try(b, ERR) < 0);
    assert_true(hf_lock_acquire(b, 500, ERR) < 0);
    assert_true(hf_lock_extend(a, 20000, ERR) < 0);
    assert_true(hf_lock_release(a, ERR) < 0);
    assert_in_range(hf_test_now_ms() - began, 0, 6000);
    hf_test_server_resume(server);
    hf_client *other = client_of_its_own();
    hf_lock *x = hf_test_lock(other, "x", NULL);
    hf_lock *y = hf_test_lock(other, "y", NULL);
    hf_expect(HF_OK, hf_lock_acquire(x, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_acquire(y, HF_TEST_LONG, ERR));
}

/* ---- it forgets -------------------------------------------------------- */

static void flush_scripts(void) {
    assert_string_equal(hf_test_server_ask(server, "SCRIPT FLUSH"), "OK");
}

static void forgotten_scripts_are_not_noticed(void **s) {
    (void)s;
    hf_lock *a =
        hf_test_lock(client_of_its_own(), "x",
                     HF_LOCK_WITH(.watchdog_ms = 1500, .renew_ms = 50));
    hf_lock *b = hf_test_lock(client_of_its_own(), "x", NULL);
    flush_scripts();
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    flush_scripts();
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    flush_scripts();
    hf_expect(HF_OK, hf_lock_extend(a, 1500, ERR));
    flush_scripts();
    hf_test_throughout(hf_lock_is_held(a), 1600);
    flush_scripts();
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    flush_scripts();
    hf_expect(HF_OK, hf_lock_force_release(a, NULL, ERR));
}

static int subscribers(const char *name) {
    const char *reply = hf_test_server_ask(
        server, "PUBSUB NUMSUB redisson_lock__channel:{%s}", name);
    const char *number = strchr(reply, '\n');
    return number != NULL ? (int)strtol(number + 1, NULL, 10) : -1;
}

/* Whoever deletes the key says nothing: the message is as good as lost. */
static void a_lost_message_costs_a_moment_only(void **s) {
    (void)s;
    hf_test_thread waiter;
    hf_lock *a = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_lock *b = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(subscribers("x") == 1, HF_TEST_LONG);
    assert_int_equal(hf_test_server_ask_number(server, "DEL x"), 1);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(waiter.took_ms, 0, 15000); /* the lease has 30 s */
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static void a_listener_that_was_cut_off_listens_again(void **s) {
    (void)s;
    hf_test_thread waiter;
    hf_lock *a = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_lock *b = hf_test_lock(client_of_its_own(), "x", NULL);
    for (int i = 0; i < 3; i++) {
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        hf_test_begin(&waiter, b, HF_FOREVER);
        hf_test_eventually(subscribers("x") == 1, HF_TEST_LONG);
        assert_true(
            hf_test_server_ask_number(server, "CLIENT KILL TYPE pubsub") > 0);
        if (i > 0)
            hf_test_eventually(subscribers("x") == 1, HF_TEST_LONG);
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        hf_expect(HF_OK, hf_test_answer(&waiter));
        assert_in_range(waiter.took_ms, 0, 15000);
        hf_expect(HF_OK, hf_test_end(&waiter));
    }
    hf_test_eventually(subscribers("x") == 0, HF_TEST_LONG);
}

/* Thirty-two channels over one connection, and none left afterwards: a peer
 * ran out of subscription slots here. */
static void channels_are_unlimited_and_given_up(void **s) {
    (void)s;
    enum { N = 32 };
    static hf_test_thread waiters[N];
    hf_client *holder = client_of_its_own(), *other = client_of_its_own();
    hf_lock *held[N];
    for (int i = 0; i < N; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        held[i] = hf_test_lock(holder, name, NULL);
        hf_expect(HF_OK, hf_lock_try(held[i], ERR));
        hf_test_begin(&waiters[i], hf_test_lock(other, name, NULL), HF_FOREVER);
    }
    for (int i = 0; i < N; i++)
        hf_expect(HF_OK, hf_lock_release(held[i], ERR));
    for (int i = 0; i < N; i++) {
        hf_expect(HF_OK, hf_test_answer(&waiters[i]));
        hf_expect(HF_OK, hf_test_end(&waiters[i]));
    }
    hf_test_eventually(
        strcmp(hf_test_server_ask(server, "PUBSUB CHANNELS *lock*"), "") == 0,
        HF_TEST_LONG);
}

/* ---- its clock jumps --------------------------------------------------- */

static hf_test_clock *its_clock;

static void with_a_clock_of_its_own(void **state) {
    its_clock = hf_test_clock_new();
    server = hf_test_clock_server(its_clock, NULL);
    hf_test_body(state);
}

/* Redis ends leases by its wall clock: forward, they are over, and the holder
 * is told; back, they last longer.  Tokens grow all the same. */
static void a_clock_that_jumps_costs_the_lock_but_not_the_order(void **state) {
    (void)state;
    enum { HOUR = 3600 * 1000 };
    hf_test_ear e = {0};
    hf_lock *a =
        hf_test_lock(client_of_its_own(), "x",
                     HF_LOCK_WITH(.watchdog_ms = 6000, .renew_ms = 100));
    hf_lock *b = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_lock_on_state(a, hf_test_hear, &e);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    hf_test_clock_set(its_clock, HOUR);
    hf_test_eventually(atomic_load(&e.lost) == 1, HF_TEST_LONG);
    assert_false(hf_lock_is_held(a));
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    assert_true(hf_lock_token(b) > token);
    token = hf_lock_token(b);
    hf_test_clock_set(its_clock, -HOUR);
    hf_expect(HF_BUSY, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_true(hf_lock_token(a) > token);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

#define TEST(name)    HF_TEST_IN(with_a_server, name, teardown)
#define DURABLE(name) HF_TEST_IN(with_a_durable_one, name, teardown)

static const struct CMUnitTest tests[] = {
    TEST(a_server_that_forgot_the_lock_makes_the_holder_lose_it),
    DURABLE(a_hold_outlives_a_server_that_remembers),
    TEST(a_waiter_gets_in_when_the_server_is_back),
    DURABLE(a_waiter_is_woken_across_a_restart),
    TEST(a_wait_ends_on_time_although_the_server_died),
    TEST(a_wait_for_ever_ends_when_the_server_stays_away),
    TEST(a_client_outlives_its_server),
    TEST(freeing_and_closing_end_although_the_server_is_gone),
    TEST(a_slow_server_loses_the_lock_at_our_own_deadline),
    TEST(a_stopped_server_holds_nobody_up),
    TEST(forgotten_scripts_are_not_noticed),
    TEST(a_lost_message_costs_a_moment_only),
    TEST(a_listener_that_was_cut_off_listens_again),
    TEST(channels_are_unlimited_and_given_up),
    HF_TEST_IN(with_a_clock_of_its_own,
               a_clock_that_jumps_costs_the_lock_but_not_the_order, teardown),
};
HF_SUITE(tests)
