/* SPDX-License-Identifier: MIT
 *
 * line.h - the line of a name: into it, through it, out of it.  Called by who
 * has entered the store. */
#ifndef HF_SQLITE_LINE_H
#define HF_SQLITE_LINE_H

#include "store.h"

/* HF_OK: granted.  HF_BUSY: refused, with a place in the line if it
 * `waits`. */
int hf__sqlite_line_attempt(hf_embedded *s, hf_claim *c, bool waits,
                            hf_error *err);

/* Out of the line; HF_ELOST: it was not in it. */
int hf__sqlite_line_leave(hf_embedded *s, hf_claim *c, hf_error *err);

/* Rings whoever the line is open for, and lives. */
void hf__sqlite_line_ring(hf_embedded *s, const hf_claim *c);

/* By an operator: see HF_RELEASE_FORCED. */
int hf__sqlite_line_force(hf_embedded *s, hf_claim *c, const char *whose,
                          hf_error *err);

/* ---- what alone.c and together.c do differently ------------------------ */

enum { HF_AGAIN = 2 }; /* beside HF_OK and HF_BUSY: wants a transaction */

#define HF_TURN_US INT64_C(2000000) /* who is called comes within it */

/* Why a claim is refused. */
typedef struct hf_refusal {
    hf_peer one;
    const hf_peer *peers; /* whose end would let us in: that one, or others */
    size_t n;
    bool ring; /* dead ones were buried: others may have waited for them */
} hf_refusal;

/* Grants, joins the line or refuses. */
typedef int hf_decide_fn(hf_embedded *s, hf_claim *c, bool waits,
                         hf_refusal *why, hf_error *err);

/* The first statement: the whole acquisition of a free lock.  HF_BUSY: it is
 * held, or somebody is before us. */
int hf__alone_take(hf_embedded *s, hf_claim *c, hf_error *err);

hf_decide_fn hf__alone_decide, hf__together_decide;

void hf__alone_ring(hf_embedded *s, const hf_claim *c);
void hf__together_ring(hf_embedded *s, const hf_claim *c);

/* 1: somebody was thrown out, 0: nobody was meant; inside a transaction. */
int hf__alone_force(hf_embedded *s, const hf_claim *c, const char *whose,
                    hf_error *err);
int hf__together_force(hf_embedded *s, const hf_claim *c, const char *whose,
                       hf_error *err);

/* Parts of a decision.  The ticket of who waits: 1, 0 (it does not), or an
 * error; into the line: HF_BUSY; out of it, to hold. */
int hf__sqlite_line_ticket(hf_embedded *s, const hf_claim *c, int64_t *ret,
                           hf_error *err);
int hf__sqlite_line_join(hf_embedded *s, hf_claim *c, hf_error *err);
int hf__sqlite_line_step_out(hf_embedded *s, const hf_claim *c, hf_error *err);

/* Rings one who waits; false: nobody is there. */
bool hf__sqlite_line_ring_one(hf_embedded *s, const hf_claim *c,
                              const hf_peer *who, hf_kind asked,
                              uint64_t owner);

/* Behind every bell we look again: at this moment (us) at the latest, and
 * within a second, for bells can be lost. */
hf_time hf__sqlite_line_look_again(const hf_embedded *s, int64_t at_us);

/* The owner's name, as every list has it; of a permit it is the nonce. */
void hf__sqlite_line_owner(const hf_peer *by, hf_kind asked, uint64_t owner,
                           const void *nonce, size_t nonce_size, char *buf,
                           size_t size);

#endif
