/* SPDX-License-Identifier: MIT
 *
 * postgres_fault_test.c - what goes wrong with a database: it crashes and
 * comes back, the network is cut, notes are lost, a client stops in the middle
 * of a transaction, and there are far too many of them.
 *
 * Holders must know in time what they still hold; waiters must get in, or out,
 * by their deadline; and whatever happened, nothing may be left of it in the
 * end. */
#include "support/dir.h"
#include "support/guarded.h"
#include "support/peer.h"
#include "support/postgres.h"
#include "support/proxy.h"
#include "support/stage.h"
#include "support/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hf_test_postgres *own; /* where it must die */
static hf_test_pgbouncer *pooler;
static hf_test_proxy *proxy;
static int port;
static char direct[256], through[256]; /* its address; and by the proxy */

enum { BRIEF_MS = 2000 };

/* ms: whoever would wait for a lease of 30 s to end comes later. */
enum { SOON = 12000 };

/* ---- life -------------------------------------------------------------- */

static void start_own(const hf_test_postgres_options *options) {
    own = hf_test_postgres_start(options);
    port = hf_test_postgres_port(own);
    snprintf(direct, sizeof direct, "%s", hf_test_postgres_uri(own));
}

static void with_a_server(void **state) {
    start_own(NULL);
    hf_test_body(state);
}

static void with_a_careless_server(void **state) {
    static const char *const settings[] = {"synchronous_commit=off",
                                           "wal_writer_delay=10s", NULL};
    start_own(&(hf_test_postgres_options){.settings = settings});
    hf_test_body(state);
}

static void with_a_roomy_server(void **state) {
    static const char *const settings[] = {"max_connections=700", NULL};
    start_own(&(hf_test_postgres_options){.settings = settings});
    hf_test_body(state);
}

static void with_a_pooler(void **state) {
    start_own(NULL);
    pooler = hf_test_pgbouncer_start(port, "transaction");
    snprintf(through, sizeof through, "%s", hf_test_pgbouncer_uri(pooler));
    hf_test_body(state);
}

/* The shared server, and a proxy before it. */
static void with_a_proxy(void **state) {
    hf_test_postgres_borrow(direct, sizeof direct);
    port = atoi(strrchr(direct, ':') + 1);
    proxy = hf_test_proxy_start(port);
    snprintf(through, sizeof through, "postgresql://app@127.0.0.1:%d/locks%s",
             hf_test_proxy_port(proxy), strchr(direct, '?'));
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    if (proxy != NULL) { /* what is to be released can be */
        hf_test_proxy_stall(proxy, HF_TO_SERVER, false);
        hf_test_proxy_stall(proxy, HF_TO_CLIENT, false);
    }
    hf_test_clear();
    hf_test_proxy_stop(proxy);
    hf_test_pgbouncer_stop(pooler);
    hf_test_postgres_stop(own);
    proxy = NULL;
    pooler = NULL;
    own = NULL;
    hf_test_give_back();
    return 0;
}

/* Requests are given up soon, so that tests do not wait for it. */
static hf_client *client_of(const char *uri, int lease_ms) {
    return hf_test_open(uri,
                        HF_CLIENT_WITH(.timeout_ms = 1000, .lease_ms = lease_ms,
                                       .patience_ms = 3600000));
}

static hf_lock *lock_in(const char *uri, int lease_ms) {
    return hf_test_lock(client_of(uri, lease_ms), "x", NULL);
}

static hf_client *watcher; /* looks from outside */

static int waiting(void) {
    return hf_test_waiters(watcher, "x");
}

static void nothing_is_left(void) {
    hf_test_eventually(hf_test_holders(watcher, NULL) == 0 && waiting() == 0,
                       HF_TEST_LONG);
}

static void watch(void) {
    watcher = hf_test_open(direct, NULL);
}

static void cut_off(bool on) {
    hf_test_proxy_stall(proxy, HF_TO_SERVER, on);
    hf_test_proxy_stall(proxy, HF_TO_CLIENT, on);
}

/* ---- the server crashes ------------------------------------------------ */

