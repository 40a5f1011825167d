/* SPDX-License-Identifier: MIT
 *
 * renew.c - sets many leases anew with few requests.
 *
 * Claims of one kind whose keys may be declared together, those of one slot,
 * go in one *call* of the script of their kind: first the keys of all, then
 * the arguments of all.  The calls to one node that want as many replicas are
 * an *errand*: they are sent one behind the other in one request.  Where there
 * is one server, that is one call for each kind.  Several nodes are asked side
 * by side, so that one that is dead does not cost the others their time.
 *
 * What an errand leaves open, because a name is elsewhere now or cannot be
 * asked for at the moment, goes into the next round. */
#include <stdlib.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "families.h"
#include "reply.h"

enum { CALL_MAX = 500, CALL_SPACE = 1 << 18, WORKERS = 8 };

/* One claim on its way. */
typedef struct item {
    hf_claim *claim;
    unsigned slot;
    hf_node *node; /* in this round; entered */
    bool alone;    /* shares its call with nobody */
    bool open;     /* has no result yet           */
} item;

typedef struct errand {
    hf_node *node;
    item *items; /* sorted, so that those of a call are neighbours */
    size_t n;
    hf_error err; /* code 0: none */
} errand;

typedef struct renewal {
    hf_redis *redis;
    hf_time by;
    item *items;
    size_t n;
    errand *errands;
    size_t n_errands, n_nodes; /* in this round */
    atomic_size_t next;        /* errand to be taken */
    atomic_bool later;         /* somebody said so   */
} renewal;

/* ---- a call ------------------------------------------------------------ */

/* The claims of a call, spelled. */
typedef struct sheet {
    int n_keys, n_args; /* so far */
    const char *keys[CALL_MAX * HF_WORDS_MAX];
    const char *args[CALL_MAX * HF_WORDS_MAX];
    const char *argv[2 * CALL_MAX * HF_WORDS_MAX];
    char *at, space[CALL_SPACE + HF_SPELLING_SPACE];
} sheet;

/* A claim without a token waits. */
static void add(sheet *s, hf_redis *r, const hf_claim *c) {
    hf_asking asking = {r, c, .waits = !c->token};
    hf_spelling words = {.at = s->at};
    size_t n_args;

    hf__spell(&words, &hf__families[c->kind].renew, &asking);
    n_args = (size_t)(words.argc - words.n_keys);
    memcpy(s->keys + s->n_keys, words.argv,
           (size_t)words.n_keys * sizeof *s->keys);
    memcpy(s->args + s->n_args, words.argv + words.n_keys,
           n_args * sizeof *s->args);
    s->n_keys += words.n_keys;
    s->n_args += (int)n_args;
    s->at = words.at;
}

static bool goes_with(const item *a, const item *b) {
    return a->claim->kind == b->claim->kind && a->slot == b->slot &&
           !a->alone && !b->alone;
}

/* Spells the call that begins with the first of n items; how many are in it. */
static size_t spell_call(sheet *s, hf_redis *r, const item *items, size_t n) {
    size_t i = 0;

    s->n_keys = s->n_args = 0;
    s->at = s->space;
    do
        add(s, r, items[i++].claim);
    while (i < n && i < CALL_MAX && s->at - s->space <= CALL_SPACE &&
           goes_with(items, &items[i]));
    memcpy(s->argv, s->keys, (size_t)s->n_keys * sizeof *s->argv);
    memcpy(s->argv + s->n_keys, s->args, (size_t)s->n_args * sizeof *s->argv);
    return i;
}

static hf_call call_of(const sheet *s, const hf_claim *first) {
    return (hf_call){.script = hf__families[first->kind].renew.script,
                     .n_keys = s->n_keys,
                     .argc = s->n_keys + s->n_args,
                     .argv = s->argv};
}

/* ---- results ----------------------------------------------------------- */

/* All of n claims have the same one, an error. */
static void refuse(item *items, size_t n, int code) {
    for (size_t i = 0; i < n; i++) {
        items[i].claim->result = code;
        items[i].open = false;
    }
}

