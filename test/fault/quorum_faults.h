/* SPDX-License-Identifier: MIT
 *
 * quorum_faults.h - what goes wrong with a store of several servers that agree,
 * as a list of sentences that holds for ZooKeeper and for etcd.
 *
 * Holders must know in time what they still hold; waiters must get in, or out,
 * by their deadline; and whatever happened, nothing may be left of it in the
 * end.  A file that takes the list says what its store is, and how many entries
 * of a name are in it as seen from outside, through a member that is up:
 *
 *     #define BRAND hf_test_etcd
 *     #define SORT  hf_test_etcd_sort
 *     static int entries(int port, const char *root, const char *name);
 *     static hf_test_proxy *new_proxy(int port);
 *     #include "quorum_faults.h" */
#ifndef HF_TEST_QUORUM_FAULTS_H
#define HF_TEST_QUORUM_FAULTS_H

#include "support/dir.h"
#include "support/guarded.h"
#include "support/peer.h"
#include "support/proxy.h"
#include "support/quorum.h"
#include "support/stage.h"
#include "support/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hf_test_quorum *servers; /* own ones, where some must die */
static hf_test_proxy *proxy;
static int port;                       /* of the server behind the proxy */
static char root[64];                  /* our part of the store */
static char direct[256], through[256]; /* its address; and by the proxy */

/* A session that outlasts an election, which takes three JVMs that share
 * a processor with others up to a quarter of a minute; one that ends while
 * a test waits. */
#define LASTING "40s"
#define BRIEF   "2s"
enum { BRIEF_MS = 2000 };

/* ms: whoever would wait for a session of 20 s to end comes later. */
enum { SOON = 12000 };

/* ---- life -------------------------------------------------------------- */

static void begin_with(int n) {
    servers = hf_test_quorum_start(&BRAND, &(hf_test_quorum_options){.n = n});
    snprintf(root, sizeof root, "own");
    snprintf(direct, sizeof direct, "%s/%s", hf_test_quorum_uri(servers), root);
}

static void with_three(void **state) {
    begin_with(3);
    hf_test_body(state);
}

static void with_one(void **state) {
    begin_with(1);
    hf_test_body(state);
}

static void begin_proxy(void) {
    proxy = new_proxy(port);
    snprintf(through, sizeof through, "%s://127.0.0.1:%d/%s", BRAND.scheme,
             hf_test_proxy_port(proxy), root);
}

/* The shared server, and a proxy before it. */
static void with_a_proxy(void **state) {
    hf_test_quorum_borrow(&SORT, direct, sizeof direct);
    port = atoi(strrchr(direct, ':') + 1);
    snprintf(root, sizeof root, "%.60s", strrchr(direct, '/') + 1);
    begin_proxy();
    hf_test_body(state);
}

/* Three servers, and a proxy before one of them. */
static void with_three_by_proxy(void **state) {
    begin_with(3);
    port = hf_test_quorum_port(servers, 0);
    begin_proxy();
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
    proxy = NULL;
    hf_test_quorum_stop(servers);
    servers = NULL;
    hf_test_give_back();
    return 0;
}

static hf_client *open_with(const char *uri, const char *session,
                            const hf_options *options) {
    char text[320];
    snprintf(text, sizeof text, "%s?session=%s", uri, session);
    return hf_test_open(text, options);
}

/* Requests are given up soon, so that tests do not wait for it. */
static hf_client *client_of(const char *uri, const char *session) {
    return open_with(uri, session, HF_CLIENT_WITH(.timeout_ms = 1000));
}

/* The same, and waits for as long as it takes. */
static hf_client *patient_client_of(const char *uri, const char *session) {
    return open_with(
        uri, session,
        HF_CLIENT_WITH(.timeout_ms = 1000, .patience_ms = 3600000));
}

static hf_lock *lock_in(const char *uri, const char *session) {
    return hf_test_lock(client_of(uri, session), "x", NULL);
}

