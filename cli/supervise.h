/* SPDX-License-Identifier: MIT
 *
 * supervise.h - a command that runs under a lock: signals go on to it, and if
 * the lock is lost it is stopped. */
#ifndef CLI_SUPERVISE_H
#define CLI_SUPERVISE_H

#include "grant.h"
#include "job.h"

/* What to do when the lock is lost. */
typedef struct loss_plan {
    int signal;   /* the first one; 0: let the command run on             */
    int grace_ms; /* then SIGKILL                                         */
    int at_most_ms;
} loss_plan;

/* Returns when the command is gone; nothing was released.  True: the lock was
 * lost before that, and it was said on stderr. */
bool supervise(job *j, grant *g, const signals *s, const loss_plan *plan);

#endif
