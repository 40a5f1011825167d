/* SPDX-License-Identifier: MIT
 *
 * hold.c - `holdfast hold NAME`: for scripts that cannot be wrapped.  One line
 * on stdout says that the lock is held; it is held until stdin closes. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "grant.h"
#include "json.h"
#include "moment.h"
#include "notify.h"
#include "options.h"
#include "status.h"
#include "wait_line.h"

typedef struct hold_options {
    settings settings;
    bool nonblock, simple, json;
    int wait_ms, conflict;
} hold_options;

#define AT(field) offsetof(hold_options, field)
static const option_row rows[] = {
    {'n', "nonblock", NULL, OPTION_FLAG, AT(nonblock),
     "do not wait: fail with 75 if it is held"},
    {'w', "wait", "DURATION", OPTION_DURATION, AT(wait_ms),
     "wait no longer than this (default: for ever)"},
    {'E', "conflict-exit-code", "N", OPTION_STATUS, AT(conflict),
     "exit with N instead of 75"},
    {0, "lease", "DURATION", OPTION_TEXT, AT(settings.flags[SET_LEASE]),
     "how long a dead holder blocks others (30s)"},
    {0, "ttl", "DURATION", OPTION_TEXT, AT(settings.flags[SET_LEASE]), NULL},
    {0, "why", "TEXT", OPTION_TEXT, AT(settings.flags[SET_WHY]),
     "shown to everyone who waits"},
    {0, "simple", NULL, OPTION_FLAG, AT(simple),
     "Redis: the bare SET NX PX of small clients"},
    {'J', "json", NULL, OPTION_FLAG, AT(json), "print an object of JSON"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

static bool say_held(const grant *g, bool as_json) {
    char owner[128];
    json j = {.out = stdout};
    uint64_t token = hf_lock_token(g->lock);
    hf_lock_owner(g->lock, owner, sizeof(owner));
    if (!as_json) {
        printf("%" PRIu64 "\n", token);
        return fflush(stdout) == 0;
    }
    json_open(&j, NULL, '{');
    json_text(&j, "name", g->wish->name);
    json_text(&j, "store", hf_store(g->client));
    json_text(&j, "owner", owner);
    json_token(&j, "token", token);
    json_close(&j, '}');
    putchar('\n');
    return fflush(stdout) == 0;
}

static bool was_lost(grant *g) {
    grant_news news;
    while (grant_news_next(g, &news))
        if (news.kind == NEWS_STATE && news.state == HF_STATE_LOST) {
            complain("lost the lock '%s': %s", g->wish->name,
                     hf_strerror(news.why));
            return true;
        }
    return false;
}

static int ending_signal(const signals *s) {
    bool terminal;
    int sig;
    while ((sig = signals_next(s, &terminal)) != 0) {
        if (sig == SIGTSTP)
            kill(getpid(), SIGSTOP);
        if (signals_ends(sig))
            return sig;
    }
    return 0;
}

/* What comes in is thrown away; the end of it is what we wait for. */
static bool input_ended(void) {
    char buf[4096];
    ssize_t n = read(STDIN_FILENO, buf, sizeof(buf));
    return n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
}

static int keep(grant *g, const signals *s) {
    struct pollfd fds[] = {{.fd = s->fd, .events = POLLIN},
                           {.fd = g->news, .events = POLLIN},
                           {.fd = STDIN_FILENO, .events = POLLIN}};
    int watchdog_ms = notify_watchdog_ms(), sig;
    notify("READY=1\nSTATUS=holding '%s'", g->wish->name);
    for (;;) {
        if (poll(fds, 3, watchdog_ms > 0 ? watchdog_ms : -1) == 0)
            notify("WATCHDOG=1");
        if (was_lost(g))
            return EXIT_LOST;
        if ((sig = ending_signal(s)) != 0)
            return EXIT_SIGNAL + sig;
        if (fds[2].revents && input_ended())
            return 0;
    }
}

static int give_back(grant *g, int status) {
    int r = grant_release(g, 0);
    notify("STOPPING=1");
    if (status == EXIT_LOST || r == HF_OK)
        return status;
    complain("'%s': %s", g->wish->name, g->err.text);
    return r == HF_ELOST ? EXIT_LOST : status;
}

static int not_held(const hold_options *o, const grant *g) {
    if (g->signal != 0) {
        wait_line_end(g->wish->name, g->signal);
        return EXIT_SIGNAL + g->signal;
    }
    if (g->result != HF_BUSY && g->result != HF_ETIMEOUT)
        return status_fail(&g->err);
    wait_line_failed(g->client, g->wish->name,
                     g->wish->wait_ms != 0 ? g->since - g->asked : 0);
    return o->conflict;
}

static int read_wish(grant_wish *wish, hold_options *o, const command *cmd,
                     int argc, char **argv) {
    char *name = NULL;
    int status, first = options_read(cmd, o, &name, argc, argv);
    if (!name || first < argc)
        options_refuse(cmd, "one lock at a time: holdfast hold NAME");
    status = settings_resolve(&o->settings);
    if (status == 0)
        status = settings_lease(&o->settings, &wish->lease_ms);
    wish->settings = &o->settings;
    wish->name = name;
    wish->wait_ms = o->nonblock ? 0 : o->wait_ms;
    wish->simple = o->simple;
    return status;
}

static int run_hold(const command *cmd, int argc, char **argv) {
    static hold_options o = {.wait_ms = HF_FOREVER, .conflict = EXIT_BUSY};
    grant_wish wish = {0};
    signals s;
    grant g;
    int status;
    if (!signals_take(&s)) {
        complain("cannot take signals over: %s", strerror(errno));
        return EXIT_SOFTWARE;
    }
    status = read_wish(&wish, &o, cmd, argc, argv);
    if (status != 0)
        return status;
    grant_ask(&g, &wish, &s);
    settings_hint(&o.settings);
    if (g.result != HF_OK)
        status = not_held(&o, &g);
    else if (g.signal != 0)
        status = give_back(&g, EXIT_SIGNAL + g.signal);
    else if (!say_held(&g, o.json))
        status = give_back(&g, EXIT_SOFTWARE);
    else
        status = give_back(&g, keep(&g, &s));
    grant_close(&g);
    return status;
}

const command hold_command = {
    .name = "hold",
    .operands = "NAME",
    .summary = "Hold a lock until stdin closes.",
    .about =
        "For scripts that cannot be wrapped by 'run'.  When the lock is held\n"
        "its token is printed, one line; it is given back when stdin closes\n"
        "or a signal comes.  Exit 76: it was lost meanwhile.\n"
        "\n"
        "    coproc LOCK { holdfast hold nightly; }\n"
        "    read -r token <&\"${LOCK[0]}\"",
    .options = rows,
    .max_operands = 1,
    .store = true,
    .run = run_hold,
};
