/* SPDX-License-Identifier: MIT
 *
 * list.c - who holds what, and who waits.
 *
 * A named thing is looked up; lua/list.lua tells what it is by its shape.  All
 * things are found by SCAN, a page at a time, of which lua/scan.lua gives us
 * the shapes that are surely ours or Redisson's:
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
 * to list.  Whoever waits otherwise is unknown to Redis.
 *
 * Nothing of this takes the server long: a page of keys, or a look at a few.
 * Of pages there are many if there are many keys, so each has its own time.
 * SCAN may tell of a key twice, and a claim may pass from one shape to another
 * under our eyes; a name is told of once.
 *
 * In a cluster every master is gone through.  The record that says who a
 * client is often lies at another than what the client holds; so it is asked
 * for there. */
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "keys.h"
#include "redis.h"
#include "reply.h"
#include "seen.h"

/* So many keys are gone through at a time, about a microsecond each. */
#define SCANNED "300"

/* PAGE: keys that a script looks at, which takes 10 µs or more for each. */
enum { PAGE = 32, RECORDS = 64, UUID_SIZE = 37 };

/* What is known of a client, so that it is asked for once. */
typedef struct record {
    char client[UUID_SIZE];
    char text[HF_RECORD_SIZE]; /* "": there is none */
} record;

typedef struct listing {
    hf_topology *topology;
    hf_time answer; /* so long a request may take */
    hf_node *node;  /* that we look at            */
    hf_place_fn *fn;
    void *arg;
    const char *type; /* of the keys we look at; "": one name */
    record *records;  /* RECORDS of them, in a cluster      */
    hf_seen seen;     /* names that were told of            */
} listing;

/* What list.lua tells of a name and of a place under it. */
enum { NAME, TOKEN, PLACES };
enum { KIND, OWNER, HOLDS, LEFT, COUNT, RECORD, N_PLACE };

/* Nothing was changed, so nothing is in doubt. */
static int odd(listing *l, hf_error *err) {
    hf__reply_odd(err, l->node->server.where);
    return err->code = HF_ESTORE;
}

static hf_time answer_by(const listing *l) {
    return hf__now() + l->answer;
}

/* What scripts are told that keys of records begin with; "": they are not at
 * this server. */