static void a_hold_and_a_wait_outlive_a_crash(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_test_ear e = {0};
    watch();
    hf_lock *a = lock_in(direct, 30000), *b = lock_in(direct, 30000);
    hf_lock_on_state(a, hf_test_hear, &e);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    uint64_t token = hf_lock_token(a);
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(waiting() == 1, HF_TEST_LONG);
    hf_test_postgres_restart(own);
    hf_test_eventually(hf_lock_extend(a, 30000, ERR) == HF_OK, HF_TEST_LONG);
    assert_true(hf_lock_token(a) == token);
    assert_false(atomic_load(&waiter.answered));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_true(waiter.token > token);
    hf_expect(HF_OK, hf_test_end(&waiter));
    assert_int_equal(atomic_load(&e.lost), 0);
    nothing_is_left();
}

static void a_server_that_stays_away_ends_holds(void **state) {
    (void)state;
    hf_lock *a = lock_in(direct, BRIEF_MS);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_test_postgres_crash(own);
    int64_t began = hf_test_now_ms();
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    assert_in_range(hf_test_now_ms() - began, 0, BRIEF_MS + 4000);
    assert_false(hf_lock_is_held(a));
    hf_expect(HF_EDOWN, hf_open(&watcher, direct,
                                HF_CLIENT_WITH(.timeout_ms = 500), ERR));
}

static void a_wait_outlasts_a_server_that_is_away(void **state) {
    (void)state;
    hf_test_thread waiter;
    watch();
    hf_lock *a = lock_in(direct, BRIEF_MS), *b = lock_in(direct, BRIEF_MS);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(waiting() == 1, HF_TEST_LONG);
    hf_test_postgres_crash(own);
    hf_test_throughout(!atomic_load(&waiter.answered), BRIEF_MS);
    hf_test_postgres_restart(own);
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_false(hf_lock_is_held(a));
    hf_expect(HF_OK, hf_test_end(&waiter));
    nothing_is_left();
}

/* A release that is lost with the server is one that was not awaited: others
 * wait for the lease, and nobody is let in twice. */
static void tokens_grow_across_crashes_of_a_careless_server(void **state) {
    (void)state;
    uint64_t last = 0;
    for (int i = 0; i < 3; i++) {
        hf_lock *a = lock_in(direct, 3000);
        hf_lock *s = hf_test_lock(client_of(direct, 1000), "s",
                                  HF_LOCK_WITH(.kind = HF_WRITE));
        for (int j = 0; j < 50; j++) {
            hf_lock *l = j % 2 == 0 ? a : s;
            hf_expect(HF_OK, hf_lock_acquire(l, HF_TEST_LONG, ERR));
            if (l == a) {
                assert_true(hf_lock_token(l) > last);
                last = hf_lock_token(l);
            }
            hf_lock_release(l, ERR);
        }
        hf_test_postgres_restart(own);
        hf_lock *b = lock_in(direct, 1000);
        hf_expect(HF_OK, hf_lock_acquire(b, 2 * HF_TEST_LONG, ERR));
        assert_true(hf_lock_token(b) > last);
        last = hf_lock_token(b);
        hf_expect(HF_OK, hf_lock_release(b, ERR));
    }
}

/* The connections that lay idle are dead: it is known before they are used.  A
 * release may be forgotten by a crash, hence the names. */