/* The same, and whatever is made when it is used first is there. */
static hf_lock *warm_lock_in(const char *uri, const char *session) {
    hf_lock *lock = lock_in(uri, session);
    hf_expect(HF_OK, hf_lock_acquire(lock, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    return lock;
}

/* A member that answers. */
static int some_port(void) {
    for (int i = 0; servers != NULL && i < hf_test_quorum_size(servers); i++)
        if (hf_test_quorum_role(servers, i) != HF_TEST_AWAY)
            return hf_test_quorum_port(servers, i);
    return port;
}

static int in_line(void) {
    return entries(some_port(), root, "x");
}

static void nothing_is_left(void) {
    hf_test_eventually(in_line() == 0, HF_TEST_LONG);
}

/* Bytes wait on both ways, as they do when a network is cut in two. */
static void cut_off(bool on) {
    hf_test_proxy_stall(proxy, HF_TO_SERVER, on);
    hf_test_proxy_stall(proxy, HF_TO_CLIENT, on);
}

/* ---- the leader dies --------------------------------------------------- */

static int kill_the_leader(void) {
    int leader = hf_test_quorum_await_leader(servers);
    hf_test_quorum_kill(servers, leader);
    return leader;
}

/* Of every member in turn, so that ours is among them. */
static void a_hold_outlives_the_death_of_every_leader(void **state) {
    (void)state;
    hf_lock *a = lock_in(direct, LASTING), *b = lock_in(direct, LASTING);
    hf_test_ear e = {0};
    hf_lock_on_state(a, hf_test_hear, &e);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    uint64_t token = hf_lock_token(a);
    for (int i = 0; i < 3; i++) {
        int dead = kill_the_leader();
        hf_test_quorum_await_leader(servers);
        hf_test_eventually(hf_lock_extend(a, 30000, ERR) == HF_OK,
                           HF_TEST_LONG);
        hf_test_eventually(hf_lock_try(b, ERR) == HF_BUSY, HF_TEST_LONG);
        hf_test_quorum_restart(servers, dead);
    }
    assert_true(hf_lock_is_held(a));
    assert_true(hf_lock_token(a) == token);
    assert_int_equal(atomic_load(&e.lost), 0);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_true(hf_lock_token(b) > token);
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    nothing_is_left();
}

static void a_wait_outlives_the_death_of_the_leader(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *a = lock_in(direct, LASTING), *b = lock_in(direct, LASTING);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(in_line() == 2, HF_TEST_LONG);
    kill_the_leader();
    hf_test_quorum_await_leader(servers);
    hf_test_throughout(!atomic_load(&waiter.answered), 300);
    assert_int_equal(in_line(), 2);
    hf_test_eventually(hf_lock_release(a, ERR) == HF_OK, HF_TEST_LONG);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    nothing_is_left();
}

/* Nobody knows whether it was heard; but it is heard in the end. */
static void a_release_at_the_death_of_the_leader_is_heard(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *a = lock_in(direct, LASTING), *b = lock_in(direct, LASTING);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(in_line() == 2, HF_TEST_LONG);
    kill_the_leader();
    int64_t began = hf_test_now_ms();
    hf_lock_release(a, ERR);
    assert_in_range(hf_test_now_ms() - began, 0, SOON);
    assert_false(hf_lock_is_held(a));
    hf_test_quorum_await_leader(servers);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    nothing_is_left();
}

static void a_claim_at_the_death_of_the_leader_is_answered(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(patient_client_of(direct, LASTING), "x", NULL);
    for (int i = 0; i < 2; i++) {
        int dead = kill_the_leader();
        hf_expect(HF_OK, hf_lock_acquire(a, 3 * HF_TEST_LONG, ERR));
        assert_int_equal(in_line(), 1); /* not once more for each doubt */
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        nothing_is_left();
        hf_test_quorum_restart(servers, dead);
    }
}

/* Its silence is not the end of its connections. */
static void a_silent_leader_costs_no_more_than_the_deadline(void **state) {
    (void)state;
    hf_client *clients[3]; /* one of them talks to it, as like as not */
    int leader = hf_test_quorum_await_leader(servers);
    for (int i = 0; i < 3; i++) /* a session tells how long to bear silence */
        clients[i] = patient_client_of(direct, "10s");
    hf_test_quorum_pause(servers, leader);
    for (int i = 0; i < 3; i++) {
        hf_lock *lock = hf_test_lock(clients[i], "x", NULL);
        int64_t began = hf_test_now_ms();
        int rc = hf_lock_try(lock, ERR);
        assert_in_range(hf_test_now_ms() - began, 0, SOON);
        if (rc == HF_OK)
            hf_lock_release(lock, ERR);
        else
            assert_true(rc < 0);
    }
    hf_test_quorum_await_leader(servers);
    for (int i = 0; i < 3; i++) {
        hf_lock *lock = hf_test_lock(clients[i], "x", NULL);
        hf_expect(HF_OK, hf_lock_acquire(lock, 3 * HF_TEST_LONG, ERR));
        hf_test_eventually(hf_lock_release(lock, ERR) != HF_EDOUBT,
                           HF_TEST_LONG);
    }
    hf_test_quorum_resume(servers, leader);
    nothing_is_left();
}

/* ---- some of them are away --------------------------------------------- */

static void a_minority_may_be_down(void **state) {
    (void)state;
    int leader = hf_test_quorum_await_leader(servers);
    hf_test_quorum_kill(servers, (leader + 1) % 3);
    hf_lock *a = lock_in(direct, LASTING), *b = lock_in(direct, LASTING);
    for (int i = 0; i < 10; i++) {
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        hf_test_eventually(hf_lock_try(b, ERR) == HF_BUSY, HF_TEST_LONG);
        hf_expect(HF_OK, hf_lock_release(a, ERR));
    }
    nothing_is_left();
}

/* The holder knows before anybody else could have been let in. */
static void without_a_majority_nothing_is_granted_and_holds_end(void **state) {
    (void)state;
    hf_lock *a = lock_in(direct, BRIEF), *b = lock_in(direct, BRIEF);
    hf_lock *c = hf_test_lock(client_of(direct, BRIEF), "y", NULL);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    uint64_t token = hf_lock_token(a);
    int leader = hf_test_quorum_await_leader(servers);
    hf_test_quorum_kill(servers, leader);
    hf_test_quorum_kill(servers, (leader + 1) % 3);
    int64_t began = hf_test_now_ms();
    int rc = hf_lock_try(c, ERR);
    assert_true(rc < 0);
    assert_in_range(hf_test_now_ms() - began, 0, SOON);
    assert_true(hf_lock_acquire(c, 500, ERR) < 0);
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    assert_false(hf_lock_is_held(a));
    for (int i = 0; i < 2; i++)
        hf_test_quorum_revive(servers, (leader + i) % 3);
    hf_test_quorum_await(servers);
    hf_expect(HF_OK, hf_lock_acquire(b, 2 * HF_TEST_LONG, ERR));
    assert_true(hf_lock_token(b) > token);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_acquire(c, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    nothing_is_left();
}

static void a_wait_outlasts_the_death_of_all_servers(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_client *c = patient_client_of(direct, BRIEF);
    hf_lock *a = lock_in(direct, BRIEF), *b = hf_test_lock(c, "x", NULL);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(in_line() == 2, HF_TEST_LONG);
    for (int i = 0; i < 3; i++)
        hf_test_quorum_kill(servers, i);
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    hf_test_throughout(!atomic_load(&waiter.answered), BRIEF_MS);
    for (int i = 0; i < 3; i++)
        hf_test_quorum_revive(servers, i);
    hf_test_quorum_await(servers);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    nothing_is_left();
}

/* ---- many at once, while leaders die ----------------------------------- */

typedef struct worker {
    pthread_t thread;
    hf_client *client;
    hf_test_guarded *g;
    atomic_bool *stop;
    int granted;
} worker;

/* A claim may fail while there is no leader; a grant must be one. */
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

static void nobody_meets_anybody_while_leaders_die(void **state) {
    (void)state;
    enum { N = 6 };
    worker all[N];
    atomic_bool stop = false;
    char path[160];
    hf_test_fresh_path(path, sizeof path, "counter");
    hf_test_guarded *g = hf_test_guarded_map(path);
    assert_non_null(g);
    for (int i = 0; i < N; i++) {
        all[i] = (worker){.client = i % 2 == 0 ? client_of(direct, LASTING) :
                                                 all[i - 1].client,
                          .g = g,
                          .stop = &stop};
        pthread_create(&all[i].thread, NULL, work, &all[i]);
    }
    for (int i = 0; i < 3; i++) {
        unsigned long long before = atomic_load(&g->counter);
        int dead = kill_the_leader();
        hf_test_quorum_await_leader(servers);
        hf_test_finally(atomic_load(&g->counter) > before + 20,
                        atomic_load(&g->counter), 2 * HF_TEST_LONG);
        hf_test_quorum_restart(servers, dead);
    }
    atomic_store(&stop, true);
    unsigned long long granted = 0;
    for (int i = 0; i < N; i++) {
        pthread_join(all[i].thread, NULL);
        granted += (unsigned long long)all[i].granted;
    }
    assert_int_equal(atomic_load(&g->overlaps), 0);
    assert_int_equal(atomic_load(&g->disorders), 0);
    assert_true(atomic_load(&g->counter) == granted);
    hf_test_guarded_unmap(g);
    nothing_is_left();
}

/* ---- one server -------------------------------------------------------- */

static void a_hold_and_a_wait_outlive_a_restart(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *a = lock_in(direct, LASTING), *b = lock_in(direct, LASTING);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    uint64_t token = hf_lock_token(a);
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(in_line() == 2, HF_TEST_LONG);
    hf_test_quorum_restart(servers, 0);
    hf_test_eventually(hf_lock_extend(a, 30000, ERR) == HF_OK, HF_TEST_LONG);
    assert_true(hf_lock_token(a) == token);
    assert_false(atomic_load(&waiter.answered));
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(hf_test_now_ms() - began, 0, SOON);
    assert_true(waiter.token > token);
    hf_expect(HF_OK, hf_test_end(&waiter));
    nothing_is_left();
}

static void a_server_asleep_for_longer_than_a_session_ends_holds(void **state) {
    (void)state;
    hf_lock *a = lock_in(direct, BRIEF), *b = lock_in(direct, BRIEF);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_test_quorum_pause(servers, 0);
    int64_t began = hf_test_now_ms();
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    assert_in_range(hf_test_now_ms() - began, 0, BRIEF_MS + 4000);
    hf_test_quorum_resume(servers, 0);
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_false(hf_lock_is_held(a));
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    nothing_is_left();
}

static void an_endpoint_that_is_away_is_passed_over(void **state) {
    (void)state;
    char text[256];
    snprintf(text, sizeof text, "%s://127.0.0.1:1,127.0.0.1:%d/own?session=4s",
             BRAND.scheme, hf_test_quorum_port(servers, 0));
    for (int i = 0; i < 5; i++) {
        hf_client *c = hf_test_open(text, NULL);
        hf_lock *a = hf_test_lock(c, "x", NULL);
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        hf_expect(HF_OK, hf_lock_release(a, ERR));
    }
    nothing_is_left();
}

/* ---- the client is cut off --------------------------------------------- */

static void a_short_partition_costs_nothing(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_test_ear e = {0};
    hf_lock *a = lock_in(through, LASTING), *b = lock_in(through, LASTING);
    hf_lock_on_state(a, hf_test_hear, &e);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    uint64_t token = hf_lock_token(a);
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(in_line() == 2, HF_TEST_LONG);
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

/* CURATOR-206: the holder was not told that its session had ended. */
static void a_long_partition_is_a_loss_told_before_others_enter(void **state) {
    (void)state;
    hf_lock *a = lock_in(through, BRIEF), *b = lock_in(direct, BRIEF);
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

static void a_waiter_who_lost_its_session_still_gets_in(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_client *c = patient_client_of(through, BRIEF);
    hf_lock *a = lock_in(direct, LASTING), *b = hf_test_lock(c, "x", NULL);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(in_line() == 2, HF_TEST_LONG);
    cut_off(true);
    hf_test_eventually(in_line() == 1, HF_TEST_LONG);
    cut_off(false);
    hf_test_eventually(in_line() == 2, HF_TEST_LONG); /* at the end, anew */
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_true(waiter.token > 0);
    hf_expect(HF_OK, hf_test_end(&waiter));
    nothing_is_left();
}

/* While it is away the line before it empties: it must not enter on the word
 * of a session that is over (etcd#11456, CURATOR-604). */
static void nobody_enters_by_a_session_that_is_over(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_client *c = patient_client_of(through, BRIEF);
    hf_lock *a = lock_in(direct, LASTING), *b = hf_test_lock(c, "x", NULL);
    hf_lock *d = lock_in(direct, LASTING);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(in_line() == 2, HF_TEST_LONG);
    cut_off(true);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_acquire(d, HF_TEST_LONG, ERR));
    assert_false(atomic_load(&waiter.answered));
    cut_off(false);
    hf_test_throughout(!atomic_load(&waiter.answered), 500);
    hf_expect(HF_OK, hf_lock_release(d, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    nothing_is_left();
}

enum { CROWD = 100 };

static void a_hundred_waiters_lose_their_session_and_enter(void **state) {
    (void)state;
    static hf_test_thread waiters[CROWD];
    hf_client *c = patient_client_of(through, BRIEF);
    hf_lock *a = lock_in(direct, LASTING);
    hf_lock *b = hf_test_lock(c, "x", HF_LOCK_WITH(.kind = HF_FAIR));
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    for (int i = 0; i < CROWD; i++)
        hf_test_begin(&waiters[i], b, HF_FOREVER);
    hf_test_eventually(in_line() > 1, HF_TEST_LONG);
    cut_off(true);
    hf_test_eventually(in_line() == 1, HF_TEST_LONG);
    cut_off(false);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    for (int left = CROWD; left > 0; left--) {
        int in = -1;
        for (int64_t by = hf_test_now_ms() + HF_TEST_LONG;
             in < 0 && hf_test_now_ms() < by; hf_test_breathe())
            for (int i = 0; i < CROWD && in < 0; i++)
                if (waiters[i].lock != NULL &&
                    atomic_load(&waiters[i].answered))
                    in = i;
        assert_true(in >= 0);
        hf_expect(HF_OK, hf_test_answer(&waiters[in]));
        hf_expect(HF_OK, hf_test_end(&waiters[in]));
        waiters[in].lock = NULL;
    }
    nothing_is_left();
}

static int64_t permits_free(hf_semaphore *sem) {
    int64_t n = -1;
    hf_expect(HF_OK, hf_semaphore_count(sem, &n, NULL, ERR));
    return n;
}

/* CURATOR-595: permits of a session that was lost never came back.  Here they
 * do, once, and their holder cannot return them again. */
static void permits_of_a_session_that_is_over_are_free_again(void **state) {
    (void)state;
    hf_client *c = client_of(direct, LASTING);
    const hf_lock_options *both = HF_LOCK_WITH(.kind = HF_PERMIT, .permits = 2);
    hf_semaphore *sem = hf_test_semaphore(c, "x");
    hf_lock *a = hf_test_lock(client_of(through, BRIEF), "x", both);
    hf_lock *b = hf_test_lock(c, "x", both);
    hf_expect(HF_OK, hf_semaphore_set(sem, 3, 0, ERR));
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_test_eventually(hf_lock_try(b, ERR) == HF_BUSY, HF_TEST_LONG);
    cut_off(true);
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_false(hf_lock_is_held(a));
    cut_off(false);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    assert_int_equal(permits_free(sem), 1);
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    hf_test_eventually(permits_free(sem) == 3, HF_TEST_LONG);
}

/* The session goes on, and so would the lock: it must be let go when the
 * store is back, not when the session would have ended (CURATOR-678). */
static void a_release_while_cut_off_is_made_good_later(void **state) {
    (void)state;
    hf_lock *a = lock_in(through, "20s"), *b = lock_in(direct, LASTING);
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

/* Jepsen's client of etcd left its claim in the line. */
static void a_wait_given_up_while_cut_off_leaves_nothing(void **state) {
    (void)state;
    hf_test_thread waiter;
    enum { WAIT = 5000 }; /* and time enough to get in line */
    hf_lock *a = lock_in(direct, LASTING), *b = lock_in(through, "20s");
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_test_begin(&waiter, b, WAIT);
    hf_test_eventually(in_line() == 2, HF_TEST_LONG);
    cut_off(true);
    assert_true(hf_test_answer(&waiter) < 0);
    assert_in_range(waiter.took_ms, WAIT - 100, WAIT + SOON);
    hf_test_end(&waiter);
    cut_off(false);
    int64_t began = hf_test_now_ms();
    hf_test_eventually(in_line() == 1, HF_TEST_LONG);
    assert_in_range(hf_test_now_ms() - began, 0, SOON);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    nothing_is_left();
}

static void cut_connections_cost_a_moment(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_test_ear e = {0};
    hf_lock *a = lock_in(through, LASTING), *b = lock_in(through, LASTING);
    hf_lock_on_state(a, hf_test_hear, &e);
    for (int i = 0; i < 5; i++) {
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        hf_test_begin(&waiter, b, HF_FOREVER);
        hf_test_eventually(in_line() == 2, HF_TEST_LONG);
        hf_test_proxy_cut(proxy);
        hf_test_eventually(hf_lock_release(a, ERR) != HF_EDOUBT, HF_TEST_LONG);
        hf_expect(HF_OK, hf_test_answer(&waiter));
        hf_expect(HF_OK, hf_test_end(&waiter));
    }
    assert_int_equal(atomic_load(&e.lost), 0);
    nothing_is_left();
}

/* ---- a process that dies ----------------------------------------------- */

/* Its session ends long before the time it asked for, and who waits already
 * must not take that for its turn. */
static void who_left_it_closed_and_died_keeps_it_closed(void **state) {
    (void)state;
    char text[320];
    hf_test_thread waiter;
    hf_lock *b = lock_in(direct, LASTING);
    snprintf(text, sizeof text, "%s?session=%s", direct, BRIEF);
    hf_test_peer *peer = hf_test_peer_start(text);
    hf_test_peer_ask(peer, "lock 0 x");
    assert_non_null(strstr(hf_test_peer_ask(peer, "try 0"), "OK"));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(in_line() == 2, HF_TEST_LONG);
    int64_t began = hf_test_now_ms();
    assert_string_equal(hf_test_peer_ask(peer, "after 0 5000"), "OK");
    hf_test_peer_signal(peer, SIGKILL);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(hf_test_now_ms() - began, 4950, 5000 + SOON);
    hf_expect(HF_OK, hf_test_end(&waiter));
    hf_test_peer_stop(peer);
    nothing_is_left();
}

/* ---- answers that never come ------------------------------------------- */

/* What was asked has happened, and nobody was told. */
static void lose_answers_until(int n) {
    hf_test_eventually(in_line() == n, HF_TEST_LONG);
    hf_test_proxy_cut(proxy);
    hf_test_proxy_stall(proxy, HF_TO_CLIENT, false);
}

static void a_lost_answer_to_a_claim_makes_one_entry(void **state) {
    (void)state;
    hf_test_thread holder, waiter;
    hf_lock *a = warm_lock_in(through, LASTING);
    hf_lock *b = warm_lock_in(through, LASTING);
    hf_test_proxy_stall(proxy, HF_TO_CLIENT, true);
    hf_test_begin(&holder, a, HF_TEST_LONG);
    lose_answers_until(1);
    hf_expect(HF_OK, hf_test_answer(&holder));
    hf_test_throughout(in_line() == 1, 300);
    hf_test_proxy_stall(proxy, HF_TO_CLIENT, true);
    hf_test_begin(&waiter, b, HF_TEST_LONG);
    lose_answers_until(2);
    hf_test_throughout(in_line() == 2, 300);
    assert_false(atomic_load(&waiter.answered));
    hf_expect(HF_OK, hf_test_end(&holder));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_true(waiter.token > holder.token);
    hf_expect(HF_OK, hf_test_end(&waiter));
    nothing_is_left();
}

static void a_claim_given_up_in_doubt_leaves_no_orphan(void **state) {
    (void)state;
    hf_test_thread claimer;
    hf_lock *a = warm_lock_in(through, "20s"), *b = lock_in(direct, LASTING);
    hf_test_proxy_stall(proxy, HF_TO_CLIENT, true);
    hf_test_begin(&claimer, a, 4000);
    hf_test_eventually(in_line() == 1, HF_TEST_LONG);
    assert_true(hf_test_answer(&claimer) < 0);
    hf_test_end(&claimer);
    hf_test_proxy_stall(proxy, HF_TO_CLIENT, false);
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_in_range(hf_test_now_ms() - began, 0, SOON); /* not a session */
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    nothing_is_left();
}

static void a_lost_answer_to_a_release_is_asked_for_again(void **state) {
    (void)state;
    hf_test_thread holder, next;
    hf_lock *a = lock_in(through, LASTING), *b = lock_in(direct, LASTING);
    hf_test_begin(&holder, a, HF_TEST_LONG);
    hf_expect(HF_OK, hf_test_answer(&holder));
    hf_test_begin(&next, b, HF_TEST_LONG);
    hf_test_eventually(in_line() == 2, HF_TEST_LONG);
    hf_test_proxy_stall(proxy, HF_TO_CLIENT, true);
    sem_post(&holder.let_go);
    hf_expect(HF_OK, hf_test_answer(&next)); /* it has happened */
    hf_test_proxy_cut(proxy);
    hf_test_proxy_stall(proxy, HF_TO_CLIENT, false);
    int released = hf_test_end(&holder);
    assert_true(released == HF_OK || released == HF_EDOUBT);
    hf_expect(HF_OK, hf_test_end(&next));
    nothing_is_left();
}

static void a_holder_asleep_for_longer_than_its_session_has_lost(void **s) {
    (void)s;
    char uri[320];
    snprintf(uri, sizeof uri, "%s?session=" BRIEF, direct);
    hf_lock *b = warm_lock_in(direct, LASTING);
    hf_test_peer *peer = hf_test_peer_start(uri);
    hf_test_peer_ask(peer, "lock 0 x");
    hf_test_peer_ask(peer, "try 0");
    assert_string_equal(hf_test_peer_ask(peer, "held 0"), "OK 1");
    hf_test_peer_signal(peer, SIGSTOP);
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    hf_test_peer_signal(peer, SIGCONT);
    assert_string_equal(hf_test_peer_ask(peer, "held 0"), "OK 0");
    assert_string_equal(hf_test_peer_ask(peer, "release 0"), "LOST");
    assert_true(hf_lock_is_held(b));
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    hf_test_peer_stop(peer);
    nothing_is_left();
}

/* The name tells CTest that it takes three servers: see discover.cmake. */
#define THREE_BY(setup, name)                                                  \
    {"three." #name, setup, NULL, teardown, (void *)name},
#define THREE(name)       THREE_BY(with_three, name)
#define THREE_PROXY(name) THREE_BY(with_three_by_proxy, name)
#define ONE(name)         HF_TEST_IN(with_one, name, teardown),
#define PROXY(name)       HF_TEST_IN(with_a_proxy, name, teardown),

#define QUORUM_FAULTS                                                          \
    THREE(a_hold_outlives_the_death_of_every_leader)                           \
    THREE(a_wait_outlives_the_death_of_the_leader)                             \
    THREE(a_release_at_the_death_of_the_leader_is_heard)                       \
    THREE(a_claim_at_the_death_of_the_leader_is_answered)                      \
    THREE(a_silent_leader_costs_no_more_than_the_deadline)                     \
    THREE(a_minority_may_be_down)                                              \
    THREE(without_a_majority_nothing_is_granted_and_holds_end)                 \
    THREE(a_wait_outlasts_the_death_of_all_servers)                            \
    THREE(nobody_meets_anybody_while_leaders_die)                              \
    THREE(a_holder_asleep_for_longer_than_its_session_has_lost)                \
    THREE_PROXY(a_short_partition_costs_nothing)                               \
    THREE_PROXY(a_long_partition_is_a_loss_told_before_others_enter)           \
    THREE_PROXY(a_hundred_waiters_lose_their_session_and_enter)                \
    THREE_PROXY(a_lost_answer_to_a_claim_makes_one_entry)                      \
    ONE(a_hold_and_a_wait_outlive_a_restart)                                   \
    ONE(a_server_asleep_for_longer_than_a_session_ends_holds)                  \
    ONE(an_endpoint_that_is_away_is_passed_over)                               \
    PROXY(a_short_partition_costs_nothing)                                     \
    PROXY(a_long_partition_is_a_loss_told_before_others_enter)                 \
    PROXY(a_waiter_who_lost_its_session_still_gets_in)                         \
    PROXY(nobody_enters_by_a_session_that_is_over)                             \
    PROXY(a_hundred_waiters_lose_their_session_and_enter)                      \
    PROXY(permits_of_a_session_that_is_over_are_free_again)                    \
    PROXY(a_release_while_cut_off_is_made_good_later)                          \
    PROXY(a_wait_given_up_while_cut_off_leaves_nothing)                        \
    PROXY(cut_connections_cost_a_moment)                                       \
    PROXY(who_left_it_closed_and_died_keeps_it_closed)                         \
    PROXY(a_lost_answer_to_a_claim_makes_one_entry)                            \
    PROXY(a_claim_given_up_in_doubt_leaves_no_orphan)                          \
    PROXY(a_lost_answer_to_a_release_is_asked_for_again)

#endif
