/* SPDX-License-Identifier: MIT
 *
 * sentinel_scout.c - our thread for one sentinel.
 *
 * Two connections, because one that listens cannot ask: the mouth asks, the ear
 * hears +switch-master.  Such a message says who the new master is but not in
 * which epoch, so it only makes us ask.  What is missed while the ear is not
 * there is asked for when it is again, and every second anyhow.
 *
 *           connect            ask
 *   away ───────────► talking ──────► dozing ──► talking …
 *    ▲                   │              │ the bell, the ear, a second
 *    └───────────────────┴──────────────┘ any failure: told, and a pause */
#include "sentinel_scout.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../../alloc.h"
#include "../../../err.h"
#include "../../../world.h"
#include "../reply.h"

static const hf_time PERIOD = HF_SECOND;  /* between two questions      */
static const hf_time LEAST = 100 * HF_MS; /* likewise, however urgent   */
static const hf_time MEET_EVERY = 10 * HF_SECOND;
static const hf_time PATIENCE = HF_SECOND; /* for an answer              */
static const hf_time BACKOFF_MIN = 100 * HF_MS, BACKOFF_MAX = HF_SECOND;

struct hf_scout {
    const hf_scout_needs *needs;
    unsigned id;
    hf_target target;
    int bell; /* eventfd */
    pthread_t thread;
    bool runs;
    atomic_bool stopping; /* also ends what is being connected */

    /* The thread's own. */
    hf_conn *mouth, *ear;
    hf_time asked_at, ask_at;
    hf_time listen_at; /* when to try again to get an ear      */
    hf_time meet_at;   /* when to ask for the other sentinels  */
    hf_time backoff;
};

/* ---- what it says ------------------------------------------------------ */

static int refusal(const hf_scout *w, const redisReply *reply, hf_error *err) {
    const char *where = w->target.address->where;

    if (hf__reply_is(reply, "ERR No such master"))
        return hf__fail(err, HF_EFREE, "%s: no master named %s", where,
                        w->needs->name);
    if (hf__reply_is(reply, "NOAUTH"))
        return hf__fail(err, HF_EAUTH,
                        "%s wants a password of its own: give "
                        "sentinel_password=, and sentinel_user= if need be",
                        where);
    if (hf__reply_is(reply, "ERR unknown command"))
        return hf__fail(err, HF_EURI,
                        "%s is no sentinel: give the addresses of the "
                        "sentinels, which listen on port 26379 as a rule",
                        where);
    return hf__reply_fail(err, reply, where, NULL);
}

static int understand(const hf_scout *w, redisReply *const *replies,
                      hf_naming *naming, hf_error *err) {
    if (replies[0]->type == REDIS_REPLY_ERROR)
        return refusal(w, replies[0], err);
    if (replies[0]->type == REDIS_REPLY_ARRAY &&
        hf__naming_read(naming, replies[0], replies[1]))
        return HF_OK;
    return hf__fail(err, HF_EDOWN, "%s: an answer that makes no sense",
                    w->target.address->where);
}

static void meet(hf_scout *w, const redisReply *others) {
    hf_naming at;

    w->meet_at = hf__now() + MEET_EVERY;
    if (others->type != REDIS_REPLY_ARRAY)
        return;
    for (size_t i = 0; i < others->elements; i++)
        if (hf__naming_of_other(&at, others->element[i]))
            w->needs->met(w->needs->arg, at.host, at.port);
}

/* ---- asking ------------------------------------------------------------ */

static hf_time patience(const hf_scout *w) {
    return hf__now() + hf__sooner(PATIENCE, w->needs->timeout_ms * HF_MS);
}

static int dial(hf_scout *w, hf_conn **ret, hf_error *err) {
    return hf__conn_open(ret, w->target.address, w->target.tls,
                         hf__after_ms(w->needs->timeout_ms), err);
}

