/* SPDX-License-Identifier: MIT
 *
 * redis_seat.h - the Redis store without a core, and an ear at its server:
 * what the tests of its numbers and of its lists sit on. */
#ifndef HF_TEST_REDIS_SEAT_H
#define HF_TEST_REDIS_SEAT_H

#include "support/proxy.h"
#include "support/server.h"
#include "support/stage.h"
#include "support/suite.h"

#include "backend/redis/redis.h"
#include "world.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const hf_backend_ops hf__redis_ops;

#define CLIENT "11111111-2222-4333-8444-555555555555"

static hf_test_server *server;
static hf_test_proxy *proxy;
static hf_backend *be;
static redisContext *ear;
static const char *woken_for; /* the name whose wakings are counted */
static atomic_int woken[HF_KINDS];

static inline void on_woken(void *core, hf_kind kind, const char *name,
                            uint64_t owner) {
    (void)core, (void)owner;
    if (name && woken_for && strcmp(name, woken_for) == 0)
        atomic_fetch_add(&woken[kind], 1);
}

static inline void on_shaken(void *core, hf_kind kind, const char *name) {
    (void)core, (void)kind, (void)name;
}

static inline void on_unreleased(void *core, const char *name, int code) {
    (void)core, (void)name, (void)code;
}

static hf_host host = {
    .identity = {.client = CLIENT, .host = "here", .program = "a test"},
    .timeout_ms = 3000,
    .woken = on_woken,
    .shaken = on_shaken,
    .unreleased = on_unreleased,
};

/* ---- life -------------------------------------------------------------- */

static inline hf_time soon(void) {
    return hf__after_ms(HF_TEST_LONG);
}

static inline void sit(const char *text) {
    hf_uri *uri = NULL;

    hf_expect(HF_OK, hf_uri_parse(&uri, text, ERR));
    int rc = hf__redis_ops.open(&be, uri, &host, soon(), ERR);
    hf_uri_free(uri);
    hf_expect(HF_OK, rc);
}

static inline void rise(void) {
    if (be)
        hf__redis_ops.close(be, false);
    be = NULL;
}

static inline redisContext *raw(int port) {
    struct timeval long_time = {.tv_sec = HF_TEST_LONG / 1000};
    redisContext *c = redisConnectWithTimeout("127.0.0.1", port, long_time);

    assert_non_null(c);
    assert_int_equal(c->err, 0);
    redisSetTimeout(c, long_time);
    return c;
}

static inline void listen_in(void) {
    ear = raw(hf_test_server_port(server));
    freeReplyObject(redisCommand(ear, "PSUBSCRIBE *"));
}

/* What was published since the last look, "channel payload" on lines. */
static inline const char *heard(void) {
    static char text[4096];
    bool end = false;
    size_t len = 0;

    text[0] = '\0';
    hf_test_server_ask(server, "PUBLISH the-end 0");
    while (!end) {
        redisReply *reply = NULL;
        assert_int_equal(redisGetReply(ear, (void **)&reply), REDIS_OK);
        assert_int_equal(reply->elements, 4);
        end = strcmp(reply->element[2]->str, "the-end") == 0;
        if (!end)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s %s\n",
                                    reply->element[2]->str,
                                    reply->element[3]->str);
        freeReplyObject(reply);
        assert_true(len < sizeof text);
    }
    return text;
}

static inline void with_a_bare_server(void **state) {
    server = hf_test_server_start(NULL);
    hf_test_body(state);
}

static inline void with_a_server(void **state) {
    server = hf_test_server_start(NULL);
    sit(hf_test_server_uri(server));
    listen_in();
    hf_test_body(state);
}

static inline void with_a_proxy(void **state) {
    char uri[64];

    host.timeout_ms = 300;
    server = hf_test_server_start(NULL);
    proxy = hf_test_proxy_start(hf_test_server_port(server));
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d",
             hf_test_proxy_port(proxy));
    sit(uri);
    listen_in();
    hf_test_body(state);
}

static inline int teardown(void **state) {
    (void)state;
    rise();
    if (ear)
        redisFree(ear);
    hf_test_clear();
    hf_test_proxy_stop(proxy);
    hf_test_server_stop(server);
    ear = NULL;
    proxy = NULL;
    server = NULL;
    return 0;
}

/* ---- verbs in short ---------------------------------------------------- */

/* A new claim, as the core makes them; its nonce begins with 1, 2, … and is
 * text where a test wants to read it. */
static inline hf_claim claim(hf_kind kind, const char *name, int permits) {
    static atomic_uint made;
    unsigned n = ++made;
    hf_claim c = {.name = name,
                  .kind = kind,
                  .mode = kind == HF_LATCH ? HF_ZERO :
                          kind == HF_READ  ? HF_SHARED :
                          permits          ? HF_PERMITS :
                                             HF_EXCLUSIVE,
                  .permits = permits,
                  .owner = n,
                  .lease_ms = 30000};

    memcpy(c.nonce, &n, sizeof n);
    c.nonce[5] = '\n'; /* ids are bytes, not texts */
    return c;
}

static inline int attempt(hf_claim *c) {
    return hf__redis_ops.attempt(be, c, false, soon(), ERR);
}

static inline int release(hf_claim *c, hf_how how) {
    return hf__redis_ops.release(be, c, how, NULL, soon(), ERR);
}

static inline int force(hf_kind kind, const char *name, const char *whose) {
    hf_claim c = claim(kind, name, 0);

    return hf__redis_ops.release(be, &c, HF_RELEASE_FORCED, whose, soon(), ERR);
}

static inline int renew(hf_claim *c) {
    hf_claim *one = c;

    hf_expect(HF_OK, hf__redis_ops.renew(be, &one, 1, soon(), ERR));
    return c->result;
}

static inline int watch(const hf_claim *c, bool on) {
    return hf__redis_ops.watch(be, c, on, soon(), ERR);
}

static inline int count(hf_claim *c, hf_count_op op, int64_t *value) {
    return hf__redis_ops.count(be, c, op, value, soon(), ERR);
}

/* Does it, with a claim of its own, and gives what came of it. */
static inline int64_t must(hf_kind kind, const char *name, hf_count_op op,
                           int64_t value) {
    hf_claim c = claim(kind, name, 0);

    c.lease_ms = 0;
    hf_expect(HF_OK, count(&c, op, &value));
    return value;
}

static inline int cannot(hf_kind kind, const char *name, hf_count_op op,
                         int64_t value) {
    hf_claim c = claim(kind, name, 0);

    c.lease_ms = 0;
    return count(&c, op, &value);
}

/* ---- looking ----------------------------------------------------------- */

static inline bool exists(const char *key) {
    return hf_test_server_ask_number(server, "EXISTS %s", key) == 1;
}

static inline void assert_value(const char *key, const char *wanted) {
    assert_string_equal(hf_test_server_ask(server, "GET %s", key), wanted);
}

#define assert_heard(wanted) assert_string_equal(heard(), wanted)

#define TEST(name)       HF_TEST_IN(with_a_server, name, teardown)
#define TEST_BARE(name)  HF_TEST_IN(with_a_bare_server, name, teardown)
#define TEST_PROXY(name) HF_TEST_IN(with_a_proxy, name, teardown)

#endif
