/* SPDX-License-Identifier: MIT
 *
 * grant.c - asking while listening to signals.
 *
 * Opening a store and waiting in a line take as long as they take, so a thread
 * of its own does both.  The main thread sleeps on two descriptors: the
 * signals, and a pipe by which that thread and the library's threads report.
 *
 *              opened            answered
 *   OPENING ───────────► ASKING ─────────► ANSWERED
 *      │                    │
 *      │ signal             │ signal: cancel, until it answers
 *      ▼                    ▼
 *   ABANDONED            ANSWERED, perhaps with a grant that came first
 *
 * ABANDONED is final: the thread looks before it asks, so that a program that
 * leaves while the store is being opened leaves nothing behind in it. */
#include "grant.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../view/kind.h"
#include "environment.h"
#include "moment.h"
#include "notify.h"
#include "place.h"
#include "status.h"
#include "wait_line.h"

enum stage { OPENING, ASKING, ANSWERED, ABANDONED };

enum { CANCEL_AGAIN_MS = 20 };

static void tell(grant *g, const grant_news *news) {
    ssize_t n;
    do
        n = write(g->news_in, news, sizeof(*news));
    while (n < 0 && errno == EINTR);
}

/* A thread of the library's.  While in doubt the lease still runs, so what is
 * left of it says when it was last renewed. */
static void on_state(void *arg, hf_lock *lock, hf_state state, int why) {
    grant *g = arg;
    grant_news news = {.kind = NEWS_STATE, .state = state, .why = why};
    int64_t left = hf_lock_remaining_ms(lock);
    if (state == HF_STATE_DOUBT && left > 0)
        news.renewed = moment_now() - (g->wish->lease_ms - left);
    tell(g, &news);
}

/* ---- by kind ----------------------------------------------------------- */

/* Whoever comes first says how many there are. */
static int set_limit(grant *g, const char *name) {
    const grant_wish *w = g->wish;
    hf_semaphore *sem = NULL;
    int r = hf_semaphore_new(&sem, g->client, name, &g->err);
    if (r == HF_OK)
        r = hf_semaphore_set(sem, w->limit, 0, &g->err);
    hf_semaphore_free(sem);
    return r == HF_BUSY ? HF_OK : r;
}

static bool is_nested(const grant *g, const char *name, bool shares) {
    return environment_holds(name, hf_store(g->client), shares);
}

/* A reader that is part of a reader does not stand behind a writer: that one
 * waits for the outer reader, and we would wait for ourselves. */
static unsigned flags_of(const grant *g, const char *name) {
    unsigned flags = HF_OWNER_HANDLE | g->wish->flags;
    if (g->wish->kind == HF_READ && is_nested(g, name, false))
        flags &= ~(unsigned)HF_WRITERS_FIRST;
    return flags;
}

static int make_one(grant *g, hf_lock **ret, const char *name) {
    const grant_wish *w = g->wish;
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    options.kind = w->kind;
    options.flags = flags_of(g, name);
    options.watchdog_ms = w->lease_ms;
    options.max_hold_ms = w->at_most_ms;
    options.replicas = w->replicas;
    if (w->kind == HF_PERMIT)
        options.permits = w->permits;
    int r = hf_lock_new(ret, g->client, name, &options, &g->err);
    if (r == HF_OK && w->limit > 0)
        r = set_limit(g, name);
    return r;
}

static int make_lock(grant *g) {
    int n = wish_names(g->wish), r = HF_OK;
    for (int i = 0; i < n && r == HF_OK; i++)
        r = make_one(g, &g->members[i], wish_name(g->wish, i));
    if (r == HF_OK && n > 1)
        r = hf_multi_new(&g->lock, g->members, (size_t)n, &g->err);
    else if (r == HF_OK)
        g->lock = g->members[0];
    if (r == HF_OK)
        hf_lock_on_state(g->lock, on_state, g);
    return r;
}

static int make(grant *g) {
    const char *name = g->wish->name;
    if (g->wish->kind == HF_SEMAPHORE)
        return hf_semaphore_new(&g->sem, g->client, name, &g->err);
    if (g->wish->kind == HF_LATCH)
        return hf_latch_new(&g->latch, g->client, name, &g->err);
    return make_lock(g);
}

static int acquire(grant *g) {
    const grant_wish *w = g->wish;
    if (g->sem)
        return hf_semaphore_acquire(g->sem, w->permits, w->wait_ms, &g->err);
    if (g->latch)
        return hf_latch_wait(g->latch, w->wait_ms, &g->err);
    return hf_lock_acquire(g->lock, w->wait_ms, &g->err);
}

