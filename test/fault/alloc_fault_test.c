/* SPDX-License-Identifier: MIT
 *
 * alloc_fault_test.c - every allocation of every public call fails once.
 *
 * A call is made again and again; the n-th time, the n-th allocation of this
 * thread finds no memory.  It ends when a call was not hit any more, so that
 * nobody has to know how many there are.  The answer is that there is no
 * memory, or what it would be otherwise; nothing crashes or leaks, and
 * afterwards everything can be had again, whatever the caller was told.
 *
 * The table has every function of holdfast.h, by name, and is compared with
 * the header: whoever adds a function adds a row.
 *
 * How allocations fail: see support/want.h.  The libraries of the stores lack
 * memory as well, and their answers are their own affair; not so under the
 * address sanitizer, where the answer must be the right one.
 *
 * HF_TORTURE=1: every n, not only some, where a call takes long. */
#include "support/dir.h"
#include "support/header.h"
#include "support/server.h"
#include "support/stage.h"
#include "support/suite.h"
#include "support/want.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what is on the stage ---------------------------------------------- */

static const char *uri;
static hf_client *shared; /* opened before anything fails */
static hf_lock *rival;    /* of `shared`, to look from outside */
static char file[200];

static struct {
    hf_kind kind;
    hf_client *client;
    hf_lock *lock, *second, *multi;
    hf_semaphore *sem;
    hf_latch *latch;
    hf_job *job;
    hf_guard *guard;
} it;

static void nothing(void) {
}

static void with_lock(void) {
    if (it.kind == HF_PERMIT) {
        hf_expect(HF_OK, hf_semaphore_new(&it.sem, shared, "x", ERR));
        hf_expect(HF_OK, hf_semaphore_set(it.sem, 1, 0, ERR));
    }
    hf_expect(HF_OK, hf_lock_new(&it.lock, shared, "x",
                                 HF_LOCK_WITH(.kind = it.kind), ERR));
}

/* What the store does not confirm is ended by the lease. */
static void holding_briefly(void) {
    hf_expect(HF_OK, hf_lock_new(&it.lock, shared, "x",
                                 HF_LOCK_WITH(.lease_ms = 200), ERR));
    hf_expect(HF_OK, hf_lock_try(it.lock, ERR));
}

static void with_two(void) {
    with_lock();
    hf_expect(HF_OK, hf_lock_new(&it.second, shared, "y", NULL, ERR));
}

static void with_multi(void) {
    with_two();
    hf_expect(HF_OK, hf_multi_new(&it.multi, (hf_lock *[]){it.lock, it.second},
                                  2, ERR));
}

static void holding(void) {
    with_lock();
    hf_expect(HF_OK, hf_lock_try(it.lock, ERR));
}

static void while_another_holds(void) {
    hf_expect(HF_OK, hf_lock_try(rival, ERR));
    with_lock();
}

static void with_client(void) {
    hf_expect(HF_OK, hf_open(&it.client, uri, NULL, ERR));
}

static void with_new_semaphore(void) {
    hf_expect(HF_OK, hf_semaphore_new(&it.sem, shared, "s", ERR));
}

static void with_semaphore(void) {
    with_new_semaphore();
    hf_expect(HF_OK, hf_semaphore_set(it.sem, 3, 0, ERR));
}

static void with_new_latch(void) {
    hf_expect(HF_OK, hf_latch_new(&it.latch, shared, "l", ERR));
}

static void with_latch(void) {
    with_new_latch();
    hf_expect(HF_OK, hf_latch_set(it.latch, 2, ERR));
}

static void with_job(void) {
    hf_job_options brief = {.size = sizeof brief, .at_most_ms = 200};
    hf_expect(HF_OK, hf_job_begin(&it.job, shared, "x", &brief, ERR));
}

/* What an event loop uses belongs to its handle. */
static void with_own_lock(void) {
    hf_expect(HF_OK, hf_lock_new(&it.lock, shared, "x",
                                 HF_LOCK_WITH(.kind = it.kind,
                                              .flags = HF_OWNER_HANDLE),
                                 ERR));
}

