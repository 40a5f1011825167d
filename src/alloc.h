/* SPDX-License-Identifier: MIT
 *
 * alloc.h - the library's memory, from whom the program says
 * (hf_set_allocator).
 *
 * What is taken here is given back by hf__free, and nothing else is.  What a
 * client library allocated is freed as it says; what it will free itself comes
 * from hf__foreign_strdup.  tools/check-alloc.sh holds src/ to that, and so
 * does gcc, which knows the pairs. */
#ifndef HF_ALLOC_H
#define HF_ALLOC_H

#include <stddef.h>
#include <stdio.h>

#if defined __GNUC__ && !defined __clang__ && __GNUC__ >= 11
#define HF_FREED_BY(fn) __attribute__((malloc, malloc(fn, 1)))
#else
#define HF_FREED_BY(fn) __attribute__((malloc))
#endif

void hf__free(void *p); /* NULL is allowed */

/* NULL: out of memory, and nothing else: no bytes are asked for as one. */
HF_FREED_BY(hf__free) void *hf__malloc(size_t size);
HF_FREED_BY(hf__free) void *hf__calloc(size_t n, size_t size);
void *hf__realloc(void *old, size_t size); /* NULL: `old` is as it was */
void *hf__reallocarray(void *old, size_t n, size_t size);
HF_FREED_BY(hf__free) char *hf__strdup(const char *text);
HF_FREED_BY(hf__free) char *hf__strndup(const char *text, size_t most);

/* The length, or -1 and *ret is NULL. */
int hf__asprintf(char **ret, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A stream whose text is in *ret once it is closed.  Whatever fclose answers,
 * that is to be freed; not 0: there was no memory for all of it.  The stream
 * itself is libc's. */
FILE *hf__memstream(char **ret);

/* libc's, for a library that will call free. */
char *hf__foreign_strdup(const char *text);

#endif
