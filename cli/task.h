/* SPDX-License-Identifier: MIT
 *
 * task.h - a command that runs under a grant, from its words to the release:
 * what `run` and `lead` share. */
#ifndef CLI_TASK_H
#define CLI_TASK_H

#include "claim.h"
#include "outcome.h"
#include "supervise.h"

enum { TASK_GRACE_UNSET = -1 };

typedef struct task_options {
    claim_options claim;
    const char *command, *on_lost, *owner, *metrics_file;
    int kill_after_ms, lost_signal;
    bool idle; /* it may do without a command */
} task_options;

extern const option_row task_rows[];

#define TASK_OPTIONS_INIT                                                      \
    { .claim = CLAIM_OPTIONS_INIT, .kill_after_ms = TASK_GRACE_UNSET }

typedef struct task {
    signals signals;
    grant_wish wish;
    grant grant;
    loss_plan plan;
    char **words; /* of the command; NULL: there is none                  */
    char why[300];
    int signal; /* the last that asked us to leave; 0: none               */
    outcome out;
} task;

/* Takes the signals over, before anything else; an exit status. */
int task_begin(task *t);

/* Reads the rest of the command line, behind NAME, and makes the wish and the
 * plan.  Nothing is asked of the store before all of it makes sense.  0, or an
 * exit status after complaining. */
int task_read(task *t, const command *cmd, task_options *o, const char *name,
              char **rest);

/* The words by which the shell runs a string. */
char **task_shell(const char *string, char *words[static 4]);

/* When it was granted: takes the owner and the token down. */
void task_granted(task *t);

/* Runs words under the grant until they are gone.  t->out says how they ended;
 * true: the lock was lost meanwhile. */
bool task_run(task *t, char **words);

/* Gives it back, others getting in only at_least_ms after it was granted; a
 * lock that turns out to be lost goes into t->out. */
void task_give_back(task *t, bool lost, int at_least_ms);

#endif
