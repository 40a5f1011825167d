/* SPDX-License-Identifier: MIT
 *
 * calls.c - finds the answer to each ask.
 *
 * In the order of process and call an answer stands right behind its ask.  An
 * ask without one is a call whose process died; an answer without one can only
 * come from a history with a hole, and is taken as if it had been asked at the
 * beginning of time, which proves least. */
#include "trial.h"

#include <stdlib.h>

static bool is_call(const hf_record *rec) {
    return rec->saw == HF_SAW_ASK || rec->saw == HF_SAW_ANSWER;
}

static bool before(const void *of, size_t a, size_t b) {
    const hf_record *x = &((const hf_history *)of)->records[a];
    const hf_record *y = &((const hf_history *)of)->records[b];
    if (is_call(x) != is_call(y))
        return is_call(x);
    if (x->process != y->process)
        return x->process < y->process;
    return x->call < y->call;
}

static bool answers(const hf_record *answer, const hf_record *ask) {
    return ask->saw == HF_SAW_ASK && answer->saw == HF_SAW_ANSWER &&
           ask->process == answer->process && ask->call == answer->call &&
           ask->verb == answer->verb && ask->name == answer->name &&
           ask->claim == answer->claim;
}

static void begin(call *c, const hf_record *rec, size_t at) {
    *c = (call){.process = rec->process,
                .thread = rec->thread,
                .claim = rec->claim,
                .name = rec->name,
                .number = rec->call,
                .verb = rec->verb,
                .kind = rec->kind,
                .permits = rec->permits,
                .asked = rec->at,
                .ended = HF_NEVER,
                .by = rec->until == 0 ? HF_NEVER : rec->until,
                .value = rec->value,
                .lease = rec->verb == HF_DO_ACQUIRE ? rec->value : 0,
                .ask = at,
                .answer = HF_NONE};
}

static void end(call *c, const hf_record *rec, size_t at) {
    c->answered = true;
    c->code = rec->code;
    c->ended = rec->at;
    c->answer = at;
    if (rec->permits > 0)
        c->permits = rec->permits;
    if (rec->value != 0)
        c->value = rec->value;
}

/* Takes the calls out of the records in the order `ids`. */
static void pair(trial *t, const size_t *ids) {
    const hf_record *all = t->h->records;
    for (size_t i = 0; i < t->h->n && is_call(&all[ids[i]]); i++) {
        const hf_record *rec = &all[ids[i]];
        if (i > 0 && answers(rec, &all[ids[i - 1]])) {
            end(&t->calls[t->n_calls - 1], rec, ids[i]);
        } else {
            call *c = &t->calls[t->n_calls++];
            begin(c, rec, ids[i]);
            if (rec->saw == HF_SAW_ANSWER) {
                c->asked = 0;
                c->by = HF_NEVER;
                c->ask = HF_NONE;
                end(c, rec, ids[i]);
            }
        }
        t->call_of[ids[i]] = t->n_calls - 1;
    }
}

int hf__make_calls(trial *t) {
    size_t n = t->h->n;
    t->calls = malloc((n + 1) * sizeof *t->calls);
    t->call_of = malloc((n + 1) * sizeof *t->call_of);
    size_t *ids = hf__order(n, before, t->h);
    if (t->calls == NULL || t->call_of == NULL || ids == NULL) {
        free(ids);
        return HF_ENO_MEMORY;
    }
    for (size_t i = 0; i < n; i++)
        t->call_of[i] = HF_NONE;
    pair(t, ids);
    free(ids);
    return HF_OK;
}
