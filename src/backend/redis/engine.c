/* SPDX-License-Identifier: MIT
 *
 * engine.c - requests to one server over a few shared connections. */
#include "engine.h"

#include <sched.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "post.h"
#include "reply.h"

enum {
    LINKS_MAX = 4,
    BACKOFF_MS = 1000,
    FOUND_BACKOFF_MS = 250 /* another server will be found soon */
};

struct hf_engine {
    hf_engine_needs needs;
    hf_server *server;
    hf_link *links[LINKS_MAX + 1]; /* the last is for those who wait for */
    unsigned n_links, n_all;       /* replicas, and counts in n_all only */
    hf_poster *poster;
    atomic_uint callers;
    atomic_bool widening;  /* somebody opens another link */
    atomic_llong widen_at; /* not before                  */
};

/* ---- which link -------------------------------------------------------- */

static hf_link *own_link(hf_engine *e) {
    uint64_t self = (uint64_t)(uintptr_t)pthread_self();

    return e->links[(self * UINT64_C(0x9e3779b97f4a7c15) >> 33) % e->n_links];
}

static hf_link *idle_link(hf_engine *e) {
    for (unsigned i = 0; i < e->n_links; i++)
        if (hf__link_is_up(e->links[i]) && hf__link_is_idle(e->links[i]))
            return e->links[i];
    return NULL;
}

/* Opens one more, if there may be more and nobody else does.  A failure is no
 * harm: there are others, and for a while nobody tries again. */
static hf_link *widen(hf_engine *e, hf_time by) {
    hf_link *wider = NULL;
    hf_error err;

    for (unsigned i = 0; i < e->n_links; i++)
        if (!hf__link_is_up(e->links[i]))
            wider = e->links[i];
    if (!wider || atomic_load(&e->widen_at) > hf__now() ||
        atomic_exchange(&e->widening, true))
        return NULL;
    if (hf__link_up(wider, true, by, &err) < 0) {
        atomic_store(&e->widen_at, hf__now() + HF_SECOND);
        wider = NULL;
    }
    atomic_store(&e->widening, false);
    return wider;
}

static hf_link *first_up(hf_engine *e) {
    for (unsigned i = 0; i < e->n_links; i++)
        if (hf__link_is_up(e->links[i]))
            return e->links[i];
    return NULL;
}

/* A few threads fare best each on a link of its own: nobody waits for the
 * batch of another.  A crowd fares best on one: the fuller the batches, the
 * less they cost, and one link carries more than one server can serve. */
static bool crowded(hf_engine *e) {
    return atomic_load_explicit(&e->callers, memory_order_relaxed) >
           2 * e->n_links;
}

/* With no link up all meet on the first, so that one thread connects.  `by` 0:
 * without waiting for anything. */
static hf_link *choose(hf_engine *e, const char *name, hf_time by) {
    hf_link *link = hf__poster_link(e->poster, name), *own, *first;

    if (link)
        return link;
    first = first_up(e);
    if (!first || crowded(e))
        return first ? first : e->links[0];
    own = own_link(e);
    if (hf__link_is_up(own) && hf__link_is_idle(own))
        return own;
    link = idle_link(e);
    if (!link && by)
        link = widen(e, by);
    if (!link)
        link = hf__link_is_up(own) ? own : first;
    return link;
}

/* ---- asking ------------------------------------------------------------ */

static hf_link *link_for(hf_engine *e, const char *name, int replicas,
                         hf_time by) {
    hf_link *bound;

    if (!replicas)
        return choose(e, name, by);
    bound = hf__poster_link(e->poster, name);
    return bound ? bound : e->links[e->n_links];
}

/* A request by a link that its name decides. */
static int send_by(hf_engine *e, const char *name, const hf_request *q,
                   redisReply **replies, int *acks, hf_time by, hf_error *err) {
    int rc;

    by = hf__sooner(by, hf__after_ms(e->server->host->timeout_ms));
    atomic_fetch_add_explicit(&e->callers, 1, memory_order_relaxed);
    rc = hf__link_ask(link_for(e, name, q->replicas, by), q, replies, acks, by,
                      err);
    atomic_fetch_sub_explicit(&e->callers, 1, memory_order_relaxed);
    return rc;
}