static void cancel(grant *g) {
    if (g->sem)
        hf_semaphore_cancel(g->sem);
    else if (g->latch)
        hf_latch_cancel(g->latch);
    else
        hf_lock_cancel(g->lock);
}

int grant_release(grant *g, int keep_ms) {
    if (g->latch)
        return HF_OK;
    if (g->sem)
        return hf_semaphore_release(g->sem, g->wish->permits, &g->err);
    if (keep_ms > 0)
        return hf_lock_release_after(g->lock, keep_ms, &g->err);
    return hf_lock_release(g->lock, &g->err);
}

/* ---- asking ------------------------------------------------------------ */

/* A thread of the library's. */
static void on_event(void *arg, const hf_event *event) {
    const grant *g = arg;
    bool verbose = g->wish->settings->verbose;
    if (event->kind == HF_EVENT_WEAKER)
        complain("this store cannot wait for replicas: --replicas has no "
                 "effect");
    else if (event->kind == HF_EVENT_MOVING && verbose)
        complain("'%s' is going over to %s: %s", event->name, event->store,
                 event->code ? hf_strerror(event->code) :
                               "it can be reached again");
    else if (event->kind == HF_EVENT_MOVED && verbose)
        complain("'%s' is held in %s now", event->name, event->store);
}

static int open_store(grant *g) {
    const grant_wish *w = g->wish;
    hf_options options = HF_OPTIONS_INIT;
    options.why = w->why;
    options.program = w->program;
    options.lease_ms = w->lease_ms;
    options.on_event = on_event;
    options.event_arg = g;
    bool number = w->kind == HF_SEMAPHORE || w->kind == HF_LATCH;
    int r = (number ? settings_open : settings_open_for_locks)(
        &g->client, w->settings, options, &g->err);
    if (r == HF_OK)
        r = make(g);
    for (int i = 0; i < wish_names(w) && r == HF_OK; i++)
        if (is_nested(g, wish_name(w, i), kind_shares(w->kind))) {
            g->nested = wish_name(w, i);
            r = HF_BUSY;
        }
    return r;
}

/* The asking thread. */
static void *ask(void *arg) {
    grant *g = arg;
    grant_news answer = {.kind = NEWS_ANSWER};
    int opening = OPENING;
    g->result = open_store(g);
    if (g->result == HF_OK &&
        atomic_compare_exchange_strong(&g->stage, &opening, ASKING))
        g->result = acquire(g);
    tell(g, &answer);
    return NULL;
}

/* The store may be slow to open; nothing was asked of it, and nothing can be
 * cleaned up while the thread is inside. */
static void leave_while_opening(grant *g, int sig) {
    int opening = OPENING;
    if (atomic_compare_exchange_strong(&g->stage, &opening, ABANDONED)) {
        wait_line_end(g->wish->name, sig);
        _exit(EXIT_SIGNAL + sig);
    }
}

static void heed(grant *g, const signals *s) {
    bool terminal;
    int sig;
    while ((sig = signals_next(s, &terminal)) != 0) {
        if (sig == SIGTSTP)
            kill(getpid(), SIGSTOP);
        else if (signals_ends(sig) && g->signal == 0) {
            g->signal = sig;
            leave_while_opening(g, sig);
        }
    }
}

static bool has_answer(grant *g) {
    grant_news news;
    return grant_news_next(g, &news) && news.kind == NEWS_ANSWER;
}

/* Is it somebody else who has what we want of it? */
static bool is_taken(const grant *g, const char *name) {
    hf_error err;
    lines all = {0};
    bool taken = false;
    if (lines_list(&all, g->client, name, &err) == HF_OK) {
        const view_line *l = place_line_for(&all, g->wish->kind);
        if (kind_line(g->wish->kind) == HF_SEMAPHORE)
            taken = !l->counts || l->count < g->wish->permits;
        else
            taken = l->holder && l->holder->pid != getpid();
    }
    lines_free(&all);
    return taken;
}

/* Of several names the one that we wait for, or waited for in vain. */
static const char *name_in_the_way(const grant *g) {
    int n = wish_names(g->wish);
    for (int i = 0; i < n && n > 1; i++)
        if (is_taken(g, wish_name(g->wish, i)))
            return wish_name(g->wish, i);
    return g->wish->name;
}