/* What too few replicas know of is as good as not renewed. */
static int answer_of(const redisReply *reply, bool confirmed) {
    return !reply->integer ? HF_ELOST : confirmed ? HF_OK : HF_EREPLICAS;
}

static int too_few(const hf_redis *r, hf_error *err) {
    return hf__fail(err, HF_EREPLICAS,
                    "%s: too few replicas confirmed a renewal in time",
                    r->topology->where);
}

/* The results of n claims from the answer to their call. */
static int settle(hf_redis *r, item *items, size_t n, const redisReply *reply,
                  bool confirmed, hf_error *err) {
    if (!hf__reply_has(reply, n, n)) {
        refuse(items, n, hf__reply_odd(err, r->topology->where));
        return err->code;
    }
    for (size_t i = 0; i < n; i++) {
        items[i].claim->result = answer_of(reply->element[i], confirmed);
        items[i].open = false;
    }
    return confirmed ? HF_OK : too_few(r, err);
}

/* ---- one claim --------------------------------------------------------- */

/* One that was granted unasked is renewed at once, so that this is common; and
 * it is the way of whatever does not go with others. */
static int renew_one(hf_redis *r, hf_claim *c, hf_time by, hf_error *err) {
    const hf_plan *plan = &hf__families[c->kind].renew;
    char space[HF_SPELLING_SPACE];
    hf_spelling words = {.at = space};
    redisReply *reply = NULL;
    bool confirmed = true;
    item one = {.claim = c};
    hf_call call;
    int rc;

    hf__spell(&words, plan, &(hf_asking){r, c, .waits = !c->token});
    call = (hf_call){.script = plan->script,
                     .name = c->name,
                     .n_keys = words.n_keys,
                     .argc = words.argc,
                     .argv = words.argv,
                     .lens = words.lens,
                     .replicas = c->replicas,
                     .confirmed = &confirmed};
    rc = hf__topology_call(r->topology, &call, &reply, by, err);
    if (rc != HF_OK)
        return c->result = rc;
    rc = settle(r, &one, 1, reply, confirmed, err);
    freeReplyObject(reply);
    return rc;
}

static void renew_each(renewal *w, errand *e, item *items, size_t n) {
    for (size_t i = 0; i < n; i++) {
        renew_one(w->redis, items[i].claim, w->by, &e->err);
        items[i].open = false;
    }
}

/* ---- an errand --------------------------------------------------------- */

/* Its calls as they are sent. */
typedef struct letter {
    char *bytes;
    size_t len, room;
    size_t n;       /* calls */
    size_t *counts; /* the claims in each */
    redisReply **replies;
} letter;

static bool add_bytes(letter *l, const char *bytes, size_t len) {
    if (l->len + len > l->room) {
        size_t room = 2 * (l->len + len);
        char *wide = hf__realloc(l->bytes, room);

        if (!wide)
            return false;
        l->bytes = wide;
        l->room = room;
    }
    memcpy(l->bytes + l->len, bytes, len);
    l->len += len;
    return true;
}

static bool add_call(letter *l, hf_redis *r, const sheet *s,
                     const hf_claim *first) {
    hf_call call = call_of(s, first);
    size_t len;
    char *command =
        hf__script_command(&r->topology->scripts, &call, false, &len);
    bool ok = command && add_bytes(l, command, len);

    hf__free(command);
    return ok;
}

static bool write_letter(letter *l, hf_redis *r, const errand *e) {
    sheet *s = hf__malloc(sizeof *s);
    bool ok = s != NULL;

    l->counts = hf__calloc(e->n, sizeof *l->counts);
    l->replies = hf__calloc(e->n, sizeof *l->replies);
    ok = ok && l->counts && l->replies;
    for (size_t i = 0; ok && i < e->n; i += l->counts[l->n++]) {
        l->counts[l->n] = spell_call(s, r, e->items + i, e->n - i);
        ok = add_call(l, r, s, e->items[i].claim);
    }
    hf__free(s);
    return ok;
}

