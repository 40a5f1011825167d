/* SPDX-License-Identifier: MIT
 *
 * permits.c - never more permits out than there are.
 *
 * Leased permits: of all definite holds at the moment of an answer, one was
 * granted last, and at that moment the store had all of them together.  That
 * moment lies between the ask and the answer in question, so that the greatest
 * number the semaphore can have had in between is the limit.
 *
 * Permits without an owner: what was certainly taken, less what may have been
 * given back, is never more than everything that may have been put in. */
#include "trial.h"

#include <stdlib.h>

/* The moments that matter; at one moment what lets go comes first. */
typedef enum what { GIVES, SETS, TAKES } what;

typedef struct event {
    int64_t at;
    uint32_t name;
    what what;
    const hold *h;
    const call *c;
    int64_t n; /* permits */
} event;

typedef struct events {
    event *all;
    size_t n;
} events;

static bool before(const void *of, size_t a, size_t b) {
    const event *x = &((const event *)of)[a], *y = &((const event *)of)[b];
    if (x->name != y->name)
        return x->name < y->name;
    return x->at != y->at ? x->at < y->at : x->what < y->what;
}

static bool may_have_set(const call *c) {
    return c->verb == HF_DO_SET && c->kind != HF_LATCH &&
           (!c->answered || c->code == HF_OK || c->code == HF_EDOUBT);
}

/* ---- leased ------------------------------------------------------------ */

/* The numbers that a semaphore may have, by the asks of its SETs.  A SET that
 * was asked for after another had been answered replaced it. */
typedef struct numbers {
    const call **sets;
    size_t n;
} numbers;

static int64_t limit(const trial *t, const numbers *s, const hold *h) {
    int64_t most = s->n == 0 ? t->promise->permits : 0;
    int64_t replaced = 0; /* what was answered before this is no more */
    for (size_t i = s->n; i-- > 0;) {
        const call *c = s->sets[i];
        if (c->ended >= replaced && c->value > most)
            most = c->value;
        if (c->answered && c->code == HF_OK && c->ended < h->taken->asked &&
            c->asked > replaced)
            replaced = c->asked;
    }
    /* Before the first one it has what the trial says. */
    return replaced == 0 && t->promise->permits > most ? t->promise->permits :
                                                         most;
}

static void sweep_leased(trial *t, const events *e, const size_t *ids,
                         numbers *s) {
    int64_t out = 0;
    for (size_t i = 0; i < e->n; i++) {
        const event *it = &e->all[ids[i]];
        if (i == 0 || e->all[ids[i - 1]].name != it->name)
            out = s->n = 0;
        if (it->what == SETS)
            s->sets[s->n++] = it->c;
        else
            out += it->what == TAKES ? it->n : -it->n;
        if (it->what != TAKES)
            continue;
        int64_t most = limit(t, s, it->h);
        if (most == 0)
            continue; /* nobody said how many there are */
        hf__look(t, HF_INV_PERMITS);
        if (out > most)
            hf__found(t, HF_INV_PERMITS, out - most, it->h->taken->answer,
                      it->h->taken->ask, it->name);
    }
}

static void collect_leased(const trial *t, events *e) {
    for (size_t i = 0; i < t->n_holds; i++) {
        const hold *h = &t->holds[i];
        if (h->side != SIDE_PERMIT || h->to <= h->from)
            continue;
        e->all[e->n++] = (event){h->from, h->name, TAKES, h, NULL, h->permits};
        e->all[e->n++] = (event){h->to, h->name, GIVES, h, NULL, h->permits};
    }
    for (size_t i = 0; i < t->n_calls; i++) {
        const call *c = &t->calls[i];
        if (may_have_set(c))
            e->all[e->n++] = (event){c->asked, c->name, SETS, NULL, c, 0};
    }
}

/* ---- nobody's ---------------------------------------------------------- */

static void collect_free(const trial *t, events *e) {
    for (size_t i = 0; i < t->n_calls; i++) {
        const call *c = &t->calls[i];
        int64_t n = c->permits > 0 ? c->permits : 1;
        bool taken = c->answered && c->code == HF_OK;
        if (may_have_set(c))
            e->all[e->n++] =
                (event){c->asked, c->name, SETS, NULL, c, c->value};
        else if (c->kind != HF_SEMAPHORE)
            continue;
        else if (c->verb == HF_DO_ACQUIRE && taken)
            e->all[e->n++] = (event){c->ended, c->name, TAKES, NULL, c, n};
        else if (c->verb == HF_DO_RELEASE && !hf__release_refused(c))
            e->all[e->n++] = (event){c->asked, c->name, GIVES, NULL, c, n};
    }
}

static void sweep_free(trial *t, const events *e, const size_t *ids) {
    int64_t out = 0, put_in = 0;
    bool set = false;
    for (size_t i = 0; i < e->n; i++) {
        const event *it = &e->all[ids[i]];
        if (i == 0 || e->all[ids[i - 1]].name != it->name) {
            out = 0;
            put_in = t->promise->permits;
            set = false;
        }
        if (it->what == SETS) {
            put_in = hf__later(set ? put_in : 0, it->n > 0 ? it->n : 0);
            set = true;
        } else
            out += it->what == TAKES ? it->n : -it->n;
        if (it->what != TAKES || put_in == 0)
            continue;
        hf__look(t, HF_INV_PERMITS);
        if (out > put_in)
            hf__found(t, HF_INV_PERMITS, out - put_in, it->c->answer,
                      it->c->ask, it->name);
    }
}

int hf__judge_permits(trial *t) {
    events leased = {malloc((2 * t->n_holds + t->n_calls + 1) * sizeof(event)),
                     0};
    events nobodys = {malloc((t->n_calls + 1) * sizeof(event)), 0};
    numbers s = {malloc((t->n_calls + 1) * sizeof(call *)), 0};
    size_t *ids = NULL, *free_ids = NULL;
    int rc = HF_ENO_MEMORY;
    if (leased.all != NULL && nobodys.all != NULL && s.sets != NULL) {
        collect_leased(t, &leased);
        collect_free(t, &nobodys);
        ids = hf__order(leased.n, before, leased.all);
        free_ids = hf__order(nobodys.n, before, nobodys.all);
    }
    if (ids != NULL && free_ids != NULL) {
        sweep_leased(t, &leased, ids, &s);
        sweep_free(t, &nobodys, free_ids);
        rc = HF_OK;
    }
    free(ids);
    free(free_ids);
    free(s.sets);
    free(leased.all);
    free(nobodys.all);
    return rc;
}
