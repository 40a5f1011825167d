/* SPDX-License-Identifier: MIT
 *
 * worker.h - threads of one process that take what they are told to take, as
 * often as they can, between two lines of their input.
 *
 * A worker of ours and those of others (java/bench/Worker.java, kazoo/bench.py,
 * etcd/main.go) understand the same lines and say the same words:
 *
 *     open URI      OK VERSION
 *     row KIND PROCESS THREADS SECTION_US PERMITS OWN NAME FILE
 *                   READY, when every thread has taken it once; OWN is 1 when
 *                   every thread has a name of its own, or 0
 *     go            nothing
 *     stop          DONE ALL COUNT...: how often it was taken in all and, by
 *                   each thread, before the stop
 *
 * or FAILED and why.  KIND is lock, fair, read, semaphore or permit.  The end
 * of the input is the end of the worker. */
#ifndef HF_BENCH_WORKER_H
#define HF_BENCH_WORKER_H

#include <stdbool.h>
#include <stdint.h>

enum { WORKER_THREADS = 128, WORKER_WHY = 256, TURNS_WAITS = 1024 };

/* What the holders of an exclusive lock leave for each other, in a file that
 * all workers share; the lock guards it.  Plain 64-bit words: Java knows it
 * too. */
typedef struct turns {
    int64_t sections;   /* how often anybody was in                         */
    int64_t last;       /* thread that was in before, of all processes; -1  */
    int64_t handed;     /* went to another thread                           */
    int64_t crossed;    /* went to another process                          */
    int64_t since_ns;   /* when it crossed, by the monotonic clock; 0       */
    int64_t longest_ns; /* stayed in one process while the other wanted it  */
    int64_t freed_ns;   /* when it was last given back: before the call; 0  */
    int64_t waits;      /* how many of the next there were                  */
    int64_t wait_ns[TURNS_WAITS]; /* from there until another thread was in,
                                     the last ones, as a ring               */
} turns;

/* Who takes and gives back.  Whoever returns NULL or false has written why, of
 * at most WORKER_WHY bytes.  What was joined is used by one thread. */
typedef struct worker_side {
    const char *(*open)(const char *uri, char *why); /* a version */
    bool (*prepare)(const char *kind, const char *name, int permits,
                    char *why); /* before a row; NULL: nothing to do */
    void *(*join)(const char *kind, const char *name, char *why);
    bool (*take)(void *joined, char *why);
    bool (*give)(void *joined, char *why);
    void (*leave)(void *joined);
    void (*close)(void); /* NULL: nothing to do */
} worker_side;

int worker_run(const worker_side *side); /* reads stdin to its end */
int worker_main(void);                   /* for holdfast: ours.c */

/* Whoever was let in, straight after it was: `number` of all threads, of which
 * each process has so many. */
void turns_note(volatile turns *t, int number, int threads);
void turns_wait(volatile turns *t, int64_t ns); /* one more for the ring */

#endif
