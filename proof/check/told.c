/* SPDX-License-Identifier: MIT
 *
 * told.c - whoever loses a hold hears of it before another can be sure of its
 * own.
 *
 * A was granted the name, and B after it, while A had not asked for a release.
 * Then A had lost it by the moment of B's answer, and knew: it was told, or
 * will be told as soon as it runs.  A release of A after that cannot end well,
 * only with HF_ELOST.
 *
 * What A believed in between is not looked at here, but in EXCLUSION. */
#include "trial.h"

static bool granted_later(const hold *b, const hold *a) {
    if (a->token != 0 && b->token != 0)
        return b->token > a->token;
    return b->taken->asked > a->from;
}

/* The first who certainly was granted the name after a, and knew of it before
 * `by`; or NULL.  Holds stand in the order of their answers. */
static const hold *successor(const trial *t, const hold *a, int64_t by) {
    const hold *end = t->holds + t->n_holds;
    for (const hold *b = a + 1; b < end && b->name == a->name; b++) {
        if (b->from >= by)
            return NULL;
        if (b->side == SIDE_ALONE && !hf__one_owner(a, b) &&
            granted_later(b, a))
            return b;
    }
    return NULL;
}

/* Had it time to say that it was told? */
static bool never_said(const trial *t, const hold *a, const hold *b) {
    int64_t by = hf__later(b->from, t->promise->late_ns);
    const life *l = hf__life(t, a->process);
    if (t->promise->deaf || t->promise->late_ns == 0 || t->h->left_out > 0)
        return false;
    if (a->told <= by || l->died <= by || t->end <= by)
        return false;
    if (a->given != NULL && a->given->asked <= by)
        return false;
    return !hf__paused(t, a->process, b->from, by);
}

static void judge(trial *t, const hold *a) {
    int64_t by = a->given != NULL ? a->given->asked : HF_NEVER;
    const hold *b = successor(t, a, by);
    if (b == NULL)
        return;
    hf__look(t, HF_INV_TOLD);
    if (a->given != NULL && a->given->answered && a->given->code == HF_OK)
        hf__found(t, HF_INV_TOLD, 0, a->given->answer, b->taken->answer,
                  a->name);
    else if (never_said(t, a, b))
        hf__found(t, HF_INV_TOLD, 0, b->taken->answer, a->taken->answer,
                  a->name);
}

int hf__judge_told(trial *t) {
    for (size_t i = 0; i < t->n_holds; i++)
        if (t->holds[i].side == SIDE_ALONE)
            judge(t, &t->holds[i]);
    return HF_OK;
}