static void letter_free(letter *l) {
    for (size_t i = 0; l->replies && i < l->n; i++)
        if (l->replies[i])
            freeReplyObject(l->replies[i]);
    hf__free(l->replies);
    hf__free(l->counts);
    hf__free(l->bytes);
}

/* What came instead of answers to n claims.  Those that are to be asked again
 * stay open. */
static void heed(renewal *w, errand *e, item *items, size_t n, int rc,
                 const redisReply *reply) {
    hf_topology *t = w->redis->topology;
    hf_trip trip = {.slot = items->slot, .at = e->node};

    switch (t->ops->learn(t, &trip, rc, reply, w->by)) {
    case HF_NEXT_DONE:
        if (rc == HF_OK)
            rc = hf__reply_fail(&e->err, reply, e->node->server.where, NULL);
        refuse(items, n, rc);
        break;
    case HF_NEXT_AGAIN:
        break;
    case HF_NEXT_LATER:
        atomic_store(&w->later, true);
        break;
    case HF_NEXT_ASKING:
        hf__topology_leave(t, trip.to);
        renew_each(w, e, items, n);
        break;
    }
}

/* A script that is not known there is sent with one claim, and then it is.
 * Claims of a slot that is half moved are asked for one by one: some are here,
 * the others there. */
static void take_error(renewal *w, errand *e, item *items, size_t n,
                       const redisReply *reply) {
    bool split = n > 1 && (hf__reply_is(reply, "TRYAGAIN") ||
                           hf__reply_is(reply, "ASK"));

    for (size_t i = 0; i < n; i++)
        items[i].alone |= split;
    if (hf__reply_is(reply, "NOSCRIPT"))
        renew_each(w, e, items, 1);
    else if (!split)
        heed(w, e, items, n, HF_OK, reply);
}

static void take_replies(renewal *w, errand *e, const letter *l,
                         bool confirmed) {
    item *items = e->items;

    for (size_t i = 0; i < l->n; items += l->counts[i++]) {
        const redisReply *reply = l->replies[i];

        if (reply->type == REDIS_REPLY_ERROR)
            take_error(w, e, items, l->counts[i], reply);
        else
            settle(w->redis, items, l->counts[i], reply, confirmed, &e->err);
    }
}

static void run_errand(renewal *w, errand *e) {
    int policy = e->items->claim->replicas, rc;
    bool confirmed = true;
    letter l = {0};

    if (write_letter(&l, w->redis, e))
        rc = hf__engine_run_all(e->node->engine, l.bytes, l.len, l.n, policy,
                                &confirmed, l.replies, w->by, &e->err);
    else
        rc = hf__fail_plain(&e->err, HF_ENO_MEMORY);
    if (rc == HF_OK) {
        take_replies(w, e, &l, confirmed);
        hf__engine_set_clock(e->node->engine, w->by);
    } else {
        heed(w, e, e->items, e->n, rc, NULL);
    }
    letter_free(&l);
}

/* ---- a round ----------------------------------------------------------- */

/* -1, 0 or 1. */
static int order(intptr_t a, intptr_t b) {
    return (a > b) - (a < b);
}

/* Open ones first, then by errand, then by call. */
static int compare(const void *one, const void *other) {
    const item *a = one, *b = other;
    int by = order(b->open, a->open);

    if (!by)
        by = order((intptr_t)a->node, (intptr_t)b->node);
    if (!by)
        by = order(a->claim->replicas, b->claim->replicas);
    if (!by)
        by = order((intptr_t)a->claim->kind, (intptr_t)b->claim->kind);
    return by ? by : order((intptr_t)a->slot, (intptr_t)b->slot);
}

/* Looks up where the open ones are; how many there are. */
static size_t gather(renewal *w) {
    hf_topology *t = w->redis->topology;
    size_t open = 0;

    for (size_t i = 0; i < w->n; i++) {
        w->items[i].node = NULL;
        if (!w->items[i].open)
            continue;
        w->items[i].node = t->ops->locate(t, w->items[i].slot);
        open++;
    }
    if (open)
        qsort(w->items, w->n, sizeof *w->items, compare);
    return open;
}