static void holding_own(void) {
    with_own_lock();
    hf_expect(HF_OK, hf_lock_try(it.lock, ERR));
}

static void while_another_holds_own(void) {
    hf_expect(HF_OK, hf_lock_try(rival, ERR));
    with_own_lock();
}

static void holding_own_briefly(void) {
    hf_expect(HF_OK, hf_lock_new(&it.lock, shared, "x",
                                 HF_LOCK_WITH(.lease_ms = 200,
                                              .flags = HF_OWNER_HANDLE),
                                 ERR));
    hf_expect(HF_OK, hf_lock_try(it.lock, ERR));
}

static void guarded(void) {
    hf_expect(HF_OK, hf_guard_enter(&it.guard, file, 7, 1000, ERR));
}

/* Takes down what is there, and finds nothing in use. */
static void clear_stage(const char *what, int n, int rc) {
    hf_lock_free(it.multi);
    hf_job_end(it.job, ERR);
    hf_guard_leave(it.guard);
    hf_lock_free(it.lock);
    hf_lock_free(it.second);
    hf_close(it.client);
    if (hf_lock_holds(rival) > 0)
        hf_expect(HF_OK, hf_lock_release(rival, ERR));
    if (it.sem != NULL)
        hf_semaphore_delete(it.sem, ERR);
    if (it.latch != NULL)
        hf_latch_delete(it.latch, ERR);
    hf_semaphore_free(it.sem);
    hf_latch_free(it.latch);
    hf_kind kind = it.kind;
    memset(&it, 0, sizeof it);
    it.kind = kind;
    /* Long before its lease of 30 s ends. */
    if (hf_lock_acquire(rival, 10000, ERR) != HF_OK)
        fail_msg("%s: allocation %d failed, the answer was %s, and it is held",
                 what, n, hf_error_name(rc));
    hf_expect(HF_OK, hf_lock_release(rival, ERR));
}

/* ---- the calls --------------------------------------------------------- */

static void fact(void *arg, hf_verdict_level level, const char *what,
                 const char *text) {
    (void)arg, (void)level, (void)what, (void)text;
}

static void rule(void *arg, const hf_rule *r) {
    (void)arg, (void)r;
}

static void place(void *arg, const hf_place *p) {
    (void)arg, (void)p;
}

static void client(void *arg, const hf_presence *c) {
    (void)arg, (void)c;
}

static void circle(void *arg, const hf_stuck *c, size_t n) {
    (void)arg, (void)c, (void)n;
}

static void sample(void *arg, const hf_sample *s) {
    (void)arg, (void)s;
}

#define CALL(name, expression)                                                 \
    static int name(hf_error *err) {                                           \
        (void)err;                                                             \
        return (expression);                                                   \
    }
#define DONE(name, expression) CALL(name, ((void)(expression), HF_OK))

CALL(call_open, hf_open(&it.client, uri, NULL, err))
CALL(call_escalate,
     hf_escalate_to(&it.client, uri, "memory:second", NULL, NULL, err))
CALL(call_lock_new,
     hf_lock_new(&it.lock, shared, "x", HF_LOCK_WITH(.kind = it.kind), err))
CALL(call_acquire, hf_lock_acquire(it.lock, 5000, err))
CALL(call_acquire_busy, hf_lock_acquire(it.lock, 15, err))
CALL(call_try, hf_lock_try(it.lock, err))
CALL(call_release, hf_lock_release(it.lock, err))
CALL(call_release_after, hf_lock_release_after(it.lock, 1, err))
CALL(call_extend, hf_lock_extend(it.lock, 20000, err))
CALL(call_force, hf_lock_force_release(it.lock, NULL, err))
CALL(call_last_token, hf_lock_last_token(it.lock, &(uint64_t){0}, err))
CALL(call_lost_fd, hf_lock_lost_fd(it.lock) < 0 ? HF_ENO_MEMORY : HF_OK)
CALL(call_multi_new,
     hf_multi_new(&it.multi, (hf_lock *[]){it.lock, it.second}, 2, err))
