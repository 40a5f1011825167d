/* SPDX-License-Identifier: MIT
 *
 * calls_test.c - what the manual says of every public function: from which
 * threads it may be called, how long it takes, whether a callback may call it,
 * and what a forked child gets.
 *
 * The table has every function of holdfast.h, by name, with the words of the
 * section THREADS AND FORK of its page; tools/check-manual.py compares the two,
 * and a test the table with the header.  Whoever adds a function adds a row. */
#include "support/dir.h"
#include "support/header.h"
#include "support/stage.h"
#include "support/suite.h"

#include "backend/fault.h"
#include "client.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what is on the stage ---------------------------------------------- */

enum { WAIT_MS = 20, MOST_LITTER = 8192 };

static struct {
    char store[192], file[200];
    hf_client *client;
    hf_lock *lock;   /* of the name "held", by the thread that set the stage */
    hf_lock *owned;  /* by its handle */
    hf_lock *free;   /* by nobody */
    hf_lock *member; /* for a multi-lock */
    hf_lock *begun;  /* by its handle, for what is begun and not waited for */
    hf_lock *rival;  /* wants the same, by its handle, too */
    hf_semaphore *sem;
    hf_latch *latch;
    hf_job *job;
    hf_guard *guard;

    struct { /* what a row frees */
        hf_client *client;
        hf_lock *lock;
        hf_semaphore *sem;
        hf_latch *latch;
        hf_job *job, *second;
        hf_guard *guard;
    } doomed;

    /* What rows make, freed at the end: locks before jobs, jobs before
     * clients. */
    pthread_mutex_t mu;
    size_t n;
    struct litter {
        enum { A_MULTI, A_LOCK, A_SEM, A_LATCH, A_JOB, A_GUARD, A_CLIENT } sort;
        void *what;
    } litter[MOST_LITTER];
    atomic_uint numbers;
} it;

static void drop(int sort, void *what) {
    if (what == NULL)
        return;
    pthread_mutex_lock(&it.mu);
    assert_true(it.n < MOST_LITTER);
    it.litter[it.n].sort = sort;
    it.litter[it.n++].what = what;
    pthread_mutex_unlock(&it.mu);
}

static void sweep_one(const struct litter *l) {
    switch (l->sort) {
    case A_MULTI:
    case A_LOCK:
        hf_lock_free(l->what);
        break;
    case A_SEM:
        hf_semaphore_free(l->what);
        break;
    case A_LATCH:
        hf_latch_free(l->what);
        break;
    case A_JOB:
        hf_job_end(l->what, NULL);
        break;
    case A_GUARD:
        hf_guard_leave(l->what);
        break;
    case A_CLIENT:
        hf_close(l->what);
    }
}

static void sweep(void) {
    for (int sort = A_MULTI; sort <= A_CLIENT; sort++)
        for (size_t i = 0; i < it.n; i++)
            if ((int)it.litter[i].sort == sort)
                sweep_one(&it.litter[i]);
    it.n = 0;
}

/* A name, or a file's, that nobody has used. */
static const char *fresh(char buf[static 32]) {
    snprintf(buf, 32, "n%u", atomic_fetch_add(&it.numbers, 1));
    return buf;
}

static hf_lock *new_lock(const char *name, unsigned flags) {
    hf_lock *lock;
    hf_expect(HF_OK, hf_lock_new(&lock, it.client, name,
                                 HF_LOCK_WITH(.flags = flags), ERR));
    return lock;
}

static void set_stage_with(hf_client *client) {
    char path[160], name[32];
    pthread_mutex_init(&it.mu, NULL);
    hf_test_fresh_path(it.file, sizeof it.file, "guarded");
    it.client = client;
    it.lock = new_lock("held", 0);
    it.owned = new_lock("owned", HF_OWNER_HANDLE);
    it.free = new_lock("free", 0);
    it.member = new_lock("member", 0);
    it.begun = new_lock("begun", HF_OWNER_HANDLE);
    it.rival = new_lock("begun", HF_OWNER_HANDLE);
    hf_expect(HF_OK, hf_lock_try(it.lock, ERR));
    hf_expect(HF_OK, hf_lock_try(it.owned, ERR));
    hf_expect(HF_OK, hf_semaphore_new(&it.sem, client, "sem", ERR));
    hf_expect(HF_OK, hf_semaphore_set(it.sem, 1000, 0, ERR));
    hf_expect(HF_OK, hf_latch_new(&it.latch, client, "latch", ERR));
    hf_expect(HF_OK, hf_latch_set(it.latch, 100000, ERR));
    hf_expect(HF_OK, hf_job_begin(&it.job, client, "job", NULL, ERR));
    hf_expect(HF_OK, hf_guard_enter(&it.guard, it.file, 7, 1000, ERR));
    hf_expect(HF_OK, hf_open(&it.doomed.client, "memory:doomed", NULL, ERR));
    it.doomed.lock = new_lock("doomed", 0);
    hf_expect(HF_OK, hf_lock_try(it.doomed.lock, ERR));
    hf_expect(HF_OK, hf_semaphore_new(&it.doomed.sem, client, "sem", ERR));
    hf_expect(HF_OK, hf_latch_new(&it.doomed.latch, client, "latch", ERR));
    hf_expect(HF_OK,
              hf_job_begin(&it.doomed.job, client, fresh(name), NULL, ERR));
    hf_expect(HF_OK,
              hf_job_begin(&it.doomed.second, client, fresh(name), NULL, ERR));
    hf_test_fresh_path(path, sizeof path, "doomed");
    hf_expect(HF_OK, hf_guard_enter(&it.doomed.guard, path, 7, 1000, ERR));
}