static void divide(renewal *w, size_t n) {
    const item *last = NULL;

    w->n_errands = w->n_nodes = 0;
    for (size_t i = 0; i < n; last = &w->items[i++]) {
        item *it = &w->items[i];
        bool elsewhere = !last || last->node != it->node;

        if (elsewhere || last->claim->replicas != it->claim->replicas)
            w->errands[w->n_errands++] = (errand){it->node, it, .n = 0};
        w->errands[w->n_errands - 1].n++;
        w->n_nodes += elsewhere;
    }
}

static void *work(void *arg) {
    renewal *w = arg;
    size_t i;

    while ((i = atomic_fetch_add(&w->next, 1)) < w->n_errands)
        run_errand(w, &w->errands[i]);
    return NULL;
}

/* A worker for each node, up to a few; this thread is one of them. */
static void work_together(renewal *w) {
    pthread_t threads[WORKERS];
    size_t n = 0;

    atomic_store(&w->next, 0);
    while (n + 1 < w->n_nodes && n + 1 < WORKERS &&
           hf__world->thread_start(&threads[n], work, w) == 0)
        n++;
    work(w);
    while (n > 0)
        hf__world->thread_join(threads[--n]);
}

/* What some errand had to say, if any did. */
static void tell(const renewal *w, hf_error *err) {
    for (size_t i = 0; i < w->n_errands; i++)
        if (w->errands[i].err.code)
            *err = w->errands[i].err;
}

static void run_round(renewal *w, size_t open, hf_error *err) {
    hf_topology *t = w->redis->topology;

    atomic_store(&w->later, false);
    divide(w, open);
    work_together(w);
    tell(w, err);
    for (size_t i = 0; i < open; i++)
        hf__topology_leave(t, w->items[i].node);
}

/* ---- the verb ---------------------------------------------------------- */

/* The code of one that is not answered, if there is any.  What is still open
 * did not leave. */
static int conclude(const renewal *w, hf_error *err) {
    int worst = HF_OK;

    for (size_t i = 0; i < w->n; i++) {
        hf_claim *c = w->items[i].claim;

        if (w->items[i].open)
            c->result = err->code < 0 ? err->code : HF_EDOWN;
        if (c->result != HF_OK && c->result != HF_ELOST)
            worst = c->result;
    }
    if (worst == HF_EDOWN && err->code == HF_UNSENT)
        err->code = worst;
    else if (worst != err->code)
        hf__fail_plain(err, worst);
    return worst;
}

static int run_rounds(renewal *w, hf_error *err) {
    hf_trip pace = {0};
    size_t open;

    err->code = HF_OK;
    while ((open = gather(w)) > 0) {
        run_round(w, open, err);
        if (hf__now() >= w->by ||
            (atomic_load(&w->later) && !hf__topology_pause(&pace, w->by)))
            break;
    }
    return conclude(w, err);
}

static int renew_many(hf_redis *r, hf_claim *const *claims, size_t n,
                      hf_time by, hf_error *err) {
    renewal w = {.redis = r, .by = by, .n = n};
    int rc;

    w.items = hf__calloc(n, sizeof *w.items);
    w.errands = hf__calloc(n, sizeof *w.errands);
    if (!w.items || !w.errands) {
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
        for (size_t i = 0; i < n; i++)
            claims[i]->result = rc;
    } else {
        for (size_t i = 0; i < n; i++)
            w.items[i] =
                (item){.claim = claims[i],
                       .slot = hf__topology_slot(r->topology, claims[i]->name),
                       .open = true};
        rc = run_rounds(&w, err);
    }
    hf__free(w.items);
    hf__free(w.errands);
    return rc;
}

int hf__redis_renew(hf_backend *be, hf_claim *const *claims, size_t n,
                    hf_time by, hf_error *err) {
    hf_redis *r = (hf_redis *)be;
    int rc;

    if (n != 1)
        return renew_many(r, claims, n, by, err);
    rc = renew_one(r, claims[0], by, err);
    hf__topology_set_clock(r->topology, claims[0]->name, by);
    return rc;
}
