/* SPDX-License-Identifier: MIT
 *
 * lives.c - which process died or stood still when, and when something was
 * broken for all. */
#include "trial.h"

#include <stdlib.h>

static bool by_process(const void *of, size_t a, size_t b) {
    const hf_record *all = ((const hf_history *)of)->records;
    return all[a].process < all[b].process;
}

static void note(trial *t, life *l, const hf_record *rec) {
    if (rec->saw == HF_SAW_KILLED) {
        if (rec->at < l->died)
            l->died = rec->at;
        return;
    }
    if (rec->saw == HF_SAW_PAUSED) {
        l->n_pauses++;
        t->pauses[t->n_pauses++] = (span){rec->at, HF_NEVER};
    } else if (rec->saw == HF_SAW_RESUMED) {
        if (l->n_pauses > 0 && t->pauses[t->n_pauses - 1].to == HF_NEVER)
            t->pauses[t->n_pauses - 1].to = rec->at;
    } else {
        l->last = rec->at;
    }
}

static void make_lives(trial *t, const size_t *ids) {
    const hf_record *all = t->h->records;
    for (size_t i = 0; i < t->h->n; i++) {
        const hf_record *rec = &all[ids[i]];
        if (t->n_lives == 0 || t->lives[t->n_lives - 1].process != rec->process)
            t->lives[t->n_lives++] = (life){.process = rec->process,
                                            .died = HF_NEVER,
                                            .first_pause = t->n_pauses};
        note(t, &t->lives[t->n_lives - 1], rec);
    }
}

/* One that begins while another lasts is over when both are; which of several
 * ends first is told by nobody. */
static void make_faults(trial *t) {
    size_t open = 0;
    for (size_t i = 0; i < t->h->n; i++) {
        const hf_record *rec = &t->h->records[i];
        if (rec->saw == HF_SAW_FAULT && open++ == 0)
            t->faults[t->n_faults++] = (span){rec->at, HF_NEVER};
        else if (rec->saw == HF_SAW_HEALED && open > 0 && --open == 0)
            t->faults[t->n_faults - 1].to = rec->at;
    }
}

int hf__make_lives(trial *t) {
    size_t n = t->h->n, n_faults = 0, n_pauses = 0;
    for (size_t i = 0; i < n; i++) {
        n_faults += t->h->records[i].saw == HF_SAW_FAULT;
        n_pauses += t->h->records[i].saw == HF_SAW_PAUSED;
    }
    size_t *ids = hf__order(n, by_process, t->h);
    t->lives = calloc(n + 1, sizeof *t->lives);
    t->pauses = calloc(n_pauses + 1, sizeof *t->pauses);
    t->faults = malloc((n_faults + 1) * sizeof *t->faults);
    if (ids == NULL || !t->lives || !t->pauses || !t->faults) {
        free(ids);
        return HF_ENO_MEMORY;
    }
    make_lives(t, ids);
    make_faults(t);
    free(ids);
    return HF_OK;
}

const life *hf__life(const trial *t, uint32_t process) {
    size_t low = 0, high = t->n_lives;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (t->lives[middle].process <= process)
            low = middle;
        else
            high = middle;
    }
    return &t->lives[low];
}

/* The first of n spans in order, which do not meet, that ends at `from` or
 * later. */
static size_t first_from(const span *spans, size_t n, int64_t from) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spans[middle].to < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool touches(const span *spans, size_t n, int64_t from, int64_t to) {
    size_t i = first_from(spans, n, from);
    return i < n && spans[i].from <= to;
}

size_t hf__pauses(const trial *t, uint32_t process, int64_t from, int64_t to,
                  const span **ret) {
    const life *l = hf__life(t, process);
    const span *pauses = t->pauses + l->first_pause;
    size_t first = first_from(pauses, l->n_pauses, from), n = 0;
    while (first + n < l->n_pauses && pauses[first + n].from <= to)
        n++;
    *ret = pauses + first;
    return n;
}

bool hf__paused(const trial *t, uint32_t process, int64_t from, int64_t to) {
    const life *l = hf__life(t, process);
    return touches(t->pauses + l->first_pause, l->n_pauses, from, to);
}

bool hf__faulty(const trial *t, int64_t from, int64_t to) {
    return touches(t->faults, t->n_faults, from, to);
}

span hf__sound(const trial *t, int64_t from, int64_t to) {
    span best = {from, from};
    int64_t begin = from;
    size_t i = first_from(t->faults, t->n_faults, from);
    for (; i < t->n_faults && t->faults[i].from < to; i++) {
        if (t->faults[i].from - begin > best.to - best.from)
            best = (span){begin, t->faults[i].from};
        begin = t->faults[i].to;
    }
    if (begin < to && to - begin > best.to - best.from)
        best = (span){begin, to};
    return best;
}