static hf_client *open_client(void) {
    char path[160];
    hf_client *client;
    hf_test_fresh_path(path, sizeof path, "locks");
    snprintf(it.store, sizeof it.store, "sqlite:%s.db", path);
    hf_expect(HF_OK, hf_open(&client, it.store, NULL, ERR));
    return client;
}

static void clear_stage(void) {
    sweep();
    hf_guard_leave(it.doomed.guard);
    hf_job_end(it.doomed.job, NULL);
    hf_job_end(it.doomed.second, NULL);
    hf_lock_free(it.doomed.lock);
    hf_semaphore_free(it.doomed.sem);
    hf_latch_free(it.doomed.latch);
    hf_close(it.doomed.client);
    hf_guard_leave(it.guard);
    hf_job_end(it.job, NULL);
    hf_latch_free(it.latch);
    hf_semaphore_free(it.sem);
    hf_lock_free(it.begun);
    hf_lock_free(it.rival);
    hf_lock_free(it.member);
    hf_lock_free(it.free);
    hf_lock_free(it.owned);
    hf_lock_free(it.lock);
    hf_close(it.client);
    pthread_mutex_destroy(&it.mu);
    memset(&it, 0, sizeof it);
}

/* ---- the calls --------------------------------------------------------- */

/* What a call answers: its code; of those that return a value, what stands for
 * it, and 0 where there is none; of all others 0.  No cmocka in here: a child
 * or a callback may be the caller. */
#define CALL(name, ...)                                                        \
    static int call_##name(void) {                                             \
        return (int)(__VA_ARGS__);                                             \
    }
#define DO(name, ...)                                                          \
    static int call_##name(void) {                                             \
        __VA_ARGS__;                                                           \
        return 0;                                                              \
    }

static void place(void *arg, const hf_place *p) {
    (void)arg, (void)p;
}

static void presence(void *arg, const hf_presence *p) {
    (void)arg, (void)p;
}

static void circle(void *arg, const hf_stuck *c, size_t n) {
    (void)arg, (void)c, (void)n;
}

static void sample(void *arg, const hf_sample *s) {
    (void)arg, (void)s;
}

static void fact(void *arg, hf_verdict_level level, const char *what,
                 const char *text) {
    (void)arg, (void)level, (void)what, (void)text;
}

static void rule(void *arg, const hf_rule *r) {
    (void)arg, (void)r;
}

static int call_open(void) {
    hf_client *client;
    int rc = hf_open(&client, "memory:opened", NULL, NULL);
    drop(A_CLIENT, client);
    return rc;
}

static int call_escalate(void) {
    hf_client *client;
    int rc =
        hf_escalate_to(&client, "memory:one", "memory:two", NULL, NULL, NULL);
    drop(A_CLIENT, client);
    return rc;
}

static int call_lock_new(void) {
    hf_lock *lock;
    int rc = hf_lock_new(&lock, it.client, "x", NULL, NULL);
    drop(A_LOCK, lock);
    return rc;
}

static int call_multi_new(void) {
    hf_lock *members[] = {NULL, it.member}, *multi = NULL;
    char name[32];
    int rc = hf_lock_new(&members[0], it.client, fresh(name), NULL, NULL);
    if (rc == HF_OK)
        rc = hf_multi_new(&multi, members, 1, NULL);
    else if (hf_multi_new(&multi, &members[1], 1, NULL) != rc)
        rc = HF_OK;
    drop(A_LOCK, members[0]);
    drop(A_MULTI, multi);
    return rc;
}

static int call_acquire(void) {
    int rc = hf_lock_acquire(it.free, WAIT_MS, NULL);
    if (rc == HF_OK)
        hf_lock_release(it.free, NULL);
    if (hf_lock_acquire(it.rival, WAIT_MS, NULL) == HF_OK)
        hf_lock_release(it.rival, NULL);
    return rc;
}

static int call_try(void) {
    int rc = hf_lock_try(it.free, NULL);
    if (rc == HF_OK)
        hf_lock_release(it.free, NULL);
    return rc;
}

/* What is given back is taken again, so that there is always something. */
static int call_release(void) {
    int rc = hf_lock_release(it.lock, NULL);
    if (rc == HF_OK)
        rc = hf_lock_acquire(it.lock, WAIT_MS, NULL);
    return rc;
}

static int call_sem_new(void) {
    hf_semaphore *sem;
    int rc = hf_semaphore_new(&sem, it.client, "x", NULL);
    drop(A_SEM, sem);
    return rc;
}

static int call_latch_new(void) {
    hf_latch *latch;
    int rc = hf_latch_new(&latch, it.client, "x", NULL);
    drop(A_LATCH, latch);
    return rc;
}

static int call_job_begin(void) {
    char name[32];
    hf_job *job;
    int rc = hf_job_begin(&job, it.client, fresh(name), NULL, NULL);
    drop(A_JOB, job);
    return rc;
}

