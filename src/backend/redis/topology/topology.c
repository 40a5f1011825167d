/* SPDX-License-Identifier: MIT
 *
 * topology.c - which server a request goes to: what is the same in all of
 * them. */
#include "topology.h"

#include <stdlib.h>
#include <string.h>

#include "../../../alloc.h"
#include "../../../err.h"
#include "../../../uri.h"
#include "../../../world.h"
#include "../keys.h"
#include "../reply.h"
#include "slot.h"

enum {
    HOPS_MAX = 5,       /* redirects in a row                              */
    FIRST_PAUSE_MS = 5, /* doubling                                        */
    LAST_PAUSE_MS = 200,
    WAIT_MS = 1000 /* for replicas, as Redisson has it                */
};

/* ---- asking again ------------------------------------------------------ */

/* A question that has not even this much time would only end in doubt. */
static const hf_time ANSWER = 50 * HF_MS;

/* So often, and for so long, keys that are apart are waited for where there is
 * another way. */
enum { TORN_TRIES = 5 };
static const hf_time TORN = 250 * HF_MS;

bool hf__topology_pause(hf_trip *trip, hf_time by) {
    int ms = FIRST_PAUSE_MS;
    hf_time until;

    for (int i = 0; i < trip->pauses && ms < LAST_PAUSE_MS; i++)
        ms *= 2;
    if (ms > LAST_PAUSE_MS)
        ms = LAST_PAUSE_MS;
    trip->pauses++;
    until = hf__now() + hf__jitter(ms * HF_MS);
    if (until + ANSWER > by)
        return false;
    hf__world->poll(NULL, 0, until);
    return true;
}

/* Its keys have been apart for so long that another way is worth trying; and
 * there is still time for it. */
static bool is_torn(const hf_trip *trip, hf_time by) {
    hf_time now = hf__now();

    return trip->has_other_way && trip->torn > 0 &&
           ((trip->torn >= TORN_TRIES && now - trip->torn_since >= TORN) ||
            by - now < TORN);
}

/* Whether to ask again, and where, after what came back.  A reply that sent us
 * on is freed.  Servers that send us on and on are asked ever more slowly. */
static bool goes_on(hf_topology *t, hf_trip *trip, int rc, redisReply *reply,
                    hf_time by) {
    hf_next next = t->ops->learn(t, trip, rc, reply, by);
    bool again = next != HF_NEXT_DONE && hf__now() + ANSWER <= by &&
                 !(next == HF_NEXT_LATER && is_torn(trip, by));

    if (next == HF_NEXT_AGAIN || next == HF_NEXT_ASKING)
        trip->hops++;
    if (again && (next == HF_NEXT_LATER || trip->hops >= HOPS_MAX))
        again = hf__topology_pause(trip, by);
    trip->asking = again && next == HF_NEXT_ASKING;
    if (next == HF_NEXT_ASKING && !again)
        hf__topology_leave(t, trip->to);
    if (again && reply)
        freeReplyObject(reply);
    return again;
}

static hf_node *next_node(hf_topology *t, hf_trip *trip) {
    trip->at = trip->asking ? trip->to : t->ops->locate(t, trip->slot);
    return trip->at;
}

/* Where a slot is, the servers themselves did not agree on in time, or it is
 * on its way. */
static int lost_our_way(const hf_node *node, const redisReply *reply,
                        const char *name, hf_error *err) {
    bool moving = hf__reply_is(reply, "ASK");

    return hf__fail(err, moving ? HF_ESTARTING : HF_EDOWN,
                    "%s, \"%.64s\": %s (%.64s)", node->server.where,
                    name ? name : "",
                    moving ? "it is busy moving the name to another server" :
                             "its servers do not agree on who has it",
                    reply->str);
}

/* What came in the end, from that node.  What certainly did not leave was not
 * done. */
static int conclude(hf_topology *t, const hf_node *node, int rc,
                    redisReply *reply, const char *name, hf_error *err) {
    if (rc == HF_UNSENT)
        return err->code = HF_EDOWN;
    if (rc != HF_OK || reply->type != REDIS_REPLY_ERROR)
        return rc;
    if (t->slotted &&
        (hf__reply_is(reply, "MOVED") || hf__reply_is(reply, "ASK")))
        rc = lost_our_way(node, reply, name, err);
    else
        rc = hf__reply_fail(err, reply, node->server.where, name);
    freeReplyObject(reply);
    return rc;
}

static hf_time request_by(const hf_topology *t, hf_time by) {
    return hf__sooner(by, hf__after_ms(t->host->timeout_ms));
}

int hf__topology_call(hf_topology *t, const hf_call *call, redisReply **ret,
                      hf_time by, hf_error *err) {
    hf_trip trip = {.slot = hf__topology_slot(t, call->argv[0]),
                    .has_other_way = call->torn != NULL};
    bool again;
    int rc;

    by = request_by(t, by);
    do {
        hf_node *node = next_node(t, &trip);

        *ret = NULL;
        rc = hf__engine_run(node->engine, call, trip.asking, ret, by, err);
        again = goes_on(t, &trip, rc, *ret, by);
        if (!again && call->torn)
            *call->torn = rc == HF_OK && hf__reply_is(*ret, "TRYAGAIN");
        if (!again)
            rc = conclude(t, node, rc, *ret, call->name, err);
        hf__topology_leave(t, node);
    } while (again);
    if (trip.cut_short && call->cut_short)
        *call->cut_short = true;
    if (trip.cut_short && rc != HF_OK)
        rc = err->code = HF_EDOUBT;
    return rc;
}

