/* SPDX-License-Identifier: MIT
 *
 * naming.c - what a sentinel says of a master. */
#include "naming.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../reply.h"

/* A field of a flat list of names and values, or NULL. */
static const char *field(const redisReply *reply, const char *name) {
    for (size_t i = 0; i + 1 < reply->elements; i += 2)
        if (reply->element[i]->str && reply->element[i + 1]->str &&
            strcmp(reply->element[i]->str, name) == 0)
            return reply->element[i + 1]->str;
    return NULL;
}

static int64_t number(const redisReply *reply, const char *name) {
    const char *text = field(reply, name);

    return text ? strtoll(text, NULL, 10) : 0;
}

/* How many of something: none of it is as many as an int can say. */
static int amount(const redisReply *reply, const char *name) {
    int64_t n = number(reply, name);

    return n < 0 ? 0 : n < INT_MAX ? (int)n : INT_MAX - 1;
}

static bool set_place(hf_naming *n, const char *host, const char *port) {
    long at = port ? strtol(port, NULL, 10) : 0;

    if (!host || !*host || strlen(host) >= sizeof n->host || at < 1 ||
        at > 65535)
        return false;
    strcpy(n->host, host);
    n->port = (int)at;
    return true;
}

/* The epoch is that of SENTINEL MASTER.  Its place may be the old master's
 * still, while the sentinel that leads a failover points the other replicas to
 * the new one; GET-MASTER-ADDR-BY-NAME is right at once. */
bool hf__naming_read(hf_naming *ret, const redisReply *master,
                     const redisReply *place) {
    *ret =
        (hf_naming){.epoch = number(master, "config-epoch"),
                    .replicas = amount(master, "num-slaves"),
                    .sentinels = amount(master, "num-other-sentinels") + 1,
                    .quorum = amount(master, "quorum"),
                    .down_after_ms = amount(master, "down-after-milliseconds")};
    if (hf__reply_has(place, 2, 0) &&
        set_place(ret, place->element[0]->str, place->element[1]->str))
        return true;
    return set_place(ret, field(master, "ip"), field(master, "port"));
}

bool hf__naming_of_other(hf_naming *ret, const redisReply *row) {
    return row->type == REDIS_REPLY_ARRAY &&
           set_place(ret, field(row, "ip"), field(row, "port"));
}

/* "NAME oldip oldport newip newport" */
bool hf__naming_changes(const redisReply *message, const char *name) {
    size_t len = strlen(name);
    const char *text;

    if (!hf__reply_has(message, 3, 0) || !(text = message->element[2]->str))
        return false;
    return strncmp(text, name, len) == 0 && text[len] == ' ';
}
