/* SPDX-License-Identifier: MIT
 *
 * cluster.c - servers, introduced to each other.
 *
 * redis-cli would do it, too, but sleeps a second where a look is enough.  A
 * master that has just started waits two seconds before it serves, whatever
 * it is told; so all servers are started before anything else is done. */
#include "cluster.h"

#include "wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERVERS_MAX = 12, SLOTS = 16384 };

struct hf_test_cluster {
    hf_test_cluster_options options;
    int masters, n;
    hf_test_server *servers[SERVERS_MAX];
    char ids[SERVERS_MAX][64];
    const char *args[32];
    char uri[1024];
};

/* ---- starting ---------------------------------------------------------- */

/* Every server is started with these, and again after it was killed. */
static void write_args(hf_test_cluster *c) {
    const char *const ours[] = {
        "--cluster-node-timeout",
        "500",
        "--cluster-replica-validity-factor",
        "0",
        "--repl-diskless-sync-delay",
        "0",
        "--cluster-require-full-coverage",
        c->options.partial ? "no" : "yes",
    };
    int n = sizeof ours / sizeof *ours;
    memcpy(c->args, ours, sizeof ours);
    if (c->options.password != NULL) {
        c->args[n++] = "--masterauth";
        c->args[n++] = c->options.password;
    }
    for (const char *const *p = c->options.args; p != NULL && *p != NULL; p++)
        c->args[n++] = *p;
}

static void start_server(hf_test_cluster *c, int i) {
    c->servers[i] = hf_test_server_start(
        &(hf_test_server_options){.clustered = true,
                                  .tls_cert = c->options.tls_cert,
                                  .password = c->options.password,
                                  .args = c->args});
    snprintf(c->ids[i], sizeof c->ids[i], "%s",
             hf_test_server_ask(c->servers[i], "CLUSTER MYID"));
}

static int port_of(const hf_test_cluster *c, int i) {
    return c->options.tls_cert != NULL ?
               hf_test_server_tls_port(c->servers[i]) :
               hf_test_server_port(c->servers[i]);
}

static void expect_ok(const char *reply) {
    assert_string_equal(reply, "OK");
}

/* Every master its share of the slots, while nobody knows of anybody. */
static void share_slots(hf_test_cluster *c) {
    for (int i = 0; i < c->masters; i++) {
        expect_ok(hf_test_server_ask(
            c->servers[i], "CLUSTER ADDSLOTSRANGE %d %d",
            SLOTS * i / c->masters, SLOTS * (i + 1) / c->masters - 1));
        expect_ok(hf_test_server_ask(c->servers[i],
                                     "CLUSTER SET-CONFIG-EPOCH %d", i + 1));
    }
}

static bool says(hf_test_server *server, const char *command,
                 const char *what) {
    return strstr(hf_test_server_ask(server, "%s", command), what) != NULL;
}

static void introduce(hf_test_cluster *c) {
    char all[64];
    snprintf(all, sizeof all, "cluster_known_nodes:%d\r", c->n);
    for (int i = 1; i < c->n; i++)
        expect_ok(hf_test_server_ask(
            c->servers[0], "CLUSTER MEET 127.0.0.1 %d %d", port_of(c, i),
            hf_test_server_bus_port(c->servers[i])));
    for (int i = 0; i < c->n; i++)
        hf_test_eventually(says(c->servers[i], "CLUSTER INFO", all),
                           HF_TEST_LONG);
}

static int master_of(const hf_test_cluster *c, int replica) {
    return (replica - c->masters) % c->masters;
}

static void attach_replicas(hf_test_cluster *c) {
    for (int i = c->masters; i < c->n; i++)
        hf_test_eventually(
            strcmp(hf_test_server_ask(c->servers[i], "CLUSTER REPLICATE %s",
                                      c->ids[master_of(c, i)]),
                   "OK") == 0,
            HF_TEST_LONG);
    for (int i = c->masters; i < c->n; i++)
        hf_test_eventually(
            says(c->servers[i], "INFO replication", "master_link_status:up"),
            HF_TEST_LONG);
    for (int i = 0; i < c->masters && c->n > c->masters; i++)
        hf_test_eventually(
            says(c->servers[i], "INFO replication", "state=online"),
            HF_TEST_LONG);
}

