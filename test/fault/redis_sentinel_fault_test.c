/* SPDX-License-Identifier: MIT
 *
 * redis_sentinel_fault_test.c - a master dies, and real sentinels make another
 * of its replicas.
 *
 * Whoever holds must keep its lock or be told that it is lost; whoever waits
 * must get in, or out; and tokens must grow, also past a grant that the new
 * master never heard of. */
#include "support/sentinel.h"
#include "support/sentinel_stub.h"
#include "support/stage.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

static hf_test_ensemble *ensemble;
static hf_test_stub *stub;

static void with_an_ensemble(void **state) {
    ensemble = hf_test_ensemble_start(
        &(hf_test_ensemble_options){.down_after_ms = 700});
    hf_test_body(state);
}

/* One whose master can be cut off from all but those who know its own port. */
static void with_a_proxied_one(void **state) {
    ensemble = hf_test_ensemble_start(
        &(hf_test_ensemble_options){.down_after_ms = 700, .proxied = true});
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
    hf_test_stub_stop(stub);
    hf_test_ensemble_stop(ensemble);
    stub = NULL;
    ensemble = NULL;
    return 0;
}

static hf_test_server *server(int i) {
    return hf_test_ensemble_server(ensemble, i);
}

static hf_client *client_of_its_own(void) {
    return hf_test_open(hf_test_ensemble_uri(ensemble), NULL);
}

static bool has(int i, const char *key) {
    return hf_test_server_ask_number(server(i), "EXISTS %s", key) == 1;
}

/* How many clients a server has, besides whoever asks it. */
static int guests(int i) {
    const char *at = hf_test_server_ask(server(i), "CLIENT LIST TYPE normal");
    int n = -1;
    for (; (at = strstr(at, "laddr=")) != NULL; at++)
        n++;
    return n;
}

/* ---- while it is held -------------------------------------------------- */

static void a_hold_outlives_its_master(void **s) {
    (void)s;
    hf_test_ear e = {0};
    hf_lock *a =
        hf_test_lock(client_of_its_own(), "x",
                     HF_LOCK_WITH(.watchdog_ms = 15000, .renew_ms = 100));
    hf_lock_on_state(a, hf_test_hear, &e);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    hf_test_ensemble_sync(ensemble, 0);
    hf_test_server_kill(server(0));
    int now = hf_test_ensemble_await_failover(ensemble, 0);
    hf_test_server_ask(server(now), "PEXPIRE x 9000");
    hf_test_eventually(hf_test_server_ask_number(server(now), "PTTL x") > 10000,
                       HF_TEST_LONG); /* it is renewed there */
    assert_true(hf_lock_is_held(a));
    assert_true(hf_lock_token(a) == token);
    assert_int_equal(atomic_load(&e.lost), 0);
    hf_lock *b = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    assert_true(hf_lock_token(b) > token);
}

/* Its own turn to be renewed would come after five minutes. */
static void a_hold_that_the_new_master_does_not_know_is_lost(void **s) {
    (void)s;
    hf_test_ear e = {0};
    hf_lock *a =
        hf_test_lock(client_of_its_own(), "x",
                     HF_LOCK_WITH(.watchdog_ms = 900000, .renew_ms = 300000));
    hf_lock_on_state(a, hf_test_hear, &e);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_server_kill(server(0));
    for (int i = 1; i < HF_TEST_SERVERS; i++) { /* as if it never came there */
        hf_test_server_ask(server(i), "CONFIG SET replica-read-only no");
        hf_test_server_ask(server(i), "DEL x");
    }
    hf_test_eventually(atomic_load(&e.lost) == 1, HF_TEST_LONG);
    assert_false(hf_lock_is_held(a));
    assert_true(hf_test_is_told(a));
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
}

/* ---- while somebody waits ---------------------------------------------- */

