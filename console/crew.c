/* SPDX-License-Identifier: MIT
 *
 * crew.c - threads for what may take its time.
 *
 * A thread is made when one is wanted and none is idle, and stays. */
#include "crew.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct chore {
    struct chore *next;
    crew_fn *fn;
    void *arg;
} chore;

struct crew {
    pthread_mutex_t mu;
    pthread_cond_t news;
    chore *first, **last; /* mu */
    size_t line, busy, n; /* mu: chores in line and at work, threads */
    bool ending;          /* mu */
    size_t most_threads, most_line;
    pthread_t threads[];
};

crew *crew_new(size_t threads, size_t waiting) {
    crew *c = calloc(1, sizeof(*c) + threads * sizeof(pthread_t));
    if (!c)
        return NULL;
    pthread_mutex_init(&c->mu, NULL);
    pthread_cond_init(&c->news, NULL);
    c->last = &c->first;
    c->most_threads = threads;
    c->most_line = waiting;
    return c;
}

static chore *take(crew *c) {
    chore *next;
    while (!c->first && !c->ending)
        pthread_cond_wait(&c->news, &c->mu);
    next = c->first;
    if (!next)
        return NULL;
    c->first = next->next;
    if (!c->first)
        c->last = &c->first;
    c->line--;
    c->busy++;
    return next;
}

static void *work(void *arg) {
    crew *c = arg;
    chore *next;
    pthread_mutex_lock(&c->mu);
    while ((next = take(c)) != NULL) {
        pthread_mutex_unlock(&c->mu);
        next->fn(next->arg);
        free(next);
        pthread_mutex_lock(&c->mu);
        c->busy--;
    }
    pthread_mutex_unlock(&c->mu);
    return NULL;
}

static void grow(crew *c) {
    if (c->n < c->most_threads &&
        pthread_create(&c->threads[c->n], NULL, work, c) == 0)
        c->n++;
}

/* Without `always`: line + busy <= most_threads + most_line. */
static bool enqueue(crew *c, chore *next, bool always) {
    if (c->ending ||
        (!always && c->line + c->busy >= c->most_threads + c->most_line))
        return false;
    if (c->line + c->busy >= c->n)
        grow(c);
    if (c->n == 0)
        return false;
    *c->last = next;
    c->last = &next->next;
    c->line++;
    pthread_cond_signal(&c->news);
    return true;
}

static bool ask(crew *c, crew_fn *fn, void *arg, bool always) {
    chore *next = calloc(1, sizeof(*next));
    bool taken;
    if (!next)
        return false;
    next->fn = fn;
    next->arg = arg;
    pthread_mutex_lock(&c->mu);
    taken = enqueue(c, next, always);
    pthread_mutex_unlock(&c->mu);
    if (!taken)
        free(next);
    return taken;
}

bool crew_ask(crew *c, crew_fn *fn, void *arg) {
    return ask(c, fn, arg, false);
}

void crew_post(crew *c, crew_fn *fn, void *arg) {
    if (!ask(c, fn, arg, true))
        fn(arg);
}

void crew_end(crew *c) {
    size_t n;
    pthread_mutex_lock(&c->mu);
    c->ending = true;
    n = c->n;
    c->n = 0;
    pthread_cond_broadcast(&c->news);
    pthread_mutex_unlock(&c->mu);
    for (size_t i = 0; i < n; i++)
        pthread_join(c->threads[i], NULL);
}

void crew_free(crew *c) {
    if (!c)
        return;
    pthread_cond_destroy(&c->news);
    pthread_mutex_destroy(&c->mu);
    free(c);
}
