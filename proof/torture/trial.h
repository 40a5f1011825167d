/* SPDX-License-Identifier: MIT
 *
 * trial.h - some seconds of torture, and what came of it. */
#ifndef HF_TORTURE_TRIAL_H
#define HF_TORTURE_TRIAL_H

#include "site.h"

enum { WORKERS_MAX = 16, AT_ONCE = 24 };

typedef struct plan {
    site *site;
    const char *label;            /* of the row: a fault, "none", "mix"  */
    const fault *faults[AT_ONCE]; /* those that come in turn             */
    int n_faults;
    bool calm; /* nor is a worker killed or stopped */
    int ms;
    uint64_t seed;
    int processes, threads;
    char dir[256]; /* for its histories; there already */
} plan;

typedef struct outcome {
    hf_verdict verdict;
    hf_promise promise;
    hf_history history;
    unsigned long faults, kills, stops; /* that happened              */
    unsigned long visits, spoilt;       /* of the resource without a check  */
    int crashed;                        /* workers that ended by themselves */
    int hung;                           /* or did not end                   */
    int left_out;
    char left[512]; /* in the store, some of it */
    bool bad;
} outcome;

void trial_run(const plan *p, outcome *ret);
void outcome_free(outcome *o);

#endif
