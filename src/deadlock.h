/* SPDX-License-Identifier: MIT
 *
 * deadlock.h - who waits for whom, and who can therefore never go on.
 *
 * An *actor* is who would have to release: a thread of a client; a handle that
 * owns is one, too, but never waits, because any thread may release it.  Where
 * another client works inside of what it holds, as a nested `holdfast run`
 * does, the thread of that which waits is the actor.  An actor that waits is
 * kept out by those who hold the name:
 *
 *     exclusive, write   every holder must leave: one that is stuck is enough
 *     read               the writer
 *     permit             any may give some back: all must be stuck
 *
 * Stuck are those who are kept out by the stuck, and so on: what remains when
 * all are taken away who are kept out by nobody, or by somebody unknown.
 *
 * Records are a second old and may contradict each other: a lock that two
 * hold, a thread that waits twice.  Then nothing is concluded from them.
 *
 * Pure: no I/O, no clock. */
#ifndef HF_DEADLOCK_H
#define HF_DEADLOCK_H

#include "records.h"

/* One in a circle.  It wants what the next one holds; the last one wants what
 * the first one does. */
typedef struct hf_link {
    const hf_told *wants;
    const hf_told *has; /* what the one before it wants */
} hf_link;

typedef struct hf_circle {
    hf_link *links;
    size_t n;
} hf_circle;

typedef struct hf_circles {
    hf_circle *all;
    size_t n;
} hf_circles;

#define HF_CIRCLES_MAX 64

/* Finds circles such that everybody who is in one is in one of these, by
 * client and thread; and marks the claims of all who are stuck, also behind a
 * circle.  HF_ENO_MEMORY is all that can go wrong. */
int hf__circles_find(hf_circles *ret, hf_records *records);
void hf__circles_free(hf_circles *circles);

/* Who gives way: of those who asked, whose wait began last; NULL: nobody
 * asked. */
const hf_told *hf__circle_yields(const hf_circle *circle);

/* A number for the very same claims in the very same circle. */
uint64_t hf__circle_key(const hf_circle *circle);

#endif
