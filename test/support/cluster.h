/* SPDX-License-Identifier: MIT
 *
 * cluster.h - a private Redis Cluster, whose masters can be killed and whose
 * slots can be moved.
 *
 * Its servers are numbered: first the masters, then the replicas, one replica
 * of each master after the other.  The numbers stay when the roles change. */
#ifndef HF_TEST_CLUSTER_H
#define HF_TEST_CLUSTER_H

#include "lender.h"
#include "server.h"

typedef struct hf_test_cluster hf_test_cluster;

typedef struct hf_test_cluster_options {
    int masters;             /* 0: three                                    */
    int replicas;            /* of each master                              */
    bool partial;            /* what can be served is, though slots are not */
    const char *tls_cert;    /* see server.h; then it is reached by TLS     */
    const char *password;    /* of the default user                         */
    const char *const *args; /* more arguments for each server              */
} hf_test_cluster_options;

/* Returns when all servers say that the cluster is well and all replicas are
 * in step.  options may be NULL. */
hf_test_cluster *hf_test_cluster_start(const hf_test_cluster_options *options);
void hf_test_cluster_stop(hf_test_cluster *cluster); /* NULL is allowed */

/* "redis+cluster://127.0.0.1:PORT,…" with all its servers.  Lent. */
const char *hf_test_cluster_uri(const hf_test_cluster *cluster);

int hf_test_cluster_size(const hf_test_cluster *cluster);
hf_test_server *hf_test_cluster_server(hf_test_cluster *cluster, int i);
int hf_test_cluster_replica_of(const hf_test_cluster *cluster, int master);

/* The slot of a key, and the number of the server that serves it now; -1: none
 * does. */
int hf_test_cluster_slot(hf_test_cluster *cluster, const char *key);
int hf_test_cluster_owner(hf_test_cluster *cluster, const char *key);

/* A name that the server has, with a tag of its own: `prefix{number}`. */
void hf_test_cluster_name(hf_test_cluster *cluster, int i, const char *prefix,
                          char *buf, size_t size);

/* Waits until another server than `i` serves the key. */
int hf_test_cluster_await_failover(hf_test_cluster *cluster, const char *key,
                                   int i);

/* Moves a slot as redis-cli does: announces it at both, carries the keys over,
 * and says where it is now. */
void hf_test_cluster_begin_move(hf_test_cluster *cluster, int slot, int from,
                                int to);
void hf_test_cluster_carry(hf_test_cluster *cluster, int slot, int from,
                           int to);
void hf_test_cluster_end_move(hf_test_cluster *cluster, int slot, int to);
void hf_test_cluster_move(hf_test_cluster *cluster, int slot, int from, int to);

#endif
