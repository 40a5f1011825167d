/* SPDX-License-Identifier: MIT
 *
 * guard_redis_test.c - a Redis server refuses older tokens. */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cluster.h"
#include "support/server.h"
#include "support/suite.h"
#include "support/wait.h"

#include "holdfast.h"

enum { WRITERS = 6, ROUNDS = 200, SPREAD = 12, WORDS = 12 };

static hf_test_server *server;

static redisContext *dial(void) {
    redisContext *conn = redisConnect("127.0.0.1", hf_test_server_port(server));
    assert_non_null(conn);
    assert_int_equal(conn->err, 0);
    return conn;
}

/* EVAL guard 2 {x}:guard {x}:list TOKEN WORD…; the words end with NULL. */
static redisReply *guarded(redisContext *conn, const char *token,
                           const char *const *words) {
    const char *argv[WORDS] = {
        "EVAL", hf_guard_text("redis"), "2", "{x}:guard", "{x}:list", token};
    int argc = 6;
    while (*words)
        argv[argc++] = *words++;
    redisReply *r = redisCommandArgv(conn, argc, argv, NULL);
    assert_non_null(r);
    return r;
}

#define GUARDED(conn, token, ...)                                              \
    guarded(conn, token, (const char *const[]){__VA_ARGS__, NULL})
#define BARE(conn, token) guarded(conn, token, (const char *const[]){NULL})

/* What it gave, as text; and frees it. */
static void gives(redisReply *r, const char *text) {
    char got[160];
    if (r->type == REDIS_REPLY_INTEGER)
        snprintf(got, sizeof got, "%lld", r->integer);
    else
        snprintf(got, sizeof got, "%s", r->str ? r->str : "(nil)");
    freeReplyObject(r);
    assert_string_equal(got, text);
}

static void start(void) {
    server = hf_test_server_start(NULL);
}

static int discard(void **state) {
    (void)state;
    hf_test_server_stop(server);
    server = NULL;
    return 0;
}

static void older_tokens_are_refused_and_nothing_is_done(void **state) {
    (void)state;
    start();
    redisContext *c = dial();
    gives(GUARDED(c, "9007199254740993", "RPUSH", "{x}:list", "a"), "1");
    gives(GUARDED(c, "9007199254740993", "RPUSH", "{x}:list", "b"), "2");
    gives(GUARDED(c, "9007199254740992", "RPUSH", "{x}:list", "c"),
          "FENCED token 9007199254740992 is older than 9007199254740993");
    gives(GUARDED(c, "7", "DEL", "{x}:list"),
          "FENCED token 7 is older than 9007199254740993");
    gives(GUARDED(c, "10000000000000000", "RPUSH", "{x}:list", "d"), "3");
    gives(BARE(c, "10000000000000000"), "OK");
    gives(BARE(c, "9999999999999999"), "FENCED token 9999999999999999 is older "
                                       "than 10000000000000000");
    gives(BARE(c, "10000000000000001"), "OK");
    gives(redisCommand(c, "LLEN {x}:list"), "3");
    redisFree(c);
}

static void no_token_at_all_is_refused(void **state) {
    (void)state;
    start();
    redisContext *c = dial();
    for (const char *const *bad =
             (const char *const[]){"", "0", "-1", "x", "1e9", "007", NULL};
         *bad; bad++)
        gives(GUARDED(c, *bad, "SET", "{x}:list", "a"),
              "FENCED there is no token");
    gives(redisCommand(c, "DBSIZE"), "0");
    redisFree(c);
}

static void what_the_command_says_is_the_answer(void **state) {
    (void)state;
    start();
    redisContext *c = dial();
    gives(GUARDED(c, "5", "SET", "{x}:list", "v", "PX", "60000"), "OK");
    gives(GUARDED(c, "5", "GET", "{x}:list"), "v");
    redisReply *r = GUARDED(c, "6", "RPUSH", "{x}:list", "w");
    assert_int_equal(r->type, REDIS_REPLY_ERROR);
    assert_non_null(strstr(r->str, "WRONGTYPE"));
    freeReplyObject(r);
    gives(redisCommand(c, "TTL {x}:guard"), "-1"); /* it does not expire */
    redisFree(c);
}

typedef struct writer {
    pthread_t thread;
    redisContext *conn;
    unsigned seed;
    int passed, refused;
} writer;

/* Growing tokens, with late ones among them. */
static void *write_many(void *arg) {
    writer *w = arg;
    for (int i = 0; i < ROUNDS; i++) {
        char token[24];
        snprintf(token, sizeof token, "%d",
                 95 + i + (int)(rand_r(&w->seed) % SPREAD));
        redisReply *r = GUARDED(w->conn, token, "RPUSH", "{x}:list", token);
        w->passed += r->type == REDIS_REPLY_INTEGER;
        w->refused += r->type == REDIS_REPLY_ERROR &&
                      strncmp(r->str, "FENCED token", 12) == 0;
        freeReplyObject(r);
    }
    return NULL;
}

static void many_writers_never_go_back(void **state) {
    (void)state;
    writer writers[WRITERS] = {0};
    int passed = 0, refused = 0;
    long long last = 0;
    start();
    for (int i = 0; i < WRITERS; i++) {
        writers[i].conn = dial();
        writers[i].seed = (unsigned)hf_test_now_ms() + (unsigned)i;
        pthread_create(&writers[i].thread, NULL, write_many, &writers[i]);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        passed += writers[i].passed;
        refused += writers[i].refused;
    }
    assert_int_equal(passed + refused, WRITERS * ROUNDS);
    assert_true(passed > 0 && refused > 0);
    redisReply *r = redisCommand(writers[0].conn, "LRANGE {x}:list 0 -1");
    assert_int_equal(r->elements, passed);
    for (size_t i = 0; i < r->elements; i++) {
        long long token = atoll(r->element[i]->str);
        assert_true(token >= last);
        last = token;
    }
    freeReplyObject(r);
    for (int i = 0; i < WRITERS; i++)
        redisFree(writers[i].conn);
}

/* A server that is part of a cluster refuses keys that are apart. */
static void in_a_cluster_its_keys_are_in_one_slot(void **state) {
    (void)state;
    server = hf_test_server_start(&(hf_test_server_options){.clustered = true});
    redisContext *c = dial();
    gives(redisCommand(c, "CLUSTER ADDSLOTSRANGE 0 16383"), "OK");
    hf_test_eventually(
        strstr(hf_test_server_ask(server, "CLUSTER INFO"), "cluster_state:ok"),
        HF_TEST_LONG);
    gives(GUARDED(c, "5", "RPUSH", "{x}:list", "a"), "1");
    gives(GUARDED(c, "4", "RPUSH", "{x}:list", "a"),
          "FENCED token 4 is older than 5");
    redisFree(c);
}

#define TEST(name) cmocka_unit_test_teardown(name, discard)
static const struct CMUnitTest tests[] = {
    TEST(older_tokens_are_refused_and_nothing_is_done),
    TEST(no_token_at_all_is_refused),
    TEST(what_the_command_says_is_the_answer),
    TEST(many_writers_never_go_back),
    TEST(in_a_cluster_its_keys_are_in_one_slot),
};
HF_SUITE(tests)