static void a_waiter_gets_in_on_the_new_master(void **s) {
    (void)s;
    hf_test_thread waiter;
    hf_lock *a = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_lock *b = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_ensemble_sync(ensemble, 0);
    hf_test_server_kill(server(0));
    int now = hf_test_ensemble_await_failover(ensemble, 0);
    assert_false(atomic_load(&waiter.answered));
    hf_test_eventually(hf_lock_release(a, ERR) != HF_EDOWN, HF_TEST_LONG);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_true(waiter.token > token);
    assert_true(has(now, "x"));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

/* How many fair waiters listen at the servers that are left. */
static int listeners(void) {
    int n = 0;

    for (int i = 1; i <= 2; i++) {
        const char *at = hf_test_server_ask(
            server(i), "PUBSUB CHANNELS redisson_lock__channel*");

        while ((at = strstr(at, "redisson_lock__channel"))) {
            at++;
            n++;
        }
    }
    return n;
}

/* Who does not listen yet when the lock is released loses its place. */
static void a_fair_line_survives_its_master(void **s) {
    (void)s;
    enum { N = 3 };
    hf_test_thread waiters[N];
    hf_client *client = client_of_its_own();
    hf_lock *a = hf_test_lock(client, "x", HF_LOCK_WITH(.kind = HF_FAIR));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    for (int i = 0; i < N; i++) {
        hf_lock *w = hf_test_lock(client_of_its_own(), "x",
                                  HF_LOCK_WITH(.kind = HF_FAIR));
        hf_test_begin(&waiters[i], w, HF_FOREVER);
        hf_test_eventually(hf_test_waiters(client, "x") == i + 1, HF_TEST_LONG);
    }
    hf_test_ensemble_sync(ensemble, 0);
    hf_test_server_kill(server(0));
    hf_test_ensemble_await_failover(ensemble, 0);
    hf_test_eventually(listeners() == N, HF_TEST_LONG);
    hf_test_eventually(hf_lock_release(a, ERR) != HF_EDOWN, HF_TEST_LONG);
    for (int i = 0; i < N; i++) {
        hf_expect(HF_OK, hf_test_answer(&waiters[i]));
        for (int j = i + 1; j < N; j++)
            assert_false(atomic_load(&waiters[j].answered));
        hf_test_end(&waiters[i]);
    }
}

static void a_wait_ends_on_time_though_nobody_takes_over(void **s) {
    (void)s;
    hf_test_thread waiter;
    hf_lock *a = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_lock *b = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    for (int i = 0; i < HF_TEST_SENTINELS; i++)
        hf_test_server_kill(hf_test_ensemble_sentinel(ensemble, i));
    hf_test_begin(&waiter, b, 1500);
    hf_test_server_kill(server(0));
    assert_true(hf_test_answer(&waiter) < 0);
    assert_in_range(waiter.took_ms, 0, 6000);
    hf_expect(HF_OK, hf_test_end(&waiter));
}

/* ---- during releases, and by hand -------------------------------------- */

/* Takes and releases until it is told to stop; each token above the last. */
typedef struct worker {
    pthread_t thread;
    hf_lock *lock;
    atomic_bool stop;
    int grants, disorders, hangs, undone;
    uint64_t last;
} worker;

static void *work(void *arg) {
    worker *w = arg;
    while (!atomic_load(&w->stop)) {
        int64_t began = hf_test_now_ms();
        if (hf_lock_acquire(w->lock, 8000, NULL) == HF_OK) {
            w->grants++;
            w->disorders += hf_lock_token(w->lock) <= w->last;
            w->last = hf_lock_token(w->lock);
            w->undone += hf_lock_release(w->lock, NULL) != HF_OK;
        }
        w->hangs += hf_test_now_ms() - began > 15000;
    }
    return NULL;
}

static void work_through(void (*happens)(void)) {
    enum { N = 4 };
    static worker workers[N];
    char name[16];
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "x%d", i);
        workers[i] =
            (worker){.lock = hf_test_lock(client_of_its_own(), name,
                                          HF_LOCK_WITH(.lease_ms = 2000))};
        assert_int_equal(
            pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    happens();
    int now = hf_test_ensemble_await_failover(ensemble, 0);
    int at[N];
    for (int i = 0; i < N; i++) { /* all of them have arrived there */
        snprintf(name, sizeof name, "x%d", i);
        at[i] = 0;
        hf_test_eventually(
            (at[i] += hf_test_server_ask_number(
                 server(now), "EXISTS redisson_lock_token:{%s}", name)) > 20,
            HF_TEST_LONG);
    }
    for (int i = 0; i < N; i++)
        atomic_store(&workers[i].stop, true);
    for (int i = 0; i < N; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < N; i++) {
        assert_true(workers[i].grants > 0);
        assert_int_equal(workers[i].disorders, 0);
        assert_int_equal(workers[i].hangs, 0);
        hf_expect(HF_OK, hf_lock_acquire(workers[i].lock, HF_TEST_LONG, ERR));
        assert_true(hf_lock_token(workers[i].lock) > workers[i].last);
        hf_expect(HF_OK, hf_lock_release(workers[i].lock, ERR));
    }
}

static void kill_the_master(void) {
    hf_test_server_kill(server(0));
}

static void a_master_may_die_during_any_request(void **s) {
    (void)s;
    work_through(kill_the_master);
}

static void ask_for_a_failover(void) {
    hf_test_ensemble_fail_over(ensemble);
}

static void a_failover_by_hand_moves_everybody(void **s) {
    (void)s;
    work_through(ask_for_a_failover);
    hf_test_eventually(guests(0) <= HF_TEST_SENTINELS * 2, HF_TEST_LONG);
    hf_lock *a = hf_test_lock(client_of_its_own(), "y", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_true(has(hf_test_ensemble_master(ensemble), "y"));
}

/* ---- a master that is not dead ----------------------------------------- */

/* When it wakes up it still takes itself for the master. */
static void a_master_that_was_frozen_is_not_gone_back_to(void **s) {
    (void)s;
    hf_client *client = client_of_its_own();
    hf_lock *a = hf_test_lock(
        client, "x", HF_LOCK_WITH(.watchdog_ms = 15000, .renew_ms = 100));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_ensemble_sync(ensemble, 0);
    hf_test_server_pause(server(0));
    int now = hf_test_ensemble_await_failover(ensemble, 0);
    hf_lock *b = hf_test_lock(client, "y", NULL);
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    hf_test_server_resume(server(0));
    assert_true(has(now, "y"));
    for (int i = 0; i < 20; i++) {
        hf_expect(HF_OK, hf_lock_release(b, ERR));
        hf_expect(HF_OK, hf_lock_try(b, ERR));
        assert_true(has(now, "y"));
    }
    assert_true(hf_lock_is_held(a));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    assert_false(has(now, "x"));
}

static void all_replicas_are_also_the_old_master(void **s) {
    (void)s;
    hf_lock *a = hf_test_lock(client_of_its_own(), "x",
                              HF_LOCK_WITH(.replicas = HF_ALL));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_test_server_kill(server(0));
    hf_test_ensemble_await_failover(ensemble, 0);
    hf_test_eventually(hf_lock_try(a, ERR) == HF_EREPLICAS, HF_TEST_LONG);
    hf_lock *b =
        hf_test_lock(client_of_its_own(), "y", HF_LOCK_WITH(.replicas = 1));
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    hf_test_server_restart(server(0)); /* and is made a replica */
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
}

/* ---- a grant that was lost --------------------------------------------- */

/* A client that knows the first master by its own port. */
static hf_client *client_beside_the_master(void) {
    char uri[128];
    stub = hf_test_stub_start();
    hf_test_stub_names(stub, hf_test_server_port(server(0)), 0, 2);
    snprintf(uri, sizeof uri, "redis+sentinel://127.0.0.1:%d/mymaster",
             hf_test_stub_port(stub));
    return hf_test_open(uri, NULL);
}

static void tokens_grow_past_a_grant_that_was_lost(void **s) {
    (void)s;
    hf_test_ear e = {0};
    hf_test_proxy *proxy = hf_test_ensemble_proxy(ensemble);
    hf_lock *a =
        hf_test_lock(client_beside_the_master(), "x",
                     HF_LOCK_WITH(.watchdog_ms = 15000, .renew_ms = 100));
    hf_lock_on_state(a, hf_test_hear, &e);
    hf_test_ensemble_sync(ensemble, 0);
    hf_test_proxy_drop(proxy, HF_TO_CLIENT, true);
    uint64_t token = 0;
    for (int i = 0; i < 10; i++) { /* nothing of this reaches a replica */
        hf_expect(HF_OK, hf_lock_try(a, ERR));
        assert_true(hf_lock_token(a) > token);
        token = hf_lock_token(a);
        if (i < 9)
            hf_expect(HF_OK, hf_lock_release(a, ERR));
    }
    hf_test_server_kill(server(0));
    int now = hf_test_ensemble_await_failover(ensemble, 0);
    assert_false(has(now, "x"));
    hf_lock *b = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_true(hf_lock_token(b) > token);
    assert_true(hf_lock_is_held(a)); /* two believe so: only the token tells */
    hf_test_stub_names(stub, hf_test_server_port(server(now)), 1, 2);
    hf_test_stub_announces(stub);
    hf_test_eventually(atomic_load(&e.lost) == 1, HF_TEST_LONG);
    assert_true(hf_lock_is_held(b));
}

#define TEST(name)    HF_TEST_IN(with_an_ensemble, name, teardown)
#define PROXIED(name) HF_TEST_IN(with_a_proxied_one, name, teardown)

static const struct CMUnitTest tests[] = {
    TEST(a_hold_outlives_its_master),
    TEST(a_hold_that_the_new_master_does_not_know_is_lost),
    TEST(a_waiter_gets_in_on_the_new_master),
    TEST(a_fair_line_survives_its_master),
    TEST(a_wait_ends_on_time_though_nobody_takes_over),
    TEST(a_master_may_die_during_any_request),
    TEST(a_failover_by_hand_moves_everybody),
    TEST(a_master_that_was_frozen_is_not_gone_back_to),
    TEST(all_replicas_are_also_the_old_master),
    PROXIED(tokens_grow_past_a_grant_that_was_lost),
};
HF_SUITE(tests)
