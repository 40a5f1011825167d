/* SPDX-License-Identifier: MIT
 *
 * server.h - one Redis server as its client knows it: what all connections to
 * it have in common.
 *
 * Which server that is may change: behind Sentinel it is whoever is the master
 * now, and every new connection asks for that (`find`). */
#ifndef HF_REDIS_SERVER_H
#define HF_REDIS_SERVER_H

#include "../../log.h"
#include "clock.h"
#include "conn.h"
#include "scripts.h"

/* An address, and what TLS needs to know of it. */
typedef struct hf_target {
    hf_address *address;
    hf_tls *tls; /* NULL: plain */
} hf_target;

/* Takes the address, also when it fails. */
int hf__target_init(hf_target *t, hf_address *address, hf_error *err);
void hf__target_clear(hf_target *t);

/* Behind Sentinel: the target that is the master now, lent for as long as a
 * connection to it can take, and while it is the master. */
typedef int hf_find_fn(void *arg, const hf_target **ret, hf_time by,
                       hf_error *err);

typedef struct hf_server {
    const hf_host *host;
    const hf_scripts *scripts; /* lent */
    hf_target target;          /* empty where it is found */
    const char *where;         /* for errors; lent, or the target's */
    hf_server_clock clock;

    hf_find_fn *find; /* NULL: it is always `target` */
    void *find_arg;

    atomic_int replicas;      /* the most that were ever seen at once */
    hf_pace pace;             /* of entries that it cannot be reached */
    int replicas_set;         /* so many there are, said the user; 0: nothing */
    atomic_bool without_wait; /* it does not know WAIT, and that was told */
} hf_server;

/* Takes the address, also when it fails.  NULL: it is found, and whoever
 * finds it sets `find` and `where`. */
int hf__server_init(hf_server *s, hf_address *address,
                    const hf_scripts *scripts, const hf_host *host,
                    hf_error *err);
void hf__server_clear(hf_server *s);

/* Where it is now. */
int hf__server_target(hf_server *s, const hf_target **ret, hf_time by,
                      hf_error *err);

/* A connection for anything. */
int hf__server_dial(hf_server *s, hf_conn **ret, hf_time by, hf_error *err);

/* A connection for requests: scripts loaded, clock sampled, role known. */
int hf__server_greet(hf_server *s, hf_conn **ret, hf_time by, hf_error *err);

/* How many replicas must confirm to fulfil the policy of a claim. */
int hf__server_quorum(const hf_server *s, int policy);

/* So many replicas were seen; or those in its answer to ROLE. */
void hf__server_saw_replicas(hf_server *s, int n);
void hf__server_saw_role(hf_server *s, const redisReply *reply);

#endif
