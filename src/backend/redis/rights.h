/* SPDX-License-Identifier: MIT
 *
 * rights.h - finding out which rights a user needs, server by server.
 *
 * All servers are seen first, for that says what is used; then the commands
 * are collected, and every server asked which of them it knows. */
#ifndef HF_REDIS_RIGHTS_H
#define HF_REDIS_RIGHTS_H

#include "acl.h"
#include "topology/node.h"

typedef struct hf_ground {
    unsigned uses; /* of hf_acl_use; at first what is known beforehand */
    bool asked;    /* some server said which commands it knows         */
    hf_acl acl;
} hf_ground;

/* HF_ENAME: a rule cannot have that prefix. */
int hf__ground_check(const char *prefix, hf_error *err);

int hf__ground_see(hf_ground *g, hf_node *node, hf_time by, hf_error *err);

/* Strikes out what the server does not know.  One that does not say is taken
 * to know everything. */
void hf__ground_ask(hf_ground *g, hf_node *node, hf_time by);

int hf__ground_tell(const hf_ground *g, const char *prefix, hf_rule_fn *fn,
                    void *arg, hf_error *err);

#endif
