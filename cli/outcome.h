/* SPDX-License-Identifier: MIT
 *
 * outcome.h - how a `run` ended, in full: an exit status may also be the
 * command's own. */
#ifndef CLI_OUTCOME_H
#define CLI_OUTCOME_H

#include "grant.h"

typedef struct outcome {
    const char *word; /* "exited", "killed", "busy", "lost", …              */
    int exit;         /* our own status                                     */
    bool ran;         /* the command was started                            */
    int status;       /* as of waitpid, if it ran                           */
    char owner[128];
    uint64_t tokens[GRANT_MOST]; /* of the names; 0: never held             */
    int64_t held_ms; /* -1: never held                                      */
} outcome;

/* One line of JSON to the descriptor; nothing if it is negative. */
void outcome_write(const outcome *o, const grant *g, int fd);

#endif
