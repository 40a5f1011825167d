/* SPDX-License-Identifier: MIT
 *
 * ours.c - the worker of ours: holdfast as it is shipped, nothing set. */
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast.h>

enum { PATIENCE_MS = 20000 };

static hf_client *client;

typedef struct taken {
    hf_lock *lock; /* or */
    hf_semaphore *semaphore;
} taken;

static bool fine(int result, const hf_error *err, char *why) {
    if (result == HF_OK)
        return true;
    snprintf(why, WORKER_WHY, "%s", result == HF_BUSY ? "busy" : err->text);
    return false;
}

static const char *open_store(const char *uri, char *why) {
    hf_error err;

    return fine(hf_open(&client, uri, NULL, &err), &err, why) ? hf_version() :
                                                                NULL;
}

static void close_store(void) {
    hf_close(client);
}

/* The other process may have been first. */
static bool set_permits(const char *kind, const char *name, int permits,
                        char *why) {
    hf_semaphore *semaphore;
    hf_error err;
    int result;

    (void)kind;
    if (!permits)
        return true;
    if (!fine(hf_semaphore_new(&semaphore, client, name, &err), &err, why))
        return false;
    result = hf_semaphore_set(semaphore, permits, 0, &err);
    hf_semaphore_free(semaphore);
    return result == HF_BUSY || fine(result, &err, why);
}

static hf_kind kind_of(const char *word) {
    return strcmp(word, "fair") == 0   ? HF_FAIR :
           strcmp(word, "read") == 0   ? HF_READ :
           strcmp(word, "permit") == 0 ? HF_PERMIT :
                                         HF_LOCK;
}

static void leave(void *joined) {
    taken *t = joined;

    hf_lock_free(t->lock);
    if (t->semaphore)
        hf_semaphore_free(t->semaphore);
    free(t);
}

static void *join(const char *kind, const char *name, char *why) {
    hf_lock_options o = HF_LOCK_OPTIONS_INIT;
    taken *t = calloc(1, sizeof *t);
    hf_error err;
    int result;

    if (!t)
        abort();
    o.kind = kind_of(kind);
    result = strcmp(kind, "semaphore") == 0 ?
                 hf_semaphore_new(&t->semaphore, client, name, &err) :
                 hf_lock_new(&t->lock, client, name, &o, &err);
    if (fine(result, &err, why))
        return t;
    leave(t);
    return NULL;
}

static bool take(void *joined, char *why) {
    taken *t = joined;
    hf_error err;

    return fine(t->lock ?
                    hf_lock_acquire(t->lock, PATIENCE_MS, &err) :
                    hf_semaphore_acquire(t->semaphore, 1, PATIENCE_MS, &err),
                &err, why);
}

static bool give(void *joined, char *why) {
    taken *t = joined;
    hf_error err;

    return fine(t->lock ? hf_lock_release(t->lock, &err) :
                          hf_semaphore_release(t->semaphore, 1, &err),
                &err, why);
}

int worker_main(void) {
    static const worker_side side = {open_store, set_permits, join,       take,
                                     give,       leave,       close_store};

    return worker_run(&side);
}