CALL(call_multi_acquire, hf_lock_acquire(it.multi, 5000, err))
CALL(call_sem_new, hf_semaphore_new(&it.sem, shared, "s", err))
CALL(call_sem_set, hf_semaphore_set(it.sem, 3, 0, err))
CALL(call_sem_acquire, hf_semaphore_acquire(it.sem, 2, 1000, err))
CALL(call_sem_busy, hf_semaphore_acquire(it.sem, 4, 15, err))
CALL(call_sem_release, hf_semaphore_release(it.sem, 1, err))
CALL(call_sem_release_if, hf_semaphore_release_if_set(it.sem, 1, err))
CALL(call_sem_add, hf_semaphore_add(it.sem, 1, err))
CALL(call_sem_resize, hf_semaphore_resize(it.sem, 5, err))
CALL(call_sem_drain, hf_semaphore_drain(it.sem, NULL, err))
CALL(call_sem_count,
     hf_semaphore_count(it.sem, &(int64_t){0}, &(int64_t){0}, err))
CALL(call_sem_delete, hf_semaphore_delete(it.sem, err))
CALL(call_latch_new, hf_latch_new(&it.latch, shared, "l", err))
CALL(call_latch_set, hf_latch_set(it.latch, 2, err))
CALL(call_latch_down, hf_latch_count_down(it.latch, err))
CALL(call_latch_count, hf_latch_count(it.latch, &(int64_t){0}, err))
CALL(call_latch_wait, hf_latch_wait(it.latch, 15, err))
CALL(call_latch_delete, hf_latch_delete(it.latch, err))
CALL(call_job_begin, hf_job_begin(&it.job, shared, "x", NULL, err))
CALL(call_guard_enter, hf_guard_enter(&it.guard, file, 7, 1000, err))
CALL(call_guard_check, hf_guard_check(it.guard, err))
CALL(call_guard_fd, hf_guard_fd(it.guard) < 0 ? HF_ENO_MEMORY : HF_OK)
CALL(call_list, hf_list(shared, NULL, place, NULL, err))
CALL(call_clients, hf_clients(shared, client, NULL, err))
CALL(call_deadlocks, hf_deadlocks(shared, circle, NULL, err))
CALL(call_stats, hf_stats(shared, sample, NULL, err))
CALL(call_stats_text, hf_stats_text(shared, NULL, 0) == 0)
CALL(call_uri_check, hf_uri_check("redis://127.0.0.1", err))
CALL(call_examine, hf_examine(shared, fact, NULL, err))
CALL(call_rights, hf_rights(shared, "p:", rule, NULL, err))

/* What was begun is waited for, by a thread that lacks memory as it is told. */
static bool is_over;
static int outcome;

static void over(void *arg, int rc, const hf_error *err) {
    (void)arg, (void)err;
    is_over = true;
    outcome = rc;
}

static int await(int begun) {
    struct pollfd p = {.fd = hf_fd(shared), .events = POLLIN};
    while (begun == HF_OK && !is_over) {
        assert_true(poll(&p, 1, HF_TEST_LONG) > 0);
        assert_true(hf_process(shared) >= 0);
    }
    is_over = false;
    return begun == HF_OK ? outcome : begun;
}

static int work(void *arg, hf_error *err) {
    (void)arg, (void)err;
    return HF_OK;
}

CALL(call_fd, hf_fd(shared) < 0 ? hf_fd(shared) : HF_OK)
CALL(call_process, hf_process(shared) < 0)
CALL(call_acquire_async,
     await(hf_lock_acquire_async(it.lock, 5000, over, NULL, err)))
CALL(call_busy_async,
     await(hf_lock_acquire_async(it.lock, 15, over, NULL, err)))
CALL(call_release_async, await(hf_lock_release_async(it.lock, over, NULL, err)))
CALL(call_release_after_async,
     await(hf_lock_release_after_async(it.lock, 1, over, NULL, err)))
CALL(call_extend_async,
     await(hf_lock_extend_async(it.lock, 20000, over, NULL, err)))
