/* SPDX-License-Identifier: MIT
 *
 * redlock_test.c - a majority of independent servers: what stands in each of
 * them, how their tokens become one, and what is refused. */
#include "support/stage.h"
#include "support/suite.h"
#include "support/voters.h"

#include "backend/redis/redlock/redlock.h"
#include "client.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nobody here is slow, but the machine may be. */
#define QUERY "durable=1&node_timeout=5s"

static hf_test_voters v;

static void with(void **state, int n) {
    hf_test_voters_start(&v, n, NULL, QUERY);
    hf_test_body(state);
}

static void with_three(void **state) {
    with(state, 3);
}

static void with_five(void **state) {
    with(state, 5);
}

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
    hf_test_voters_stop(&v);
    return 0;
}

static const hf_redlock_counts *counts(hf_client *client) {
    return hf__redlock_counts(client->be);
}

static int64_t ask_number(int i, const char *command) {
    return hf_test_server_ask_number(v.servers[i], "%s", command);
}

/* ---- the address ------------------------------------------------------- */

static void refused(const char *uri, int code, const char *word) {
    hf_client *client = NULL;
    hf_expect(code, hf_open(&client, uri, NULL, ERR));
    if (strstr(hf_test_error.text, word) == NULL)
        fail_msg("'%s' is not in: %s", word, hf_test_error.text);
}

static void an_even_number_or_too_few_must_be_asked_for(void **state) {
    (void)state;
    refused("redlock://127.0.0.1:1", HF_EURI, "hf_allow_even=1");
    refused("redlock://127.0.0.1:1,127.0.0.1:2", HF_EURI, "name 3 or 5");
    refused("redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3,127.0.0.1:4",
            HF_EURI, "one more or less");
    refused("redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:1", HF_EURI, "twice");
    v.n = 2; /* of three that run */
    hf_test_voters_write(&v, QUERY "&hf_allow_even=1");
    hf_lock *lock = hf_test_lock(hf_test_open(v.uri, NULL), "x", NULL);
    v.n = 3;
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    assert_int_equal(hf_test_voters_have(&v, "x"), 2);
}

static void what_an_address_does_not_know_is_refused(void **state) {
    (void)state;
    char uri[600];
    refused("redis://127.0.0.1:1?node_timeout=1s", HF_EURI, "redlock://");
    snprintf(uri, sizeof uri, "%s&lock_delay=1s", v.uri);
    refused(uri, HF_EURI, "lock_delay");
    snprintf(uri, sizeof uri, "%s&nod_timeout=1s", v.uri);
    refused(uri, HF_EURI, "node_timeout");
}

