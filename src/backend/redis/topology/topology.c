/* SPDX-License-Identifier: MIT
 *
 * topology.c - which server a request goes to: what is the same in all of
 * them. */
#include "topology.h"

#include <stdlib.h>
#include <string.h>

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

static void pause_before(hf_trip *trip, hf_time by) {
    int ms = FIRST_PAUSE_MS;

    for (int i = 0; i < trip->pauses && ms < LAST_PAUSE_MS; i++)
        ms *= 2;
    if (ms > LAST_PAUSE_MS)
        ms = LAST_PAUSE_MS;
    trip->pauses++;
    trip->hops = 0;
    hf__world->poll(NULL, 0,
                    hf__sooner(by, hf__now() + hf__jitter(ms * HF_MS)));
}

/* Whether to ask again, and where, after what came back.  A reply that sent us
 * on is freed. */
static bool goes_on(hf_topology *t, hf_trip *trip, int rc, redisReply *reply,
                    hf_time by) {
    hf_next next = t->ops->learn(t, trip, rc, reply, by);

    if (next == HF_NEXT_DONE || hf__now() >= by)
        return false;
    if (reply)
        freeReplyObject(reply);
    trip->asking = next == HF_NEXT_ASKING;
    if (next == HF_NEXT_LATER || ++trip->hops >= HOPS_MAX)
        pause_before(trip, by);
    return true;
}

static hf_node *next_node(hf_topology *t, hf_trip *trip) {
    trip->at = trip->asking ? trip->to : t->ops->locate(t, trip->slot);
    return trip->at;
}

/* What came in the end.  What certainly did not leave was not done. */
static int conclude(hf_topology *t, int rc, redisReply *reply, const char *name,
                    hf_error *err) {
    if (rc == HF_UNSENT)
        return err->code = HF_EDOWN;
    if (rc == HF_OK && reply->type == REDIS_REPLY_ERROR) {
        rc = hf__reply_fail(err, reply, t->where, name);
        freeReplyObject(reply);
    }
    return rc;
}

static hf_time request_by(const hf_topology *t, hf_time by) {
    return hf__sooner(by, hf__after_ms(t->host->timeout_ms));
}

int hf__topology_call(hf_topology *t, const hf_call *call, redisReply **ret,
                      hf_time by, hf_error *err) {
    hf_trip trip = {.slot = hf__topology_slot(t, call->argv[0])};
    int rc;

    by = request_by(t, by);
    do {
        *ret = NULL;
        rc = hf__engine_run(next_node(t, &trip)->engine, call, trip.asking, ret,
                            by, err);
    } while (goes_on(t, &trip, rc, *ret, by));
    return conclude(t, rc, *ret, call->name, err);
}

int hf__topology_ask(hf_topology *t, const char *key, int argc,
                     const char *const *argv, redisReply **ret, hf_time by,
                     hf_error *err) {
    hf_trip trip = {.slot = hf__topology_slot(t, key)};
    int rc;

    by = request_by(t, by);
    do {
        *ret = NULL;
        rc = hf__engine_ask(next_node(t, &trip)->engine, argc, argv, ret, by,
                            err);
    } while (goes_on(t, &trip, rc, *ret, by));
    return conclude(t, rc, *ret, NULL, err);
}

int hf__topology_post(hf_topology *t, const hf_call *call, hf_time until,
                      hf_error *err) {
    hf_node *node = t->ops->locate(t, hf__topology_slot(t, call->argv[0]));

    return hf__engine_post(node->engine, call, until, err);
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

void hf__topology_set_clocks(hf_topology *t, hf_time by) {
    hf_node *node;

    for (unsigned i = 0; (node = t->ops->master(t, i)); i++)
        hf__engine_set_clock(node->engine, by);
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
    t->tags = malloc(HF_SLOTS * sizeof *t->tags);
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
    free(t->tags);
    free(t->where);
}

int hf__topology_open(hf_topology **ret, const hf_uri *uri, const hf_host *host,
                      hf_time by, hf_error *err) {
    return hf__one_open(ret, uri, host, by, err);
}

void hf__topology_free(hf_topology *t, bool forked) {
    if (t)
        t->ops->free(t, forked);
}
