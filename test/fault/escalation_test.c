/* SPDX-License-Identifier: MIT
 *
 * escalation_test.c - a lock with a second store for bad times: the first one,
 * a real Redis, is killed, comes back empty, or cannot be reached by some, and
 * there is one holder all the same. */
#include "support/dir.h"
#include "support/guarded.h"
#include "support/mariadb.h"
#include "support/peer.h"
#include "support/postgres.h"
#include "support/process.h"
#include "support/proxy.h"
#include "support/server.h"
#include "support/stage.h"
#include "support/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* On a machine with little time for us a lease must bear some waiting. */
enum { LEASE = 12000, PERMISSION = 3600, AFTER = 500, BACK = 500 };

#define NOWHERE "redis://127.0.0.1:1"

static hf_test_server *first, *other;
static hf_test_mariadb *database;
static hf_test_proxy *proxy;
static char second[512];

/* The same sentences about every second store: HF_TEST_SECOND names another
 * than the embedded one. */
static void with_two_stores(void **state) {
    const char *sort = getenv("HF_TEST_SECOND");
    char path[160];
    if (sort && strcmp(sort, "mariadb") == 0) {
        hf_test_mariadb_borrow(second, sizeof second);
    } else if (sort && strcmp(sort, "postgres") == 0) {
        hf_test_postgres_borrow(second, sizeof second);
    } else {
        hf_test_fresh_path(path, sizeof path, "locks");
        snprintf(second, sizeof second, "sqlite:%s.db", path);
    }
    first = hf_test_server_start(NULL);
    hf_test_body(state);
}

static void with_two_servers(void **state) {
    first = hf_test_server_start(NULL);
    other = hf_test_server_start(NULL);
    snprintf(second, sizeof second, "%s", hf_test_server_uri(other));
    hf_test_body(state);
}

static void with_a_database(void **state) {
    database = hf_test_mariadb_start(NULL);
    first = hf_test_server_start(NULL);
    snprintf(second, sizeof second, "%s", hf_test_mariadb_uri(database));
    hf_test_body(state);
}

static int without(void **state) {
    (void)state;
    hf_test_clear();
    hf_test_proxy_stop(proxy);
    hf_test_server_stop(first);
    hf_test_server_stop(other);
    hf_test_mariadb_stop(database);
    first = other = NULL;
    database = NULL;
    proxy = NULL;
    hf_test_give_back();
    return 0;
}

/* ---- who takes part ---------------------------------------------------- */

static hf_client *open_with(const char *uri, const char *to,
                            const hf_escalate_options *escalate) {
    hf_client *client;
    hf_expect(HF_OK, hf_escalate_to(
                         &client, uri, to,
                         HF_CLIENT_WITH(.lease_ms = LEASE, .timeout_ms = 1500),
                         escalate, ERR));
    return hf_test_adopt(client);
}

static hf_client *open_at(const char *uri) {
    hf_escalate_options escalate = {.size = sizeof escalate,
                                    .permission_ms = PERMISSION,
                                    .after_ms = AFTER,
                                    .back_ms = BACK};
    return open_with(uri, second, &escalate);
}

static hf_client *open_both(void) {
    return open_at(hf_test_server_uri(first));
}

static hf_lock *job_of(hf_client *client) {
    return hf_test_lock(client, "job", NULL);
}

/* A name in one store alone, as that store has it. */
static bool is_taken_in(const char *uri) {
    hf_client *client = hf_test_open(uri, NULL);
    bool taken = hf_test_holders(client, "job") > 0;
    hf_test_close(client);
    return taken;
}

static bool lives_in_first(hf_lock *lock) {
    char port[16];
    snprintf(port, sizeof port, ":%d", hf_test_server_port(first));
    return strstr(hf_lock_store(lock), port) != NULL;
}

/* How often the name has changed stores. */
static int epochs_over(void) {
    hf_client *client = hf_test_open(second, NULL);
    int n = -1;
    int64_t closed;
    do {
        char name[32];
        snprintf(name, sizeof name, "job~closed.%d", ++n);
        hf_semaphore *sem;
        hf_expect(HF_OK, hf_semaphore_new(&sem, client, name, ERR));
        hf_expect(HF_OK, hf_semaphore_count(sem, &closed, NULL, ERR));
        hf_semaphore_free(sem);
    } while (closed);
    hf_test_close(client);
    return n;
}

static void await_over(hf_lock *lock) {
    hf_test_eventually(!lives_in_first(lock) && is_taken_in(second),
                       HF_TEST_LONG);
}