/* A cancel is heard only by a wait that is under way, so it is repeated until
 * the thread has answered. */
static void await_answer(grant *g, const signals *s) {
    wait_line line;
    int64_t beat = 0;
    wait_line_start(&line, g->wish->kind, g->asked, g->wish->settings->verbose);
    struct pollfd fds[] = {{.fd = s->fd, .events = POLLIN},
                           {.fd = g->news, .events = POLLIN}};
    for (;;) {
        beat = notify_beat(beat);
        int ms = moment_timeout(moment_sooner(line.next, beat));
        if (g->signal != 0)
            ms = CANCEL_AGAIN_MS;
        int n = poll(fds, 2, ms);
        if (has_answer(g))
            break;
        heed(g, s);
        if (g->signal != 0)
            cancel(g);
        else if (n == 0 && moment_now() < line.next)
            continue;
        else if (n == 0 && atomic_load(&g->stage) == ASKING)
            wait_line_show(&line, name_in_the_way(g), g->client);
        else if (n == 0)
            line.next = moment_now() + CANCEL_AGAIN_MS;
    }
    wait_line_clear(&line);
}

static bool make_pipe(grant *g) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    g->news = fds[0];
    g->news_in = fds[1];
    return true;
}

int grant_ask(grant *g, const grant_wish *wish, const signals *s) {
    int e = 0;
    memset(g, 0, sizeof(*g));
    g->wish = wish;
    /* Few threads that hardly allocate: to make each a heap of its own would
     * cost more than the lock. */
    mallopt(M_ARENA_MAX, 1);
    g->asked = moment_now();
    if (!make_pipe(g))
        e = errno;
    else
        e = pthread_create(&g->asker, NULL, ask, g);
    if (e != 0) {
        g->err.code = g->result = HF_ESYSTEM;
        snprintf(g->err.text, sizeof(g->err.text), "cannot start: %s",
                 strerror(e));
        return g->result;
    }
    await_answer(g, s);
    pthread_join(g->asker, NULL);
    g->since = moment_now();
    if (g->result == HF_OK && g->signal != 0) {
        grant_release(g, 0);
        g->result = HF_ECANCELLED;
    }
    return g->result;
}

int grant_refused(const grant *g, int conflict) {
    const grant_wish *w = g->wish;
    if (g->signal != 0) {
        wait_line_end(w->name, g->signal);
        return EXIT_SIGNAL + g->signal;
    }
    if (g->result != HF_BUSY && g->result != HF_ETIMEOUT)
        return status_fail(&g->err);
    if (g->nested)
        complain("'%s' is held by a 'holdfast run' that this command is part "
                 "of: waiting for it would never end",
                 g->nested);
    else
        wait_line_failed(g->client, name_in_the_way(g), w->kind,
                         w->wait_ms != 0 ? g->since - g->asked : 0);
    return conflict;
}

const char *grant_name(const grant *g) {
    return g->lock ? hf_lock_name(g->lock) : g->wish->name;
}

int grant_tokens(const grant *g, uint64_t tokens[static GRANT_MOST]) {
    int n = wish_names(g->wish);
    for (int i = 0; i < n; i++)
        tokens[i] = hf_lock_token(g->members[i]);
    return n;
}

void grant_put_locks(const grant *g, const uint64_t *tokens, json *j) {
    json_open(j, "locks", '[');
    for (int i = 0; i < wish_names(g->wish); i++) {
        json_open(j, NULL, '{');
        json_text(j, "name", wish_name(g->wish, i));
        json_token(j, "token", tokens[i]);
        json_close(j, '}');
    }
    json_close(j, ']');
}

const char *grant_lost_name(const grant *g) {
    for (int i = 0; i < wish_names(g->wish) && g->lock; i++)
        if (!hf_lock_is_held(g->members[i]))
            return wish_name(g->wish, i);
    return g->wish->name;
}

bool grant_news_next(grant *g, grant_news *news) {
    return read(g->news, news, sizeof(*news)) == (ssize_t)sizeof(*news);
}

void grant_close(grant *g) {
    if (g->lock)
        hf_lock_on_state(g->lock, NULL, NULL);
    if (g->lock != g->members[0])
        hf_lock_free(g->lock); /* before its members */
    for (int i = 0; i < GRANT_MOST; i++)
        hf_lock_free(g->members[i]);
    hf_semaphore_free(g->sem);
    hf_latch_free(g->latch);
    hf_close(g->client);
    close(g->news);
    close(g->news_in);
}
