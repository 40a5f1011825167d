/* SPDX-License-Identifier: MIT
 *
 * calls.c - questions with one answer, of many threads over one connection.
 *
 *   ask: join ─► send ─► read, or wait for who reads ─► leave
 *
 * mu guards everything, also the connection, but it is not held while anybody
 * sleeps: the reader polls the socket without it and takes in what came with
 * it.  Invariant: while anybody waits, somebody reads or has been called to.
 *
 * A link that broke is left by everybody in it; who leaves last closes it. */
#include "calls.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../log.h"
#include "../../world.h"

static const hf_time IDLE = 20 * HF_MS;  /* then look before asking     */
static const hf_time RETRY = 10 * HF_MS; /* while the socket is full    */

/* A thread that waits for its answers. */
typedef struct hf_asker {
    struct hf_asker *next, **link;
    pthread_cond_t cond;
    size_t open; /* questions without an end */
} asker;

typedef struct link {
    hf_grpc *g;
    unsigned serial;
    size_t endpoint, users;
    bool broken, reading;
    hf_time used;
    asker *waiting;
} link;

struct hf_calls {
    hf_endpoints *at;
    const hf_host *host; /* who keeps the log */
    pthread_mutex_t mu;
    pthread_cond_t opened; /* or not */
    bool opening;
    unsigned serial;
    link *now; /* NULL: none */
};

/* ---- the link (mu) ----------------------------------------------------- */

static void wake_all(link *l) {
    for (asker *a = l->waiting; a; a = a->next)
        pthread_cond_signal(&a->cond);
}

static void break_up(hf_calls *c, link *l) {
    if (l->broken)
        return;
    l->broken = true;
    hf__log_broke(c->host, hf__endpoint_where(c->at, l->endpoint),
                  "the server ended it, or is silent");
    shutdown(hf__grpc_fd(l->g), SHUT_RDWR); /* the reader sees the end */
    if (c->now == l)
        c->now = NULL;
    wake_all(l);
}

static void drop(link *l) {
    hf__grpc_free(l->g);
    hf__free(l);
}

/* A user goes; or, with the table's own share in it, nobody. */
static void put(hf_calls *c, link *l) {
    if (l->users == 0 && l->broken)
        drop(l);
    else if (l->users == 0 && !hf__grpc_usable(l->g)) {
        break_up(c, l);
        drop(l);
    }
}

/* Is what we have still good?  A server that closed it said so meanwhile. */
static void look_at(hf_calls *c, link *l) {
    bool stale = !l->reading && hf__now() - l->used > IDLE;

    if (stale && hf__grpc_fill(l->g) < 0)
        break_up(c, l);
    else if (!hf__grpc_usable(l->g) && c->now == l)
        c->now = NULL; /* who is in it may finish */
    put(c, l);
}

static int open_link(hf_calls *c, hf_time by, hf_error *err) {
    link *l = hf__calloc(1, sizeof *l);
    int rc = HF_OK;

    c->opening = true;
    pthread_mutex_unlock(&c->mu);
    rc = l ? hf__endpoints_dial(c->at, &l->g, &l->endpoint, by, err) :
             hf__fail_plain(err, HF_ENO_MEMORY);
    pthread_mutex_lock(&c->mu);
    c->opening = false;
    pthread_cond_broadcast(&c->opened);
    if (rc != HF_OK) {
        hf__free(l);
        return rc;
    }
    l->serial = ++c->serial;
    l->used = hf__now();
    c->now = l;
    return HF_OK;
}

/* Becomes a user of the link, which is opened if there is none. */
static int join(hf_calls *c, link **ret, hf_time by, hf_error *err) {
    int rc = HF_OK;

    if (c->now)
        look_at(c, c->now);
    while (!c->now && rc == HF_OK) {
        if (!c->opening)
            rc = open_link(c, by, err);
        else if (hf__now() < by)
            hf__world->wait(&c->opened, &c->mu, by);
        else
            rc = hf__fail(err, HF_EDOWN, "the server was not reached in time");
    }
    if (rc == HF_OK) {
        *ret = c->now;
        c->now->users++;
    }
    return rc;
}

/* ---- asking (mu) ------------------------------------------------------- */

static void ended(hf_call *call) {
    hf_question *q = call->arg;

    q->done = true;
    if (--q->asker->open == 0)
        pthread_cond_signal(&q->asker->cond);
}

static void start(link *l, asker *a, hf_question *q, const char *token) {
    q->asked_at = hf__now();
    q->call.path = q->path;
    q->call.token = token;
    q->call.ended = ended;
    q->call.arg = q;
    q->asker = a;
    if (hf__grpc_start(l->g, &q->call, &q->body))
        a->open++;
}

static void send_all(hf_calls *c, link *l, asker *a, hf_question *q, size_t n,
                     const char *token) {
    for (size_t i = 0; i < n; i++)
        if (!q[i].done)
            start(l, a, &q[i], token);
    if (hf__grpc_flush(l->g) < 0)
        break_up(c, l);
}

