/* SPDX-License-Identifier: MIT
 *
 * wait_line.c - what someone sees who waits.
 *
 * On a terminal one line is rewritten every second.  Elsewhere nothing is
 * said, since cron mails every byte, unless --verbose asks: then a line when
 * the wait begins and whenever the holder changes. */
#include "wait_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "moment.h"
#include "notify.h"
#include "place.h"
#include "signals.h"
#include "status.h"
#include "text.h"

enum { FIRST_MS = 300, EVERY_MS = 1000 };

static const char nobody[] = "nobody for the moment";

void wait_line_start(wait_line *line, const char *name, int64_t since,
                     bool quiet, bool verbose) {
    memset(line, 0, sizeof(*line));
    line->name = name;
    line->since = since;
    line->terminal = !quiet && isatty(STDERR_FILENO);
    line->verbose = verbose;
    line->next = line->terminal || verbose || getenv("NOTIFY_SOCKET") ?
                     since + FIRST_MS :
                     MOMENT_NEVER;
}

/* Ours is the waiter with our pid; its number in the line, 0: not in it. */
static int own_number(const places *all, int *waiters) {
    int mine = 0;
    *waiters = 0;
    for (size_t i = 0; i < all->n; i++) {
        if (all->items[i].seen.holds)
            continue;
        ++*waiters;
        if (all->items[i].seen.pid == getpid())
            mine = *waiters;
    }
    return mine;
}

static void describe(const hf_place *holder, char *buf, size_t size) {
    if (holder)
        place_who(holder, buf, size);
    else
        snprintf(buf, size, "%s", nobody);
}

/* A line longer than the terminal would wrap and could not be rewritten. */
static int width(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20)
        return 79;
    return size.ws_col - 1;
}

/* What matters most comes first; the end may be cut off. */
static void rewrite(const wait_line *line, const places *all) {
    const hf_place *holder = places_holder(all, 0, all->n);
    char waited[24], held[24], lease[24], text[1400], clean[1400];
    int waiters, mine = own_number(all, &waiters);
    int n = snprintf(text, sizeof(text), "waiting %s for '%s'",
                     text_span(moment_now() - line->since, waited), line->name);
    if (mine > 0)
        n += snprintf(text + n, sizeof(text) - (size_t)n, " (place %d of %d)",
                      mine, waiters);
    if (holder)
        snprintf(text + n, sizeof(text) - (size_t)n,
                 ", held for %s (lease %s) by %s",
                 text_span(holder->since_ms, held),
                 text_span(holder->lease_ms, lease), line->last);
    text_clean(text, clean, sizeof(clean));
    fprintf(stderr, "\r\033[K%.*s", text_fit(clean, width()), clean);
    fflush(stderr);
}

static void changed(wait_line *line, const char *now) {
    snprintf(line->last, sizeof(line->last), "%s", now);
    notify("STATUS=waiting for '%s', held by %s", line->name, now);
    if (!line->terminal && line->verbose)
        complain("waiting for '%s', held by %s", line->name, now);
}

/* A store that does not answer leaves the line as it was. */
void wait_line_show(wait_line *line, hf_client *client) {
    hf_error err;
    places all;
    char now[700];
    if (places_list(&all, client, line->name, &err) == HF_OK) {
        describe(places_holder(&all, 0, all.n), now, sizeof(now));
        if (strcmp(now, line->last) != 0)
            changed(line, now);
        if (line->terminal) {
            rewrite(line, &all);
            line->shown = true;
        }
    }
    places_free(&all);
    line->next = moment_now() + EVERY_MS;
}

void wait_line_clear(const wait_line *line) {
    if (line->shown)
        fputs("\r\033[K", stderr);
}

void wait_line_end(const char *name, int sig) {
    char buf[16];
    complain("interrupted by SIG%s while waiting for '%s'; nothing was run",
             signals_name(sig, buf), name);
}

void wait_line_failed(hf_client *client, const char *name, int64_t waited_ms) {
    hf_error err;
    places all;
    char who[700], held[24] = "", waited[24] = "";
    const hf_place *holder = NULL;
    if (places_list(&all, client, name, &err) == HF_OK)
        holder = places_holder(&all, 0, all.n);
    describe(holder, who, sizeof(who));
    if (holder && holder->since_ms >= 0)
        text_span(holder->since_ms, held);
    if (waited_ms > 0)
        text_span(waited_ms, waited);
    complain("'%s' is held by %s%s%s%s%s; see: holdfast show '%s'", name, who,
             *held ? " for " : "", held, *waited ? ", not obtained in " : "",
             waited, name);
    places_free(&all);
}
