/* SPDX-License-Identifier: MIT
 *
 * crew.h - the workers of one side of a comparison: two processes, driven
 * together by the lines of worker.h. */
#ifndef HF_BENCH_CREW_H
#define HF_BENCH_CREW_H

#include "worker.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum { CREW_PROCESSES = 2, CREW_THREADS = CREW_PROCESSES * WORKER_THREADS };

typedef struct crew {
    const char *name;
    char version[64]; /* what it answered when it opened the store */
    struct {
        pid_t pid;
        FILE *in, *out;
    } worker[CREW_PROCESSES];
    char trouble[512]; /* of the last call that failed */
} crew;

/* What they do. */
typedef struct task {
    const char *kind; /* a word of worker.h                          */
    bool own;         /* every thread has a name of its own          */
    int processes, threads /* in all */, section_us, permits;
} task;

/* What came of it. */
typedef struct outcome {
    double seconds;
    int64_t stopped_ns; /* by the monotonic clock */
    long all; /* how often it was taken, what came after the stop included */
    int threads;
    long counts[CREW_THREADS]; /* by each of them, before the stop */
} outcome;

/* False: see trouble.  `log` gets what they say on their error output. */
bool crew_start(crew *c, char *const argv[], const char *uri, const char *log);
bool crew_begin(crew *c, const task *t, const char *name, const char *file);
bool crew_run(crew *c, const task *t, int ms, outcome *o);
void crew_end(crew *c);

#endif
