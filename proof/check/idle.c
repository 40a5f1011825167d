/* SPDX-License-Identifier: MIT
 *
 * idle.c - a name that is certainly free goes to who waits for it (HANDOFF),
 * and is not refused to who tries (CERTAIN).
 *
 * A name is *in use* from the answer of a grant until it is certainly gone from
 * the store.  Also while somebody who waits stands still, for it may have been
 * granted the name without being able to say so, and for a lease after a waiter
 * died or a call ended in doubt.  Whoever waits while a name is not in use for
 * longer than promise.idle_ns was forgotten.
 *
 * For a refusal, which is made at one moment, every call counts from its ask
 * to idle_ns after it was over: HF_BUSY is wrong only where nobody was near. */
#include "trial.h"

#include <stdlib.h>

/* So long the place of a dead waiter stays in a fair line. */
#define PLACE_NS ((int64_t)10 * 1000 * 1000 * 1000)

typedef struct use {
    int64_t from, to;
    uint32_t name;
    const call *refused; /* this is that call itself, answered HF_BUSY */
} use;

typedef struct uses {
    use *all;
    size_t n;
} uses;

static void add(uses *u, uint32_t name, int64_t from, int64_t to) {
    if (to > from)
        u->all[u->n++] = (use){.from = from, .to = to, .name = name};
}

static bool acquires(const call *c) {
    side s = hf__side(c->kind);
    return c->verb == HF_DO_ACQUIRE && s != SIDE_SEMAPHORE && s != SIDE_LATCH;
}

static bool sets_permits(const call *c) {
    return c->verb == HF_DO_SET && c->kind != HF_LATCH;
}

/* Is it known that the name has as many as it asks for? */
static bool could_have(const trial *t, const call *c) {
    return c->kind != HF_PERMIT || (c->permits <= t->promise->permits);
}

static bool by_name(const void *of, size_t a, size_t b) {
    const use *x = &((const use *)of)[a], *y = &((const use *)of)[b];
    return x->name != y->name ? x->name < y->name : x->from < y->from;
}

static int sort_uses(uses *u) {
    size_t *ids = hf__order(u->n, by_name, u->all);
    use *sorted = malloc((u->n + 1) * sizeof *sorted);
    if (ids == NULL || sorted == NULL) {
        free(ids);
        free(sorted);
        return HF_ENO_MEMORY;
    }
    for (size_t i = 0; i < u->n; i++)
        sorted[i] = u->all[ids[i]];
    free(ids);
    free(u->all);
    u->all = sorted;
    return HF_OK;
}

/* ---- what is left of a call that was not granted ----------------------- */

static int64_t lease_after(const trial *t, int64_t at, int64_t least) {
    int64_t lease = t->promise->lease_ns;
    if (lease == 0 || at == HF_NEVER)
        return HF_NEVER;
    return hf__later(at, lease > least ? lease : least);
}

/* Until when something of it may stand in the store. */
static int64_t left_until(const trial *t, const call *c) {
    const life *l = hf__life(t, c->process);
    int64_t place = t->promise->place_ns;
    if (place == 0 && c->kind == HF_FAIR)
        place = PLACE_NS;
    if (!c->answered)
        return lease_after(t, l->died, place);
    if (hf__refused(c) || hf__misused(c))
        return c->ended;
    return lease_after(t, c->ended, 0);
}

/* ---- HANDOFF ----------------------------------------------------------- */

static void add_pauses(const trial *t, uses *u, const call *c) {
    const span *pauses;
    size_t n = hf__pauses(t, c->process, c->asked, c->ended, &pauses);
    for (size_t i = 0; i < n; i++)
        add(u, c->name, pauses[i].from > c->asked ? pauses[i].from : c->asked,
            pauses[i].to < c->ended ? pauses[i].to : c->ended);
}

static void add_waiting(const trial *t, uses *u, const call *c) {
    const life *l = hf__life(t, c->process);
    if (sets_permits(c))
        add(u, c->name, 0, c->ended);
    if (!acquires(c) || (c->answered && c->code == HF_OK))
        return;
    if (!c->answered && l->died != HF_NEVER)
        add(u, c->name, l->died, left_until(t, c));
    else if (c->answered && !hf__refused(c) && !hf__misused(c))
        add(u, c->name, c->asked, left_until(t, c));
}

/* Stretches longer than idle_ns in which the name is not in use. */
static void find_gaps(const trial *t, const uses *u, uses *gaps) {
    int64_t busy = 0;
    for (size_t i = 0; i < u->n; i++) {
        const use *it = &u->all[i];
        bool last = i + 1 == u->n || u->all[i + 1].name != it->name;
        if (it->from > busy && it->from - busy > t->promise->idle_ns)
            add(gaps, it->name, busy, it->from);
        busy = it->to > busy ? it->to : busy;
        if (last && t->end > busy && t->end - busy > t->promise->idle_ns)
            add(gaps, it->name, busy, t->end);
        busy = last ? 0 : busy;
    }
}

