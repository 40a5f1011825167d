/* SPDX-License-Identifier: MIT
 *
 * environment.h - what the command that `run` starts is told, and what we are
 * told when such a command is ourselves. */
#ifndef CLI_ENVIRONMENT_H
#define CLI_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct environment {
    const char *const *names; /* n of them, the first is the one */
    const uint64_t *tokens;
    int n;
    const char *store; /* as the command may use it               */
    const char *where; /* as the library resolved it, to compare  */
    const char *owner;
    bool shares; /* others may hold it beside us                  */
} environment;

/* Does a `holdfast run` we are part of hold this name there?  Then waiting for
 * it would never end, unless both can share it. */
bool environment_holds(const char *name, const char *where, bool shares);

/* Our environment with HOLDFAST_LOCK and its kin set; NULL without memory. */
char **environment_make(const environment *e);
void environment_free(char **env);

#endif
