/* SPDX-License-Identifier: MIT
 *
 * list.c - who holds what.
 *
 * A named lock is looked up.  All locks are found by SCAN, a page at a time:
 * hashes with a field `uuid:number`.  Simple locks cannot be told from other
 * strings and are only listed by name.  Redis does not know who waits. */
#include <stdlib.h>
#include <string.h>

#include "../../err.h"
#include "keys.h"
#include "redis.h"
#include "reply.h"

enum { PAGE = 100 };

typedef struct listing {
    hf_redis *redis;
    hf_place_fn *fn;
    void *arg;
    bool all; /* only what looks like a lock */
} listing;

/* Nothing was changed, so nothing is in doubt. */
static int odd(listing *l, hf_error *err) {
    hf__reply_odd(err, l->redis->server.address->where);
    return err->code = HF_ESTORE;
}

/* A token of ours is the server's time at the grant, or little more. */
static int64_t since_ms(listing *l, uint64_t token) {
    int64_t now = hf__server_clock_us(&l->redis->server.clock);

    if (!now || !token || (int64_t)token > now)
        return now && token ? 0 : -1;
    return (now - (int64_t)token) / 1000;
}

static void tell(listing *l, const char *name, const redisReply *line,
                 const char *owner, const char *record) {
    hf_identity who;
    uint64_t token = (uint64_t)line->element[2]->integer;
    hf_place place = {.name = name, .owner = owner, .holds = true};

    hf__record_read(&who, record);
    place.kind = strcmp(line->element[0]->str, "hash") == 0 ? "lock" : "simple";
    place.foreign = !*record;
    place.token = token;
    place.lease_ms = line->element[1]->integer;
    place.since_ms = place.foreign ? -1 : since_ms(l, token);
    place.host = who.host;
    place.program = who.program;
    place.user = who.user;
    place.why = who.why;
    place.pid = who.pid;
    l->fn(l->arg, &place);
}

/* Is it what list.lua gives for a name? */
static bool is_line(const redisReply *line) {
    return line->type == REDIS_REPLY_ARRAY && line->elements == 4 &&
           line->element[0]->str &&
           line->element[1]->type == REDIS_REPLY_INTEGER &&
           line->element[2]->type == REDIS_REPLY_INTEGER &&
           line->element[3]->type == REDIS_REPLY_ARRAY;
}

static void tell_line(listing *l, const char *name, const redisReply *line) {
    const redisReply *owners;
    bool hash;

    if (!is_line(line))
        return;
    hash = strcmp(line->element[0]->str, "hash") == 0;
    owners = line->element[3];
    for (size_t i = 0; i + 1 < owners->elements; i += 2) {
        const char *owner = owners->element[i]->str;
        const char *record = owners->element[i + 1]->str;

        if (!owner || !record || (hash && !hf__is_owner(owner)) ||
            (l->all && !hash))
            continue;
        tell(l, name, line, owner, record);
    }
}

/* Looks at n names, at most a page. */
static int look_at(listing *l, const char *const *names, size_t n, hf_time by,
                   hf_error *err) {
    char tokens[PAGE][HF_KEY_SIZE];
    const char *argv[2 * PAGE + 1];
    hf_call call = {HF_SCRIPT_LIST, NULL, 0, 2 * (int)n + 1, argv};
    redisReply *reply;
    int rc;

    argv[0] = HF_CLIENT_PREFIX;
    for (size_t i = 0; i < n; i++) {
        hf__key_token(tokens[i], names[i]);
        argv[2 * i + 1] = names[i];
        argv[2 * i + 2] = tokens[i];
    }
    rc = hf__engine_call(l->redis->engine, &call, &reply, by, err);
    if (rc != HF_OK)
        return rc == HF_EDOUBT ? (err->code = HF_EDOWN) : rc;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != n)
        rc = odd(l, err);
    for (size_t i = 0; rc == HF_OK && i < n; i++)
        tell_line(l, names[i], reply->element[i]);
    freeReplyObject(reply);
    return rc;
}

/* The names of a page of SCAN, in pieces that look_at takes. */
static int look_at_page(listing *l, const redisReply *keys, hf_time by,
                        hf_error *err) {
    const char *names[PAGE];
    size_t n = 0;
    int rc = HF_OK;

    for (size_t i = 0; rc == HF_OK && i < keys->elements; i++) {
        const redisReply *key = keys->element[i];

        /* A name of ours has no NUL and is not that long. */
        if (key->str && strlen(key->str) == key->len &&
            hf__keys_check(key->str, err) == HF_OK)
            names[n++] = key->str;
        if (n == PAGE) {
            rc = look_at(l, names, n, by, err);
            n = 0;
        }
    }
    return rc == HF_OK && n ? look_at(l, names, n, by, err) : rc;
}

/* One step of SCAN: fills the cursor for the next, "0" at the end. */
static int scan(listing *l, char cursor[24], hf_time by, hf_error *err) {
    const char *argv[] = {"SCAN", cursor, "COUNT", "500", "TYPE", "hash"};
    redisReply *reply;
    int rc = hf__engine_ask(l->redis->engine, 6, argv, &reply, by, err);

    if (rc != HF_OK)
        return rc == HF_EDOUBT ? (err->code = HF_EDOWN) : rc;
    if (!hf__reply_has(reply, 2, 0) || !reply->element[0]->str ||
        reply->element[0]->len >= 24 ||
        reply->element[1]->type != REDIS_REPLY_ARRAY) {
        rc = odd(l, err);
    } else {
        strcpy(cursor, reply->element[0]->str);
        rc = look_at_page(l, reply->element[1], by, err);
    }
    freeReplyObject(reply);
    return rc;
}

int hf__redis_list(hf_backend *be, const char *name, hf_place_fn *fn, void *arg,
                   hf_time by, hf_error *err) {
    listing l = {(hf_redis *)be, fn, arg, name == NULL};
    char cursor[24] = "0";
    int rc;

    if (name) {
        rc = hf__keys_check(name, err);
        return rc == HF_OK ? look_at(&l, &name, 1, by, err) : rc;
    }
    do
        rc = scan(&l, cursor, by, err);
    while (rc == HF_OK && strcmp(cursor, "0") != 0);
    return rc;
}
