/* SPDX-License-Identifier: MIT
 *
 * run.c - `holdfast run NAME COMMAND`: take the lock, run the command, give
 * the lock back. */
#include <fcntl.h>
#include <stdio.h>

#include "command.h"
#include "metrics.h"
#include "notify.h"
#include "options.h"
#include "task.h"
#include "text.h"

enum { NO_DESCRIPTOR = -1 };

typedef struct run_options {
    task_options task;
    bool skip, no_fork;
    int at_least_ms, at_most_ms, json_status;
} run_options;

#define AT(field) offsetof(run_options, field)
static const option_row rows[] = {
    {0, "skip", NULL, OPTION_FLAG, AT(skip),
     "do not wait: if it is held, exit with 0 in silence"},
    {0, "at-least", "DURATION", OPTION_DURATION, AT(at_least_ms),
     "others get in only so long after it was taken"},
    {0, "at-most", "DURATION", OPTION_DURATION, AT(at_most_ms),
     "the lock is lost after this, the command stopped"},
    {0, "json-status", "FD", OPTION_NUMBER, AT(json_status),
     "write how it ended to this descriptor, as JSON"},
    {'F', "no-fork", NULL, OPTION_FLAG, AT(no_fork),
     "refused: a lease needs a parent that renews it"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

static const option_row *const shared_rows[] = {
    wait_rows, claim_rows, settings_hold_options, task_rows, NULL};

/* One run, from the command line to the exit status. */
typedef struct run {
    run_options options;
    task task;
} run;

/* ---- what was asked ---------------------------------------------------- */

static void check(const command *cmd, const run_options *o) {
    int fd = o->json_status;
    if (o->no_fork)
        options_refuse(cmd,
                       "-F cannot work here: the lease must be renewed while "
                       "the command runs, and a parent has to do that");
    if (fd != NO_DESCRIPTOR && fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        options_refuse(cmd, "--json-status: descriptor %d is not open", fd);
}

static int read_command_line(run *r, const command *cmd, int argc,
                             char **argv) {
    run_options *o = &r->options;
    task *t = &r->task;
    char *name = NULL;
    int status, first = options_read(cmd, o, &name, argc, argv);
    if (!name)
        options_refuse(cmd, "which lock?  holdfast run NAME -- COMMAND");
    check(cmd, o);
    status = task_read(t, cmd, &o->task, name, argv + first);
    t->wish.at_most_ms = t->plan.at_most_ms = o->at_most_ms;
    if (o->skip)
        t->wish.wait_ms = 0;
    return status;
}

/* ---- what came of it --------------------------------------------------- */

static void not_held(run *r) {
    task *t = &r->task;
    const grant *g = &t->grant;
    bool busy = g->result == HF_BUSY || g->result == HF_ETIMEOUT;
    t->out.word = g->signal != 0 ? "interrupted" : !busy ? "error" : "busy";
    if (busy && r->options.skip)
        t->out.word = "skipped";
    else
        t->out.exit = grant_refused(g, r->options.task.claim.wait.conflict);
}

static void say_held(const task *t) {
    char waited[24];
    notify("READY=1\nSTATUS=holding '%s'", grant_name(&t->grant));
    if (t->wish.settings->verbose)
        complain("got '%s' after %s, token %llu, in %s", grant_name(&t->grant),
                 text_span(t->grant.since - t->grant.asked, waited),
                 (unsigned long long)t->out.tokens[0],
                 hf_lock_store(t->grant.members[0]));
}

static void held(run *r) {
    task *t = &r->task;
    bool lost;
    task_granted(t);
    say_held(t);
    lost = task_run(t, t->words);
    if (t->signal == 0)
        notify("STOPPING=1");
    task_give_back(t, lost, r->options.at_least_ms);
}

static int run_run(const command *cmd, int argc, char **argv) {
    static run r = {
        .options = {.task = TASK_OPTIONS_INIT, .json_status = NO_DESCRIPTOR},
        .task = {.out = {.held_ms = -1}}};
    task *t = &r.task;
    int status = task_begin(t);
    if (status == 0)
        status = read_command_line(&r, cmd, argc, argv);
    if (status != 0)
        return status;
    grant_ask(&t->grant, &t->wish, &t->signals);
    settings_hint(t->wish.settings);
    if (t->grant.result == HF_OK)
        held(&r);
    else
        not_held(&r);
    outcome_write(&t->out, &t->grant, r.options.json_status);
    metrics_write(r.options.task.metrics_file, t->grant.client);
    grant_close(&t->grant);
    return t->out.exit;
}

const command run_command = {
    .name = "run",
    .operands = "NAME [--] COMMAND [ARGUMENT...]",
    .summary = "Run a command while holding a lock.",
    .about =
        "The command starts when the lock is held and the lock is given back\n"
        "when the command has ended.  Should the lock be lost meanwhile, the\n"
        "command is stopped: SIGTERM, after the grace SIGKILL, exit 76.\n"
        "\n"
        "Without -s and -x it is a lock of its own: those two are the sides\n"
        "of a read-write lock.  Who wants to keep those out who use -s says\n"
        "-x; do not use one name with and without these letters.\n"
        "\n"
        "Exit: the command's own status, 128+n if signal n ended it; 75 not\n"
        "obtained, 76 lost, 69 store unreachable, 77 no permission, 78 bad\n"
        "configuration, 64 usage, 126 not executable, 127 not found, 128+n\n"
        "interrupted by signal n while waiting, nothing was run.\n"
        "\n"
        "With --also it holds all of these locks or none; what is said about\n"
        "the lock is said of each.\n"
        "\n"
        "The command finds HOLDFAST_LOCK, HOLDFAST_TOKEN, HOLDFAST_OWNER,\n"
        "HOLDFAST_STORE, HOLDFAST_TOKENS and HOLDFAST_HELD in its environment.",
    .options = rows,
    .shared = shared_rows,
    .max_operands = 1,
    .store = true,
    .run = run_run,
};
