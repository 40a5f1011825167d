/* SPDX-License-Identifier: MIT
 *
 * commands.c - how many commands clients sent to a Redis server. */
#include "commands.h"

#include <ctype.h>
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static redisContext *connect_to(int port) {
    redisContext *rc = redisConnect("127.0.0.1", port);

    if (!rc || rc->err) {
        fprintf(stderr, "bench: redis-server cannot be reached\n");
        exit(1);
    }
    return rc;
}

/* ---- MONITOR ----------------------------------------------------------- */

static struct {
    redisContext *redis;
    pthread_t thread;
    mix *into;
} watcher;

static int find(const mix *m, const char *name, size_t len) {
    for (int i = 0; i < m->n; i++)
        if (strlen(m->of[i].name) == len &&
            strncasecmp(m->of[i].name, name, len) == 0)
            return i;
    return -1;
}

/* `1700000000.123456 [0 127.0.0.1:40000] "EVALSHA" "…"`, or `[0 lua]`. */
static void count_line(mix *m, const char *line) {
    const char *from = strchr(line, '['), *name = from ? strchr(from, '"') : 0;
    size_t len;
    int at;

    if (!name)
        return;
    len = strcspn(++name, "\"");
    at = find(m, name, len);
    if (at < 0) {
        if (m->n == MIX_MAX || len >= sizeof m->of[0].name)
            return;
        at = m->n++;
        memset(&m->of[at], 0, sizeof m->of[at]);
        memcpy(m->of[at].name, name, len);
    }
    if (strstr(from, " lua]") && strstr(from, " lua]") < name)
        m->of[at].called++;
    else
        m->of[at].sent++;
}

static void *watch(void *arg) {
    redisReply *reply;

    (void)arg;
    while (redisGetReply(watcher.redis, (void **)&reply) == REDIS_OK) {
        if (reply->type == REDIS_REPLY_STATUS)
            count_line(watcher.into, reply->str);
        freeReplyObject(reply);
    }
    return NULL;
}

void commands_watch(int port, mix *m) {
    m->n = 0;
    watcher.into = m;
    watcher.redis = connect_to(port);
    freeReplyObject(redisCommand(watcher.redis, "MONITOR"));
    pthread_create(&watcher.thread, NULL, watch, NULL);
}

void commands_unwatch(void) {
    shutdown(watcher.redis->fd, SHUT_RDWR);
    pthread_join(watcher.thread, NULL);
    redisFree(watcher.redis);
}

/* ---- INFO -------------------------------------------------------------- */

static redisReply *ask(int port, const char *command) {
    redisContext *rc = connect_to(port);
    redisReply *reply = redisCommand(rc, command);

    redisFree(rc);
    if (!reply || reply->type == REDIS_REPLY_ERROR) {
        fprintf(stderr, "bench: %s: no answer\n", command);
        exit(1);
    }
    return reply;
}

void commands_reset(int port) {
    freeReplyObject(ask(port, "CONFIG RESETSTAT"));
}

/* What a client sends and scripts never call has a share of 1; what only the
 * benchmark sends, such as this INFO, was not seen and has none. */
static double share(const mix *m, const char *name, size_t len) {
    int at = find(m, name, len);

    if (at < 0)
        return 0;
    return (double)m->of[at].sent / (double)(m->of[at].sent + m->of[at].called);
}

double commands_sent(int port, const mix *m) {
    redisReply *reply = ask(port, "INFO commandstats");
    const char *key = "cmdstat_", *calls = ":calls=";
    double sum = 0;

    for (const char *at = strstr(reply->str, key); at; at = strstr(at, key)) {
        const char *number = strstr(at += strlen(key), calls);

        if (!number)
            break;
        sum += share(m, at, strcspn(at, "|:")) *
               strtod(number + strlen(calls), NULL);
    }
    freeReplyObject(reply);
    return sum;
}

void commands_version(int port, char buf[16]) {
    redisReply *reply = ask(port, "INFO server");
    const char *key = "redis_version:", *at = strstr(reply->str, key);

    snprintf(buf, 16, "?");
    if (at)
        sscanf(at + strlen(key), "%15[0-9.]", buf);
    freeReplyObject(reply);
}