CALL(call_sem_acquire_async,
     await(hf_semaphore_acquire_async(it.sem, 2, 1000, over, NULL, err)))
CALL(call_sem_release_async,
     await(hf_semaphore_release_async(it.sem, 1, over, NULL, err)))
CALL(call_latch_wait_async,
     await(hf_latch_wait_async(it.latch, 15, over, NULL, err)))
CALL(call_latch_down_async,
     await(hf_latch_count_down_async(it.latch, over, NULL, err)))
CALL(call_job_begin_async,
     await(hf_job_begin_async(&it.job, shared, "x", NULL, over, NULL, err)))
CALL(call_call_async, await(hf_call_async(shared, work, over, NULL, err)))

/* What could not be begun leaves the job as it is. */
static int call_job_end_async(hf_error *err) {
    int rc = hf_job_end_async(it.job, over, NULL, err);
    if (rc == HF_OK)
        it.job = NULL;
    return await(rc);
}

/* Those that end something do so without memory as well. */
static int call_close(hf_error *err) {
    (void)err;
    hf_close(it.client);
    it.client = NULL;
    return HF_OK;
}

static int call_lock_free(hf_error *err) {
    (void)err;
    hf_lock_free(it.lock);
    it.lock = NULL;
    return HF_OK;
}

static int call_job_end(hf_error *err) {
    int rc = hf_job_end(it.job, err);
    it.job = NULL;
    return rc;
}

static int call_guard_leave(hf_error *err) {
    (void)err;
    hf_guard_leave(it.guard);
    it.guard = NULL;
    return HF_OK;
}

DONE(call_on_state, (hf_lock_on_state(it.lock, hf_test_hear, NULL), 0))
DONE(call_error_class, hf_error_class(-1))
DONE(call_error_name, hf_error_name(-1))
DONE(call_strerror, hf_strerror(-1))
DONE(call_store, hf_store(shared))
DONE(call_cancel, (hf_lock_cancel(it.lock), 0))
DONE(call_is_held, hf_lock_is_held(it.lock))
DONE(call_remaining, hf_lock_remaining_ms(it.lock))
DONE(call_holds, hf_lock_holds(it.lock))
DONE(call_token, hf_lock_token(it.lock))
DONE(call_owner, hf_lock_owner(it.lock, (char[200]){0}, 200))
DONE(call_name, hf_lock_name(it.lock))
DONE(call_lock_store, hf_lock_store(it.lock))
DONE(call_sem_name, hf_semaphore_name(it.sem))
DONE(call_sem_cancel, (hf_semaphore_cancel(it.sem), 0))
DONE(call_latch_name, hf_latch_name(it.latch))
DONE(call_latch_cancel, (hf_latch_cancel(it.latch), 0))
DONE(call_job_lock, hf_job_lock(it.job))
DONE(call_guard_text, hf_guard_text("redis"))
DONE(call_can, hf_can(shared, HF_LOCK))
DONE(call_default_store, hf_default_store((char[200]){0}, 200))
DONE(call_redact, hf_uri_redact("redis://u:p@h", (char[200]){0}, 200))
DONE(call_version, hf_version())
DONE(call_stores, hf_stores())
CALL(call_set_allocator, hf_set_allocator(NULL, err))

typedef enum sort { ANY, LONG, QUIET } sort; /* QUIET: it allocates nothing */