/* ---- as long as all is well -------------------------------------------- */

static void it_lives_in_the_first_store(void **state) {
    (void)state;
    hf_lock *mine = job_of(open_both()), *theirs = job_of(open_both());
    hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
    assert_true(lives_in_first(mine));
    assert_int_equal(hf_test_server_ask_number(first, "EXISTS job"), 1);
    assert_false(is_taken_in(second));
    hf_test_eventually(hf_lock_try(theirs, ERR) == HF_BUSY, HF_TEST_LONG);
    uint64_t token = hf_lock_token(mine);
    hf_test_let_go(mine);
    hf_expect(HF_OK, hf_lock_acquire(theirs, HF_TEST_LONG, ERR));
    assert_true(hf_lock_token(theirs) > token);
    hf_test_let_go(theirs);
}

static void a_waiter_is_woken_by_the_release(void **state) {
    (void)state;
    hf_lock *mine = job_of(open_both()), *theirs = job_of(open_both());
    hf_test_thread waiter;
    hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
    hf_test_begin(&waiter, theirs, HF_FOREVER);
    hf_test_let_go(mine);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static void a_hold_is_kept_for_longer_than_its_permission(void **state) {
    (void)state;
    hf_lock *mine = job_of(open_both());
    hf_test_ear ear = {0};
    hf_lock_on_state(mine, hf_test_hear, &ear);
    hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
    hf_test_throughout(hf_lock_is_held(mine), 3 * PERMISSION);
    assert_int_equal(atomic_load(&ear.lost), 0);
}

static void every_kind_of_lock_can(void **state) {
    (void)state;
    const hf_kind kinds[] = {HF_LOCK, HF_FAIR, HF_SPIN, HF_READ, HF_WRITE};
    hf_client *one = open_both(), *two = open_both();
    hf_lock *lock;
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "kind%d", i);
        const hf_lock_options *options = HF_LOCK_WITH(.kind = kinds[i]);
        hf_lock *mine = hf_test_lock(one, name, options);
        hf_lock *theirs = hf_test_lock(two, name, options);
        hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
        hf_expect(kinds[i] == HF_READ ? HF_OK : HF_BUSY,
                  hf_lock_try(theirs, ERR));
        hf_test_let_go(mine);
    }
    hf_expect(HF_ECANNOT, hf_lock_new(&lock, one, "no",
                                      HF_LOCK_WITH(.kind = HF_PERMIT), ERR));
}

/* ---- the first store dies ---------------------------------------------- */

static void a_hold_goes_over_and_stays_a_hold(void **state) {
    (void)state;
    hf_lock *mine = job_of(open_both()), *theirs = job_of(open_both());
    hf_test_ear ear = {0};
    hf_lock_on_state(mine, hf_test_hear, &ear);
    hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
    uint64_t token = hf_lock_token(mine);
    hf_test_thread waiter;
    hf_test_begin(&waiter, theirs, HF_FOREVER);
    hf_test_server_kill(first);
    await_over(mine);
    assert_true(hf_lock_is_held(mine));
    hf_test_throughout(hf_lock_is_held(mine) && !atomic_load(&waiter.answered),
                       LEASE + PERMISSION);
    assert_int_equal(atomic_load(&ear.lost), 0);
    assert_true(hf_lock_token(mine) == token);
    hf_test_let_go(mine);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_true(waiter.token > token);
    hf_expect(HF_OK, hf_test_end(&waiter));
    assert_false(is_taken_in(second));
}

static void it_goes_back_to_a_first_store_that_comes_back_empty(void **state) {
    (void)state;
    hf_lock *mine = job_of(open_both()), *theirs = job_of(open_both());
    hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
    uint64_t token = hf_lock_token(mine);
    hf_test_server_kill(first);
    await_over(mine);
    hf_test_server_restart(first);
    hf_test_eventually(lives_in_first(mine) && !is_taken_in(second),
                       HF_TEST_LONG);
    assert_int_equal(hf_test_server_ask_number(first, "EXISTS job"), 1);
    assert_true(hf_lock_is_held(mine));
    assert_true(hf_lock_token(mine) == token);
    assert_int_not_equal(HF_OK, hf_lock_try(theirs, ERR));
    hf_test_let_go(mine);
    hf_expect(HF_OK, hf_lock_acquire(theirs, HF_TEST_LONG, ERR));
    assert_true(hf_lock_token(theirs) > token);
}

