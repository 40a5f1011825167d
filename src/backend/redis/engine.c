/* SPDX-License-Identifier: MIT
 *
 * engine.c - requests to one server over a few shared connections. */
#include "engine.h"

#include <sched.h>
#include <stdlib.h>

#include "../../err.h"
#include "../../world.h"
#include "post.h"
#include "reply.h"

enum { LINKS_MAX = 4 };

struct hf_engine {
    hf_server *server;
    hf_link *links[LINKS_MAX];
    unsigned n_links;
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

static int send_and_wait(hf_engine *e, const char *name, const char *bytes,
                         size_t len, redisReply **ret, hf_time by,
                         hf_error *err) {
    int rc;

    by = hf__sooner(by, hf__after_ms(e->server->host->timeout_ms));
    atomic_fetch_add_explicit(&e->callers, 1, memory_order_relaxed);
    do
        rc = hf__link_ask(choose(e, name, by), bytes, len, ret, by, err);
    while (rc == HF_UNSENT && hf__now() < by);
    atomic_fetch_sub_explicit(&e->callers, 1, memory_order_relaxed);
    if (rc == HF_UNSENT)
        rc = hf__fail(err, HF_EDOWN,
                      "%s: the connection broke before the request was sent",
                      e->server->address->where);
    return rc;
}

int hf__engine_ask(hf_engine *e, int argc, const char *const *argv,
                   redisReply **ret, hf_time by, hf_error *err) {
    hf_pipe p = {0};
    int rc;

    hf__pipe_add(&p, argc, argv);
    if (p.failed)
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    else
        rc = send_and_wait(e, NULL, p.bytes, p.len, ret, by, err);
    hf__pipe_free(&p);
    if (rc == HF_OK && (*ret)->type == REDIS_REPLY_ERROR) {
        rc = hf__reply_fail(err, *ret, e->server->address->where, NULL);
        freeReplyObject(*ret);
    }
    return rc;
}

/* ---- scripts ----------------------------------------------------------- */

static int call_once(hf_engine *e, const hf_call *call, bool whole,
                     redisReply **ret, hf_time by, hf_error *err) {
    size_t len;
    char *command = hf__script_command(&e->server->hashes, call, whole, &len);
    int rc;

    if (!command)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    rc = send_and_wait(e, call->name, command, len, ret, by, err);
    free(command);
    return rc;
}

int hf__engine_call(hf_engine *e, const hf_call *call, redisReply **ret,
                    hf_time by, hf_error *err) {
    int rc = call_once(e, call, false, ret, by, err);

    if (rc == HF_OK && hf__reply_is(*ret, "NOSCRIPT")) {
        freeReplyObject(*ret);
        rc = call_once(e, call, true, ret, by, err);
    }
    if (rc == HF_OK && (*ret)->type == REDIS_REPLY_ERROR) {
        rc = hf__reply_fail(err, *ret, e->server->address->where, call->name);
        freeReplyObject(*ret);
    }
    return rc;
}

void hf__engine_set_clock(hf_engine *e, hf_time by) {
    hf_time asked = hf__now();
    redisReply *reply;
    hf_error err;

    if (!hf__server_clock_is_due(&e->server->clock))
        return;
    if (hf__engine_ask(e, 1, (const char *const[]){"TIME"}, &reply, by, &err) !=
        HF_OK)
        return;
    hf__server_clock_sample(&e->server->clock, reply, asked, hf__now());
    freeReplyObject(reply);
}

int hf__engine_post(hf_engine *e, const hf_call *call, hf_time until,
                    hf_error *err) {
    return hf__poster_release(e->poster, call, choose(e, NULL, 0), until, err);
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
                           .where = e->server->address->where,
                           .timeout_ms = host->timeout_ms,
                           .spin_us = cores > 1 ? host->spin_us : 0,
                           .callers = &e->callers};

    while (e->n_links < (cores < LINKS_MAX ? cores : LINKS_MAX)) {
        int rc = hf__link_new(&e->links[e->n_links], &needs, err);
        if (rc < 0)
            return rc;
        e->n_links++;
    }
    return HF_OK;
}

int hf__engine_new(hf_engine **ret, hf_server *server, hf_time by,
                   hf_error *err) {
    hf_engine *e = calloc(1, sizeof *e);
    int rc;

    if (!e)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    e->server = server;
    rc = hf__poster_new(&e->poster, server, e->links, &e->n_links, err);
    if (rc == HF_OK)
        rc = make_links(e, err);
    if (rc == HF_OK)
        rc = hf__link_up(e->links[0], true, by, err);
    if (rc == HF_OK)
        *ret = e;
    else
        hf__engine_free(e, false);
    return rc;
}

void hf__engine_free(hf_engine *e, bool forked) {
    if (!e)
        return;
    for (unsigned i = 0; forked && i < e->n_links; i++)
        hf__link_forget(e->links[i]);
    if (forked)
        return;
    if (e->poster)
        hf__poster_stop(e->poster);
    for (unsigned i = 0; i < e->n_links; i++)
        hf__link_free(e->links[i]);
    hf__poster_free(e->poster);
    free(e);
}
