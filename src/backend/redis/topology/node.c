/* SPDX-License-Identifier: MIT
 *
 * node.c - a server with all that we have to do with it. */
#include "node.h"

#include "../../../alloc.h"
#include "../../../err.h"
#include "../../../world.h"
#include "../reply.h"

static int furnish(hf_node *n, const hf_node_needs *needs, hf_error *err) {
    hf_engine_needs engine = {.server = &n->server,
                              .once = needs->once,
                              .wait_ms = needs->wait_ms,
                              .stray = needs->stray,
                              .stray_arg = needs->stray_arg};
    hf_listener_needs listener = needs->listener;
    int rc = hf__engine_new(&n->engine, &engine, err);

    listener.server = &n->server;
    listener.sharded = needs->sharded;
    if (rc == HF_OK)
        rc = hf__listener_new(&n->listener, &listener, err);
    return rc;
}

int hf__node_new(hf_node **ret, hf_address *address, const hf_node_needs *needs,
                 hf_error *err) {
    hf_node *n = hf__calloc(1, sizeof *n);
    int rc;

    if (!n) {
        hf__address_free(address);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    rc = hf__server_init(&n->server, address, needs->scripts, needs->host, err);
    if (rc != HF_OK) {
        hf__free(n);
        return rc;
    }
    n->server.replicas_set = needs->replicas;
    if (!address) {
        n->server.find = needs->find;
        n->server.find_arg = needs->find_arg;
        n->server.where = needs->where;
    }
    rc = furnish(n, needs, err);
    if (rc == HF_OK)
        *ret = n;
    else
        hf__node_free(n, false);
    return rc;
}

void hf__node_free(hf_node *n, bool forked) {
    if (!n)
        return;
    hf__listener_free(n->listener, forked);
    hf__engine_free(n->engine, forked);
    if (forked)
        return; /* threads that are gone may have held its locks */
    hf__server_clear(&n->server);
    hf__free(n);
}

/* What certainly did not leave was not done. */
static int conclude(hf_node *n, int rc, redisReply **ret, hf_error *err) {
    if (rc == HF_UNSENT)
        return err->code = HF_EDOWN;
    if (rc == HF_OK && (*ret)->type == REDIS_REPLY_ERROR) {
        rc = hf__reply_fail(err, *ret, n->server.where, NULL);
        freeReplyObject(*ret);
    }
    return rc;
}

int hf__node_ask(hf_node *n, int argc, const char *const *argv,
                 redisReply **ret, hf_time by, hf_error *err) {
    int rc;

    do
        rc = hf__engine_ask(n->engine, argc, argv, ret, by, err);
    while (rc == HF_UNSENT && hf__now() < by);
    return conclude(n, rc, ret, err);
}

int hf__node_call(hf_node *n, const hf_call *call, redisReply **ret, hf_time by,
                  hf_error *err) {
    int rc;

    do
        rc = hf__engine_run(n->engine, call, false, ret, by, err);
    while (rc == HF_UNSENT && hf__now() < by);
    return conclude(n, rc, ret, err);
}