static void a_free_lock_is_taken_in_the_second_store(void **state) {
    (void)state;
    hf_lock *mine = job_of(open_both());
    hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
    uint64_t token = hf_lock_token(mine);
    hf_test_let_go(mine);
    hf_test_server_kill(first);
    hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
    assert_true(hf_lock_token(mine) > token);
    assert_true(is_taken_in(second));
    hf_test_let_go(mine);
    hf_test_eventually(!is_taken_in(second), HF_TEST_LONG);
}

/* Between two questions to a store in trouble lies more than a permission. */
static void a_short_permission_does_not_keep_it_from_going_over(void **state) {
    (void)state;
    hf_escalate_options escalate = {.size = sizeof escalate,
                                    .permission_ms = 200};
    hf_lock *mine = job_of(open_with(NOWHERE, second, &escalate));
    hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
}

static void who_comes_later_finds_it_there(void **state) {
    (void)state;
    hf_lock *mine = job_of(open_both());
    hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
    hf_test_server_kill(first);
    await_over(mine);
    hf_lock *late = job_of(open_both());
    hf_test_eventually(hf_lock_try(late, ERR) == HF_BUSY, HF_TEST_LONG);
    hf_test_let_go(mine);
    hf_expect(HF_OK, hf_lock_acquire(late, HF_TEST_LONG, ERR));
}