static int call_job_end(void) {
    int rc = hf_job_end(it.doomed.job, NULL);
    it.doomed.job = NULL;
    return rc;
}

static int call_guard_enter(void) {
    hf_guard *guard;
    int rc = hf_guard_enter(&guard, it.file, 7, WAIT_MS, NULL);
    drop(A_GUARD, guard);
    return rc;
}

static int call_release_after(void) {
    char name[32];
    hf_lock *lock;
    if (hf_lock_new(&lock, it.client, fresh(name), NULL, NULL) != HF_OK)
        return hf_lock_release_after(it.lock, 1, NULL);
    drop(A_LOCK, lock);
    return hf_lock_try(lock, NULL) == HF_OK ?
               hf_lock_release_after(lock, 1, NULL) :
               HF_EDOUBT;
}

DO(close, hf_close(it.doomed.client), it.doomed.client = NULL)
DO(lock_free, hf_lock_free(it.doomed.lock), it.doomed.lock = NULL)
DO(sem_free, hf_semaphore_free(it.doomed.sem), it.doomed.sem = NULL)
DO(latch_free, hf_latch_free(it.doomed.latch), it.doomed.latch = NULL)
DO(guard_leave, hf_guard_leave(it.doomed.guard), it.doomed.guard = NULL)
CALL(store, strcmp(hf_store(it.client), it.store) != 0)
CALL(lock_store, strcmp(hf_lock_store(it.lock), it.store) != 0)
DO(cancel, hf_lock_cancel(it.free))
CALL(name, strcmp(hf_lock_name(it.lock), "held") != 0)
CALL(extend, (hf_lock_extend(it.rival, 20000, NULL),
              hf_lock_extend(it.owned, 20000, NULL)))
CALL(force, hf_lock_force_release(it.free, NULL, NULL))
/* Of one that others release meanwhile, too. */
CALL(is_held, (hf_lock_is_held(it.rival), hf_lock_is_held(it.owned)))
CALL(remaining,
     (hf_lock_remaining_ms(it.rival), hf_lock_remaining_ms(it.owned)))
CALL(holds, (hf_lock_holds(it.rival), hf_lock_holds(it.owned)))
CALL(token, (hf_lock_token(it.rival), hf_lock_token(it.owned) != 0))
CALL(owner, (hf_lock_owner(it.rival, (char[200]){0}, 200),
             hf_lock_owner(it.owned, (char[200]){0}, 200)))
CALL(last_token, hf_lock_last_token(it.lock, &(uint64_t){0}, NULL))
DO(on_state, hf_lock_on_state(it.free, hf_test_hear, &(hf_test_ear){0}),
   hf_lock_on_state(it.free, NULL, NULL))
CALL(lost_fd, hf_lock_lost_fd(it.lock) < 0 ? hf_lock_lost_fd(it.lock) : HF_OK)
CALL(sem_name, strcmp(hf_semaphore_name(it.sem), "sem") != 0)
CALL(sem_set, hf_semaphore_set(it.sem, 3, 0, NULL))
CALL(sem_acquire, hf_semaphore_acquire(it.sem, 1, WAIT_MS, NULL))
DO(sem_cancel, hf_semaphore_cancel(it.sem))
CALL(sem_release, hf_semaphore_release(it.sem, 1, NULL))
CALL(sem_release_if, hf_semaphore_release_if_set(it.sem, 1, NULL))
CALL(sem_add, hf_semaphore_add(it.sem, 1, NULL))
CALL(sem_resize, hf_semaphore_resize(it.sem, 1000, NULL))
CALL(sem_drain, hf_semaphore_drain(it.sem, NULL, NULL))
CALL(sem_count, hf_semaphore_count(it.sem, &(int64_t){0}, &(int64_t){0}, NULL))
CALL(sem_delete, hf_semaphore_delete(it.sem, NULL))
CALL(latch_name, strcmp(hf_latch_name(it.latch), "latch") != 0)
CALL(latch_set, hf_latch_set(it.latch, 100000, NULL))
CALL(latch_down, hf_latch_count_down(it.latch, NULL))
CALL(latch_count, hf_latch_count(it.latch, &(int64_t){0}, NULL))
CALL(latch_wait, hf_latch_wait(it.latch, WAIT_MS, NULL))
DO(latch_cancel, hf_latch_cancel(it.latch))
CALL(latch_delete, hf_latch_delete(it.latch, NULL))
CALL(job_lock, hf_job_lock(it.job) == NULL)
CALL(guard_text, hf_guard_text("redis") == NULL)
CALL(guard_check, hf_guard_check(it.guard, NULL))
CALL(guard_fd, hf_guard_fd(it.guard) < 0 ? HF_ESYSTEM : HF_OK)
CALL(list, hf_list(it.client, NULL, place, NULL, NULL))
CALL(clients, hf_clients(it.client, presence, NULL, NULL))
CALL(deadlocks, hf_deadlocks(it.client, circle, NULL, NULL))
CALL(stats, hf_stats(it.client, sample, NULL, NULL))
CALL(stats_text, hf_stats_text(it.client, NULL, 0))
CALL(can, hf_can(it.client, HF_LOCK) == 0)
CALL(examine, hf_examine(it.client, fact, NULL, NULL))
CALL(rights, hf_rights(it.client, "p:", rule, NULL, NULL))
CALL(default_store, hf_default_store((char[200]){0}, 200) == 0)
CALL(uri_check, hf_uri_check("memory:", NULL))
CALL(redact, hf_uri_redact("redis://u:p@h", (char[99]){0}, 99) != 15)
CALL(version, strcmp(hf_version(), HF_VERSION) != 0)
CALL(stores, hf_stores()[0] == '\0')
CALL(error_class, hf_error_class(HF_EDOWN) != HF_CLASS_NOT_DONE)
CALL(error_name, strcmp(hf_error_name(HF_EDOWN), "DOWN") != 0)
CALL(strerror, hf_strerror(HF_EDOWN)[0] == '\0')
CALL(fd, hf_fd(it.client) < 0 ? hf_fd(it.client) : HF_OK)
CALL(process, hf_process(it.client))
CALL(acquire_async, hf_lock_acquire_async(it.begun, WAIT_MS, NULL, NULL, NULL))
CALL(release_async, hf_lock_release_async(it.begun, NULL, NULL, NULL))
CALL(release_after_async,
     hf_lock_release_after_async(it.begun, 1, NULL, NULL, NULL))
