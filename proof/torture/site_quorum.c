/* SPDX-License-Identifier: MIT
 *
 * site_quorum.c - three servers of ZooKeeper or etcd, each behind a link of its
 * own, and a majority that is there or not. */
#include "site.h"

#include "support/wait.h"

#include <stdio.h>

static void start(site *s, const hf_test_brand *brand, bool zookeeper) {
    s->quorum = hf_test_quorum_start(
        brand, &(hf_test_quorum_options){.n = HF_TEST_MEMBERS});
    int at = snprintf(s->uri, sizeof s->uri, "%s://", brand->scheme);
    for (int i = 0; i < HF_TEST_MEMBERS; i++) {
        add_link(s, hf_test_quorum_port(s->quorum, i), zookeeper);
        at +=
            snprintf(s->uri + at, sizeof s->uri - (size_t)at, "%s127.0.0.1:%d",
                     i > 0 ? "," : "", hf_test_proxy_port(s->links[i]));
    }
    snprintf(s->uri + at, sizeof s->uri - (size_t)at, "/torture");
    snprintf(s->plain, sizeof s->plain, "%s/torture",
             hf_test_quorum_uri(s->quorum));
}

static void start_zookeeper(site *s) {
    start(s, &hf_test_zookeeper, true);
}

static void start_etcd(site *s) {
    start(s, &hf_test_etcd, false);
}

static void stop(site *s) {
    hf_test_quorum_stop(s->quorum);
}

static void settle(site *s) {
    hf_test_quorum_await(s->quorum);
}

/* ---- faults ------------------------------------------------------------ */

static void kill_leader(site *s, chance *c) {
    s->who = hf_test_quorum_leader(s->quorum);
    if (s->who < 0)
        s->who = chance_below(c, HF_TEST_MEMBERS);
    hf_test_quorum_kill(s->quorum, s->who);
}

static void kill_any(site *s, chance *c) {
    s->who = chance_below(c, HF_TEST_MEMBERS);
    hf_test_quorum_kill(s->quorum, s->who);
}

static void revive(site *s) {
    hf_test_quorum_revive(s->quorum, s->who);
}

static void freeze(site *s, chance *c) {
    s->who = chance_below(c, HF_TEST_MEMBERS);
    hf_test_quorum_pause(s->quorum, s->who);
}

static void thaw(site *s) {
    hf_test_quorum_resume(s->quorum, s->who);
}

/* The one that goes on is no majority. */
static void freeze_two(site *s, chance *c) {
    s->who = chance_below(c, HF_TEST_MEMBERS);
    for (int i = 0; i < HF_TEST_MEMBERS; i++)
        if (i != s->who)
            hf_test_quorum_pause(s->quorum, i);
}

static void thaw_two(site *s) {
    for (int i = 0; i < HF_TEST_MEMBERS; i++)
        if (i != s->who)
            hf_test_quorum_resume(s->quorum, i);
}

/* One answer of ZooKeeper to a request that changes something. */
static void swallow(site *s, chance *c) {
    static const int ops[] = {HF_ZK_MULTI, HF_ZK_CREATE2, HF_ZK_DELETE};
    hf_test_proxy_swallow(s->links[chance_below(c, HF_TEST_MEMBERS)],
                          ops[chance_below(c, 3)], NULL, 0,
                          chance_percent(c, 50) ? HF_MUTE : 0);
}

/* Clients hear of nobody for longer than their sessions last. */
static void part_all(site *s, chance *c) {
    link_part(s, c);
    link_part_end(s);
    s->who = -1;
    for (int i = 0; i < s->n_links; i++) {
        hf_test_proxy_drop(s->links[i], HF_TO_SERVER, true);
        hf_test_proxy_drop(s->links[i], HF_TO_CLIENT, true);
    }
}

#define QUORUM_FAULTS                                                          \
    LINK_FAULTS,                                                               \
        {.name = "leader",                                                     \
         .begin = kill_leader,                                                 \
         .end = revive,                                                        \
         .least = 200,                                                         \
         .most = 2000},                                                        \
        {.name = "member",                                                     \
         .begin = kill_any,                                                    \
         .end = revive,                                                        \
         .least = 200,                                                         \
         .most = 2000},                                                        \
        {.name = "slow-server",                                                \
         .begin = freeze,                                                      \
         .end = thaw,                                                          \
         .least = 200,                                                         \
         .most = 3000},                                                        \
        {.name = "minority",                                                   \
         .begin = freeze_two,                                                  \
         .end = thaw_two,                                                      \
         .least = 200,                                                         \
         .most = 2500},                                                        \
    {                                                                          \
        .name = "expiry", .begin = part_all, .end = link_part_end,             \
        .least = 2500, .most = 4000                                            \
    }

static const fault zookeeper_faults[] = {
    QUORUM_FAULTS,
    {.name = "lost-reply", .begin = swallow, .least = 20, .most = 400},
    {.name = NULL},
};

static const fault etcd_faults[] = {
    QUORUM_FAULTS,
    {.name = NULL},
};

static const char *zookeeper_missing(void) {
    return hf_test_zookeeper.missing();
}

static const char *etcd_missing(void) {
    return hf_test_etcd.missing();
}

const store store_zookeeper = {
    .name = "zookeeper",
    .missing = zookeeper_missing,
    .start = start_zookeeper,
    .stop = stop,
    .settle = settle,
    .faults = zookeeper_faults,
    .lease_ms = 2000,
    .timeout_ms = 800,
};

const store store_etcd = {
    .name = "etcd",
    .missing = etcd_missing,
    .start = start_etcd,
    .stop = stop,
    .settle = settle,
    .faults = etcd_faults,
    .lease_ms = 2000,
    .timeout_ms = 800,
};
