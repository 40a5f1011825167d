/* SPDX-License-Identifier: MIT
 *
 * rivals.h - holdfast side by side with others on one store: those who make the
 * bare calls, and the libraries that people use.
 *
 * All do the same with the same private server, in turn: two processes each,
 * with everything set as it is shipped (crew.h).  A round comes first that is
 * not counted.  Then the sides take turns in a shuffled order; figures are
 * medians of the rounds, and a ratio is the median of the quotients within
 * a round.  The holders of a lock also count in memory that only the lock
 * guards: if the sum is wrong, the row fails.
 *
 * Two things are measured: how often a second a lock is taken and given back;
 * and of a lock that another process waits for, the time from before it is
 * given back until the other has it, in µs, which is set beside one round trip
 * to the store that writes (bare.h).  The bare calls of a free lock
 * are not one of the sides: they are compared with ours pair by pair, in this
 * process (bare.h). */
#ifndef HF_BENCH_RIVALS_H
#define HF_BENCH_RIVALS_H

#include "bare.h"
#include "crew.h"

enum { RIVALS_MAX = 5, RIVAL_WORDS = 8 };

/* One side.  The first is ours. */
typedef struct rival {
    const char *name;
    const char *argv[RIVAL_WORDS]; /* argv[0] NULL: it cannot be had here */
    const char *why;               /* then                                */
    const char *log;               /* NULL: nobody wants to know          */
    bool less;      /* it promises less than we do: no goal is set beside it */
    bool waits_not; /* only for rows in which nobody waits for another       */
    crew crew;
} rival;

typedef struct contest {
    const char *store, *version, *uri; /* of the server                   */
    const char *dir;                   /* for a file that all share       */
    const bare *bare;
    rival rivals[RIVALS_MAX];
    int n;
} contest;

/* Goals, set beside the bare calls: of their rate, and in round trips.  Beside
 * everybody else we want to be ahead, unless they promise less. */
#define RIVALS_OF_BARE 0.85
#define RIVALS_TRIPS   1.5

/* --quick, --rounds N, --cell MS, --results FILE; the rest is the caller's. */
void rivals_options(int argc, char **argv);

/* What stands behind this option, or NULL. */
const char *rivals_option(int argc, char **argv, const char *name);

/* Measures, prints the table, and writes the file for rivals.awk. */
void rivals_run(const contest *c);

/* The line that build.sh left in FOLDER/why, or NULL.  Never freed. */
const char *rivals_why(const char *folder);

#endif
