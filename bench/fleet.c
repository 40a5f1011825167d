/* SPDX-License-Identifier: MIT
 *
 * fleet.c - private servers that belong together. */
#include "fleet.h"

#include "figures.h"

#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 16384, TRIES = 1500, TRY_US = 20000 };

static void die(const char *what, const char *why) {
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

/* ---- asking one server ------------------------------------------------- */

static redisReply *ask(const bench_server *s, const char *format, ...) {
    redisContext *rc = redisConnect("127.0.0.1", s->port);
    redisReply *reply = NULL;
    va_list args;

    va_start(args, format);
    if (rc && !rc->err)
        reply = redisvCommand(rc, format, args);
    va_end(args);
    if (rc)
        redisFree(rc);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        die(format, reply ? reply->str : "no answer");
    return reply;
}

#define tell(...) freeReplyObject(ask(__VA_ARGS__))

double fleet_info(const bench_server *s, const char *section, const char *key) {
    redisReply *reply = ask(s, "INFO %s", section);
    size_t len = strlen(key);
    double value = 0;

    for (const char *at = reply->str; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, key, len) == 0 && at[len] == ':')
            value = strtod(at + len + 1, NULL);
    }
    freeReplyObject(reply);
    return value;
}

double fleet_calls(const bench_server *s, const char *command) {
    redisReply *reply = ask(s, "INFO commandstats");
    char key[64];
    const char *at;
    double calls;

    snprintf(key, sizeof key, "cmdstat_%s:calls=", command);
    at = strstr(reply->str, key);
    calls = at ? strtod(at + strlen(key), NULL) : 0;
    freeReplyObject(reply);
    return calls;
}

void fleet_flush(const bench_server *s) {
    tell(s, "FLUSHALL");
}

static bool says(const bench_server *s, const char *command, const char *line) {
    redisReply *reply = ask(s, command);
    bool yes = reply->str && strstr(reply->str, line);

    freeReplyObject(reply);
    return yes;
}

#define until(condition, what)                                                 \
    do {                                                                       \
        int left_ = TRIES;                                                     \
        while (!(condition) && left_-- > 0)                                    \
            usleep(TRY_US);                                                    \
        if (left_ <= 0)                                                        \
            die(what, "does not come about");                                  \
    } while (0)

static bool is_linked(const bench_server *replica) {
    return says(replica, "INFO replication", "master_link_status:up");
}

/* ---- one master -------------------------------------------------------- */

void fleet_single(fleet *f) {
    *f = (fleet){.n_masters = 1};
    f->masters[0] = server_start();
    snprintf(f->uri, sizeof f->uri, "redis://127.0.0.1:%d",
             f->masters[0]->port);
}

void fleet_replicated(fleet *f, int replicas) {
    static const char *const quick[] = {"--repl-diskless-sync-delay", "0",
                                        NULL};
    char port[16];

    *f = (fleet){.n_masters = 1, .n_others = replicas};
    f->masters[0] = server_start_with(quick);
    snprintf(port, sizeof port, "%d", f->masters[0]->port);
    for (int i = 0; i < replicas; i++)
        f->others[i] = server_start_with(
            (const char *const[]){"--replicaof", "127.0.0.1", port, NULL});
    for (int i = 0; i < replicas; i++)
        until(is_linked(f->others[i]), "replication");
    snprintf(f->uri, sizeof f->uri, "redis://127.0.0.1:%s", port);
}

/* The number behind a word in the reply of SENTINEL MASTER, a flat list. */
static int fact(const redisReply *list, const char *word) {
    for (size_t i = 0; i + 1 < list->elements; i += 2)
        if (strcmp(list->element[i]->str, word) == 0)
            return atoi(list->element[i + 1]->str);
    return 0;
}

static bool knows_all(const bench_server *sentinel, int replicas, int others) {
    redisReply *reply = ask(sentinel, "SENTINEL MASTER bench");
    bool yes = fact(reply, "num-slaves") == replicas &&
               fact(reply, "num-other-sentinels") == others;

    freeReplyObject(reply);
    return yes;
}

void fleet_sentinel(fleet *f, const fleet *replicated) {
    *f = (fleet){.n_others = 3};
    for (int i = 0; i < 3; i++)
        f->others[i] = server_start_sentinel(replicated->masters[0]);
    for (int i = 0; i < 3; i++)
        until(knows_all(f->others[i], replicated->n_others, 2), "Sentinel");
    snprintf(f->uri, sizeof f->uri,
             "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/bench",
             f->others[0]->port, f->others[1]->port, f->others[2]->port);
}

/* ---- cluster ----------------------------------------------------------- */

static const bench_server *member(const fleet *f, int i) {
    return i < f->n_masters ? f->masters[i] : f->others[i - f->n_masters];
}

static void follow(const bench_server *replica, const bench_server *master) {
    redisReply *id = ask(master, "CLUSTER MYID");

    tell(replica, "CLUSTER REPLICATE %s", id->str);
    freeReplyObject(id);
}

static void introduce(const fleet *f, int n) {
    char known[40];

    for (int i = 0; i < n; i++)
        tell(member(f, i), "CLUSTER SET-CONFIG-EPOCH %d", i + 1);
    for (int i = 1; i < n; i++)
        tell(member(f, 0), "CLUSTER MEET 127.0.0.1 %d", member(f, i)->port);
    snprintf(known, sizeof known, "cluster_known_nodes:%d\r", n);
    for (int i = 0; i < n; i++)
        until(says(member(f, i), "CLUSTER INFO", known), "cluster");
}

void fleet_cluster(fleet *f, int masters, bool replicas) {
    static const char *const args[] = {"--cluster-enabled",
                                       "yes",
                                       "--cluster-config-file",
                                       "nodes",
                                       "--repl-diskless-sync-delay",
                                       "0",
                                       NULL};
    int n;

    *f = (fleet){.n_masters = masters, .n_others = replicas ? masters : 0};
    n = f->n_masters + f->n_others;
    for (int i = 0; i < masters; i++) {
        f->masters[i] = server_start_with(args);
        tell(f->masters[i], "CLUSTER ADDSLOTSRANGE %d %d", i * SLOTS / masters,
             (i + 1) * SLOTS / masters - 1);
    }
    for (int i = 0; i < f->n_others; i++)
        f->others[i] = server_start_with(args);
    introduce(f, n);
    for (int i = 0; i < f->n_others; i++)
        follow(f->others[i], f->masters[i]);
    for (int i = 0; i < f->n_others; i++)
        until(is_linked(f->others[i]), "replication");
    for (int i = 0; i < n; i++)
        until(says(member(f, i), "CLUSTER INFO", "cluster_state:ok"),
              "cluster");
    snprintf(f->uri, sizeof f->uri, "redis+cluster://127.0.0.1:%d",
             f->masters[0]->port);
}

/* ---- all of them ------------------------------------------------------- */

void fleet_stop(fleet *f) {
    for (int i = 0; i < f->n_others; i++)
        server_stop(f->others[i]);
    for (int i = 0; i < f->n_masters; i++)
        server_stop(f->masters[i]);
    *f = (fleet){.n_masters = 0};
}

double fleet_cpu(const fleet *f) {
    double sum = 0;

    for (int i = 0; i < f->n_masters + f->n_others; i++)
        sum += cpu_used(member(f, i)->pid);
    return sum;
}
