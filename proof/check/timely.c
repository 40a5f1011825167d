/* SPDX-License-Identifier: MIT
 *
 * timely.c - a wait ends at its deadline: not before it, unless somebody was
 * granted something or gave up for another reason, and soon after it.
 *
 * A process that stood still could not answer; its calls are left out. */
#include "trial.h"

/* The library counts its wait from when it was called, the trial from before
 * that: only an end that is clearly early is one. */
#define EARLY_NS 5000000

static bool waits(const call *c) {
    return (c->verb == HF_DO_ACQUIRE || c->verb == HF_DO_AWAIT) &&
           c->by != HF_NEVER && c->ask != HF_NONE;
}

static void judge(trial *t, const call *c) {
    bool over = c->answered && c->code == HF_ETIMEOUT;
    int64_t ended = c->answered ? c->ended : t->end;
    bool died = hf__life(t, c->process)->died != HF_NEVER;
    if (hf__paused(t, c->process, c->asked, ended))
        return;
    if (!c->answered && (died || t->h->left_out > 0))
        return;
    hf__look(t, HF_INV_TIMELY);
    int64_t late = ended > c->by ? ended - c->by : 0;
    hf__extent(t, HF_INV_TIMELY, late);
    if (t->promise->late_ns > 0 && late > t->promise->late_ns)
        hf__found(t, HF_INV_TIMELY, late, c->answered ? c->answer : c->ask,
                  c->ask, c->name);
    else if (over && c->by - ended > EARLY_NS)
        hf__found(t, HF_INV_TIMELY, 0, c->answer, c->ask, c->name);
}

int hf__judge_timely(trial *t) {
    for (size_t i = 0; i < t->n_calls; i++)
        if (waits(&t->calls[i]))
            judge(t, &t->calls[i]);
    return HF_OK;
}