CALL(extend_async, hf_lock_extend_async(it.owned, 20000, NULL, NULL, NULL))
CALL(sem_acquire_async,
     hf_semaphore_acquire_async(it.sem, 1, WAIT_MS, NULL, NULL, NULL))
CALL(sem_release_async, hf_semaphore_release_async(it.sem, 1, NULL, NULL, NULL))
CALL(latch_wait_async, hf_latch_wait_async(it.latch, WAIT_MS, NULL, NULL, NULL))
CALL(latch_down_async, hf_latch_count_down_async(it.latch, NULL, NULL, NULL))

/* Nobody asks what came of it, and closing the client ends it. */
static int call_job_begin_async(void) {
    static hf_job *jobs[256];
    char name[32];
    unsigned i = atomic_load(&it.numbers) % 256;
    return hf_job_begin_async(&jobs[i], it.client, fresh(name), NULL, NULL,
                              NULL, NULL);
}

static int call_job_end_async(void) {
    int rc = it.doomed.second == NULL ?
                 HF_OK :
                 hf_job_end_async(it.doomed.second, NULL, NULL, NULL);
    if (rc == HF_OK)
        it.doomed.second = NULL;
    return rc;
}

static int work(void *arg, hf_error *err) {
    (void)arg, (void)err;
    return HF_OK;
}

CALL(call_async, hf_call_async(it.client, work, NULL, NULL, NULL))

/* One that would do, if it were not too late. */
static void *take(void *arg, size_t n) {
    (void)arg;
    return malloc(n);
}

static void *retake(void *arg, void *p, size_t n) {
    (void)arg;
    return realloc(p, n);
}

static void give(void *arg, void *p) {
    (void)arg;
    free(p);
}

CALL(set_allocator, hf_set_allocator(&(hf_allocator){sizeof(hf_allocator), take,
                                                     retake, give, NULL},
                                     NULL))

typedef enum threads { SAFE, PER_HANDLE, ONE } threads;
typedef enum callbacks { YES, LOOP, NO } callbacks;

