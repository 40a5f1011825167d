/* SPDX-License-Identifier: MIT
 *
 * site_failover.c - Redis with replicas: found by sentinels, or as a cluster;
 * and servers that know nothing of each other, of whom a majority decides. */
#include "site.h"

#include "support/wait.h"

#include <stdio.h>
#include <string.h>

/* ---- sentinels --------------------------------------------------------- */

/* Server 0 is known to all by the port of its link, as a replica too. */
static void announce(site *s) {
    hf_test_server_ask(hf_test_ensemble_server(s->ensemble, 0),
                       "CONFIG SET replica-announce-port %d",
                       hf_test_proxy_port(hf_test_ensemble_proxy(s->ensemble)));
}

static void sentinel_start(site *s) {
    s->ensemble = hf_test_ensemble_start(
        &(hf_test_ensemble_options){.down_after_ms = 1000, .proxied = true});
    announce(s);
    /* Many who wait for replicas share a connection: not for long. */
    snprintf(s->uri, sizeof s->uri, "%s?wait_timeout=60",
             hf_test_ensemble_uri(s->ensemble));
    snprintf(s->plain, sizeof s->plain, "%s", s->uri);
}

static void sentinel_stop(site *s) {
    hf_test_ensemble_stop(s->ensemble);
}

static int master_of(site *s) {
    int master = -1;
    hf_test_eventually((master = hf_test_ensemble_master(s->ensemble)) >= 0,
                       HF_TEST_LONG);
    return master;
}

static hf_test_server *server_of(site *s, int i) {
    return hf_test_ensemble_server(s->ensemble, i);
}

static bool is_replaced(site *s) {
    int now = hf_test_ensemble_master(s->ensemble);
    return now >= 0 && now != s->who &&
           strncmp(hf_test_server_ask(server_of(s, now), "ROLE"), "master",
                   6) == 0;
}

/* Sentinels that failed at it, or have just done it, wait for some seconds, and
 * forget that they were asked. */
static void await_failover(site *s, bool by_hand) {
    int64_t again = hf_test_now_ms();
    int64_t by = again + 3 * HF_TEST_LONG;
    while (!is_replaced(s)) {
        if (by_hand && hf_test_now_ms() >= again) {
            hf_test_ensemble_fail_over(s->ensemble);
            again = hf_test_now_ms() + 3000;
        }
        if (hf_test_now_ms() > by)
            fail_msg("the sentinels do not agree on another master");
        hf_test_breathe();
    }
}

/* It comes back as somebody's replica, once there is another master. */
static void master_dies(site *s, chance *c) {
    (void)c;
    s->who = master_of(s);
    hf_test_server_kill(server_of(s, s->who));
}

static void master_is_back(site *s) {
    await_failover(s, false);
    hf_test_server_restart(server_of(s, s->who));
    announce(s);
}

static void sentinel_settle(site *s) {
    hf_test_ensemble_sync(s->ensemble, master_of(s));
}

static void hand_over(site *s, chance *c) {
    (void)c;
    sentinel_settle(s);
    s->who = master_of(s);
}

static void handed_over(site *s) {
    await_failover(s, true);
    sentinel_settle(s);
}

static void master_is_killed(site *s, chance *c) {
    sentinel_settle(s);
    master_dies(s, c);
}

static void back_and_in_step(site *s) {
    master_is_back(s);
    sentinel_settle(s);
}

/* Server 0 stands behind a link, and replicas follow it by that: it is made the
 * master again, for it only can be cut off from them. */
static void restore_first(site *s) {
    hf_test_server_ask(server_of(s, 0), "CONFIG SET replica-priority 1");
    sentinel_settle(s);
    if (master_of(s) == 0)
        return;
    s->who = master_of(s);
    handed_over(s);
}

/* Replicas hear nothing of what is granted from now on. */
static void replicas_lag(site *s, chance *c) {
    hf_test_proxy *link = hf_test_ensemble_proxy(s->ensemble);
    (void)c;
    restore_first(s);
    hf_test_proxy_single_out(link, HF_REPLICAS);
    hf_test_proxy_drop(link, HF_TO_CLIENT, true);
}

/* And then the master dies, with all that. */
static void lost_with_master(site *s) {
    hf_test_proxy *link = hf_test_ensemble_proxy(s->ensemble);
    s->who = master_of(s);
    hf_test_server_kill(server_of(s, s->who));
    await_failover(s, false);
    hf_test_proxy_drop(link, HF_TO_CLIENT, false);
    hf_test_proxy_single_out(link, 0);
    hf_test_proxy_cut(link);
    hf_test_server_restart(server_of(s, s->who));
    announce(s);
    sentinel_settle(s);
}

static void master_freezes(site *s, chance *c) {
    (void)c;
    s->who = master_of(s);
    hf_test_server_pause(server_of(s, s->who));
}

static void master_thaws(site *s) {
    hf_test_server_resume(server_of(s, s->who));
}

