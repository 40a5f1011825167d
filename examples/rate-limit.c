/* SPDX-License-Identifier: MIT
 *
 * rate-limit.c - eight workers call a service that bears three calls at a time.
 *
 *     cc rate-limit.c $(pkg-config --cflags --libs holdfast) -o rate-limit
 *     ./rate-limit [STORE]
 *
 * Each call is made with a leased permit of a semaphore.  The first calls hang,
 * and the workers that make them are killed, as many as there are permits: if
 * theirs did not return, nobody would ever call again.  call_limited() is what
 * you came for.
 *
 * From the shell: holdfast run --limit 3 service -- ./call */
#include "stage.h"

#include <holdfast.h>

enum {
    WORKERS = 8,
    LIMIT = 3,
    CALLS = 5, /* of each worker */
    CALL_US = 5000,
    LEASE_MS = 2000, /* a dead host's permit returns then; where the store
                        notices its death, as the embedded one does, at once */
    WAIT_MS = 20000
};

/* As the service sees it. */
typedef struct service {
    atomic_int active, highest, calls, answered;
} service;

typedef struct worker {
    const char *store;
    service *service;
    int number;
    int hanging; /* a pipe: who hangs in a call says so; -1: none does */
    stage_gate *gate;
} worker;

/* ---- the service ------------------------------------------------------- */

static void call(const worker *w) {
    service *s = w->service;
    stage_raise(&s->highest, atomic_fetch_add(&s->active, 1) + 1);
    if (atomic_fetch_add(&s->calls, 1) < LIMIT && w->hanging >= 0) {
        stage_tell(w->hanging, &w->number, sizeof w->number);
        for (;;)
            pause(); /* until it is killed */
    }
    stage_sleep_us(CALL_US);
    atomic_fetch_add(&s->answered, 1);
    atomic_fetch_sub(&s->active, 1);
}

/* ---- a worker ---------------------------------------------------------- */

static int call_freely(void *arg) {
    const worker *w = arg;
    stage_gate_wait(w->gate);
    for (int i = 0; i < CALLS; i++)
        call(w);
    return 0;
}

/* Everybody says how many permits there are; the first one sets it. */
static int set_limit(hf_client *client, hf_error *err) {
    hf_semaphore *sem = NULL;
    int rc = hf_semaphore_new(&sem, client, "service", err);
    if (rc == HF_OK)
        rc = hf_semaphore_set(sem, LIMIT, 0, err);
    hf_semaphore_free(sem);
    return rc == HF_BUSY ? HF_OK : rc;
}

static int new_permit(hf_lock **ret, hf_client *client, hf_error *err) {
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    options.kind = HF_PERMIT; /* leased: returns when its process dies */
    return hf_lock_new(ret, client, "service", &options, err);
}

static int call_limited(void *arg) {
    const worker *w = arg;
    hf_client *client = NULL;
    hf_lock *permit = NULL;
    hf_options options = HF_OPTIONS_INIT;
    hf_error err;
    options.lease_ms = LEASE_MS;
    int rc = hf_open(&client, w->store, &options, &err);
    if (rc == HF_OK)
        rc = set_limit(client, &err);
    if (rc == HF_OK)
        rc = new_permit(&permit, client, &err);
    stage_gate_wait(w->gate);
    for (int i = 0; i < CALLS && rc == HF_OK; i++) {
        rc = hf_lock_acquire(permit, WAIT_MS, &err);
        if (rc != HF_OK)
            break;
        call(w);
        rc = hf_lock_release(permit, &err);
    }
    if (rc != HF_OK)
        fprintf(stderr, "worker %d: %s\n", w->number, err.text);
    hf_lock_free(permit);
    hf_close(client);
    return rc == HF_OK ? 0 : 1;
}

/* ---- the show ---------------------------------------------------------- */

/* The service hangs up before the worker is dead, as one does that is tired of
 * waiting: or the next one's call would be seen beside a dead one's. */
static bool kill_those_who_hang(service *s, int hanging, pid_t *pids) {
    int victims[LIMIT];
    for (int i = 0; i < LIMIT; i++)
        if (!stage_hear(hanging, &victims[i], sizeof victims[i], WAIT_MS))
            return false;
    for (int i = 0; i < LIMIT; i++) {
        printf("worker %d hangs in a call and is killed: kill -9\n",
               victims[i]);
        atomic_fetch_sub(&s->active, 1);
        stage_kill(pids[victims[i]]);
        pids[victims[i]] = 0;
    }
    return true;
}

/* False: a worker failed that was not killed. */
static bool work(const worker *like, int (*fn)(void *), int hanging) {
    worker all[WORKERS];
    pid_t pids[WORKERS];
    bool ok = true;
    stage_gate_make(like->gate);
    for (int i = 0; i < WORKERS; i++) {
        all[i] = *like;
        all[i].number = i;
        pids[i] = stage_start(fn, &all[i]);
    }
    stage_gate_open(like->gate);
    if (hanging >= 0) {
        close(like->hanging); /* so that it ends when all have failed */
        ok = kill_those_who_hang(like->service, hanging, pids);
    }
    for (int i = 0; i < WORKERS; i++)
        ok = (pids[i] == 0 || stage_ended_well(pids[i])) && ok;
    return ok;
}

static void print(const char *how, const service *s) {
    printf("%s: %d of %d calls answered, at most %d at a time\n", how,
           s->answered, s->calls, s->highest);
}

int main(int argc, char **argv) {
    stage here;
    stage_gate gate;
    int hanging[2];
    stage_open(&here, argc > 1 ? argv[1] : NULL);
    stage_need(pipe2(hanging, O_CLOEXEC) == 0, "pipe");
    service *freely = stage_share(sizeof *freely);
    service *limited = stage_share(sizeof *limited);
    worker like = {.store = here.store, .hanging = -1, .gate = &gate};
    like.service = freely;
    bool ok = work(&like, call_freely, -1);
    print("without permits", freely);
    like.service = limited;
    like.hanging = hanging[1];
    ok = work(&like, call_limited, hanging[0]) && ok;
    print("with 3 permits", limited);
    stage_close(&here);
    ok = ok && freely->highest > LIMIT && limited->highest == LIMIT &&
         limited->answered == (WORKERS - LIMIT) * CALLS;
    return ok ? 0 : 1;
}