static void write_uri(hf_test_cluster *c) {
    const char *password = c->options.password;
    int at = snprintf(
        c->uri, sizeof c->uri, "redis%s+cluster://%s%s%s",
        c->options.tls_cert != NULL ? "s" : "", password != NULL ? ":" : "",
        password != NULL ? password : "", password != NULL ? "@" : "");
    for (int i = 0; i < c->n; i++)
        at += snprintf(c->uri + at, sizeof c->uri - (size_t)at,
                       "%s127.0.0.1:%d", i > 0 ? "," : "", port_of(c, i));
}

static hf_test_cluster *launch(const hf_test_cluster_options *options) {
    hf_test_cluster *c = calloc(1, sizeof *c);
    assert_non_null(c);
    if (options != NULL)
        c->options = *options;
    c->masters = c->options.masters != 0 ? c->options.masters : 3;
    c->n = c->masters * (1 + c->options.replicas);
    assert_in_range(c->n, 1, SERVERS_MAX);
    write_args(c);
    for (int i = 0; i < c->n; i++)
        start_server(c, i);
    share_slots(c);
    write_uri(c);
    return c;
}

static void settle(hf_test_cluster *c) {
    introduce(c);
    attach_replicas(c);
    for (int i = 0; i < c->n; i++)
        hf_test_eventually(
            says(c->servers[i], "CLUSTER INFO", "cluster_state:ok"),
            HF_TEST_LONG);
}

hf_test_cluster *hf_test_cluster_start(const hf_test_cluster_options *options) {
    hf_test_cluster *c = launch(options);
    settle(c);
    return c;
}

void hf_test_cluster_stop(hf_test_cluster *cluster) {
    if (cluster == NULL)
        return;
    for (int i = 0; i < cluster->n; i++)
        hf_test_server_stop(cluster->servers[i]);
    free(cluster);
}

/* ---- asking about it --------------------------------------------------- */

const char *hf_test_cluster_uri(const hf_test_cluster *cluster) {
    return cluster->uri;
}

int hf_test_cluster_size(const hf_test_cluster *cluster) {
    return cluster->n;
}

hf_test_server *hf_test_cluster_server(hf_test_cluster *cluster, int i) {
    assert_in_range(i, 0, cluster->n - 1);
    return cluster->servers[i];
}

int hf_test_cluster_replica_of(const hf_test_cluster *cluster, int master) {
    return cluster->masters + master;
}

int hf_test_cluster_slot(hf_test_cluster *cluster, const char *key) {
    for (int i = 0; i < cluster->n; i++) {
        const char *slot =
            hf_test_server_ask(cluster->servers[i], "CLUSTER KEYSLOT %s", key);
        if (slot[0] != '-')
            return atoi(slot);
    }
    fail_msg("no server of the cluster answers");
    return -1;
}

/* Who has it does not send us elsewhere. */
int hf_test_cluster_owner(hf_test_cluster *cluster, const char *key) {
    for (int i = 0; i < cluster->n; i++)
        if (hf_test_server_ask(cluster->servers[i], "EXISTS %s", key)[0] != '-')
            return i;
    return -1;
}

void hf_test_cluster_name(hf_test_cluster *cluster, int i, const char *prefix,
                          char *buf, size_t size) {
    for (int tag = 0; tag < 1000; tag++) {
        snprintf(buf, size, "%s{%d}", prefix, tag);
        if (hf_test_server_ask(cluster->servers[i], "EXISTS %s", buf)[0] != '-')
            return;
    }
    fail_msg("server %d has no slots", i);
}

static bool is_elsewhere(hf_test_cluster *c, const char *key, int i,
                         int *owner) {
    *owner = hf_test_cluster_owner(c, key);
    return *owner >= 0 && *owner != i;
}

int hf_test_cluster_await_failover(hf_test_cluster *cluster, const char *key,
                                   int i) {
    int owner;
    hf_test_eventually(is_elsewhere(cluster, key, i, &owner), HF_TEST_LONG);
    return owner;
}

