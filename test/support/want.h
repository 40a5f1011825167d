/* SPDX-License-Identifier: MIT
 *
 * want.h - how a program of tests comes to lack memory.
 *
 * It brings its own malloc, which also serves the libraries.  Under the address
 * sanitizer, which brings one, only calls of ours are taken (--wrap, see
 * CMakeLists.txt), but then leaks are seen.  Under the thread sanitizer no
 * allocation fails.  Only for the one file of a program.
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

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
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

#if defined HF_WRAPPED
#define TAKES(returns, name, declared, given)                                  \
    returns __real_##name declared;                                            \
    returns __wrap_##name declared;                                            \
    returns __wrap_##name declared {                                           \
        return fails() ? NULL : __real_##name given;                           \
    }
TAKES(void *, malloc, (size_t size), (size))
TAKES(void *, calloc, (size_t n, size_t size), (n, size))
TAKES(void *, realloc, (void *old, size_t size), (old, size))
TAKES(char *, strdup, (const char *text), (text))
TAKES(char *, strndup, (const char *text, size_t n), (text, n))
TAKES(FILE *, open_memstream, (char **text, size_t *size), (text, size))

int __wrap_asprintf(char **ret, const char *format, ...);
int __wrap___asprintf_chk(char **ret, int flag, const char *format, ...);

int __wrap_asprintf(char **ret, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int n = fails() ? -1 : vasprintf(ret, format, ap);
    va_end(ap);
    return n;
}

int __wrap___asprintf_chk(char **ret, int flag, const char *format, ...) {
    (void)flag;
    va_list ap;
    va_start(ap, format);
    int n = fails() ? -1 : vasprintf(ret, format, ap);
    va_end(ap);
    return n;
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
