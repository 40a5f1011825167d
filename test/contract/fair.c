/* SPDX-License-Identifier: MIT
 *
 * fair.c - first come, first served, whatever becomes of who stands in line;
 * and what the lock, the fair and the spinning one are to each other. */
#include "contract.h"

#include "backend/fault.h"
#include "support/peer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAIR HF_LOCK_WITH(.kind = HF_FAIR)

/* How long it may take until a store gives up a waiter that shows no sign of
 * life, and a little more. */
enum { GIVEN_UP = 15000 };

static hf_lock *fair_of_a_new_client(void) {
    return hf_test_lock(hf_contract_open(NULL), "x", FAIR);
}

/* ---- order ------------------------------------------------------------- */

enum { CROWD = 500 };

typedef struct line {
    int entered[CROWD]; /* written by whoever holds the lock */
    int n;
} line;

typedef struct person {
    pthread_t thread;
    hf_lock *lock;
    line *line;
    int number, result;
} person;

static void *stand_in_line(void *arg) {
    person *p = arg;
    p->result = hf_lock_acquire(p->lock, 3 * HF_TEST_LONG, NULL);
    if (p->result == HF_OK) {
        p->line->entered[p->line->n++] = p->number;
        p->result = hf_lock_release(p->lock, NULL);
    }
    return NULL;
}

/* n threads come one after the other while `held` keeps them out; each is in
 * the store's line before the next one comes. */
static void stand_in_order(hf_lock *held, hf_lock *const *locks, int n_locks,
                           int n) {
    static person crowd[CROWD];
    hf_client *client = hf_contract_open(NULL);
    line l = {.n = 0};
    hf_expect(HF_OK, hf_lock_try(held, ERR));
    for (int i = 0; i < n; i++) {
        crowd[i] =
            (person){.lock = locks[i % n_locks], .line = &l, .number = i};
        pthread_create(&crowd[i].thread, NULL, stand_in_line, &crowd[i]);
        hf_test_eventually(hf_test_waiters(client, "x") == i + 1, HF_TEST_LONG);
    }
    hf_expect(HF_OK, hf_lock_release(held, ERR));
    for (int i = 0; i < n; i++)
        pthread_join(crowd[i].thread, NULL);
    for (int i = 0; i < n; i++) {
        assert_int_equal(crowd[i].result, HF_OK);
        assert_int_equal(l.entered[i], i);
    }
    assert_int_equal(hf_test_waiters(client, "x"), 0);
    assert_int_equal(hf_test_holders(client, "x"), 0);
}