/* Their first four words are the manual's. */
static const struct row {
    const char *name;
    threads threads;
    callbacks callbacks;
    const char *fork;
    const char *waits;
    int (*call)(void);
} rows[] = {
    {"hf_open", SAFE, YES, "works", "timeout_ms", call_open},
    {"hf_close", PER_HANDLE, LOOP, "frees", "timeout_ms + 1 s, callbacks",
     call_close},
    {"hf_store", SAFE, YES, "the address", "never", call_store},
    {"hf_lock_new", SAFE, YES, "HF_EFORKED", "never", call_lock_new},
    {"hf_lock_free", PER_HANDLE, LOOP, "frees",
     "timeout_ms per hold, callbacks", call_lock_free},
    {"hf_lock_acquire", SAFE, YES, "HF_EFORKED", "wait_ms", call_acquire},
    {"hf_lock_try", SAFE, YES, "HF_EFORKED", "timeout_ms", call_try},
    {"hf_lock_cancel", SAFE, YES, "nothing", "never", call_cancel},
    {"hf_lock_name", SAFE, YES, "the name", "never", call_name},
    {"hf_lock_release", SAFE, YES, "HF_EFORKED", "timeout_ms", call_release},
    {"hf_lock_release_after", SAFE, YES, "HF_EFORKED", "timeout_ms",
     call_release_after},
    {"hf_lock_extend", SAFE, YES, "HF_EFORKED", "timeout_ms", call_extend},
    {"hf_lock_force_release", SAFE, YES, "HF_EFORKED", "timeout_ms",
     call_force},
    {"hf_lock_is_held", SAFE, YES, "false", "never", call_is_held},
    {"hf_lock_remaining_ms", SAFE, YES, "0", "never", call_remaining},
    {"hf_lock_holds", SAFE, YES, "0", "never", call_holds},
    {"hf_lock_token", SAFE, YES, "0", "never", call_token},
    {"hf_lock_owner", SAFE, YES, "\"\"", "never", call_owner},
    {"hf_lock_last_token", SAFE, YES, "HF_EFORKED", "timeout_ms",
     call_last_token},
    {"hf_lock_on_state", SAFE, YES, "nothing", "callbacks", call_on_state},
    {"hf_lock_lost_fd", SAFE, YES, "HF_EFORKED", "never", call_lost_fd},
    {"hf_multi_new", PER_HANDLE, YES, "HF_EFORKED", "callbacks",
     call_multi_new},
    {"hf_escalate_to", SAFE, YES, "works", "timeout_ms", call_escalate},
    {"hf_lock_store", SAFE, YES, "the address", "never", call_lock_store},
    {"hf_semaphore_new", SAFE, YES, "HF_EFORKED", "never", call_sem_new},
    {"hf_semaphore_free", PER_HANDLE, YES, "frees", "never", call_sem_free},
    {"hf_semaphore_name", SAFE, YES, "the name", "never", call_sem_name},
    {"hf_semaphore_set", SAFE, YES, "HF_EFORKED", "timeout_ms", call_sem_set},
    {"hf_semaphore_acquire", SAFE, YES, "HF_EFORKED", "wait_ms",
     call_sem_acquire},
    {"hf_semaphore_cancel", SAFE, YES, "nothing", "never", call_sem_cancel},
    {"hf_semaphore_release", SAFE, YES, "HF_EFORKED", "timeout_ms",
     call_sem_release},
    {"hf_semaphore_release_if_set", SAFE, YES, "HF_EFORKED", "timeout_ms",
     call_sem_release_if},
    {"hf_semaphore_add", SAFE, YES, "HF_EFORKED", "timeout_ms", call_sem_add},
    {"hf_semaphore_resize", SAFE, YES, "HF_EFORKED", "timeout_ms",
     call_sem_resize},
    {"hf_semaphore_drain", SAFE, YES, "HF_EFORKED", "timeout_ms",
     call_sem_drain},
    {"hf_semaphore_count", SAFE, YES, "HF_EFORKED", "2 x timeout_ms",
     call_sem_count},
    {"hf_semaphore_delete", SAFE, YES, "HF_EFORKED", "timeout_ms",
     call_sem_delete},
    {"hf_latch_new", SAFE, YES, "HF_EFORKED", "never", call_latch_new},
    {"hf_latch_free", PER_HANDLE, YES, "frees", "never", call_latch_free},
    {"hf_latch_name", SAFE, YES, "the name", "never", call_latch_name},
    {"hf_latch_set", SAFE, YES, "HF_EFORKED", "timeout_ms", call_latch_set},
    {"hf_latch_count_down", SAFE, YES, "HF_EFORKED", "timeout_ms",
     call_latch_down},
    {"hf_latch_count", SAFE, YES, "HF_EFORKED", "timeout_ms", call_latch_count},
    {"hf_latch_wait", SAFE, YES, "HF_EFORKED", "wait_ms", call_latch_wait},
    {"hf_latch_cancel", SAFE, YES, "nothing", "never", call_latch_cancel},
    {"hf_latch_delete", SAFE, YES, "HF_EFORKED", "timeout_ms",
     call_latch_delete},
    {"hf_job_begin", SAFE, YES, "HF_EFORKED", "timeout_ms", call_job_begin},
    {"hf_job_lock", SAFE, YES, "the lock", "never", call_job_lock},
    {"hf_job_end", PER_HANDLE, LOOP, "HF_EFORKED", "timeout_ms, callbacks",
     call_job_end},
    {"hf_guard_text", SAFE, YES, "works", "never", call_guard_text},
    {"hf_guard_enter", SAFE, YES, "works", "wait_ms + 6 s", call_guard_enter},
    {"hf_guard_check", SAFE, YES, "works", "the file system", call_guard_check},
    {"hf_guard_fd", PER_HANDLE, YES, "works", "the file system", call_guard_fd},
    {"hf_guard_leave", PER_HANDLE, YES, "works", "never", call_guard_leave},
    {"hf_fd", SAFE, YES, "HF_EFORKED", "never", call_fd},
    {"hf_process", ONE, NO, "HF_EFORKED", "never", call_process},
    {"hf_lock_acquire_async", SAFE, YES, "HF_EFORKED", "never",
     call_acquire_async},
    {"hf_lock_release_async", SAFE, YES, "HF_EFORKED", "never",
     call_release_async},
    {"hf_lock_release_after_async", SAFE, YES, "HF_EFORKED", "never",
     call_release_after_async},
    {"hf_lock_extend_async", SAFE, YES, "HF_EFORKED", "never",
     call_extend_async},
    {"hf_semaphore_acquire_async", SAFE, YES, "HF_EFORKED", "never",
     call_sem_acquire_async},
    {"hf_semaphore_release_async", SAFE, YES, "HF_EFORKED", "never",
     call_sem_release_async},
    {"hf_latch_wait_async", SAFE, YES, "HF_EFORKED", "never",
     call_latch_wait_async},
    {"hf_latch_count_down_async", SAFE, YES, "HF_EFORKED", "never",
     call_latch_down_async},
    {"hf_job_begin_async", SAFE, YES, "HF_EFORKED", "never",
     call_job_begin_async},
    {"hf_job_end_async", PER_HANDLE, YES, "HF_EFORKED", "never",
     call_job_end_async},
    {"hf_call_async", SAFE, YES, "HF_EFORKED", "never", call_call_async},
    {"hf_list", SAFE, YES, "HF_EFORKED", "timeout_ms per request", call_list},
    {"hf_clients", SAFE, YES, "HF_EFORKED", "timeout_ms per request",
     call_clients},
    {"hf_deadlocks", SAFE, YES, "HF_EFORKED", "timeout_ms per request",
     call_deadlocks},
    {"hf_stats", SAFE, YES, "HF_EFORKED", "never", call_stats},
    {"hf_stats_text", SAFE, YES, "0", "never", call_stats_text},
    {"hf_can", SAFE, YES, "the bits", "never", call_can},
    {"hf_examine", SAFE, YES, "HF_EFORKED", "timeout_ms", call_examine},
    {"hf_rights", SAFE, YES, "HF_EFORKED", "timeout_ms", call_rights},
    {"hf_default_store", SAFE, YES, "works", "the file system",
     call_default_store},
    {"hf_uri_check", SAFE, YES, "works", "the file system", call_uri_check},
    {"hf_uri_redact", SAFE, YES, "works", "never", call_redact},
    {"hf_version", SAFE, YES, "works", "never", call_version},
    {"hf_stores", SAFE, YES, "works", "never", call_stores},
    {"hf_error_class", SAFE, YES, "works", "never", call_error_class},
    {"hf_error_name", SAFE, YES, "works", "never", call_error_name},
    {"hf_strerror", SAFE, YES, "works", "never", call_strerror},
    {"hf_set_allocator", ONE, NO, "HF_EUSAGE", "never", call_set_allocator},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

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

/* ---- fork -------------------------------------------------------------- */

static bool is_value(const struct row *r) {
    return strcmp(r->fork, "0") == 0 || strcmp(r->fork, "false") == 0 ||
           strcmp(r->fork, "\"\"") == 0;
}

static int expected(const struct row *r) {
    return strcmp(r->fork, "HF_EFORKED") == 0 ? HF_EFORKED :
           strcmp(r->fork, "HF_EUSAGE") == 0  ? HF_EUSAGE :
                                                0;
}

/* In a child of its own; exit statuses are too small for it. */
static int ask_child(const struct row *r) {
    int pipe_of[2], answer = INT32_MIN, status;
    assert_int_equal(pipe(pipe_of), 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(HF_TEST_LONG / 1000);
        answer = r->call();
        _exit(write(pipe_of[1], &answer, sizeof answer) != sizeof answer);
    }
    assert_true(child > 0);
    close(pipe_of[1]);
    if (read(pipe_of[0], &answer, sizeof answer) != sizeof answer)
        answer = INT32_MIN;
    close(pipe_of[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s: the child ended with 0x%x", r->name, (unsigned)status);
    return answer;
}

/* The parent's things, after what children did with their copies. */
static void all_is_as_it_was(void) {
    int64_t n = 0;
    assert_true(hf_lock_is_held(it.lock));
    assert_true(hf_lock_is_held(it.owned));
    assert_true(hf_lock_is_held(it.doomed.lock));
    assert_true(hf_lock_is_held(hf_job_lock(it.doomed.job)));
    hf_expect(HF_OK, hf_semaphore_count(it.sem, &n, NULL, ERR));
    assert_int_equal(n, 1000);
    hf_expect(HF_OK, hf_latch_count(it.latch, &n, ERR));
    assert_int_equal(n, 100000);
    hf_expect(HF_OK, hf_lock_extend(it.lock, 30000, ERR));
}

static void a_forked_child_is_answered_as_the_manual_says(void **state) {
    (void)state;
    hf_test_need_fork();
    set_stage_with(open_client());
    for (int i = 0; i < ROWS; i++) {
        int answer = ask_child(&rows[i]);
        if (answer != expected(&rows[i]))
            fail_msg("%s: a child is answered %d (%s), not %s", rows[i].name,
                     answer, hf_error_name(answer), rows[i].fork);
    }
    all_is_as_it_was();
    clear_stage();
}

/* Otherwise what a child is told would say nothing. */
static void the_parent_is_answered_otherwise(void **state) {
    (void)state;
    set_stage_with(open_client());
    for (int i = 0; i < ROWS; i++) {
        int answer = rows[i].call();
        if (answer == HF_EFORKED || (is_value(&rows[i]) && answer == 0))
            fail_msg("%s: the parent is answered %d", rows[i].name, answer);
    }
    clear_stage();
}

/* ---- threads ----------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 6 };

static pthread_barrier_t in_step;

/* Each begins elsewhere, so that every call meets every other sooner or
 * later. */
static void *call_all(void *arg) {
    size_t mine = (size_t)(uintptr_t)arg;
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < ROWS; i++) {
            const struct row *r = &rows[(i + mine * ROWS / THREADS) % ROWS];
            if (r->threads == SAFE && r->call() == HF_EFORKED)
                return (void *)r->name;
        }
    return NULL;
}

/* Two by two the same at the same time, beside the one that comes next. */
static void *call_pairs(void *arg) {
    size_t mine = (size_t)(uintptr_t)arg;
    const char *wrong = NULL;
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *r = &rows[(i + mine / 2) % ROWS];
        pthread_barrier_wait(&in_step);
        for (int round = 0; r->threads == SAFE && round < ROUNDS; round++)
            if (r->call() == HF_EFORKED)
                wrong = r->name;
    }
    return (void *)wrong;
}

static void in_threads(void *(*run)(void *)) {
    pthread_t all[THREADS];
    void *wrong;
    set_stage_with(open_client());
    pthread_barrier_init(&in_step, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&all[i], NULL, run, (void *)(uintptr_t)i), 0);
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(all[i], &wrong), 0);
        assert_null(wrong);
    }
    pthread_barrier_destroy(&in_step);
    clear_stage();
}

