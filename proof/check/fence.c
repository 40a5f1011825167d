/* SPDX-License-Identifier: MIT
 *
 * fence.c - what checks tokens never takes a write with one lower than it has
 * taken before.
 *
 * The order is the resource's own: by the numbers it gave to its writes, or,
 * where it gave none, that of the records, which were then made inside. */
#include "trial.h"

#include <stdlib.h>

typedef struct writes {
    const hf_record *all;
    size_t *at; /* of those that were taken */
    size_t n;
} writes;

static bool before(const void *of, size_t a, size_t b) {
    const writes *w = of;
    const hf_record *x = &w->all[w->at[a]], *y = &w->all[w->at[b]];
    return x->name != y->name ? x->name < y->name : x->value < y->value;
}

static void collect(trial *t, writes *w) {
    for (size_t i = 0; i < t->h->n; i++) {
        if (w->all[i].saw != HF_SAW_WRITE)
            continue;
        hf__look(t, HF_INV_FENCE);
        if (w->all[i].code == HF_OK)
            w->at[w->n++] = i;
    }
}

static void sweep(trial *t, const writes *w, const size_t *ids) {
    size_t highest = HF_NONE;
    for (size_t i = 0; i < w->n; i++) {
        size_t at = w->at[ids[i]];
        const hf_record *rec = &w->all[at];
        if (highest != HF_NONE && w->all[highest].name == rec->name &&
            w->all[highest].token > rec->token)
            hf__found(t, HF_INV_FENCE, 0, at, highest, rec->name);
        else
            highest = at;
    }
}

int hf__judge_fence(trial *t) {
    writes w = {.all = t->h->records,
                .at = malloc((t->h->n + 1) * sizeof *w.at)};
    size_t *ids = NULL;
    if (w.at != NULL) {
        collect(t, &w);
        ids = hf__order(w.n, before, &w);
    }
    if (ids != NULL)
        sweep(t, &w, ids);
    int rc = ids != NULL ? HF_OK : HF_ENO_MEMORY;
    free(ids);
    free(w.at);
    return rc;
}
