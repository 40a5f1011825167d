/* SPDX-License-Identifier: MIT
 *
 * claim.h - the rule of admission: who in a line may hold; and what an owner
 * is called.
 *
 * Every primitive is a claim on a name: exclusive, shared, some permits out of
 * a limit, or "when the count is zero".  Stores differ in how they keep the
 * line, primitives only in which claim they make; who may hold is decided
 * here, once.  Pure: no I/O, no clock, no memory. */
#ifndef HF_CLAIM_H
#define HF_CLAIM_H

#include "../include/holdfast/backend.h"

/* How a kind claims. */
static inline hf_mode hf__mode(hf_kind kind) {
    return kind == HF_READ                           ? HF_SHARED :
           kind == HF_PERMIT || kind == HF_SEMAPHORE ? HF_PERMITS :
           kind == HF_LATCH                          ? HF_ZERO :
                                                       HF_EXCLUSIVE;
}

/* One claim in a line, oldest first. */
typedef struct hf_entry {
    hf_mode mode;
    int permits; /* PERMITS */
    bool holds;
    bool fifo; /* keeps to the line; otherwise it may overtake and be passed */
} hf_entry;

typedef struct hf_verdict {
    bool admitted;
    int blocker; /* whose leaving to watch for; -1: the count, or nobody */
} hf_verdict;

/* May the claim at `me` hold now?  Someone stands in its way who holds, or who
 * came first while both keep to the line - unless the two get along: readers
 * with readers, permits with permits as long as they fit. */
hf_verdict hf__admit(const hf_entry *line, int n, int me, int64_t limit,
                     int64_t count);

/* The owner as text, in every list and for whoever frees it by force; the
 * length, as snprintf counts it.
 *   LOCK SPIN READ  `client:number`
 *   FAIR            `client:0number`
 *   WRITE           `client:number:write`
 *   SIMPLE PERMIT   the nonce, 32 hex digits */
int hf__owner_of(const hf_claim *c, const char *client, char *buf, size_t size);

#endif