static const struct row {
    const char *name;
    void (*before)(void);
    int (*call)(hf_error *err);
    sort sort;
    hf_kind kind;
} rows[] = {
    {"hf_open", nothing, call_open, LONG, HF_LOCK},
    {"hf_escalate_to", nothing, call_escalate, LONG, HF_LOCK},
    {"hf_close", with_client, call_close, LONG, HF_LOCK},
    {"hf_lock_new", nothing, call_lock_new, ANY, HF_LOCK},
    {"hf_lock_new", nothing, call_lock_new, ANY, HF_READ},
    {"hf_lock_free", holding, call_lock_free, ANY, HF_LOCK},
    {"hf_lock_acquire", with_lock, call_acquire, ANY, HF_LOCK},
    {"hf_lock_acquire", with_lock, call_acquire, ANY, HF_FAIR},
    {"hf_lock_acquire", with_lock, call_acquire, ANY, HF_READ},
    {"hf_lock_acquire", with_lock, call_acquire, ANY, HF_WRITE},
    {"hf_lock_acquire", with_lock, call_acquire, ANY, HF_PERMIT},
    {"hf_lock_acquire", while_another_holds, call_acquire_busy, LONG, HF_LOCK},
    {"hf_lock_acquire", while_another_holds, call_acquire_busy, LONG, HF_FAIR},
    {"hf_lock_acquire", with_multi, call_multi_acquire, LONG, HF_LOCK},
    {"hf_lock_try", with_lock, call_try, ANY, HF_LOCK},
    {"hf_lock_try", holding, call_try, ANY, HF_LOCK},
    {"hf_lock_cancel", with_lock, call_cancel, QUIET, HF_LOCK},
    {"hf_lock_release", holding, call_release, ANY, HF_LOCK},
    {"hf_lock_release", holding, call_release, ANY, HF_READ},
    {"hf_lock_release", holding, call_release, ANY, HF_PERMIT},
    {"hf_lock_release_after", holding_briefly, call_release_after, ANY,
     HF_LOCK},
    {"hf_lock_extend", holding, call_extend, ANY, HF_LOCK},
    {"hf_lock_force_release", with_lock, call_force, ANY, HF_LOCK},
    {"hf_lock_is_held", holding, call_is_held, QUIET, HF_LOCK},
    {"hf_lock_remaining_ms", holding, call_remaining, QUIET, HF_LOCK},
    {"hf_lock_holds", holding, call_holds, QUIET, HF_LOCK},
    {"hf_lock_token", holding, call_token, QUIET, HF_LOCK},
    {"hf_lock_owner", holding, call_owner, QUIET, HF_LOCK},
    {"hf_lock_name", with_lock, call_name, QUIET, HF_LOCK},
    {"hf_lock_store", with_lock, call_lock_store, QUIET, HF_LOCK},
    {"hf_lock_last_token", with_lock, call_last_token, ANY, HF_LOCK},
    {"hf_lock_on_state", with_lock, call_on_state, QUIET, HF_LOCK},
    {"hf_lock_lost_fd", with_lock, call_lost_fd, ANY, HF_LOCK},
    {"hf_multi_new", with_two, call_multi_new, ANY, HF_LOCK},
    {"hf_semaphore_new", nothing, call_sem_new, ANY, HF_LOCK},
    {"hf_semaphore_set", with_new_semaphore, call_sem_set, ANY, HF_LOCK},
    {"hf_semaphore_acquire", with_semaphore, call_sem_acquire, ANY, HF_LOCK},
    {"hf_semaphore_acquire", with_semaphore, call_sem_busy, LONG, HF_LOCK},
    {"hf_semaphore_cancel", with_semaphore, call_sem_cancel, QUIET, HF_LOCK},
    {"hf_semaphore_name", with_semaphore, call_sem_name, QUIET, HF_LOCK},
    {"hf_semaphore_release", with_semaphore, call_sem_release, ANY, HF_LOCK},
    {"hf_semaphore_release_if_set", with_semaphore, call_sem_release_if, ANY,
     HF_LOCK},
    {"hf_semaphore_add", with_semaphore, call_sem_add, ANY, HF_LOCK},
    {"hf_semaphore_resize", with_semaphore, call_sem_resize, ANY, HF_LOCK},
    {"hf_semaphore_drain", with_semaphore, call_sem_drain, ANY, HF_LOCK},
    {"hf_semaphore_count", with_semaphore, call_sem_count, ANY, HF_LOCK},
    {"hf_semaphore_delete", with_semaphore, call_sem_delete, ANY, HF_LOCK},
    {"hf_latch_new", nothing, call_latch_new, ANY, HF_LOCK},
    {"hf_latch_name", with_latch, call_latch_name, QUIET, HF_LOCK},
    {"hf_latch_set", with_new_latch, call_latch_set, ANY, HF_LOCK},
    {"hf_latch_count_down", with_latch, call_latch_down, ANY, HF_LOCK},
    {"hf_latch_count", with_latch, call_latch_count, ANY, HF_LOCK},
    {"hf_latch_wait", with_latch, call_latch_wait, LONG, HF_LOCK},
    {"hf_latch_cancel", with_latch, call_latch_cancel, QUIET, HF_LOCK},
    {"hf_latch_delete", with_latch, call_latch_delete, ANY, HF_LOCK},
    {"hf_job_begin", nothing, call_job_begin, ANY, HF_LOCK},
    {"hf_job_lock", with_job, call_job_lock, QUIET, HF_LOCK},
    {"hf_job_end", with_job, call_job_end, ANY, HF_LOCK},
    {"hf_guard_text", nothing, call_guard_text, QUIET, HF_LOCK},
    {"hf_guard_enter", nothing, call_guard_enter, ANY, HF_LOCK},
    {"hf_guard_check", guarded, call_guard_check, QUIET, HF_LOCK},
    {"hf_guard_fd", guarded, call_guard_fd, ANY, HF_LOCK},
    {"hf_guard_leave", guarded, call_guard_leave, QUIET, HF_LOCK},
    {"hf_fd", nothing, call_fd, ANY, HF_LOCK},
    {"hf_process", nothing, call_process, QUIET, HF_LOCK},
    {"hf_lock_acquire_async", with_own_lock, call_acquire_async, ANY, HF_LOCK},
    {"hf_lock_acquire_async", with_own_lock, call_acquire_async, ANY, HF_WRITE},
    {"hf_lock_acquire_async", while_another_holds_own, call_busy_async, LONG,
     HF_LOCK},
    {"hf_lock_release_async", holding_own, call_release_async, ANY, HF_LOCK},
    {"hf_lock_release_after_async", holding_own_briefly,
     call_release_after_async, ANY, HF_LOCK},
    {"hf_lock_extend_async", holding_own, call_extend_async, ANY, HF_LOCK},
    {"hf_semaphore_acquire_async", with_semaphore, call_sem_acquire_async, ANY,
     HF_LOCK},
    {"hf_semaphore_release_async", with_semaphore, call_sem_release_async, ANY,
     HF_LOCK},
    {"hf_latch_wait_async", with_latch, call_latch_wait_async, LONG, HF_LOCK},
    {"hf_latch_count_down_async", with_latch, call_latch_down_async, ANY,
     HF_LOCK},
    {"hf_job_begin_async", nothing, call_job_begin_async, ANY, HF_LOCK},
    {"hf_job_end_async", with_job, call_job_end_async, ANY, HF_LOCK},
    {"hf_call_async", nothing, call_call_async, ANY, HF_LOCK},
    {"hf_list", holding, call_list, ANY, HF_LOCK},
    {"hf_clients", holding, call_clients, ANY, HF_LOCK},
    {"hf_deadlocks", holding, call_deadlocks, ANY, HF_LOCK},
    {"hf_stats", holding, call_stats, QUIET, HF_LOCK},
    {"hf_stats_text", holding, call_stats_text, QUIET, HF_LOCK},
    {"hf_uri_check", nothing, call_uri_check, ANY, HF_LOCK},
    {"hf_can", nothing, call_can, QUIET, HF_LOCK},
    {"hf_examine", nothing, call_examine, LONG, HF_LOCK},
    {"hf_rights", nothing, call_rights, LONG, HF_LOCK},
    {"hf_store", nothing, call_store, QUIET, HF_LOCK},
    {"hf_default_store", nothing, call_default_store, ANY, HF_LOCK},
    {"hf_uri_redact", nothing, call_redact, QUIET, HF_LOCK},
    {"hf_version", nothing, call_version, QUIET, HF_LOCK},
    {"hf_set_allocator", nothing, call_set_allocator, QUIET, HF_LOCK},
    {"hf_stores", nothing, call_stores, QUIET, HF_LOCK},
    {"hf_error_class", nothing, call_error_class, QUIET, HF_LOCK},
    {"hf_error_name", nothing, call_error_name, QUIET, HF_LOCK},
    {"hf_strerror", nothing, call_strerror, QUIET, HF_LOCK},
    /* Their handles are freed at the end of every row. */
    {"hf_semaphore_free", nothing, NULL, QUIET, HF_LOCK},
    {"hf_latch_free", nothing, NULL, QUIET, HF_LOCK},
};
enum { ROWS = sizeof rows / sizeof rows[0], ENOUGH = 50000 };

