/* SPDX-License-Identifier: MIT
 *
 * fence.c - what checks tokens never takes a write with one lower than it has
 * taken before.
 *
 * The order is the resource's own: by the numbers it gave to its writes, or,
 * where it gave none, that of the records, which were then made inside. */
#include "trial.h"

#include <stdlib.h>

static bool before(const void *of, size_t a, size_t b) {
    const hf_record *x = &((const hf_history *)of)->records[a];
    const hf_record *y = &((const hf_history *)of)->records[b];
    return x->name != y->name ? x->name < y->name : x->value < y->value;
}

int hf__judge_fence(trial *t) {
    const hf_record *all = t->h->records;
    size_t *ids = hf__order(t->h->n, before, t->h);
    size_t highest = HF_NONE;
    if (ids == NULL)
        return HF_ENO_MEMORY;
    for (size_t i = 0; i < t->h->n; i++) {
        const hf_record *rec = &all[ids[i]];
        if (rec->saw != HF_SAW_WRITE)
            continue;
        hf__look(t, HF_INV_FENCE);
        if (rec->code != HF_OK)
            continue;
        if (highest != HF_NONE && all[highest].name == rec->name &&
            all[highest].token > rec->token)
            hf__found(t, HF_INV_FENCE, 0, ids[i], highest, rec->name);
        else
            highest = ids[i];
    }
    free(ids);
    return HF_OK;
}
