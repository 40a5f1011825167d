/* SPDX-License-Identifier: MIT
 *
 * holds.c - who held what, from when to when.
 *
 * The records of one owner of one name stand together and tell one story after
 * the other: granted, entered again, said to be held, lost, released.  A
 * release counts from its ask: from then on nothing is definite any more.
 *
 * Three things are judged on the way, because they are about one owner alone:
 * that who holds nothing releases nothing (OWNER), that who was told of loss or
 * has released is not told that it holds (HELD), and that entering again leaves
 * the token alone (TOKENS).  Where several threads are one owner their calls
 * may overlap, and what they say of each other is not certain. */
#include "trial.h"

#include <stdlib.h>

enum { LATE = 8 }; /* so many grants later loss may be told */

typedef struct owner {
    trial *t;
    hold *first; /* of all its holds     */
    hold *now;   /* NULL: holds nothing  */
    int depth;
    bool alone;       /* all its calls come from one thread             */
    int64_t released; /* when its last release ended                    */
    bool releasing;   /* a release was asked for and has not ended      */
} owner;

/* Permits of a semaphore are nobody's, and a latch is not held. */
static bool tells_of_holds(const hf_record *rec) {
    if (rec->kind == HF_SEMAPHORE || rec->kind == HF_LATCH)
        return false;
    switch (rec->saw) {
    case HF_SAW_ASK:
    case HF_SAW_ANSWER:
        return rec->verb == HF_DO_ACQUIRE || rec->verb == HF_DO_RELEASE;
    case HF_SAW_LOST:
    case HF_SAW_HELD:
        return true;
    default:
        return false;
    }
}

static int compare_owners(const hf_record *x, const hf_record *y) {
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->claim != y->claim)
        return x->claim < y->claim ? -1 : 1;
    return (int)hf__side(x->kind) - (int)hf__side(y->kind);
}

static bool by_owner(const void *of, size_t a, size_t b) {
    const hf_record *all = ((const hf_history *)of)->records;
    return compare_owners(&all[a], &all[b]) < 0;
}

/* ---- one record after the other ---------------------------------------- */

static void grant(owner *o, const call *c, const hf_record *rec) {
    trial *t = o->t;
    o->now = &t->holds[t->n_holds++];
    o->depth = 1;
    *o->now = (hold){.process = c->process,
                     .thread = c->thread,
                     .claim = c->claim,
                     .name = c->name,
                     .kind = c->kind,
                     .side = hf__side(c->kind),
                     .permits = c->permits > 0 ? c->permits : 1,
                     .token = rec->token,
                     .taken = c,
                     .from = rec->at,
                     .to = HF_NEVER,
                     .until = rec->until == 0 ? HF_NEVER : rec->until,
                     .told = HF_NEVER,
                     .lost = HF_NONE,
                     .gone = HF_NEVER};
}

static void enter_again(owner *o, const call *c, const hf_record *rec) {
    hold *h = o->now;
    o->depth++;
    if (rec->until == 0 || rec->until > h->until)
        h->until = rec->until == 0 ? HF_NEVER : rec->until;
    if (rec->token == 0 || h->token == 0 || o->releasing ||
        o->released >= c->asked)
        return;
    hf__look(o->t, HF_INV_TOKENS);
    if (rec->token != h->token)
        hf__found(o->t, HF_INV_TOKENS, 0, c->answer, h->taken->answer, h->name);
}

static void acquired(owner *o, const call *c, const hf_record *rec) {
    if (o->now == NULL)
        grant(o, c, rec);
    else
        enter_again(o, c, rec);
}

/* What became of a call is known beforehand, so that a release that was
 * refused is none. */
static void asks_release(owner *o, const call *c) {
    bool refused = hf__release_refused(c);
    if (o->alone && c->answered) {
        hf__look(o->t, HF_INV_OWNER);
        if ((o->now == NULL && c->code == HF_OK) ||
            (o->now != NULL && c->code == HF_ENOT_OWNER))
            hf__found(o->t, HF_INV_OWNER, 0, c->answer,
                      o->now != NULL ? o->now->taken->answer : HF_NONE,
                      c->name);
    }
    o->releasing = true;
    if (refused || o->now == NULL || --o->depth > 0)
        return;
    o->now->given = c;
    o->now = NULL;
}

/* The hold that was lost: with luck the last, but it may be told late, of one
 * before. */
static hold *lost_one(owner *o, const hf_record *rec) {
    hold *h = o->t->holds + o->t->n_holds;
    if (rec->token == 0)
        return o->now;
    for (int i = 0; i < LATE && h > o->first; i++)
        if ((--h)->token == rec->token)
            return h;
    return NULL;
}

static void lost(owner *o, const hf_record *rec, size_t at) {
    trial *t = o->t;
    hold *h = lost_one(o, rec);
    if (h == NULL)
        return;
    hf__look(t, HF_INV_TOLD);
    if (h->told == HF_NEVER) {
        h->told = rec->at;
        h->lost = at;
    } else if (rec->token != 0) {
        hf__found(t, HF_INV_TOLD, 0, at, h->lost, rec->name);
    }
}

/* A pause that no lease survives, between the grant and this moment; an eighth
 * is left for the one who noted it. */
static bool slept_through(const trial *t, const hold *h, int64_t at) {
    const span *pauses;
    int64_t lease = t->promise->lease_ns;
    size_t n = hf__pauses(t, h->process, h->from, at, &pauses);
    for (size_t i = 0; i < n && lease > 0; i++)
        if (pauses[i].from >= h->from && pauses[i].to <= at &&
            pauses[i].to - pauses[i].from > lease + lease / 8)
            return true;
    return false;
}

