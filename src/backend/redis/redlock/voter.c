/* SPDX-License-Identifier: MIT
 *
 * voter.c - one of the servers of whom a majority decides. */
#include "voter.h"

#include <stdio.h>
#include <string.h>

#include "../../../alloc.h"
#include "../../../err.h"
#include "../info.h"
#include "../reply.h"

static const hf_time BACKOFF_MIN = 20 * HF_MS, BACKOFF_MAX = HF_SECOND;

/* The shortest quarantine: clocks of clients and servers may differ by so much
 * without tokens getting out of order. */
enum { QUARANTINE_MS = 5000, MARGIN_MS = 1000 };

/* ---- what it is -------------------------------------------------------- */

static bool is_always(const redisReply *reply) {
    return hf__reply_has(reply, 2, 0) && reply->element[1]->str &&
           strcmp(reply->element[1]->str, "always") == 0;
}

static void read_facts(hf_facts *f, const hf_info *info,
                       const redisReply *fsync) {
    hf__info_field(info, "run_id", f->run_id, sizeof f->run_id);
    hf__info_field(info, "redis_version", f->version, sizeof f->version);
    hf__info_field(info, "maxmemory_policy", f->policy, sizeof f->policy);
    f->limit = hf__info_number(info, "maxmemory");
    f->aof = hf__info_number(info, "aof_enabled") == 1;
    f->always = f->aof && is_always(fsync);
}

static hf_standing judge(const hf_voter *v, const hf_facts *f,
                         const hf_info *info) {
    char role[16];

    if (!info->reply)
        return v->needs.durable ? HF_VOTES : HF_UNKNOWN;
    hf__info_field(info, "role", role, sizeof role);
    if (strcmp(role, "master") != 0)
        return HF_IS_REPLICA;
    if (f->limit > 0 && strcmp(f->policy, "noeviction") != 0)
        return HF_EVICTS;
    return f->always || v->needs.durable ? HF_VOTES : HF_FORGETS;
}

/* Its age is in whole seconds of its own clock, which may have been set
 * forward since; but if it was another server, or another life of this one,
 * that answered before, it cannot be older than that answer. */
static void note(hf_voter *v, const hf_facts *f, hf_standing standing,
                 int64_t uptime, hf_time asked) {
    hf_time born = hf__now() - uptime * HF_SECOND;

    pthread_mutex_lock(&v->mu);
    if (*v->facts.run_id && strcmp(v->facts.run_id, f->run_id) != 0 &&
        born < v->seen)
        born = v->seen;
    else if (*v->facts.run_id && strcmp(v->facts.run_id, f->run_id) == 0 &&
             born < atomic_load(&v->born))
        born = atomic_load(&v->born);
    v->facts = *f;
    v->seen = asked;
    atomic_store(&v->born, born);
    atomic_store(&v->standing, (int)standing);
    pthread_mutex_unlock(&v->mu);
}

static int learn(hf_voter *v, hf_conn *conn, hf_time by, hf_error *err) {
    redisReply *replies[2];
    hf_time asked = hf__now();
    hf_facts f = {0};
    hf_pipe p = {0};
    hf_info info = {0};
    int rc;

    HF_PIPE(&p, "INFO");
    HF_PIPE(&p, "CONFIG", "GET", "appendfsync");
    rc = p.failed ? hf__fail_plain(err, HF_ENO_MEMORY) :
                    hf__conn_ask(conn, p.bytes, p.len, replies, 2, by, err);
    hf__pipe_free(&p);
    if (rc != HF_OK)
        return rc == HF_EDOUBT ? (err->code = HF_EDOWN) : rc;
    if (replies[0]->type == REDIS_REPLY_STRING)
        info.reply = replies[0];
    read_facts(&f, &info, replies[1]);
    note(v, &f, judge(v, &f, &info),
         hf__info_number(&info, "uptime_in_seconds"), asked);
    freeReplyObject(replies[0]);
    freeReplyObject(replies[1]);
    return HF_OK;
}

hf_time hf__voter_votes_from(hf_voter *v, int longest_ms) {
    int ms = longest_ms + MARGIN_MS;

    return atomic_load(&v->born) +
           (ms > QUARANTINE_MS ? ms : QUARANTINE_MS) * HF_MS;
}

bool hf__voter_votes(hf_voter *v, int longest_ms) {
    int standing = atomic_load(&v->standing);

    return standing == HF_VOTES ||
           (standing == HF_FORGETS &&
            hf__now() >= hf__voter_votes_from(v, longest_ms));
}

/* ---- debts ------------------------------------------------------------- */