static void a_majority_is_enough_to_open_and_less_is_not(void **state) {
    (void)state;
    hf_test_server_kill(v.servers[0]);
    hf_lock *lock = hf_test_lock(hf_test_open(v.uri, NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    hf_test_server_kill(v.servers[1]);
    refused(v.uri, HF_EDOWN, "1 of 3 servers can be reached");
}

static void the_store_is_called_by_all_its_servers(void **state) {
    (void)state;
    char wanted[256];
    hf_client *client = hf_test_open(v.uri, NULL);
    snprintf(wanted, sizeof wanted,
             "redlock://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/0",
             hf_test_server_port(v.servers[0]),
             hf_test_server_port(v.servers[1]),
             hf_test_server_port(v.servers[2]));
    assert_string_equal(hf_store(client), wanted);
}

/* ---- what stands in the servers ---------------------------------------- */

static void every_server_has_the_lock_in_redissons_layout(void **state) {
    (void)state;
    char owner[128], command[256];
    hf_lock *lock = hf_test_lock(hf_test_open(v.uri, NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_lock_owner(lock, owner, sizeof owner);
    snprintf(command, sizeof command, "HGET x %s", owner);
    hf_test_eventually(hf_test_voters_say(&v, 1, command) == 3, HF_TEST_LONG);
    assert_int_equal(hf_test_voters_say(&v, 1, "HLEN x"), 3);
    for (int i = 0; i < 3; i++)
        assert_in_range(ask_number(i, "PTTL x"), 1, 30000);
    assert_int_equal(hf_test_voters_say(&v, (int64_t)hf_lock_token(lock),
                                        "GET redisson_lock_token:{x}"),
                     3);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    hf_test_eventually(hf_test_voters_have(&v, "x") == 0, HF_TEST_LONG);
    assert_int_equal(hf_test_voters_have(&v, "redisson_lock_token:{x}"), 3);
}

static void a_simple_lock_is_one_value_of_32_digits(void **state) {
    (void)state;
    hf_client *client = hf_test_open(v.uri, NULL);
    hf_lock *lock = hf_test_lock(client, "x", HF_LOCK_WITH(.kind = HF_SIMPLE));
    char value[64];
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_test_eventually(hf_test_voters_have(&v, "x") == 3, HF_TEST_LONG);
    snprintf(value, sizeof value, "%s",
             hf_test_server_ask(v.servers[0], "GET x"));
    assert_int_equal(strlen(value), 32);
    assert_int_equal(strspn(value, "0123456789abcdef"), 32);
    for (int i = 1; i < 3; i++)
        assert_string_equal(hf_test_server_ask(v.servers[i], "GET x"), value);
    assert_true(hf_lock_token(lock) > 0);
    hf_expect(HF_OK, hf_lock_extend(lock, 60000, ERR));
    hf_test_eventually(ask_number(2, "PTTL x") > 30000, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    hf_test_eventually(hf_test_voters_have(&v, "x") == 0, HF_TEST_LONG);
}

static void a_spin_lock_is_the_lock_of_its_name(void **state) {
    (void)state;
    hf_client *client = hf_test_open(v.uri, NULL);
    hf_lock *spin = hf_test_lock(client, "x", HF_LOCK_WITH(.kind = HF_SPIN));
    hf_lock *lock = hf_test_lock(hf_test_open(v.uri, NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(spin, ERR));
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_release(spin, ERR));
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_ETIMEOUT, hf_lock_acquire(spin, 50, ERR));
}

/* As a Java thread would hold it. */
static const char stranger[] = "11111111-2222-4333-8444-555555555555:7";

static void strangers_hold(int from, int to) {
    for (int i = from; i < to; i++) {
        hf_test_server_ask(v.servers[i], "HSET x %s 1", stranger);
        hf_test_server_ask(v.servers[i], "PEXPIRE x 60000");
    }
}

static void a_holder_on_one_server_is_respected_there(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(hf_test_open(v.uri, NULL), "x", NULL);
    strangers_hold(0, 2);
    hf_expect(HF_OK, hf_lock_try(lock, ERR)); /* by the other three */
    for (int i = 0; i < 2; i++)
        assert_string_equal(hf_test_server_ask(v.servers[i], "HKEYS x"),
                            stranger);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    strangers_hold(0, 3);
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    assert_int_equal(hf_test_voters_have(&v, "x"), 3);
}

static void a_failed_attempt_leaves_nothing_anywhere(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(hf_test_open(v.uri, NULL), "x", NULL);
    strangers_hold(1, 4);
    for (int i = 0; i < 20; i++) {
        hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
        assert_int_equal(ask_number(0, "EXISTS x"), 0);
        assert_int_equal(ask_number(4, "EXISTS x"), 0);
    }
}

static void kinds_that_a_majority_cannot_keep_are_refused(void **state) {
    (void)state;
    static const hf_kind kinds[] = {HF_FAIR, HF_READ, HF_WRITE, HF_PERMIT};
    hf_client *client = hf_test_open(v.uri, NULL);
    hf_semaphore *sem;
    hf_latch *latch;
    hf_lock *lock;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        hf_expect(HF_ECANNOT, hf_lock_new(&lock, client, "x",
                                          HF_LOCK_WITH(.kind = kinds[i]), ERR));
    hf_expect(HF_ECANNOT, hf_semaphore_new(&sem, client, "x", ERR));
    hf_expect(HF_ECANNOT, hf_latch_new(&latch, client, "x", ERR));
    hf_expect(HF_ECANNOT, hf_lock_new(&lock, client, "x",
                                      HF_LOCK_WITH(.replicas = 1), ERR));
}

/* ---- tokens ------------------------------------------------------------ */

static void servers_that_agree_need_one_round(void **state) {
    (void)state;
    hf_client *client = hf_test_open(v.uri, NULL);
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    uint64_t last = 0;
    for (int i = 0; i < 50; i++) {
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        assert_true(hf_lock_token(lock) > last);
        last = hf_lock_token(lock);
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
    }
    assert_int_equal(atomic_load(&counts(client)->one_round), 50);
    assert_int_equal(atomic_load(&counts(client)->written), 0);
}

/* Every server names its own clock: the highest is written back. */
static void servers_that_differ_are_told_the_highest_token(void **state) {
    (void)state;
    hf_client *client = hf_test_open(v.uri, NULL);
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    uint64_t last = 0;
    char command[64];
    hf__redlock_be_blunt(client->be, true);
    for (int i = 0; i < 50; i++) {
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        uint64_t token = hf_lock_token(lock);
        assert_true(token > last);
        last = token;
        snprintf(command, sizeof command, "GET redisson_lock_token:{x}");
        assert_in_range(hf_test_voters_say(&v, (int64_t)token, command), 3, 5);
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
    }
    assert_true(atomic_load(&counts(client)->written) > 0);
    assert_int_equal(atomic_load(&counts(client)->written) +
                         atomic_load(&counts(client)->one_round),
                     50);
}

/* A server that was ahead of the others, and is heard of late, does not spoil
 * the order. */
static void a_token_that_was_higher_on_one_server_is_passed(void **state) {
    (void)state;
    hf_client *client = hf_test_open(v.uri, NULL);
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    uint64_t last = 0;
    for (int i = 0; i < 5; i++) {
        int64_t ahead = (int64_t)hf__world->wall_us() + 500000;
        hf_test_server_ask(v.servers[i], "SET redisson_lock_token:{x} %lld",
                           (long long)ahead);
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        assert_true(hf_lock_token(lock) > last);
        last = hf_lock_token(lock);
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
    }
}

static void the_last_token_is_the_majoritys(void **state) {
    (void)state;
    uint64_t token = 0;
    hf_lock *lock = hf_test_lock(hf_test_open(v.uri, NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_last_token(lock, &token, ERR));
    assert_int_equal(token, 0);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_test_server_ask(v.servers[0], "SET redisson_lock_token:{x} 17");
    hf_test_server_ask(v.servers[1],
                       "SET redisson_lock_token:{x} 9000000000000000");
    hf_expect(HF_OK, hf_lock_last_token(lock, &token, ERR));
    assert_true(token == hf_lock_token(lock));
    hf_test_server_kill(v.servers[2]);
    hf_expect(HF_OK, hf_lock_last_token(lock, &token, ERR));
    assert_true(token >= hf_lock_token(lock));
}

/* ---- verbs ------------------------------------------------------------- */

static hf_time soon(void) {
    return hf__after_ms(HF_TEST_LONG);
}

/* Its late release must not find the next attempt's vote. */
static void no_name_is_used_again_once_it_was_released(void **state) {
    (void)state;
    hf_backend *be = hf_test_open(v.uri, NULL)->be;
    hf_claim c = {.name = "x", .kind = HF_LOCK, .owner = 5, .lease_ms = 60000};
    uint64_t seen[4];
    strangers_hold(0, 3);
    for (int i = 0; i < 3; i++) {
        hf_expect(HF_BUSY, be->ops->attempt(be, &c, true, soon(), ERR));
        seen[i] = c.owner;
    }
    for (int i = 0; i < 3; i++)
        hf_test_server_ask(v.servers[i], "DEL x");
    hf_expect(HF_OK, be->ops->attempt(be, &c, true, soon(), ERR));
    seen[3] = c.owner;
    assert_int_equal(seen[0], 5);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++)
            assert_true(seen[i] != seen[k]);
    hf_expect(HF_OK, be->ops->attempt(be, &c, true, soon(), ERR));
    assert_true(c.owner == seen[3]); /* while it stands it is the same */
    hf_expect(HF_OK, be->ops->release(be, &c, HF_RELEASE, NULL, soon(), ERR));
}

static void a_block_of_tokens_is_confirmed_to_its_end(void **state) {
    (void)state;
    hf_backend *be = hf_test_open(v.uri, NULL)->be;
    hf_claim c = {.name = "x",
                  .kind = HF_LOCK,
                  .owner = 5,
                  .lease_ms = 60000,
                  .block = 10},
             next = c;
    for (int blunt = 0; blunt < 2; blunt++) {
        hf__redlock_be_blunt(be, blunt);
        hf_expect(HF_OK, be->ops->attempt(be, &c, true, soon(), ERR));
        assert_true(c.last_token == c.token + 9);
        hf_expect(HF_OK,
                  be->ops->release(be, &c, HF_RELEASE, NULL, soon(), ERR));
        next.owner = c.owner + 1;
        next.place = 0;
        hf_expect(HF_OK, be->ops->attempt(be, &next, true, soon(), ERR));
        assert_true(next.token > c.last_token);
        hf_expect(HF_OK,
                  be->ops->release(be, &next, HF_RELEASE, NULL, soon(), ERR));
        c.owner = next.owner + 1;
        c.place = 0;
    }
}

static void scripts_that_were_flushed_are_sent_again(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(hf_test_open(v.uri, NULL), "x", NULL);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            hf_test_server_ask(v.servers[k], "SCRIPT FLUSH");
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        for (int k = 0; k < 3; k++)
            hf_test_server_ask(v.servers[k], "SCRIPT FLUSH");
        hf_expect(HF_OK, hf_lock_extend(lock, 20000, ERR));
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        hf_test_eventually(hf_test_voters_have(&v, "x") == 0, HF_TEST_LONG);
    }
}

static void nothing(void *arg, const hf_place *place) {
    (void)arg, (void)place;
    fail_msg("a place was told");
}

static void only_a_majority_holds_in_the_list(void **state) {
    (void)state;
    hf_client *client = hf_test_open(v.uri, NULL);
    strangers_hold(0, 1);
    assert_int_equal(hf_test_holders(client, "x"), 0);
    assert_int_equal(hf_test_holders(client, NULL), 0);
    strangers_hold(1, 2);
    assert_int_equal(hf_test_holders(client, "x"), 1);
    assert_int_equal(hf_test_holders(client, NULL), 1);
    hf_test_server_kill(v.servers[2]);
    assert_int_equal(hf_test_holders(client, "x"), 1);
    hf_test_server_kill(v.servers[1]);
    hf_expect(HF_EMINORITY, hf_list(client, "x", nothing, NULL, ERR));
}

static void note_doing(void *arg, const hf_identity *who, const char *doing) {
    char *to = arg;

    (void)who;
    assert_string_equal(to, ""); /* it is told once */
    snprintf(to, 64, "%s", doing);
}

/* Servers that were away have an old record of a client. */
static void the_newest_record_of_a_client_is_told(void **state) {
    (void)state;
    char told[64] = "";
    hf_options hidden = HF_OPTIONS_INIT;
    hidden.lease_ms = 600000; /* no record but those we write */
    hf_backend *be = hf_test_open(v.uri, &hidden)->be;
    const char *client = be->host->identity.client;
    for (int i = 1; i < 3; i++)
        hf_expect(HF_OK, be->ops->announce(be, i == 1 ? "older" : "newer",
                                           600000, soon(), ERR));
    for (int i = 0; i < 3; i++)
        hf_test_eventually(
            strstr(hf_test_server_ask(v.servers[i], "GET holdfast:client:%s",
                                      client),
                   "newer"),
            HF_TEST_LONG);
    for (int i = 0; i < 3; i += 2)
        hf_test_server_ask(v.servers[i],
                           "SET holdfast:client:%s "
                           "\"pid=1\\nnumber=1\\ndoing=older\"",
                           client);
    hf_expect(HF_OK, be->ops->clients(be, note_doing, told, soon(), ERR));
    assert_string_equal(told, "newer");
}

static void force_needs_a_majority_and_frees_all(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(hf_test_open(v.uri, NULL), "x", NULL);
    hf_expect(HF_EFREE, hf_lock_force_release(lock, NULL, ERR));
    strangers_hold(0, 2);
    hf_expect(HF_OK, hf_lock_force_release(lock, stranger, ERR));
    assert_int_equal(hf_test_voters_have(&v, "x"), 0);
    hf_test_server_kill(v.servers[1]);
    hf_test_server_kill(v.servers[2]);
    strangers_hold(0, 1);
    hf_expect(HF_EMINORITY, hf_lock_force_release(lock, NULL, ERR));
}

/* What a server answers to a client that has lost its lock here, and wants to
 * come back with the token 100 `us` after it asked. */
static long long joins(redisContext *redis, const char *script, int64_t us) {
    redisReply *reply = redisCommand(
        redis, "EVAL %s 2 x redisson_lock_token:{x} join %lld 60000 %s 100",
        script, (long long)(hf__world->wall_us() - us), stranger);
    assert_non_null(reply);
    assert_int_equal(reply->elements, 1);
    long long said = reply->element[0]->integer;
    freeReplyObject(reply);
    return said;
}

static void a_lock_comes_back_unless_a_later_holder_was_there(void **state) {
    (void)state;
    enum { SECOND = 1000000 };
    hf_scripts scripts;
    hf_expect(HF_OK, hf__scripts_init(&scripts, &(hf_manner){0}, ERR));
    const char *script = scripts.text[HF_SCRIPT_REDLOCK_CONFIRM];
    redisContext *redis =
        redisConnect("127.0.0.1", hf_test_server_port(v.servers[0]));
    assert_int_equal(redis->err, 0);
    freeReplyObject(redisCommand(redis, "AUTH %s", hf_test_voters_password()));
    hf_test_server_ask(v.servers[0], "SET redisson_lock_token:{x} 100");
    assert_int_equal(joins(redis, script, 60 * SECOND), 1);
    assert_int_equal(joins(redis, script, 60 * SECOND), 1); /* it holds */
    hf_test_server_ask(v.servers[0], "DEL x");
    hf_test_server_ask(v.servers[0], "SET redisson_lock_token:{x} 101");
    assert_int_equal(joins(redis, script, 60 * SECOND), 0);
    assert_int_equal(ask_number(0, "EXISTS x"), 0);
    assert_int_equal(joins(redis, script, 0), 1); /* nobody was, so lately */
    assert_int_equal(ask_number(0, "GET redisson_lock_token:{x}"), 101);
    hf_test_server_ask(v.servers[0], "DEL x");
    hf_test_server_ask(v.servers[0], "HSET x somebody:1 1");
    assert_int_equal(joins(redis, script, 0), -1);
    redisFree(redis);
    hf__scripts_clear(&scripts);
}

/* ---- who may vote ------------------------------------------------------ */

typedef struct report {
    char text[4096];
} report;

static void write_down(void *arg, hf_verdict_level level, const char *what,
                       const char *text) {
    report *r = arg;
    size_t len = strlen(r->text);
    snprintf(r->text + len, sizeof r->text - len, "%s%s: %s\n",
             level == HF_WARN ? "! " : "", what, text);
}

static void examined(hf_client *client, const char *words) {
    report r = {""};
    hf_expect(HF_OK, hf_examine(client, write_down, &r, ERR));
    if (strstr(r.text, words) == NULL)
        fail_msg("'%s' is not in: %s", words, r.text);
}

static void servers_that_may_forget_do_not_vote(void **state) {
    (void)state;
    hf_test_server_ask(v.servers[0], "CONFIG SET maxmemory 100mb "
                                     "maxmemory-policy allkeys-lru");
    hf_test_server_ask(v.servers[1], "REPLICAOF 127.0.0.1 %d",
                       hf_test_server_port(v.servers[2])); /* in vain */
    hf_client *client = hf_test_open(v.uri, NULL);
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    examined(client, "does not vote: it throws out keys");
    examined(client, "does not vote: it is a replica");
    examined(client, "! majority: 3 of 5 servers vote, 3 are needed: none of "
                     "them may fail");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    hf_test_server_kill(v.servers[4]);
    hf_expect(HF_EMINORITY, hf_lock_try(lock, ERR));
    assert_non_null(strstr(hf_test_error.text, "2 of 5 servers granted it"));
    assert_non_null(strstr(hf_test_error.text, "may not vote"));
}

/* Nobody says that these servers forget nothing, and they do not either. */
static void servers_that_were_just_started_do_not_vote(void **state) {
    (void)state;
    hf_test_voters_write(&v, "node_timeout=5s");
    hf_client *client = hf_test_open(v.uri, NULL);
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    examined(client, "it was started lately");
    hf_expect(HF_EMINORITY, hf_lock_try(lock, ERR));
    assert_non_null(strstr(hf_test_error.text, "0 of 3 servers granted it"));
    for (int i = 0; i < 2; i++) {
        hf_test_server_ask(v.servers[i], "CONFIG SET appendonly yes");
        hf_test_server_ask(v.servers[i], "CONFIG SET appendfsync always");
    }
    client = hf_test_open(v.uri, NULL); /* asks them anew */
    lock = hf_test_lock(client, "x", NULL);
    examined(client, "votes: Redis");
    examined(client, "writes down every vote");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
}

/* ---- safe wires -------------------------------------------------------- */

static void with_tls(void **state) {
    const hf_test_tls *tls = hf_test_tls_files();
    hf_test_voters_start(
        &v, 3,
        &(hf_test_server_options){.password = "sesame", .tls_cert = tls->cert},
        QUERY);
    hf_test_body(state);
}

static void it_works_with_passwords_and_tls(void **state) {
    (void)state;
    char uri[512];
    snprintf(uri, sizeof uri,
             "redlocks://:%s@127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d?" QUERY
             "&tls_ca=%s",
             hf_test_voters_password(), hf_test_server_tls_port(v.servers[0]),
             hf_test_server_tls_port(v.servers[1]),
             hf_test_server_tls_port(v.servers[2]), hf_test_tls_files()->ca);
    hf_client *client = hf_test_open(uri, NULL);
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    hf_lock *other = hf_test_lock(hf_test_open(uri, NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_BUSY, hf_lock_try(other, ERR));
    hf_test_thread waiter;
    hf_test_begin(&waiter, other, HF_FOREVER);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    assert_null(strstr(hf_store(client), hf_test_voters_password()));
}

static void a_wrong_password_is_told(void **state) {
    (void)state;
    char uri[256];
    snprintf(uri, sizeof uri,
             "redlock://:wrong@127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d",
             hf_test_server_port(v.servers[0]),
             hf_test_server_port(v.servers[1]),
             hf_test_server_port(v.servers[2]));
    refused(uri, HF_EAUTH, "password");
}

/* ---- the tests --------------------------------------------------------- */

#define THREE(name) HF_TEST_IN(with_three, name, teardown)
#define FIVE(name)  HF_TEST_IN(with_five, name, teardown)
#define TLS(name)   HF_TEST_IN(with_tls, name, teardown)

static const struct CMUnitTest tests[] = {
    THREE(an_even_number_or_too_few_must_be_asked_for),
    THREE(what_an_address_does_not_know_is_refused),
    THREE(a_majority_is_enough_to_open_and_less_is_not),
    THREE(the_store_is_called_by_all_its_servers),
    THREE(every_server_has_the_lock_in_redissons_layout),
    THREE(a_simple_lock_is_one_value_of_32_digits),
    THREE(a_spin_lock_is_the_lock_of_its_name),
    FIVE(a_holder_on_one_server_is_respected_there),
    FIVE(a_failed_attempt_leaves_nothing_anywhere),
    THREE(kinds_that_a_majority_cannot_keep_are_refused),
    THREE(servers_that_agree_need_one_round),
    FIVE(servers_that_differ_are_told_the_highest_token),
    FIVE(a_token_that_was_higher_on_one_server_is_passed),
    FIVE(the_last_token_is_the_majoritys),
    THREE(no_name_is_used_again_once_it_was_released),
    THREE(a_block_of_tokens_is_confirmed_to_its_end),
    THREE(scripts_that_were_flushed_are_sent_again),
    THREE(only_a_majority_holds_in_the_list),
    THREE(the_newest_record_of_a_client_is_told),
    THREE(force_needs_a_majority_and_frees_all),
    THREE(a_lock_comes_back_unless_a_later_holder_was_there),
    FIVE(servers_that_may_forget_do_not_vote),
    THREE(servers_that_were_just_started_do_not_vote),
    TLS(it_works_with_passwords_and_tls),
    TLS(a_wrong_password_is_told),
};

HF_SUITE(tests)
