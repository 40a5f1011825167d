/* SPDX-License-Identifier: MIT
 *
 * replication_test.c - locks that replicas must confirm, and the delay after
 * which a new master grants.
 *
 * A master with two replicas.  SIGSTOP makes a replica silent without its
 * master noticing: that is what must be noticed by whoever asks for it. */
#include "support/sentinel.h"
#include "support/sentinel_stub.h"
#include "support/stage.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hf_test_ensemble *ensemble;
static hf_test_server *lone;
static hf_test_stub *stub;

static void with_replicas(void **state) {
    ensemble =
        hf_test_ensemble_start(&(hf_test_ensemble_options){.unwatched = true});
    hf_test_body(state);
}

static void with_nothing(void **state) {
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
    hf_test_stub_stop(stub);
    hf_test_ensemble_stop(ensemble);
    hf_test_server_stop(lone);
    stub = NULL;
    ensemble = NULL;
    lone = NULL;
    return 0;
}

static hf_test_server *server(int i) {
    return hf_test_ensemble_server(ensemble, i);
}

/* A client of server i that waits for replicas a third of a second. */
static hf_client *client_with(int i, const char *more,
                              const hf_options *options) {
    char uri[160];
    snprintf(uri, sizeof uri, "%s?wait_timeout=300ms%s",
             hf_test_server_uri(server(i)), more);
    return hf_test_open(uri, options);
}

static hf_client *client_of(int i) {
    return client_with(i, "", NULL);
}

static bool has(int i, const char *key) {
    return hf_test_server_ask_number(server(i), "EXISTS %s", key) == 1;
}

