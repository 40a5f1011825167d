/* SPDX-License-Identifier: MIT
 *
 * exclusion.c - two who both certainly hold what only one may.
 *
 * One sweep by the beginnings of holds.  Of those that began before, only the
 * one that lasts longest can meet the next, and where that is the next one's
 * own, the longest of the others. */
#include "trial.h"

/* Who lasts longest, and who of the others does. */
typedef struct tops {
    const hold *first, *second;
} tops;

static bool outlasts(const hold *h, const hold *other) {
    return other == NULL || h->to > other->to;
}

static void add(tops *of, const hold *h) {
    if (of->first != NULL && hf__one_owner(of->first, h)) {
        if (outlasts(h, of->first))
            of->first = h;
    } else if (outlasts(h, of->first)) {
        of->second = of->first;
        of->first = h;
    } else if (outlasts(h, of->second)) {
        of->second = h;
    }
}

/* One of another owner that lasts beyond the beginning of h; or NULL. */
static const hold *meets(const tops *of, const hold *h) {
    const hold *other = of->first;
    if (other != NULL && hf__one_owner(other, h))
        other = of->second;
    if (other == NULL || other->to <= h->from || hf__one_owner(other, h))
        return NULL;
    return other;
}

static void collide(trial *t, hf_invariant inv, const hold *h,
                    const hold *other) {
    int64_t to = h->to < other->to ? h->to : other->to;
    to = to < t->end ? to : t->end;
    hf__found(t, inv, to - h->from, h->taken->answer, other->taken->answer,
              h->name);
}

/* Threads that own alone are different owners, even if one of them is entered
 * under two claims: hf__one_owner is for readers.  Here the claim decides. */
static bool same_claim(const hold *a, const hold *b) {
    return a->process == b->process && a->claim == b->claim;
}

static void sweep_locks(trial *t, const hold *holds, size_t n) {
    const hold *longest = NULL;
    for (const hold *h = holds; h < holds + n; h++) {
        if (h->side != SIDE_ALONE || h->kind == HF_WRITE || h->to <= h->from)
            continue;
        hf__look(t, HF_INV_EXCLUSION);
        if (longest != NULL && longest->to > h->from && !same_claim(longest, h))
            collide(t, HF_INV_EXCLUSION, h, longest);
        if (outlasts(h, longest))
            longest = h;
    }
}

static void sweep_readers(trial *t, const hold *holds, size_t n) {
    tops readers = {0}, writers = {0};
    for (const hold *h = holds; h < holds + n; h++) {
        bool writes = h->kind == HF_WRITE;
        if ((h->kind != HF_READ && !writes) || h->to <= h->from)
            continue;
        hf__look(t, HF_INV_READERS);
        const hold *other = meets(&writers, h);
        if (other == NULL && writes)
            other = meets(&readers, h);
        if (other != NULL)
            collide(t, HF_INV_READERS, h, other);
        else if (!writes)
            t->v->together += meets(&readers, h) != NULL;
        add(writes ? &writers : &readers, h);
    }
}

int hf__judge_exclusion(trial *t) {
    for (size_t i = 0, j; i < t->n_holds; i = j) {
        for (j = i + 1; j < t->n_holds && t->holds[j].name == t->holds[i].name;)
            j++;
        sweep_locks(t, t->holds + i, j - i);
        sweep_readers(t, t->holds + i, j - i);
    }
    return HF_OK;
}
