/* SPDX-License-Identifier: MIT
 *
 * node.h - a server with all that we have to do with it: the connections for
 * requests, and the one for messages. */
#ifndef HF_REDIS_NODE_H
#define HF_REDIS_NODE_H

#include "../engine.h"
#include "../wake.h"

typedef struct hf_node {
    hf_server server;
    hf_engine *engine;
    hf_listener *listener;
    unsigned number; /* in a cluster: see cluster_nodes.h */
} hf_node;

/* What the nodes of a client have in common. */
typedef struct hf_node_needs {
    const hf_host *host;
    const hf_scripts *scripts;
    bool once;    /* see hf_engine_needs   */
    bool sharded; /* listen by SSUBSCRIBE  */
    int wait_ms;  /* likewise              */
    int replicas; /* as the user says; 0   */
    hf_stray_fn *stray;
    void *stray_arg;
    hf_listener_needs listener; /* what a channel may need; no server */

    hf_find_fn *find; /* where the server is found, and has no address; */
    void *find_arg;   /* then it goes by this name in errors            */
    const char *where;
} hf_node_needs;

/* Takes the address, also when it fails; NULL: it is found.  Connects to
 * nothing. */
int hf__node_new(hf_node **ret, hf_address *address, const hf_node_needs *needs,
                 hf_error *err);
void hf__node_free(hf_node *n, bool forked);

/* Asks this very server something, or runs a script there; an error reply
 * becomes err. */
int hf__node_ask(hf_node *n, int argc, const char *const *argv,
                 redisReply **ret, hf_time by, hf_error *err);
int hf__node_call(hf_node *n, const hf_call *call, redisReply **ret, hf_time by,
                  hf_error *err);

#endif
