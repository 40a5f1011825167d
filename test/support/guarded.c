/* SPDX-License-Identifier: MIT
 *
 * guarded.c - enter, look around, count, leave. */
#include "guarded.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATIENCE = 60000 }; /* ms for one turn: longer is a hang */

typedef struct entrant {
    pthread_t thread;
    hf_lock *lock;
    hf_semaphore *sem; /* instead of a lock */
    hf_test_guarded *g;
    int rounds;
} entrant;

hf_test_guarded *hf_test_guarded_map(const char *path) {
    hf_test_guarded *g = MAP_FAILED;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return NULL;
    if (ftruncate(fd, sizeof *g) == 0)
        g = mmap(NULL, sizeof *g, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return g != MAP_FAILED ? g : NULL;
}

void hf_test_guarded_unmap(hf_test_guarded *g) {
    munmap(g, sizeof *g);
}

/* Said aloud, because nothing forgives it: see tools/lane.sh. */
static void broken(atomic_int *count, const char *what, uint64_t token,
                   uint64_t last) {
    atomic_fetch_add(count, 1);
    fprintf(stderr, "UNSAFE: %s (token %" PRIx64 ", last %" PRIx64 ")\n", what,
            token, last);
}

void hf_test_guarded_visit(hf_test_guarded *g, uint64_t token) {
    int others = atomic_fetch_add(&g->inside, 1);
    uint64_t last = token != 0 ? atomic_exchange(&g->last_token, token) : 0;
    if (others != 0)
        broken(&g->overlaps, "somebody else was inside", token, last);
    if (token != 0 && token <= last)
        broken(&g->disorders, "a token was not above the last one", token,
               last);
    unsigned long long seen = atomic_load(&g->counter);
    sched_yield();
    atomic_store(&g->counter, seen + 1);
    atomic_fetch_sub(&g->inside, 1);
}

static int enter_lock(entrant *e) {
    int result = hf_lock_acquire(e->lock, PATIENCE, NULL);
    if (result != HF_OK)
        return result;
    hf_test_guarded_visit(e->g, hf_lock_token(e->lock));
    return hf_lock_release(e->lock, NULL);
}

static int enter_semaphore(entrant *e) {
    int result = hf_semaphore_acquire(e->sem, 1, PATIENCE, NULL);
    if (result != HF_OK)
        return result;
    hf_test_guarded_visit(e->g, 0);
    return hf_semaphore_release(e->sem, 1, NULL);
}

static void *enter(void *arg) {
    entrant *e = arg;
    for (int i = 0; i < e->rounds; i++) {
        int result = e->lock != NULL ? enter_lock(e) : enter_semaphore(e);
        if (result != HF_OK)
            atomic_fetch_add(&e->g->failures, 1);
    }
    return NULL;
}

/* All but the thread is filled in. */
static void run_all(entrant *all, int threads) {
    for (int i = 0; i < threads; i++)
        if (pthread_create(&all[i].thread, NULL, enter, &all[i]) != 0)
            abort();
    for (int i = 0; i < threads; i++)
        pthread_join(all[i].thread, NULL);
}

void hf_test_contend_with(hf_client *client, const char *name,
                          const hf_lock_options *options, hf_test_guarded *g,
                          int threads, int rounds) {
    entrant *all = calloc((size_t)threads, sizeof *all);
    /* Permits are their handle's, so that every thread needs one. */
    bool apart = options != NULL && options->kind == HF_PERMIT;
    int made = 0;
    for (int i = 0; all != NULL && i < threads; i++) {
        all[i] = (entrant){.lock = all[0].lock, .g = g, .rounds = rounds};
        if ((apart || i == 0) &&
            hf_lock_new(&all[i].lock, client, name, options, NULL) != HF_OK)
            break;
        made++;
    }
    if (made == threads)
        run_all(all, threads);
    else
        atomic_fetch_add(&g->failures, 1);
    for (int i = 0; i < (apart ? made : made > 0); i++)
        hf_lock_free(all[i].lock);
    free(all);
}

void hf_test_contend(hf_client *client, const char *name, hf_test_guarded *g,
                     int threads, int rounds) {
    hf_test_contend_with(client, name, NULL, g, threads, rounds);
}

void hf_test_contend_for_permit(hf_client *client, const char *name,
                                hf_test_guarded *g, int threads, int rounds) {
    entrant *all = calloc((size_t)threads, sizeof *all);
    hf_semaphore *sem = NULL;
    if (all != NULL && hf_semaphore_new(&sem, client, name, NULL) == HF_OK) {
        for (int i = 0; i < threads; i++)
            all[i] = (entrant){.sem = sem, .g = g, .rounds = rounds};
        run_all(all, threads);
    } else {
        atomic_fetch_add(&g->failures, 1);
    }
    hf_semaphore_free(sem);
    free(all);
}