static void assert_says(const char *part) {
    if (strstr(hf_test_error.text, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, hf_test_error.text);
}

typedef struct ear {
    atomic_int held, doubt, lost, why;
} ear;

static void hear(void *arg, hf_lock *lock, hf_state state, int why) {
    ear *e = arg;
    (void)lock;
    if (state == HF_STATE_DOUBT)
        atomic_store(&e->why, why);
    atomic_fetch_add(state == HF_STATE_HELD  ? &e->held :
                     state == HF_STATE_DOUBT ? &e->doubt :
                                               &e->lost,
                     1);
}

/* Every kind that has a lease. */
static const hf_kind leased[] = {HF_LOCK, HF_SIMPLE, HF_FAIR,  HF_SPIN,
                                 HF_READ, HF_WRITE,  HF_PERMIT};

enum { LEASED = sizeof leased / sizeof leased[0] };

/* A lock of the kind, under a name of its own. */
static hf_lock *lock_of(hf_client *client, hf_kind kind, int replicas) {
    char name[16];
    snprintf(name, sizeof name, "k%d", (int)kind);
    if (kind == HF_PERMIT)
        hf_semaphore_set(hf_test_semaphore(client, name), 1, 0, NULL);
    return hf_test_lock(client, name,
                        HF_LOCK_WITH(.kind = kind, .replicas = replicas));
}

static bool is_held(hf_client *client, hf_kind kind) {
    char name[16];
    snprintf(name, sizeof name, "k%d", (int)kind);
    return hf_test_holders(client, name) != 0;
}

/* ---- grants ------------------------------------------------------------ */

static void a_grant_is_there_when_it_is_told(void **s) {
    (void)s;
    static const int policies[] = {2, HF_ALL};
    hf_client *client = client_of(0);
    for (int i = 0; i < 20; i++) {
        hf_lock *a = hf_test_lock(client, "x",
                                  HF_LOCK_WITH(.replicas = policies[i % 2]));
        hf_expect(HF_OK, hf_lock_try(a, ERR));
        assert_true(has(1, "x") && has(2, "x")); /* at once */
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        hf_test_free(a);
        hf_test_eventually(!has(1, "x") && !has(2, "x"), HF_TEST_LONG);
    }
}

static void one_replica_is_enough_for_one_and_for_a_majority(void **s) {
    (void)s;
    static const int policies[] = {1, HF_MAJORITY};
    hf_client *client = client_of(0);
    hf_test_server_pause(server(2));
    for (int i = 0; i < 2; i++) {
        hf_lock *a =
            hf_test_lock(client, "x", HF_LOCK_WITH(.replicas = policies[i]));
        hf_expect(HF_OK, hf_lock_try(a, ERR));
        assert_true(has(1, "x"));
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        hf_test_free(a);
        hf_test_eventually(!has(1, "x"), HF_TEST_LONG);
    }
    hf_test_server_resume(server(2));
}

static void more_than_there_are_never_confirm(void **s) {
    (void)s;
    hf_lock *a = hf_test_lock(client_of(0), "x", HF_LOCK_WITH(.replicas = 3));
    hf_expect(HF_EREPLICAS, hf_lock_try(a, ERR));
    assert_says("too few replicas confirmed it in time");
    assert_false(has(0, "x"));
}

/* Redisson#3994: what WAIT answered was not looked at. */
static void a_silent_replica_refuses_every_kind_and_leaves_nothing(void **s) {
    (void)s;
    hf_client *client = client_of(0);
    hf_lock *locks[LEASED];
    for (int i = 0; i < LEASED; i++)
        locks[i] = lock_of(client, leased[i], HF_ALL);
    hf_test_ensemble_sync(ensemble, 0);
    hf_test_server_pause(server(2));
    for (int i = 0; i < LEASED; i++) {
        hf_expect(HF_EREPLICAS, hf_lock_try(locks[i], ERR));
        assert_says("it was given back");
        assert_int_equal(hf_lock_holds(locks[i]), 0);
        assert_false(is_held(client, leased[i]));
    }
    hf_test_server_resume(server(2));
    for (int i = 0; i < LEASED; i++) {
        hf_expect(HF_OK, hf_lock_acquire(locks[i], HF_TEST_LONG, ERR));
        assert_int_equal(hf_lock_holds(locks[i]), 1);
        hf_expect(HF_OK, hf_lock_release(locks[i], ERR));
        assert_false(is_held(client, leased[i]));
    }
}

/* Redisson#4706, #5256: a refusal for want of replicas left the lock counted
 * up, so that one release was not enough. */
static void who_holds_enters_again_without_asking_the_replicas(void **s) {
    (void)s;
    hf_client *client = client_of(0);
    hf_lock *a = hf_test_lock(client, "x", HF_LOCK_WITH(.replicas = HF_ALL));
    hf_lock *b = hf_test_lock(client, "y", HF_LOCK_WITH(.replicas = HF_ALL));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_server_pause(server(1));
    hf_expect(HF_EREPLICAS, hf_lock_try(b, ERR));
    hf_expect(HF_EREPLICAS, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_int_equal(hf_lock_holds(a), 2);
    assert_int_equal(hf_lock_holds(b), 0);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    assert_true(has(0, "x"));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    assert_false(has(0, "x"));
    hf_test_server_resume(server(1));
}

static void a_waiter_gets_in_when_the_replica_is_back(void **s) {
    (void)s;
    hf_test_thread waiter;
    hf_lock *a =
        hf_test_lock(client_of(0), "x", HF_LOCK_WITH(.replicas = HF_ALL));
    hf_test_server_pause(server(1));
    hf_test_begin(&waiter, a, HF_FOREVER);
    hf_test_throughout(!atomic_load(&waiter.answered), 700);
    hf_test_server_resume(server(1));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_true(has(1, "x") && has(2, "x"));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static void a_wait_that_no_replica_confirms_ends_on_time(void **s) {
    (void)s;
    hf_lock *a =
        hf_test_lock(client_of(0), "x", HF_LOCK_WITH(.replicas = HF_ALL));
    hf_test_server_pause(server(1));
    int rc = hf_lock_acquire(a, 800, ERR);
    if (rc >= 0)
        fail_msg("%s: %s", hf_error_name(rc),
                 hf_test_server_ask(server(0), "INFO replication"));
    hf_test_eventually(!has(0, "x"), HF_TEST_LONG);
    hf_test_server_resume(server(1));
}

static void all_of_them_are_also_those_that_are_away(void **s) {
    (void)s;
    hf_lock *a =
        hf_test_lock(client_of(0), "x", HF_LOCK_WITH(.replicas = HF_ALL));
    hf_test_server_kill(server(2));
    hf_test_eventually(strstr(hf_test_server_ask(server(0), "INFO replication"),
                              "connected_slaves:1") != NULL,
                       HF_TEST_LONG);
    hf_expect(HF_EREPLICAS, hf_lock_try(a, ERR));
    hf_test_server_restart(server(2));
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
}

/* For a client that came when one was away. */
static void the_address_may_say_how_many_there_are(void **s) {
    (void)s;
    hf_test_server_kill(server(2));
    hf_test_eventually(strstr(hf_test_server_ask(server(0), "INFO replication"),
                              "connected_slaves:1") != NULL,
                       HF_TEST_LONG);
    hf_lock *a = hf_test_lock(client_with(0, "&replicas=2", NULL), "x",
                              HF_LOCK_WITH(.replicas = HF_ALL));
    hf_lock *b =
        hf_test_lock(client_of(0), "y", HF_LOCK_WITH(.replicas = HF_ALL));
    hf_expect(HF_EREPLICAS, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
}

/* One of a crowd, each with a lock of its own. */
typedef struct member {
    pthread_t thread;
    hf_lock *lock;
    atomic_int granted;
} member;

enum { CROWD = 64, ROUNDS = 20 };

static void *come_and_go(void *arg) {
    member *m = arg;
    for (int i = 0; i < ROUNDS; i++)
        if (hf_lock_acquire(m->lock, HF_TEST_LONG, NULL) == HF_OK &&
            hf_lock_release(m->lock, NULL) == HF_OK)
            atomic_fetch_add(&m->granted, 1);
    return NULL;
}

static void a_crowd_shares_its_waiting_for_replicas(void **s) {
    (void)s;
    static member crowd[CROWD];
    hf_client *client = client_with(0, "&hf_timeout=10s", NULL);
    char name[16];
    for (int i = 0; i < CROWD; i++) {
        snprintf(name, sizeof name, "t%d", i);
        crowd[i].lock = hf_test_lock(client, name, HF_LOCK_WITH(.replicas = 1));
    }
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(
            pthread_create(&crowd[i].thread, NULL, come_and_go, &crowd[i]), 0);
    for (int i = 0; i < CROWD; i++)
        pthread_join(crowd[i].thread, NULL);
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(atomic_load(&crowd[i].granted), ROUNDS);
    const char *calls = strstr(
        hf_test_server_ask(server(0), "INFO commandstats"), "cmdstat_wait:");
    assert_non_null(calls);
    assert_in_range(atol(calls + strlen("cmdstat_wait:calls=")), 1,
                    CROWD * ROUNDS - 1);
    assert_int_equal(hf_test_holders(client, NULL), 0);
}

/* ---- renewals ---------------------------------------------------------- */

static void a_renewal_that_is_not_confirmed_ends_in_loss(void **s) {
    (void)s;
    ear e = {0};
    hf_lock *a = hf_test_lock(
        client_of(0), "x",
        HF_LOCK_WITH(.replicas = HF_ALL, .watchdog_ms = 3000, .renew_ms = 200));
    hf_lock_on_state(a, hear, &e);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_throughout(hf_lock_is_held(a), 500);
    hf_test_server_pause(server(1));
    hf_test_eventually(atomic_load(&e.doubt) == 1, HF_TEST_LONG);
    assert_int_equal(atomic_load(&e.why), HF_EREPLICAS);
    assert_true(hf_lock_is_held(a)); /* until the deadline */
    hf_test_eventually(atomic_load(&e.lost) == 1, HF_TEST_LONG);
    assert_false(hf_lock_is_held(a));
    assert_true(hf_test_is_told(a));
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_test_server_resume(server(1));
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
}

static void a_renewal_that_is_confirmed_again_keeps_the_lock(void **s) {
    (void)s;
    ear e = {0};
    hf_lock *a =
        hf_test_lock(client_of(0), "x",
                     HF_LOCK_WITH(.replicas = HF_ALL, .watchdog_ms = 15000,
                                  .renew_ms = 200));
    hf_lock_on_state(a, hear, &e);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_server_pause(server(1));
    hf_test_eventually(atomic_load(&e.doubt) == 1, HF_TEST_LONG);
    hf_test_server_resume(server(1));
    hf_test_eventually(atomic_load(&e.held) == 1, HF_TEST_LONG);
    assert_true(hf_lock_is_held(a));
    assert_int_equal(atomic_load(&e.lost), 0);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

static void an_extension_is_confirmed_too(void **s) {
    (void)s;
    hf_lock *a = hf_test_lock(
        client_of(0), "x", HF_LOCK_WITH(.replicas = HF_ALL, .lease_ms = 20000));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_extend(a, 20000, ERR));
    hf_test_server_pause(server(1));
    hf_expect(HF_EREPLICAS, hf_lock_extend(a, 20000, ERR));
    assert_true(hf_lock_is_held(a));
    hf_test_server_resume(server(1));
}

/* ---- servers that cannot, or may not any more -------------------------- */

typedef struct tale {
    atomic_int weaker;
    atomic_int code;
} tale;

static void tell(void *arg, const hf_event *event) {
    tale *t = arg;
    if (event->kind != HF_EVENT_WEAKER)
        return;
    atomic_fetch_add(&t->weaker, 1);
    atomic_store(&t->code, event->code);
}

static void a_server_without_wait_is_told_of_once(void **s) {
    (void)s;
    static const char *const args[] = {"--rename-command", "WAIT", "", NULL};
    tale t = {0};
    lone = hf_test_server_start(&(hf_test_server_options){.args = args});
    hf_client *client =
        hf_test_open(hf_test_server_uri(lone),
                     HF_CLIENT_WITH(.on_event = tell, .event_arg = &t));
    hf_lock *a = hf_test_lock(client, "x", HF_LOCK_WITH(.replicas = 1));
    hf_lock *b = hf_test_lock(
        client, "y",
        HF_LOCK_WITH(.replicas = 1, .watchdog_ms = 600, .renew_ms = 50));
    for (int i = 0; i < 3; i++) {
        hf_expect(HF_OK, hf_lock_try(a, ERR));
        hf_expect(HF_OK, hf_lock_release(a, ERR));
    }
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    hf_test_throughout(hf_lock_is_held(b), 900);
    assert_int_equal(atomic_load(&t.weaker), 1);
    assert_int_equal(atomic_load(&t.code), HF_EREPLICAS);
}

/* The answer to WAIT is UNBLOCKED then, and that is no confirmation. */
static void a_master_that_is_demoted_while_it_waits_grants_nothing(void **s) {
    (void)s;
    hf_test_thread waiter;
    char uri[160];
    snprintf(uri, sizeof uri, "%s?wait_timeout=20s&hf_timeout=60s",
             hf_test_server_uri(server(0)));
    hf_lock *a = hf_test_lock(hf_test_open(uri, NULL), "x",
                              HF_LOCK_WITH(.replicas = HF_ALL));
    hf_test_server_pause(server(1));
    hf_test_server_pause(server(2));
    hf_test_begin(&waiter, a, 0);
    hf_test_eventually(strstr(hf_test_server_ask(server(0), "INFO clients"),
                              "blocked_clients:1") != NULL,
                       HF_TEST_LONG);
    hf_test_server_ask(server(0), "REPLICAOF 127.0.0.1 1");
    assert_true(hf_test_answer(&waiter) < 0);
    assert_int_equal(hf_lock_holds(a), 0);
    hf_expect(HF_OK, hf_test_end(&waiter));
    hf_test_server_resume(server(1));
    hf_test_server_resume(server(2));
}

/* ---- the delay of a new master ----------------------------------------- */

enum { DELAY_MS = 1500 };

static const char delay[] = "&lock_delay=1500ms";

static void promote(int i) {
    hf_test_ensemble_sync(ensemble, 0);
    assert_string_equal(hf_test_server_ask(server(i), "REPLICAOF NO ONE"),
                        "OK");
}

static void a_first_master_grants_at_once(void **s) {
    (void)s;
    hf_client *client = client_with(0, delay, NULL);
    for (int i = 0; i < LEASED; i++) {
        hf_lock *a = lock_of(client, leased[i], 0);
        hf_expect(HF_OK, hf_lock_try(a, ERR));
        hf_expect(HF_OK, hf_lock_release(a, ERR));
    }
}

static void a_new_master_grants_no_kind_for_a_while(void **s) {
    (void)s;
    hf_lock *locks[LEASED];
    hf_client *before = client_with(0, delay, NULL);
    lock_of(before, HF_PERMIT, 0); /* sets the number */
    hf_test_ensemble_sync(ensemble, 0);
    promote(1);
    int64_t began = hf_test_now_ms();
    hf_client *client = client_with(1, delay, NULL);
    for (int i = 0; i < LEASED; i++) {
        locks[i] = lock_of(client, leased[i], 0);
        hf_expect(HF_BUSY, hf_lock_try(locks[i], ERR));
        assert_false(is_held(client, leased[i]));
    }
    for (int i = 0; i < LEASED; i++)
        hf_expect(HF_OK, hf_lock_acquire(locks[i], HF_TEST_LONG, ERR));
    assert_true(hf_test_now_ms() - began >= DELAY_MS);
    for (int i = 0; i < LEASED; i++)
        hf_expect(HF_OK, hf_lock_release(locks[i], ERR));
}

/* Also where the old one had an era, and where nobody has asked yet. */
static void the_delay_begins_with_the_first_who_asks(void **s) {
    (void)s;
    hf_client *client = client_with(0, delay, NULL);
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    promote(1);
    hf_lock *b = hf_test_lock(client_with(1, delay, NULL), "x", NULL);
    int64_t began = hf_test_now_ms();
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_true(hf_test_now_ms() - began >= DELAY_MS);
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR)); /* once only */
}

/* It cannot know what it forgot: the last second of its file may be gone. */
static void a_master_that_restarts_with_its_data_waits_too(void **s) {
    (void)s;
    char uri[160];
    lone = hf_test_server_start(&(hf_test_server_options){.durable = true});
    snprintf(uri, sizeof uri, "%s?lock_delay=1500ms", hf_test_server_uri(lone));
    hf_client *client = hf_test_open(uri, NULL);
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_lock *b = hf_test_lock(client, "y", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_server_restart(lone);
    int64_t began = hf_test_now_ms();
    hf_test_eventually(hf_lock_try(b, ERR) == HF_BUSY, DELAY_MS);
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_true(hf_test_now_ms() - began >= DELAY_MS);
    assert_true(hf_lock_is_held(a));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

/* A client that follows from the first server to the second. */
static hf_client *follower(const hf_options *options) {
    char uri[160];
    stub = hf_test_stub_start();
    hf_test_stub_names(stub, hf_test_server_port(server(0)), 1, 2);
    snprintf(uri, sizeof uri,
             "redis+sentinel://127.0.0.1:%d/mymaster?lock_delay=1500ms",
             hf_test_stub_port(stub));
    return hf_test_open(uri, options);
}

/* How many clients a server has, besides whoever asks it. */
static int guests(int i) {
    const char *at = hf_test_server_ask(server(i), "CLIENT LIST TYPE normal");
    int n = -1;
    for (; (at = strstr(at, "laddr=")) != NULL; at++)
        n++;
    return n;
}

/* Returns when everybody has left the first server. */
static void fail_over(void) {
    promote(1);
    hf_test_stub_names(stub, hf_test_server_port(server(1)), 2, 2);
    hf_test_stub_announces(stub);
    hf_test_eventually(guests(0) == 0, HF_TEST_LONG);
}

static void who_holds_goes_on_through_the_delay(void **s) {
    (void)s;
    ear e = {0};
    hf_client *client = follower(NULL);
    hf_lock *a = hf_test_lock(
        client, "x", HF_LOCK_WITH(.watchdog_ms = 15000, .renew_ms = 100));
    hf_lock *b = hf_test_lock(client, "y", NULL);
    hf_lock_on_state(a, hear, &e);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_ensemble_sync(ensemble, 0);
    fail_over();
    hf_test_eventually(hf_lock_try(b, ERR) == HF_BUSY, HF_TEST_LONG);
    hf_test_server_ask(server(1), "PEXPIRE x 9000");
    hf_test_eventually(hf_test_server_ask_number(server(1), "PTTL x") > 10000,
                       HF_TEST_LONG); /* renewed, though nothing is granted */
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_true(has(1, "y"));
    assert_true(hf_lock_is_held(a));
    assert_int_equal(atomic_load(&e.lost), 0);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

/* Elsewhere the release itself would hand it on. */
static void a_fair_waiter_is_not_given_it_during_the_delay(void **s) {
    (void)s;
    hf_test_thread waiter;
    hf_client *client = follower(NULL);
    hf_lock *a = hf_test_lock(client, "x", HF_LOCK_WITH(.kind = HF_FAIR));
    hf_lock *b = hf_test_lock(client, "x", HF_LOCK_WITH(.kind = HF_FAIR));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(hf_test_waiters(client, "x") == 1, HF_TEST_LONG);
    hf_test_ensemble_sync(ensemble, 0);
    fail_over();
    int64_t began = hf_test_now_ms();
    hf_test_eventually(hf_test_server_ask(server(1), "GET holdfast_era")[0] !=
                           '\0',
                       HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_true(hf_test_now_ms() - began >= DELAY_MS);
    hf_expect(HF_OK, hf_test_end(&waiter));
}

#define TEST(name) HF_TEST_IN(with_replicas, name, teardown)
#define BARE(name) HF_TEST_IN(with_nothing, name, teardown)

static const struct CMUnitTest tests[] = {
    TEST(a_grant_is_there_when_it_is_told),
    TEST(one_replica_is_enough_for_one_and_for_a_majority),
    TEST(more_than_there_are_never_confirm),
    TEST(a_silent_replica_refuses_every_kind_and_leaves_nothing),
    TEST(who_holds_enters_again_without_asking_the_replicas),
    TEST(a_waiter_gets_in_when_the_replica_is_back),
    TEST(a_wait_that_no_replica_confirms_ends_on_time),
    TEST(all_of_them_are_also_those_that_are_away),
    TEST(the_address_may_say_how_many_there_are),
    TEST(a_crowd_shares_its_waiting_for_replicas),
    TEST(a_renewal_that_is_not_confirmed_ends_in_loss),
    TEST(a_renewal_that_is_confirmed_again_keeps_the_lock),
    TEST(an_extension_is_confirmed_too),
    BARE(a_server_without_wait_is_told_of_once),
    TEST(a_master_that_is_demoted_while_it_waits_grants_nothing),
    TEST(a_first_master_grants_at_once),
    TEST(a_new_master_grants_no_kind_for_a_while),
    TEST(the_delay_begins_with_the_first_who_asks),
    BARE(a_master_that_restarts_with_its_data_waits_too),
    TEST(who_holds_goes_on_through_the_delay),
    TEST(a_fair_waiter_is_not_given_it_during_the_delay),
};
HF_SUITE(tests)
