/* SPDX-License-Identifier: MIT
 *
 * loop.c - the events, the fibers, and what the core asks of the world.
 *
 * The linker puts our mutexes and conditions in place of the system's
 * (--wrap); they live in the same memory, whose all zeros mean the same to
 * both.  Only one fiber runs at a time, so a mutex is two words. */
#include "loop.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fiber.h"

typedef struct event {
    hf_time at;
    uint64_t sequence; /* breaks ties */
    sim_fiber *fiber;  /* that goes on, if its turn is still this; or … */
    uint64_t turn;
    void (*fn)(void *); /* … who is called */
    void *arg;
} event;

/* A queue of fibers; the memory of a pthread_cond_t, and the second word of a
 * pthread_mutex_t. */
typedef struct queue {
    sim_fiber *first;
} queue;

struct sim_fiber {
    sim_stack *stack;
    sim_process *process;
    uint32_t thread, mark;
    uint64_t turn; /* which of its events counts */
    bool scheduled, woken, done;
    void *(*run)(void *);
    void *arg;
    queue *waits_in;
    sim_fiber *next_in_queue;
    const atomic_uint *parked_on;
    queue joiners;
    sim_fiber *next; /* all of this world: events may still name them */
};

static struct {
    uint64_t random;
    sim_weather weather;
    hf_time now, frozen;
    uint64_t sequence, events;
    event *heap;
    size_t n, cap;
    sim_fiber *fibers, *self;
    sim_process *process; /* in whose name the loop runs */
    queue parked;
    int living;
    sim_stack main;
} w;

static _Noreturn void give_up(const char *why) {
    fprintf(stderr, "hf-sim: %s\n", why);
    abort();
}

/* ---- chance ------------------------------------------------------------ */

