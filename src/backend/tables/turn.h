/* SPDX-License-Identifier: MIT
 *
 * turn.h - what is decided about a line while nobody else decides about it. */
#ifndef HF_TABLES_TURN_H
#define HF_TABLES_TURN_H

#include "sight.h"

/* A decision under way. */
typedef struct hf_turn {
    hf_tables *t;
    const hf_claim *asked; /* the caller's */
    hf_claim claim;        /* a copy; its answers become the caller's */
    hf_sight sight;
    bool answered; /* the claim's nonce was, so: */
    int result;
    int64_t value;
    bool remembers; /* result and value shall be what the nonce is answered */
    bool hurries; /* a crash may undo it: others lose a lease's time by that */
} hf_turn;

/* Changes the sight of a turn and says what came of it; may be asked again,
 * with a fresh sight.  Does no I/O. */
typedef int hf_decide_fn(hf_turn *turn, void *arg, hf_error *err);

/* One transaction on the line of the claim: look, decide, write.  Two round
 * trips, or one if there is nothing to write.  HF_EDOUBT: it may have been
 * done. */
int hf__turn(hf_tables *t, hf_claim *c, hf_decide_fn *decide, void *arg,
             hf_time by, hf_error *err);

/* The same decision over a line that was only looked at: HF_AGAIN if anything
 * would have to be written.  `recall` is what the nonce was answered, or
 * NULL. */
enum { HF_AGAIN = 2 };
int hf__turn_dry(hf_tables *t, hf_claim *c, const hf_rows *view,
                 const hf_rows *recall, hf_decide_fn *decide, void *arg,
                 hf_error *err);

/* A transaction that one statement decides: begin, the locks, `which`, commit.
 * A claim looks first, so that nothing is locked or written for one that is
 * refused, and looks behind it: at the line, and for what the nonce was answered
 * where a number is meant.  Answers are found by *at, *view and *recall. */
void hf__turn_short(hf_script *s, hf_sql which, const hf_params *p, bool looks,
                    size_t *at, size_t *view, size_t *recall);

#endif
