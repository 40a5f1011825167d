/* SPDX-License-Identifier: MIT
 *
 * guarded.c - enter, look around, count, leave. */
#include "guarded.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATIENCE = 60000 }; /* ms for one turn: longer is a hang */

typedef struct entrant {
    pthread_t thread;
    hf_lock *lock;
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

static void inside(hf_test_guarded *g, uint64_t token) {
    if (atomic_fetch_add(&g->inside, 1) != 0)
        atomic_fetch_add(&g->overlaps, 1);
    if (token <= atomic_exchange(&g->last_token, token))
        atomic_fetch_add(&g->disorders, 1);
    unsigned long long seen = atomic_load(&g->counter);
    sched_yield();
    atomic_store(&g->counter, seen + 1);
    atomic_fetch_sub(&g->inside, 1);
}

static void *enter(void *arg) {
    entrant *e = arg;
    for (int i = 0; i < e->rounds; i++) {
        int result = hf_lock_acquire(e->lock, PATIENCE, NULL);
        if (result == HF_OK) {
            inside(e->g, hf_lock_token(e->lock));
            result = hf_lock_release(e->lock, NULL);
        }
        if (result != HF_OK)
            atomic_fetch_add(&e->g->failures, 1);
    }
    return NULL;
}

void hf_test_contend(hf_client *client, const char *name, hf_test_guarded *g,
                     int threads, int rounds) {
    hf_lock *lock;
    entrant *all = calloc((size_t)threads, sizeof *all);
    if (all == NULL || hf_lock_new(&lock, client, name, NULL, NULL) != HF_OK) {
        atomic_fetch_add(&g->failures, 1);
        free(all);
        return;
    }
    for (int i = 0; i < threads; i++) {
        all[i] = (entrant){.lock = lock, .g = g, .rounds = rounds};
        if (pthread_create(&all[i].thread, NULL, enter, &all[i]) != 0)
            abort();
    }
    for (int i = 0; i < threads; i++)
        pthread_join(all[i].thread, NULL);
    hf_lock_free(lock);
    free(all);
}
