/* SPDX-License-Identifier: MIT
 *
 * latch.c - a latch opens when it has been counted down, not before, and then
 * for everybody.
 *
 * A wait that was told "open" came too early if the latch was certainly set
 * before it, and even with every count-down that may have been done since there
 * were too few.  One that was told "closed" came too late if the latch had
 * certainly been counted down to nothing before it, and nobody set it anew. */
#include "trial.h"

#include <stdlib.h>

typedef struct latch {
    const call **sets;  /* by their asks                      */
    int64_t *asks;      /* of count-downs that may have been done  */
    int64_t *ends;      /* of the same, without those unanswered   */
    const call **downs; /* that were done, by their asks            */
    size_t n_sets, n_asks, n_ends, n_downs;
} latch;

static bool by_ask(const void *of, size_t a, size_t b) {
    const call *x = &((const call *)of)[a], *y = &((const call *)of)[b];
    return x->name != y->name ? x->name < y->name : x->asked < y->asked;
}

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* How many of n numbers in order are below `than`. */
static size_t below(const int64_t *numbers, size_t n, int64_t than) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (numbers[middle] < than)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void collect(latch *l, const call *c) {
    bool ok = c->answered && c->code == HF_OK;
    if (c->verb == HF_DO_SET && (ok || !c->answered || c->code == HF_EDOUBT))
        l->sets[l->n_sets++] = c;
    if (c->verb != HF_DO_COUNT || hf__misused(c))
        return;
    l->asks[l->n_asks++] = c->asked;
    /* What ended without certainty may be done at any time later. */
    if (ok)
        l->ends[l->n_ends++] = c->ended;
    if (ok)
        l->downs[l->n_downs++] = c;
}

/* The last SET that was certainly done before `at`; or NULL. */
static const call *last_set(const latch *l, int64_t at) {
    for (size_t i = l->n_sets; i-- > 0;)
        if (l->sets[i]->answered && l->sets[i]->code == HF_OK &&
            l->sets[i]->ended < at)
            return l->sets[i];
    return NULL;
}

static void judge_open(trial *t, const latch *l, const call *c) {
    const call *set = last_set(l, c->asked);
    if (set == NULL)
        return;
    size_t may = below(l->asks, l->n_asks, hf__later(c->ended, 1)) -
                 below(l->ends, l->n_ends, set->asked);
    hf__look(t, HF_INV_LATCH);
    if ((int64_t)may < set->value)
        hf__found(t, HF_INV_LATCH, 0, c->answer, set->ask, c->name);
}

/* From when on the latch was certainly open, as far as that SET goes. */
static int64_t open_from(const latch *l, const call *set) {
    int64_t ended = 0, left = set->value;
    for (size_t i = 0; i < l->n_downs && left > 0; i++) {
        if (l->downs[i]->asked <= set->ended)
            continue;
        ended = l->downs[i]->ended > ended ? l->downs[i]->ended : ended;
        left--;
    }
    return left <= 0 ? ended : HF_NEVER;
}

/* `open` is from when on the last SET's latch was open: computed once. */
static void judge_shut(trial *t, const latch *l, int64_t open, const call *c) {
    const call *last = l->n_sets > 0 ? l->sets[l->n_sets - 1] : NULL;
    if (last == NULL || open == HF_NEVER || last->asked >= c->asked)
        return;
    int64_t died = hf__life(t, c->process)->died;
    int64_t ended = c->ended < died ? c->ended : died;
    ended = ended < t->end ? ended : t->end;
    int64_t from = open > c->asked ? open : c->asked;
    bool busy = c->answered && c->code == HF_BUSY && open < c->asked;
    span idle = hf__sound(t, from, ended);
    bool slept = t->promise->idle_ns > 0 && t->h->left_out == 0 &&
                 idle.to - idle.from > t->promise->idle_ns &&
                 !hf__paused(t, c->process, from, ended);
    hf__look(t, HF_INV_LATCH);
    if (busy || slept)
        hf__found(t, HF_INV_LATCH, slept ? idle.to - idle.from : 0,
                  c->answered ? c->answer : c->ask, last->ask, c->name);
}

/* One set alone is certainly in force: of several nobody knows which came
 * last, unless one ended before the other began. */
static bool in_order(const latch *l) {
    for (size_t i = 1; i < l->n_sets; i++)
        if (l->sets[i - 1]->ended >= l->sets[i]->asked)
            return false;
    return true;
}

static void judge_name(trial *t, latch *l, const size_t *ids, size_t n) {
    l->n_sets = l->n_asks = l->n_ends = l->n_downs = 0;
    for (size_t i = 0; i < n; i++)
        collect(l, &t->calls[ids[i]]);
    qsort(l->asks, l->n_asks, sizeof *l->asks, by_number);
    qsort(l->ends, l->n_ends, sizeof *l->ends, by_number);
    int64_t open = l->n_sets > 0 && in_order(l) ?
                       open_from(l, l->sets[l->n_sets - 1]) :
                       HF_NEVER;
    for (size_t i = 0; i < n; i++) {
        const call *c = &t->calls[ids[i]];
        if (c->verb != HF_DO_AWAIT || c->ask == HF_NONE)
            continue;
        if (c->answered && c->code == HF_OK)
            judge_open(t, l, c);
        judge_shut(t, l, open, c);
    }
}

static bool of_latch(const call *c) {
    return c->kind == HF_LATCH;
}

int hf__judge_latch(trial *t) {
    size_t room = t->n_calls + 1, n = 0;
    latch l = {.sets = malloc(room * sizeof(call *)),
               .asks = malloc(room * sizeof *l.asks),
               .ends = malloc(room * sizeof *l.ends),
               .downs = malloc(room * sizeof(call *))};
    size_t *ids = hf__order(t->n_calls, by_ask, t->calls);
    int rc = HF_ENO_MEMORY;
    if (l.sets && l.asks && l.ends && l.downs && ids) {
        for (size_t i = 0; i < t->n_calls; i++)
            if (of_latch(&t->calls[ids[i]]))
                ids[n++] = ids[i];
        for (size_t i = 0, j; i < n; i = j) {
            uint32_t name = t->calls[ids[i]].name;
            for (j = i + 1; j < n && t->calls[ids[j]].name == name;)
                j++;
            judge_name(t, &l, ids + i, j - i);
        }
        rc = HF_OK;
    }
    free(l.sets);
    free(l.asks);
    free(l.ends);
    free(l.downs);
    free(ids);
    return rc;
}