void waiters_of_several_clients_enter_in_the_order_they_came(void **state) {
    (void)state;
    enum { CLIENTS = 4, N = 24 };
    hf_lock *locks[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        locks[i] = fair_of_a_new_client();
    stand_in_order(locks[0], locks, CLIENTS, N);
}

/* Where a session of seconds is kept beside them, it needs a turn in time; and
 * where every question waits for one of few connections, so do they. */
void hundreds_of_threads_get_through_a_fair_lock_in_order(void **state) {
    (void)state;
    hf_lock *lock = fair_of_a_new_client();
    bool fewer = hf_contract_under_test.session_ms != 0 ||
                 hf_contract_under_test.few_connections;
    stand_in_order(lock, &lock, 1, fewer ? CROWD / 4 : CROWD);
}

/* ---- out of the line --------------------------------------------------- */

void who_gives_up_leaves_nothing_in_a_fair_line(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *a = fair_of_a_new_client(), *b = fair_of_a_new_client();
    hf_client *client = hf_contract_open(NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    for (int i = 0; i < 5; i++)
        hf_expect(HF_ETIMEOUT, hf_lock_acquire(b, 20, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(hf_test_waiters(client, "x") == 1, HF_TEST_LONG);
    hf_expect(HF_ECANCELLED, hf_test_cancel(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    hf_test_eventually(hf_test_waiters(client, "x") == 0, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR)); /* nothing stands in its way */
    hf_expect(HF_OK, hf_lock_release(b, ERR));
}

void who_gives_up_in_the_middle_does_not_disturb_the_order(void **state) {
    (void)state;
    enum { N = 6, GONE = 2 };
    hf_test_thread waiters[N];
    hf_lock *a = fair_of_a_new_client();
    uint64_t last;
    hf_client *client = hf_contract_open(NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    last = hf_lock_token(a);
    for (int i = 0; i < N; i++) {
        hf_test_begin(&waiters[i], fair_of_a_new_client(), HF_FOREVER);
        hf_test_eventually(hf_test_waiters(client, "x") == i + 1, HF_TEST_LONG);
    }
    hf_expect(HF_ECANCELLED, hf_test_cancel(&waiters[GONE]));
    hf_expect(HF_OK, hf_test_end(&waiters[GONE]));
    hf_test_eventually(hf_test_waiters(client, "x") == N - 1, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    for (int i = 0; i < N; i++) {
        if (i == GONE)
            continue;
        hf_expect(HF_OK, hf_test_answer(&waiters[i]));
        assert_true(waiters[i].token > last);
        last = waiters[i].token;
        for (int behind = i + 1; behind < N; behind++)
            assert_true(behind == GONE ||
                        !atomic_load(&waiters[behind].answered));
        hf_expect(HF_OK, hf_test_end(&waiters[i]));
    }
}

void a_try_takes_no_place_and_overtakes_nobody(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *a = fair_of_a_new_client(), *b = fair_of_a_new_client();
    hf_lock *c = fair_of_a_new_client();
    hf_client *client = hf_contract_open(NULL);
    for (int i = 0; i < 10; i++) {
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        hf_expect(HF_BUSY, hf_lock_try(c, ERR));
        assert_int_equal(hf_test_waiters(client, "x"), 0);
        hf_test_begin(&waiter, b, HF_FOREVER);
        hf_test_eventually(hf_test_waiters(client, "x") == 1, HF_TEST_LONG);
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        hf_expect(HF_BUSY, hf_lock_try(c, ERR));
        hf_expect(HF_BUSY, hf_lock_try(a, ERR));
        hf_expect(HF_OK, hf_test_answer(&waiter));
        hf_expect(HF_OK, hf_test_end(&waiter));
    }
}

/* How many of n have entered or stand in the line.  Who enters between the two
 * looks is missed, and nobody is counted twice. */
static int have_come(hf_client *client, hf_test_thread *waiters, int n) {
    int come = 0;
    for (int i = 0; i < n; i++)
        come += atomic_load(&waiters[i].answered);
    return come + hf_test_waiters(client, "x");
}

void waiters_enter_in_order_as_leases_end(void **state) {
    (void)state;
    enum { N = 5, LEASE = 300 };
    const hf_lock_options *brief =
        HF_LOCK_WITH(.kind = HF_FAIR, .lease_ms = LEASE);
    hf_test_thread waiters[N];
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x", brief);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t last = hf_lock_token(a);
    for (int i = 0; i < N; i++) { /* none of them releases */
        hf_test_begin(&waiters[i],
                      hf_test_lock(hf_contract_open(NULL), "x", brief),
                      HF_TEST_LONG);
        hf_test_eventually(have_come(client, waiters, i + 1) == i + 1,
                           HF_TEST_LONG);
    }
    for (int i = 0; i < N; i++) {
        hf_expect(HF_OK, hf_test_answer(&waiters[i]));
        assert_true(waiters[i].token > last);
        last = waiters[i].token;
    }
    /* Who looked by itself would come later than that. */
    assert_in_range(waiters[N - 1].took_ms, 0, N * (LEASE + 1500));
    for (int i = 0; i < N; i++)
        hf_test_end(&waiters[i]);
}

/* ---- three manners, one lock ------------------------------------------- */

void lock_fair_and_spin_of_one_name_exclude_each_other(void **state) {
    (void)state;
    static const hf_kind kinds[] = {HF_LOCK, HF_FAIR, HF_SPIN};
    hf_lock *locks[3];
    uint64_t last = 0;
    for (int i = 0; i < 3; i++)
        locks[i] = hf_test_lock(hf_contract_open(NULL), "x",
                                HF_LOCK_WITH(.kind = kinds[i]));
    for (int i = 0; i < 3; i++) {
        hf_expect(HF_OK, hf_lock_try(locks[i], ERR));
        assert_true(hf_lock_token(locks[i]) > last);
        last = hf_lock_token(locks[i]);
        for (int j = 0; j < 3; j++)
            if (j != i)
                hf_expect(HF_BUSY, hf_lock_try(locks[j], ERR));
        hf_expect(HF_OK, hf_lock_release(locks[i], ERR));
    }
}

/* With a pause of half a second it asks a few times in two; a first pause of
 * a millisecond that doubles up to 128 makes it some twenty. */
void a_spin_lock_keeps_to_its_back_off(void **state) {
    (void)state;
    hf_backend *trouble;
    hf_lock *a = fair_of_a_new_client();
    hf_client *client = hf_contract_open_troubled(&trouble);
    hf_lock *seldom =
        hf_test_lock(client, "x",
                     HF_LOCK_WITH(.kind = HF_SPIN, .backoff_ms = 500,
                                  .max_backoff_ms = 500));
    hf_lock *often = hf_test_lock(client, "x", HF_LOCK_WITH(.kind = HF_SPIN));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    int before = hf__fault_calls(trouble, HF_VERB_ATTEMPT);
    hf_expect(HF_ETIMEOUT, hf_lock_acquire(seldom, 2000, ERR));
    int asked = hf__fault_calls(trouble, HF_VERB_ATTEMPT) - before;
    assert_in_range(asked, 2, 10);
    before += asked;
    hf_expect(HF_ETIMEOUT, hf_lock_acquire(often, 1500, ERR));
    asked = hf__fault_calls(trouble, HF_VERB_ATTEMPT) - before;
    assert_in_range(asked, 8, 60);
    assert_int_equal(hf__fault_calls(trouble, HF_VERB_WATCH), 0);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_acquire(often, HF_TEST_LONG, ERR));
    assert_in_range(hf_test_now_ms() - began, 0, 1500);
}

/* ---- other processes --------------------------------------------------- */

static hf_test_peer *peer_at_the_head(hf_client *client) {
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_peer_ask(peer, "lock 0 x kind=%d", HF_FAIR);
    hf_test_peer_send(peer, "acquire 0 -1");
    hf_test_eventually(hf_test_waiters(client, "x") == 1, HF_TEST_LONG);
    return peer;
}

/* A peer's waiters stood behind a dead head for five minutes. */
void a_killed_head_of_a_fair_line_costs_seconds(void **state) {
    (void)state;
    hf_test_thread waiters[3];
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = fair_of_a_new_client();
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_peer *peer = peer_at_the_head(client);
    for (int i = 0; i < 3; i++) {
        hf_test_begin(&waiters[i], fair_of_a_new_client(), HF_FOREVER);
        hf_test_eventually(hf_test_waiters(client, "x") == i + 2, HF_TEST_LONG);
    }
    hf_test_peer_signal(peer, SIGKILL);
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    for (int i = 0; i < 3; i++) {
        hf_expect(HF_OK, hf_test_answer(&waiters[i]));
        assert_in_range(hf_test_now_ms() - began, 0, GIVEN_UP);
        hf_expect(HF_OK, hf_test_end(&waiters[i]));
    }
    hf_test_eventually(hf_test_waiters(client, "x") == 0, GIVEN_UP);
    hf_test_peer_stop(peer);
}

void a_stopped_head_of_a_fair_line_is_passed_and_comes_back(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = fair_of_a_new_client();
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_peer *peer = peer_at_the_head(client);
    hf_test_begin(&waiter, fair_of_a_new_client(), HF_FOREVER);
    hf_test_eventually(hf_test_waiters(client, "x") == 2, HF_TEST_LONG);
    hf_test_peer_signal(peer, SIGSTOP);
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(hf_test_now_ms() - began, 0, GIVEN_UP);
    hf_test_peer_signal(peer, SIGCONT);
    assert_null(hf_test_peer_answer(peer, 500)); /* it has it no more */
    hf_expect(HF_OK, hf_test_end(&waiter));
    assert_non_null(strstr(hf_test_peer_answer(peer, HF_TEST_LONG), "OK"));
    assert_string_equal(hf_test_peer_ask(peer, "release 0"), "OK");
    hf_test_peer_stop(peer);
}

void two_processes_take_turns_in_a_fair_line(void **state) {
    (void)state;
    enum { TURNS = 20 };
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(client, "x", FAIR);
    uint64_t last = 0;
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_peer_ask(peer, "lock 0 x kind=%d", HF_FAIR);
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    for (int i = 0; i < TURNS; i++) {
        hf_test_thread next;
        hf_test_peer_send(peer, "acquire 0 %d", HF_TEST_LONG);
        hf_test_eventually(hf_test_waiters(client, "x") == 1, HF_TEST_LONG);
        assert_true(hf_lock_token(a) > last);
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        const char *answer = hf_test_peer_answer(peer, HF_TEST_LONG);
        assert_non_null(answer);
        assert_int_equal(strncmp(answer, "OK ", 3), 0);
        last = strtoull(answer + 3, NULL, 10);
        hf_test_begin(&next, a, HF_TEST_LONG);
        assert_string_equal(hf_test_peer_ask(peer, "release 0"), "OK");
        hf_expect(HF_OK, hf_test_answer(&next));
        assert_true(next.token > last);
        last = next.token;
        hf_expect(HF_OK, hf_test_end(&next));
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    }
    assert_in_range(hf_test_now_ms() - began, 0, 20000);
    hf_test_peer_stop(peer);
}
