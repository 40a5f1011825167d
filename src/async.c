/* SPDX-License-Identifier: MIT
 *
 * async.c - the second form of what takes time: begun here, done by the
 * runner, told in hf_process.
 *
 * What waits is a quest, taken step by step, so that a wait costs no thread.
 * What only asks is one step, in which the worker calls the first form. */
#include <stdlib.h>
#include <string.h>

#include "acquire.h"
#include "err.h"
#include "options.h"
#include "uncancelled.h"

/* A ticket that is over before it has begun is told like any other. */
static int begun(hf_ticket *ticket, int rc) {
    if (rc == HF_GOES_ON)
        hf__ticket_start(ticket);
    else
        hf__ticket_skip(ticket, rc);
    return HF_OK;
}

/* ---- waiting ----------------------------------------------------------- */

typedef struct quest_call {
    hf_ticket ticket;
    hf_quest quest;
} quest_call;

static int run_quest(hf_ticket *ticket) {
    quest_call *c = (quest_call *)ticket;
    int rc = hf__quest_step(&c->quest, &ticket->err);

    ticket->task.until = c->quest.until;
    return rc;
}

static quest_call *new_quest(hf_client *client, hf_tickets *of, hf_done_fn *fn,
                             void *arg, hf_error *err) {
    return (quest_call *)hf__ticket_new(sizeof(quest_call), client->loop, of,
                                        run_quest, fn, arg, err);
}

/* From then on it has only to leave.  A try has a question to ask, however
 * late. */
static hf_time leaves_at(const hf_terms *terms) {
    return terms->waits ? terms->by : HF_NEVER;
}

static int begun_quest(quest_call *c, int rc) {
    if (rc == HF_GOES_ON)
        c->ticket.task.by = leaves_at(&c->quest.terms);
    return begun(&c->ticket, rc);
}

typedef struct errand_call {
    hf_ticket ticket;
    hf_errand errand;
} errand_call;

static int run_errand(hf_ticket *ticket) {
    errand_call *c = (errand_call *)ticket;
    int rc = hf__errand_step(&c->errand, &ticket->err);

    ticket->task.until = c->errand.quest.until;
    return rc;
}

static int acquire_all(hf_lock *lock, int wait_ms, hf_done_fn *fn, void *arg,
                       hf_error *err) {
    errand_call *c =
        (errand_call *)hf__ticket_new(sizeof *c, lock->client->loop,
                                      &lock->tickets, run_errand, fn, arg, err);
    int rc;

    if (!c)
        return err->code;
    rc = hf__errand_begin(&c->errand, lock, wait_ms, &c->ticket.task,
                          &c->ticket.err);
    if (rc == HF_GOES_ON)
        c->ticket.task.by = leaves_at(&c->errand.terms);
    return begun(&c->ticket, rc);
}

/* ---- the lock ---------------------------------------------------------- */

static int check_lock(const hf_lock *lock, const char *call, hf_error *err) {
    int rc;

    if (!lock)
        return hf__fail(err, HF_EUSAGE, "%s: lock is NULL", call);
    if ((rc = hf__check_process(lock->client, err)))
        return rc;
    if (lock->spot ? lock->who != 0 : hf__multi_owned_by_handle(lock))
        return HF_OK;
    return hf__fail(err, HF_EUSAGE,
                    "%s: '%s' belongs to a thread; make it with "
                    "HF_OWNER_HANDLE",
                    call, hf_lock_name(lock));
}

int hf_lock_acquire_async(hf_lock *lock, int wait_ms, hf_done_fn *fn, void *arg,
                          hf_error *err) {
    HF_UNCANCELLED;
    quest_call *c;
    hf_terms terms;
    int rc;

    err = err ? err : &(hf_error){0};
    if ((rc = check_lock(lock, "hf_lock_acquire_async", err)) ||
        (rc = hf__check_wait(wait_ms, err)))
        return rc;
    if (lock->multi)
        return acquire_all(lock, wait_ms, fn, arg, err);
    c = new_quest(lock->client, &lock->tickets, fn, arg, err);
    if (!c)
        return err->code;
    terms = hf__terms(wait_ms, lock);
    return begun_quest(c, hf__lock_begin(&c->quest, lock, &terms,
                                         &c->ticket.task, &c->ticket.err));
}

/* What is done with a lock in one step. */
typedef struct lock_call {
    hf_ticket ticket;
    hf_lock *lock;
    hf_hold *hold; /* to be ended */
    int ms;
} lock_call;

static lock_call *new_lock_call(hf_lock *lock, int ms, int (*run)(hf_ticket *),
                                hf_done_fn *fn, void *arg, hf_error *err) {
    lock_call *c = (lock_call *)hf__ticket_new(
        sizeof *c, lock->client->loop, &lock->tickets, run, fn, arg, err);

    if (c) {
        c->lock = lock;
        c->ms = ms;
    }
    return c;
}

