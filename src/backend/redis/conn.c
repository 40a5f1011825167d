/* SPDX-License-Identifier: MIT
 *
 * conn.c - one connection to a Redis server. */
#include "conn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "../net/dial.h"
#include "reply.h"

/* More in one reply, or more elements in it, is not for us. */
enum { REPLY_MAX = 64 << 20, ELEMENTS_MAX = 1 << 20 };

/* ---- reaching the server ----------------------------------------------- */

static int reach_socket(const hf_address *a, hf_time by, hf_error *err) {
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    int fd, why;

    if (strlen(a->socket) >= sizeof sun.sun_path)
        return hf__fail(err, HF_EURI, "the path of the socket is too long: %s",
                        a->socket);
    strcpy(sun.sun_path, a->socket);
    fd = hf__net_reach((struct sockaddr *)&sun, sizeof sun, by, a->given_up,
                       &why);
    if (fd < 0)
        return hf__fail(err, HF_EDOWN, "%s: %s", a->where, strerror(why));
    return fd;
}

/* ---- logging in -------------------------------------------------------- */

static int check_replies(redisReply **replies, size_t n, const hf_address *a,
                         hf_error *err) {
    int rc = HF_OK;

    for (size_t i = 0; i < n; i++) {
        if (rc == HF_OK && replies[i]->type == REDIS_REPLY_ERROR)
            rc = hf__reply_fail(err, replies[i], a->where, NULL);
        freeReplyObject(replies[i]);
    }
    return rc;
}

/* "Doubt" about a greeting is a connection that did not come about. */
static int no_doubt(int rc, hf_error *err) {
    if (rc == HF_EDOUBT)
        rc = err->code = HF_EDOWN;
    return rc;
}

static int log_in(hf_conn *conn, hf_time by, hf_error *err) {
    const hf_address *a = conn->address;
    redisReply *replies[2];
    hf_pipe p = {0};
    char db[16];
    int rc;

    if (a->password && a->user)
        HF_PIPE(&p, "AUTH", a->user, a->password);
    else if (a->password)
        HF_PIPE(&p, "AUTH", a->password);
    snprintf(db, sizeof db, "%d", a->db);
    if (a->db)
        HF_PIPE(&p, "SELECT", db);
    if (p.failed)
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    else
        rc = hf__conn_ask(conn, p.bytes, p.len, replies, p.n, by, err);
    if (rc == HF_OK)
        rc = check_replies(replies, p.n, a, err);
    hf__pipe_free(&p);
    return no_doubt(rc, err);
}

/* ---- life -------------------------------------------------------------- */

#if HIREDIS_MAJOR > 0
typedef size_t hf_elements;
#else
typedef int hf_elements;
#endif

/* hiredis makes room for as many elements as the server announces, which no
 * byte of them need follow; its own limit is far above ours, or missing. */
static void *make_array(const redisReadTask *task, hf_elements n) {
    const hf_conn *conn = task->privdata;

    return n > ELEMENTS_MAX ? NULL : conn->make_array(task, n);
}

static void limit_elements(hf_conn *conn) {
    conn->makers = *conn->reader->fn;
    conn->make_array = conn->makers.createArray;
    conn->makers.createArray = make_array;
    conn->reader->fn = &conn->makers;
    conn->reader->privdata = conn;
}

static hf_conn *conn_new(const hf_address *a, int fd) {
    hf_conn *conn = hf__calloc(1, sizeof *conn);

    if (!conn)
        return NULL;
    conn->reader = redisReaderCreate();
    if (!conn->reader) {
        hf__free(conn);
        return NULL;
    }
    limit_elements(conn);
    conn->address = a;
    conn->fd = fd;
    pthread_mutex_init(&conn->ssl_mu, NULL);
    conn->heard = hf__now();
    return conn;
}