static void any_threads_make_any_safe_calls_at_the_same_time(void **state) {
    (void)state;
    in_threads(call_all);
}

static void any_threads_make_the_same_safe_call_at_the_same_time(void **state) {
    (void)state;
    in_threads(call_pairs);
}

/* Each thread has its own; clients and names are shared. */
static void *use_and_free(void *arg) {
    size_t mine = (size_t)(uintptr_t)arg;
    char file[256];
    snprintf(file, sizeof file, "%s-%zu", it.file, mine);
    for (int round = 0; round < ROUNDS; round++) {
        hf_lock *a = NULL, *multi = NULL;
        hf_semaphore *sem = NULL;
        hf_latch *latch = NULL;
        hf_client *client = NULL;
        hf_job *job = NULL;
        hf_guard *guard = NULL;
        hf_lock_new(&a, it.client, "free", NULL, NULL);
        hf_multi_new(&multi, &a, 1, NULL);
        hf_lock_acquire(multi, WAIT_MS, NULL);
        hf_lock_free(multi);
        hf_lock_free(a);
        hf_semaphore_new(&sem, it.client, "sem", NULL);
        hf_semaphore_free(sem);
        hf_latch_new(&latch, it.client, "latch", NULL);
        hf_latch_free(latch);
        hf_job_begin(&job, it.client, "j", NULL, NULL);
        hf_job_end(job, NULL);
        if (hf_guard_enter(&guard, file, 7, WAIT_MS, NULL) == HF_OK)
            hf_guard_fd(guard);
        hf_guard_leave(guard);
        hf_open(&client, "memory:opened", NULL, NULL);
        hf_close(client);
    }
    return NULL;
}