static int run_release(hf_ticket *ticket) {
    lock_call *c = (lock_call *)ticket;

    if (c->lock->multi)
        return hf__multi_end(c->lock, c->ms, &ticket->err);
    return hf__lock_end(c->lock, c->hold, c->ms, &ticket->err);
}

static int release(hf_lock *lock, int ms, hf_done_fn *fn, void *arg,
                   hf_error *err) {
    lock_call *c = new_lock_call(lock, ms, run_release, fn, arg, err);

    if (!c)
        return err->code;
    return begun(&c->ticket,
                 lock->multi ?
                     hf__multi_let_go(lock, &c->ticket.err) :
                     hf__lock_let_go(lock, ms, &c->hold, &c->ticket.err));
}

int hf_lock_release_async(hf_lock *lock, hf_done_fn *fn, void *arg,
                          hf_error *err) {
    HF_UNCANCELLED;
    int rc;

    err = err ? err : &(hf_error){0};
    if ((rc = check_lock(lock, "hf_lock_release_async", err)))
        return rc;
    return release(lock, 0, fn, arg, err);
}

int hf_lock_release_after_async(hf_lock *lock, int ms, hf_done_fn *fn,
                                void *arg, hf_error *err) {
    HF_UNCANCELLED;
    int rc;

    err = err ? err : &(hf_error){0};
    if ((rc = check_lock(lock, "hf_lock_release_after_async", err)))
        return rc;
    if (ms < 0)
        return hf__fail(err, HF_EUSAGE,
                        "hf_lock_release_after_async: the time is negative");
    return release(lock, ms, fn, arg, err);
}

static int run_extend(hf_ticket *ticket) {
    const lock_call *c = (lock_call *)ticket;

    return hf_lock_extend(c->lock, c->ms, &ticket->err);
}

int hf_lock_extend_async(hf_lock *lock, int lease_ms, hf_done_fn *fn, void *arg,
                         hf_error *err) {
    HF_UNCANCELLED;
    lock_call *c;
    int rc;

    err = err ? err : &(hf_error){0};
    if ((rc = check_lock(lock, "hf_lock_extend_async", err)))
        return rc;
    c = new_lock_call(lock, lease_ms, run_extend, fn, arg, err);
    return c ? begun(&c->ticket, HF_GOES_ON) : err->code;
}

/* ---- semaphore and latch ----------------------------------------------- */

int hf_semaphore_acquire_async(hf_semaphore *sem, int n, int wait_ms,
                               hf_done_fn *fn, void *arg, hf_error *err) {
    HF_UNCANCELLED;
    quest_call *c;
    int rc;

    err = err ? err : &(hf_error){0};
    rc =
        hf__semaphore_check(sem, n, wait_ms, "hf_semaphore_acquire_async", err);
    if (rc != HF_OK)
        return rc;
    c = new_quest(sem->client, &sem->tickets, fn, arg, err);
    if (!c)
        return err->code;
    return begun_quest(c, hf__semaphore_begin(&c->quest, sem, n, wait_ms,
                                              &c->ticket.task, &c->ticket.err));
}

typedef struct number_call {
    hf_ticket ticket;
    void *object;
    int n;
} number_call;

static int begin_number(hf_client *client, hf_tickets *of, void *object, int n,
                        int (*run)(hf_ticket *), hf_done_fn *fn, void *arg,
                        hf_error *err) {
    number_call *c = (number_call *)hf__ticket_new(sizeof *c, client->loop, of,
                                                   run, fn, arg, err);

    if (!c)
        return err->code;
    c->object = object;
    c->n = n;
    return begun(&c->ticket, HF_GOES_ON);
}

static int run_give(hf_ticket *ticket) {
    const number_call *c = (number_call *)ticket;

    return hf_semaphore_release(c->object, c->n, &ticket->err);
}

int hf_semaphore_release_async(hf_semaphore *sem, int n, hf_done_fn *fn,
                               void *arg, hf_error *err) {
    HF_UNCANCELLED;
    int rc;

    err = err ? err : &(hf_error){0};
    rc = hf__semaphore_check(sem, n, 0, "hf_semaphore_release_async", err);
    if (rc != HF_OK)
        return rc;
    return begin_number(sem->client, &sem->tickets, sem, n, run_give, fn, arg,
                        err);
}

int hf_latch_wait_async(hf_latch *latch, int wait_ms, hf_done_fn *fn, void *arg,
                        hf_error *err) {
    HF_UNCANCELLED;
    quest_call *c;
    int rc;

    err = err ? err : &(hf_error){0};
    if ((rc = hf__latch_check(latch, wait_ms, "hf_latch_wait_async", err)))
        return rc;
    c = new_quest(latch->client, &latch->tickets, fn, arg, err);
    if (!c)
        return err->code;
    return begun_quest(c, hf__latch_begin(&c->quest, latch, wait_ms,
                                          &c->ticket.task, &c->ticket.err));
}