/* ---- one row ----------------------------------------------------------- */

/* What a library of the store makes of its own want of memory is its affair,
 * as long as it is no success; what we do about it is checked all the same. */
static bool is_fair(int rc, int usual) {
    if (rc == usual || rc == HF_ENO_MEMORY)
        return true;
    return !ours_alone && hf_error_class(rc) != HF_CLASS_MISUSE && rc < 0;
}

static int run(const struct row *r, int n, hf_error *err) {
    it.kind = r->kind;
    r->before();
    was_hit = false;
    until_failure = n;
    int rc = r->call(err);
    until_failure = 0;
    clear_stage(r->name, n, rc);
    return rc;
}

/* Calls that take long are hit at every step only on request. */
static int next(const struct row *r, int n) {
    const char *torture = getenv("HF_TORTURE");
    bool all = torture != NULL && *torture != '\0';
    return r->sort == LONG && !all && n > 12 ? n + 1 + n / 12 : n + 1;
}

static int bears_it(const struct row *r) {
    hf_error err = {0, ""};
    int usual = run(r, 0, &err);
    for (int n = 1; n < ENOUGH; n = next(r, n)) {
        err = (hf_error){0, ""};
        int rc = run(r, n, &err);
        if (!was_hit) {
            assert_int_equal(rc, usual);
            return n - 1;
        }
        if (r->sort == QUIET)
            fail_msg("%s allocates", r->name);
        if (!is_fair(rc, usual))
            fail_msg("%s: allocation %d failed, and the answer was %s (%s)",
                     r->name, n, hf_error_name(rc), err.text);
    }
    fail_msg("%s: more than %d allocations", r->name, ENOUGH);
    return 0;
}