static void idle_connections_die_unnoticed(void **state) {
    (void)state;
    static const char *const names[] = {"x", "y", "z"};
    hf_client *c = client_of(direct, 30000);
    hf_lock *a = hf_test_lock(c, "last", NULL);
    for (int i = 0; i < 3; i++) {
        hf_lock *b = hf_test_lock(c, names[i], NULL);
        hf_expect(HF_OK, hf_lock_try(b, ERR));
        hf_expect(HF_OK, hf_lock_release(b, ERR));
        hf_test_postgres_restart(own);
    }
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_sql(port, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                      "WHERE usename = 'app'");
    hf_test_eventually(
        hf_test_sql_number(port, "SELECT count(*) FROM pg_stat_activity WHERE "
                                 "usename = 'app'") == 0,
        HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

/* ---- many at once, while it crashes ------------------------------------ */

typedef struct worker {
    pthread_t thread;
    hf_client *client;
    hf_test_guarded *g;
    atomic_bool *stop;
    int granted;
} worker;

/* A claim may fail while there is no server; a grant must be one. */
static void *work(void *arg) {
    worker *w = arg;
    hf_lock *lock;
    if (hf_lock_new(&lock, w->client, "x", NULL, NULL) != HF_OK)
        return NULL;
    while (!atomic_load(w->stop)) {
        if (hf_lock_acquire(lock, HF_TEST_LONG, NULL) != HF_OK)
            continue;
        hf_test_guarded_visit(w->g, hf_lock_token(lock));
        w->granted++;
        while (hf_lock_release(lock, NULL) == HF_EDOUBT)
            ;
    }
    hf_lock_free(lock);
    return NULL;
}

enum { WORKERS = 6 };

static hf_test_guarded *begin_work(worker all[WORKERS], atomic_bool *stop,
                                   const char *uri) {
    char path[160];
    hf_test_fresh_path(path, sizeof path, "counter");
    hf_test_guarded *g = hf_test_guarded_map(path);
    assert_non_null(g);
    for (int i = 0; i < WORKERS; i++) {
        all[i] = (worker){.client = i % 2 == 0 ? client_of(uri, 3000) :
                                                 all[i - 1].client,
                          .g = g,
                          .stop = stop};
        pthread_create(&all[i].thread, NULL, work, &all[i]);
    }
    return g;
}

static void end_work(worker all[WORKERS], atomic_bool *stop,
                     hf_test_guarded *g) {
    unsigned long long granted = 0;
    atomic_store(stop, true);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(all[i].thread, NULL);
        granted += (unsigned long long)all[i].granted;
    }
    assert_int_equal(atomic_load(&g->overlaps), 0);
    assert_int_equal(atomic_load(&g->disorders), 0);
    assert_true(atomic_load(&g->counter) == granted);
    hf_test_guarded_unmap(g);
}

static void nobody_meets_anybody_while_it_crashes(void **state) {
    (void)state;
    worker all[WORKERS];
    atomic_bool stop = false;
    hf_test_guarded *g = begin_work(all, &stop, direct);
    for (int i = 0; i < 3; i++) {
        unsigned long long before = atomic_load(&g->counter);
        hf_test_postgres_restart(own);
        hf_test_eventually(atomic_load(&g->counter) > before + 20,
                           HF_TEST_LONG);
    }
    end_work(all, &stop, g);
}

static void nobody_meets_anybody_behind_a_pooler(void **state) {
    (void)state;
    worker all[WORKERS];
    atomic_bool stop = false;
    hf_test_guarded *g = begin_work(all, &stop, through);
    hf_test_eventually(atomic_load(&g->counter) > 40, 2 * HF_TEST_LONG);
    end_work(all, &stop, g);
}

/* ---- notes are lost ---------------------------------------------------- */

static int listeners(void) {
    return (int)hf_test_sql_number(
        port, "SELECT count(*) FROM pg_stat_activity WHERE usename = 'app' AND "
              "(query LIKE 'LISTEN%%' OR query = '')");
}

/* The release falls into the moment in which nobody listens. */
static void a_cut_listener_costs_a_moment(void **state) {
    (void)state;
    watch();
    for (int i = 0; i < 3; i++) {
        hf_test_thread waiter;
        hf_lock *a = lock_in(direct, 30000), *b = lock_in(direct, 30000);
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        hf_test_begin(&waiter, b, HF_FOREVER);
        hf_test_eventually(waiting() == 1 && listeners() > 0, HF_TEST_LONG);
        hf_test_sql(port,
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE usename = 'app' AND "
                    "(query LIKE 'LISTEN%%' OR query = '')");
        int64_t began = hf_test_now_ms();
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        hf_expect(HF_OK, hf_test_answer(&waiter));
        assert_in_range(hf_test_now_ms() - began, 0, SOON); /* no lease */
        hf_expect(HF_OK, hf_test_end(&waiter));
    }
    nothing_is_left();
}

/* ---- a client stops in the middle -------------------------------------- */

/* It is stopped anywhere, so now and then between the two halves of a
 * transaction, with the row in its hands. */
static void a_stopped_client_keeps_a_name_for_seconds_only(void **state) {
    (void)state;
    hf_lock *b = hf_test_lock(client_of(direct, 2000), "x",
                              HF_LOCK_WITH(.kind = HF_WRITE));
    hf_test_peer *peer = hf_test_peer_start(direct);
    char lock[64];
    snprintf(lock, sizeof lock, "lock 0 x kind=%d watchdog_ms=1000", HF_WRITE);
    hf_test_peer_ask(peer, "%s", lock);
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 20; j++) {
            hf_test_peer_send(peer, "acquire 0 20000");
            hf_test_peer_send(peer, "release 0");
        }
        for (int j = 0; j < 3 + 2 * i; j++)
            assert_non_null(hf_test_peer_answer(peer, HF_TEST_LONG));
        hf_test_peer_signal(peer, SIGSTOP);
        hf_expect(HF_OK, hf_lock_acquire(b, 2 * HF_TEST_LONG, ERR));
        hf_expect(HF_OK, hf_lock_release(b, ERR));
        hf_test_peer_signal(peer, SIGCONT);
        for (int j = 3 + 2 * i; j < 40; j++)
            assert_non_null(hf_test_peer_answer(peer, HF_TEST_LONG));
    }
    hf_test_peer_stop(peer);
}

