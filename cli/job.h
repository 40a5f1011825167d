/* SPDX-License-Identifier: MIT
 *
 * job.h - the command that runs while the lock is held: its process group,
 * and the guard that stops it should we be killed. */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include <stdbool.h>
#include <sys/types.h>

#include "signals.h"

typedef struct job {
    pid_t pid;
    bool own_group; /* false: it shares the terminal's foreground with us  */
    int guard;      /* a byte here says that all is well; EOF that it is not */
    pid_t guard_pid;
    int grace_ms; /* between TERM and KILL                                 */
    int status;   /* as of waitpid, once it is gone                        */
    int signal;   /* the last that asked us to leave; 0: none              */
} job;

/* Starts argv[0], found in PATH, and its guard.  0; or EXIT_NOT_FOUND,
 * EXIT_NOT_EXECUTABLE, EXIT_SOFTWARE with errno set. */
int job_start(job *j, char *const argv[], char *const env[], const signals *s);

/* To the command and all that belongs to it. */
void job_signal(const job *j, int sig);

/* Has the command ended?  Then status is set. */
bool job_reap(job *j);

/* Is something of its group still there? */
bool job_lingers(const job *j);

/* Tells the guard that the command is gone. */
void job_done(const job *j);

/* The guard's life, in a process of its own.  `in` is where the job's pid
 * comes from, then a byte, or the end. */
_Noreturn void guard_watch(int in, bool own_group, int grace_ms);

/* Where the arguments of this process lie, so that the guard can take a name
 * of its own in `ps`. */
void guard_title(char **argv);

#endif
