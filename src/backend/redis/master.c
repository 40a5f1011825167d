/* SPDX-License-Identifier: MIT
 *
 * master.c - what one master says of itself, judged. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../world.h"
#include "examine.h"
#include "info.h"

/* One master. */
typedef struct sight {
    hf_survey *survey;
    hf_node *node;
    hf_info info;
    const char *where; /* "" if there is only one */
    hf_time by;
} sight;

#define SAY(level, what, ...)                                                  \
    hf__find(&s->survey->found, s->where, level, what, __VA_ARGS__)

/* ---- what it is -------------------------------------------------------- */

static void version(sight *s) {
    char redis[32], valkey[32], mode[32];

    hf__info_field(&s->info, "redis_version", redis, sizeof redis);
    hf__info_field(&s->info, "valkey_version", valkey, sizeof valkey);
    hf__info_field(&s->info, "redis_mode", mode, sizeof mode);
    SAY(HF_FACT, "server", "%s %s, %s", *valkey ? "Valkey" : "Redis",
        *valkey ? valkey : redis, mode);
    if (strcmp(mode, "cluster") == 0 && !s->survey->topology->slotted)
        SAY(HF_WARN, "mode",
            "part of a cluster: names may live elsewhere; write "
            "redis+cluster:// in the address");
    else if (strcmp(mode, "sentinel") == 0)
        SAY(HF_WARN, "mode",
            "a sentinel: it holds no locks; write redis+sentinel:// in the "
            "address");
}

static bool is_replica(sight *s) {
    char role[32];

    hf__info_field(&s->info, "role", role, sizeof role);
    return strcmp(role, "slave") == 0;
}

static void role(sight *s) {
    if (is_replica(s))
        SAY(HF_WARN, "role",
            "a replica: it accepts no locks; give the address of the master");
    else
        SAY(HF_FACT, "role", "master");
}

/* ---- its replicas ------------------------------------------------------ */

/* Also those that are away, as far as we know of them. */
static int known_replicas(sight *s) {
    const hf_server *server = &s->node->server;
    int connected = (int)hf__info_number(&s->info, "connected_slaves");
    int seen = atomic_load(&server->replicas);

    if (server->replicas_set)
        return server->replicas_set;
    return connected > seen ? connected : seen;
}

static void replicas(sight *s) {
    int connected = (int)hf__info_number(&s->info, "connected_slaves");
    int known = known_replicas(s);
    hf_survey *all = s->survey;

    if (all->told == 1 || known < all->replicas)
        all->replicas = known;
    if (known > all->most_replicas)
        all->most_replicas = known;
    if (connected < known)
        SAY(HF_WARN, "replicas", "%d, of which %d %s connected", known,
            connected, connected == 1 ? "is" : "are");
    else if (known)
        SAY(HF_FACT, "replicas", "%d", known);
    else if (all->topology->steady)
        SAY(HF_FACT, "replicas", "none");
    else
        SAY(HF_WARN, "replicas",
            "none: when this master is gone nobody takes over; attach one");
}

/* INFO has this field only where both settings are above zero; how long the
 * lag may be is a setting we may not be allowed to see. */
static void guard(sight *s) {
    bool on = hf__info_has(&s->info, "min_slaves_good_slaves");
    hf_survey *all = s->survey;
    char text[32];
    int lag;

    all->guarded = on && (all->guarded || all->told == 1);
    if (!on)
        return;
    lag =
        hf__setting(s->node, "min-replicas-max-lag", text, sizeof text, s->by) ?
            atoi(text) :
            -1;
    if (lag < 0 || all->lag_s < 0)
        all->lag_s = -1;
    else if (lag > all->lag_s)
        all->lag_s = lag;
}

