/* SPDX-License-Identifier: MIT
 *
 * both.h - what C and Java do to each other on one name, wherever it lives.
 *
 * The files redisson_locks_test.c and the like say it at length of one server;
 * here is what must hold of every topology as well.  Whoever enters was woken:
 * leases are a minute, and the bound is seconds. */
#ifndef HF_TEST_BOTH_H
#define HF_TEST_BOTH_H

#include "redisson.h"

/* Ours and theirs, of one lock. */
typedef struct pairing {
    hf_kind c;
    const char *java;
} pairing;

/* Lock, fenced, fair; and the three of readers and writers that exclude each
 * other. */
enum { PAIRINGS = 6 };
extern const pairing pairings[PAIRINGS];

/* What either holds is busy for the other. */
void both_exclude(const pairing *p, const char *name);

/* A release by one wakes the other who waits, in both directions. */
void both_wake(const pairing *p, const char *name);

/* Tokens grow from one to the other and back. */
void both_count(const char *name);

/* A line of fair waiters of both is served in its order. */
void both_queue(const char *name);

/* Permits that either gives, plain ones and leased ones, reach who waits. */
void both_give(const char *name);
void both_lease(const char *name);

/* A latch that either opens lets all on both sides through. */
void both_pass(const char *name);

/* A killed holder of either side keeps the other out for its lease only.  Java
 * is gone then: the last step of a test, with short leases. */
void either_dies(void);

#endif
