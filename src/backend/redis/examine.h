/* SPDX-License-Identifier: MIT
 *
 * examine.h - what the files that look at a store of servers share. */
#ifndef HF_REDIS_EXAMINE_H
#define HF_REDIS_EXAMINE_H

#include "findings.h"
#include "topology/topology.h"

/* What the masters are like, all together. */
typedef struct hf_survey {
    hf_topology *topology;
    hf_findings found;
    unsigned masters, reached;
    unsigned told;               /* of those: said INFO                    */
    int replicas, most_replicas; /* of the master with the fewest, the most */
    bool knows_wait;             /* every one                              */
    bool guarded;   /* every one has min-replicas-to-write                */
    int lag_s;      /* the longest min-replicas-max-lag; -1: unknown      */
    int detect_ms;  /* until a dead master is noticed; 0: unknown         */
    int settle_ms;  /* and then until another has taken over              */
    const char *by; /* the setting that says so                           */
} hf_survey;

/* In master.c: asks one, which is called `where` if it differs from the
 * others.  It answered if `reached` is higher now; else err says why not. */
void hf__survey_master(hf_survey *survey, hf_node *node, const char *where,
                       hf_time by, hf_error *err);

/* In promise.c: what locks there outlive, and what they do not. */
void hf__survey_promise(hf_survey *s);

#endif