static void read_some(hf_calls *c, link *l, hf_time by) {
    struct pollfd pfd = {.fd = hf__grpc_fd(l->g),
                         .events = hf__grpc_events(l->g)};
    int rc;

    l->reading = true;
    pthread_mutex_unlock(&c->mu);
    rc = hf__world->poll(&pfd, 1, by);
    pthread_mutex_lock(&c->mu);
    l->reading = false;
    if (rc <= 0 || l->broken)
        return;
    if (hf__grpc_fill(l->g) < 0 || hf__grpc_flush(l->g) < 0)
        break_up(c, l);
}

/* Another reads, but our question did not fit into the socket. */
static void push_on(hf_calls *c, link *l, hf_time by) {
    struct pollfd pfd = {.fd = hf__grpc_fd(l->g), .events = POLLOUT};

    pthread_mutex_unlock(&c->mu);
    hf__world->poll(&pfd, 1, hf__sooner(by, hf__now() + RETRY));
    pthread_mutex_lock(&c->mu);
    if (!l->broken && hf__grpc_flush(l->g) < 0)
        break_up(c, l);
}

static void await(hf_calls *c, link *l, asker *a, hf_time by) {
    while (a->open && !l->broken && hf__now() < by) {
        if (!l->reading)
            read_some(c, l, by);
        else if (hf__grpc_events(l->g) & POLLOUT)
            push_on(c, l, by);
        else
            hf__world->wait(&a->cond, &c->mu, by);
    }
}

static void enter(link *l, asker *a) {
    a->next = l->waiting;
    a->link = &l->waiting;
    if (a->next)
        a->next->link = &a->next;
    l->waiting = a;
}

/* Whoever reads no more calls another to it, who has not been answered: one
 * who was is on its way out, and would only pass it on. */
static void depart(link *l, asker *a) {
    asker *next;

    *a->link = a->next;
    if (a->next)
        a->next->link = a->link;
    if (l->reading)
        return;
    for (next = l->waiting; next && !next->open;)
        next = next->next;
    if (next)
        pthread_cond_signal(&next->cond);
}

int hf__calls_ask(hf_calls *c, hf_question *q, size_t n, const char *token,
                  unsigned *which, hf_time by, hf_error *err) {
    asker a = {0};
    link *l;
    int rc;

    pthread_mutex_lock(&c->mu);
    rc = join(c, &l, by, err);
    if (rc != HF_OK) {
        pthread_mutex_unlock(&c->mu);
        return rc;
    }
    *which = l->serial;
    pthread_cond_init(&a.cond, NULL);
    enter(l, &a);
    send_all(c, l, &a, q, n, token);
    await(c, l, &a, by);
    for (size_t i = 0; i < n; i++)
        hf__grpc_drop(l->g, &q[i].call);
    if (a.open && !l->broken && hf__grpc_flush(l->g) < 0)
        break_up(c, l);
    depart(l, &a);
    l->used = hf__now();
    l->users--;
    put(c, l);
    pthread_mutex_unlock(&c->mu);
    pthread_cond_destroy(&a.cond);
    return HF_OK;
}

void hf__calls_leave(hf_calls *c, unsigned which) {
    link *l;

    pthread_mutex_lock(&c->mu);
    l = c->now;
    if (l && l->serial == which) {
        hf__endpoints_shun(c->at, l->endpoint);
        break_up(c, l);
        put(c, l);
    }
    pthread_mutex_unlock(&c->mu);
}

void hf__calls_idle(hf_calls *c) {
    pthread_mutex_lock(&c->mu);
    if (c->now)
        look_at(c, c->now);
    pthread_mutex_unlock(&c->mu);
}

size_t hf__calls_where(hf_calls *c, char *buf, size_t size) {
    int n;

    pthread_mutex_lock(&c->mu);
    n = snprintf(buf, size, "%s",
                 c->now ? hf__endpoint_where(c->at, c->now->endpoint) : "");
    pthread_mutex_unlock(&c->mu);
    return (size_t)n;
}

/* ---- life -------------------------------------------------------------- */

void hf__question_clear(hf_question *q) {
    hf__pb_free(&q->body);
    hf__grpc_clear(&q->call);
}

int hf__calls_new(hf_calls **ret, hf_endpoints *at, const hf_host *host,
                  hf_error *err) {
    hf_calls *c = hf__calloc(1, sizeof *c);

    if (!c)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    c->at = at;
    c->host = host;
    pthread_mutex_init(&c->mu, NULL);
    pthread_cond_init(&c->opened, NULL);
    *ret = c;
    return HF_OK;
}

void hf__calls_free(hf_calls *c) {
    if (!c)
        return;
    if (c->now)
        drop(c->now);
    pthread_mutex_destroy(&c->mu);
    pthread_cond_destroy(&c->opened);
    hf__free(c);
}

void hf__calls_abandon(hf_calls *c) {
    if (c && c->now)
        hf__grpc_abandon(c->now->g);
}
