/* SPDX-License-Identifier: MIT
 *
 * loop.h - a world in which a seed decides everything.
 *
 * Time stands still while something happens and jumps to the next event when
 * nothing does.  Threads are fibers.  The core's mutexes and conditions are
 * replaced when the program is linked (see loop.c), so that a fiber may be
 * taken off at any of them, as the kernel may do to a thread: an order of steps
 * that real threads take once in a year comes up here in minutes.
 *
 * *True* time is the simulation's; nobody in it sees it.  A process has a clock
 * of its own, which began elsewhere and runs a little fast or slow. */
#ifndef HF_SIM_LOOP_H
#define HF_SIM_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../src/world.h"

typedef struct sim_fiber sim_fiber;

/* A program under simulation, or the store's server. */
typedef struct sim_process {
    uint32_t number;      /* from 1; the server is 0 */
    int64_t offset;       /* of its clock, ns … */
    int32_t ppm;          /* … and how much too fast it runs, in millionths */
    hf_time paused_until; /* it stands still; 0: no */
    bool dead;
    int fibers; /* that have not ended */
    uint32_t threads;
} sim_process;

/* How rough the world is to threads. */
typedef struct sim_weather {
    int preempt;      /* one of so many chances is taken; 0: none */
    int late;         /* one of so many wake-ups is; 0: none … */
    hf_time lateness; /* … by up to this */
} sim_weather;

/* ---- chance ------------------------------------------------------------ */

uint64_t sim_random(void);
uint64_t sim_below(uint64_t n);            /* 0 … n - 1; n > 0 */
hf_time sim_between(hf_time a, hf_time b); /* a … b */
bool sim_one_in(uint64_t n);               /* n 0: never */
bool sim_permille(int n);

/* ---- the loop ---------------------------------------------------------- */

/* Begins a world: time 0, nobody there. */
void sim_begin(uint64_t seed, sim_weather weather);

/* Runs until nothing is left to happen, or until `by` (true time). */
void sim_run(hf_time by);

/* Frees what fibers are left, which are named to nobody any more. */
void sim_end(void);

hf_time sim_now(void);     /* true */
uint64_t sim_events(void); /* since the program began */

/* Calls fn(arg) `delay` from now, on nobody's behalf: it must not sleep. */
void sim_after(hf_time delay, void (*fn)(void *), void *arg);

/* ---- clocks ------------------------------------------------------------ */

hf_time sim_local(const sim_process *p, hf_time at);
hf_time sim_true(const sim_process *p, hf_time local); /* the first such */

/* In whose name the loop runs meanwhile; NULL: nobody's.  The one before. */
sim_process *sim_as(sim_process *p);
/* For what happened before: the clock says that. */
void sim_freeze(hf_time local); /* 0: it runs again */

/* ---- fibers ------------------------------------------------------------ */

sim_fiber *sim_spawn(sim_process *p, void *(*run)(void *), void *arg);
sim_fiber *sim_self(void); /* NULL: the loop */
sim_process *sim_process_of(const sim_fiber *f);
uint32_t sim_thread_of(const sim_fiber *f); /* number in its process, from 1 */

/* Whatever its owner likes, for the fiber. */
uint32_t *sim_mark(sim_fiber *f);

/* Sleeps until woken (true) or the true time has come. */
bool sim_suspend(hf_time by);
void sim_sleep(hf_time ns);
void sim_wake(sim_fiber *f);

/* How many fibers have not ended. */
int sim_living(void);

extern const hf_world sim_world;

#endif
