/* SPDX-License-Identifier: MIT
 *
 * runner.c - tasks, workers, and the clock that wakes them. */
#include "runner.h"

#include "alloc.h"
#include "err.h"

enum { WORKERS = 16, FIRST_ROOM = 64 };

typedef struct queue {
    hf_task *first, *last;
} queue;

struct hf_runner {
    pthread_mutex_t mu;
    pthread_cond_t work; /* for workers: something is ready, or all is over */
    pthread_cond_t tick; /* for the clock: its time, or it must hire */
    queue ready, hurry;
    hf_task **heap; /* those that have a time, the soonest first; from 1 */
    size_t n_timed, room;
    size_t n_tasks;   /* that are not over, and rooms that are reserved */
    int idle, asking; /* workers; `asking`: with a task that does not hurry */
    int n_workers;
    bool stops;
    bool hires; /* somebody is ready, and no worker idle */
    pthread_t clock;
    pthread_t workers[WORKERS];
};

/* ---- the heap (mu) ----------------------------------------------------- */

static void put_at(hf_runner *r, size_t slot, hf_task *t) {
    r->heap[slot] = t;
    t->slot = slot;
}

static void rise(hf_runner *r, hf_task *t, size_t slot) {
    while (slot > 1 && r->heap[slot / 2]->due > t->due) {
        put_at(r, slot, r->heap[slot / 2]);
        slot /= 2;
    }
    put_at(r, slot, t);
}

static void sink(hf_runner *r, hf_task *t, size_t slot) {
    size_t child;

    while ((child = 2 * slot) <= r->n_timed) {
        if (child < r->n_timed && r->heap[child + 1]->due < r->heap[child]->due)
            child++;
        if (r->heap[child]->due >= t->due)
            break;
        put_at(r, slot, r->heap[child]);
        slot = child;
    }
    put_at(r, slot, t);
}

static void forget_time(hf_runner *r, hf_task *t) {
    size_t slot = t->slot;
    hf_task *last;

    if (slot == 0)
        return;
    t->slot = 0;
    last = r->heap[r->n_timed--];
    if (last == t)
        return;
    if (slot > 1 && r->heap[slot / 2]->due > last->due)
        rise(r, last, slot);
    else
        sink(r, last, slot);
}

/* There is room: it was reserved. */
static void set_time(hf_runner *r, hf_task *t, hf_time due) {
    forget_time(r, t);
    if (due == HF_NEVER)
        return;
    t->due = due;
    rise(r, t, ++r->n_timed);
    if (t->slot == 1)
        pthread_cond_signal(&r->tick);
}

/* ---- the queues (mu) --------------------------------------------------- */

static void append(queue *q, hf_task *t) {
    t->next = NULL;
    t->prev = q->last;
    *(q->last ? &q->last->next : &q->first) = t;
    q->last = t;
}

static void unlink_task(queue *q, hf_task *t) {
    *(t->prev ? &t->prev->next : &q->first) = t->next;
    *(t->next ? &t->next->prev : &q->last) = t->prev;
}

static void call_worker(hf_runner *r) {
    if (r->idle > 0) {
        pthread_cond_signal(&r->work);
    } else if (r->n_workers < WORKERS && !r->hires) {
        r->hires = true;
        pthread_cond_signal(&r->tick);
    }
}

/* Its deadline is watched meanwhile: it may have to wait for a worker. */
static void make_ready(hf_runner *r, hf_task *t, bool hurry) {
    hurry = hurry || hf__now() >= t->by;
    t->state = hurry ? HF_TASK_HURRY : HF_TASK_READY;
    append(hurry ? &r->hurry : &r->ready, t);
    set_time(r, t, hurry ? HF_NEVER : t->by);
    call_worker(r);
}

static void make_haste(hf_runner *r, hf_task *t) {
    unlink_task(&r->ready, t);
    make_ready(r, t, true);
}

void hf__task_rouse(hf_task *t, bool hurry) {
    hf_runner *r = t->runner;

    pthread_mutex_lock(&r->mu);
    if (t->state == HF_TASK_ASLEEP) {
        make_ready(r, t, hurry);
    } else if (t->state == HF_TASK_READY) {
        if (hurry)
            make_haste(r, t);
    } else if (t->state == HF_TASK_RUNS || t->state == HF_TASK_AGAIN) {
        t->state = HF_TASK_AGAIN;
        t->hurries = t->hurries || hurry;
    }
    pthread_mutex_unlock(&r->mu);
}

/* ---- the workers ------------------------------------------------------- */

/* What this worker may do now; NULL: nothing.  The last one that is free asks
 * nothing. */
static hf_task *take_task(hf_runner *r, bool *asks) {
    hf_task *t = r->hurry.first;

    *asks = !t;
    if (t) {
        unlink_task(&r->hurry, t);
    } else if (r->asking < WORKERS - 1 && (t = r->ready.first)) {
        unlink_task(&r->ready, t);
        r->asking++;
    }
    return t;
}

/* One task less; the last one is waited for. */
static void settle(hf_runner *r) {
    if (--r->n_tasks == 0 && r->stops) {
        pthread_cond_broadcast(&r->work);
        pthread_cond_broadcast(&r->tick);
    }
}

