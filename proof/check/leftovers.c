/* SPDX-License-Identifier: MIT
 *
 * leftovers.c - whoever looked when all was over found nothing.  `worst` is
 * the most that was found of one sort. */
#include "trial.h"

int hf__judge_leftovers(trial *t) {
    for (size_t i = 0; i < t->h->n; i++) {
        const hf_record *rec = &t->h->records[i];
        if (rec->saw != HF_SAW_LEFTOVER)
            continue;
        hf__look(t, HF_INV_LEFTOVERS);
        if (rec->value > 0)
            hf__found(t, HF_INV_LEFTOVERS, rec->value, i, HF_NONE, rec->name);
    }
    return HF_OK;
}