/* The row in somebody's hands for good: what a client leaves behind whose host
 * lost its power. */
static void a_transaction_that_is_left_open_is_ended(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(client_of(through, 30000), "x",
                              HF_LOCK_WITH(.kind = HF_FAIR));
    hf_lock *b = hf_test_lock(client_of(direct, 30000), "x",
                              HF_LOCK_WITH(.kind = HF_FAIR));
    hf_lock *holder = lock_in(direct, 2000);
    hf_expect(HF_OK, hf_lock_acquire(holder, HF_TEST_LONG, ERR));
    for (int i = 0; i < 5; i++) {
        hf_test_thread waiter;
        hf_test_begin(&waiter, a, 300);
        hf_test_proxy_stall(proxy, HF_TO_CLIENT, true);
        hf_test_answer(&waiter);
        hf_test_end(&waiter);
        hf_test_proxy_stall(proxy, HF_TO_CLIENT, false);
    }
    hf_test_thread next;
    hf_test_begin(&next, b, HF_FOREVER);
    hf_test_proxy_drop(proxy, HF_TO_SERVER, true);
    hf_test_proxy_drop(proxy, HF_TO_CLIENT, true);
    hf_lock_release(holder, ERR);
    hf_expect(HF_OK, hf_test_answer(&next));
    hf_expect(HF_OK, hf_test_end(&next));
    hf_test_proxy_drop(proxy, HF_TO_SERVER, false);
    hf_test_proxy_drop(proxy, HF_TO_CLIENT, false);
}

/* ---- the client is cut off --------------------------------------------- */

static void a_short_partition_costs_nothing(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_test_ear e = {0};
    watch();
    hf_lock *a = lock_in(through, 30000), *b = lock_in(through, 30000);
    hf_lock_on_state(a, hf_test_hear, &e);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    uint64_t token = hf_lock_token(a);
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(waiting() == 1, HF_TEST_LONG);
    cut_off(true);
    hf_test_throughout(hf_lock_is_held(a) && !atomic_load(&waiter.answered),
                       1500);
    cut_off(false);
    hf_test_eventually(hf_lock_extend(a, 30000, ERR) == HF_OK, HF_TEST_LONG);
    assert_true(hf_lock_token(a) == token);
    assert_int_equal(atomic_load(&e.lost), 0);
    hf_test_eventually(hf_lock_release(a, ERR) == HF_OK, HF_TEST_LONG);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    nothing_is_left();
}

