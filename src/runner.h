/* SPDX-License-Identifier: MIT
 *
 * runner.h - runs what goes on without a thread of its caller's.
 *
 * A *task* is done in steps.  A step may ask the store, and takes as long as
 * that; between two steps the task sleeps, which costs no thread.  A few
 * *workers* take the steps of all, as many as are needed and at most WORKERS,
 * and one thread keeps the time.
 *
 * A store that says nothing keeps workers busy, each for the time of a request.
 * So that nobody's deadline suffers from others' questions, a task whose time
 * is up, or that was cancelled, goes before those that want to ask, and one
 * worker is there for such tasks alone. */
#ifndef HF_RUNNER_H
#define HF_RUNNER_H

#include "../include/holdfast.h"
#include "world.h"

typedef struct hf_runner hf_runner;
typedef struct hf_task hf_task;

typedef enum hf_task_state {
    HF_TASK_NEW,
    HF_TASK_ASLEEP,
    HF_TASK_READY, /* waits for a worker */
    HF_TASK_HURRY, /* likewise, before the others */
    HF_TASK_RUNS,
    HF_TASK_AGAIN /* runs, and was roused meanwhile */
} hf_task_state;

struct hf_task {
    /* By the one who starts it. */
    bool (*step)(hf_task *task); /* true: it sleeps until `until`; else it is
                                    over, and not ours to look at any more */
    hf_time until;
    hf_time by; /* its time is up; HF_NEVER */

    hf_runner *runner;

    /* The runner's; zero in a new one. */
    hf_task_state state;
    bool hurries; /* it was told to, while it ran */
    hf_task *next, *prev;
    size_t slot; /* in the heap, from 1; 0: not in it */
    hf_time due;
};

/* HF_ESYSTEM: no thread is to be had. */
int hf__runner_new(hf_runner **ret, hf_error *err);

/* Waits until every task is over, and joins the threads; NULL is allowed. */
void hf__runner_free(hf_runner *r);

/* Makes sure that a task can be started; ended by that or by _settle. */
int hf__runner_reserve(hf_runner *r);
void hf__runner_settle(hf_runner *r);

/* It may have been roused before: it begins now. */
void hf__runner_start(hf_task *task);

/* There may be something to do for it before its time; `hurry`: it needs no
 * question.  The caller keeps it from being over meanwhile, by the mu of the
 * spot where it waits. */
void hf__task_rouse(hf_task *task, bool hurry);

#endif
