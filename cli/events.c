/* SPDX-License-Identifier: MIT
 *
 * events.c - `holdfast events`: who is granted, who waits, who lost it, as it
 * is seen.
 *
 * It looks again and again, and says what is different.  A store that goes
 * away is said, and waited for. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../view/view.h"
#include "command.h"
#include "moment.h"
#include "options.h"
#include "place.h"
#include "settings.h"
#include "signals.h"
#include "status.h"
#include "text.h"
#include "write.h"

/* So many may happen between two looks without one being missed. */
enum { KEEP = 1 << 18 };

typedef struct events_options {
    settings settings;
    bool json;
    const char *match, *output;
    int every_ms, count, for_ms;
} events_options;

#define AT(field) offsetof(events_options, field)
static const option_row rows[] = {
    {'m', "match", "PATTERN", OPTION_TEXT, AT(match),
     "only names that match; the same as the operand"},
    {0, "every", "DURATION", OPTION_DURATION, AT(every_ms),
     "from one look to the next (1s)"},
    {0, "count", "N", OPTION_COUNT, AT(count), "end after so many events"},
    {0, "for", "DURATION", OPTION_DURATION, AT(for_ms), "end after so long"},
    {'J', "json", NULL, OPTION_FLAG, AT(json),
     "an object of JSON on each line"},
    {'o', "output", "FORMAT", OPTION_TEXT, AT(output),
     "jsonl is the same as --json"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

typedef struct watching {
    const events_options *options;
    view *view;
    const signals *signals;
    uint64_t last; /* event that was printed */
    int left;      /* to print; below 0: no end */
    int64_t end;   /* of all */
} watching;

/* ---- one event --------------------------------------------------------- */

static text_colour colour_of(view_event_kind kind) {
    switch (kind) {
    case VIEW_GRANTED:
    case VIEW_UP:
        return GREEN;
    case VIEW_LOST_IT:
    case VIEW_EXPIRED:
    case VIEW_STOLEN:
    case VIEW_STUCK:
    case VIEW_DOWN:
        return RED;
    case VIEW_WAITS:
    case VIEW_GAVE_UP:
        return YELLOW;
    case VIEW_RELEASED:
    case VIEW_EVENT_KINDS:
        break;
    }
    return PLAIN;
}

static void print_time(int64_t at_ms) {
    time_t seconds = (time_t)(at_ms / 1000);
    struct tm tm;
    char text[32];
    gmtime_r(&seconds, &tm);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    printf("%s.%03dZ", text, (int)(at_ms % 1000));
}

static void print_text(const view_event *e) {
    const hf_place *c = &e->claim;
    char who[600];
    print_time(e->at_ms);
    printf("  %s%-10s%s", text_paint(stdout, colour_of(e->kind)),
           view_event_word(e->kind), text_paint(stdout, PLAIN));
    if (*c->name) {
        fputs("  ", stdout);
        text_put(stdout, c->name);
    }
    if (*c->name && e->kind != VIEW_STUCK) {
        place_who(c, who, sizeof(who));
        printf("  %s", who);
    }
    if (c->token > 0)
        printf("  token %llu", (unsigned long long)c->token);
    if (*e->text) {
        fputs("  ", stdout);
        text_put(stdout, e->text);
    }
    putchar('\n');
}

static void print_event(const watching *w, const view_event *e) {
    json j = {.out = stdout};
    if (!w->options->json) {
        print_text(e);
        return;
    }
    write_event(&j, e, e->id);
    putchar('\n');
}

/* ---- again and again --------------------------------------------------- */

/* false: nobody reads it any more, or there were as many as were wanted. */
static bool print_news(watching *w) {
    const view_event *e;
    while (w->left != 0 && (e = view_after(w->view, w->last)) != NULL) {
        if (e->id > w->last + 1)
            complain("%llu events came too fast and are not shown",
                     (unsigned long long)(e->id - w->last - 1));
        w->last = e->id;
        if (*e->claim.name && !place_matches(w->options->match, e->claim.name))
            continue;
        print_event(w, e);
        w->left -= w->left > 0;
    }
    return fflush(stdout) == 0 && w->left != 0;
}

/* Until it is time for the next look; false: we are asked to leave, or the
 * reader has gone. */
static bool rest(const watching *w, int64_t until) {
    while (moment_now() < until) {
        struct pollfd fds[] = {{.fd = w->signals->fd, .events = POLLIN},
                               {.fd = STDOUT_FILENO, .events = 0}};
        bool terminal;
        if (poll(fds, 2, moment_timeout(until)) < 0 && errno != EINTR)
            return false;
        for (int sig; (sig = signals_next(w->signals, &terminal)) != 0;)
            if (signals_ends(sig))
                return false;
        if (fds[1].revents & (POLLERR | POLLNVAL))
            return false;
    }
    return true;
}

/* The first look is only what the next one is compared with; if that fails
 * there is nothing to wait for. */
static int watch(watching *w, hf_client *client) {
    hf_error err = {0};
    int64_t next = moment_now();
    if (view_look(w->view, &err) != HF_OK)
        return status_fail(&err);
    complain("watching %s", hf_store(client));
    do {
        next += w->options->every_ms;
        if (next < moment_now())
            next = moment_now(); /* a look took longer than that */
        if (!rest(w, moment_sooner(next, w->end)) || moment_now() >= w->end)
            break;
        view_look(w->view, &err);
    } while (print_news(w));
    return 0;
}

/* Signals are taken over before there are threads. */
static int run_watch(hf_client *client, const events_options *o,
                     const signals *sigs) {
    hf_error err = {0};
    watching w = {.options = o,
                  .signals = sigs,
                  .left = o->count > 0 ? o->count : -1,
                  .end =
                      o->for_ms > 0 ? moment_now() + o->for_ms : MOMENT_NEVER};
    int status;
    if (view_new(&w.view, client, KEEP, &err) != HF_OK)
        return status_fail(&err);
    status = watch(&w, client);
    view_free(w.view);
    return status;
}

static int run_events(const command *cmd, int argc, char **argv) {
    static events_options o = {.every_ms = 1000};
    hf_client *client = NULL;
    char *pattern = NULL;
    signals sigs;
    int status;
    if (options_read(cmd, &o, &pattern, argc, argv) < argc ||
        (pattern && o.match))
        options_refuse(cmd, "one pattern at a time");
    if (o.output && strcmp(o.output, "jsonl") != 0)
        options_refuse(cmd, "--output: only jsonl is known");
    o.match = pattern ? pattern : o.match;
    o.json = o.json || o.output;
    o.every_ms = o.every_ms > 10 ? o.every_ms : 10;
    if (!signals_take(&sigs)) {
        complain("cannot take signals over: %s", strerror(errno));
        return EXIT_SOFTWARE;
    }
    status = settings_connect(&client, &o.settings);
    if (status == 0)
        status = run_watch(client, &o, &sigs);
    hf_close(client);
    return status;
}

const command events_command = {
    .name = "events",
    .operands = "[PATTERN]",
    .summary = "Print what happens to the locks of the store.",
    .about =
        "granted, released, expired, lost, stolen, waits, gave-up, deadlock,\n"
        "store-down, store-up.  It compares looks at the store: what begins and\n"
        "ends between two of them is not seen.  PATTERN is a beginning of\n"
        "names, or one with * ? [ in it.",
    .options = rows,
    .max_operands = 1,
    .store = true,
    .run = run_events,
};