/* ---- moving slots ------------------------------------------------------ */

void hf_test_cluster_begin_move(hf_test_cluster *cluster, int slot, int from,
                                int to) {
    expect_ok(hf_test_server_ask(cluster->servers[to],
                                 "CLUSTER SETSLOT %d IMPORTING %s", slot,
                                 cluster->ids[from]));
    expect_ok(hf_test_server_ask(cluster->servers[from],
                                 "CLUSTER SETSLOT %d MIGRATING %s", slot,
                                 cluster->ids[to]));
}

/* One key at a time; one that has just ended is none. */
void hf_test_cluster_carry(hf_test_cluster *cluster, int slot, int from,
                           int to) {
    char key[1024];
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "%s",
                 hf_test_server_ask(cluster->servers[from],
                                    "CLUSTER GETKEYSINSLOT %d 1", slot));
        if (key[0] == '\0')
            return;
        const char *moved = hf_test_server_ask(
            cluster->servers[from], "MIGRATE 127.0.0.1 %d \"%s\" 0 5000",
            port_of(cluster, to), key);
        if (strcmp(moved, "OK") != 0 && strcmp(moved, "NOKEY") != 0)
            fail_msg("%s does not move: %s", key, moved);
    }
    fail_msg("slot %d does not become empty", slot);
}

static long fact(hf_test_server *server, const char *what) {
    const char *info = hf_test_server_ask(server, "CLUSTER INFO");
    const char *at = strstr(info, what);
    return at != NULL ? atol(at + strlen(what)) : -1;
}

/* The last to be given a slot has the highest epoch, and all know of it. */
static bool is_settled(hf_test_cluster *c, int to) {
    long epoch = fact(c->servers[to], "cluster_my_epoch:");
    for (int i = 0; i < c->masters; i++)
        if (fact(c->servers[i], "cluster_current_epoch:") != epoch)
            return false;
    return true;
}

/* First where it goes, so that it is never nobody's.  Servers that have not
 * heard of one move before the next begins end up at odds for good. */
void hf_test_cluster_end_move(hf_test_cluster *cluster, int slot, int to) {
    expect_ok(hf_test_server_ask(cluster->servers[to],
                                 "CLUSTER SETSLOT %d NODE %s", slot,
                                 cluster->ids[to]));
    for (int i = 0; i < cluster->masters; i++)
        expect_ok(hf_test_server_ask(cluster->servers[i],
                                     "CLUSTER SETSLOT %d NODE %s", slot,
                                     cluster->ids[to]));
    hf_test_eventually(is_settled(cluster, to), HF_TEST_LONG);
}

void hf_test_cluster_move(hf_test_cluster *cluster, int slot, int from,
                          int to) {
    hf_test_cluster_begin_move(cluster, slot, from, to);
    hf_test_cluster_carry(cluster, slot, from, to);
    hf_test_cluster_end_move(cluster, slot, to);
}

/* ---- to be lent -------------------------------------------------------- */

static void *start_set(hf_test_set *ret) {
    hf_test_cluster *c = launch(NULL);
    snprintf(ret->uri, sizeof ret->uri, "%.255s", c->uri);
    ret->n_ports = c->n;
    for (int i = 0; i < c->n; i++)
        ret->ports[i] = hf_test_server_port(c->servers[i]);
    return c;
}

/* Who borrows it wants no failover, however busy the machine is. */
static void await_set(void *servers) {
    hf_test_cluster *c = servers;
    settle(c);
    for (int i = 0; i < c->n; i++)
        expect_ok(hf_test_server_ask(c->servers[i],
                                     "CONFIG SET cluster-node-timeout 15000"));
}

static void stop_set(void *servers) {
    hf_test_cluster_stop(servers);
}

static bool empty_set(const hf_test_set *set) {
    return hf_test_flush(set, set->n_ports);
}

const hf_test_sort hf_test_cluster_sort = {
    .name = "cluster",
    .missing = hf_test_redis_missing,
    .start = start_set,
    .await = await_set,
    .stop = stop_set,
    .empty = empty_set,
};
