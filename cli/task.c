/* SPDX-License-Identifier: MIT
 *
 * task.c - a command that runs under a grant.
 *
 * The order is the promise.  The command is not started before the lock is
 * held; the lock is not given back before the command is gone; and whatever
 * the command returned, a lock that was lost on the way is what we report. */
#include "task.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../view/kind.h"
#include "environment.h"
#include "job.h"
#include "moment.h"
#include "options.h"

enum { DEFAULT_GRACE_MS = 5000 };

#define AT(field) offsetof(task_options, field)
const option_row task_rows[] = {
    {'c', "command", "STRING", OPTION_TEXT, AT(command),
     "run STRING by the shell instead of COMMAND"},
    {0, "on-lost", "ACTION", OPTION_TEXT, AT(on_lost),
     "term, kill, a signal, or ignore (term)"},
    {0, "lost-signal", "SIGNAL", OPTION_SIGNAL, AT(lost_signal),
     "the first signal when the lock is lost (TERM)"},
    {'k', "kill-after", "DURATION", OPTION_DURATION, AT(kill_after_ms),
     "then SIGKILL after this (5s, or the lease if shorter)"},
    {0, "owner", "TEXT", OPTION_TEXT, AT(owner),
     "who runs it, shown in front of the reason"},
    {0, "metrics-file", "FILE", OPTION_TEXT, AT(metrics_file),
     "write what was counted there at the end, for Prometheus"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

int task_begin(task *t) {
    if (signals_take(&t->signals))
        return 0;
    complain("cannot take signals over: %s", strerror(errno));
    return EXIT_SOFTWARE;
}

/* ---- what was asked ---------------------------------------------------- */

static int lost_signal(const command *cmd, const task_options *o) {
    const char *what = o->on_lost ? o->on_lost : "term";
    int sig = signals_number(what);
    if (strcmp(what, "ignore") == 0)
        return 0;
    if (sig == 0)
        options_refuse(
            cmd, "--on-lost: '%s' is not term, kill, ignore or a signal", what);
    return o->lost_signal != 0 ? o->lost_signal : sig;
}

static void plan_loss(task *t, const command *cmd, const task_options *o) {
    int lease_ms = t->wish.lease_ms;
    loss_plan *plan = &t->plan;
    plan->signal = lost_signal(cmd, o);
    plan->grace_ms = lease_ms < DEFAULT_GRACE_MS ? lease_ms : DEFAULT_GRACE_MS;
    if (o->kill_after_ms != TASK_GRACE_UNSET)
        plan->grace_ms = o->kill_after_ms;
    if (plan->signal == SIGKILL)
        plan->grace_ms = 0;
    if (plan->signal != 0 && plan->grace_ms > lease_ms)
        complain("--kill-after is longer than the lease: a command that is "
                 "slow to stop may run beside the next holder");
}

char **task_shell(const char *string, char *words[static 4]) {
    const char *shell = getenv("SHELL");
    words[0] = (char *)(shell && *shell ? shell : "/bin/sh");
    words[1] = "-c";
    words[2] = (char *)string;
    words[3] = NULL;
    return words;
}

static char **command_words(const command *cmd, const task_options *o,
                            char **rest) {
    static char *shell[4];
    if (!o->command && rest[0] && strcmp(rest[0], "--") == 0)
        rest++;
    if (o->command && rest[0])
        options_refuse(cmd, "-c takes one string; '%s' is too much", rest[0]);
    if (o->command)
        return task_shell(o->command, shell);
    if (!rest[0] && !o->idle)
        options_refuse(cmd, "which command?  holdfast %s NAME -- COMMAND",
                       cmd->name);
    return rest[0] ? rest : NULL;
}

/* Those who wait want to know what runs, not that we do. */
static void introduce(task *t, const task_options *o) {
    const char *why = t->wish.settings->won[SET_WHY].value;
    if (t->words)
        t->wish.program = basename(t->words[0]);
    if (!o->owner)
        return;
    snprintf(t->why, sizeof(t->why), "%.128s%s%.128s", o->owner,
             *why ? ": " : "", why);
    t->wish.why = t->why;
}

int task_read(task *t, const command *cmd, task_options *o, const char *name,
              char **rest) {
    int status;
    t->words = command_words(cmd, o, rest);
    status = claim_wish(cmd, &o->claim, name, &t->wish);
    if (status != 0)
        return status;
    introduce(t, o);
    plan_loss(t, cmd, o);
    return 0;
}

/* ---- running ----------------------------------------------------------- */

void task_granted(task *t) {
    const grant *g = &t->grant;
    t->out = (outcome){.word = "held"};
    grant_tokens(g, t->out.tokens);
    hf_lock_owner(g->members[0], t->out.owner, sizeof(t->out.owner));
}

static char **environment_of(const task *t) {
    const char *names[GRANT_MOST];
    int n = wish_names(&t->wish);
    for (int i = 0; i < n; i++)
        names[i] = wish_name(&t->wish, i);
    return environment_make(&(environment){
        .names = names,
        .tokens = t->out.tokens,
        .n = n,
        .store = settings_handed_down(t->wish.settings, t->grant.client),
        .where = hf_store(t->grant.client),
        .owner = t->out.owner,
        .shares = kind_shares(t->wish.kind)});
}

static void failed_to_start(task *t, const char *program, int status) {
    complain("cannot run '%s': %s", program, strerror(errno));
    t->out.exit = status;
    t->out.word = status == EXIT_NOT_FOUND      ? "not-found" :
                  status == EXIT_NOT_EXECUTABLE ? "not-executable" :
                                                  "error";
}

static void ended(task *t, const job *j) {
    int status = j->status;
    if (j->signal != 0)
        t->signal = j->signal;
    t->out.ran = true;
    t->out.status = status;
    t->out.word = WIFSIGNALED(status) ? "killed" : "exited";
    t->out.exit = WIFSIGNALED(status) ? EXIT_SIGNAL + WTERMSIG(status) :
                                        WEXITSTATUS(status);
}

bool task_run(task *t, char **words) {
    job j = {.grace_ms = t->plan.grace_ms};
    char **env = environment_of(t);
    int status = EXIT_SOFTWARE;
    bool lost;
    errno = ENOMEM;
    if (env)
        status = job_start(&j, words, env, &t->signals);
    environment_free(env);
    if (status != 0) {
        failed_to_start(t, words[0], status);
        return false;
    }
    lost = supervise(&j, &t->grant, &t->signals, &t->plan);
    job_done(&j);
    ended(t, &j);
    return lost;
}

/* A release may be the first to hear that the lock was gone. */
void task_give_back(task *t, bool lost, int at_least_ms) {
    grant *g = &t->grant;
    int64_t left = g->since + at_least_ms - moment_now();
    int result = grant_release(g, left > 0 && !lost ? (int)left : 0);
    t->out.held_ms = moment_now() - g->since;
    if (result == HF_ELOST && !lost)
        complain("lost the %s '%s' before it was released: %s",
                 kind_title(t->wish.kind), grant_name(g),
                 hf_strerror(HF_ELOST));
    else if (result != HF_OK && !lost)
        complain("'%s' was not released, its lease will end it: %s",
                 grant_name(g), g->err.text);
    else if (t->wish.settings->verbose && !lost)
        complain("released '%s'", grant_name(g));
    if (lost || result == HF_ELOST) {
        t->out.word = "lost";
        t->out.exit = EXIT_LOST;
    }
}