static void each_thread_frees_its_own_beside_others(void **state) {
    (void)state;
    in_threads(use_and_free);
}

/* ---- callbacks --------------------------------------------------------- */

static atomic_int called; /* so many rows */

static void call_from_state(void *arg, hf_lock *lock, hf_state state, int why) {
    (void)arg, (void)lock, (void)why;
    if (state != HF_STATE_LOST)
        return;
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].callbacks == YES)
            rows[i].call();
        atomic_fetch_add(&called, 1);
    }
}

static void a_callback_of_loss_may_call_what_the_manual_says(void **state) {
    (void)state;
    set_stage_with(open_client());
    hf_lock *brief;
    hf_expect(HF_OK, hf_lock_new(&brief, it.client, "brief",
                                 HF_LOCK_WITH(.max_hold_ms = 10), ERR));
    hf_lock_on_state(brief, call_from_state, NULL);
    hf_expect(HF_OK, hf_lock_try(brief, ERR));
    hf_test_finally(atomic_load(&called) == ROWS, atomic_load(&called),
                    HF_TEST_LONG);
    hf_lock_free(brief);
    clear_stage();
}

/* Once, and not for what the calls themselves tell. */
static void call_from_event(void *arg, const hf_event *event) {
    (void)arg;
    if (event->kind != HF_EVENT_GRANTED || strcmp(event->name, "now") != 0 ||
        atomic_load(&called) != 0)
        return;
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].callbacks == YES)
            rows[i].call();
        atomic_fetch_add(&called, 1);
    }
}

static void a_callback_of_events_may_call_what_the_manual_says(void **state) {
    (void)state;
    char path[160];
    hf_client *client;
    hf_test_fresh_path(path, sizeof path, "locks");
    snprintf(it.store, sizeof it.store, "sqlite:%s.db", path);
    hf_expect(HF_OK, hf_open(&client, it.store,
                             HF_CLIENT_WITH(.on_event = call_from_event), ERR));
    set_stage_with(client);
    hf_lock *now = new_lock("now", 0);
    hf_expect(HF_OK, hf_lock_try(now, ERR));
    assert_int_equal(atomic_load(&called), ROWS);
    hf_lock_free(now);
    clear_stage();
}

/* Whatever a client tells in hf_process. */
static void call_from_loop(void *arg, const hf_event *event) {
    (void)event;
    if (atomic_load(&called) != 0)
        return;
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].callbacks != NO)
            rows[i].call();
        atomic_fetch_add(&called, 1);
    }
    *(int *)arg = hf_process(it.client);
}