int hf__engine_send(hf_engine *e, const hf_request *q, redisReply **replies,
                    hf_time by, hf_error *err) {
    return send_by(e, NULL, q, replies, NULL, by, err);
}

int hf__engine_ask(hf_engine *e, int argc, const char *const *argv,
                   redisReply **ret, hf_time by, hf_error *err) {
    hf_pipe p = {0};
    int rc;

    hf__pipe_add(&p, argc, argv);
    if (p.failed)
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    else
        rc = hf__engine_send(e, &(hf_request){p.bytes, p.len, .n = 1}, ret, by,
                             err);
    hf__pipe_free(&p);
    return rc;
}

/* ---- scripts ----------------------------------------------------------- */

/* A server that knows no WAIT, as some managed ones do not: the lock is as
 * good as one that did not ask for it, and its user is told. */
static bool are_enough(hf_engine *e, const char *name, int wanted, int acks) {
    const hf_host *host = e->server->host;

    if (acks != HF_NO_WAIT)
        return acks >= wanted;
    if (!atomic_exchange(&e->server->without_wait, true) && host->weaker)
        host->weaker(host->core, name ? name : "", HF_EREPLICAS);
    return true;
}

/* A request whose effect so many replicas, by the policy, must confirm. */
static int send_confirmed(hf_engine *e, const char *name, hf_request *q,
                          int policy, bool *confirmed, redisReply **replies,
                          hf_time by, hf_error *err) {
    int acks = 0, rc;

    if (policy && !atomic_load(&e->server->without_wait))
        q->replicas = hf__server_quorum(e->server, policy);
    rc = send_by(e, name, q, replies, &acks, by, err);
    if (policy)
        *confirmed = are_enough(e, name, q->replicas, acks);
    return rc;
}

static int call_once(hf_engine *e, const hf_call *call, bool whole,
                     redisReply **ret, hf_time by, hf_error *err) {
    hf_request q = {.n = 1};
    int rc;
    char *command = hf__script_command(e->server->scripts, call, whole, &q.len);

    if (!command)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    q.bytes = command;
    rc = send_confirmed(e, call->name, &q, call->replicas, call->confirmed, ret,
                        by, err);
    hf__free(command);
    return rc;
}

/* ASKING is good for one command, so that there is no second try by the
 * hash. */
static int call_asking(hf_engine *e, const hf_call *call, redisReply **ret,
                       hf_time by, hf_error *err) {
    static const char asking[] = "*1\r\n$6\r\nASKING\r\n";
    redisReply *replies[2];
    hf_request q = {.n = 2};
    size_t len;
    char *command = hf__script_command(e->server->scripts, call, true, &len);
    char *both = command ? hf__malloc(sizeof asking - 1 + len) : NULL;
    int rc;

    if (both) {
        memcpy(both, asking, sizeof asking - 1);
        memcpy(both + sizeof asking - 1, command, len);
        q.bytes = both;
        q.len = sizeof asking - 1 + len;
        rc = send_confirmed(e, call->name, &q, call->replicas, call->confirmed,
                            replies, by, err);
    } else {
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    }
    if (rc == HF_OK) {
        freeReplyObject(replies[0]);
        *ret = replies[1];
    }
    hf__free(command);
    hf__free(both);
    return rc;
}

int hf__engine_run(hf_engine *e, const hf_call *call, bool asking,
                   redisReply **ret, hf_time by, hf_error *err) {
    int rc;

    if (asking)
        return call_asking(e, call, ret, by, err);
    rc = call_once(e, call, false, ret, by, err);
    if (rc == HF_OK && hf__reply_is(*ret, "NOSCRIPT")) {
        freeReplyObject(*ret);
        rc = call_once(e, call, true, ret, by, err);
    }
    return rc;
}

int hf__engine_run_all(hf_engine *e, const char *bytes, size_t len, size_t n,
                       int replicas, bool *confirmed, redisReply **replies,
                       hf_time by, hf_error *err) {
    hf_request q = {bytes, len, .n = n};

    return send_confirmed(e, NULL, &q, replicas, confirmed, replies, by, err);
}

