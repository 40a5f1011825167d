/* SPDX-License-Identifier: MIT
 *
 * redlock_fault_test.c - five independent servers, some of which are killed,
 * paused, slowed down, restarted empty, cut off, or have their clocks set. */
#include "support/clock.h"
#include "support/dir.h"
#include "support/guarded.h"
#include "support/peer.h"
#include "support/stage.h"
#include "support/suite.h"
#include "support/voters.h"

#include "backend/redis/redlock/redlock.h"
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = HF_TEST_VOTERS };

/* Long enough for a slow machine, short enough to be waited for. */
#define QUERY "durable=1&node_timeout=500ms"
/* Whoever waited for a server that is silent would never end. */
#define PATIENT "durable=1&node_timeout=10m"

static hf_test_voters v;
static hf_test_clock *clocks[N];

static void with_five(void **state) {
    hf_test_voters_start(&v, N, NULL, QUERY);
    hf_test_body(state);
}

/* What they acknowledged outlives them. */
static void with_durable(void **state) {
    hf_test_voters_start(&v, N, &(hf_test_server_options){.durable = true},
                         "node_timeout=500ms");
    hf_test_body(state);
}

static void with_links(void **state) {
    hf_test_voters_start(&v, N, NULL, QUERY);
    hf_test_voters_link(&v, QUERY);
    hf_test_body(state);
}

/* They are old: by their clocks they have been running for a minute. */
static void with_clocks(void **state) {
    hf_test_server_options options = {.password = hf_test_voters_password()};
    for (int i = 0; i < N; i++)
        clocks[i] = hf_test_clock_new();
    v = (hf_test_voters){.n = N};
    for (int i = 0; i < N; i++) {
        v.servers[i] = hf_test_clock_server(clocks[i], &options);
        hf_test_clock_set(clocks[i], 60000);
    }
    hf_test_voters_write(&v, "node_timeout=500ms");
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    for (int i = 0; i < v.n; i++)
        if (v.servers[i] != NULL)
            hf_test_server_resume(v.servers[i]);
    hf_test_clear();
    hf_test_voters_stop(&v);
    return 0;
}

static hf_lock *lock_at(const char *uri, const hf_lock_options *options) {
    return hf_test_lock(hf_test_open(uri, NULL), "x", options);
}

static void says(const char *words) {
    if (strstr(hf_test_error.text, words) == NULL)
        fail_msg("'%s' is not in: %s", words, hf_test_error.text);
}

static int64_t ask_number(int i, const char *command) {
    return hf_test_server_ask_number(v.servers[i], "%s", command);
}

static bool all_vote(hf_lock *lock) {
    if (hf_lock_try(lock, ERR) == HF_OK)
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
    return hf_test_voters_have(&v, "redisson_lock_token:{x}") == N;
}

/* The client is connected to all of them; nothing else is left of that. */
static void settle(hf_lock *lock) {
    hf_test_eventually(all_vote(lock), HF_TEST_LONG);
    hf_test_eventually(hf_test_voters_have(&v, "x") == 0, HF_TEST_LONG);
    for (int i = 0; i < N; i++)
        hf_test_server_ask(v.servers[i], "DEL redisson_lock_token:{x}");
}

/* ---- killed ------------------------------------------------------------ */

