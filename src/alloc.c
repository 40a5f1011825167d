/* SPDX-License-Identifier: MIT
 *
 * alloc.c - the library's memory, from whom the program says.
 *
 * The allocator is chosen once, before the first byte is taken, so that every
 * block returns to where it came from and nobody has to ask whose it is. */
#include "alloc.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "options.h"

static hf_allocator chosen; /* alloc is NULL: libc's */
static atomic_bool in_use;  /* too late to choose */

int hf_set_allocator(const hf_allocator *allocator, hf_error *err) {
    hf_allocator given;
    int rc =
        hf__options_copy(&given, sizeof given, allocator, "hf_allocator", err);

    if (rc != HF_OK)
        return rc;
    if (!given.alloc || !given.resize || !given.release)
        return hf__fail(err, HF_EUSAGE,
                        "an allocator has all of alloc, resize and release");
    if (atomic_load(&in_use))
        return hf__fail(err, HF_EUSAGE,
                        "the library has memory already: set the allocator "
                        "before anything else of it is called");
    chosen = given;
    return HF_OK;
}

/* Who writes it only once keeps it in every processor's cache. */
static void begin(void) {
    if (!atomic_load_explicit(&in_use, memory_order_relaxed))
        atomic_store_explicit(&in_use, true, memory_order_relaxed);
}

void *hf__malloc(size_t size) {
    begin();
    size += !size;
    return chosen.alloc ? chosen.alloc(chosen.arg, size) : malloc(size);
}

void *hf__calloc(size_t n, size_t size) {
    void *p;

    begin();
    if (!chosen.alloc)
        return calloc(n + !n, size);
    if (__builtin_mul_overflow(n, size, &size))
        return NULL;
    size += !size;
    p = chosen.alloc(chosen.arg, size);
    return p ? memset(p, 0, size) : NULL;
}

void *hf__realloc(void *old, size_t size) {
    if (!old)
        return hf__malloc(size);
    size += !size;
    return chosen.alloc ? chosen.resize(chosen.arg, old, size) :
                          realloc(old, size);
}

void *hf__reallocarray(void *old, size_t n, size_t size) {
    return __builtin_mul_overflow(n, size, &size) ? NULL :
                                                    hf__realloc(old, size);
}

void hf__free(void *p) {
    if (!chosen.alloc)
        free(p);
    else if (p)
        chosen.release(chosen.arg, p);
}

/* ---- texts ------------------------------------------------------------- */

char *hf__strndup(const char *text, size_t most) {
    size_t n = strnlen(text, most);
    char *copy = hf__malloc(n + 1);

    if (!copy)
        return NULL;
    memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

char *hf__strdup(const char *text) {
    return hf__strndup(text, SIZE_MAX);
}

char *hf__foreign_strdup(const char *text) {
    return strdup(text);
}

int hf__asprintf(char **ret, const char *format, ...) {
    va_list ap, again;
    int n;

    *ret = NULL;
    va_start(ap, format);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, format, ap);
    if (n >= 0 && (*ret = hf__malloc((size_t)n + 1)))
        vsnprintf(*ret, (size_t)n + 1, format, again);
    va_end(again);
    va_end(ap);
    return *ret ? n : -1;
}

/* ---- a stream ---------------------------------------------------------- */

typedef struct memstream {
    char **text;
    size_t n, room; /* written, and what *text has room for */
    bool failed;
} memstream;

static ssize_t append(void *cookie, const char *bytes, size_t n) {
    memstream *m = cookie;

    if (m->room - m->n <= n) {
        size_t room = 2 * (m->n + n) + 1;
        char *wide = hf__realloc(*m->text, room);

        if (!wide) {
            m->failed = true;
            return 0; /* what stdio knows as an error */
        }
        *m->text = wide;
        m->room = room;
    }
    memcpy(*m->text + m->n, bytes, n);
    m->n += n;
    (*m->text)[m->n] = '\0';
    return (ssize_t)n;
}

/* stdio forgets an error of before the last bytes; we tell of it here. */
static int finish(void *cookie) {
    memstream *m = cookie;
    bool failed = m->failed;

    hf__free(m);
    return failed ? -1 : 0;
}

FILE *hf__memstream(char **ret) {
    memstream *m = hf__calloc(1, sizeof *m);
    FILE *f;

    *ret = NULL;
    if (!m)
        return NULL;
    m->text = ret;
    m->room = 1;
    *ret = hf__calloc(1, 1);
    f = *ret ? fopencookie(
                   m, "w",
                   (cookie_io_functions_t){.write = append, .close = finish}) :
               NULL;
    if (!f) {
        hf__free(*ret);
        *ret = NULL;
        hf__free(m);
    }
    return f;
}