static bool cannot_hold(const owner *o, const hf_record *rec) {
    const hold *h = o->now;
    int64_t lease = o->t->promise->lease_ns;
    if (h == NULL)
        return true;
    if (h->told < rec->at && (o->t->h->records[h->lost].token != 0 ||
                              h == o->first)) /* of no hold before it */
        return true;
    if (h->taken->lease > 0 && o->depth == 1 &&
        rec->at > hf__later(h->from, h->taken->lease))
        return true;
    return slept_through(o->t, h, rec->at) || (lease > 0 && rec->value > lease);
}

static void held(owner *o, const hf_record *rec, size_t at) {
    hold *h = o->now;
    if (o->alone) {
        hf__look(o->t, HF_INV_HELD);
        if (cannot_hold(o, rec))
            hf__found(o->t, HF_INV_HELD, 0, at,
                      h != NULL ? h->taken->answer : HF_NONE, rec->name);
    }
    if (h == NULL || h->until == HF_NEVER)
        return;
    int64_t until = rec->value > 0 ? hf__later(rec->at, rec->value) : rec->at;
    if (until > h->until)
        h->until = until;
}

static void next_call(owner *o, const call *c, const hf_record *rec) {
    bool asks = rec->saw == HF_SAW_ASK;
    if (rec->verb == HF_DO_ACQUIRE && !asks && rec->code == HF_OK)
        acquired(o, c, rec);
    if (rec->verb != HF_DO_RELEASE)
        return;
    if (asks || c->ask == HF_NONE)
        asks_release(o, c);
    if (!asks) {
        o->releasing = false;
        o->released = rec->at;
    }
}

static void next_record(owner *o, size_t at) {
    const hf_record *rec = &o->t->h->records[at];
    size_t n = o->t->call_of[at];
    if (rec->saw == HF_SAW_LOST)
        lost(o, rec, at);
    else if (rec->saw == HF_SAW_HELD)
        held(o, rec, at);
    else if (n != HF_NONE)
        next_call(o, &o->t->calls[n], rec);
}

/* ---- all of one owner, and of all -------------------------------------- */

static bool is_alone(const trial *t, const size_t *ids, size_t n) {
    const hf_record *first = NULL;
    for (size_t i = 0; i < n; i++) {
        const hf_record *rec = &t->h->records[ids[i]];
        if (rec->saw == HF_SAW_LOST)
            continue; /* told by a thread of the library */
        if (first != NULL && first->thread != rec->thread)
            return false;
        first = rec;
    }
    return true;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* When the hold was certainly over in the store.  Without a release that was
 * confirmed its lease ended it, which was renewed for the last time before its
 * process died, or it was told of loss, or gave it up. */
static int64_t gone(const trial *t, const hold *h, const life *l) {
    int64_t lease = t->promise->lease_ns;
    if (h->given != NULL && h->given->answered && h->given->code == HF_OK)
        return h->given->ended;
    int64_t last = least(l->died, h->told);
    if (h->given != NULL)
        last = least(last, h->given->ended);
    return last == HF_NEVER || lease == 0 ? HF_NEVER : hf__later(last, lease);
}

static void finish(const trial *t, hold *h) {
    const life *l = hf__life(t, h->process);
    h->to = least(least(h->until, h->told), l->died);
    if (h->given != NULL)
        h->to = least(h->to, h->given->asked);
    /* What the rest of its records would have said is not known. */
    if (t->h->left_out > 0)
        h->to = least(h->to, l->last);
    h->gone = gone(t, h, l);
}

static bool by_name(const void *of, size_t a, size_t b) {
    const hold *x = &((const hold *)of)[a], *y = &((const hold *)of)[b];
    return x->name != y->name ? x->name < y->name : x->from < y->from;
}

static int sort_holds(trial *t) {
    size_t *ids = hf__order(t->n_holds, by_name, t->holds);
    hold *sorted = malloc((t->n_holds + 1) * sizeof *sorted);
    if (ids != NULL && sorted != NULL) {
        for (size_t i = 0; i < t->n_holds; i++)
            sorted[i] = t->holds[ids[i]];
        free(t->holds);
        t->holds = sorted;
        free(ids);
        return HF_OK;
    }
    free(ids);
    free(sorted);
    return HF_ENO_MEMORY;
}

int hf__make_holds(trial *t) {
    const hf_record *all = t->h->records;
    size_t n = t->h->n;
    size_t *ids = hf__order(n, by_owner, t->h);
    t->holds = calloc(n + 1, sizeof *t->holds);
    if (ids == NULL || t->holds == NULL) {
        free(ids);
        return HF_ENO_MEMORY;
    }
    size_t m = 0; /* those that tell of holds, still in order */
    for (size_t i = 0; i < n; i++)
        if (tells_of_holds(&all[ids[i]]))
            ids[m++] = ids[i];
    for (size_t i = 0, j; i < m; i = j) {
        for (j = i + 1;
             j < m && compare_owners(&all[ids[i]], &all[ids[j]]) == 0;)
            j++;
        owner o = {.t = t,
                   .first = t->holds + t->n_holds,
                   .alone = is_alone(t, ids + i, j - i)};
        for (size_t k = i; k < j; k++)
            next_record(&o, ids[k]);
    }
    free(ids);
    for (size_t i = 0; i < t->n_holds; i++)
        finish(t, &t->holds[i]);
    return sort_holds(t);
}
