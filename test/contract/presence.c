/* SPDX-License-Identifier: MIT
 *
 * presence.c - what a store's clients let others know of themselves. */
#include "contract.h"

#include "support/peer.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void nobody(void *arg, const hf_presence *client) {
    (void)arg, (void)client;
}

static void need_records(hf_client *client) {
    hf_test_need(hf_clients(client, nobody, NULL, ERR) != HF_ECANNOT,
                 "the store keeps no records of its clients");
}

/* ---- what is listed ---------------------------------------------------- */

typedef struct sight {
    const char *host; /* whom to look at */
    int holders, waiters, lost;
    int64_t pid, since_ms; /* of the last one seen */
    char why[64], client[64], kind[32], owners[16][128];
    bool twice; /* an owner was told of more than once */
} sight;

static void note_owner(sight *s, const hf_place *p) {
    int n = s->holders + s->waiters + s->lost;
    for (int i = 0; i < n && i < 16; i++)
        s->twice |= strcmp(s->owners[i], p->owner) == 0;
    if (n < 16)
        snprintf(s->owners[n], sizeof s->owners[n], "%s", p->owner);
}

static void see(void *arg, const hf_place *p) {
    sight *s = arg;
    if (strcmp(p->host, s->host) != 0 || *p->owner == 0)
        return;
    note_owner(s, p);
    assert_false(p->holds && p->lost);
    s->holders += p->holds;
    s->lost += p->lost;
    s->waiters += !p->holds && !p->lost;
    s->pid = p->pid;
    s->since_ms = p->since_ms;
    snprintf(s->why, sizeof s->why, "%s", p->why);
    snprintf(s->client, sizeof s->client, "%s", p->client);
    snprintf(s->kind, sizeof s->kind, "%s", p->kind);
}

/* What is seen of a host's claims on a name. */
static sight look(hf_client *client, const char *name, const char *host) {
    sight s = {.host = host};
    hf_expect(HF_OK, hf_list(client, name, see, &s, ERR));
    return s;
}

static bool sees(hf_client *client, const char *name, const char *host,
                 int holders, int waiters, int lost) {
    sight s = look(client, name, host);
    assert_false(s.twice);
    return s.holders == holders && s.waiters == waiters && s.lost == lost;
}

