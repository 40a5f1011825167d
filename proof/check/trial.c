/* SPDX-License-Identifier: MIT
 *
 * trial.c - puts a trial together, answers small questions about it, and notes
 * what the checks find. */
#include "trial.h"

#include <stdlib.h>
#include <string.h>

int hf__trial_make(trial *t, const hf_history *h, const hf_promise *promise,
                   hf_verdict *v) {
    *t = (trial){.h = h, .promise = promise, .v = v};
    t->end = h->n > 0 ? h->records[h->n - 1].at : 0;
    int rc = hf__make_calls(t);
    if (rc == HF_OK)
        rc = hf__make_lives(t);
    return rc == HF_OK ? hf__make_holds(t) : rc;
}

void hf__trial_free(trial *t) {
    free(t->calls);
    free(t->call_of);
    free(t->holds);
    free(t->lives);
    free(t->pauses);
    free(t->faults);
    *t = (trial){0};
}

side hf__side(unsigned kind) {
    switch (kind) {
    case HF_READ:
        return SIDE_SHARED;
    case HF_PERMIT:
        return SIDE_PERMIT;
    case HF_SEMAPHORE:
        return SIDE_SEMAPHORE;
    case HF_LATCH:
        return SIDE_LATCH;
    default:
        return SIDE_ALONE;
    }
}

bool hf__one_owner(const hold *a, const hold *b) {
    return a->process == b->process &&
           (a->claim == b->claim || a->thread == b->thread);
}

int64_t hf__later(int64_t a, int64_t b) {
    return a > HF_NEVER - b ? HF_NEVER : a + b;
}

static hf_class class_of(int code) {
    static const hf_class classes[] = {
#define HF_X(number, name, class_, text) [number] = HF_CLASS_##class_,
        HF_ERRORS(HF_X)
#undef HF_X
    };
    bool known = code < 0 && code > -(int)(sizeof classes / sizeof *classes);
    return known ? classes[-code] : HF_CLASS_NONE;
}

bool hf__refused(const call *c) {
    return c->answered && (c->code == HF_BUSY || c->code == HF_ETIMEOUT ||
                           c->code == HF_ECANCELLED);
}

bool hf__misused(const call *c) {
    return c->answered && class_of(c->code) == HF_CLASS_MISUSE;
}

bool hf__release_refused(const call *c) {
    return c->answered &&
           (c->code == HF_ENOT_OWNER || c->code == HF_EFREE || hf__misused(c));
}

void hf__look(trial *t, hf_invariant inv) {
    if (t->v != NULL)
        t->v->of[inv].checked++;
}

void hf__extent(trial *t, hf_invariant inv, int64_t extent) {
    if (t->v != NULL && extent > t->v->of[inv].worst)
        t->v->of[inv].worst = extent;
}

void hf__found(trial *t, hf_invariant inv, int64_t extent, size_t first,
               size_t with, uint32_t name) {
    if (t->v == NULL)
        return;
    hf_finding *f = &t->v->of[inv];
    if (f->broken == 0 || first < f->first) {
        f->first = first;
        f->with = with;
        f->name = name;
    }
    hf__extent(t, inv, extent);
    f->broken++;
}
