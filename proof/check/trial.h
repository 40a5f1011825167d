/* SPDX-License-Identifier: MIT
 *
 * trial.h - a history as the checks see it: calls, holds and lives instead of
 * records.  Inside the checker only.
 *
 * Two moments are compared only where one is certainly before the other: an
 * answer that is older than an ask.  Whatever was under way at the same time
 * may have happened in either order, and nothing is concluded from it. */
#ifndef HF_PROOF_TRIAL_H
#define HF_PROOF_TRIAL_H

#include "checker.h"

#define HF_NEVER INT64_MAX
#define HF_NONE  SIZE_MAX

/* Claims of different sides of a name do not share a hold. */
typedef enum side {
    SIDE_ALONE, /* LOCK, SIMPLE, FAIR, SPIN, WRITE */
    SIDE_SHARED,
    SIDE_PERMIT,
    SIDE_SEMAPHORE,
    SIDE_LATCH
} side;

side hf__side(unsigned kind);

/* ASK and ANSWER. */
typedef struct call {
    uint32_t process, thread, claim, name;
    uint32_t number; /* of the process; calls stand in this order */
    uint8_t verb, kind;
    bool answered;
    int code; /* of the answer */
    int32_t permits;
    int64_t asked; /* 0: nobody saw it                     */
    int64_t ended; /* HF_NEVER: nobody saw it              */
    int64_t by;    /* the caller waits until then          */
    int64_t value; /* of the answer, or of the ask         */
    int64_t lease; /* ACQUIRE: a fixed lease; 0: renewed   */
    size_t ask;    /* records of the history, or HF_NONE   */
    size_t answer;
} call;

/* From a grant to its last release; who enters again prolongs it. */
typedef struct hold {
    uint32_t process, thread, claim, name;
    uint8_t kind;
    side side;
    int32_t permits;
    uint64_t token;
    const call *taken; /* the acquire that was granted               */
    const call *given; /* the release that ended it, or NULL         */
    int64_t from, to;  /* the definite hold; empty where to <= from  */
    int64_t until;     /* what its holder last said that it believed */
    int64_t told;      /* of its loss; HF_NEVER: not                 */
    size_t lost;       /* that record                                */
    int64_t gone;      /* from then on it is certainly not there     */
    bool beside;       /* a reader under its own writer's token      */
} hold;

typedef struct span {
    int64_t from, to;
} span;

/* What became of a process. */
typedef struct life {
    uint32_t process;
    int64_t died; /* HF_NEVER                                           */
    int64_t last; /* its last record                                    */
    size_t first_pause, n_pauses;
} life;

typedef struct trial {
    const hf_history *h;
    const hf_promise *promise;
    hf_verdict *v;
    int64_t end; /* of the last record */
    call *calls;
    size_t n_calls;
    size_t *call_of; /* per record: its call, or HF_NONE */
    hold *holds;     /* by name, then by the moment of the answer */
    size_t n_holds;
    life *lives; /* by process */
    size_t n_lives;
    span *pauses; /* of one process after the other, by time */
    size_t n_pauses;
    span *faults; /* by time, joined where they meet */
    size_t n_faults;
} trial;

/* ---- building ---------------------------------------------------------- */

/* HF_OK or HF_ENO_MEMORY; free it either way.  `v` takes what building sees:
 * OWNER, HELD and the tokens of those who enter again; NULL: nothing. */
int hf__trial_make(trial *t, const hf_history *h, const hf_promise *promise,
                   hf_verdict *v);
void hf__trial_free(trial *t);

int hf__make_calls(trial *t);
int hf__make_lives(trial *t);
int hf__make_holds(trial *t);

/* ---- asking ------------------------------------------------------------ */

const life *hf__life(const trial *t, uint32_t process); /* never NULL */
/* Was the process stopped at some moment from `from` to `to`? */
bool hf__paused(const trial *t, uint32_t process, int64_t from, int64_t to);
/* How often, and when. */
size_t hf__pauses(const trial *t, uint32_t process, int64_t from, int64_t to,
                  const span **ret);
bool hf__faulty(const trial *t, int64_t from, int64_t to);
/* The longest stretch within this one in which nothing was broken. */
span hf__sound(const trial *t, int64_t from, int64_t to);

/* Can it be that these are one owner?  A thread has the read and the write
 * side through different handles. */
bool hf__one_owner(const hold *a, const hold *b);

/* a + b, and never beyond HF_NEVER. */
int64_t hf__later(int64_t a, int64_t b);

/* HF_BUSY, HF_ETIMEOUT, HF_ECANCELLED: certainly nothing was taken. */
bool hf__refused(const call *c);

/* Did a release with this answer count nothing down? */
bool hf__release_refused(const call *c);

/* Misuse: the store was not asked. */
bool hf__misused(const call *c);

/* ---- finding ----------------------------------------------------------- */

void hf__look(trial *t, hf_invariant inv);
/* So far it went without being broken. */
void hf__extent(trial *t, hf_invariant inv, int64_t extent);
void hf__found(trial *t, hf_invariant inv, int64_t extent, size_t first,
               size_t with, uint32_t name);

/* ---- the checks; HF_OK or HF_ENO_MEMORY -------------------------------- */

int hf__judge_exclusion(trial *t); /* EXCLUSION, READERS */
int hf__judge_tokens(trial *t);
int hf__judge_fence(trial *t);
int hf__judge_permits(trial *t);
int hf__judge_latch(trial *t);
int hf__judge_fairness(trial *t);
int hf__judge_told(trial *t);
int hf__judge_idle(trial *t); /* HANDOFF, CERTAIN */
int hf__judge_timely(trial *t);
int hf__judge_leftovers(trial *t);

/* ---- sorting ----------------------------------------------------------- */

/* The numbers below n in the order of `before`, which breaks no ties: equal
 * ones stay as they are.  NULL: out of memory. */
typedef bool hf__before_fn(const void *of, size_t a, size_t b);
size_t *hf__order(size_t n, hf__before_fn *before, const void *of);

#endif