static void a_long_partition_is_a_loss_told_before_others_enter(void **state) {
    (void)state;
    watch();
    hf_lock *a = lock_in(through, BRIEF_MS), *b = lock_in(direct, BRIEF_MS);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    assert_false(hf_test_is_told(a)); /* the descriptor is made now */
    uint64_t token = hf_lock_token(a);
    cut_off(true);
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_false(hf_lock_is_held(a));
    assert_true(hf_test_is_told(a));
    assert_true(hf_lock_token(b) > token);
    cut_off(false);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_test_eventually(hf_lock_try(a, ERR) == HF_BUSY, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    nothing_is_left();
}

static void a_waiter_that_was_cut_off_for_long_still_gets_in(void **state) {
    (void)state;
    hf_test_thread waiter;
    watch();
    hf_lock *a = lock_in(direct, 30000), *b = lock_in(through, BRIEF_MS);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(waiting() == 1, HF_TEST_LONG);
    cut_off(true);
    hf_test_eventually(waiting() == 0, HF_TEST_LONG);
    cut_off(false);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    nothing_is_left();
}

/* The name is given to it while it cannot hear: it must be passed on. */
static void who_cannot_hear_its_turn_is_passed_over(void **state) {
    (void)state;
    hf_test_thread deaf, next;
    watch();
    hf_lock *a = lock_in(direct, 30000);
    hf_lock *b = lock_in(through, 30000), *c = lock_in(direct, 30000);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_test_begin(&deaf, b, HF_FOREVER);
    hf_test_eventually(waiting() == 1, HF_TEST_LONG);
    hf_test_begin(&next, c, HF_FOREVER);
    hf_test_eventually(waiting() == 2, HF_TEST_LONG);
    cut_off(true);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&next));
    assert_false(atomic_load(&deaf.answered));
    hf_expect(HF_OK, hf_test_end(&next));
    cut_off(false);
    hf_expect(HF_OK, hf_test_answer(&deaf));
    hf_expect(HF_OK, hf_test_end(&deaf));
    nothing_is_left();
}

static void a_release_while_cut_off_is_made_good_later(void **state) {
    (void)state;
    watch();
    hf_lock *a = lock_in(through, 30000), *b = lock_in(direct, 30000);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    cut_off(true);
    int64_t began = hf_test_now_ms();
    hf_lock_release(a, ERR);
    assert_in_range(hf_test_now_ms() - began, 0, SOON);
    assert_false(hf_lock_is_held(a));
    cut_off(false);
    began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_in_range(hf_test_now_ms() - began, 0, SOON);
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    nothing_is_left();
}

static void a_wait_given_up_while_cut_off_leaves_nothing(void **state) {
    (void)state;
    enum { WAIT = 5000 }; /* and time enough to get in line */
    hf_test_thread waiter;
    watch();
    hf_lock *a = lock_in(direct, 30000), *b = lock_in(through, 30000);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_test_begin(&waiter, b, WAIT);
    hf_test_eventually(waiting() == 1, HF_TEST_LONG);
    cut_off(true);
    assert_true(hf_test_answer(&waiter) < 0);
    assert_in_range(waiter.took_ms, WAIT - 100, WAIT + SOON);
    hf_test_end(&waiter);
    cut_off(false);
    int64_t began = hf_test_now_ms();
    hf_test_eventually(waiting() == 0, HF_TEST_LONG);
    assert_in_range(hf_test_now_ms() - began, 0, SOON);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    nothing_is_left();
}

static void cut_connections_cost_a_moment(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_test_ear e = {0};
    watch();
    hf_lock *a = lock_in(through, 30000), *b = lock_in(through, 30000);
    hf_lock_on_state(a, hf_test_hear, &e);
    for (int i = 0; i < 5; i++) {
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        hf_test_begin(&waiter, b, HF_FOREVER);
        hf_test_eventually(waiting() == 1, HF_TEST_LONG);
        hf_test_proxy_cut(proxy);
        hf_test_eventually(hf_lock_release(a, ERR) != HF_EDOUBT, HF_TEST_LONG);
        hf_expect(HF_OK, hf_test_answer(&waiter));
        hf_expect(HF_OK, hf_test_end(&waiter));
    }
    assert_int_equal(atomic_load(&e.lost), 0);
    nothing_is_left();
}

/* An answer that is lost on its way: the claim is made again, and is one. */
static void a_lost_answer_to_a_claim_makes_one_hold(void **state) {
    (void)state;
    static const hf_kind kinds[] = {HF_LOCK, HF_FAIR, HF_WRITE, HF_READ};
    watch();
    hf_client *c = client_of(through, 30000);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        hf_test_thread t;
        hf_lock *a = hf_test_lock(c, "x", HF_LOCK_WITH(.kind = kinds[i]));
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR)); /* warm */
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        hf_test_proxy_stall(proxy, HF_TO_CLIENT, true);
        hf_test_begin(&t, a, HF_TEST_LONG);
        hf_test_throughout(!atomic_load(&t.answered), 300);
        hf_test_proxy_cut(proxy);
        hf_test_proxy_stall(proxy, HF_TO_CLIENT, false);
        hf_expect(HF_OK, hf_test_answer(&t));
        assert_int_equal(hf_test_holders(watcher, "x"), 1);
        hf_expect(HF_OK, hf_test_end(&t));
        nothing_is_left();
    }
}

