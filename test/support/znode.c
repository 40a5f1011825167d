/* SPDX-License-Identifier: MIT
 *
 * znode.c - one request, one reply: big-endian numbers, strings with their
 * length before them. */
#include "znode.h"

#include "wait.h"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    PACKET_MAX = 1 << 20,
    NAMES_MAX = 2048,
    CREATE = 1,
    DELETE = 2,
    EXISTS = 3,
    GET = 4,
    SET = 5,
    GET_ACL = 6,
    CHILDREN = 8,
    SYNC = 9,
    CREATE_CONTAINER = 19,
    CLOSE = -11,
    AUTH = 100,
    AUTH_XID = -4,
    ALL_RIGHTS = 31,
};

struct hf_test_zk {
    int fd, xid;
    int64_t session;
    char packet[PACKET_MAX]; /* the request, then the reply */
    size_t size, at;         /* of it; and how far it was read */
};

/* ---- packets ----------------------------------------------------------- */

static void put(hf_test_zk *zk, const void *bytes, size_t size) {
    assert_true(zk->size + size <= PACKET_MAX);
    if (size > 0)
        memcpy(zk->packet + zk->size, bytes, size);
    zk->size += size;
}

static void put_int(hf_test_zk *zk, int32_t n) {
    uint32_t raw = htonl((uint32_t)n);
    put(zk, &raw, sizeof raw);
}

static void put_long(hf_test_zk *zk, int64_t n) {
    uint64_t raw = htobe64((uint64_t)n);
    put(zk, &raw, sizeof raw);
}

static void put_text(hf_test_zk *zk, const void *bytes, size_t size) {
    put_int(zk, (int32_t)size);
    put(zk, bytes, size);
}

static void put_string(hf_test_zk *zk, const char *text) {
    put_text(zk, text, strlen(text));
}

static const char *take(hf_test_zk *zk, size_t size) {
    assert_true(zk->at + size <= zk->size);
    const char *bytes = zk->packet + zk->at;
    zk->at += size;
    return bytes;
}

static int32_t take_int(hf_test_zk *zk) {
    uint32_t raw;
    memcpy(&raw, take(zk, sizeof raw), sizeof raw);
    return (int32_t)ntohl(raw);
}

static int64_t take_long(hf_test_zk *zk) {
    uint64_t raw;
    memcpy(&raw, take(zk, sizeof raw), sizeof raw);
    return (int64_t)be64toh(raw);
}

/* No bytes at all are -1. */
static size_t take_text(hf_test_zk *zk, const char **ret) {
    int32_t n = take_int(zk);
    size_t size = n > 0 ? (size_t)n : 0;
    *ret = take(zk, size);
    return size;
}

static void receive(hf_test_zk *zk, void *buf, size_t size) {
    for (size_t got = 0; got < size;) {
        ssize_t n = recv(zk->fd, (char *)buf + got, size - got, 0);
        if (n <= 0)
            fail_msg("ZooKeeper does not answer the test");
        got += (size_t)n;
    }
}

/* Sends what was put, and reads the next packet in its place. */
static void exchange(hf_test_zk *zk) {
    uint32_t size = htonl((uint32_t)zk->size);
    send(zk->fd, &size, sizeof size, MSG_NOSIGNAL | MSG_MORE);
    send(zk->fd, zk->packet, zk->size, MSG_NOSIGNAL);
    receive(zk, &size, sizeof size);
    zk->size = ntohl(size);
    zk->at = 0;
    assert_true(zk->size <= PACKET_MAX);
    receive(zk, zk->packet, zk->size);
}

static void begin(hf_test_zk *zk, int op) {
    zk->size = 0;
    put_int(zk, op == AUTH ? AUTH_XID : ++zk->xid);
    put_int(zk, op);
}

/* 0, or why not; then what was asked for can be taken. */
static int ask(hf_test_zk *zk) {
    exchange(zk);
    take_int(zk);
    take_long(zk);
    return take_int(zk);
}

/* ---- the session ------------------------------------------------------- */

static void add_user(hf_test_zk *zk, const char *user) {
    begin(zk, AUTH);
    put_int(zk, 0);
    put_string(zk, "digest");
    put_string(zk, user);
    assert_int_equal(ask(zk), 0);
}

static void greet(hf_test_zk *zk) {
    static const char no_password[16];
    zk->size = 0;
    put_int(zk, 0);
    put_long(zk, 0);
    put_int(zk, 60000);
    put_long(zk, 0);
    put_text(zk, no_password, sizeof no_password);
    put(zk, "", 1); /* writes, too */
    exchange(zk);
    take_int(zk);
    take_int(zk);
    zk->session = take_long(zk);
}