static const char *records_here(const listing *l, char buf[HF_KEY_SIZE]) {
    buf[0] = '\0';
    if (!l->records)
        hf__key_client(buf, NULL, "");
    return buf;
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

/* The record of a client from wherever it lies, or "".  What it does may be
 * cut off. */
static void fetch_record(listing *l, record *r) {
    char key[HF_KEY_SIZE], last[HF_DECIMAL_SIZE];
    redisReply *reply;
    hf_error err;

    hf__decimal(last, sizeof r->text - 2);
    hf__key_client(key, hf__shelf_of(r->client), r->client);
    r->text[0] = '\0';
    if (hf__topology_ask(l->topology, key, 4,
                         (const char *const[]){"GETRANGE", key, "0", last},
                         &reply, answer_by(l), &err) != HF_OK)
        return;
    if (reply->type == REDIS_REPLY_STRING && reply->len < sizeof r->text)
        strcpy(r->text, reply->str);
    freeReplyObject(reply);
}

/* `found` by the script, or asked for: the script sees one server only. */
static const char *record_of(listing *l, const char *owner, const char *found) {
    size_t len = strcspn(owner, ":");
    char client[UUID_SIZE];
    record *r;

    if (*found || !l->records || len != UUID_SIZE - 1 || !owner[len])
        return found;
    memcpy(client, owner, len);
    client[len] = '\0';
    r = &l->records[hf__seen_hash(client) % RECORDS];
    if (strcmp(r->client, client) != 0) {
        strcpy(r->client, client);
        fetch_record(l, r);
    }
    return r->text;
}

static void tell(listing *l, const redisReply *line, const redisReply *p) {
    const char *text =
        record_of(l, p->element[OWNER]->str, p->element[RECORD]->str);
    size_t client = strcspn(p->element[OWNER]->str, ":");
    hf_identity who;
    hf_place place = {.name = line->element[NAME]->str,
                      .kind = p->element[KIND]->str,
                      .owner = p->element[OWNER]->str,
                      .holds = p->element[HOLDS]->integer,
                      .lease_ms = p->element[LEFT]->integer,
                      .since_ms = -1,
                      .count = p->element[COUNT]->integer};

    hf__record_read(&who, text);
    place.foreign = *place.owner && !*text;
    if (*text && client < sizeof who.client)
        memcpy(who.client, place.owner, client); /* the rest is zero */
    place.permits = strcmp(place.kind, "permit") == 0;
    if (place.holds)
        place.token = token_of(place.kind, line->element[TOKEN]);
    if (!place.foreign)
        place.since_ms = since_ms(l, place.token);
    place.client = who.client;
    place.host = who.host;
    place.program = who.program;
    place.user = who.user;
    place.why = who.why;
    place.pid = who.pid;
    l->fn(l->arg, &place);
}

static int tell_line(listing *l, const redisReply *line, hf_error *err) {
    int rc;

    if (!hf__reply_has(line, PLACES + 1, 0) || !line->element[NAME]->str ||
        line->element[TOKEN]->type != REDIS_REPLY_INTEGER)
        return HF_OK; /* nobody stands there */
    rc = hf__seen_add(&l->seen, line->element[NAME]->str);
    if (rc < 0)
        return hf__fail_plain(err, rc);
    for (size_t i = PLACES; rc == HF_OK && i < line->elements; i++)
        if (is_place(line->element[i]))
            tell(l, line, line->element[i]);
    return HF_OK;
}

/* Takes the answer about n names or keys. */
static int tell_lines(listing *l, redisReply *reply, size_t n, hf_error *err) {
    int rc = hf__reply_has(reply, n, 0) ? HF_OK : odd(l, err);

    for (size_t i = 0; rc == HF_OK && i < n; i++)
        rc = tell_line(l, reply->element[i], err);
    freeReplyObject(reply);
    return rc;
}

/* Looks at n keys, at most a page. */
static int look_at(listing *l, const char *const *keys, size_t n,
                   hf_error *err) {
    char records[HF_KEY_SIZE];
    const char *argv[PAGE + 2] = {records_here(l, records), l->type};
    hf_call call = {.script = HF_SCRIPT_LIST, .argc = (int)n + 2, .argv = argv};
    redisReply *reply;
    int rc;

    memcpy(argv + 2, keys, n * sizeof *keys);
    rc = hf__node_call(l->node, &call, &reply, answer_by(l), err);
    if (rc != HF_OK)
        return rc == HF_EDOUBT ? (err->code = HF_EDOWN) : rc;
    return tell_lines(l, reply, n, err);
}

/* Looks at a name where it is now.  Only in a cluster it is declared as a key:
 * there it must be, so that the server can say that it is elsewhere. */
static int look_at_name(listing *l, const char *name, hf_error *err) {
    hf_topology *t = l->topology;
    char records[HF_KEY_SIZE];
    const char *argv[] = {name, records_here(l, records), l->type, name};
    int skip = t->slotted ? 0 : 1;
    hf_call call = {.script = HF_SCRIPT_LIST,
                    .name = name,
                    .n_keys = 1 - skip,
                    .argc = 4 - skip,
                    .argv = argv + skip};
    redisReply *reply;
    int rc = hf__topology_call(t, &call, &reply, answer_by(l), err);

    if (rc != HF_OK)
        return rc == HF_EDOUBT ? (err->code = HF_EDOWN) : rc;
    l->node = t->ops->locate(t, hf__topology_slot(t, name));
    rc = tell_lines(l, reply, 1, err);
    hf__topology_leave(t, l->node);
    return rc;
}

/* The keys of a page of SCAN, in pieces that look_at takes. */
static int look_at_page(listing *l, const redisReply *keys, hf_error *err) {
    const char *names[PAGE];
    size_t n = 0;
    int rc = HF_OK;

    for (size_t i = 0; rc == HF_OK && i < keys->elements; i++) {
        const redisReply *key = keys->element[i];

        /* A key of ours has no NUL and is not that long. */
        if (key->str && strlen(key->str) == key->len && key->len < HF_KEY_SIZE)
            names[n++] = key->str;
        if (n == PAGE) {
            rc = look_at(l, names, n, err);
            n = 0;
        }
    }
    return rc == HF_OK && n ? look_at(l, names, n, err) : rc;
}

/* One step of SCAN: fills the cursor for the next, "0" at the end. */
static int scan(listing *l, char cursor[24], hf_error *err) {
    static const char *const types[] = {"hash", "zset", "list", "string"};
    enum { TYPES = sizeof types / sizeof *types };
    const char *argv[] = {cursor, SCANNED};
    hf_call call = {.script = HF_SCRIPT_SCAN, .argc = 2, .argv = argv};
    redisReply *reply;
    int rc = hf__node_call(l->node, &call, &reply, answer_by(l), err);

    if (rc != HF_OK)
        return rc == HF_EDOUBT ? (err->code = HF_EDOWN) : rc;
    if (!hf__reply_has(reply, 1 + TYPES, 0) || !reply->element[0]->str ||
        reply->element[0]->len >= 24)
        rc = odd(l, err);
    else
        strcpy(cursor, reply->element[0]->str);
    for (int i = 0; rc == HF_OK && i < TYPES; i++) {
        l->type = types[i];
        rc = look_at_page(l, reply->element[1 + i], err);
    }
    freeReplyObject(reply);
    return rc;
}

static int list_node(listing *l, hf_error *err) {
    char cursor[24] = "0";
    int rc;

    do
        rc = scan(l, cursor, err);
    while (rc == HF_OK && strcmp(cursor, "0") != 0);
    return rc;
}

static int list_all(listing *l, hf_error *err) {
    hf_topology *t = l->topology;
    int rc = HF_OK;

    for (unsigned i = 0; rc == HF_OK && (l->node = t->ops->master(t, i)); i++) {
        rc = list_node(l, err);
        hf__topology_leave(t, l->node);
    }
    return rc;
}

int hf__redis_list_node(hf_node *node, const char *name, hf_place_fn *fn,
                        void *arg, hf_time by, hf_error *err) {
    listing l = {.answer = by - hf__now(),
                 .node = node,
                 .fn = fn,
                 .arg = arg,
                 .type = ""};
    int rc = name ? look_at(&l, &name, 1, err) : list_node(&l, err);

    hf__seen_clear(&l.seen);
    return rc;
}

int hf__redis_list(hf_backend *be, const char *name, hf_place_fn *fn, void *arg,
                   hf_time by, hf_error *err) {
    hf_topology *t = ((hf_redis *)be)->topology;
    listing l = {.topology = t,
                 .answer = by - hf__now(),
                 .fn = fn,
                 .arg = arg,
                 .type = ""};
    int rc = name ? hf__keys_check(name, err) : HF_OK;

    if (rc != HF_OK)
        return rc;
    if (t->slotted && !(l.records = hf__calloc(RECORDS, sizeof *l.records)))
        return hf__fail_plain(err, HF_ENO_MEMORY);
    rc = name ? look_at_name(&l, name, err) : list_all(&l, err);
    hf__seen_clear(&l.seen);
    hf__free(l.records);
    return rc;
}