/* ---- far too many ------------------------------------------------------ */

/* Fewer where a sanitizer makes each of them slow. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { CROWD = 50, LIMIT = 5 };
#else
enum { CROWD = 200, LIMIT = 5 };
#endif

typedef struct taker {
    pthread_t thread;
    hf_client *client;
    atomic_int *inside, *most;
    int result;
} taker;

static void *take_one(void *arg) {
    taker *t = arg;
    hf_lock *lock = NULL;
    t->result = hf_lock_new(&lock, t->client, "sem",
                            HF_LOCK_WITH(.kind = HF_PERMIT), NULL);
    if (t->result == HF_OK)
        t->result = hf_lock_acquire(lock, 6 * HF_TEST_LONG, NULL);
    if (t->result == HF_OK) {
        int now = atomic_fetch_add(t->inside, 1) + 1, most;
        while ((most = atomic_load(t->most)) < now &&
               !atomic_compare_exchange_weak(t->most, &most, now))
            ;
        hf_test_breathe();
        atomic_fetch_sub(t->inside, 1);
        t->result = hf_lock_release(lock, NULL);
    }
    hf_lock_free(lock);
    return NULL;
}

static void two_hundred_clients_never_exceed_a_limit(void **state) {
    (void)state;
    static taker all[CROWD];
    atomic_int inside = 0, most = 0;
    watch();
    hf_expect(HF_OK, hf_semaphore_resize(hf_test_semaphore(watcher, "sem"),
                                         LIMIT, ERR));
    for (int i = 0; i < CROWD; i++) {
        all[i] = (taker){.inside = &inside, .most = &most};
        hf_expect(HF_OK, hf_open(&all[i].client, direct,
                                 HF_CLIENT_WITH(.timeout_ms = 30000,
                                                .patience_ms = 60000),
                                 ERR));
    }
    for (int i = 0; i < CROWD; i++)
        pthread_create(&all[i].thread, NULL, take_one, &all[i]);
    for (int i = 0; i < CROWD; i++) {
        pthread_join(all[i].thread, NULL);
        hf_expect(HF_OK, all[i].result);
        hf_close(all[i].client);
    }
    assert_in_range(atomic_load(&most), 1, LIMIT);
    nothing_is_left();
}

/* ---- the list ---------------------------------------------------------- */

#define SERVER(name) HF_TEST_IN(with_a_server, name, teardown)
#define PROXY(name)  HF_TEST_IN(with_a_proxy, name, teardown)

static const struct CMUnitTest tests[] = {
    SERVER(a_hold_and_a_wait_outlive_a_crash),
    SERVER(a_server_that_stays_away_ends_holds),
    SERVER(a_wait_outlasts_a_server_that_is_away),
    HF_TEST_IN(with_a_careless_server,
               tokens_grow_across_crashes_of_a_careless_server, teardown),
    SERVER(idle_connections_die_unnoticed),
    SERVER(nobody_meets_anybody_while_it_crashes),
    HF_TEST_IN(with_a_pooler, nobody_meets_anybody_behind_a_pooler, teardown),
    SERVER(a_cut_listener_costs_a_moment),
    SERVER(a_stopped_client_keeps_a_name_for_seconds_only),
    PROXY(a_transaction_that_is_left_open_is_ended),
    PROXY(a_short_partition_costs_nothing),
    PROXY(a_long_partition_is_a_loss_told_before_others_enter),
    PROXY(a_waiter_that_was_cut_off_for_long_still_gets_in),
    PROXY(who_cannot_hear_its_turn_is_passed_over),
    PROXY(a_release_while_cut_off_is_made_good_later),
    PROXY(a_wait_given_up_while_cut_off_leaves_nothing),
    PROXY(cut_connections_cost_a_moment),
    PROXY(a_lost_answer_to_a_claim_makes_one_hold),
    HF_TEST_IN(with_a_roomy_server, two_hundred_clients_never_exceed_a_limit,
               teardown),
};
HF_SUITE(tests)