/* The reply to ASKING is of no interest. */
static int ask_once(hf_node *node, bool asking, int argc,
                    const char *const *argv, redisReply **ret, hf_time by,
                    hf_error *err) {
    redisReply *replies[2];
    hf_pipe p = {0};
    int rc;

    if (asking)
        HF_PIPE(&p, "ASKING");
    hf__pipe_add(&p, argc, argv);
    if (p.failed)
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    else
        rc = hf__engine_send(node->engine,
                             &(hf_request){p.bytes, p.len, .n = p.n}, replies,
                             by, err);
    if (rc == HF_OK)
        *ret = replies[p.n - 1];
    if (rc == HF_OK && asking)
        freeReplyObject(replies[0]);
    hf__pipe_free(&p);
    return rc;
}

int hf__topology_ask(hf_topology *t, const char *key, int argc,
                     const char *const *argv, redisReply **ret, hf_time by,
                     hf_error *err) {
    hf_trip trip = {.slot = hf__topology_slot(t, key)};
    bool again;
    int rc;

    by = request_by(t, by);
    do {
        hf_node *node = next_node(t, &trip);

        *ret = NULL;
        rc = ask_once(node, trip.asking, argc, argv, ret, by, err);
        again = goes_on(t, &trip, rc, *ret, by);
        if (!again)
            rc = conclude(t, node, rc, *ret, key, err);
        hf__topology_leave(t, node);
    } while (again);
    return rc;
}

int hf__topology_post(hf_topology *t, const hf_call *call, hf_time until,
                      hf_error *err) {
    hf_node *node = t->ops->locate(t, hf__topology_slot(t, call->argv[0]));
    int rc = hf__engine_post(node->engine, call, until, err);

    hf__topology_leave(t, node);
    return rc;
}

/* A posted release that was sent away. */
static int stray(void *arg, const hf_call *call, hf_time by, hf_error *err) {
    redisReply *reply;
    int rc = hf__topology_call(arg, call, &reply, by, err);

    if (rc != HF_OK)
        return rc;
    freeReplyObject(reply);
    return HF_OK;
}

/* ---- slots and clocks -------------------------------------------------- */

unsigned hf__topology_slot(const hf_topology *t, const char *key) {
    return t->slotted ? hf__slot(key) : 0;
}

char *hf__topology_era(const hf_topology *t, const char *name, char *buf) {
    buf = stpcpy(buf, HF_ERA_KEY);
    if (!t->tags)
        return buf;
    buf = stpcpy(buf, ":{");
    buf = hf__decimal(buf, t->tags[hf__topology_slot(t, name)]);
    return stpcpy(buf, "}");
}

hf_server_clock *hf__topology_clock(hf_topology *t, const char *name) {
    if (!t->steady)
        return NULL;
    return &t->ops->locate(t, hf__topology_slot(t, name))->server.clock;
}

void hf__topology_set_clock(hf_topology *t, const char *name, hf_time by) {
    hf_node *node = t->ops->locate(t, hf__topology_slot(t, name));

    hf__engine_set_clock(node->engine, by);
    hf__topology_leave(t, node);
}

/* ---- life -------------------------------------------------------------- */

static int read_settings(hf_topology *t, const hf_uri *uri, hf_error *err) {
    const char *replicas = hf_uri_get(uri, "replicas");
    char *end = NULL;
    int wait_ms = 0, rc;

    if ((rc = hf__uri_ms(uri, "lock_delay", &t->lock_delay, err)) ||
        (rc = hf__uri_ms(uri, "wait_timeout", &wait_ms, err)))
        return rc;
    if (replicas)
        t->needs.replicas = (int)strtol(replicas, &end, 10);
    if (replicas && (*end || t->needs.replicas < 1))
        return hf__fail(err, HF_EURI,
                        "replicas=%.32s: how many replicas has each master? "
                        "Write a number from 1",
                        replicas);
    /* A server that waits longer than a request may take seems dead. */
    t->needs.wait_ms = wait_ms ? wait_ms : WAIT_MS;
    if (t->needs.wait_ms > t->host->timeout_ms / 2)
        t->needs.wait_ms = t->host->timeout_ms / 2;
    return HF_OK;
}

static int make_tags(hf_topology *t, hf_error *err) {
    t->tags = hf__malloc(HF_SLOTS * sizeof *t->tags);
    if (!t->tags)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    hf__slot_tags(t->tags);
    return HF_OK;
}

int hf__topology_init(hf_topology *t, const hf_topology_ops *ops,
                      const hf_uri *uri, const hf_host *host, hf_error *err) {
    hf_manner manner;
    int rc;

    t->ops = ops;
    t->host = host;
    rc = read_settings(t, uri, err);
    if (rc != HF_OK)
        return rc;
    manner = (hf_manner){t->needs.sharded, t->lock_delay};
    rc = hf__scripts_init(&t->scripts, &manner, err);
    if (rc == HF_OK && t->slotted && t->lock_delay)
        rc = make_tags(t, err);
    t->needs.host = host;
    t->needs.scripts = &t->scripts;
    t->needs.stray = t->steady ? NULL : stray;
    t->needs.stray_arg = t;
    return rc;
}

void hf__topology_clear(hf_topology *t) {
    hf__scripts_clear(&t->scripts);
    hf__free(t->tags);
    hf__free(t->where);
}

int hf__topology_open(hf_topology **ret, const hf_uri *uri, const hf_host *host,
                      hf_time by, hf_error *err) {
    if (strcmp(uri->scheme, "redis+cluster") == 0)
        return hf__cluster_open(ret, uri, host, by, err);
    if (hf_uri_get(uri, "sharded"))
        return hf__fail(err, HF_EURI,
                        "the parameter 'sharded' is for redis+cluster://");
    return hf__one_open(ret, uri, host, by, err);
}

void hf__topology_free(hf_topology *t, bool forked) {
    if (t)
        t->ops->free(t, forked);
}