static void sentinel_flush(site *s, chance *c) {
    (void)c;
    hf_test_server_ask(server_of(s, master_of(s)), "SCRIPT FLUSH");
}

static void sentinel_kick(site *s, chance *c) {
    (void)c;
    hf_test_server_ask(server_of(s, master_of(s)), "CLIENT KILL TYPE normal");
    hf_test_server_ask(server_of(s, master_of(s)), "CLIENT KILL TYPE pubsub");
}

static void sentinel_dies(site *s, chance *c) {
    s->who = chance_below(c, HF_TEST_SENTINELS);
    hf_test_server_kill(hf_test_ensemble_sentinel(s->ensemble, s->who));
}

static void sentinel_is_back(site *s) {
    hf_test_server_restart(hf_test_ensemble_sentinel(s->ensemble, s->who));
}

static int sentinel_left(site *s, char *what, size_t size) {
    return redis_left(server_of(s, master_of(s)), what, size);
}

/* The master that stands still for less than down_after is only slow; all the
 * others can lose what was granted last, unless every replica was asked. */
static const fault sentinel_faults[] = {
    {.name = "slow-server",
     .begin = master_freezes,
     .end = master_thaws,
     .least = 50,
     .most = 400},
    {.name = "flush", .begin = sentinel_flush, .least = 5, .most = 100},
    {.name = "kicked", .begin = sentinel_kick, .least = 5, .most = 300},
    {.name = "sentinel",
     .begin = sentinel_dies,
     .end = sentinel_is_back,
     .least = 100,
     .most = 600},
    {.name = "failover",
     .begin = master_is_killed,
     .end = back_and_in_step,
     .least = 10,
     .most = 50,
     .rest = 3000,
     .weak = true},
    {.name = "handover",
     .begin = hand_over,
     .end = handed_over,
     .least = 10,
     .most = 50,
     .rest = 3000,
     .weak = true},
    {.name = "failover-all",
     .begin = master_is_killed,
     .end = back_and_in_step,
     .least = 10,
     .most = 50,
     .rest = 3000,
     .replicas = HF_ALL},
    {.name = "lost-write",
     .begin = replicas_lag,
     .end = lost_with_master,
     .least = 1500,
     .most = 2500,
     .rest = 3000,
     .lease_ms = 6000,
     .weak = true},
    {.name = "lost-write-all",
     .begin = replicas_lag,
     .end = lost_with_master,
     .least = 1500,
     .most = 2500,
     .rest = 3000,
     .lease_ms = 6000,
     .replicas = HF_ALL},
    {.name = NULL},
};

const store store_sentinel = {
    .name = "sentinel",
    .keeps_dead = true,
    .missing = hf_test_redis_missing,
    .start = sentinel_start,
    .stop = sentinel_stop,
    .settle = sentinel_settle,
    .left = sentinel_left,
    .faults = sentinel_faults,
    .lease_ms = 2000,
    .timeout_ms = 600,
};

/* ---- a cluster --------------------------------------------------------- */

static const char *const quick[] = {"--cluster-node-timeout", "2000", NULL};

static void cluster_start(site *s) {
    s->cluster = hf_test_cluster_start(
        &(hf_test_cluster_options){.replicas = 1, .args = quick});
    snprintf(s->uri, sizeof s->uri, "%s", hf_test_cluster_uri(s->cluster));
    snprintf(s->plain, sizeof s->plain, "%s", s->uri);
}

static void cluster_stop(site *s) {
    hf_test_cluster_stop(s->cluster);
}

static char cluster_name[64];

static hf_test_server *node(site *s, int i) {
    return hf_test_cluster_server(s->cluster, i);
}

/* Who serves one of the names that are wanted most. */
static int hot_master(site *s, chance *c) {
    int owner = -1;
    ground_name((uint32_t)chance_below(c, NAME_MANY - 5), cluster_name,
                sizeof cluster_name);
    hf_test_eventually(
        (owner = hf_test_cluster_owner(s->cluster, cluster_name)) >= 0,
        HF_TEST_LONG);
    return owner;
}

static bool is_in_step(site *s, int i) {
    const char *role = hf_test_server_ask(node(s, i), "ROLE");
    if (strncmp(role, "master", 6) == 0)
        return strchr(role, ':') != NULL || strstr(role, "127.0.0.1") != NULL;
    return strstr(role, "connected") != NULL;
}

static bool is_well(site *s, int i) {
    return strstr(hf_test_server_ask(node(s, i), "CLUSTER INFO"),
                  "cluster_state:ok") != NULL &&
           is_in_step(s, i);
}

static void cluster_settle(site *s) {
    for (int i = 0; i < hf_test_cluster_size(s->cluster); i++)
        hf_test_eventually(is_well(s, i), 2 * HF_TEST_LONG);
}

static void node_dies(site *s, chance *c) {
    cluster_settle(s);
    s->who = hot_master(s, c);
    hf_test_server_kill(node(s, s->who));
}