static void in_the_loop_a_callback_may_call_anything(void **state) {
    (void)state;
    hf_client *client;
    int inner = 0;
    snprintf(it.store, sizeof it.store, "memory:loop");
    hf_expect(HF_OK, hf_open(&client, it.store,
                             HF_CLIENT_WITH(.on_event = call_from_loop,
                                            .event_arg = &inner, .loop = true),
                             ERR));
    set_stage_with(client);
    assert_int_equal(atomic_load(&called), 0);
    assert_true(hf_process(client) > 0);
    assert_int_equal(atomic_load(&called), ROWS);
    assert_int_equal(inner, HF_EUSAGE);
    clear_stage();
}

/* ---- cancellation ------------------------------------------------------ */

/* A thread that is to end at its next cancellation point, and comes to none. */
static void *call_cancelled(void *arg) {
    atomic_int *made = arg;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cancel(pthread_self());
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    for (int i = 0; i < ROWS; i++) {
        rows[i].call();
        atomic_store(made, i + 1);
    }
    pthread_testcancel();
    return NULL;
}

static void no_call_is_a_cancellation_point(void **state) {
    (void)state;
    pthread_t thread;
    void *end;
    atomic_int made = 0;
    set_stage_with(open_client());
    assert_int_equal(pthread_create(&thread, NULL, call_cancelled, &made), 0);
    assert_int_equal(pthread_join(thread, &end), 0);
    if (atomic_load(&made) < ROWS)
        fail_msg("the thread ended in %s", rows[atomic_load(&made)].name);
    assert_ptr_equal(end, PTHREAD_CANCELED);
    clear_stage();
}

/* ---- waiting ----------------------------------------------------------- */

enum { SILENT_MS = 3000, MOMENT_MS = 1000, TIMEOUT_MS = 50, SOON_MS = 1500 };

static void silence(hf_backend *be, int times) {
    for (int verb = 0; verb < HF_VERBS; verb++)
        if (verb != HF_VERB_WATCH)
            hf__fault_set(be, verb, HF_TROUBLE_SILENT, times);
}

static int took_ms(const struct row *r) {
    int64_t began = hf_test_now_ms();
    r->call();
    return (int)(hf_test_now_ms() - began);
}

static hf_backend *silent_stage(int timeout_ms) {
    hf_client *client;
    hf_backend *be = NULL;
    snprintf(it.store, sizeof it.store, "memory:silent-%d", timeout_ms);
    hf_expect(HF_OK, hf__open_wrapped(&client, it.store,
                                      HF_CLIENT_WITH(.timeout_ms = timeout_ms),
                                      hf__fault_wrap, &be, ERR));
    set_stage_with(client);
    return be;
}

static void *ask_in_vain(void *arg) {
    (void)arg;
    hf_lock_acquire(it.free, HF_FOREVER, NULL);
    return NULL;
}

/* The store says nothing for much longer than a moment, and somebody is in the
 * middle of asking it. */
static void what_never_waits_does_not_wait_for_a_silent_store(void **state) {
    (void)state;
    hf_backend *be = silent_stage(SILENT_MS);
    pthread_t thread;
    int attempts = hf__fault_calls(be, HF_VERB_ATTEMPT);
    silence(be, -1);
    assert_int_equal(pthread_create(&thread, NULL, ask_in_vain, NULL), 0);
    hf_test_eventually(hf__fault_calls(be, HF_VERB_ATTEMPT) > attempts,
                       HF_TEST_LONG);
    for (int i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].waits, "never") != 0)
            continue;
        int ms = took_ms(&rows[i]);
        if (ms > MOMENT_MS)
            fail_msg("%s never waits, and took %d ms", rows[i].name, ms);
    }
    silence(be, 0);
    hf_test_eventually(
        (hf_lock_cancel(it.free), pthread_tryjoin_np(thread, NULL) == 0),
        HF_TEST_LONG);
    clear_stage();
}

/* Bounds are generous: the machine has others to serve. */
static void what_asks_a_silent_store_returns_in_time(void **state) {
    (void)state;
    hf_backend *be = silent_stage(TIMEOUT_MS);
    int asked = 0;
    silence(be, -1);
    for (int i = 0; i < ROWS; i++) {
        if (strstr(rows[i].waits, "_ms") == NULL)
            continue;
        int ms = took_ms(&rows[i]);
        asked++;
        if (ms > SOON_MS)
            fail_msg("%s waits for %s, and took %d ms", rows[i].name,
                     rows[i].waits, ms);
    }
    assert_true(asked > 20);
    silence(be, 0);
    clear_stage();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_public_call_has_a_row),
    cmocka_unit_test(a_forked_child_is_answered_as_the_manual_says),
    cmocka_unit_test(the_parent_is_answered_otherwise),
    cmocka_unit_test(any_threads_make_any_safe_calls_at_the_same_time),
    cmocka_unit_test(any_threads_make_the_same_safe_call_at_the_same_time),
    cmocka_unit_test(each_thread_frees_its_own_beside_others),
    cmocka_unit_test(a_callback_of_loss_may_call_what_the_manual_says),
    cmocka_unit_test(a_callback_of_events_may_call_what_the_manual_says),
    cmocka_unit_test(in_the_loop_a_callback_may_call_anything),
    cmocka_unit_test(no_call_is_a_cancellation_point),
    cmocka_unit_test(what_never_waits_does_not_wait_for_a_silent_store),
    cmocka_unit_test(what_asks_a_silent_store_returns_in_time),
};
HF_SUITE(tests)
