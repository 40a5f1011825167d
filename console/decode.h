/* SPDX-License-Identifier: MIT
 *
 * decode.h - what a stranger wrote on the request line, taken apart.
 *
 * The path is split at its slashes first and each part is decoded once
 * afterwards, so that a name may have slashes and percent signs in it and
 * never becomes two parts. */
#ifndef CONSOLE_DECODE_H
#define CONSOLE_DECODE_H

#include <stdbool.h>
#include <stddef.h>

enum { TARGET_PARTS = 8, TARGET_PAIRS = 16, TARGET_MOST = 8192 };

typedef struct target_pair {
    const char *key, *value;
} target_pair;

/* "/api/v1/locks/a%2Fb?limit=5": parts "api", "v1", "locks", "a/b". */
typedef struct target {
    char *text; /* behind the strings */
    const char *parts[TARGET_PARTS];
    size_t n_parts;
    target_pair query[TARGET_PAIRS];
    size_t n_query;
} target;

/* NULL, or a phrase that says what is wrong. */
const char *target_read(target *t, const char *uri);
void target_free(target *t);

/* Of the first pair of that key, or NULL. */
const char *target_value(const target *t, const char *key);

/* Takes "a=1&b=2" apart where it stands, as in a query or a form.  NULL, or
 * what is wrong. */
const char *decode_pairs(char *text, target_pair *pairs, size_t *n);

/* Decodes %XX where it stands, once; false if it is malformed or hides a
 * NUL.  `plus`: a plus sign is a space. */
bool decode_percent(char *text, bool plus);

/* The name of a Host header without its port, brackets kept: "[::1]".  False
 * if it cannot be one. */
bool decode_host(const char *header, char *name, size_t size);

/* The value of one cookie of a Cookie header; false: it is not there, or too
 * long. */
bool decode_cookie(const char *header, const char *name, char *value,
                   size_t size);

#endif
