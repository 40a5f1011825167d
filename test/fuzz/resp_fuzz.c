/* SPDX-License-Identifier: MIT
 *
 * resp_fuzz.c - any bytes as what a Redis server sends, in pieces of any size.
 *
 * The first byte says how: its low bits how many bytes come at a time, its
 * highest whether the server hangs up at the end or falls silent.  The rest is
 * the server's, and goes through the world, the connection and the link to
 * those who asked.  Whoever asked is told the same as when all of it comes at
 * once, and no reply is lost or given twice.  Reading it costs no more memory
 * than a reply may have. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "backend/redis/link.h"
#include "backend/redis/reply.h"
#include "err.h"
#include "world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- a server that says what we want ----------------------------------- */

static const uint8_t *at, *end;
static size_t piece;
static bool hangs_up, breathes;
static hf_time moment;

static hf_time fake_now(void) {
    return moment += 1000;
}

static void fake_random(void *buf, size_t size) {
    memset(buf, 7, size);
}

/* A real one, for those who ask the system about it. */
static int fake_dial(const struct sockaddr *addr, socklen_t len) {
    static int pair[2];
    (void)addr, (void)len;
    if (pair[1] == 0)
        assert(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    return pair[0];
}

static ssize_t fake_send(int fd, const void *buf, size_t size) {
    (void)fd, (void)buf;
    return (ssize_t)size;
}

/* Between two pieces there is a moment in which nothing has come. */
static ssize_t fake_recv(int fd, void *buf, size_t size) {
    size_t n = (size_t)(end - at);
    (void)fd;
    breathes = !breathes;
    if ((breathes && n > 0) || (n == 0 && !hangs_up)) {
        errno = EAGAIN;
        return -1;
    }
    n = n < piece ? n : piece;
    n = n < size ? n : size;
    memcpy(buf, at, n);
    at += n;
    return (ssize_t)n;
}

static int fake_poll(struct pollfd *fds, nfds_t n, hf_time by) {
    assert(n == 1 && by != HF_NEVER);
    fds->revents = fds->events;
    if (fds->events & POLLOUT || at < end || hangs_up)
        return 1;
    moment = by;
    return 0;
}

static void fake_close(int fd) {
    (void)fd;
}

static hf_world fake_world;

/* ---- who asks ---------------------------------------------------------- */

static char told[1 << 16];
static size_t told_n;

static void put(const void *bytes, size_t n) {
    if (n > sizeof told - told_n)
        n = sizeof told - told_n;
    if (n > 0)
        memcpy(told + told_n, bytes, n);
    told_n += n;
}

static void put_number(long long n) {
    put(&n, sizeof n);
}

static void put_reply(const redisReply *reply) {
    put_number(reply->type);
    put_number(reply->integer);
    put_number((long long)reply->len);
    if (reply->str)
        put(reply->str, reply->len);
    put_number((long long)reply->elements);
    for (size_t i = 0; i < reply->elements; i++)
        put_reply(reply->element[i]);
}

/* What is asked of every reply. */
static void put_meaning(const redisReply *reply) {
    hf_error err = {0, ""};
    bool refused = reply->type == REDIS_REPLY_ERROR;
    int code = hf__reply_code(reply);

    assert(refused ? code < 0 : code == 0);
    put_number(code);
    put_number(hf__reply_is(reply, "NOSCRIPT"));
    put_number(hf__reply_cut_short(reply));
    put_number(hf__reply_has(reply, 2, 1));
    if (!refused)
        return;
    assert(hf__reply_fail(&err, reply, "here", "name") == code);
    put(err.text, strlen(err.text));
    assert(strpbrk(err.text, "\r\n") == NULL);
}

static void ask(hf_link *l, size_t n, int replicas) {
    static const char bytes[] = "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n"
                                "*1\r\n$4\r\nPING\r\n";
    hf_request q = {bytes, 14 * n, n, replicas};
    redisReply *replies[3] = {NULL};
    hf_error err = {0, ""};
    int acks = 0;
    int rc = hf__link_ask(l, &q, replies, &acks, hf__after_ms(1000), &err);

    put_number(rc);
    put_number(acks);
    if (rc != HF_OK) {
        assert(err.text[0] != '\0');
        return;
    }
    for (size_t i = 0; i < n; i++) {
        put_reply(replies[i]);
        put_meaning(replies[i]);
        freeReplyObject(replies[i]);
    }
}

static int settled; /* posts that came back */

static void settle(void *arg, hf_link *l, hf_post *post) {
    (void)arg, (void)l;
    settled++;
    if (post->reply)
        freeReplyObject(post->reply);
    free(post->bytes);
    free(post);
}

static void send_post(hf_link *l) {
    hf_post *post = calloc(1, sizeof *post);
    assert(post != NULL);
    post->bytes = strdup("*1\r\n$4\r\nPING\r\n");
    post->len = 14;
    post->until = hf__after_ms(60000);
    hf__link_post(l, post);
}

/* Only once, so that every answer is of the one connection. */
static int open_once(void *arg, hf_conn **ret, hf_time by, hf_error *err) {
    static char where[] = "redis://fuzzed", path[] = "/fuzzed";
    static const hf_address address = {.socket = path, .where = where};
    bool *opened = arg;

    if (*opened)
        return hf__fail(err, HF_EAUTH, "there is no second connection");
    *opened = true;
    return hf__conn_open(ret, &address, NULL, by, err);
}

/* A conversation with a server that says `data`, so many bytes at a time. */
static void converse(const uint8_t *data, size_t size, size_t at_a_time) {
    bool opened = false;
    atomic_uint callers = 1;
    const hf_host nobody = {0};
    hf_link_needs needs = {.open = open_once,
                           .open_arg = &opened,
                           .settled = settle,
                           .host = &nobody,
                           .where = "redis://fuzzed",
                           .backoff_ms = 100,
                           .wait_ms = 100,
                           .timeout_ms = 2500,
                           .callers = &callers};
    hf_error err;
    hf_link *l;

    at = data;
    end = data + size;
    piece = at_a_time;
    told_n = 0;
    settled = 0;
    moment = HF_SECOND;
    assert(hf__link_new(&l, &needs, &err) == HF_OK);
    ask(l, 1, 0);
    ask(l, 2, 0);
    send_post(l);
    ask(l, 1, 1);
    ask(l, 3, 0);
    hf__link_free(l);
    assert(settled == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char whole[sizeof told];
    size_t whole_n;
    uint8_t *copy;

    if (size < 2)
        return 0;
    fake_world = hf__real_world;
    fake_world.now = fake_now;
    fake_world.random = fake_random;
    fake_world.dial = fake_dial;
    fake_world.send = fake_send;
    fake_world.recv = fake_recv;
    fake_world.poll = fake_poll;
    fake_world.close = fake_close;
    hf__world = &fake_world;

    /* Of the very size, so that a byte too far is noticed. */
    copy = malloc(size - 1);
    assert(copy != NULL);
    memcpy(copy, data + 1, size - 1);
    hangs_up = data[0] & 0x80;
    converse(copy, size - 1, (size_t)1 << 20);
    memcpy(whole, told, told_n);
    whole_n = told_n;
    converse(copy, size - 1, 1 + (data[0] & 0x7f));
    assert(told_n == whole_n && memcmp(told, whole, told_n) == 0);
    free(copy);
    return 0;
}