void who_waits_is_listed_with_its_host_and_pid(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_client *client = hf_contract_open(NULL);
    need_records(client);
    hf_client *other = hf_contract_open(
        HF_CLIENT_WITH(.host = "elsewhere", .why = "to be seen"));
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, hf_test_lock(other, "x", NULL), HF_FOREVER);
    hf_test_eventually(sees(client, "x", "elsewhere", 0, 1, 0), HF_TEST_LONG);
    hf_test_eventually(sees(client, NULL, "elsewhere", 0, 1, 0), HF_TEST_LONG);
    sight s = look(client, "x", "elsewhere");
    assert_int_equal(s.pid, getpid());
    assert_string_equal(s.why, "to be seen");
    hf_test_eventually(*look(client, "x", "elsewhere").client, HF_TEST_LONG);
    hf_test_eventually(look(client, "x", "elsewhere").since_ms > 0,
                       HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

void every_thread_that_waits_is_listed_once(void **state) {
    (void)state;
    enum { N = 5 };
    hf_test_thread waiters[N];
    hf_client *client = hf_contract_open(NULL);
    need_records(client);
    hf_client *other = hf_contract_open(HF_CLIENT_WITH(.host = "elsewhere"));
    hf_lock *a = hf_test_lock(other, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    for (int i = 0; i < N; i++)
        hf_test_begin(&waiters[i], hf_test_lock(other, "x", NULL), HF_FOREVER);
    hf_test_eventually(sees(client, "x", "elsewhere", 1, N, 0), HF_TEST_LONG);
    hf_test_eventually(sees(other, NULL, "elsewhere", 1, N, 0), HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    for (int i = 0; i < N; i++) {
        hf_expect(HF_OK, hf_test_answer(&waiters[i]));
        hf_expect(HF_OK, hf_test_end(&waiters[i]));
    }
    hf_test_eventually(sees(client, "x", "elsewhere", 0, 0, 0), HF_TEST_LONG);
}

void who_no_longer_waits_is_no_longer_listed(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_client *client = hf_contract_open(NULL);
    need_records(client);
    hf_client *other = hf_contract_open(HF_CLIENT_WITH(.host = "elsewhere"));
    hf_expect(HF_OK, hf_lock_try(hf_test_lock(client, "x", NULL), ERR));
    hf_test_begin(&waiter, hf_test_lock(other, "x", NULL), HF_FOREVER);
    hf_test_eventually(sees(client, "x", "elsewhere", 0, 1, 0), HF_TEST_LONG);
    hf_expect(HF_ECANCELLED, hf_test_cancel(&waiter));
    hf_test_end(&waiter);
    hf_test_eventually(sees(client, "x", "elsewhere", 0, 0, 0), HF_TEST_LONG);
}

void what_was_lost_and_not_released_is_listed(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    need_records(client);
    hf_client *other = hf_contract_open(HF_CLIENT_WITH(.host = "elsewhere"));
    hf_lock *b = hf_test_lock(other, "x", HF_LOCK_WITH(.lease_ms = 700));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    hf_test_eventually(sees(client, "x", "elsewhere", 0, 0, 1), HF_TEST_LONG);
    assert_int_equal(look(client, "x", "elsewhere").pid, getpid());
    hf_expect(HF_ELOST, hf_lock_release(b, ERR));
    hf_test_eventually(sees(client, "x", "elsewhere", 0, 0, 0), HF_TEST_LONG);
}

void since_when_it_is_held_is_listed(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    need_records(client);
    hf_client *other = hf_contract_open(HF_CLIENT_WITH(.host = "elsewhere"));
    hf_expect(HF_OK, hf_lock_try(hf_test_lock(other, "x", NULL), ERR));
    hf_test_eventually(look(client, "x", "elsewhere").since_ms > 0,
                       HF_TEST_LONG);
    assert_true(sees(client, "x", "elsewhere", 1, 0, 0));
    hf_test_eventually(*look(client, "x", "elsewhere").client, HF_TEST_LONG);
}

void who_waits_for_a_number_is_listed(void **state) {
    (void)state;
    hf_test_task taker, waiter;
    hf_client *client = hf_contract_open(NULL);
    need_records(client);
    hf_client *other = hf_contract_open(HF_CLIENT_WITH(.host = "elsewhere"));
    hf_semaphore *sem = hf_test_semaphore(client, "s");
    hf_latch *latch = hf_test_latch(client, "l");
    hf_expect(HF_OK, hf_semaphore_set(sem, 1, 0, ERR));
    hf_expect(HF_OK, hf_latch_set(latch, 1, ERR));
    hf_test_take(&taker, hf_test_semaphore(other, "s"), 2, HF_FOREVER);
    hf_test_await(&waiter, hf_test_latch(other, "l"), HF_FOREVER);
    hf_test_eventually(sees(client, "s", "elsewhere", 0, 1, 0), HF_TEST_LONG);
    hf_test_eventually(sees(client, "l", "elsewhere", 0, 1, 0), HF_TEST_LONG);
    assert_string_equal(look(client, "s", "elsewhere").kind, "semaphore");
    assert_string_equal(look(client, "l", "elsewhere").kind, "latch");
    hf_expect(HF_OK, hf_semaphore_release(sem, 1, ERR));
    hf_expect(HF_OK, hf_latch_count_down(latch, ERR));
    hf_expect(HF_OK, hf_test_result(&taker));
    hf_expect(HF_OK, hf_test_result(&waiter));
}

/* ---- who is known ------------------------------------------------------ */

typedef struct roll {
    const char *host; /* whom to look at; NULL: by pid */
    int64_t pid;
    int n;
    size_t holds, waits;
    int64_t waits_ms;
} roll;

static void call(void *arg, const hf_presence *p) {
    roll *r = arg;
    assert_int_equal(strlen(p->client), 36);
    if (r->host != NULL ? strcmp(p->host, r->host) != 0 : p->pid != r->pid)
        return;
    r->n++;
    r->holds = p->holds;
    r->waits = p->waits;
    r->waits_ms = p->waits_ms;
}

static roll known(hf_client *client, const char *host, int64_t pid) {
    roll r = {.host = host, .pid = pid};
    hf_expect(HF_OK, hf_clients(client, call, &r, ERR));
    return r;
}

static bool tells(hf_client *client, const char *host, size_t holds,
                  size_t waits) {
    roll r = known(client, host, 0);
    return r.n == 1 && r.holds == holds && r.waits == waits;
}

void clients_tell_how_much_they_hold_and_wait_for(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_client *client = hf_contract_open(NULL);
    need_records(client);
    hf_client *other = hf_contract_open(HF_CLIENT_WITH(.host = "elsewhere"));
    hf_expect(HF_OK, hf_lock_try(hf_test_lock(client, "x", NULL), ERR));
    hf_expect(HF_OK, hf_lock_try(hf_test_lock(other, "y", NULL), ERR));
    hf_expect(HF_OK, hf_lock_try(hf_test_lock(other, "z", NULL), ERR));
    hf_test_eventually(tells(client, "elsewhere", 2, 0), HF_TEST_LONG);
    assert_int_equal(known(client, "elsewhere", 0).waits_ms, -1);
    hf_test_begin(&waiter, hf_test_lock(other, "x", NULL), HF_FOREVER);
    hf_test_eventually(tells(client, "elsewhere", 2, 1), HF_TEST_LONG);
    assert_true(known(client, "elsewhere", 0).waits_ms >= 0);
    hf_expect(HF_ECANCELLED, hf_test_cancel(&waiter));
    hf_test_end(&waiter);
    hf_test_eventually(tells(client, "elsewhere", 2, 0), HF_TEST_LONG);
    hf_expect(HF_EUSAGE, hf_clients(client, NULL, NULL, ERR));
    hf_expect(HF_EUSAGE, hf_clients(NULL, call, NULL, ERR));
}

void a_closed_client_is_not_known(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    need_records(client);
    hf_client *other = hf_contract_open(HF_CLIENT_WITH(.host = "elsewhere"));
    hf_lock *b = hf_test_lock(other, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    hf_test_eventually(tells(client, "elsewhere", 1, 0), HF_TEST_LONG);
    hf_test_free(b);
    hf_test_close(other);
    hf_test_eventually(known(client, "elsewhere", 0).n == 0, HF_TEST_LONG);
}

void a_hidden_client_tells_nothing(void **state) {
    (void)state;
    char uri[300];
    hf_test_thread waiters[3];
    hf_client *client = hf_contract_open(NULL);
    need_records(client);
    snprintf(uri, sizeof uri, "%s%shf_presence=off", hf_contract_uri,
             strchr(hf_contract_uri, '?') != NULL ? "&" : "?");
    hf_client *others[] = {
        hf_contract_open(HF_CLIENT_WITH(.host = "hidden", .hidden = true)),
        hf_test_open(uri, HF_CLIENT_WITH(.host = "hidden by address")),
        hf_contract_open(HF_CLIENT_WITH(.host = "seen")),
    };
    hf_expect(HF_OK, hf_lock_try(hf_test_lock(client, "x", NULL), ERR));
    for (int i = 0; i < 3; i++)
        hf_test_begin(&waiters[i], hf_test_lock(others[i], "x", NULL),
                      HF_FOREVER);
    /* The last one came last, and so did its record. */
    hf_test_eventually(tells(client, "seen", 0, 1), HF_TEST_LONG);
    assert_int_equal(known(client, "hidden", 0).n, 0);
    assert_int_equal(known(client, "hidden by address", 0).n, 0);
    for (int i = 0; i < 3; i++) {
        hf_expect(HF_ECANCELLED, hf_test_cancel(&waiters[i]));
        hf_test_end(&waiters[i]);
    }
}

/* ---- in other processes ------------------------------------------------ */

static int waiters_of(hf_client *client, int64_t pid) {
    char host[65] = "";
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    sight s = look(client, "x", host);
    return s.pid == pid ? s.waiters : 0;
}

void a_waiter_in_another_process_is_listed(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(HF_CLIENT_WITH(.host = "here"));
    need_records(client);
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_peer_ask(peer, "lock 0 x");
    hf_test_peer_send(peer, "acquire 0 -1");
    hf_test_eventually(waiters_of(client, hf_test_peer_pid(peer)) == 1,
                       HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    const char *answer = hf_test_peer_answer(peer, HF_TEST_LONG);
    assert_non_null(answer);
    assert_memory_equal(answer, "OK ", 3);
    hf_test_eventually(waiters_of(client, hf_test_peer_pid(peer)) == 0,
                       HF_TEST_LONG);
    hf_test_peer_stop(peer);
}

void a_client_that_hung_up_is_not_known(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    need_records(client);
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    pid_t pid = hf_test_peer_pid(peer);
    hf_test_peer_ask(peer, "lock 0 x");
    hf_test_peer_ask(peer, "try 0");
    hf_test_eventually(known(client, NULL, pid).holds == 1, HF_TEST_LONG);
    hf_test_peer_hang_up(peer);
    hf_test_eventually(known(client, NULL, pid).n == 0, HF_TEST_LONG);
    hf_test_peer_stop(peer);
}

void a_killed_client_is_not_known_when_its_lease_is_over(void **state) {
    (void)state;
    char open[300];
    hf_client *client = hf_contract_open(NULL);
    need_records(client);
    snprintf(open, sizeof open, "%s lease_ms=3000", hf_contract_uri);
    hf_test_peer *peer = hf_test_peer_start(open);
    pid_t pid = hf_test_peer_pid(peer);
    hf_test_peer_ask(peer, "lock 0 x");
    hf_test_peer_ask(peer, "try 0");
    hf_test_eventually(known(client, NULL, pid).holds == 1, HF_TEST_LONG);
    hf_test_peer_signal(peer, SIGKILL);
    hf_test_eventually(known(client, NULL, pid).n == 0, 2 * HF_TEST_LONG);
    hf_test_peer_stop(peer);
}
