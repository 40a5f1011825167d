/* SPDX-License-Identifier: MIT
 *
 * checker.h - was everything as promised?  Looks at a history afterwards.
 *
 * A *definite hold* lasts from the answer that granted it to the first of: its
 * release was asked for, its `until`, its holder was told of loss, it died.  A
 * *possible hold* lasts from the ask to the later of: the answer of its
 * release, its `until`.  A call without a known outcome makes possible holds only.
 *
 * Holds are renewed meanwhile, and what is known of that is what the library
 * said when it was asked: a HELD record carries the `until` of its claim on to
 * its `at` + `value`.  So a process that stops holds definitely until the last
 * moment that it was promised, and no longer; one that dies holds nothing, for
 * some stores notice.
 *
 * Nothing is called broken that a right library on a slow machine could have
 * done: only what certainly happened before something else is compared with it.
 * What a trial must note, and when, so that this is true: history.h.
 *
 * A name belongs to one lock (LOCK, FAIR, SPIN), one pair of sides (READ,
 * WRITE), or one semaphore or latch.
 *
 * Everything is one sweep over ends of intervals: names, tokens and claims are
 * unique, so that nothing has to be searched for. */
#ifndef HF_PROOF_CHECKER_H
#define HF_PROOF_CHECKER_H

#include "history.h"

#include <stdio.h>

/* The invariants.  ID, what a report calls it. */
#define HF_INVARIANTS(X)                                                       \
    X(EXCLUSION, "no two definite holds meet")                                 \
    X(TOKENS, "tokens grow with every grant")                                  \
    X(FENCE, "a fenced resource takes writes in the order of tokens")          \
    X(OWNER, "only the owner releases")                                        \
    X(READERS, "no writer beside a writer or a reader")                        \
    X(PERMITS, "never more permits than there are")                            \
    X(LATCH, "no latch opens early, and none stays shut")                      \
    X(FAIRNESS, "nobody overtakes in a fair line")                             \
    X(TOLD, "loss is told before the next definite hold")                      \
    X(HELD, "nobody is told that it holds after the end of its lease")         \
    X(HANDOFF, "nobody sleeps while the name is free")                         \
    X(TIMELY, "a wait ends at its deadline")                                   \
    X(CERTAIN, "a refusal took nothing")                                       \
    X(LEFTOVERS, "nothing is left behind")

typedef enum hf_invariant {
#define X(id, text) HF_INV_##id,
    HF_INVARIANTS(X)
#undef X
        HF_INV_N
} hf_invariant;

/* What was promised in this trial.  A store and a fault decide: see the table
 * of docs/reliability.md. */
typedef struct hf_promise {
    bool waived[HF_INV_N]; /* counted, but no failure: only a token helps   */
    int64_t idle_ns;  /* HANDOFF: a free name with a waiter, at most so long */
    int64_t late_ns;  /* TIMELY: so long after the deadline                 */
    int64_t haste_ns; /* FAIRNESS: who asked so much earlier stands before;
                         ignored where the history has PLACED records       */
    int permits;      /* PERMITS: of every semaphore, unless a SET says     */
    int64_t lease_ns; /* the longest lease, or session, of all: so long after
                         its holder died or gave up a name may be blocked; 0:
                         not known, and nothing is concluded from deaths    */
    int64_t place_ns; /* so long a dead waiter may block a line (10 s, or
                         the lease if that is longer)                       */
    bool deaf;        /* TOLD: nobody notes in this trial what it is told   */
} hf_promise;

typedef struct hf_finding {
    uint64_t checked; /* how often it was looked at                        */
    uint64_t broken;
    int64_t worst; /* ns, where it has an extent: overlap, idle, late;
                      PERMITS, LEFTOVERS: a number.  HANDOFF and TIMELY have
                      it also where nothing is broken                  */
    size_t first;  /* of the records that broke it first: index into   */
    size_t with;   /* the history, and the one it collided with, or
                      SIZE_MAX                                         */
    uint32_t name;
} hf_finding;

typedef struct hf_verdict {
    hf_finding of[HF_INV_N];
    uint64_t grants, refusals, timeouts, doubts, losses, deaths, pauses, faults;
    uint64_t together; /* readers beside another: without, it was a mutex  */
    uint64_t left_out; /* records that did not fit                         */
    int64_t longest_wait, span; /* ns */
} hf_verdict;

/* Sorts the history and judges it.  HF_OK, or HF_ENO_MEMORY; what was broken
 * is in the verdict. */
int hf_check(hf_history *h, const hf_promise *promise, hf_verdict *ret);

/* Is anything broken that was not waived? */
bool hf_verdict_bad(const hf_verdict *v, const hf_promise *promise);

/* "EXCLUSION", "no two definite holds meet" */
const char *hf_invariant_name(hf_invariant inv);
const char *hf_invariant_text(hf_invariant inv);

/* The verdict as a table, and for each broken invariant a few seconds of
 * timeline as text around the first violation. */
void hf_verdict_print(FILE *out, const hf_verdict *v, const hf_promise *promise,
                      const hf_history *h);

/* The same as one line of numbers under a head that names its columns; a file
 * of many is what table.awk reads. */
void hf_verdict_tsv_head(FILE *out);
void hf_verdict_tsv(FILE *out, const char *store, const char *fault,
                    const hf_verdict *v, const hf_promise *promise);

/* A picture of what happened to `name` around record `at`: SVG.  The
 * history must have been judged, which sorted it. */
int hf_picture(FILE *out, const hf_history *h, uint32_t name, size_t at,
               int64_t span_ns);

#endif
