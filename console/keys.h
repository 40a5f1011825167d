/* SPDX-License-Identifier: MIT
 *
 * keys.h - who may use the console: tokens from a file, and the sessions of
 * browsers that have shown one. */
#ifndef CONSOLE_KEYS_H
#define CONSOLE_KEYS_H

#include <stdbool.h>
#include <stddef.h>

enum { KEYS_TOKEN = 256, KEYS_SESSION = 65, KEYS_SESSION_HOURS = 12 };

typedef struct keys keys;

/* Reads 'OPERATOR TOKEN', or a lone TOKEN, on each line.  NULL after saying
 * why. */
keys *keys_read(const char *path);
void keys_free(keys *k); /* NULL is allowed */

/* Whose token or session it is; NULL: nobody's.  Lent. */
const char *keys_operator(keys *k, const char *token);
const char *keys_session(keys *k, const char *session);

/* A session for an operator; false: no randomness. */
bool keys_begin(keys *k, const char *operator_,
                char session[static KEYS_SESSION]);
void keys_end(keys *k, const char *session);

/* Takes as long for texts that differ early as for those that differ late. */
bool keys_equal(const char *a, const char *b);

#endif