static int run_count_down(hf_ticket *ticket) {
    const number_call *c = (number_call *)ticket;

    return hf_latch_count_down(c->object, &ticket->err);
}

int hf_latch_count_down_async(hf_latch *latch, hf_done_fn *fn, void *arg,
                              hf_error *err) {
    HF_UNCANCELLED;
    int rc;

    err = err ? err : &(hf_error){0};
    if ((rc = hf__latch_check(latch, 0, "hf_latch_count_down_async", err)))
        return rc;
    return begin_number(latch->client, &latch->tickets, latch, 1,
                        run_count_down, fn, arg, err);
}

/* ---- the job ----------------------------------------------------------- */

typedef struct job_call {
    hf_ticket ticket;
    hf_job **ret; /* beginning */
    hf_job *job;
    hf_client *client;
    hf_job_options options;
    char name[HF_NAME_MAX + 2]; /* so that one that is too long stays so */
} job_call;

static int run_begin(hf_ticket *ticket) {
    job_call *c = (job_call *)ticket;
    int rc =
        hf_job_begin(&c->job, c->client, c->name, &c->options, &ticket->err);

    if (!ticket->dropped)
        *c->ret = c->job;
    return rc;
}

/* Nobody knows that it runs. */
static void undo_begin(hf_ticket *ticket) {
    hf_job_end(((job_call *)ticket)->job, NULL);
}

int hf_job_begin_async(hf_job **ret, hf_client *client, const char *name,
                       const hf_job_options *options, hf_done_fn *fn, void *arg,
                       hf_error *err) {
    HF_UNCANCELLED;
    hf_job_options o;
    job_call *c;
    int rc;

    err = err ? err : &(hf_error){0};
    if (!ret || !client || !name)
        return hf__fail(err, HF_EUSAGE, "hf_job_begin_async: %s is NULL",
                        !ret    ? "ret" :
                        !client ? "client" :
                                  "name");
    *ret = NULL;
    if ((rc = hf__check_process(client, err)) ||
        (rc = hf__options_copy(&o, sizeof o, options, "hf_job_options", err)))
        return rc;
    c = (job_call *)hf__ticket_new(sizeof *c, client->loop, &client->tickets,
                                   run_begin, fn, arg, err);
    if (!c)
        return err->code;
    c->ret = ret;
    c->client = client;
    c->options = o;
    c->options.size = sizeof o;
    c->ticket.undo = undo_begin;
    strncpy(c->name, name, sizeof c->name - 1);
    return begun(&c->ticket, HF_GOES_ON);
}

static int run_end(hf_ticket *ticket) {
    return hf_job_end(((job_call *)ticket)->job, &ticket->err);
}

int hf_job_end_async(hf_job *job, hf_done_fn *fn, void *arg, hf_error *err) {
    HF_UNCANCELLED;
    hf_client *client;
    job_call *c;
    int rc;

    err = err ? err : &(hf_error){0};
    if (!job)
        return hf__fail(err, HF_EUSAGE, "hf_job_end_async: job is NULL");
    client = hf_job_lock(job)->client;
    if ((rc = hf__check_process(client, err)))
        return rc;
    c = (job_call *)hf__ticket_new(sizeof *c, client->loop, &client->tickets,
                                   run_end, fn, arg, err);
    if (!c)
        return err->code;
    c->job = job;
    return begun(&c->ticket, HF_GOES_ON);
}

/* ---- anything else ----------------------------------------------------- */

typedef struct work_call {
    hf_ticket ticket;
    hf_work_fn *work;
} work_call;

static int run_work(hf_ticket *ticket) {
    return ((work_call *)ticket)->work(ticket->arg, &ticket->err);
}

int hf_call_async(hf_client *client, hf_work_fn *work, hf_done_fn *fn,
                  void *arg, hf_error *err) {
    HF_UNCANCELLED;
    work_call *c;
    int rc;

    err = err ? err : &(hf_error){0};
    if (!client || !work)
        return hf__fail(err, HF_EUSAGE, "hf_call_async: %s is NULL",
                        client ? "work" : "client");
    if ((rc = hf__check_process(client, err)))
        return rc;
    c = (work_call *)hf__ticket_new(sizeof *c, client->loop, &client->tickets,
                                    run_work, fn, arg, err);
    if (!c)
        return err->code;
    c->work = work;
    c->ticket.once = true; /* its numbers are its own */
    return begun(&c->ticket, HF_GOES_ON);
}