void hf__voter_owe(hf_wire *w, hf_letter *l) {
    hf_debt *d = hf__now() < l->until ? hf__malloc(sizeof *d) : NULL;

    if (!d)
        return; /* the lease ends it */
    d->letter = hf__letter_keep(l);
    pthread_mutex_lock(&w->voter->mu);
    d->next = w->debts;
    w->debts = d;
    if (w->fresh) { /* it came up in this very moment, and paid before */
        hf__conn_close(w->fresh);
        w->fresh = NULL;
        w->state = HF_WIRE_DIALED;
        pthread_cond_signal(&w->voter->cond);
    }
    pthread_mutex_unlock(&w->voter->mu);
}

static void forgive(hf_debt *d) {
    while (d) {
        hf_debt *next = d->next;

        hf__letter_put(d->letter);
        hf__free(d);
        d = next;
    }
}

/* Sends one debt as the whole script: whatever became of the server, it runs.
 * A server that refuses for good is not asked again; the lease ends it. */
static int pay_one(hf_voter *v, hf_conn *conn, const hf_letter *l, hf_time by,
                   hf_error *err) {
    redisReply *reply = NULL;
    size_t len;
    char *whole;
    int rc;

    if (hf__now() >= l->until)
        return HF_OK;
    whole = hf__letter_whole(l, v->needs.scripts, &len);
    rc = whole ? hf__conn_ask(conn, whole, len, &reply, 1, by, err) :
                 hf__fail_plain(err, HF_ENO_MEMORY);
    hf__free(whole);
    if (rc == HF_OK && reply->type == REDIS_REPLY_ERROR &&
        hf__reply_code(reply) == HF_ESTARTING)
        rc = hf__reply_fail(err, reply, v->name, NULL);
    freeReplyObject(reply);
    return rc;
}

/* Sends what is owed, until nothing is.  mu held on entry and exit, not while
 * the server is asked. */
static int pay(hf_voter *v, hf_wire *w, hf_conn *conn, hf_time by,
               hf_error *err) {
    hf_debt *d;
    int rc = HF_OK;

    while (rc == HF_OK && (d = w->debts)) {
        w->debts = d->next;
        d->next = NULL;
        pthread_mutex_unlock(&v->mu);
        rc = pay_one(v, conn, d->letter, by, err);
        pthread_mutex_lock(&v->mu);
        if (rc == HF_OK) {
            forgive(d);
        } else {
            d->next = w->debts;
            w->debts = d;
        }
    }
    return rc == HF_EDOUBT ? (err->code = HF_EDOWN) : rc;
}

/* ---- the thread -------------------------------------------------------- */

/* mu. */
static hf_wire *next_wire(hf_voter *v) {
    hf_wire *w = v->wires;

    while (w && w->state == HF_WIRE_UP)
        w = w->next;
    return w;
}

static int connect_to(hf_voter *v, hf_conn **ret, hf_time by, hf_error *err) {
    int rc = hf__server_greet(&v->node->server, ret, by, err);

    if (rc == HF_OK)
        rc = learn(v, *ret, by, err);
    if (rc != HF_OK && *ret) {
        hf__conn_close(*ret);
        *ret = NULL;
    }
    return rc;
}

/* At once after a connection that worked, else later and later. */
static void wait_longer(hf_voter *v) {
    v->backoff *= 2;
    v->backoff = v->backoff < BACKOFF_MIN ? BACKOFF_MIN :
                 v->backoff > BACKOFF_MAX ? BACKOFF_MAX :
                                            v->backoff;
    v->dial_at = hf__now() + hf__jitter(v->backoff);
}

/* mu held on entry and exit, not between. */
static void dial(hf_voter *v, hf_wire *w) {
    hf_time by = hf__after_ms(v->needs.host->timeout_ms);
    hf_conn *conn = NULL;
    hf_error err = {0};
    int rc;

    pthread_mutex_unlock(&v->mu);
    rc = connect_to(v, &conn, by, &err);
    pthread_mutex_lock(&v->mu);
    if (rc == HF_OK)
        rc = pay(v, w, conn, by, &err);
    if (rc == HF_OK) {
        w->fresh = conn;
        w->state = HF_WIRE_UP;
        v->backoff = v->dial_at = 0;
    } else {
        hf__conn_close(conn);
        for (hf_wire *each = v->wires; each; each = each->next)
            if (each->state == HF_WIRE_DIALED)
                each->state = HF_WIRE_DOWN;
        wait_longer(v);
    }
    v->why = err;
    v->why.code = rc;
    pthread_mutex_unlock(&v->mu);
    v->needs.wired(v->needs.arg, w, rc);
    pthread_mutex_lock(&v->mu);
}