/* The first gap of that name that ends after `from`; gaps stand in order. */
static size_t first_gap(const uses *gaps, uint32_t name, int64_t from) {
    size_t low = 0, high = gaps->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const use *g = &gaps->all[middle];
        if (g->name < name || (g->name == name && g->to <= from))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void judge_wait(trial *t, const uses *gaps, const call *c) {
    int64_t ends = c->ended < c->by ? c->ended : c->by;
    int64_t died = hf__life(t, c->process)->died;
    ends = ends < died ? ends : died;
    ends = ends < t->end ? ends : t->end;
    hf__look(t, HF_INV_HANDOFF);
    for (size_t i = first_gap(gaps, c->name, c->asked); i < gaps->n; i++) {
        const use *g = &gaps->all[i];
        if (g->name != c->name || g->from >= ends)
            return;
        span idle = hf__sound(t, g->from > c->asked ? g->from : c->asked,
                              g->to < ends ? g->to : ends);
        if (idle.to - idle.from <= t->promise->idle_ns)
            continue;
        hf__found(t, HF_INV_HANDOFF, idle.to - idle.from, c->ask,
                  c->answer != HF_NONE ? c->answer : c->ask, c->name);
        return;
    }
}

/* A name that nobody ever used has no uses: an empty one stands for it, so
 * that there is a gap. */
static void add_names(const trial *t, uses *u) {
    for (size_t i = 0; i < t->n_calls; i++)
        if (acquires(&t->calls[i]))
            u->all[u->n++] = (use){.name = t->calls[i].name};
}

/* How long names lay idle before they were granted, where all was well. */
static void measure(trial *t, const uses *u) {
    int64_t busy = 0;
    size_t h = 0;
    for (size_t i = 0; i < u->n; i++) {
        const use *it = &u->all[i];
        if (i > 0 && u->all[i - 1].name != it->name)
            busy = 0;
        for (; h < t->n_holds &&
               (t->holds[h].name < it->name ||
                (t->holds[h].name == it->name && t->holds[h].from <= it->from));
             h++) {
            const hold *now = &t->holds[h];
            int64_t from = now->taken->asked > busy ? now->taken->asked : busy;
            if (now->name == it->name && busy > 0 && now->from > from &&
                now->taken->asked > 0 && !hf__faulty(t, from, now->from) &&
                !hf__paused(t, now->process, from, now->from))
                hf__extent(t, HF_INV_HANDOFF, now->from - from);
        }
        busy = it->to > busy ? it->to : busy;
    }
}

static int judge_handoff(trial *t, uses *u, uses *gaps) {
    for (size_t i = 0; i < t->n_holds; i++)
        add(u, t->holds[i].name, t->holds[i].from, t->holds[i].gone);
    for (size_t i = 0; i < t->n_calls; i++) {
        add_waiting(t, u, &t->calls[i]);
        if (acquires(&t->calls[i]))
            add_pauses(t, u, &t->calls[i]);
    }
    add_names(t, u);
    int rc = sort_uses(u);
    if (rc != HF_OK)
        return rc;
    find_gaps(t, u, gaps);
    measure(t, u);
    for (size_t i = 0; i < t->n_calls; i++) {
        const call *c = &t->calls[i];
        if (acquires(c) && c->ask != HF_NONE && could_have(t, c) &&
            !hf__misused(c))
            judge_wait(t, gaps, c);
    }
    return HF_OK;
}

/* ---- CERTAIN ----------------------------------------------------------- */

static void add_near(const trial *t, uses *u, const call *c) {
    int64_t idle = t->promise->idle_ns;
    if (sets_permits(c)) {
        add(u, c->name, 0, hf__later(c->ended, idle));
        return;
    }
    if (!acquires(c) || hf__misused(c))
        return;
    if (c->answered && c->code == HF_OK)
        add(u, c->name, c->asked, hf__later(c->ended, idle));
    else
        add(u, c->name, c->asked, hf__later(left_until(t, c), idle));
    if (c->answered && c->code == HF_BUSY && c->ask != HF_NONE)
        u->all[u->n - 1].refused = c;
}

static int judge_certain(trial *t, uses *u) {
    int64_t idle = t->promise->idle_ns, busy = 0;
    for (size_t i = 0; i < t->n_holds; i++)
        add(u, t->holds[i].name, t->holds[i].taken->asked,
            hf__later(t->holds[i].gone, idle));
    for (size_t i = 0; i < t->n_calls; i++)
        add_near(t, u, &t->calls[i]);
    int rc = sort_uses(u);
    if (rc != HF_OK)
        return rc;
    for (size_t i = 0; i < u->n; i++) {
        const use *it = &u->all[i];
        const call *c = it->refused;
        const use *next = i + 1 < u->n ? it + 1 : NULL;
        if (i > 0 && u->all[i - 1].name != it->name)
            busy = 0;
        if (c != NULL && could_have(t, c)) {
            hf__look(t, HF_INV_CERTAIN);
            bool near =
                busy >= c->asked || (next != NULL && next->name == it->name &&
                                     next->from <= c->ended);
            if (!near && !hf__faulty(t, c->asked - idle, c->ended))
                hf__found(t, HF_INV_CERTAIN, 0, c->answer, c->ask, c->name);
        }
        busy = it->to > busy ? it->to : busy;
    }
    return HF_OK;
}

int hf__judge_idle(trial *t) {
    /* Per call one place, one end, and the pauses in it; per hold one. */
    size_t room = t->n_holds + 3 * t->n_calls + 1;
    const span *ignored;
    for (size_t i = 0; i < t->n_calls; i++)
        room += hf__pauses(t, t->calls[i].process, t->calls[i].asked,
                           t->calls[i].ended, &ignored);
    if (t->promise->idle_ns == 0 || t->h->left_out > 0)
        return HF_OK;
    uses hand = {.all = malloc(room * sizeof(use))};
    uses gaps = {.all = malloc(2 * room * sizeof(use))};
    uses near = {.all = malloc(room * sizeof(use))};
    int rc = HF_ENO_MEMORY;
    if (hand.all != NULL && gaps.all != NULL && near.all != NULL)
        rc = judge_handoff(t, &hand, &gaps);
    if (rc == HF_OK)
        rc = judge_certain(t, &near);
    free(hand.all);
    free(gaps.all);
    free(near.all);
    return rc;
}
