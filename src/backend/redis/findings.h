/* SPDX-License-Identifier: MIT
 *
 * findings.h - what was found at several servers, told once.
 *
 * What all of them have in common is said without naming any; where one
 * differs from the others, it is named. */
#ifndef HF_REDIS_FINDINGS_H
#define HF_REDIS_FINDINGS_H

#include "../../../include/holdfast/backend.h"

typedef struct hf_finding hf_finding;

typedef struct hf_findings {
    hf_finding *all;
    size_t n, room;
    bool failed; /* out of memory */
} hf_findings;

/* Notes it; `where` is the server it is about, "" if it is about the whole.
 * `what` lives until all is told. */
void hf__find(hf_findings *f, const char *where, hf_verdict_level level,
              const char *what, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* In the order in which the subjects first came up. */
int hf__findings_tell(const hf_findings *f, hf_fact_fn *fn, void *arg,
                      hf_error *err);
void hf__findings_clear(hf_findings *f);

#endif
