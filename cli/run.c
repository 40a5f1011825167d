/* SPDX-License-Identifier: MIT
 *
 * run.c - `holdfast run NAME COMMAND`: take the lock, run the command, give
 * the lock back.
 *
 * The order is the promise.  The command is not started before the lock is
 * held; the lock is not given back before the command is gone; and whatever
 * the command returned, a lock that was lost on the way is what we report. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "environment.h"
#include "grant.h"
#include "job.h"
#include "moment.h"
#include "notify.h"
#include "options.h"
#include "outcome.h"
#include "status.h"
#include "supervise.h"
#include "text.h"
#include "wait_line.h"

enum { DEFAULT_GRACE_MS = 5000, NOT_GIVEN = -1 };

typedef struct run_options {
    settings settings;
    bool nonblock, skip, exclusive, shared, simple, no_fork;
    int wait_ms, conflict, permits, limit;
    int at_least_ms, at_most_ms, kill_after_ms, lost_signal, json_status;
    const char *on_lost, *owner, *command;
} run_options;

#define AT(field) offsetof(run_options, field)
static const option_row rows[] = {
    {'n', "nonblock", NULL, OPTION_FLAG, AT(nonblock),
     "do not wait: fail with 75 if it is held"},
    {0, "nb", NULL, OPTION_FLAG, AT(nonblock), NULL},
    {'w', "wait", "DURATION", OPTION_DURATION, AT(wait_ms),
     "wait no longer than this (default: for ever)"},
    {0, "timeout", "DURATION", OPTION_DURATION, AT(wait_ms), NULL},
    {'E', "conflict-exit-code", "N", OPTION_STATUS, AT(conflict),
     "exit with N instead of 75"},
    {0, "skip", NULL, OPTION_FLAG, AT(skip),
     "do not wait: if it is held, exit with 0 in silence"},
    {'c', "command", "STRING", OPTION_TEXT, AT(command),
     "run STRING by the shell instead of COMMAND"},
    {'x', "exclusive", NULL, OPTION_FLAG, AT(exclusive),
     "one holder at a time (the default)"},
    {'s', "shared", NULL, OPTION_FLAG, AT(shared),
     "refused: there are no shared locks yet"},
    {0, "permits", "N", OPTION_NUMBER, AT(permits),
     "refused: there are no semaphores yet"},
    {0, "limit", "M", OPTION_NUMBER, AT(limit),
     "refused: there are no semaphores yet"},
    {0, "simple", NULL, OPTION_FLAG, AT(simple),
     "Redis: the bare SET NX PX of small clients"},
    {0, "lease", "DURATION", OPTION_TEXT, AT(settings.flags[SET_LEASE]),
     "how long a dead holder blocks others (30s)"},
    {0, "ttl", "DURATION", OPTION_TEXT, AT(settings.flags[SET_LEASE]), NULL},
    {0, "at-least", "DURATION", OPTION_DURATION, AT(at_least_ms),
     "others get in only so long after it was taken"},
    {0, "at-most", "DURATION", OPTION_DURATION, AT(at_most_ms),
     "the lock is lost after this, the command stopped"},
    {0, "on-lost", "ACTION", OPTION_TEXT, AT(on_lost),
     "term, kill, a signal, or ignore (term)"},
    {0, "lost-signal", "SIGNAL", OPTION_SIGNAL, AT(lost_signal),
     "the first signal when the lock is lost (TERM)"},
    {'k', "kill-after", "DURATION", OPTION_DURATION, AT(kill_after_ms),
     "then SIGKILL after this (5s, or the lease if shorter)"},
    {0, "why", "TEXT", OPTION_TEXT, AT(settings.flags[SET_WHY]),
     "shown to everyone who waits"},
    {0, "owner", "TEXT", OPTION_TEXT, AT(owner),
     "who runs it, shown in front of the reason"},
    {0, "json-status", "FD", OPTION_NUMBER, AT(json_status),
     "write how it ended to this descriptor, as JSON"},
    {'F', "no-fork", NULL, OPTION_FLAG, AT(no_fork),
     "refused: a lease needs a parent that renews it"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

/* One run, from the command line to the exit status. */
typedef struct run {
    run_options options;
    signals signals;
    grant_wish wish;
    grant grant;
    loss_plan plan;
    char **words; /* of the command */
    char why[300];
    outcome out;
} run;

/* ---- what was asked ---------------------------------------------------- */

static int refuse_missing(const command *cmd, const run_options *o) {
    if (o->no_fork)
        options_refuse(cmd,
                       "-F cannot work here: the lease must be renewed while "
                       "the command runs, and a parent has to do that");
    if (!o->shared && o->permits == NOT_GIVEN && o->limit == NOT_GIVEN)
        return 0;
    complain("%s: this version has no %s yet; only exclusive locks",
             o->shared ? "--shared" : "--permits and --limit",
             o->shared ? "shared locks" : "semaphores");
    return EXIT_CONFIG;
}