/* splitmix64 */
uint64_t sim_random(void) {
    uint64_t z = w.random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t sim_below(uint64_t n) {
    return (uint64_t)(((unsigned __int128)sim_random() * n) >> 64);
}

hf_time sim_between(hf_time a, hf_time b) {
    return a + (hf_time)sim_below((uint64_t)(b - a) + 1);
}

bool sim_one_in(uint64_t n) {
    return n && sim_below(n) == 0;
}

bool sim_permille(int n) {
    return n && sim_below(1000) < (uint64_t)n;
}

/* ---- events ------------------------------------------------------------ */

static bool sooner(const event *a, const event *b) {
    return a->at < b->at || (a->at == b->at && a->sequence < b->sequence);
}

static void push(event e) {
    size_t i = w.n++;

    if (w.n > w.cap) {
        w.cap = w.cap ? 2 * w.cap : 1024;
        w.heap = realloc(w.heap, w.cap * sizeof *w.heap);
        if (!w.heap)
            give_up("out of memory");
    }
    e.sequence = ++w.sequence;
    for (; i > 0 && sooner(&e, &w.heap[(i - 1) / 2]); i = (i - 1) / 2)
        w.heap[i] = w.heap[(i - 1) / 2];
    w.heap[i] = e;
}

static event pop(void) {
    event top = w.heap[0], last = w.heap[--w.n];
    size_t i = 0;

    for (size_t child; (child = 2 * i + 1) < w.n; i = child) {
        if (child + 1 < w.n && sooner(&w.heap[child + 1], &w.heap[child]))
            child++;
        if (!sooner(&w.heap[child], &last))
            break;
        w.heap[i] = w.heap[child];
    }
    w.heap[i] = last;
    return top;
}

void sim_after(hf_time delay, void (*fn)(void *), void *arg) {
    push((event){.at = w.now + delay, .fn = fn, .arg = arg});
}

hf_time sim_now(void) {
    return w.now;
}

uint64_t sim_events(void) {
    return w.events;
}

/* ---- clocks ------------------------------------------------------------ */

/* A world lasts hours, so this does not overflow. */
hf_time sim_local(const sim_process *p, hf_time at) {
    return p->offset + at + at * p->ppm / 1000000;
}

/* The division is off by little, which is put right. */
hf_time sim_true(const sim_process *p, hf_time local) {
    hf_time at;

    if (local == HF_NEVER)
        return HF_NEVER;
    at = (hf_time)((double)(local - p->offset) / (1 + p->ppm / 1e6));
    while (sim_local(p, at) >= local)
        at--;
    while (sim_local(p, at) < local)
        at++;
    return at;
}

static sim_process *here(void) {
    return w.self ? w.self->process : w.process;
}

sim_process *sim_as(sim_process *p) {
    sim_process *before = w.process;

    w.process = p;
    return before;
}

void sim_freeze(hf_time local) {
    w.frozen = local;
}

static hf_time world_now(void) {
    const sim_process *p = here();

    if (w.frozen)
        return w.frozen;
    return p ? sim_local(p, w.now) : w.now;
}

/* The store's clock is what a process's is, since the beginning of 2026. */
static int64_t world_wall_us(void) {
    return INT64_C(1767225600000000) + world_now() / 1000;
}

static void world_random(void *buf, size_t size) {
    unsigned char *p = buf;

    while (size > 0) {
        uint64_t r = sim_random();
        size_t n = size < sizeof r ? size : sizeof r;

        memcpy(p, &r, n);
        p += n;
        size -= n;
    }
}

/* ---- queues ------------------------------------------------------------ */

static void enter(queue *q, sim_fiber *f) {
    sim_fiber **link = &q->first;

    while (*link)
        link = &(*link)->next_in_queue;
    *link = f;
    f->next_in_queue = NULL;
    f->waits_in = q;
}

static void leave(sim_fiber *f) {
    sim_fiber **link;

    if (!f->waits_in)
        return;
    for (link = &f->waits_in->first; *link != f;)
        link = &(*link)->next_in_queue;
    *link = f->next_in_queue;
    f->waits_in = NULL;
}

static bool wake_first(queue *q) {
    sim_fiber *f = q->first;

    if (!f)
        return false;
    leave(f);
    sim_wake(f);
    return true;
}

/* ---- fibers ------------------------------------------------------------ */

sim_fiber *sim_self(void) {
    return w.self;
}

sim_process *sim_process_of(const sim_fiber *f) {
    return f->process;
}

uint32_t sim_thread_of(const sim_fiber *f) {
    return f->thread;
}

uint32_t *sim_mark(sim_fiber *f) {
    return &f->mark;
}

int sim_living(void) {
    return w.living;
}

static void schedule(sim_fiber *f, hf_time at) {
    push((event){.at = at, .fiber = f, .turn = ++f->turn});
}

/* Some microseconds, sometimes many. */
static hf_time latency(void) {
    if (sim_one_in((uint64_t)w.weather.late))
        return sim_between(0, w.weather.lateness);
    return sim_between(500, 20000);
}

void sim_wake(sim_fiber *f) {
    if (f->scheduled || f->done)
        return;
    f->scheduled = f->woken = true;
    schedule(f, w.now + latency());
}

static void switch_away(bool ends) {
    sim_fiber *f = w.self;

    sim_switch(f->stack, &w.main, ends);
}

bool sim_suspend(hf_time by) {
    sim_fiber *f = w.self;

    f->woken = false;
    f->turn++;
    if (by != HF_NEVER)
        schedule(f, by > w.now ? by : w.now);
    switch_away(false);
    return f->woken;
}

void sim_sleep(hf_time ns) {
    sim_suspend(w.now + ns);
}

/* Others may go first: here a thread could be taken off its processor. */
static void perhaps_preempt(void) {
    sim_fiber *f = w.self;

    if (!f || !sim_one_in((uint64_t)w.weather.preempt))
        return;
    f->scheduled = true; /* nothing wakes it before */
    schedule(f, w.now + latency());
    switch_away(false);
}

static void fiber_run(void *arg) {
    sim_fiber *f = arg;

    f->run(f->arg);
    f->done = true;
    f->process->fibers--;
    w.living--;
    while (wake_first(&f->joiners))
        ;
    switch_away(true);
}

sim_fiber *sim_spawn(sim_process *p, void *(*run)(void *), void *arg) {
    sim_fiber *f = calloc(1, sizeof *f);

    if (!f || !(f->stack = sim_stack_new(fiber_run, f)))
        give_up("out of memory");
    f->process = p;
    f->thread = ++p->threads;
    f->run = run;
    f->arg = arg;
    f->next = w.fibers;
    w.fibers = f;
    p->fibers++;
    w.living++;
    sim_wake(f);
    return f;
}

/* ---- the loop ---------------------------------------------------------- */

void sim_begin(uint64_t seed, sim_weather weather) {
    w.random = seed * UINT64_C(0x2545f4914f6cdd1d) + 1;
    w.weather = weather;
    w.now = w.frozen = 0;
    w.n = 0;
    w.sequence = 0;
    w.parked.first = NULL;
    w.process = NULL;
    sim_random();
}

static void go_on(event e) {
    sim_fiber *f = e.fiber;
    hf_time paused = f->process->paused_until;

    if (e.turn != f->turn || f->done)
        return;
    if (paused > w.now) { /* whatever it is, it comes later */
        push((event){.at = paused, .fiber = f, .turn = e.turn});
        return;
    }
    f->scheduled = false;
    w.self = f;
    sim_switch(&w.main, f->stack, 0);
    w.self = NULL;
    if (f->done) {
        sim_stack_put(f->stack);
        f->stack = NULL;
    }
}

void sim_run(hf_time by) {
    while (w.n && w.heap[0].at <= by) {
        event e = pop();

        w.now = e.at;
        w.events++;
        if (e.fn)
            e.fn(e.arg);
        else
            go_on(e);
    }
    if (w.now < by && w.n)
        w.now = by;
}

/* Fibers that never ended leave their stacks; what those held is lost. */
void sim_end(void) {
    while (w.fibers) {
        sim_fiber *f = w.fibers;

        w.fibers = f->next;
        if (f->stack)
            sim_stack_put(f->stack);
        free(f);
    }
    w.living = 0;
    w.n = 0;
}

/* ---- what the core asks of the world ----------------------------------- */

static int world_thread_start(pthread_t *ret, void *(*run)(void *), void *arg) {
    sim_fiber *f = sim_spawn(here(), run, arg);

    *ret = (pthread_t)(uintptr_t)f;
    return 0;
}

static void world_thread_join(pthread_t thread) {
    sim_fiber *f = (sim_fiber *)(uintptr_t)thread;

    while (!f->done) {
        enter(&f->joiners, w.self);
        sim_suspend(HF_NEVER);
        leave(w.self);
    }
}

/* ---- mutexes and conditions -------------------------------------------- */

typedef struct mutex {
    sim_fiber *owner; /* or `the_loop` */
    queue waiting;
} mutex;

_Static_assert(sizeof(mutex) <= sizeof(pthread_mutex_t), "it lives there");
_Static_assert(sizeof(queue) <= sizeof(pthread_cond_t), "it lives there");

static sim_fiber the_loop;

int __wrap_pthread_mutex_init(void *mu, const void *attributes);
int __wrap_pthread_mutex_destroy(void *mu);
int __wrap_pthread_mutex_lock(void *mu);
int __wrap_pthread_mutex_unlock(void *mu);
int __wrap_pthread_cond_init(void *cond, const void *attributes);
int __wrap_pthread_cond_destroy(void *cond);
int __wrap_pthread_cond_signal(void *cond);
int __wrap_pthread_cond_broadcast(void *cond);
pthread_t __wrap_pthread_self(void);
uint64_t __wrap_hf__thread_number(void);
int __wrap_getpwuid_r(uid_t uid, struct passwd *pw, char *buf, size_t size,
                      struct passwd **ret);

static void lock(mutex *m) {
    sim_fiber *me = w.self ? w.self : &the_loop;

    if (!m->owner) {
        m->owner = me;
        return;
    }
    if (m->owner == me)
        give_up("a thread locks a mutex that it has locked");
    if (me == &the_loop)
        give_up("the loop finds a mutex locked");
    enter(&m->waiting, me);
    while (m->owner != me)
        sim_suspend(HF_NEVER);
}

/* To the next one, so that nobody waits for ever. */
static void unlock(mutex *m) {
    sim_fiber *next = m->waiting.first;

    if (m->owner != (w.self ? w.self : &the_loop))
        give_up("a thread unlocks a mutex that it has not locked");
    m->owner = next;
    if (next)
        wake_first(&m->waiting);
}

int __wrap_pthread_mutex_init(void *mu, const void *attributes) {
    (void)attributes;
    memset(mu, 0, sizeof(pthread_mutex_t));
    return 0;
}

int __wrap_pthread_mutex_destroy(void *mu) {
    if (((mutex *)mu)->owner)
        give_up("a mutex is destroyed while it is locked");
    return 0;
}

int __wrap_pthread_mutex_lock(void *mu) {
    perhaps_preempt();
    lock(mu);
    return 0;
}

int __wrap_pthread_mutex_unlock(void *mu) {
    unlock(mu);
    perhaps_preempt();
    return 0;
}

int __wrap_pthread_cond_init(void *cond, const void *attributes) {
    (void)attributes;
    memset(cond, 0, sizeof(pthread_cond_t));
    return 0;
}

int __wrap_pthread_cond_destroy(void *cond) {
    if (((queue *)cond)->first)
        give_up("a condition is destroyed while a thread waits for it");
    return 0;
}

int __wrap_pthread_cond_signal(void *cond) {
    wake_first(cond);
    return 0;
}

int __wrap_pthread_cond_broadcast(void *cond) {
    while (wake_first(cond))
        ;
    return 0;
}

static int world_wait(pthread_cond_t *cond, pthread_mutex_t *mu, hf_time by) {
    sim_fiber *me = w.self;
    bool woken;

    enter((queue *)cond, me);
    unlock((mutex *)mu);
    woken = sim_suspend(sim_true(me->process, by));
    leave(me);
    lock((mutex *)mu);
    return woken ? 0 : ETIMEDOUT;
}

static void world_park(atomic_uint *word, unsigned seen, hf_time by) {
    sim_fiber *me = w.self;

    perhaps_preempt();
    if (atomic_load(word) != seen)
        return;
    me->parked_on = word;
    enter(&w.parked, me);
    sim_suspend(sim_true(me->process, by));
    leave(me);
    me->parked_on = NULL;
}

static void world_unpark(const atomic_uint *word, int n) {
    for (sim_fiber *f = w.parked.first, *next; f && n > 0; f = next) {
        next = f->next_in_queue;
        if (f->parked_on == word) {
            leave(f);
            sim_wake(f);
            n--;
        }
    }
}

static void world_linger(const atomic_uint *word, unsigned seen) {
    (void)word, (void)seen;
    perhaps_preempt();
}

pthread_t __wrap_pthread_self(void) {
    return (pthread_t)(uintptr_t)w.self;
}

/* Of the process and the fiber in it: never used twice. */
uint64_t __wrap_hf__thread_number(void) {
    return w.self ? (uint64_t)w.self->process->number << 32 | w.self->thread :
                    UINT64_MAX;
}

/* Who runs us is not of this world, and takes long to find out. */
int __wrap_getpwuid_r(uid_t uid, struct passwd *pw, char *buf, size_t size,
                      struct passwd **ret) {
    (void)uid, (void)pw, (void)buf, (void)size;
    *ret = NULL;
    return ENOENT;
}

/* There are no sockets: stores are simulated as a whole. */
static int no_dial(const struct sockaddr *addr, socklen_t len) {
    (void)addr, (void)len;
    errno = ENETUNREACH;
    return -1;
}

const hf_world sim_world = {
    .now = world_now,
    .wall_us = world_wall_us,
    .random = world_random,
    .thread_start = world_thread_start,
    .thread_join = world_thread_join,
    .wait = world_wait,
    .park = world_park,
    .unpark = world_unpark,
    .linger = world_linger,
    .dial = no_dial,
};