/* mu on entry and exit, not between. */
static void run_step(hf_runner *r, hf_task *t) {
    bool sleeps;

    forget_time(r, t);
    t->state = HF_TASK_RUNS;
    t->hurries = false;
    pthread_mutex_unlock(&r->mu);
    sleeps = t->step(t);
    pthread_mutex_lock(&r->mu);
    if (!sleeps) {
        settle(r);
    } else if (t->state == HF_TASK_AGAIN) {
        make_ready(r, t, t->hurries);
    } else {
        t->state = HF_TASK_ASLEEP;
        set_time(r, t, hf__sooner(t->until, t->by));
    }
}

static void *work(void *arg) {
    hf_runner *r = arg;
    hf_task *t;
    bool asks;

    pthread_mutex_lock(&r->mu);
    while (!r->stops || r->n_tasks > 0) {
        if (!(t = take_task(r, &asks))) {
            r->idle++;
            hf__world->wait(&r->work, &r->mu, HF_NEVER);
            r->idle--;
            continue;
        }
        if (r->hurry.first || r->ready.first)
            call_worker(r);
        run_step(r, t);
        r->asking -= asks;
    }
    pthread_mutex_unlock(&r->mu);
    return NULL;
}

/* ---- the clock --------------------------------------------------------- */

/* Without a thread more there are those that there are. */
static void hire(hf_runner *r) {
    r->hires = false;
    if (r->n_workers < WORKERS &&
        hf__world->thread_start(&r->workers[r->n_workers], work, r) == 0)
        r->n_workers++;
}

static void wake_due(hf_runner *r) {
    hf_time now = hf__now();

    while (r->n_timed && r->heap[1]->due <= now) {
        hf_task *t = r->heap[1];

        if (t->state == HF_TASK_READY)
            make_haste(r, t);
        else
            make_ready(r, t, false);
    }
}

static void *keep_time(void *arg) {
    hf_runner *r = arg;

    pthread_mutex_lock(&r->mu);
    while (!r->stops || r->n_tasks > 0) {
        if (r->hires)
            hire(r);
        wake_due(r);
        if (!r->hires)
            hf__world->wait(&r->tick, &r->mu,
                            r->n_timed ? r->heap[1]->due : HF_NEVER);
    }
    pthread_mutex_unlock(&r->mu);
    return NULL;
}

/* ---- beginning and end ------------------------------------------------- */

/* Two threads, so that one of them is there for what hurries; the rest comes
 * when it is needed. */
static int begin(hf_runner *r) {
    if (hf__world->thread_start(&r->workers[0], work, r) != 0)
        return HF_ESYSTEM;
    r->n_workers = 1;
    return hf__world->thread_start(&r->clock, keep_time, r) == 0 ? HF_OK :
                                                                   HF_ESYSTEM;
}

static void end_workers(hf_runner *r) {
    pthread_mutex_lock(&r->mu);
    r->stops = true;
    pthread_cond_broadcast(&r->work);
    pthread_cond_broadcast(&r->tick);
    pthread_mutex_unlock(&r->mu);
    for (int i = 0; i < r->n_workers; i++)
        hf__world->thread_join(r->workers[i]);
}

static void discard(hf_runner *r) {
    pthread_mutex_destroy(&r->mu);
    pthread_cond_destroy(&r->work);
    pthread_cond_destroy(&r->tick);
    hf__free(r->heap);
    hf__free(r);
}

int hf__runner_new(hf_runner **ret, hf_error *err) {
    hf_runner *r = hf__calloc(1, sizeof *r);

    if (!r)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    pthread_mutex_init(&r->mu, NULL);
    pthread_cond_init(&r->work, NULL);
    pthread_cond_init(&r->tick, NULL);
    if (begin(r) != HF_OK) {
        end_workers(r);
        discard(r);
        return hf__fail(err, HF_ESYSTEM, "no thread is to be had");
    }
    *ret = r;
    return HF_OK;
}

/* The clock may be needed until the last task is over, and may hire until it
 * ends: so it goes first. */
void hf__runner_free(hf_runner *r) {
    if (!r)
        return;
    pthread_mutex_lock(&r->mu);
    r->stops = true;
    pthread_cond_broadcast(&r->work);
    pthread_cond_broadcast(&r->tick);
    pthread_mutex_unlock(&r->mu);
    hf__world->thread_join(r->clock);
    end_workers(r);
    discard(r);
}

int hf__runner_reserve(hf_runner *r) {
    int rc = HF_OK;

    pthread_mutex_lock(&r->mu);
    if (r->n_tasks + 2 > r->room) { /* slot 0 is nobody's */
        size_t room = r->room ? 2 * r->room : FIRST_ROOM;
        hf_task **wide = hf__realloc(r->heap, room * sizeof *wide);

        if (wide) {
            r->heap = wide;
            r->room = room;
        } else {
            rc = HF_ENO_MEMORY;
        }
    }
    r->n_tasks += rc == HF_OK;
    pthread_mutex_unlock(&r->mu);
    return rc;
}

void hf__runner_settle(hf_runner *r) {
    pthread_mutex_lock(&r->mu);
    settle(r);
    pthread_mutex_unlock(&r->mu);
}

void hf__runner_start(hf_task *t) {
    hf_runner *r = t->runner;

    pthread_mutex_lock(&r->mu);
    make_ready(r, t, false);
    pthread_mutex_unlock(&r->mu);
}