hf_test_zk *hf_test_zk_dial(int port, const char *user) {
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = HF_TEST_LONG / 1000};
    hf_test_zk *zk = calloc(1, sizeof *zk);
    assert_non_null(zk);
    zk->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(zk->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(zk->fd, (struct sockaddr *)&a, sizeof a), 0);
    greet(zk);
    if (user != NULL)
        add_user(zk, user);
    return zk;
}

void hf_test_zk_hang_up(hf_test_zk *zk) {
    if (zk == NULL)
        return;
    begin(zk, CLOSE);
    ask(zk);
    close(zk->fd);
    free(zk);
}

int64_t hf_test_zk_session(const hf_test_zk *zk) {
    return zk->session;
}

/* ---- nodes ------------------------------------------------------------- */

/* As the leader has it, whichever server is asked. */
static void catch_up(hf_test_zk *zk, const char *path) {
    begin(zk, SYNC);
    put_string(zk, path);
    ask(zk);
}

static void take_stat(hf_test_zk *zk, hf_test_zstat *ret) {
    ret->czxid = take_long(zk);
    ret->mzxid = take_long(zk);
    take_long(zk); /* two times */
    take_long(zk);
    ret->version = take_int(zk);
    take_int(zk); /* versions of the children and of the rights */
    take_int(zk);
    ret->owner = take_long(zk);
    ret->size = take_int(zk);
    ret->children = take_int(zk);
    ret->pzxid = take_long(zk);
}

int hf_test_zk_stat(hf_test_zk *zk, const char *path, hf_test_zstat *ret) {
    catch_up(zk, path);
    begin(zk, EXISTS);
    put_string(zk, path);
    put(zk, "", 1);
    int rc = ask(zk);
    if (rc == 0)
        take_stat(zk, ret);
    return rc;
}

bool hf_test_zk_exists(hf_test_zk *zk, const char *path) {
    hf_test_zstat stat;
    return hf_test_zk_stat(zk, path, &stat) == 0;
}

int hf_test_zk_create(hf_test_zk *zk, const char *path, const char *data,
                      hf_test_znode_mode mode) {
    begin(zk, mode == HF_ZK_CONTAINER ? CREATE_CONTAINER : CREATE);
    put_string(zk, path);
    put_string(zk, data);
    put_int(zk, 1);
    put_int(zk, ALL_RIGHTS);
    put_string(zk, "world");
    put_string(zk, "anyone");
    put_int(zk, mode);
    return ask(zk);
}

int hf_test_zk_delete(hf_test_zk *zk, const char *path) {
    begin(zk, DELETE);
    put_string(zk, path);
    put_int(zk, -1);
    return ask(zk);
}

int hf_test_zk_set(hf_test_zk *zk, const char *path, const void *data,
                   size_t size) {
    begin(zk, SET);
    put_string(zk, path);
    put_text(zk, data, size);
    put_int(zk, -1);
    return ask(zk);
}

int hf_test_zk_get(hf_test_zk *zk, const char *path, char *buf, size_t size) {
    const char *bytes;
    catch_up(zk, path);
    begin(zk, GET);
    put_string(zk, path);
    put(zk, "", 1);
    int rc = ask(zk);
    if (rc != 0)
        return rc;
    size_t n = take_text(zk, &bytes);
    assert_true(n < size);
    memcpy(buf, bytes, n);
    buf[n] = '\0';
    return (int)n;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int hf_test_zk_children(hf_test_zk *zk, const char *path, char *buf,
                        size_t size) {
    static char *names[NAMES_MAX];
    const char *name;
    size_t at = 0;
    catch_up(zk, path);
    begin(zk, CHILDREN);
    put_string(zk, path);
    put(zk, "", 1);
    int rc = ask(zk);
    if (rc != 0)
        return rc;
    int n = take_int(zk);
    assert_in_range(n, 0, NAMES_MAX);
    for (int i = 0; i < n; i++) {
        size_t length = take_text(zk, &name);
        names[i] = strndup(name, length);
    }
    qsort(names, (size_t)n, sizeof *names, by_name);
    buf[0] = '\0';
    for (int i = 0; i < n; i++) {
        at += (size_t)snprintf(buf + at, size - at, "%s\n", names[i]);
        assert_true(at < size);
        free(names[i]);
    }
    return n;
}

int hf_test_zk_acl(hf_test_zk *zk, const char *path, char *buf, size_t size) {
    const char *scheme, *id;
    size_t at = 0;
    begin(zk, GET_ACL);
    put_string(zk, path);
    int rc = ask(zk);
    if (rc != 0)
        return rc;
    int n = take_int(zk);
    buf[0] = '\0';
    for (int i = 0; i < n; i++) {
        int bits = take_int(zk);
        int of_scheme = (int)take_text(zk, &scheme);
        int of_id = (int)take_text(zk, &id);
        at += (size_t)snprintf(buf + at, size - at, "%.*s:%.*s=%d\n", of_scheme,
                               scheme, of_id, id, bits);
        assert_true(at < size);
    }
    return n;
}
