/* SPDX-License-Identifier: MIT
 *
 * acquire.h - one acquire under way, in steps.
 *
 * A step does what can be done now, questions to the store included, and ends
 * with a result or with HF_SLEEPS: there is nothing to do before `until`,
 * unless the waiter's bell rings.  A thread of the caller's takes step after
 * step and sleeps in between (hf__quest_finish); without one the runner's do. */
#ifndef HF_ACQUIRE_H
#define HF_ACQUIRE_H

#include "client.h"

/* Beside HF_OK and HF_BUSY, and never told to anybody outside. */
enum {
    HF_SLEEPS = 2, /* step again later      */
    HF_GOES_ON = 3 /* it has begun: step it */
};

typedef enum hf_phase {
    HF_QUEUES, /* behind others of this process     */
    HF_ASKS,   /* it is our turn                    */
    HF_RESTS   /* until it makes sense to ask again */
} hf_phase;

typedef struct hf_quest {
    hf_client *client;
    hf_spot *spot;
    hf_hold *hold;
    hf_terms terms;
    hf_phase phase;
    hf_time until; /* HF_SLEEPS: at the latest */
    bool lingers;  /* HF_SLEEPS: a gift is near, a thread had better look */
    bool watching;
    bool kept;        /* the keeper keeps our place in the line */
    bool doubt;       /* some question may have been granted unheard */
    hf_time asked;    /* before the last question left */
    hf_time answered; /* after it, or when we were given it */
    uint64_t token;
    hf_time brief;      /* a grant that came unasked ends then; 0: none */
    hf_time down_since; /* 0: the store answers */
    hf_time look_at;    /* whether somebody will ever let us in; HF_NEVER */
    hf_time rest_until;
    int trouble; /* what we rest from, if not from HF_BUSY */
    int retry_ms;
    int pause_ms; /* SPIN: the last one */
    hf_waiter me;
} hf_quest;

/* Joins the queue for the claim of `h`.  `task` is roused when there is
 * something to do before `until`; NULL: the calling thread waits by itself.
 * HF_GOES_ON; or an error, and nothing is left of it.  Takes the caller's
 * reference, as the steps do. */
int hf__quest_begin(hf_quest *q, hf_client *client, hf_hold *h,
                    const hf_terms *terms, hf_task *task, hf_error *err);

/* HF_SLEEPS; else it is over.  HF_OK: a hold of the asker's stands in its spot
 * and with the keeper, if its kind is leased at all.  Otherwise nothing of it
 * is left but, perhaps, what the keeper gives back. */
int hf__quest_step(hf_quest *q, hf_error *err);

/* The calling thread sleeps until the next step; or takes all of them. */
void hf__quest_sleep(hf_quest *q);
int hf__quest_finish(hf_quest *q, hf_error *err);

/* ---- what begins one: HF_GOES_ON, or the result ------------------------ */

int hf__lock_begin(hf_quest *q, hf_lock *lock, const hf_terms *terms,
                   hf_task *task, hf_error *err);
int hf__semaphore_begin(hf_quest *q, hf_semaphore *sem, int n, int wait_ms,
                        hf_task *task, hf_error *err);
int hf__latch_begin(hf_quest *q, hf_latch *latch, int wait_ms, hf_task *task,
                    hf_error *err);

/* Whether the call makes sense; `call` is its name. */
int hf__semaphore_check(const hf_semaphore *sem, int n, int wait_ms,
                        const char *call, hf_error *err);
int hf__latch_check(const hf_latch *latch, int wait_ms, const char *call,
                    hf_error *err);

/* ---- all members of a multi-lock, one after the other ------------------ */

typedef struct hf_errand {
    hf_multi *m;
    hf_terms terms; /* of the whole */
    hf_task *task;
    size_t start; /* whom this round begins with */
    size_t taken; /* so many in this round */
    bool asking;  /* the quest for the next one is under way */
    hf_quest quest;
    struct hf_whole *whole; /* what it is to become */
} hf_errand;

/* As the quest's. */
int hf__errand_begin(hf_errand *e, hf_lock *lock, int wait_ms, hf_task *task,
                     hf_error *err);
int hf__errand_step(hf_errand *e, hf_error *err);

#endif
