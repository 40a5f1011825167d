/* SPDX-License-Identifier: MIT
 *
 * want.h - how a program of tests comes to lack memory.
 *
 * It brings its own malloc, which also serves the libraries.  Under the address
 * sanitizer, which brings one, only our own memory lacks (hf_set_allocator),
 * but then leaks are seen.  Under the thread sanitizer no allocation fails.
 * Only for the one file of a program.
 *
 *     for (int n = 1;; n++) {
 *         was_hit = false;
 *         until_failure = n;
 *         int rc = what_allocates();
 *         until_failure = 0;
 *         if (!was_hit)
 *             break;
 *         assert_int_equal(rc, HF_ENO_MEMORY);
 *     } */
#ifndef HF_TEST_WANT_H
#define HF_TEST_WANT_H

#include "holdfast.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* How many allocations of this thread still succeed; 0: all do. */
static _Thread_local int until_failure;
static _Thread_local bool was_hit;

/* A place for a debugger to stop. */
static __attribute__((noinline)) void hit(void) {
    was_hit = true;
    errno = ENOMEM;
}

static inline bool fails(void) {
    if (until_failure == 0 || --until_failure > 0)
        return false;
    hit();
    return true;
}

#if defined HF_HOOKED
static void *want_alloc(void *arg, size_t size) {
    (void)arg;
    return fails() ? NULL : malloc(size);
}

static void *want_resize(void *arg, void *old, size_t size) {
    (void)arg;
    return fails() ? NULL : realloc(old, size);
}

static void want_release(void *arg, void *p) {
    (void)arg;
    free(p);
}

static __attribute__((constructor)) void want_begin(void) {
    const hf_allocator wanting = {.size = sizeof wanting,
                                  .alloc = want_alloc,
                                  .resize = want_resize,
                                  .release = want_release};
    if (hf_set_allocator(&wanting, NULL) != HF_OK)
        abort();
}
enum { ours_alone = true };
#elif !defined HF_SANITIZED
/* Seen by the libraries as well, which would otherwise use libc's own. */
#define SEEN __attribute__((visibility("default")))
SEEN void *malloc(size_t size);
SEEN void *calloc(size_t n, size_t size);
SEEN void *realloc(void *old, size_t size);
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size) {
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size) {
    return fails() ? NULL : __libc_realloc(old, size);
}
enum { ours_alone = false };
#else
enum { ours_alone = false };
#endif

#endif
