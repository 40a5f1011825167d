/* SPDX-License-Identifier: MIT
 *
 * clients.c - the records of those who use the store.
 *
 * A record is a key with a lease, and the list of all who have one is a sorted
 * set beside it: so they are found without a walk through all keys of the
 * server.  Both are written by every announcement, in one script; whatever a
 * failover, a restart or FLUSHALL took away is back with the next one.  Where
 * they lie in a cluster is said in keys.h. */
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "keys.h"
#include "redis.h"
#include "reply.h"
#include "seen.h"

/* In a cluster the record may lie at a server that is silent, while renewals
 * at the others wait for us. */
enum { ANNOUNCE_MS = 250, LEAVE_MS = 300 };

/* Of records that are asked for at once: about so many.  What the server does
 * for them takes well under a millisecond. */
#define PAGE "50"

/* ---- our own ----------------------------------------------------------- */

/* The keys of our record and of the list that it stands in. */
typedef struct keys {
    char record[HF_KEY_SIZE], all[HF_KEY_SIZE];
} keys;

static void spell(keys *k, const hf_redis *r) {
    const char *client = r->base.host->identity.client;
    const char *shelf = r->topology->slotted ? hf__shelf_of(client) : NULL;

    hf__key_client(k->record, shelf, client);
    hf__key_client(k->all, shelf, HF_ALL_CLIENTS);
}

int hf__redis_announce(hf_backend *be, const char *doing, int lease_ms,
                       hf_time by, hf_error *err) {
    hf_redis *r = (hf_redis *)be;
    uint64_t number = atomic_fetch_add(&r->announced, 1) + 1;
    char *record = hf__record_new(&be->host->identity, number, doing);
    char ms[HF_DECIMAL_SIZE];
    redisReply *reply;
    keys k;
    hf_call call = {.script = HF_SCRIPT_ANNOUNCE,
                    .n_keys = 2,
                    .argc = 5,
                    .argv = (const char *const[]){k.record, k.all, record, ms,
                                                  be->host->identity.client}};
    int rc;

    if (!record)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    if (r->topology->slotted)
        by = hf__sooner(by, hf__after_ms(ANNOUNCE_MS));
    spell(&k, r);
    hf__decimal(ms, (uint64_t)lease_ms);
    rc = hf__topology_call(r->topology, &call, &reply, by, err);
    hf__free(record);
    if (rc != HF_OK)
        return rc;
    freeReplyObject(reply);
    hf__topology_set_clock(r->topology, k.record, by);
    return HF_OK;
}

void hf__redis_take_leave(hf_redis *r) {
    redisReply *reply;
    hf_error err;
    keys k;
    hf_call call = {.script = HF_SCRIPT_TAKE_LEAVE,
                    .n_keys = 2,
                    .argc = 3,
                    .argv = (const char *const[]){
                        k.record, k.all, r->base.host->identity.client}};

    if (!r->topology || !atomic_load(&r->announced))
        return;
    spell(&k, r);
    if (hf__topology_call(r->topology, &call, &reply, hf__after_ms(LEAVE_MS),
                          &err) == HF_OK)
        freeReplyObject(reply);
}

/* ---- everybody's ------------------------------------------------------- */

/* A look at the records of one shelf after the other. */
typedef struct look {
    hf_topology *topology;
    hf_node *node;  /* that is asked, in place of a topology */
    hf_time answer; /* so long a request may take            */
    hf_record_text_fn *fn;
    void *arg;
    hf_seen seen;
} look;

/* One page of a shelf's list; fills the cursor for the next, "0" at the end. */
static int ask_page(look *l, const char *shelf, char cursor[24],
                    redisReply **ret, hf_error *err) {
    char all[HF_KEY_SIZE], prefix[HF_KEY_SIZE];
    hf_call call = {.script = HF_SCRIPT_CLIENTS,
                    .n_keys = 1,
                    .argc = 4,
                    .argv = (const char *const[]){all, prefix, cursor, PAGE}};
    hf_time by = hf__now() + l->answer;
    int rc;

    hf__key_client(all, shelf, HF_ALL_CLIENTS);
    hf__key_client(prefix, shelf, "");
    if (l->node)
        rc = hf__node_call(l->node, &call, ret, by, err);
    else
        rc = hf__topology_call(l->topology, &call, ret, by, err);
    if (rc == HF_EDOUBT)
        rc = err->code = HF_EDOWN; /* nothing was changed */
    return rc;
}

/* Whoever announces itself while we go through the list may come by twice. */
static int tell_page(look *l, const redisReply *page, hf_error *err) {
    for (size_t i = 1; i + 1 < page->elements; i += 2) {
        const char *client = page->element[i]->str;
        const char *text = page->element[i + 1]->str;
        int rc = client && text ? hf__seen_add(&l->seen, client) : HF_BUSY;

        if (rc < 0)
            return hf__fail_plain(err, rc);
        if (rc == HF_OK)
            l->fn(l->arg, client, text);
    }
    return HF_OK;
}

/* false: that is no page. */
static bool read_cursor(const redisReply *page, char cursor[24]) {
    const redisReply *next =
        hf__reply_has(page, 1, 0) ? page->element[0] : NULL;

    if (!next || !next->str || next->len >= 24)
        return false;
    strcpy(cursor, next->str);
    return true;
}

static int tell_shelf(look *l, const char *shelf, hf_error *err) {
    char cursor[24] = "0";
    int rc;

    do {
        redisReply *page;

        rc = ask_page(l, shelf, cursor, &page, err);
        if (rc != HF_OK)
            return rc;
        if (read_cursor(page, cursor)) {
            rc = tell_page(l, page, err);
        } else {
            hf__reply_odd(err,
                          l->node ? l->node->server.where : l->topology->where);
            rc = err->code = HF_ESTORE;
        }
        freeReplyObject(page);
    } while (rc == HF_OK && strcmp(cursor, "0") != 0);
    return rc;
}

int hf__redis_clients_node(hf_node *node, hf_record_text_fn *fn, void *arg,
                           hf_time by, hf_error *err) {
    look l = {.node = node, .answer = by - hf__now(), .fn = fn, .arg = arg};
    int rc = tell_shelf(&l, NULL, err);

    hf__seen_clear(&l.seen);
    return rc;
}

typedef struct teller {
    hf_record_fn *fn;
    void *arg;
    char doing[HF_DOING_MAX + 1];
} teller;

static void tell(void *arg, const char *client, const char *text) {
    teller *t = arg;
    hf_identity who;

    hf__record_read(&who, text);
    strncat(who.client, client, sizeof who.client - 1);
    hf__record_doing(t->doing, text);
    t->fn(t->arg, &who, t->doing);
}

int hf__redis_clients(hf_backend *be, hf_record_fn *fn, void *arg, hf_time by,
                      hf_error *err) {
    teller *t = hf__malloc(sizeof *t);
    look l = {.topology = ((hf_redis *)be)->topology,
              .answer = by - hf__now(),
              .fn = tell,
              .arg = t};
    int rc = HF_OK;

    if (!t)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    t->fn = fn;
    t->arg = arg;
    if (!l.topology->slotted)
        rc = tell_shelf(&l, NULL, err);
    for (int i = 0; l.topology->slotted && rc == HF_OK && i < HF_SHELVES; i++)
        rc = tell_shelf(&l, hf__shelves[i], err);
    hf__seen_clear(&l.seen);
    hf__free(t);
    return rc;
}
