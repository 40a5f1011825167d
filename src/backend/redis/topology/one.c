/* SPDX-License-Identifier: MIT
 *
 * one.c - one master that has all names: a server at an address, or the one
 * that the sentinels name.
 *
 * Where it is found it can change.  Then every connection moves at once, and
 * does not wait for the old master to fail: it may go on granting for seconds.
 * What was under way there is in doubt, and is asked again of the new one. */
#include <string.h>

#include "../../../alloc.h"
#include "../../../err.h"
#include "../../../world.h"
#include "../reply.h"
#include "sentinel.h"
#include "sentinel_uri.h"
#include "topology.h"

typedef struct one {
    hf_topology base;
    hf_node *node;
    hf_sentinels *sentinels; /* NULL: always at the same address */
    atomic_llong moved_at;
} one;

/* An answer that was on its way when everything moved tells nothing new. */
static const hf_time OLD_NEWS = 50 * HF_MS;

static const hf_time LOOK_AGAIN = 100 * HF_MS;

/* ---- moving ------------------------------------------------------------ */

static void move(one *o, void (*how)(hf_engine *)) {
    atomic_store(&o->moved_at, hf__now());
    hf__server_clock_reset(&o->node->server.clock);
    how(o->node->engine);
    hf__listener_cut(o->node->listener);
}

/* A sentinel's thread.  Who was quick is at the new one already.  What the new
 * one has not heard of is lost, and its holder is to know at once. */
static void hear(void *arg, bool moved, int replicas) {
    one *o = arg;
    const hf_host *host = o->base.host;

    hf__server_saw_replicas(&o->node->server, replicas);
    if (!moved)
        return;
    move(o, hf__engine_leave);
    host->shaken(host->core, HF_LOCK, NULL);
}

/* The server says that it is not the master any more. */
static bool is_demoted(const redisReply *reply) {
    return hf__reply_is(reply, "READONLY") ||
           hf__reply_is(reply, "MASTERDOWN") ||
           hf__reply_is(reply, "UNBLOCKED");
}

/* No answer, and a server that cannot be reached, is for the core to bear; the
 * sentinels may know more by then. */
static hf_next learn(hf_topology *t, hf_trip *trip, int rc,
                     const redisReply *reply, hf_time by) {
    one *o = (one *)t;

    (void)trip, (void)by;
    if (rc == HF_UNSENT)
        return HF_NEXT_AGAIN;
    if (!o->sentinels || (rc == HF_OK && !is_demoted(reply)))
        return HF_NEXT_DONE;
    hf__sentinels_look(o->sentinels);
    if (rc != HF_OK)
        return HF_NEXT_DONE;
    if (hf__now() - atomic_load(&o->moved_at) > OLD_NEWS)
        move(o, hf__engine_cut); /* whoever connects asks for the role */
    return HF_NEXT_LATER;
}

/* ---- the rest ---------------------------------------------------------- */

static hf_node *locate(hf_topology *t, unsigned slot) {
    (void)slot;
    return ((one *)t)->node;
}

static hf_node *master(hf_topology *t, unsigned i) {
    return i ? NULL : ((one *)t)->node;
}

static int watch(hf_topology *t, unsigned slot, const char *channel, hf_time by,
                 hf_error *err) {
    (void)slot;
    return hf__listener_watch(((one *)t)->node->listener, channel, by, err);
}

static void unwatch(hf_topology *t, unsigned slot, const char *channel) {
    (void)slot;
    hf__listener_unwatch(((one *)t)->node->listener, channel);
}

static void referees(hf_topology *t, hf_referees *ret) {
    *ret = (hf_referees){0};
    if (((one *)t)->sentinels)
        hf__sentinels_count(((one *)t)->sentinels, ret);
}

/* Scouts move the node's connections, and the node asks the sentinels for the
 * master until it ends. */
static void free_one(hf_topology *t, bool forked) {
    one *o = (one *)t;

    if (o->sentinels && !forked)
        hf__sentinels_stop(o->sentinels);
    hf__node_free(o->node, forked);
    hf__sentinels_free(o->sentinels, forked);
    if (forked)
        return;
    hf__topology_clear(t);
    hf__free(o);
}

static const hf_topology_ops ops = {.locate = locate,
                                    .learn = learn,
                                    .master = master,
                                    .watch = watch,
                                    .unwatch = unwatch,
                                    .referees = referees,
                                    .free = free_one};

/* ---- opening ----------------------------------------------------------- */

static int set_where(one *o, const char *where, hf_error *err) {
    o->base.where = hf__strdup(where);
    return o->base.where ? HF_OK : hf__fail_plain(err, HF_ENO_MEMORY);
}

/* Connects once, so that a wrong address is told at once. */
static int settle_in(one *o, const hf_uri *uri, hf_time by, hf_error *err) {
    hf_address *address = NULL;
    int rc = hf__sentinel_uri_refuse(uri, err);

    if (rc == HF_OK)
        rc = hf__address_new(&address, uri, 0, err);
    if (rc == HF_OK && (rc = set_where(o, address->where, err)) != HF_OK)
        hf__address_free(address);
    if (rc == HF_OK)
        rc = hf__node_new(&o->node, address, &o->base.needs, err);
    if (rc == HF_OK)
        rc = hf__engine_up(o->node->engine, by, err);
    return rc;
}

/* A failover may be under way: then whom they name cannot be reached, or is
 * still a replica, and soon it is another. */
static int await_master(one *o, hf_time by, hf_error *err) {
    hf_error why;
    int rc;

    while ((rc = hf__engine_up(o->node->engine, by, err)) == HF_EDOWN ||
           rc == HF_EREAD_ONLY) {
        if (hf__now() + LOOK_AGAIN >= by)
            break;
        hf__world->poll(NULL, 0, hf__now() + LOOK_AGAIN);
    }
    if (rc != HF_EDOWN && rc != HF_EREAD_ONLY)
        return rc;
    why = *err;

    return hf__fail(err, why.code,
                    "the sentinels answer, but the master they name is not "
                    "there: %.150s",
                    why.text);
}

static int find_it(one *o, const hf_uri *uri, hf_time by, hf_error *err) {
    hf_node_needs *needs = &o->base.needs;
    int rc = hf__sentinels_new(&o->sentinels, uri, o->base.host, by, err);

    if (rc == HF_OK)
        rc = set_where(o, hf__sentinels_where(o->sentinels), err);
    if (rc != HF_OK)
        return rc;
    needs->find = hf__sentinels_find;
    needs->find_arg = o->sentinels;
    needs->where = o->base.where;
    rc = hf__node_new(&o->node, NULL, needs, err);
    if (rc != HF_OK)
        return rc;
    hf__sentinels_follow(o->sentinels, hear, o);
    return await_master(o, by, err);
}

int hf__one_open(hf_topology **ret, const hf_uri *uri, const hf_host *host,
                 hf_time by, hf_error *err) {
    bool found = strcmp(uri->scheme, "redis+sentinel") == 0;
    one *o = hf__calloc(1, sizeof *o);
    int rc;

    if (!o)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    o->base.steady = !found;
    rc = hf__topology_init(&o->base, &ops, uri, host, err);
    if (rc == HF_OK)
        rc = found ? find_it(o, uri, by, err) : settle_in(o, uri, by, err);
    if (rc == HF_OK)
        *ret = &o->base;
    else
        free_one(&o->base, false);
    return rc;
}
