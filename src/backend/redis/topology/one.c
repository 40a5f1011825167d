/* SPDX-License-Identifier: MIT
 *
 * one.c - one master that has all names: a server at an address. */
#include <stdlib.h>
#include <string.h>

#include "../../../err.h"
#include "topology.h"

typedef struct one {
    hf_topology base;
    hf_node *node;
} one;

static hf_node *locate(hf_topology *t, unsigned slot) {
    (void)slot;
    return ((one *)t)->node;
}

static hf_next learn(hf_topology *t, hf_trip *trip, int rc,
                     const redisReply *reply, hf_time by) {
    (void)t, (void)trip, (void)reply, (void)by;
    return rc == HF_UNSENT ? HF_NEXT_AGAIN : HF_NEXT_DONE;
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

static void free_one(hf_topology *t, bool forked) {
    one *o = (one *)t;

    hf__node_free(o->node, forked);
    if (forked)
        return;
    hf__topology_clear(t);
    free(o);
}

static const hf_topology_ops ops = {.locate = locate,
                                    .learn = learn,
                                    .master = master,
                                    .watch = watch,
                                    .unwatch = unwatch,
                                    .free = free_one};

/* Connects once, so that a wrong address is told at once. */
static int settle_in(one *o, const hf_uri *uri, hf_time by, hf_error *err) {
    hf_address *address = NULL;
    int rc = hf__address_new(&address, uri, 0, err);

    if (rc == HF_OK && !(o->base.where = strdup(address->where))) {
        hf__address_free(address);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    if (rc == HF_OK)
        rc = hf__node_new(&o->node, address, &o->base.needs, err);
    if (rc == HF_OK)
        rc = hf__engine_up(o->node->engine, by, err);
    return rc;
}

int hf__one_open(hf_topology **ret, const hf_uri *uri, const hf_host *host,
                 hf_time by, hf_error *err) {
    one *o = calloc(1, sizeof *o);
    int rc;

    if (!o)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    o->base.steady = true;
    rc = hf__topology_init(&o->base, &ops, uri, host, err);
    if (rc == HF_OK)
        rc = settle_in(o, uri, by, err);
    if (rc == HF_OK)
        *ret = &o->base;
    else
        free_one(&o->base, false);
    return rc;
}
