/* SPDX-License-Identifier: MIT
 *
 * alloc_fault_test.c - every allocation of a call fails once.
 *
 * A scenario is run again and again; in the n-th run the n-th allocation of
 * this thread finds no memory.  It ends when a run was not hit any more, so
 * that nobody has to know how many there are.  Nothing may crash or leak, and
 * afterwards the lock must be free, whatever the caller was told.
 *
 * This program brings its own malloc; the sanitizers bring theirs, and then
 * there is nothing to do here. */
#include "support/dir.h"
#include "support/server.h"
#include "support/stage.h"
#include "support/suite.h"

#include <errno.h>
#include <stdio.h>

#if defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#endif

/* How many allocations of this thread still succeed; 0: all do. */
static _Thread_local int until_failure;
static _Thread_local bool was_hit;

#ifndef SANITIZED
/* Seen by the libraries as well, which would otherwise use libc's own. */
#define SEEN __attribute__((visibility("default")))
SEEN void *malloc(size_t size);
SEEN void *calloc(size_t n, size_t size);
SEEN void *realloc(void *old, size_t size);
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static bool fails(void) {
    if (until_failure == 0 || --until_failure > 0)
        return false;
    was_hit = true;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size) {
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size) {
    return fails() ? NULL : __libc_realloc(old, size);
}
#endif

static const char *uri;
static hf_client *shared; /* opened before anything fails */

/* From nothing to a hold and back. */
static int open_and_lock(void) {
    hf_error err;
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    int rc = hf_open(&client, uri, NULL, &err);
    if (rc == HF_OK)
        rc = hf_lock_new(&lock, client, "x", NULL, &err);
    if (rc == HF_OK)
        rc = hf_lock_try(lock, &err);
    if (rc == HF_OK)
        rc = hf_lock_release(lock, &err);
    hf_lock_free(lock);
    hf_close(client);
    return rc;
}

/* The same in a client that works, with what else a lock can do. */
static int lock_and_look(void) {
    hf_error err;
    hf_lock *lock = NULL;
    int rc = hf_lock_new(&lock, shared, "x", NULL, &err);
    if (rc == HF_OK)
        rc = hf_lock_acquire(lock, 5000, &err);
    if (rc == HF_OK)
        rc = hf_lock_extend(lock, 20000, &err);
    if (rc == HF_OK && hf_lock_lost_fd(lock) < 0)
        rc = HF_ESYSTEM;
    if (rc == HF_OK)
        rc = hf_lock_release(lock, &err);
    hf_lock_free(lock);
    return rc;
}

/* Several as one. */
static int lock_several(void) {
    hf_error err;
    hf_lock *members[2] = {NULL, NULL}, *all = NULL;
    int rc = hf_lock_new(&members[0], shared, "x", NULL, &err);
    if (rc == HF_OK)
        rc = hf_lock_new(&members[1], shared, "y", NULL, &err);
    if (rc == HF_OK)
        rc = hf_multi_new(&all, members, 2, &err);
    if (rc == HF_OK)
        rc = hf_lock_acquire(all, 5000, &err);
    if (rc == HF_OK)
        rc = hf_lock_release(all, &err);
    hf_lock_free(all);
    hf_lock_free(members[0]);
    hf_lock_free(members[1]);
    return rc;
}

/* Long before its lease of 30 s ends. */
static void nobody_holds(const char *name, int n, int rc) {
    hf_lock *lock = hf_test_lock(shared, name, NULL);
    if (hf_lock_acquire(lock, 10000, ERR) != HF_OK)
        fail_msg("allocation %d failed, the answer was %s, and it is held", n,
                 hf_error_name(rc));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    hf_test_free(lock);
}

static void bears_it(int (*scenario)(void)) {
    enum { ENOUGH = 5000 };
    for (int n = 1; n < ENOUGH; n++) {
        was_hit = false;
        until_failure = n;
        int rc = scenario();
        until_failure = 0;
        if (!was_hit) {
            print_message("%d allocations\n", n - 1);
            assert_int_equal(rc, HF_OK);
            return;
        }
        nobody_holds("x", n, rc);
        nobody_holds("y", n, rc);
    }
    fail_msg("more than %d allocations", ENOUGH);
}

static void on(const char *store) {
    uri = store;
    shared = hf_test_open(uri, NULL);
    bears_it(open_and_lock);
    bears_it(lock_and_look);
    bears_it(lock_several);
    hf_test_clear();
}

static void memory_bears_the_want_of_memory(void **state) {
    (void)state;
    on("memory:alloc");
}

static void sqlite_bears_the_want_of_memory(void **state) {
    (void)state;
    char path[160], store[192];
    hf_test_fresh_path(path, sizeof path, "locks");
    snprintf(store, sizeof store, "sqlite:%s.db", path);
    on(store);
}

static void redis_bears_the_want_of_memory(void **state) {
    (void)state;
    hf_test_server *server = hf_test_server_start(NULL);
    on(hf_test_server_uri(server));
    hf_test_server_stop(server);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(memory_bears_the_want_of_memory),
    cmocka_unit_test(sqlite_bears_the_want_of_memory),
    cmocka_unit_test(redis_bears_the_want_of_memory),
};
HF_SUITE(tests)