static void on(const char *store, int skipped) {
    int hit = 0, calls = 0;
    uri = store;
    hf_test_fresh_path(file, sizeof file, "guarded");
    shared = hf_test_open(uri, NULL);
    rival = hf_test_lock(shared, "x", HF_LOCK_WITH(.flags = HF_OWNER_HANDLE));
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].call == NULL || (int)rows[i].kind == skipped)
            continue;
        hit += bears_it(&rows[i]);
        calls++;
    }
    print_message("%d calls, %d allocations\n", calls, hit);
    hf_test_clear();
}

static void memory_bears_the_want_of_memory(void **state) {
    (void)state;
    on("memory:alloc", -1);
}

static void sqlite_bears_the_want_of_memory(void **state) {
    (void)state;
    char path[160], store[192];
    hf_test_fresh_path(path, sizeof path, "locks");
    snprintf(store, sizeof store, "sqlite:%s.db", path);
    on(store, -1);
}

static void redis_bears_the_want_of_memory(void **state) {
    (void)state;
    hf_test_server *server = hf_test_server_start(NULL);
    on(hf_test_server_uri(server), -1);
    hf_test_server_stop(server);
}

/* ---- the table itself -------------------------------------------------- */

static bool has_row(const char *name, size_t n) {
    for (int i = 0; i < ROWS; i++)
        if (strlen(rows[i].name) == n && memcmp(rows[i].name, name, n) == 0)
            return true;
    return false;
}

static void every_public_call_has_a_row(void **state) {
    (void)state;
    hf_test_header_is_covered(has_row);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_public_call_has_a_row),
    cmocka_unit_test(memory_bears_the_want_of_memory),
    cmocka_unit_test(sqlite_bears_the_want_of_memory),
    cmocka_unit_test(redis_bears_the_want_of_memory),
};
HF_SUITE(tests)