int hf__conn_open(hf_conn **ret, const hf_address *a, hf_tls *tls, hf_time by,
                  hf_error *err) {
    hf_conn *conn;
    int fd, rc = HF_OK;

    fd = a->socket ?
             reach_socket(a, by, err) :
             hf__net_dial(a->host, a->port, a->where, by, a->given_up, err);
    if (fd < 0)
        return fd;
    conn = conn_new(a, fd);
    if (!conn) {
        hf__world->close(fd);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    if (tls)
        rc = hf__tls_connect(&conn->ssl, tls, fd, by, err);
    if (rc == HF_OK)
        rc = log_in(conn, by, err);
    if (rc == HF_OK)
        *ret = conn;
    else
        hf__conn_close(conn);
    return rc;
}

/* Without a farewell: who asked something has his answer or never will. */
void hf__conn_close(hf_conn *conn) {
    if (!conn)
        return;
    SSL_free(conn->ssl);
    hf__world->close(conn->fd);
    redisReaderFree(conn->reader);
    pthread_mutex_destroy(&conn->ssl_mu);
    hf__free(conn);
}

void hf__conn_cut(hf_conn *conn) {
    shutdown(conn->fd, SHUT_RDWR);
}

/* ---- bytes ------------------------------------------------------------- */

static bool passing(int why) {
    return why == EAGAIN || why == EWOULDBLOCK || why == EINTR;
}

ssize_t hf__conn_send(hf_conn *conn, const char *bytes, size_t size) {
    ssize_t n;

    if (conn->ssl) {
        pthread_mutex_lock(&conn->ssl_mu);
        n = hf__tls_send(conn->ssl, bytes, size);
        pthread_mutex_unlock(&conn->ssl_mu);
        return n;
    }
    n = hf__world->send(conn->fd, bytes, size);
    return n < 0 && passing(errno) ? 0 : n;
}

static ssize_t receive(hf_conn *conn, char *buf, size_t size) {
    ssize_t n;

    if (conn->ssl) {
        pthread_mutex_lock(&conn->ssl_mu);
        n = hf__tls_recv(conn->ssl, buf, size, conn->why, sizeof conn->why);
        pthread_mutex_unlock(&conn->ssl_mu);
        return n;
    }
    n = hf__world->recv(conn->fd, buf, size);
    if (n > 0 || (n < 0 && passing(errno)))
        return n < 0 ? 0 : n;
    snprintf(conn->why, sizeof conn->why, "%s",
             n == 0 ? "the server closed the connection" : strerror(errno));
    return -1;
}

static int bad_reply(hf_conn *conn, const char *what) {
    snprintf(conn->why, sizeof conn->why, "an answer that is not Redis' (%s)",
             what);
    return -1;
}

int hf__conn_fill(hf_conn *conn) {
    char buf[16384];
    ssize_t n = receive(conn, buf, sizeof buf);

    if (n <= 0)
        return (int)n;
    conn->heard = hf__now();
    if (redisReaderFeed(conn->reader, buf, (size_t)n) != REDIS_OK)
        return bad_reply(conn, conn->reader->errstr);
    if (conn->reader->len - conn->reader->pos > REPLY_MAX)
        return bad_reply(conn, "too long");
    return 1;
}

int hf__conn_next(hf_conn *conn, redisReply **ret) {
    void *reply = NULL;

    if (redisReaderGetReply(conn->reader, &reply) != REDIS_OK)
        return bad_reply(conn, conn->reader->errstr);
    *ret = reply;
    return reply != NULL;
}

int hf__conn_wait(hf_conn *conn, short events, hf_time by) {
    struct pollfd pfd = {.fd = conn->fd, .events = events};

    while (hf__world->poll(&pfd, 1, by) <= 0)
        if (hf__now() >= by)
            return 0;
    return 1;
}

/* ---- errands ----------------------------------------------------------- */

static bool await(const hf_conn *conn, short events, hf_time by) {
    return hf__net_wait(conn->fd, events, by, conn->address->given_up);
}

/* Even when sending failed: a server that turns us away says why first. */
static int read_replies(hf_conn *conn, redisReply **replies, size_t n,
                        size_t *got, hf_time by) {
    while (*got < n) {
        int rc = hf__conn_next(conn, &replies[*got]);

        if (rc > 0)
            ++*got;
        else if (rc == 0)
            rc = hf__conn_fill(conn);
        if (rc < 0)
            return -1;
        if (rc == 0 && !await(conn, POLLIN, by)) {
            snprintf(conn->why, sizeof conn->why, "no answer in time");
            return -1;
        }
    }
    return 0;
}

static int send_all(hf_conn *conn, const char *bytes, size_t size, hf_time by) {
    while (size > 0) {
        ssize_t n = hf__conn_send(conn, bytes, size);

        if (n < 0 || (n == 0 && !await(conn, POLLOUT, by)))
            return -1;
        bytes += n;
        size -= (size_t)n;
    }
    return 0;
}

int hf__conn_ask(hf_conn *conn, const char *bytes, size_t size,
                 redisReply **replies, size_t n, hf_time by, hf_error *err) {
    size_t got = 0;
    int rc = HF_EDOUBT;

    send_all(conn, bytes, size, by);
    if (read_replies(conn, replies, n, &got, by) == 0)
        return HF_OK;
    if (got > 0 && hf__reply_code(replies[got - 1]) == HF_ECROWDED)
        rc = hf__reply_fail(err, replies[got - 1], conn->address->where, NULL);
    else
        hf__fail(err, rc, "%s: %s", conn->address->where, conn->why);
    while (got > 0)
        freeReplyObject(replies[--got]);
    return rc;
}

/* ---- commands ---------------------------------------------------------- */

static bool make_room(hf_pipe *p, size_t more) {
    size_t cap = p->cap ? p->cap : 256;
    char *wide;

    while (cap < p->len + more)
        cap *= 2;
    if (cap == p->cap)
        return true;
    wide = hf__realloc(p->bytes, cap);
    if (!wide)
        return false;
    p->bytes = wide;
    p->cap = cap;
    return true;
}

void hf__pipe_add(hf_pipe *p, int argc, const char *const *argv) {
    char *command = NULL;
    const char **args = (const char **)(uintptr_t)argv;
    long long len = redisFormatCommandArgv(&command, argc, args, NULL);

    if (len < 0 || !make_room(p, (size_t)len)) {
        p->failed = true;
    } else {
        memcpy(p->bytes + p->len, command, (size_t)len);
        p->len += (size_t)len;
        p->n++;
    }
    if (len >= 0)
        redisFreeCommand(command);
}

void hf__pipe_free(hf_pipe *p) {
    if (p->bytes)
        explicit_bzero(p->bytes, p->len); /* a password may be in it */
    hf__free(p->bytes);
    *p = (hf_pipe){0};
}