static int lost_signal(const command *cmd, const run_options *o) {
    const char *what = o->on_lost ? o->on_lost : "term";
    int sig = signals_number(what);
    if (strcmp(what, "ignore") == 0)
        return 0;
    if (sig == 0)
        options_refuse(
            cmd, "--on-lost: '%s' is not term, kill, ignore or a signal", what);
    return o->lost_signal != 0 ? o->lost_signal : sig;
}

static void plan_loss(run *r, const command *cmd) {
    const run_options *o = &r->options;
    int lease_ms = r->wish.lease_ms;
    loss_plan *plan = &r->plan;
    plan->signal = lost_signal(cmd, o);
    plan->at_most_ms = o->at_most_ms;
    plan->grace_ms = lease_ms < DEFAULT_GRACE_MS ? lease_ms : DEFAULT_GRACE_MS;
    if (o->kill_after_ms != NOT_GIVEN)
        plan->grace_ms = o->kill_after_ms;
    if (plan->signal == SIGKILL)
        plan->grace_ms = 0;
    if (plan->signal != 0 && plan->grace_ms > lease_ms)
        complain("--kill-after is longer than the lease: a command that is "
                 "slow to stop may run beside the next holder");
}

static void check_json_status(const command *cmd, int fd) {
    if (fd != NOT_GIVEN && fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        options_refuse(cmd, "--json-status: descriptor %d is not open", fd);
}

static char **command_words(const command *cmd, const run_options *o,
                            char **rest) {
    static char *shell[] = {NULL, "-c", NULL, NULL};
    if (!o->command && rest[0] && strcmp(rest[0], "--") == 0)
        rest++;
    if (!o->command && !rest[0])
        options_refuse(cmd, "which command?  holdfast run NAME -- COMMAND");
    if (!o->command)
        return rest;
    if (rest[0])
        options_refuse(cmd, "-c takes one string; '%s' is too much", rest[0]);
    shell[0] = getenv("SHELL");
    if (!shell[0] || !*shell[0])
        shell[0] = "/bin/sh";
    shell[2] = (char *)o->command;
    return shell;
}

/* Nothing is asked of the store before all of the command line makes sense. */
static int read_command_line(run *r, const command *cmd, int argc,
                             char **argv) {
    run_options *o = &r->options;
    char *name = NULL;
    int status, first = options_read(cmd, o, &name, argc, argv);
    if (!name)
        options_refuse(cmd, "which lock?  holdfast run NAME -- COMMAND");
    r->words = command_words(cmd, o, argv + first);
    r->wish.name = name;
    check_json_status(cmd, o->json_status);
    status = refuse_missing(cmd, o);
    if (status == 0)
        status = settings_resolve(&o->settings);
    if (status == 0)
        status = settings_lease(&o->settings, &r->wish.lease_ms);
    if (status == 0)
        plan_loss(r, cmd);
    return status;
}

static void make_wish(run *r) {
    const run_options *o = &r->options;
    const char *why = o->settings.won[SET_WHY].value;
    r->wish.settings = &o->settings;
    r->wish.wait_ms = o->nonblock || o->skip ? 0 : o->wait_ms;
    r->wish.at_most_ms = o->at_most_ms;
    r->wish.simple = o->simple;
    /* Those who wait want to know what runs, not that we do. */
    r->wish.program = basename(r->words[0]);
    if (!o->owner)
        return;
    snprintf(r->why, sizeof(r->why), "%.128s%s%.128s", o->owner,
             *why ? ": " : "", why);
    r->wish.why = r->why;
}

/* ---- not obtained ------------------------------------------------------ */

static void give_up(run *r) {
    const run_options *o = &r->options;
    const grant *g = &r->grant;
    r->out.exit = o->skip ? 0 : o->conflict;
    r->out.word = o->skip ? "skipped" : "busy";
    if (o->skip)
        return;
    if (g->nested)
        complain("'%s' is held by a 'holdfast run' that this command is part "
                 "of: waiting for it would never end",
                 r->wish.name);
    else
        wait_line_failed(g->client, r->wish.name,
                         r->wish.wait_ms != 0 ? g->since - g->asked : 0);
}

static void not_held(run *r) {
    const grant *g = &r->grant;
    if (g->signal != 0) {
        wait_line_end(r->wish.name, g->signal);
        r->out.word = "interrupted";
        r->out.exit = EXIT_SIGNAL + g->signal;
    } else if (g->result == HF_BUSY || g->result == HF_ETIMEOUT) {
        give_up(r);
    } else {
        r->out.word = "error";
        r->out.exit = status_fail(&g->err);
    }
}

/* ---- held -------------------------------------------------------------- */

static void say_held(run *r) {
    const grant *g = &r->grant;
    char waited[24];
    notify("READY=1\nSTATUS=holding '%s'", r->wish.name);
    if (r->options.settings.verbose)
        complain("got '%s' after %s, token %llu, in %s", r->wish.name,
                 text_span(g->since - g->asked, waited),
                 (unsigned long long)r->out.token, hf_store(g->client));
}

static void failed_to_start(run *r, int status) {
    complain("cannot run '%s': %s", r->words[0], strerror(errno));
    r->out.exit = status;
    r->out.word = status == EXIT_NOT_FOUND      ? "not-found" :
                  status == EXIT_NOT_EXECUTABLE ? "not-executable" :
                                                  "error";
}

static void ended(run *r, int status) {
    r->out.ran = true;
    r->out.status = status;
    r->out.word = WIFSIGNALED(status) ? "killed" : "exited";
    r->out.exit = WIFSIGNALED(status) ? EXIT_SIGNAL + WTERMSIG(status) :
                                        WEXITSTATUS(status);
}

/* True: the lock was lost while the command ran. */
static bool run_job(run *r) {
    job j = {.grace_ms = r->plan.grace_ms};
    char **env = environment_make(&(environment){
        .name = r->wish.name,
        .store = settings_handed_down(&r->options.settings, r->grant.client),
        .where = hf_store(r->grant.client),
        .owner = r->out.owner,
        .token = r->out.token});
    int status = EXIT_SOFTWARE;
    bool lost;
    errno = ENOMEM;
    if (env)
        status = job_start(&j, r->words, env, &r->signals);
    if (status != 0) {
        failed_to_start(r, status);
        return false;
    }
    lost = supervise(&j, &r->grant, &r->signals, &r->plan);
    job_done(&j);
    ended(r, j.status);
    return lost;
}

/* A release may be the first to hear that the lock was gone. */
static void give_back(run *r, bool lost) {
    grant *g = &r->grant;
    int64_t left = g->since + r->options.at_least_ms - moment_now();
    int result = grant_release(g, left > 0 && !lost ? (int)left : 0);
    r->out.held_ms = moment_now() - g->since;
    if (result == HF_ELOST && !lost)
        complain("lost the lock '%s' before it was released: %s", r->wish.name,
                 hf_strerror(HF_ELOST));
    else if (result != HF_OK && !lost)
        complain("'%s' was not released, its lease will end it: %s",
                 r->wish.name, g->err.text);
    else if (r->options.settings.verbose && !lost)
        complain("released '%s'", r->wish.name);
    if (lost || result == HF_ELOST) {
        r->out.word = "lost";
        r->out.exit = EXIT_LOST;
    }
}

static void held(run *r) {
    r->out.token = hf_lock_token(r->grant.lock);
    hf_lock_owner(r->grant.lock, r->out.owner, sizeof(r->out.owner));
    say_held(r);
    give_back(r, run_job(r));
}

/* The grant may have won the race against a signal: nothing was run. */
static void obtain(run *r) {
    grant *g = &r->grant;
    if (grant_ask(g, &r->wish, &r->signals) == HF_OK && g->signal != 0) {
        grant_release(g, 0);
        g->result = HF_ECANCELLED;
    }
}

static int run_run(const command *cmd, int argc, char **argv) {
    static run r = {.options = {.wait_ms = HF_FOREVER,
                                .conflict = EXIT_BUSY,
                                .permits = NOT_GIVEN,
                                .limit = NOT_GIVEN,
                                .kill_after_ms = NOT_GIVEN,
                                .json_status = NOT_GIVEN},
                    .out = {.held_ms = -1}};
    int status;
    if (!signals_take(&r.signals)) {
        complain("cannot take signals over: %s", strerror(errno));
        return EXIT_SOFTWARE;
    }
    status = read_command_line(&r, cmd, argc, argv);
    if (status != 0)
        return status;
    make_wish(&r);
    obtain(&r);
    settings_hint(&r.options.settings);
    if (r.grant.result == HF_OK)
        held(&r);
    else
        not_held(&r);
    outcome_write(&r.out, &r.grant, r.options.json_status);
    grant_close(&r.grant);
    return r.out.exit;
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
        "Exit: the command's own status, 128+n if signal n ended it; 75 not\n"
        "obtained, 76 lost, 69 store unreachable, 77 no permission, 78 bad\n"
        "configuration, 64 usage, 126 not executable, 127 not found, 128+n\n"
        "interrupted by signal n while waiting, nothing was run.\n"
        "\n"
        "The command finds HOLDFAST_LOCK, HOLDFAST_TOKEN, HOLDFAST_OWNER,\n"
        "HOLDFAST_STORE and HOLDFAST_HELD in its environment.",
    .options = rows,
    .max_operands = 1,
    .store = true,
    .run = run_run,
};
