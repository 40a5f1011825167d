/* SPDX-License-Identifier: MIT
 *
 * fairness.c - who stands before another in a fair line is granted the name
 * before it.
 *
 * The order of the line is that of the PLACED records where there are any.
 * Elsewhere somebody stands before another for certain only if it asked long
 * before (promise.haste_ns).  The order of grants is that of the tokens.  So:
 * in the order of the line, no token is lower than one before it.
 *
 * And nobody is granted the name while somebody before it waits and will go on
 * to wait in vain.
 *
 * Who stood still, died, or could not reach the store may be passed over. */
#include "trial.h"

#include <stdlib.h>

typedef struct asker {
    const call *c;
    const hold *h; /* NULL: its time ran out */
    int64_t order; /* when it took its place, or asked */
    bool passable;
} asker;

typedef struct line {
    asker *askers;
    size_t n;
    size_t *placed; /* per call: its last PLACED record, or HF_NONE */
    bool by_place;
} line;

/* Calls stand by process and number. */
static const call *call_of(const trial *t, const hf_record *rec) {
    size_t low = 0, high = t->n_calls;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const call *c = &t->calls[middle];
        if (c->process < rec->process ||
            (c->process == rec->process && c->number < rec->call))
            low = middle + 1;
        else
            high = middle;
    }
    const call *c = &t->calls[low];
    return low < t->n_calls && c->process == rec->process &&
                   c->number == rec->call ?
               c :
               NULL;
}

static void find_places(const trial *t, line *l) {
    for (size_t i = 0; i < t->n_calls; i++)
        l->placed[i] = HF_NONE;
    for (size_t i = 0; i < t->h->n; i++) {
        const hf_record *rec = &t->h->records[i];
        if (rec->saw != HF_SAW_PLACED)
            continue;
        l->by_place = true;
        const call *c = call_of(t, rec);
        if (c != NULL && rec->at <= c->ended)
            l->placed[c - t->calls] = i;
    }
}

static void add(const trial *t, line *l, const call *c, const hold *h) {
    size_t place = l->placed[c - t->calls];
    if (c->ask == HF_NONE || (l->by_place && place == HF_NONE))
        return;
    l->askers[l->n++] =
        (asker){.c = c,
                .h = h,
                .order = l->by_place ? (int64_t)place : c->asked,
                .passable = hf__paused(t, c->process, c->asked, c->ended) ||
                            hf__faulty(t, c->asked, c->ended)};
}

static bool before(const void *of, size_t a, size_t b) {
    const asker *x = &((const asker *)of)[a], *y = &((const asker *)of)[b];
    return x->c->name != y->c->name ? x->c->name < y->c->name :
                                      x->order < y->order;
}

/* Those who certainly stand before the one that is looked at. */
typedef struct front {
    const asker *highest; /* token                                   */
    const asker *longest; /* wait, of those whose time will run out  */
} front;

static void join(front *f, const asker *a) {
    if (a->passable)
        return;
    if (a->h == NULL && (f->longest == NULL || a->c->by > f->longest->c->by))
        f->longest = a;
    if (a->h != NULL && a->h->token != 0 &&
        (f->highest == NULL || a->h->token > f->highest->h->token))
        f->highest = a;
}

static void judge(trial *t, const front *f, const asker *a) {
    if (a->h == NULL)
        return;
    hf__look(t, HF_INV_FAIRNESS);
    if (f->highest != NULL && a->h->token != 0 &&
        f->highest->h->token > a->h->token)
        hf__found(t, HF_INV_FAIRNESS, a->c->asked - f->highest->c->asked,
                  a->c->answer, f->highest->c->ask, a->c->name);
    else if (f->longest != NULL && f->longest->c->by > a->h->from)
        hf__found(t, HF_INV_FAIRNESS, a->c->asked - f->longest->c->asked,
                  a->c->answer, f->longest->c->ask, a->c->name);
}

static void sweep(trial *t, const line *l, const size_t *ids) {
    int64_t ahead = l->by_place ? 1 : t->promise->haste_ns;
    front f = {0};
    for (size_t i = 0, joined = 0; i < l->n; i++) {
        const asker *a = &l->askers[ids[i]];
        if (i == 0 || l->askers[ids[i - 1]].c->name != a->c->name) {
            f = (front){0};
            joined = i;
        }
        for (; joined < i && l->askers[ids[joined]].order <= a->order - ahead;
             joined++)
            join(&f, &l->askers[ids[joined]]);
        judge(t, &f, a);
    }
}

static bool waited_in_vain(const call *c) {
    return c->verb == HF_DO_ACQUIRE && c->kind == HF_FAIR && c->answered &&
           c->code == HF_ETIMEOUT && c->by != HF_NEVER;
}

int hf__judge_fairness(trial *t) {
    line l = {.askers = malloc((t->n_holds + t->n_calls + 1) * sizeof(asker)),
              .placed = malloc((t->n_calls + 1) * sizeof(size_t))};
    size_t *ids = NULL;
    if (l.askers != NULL && l.placed != NULL) {
        find_places(t, &l);
        for (size_t i = 0; i < t->n_holds; i++)
            if (t->holds[i].kind == HF_FAIR)
                add(t, &l, t->holds[i].taken, &t->holds[i]);
        for (size_t i = 0; i < t->n_calls; i++)
            if (waited_in_vain(&t->calls[i]))
                add(t, &l, &t->calls[i], NULL);
        ids = hf__order(l.n, before, l.askers);
        if (ids != NULL && (l.by_place || t->promise->haste_ns > 0))
            sweep(t, &l, ids);
    }
    int rc = ids != NULL ? HF_OK : HF_ENO_MEMORY;
    free(ids);
    free(l.askers);
    free(l.placed);
    return rc;
}
