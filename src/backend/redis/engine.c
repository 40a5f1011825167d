/* SPDX-License-Identifier: MIT
 *
 * engine.c - requests to one server over a few shared connections.
 *
 * Posted releases have two troubles of their own.  The next request for the
 * same name must not overtake one, so the name is bound to its link until it
 * is answered.  And nobody may ever come by to read the answer, or to connect
 * again when the connection broke: a thread looks after them, ten times a
 * second while there are any, and sleeps when there are none. */
#include "engine.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "keys.h"
#include "link.h"
#include "reply.h"

enum { LINKS_MAX = 4, BUCKETS = 1024, STRIPES = 16 };

static const hf_time TICK = 100 * HF_MS, FLUSH = HF_SECOND;

/* A name on its way out, and by which link it goes. */
typedef struct bond {
    struct bond *next;
    hf_link *link;
    unsigned posts;
    char name[];
} bond;

/* A posted release. */
typedef struct release {
    hf_post post; /* first: it is what a link hands back */
    hf_script script;
    bool whole; /* sent as text, not by its hash */
    char owner[HF_OWNER_SIZE];
    char name[];
} release;

struct hf_engine {
    hf_server *server;
    hf_link *links[LINKS_MAX];
    unsigned n_links;
    atomic_uint callers;
    atomic_bool widening;  /* somebody opens another link       */
    atomic_llong widen_at; /* not before                        */
    atomic_size_t n_posts; /* not settled                       */
    atomic_bool tender_dozes;

    pthread_mutex_t bond_mu[STRIPES];
    bond *bonds[BUCKETS]; /* bond_mu of the stripe */

    pthread_mutex_t mu;
    pthread_cond_t cond;
    pthread_t tender;
    bool tends, stopping; /* mu */
    hf_post *later;       /* mu: refused for now; posted again by the tender */
};

/* ---- bonds ------------------------------------------------------------- */

static unsigned hash(const char *name) {
    unsigned h = 2166136261u;

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h % BUCKETS;
}