/* Voter's thread. */
static void *run(void *arg) {
    hf_voter *v = arg;

    pthread_mutex_lock(&v->mu);
    while (!atomic_load(&v->stopping)) {
        hf_wire *w = next_wire(v);

        if (!w)
            hf__world->wait(&v->cond, &v->mu, HF_NEVER);
        else if (hf__now() < v->dial_at)
            hf__world->wait(&v->cond, &v->mu, v->dial_at);
        else
            dial(v, w);
    }
    pthread_mutex_unlock(&v->mu);
    return NULL;
}

/* ---- what the wires want ----------------------------------------------- */

void hf__voter_join(hf_voter *v, hf_wire *w) {
    w->voter = v;
    w->state = HF_WIRE_DIALED;
    pthread_mutex_lock(&v->mu);
    w->next = v->wires;
    v->wires = w;
    pthread_cond_signal(&v->cond);
    pthread_mutex_unlock(&v->mu);
}

hf_conn *hf__voter_collect(hf_wire *w, hf_wire_state *state) {
    hf_conn *conn;

    pthread_mutex_lock(&w->voter->mu);
    conn = w->fresh;
    w->fresh = NULL;
    *state = w->state;
    pthread_mutex_unlock(&w->voter->mu);
    return conn;
}

void hf__voter_redial(hf_wire *w, hf_time heard) {
    hf_voter *v = w->voter;

    pthread_mutex_lock(&v->mu);
    if (heard > v->seen)
        v->seen = heard;
    w->state = v->backoff ? HF_WIRE_DOWN : HF_WIRE_DIALED;
    pthread_cond_signal(&v->cond);
    pthread_mutex_unlock(&v->mu);
}

/* ---- life -------------------------------------------------------------- */

static void ignore_code(void *core, const char *name, int code) {
    (void)core, (void)name, (void)code;
}

/* One server's memory is not the majority's. */
static void ignore_shaken(void *core, hf_kind kind, const char *name) {
    (void)core, (void)kind, (void)name;
}

static void pass_on_entry(void *core, const hf_log_entry *entry) {
    const hf_host *host = ((hf_voter *)core)->needs.host;

    host->log(host->core, entry);
}

static void write_name(hf_voter *v, const hf_address *a) {
    bool v6 = strchr(a->host, ':');

    snprintf(v->name, sizeof v->name, "%s%.100s%s:%d", v6 ? "[" : "", a->host,
             v6 ? "]" : "", a->port);
}

int hf__voter_new(hf_voter **ret, unsigned k, hf_address *address,
                  const hf_voter_needs *needs, hf_error *err) {
    hf_voter *v = hf__calloc(1, sizeof *v);
    hf_node_needs node = {.scripts = needs->scripts,
                          .once = true,
                          .listener = {.told = needs->told, .arg = v}};
    int rc;

    if (!v) {
        hf__address_free(address);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    v->k = k;
    v->needs = *needs;
    v->host = *needs->host;
    v->host.woken = needs->woken;
    v->host.granted = NULL;
    v->host.shaken = ignore_shaken;
    v->host.unreleased = v->host.weaker = ignore_code;
    v->host.log = pass_on_entry;
    v->host.core = v;
    atomic_init(&v->standing, HF_UNKNOWN);
    pthread_mutex_init(&v->mu, NULL);
    pthread_cond_init(&v->cond, NULL);
    write_name(v, address);
    address->given_up = &v->stopping;
    node.host = &v->host;
    rc = hf__node_new(&v->node, address, &node, err);
    if (rc == HF_OK)
        *ret = v;
    else
        hf__voter_free(v, false);
    return rc;
}

int hf__voter_start(hf_voter *v, hf_error *err) {
    int why = hf__world->thread_start(&v->thread, run, v);

    if (why)
        return hf__fail(err, HF_ESYSTEM, "cannot start a thread: %s",
                        strerror(why));
    v->runs = true;
    return HF_OK;
}

void hf__voter_stop(hf_voter *v) {
    pthread_mutex_lock(&v->mu);
    atomic_store(&v->stopping, true);
    pthread_cond_signal(&v->cond);
    pthread_mutex_unlock(&v->mu);
    if (v->runs)
        hf__world->thread_join(v->thread);
    v->runs = false;
    for (hf_wire *w = v->wires; w; w = w->next) {
        forgive(w->debts);
        w->debts = NULL;
        hf__conn_close(w->fresh);
        w->fresh = NULL;
    }
}

void hf__voter_free(hf_voter *v, bool forked) {
    if (!v)
        return;
    hf__node_free(v->node, forked);
    if (forked)
        return;
    pthread_mutex_destroy(&v->mu);
    pthread_cond_destroy(&v->cond);
    hf__free(v);
}
