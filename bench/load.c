/* SPDX-License-Identifier: MIT
 *
 * load.c - threads that take free locks and give them back. */
#include "load.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct hand {
    pthread_t thread;
    int number;
    long pairs;
    hf_lock *locks[LOAD_NAMES];
} hand;

static hand hands[LOAD_THREADS];
static load task;
static pthread_barrier_t gate; /* off they go; all rest */
static atomic_bool over;

static struct {
    pthread_mutex_t mu;
    hf_error err; /* the first one; code HF_OK: none */
} trouble = {.mu = PTHREAD_MUTEX_INITIALIZER};

static bool failed(const hf_error *err) {
    pthread_mutex_lock(&trouble.mu);
    if (trouble.err.code == HF_OK)
        trouble.err = *err;
    pthread_mutex_unlock(&trouble.mu);
    return false;
}

static bool pair(hf_lock *lock) {
    hf_error err;

    return (hf_lock_acquire(lock, 10000, &err) == HF_OK &&
            hf_lock_release(lock, &err) == HF_OK) ||
           failed(&err);
}

static bool join(hand *h) {
    hf_client *client = task.clients[h->number % task.n_clients];
    char name[64];
    hf_error err;

    for (int i = 0; i < task.names; i++) {
        snprintf(name, sizeof name, "%s-%d-%d", task.word, h->number, i);
        if (hf_lock_new(&h->locks[i], client, name, task.options, &err) < 0)
            return failed(&err);
        if (!pair(h->locks[i]))
            return false;
    }
    return true;
}

static void *work(void *arg) {
    hand *h = arg;
    bool well = join(h);

    pthread_barrier_wait(&gate);
    for (int i = 0; well && !atomic_load_explicit(&over, memory_order_relaxed);
         i = (i + 1) % task.names, h->pairs++)
        well = pair(h->locks[i]);
    pthread_barrier_wait(&gate);
    for (int i = 0; i < task.names; i++)
        hf_lock_free(h->locks[i]);
    return NULL;
}

void load_begin(const load *l) {
    task = *l;
    trouble.err = (hf_error){.code = HF_OK};
    atomic_store(&over, false);
    pthread_barrier_init(&gate, NULL, (unsigned)task.threads + 1);
    for (int i = 0; i < task.threads; i++) {
        hands[i] = (hand){.number = i};
        if (pthread_create(&hands[i].thread, NULL, work, &hands[i]))
            abort();
    }
    pthread_barrier_wait(&gate);
}

long load_stop(hf_error *err) {
    long pairs = 0;

    atomic_store(&over, true);
    pthread_barrier_wait(&gate);
    for (int i = 0; i < task.threads; i++)
        pairs += hands[i].pairs;
    *err = trouble.err;
    return err->code == HF_OK ? pairs : err->code;
}

void load_end(void) {
    for (int i = 0; i < task.threads; i++)
        pthread_join(hands[i].thread, NULL);
    pthread_barrier_destroy(&gate);
}
