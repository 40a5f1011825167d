/* SPDX-License-Identifier: MIT
 *
 * cache-refresh.c - a hundred readers find that an entry of the cache is too
 * old, at the same moment.  How often is it computed anew?
 *
 *     cc cache-refresh.c $(pkg-config --cflags --libs holdfast) -o cache-refresh
 *     ./cache-refresh [STORE]
 *
 * Without a lock a hundred times: a stampede.  With a lock alone no longer at
 * the same time, but almost as often, one after the other.  Whoever got the lock
 * has to look again: then it is once.  Readers who cannot wait are served the
 * old value meanwhile.  refresh() is what you came for. */
#include "stage.h"

#include <holdfast.h>

enum {
    PROCESSES = 4,
    THREADS = 25, /* of each; they share a client and a handle */
    READERS = PROCESSES * THREADS,
    EXPIRIES = 3,
    COMPUTE_US = 3000,
    WAIT_MS = 20000
};

typedef enum manner { NO_LOCK, LOCK, LOCK_AND_LOOK_AGAIN } manner;

/* The cache, which all processes share, with one entry.  That is too old in
 * every hour but the one it was computed in. */
typedef struct cache {
    atomic_int hour_of_entry;
    atomic_int computed[EXPIRIES + 1]; /* by hour; there is none before 1 */
    atomic_int waited, stale;          /* readers, and what they got      */
    pthread_barrier_t together;        /* all have looked, or all are done */
} cache;

typedef struct reader {
    cache *cache;
    hf_lock *lock;
    manner manner;
    bool patient; /* waits for a fresh value, rather than take an old one */
    int hour;
} reader;

typedef struct process {
    cache *cache;
    const char *store;
    manner manner;
} process;

/* ---- a reader ---------------------------------------------------------- */

static bool is_fresh(const reader *r) {
    return atomic_load(&r->cache->hour_of_entry) == r->hour;
}

static void compute(reader *r) {
    stage_sleep_us(COMPUTE_US); /* a report, a big query */
    atomic_fetch_add(&r->cache->computed[r->hour], 1);
    atomic_store(&r->cache->hour_of_entry, r->hour);
}

/* The entry is too old.  HF_OK: it was computed, by us or by another; HF_BUSY:
 * another one does so now, and we take the old value. */
static int refresh(reader *r, hf_error *err) {
    int rc = hf_lock_acquire(r->lock, r->patient ? WAIT_MS : 0, err);
    if (rc != HF_OK)
        return rc;
    if (r->manner == LOCK_AND_LOOK_AGAIN && is_fresh(r))
        atomic_fetch_add(&r->cache->waited, 1); /* that is what we waited for */
    else
        compute(r);
    return hf_lock_release(r->lock, err);
}

static int get(reader *r, hf_error *err) {
    bool fresh = is_fresh(r);
    pthread_barrier_wait(&r->cache->together); /* the worst case, on purpose */
    if (fresh)
        return HF_OK;
    if (r->manner == NO_LOCK)
        return compute(r), HF_OK;
    int rc = refresh(r, err);
    if (rc == HF_BUSY)
        atomic_fetch_add(&r->cache->stale, 1);
    return rc == HF_BUSY ? HF_OK : rc;
}

/* A thread.  The first failure is told, and returned. */
static void *read_on(void *arg) {
    reader *r = arg;
    hf_error err;
    int failed = HF_OK;
    for (r->hour = 1; r->hour <= EXPIRIES; r->hour++) {
        int rc = get(r, &err);
        if (rc != HF_OK && failed == HF_OK) {
            fprintf(stderr, "a reader: %s\n", err.text);
            failed = rc;
        }
        pthread_barrier_wait(&r->cache->together);
    }
    return failed == HF_OK ? NULL : r;
}

static bool run_readers(const process *p, hf_lock *lock) {
    reader readers[THREADS];
    pthread_t threads[THREADS];
    void *failed;
    bool ok = true;
    for (int i = 0; i < THREADS; i++) {
        readers[i] = (reader){.cache = p->cache,
                              .lock = lock,
                              .manner = p->manner,
                              .patient = i % 2 == 0};
        stage_need(pthread_create(&threads[i], NULL, read_on, &readers[i]) == 0,
                   "pthread_create");
    }
    for (int i = 0; i < THREADS; i++)
        ok = pthread_join(threads[i], &failed) == 0 && !failed && ok;
    return ok;
}

/* The lock's owner is the thread, so that one handle serves all of them. */
static int serve(void *arg) {
    const process *p = arg;
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    hf_error err;
    bool ok = hf_open(&client, p->store, NULL, &err) == HF_OK &&
              hf_lock_new(&lock, client, "report", NULL, &err) == HF_OK;
    if (ok)
        ok = run_readers(p, lock);
    else
        fprintf(stderr, "%s\n", err.text);
    hf_lock_free(lock);
    hf_close(client);
    return ok ? 0 : 1;
}

/* ---- the show ---------------------------------------------------------- */

static cache *new_cache(void) {
    cache *c = stage_share(sizeof *c);
    stage_barrier(&c->together, READERS);
    return c;
}

static bool run(cache *c, const char *store, manner m) {
    process like = {.cache = c, .store = store, .manner = m};
    pid_t pids[PROCESSES];
    bool ok = true;
    for (int i = 0; i < PROCESSES; i++)
        pids[i] = stage_start(serve, &like);
    for (int i = 0; i < PROCESSES; i++)
        ok = stage_ended_well(pids[i]) && ok;
    return ok;
}

static void print(const char *how, const cache *c) {
    printf("%s: %d readers, computed", how, READERS);
    for (int hour = 1; hour <= EXPIRIES; hour++)
        printf(" %d", c->computed[hour]);
    printf(" times in %d expiries\n", EXPIRIES);
    if (c->waited + c->stale > 0)
        printf("    %d times a reader got what another one had computed, %d "
               "times the old value\n",
               c->waited, c->stale);
}

/* Computed once, and the old value served to nobody who wanted to wait. */
static bool once(const cache *c) {
    int others = 0;
    for (int hour = 1; hour <= EXPIRIES; hour++) {
        if (c->computed[hour] != 1)
            return false;
        others += READERS - 1;
    }
    return c->waited + c->stale == others;
}

int main(int argc, char **argv) {
    static const char *const how[] = {
        [NO_LOCK] = "without a lock",
        [LOCK] = "with a lock, without a second look",
        [LOCK_AND_LOOK_AGAIN] = "with a lock and a second look"};
    stage here;
    cache *caches[3];
    bool ok = true;
    stage_open(&here, argc > 1 ? argv[1] : NULL);
    for (int m = NO_LOCK; m <= LOCK_AND_LOOK_AGAIN; m++) {
        caches[m] = new_cache();
        ok = run(caches[m], here.store, (manner)m) && ok;
        print(how[m], caches[m]);
    }
    stage_close(&here);
    ok = ok && caches[NO_LOCK]->computed[1] == READERS &&
         caches[LOCK]->computed[1] > 1 && once(caches[LOCK_AND_LOOK_AGAIN]);
    return ok ? 0 : 1;
}
