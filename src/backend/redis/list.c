/* SPDX-License-Identifier: MIT
 *
 * list.c - who holds what, and who waits.
 *
 * A named thing is looked up; lua/list.lua tells what it is by its shape.  All
 * things are found by SCAN, a page at a time, once for each shape that is
 * surely ours or Redisson's:
 *
 *   hash    a field `uuid:number`                    lock, fair, read, write
 *   zset    `{name}:timeout`, members of 16 bytes    permits, and the semaphore
 *                                                    they are leased from
 *   list    `redisson_lock_queue:{name}`             the fair who wait, while
 *                                                    nobody holds
 *   string  `holdfast_counter:{name}`                semaphores and latches
 *                                                    we made: lua/note.lua
 *
 * Simple locks, and semaphores and latches of Redisson's, are strings like any
 * other, and are only told of by name: the numbers of a database are not ours
 * to list.  Whoever waits otherwise is unknown to Redis. */
#include <stdlib.h>
#include <string.h>

#include "../../err.h"
#include "keys.h"
#include "redis.h"
#include "reply.h"

enum { PAGE = 100 };

typedef struct listing {
    hf_node *node; /* that we look at */
    hf_place_fn *fn;
    void *arg;
    const char *type, *match; /* of the keys we go through; "": one name */
} listing;

/* What list.lua tells of a name and of a place under it. */
enum { NAME, TOKEN, PLACES };
enum { KIND, OWNER, HOLDS, LEFT, COUNT, RECORD, N_PLACE };

/* Nothing was changed, so nothing is in doubt. */
static int odd(listing *l, hf_error *err) {
    hf__reply_odd(err, l->node->server.where);
    return err->code = HF_ESTORE;
}

/* A token of ours is the server's time at the grant, or little more. */
static int64_t since_ms(listing *l, uint64_t token) {
    int64_t now = hf__server_clock_us(&l->node->server.clock);

    if (!now || !token || (int64_t)token > now)
        return now && token ? 0 : -1;
    return (now - (int64_t)token) / 1000;
}

static bool is_place(const redisReply *p) {
    if (!hf__reply_has(p, N_PLACE, 0))
        return false;
    for (int i = 0; i < N_PLACE; i++)
        if ((i == KIND || i == OWNER || i == RECORD) ?
                !p->element[i]->str :
                p->element[i]->type != REDIS_REPLY_INTEGER)
            return false;
    return true;
}

/* The last token is the holder's where there can be only one. */
static uint64_t token_of(const char *kind, const redisReply *token) {
    bool alone = strcmp(kind, "read") != 0 && strcmp(kind, "permit") != 0;

    return alone ? (uint64_t)token->integer : 0;
}

static void tell(listing *l, const redisReply *line, const redisReply *p) {
    const char *record = p->element[RECORD]->str;
    hf_identity who;
    hf_place place = {.name = line->element[NAME]->str,
                      .kind = p->element[KIND]->str,
                      .owner = p->element[OWNER]->str,
                      .holds = p->element[HOLDS]->integer,
                      .lease_ms = p->element[LEFT]->integer,
                      .since_ms = -1,
                      .count = p->element[COUNT]->integer};

    hf__record_read(&who, record);
    place.foreign = *place.owner && !*record;
    place.permits = strcmp(place.kind, "permit") == 0;
    if (place.holds)
        place.token = token_of(place.kind, line->element[TOKEN]);
    if (!place.foreign)
        place.since_ms = since_ms(l, place.token);
    place.host = who.host;
    place.program = who.program;
    place.user = who.user;
    place.why = who.why;
    place.pid = who.pid;
    l->fn(l->arg, &place);
}

static void tell_line(listing *l, const redisReply *line) {
    if (!hf__reply_has(line, PLACES, 0) || !line->element[NAME]->str ||
        line->element[TOKEN]->type != REDIS_REPLY_INTEGER)
        return;
    for (size_t i = PLACES; i < line->elements; i++)
        if (is_place(line->element[i]))
            tell(l, line, line->element[i]);
}

/* Looks at n names or keys, at most a page. */
static int look_at(listing *l, const char *const *names, size_t n, hf_time by,
                   hf_error *err) {
    const char *argv[PAGE + 2] = {HF_CLIENT_PREFIX, l->type};
    hf_call call = {.script = HF_SCRIPT_LIST, .argc = (int)n + 2, .argv = argv};
    redisReply *reply;
    int rc;

    memcpy(argv + 2, names, n * sizeof *names);
    rc = hf__node_call(l->node, &call, &reply, by, err);
    if (rc != HF_OK)
        return rc == HF_EDOUBT ? (err->code = HF_EDOWN) : rc;
    if (!hf__reply_has(reply, n, 0))
        rc = odd(l, err);
    for (size_t i = 0; rc == HF_OK && i < n; i++)
        tell_line(l, reply->element[i]);
    freeReplyObject(reply);
    return rc;
}

/* The keys of a page of SCAN, in pieces that look_at takes. */
static int look_at_page(listing *l, const redisReply *keys, hf_time by,
                        hf_error *err) {
    const char *names[PAGE];
    size_t n = 0;
    int rc = HF_OK;

    for (size_t i = 0; rc == HF_OK && i < keys->elements; i++) {
        const redisReply *key = keys->element[i];

        /* A key of ours has no NUL and is not that long. */
        if (key->str && strlen(key->str) == key->len && key->len < HF_KEY_SIZE)
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
    const char *argv[] = {"SCAN", cursor,  "COUNT", "500",
                          "TYPE", l->type, "MATCH", l->match};
    redisReply *reply;
    int rc = hf__node_ask(l->node, 8, argv, &reply, by, err);

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

static int scan_all(listing *l, hf_time by, hf_error *err) {
    char cursor[24] = "0";
    int rc;

    do
        rc = scan(l, cursor, by, err);
    while (rc == HF_OK && strcmp(cursor, "0") != 0);
    return rc;
}

static int list_node(listing *l, hf_time by, hf_error *err) {
    static const char *const shapes[][2] = {
        {"hash", "*"},
        {"zset", "*{*}*:timeout"},
        {"list", "redisson_lock_queue:*"},
        {"string", "holdfast_counter:*"},
    };
    int rc = HF_OK;

    for (size_t i = 0; rc == HF_OK && i < sizeof shapes / sizeof *shapes; i++) {
        l->type = shapes[i][0];
        l->match = shapes[i][1];
        rc = scan_all(l, by, err);
    }
    return rc;
}

int hf__redis_list(hf_backend *be, const char *name, hf_place_fn *fn, void *arg,
                   hf_time by, hf_error *err) {
    hf_topology *t = ((hf_redis *)be)->topology;
    listing l = {NULL, fn, arg, "", ""};
    int rc = HF_OK;

    if (name) {
        l.node = t->ops->locate(t, hf__topology_slot(t, name));
        rc = hf__keys_check(name, err);
        return rc == HF_OK ? look_at(&l, &name, 1, by, err) : rc;
    }
    for (unsigned i = 0; rc == HF_OK && (l.node = t->ops->master(t, i)); i++)
        rc = list_node(&l, by, err);
    return rc;
}