static void readers_and_their_writer_go_over_together(void **state) {
    (void)state;
    const hf_lock_options *read = HF_LOCK_WITH(.kind = HF_READ);
    const hf_lock_options *write = HF_LOCK_WITH(.kind = HF_WRITE);
    hf_lock *one = hf_test_lock(open_both(), "job", read);
    hf_lock *two = hf_test_lock(open_both(), "job", read);
    hf_lock *writer = hf_test_lock(open_both(), "job", write);
    hf_test_thread waiter;
    hf_expect(HF_OK, hf_lock_acquire(one, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_acquire(two, HF_TEST_LONG, ERR));
    hf_test_begin(&waiter, writer, HF_FOREVER);
    hf_test_server_kill(first);
    await_over(one);
    await_over(two);
    assert_true(hf_lock_is_held(one) && hf_lock_is_held(two));
    hf_test_let_go(one);
    assert_false(atomic_load(&waiter.answered));
    hf_test_let_go(two);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

/* ---- some reach less than others --------------------------------------- */

static void who_reaches_only_the_first_gets_nothing(void **state) {
    (void)state;
    char uri[64];
    proxy = hf_test_proxy_start(hf_test_server_port(other));
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d",
             hf_test_proxy_port(proxy));
    hf_escalate_options escalate = {.size = sizeof escalate,
                                    .permission_ms = PERMISSION};
    hf_lock *mine = job_of(open_both());
    hf_lock *theirs =
        job_of(open_with(hf_test_server_uri(first), uri, &escalate));
    hf_expect(HF_OK, hf_lock_acquire(theirs, HF_TEST_LONG, ERR));
    hf_test_let_go(theirs);
    hf_test_proxy_refuse(proxy, true);
    hf_test_proxy_cut(proxy);
    hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
    assert_true(lives_in_first(mine));
    hf_test_let_go(mine);
    hf_test_eventually(hf_lock_try(theirs, ERR) == HF_EDOWN ||
                           hf_lock_release(theirs, ERR) != HF_OK,
                       HF_TEST_LONG);
}

static void who_reaches_only_the_second_waits_for_its_turn(void **state) {
    (void)state;
    hf_lock *mine = job_of(open_both()), *theirs = job_of(open_at(NOWHERE));
    hf_test_ear ear = {0};
    hf_lock_on_state(mine, hf_test_hear, &ear);
    hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
    hf_test_thread waiter;
    hf_test_begin(&waiter, theirs, HF_FOREVER);
    await_over(mine); /* for its sake */
    hf_test_throughout(hf_lock_is_held(mine) && !atomic_load(&waiter.answered),
                       2 * PERMISSION);
    assert_int_equal(atomic_load(&ear.lost), 0);
    uint64_t token = hf_lock_token(mine);
    hf_test_let_go(mine);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_true(waiter.token > token);
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static void without_the_second_a_hold_ends_in_time(void **state) {
    (void)state;
    hf_lock *mine = job_of(open_both()), *theirs = job_of(open_both());
    hf_test_ear ear = {0};
    hf_lock_on_state(mine, hf_test_hear, &ear);
    hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
    hf_test_server_pause(other);
    int64_t paused = hf_test_now_ms();
    hf_test_eventually(hf_test_is_told(mine), HF_TEST_LONG);
    assert_true(hf_test_now_ms() - paused < LEASE);
    assert_false(hf_lock_is_held(mine));
    hf_test_eventually(atomic_load(&ear.lost) == 1, HF_TEST_LONG);
    assert_true(atomic_load(&ear.doubt) >= 1);
    assert_true(hf_lock_try(theirs, ERR) < 0);
    hf_test_server_resume(other);
    hf_expect(HF_ELOST, hf_lock_release(mine, ERR));
    hf_expect(HF_OK, hf_lock_acquire(theirs, HF_TEST_LONG, ERR));
}

static void without_both_a_hold_ends_in_time(void **state) {
    (void)state;
    hf_lock *mine = job_of(open_both());
    hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
    hf_test_server_kill(first);
    hf_test_server_pause(other);
    int64_t paused = hf_test_now_ms();
    hf_test_eventually(hf_test_is_told(mine), HF_TEST_LONG);
    assert_true(hf_test_now_ms() - paused < LEASE);
    hf_test_server_resume(other);
    hf_expect(HF_ELOST, hf_lock_release(mine, ERR));
    hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
}

static void a_database_that_crashes_remembers(void **state) {
    (void)state;
    hf_lock *mine = job_of(open_both());
    hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
    uint64_t token = hf_lock_token(mine);
    hf_test_server_kill(first);
    await_over(mine);
    assert_true(hf_lock_is_held(mine));
    hf_test_mariadb_crash(database);
    int64_t crashed = hf_test_now_ms();
    hf_test_eventually(hf_test_is_told(mine), HF_TEST_LONG);
    assert_true(hf_test_now_ms() - crashed < LEASE);
    hf_test_mariadb_restart(database);
    hf_expect(HF_ELOST, hf_lock_release(mine, ERR));
    hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
    assert_true(hf_lock_token(mine) > token);
    assert_false(lives_in_first(mine));
}

static void a_first_store_that_is_silent_is_as_good_as_dead(void **state) {
    (void)state;
    hf_lock *mine = job_of(open_both());
    hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
    hf_test_server_pause(first);
    await_over(mine);
    assert_true(hf_lock_is_held(mine));
    hf_test_server_resume(first);
    hf_test_eventually(lives_in_first(mine), HF_TEST_LONG);
    assert_true(hf_lock_is_held(mine));
}

/* ---- other processes --------------------------------------------------- */

static hf_test_peer *peer_of_both(void) {
    char address[1024];
    snprintf(address, sizeof address,
             "%s second=%s lease_ms=%d permission_ms=%d after_ms=%d back_ms=%d",
             hf_test_server_uri(first), second, LEASE, PERMISSION, AFTER, BACK);
    hf_test_peer *peer = hf_test_peer_start(address);
    assert_string_equal(hf_test_peer_ask(peer, "lock 0 job"), "OK");
    return peer;
}

static void is_granted(const char *answer) {
    assert_int_equal(strncmp(answer, "OK ", 3), 0);
}

static void a_process_that_dies_is_waited_out(void **state) {
    (void)state;
    hf_test_peer *peer = peer_of_both();
    is_granted(hf_test_peer_ask(peer, "try 0"));
    hf_lock *mine = job_of(open_both());
    hf_test_eventually(hf_lock_try(mine, ERR) == HF_BUSY, HF_TEST_LONG);
    hf_test_peer_signal(peer, SIGKILL);
    hf_test_server_kill(first);
    hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
    assert_true(is_taken_in(second));
    hf_test_peer_stop(peer);
}

/* Wherever it stands still: when it goes on, it has lost or nobody else had
 * it. */
static void a_process_that_is_paused_while_it_goes_over(void **state) {
    (void)state;
    for (int ms = 0; ms < 1200; ms += 600) {
        hf_test_peer *peer = peer_of_both();
        hf_lock *mine = job_of(open_both());
        is_granted(hf_test_peer_ask(peer, "acquire 0 20000"));
        hf_test_server_kill(first);
        hf_test_throughout(true, ms);
        hf_test_pause(hf_test_peer_pid(peer));
        hf_expect(HF_OK, hf_lock_acquire(mine, HF_TEST_LONG, ERR));
        hf_test_resume(hf_test_peer_pid(peer));
        assert_string_equal(hf_test_peer_ask(peer, "held 0"), "OK 0");
        assert_true(hf_lock_is_held(mine));
        hf_test_let_go(mine);
        hf_test_peer_stop(peer);
        hf_test_server_restart(first);
    }
}

static void many_who_want_it_go_over_and_back(void **state) {
    (void)state;
    char path[160];
    hf_test_fresh_path(path, sizeof path, "guarded");
    hf_test_guarded *g = hf_test_guarded_map(path);
    hf_test_peer *peers[2];
    for (int i = 0; i < 2; i++) {
        peers[i] = peer_of_both();
        hf_test_peer_send(peers[i], "contend %s job 2 20000", path);
    }
    hf_test_finally(atomic_load(&g->counter) > 10, atomic_load(&g->counter),
                    HF_TEST_LONG);
    hf_test_server_kill(first);
    unsigned long long seen = atomic_load(&g->counter);
    hf_test_finally(atomic_load(&g->counter) > seen + 100,
                    atomic_load(&g->counter), HF_TEST_LONG);
    hf_test_server_restart(first);
    hf_test_eventually(epochs_over() == 2, HF_TEST_LONG);
    seen = atomic_load(&g->counter);
    hf_test_finally(atomic_load(&g->counter) > seen + 100,
                    atomic_load(&g->counter), HF_TEST_LONG);
    /* Before they die: one that dies inside stays there. */
    assert_int_equal(atomic_load(&g->overlaps), 0);
    assert_int_equal(atomic_load(&g->disorders), 0);
    for (int i = 0; i < 2; i++)
        hf_test_peer_stop(peers[i]);
    hf_test_guarded_unmap(g);
}

/* ---- who is known ------------------------------------------------------ */

typedef struct roll {
    int n;
    size_t holds;
} roll;

static void call(void *arg, const hf_presence *client) {
    roll *r = arg;
    r->n++;
    r->holds += client->holds;
}

static bool is_known_once(hf_client *client) {
    roll r = {0};
    hf_expect(HF_OK, hf_clients(client, call, &r, ERR));
    return r.n == 1 && r.holds == 1;
}

/* Both stores keep its record, and either of them may be away. */
static void a_client_of_two_stores_is_known_once(void **state) {
    (void)state;
    hf_client *client = open_at(hf_test_server_uri(first));
    hf_lock *mine = job_of(client);
    hf_expect(HF_OK, hf_lock_try(mine, ERR));
    hf_test_eventually(is_known_once(client), HF_TEST_LONG);
    hf_client *eyes[] = {hf_test_open(hf_test_server_uri(first), NULL),
                         hf_test_open(second, NULL)};
    for (int i = 0; i < 2; i++)
        hf_test_eventually(is_known_once(eyes[i]), HF_TEST_LONG);
    hf_test_server_kill(first);
    hf_test_eventually(is_known_once(client), HF_TEST_LONG);
}

static const struct CMUnitTest tests[] = {
    HF_TEST_IN(with_two_stores, a_client_of_two_stores_is_known_once, without),
    HF_TEST_IN(with_two_stores, it_lives_in_the_first_store, without),
    HF_TEST_IN(with_two_stores, a_waiter_is_woken_by_the_release, without),
    HF_TEST_IN(with_two_stores, a_hold_is_kept_for_longer_than_its_permission,
               without),
    HF_TEST_IN(with_two_stores, every_kind_of_lock_can, without),
    HF_TEST_IN(with_two_stores, a_hold_goes_over_and_stays_a_hold, without),
    HF_TEST_IN(with_two_stores,
               it_goes_back_to_a_first_store_that_comes_back_empty, without),
    HF_TEST_IN(with_two_stores, a_free_lock_is_taken_in_the_second_store,
               without),
    HF_TEST_IN(with_two_stores,
               a_short_permission_does_not_keep_it_from_going_over, without),
    HF_TEST_IN(with_two_stores, who_comes_later_finds_it_there, without),
    HF_TEST_IN(with_two_stores, readers_and_their_writer_go_over_together,
               without),
    HF_TEST_IN(with_two_servers, who_reaches_only_the_first_gets_nothing,
               without),
    HF_TEST_IN(with_two_stores, who_reaches_only_the_second_waits_for_its_turn,
               without),
    HF_TEST_IN(with_two_servers, without_the_second_a_hold_ends_in_time,
               without),
    HF_TEST_IN(with_two_servers, without_both_a_hold_ends_in_time, without),
    HF_TEST_IN(with_a_database, a_database_that_crashes_remembers, without),
    HF_TEST_IN(with_two_stores, a_first_store_that_is_silent_is_as_good_as_dead,
               without),
    HF_TEST_IN(with_two_stores, a_process_that_dies_is_waited_out, without),
    HF_TEST_IN(with_two_stores, a_process_that_is_paused_while_it_goes_over,
               without),
    HF_TEST_IN(with_two_stores, many_who_want_it_go_over_and_back, without),
};
HF_SUITE(tests)