/* WAIT for nobody returns at once. */
static void wait_known(sight *s) {
    const char *argv[] = {"WAIT", "0", "1"};
    bool replicated = s->survey->most_replicas || !s->survey->topology->steady;
    redisReply *reply = NULL;
    hf_error err;
    int rc = hf__node_ask(s->node, 3, argv, &reply, s->by, &err);

    if (rc == HF_OK) {
        freeReplyObject(reply);
        SAY(replicated ? HF_GOOD : HF_FACT, "wait",
            replicated ? "WAIT is known: replicas can confirm a lock" :
                         "WAIT is known");
        return;
    }
    s->survey->knows_wait = false;
    if (rc == HF_EFORBIDDEN && !replicated)
        SAY(HF_FACT, "wait",
            "our user may not WAIT, but there is nobody to wait for");
    else if (rc == HF_EFORBIDDEN)
        SAY(HF_WARN, "wait",
            "our user may not WAIT: no lock that asks for replicas to confirm "
            "it is granted; allow +wait");
    else
        SAY(replicated ? HF_WARN : HF_FACT, "wait",
            "WAIT is not known there: replicas cannot confirm a lock, and a "
            "lock that asks for it is granted without, with an event");
}

/* ---- what it keeps ----------------------------------------------------- */

static void memory(sight *s) {
    char policy[32];
    bool limited = hf__info_number(&s->info, "maxmemory") != 0;

    hf__info_field(&s->info, "maxmemory_policy", policy, sizeof policy);
    if (strcmp(policy, "noeviction") == 0)
        SAY(HF_GOOD, "eviction", "noeviction: locks are never thrown out");
    else if (!*policy)
        SAY(HF_WARN, "eviction", "maxmemory-policy is unknown");
    else if (limited)
        SAY(HF_WARN, "eviction",
            "%s: when memory is short, locks are thrown out while they are "
            "held; set maxmemory-policy noeviction",
            policy);
    else
        SAY(HF_FACT, "eviction",
            "%s, but there is no maxmemory: nothing is thrown out until "
            "somebody sets it; set maxmemory-policy noeviction",
            policy);
}

static void append_only(sight *s) {
    char fsync[16] = "";

    hf__setting(s->node, "appendfsync", fsync, sizeof fsync, s->by);
    if (strcmp(fsync, "always") == 0)
        SAY(HF_GOOD, "persistence",
            "append-only file, synced with every write: locks survive a crash "
            "and a power cut");
    else if (strcmp(fsync, "no") == 0)
        SAY(HF_WARN, "persistence",
            "append-only file, synced when the system likes: locks survive a "
            "crash of the server, but not a power cut; set appendfsync "
            "everysec or always");
    else
        SAY(HF_GOOD, "persistence",
            "append-only file: locks survive a crash of the server; after a "
            "power cut the last second may be gone%s",
            *fsync ? "" : " (appendfsync is unknown: we may not ask)");
}

/* A master that is back, empty, before anybody missed it is copied. */
static void persistence(sight *s) {
    if (hf__info_number(&s->info, "aof_enabled"))
        append_only(s);
    else if (s->survey->topology->steady)
        SAY(HF_WARN, "persistence",
            "no append-only file: a restart forgets locks that are held; "
            "holders notice at their next renewal; set appendonly yes");
    else
        SAY(HF_WARN, "persistence",
            "no append-only file: a master that restarts before it is missed "
            "forgets locks that are held, and its replicas with it; set "
            "appendonly yes");
}

/* ---- how we reach it --------------------------------------------------- */

static void transport(sight *s) {
    const hf_target *target;
    const hf_address *a;
    hf_error err;

    if (hf__server_target(&s->node->server, &target, s->by, &err) != HF_OK)
        return;
    a = target->address;
    if (!a->tls && a->socket)
        SAY(HF_GOOD, "transport", "a local socket");
    else if (!a->tls)
        SAY(HF_FACT, "transport",
            "plain text: fine within a host or a trusted network");
    else if (a->rules.verify == HF_VERIFY_FULL)
        SAY(HF_GOOD, "transport", "TLS, certificate and name verified");
    else if (a->rules.verify == HF_VERIFY_CA)
        SAY(HF_WARN, "transport",
            "TLS, but the name in the certificate is not checked; take "
            "tls_verify out of the address");
    else
        SAY(HF_WARN, "transport",
            "TLS, but the certificate is not checked: anybody can pose as the "
            "server; take tls_verify out of the address");
}