void hf__engine_set_clock(hf_engine *e, hf_time by) {
    static const char both[] = "*1\r\n$4\r\nTIME\r\n*1\r\n$4\r\nROLE\r\n";
    hf_request q = {both, sizeof both - 1, .n = 2};
    hf_time asked = hf__now();
    redisReply *replies[2];
    hf_error err;

    if (!hf__server_clock_is_due(&e->server->clock) ||
        hf__engine_send(e, &q, replies, by, &err) != HF_OK)
        return;
    hf__server_clock_sample(&e->server->clock, replies[0], asked, hf__now());
    hf__server_saw_role(e->server, replies[1]);
    freeReplyObject(replies[0]);
    freeReplyObject(replies[1]);
}

int hf__engine_post(hf_engine *e, const hf_call *call, hf_time until,
                    hf_error *err) {
    hf_link *link = call->replicas ? e->links[e->n_links] : choose(e, NULL, 0);

    return hf__poster_release(e->poster, call, link, until, err);
}

/* ---- life -------------------------------------------------------------- */

static unsigned count_cores(void) {
    cpu_set_t set;
    int n = 1;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        n = CPU_COUNT(&set);
    return n < 1 ? 1 : (unsigned)n;
}

static int greet(void *server, hf_conn **ret, hf_time by, hf_error *err) {
    return hf__server_greet(server, ret, by, err);
}

static int make_links(hf_engine *e, hf_error *err) {
    unsigned cores = count_cores();
    const hf_host *host = e->server->host;
    hf_link_needs needs = {.open = greet,
                           .open_arg = e->server,
                           .settled = hf__poster_settled,
                           .settled_arg = e->poster,
                           .host = host,
                           .where = e->server->where,
                           .once = e->needs.once,
                           .hands_back = e->needs.once && e->needs.stray,
                           .backoff_ms =
                               e->server->find ? FOUND_BACKOFF_MS : BACKOFF_MS,
                           .wait_ms = e->needs.wait_ms,
                           .timeout_ms = host->timeout_ms,
                           .spin_us = cores > 1 ? host->spin_us : 0,
                           .callers = &e->callers};

    e->n_links = cores < LINKS_MAX ? cores : LINKS_MAX;
    while (e->n_all <= e->n_links) {
        int rc = hf__link_new(&e->links[e->n_all], &needs, err);
        if (rc < 0)
            return rc;
        e->n_all++;
    }
    return HF_OK;
}

int hf__engine_new(hf_engine **ret, const hf_engine_needs *needs,
                   hf_error *err) {
    hf_engine *e = hf__calloc(1, sizeof *e);
    int rc;

    if (!e)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    e->needs = *needs;
    e->server = needs->server;
    rc = hf__poster_new(&e->poster, &e->needs, e->links, &e->n_all, err);
    if (rc == HF_OK)
        rc = make_links(e, err);
    if (rc == HF_OK)
        *ret = e;
    else
        hf__engine_free(e, false);
    return rc;
}

int hf__engine_up(hf_engine *e, hf_time by, hf_error *err) {
    return hf__link_up(e->links[0], true, by, err);
}

void hf__engine_leave(hf_engine *e) {
    for (unsigned i = 0; i < e->n_all; i++)
        hf__link_leave(e->links[i]);
}

void hf__engine_cut(hf_engine *e) {
    for (unsigned i = 0; i < e->n_all; i++)
        hf__link_cut(e->links[i]);
}

void hf__engine_settle(hf_engine *e) {
    hf__poster_stop(e->poster);
}

bool hf__engine_has_posts(hf_engine *e) {
    return hf__poster_has_posts(e->poster);
}

void hf__engine_free(hf_engine *e, bool forked) {
    if (!e)
        return;
    for (unsigned i = 0; forked && i < e->n_all; i++)
        hf__link_forget(e->links[i]);
    if (forked)
        return;
    if (e->poster)
        hf__poster_stop(e->poster);
    for (unsigned i = 0; i < e->n_all; i++)
        hf__link_free(e->links[i]);
    hf__poster_free(e->poster);
    hf__free(e);
}
