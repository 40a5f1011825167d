/* SPDX-License-Identifier: MIT
 *
 * peers_bugs_test.c - mistakes that other lock clients made, made impossible.
 *
 * Those that had no test of their own stand here, by the number under which
 * they were reported; docs/peers-bugs.md tells of all of them.  The client
 * under test goes through a proxy; the test asks the server itself what is
 * really held. */
#include "support/proxy.h"
#include "support/server.h"
#include "support/stage.h"
#include "support/suite.h"

#include <stdio.h>

static hf_test_server *server;
static hf_test_proxy *proxy;
static char uri[64];

static void with_a_proxy(void **state) {
    server = hf_test_server_start(NULL);
    proxy = hf_test_proxy_start(hf_test_server_port(server));
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d",
             hf_test_proxy_port(proxy));
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

static void cut_off(bool on) {
    hf_test_proxy_stall(proxy, HF_TO_SERVER, on);
    hf_test_proxy_stall(proxy, HF_TO_CLIENT, on);
}

static bool is_there(const char *name) {
    return hf_test_server_ask_number(server, "EXISTS %s", name) == 1;
}

/* ---- renewal that does not begin again --------------------------------- */

enum { LEASE_MS = 1500 };

/* Redisson#2515, #3194, #3712: one renewal that failed was the last one of
 * its name, and whoever took the lock again lost it after a lease. */
static void redisson_2515_renewal_begins_again_after_a_loss(void **state) {
    (void)state;
    hf_lock *a =
        hf_test_lock(through_the_proxy(), "x",
                     HF_LOCK_WITH(.watchdog_ms = LEASE_MS, .renew_ms = 100));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    cut_off(true);
    hf_test_eventually(!hf_lock_is_held(a), HF_TEST_LONG);
    hf_test_eventually(!is_there("x"), HF_TEST_LONG);
    cut_off(false);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_test_throughout(hf_lock_is_held(a) && is_there("x"), 3 * LEASE_MS);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

/* ---- renewal that does not end ----------------------------------------- */

enum { THREADS = 4, ROUNDS = 500, NAMES = 4 };

static void *lock_and_unlock(void *arg) {
    hf_lock *const *locks = arg;
    for (int i = 0; i < ROUNDS; i++) {
        hf_lock *lock = locks[i % NAMES];
        if (hf_lock_acquire(lock, HF_TEST_LONG, NULL) != HF_OK ||
            hf_lock_release(lock, NULL) != HF_OK)
            return arg;
    }
    return NULL;
}

static int names_there(void) {
    return (int)hf_test_server_ask_number(server, "EXISTS n0 n1 n2 n3");
}

/* Redisson#7272: an unlock that came before the renewal had been started ended
 * nothing, and the lock was renewed for ever. */
static void redisson_7272_nothing_is_renewed_when_all_is_released(void **s) {
    (void)s;
    pthread_t threads[THREADS];
    hf_lock *locks[THREADS][NAMES];
    for (int i = 0; i < THREADS; i++) {
        hf_client *client = through_the_proxy();
        for (int j = 0; j < NAMES; j++) {
            char name[] = {'n', (char)('0' + j), '\0'};
            locks[i][j] =
                hf_test_lock(client, name,
                             HF_LOCK_WITH(.watchdog_ms = 10000, .renew_ms = 1));
        }
    }
    hf_test_proxy_delay(proxy, HF_TO_CLIENT, 1);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, lock_and_unlock, locks[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    hf_test_throughout(names_there() == 0, 300);
}

/* ---- a grant that comes too late --------------------------------------- */

/* Redisson#2714: the waiting thread was interrupted, its grant came after
 * that, and was renewed for ever on behalf of nobody. */
static void redisson_2714_a_grant_after_the_cancel_is_given_back(void **s) {
    (void)s;
    hf_test_thread waiter;
    hf_lock *a = hf_test_lock(through_the_proxy(), "x",
                              HF_LOCK_WITH(.watchdog_ms = 3600000));
    hf_expect(HF_OK, hf_lock_try(a, ERR)); /* everything is connected */
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_test_proxy_stall(proxy, HF_TO_CLIENT, true);
    hf_test_begin(&waiter, a, HF_FOREVER);
    hf_test_eventually(is_there("x"), HF_TEST_LONG);
    assert_true(hf_test_cancel(&waiter) < 0);
    hf_test_proxy_stall(proxy, HF_TO_CLIENT, false);
    hf_test_eventually(!is_there("x"), HF_TEST_LONG);
    hf_test_end(&waiter);
    assert_false(hf_lock_is_held(a));
    hf_test_throughout(!is_there("x"), 200);
}

/* Jepsen's etcd client: an acquire that timed out was granted later, and kept
 * everybody out. */
static void jepsen_a_grant_after_the_timeout_is_given_back(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(through_the_proxy(), "x",
                              HF_LOCK_WITH(.watchdog_ms = 3600000));
    hf_lock *b =
        hf_test_lock(hf_test_open(hf_test_server_uri(server), NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_test_proxy_stall(proxy, HF_TO_SERVER, true);
    assert_true(hf_lock_acquire(a, 300, ERR) < 0);
    hf_test_proxy_stall(proxy, HF_TO_SERVER, false); /* now it arrives */
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    hf_test_eventually(!is_there("x"), HF_TEST_LONG);
}

/* ---- closing ----------------------------------------------------------- */

/* TigerBeetle: closing a client with requests under way crashed it, and
 * requests without an answer were repeated for ever. */
static void tigerbeetle_closing_with_requests_under_way_ends(void **state) {
    (void)state;
    enum { N = 20 };
    hf_lock *locks[N];
    int threads = hf_test_threads();
    hf_client *client = through_the_proxy();
    for (int i = 0; i < N; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        locks[i] = hf_test_lock(
            client, name, HF_LOCK_WITH(.watchdog_ms = LEASE_MS, .renew_ms = 1));
        hf_expect(HF_OK, hf_lock_try(locks[i], ERR));
    }
    cut_off(true); /* renewals are under way, and releases will be */
    for (int i = 0; i < N; i++)
        hf_test_free(locks[i]);
    hf_test_close(client);
    hf_test_eventually(hf_test_threads() <= threads, HF_TEST_LONG);
    cut_off(false);
    hf_test_eventually(hf_test_server_ask_number(server, "EXISTS x0 x19") == 0,
                       HF_TEST_LONG);
}

#define TEST(name) HF_TEST_IN(with_a_proxy, name, teardown)

static const struct CMUnitTest tests[] = {
    TEST(redisson_2515_renewal_begins_again_after_a_loss),
    TEST(redisson_7272_nothing_is_renewed_when_all_is_released),
    TEST(redisson_2714_a_grant_after_the_cancel_is_given_back),
    TEST(jepsen_a_grant_after_the_timeout_is_given_back),
    TEST(tigerbeetle_closing_with_requests_under_way_ends),
};
HF_SUITE(tests)
