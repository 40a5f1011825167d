/* SPDX-License-Identifier: MIT
 *
 * bare.h - the bare calls of a lock, one thread and nothing around them: what
 * a client library costs at least.
 *
 * They are set beside ours pair by pair, so that a noisy machine hits both
 * alike. */
#ifndef HF_BENCH_BARE_H
#define HF_BENCH_BARE_H

#include <stdbool.h>

#include <holdfast.h>

typedef struct bare {
    const char *name;
    const char *(*open)(const char *uri); /* a version; NULL: it failed */
    bool (*begin)(const char *name);
    bool (*take)(void);
    bool (*give)(void);
    bool rests; /* giving back does not wait for the disk; taking does */
} bare;

/* Medians, in µs. */
typedef struct bare_figures {
    double ours, theirs; /* taking and giving back                     */
    double trip;         /* their giving back, or taking where that rests,
                            after some ms: a round trip that writes, from
                            where nothing is warm                      */
} bare_figures;

/* Takes both n times, in turn, and then theirs a few times for so long.  False:
 * a call failed. */
bool bare_compare(const bare *b, hf_lock *lock, int n, int section_us,
                  bare_figures *ret);

#endif
