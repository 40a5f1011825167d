/* SPDX-License-Identifier: MIT
 *
 * trial.c - workers, and a nemesis for them and their store.
 *
 * Everything here is done by the main thread, from which servers and workers
 * must be started (support/process.h): it goes round every few milliseconds and
 * does what is due.  All that it chooses comes from the seed. */
#include "trial.h"

#include "support/process.h"
#include "support/wait.h"

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    STEP_MS = 5,
    REST_MS = 900,
    END_MS = 45000,   /* for workers to come to an end            */
    EMPTY_MS = 30000, /* for the store to be empty after that     */
    IMMORTAL = 2,     /* workers that are not killed              */
    PATIENCE_MS = 12000
};

typedef struct seat {
    pid_t pid; /* 0: nobody */
    uint32_t number;
    int64_t resume_at; /* ms; 0: it is not stopped */
} seat;

typedef struct trial {
    const plan *p;
    outcome *o;
    ground *g;
    hf_recorder *r;
    chance c;
    seat seats[WORKERS_MAX];
    uint32_t last; /* number of a worker */
    int fault;     /* the present one; -1: none */
    int64_t fault_at, kill_at, stop_at;
} trial;

static void wait_a_moment(void) {
    nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000}, NULL);
}

/* ---- workers ----------------------------------------------------------- */

static void spawn(trial *t, int i) {
    seat *w = &t->seats[i];
    char number[16], *argv[] = {"/proc/self/exe",
                                "--worker",
                                (char *)t->p->dir,
                                number,
                                i >= IMMORTAL ? "mortal" : "immortal",
                                NULL};
    w->number = ++t->last;
    w->resume_at = 0;
    snprintf(number, sizeof number, "%u", w->number);
    w->pid = hf_test_spawn(argv, -1, -1, -1);
}

static void note(trial *t, hf_saw saw, uint32_t process, int64_t value) {
    hf_recorder_add(
        t->r,
        &(hf_record){.saw = (uint16_t)saw, .process = process, .value = value});
}