static void clocks(sight *s) {
    int64_t theirs = hf__server_clock_us(&s->node->server.clock);
    int64_t off = (theirs - hf__world->wall_us()) / 1000000;

    if (!theirs)
        return;
    if (off >= -1 && off <= 1)
        SAY(HF_GOOD, "clock", "the server's agrees with ours");
    else
        SAY(HF_WARN, "clock",
            "the server's is %" PRId64 " s %s ours: tokens follow it; set both "
            "by NTP",
            off < 0 ? -off : off, off < 0 ? "behind" : "ahead of");
}

/* ---- as part of a cluster ---------------------------------------------- */

static void cluster_state(sight *s) {
    const char *argv[] = {"CLUSTER", "INFO"};
    hf_info info = {NULL};
    hf_error err;
    char state[16];

    if (hf__node_ask(s->node, 2, argv, &info.reply, s->by, &err) != HF_OK) {
        SAY(HF_FACT, "cluster", "its state is unknown: we may not ask");
        return;
    }
    hf__info_field(&info, "cluster_state", state, sizeof state);
    if (strcmp(state, "ok") == 0)
        SAY(HF_GOOD, "cluster", "its state is ok: every name has a master");
    else
        SAY(HF_WARN, "cluster",
            "its state is '%s': %lld of 16384 slots have a master that works; "
            "see redis-cli --cluster check",
            state, hf__info_number(&info, "cluster_slots_ok"));
    hf__info_clear(&info);
}

static void coverage(sight *s) {
    char text[16];

    if (!hf__setting(s->node, "cluster-require-full-coverage", text,
                     sizeof text, s->by))
        SAY(HF_FACT, "coverage",
            "cluster-require-full-coverage is unknown: we may not ask");
    else if (strcmp(text, "yes") == 0)
        SAY(HF_WARN, "coverage",
            "while one master is being replaced no other grants anything "
            "either; set cluster-require-full-coverage no");
    else
        SAY(HF_GOOD, "coverage",
            "while one master is being replaced the others go on");
}

/* From the loss of a master to the vote is half as long again at the most;
 * the vote takes a second. */
static void node_timeout(sight *s) {
    char text[16];
    int ms =
        hf__setting(s->node, "cluster-node-timeout", text, sizeof text, s->by) ?
            atoi(text) :
            0;

    if (ms <= s->survey->detect_ms)
        return;
    s->survey->detect_ms = ms;
    s->survey->settle_ms = ms / 2 + 1000;
    s->survey->by = "cluster-node-timeout";
}

/* ---- all of it --------------------------------------------------------- */

static void look_inside(sight *s) {
    s->survey->told++;
    version(s);
    if (s->survey->topology->steady)
        role(s);
    replicas(s);
    guard(s);
    if (!is_replica(s))
        wait_known(s);
    memory(s);
    persistence(s);
}

void hf__survey_master(hf_survey *survey, hf_node *node, const char *where,
                       hf_time by, hf_error *err) {
    sight one = {survey, node, {NULL}, where, by}, *s = &one;
    int rc = hf__info_ask(&s->info, node, by, err);

    if (rc != HF_OK && rc != HF_EFORBIDDEN) {
        SAY(HF_WARN, "server", "no answer: %s", err->text);
        return;
    }
    survey->reached++;
    if (rc == HF_OK)
        look_inside(s);
    else
        SAY(HF_WARN, "server",
            "our user may not ask (INFO): whether it evicts or forgets locks "
            "is unknown; allow +info");
    if (survey->topology->slotted) {
        cluster_state(s);
        coverage(s);
        node_timeout(s);
    }
    transport(s);
    clocks(s);
    hf__info_clear(&s->info);
}
