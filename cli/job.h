/* SPDX-License-Identifier: MIT
 *
 * job.h - the command that runs while the lock is held: its process group,
 * and the guard that stops it should we be killed. */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include <stdbool.h>
#include <sys/types.h>

#include "signals.h"

/* Another reason for the guard to stop the command. */
typedef struct job_watch {
    int fd;                  /* readable: look; negative: only now and then */
    bool (*over)(void *arg); /* must it stop?  Runs in the guard's process  */
    void *arg;
} job_watch;

typedef struct job {
    pid_t pid;
    bool own_group; /* false: it shares the terminal's foreground with us  */
    int guard;      /* a byte here says that all is well; EOF that it is not */
    pid_t guard_pid;
    const job_watch *watch; /* NULL: none                                  */
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

/* The same, and waits until a guard that watched something is gone, too.  0, or
 * its status as of waitpid: it exited if its watch was over and it stopped the
 * command, or was killed itself. */
int job_done_watching(const job *j);

/* The guard's life, in a process of its own.  `in` is where the job's pid
 * comes from, then a byte, or the end. */
_Noreturn void guard_watch(const job *of, int in);

/* Where the arguments of this process lie, so that the guard can take a name
 * of its own in `ps`. */
void guard_title(char **argv);

#endif
