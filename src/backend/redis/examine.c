/* SPDX-License-Identifier: MIT
 *
 * examine.c - what this server can promise, in words. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "keys.h"
#include "redis.h"
#include "reply.h"

typedef struct report {
    hf_redis *redis;
    hf_node *node;
    const char *info; /* "" if we may not ask */
    hf_fact_fn *fn;
    void *arg;
} report;

static void say(report *p, hf_verdict_level level, const char *what,
                const char *text) {
    p->fn(p->arg, level, what, text);
}

/* A field of INFO into buf; "" if there is none. */
static const char *field(report *p, const char *name, char *buf, size_t size) {
    size_t len = strlen(name);

    for (const char *at = p->info; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, name, len) != 0 || at[len] != ':')
            continue;
        at += len + 1;
        snprintf(buf, size, "%.*s", (int)strcspn(at, "\r\n"), at);
        return buf;
    }
    buf[0] = '\0';
    return buf;
}

static long number(report *p, const char *name) {
    char buf[32];

    return strtol(field(p, name, buf, sizeof buf), NULL, 10);
}

static void version(report *p) {
    char redis[32], valkey[32], mode[32], text[128];

    field(p, "redis_version", redis, sizeof redis);
    field(p, "valkey_version", valkey, sizeof valkey);
    field(p, "redis_mode", mode, sizeof mode);
    snprintf(text, sizeof text, "%s %s, %s", *valkey ? "Valkey" : "Redis",
             *valkey ? valkey : redis, mode);
    say(p, HF_FACT, "server", text);
    if (strcmp(mode, "standalone") != 0 && *mode)
        say(p, HF_WARN, "mode",
            "not a server on its own; names may live "
            "elsewhere");
}

static void replication(report *p) {
    char role[32];
    long replicas = number(p, "connected_slaves");

    field(p, "role", role, sizeof role);
    if (strcmp(role, "slave") == 0) {
        say(p, HF_WARN, "role",
            "a replica: it accepts no locks; give the "
            "address of the master");
        return;
    }
    say(p, HF_FACT, "role", "master");
    if (replicas > 0)
        say(p, HF_WARN, "replicas",
            "replication is asynchronous: a failover can forget a lock that "
            "was granted just before; only the token then tells");
    else
        say(p, HF_FACT, "replicas", "none");
}

static void memory(report *p) {
    char policy[32], text[160];

    field(p, "maxmemory_policy", policy, sizeof policy);
    if (strcmp(policy, "noeviction") == 0) {
        say(p, HF_GOOD, "eviction", "noeviction: locks are never thrown out");
        return;
    }
    snprintf(text, sizeof text,
             "%s: when memory is short, locks are thrown out while they are "
             "held; set maxmemory-policy noeviction",
             *policy ? policy : "unknown policy");
    say(p, HF_WARN, "eviction", text);
}

static void persistence(report *p) {
    if (number(p, "aof_enabled"))
        say(p, HF_GOOD, "persistence",
            "append-only file: locks survive a crash of the server; after a "
            "power cut the last second may be gone");
    else
        say(p, HF_WARN, "persistence",
            "no append-only file: a restart forgets locks that are held; "
            "holders notice at their next renewal");
}

static void transport(report *p) {
    hf_address *a = p->node->server.target.address;

    if (!a->tls)
        say(p, a->socket ? HF_GOOD : HF_FACT, "transport",
            a->socket ? "a local socket" :
                        "plain text: fine within a host or "
                        "a trusted network");
    else if (a->tls_verify == HF_VERIFY_FULL)
        say(p, HF_GOOD, "transport", "TLS, certificate and name verified");
    else
        say(p, HF_WARN, "transport",
            a->tls_verify == HF_VERIFY_CA ?
                "TLS, but the name in the certificate is not checked" :
                "TLS, but the certificate is not checked: anybody can pose "
                "as the server");
}

static void clocks(report *p) {
    int64_t theirs = hf__server_clock_us(&p->node->server.clock);
    int64_t off = (theirs - hf__world->wall_us()) / 1000;
    char text[96];

    if (!theirs)
        return;
    snprintf(text, sizeof text, "the server's is %" PRId64 " ms %s ours",
             off < 0 ? -off : off, off < 0 ? "behind" : "ahead of");
    say(p, off > 1000 || off < -1000 ? HF_WARN : HF_FACT, "clock", text);
}

/* Tries it out, on a connection of its own. */
static void messages(report *p, hf_time by) {
    char channel[HF_KEY_SIZE];
    hf_conn *conn = NULL;
    redisReply *reply;
    hf_pipe pipe = {0};
    hf_error err;
    int rc;

    hf__key_channel(channel, "holdfast:probe");
    HF_PIPE(&pipe, "SUBSCRIBE", channel);
    rc = hf__server_dial(&p->node->server, &conn, by, &err);
    if (rc == HF_OK && !pipe.failed)
        rc = hf__conn_ask(conn, pipe.bytes, pipe.len, &reply, 1, by, &err);
    hf__pipe_free(&pipe);
    if (rc == HF_OK) {
        rc = hf__reply_code(reply);
        freeReplyObject(reply);
    }
    hf__conn_close(conn);
    if (rc == HF_OK)
        say(p, HF_GOOD, "messages", "a release wakes those who wait");
    else
        say(p, HF_WARN, "messages",
            "our user may not subscribe: those who wait look again every few "
            "seconds; allow the channels redisson_*");
}

static void guarantee(report *p) {
    say(p, HF_FACT, "guarantee",
        "one holder at a time while the server keeps its data and its clock "
        "does not jump; a lock ends by itself when its lease does; tokens "
        "grow with every grant");
}

int hf__redis_examine(hf_backend *be, hf_fact_fn *fn, void *arg, hf_time by,
                      hf_error *err) {
    hf_topology *t = ((hf_redis *)be)->topology;
    report p = {(hf_redis *)be, t->ops->master(t, 0), "", fn, arg};
    redisReply *reply = NULL;
    int rc =
        hf__node_ask(p.node, 1, (const char *const[]){"INFO"}, &reply, by, err);

    if (rc != HF_OK && rc != HF_EFORBIDDEN)
        return rc == HF_EDOUBT ? (err->code = HF_EDOWN) : rc;
    if (rc == HF_OK && reply->str) {
        p.info = reply->str;
        version(&p);
        replication(&p);
        memory(&p);
        persistence(&p);
    } else {
        say(&p, HF_WARN, "server",
            "our user may not ask (INFO): whether it "
            "evicts or forgets locks is unknown");
    }
    transport(&p);
    clocks(&p);
    messages(&p, by);
    guarantee(&p);
    if (rc == HF_OK)
        freeReplyObject(reply);
    return HF_OK;
}
