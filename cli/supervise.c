/* SPDX-License-Identifier: MIT
 *
 * supervise.c - a command that runs under a lock.
 *
 *              lost                    grace over
 *   running ─────────► told to stop ───────────────► killed
 *      │   lose()            │          expire()        │
 *      └─────────────────────┴───────────┬──────────────┘
 *                                        ▼ the command has ended
 *                                      gone
 *
 * Whatever is left of the command's group when a lost lock has ended the
 * command is stopped too: it would run beside the next holder. */
#include "supervise.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../view/kind.h"
#include "moment.h"
#include "notify.h"
#include "place.h"
#include "status.h"
#include "text.h"

enum { LOOK_MS = 10 };

typedef struct watch {
    job *job;
    grant *grant;
    const signals *signals;
    const loss_plan *plan;
    bool lost, gone;
    int64_t renewed; /* the last renewal known to be good; 0: unknown */
    int64_t kill_at, beat_at;
} watch;

/* ---- signals ----------------------------------------------------------- */

/* What the terminal sent has reached the command already if it shares the
 * foreground with us. */
static void forward(watch *w, int sig, bool terminal) {
    if (w->job->own_group || !terminal)
        job_signal(w->job, sig);
    if (sig == SIGTSTP)
        kill(getpid(), SIGSTOP);
    if (!signals_ends(sig))
        return;
    if (w->job->signal == 0)
        notify("STOPPING=1");
    w->job->signal = sig;
}

static void heed_signals(watch *w) {
    bool terminal;
    int sig;
    while ((sig = signals_next(w->signals, &terminal)) != 0) {
        if (sig == SIGCHLD)
            w->gone = w->gone || job_reap(w->job);
        else if (!w->gone)
            forward(w, sig, terminal);
    }
}

/* ---- loss -------------------------------------------------------------- */

/* The store has just answered, so one more question is cheap: who has it? */
static void reason_of_loss(const watch *w, const char *name, int why, char *buf,
                           size_t size) {
    grant *g = w->grant;
    const hf_place *holder = NULL;
    hf_error err;
    lines all = {0};
    char who[600];
    if (w->plan->at_most_ms > 0 && why == HF_ETIMEOUT) {
        snprintf(buf, size, "it was held longer than --at-most allows");
        return;
    }
    snprintf(buf, size, "%s", hf_strerror(why));
    if (why != HF_ELOST || kind_shares(g->wish->kind))
        return;
    if (lines_list(&all, g->client, name, &err) == HF_OK)
        holder = place_holder(&all);
    if (holder && holder->pid != getpid()) {
        place_who(holder, who, sizeof(who));
        snprintf(buf, size, "now held by %s", who);
    }
    lines_free(&all);
}

static void say_lost(const watch *w, int why) {
    char reason[700], age[24], last[64] = "", grace[24], next[96];
    char sig[16];
    const char *name = grant_lost_name(w->grant);
    const loss_plan *plan = w->plan;
    reason_of_loss(w, name, why, reason, sizeof(reason));
    if (w->renewed > 0)
        snprintf(last, sizeof(last), ", last renewed %s ago",
                 text_span(moment_now() - w->renewed, age));
    if (w->gone)
        snprintf(next, sizeof(next), "the command has ended");
    else if (plan->signal == 0)
        snprintf(next, sizeof(next), "the command runs on");
    else if (plan->signal == SIGKILL)
        snprintf(next, sizeof(next), "the command was sent SIGKILL");
    else
        snprintf(
            next, sizeof(next), "the command was sent SIG%s, in %s SIGKILL",
            signals_name(plan->signal, sig), text_span(plan->grace_ms, grace));
    complain("lost the %s '%s'%s: %s; %s", kind_title(w->grant->wish->kind),
             name, last, reason, next);
}

/* The signal first: the words may take a moment. */
static void lose(watch *w, int why) {
    if (w->lost)
        return;
    w->lost = true;
    if (w->plan->signal != 0 && !w->gone) {
        job_signal(w->job, w->plan->signal);
        job_signal(w->job, SIGCONT);
        w->kill_at = moment_now() + w->plan->grace_ms;
    }
    say_lost(w, why);
}

static void expire(watch *w) {
    if (moment_now() < w->kill_at)
        return;
    job_signal(w->job, SIGKILL);
    w->kill_at = MOMENT_NEVER;
}

static void heed_news(watch *w) {
    grant_news news;
    while (w->grant && grant_news_next(w->grant, &news)) {
        if (news.kind != NEWS_STATE)
            continue;
        if (news.renewed > 0)
            w->renewed = news.renewed;
        if (news.state == HF_STATE_LOST)
            lose(w, news.why);
        else if (w->grant->wish->settings->verbose)
            complain("%s '%s'%s%s",
                     news.state == HF_STATE_DOUBT ? "could not renew" :
                                                    "renewed again",
                     grant_name(w->grant),
                     news.state == HF_STATE_DOUBT ? ": " : "",
                     news.state == HF_STATE_DOUBT ? hf_strerror(news.why) : "");
    }
}

/* ---- the loop ---------------------------------------------------------- */

static void step(watch *w, int64_t until) {
    struct pollfd fds[] = {
        {.fd = w->signals->fd, .events = POLLIN},
        {.fd = w->grant ? w->grant->news : -1, .events = POLLIN}};
    until = moment_sooner(until, moment_sooner(w->kill_at, w->beat_at));
    poll(fds, 2, moment_timeout(until));
    heed_signals(w);
    heed_news(w);
    expire(w);
    w->beat_at = notify_beat(w->beat_at);
}

static bool must_stop_rest(const watch *w) {
    return w->lost && w->plan->signal != 0 && w->kill_at != MOMENT_NEVER &&
           job_lingers(w->job);
}

bool supervise(job *j, grant *g, const signals *s, const loss_plan *plan) {
    watch w = {.job = j,
               .grant = g,
               .signals = s,
               .plan = plan,
               .kill_at = MOMENT_NEVER};
    while (!w.gone)
        step(&w, MOMENT_NEVER);
    while (must_stop_rest(&w))
        step(&w, moment_now() + LOOK_MS);
    return w.lost;
}
