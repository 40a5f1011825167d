/* SPDX-License-Identifier: MIT
 *
 * checker.c - judges a history: makes calls and holds of its records, lets one
 * check after the other look at them, and counts.  The checks are in check/, a
 * file for each subject; check/trial.h says how they see a history. */
#include "check/trial.h"

#include <string.h>

static const struct {
    const char *name, *text;
} words[] = {
#define X(id, text) {#id, text},
    HF_INVARIANTS(X)
#undef X
};

const char *hf_invariant_name(hf_invariant inv) {
    return words[inv].name;
}

const char *hf_invariant_text(hf_invariant inv) {
    return words[inv].text;
}

/* ---- counting ---------------------------------------------------------- */

static void count_call(hf_verdict *v, const call *c) {
    if (c->verb != HF_DO_ACQUIRE)
        return;
    v->grants += c->answered && c->code == HF_OK;
    v->refusals += c->answered && c->code == HF_BUSY;
    v->timeouts += c->answered && c->code == HF_ETIMEOUT;
    v->doubts += !c->answered || c->code == HF_EDOUBT;
    if (c->answered && c->code == HF_OK && c->ask != HF_NONE &&
        c->ended - c->asked > v->longest_wait)
        v->longest_wait = c->ended - c->asked;
}

static void count(hf_verdict *v, const trial *t) {
    const hf_history *h = t->h;
    for (size_t i = 0; i < t->n_calls; i++)
        count_call(v, &t->calls[i]);
    for (size_t i = 0; i < h->n; i++) {
        v->losses += h->records[i].saw == HF_SAW_LOST;
        v->deaths += h->records[i].saw == HF_SAW_KILLED;
        v->pauses += h->records[i].saw == HF_SAW_PAUSED;
        v->faults += h->records[i].saw == HF_SAW_FAULT;
    }
    if (h->n > 0)
        v->span = h->records[h->n - 1].at - h->records[0].at;
    v->left_out = h->left_out;
}

/* ---- judging ----------------------------------------------------------- */

static int judge_all(trial *t) {
    static int (*const checks[])(trial *) = {
        hf__judge_exclusion, hf__judge_tokens, hf__judge_fence,
        hf__judge_permits,   hf__judge_latch,  hf__judge_fairness,
        hf__judge_told,      hf__judge_idle,   hf__judge_timely,
        hf__judge_leftovers,
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        int rc = checks[i](t);
        if (rc != HF_OK)
            return rc;
    }
    return HF_OK;
}

int hf_check(hf_history *h, const hf_promise *promise, hf_verdict *ret) {
    trial t;
    memset(ret, 0, sizeof *ret);
    int rc = hf_history_sort(h);
    if (rc != HF_OK)
        return rc;
    rc = hf__trial_make(&t, h, promise, ret);
    if (rc == HF_OK)
        rc = judge_all(&t);
    if (rc == HF_OK)
        count(ret, &t);
    hf__trial_free(&t);
    return rc;
}

bool hf_verdict_bad(const hf_verdict *v, const hf_promise *promise) {
    for (int i = 0; i < HF_INV_N; i++)
        if (v->of[i].broken > 0 && !promise->waived[i])
            return true;
    return false;
}