static bond **find(hf_engine *e, unsigned bucket, const char *name) {
    bond **at = &e->bonds[bucket];

    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

static bond *bond_new(const char *name, hf_link *link) {
    bond *b = malloc(sizeof *b + strlen(name) + 1);

    if (!b)
        return NULL;
    *b = (bond){.link = link};
    strcpy(b->name, name);
    return b;
}

/* The link for a new post: the one the name is bound to, or `link`, to which
 * it then is bound.  NULL: out of memory. */
static hf_link *tie(hf_engine *e, const char *name, hf_link *link) {
    unsigned bucket = hash(name);
    bond **at;

    pthread_mutex_lock(&e->bond_mu[bucket % STRIPES]);
    at = find(e, bucket, name);
    if (!*at)
        *at = bond_new(name, link);
    link = *at ? (*at)->link : NULL;
    if (*at)
        (*at)->posts++;
    pthread_mutex_unlock(&e->bond_mu[bucket % STRIPES]);
    return link;
}

static void untie(hf_engine *e, const char *name) {
    unsigned bucket = hash(name);
    bond **at, *gone = NULL;

    pthread_mutex_lock(&e->bond_mu[bucket % STRIPES]);
    at = find(e, bucket, name);
    if (*at && --(*at)->posts == 0) {
        gone = *at;
        *at = gone->next;
    }
    pthread_mutex_unlock(&e->bond_mu[bucket % STRIPES]);
    free(gone);
}

static hf_link *bound_to(hf_engine *e, const char *name) {
    unsigned bucket;
    hf_link *link;
    bond *b;

    if (!name || !atomic_load(&e->n_posts))
        return NULL;
    bucket = hash(name);
    pthread_mutex_lock(&e->bond_mu[bucket % STRIPES]);
    b = *find(e, bucket, name);
    link = b ? b->link : NULL;
    pthread_mutex_unlock(&e->bond_mu[bucket % STRIPES]);
    return link;
}

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

static hf_link *any_up(hf_engine *e) {
    for (unsigned i = 0; i < e->n_links; i++)
        if (hf__link_is_up(e->links[i]))
            return e->links[i];
    return NULL;
}

/* With no link up all meet on the first, so that one thread connects.  `by` 0:
 * without waiting for anything. */
static hf_link *choose(hf_engine *e, const char *name, hf_time by) {
    hf_link *bound = bound_to(e, name), *own = own_link(e), *other;

    if (bound)
        return bound;
    if (hf__link_is_up(own) && hf__link_is_idle(own))
        return own;
    other = any_up(e);
    if (!other)
        return e->links[0];
    if (!hf__link_is_idle(other))
        other = idle_link(e);
    if (!other && by)
        other = widen(e, by);
    if (other)
        return other;
    return hf__link_is_up(own) ? own : (other = any_up(e)) ? other : own;
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

/* EVALSHA or, `whole`, EVAL, ready to be sent.  NULL: out of memory. */
static char *format(const hf_engine *e, const hf_call *call, bool whole,
                    size_t *len) {
    const char *few[16], **argv = few;
    char n_keys[16], *command = NULL;
    long long size;

    if (call->argc + 3 > 16)
        argv = malloc(((size_t)call->argc + 3) * sizeof *argv);
    if (!argv)
        return NULL;
    snprintf(n_keys, sizeof n_keys, "%d", call->n_keys);
    argv[0] = whole ? "EVAL" : "EVALSHA";
    argv[1] = whole ? hf__script_text[call->script] :
                      e->server->hashes.of[call->script];
    argv[2] = n_keys;
    memcpy(argv + 3, call->argv, (size_t)call->argc * sizeof *argv);
    size = redisFormatCommandArgv(&command, call->argc + 3, argv, NULL);
    if (argv != few)
        free(argv);
    if (size < 0)
        return NULL;
    *len = (size_t)size;
    return command;
}

static int call_once(hf_engine *e, const hf_call *call, bool whole,
                     redisReply **ret, hf_time by, hf_error *err) {
    size_t len;
    char *command = format(e, call, whole, &len);
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

/* ---- posted releases --------------------------------------------------- */

/* (Re)writes the command of a release. */
static bool prepare(hf_engine *e, release *r) {
    char channel[HF_KEY_SIZE];
    const char *argv[] = {r->name, r->owner, channel};
    hf_call call = {r->script, r->name, 1, 3, argv};

    hf__key_channel(channel, r->name);
    free(r->post.bytes);
    r->post.bytes = format(e, &call, r->whole, &r->post.len);
    return r->post.bytes != NULL;
}

static void release_free(release *r) {
    free(r->post.bytes);
    free(r);
}

static void over(hf_engine *e, release *r, int code) {
    const hf_host *host = e->server->host;

    if (code != HF_OK && host->unreleased)
        host->unreleased(host->core, r->name, code);
    untie(e, r->name);
    release_free(r);
    atomic_fetch_sub(&e->n_posts, 1);
}

/* What the answer to a release means.  HF_BUSY: not now, but perhaps later. */
static int verdict(const release *r) {
    const redisReply *reply = r->post.reply;
    int code;

    if (!reply)
        return r->post.repeated ? HF_EDOUBT : HF_EDOWN;
    code = hf__reply_code(reply);
    if (code == HF_ESTARTING || code == HF_EDOWN)
        return HF_BUSY;
    if (code || reply->type != REDIS_REPLY_INTEGER)
        return code ? code : HF_ESTORE;
    /* Not held: by then, or because we had been heard before. */
    return reply->integer || r->post.repeated ? HF_OK : HF_ELOST;
}

static bool put_off(hf_engine *e, release *r) {
    bool later;

    pthread_mutex_lock(&e->mu);
    later = !e->stopping && r->post.until > hf__now();
    if (later) {
        r->post.next = e->later;
        e->later = &r->post;
    }
    pthread_mutex_unlock(&e->mu);
    return later;
}

/* A link hands a post back. */
static void settled(void *arg, hf_link *link, hf_post *post) {
    hf_engine *e = arg;
    release *r = (release *)post;
    redisReply *reply = post->reply;
    bool lost_script = reply && hf__reply_is(reply, "NOSCRIPT") && !r->whole;
    int code = verdict(r);

    post->reply = NULL;
    if (reply)
        freeReplyObject(reply);
    if (lost_script) {
        r->whole = true;
        if (prepare(e, r))
            hf__link_post(link, post);
        else
            over(e, r, HF_ENO_MEMORY);
    } else if (code != HF_BUSY) {
        over(e, r, code);
    } else if (!put_off(e, r)) {
        over(e, r, HF_ESTARTING);
    }
}

static void post_later_ones(hf_engine *e) {
    hf_post *p;

    pthread_mutex_lock(&e->mu);
    p = e->later;
    e->later = NULL;
    pthread_mutex_unlock(&e->mu);
    while (p) {
        hf_post *next = p->next;
        hf_link *link = bound_to(e, ((release *)p)->name);

        hf__link_post(link, p);
        p = next;
    }
}

/* Tender thread. */
static void *tend(void *arg) {
    hf_engine *e = arg;

    pthread_mutex_lock(&e->mu);
    while (!e->stopping) {
        atomic_store(&e->tender_dozes, true);
        if (!atomic_load(&e->n_posts)) {
            hf__world->wait(&e->cond, &e->mu, HF_NEVER);
            continue;
        }
        atomic_store(&e->tender_dozes, false);
        hf__world->wait(&e->cond, &e->mu, hf__now() + TICK);
        pthread_mutex_unlock(&e->mu);
        post_later_ones(e);
        for (unsigned i = 0; i < e->n_links; i++)
            hf__link_tend(e->links[i], hf__now() + TICK);
        pthread_mutex_lock(&e->mu);
    }
    pthread_mutex_unlock(&e->mu);
    return NULL;
}

static void rouse_tender(hf_engine *e) {
    if (!atomic_load(&e->tender_dozes))
        return;
    pthread_mutex_lock(&e->mu);
    if (!e->tends)
        e->tends = hf__world->thread_start(&e->tender, tend, e) == 0;
    pthread_cond_signal(&e->cond);
    pthread_mutex_unlock(&e->mu);
}

int hf__engine_post(hf_engine *e, hf_script script, const char *name,
                    const char *owner, hf_time until, hf_error *err) {
    release *r = calloc(1, sizeof *r + strlen(name) + 1);
    hf_link *link;

    if (!r)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    strcpy(r->name, name);
    snprintf(r->owner, sizeof r->owner, "%s", owner);
    r->script = script;
    r->post.until = until;
    atomic_fetch_add(&e->n_posts, 1);
    if (!prepare(e, r) || !(link = tie(e, name, choose(e, NULL, 0)))) {
        atomic_fetch_sub(&e->n_posts, 1);
        release_free(r);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    hf__link_post(link, &r->post);
    rouse_tender(e);
    return HF_OK;
}

/* ---- life -------------------------------------------------------------- */

static unsigned count_cores(void) {
    cpu_set_t set;
    int n = 1;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        n = CPU_COUNT(&set);
    return n < 1 ? 1 : (unsigned)n;
}

static int greet(void *arg, hf_conn **ret, hf_time by, hf_error *err) {
    hf_engine *e = arg;

    return hf__server_greet(e->server, ret, by, err);
}

static int make_links(hf_engine *e, hf_error *err) {
    unsigned cores = count_cores();
    const hf_host *host = e->server->host;
    hf_link_needs needs = {.open = greet,
                           .settled = settled,
                           .arg = e,
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
    atomic_init(&e->tender_dozes, true);
    pthread_mutex_init(&e->mu, NULL);
    pthread_cond_init(&e->cond, NULL);
    for (int i = 0; i < STRIPES; i++)
        pthread_mutex_init(&e->bond_mu[i], NULL);
    rc = make_links(e, err);
    if (rc == HF_OK)
        rc = hf__link_up(e->links[0], true, by, err);
    if (rc == HF_OK)
        *ret = e;
    else
        hf__engine_free(e, false);
    return rc;
}

static void stop_tender(hf_engine *e) {
    pthread_mutex_lock(&e->mu);
    e->stopping = true;
    pthread_cond_signal(&e->cond);
    pthread_mutex_unlock(&e->mu);
    if (e->tends)
        hf__world->thread_join(e->tender);
}

static void flush(hf_engine *e) {
    hf_time by = hf__now() + FLUSH;

    post_later_ones(e);
    while (atomic_load(&e->n_posts) && hf__now() < by) {
        for (unsigned i = 0; i < e->n_links; i++)
            hf__link_tend(e->links[i], hf__now() + TICK);
        if (atomic_load(&e->n_posts))
            hf__world->poll(NULL, 0, hf__now() + TICK / 10);
    }
}

void hf__engine_free(hf_engine *e, bool forked) {
    if (!e)
        return;
    for (unsigned i = 0; forked && i < e->n_links; i++)
        hf__link_forget(e->links[i]);
    if (forked)
        return;
    stop_tender(e);
    flush(e);
    for (unsigned i = 0; i < e->n_links; i++)
        hf__link_free(e->links[i]);
    for (int i = 0; i < STRIPES; i++)
        pthread_mutex_destroy(&e->bond_mu[i]);
    pthread_mutex_destroy(&e->mu);
    pthread_cond_destroy(&e->cond);
    free(e);
}