/* They end when they are told to, not before. */
static void look_for_crashes(trial *t, bool expected) {
    for (int i = 0; i < t->p->processes; i++) {
        int status;
        seat *w = &t->seats[i];
        if (w->pid == 0 || waitpid(w->pid, &status, WNOHANG) != w->pid)
            continue;
        w->pid = 0;
        if (expected && status == 0)
            continue;
        t->o->crashed++;
        fprintf(stderr, "UNSAFE: worker %u ended with %s %d\n", w->number,
                WIFSIGNALED(status) ? "signal" : "status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
}

static void kill_one(trial *t) {
    int n = t->p->processes - IMMORTAL;
    seat *w = &t->seats[IMMORTAL + (n > 0 ? chance_below(&t->c, n) : 0)];
    if (n <= 0 || w->pid == 0)
        return;
    note(t, HF_SAW_KILLED, w->number, 0);
    hf_test_kill(w->pid);
    w->pid = 0;
    if (w->number < CLIENTS) /* nobody expects it to clean up any more */
        t->g->clients[w->number][0] = '\0';
    t->o->kills++;
    spawn(t, (int)(w - t->seats));
}

/* Mostly shorter than a lease. */
static void stop_one(trial *t) {
    seat *w = &t->seats[chance_below(&t->c, t->p->processes)];
    int lease = t->g->lease_ms;
    if (w->pid == 0 || w->resume_at != 0)
        return;
    hf_test_pause(w->pid);
    note(t, HF_SAW_PAUSED, w->number, 0);
    t->o->stops++;
    w->resume_at =
        hf_test_now_ms() + (chance_percent(&t->c, 60) ?
                                chance_between(&t->c, 10, lease / 2) :
                                chance_between(&t->c, lease, 2 * lease));
}

static void resume(trial *t, seat *w) {
    note(t, HF_SAW_RESUMED, w->number, 0);
    if (w->pid != 0)
        hf_test_resume(w->pid);
    w->resume_at = 0;
}

static void disturb_workers(trial *t, int64_t now) {
    for (int i = 0; i < t->p->processes; i++)
        if (t->seats[i].resume_at != 0 && t->seats[i].resume_at <= now)
            resume(t, &t->seats[i]);
    if (t->p->calm)
        return;
    if (now >= t->kill_at) {
        kill_one(t);
        t->kill_at = now + chance_between(&t->c, 300, 1500);
    }
    if (now >= t->stop_at) {
        stop_one(t);
        t->stop_at = now + chance_between(&t->c, 200, 1200);
    }
}

/* ---- the store --------------------------------------------------------- */

static void end_fault(trial *t) {
    const fault *f = t->p->faults[t->fault];
    if (f->end != NULL)
        f->end(t->p->site);
    note(t, HF_SAW_HEALED, 0, t->fault);
    t->fault = -1;
}

static void disturb_store(trial *t, int64_t now) {
    if (t->p->n_faults == 0 || now < t->fault_at)
        return;
    if (t->fault >= 0) {
        int rest = t->p->faults[t->fault]->rest;
        end_fault(t);
        t->fault_at = hf_test_now_ms() +
                      chance_between(&t->c, 50, rest != 0 ? rest : REST_MS);
        return;
    }
    t->fault = chance_below(&t->c, t->p->n_faults);
    const fault *f = t->p->faults[t->fault];
    note(t, HF_SAW_FAULT, 0, t->fault);
    f->begin(t->p->site, &t->c);
    t->o->faults++;
    t->fault_at = hf_test_now_ms() + chance_between(&t->c, f->least, f->most);
}

/* ---- beginning --------------------------------------------------------- */

static hf_client *open_plain(const plan *p) {
    hf_options o = HF_OPTIONS_INIT;
    hf_client *client = NULL;
    hf_error err;
    int64_t by = hf_test_now_ms() + PATIENCE_MS;
    o.timeout_ms = 5000;
    while (hf_open(&client, p->site->plain, &o, &err) != HF_OK) {
        if (hf_test_now_ms() > by) {
            fprintf(stderr, "%s: %s\n", p->site->plain, err.text);
            return NULL;
        }
        wait_a_moment();
    }
    return client;
}

static void set_permits(hf_client *client) {
    for (uint32_t n = NAME_PERMIT; n <= NAME_SEMAPHORE; n++) {
        char name[32];
        hf_semaphore *sem;
        ground_name(n, name, sizeof name);
        if (!(hf_can(client, HF_SEMAPHORE) & HF_CAN_HOLD) ||
            hf_semaphore_new(&sem, client, name, NULL) != HF_OK)
            continue;
        hf_semaphore_set(sem, PERMITS, 0, NULL);
        hf_semaphore_free(sem);
    }
}

static bool begin(trial *t) {
    const plan *p = t->p;
    const store *s = p->site->store;
    char path[512];
    snprintf(path, sizeof path, "%s/ground", p->dir);
    t->g = ground_make(path);
    snprintf(path, sizeof path, "%s/0.history", p->dir);
    hf_client *client = open_plain(p);
    if (client == NULL || t->g == NULL ||
        hf_recorder_open(&t->r, path, 0, 1 << 16) != HF_OK)
        return false;
    set_permits(client);
    hf_close(client);
    snprintf(t->g->uri, sizeof t->g->uri, "%s", p->site->uri);
    t->g->seed = p->seed;
    t->g->lease_ms = s->lease_ms;
    t->g->timeout_ms = s->timeout_ms;
    t->g->threads = p->threads;
    for (int i = 0; i < p->n_faults; i++) {
        t->g->replicas = p->faults[i]->replicas;
        if (p->faults[i]->lease_ms > t->g->lease_ms)
            t->g->lease_ms = p->faults[i]->lease_ms;
        t->g->forgetful |= p->faults[i]->weak || p->faults[i]->replicas != 0;
    }
    t->c = chance_of(p->seed, 0);
    t->fault = -1;
    for (int i = 0; i < p->processes; i++)
        spawn(t, i);
    return true;
}

/* ---- the end ----------------------------------------------------------- */

static int alive(const trial *t) {
    int n = 0;
    for (int i = 0; i < t->p->processes; i++)
        n += t->seats[i].pid != 0;
    return n;
}

static void heal(trial *t) {
    if (t->fault >= 0)
        end_fault(t);
    for (int i = 0; i < t->p->processes; i++)
        if (t->seats[i].resume_at != 0)
            resume(t, &t->seats[i]);
    if (t->p->site->store->settle != NULL)
        t->p->site->store->settle(t->p->site);
}

static void await_workers(trial *t) {
    int64_t by = hf_test_now_ms() + END_MS;
    atomic_store(&t->g->over, true);
    while (look_for_crashes(t, true), alive(t) > 0) {
        if (hf_test_now_ms() > by)
            break;
        wait_a_moment();
    }
    for (int i = 0; i < t->p->processes; i++) {
        seat *w = &t->seats[i];
        if (w->pid == 0)
            continue;
        fprintf(stderr, "worker %u does not come to an end\n", w->number);
        t->o->hung++;
        hf_test_kill(w->pid);
        w->pid = 0;
    }
}

typedef struct listing {
    const trial *t;
    int n;
    char *what;
    size_t size;
} listing;

/* Of somebody who came to its end as it should? */
static bool is_known(const trial *t, const char *owner) {
    for (int i = 0; i < CLIENTS; i++) {
        const char *client = t->g->clients[i];
        if (client[0] != '\0' && strncmp(owner, client, strlen(client)) == 0)
            return true;
    }
    return false;
}

static void on_place(void *arg, const hf_place *place) {
    listing *l = arg;
    size_t len = strlen(l->what);
    if (!place->holds && l->t->p->site->store->keeps_dead &&
        (l->t->g->forgetful || !is_known(l->t, place->owner)))
        return;
    l->n++;
    snprintf(l->what + len, l->size - len, " %s:%s:%s", place->kind,
             place->name, place->holds ? "held" : "waits");
}

static void delete_permits(trial *t, hf_client *client) {
    for (uint32_t n = NAME_PERMIT; n <= NAME_SEMAPHORE; n++) {
        char name[32];
        int64_t available = 0, leased = 0;
        hf_semaphore *sem;
        ground_name(n, name, sizeof name);
        if (!(hf_can(client, HF_SEMAPHORE) & HF_CAN_HOLD) ||
            hf_semaphore_new(&sem, client, name, NULL) != HF_OK)
            continue;
        hf_semaphore_count(sem, &available, &leased, NULL);
        if (available + leased > PERMITS) {
            fprintf(stderr, "UNSAFE: %s has %lld permits of %d\n", name,
                    (long long)(available + leased), PERMITS);
            note(t, HF_SAW_LEFTOVER, 0, available + leased - PERMITS);
        }
        hf_semaphore_delete(sem, NULL);
        hf_semaphore_free(sem);
    }
}

/* What hf_list and the store itself show. */
static int what_is_left(trial *t, hf_client *client) {
    outcome *o = t->o;
    site *s = t->p->site;
    o->left[0] = '\0';
    listing l = {t, 0, o->left, sizeof o->left};
    if (hf_list(client, NULL, on_place, &l, NULL) != HF_OK)
        return -1;
    if (l.n == 0 && s->store->left != NULL)
        l.n = s->store->left(s, o->left, sizeof o->left);
    return l.n;
}

/* Leases of those who were killed end by themselves. */
static void look_into_store(trial *t) {
    int64_t by = hf_test_now_ms() + EMPTY_MS;
    int n = -1;
    hf_client *client = open_plain(t->p);
    if (client != NULL) {
        delete_permits(t, client);
        while ((n = what_is_left(t, client)) != 0 && hf_test_now_ms() < by)
            wait_a_moment();
        hf_close(client);
    }
    if (n != 0)
        hf_recorder_add(t->r, &(hf_record){.saw = HF_SAW_LEFTOVER,
                                           .code = HF_LEFT_IN_STORE,
                                           .value = n});
}

/* ---- the judgement ----------------------------------------------------- */

/* What a store that lost its memory, or its sense of time, cannot promise. */
static void waive(hf_promise *p) {
    static const hf_invariant weak[] = {
        HF_INV_EXCLUSION, HF_INV_READERS, HF_INV_PERMITS,
        HF_INV_LATCH,     HF_INV_TOLD,    HF_INV_HANDOFF,
    };
    for (size_t i = 0; i < sizeof weak / sizeof weak[0]; i++)
        p->waived[weak[i]] = true;
}

static void promise_of(const trial *t, hf_promise *ret) {
    const plan *p = t->p;
    *ret = (hf_promise){
        .idle_ns = INT64_C(12000000000),
        .late_ns = INT64_C(12000000000),
        .haste_ns = INT64_C(3000000000),
        .permits = PERMITS,
        .lease_ns = t->g->lease_ms * INT64_C(1000000),
    };
    for (int i = 0; i < p->n_faults; i++)
        if (p->faults[i]->weak)
            waive(ret);
    /* Who does not hear of its turn in time loses its place. */
    ret->waived[HF_INV_FAIRNESS] = !p->calm;
}

static void read_histories(const plan *p, outcome *o) {
    char pattern[512];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*.history", p->dir);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) {
            const char *why = NULL;
            if (hf_history_read(&o->history, found.gl_pathv[i], &why) !=
                HF_OK) {
                fprintf(stderr, "%s: %s\n", found.gl_pathv[i], why);
                o->bad = true;
            }
        }
    globfree(&found);
}

static void judge(trial *t) {
    outcome *o = t->o;
    promise_of(t, &o->promise);
    read_histories(t->p, o);
    if (hf_check(&o->history, &o->promise, &o->verdict) != HF_OK)
        o->bad = true;
    o->visits = atomic_load(&t->g->visits);
    o->spoilt = atomic_load(&t->g->spoilt);
    if (o->crashed + o->hung > 0 || o->history.left_out > 0 ||
        hf_verdict_bad(&o->verdict, &o->promise))
        o->bad = true;
}

void trial_run(const plan *p, outcome *ret) {
    trial t = {.p = p, .o = ret};
    *ret = (outcome){0};
    if (!begin(&t)) {
        ret->bad = true;
        return;
    }
    int64_t end = hf_test_now_ms() + p->ms;
    t.kill_at = t.fault_at = hf_test_now_ms() + 500;
    while (hf_test_now_ms() < end) {
        look_for_crashes(&t, false);
        disturb_workers(&t, hf_test_now_ms());
        disturb_store(&t, hf_test_now_ms());
        wait_a_moment();
    }
    heal(&t);
    await_workers(&t);
    look_into_store(&t);
    hf_recorder_close(t.r);
    judge(&t);
    ground_unmap(t.g);
}

void outcome_free(outcome *o) {
    hf_history_free(&o->history);
}