static void node_is_back(site *s) {
    hf_test_cluster_await_failover(s->cluster, cluster_name, s->who);
    hf_test_server_restart(node(s, s->who));
    cluster_settle(s);
}

static void node_freezes(site *s, chance *c) {
    s->who = hot_master(s, c);
    hf_test_server_pause(node(s, s->who));
}

static void node_thaws(site *s) {
    hf_test_server_resume(node(s, s->who));
}

static void cluster_flush(site *s, chance *c) {
    (void)c;
    for (int i = 0; i < hf_test_cluster_size(s->cluster); i++)
        hf_test_server_ask(node(s, i), "SCRIPT FLUSH");
}

static void cluster_kick(site *s, chance *c) {
    int i = hot_master(s, c);
    hf_test_server_ask(node(s, i), "CLIENT KILL TYPE normal");
    hf_test_server_ask(node(s, i), "CLIENT KILL TYPE pubsub");
}

/* The slot of a name goes to another master while it is used. */
static void move_slot(site *s, chance *c) {
    int from = hot_master(s, c);
    int slot = hf_test_cluster_slot(s->cluster, cluster_name);
    for (int to = 0; to < hf_test_cluster_size(s->cluster); to++)
        if (to != from && strncmp(hf_test_server_ask(node(s, to), "ROLE"),
                                  "master", 6) == 0) {
            hf_test_cluster_move(s->cluster, slot, from, to);
            return;
        }
}

static const fault cluster_faults[] = {
    {.name = "slow-server",
     .begin = node_freezes,
     .end = node_thaws,
     .least = 50,
     .most = 600},
    {.name = "flush", .begin = cluster_flush, .least = 5, .most = 100},
    {.name = "kicked", .begin = cluster_kick, .least = 5, .most = 300},
    {.name = "moved", .begin = move_slot, .least = 5, .most = 200},
    {.name = "failover",
     .begin = node_dies,
     .end = node_is_back,
     .least = 10,
     .most = 50,
     .rest = 3000,
     .weak = true},
    {.name = "failover-all",
     .begin = node_dies,
     .end = node_is_back,
     .least = 10,
     .most = 50,
     .rest = 3000,
     .replicas = HF_ALL},
    {.name = NULL},
};

const store store_cluster = {
    .name = "cluster",
    .keeps_dead = true,
    .missing = hf_test_redis_missing,
    .start = cluster_start,
    .stop = cluster_stop,
    .settle = cluster_settle,
    .faults = cluster_faults,
    .lease_ms = 2000,
    .timeout_ms = 600,
};

/* ---- a majority -------------------------------------------------------- */

enum { VOTERS = 3 };

static void redlock_start(site *s) {
    hf_test_voters_start(&s->voters, VOTERS,
                         &(hf_test_server_options){.durable = true}, "");
    hf_test_voters_link(&s->voters, "");
    for (int i = 0; i < VOTERS; i++)
        s->links[i] = s->voters.links[i];
    s->n_links = VOTERS;
    snprintf(s->uri, sizeof s->uri, "%s", s->voters.by_link);
    snprintf(s->plain, sizeof s->plain, "%s", s->voters.uri);
}

static void redlock_stop(site *s) {
    hf_test_voters_stop(&s->voters); /* and the links, which are its own */
    s->n_links = 0;
}

static void voter_dies(site *s, chance *c) {
    s->who = chance_below(c, VOTERS);
    hf_test_server_kill(s->voters.servers[s->who]);
}

static void voter_is_back(site *s) {
    hf_test_server_restart(s->voters.servers[s->who]);
}

static void voter_freezes(site *s, chance *c) {
    s->who = chance_below(c, VOTERS);
    hf_test_server_pause(s->voters.servers[s->who]);
}

static void voter_thaws(site *s) {
    hf_test_server_resume(s->voters.servers[s->who]);
}

static void voter_loses_reply(site *s, chance *c) {
    hf_test_proxy_catch(s->links[chance_below(c, VOTERS)], "EVALSHA", NULL,
                        chance_percent(c, 50) ? HF_MUTE : 0);
}

static int redlock_left(site *s, char *what, size_t size) {
    int n = 0;
    for (int i = 0; i < VOTERS; i++)
        n += redis_left(s->voters.servers[i], what, size);
    return n;
}

static const fault redlock_faults[] = {
    LINK_FAULTS,
    {.name = "lost-reply", .begin = voter_loses_reply, .least = 5, .most = 200},
    {.name = "restart",
     .begin = voter_dies,
     .end = voter_is_back,
     .least = 20,
     .most = 1500},
    {.name = "slow-server",
     .begin = voter_freezes,
     .end = voter_thaws,
     .least = 100,
     .most = 2500},
    {.name = NULL},
};

const store store_redlock = {
    .name = "redlock",
    .missing = hf_test_redis_missing,
    .start = redlock_start,
    .stop = redlock_stop,
    .left = redlock_left,
    .faults = redlock_faults,
    .lease_ms = 1500,
    .timeout_ms = 400,
};