static void with_two_of_five_killed_it_works(void **state) {
    (void)state;
    hf_lock *a = lock_at(v.uri, HF_LOCK_WITH(.watchdog_ms = 900));
    hf_lock *b = lock_at(v.uri, NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    hf_test_server_kill(v.servers[1]);
    hf_test_server_kill(v.servers[3]);
    hf_test_throughout(hf_lock_is_held(a), 2000); /* it is renewed */
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_true(hf_lock_token(b) > token);
    hf_expect(HF_OK, hf_lock_release(b, ERR));
}

static void with_three_of_five_killed_it_refuses_in_time(void **state) {
    (void)state;
    char away[64];
    hf_lock *a = lock_at(v.uri, NULL);
    for (int i = 0; i < 3; i++)
        hf_test_server_kill(v.servers[i]);
    hf_expect(HF_EMINORITY, hf_lock_try(a, ERR));
    says("2 of 5 servers granted it, 3 are needed");
    hf_expect(HF_EMINORITY, hf_lock_try(a, ERR)); /* now it knows why */
    snprintf(away, sizeof away, "127.0.0.1:%d is away",
             hf_test_server_port(v.servers[0]));
    says(away);
    assert_int_equal(ask_number(3, "EXISTS x"), 0); /* nothing is left */
    assert_int_equal(ask_number(4, "EXISTS x"), 0);
    hf_expect(HF_EMINORITY, hf_lock_acquire(a, 300, ERR));
    hf_test_server_restart(v.servers[0]);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
}

static void a_holder_without_a_majority_is_told_of_its_loss(void **state) {
    (void)state;
    hf_lock *a = lock_at(v.uri, HF_LOCK_WITH(.watchdog_ms = 900));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    for (int i = 0; i < 3; i++)
        hf_test_server_kill(v.servers[i]);
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    assert_false(hf_lock_is_held(a));
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
}

/* ---- silent, slow ------------------------------------------------------ */

static void servers_that_are_paused_are_not_waited_for(void **state) {
    (void)state;
    hf_test_voters_write(&v, PATIENT);
    hf_client *client = hf_test_open(v.uri, NULL);
    hf_lock *a = hf_test_lock(client, "x", NULL);
    settle(a);
    hf_test_server_pause(v.servers[0]);
    hf_test_server_pause(v.servers[4]);
    for (int i = 0; i < 20; i++) {
        hf_expect(HF_OK, hf_lock_try(a, ERR));
        hf_expect(HF_OK, hf_lock_release(a, ERR));
    }
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_server_resume(v.servers[0]);
    hf_test_server_resume(v.servers[4]); /* and catch up, in order */
    hf_test_eventually(hf_test_voters_have(&v, "x") == N, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_test_eventually(hf_test_voters_have(&v, "x") == 0, HF_TEST_LONG);
}

static void a_slow_server_is_not_waited_for(void **state) {
    (void)state;
    hf_test_voters_link(&v, PATIENT);
    hf_lock *a = lock_at(v.by_link, NULL);
    settle(a);
    hf_test_proxy_delay(v.links[2], HF_TO_CLIENT, 3 * HF_TEST_LONG);
    hf_test_server_tell(v.servers[3], "DEBUG SLEEP 2");
    for (int i = 0; i < 20; i++) {
        hf_expect(HF_OK, hf_lock_try(a, ERR));
        hf_expect(HF_OK, hf_lock_release(a, ERR));
    }
    hf_test_proxy_delay(v.links[2], HF_TO_CLIENT, 0);
}

/* The vote comes when nobody wants it any more, with its release behind it. */
static void a_vote_that_comes_too_late_is_given_back(void **state) {
    (void)state;
    hf_test_voters_write(&v, "durable=1&node_timeout=100ms");
    hf_lock *a = lock_at(v.uri, NULL);
    settle(a);
    for (int i = 0; i < 3; i++)
        hf_test_server_pause(v.servers[i]);
    hf_expect(HF_EMINORITY, hf_lock_try(a, ERR));
    says("did not answer");
    assert_int_equal(ask_number(3, "EXISTS x"), 0);
    for (int i = 0; i < 3; i++)
        hf_test_server_resume(v.servers[i]);
    hf_test_eventually(hf_test_voters_have(&v, "redisson_lock_token:{x}") == N,
                       HF_TEST_LONG); /* all have voted */
    hf_test_eventually(hf_test_voters_have(&v, "x") == 0, HF_TEST_LONG);
}

/* ---- cut off ----------------------------------------------------------- */

static void cut(int from, int to, bool on) {
    for (int i = from; i < to; i++) {
        hf_test_proxy_drop(v.links[i], HF_TO_SERVER, on);
        hf_test_proxy_drop(v.links[i], HF_TO_CLIENT, on);
        if (!on) /* what was dropped tore the stream */
            hf_test_proxy_cut(v.links[i]);
    }
}

static void a_minority_cut_off_is_not_missed(void **state) {
    (void)state;
    hf_lock *a = lock_at(v.by_link, HF_LOCK_WITH(.watchdog_ms = 900));
    hf_lock *b = lock_at(v.uri, NULL);
    cut(0, 2, true);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_test_throughout(hf_lock_is_held(a), 2000);
    hf_expect(HF_BUSY, hf_lock_try(b, ERR)); /* it sees all five */
    cut(0, 2, false);
    hf_test_eventually(hf_test_voters_have(&v, "x") == N, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
}

static void who_is_cut_off_from_a_majority_has_nothing(void **state) {
    (void)state;
    hf_lock *a = lock_at(v.by_link, HF_LOCK_WITH(.watchdog_ms = 900));
    hf_lock *b = lock_at(v.uri, NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    cut(0, 3, true);
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_false(hf_lock_is_held(a)); /* it knew before anybody else got it */
    assert_true(hf_lock_token(b) > token);
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_expect(HF_EMINORITY, hf_lock_try(a, ERR));
    cut(0, 3, false);
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
}

/* ---- restarted --------------------------------------------------------- */

/* The first holds by servers 0, 1 and 2 only; of these, one forgets. */
static void second_asks(hf_lock **a, hf_lock **b, const char *query) {
    hf_test_voters_link(&v, "node_timeout=500ms");
    *a = lock_at(v.by_link, HF_LOCK_WITH(.lease_ms = 15000));
    cut(3, 5, true);
    hf_expect(HF_OK, hf_lock_acquire(*a, HF_TEST_LONG, ERR));
    hf_test_voters_write(&v, query);
    *b = lock_at(v.uri, HF_LOCK_WITH(.lease_ms = 15000));
    hf_expect(HF_BUSY, hf_lock_try(*b, ERR));
    hf_test_clock_restart(clocks[2], v.servers[2]);
    assert_int_equal(hf_test_voters_have(&v, "x"), 2);
}

static void a_server_that_forgot_does_not_vote_while_young(void **state) {
    (void)state;
    hf_lock *a, *b;
    second_asks(&a, &b, "node_timeout=500ms");
    for (int i = 0; i < 5; i++)
        hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    assert_int_equal(ask_number(2, "EXISTS redisson_lock_token:{x}"), 0);
    assert_true(hf_lock_is_held(a));
    hf_test_clock_set(clocks[2], 120000);    /* it seems old now… */
    hf_expect(HF_BUSY, hf_lock_try(b, ERR)); /* …but not to those who saw */
}

/* What the rule is for: without it there are two holders. */
static void without_that_rule_two_would_hold(void **state) {
    (void)state;
    hf_lock *a, *b;
    second_asks(&a, &b, QUERY);
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_true(hf_lock_is_held(a));                  /* as far as it knows */
    assert_true(hf_lock_token(b) > hf_lock_token(a)); /* the token tells */
}

static void a_lock_outlives_the_restart_of_every_server(void **state) {
    (void)state;
    hf_client *client = hf_test_open(v.uri, NULL);
    hf_lock *a = hf_test_lock(
        client, "x", HF_LOCK_WITH(.watchdog_ms = 6000, .renew_ms = 50));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    for (int i = 0; i < N; i++) {
        hf_test_server_restart(v.servers[i]); /* empty */
        hf_test_eventually(ask_number(i, "EXISTS x") == 1, HF_TEST_LONG);
        hf_test_eventually(ask_number(i, "PTTL x") > 3000, HF_TEST_LONG);
        assert_true(hf_lock_is_held(a));
    }
    assert_true(atomic_load(&hf__redlock_counts(client->be)->joined) >= N);
    assert_int_equal(hf_test_voters_say(&v, (int64_t)hf_lock_token(a),
                                        "GET redisson_lock_token:{x}"),
                     N);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_test_eventually(hf_test_voters_have(&v, "x") == 0, HF_TEST_LONG);
}

static void what_is_lost_is_not_brought_back(void **state) {
    (void)state;
    hf_lock *a =
        lock_at(v.uri, HF_LOCK_WITH(.watchdog_ms = 10000, .renew_ms = 50));
    hf_lock *b = lock_at(v.uri, NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    for (int i = 0; i < 3; i++)
        hf_test_server_ask(v.servers[i], "DEL x");
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_true(hf_lock_is_held(b));
}

static void a_release_reaches_a_server_that_was_away(void **state) {
    (void)state;
    for (int posted = 0; posted < 2; posted++) {
        hf_lock *a =
            lock_at(v.uri, HF_LOCK_WITH(.flags = posted ? HF_POST_RELEASE : 0));
        hf_expect(HF_OK, hf_lock_try(a, ERR));
        hf_test_eventually(hf_test_voters_have(&v, "x") == N, HF_TEST_LONG);
        hf_test_server_kill(v.servers[0]);
        hf_test_server_kill(v.servers[1]);
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        hf_test_server_restart(v.servers[0]);
        hf_test_server_restart(v.servers[1]);
        hf_test_eventually(hf_test_voters_have(&v, "x") == 0, HF_TEST_LONG);
    }
}

/* ---- clocks ------------------------------------------------------------ */

/* A minute ahead, or behind, or back again: the others outvote it, once all
 * have voted, and the tokens keep their order. */
static void one_clock_that_jumps_does_no_harm(void **state) {
    (void)state;
    static const int jumps[] = {120000, 0, 60000, -60000, 60000};
    hf_lock *a = lock_at(v.uri, HF_LOCK_WITH(.watchdog_ms = 3000));
    hf_lock *b = lock_at(v.uri, NULL);
    uint64_t last = 0;
    for (size_t i = 0; i < sizeof jumps / sizeof *jumps; i++) {
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        assert_true(hf_lock_token(a) > last);
        hf_test_eventually(hf_test_voters_have(&v, "x") == N, HF_TEST_LONG);
        hf_test_clock_set(clocks[i], jumps[i]);
        hf_expect(HF_BUSY, hf_lock_try(b, ERR));
        last = hf_lock_token(a);
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
        assert_true(hf_lock_token(b) > last);
        last = hf_lock_token(b);
        hf_expect(HF_OK, hf_lock_release(b, ERR));
    }
}

/* The leases of a majority end a minute early, before any renewal could bring
 * them back one by one.  The second gets in; its token is higher, and the first
 * learns of it by its next renewal. */
static void clocks_of_a_majority_that_jump_end_its_locks(void **state) {
    (void)state;
    hf_lock *a =
        lock_at(v.uri, HF_LOCK_WITH(.watchdog_ms = 30000, .renew_ms = 3000));
    hf_lock *b = lock_at(v.uri, NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    hf_test_eventually(hf_test_voters_have(&v, "x") == N, HF_TEST_LONG);
    for (int i = 0; i < 3; i++)
        hf_test_clock_set(clocks[i], 120000);
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_true(hf_lock_token(b) > token);
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    assert_true(hf_lock_is_held(b));
}

/* Also when they go back, so that no clock helps. */
static void tokens_grow_whatever_the_clocks_do(void **state) {
    (void)state;
    hf_client *client = hf_test_open(v.uri, NULL);
    hf_lock *a = hf_test_lock(client, "x", NULL);
    uint64_t last = 0;
    unsigned seed = 1;
    for (int i = 0; i < 60; i++) {
        hf_test_clock_set(clocks[rand_r(&seed) % N],
                          60000 + (int)(rand_r(&seed) % 20000) - 10000);
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        assert_true(hf_lock_token(a) > last);
        last = hf_lock_token(a);
        hf_expect(HF_OK, hf_lock_release(a, ERR));
    }
    assert_true(atomic_load(&hf__redlock_counts(client->be)->written) > 0);
}

/* ---- all at once ------------------------------------------------------- */

/* One step of chaos: at most two servers are hurt at a time. */
static void hurt(unsigned *seed) {
    int first = (int)(rand_r(seed) % N), second = (int)(rand_r(seed) % N);
    hf_test_server_pause(v.servers[first]);
    if (second != first && rand_r(seed) % 2)
        hf_test_server_restart(v.servers[second]);
    for (int i = (int)(rand_r(seed) % 30); i > 0; i--)
        hf_test_breathe();
    hf_test_server_resume(v.servers[first]);
}

static bool is_done(hf_test_peer *peer, bool *done) {
    const char *answer = *done ? NULL : hf_test_peer_answer(peer, 1);
    if (answer != NULL) {
        assert_string_equal(answer, "OK");
        *done = true;
    }
    return *done;
}

static void three_processes_lose_nothing_while_servers_fail(void **state) {
    (void)state;
    enum { PEERS = 3, THREADS = 1, ROUNDS = 100 };
    hf_test_peer *peers[PEERS];
    bool done[PEERS] = {false};
    char path[160];
    unsigned seed = 7;
    hf_test_fresh_path(path, sizeof path, "counter");
    hf_test_guarded *g = hf_test_guarded_map(path);
    assert_non_null(g);
    for (int i = 0; i < PEERS; i++) {
        peers[i] = hf_test_peer_start(v.uri);
        hf_test_peer_send(peers[i], "contend %s x %d %d %d", path, THREADS,
                          ROUNDS, HF_LOCK);
    }
    for (int steps = 0; steps < 2000; steps++) {
        int n = 0;
        for (int i = 0; i < PEERS; i++)
            n += is_done(peers[i], &done[i]);
        if (n == PEERS)
            break;
        hurt(&seed);
    }
    assert_int_equal(g->overlaps, 0);
    assert_int_equal(g->disorders, 0);
    assert_int_equal(g->failures, 0);
    assert_int_equal(g->counter, PEERS * THREADS * ROUNDS);
    hf_test_guarded_unmap(g);
    for (int i = 0; i < PEERS; i++)
        hf_test_peer_stop(peers[i]);
}

/* ---- the tests --------------------------------------------------------- */

#define FIVE(name)    HF_TEST_IN(with_five, name, teardown)
#define DURABLE(name) HF_TEST_IN(with_durable, name, teardown)
#define LINKS(name)   HF_TEST_IN(with_links, name, teardown)
#define CLOCKS(name)  HF_TEST_IN(with_clocks, name, teardown)

static const struct CMUnitTest tests[] = {
    FIVE(with_two_of_five_killed_it_works),
    FIVE(with_three_of_five_killed_it_refuses_in_time),
    FIVE(a_holder_without_a_majority_is_told_of_its_loss),
    FIVE(servers_that_are_paused_are_not_waited_for),
    FIVE(a_slow_server_is_not_waited_for),
    FIVE(a_vote_that_comes_too_late_is_given_back),
    LINKS(a_minority_cut_off_is_not_missed),
    LINKS(who_is_cut_off_from_a_majority_has_nothing),
    CLOCKS(a_server_that_forgot_does_not_vote_while_young),
    CLOCKS(without_that_rule_two_would_hold),
    FIVE(a_lock_outlives_the_restart_of_every_server),
    FIVE(what_is_lost_is_not_brought_back),
    DURABLE(a_release_reaches_a_server_that_was_away),
    CLOCKS(one_clock_that_jumps_does_no_harm),
    CLOCKS(clocks_of_a_majority_that_jump_end_its_locks),
    CLOCKS(tokens_grow_whatever_the_clocks_do),
    DURABLE(three_processes_lose_nothing_while_servers_fail),
};

HF_SUITE(tests)
