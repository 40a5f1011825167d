/* SPDX-License-Identifier: MIT
 *
 * lead.c - `holdfast lead NAME COMMAND`: of all who lead under a name one runs
 * its command, and the others stand by.
 *
 *               granted                    lost
 *   standing by ───────► leading: a term ───────► standing by, and so on
 *        │                      │
 *        │ signal               │ the command ended, or a signal ended it
 *        ▼                      ▼
 *      leave            give it back, leave
 *
 * A term is --on-gain, then the command, then --on-loss; the lock is given
 * back behind the last of them.  Each term has a client of its own: what the
 * store was like in the last one does not matter. */
#include <poll.h>
#include <stdio.h>

#include "command.h"
#include "keep.h"
#include "metrics.h"
#include "notify.h"
#include "options.h"
#include "task.h"
#include "text.h"

enum { AGAIN_MS = 1000 };

typedef struct lead_options {
    task_options task;
    const char *on_gain, *on_loss;
} lead_options;

#define AT(field) offsetof(lead_options, field)
static const option_row rows[] = {
    {0, "on-gain", "STRING", OPTION_TEXT, AT(on_gain),
     "first run STRING by the shell when we begin to lead"},
    {0, "on-loss", "STRING", OPTION_TEXT, AT(on_loss),
     "at last run STRING by the shell when we no longer do"},
    {0, "fair", NULL, OPTION_FLAG, AT(task.claim.fair),
     "who has stood by longest leads next"},
    {0, "replicas", "N", OPTION_TEXT, AT(task.claim.replicas),
     "Redis: so many must confirm it; majority, all"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

static const option_row *const shared_rows[] = {task_rows,
                                                settings_hold_options, NULL};

typedef struct lead {
    lead_options options;
    task task;
    bool opened; /* the store, once at least                              */
    bool away;   /* and we have said that it is not there                 */
} lead;

static int read_command_line(lead *l, const command *cmd, int argc,
                             char **argv) {
    lead_options *o = &l->options;
    char *name = NULL;
    int status, first = options_read(cmd, o, &name, argc, argv);
    if (!name)
        options_refuse(cmd, "which name?  holdfast lead NAME -- COMMAND");
    o->task.idle = o->on_gain || o->on_loss;
    status = task_read(&l->task, cmd, &o->task, name, argv + first);
    if (status == 0 && l->task.plan.signal == 0)
        options_refuse(cmd,
                       "--on-lost=ignore cannot work here: two would lead");
    return status;
}

/* ---- a term ------------------------------------------------------------ */

/* True: the lock was lost meanwhile. */
static bool run_hook(lead *l, const char *hook) {
    char *words[4];
    return hook && task_run(&l->task, task_shell(hook, words));
}

static bool hold_office(lead *l) {
    task *t = &l->task;
    int status;
    if (t->words)
        return task_run(t, t->words);
    status = keep(&t->grant, &t->signals, -1);
    t->signal = status > EXIT_SIGNAL ? status - EXIT_SIGNAL : 0;
    t->out.exit = status;
    return status == EXIT_LOST;
}

/* It is to clean up, so it is not stopped, nor does it matter how it ends. */
static bool run_last_hook(lead *l) {
    task *t = &l->task;
    loss_plan plan = t->plan;
    outcome out = t->out;
    bool lost;
    t->plan.signal = 0;
    lost = run_hook(l, l->options.on_loss);
    t->plan = plan;
    t->out = out;
    return lost;
}

static void say_leading(const task *t) {
    char waited[24];
    notify("STATUS=leading '%s'", t->wish.name);
    if (t->wish.settings->verbose)
        complain("leading '%s' after %s, token %llu, in %s", t->wish.name,
                 text_span(t->grant.since - t->grant.asked, waited),
                 (unsigned long long)t->out.tokens[0],
                 hf_store(t->grant.client));
}

/* True: a loss ended it, and another term may follow. */
static bool serve(lead *l) {
    task *t = &l->task;
    bool lost, lost_late;
    task_granted(t);
    say_leading(t);
    lost = run_hook(l, l->options.on_gain);
    if (!lost && t->signal == 0 && t->out.exit == 0)
        lost = hold_office(l);
    lost_late = run_last_hook(l);
    task_give_back(t, lost || lost_late, 0);
    return lost && t->signal == 0;
}

/* ---- the terms --------------------------------------------------------- */

/* Who has once reached the store outlives its absence; who never has is told
 * at once that something is wrong. */
static bool stands_by(lead *l) {
    const grant *g = &l->task.grant;
    struct pollfd fd = {.fd = l->task.signals.fd, .events = POLLIN};
    if (g->signal != 0 || !l->opened ||
        status_of(g->result) != EXIT_UNAVAILABLE)
        return false;
    if (!l->away)
        complain("%s; standing by", g->err.text);
    l->away = true;
    poll(&fd, 1, AGAIN_MS);
    return true;
}

/* True: once more. */
static bool stand(lead *l) {
    task *t = &l->task;
    bool again;
    grant_ask(&t->grant, &t->wish, &t->signals);
    settings_hint(t->wish.settings);
    l->opened = l->opened || t->grant.client;
    if (t->grant.result == HF_OK) {
        l->away = false;
        again = serve(l);
        if (again)
            complain("no longer leading '%s'; standing by", t->wish.name);
    } else {
        again = stands_by(l);
        if (!again)
            t->out.exit = grant_refused(&t->grant, EXIT_BUSY);
    }
    metrics_write(l->options.task.metrics_file, t->grant.client);
    grant_close(&t->grant);
    return again;
}

static int run_lead(const command *cmd, int argc, char **argv) {
    static lead l = {.options = {.task = TASK_OPTIONS_INIT}};
    int status = task_begin(&l.task);
    if (status == 0)
        status = read_command_line(&l, cmd, argc, argv);
    if (status != 0)
        return status;
    notify("READY=1\nSTATUS=standing by for '%s'", l.task.wish.name);
    while (stand(&l))
        ;
    notify("STOPPING=1");
    return l.task.out.exit;
}

const command lead_command = {
    .name = "lead",
    .operands = "NAME [--] [COMMAND [ARGUMENT...]]",
    .summary = "Run a command while leading, else stand by.",
    .about =
        "Of all who lead under a name one runs its command; the others stand\n"
        "by, and when it has ended or its host is gone one of them takes over.\n"
        "Who is no longer the leader stops its command as 'run' does, and\n"
        "stands by again.  When the command ends by itself, so do we.\n"
        "\n"
        "--on-gain runs before the command, which is not started if it fails;\n"
        "--on-loss runs when the command is gone, whatever ended the term.\n"
        "With one of them the command may be left out: then we lead until a\n"
        "signal comes.\n"
        "\n"
        "Exit: the command's own status, or that of --on-gain; 128+n if\n"
        "signal n came while standing by or without a command; 69, 77, 78, 64,\n"
        "126 and 127 as of 'run'.  A store that goes away after it was reached\n"
        "once is waited for.\n"
        "\n"
        "All three find HOLDFAST_LOCK, HOLDFAST_TOKEN and the rest in their\n"
        "environment, as for 'run'.",
    .options = rows,
    .shared = shared_rows,
    .max_operands = 1,
    .store = true,
    .run = run_lead,
};