static int ask(hf_scout *w, hf_naming *naming, hf_error *err) {
    const char *name = w->needs->name;
    redisReply *replies[3];
    hf_pipe p = {0};
    int rc;

    w->asked_at = hf__now();
    HF_PIPE(&p, "SENTINEL", "MASTER", name);
    HF_PIPE(&p, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", name);
    if (w->asked_at >= w->meet_at)
        HF_PIPE(&p, "SENTINEL", "SENTINELS", name);
    if (p.failed)
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    else
        rc = hf__conn_ask(w->mouth, p.bytes, p.len, replies, p.n, patience(w),
                          err);
    if (rc == HF_OK) {
        rc = understand(w, replies, naming, err);
        if (p.n > 2)
            meet(w, replies[2]);
        for (size_t i = 0; i < p.n; i++)
            freeReplyObject(replies[i]);
    }
    hf__pipe_free(&p);
    return rc == HF_EDOUBT ? (err->code = HF_EDOWN) : rc;
}

/* ---- listening --------------------------------------------------------- */

static void close_ear(hf_scout *w) {
    hf__conn_close(w->ear);
    w->ear = NULL;
}

/* Without an ear, asking every second must do. */
static void get_ear(hf_scout *w) {
    hf_pipe p = {0};
    redisReply *reply;
    hf_error err;
    bool ok = false;

    HF_PIPE(&p, "SUBSCRIBE", "+switch-master");
    if (!p.failed && dial(w, &w->ear, &err) == HF_OK &&
        hf__conn_ask(w->ear, p.bytes, p.len, &reply, 1, patience(w), &err) ==
            HF_OK) {
        ok = reply->type != REDIS_REPLY_ERROR;
        freeReplyObject(reply);
    }
    hf__pipe_free(&p);
    if (ok)
        w->ask_at = hf__now(); /* it may have changed since we asked */
    else
        close_ear(w);
    w->listen_at = hf__now() + PERIOD;
}

static void hear(hf_scout *w) {
    redisReply *reply;
    int rc;

    do {
        while ((rc = hf__conn_next(w->ear, &reply)) > 0) {
            if (hf__naming_changes(reply, w->needs->name))
                w->ask_at = hf__now();
            freeReplyObject(reply);
        }
        if (rc == 0)
            rc = hf__conn_fill(w->ear);
    } while (rc > 0);
    if (rc == 0)
        return;
    close_ear(w);
    w->listen_at = w->ask_at = hf__now();
}

/* ---- the thread -------------------------------------------------------- */

static bool is_stopping(hf_scout *w) {
    return atomic_load(&w->stopping);
}

static bool take_ring(hf_scout *w) {
    uint64_t rings;

    return read(w->bell, &rings, sizeof rings) == (ssize_t)sizeof rings;
}

/* Until it is time to ask. */
static void doze(hf_scout *w) {
    while (hf__now() < w->ask_at && !is_stopping(w)) {
        struct pollfd fds[2] = {{.fd = w->bell, .events = POLLIN}};

        if (w->ear)
            fds[1] = (struct pollfd){.fd = w->ear->fd, .events = POLLIN};
        hf__world->poll(fds, w->ear ? 2 : 1, w->ask_at);
        if (take_ring(w))
            w->ask_at = hf__sooner(w->ask_at, w->asked_at + LEAST);
        if (w->ear && fds[1].revents)
            hear(w);
    }
}

static void part(hf_scout *w) {
    hf__conn_close(w->mouth);
    w->mouth = NULL;
    close_ear(w);
    w->listen_at = 0;
    w->backoff = 2 * w->backoff;
    w->backoff = w->backoff < BACKOFF_MIN ? BACKOFF_MIN :
                 w->backoff > BACKOFF_MAX ? BACKOFF_MAX :
                                            w->backoff;
    w->ask_at = hf__now() + hf__jitter(w->backoff);
}

/* A sentinel that knows no such master may be told of it later. */
static void talk(hf_scout *w) {
    hf_naming naming;
    hf_error err = {0};
    int rc = w->mouth ? HF_OK : dial(w, &w->mouth, &err);

    if (rc == HF_OK)
        rc = ask(w, &naming, &err);
    if (is_stopping(w))
        return;
    w->needs->heard(w->needs->arg, w->id, rc, &naming, &err);
    if (rc != HF_OK && rc != HF_EFREE) {
        part(w);
        return;
    }
    w->backoff = 0;
    w->ask_at = hf__now() + hf__jitter(PERIOD);
    if (!w->ear && hf__now() >= w->listen_at)
        get_ear(w);
}

static void *run(void *arg) {
    hf_scout *w = arg;

    while (!is_stopping(w)) {
        talk(w);
        doze(w);
    }
    return NULL;
}

/* ---- what others call -------------------------------------------------- */

int hf__scout_new(hf_scout **ret, hf_address *address, unsigned id,
                  const hf_scout_needs *needs, hf_error *err) {
    hf_scout *w = hf__calloc(1, sizeof *w);
    int rc, why;

    if (!w) {
        hf__address_free(address);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    w->needs = needs;
    w->id = id;
    w->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    address->given_up = &w->stopping;
    rc = hf__target_init(&w->target, address, err);
    if (rc == HF_OK && w->bell < 0)
        rc = hf__fail_plain(err, HF_ESYSTEM);
    if (rc == HF_OK && (why = hf__world->thread_start(&w->thread, run, w)) != 0)
        rc =
            hf__fail(err, HF_ESYSTEM,
                     "cannot start a thread for a sentinel: %s", strerror(why));
    w->runs = rc == HF_OK;
    if (rc == HF_OK)
        *ret = w;
    else
        hf__scout_free(w, false);
    return rc;
}

static void ring(hf_scout *w) {
    uint64_t one = 1;

    while (write(w->bell, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

void hf__scout_hurry(hf_scout *w) {
    ring(w);
}

const char *hf__scout_where(const hf_scout *w) {
    return w->target.address->where;
}

bool hf__scout_is_at(const hf_scout *w, const char *host, int port) {
    const hf_address *a = w->target.address;

    return a->port == port && strcasecmp(a->host, host) == 0;
}

static void close_all(hf_scout *w) {
    if (w->mouth)
        hf__world->close(w->mouth->fd);
    if (w->ear)
        hf__world->close(w->ear->fd);
    close(w->bell);
}

void hf__scout_stop(hf_scout *w) {
    if (!w->runs)
        return;
    atomic_store(&w->stopping, true);
    ring(w);
    hf__world->thread_join(w->thread);
    w->runs = false;
}

void hf__scout_free(hf_scout *w, bool forked) {
    if (!w)
        return;
    if (forked) { /* the connections are the parent's, too */
        close_all(w);
        return;
    }
    hf__scout_stop(w);
    hf__conn_close(w->mouth);
    hf__conn_close(w->ear);
    hf__target_clear(&w->target);
    if (w->bell >= 0)
        close(w->bell);
    hf__free(w);
}
