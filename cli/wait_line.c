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

#include "../view/kind.h"
#include "moment.h"
#include "notify.h"
#include "place.h"
#include "signals.h"
#include "status.h"
#include "text.h"

enum { FIRST_MS = 300, EVERY_MS = 1000 };

void wait_line_start(wait_line *line, hf_kind kind, int64_t since,
                     bool verbose) {
    memset(line, 0, sizeof(*line));
    line->kind = kind;
    line->since = since;
    line->terminal = isatty(STDERR_FILENO);
    line->verbose = verbose;
    line->next = line->terminal || verbose || getenv("NOTIFY_SOCKET") ?
                     since + FIRST_MS :
                     MOMENT_NEVER;
}

/* Ours is the waiter with our pid; its number in the line, 0: not in it. */
static int own_number(const view_line *l) {
    int n = 0;
    for (size_t i = l->n - l->waiters; i < l->n; i++) {
        n++;
        if (l->claims[i].pid == getpid())
            return n;
    }
    return 0;
}

static bool counts(hf_kind kind) {
    return kind_line(kind) == HF_SEMAPHORE;
}

/* As the store has it, if it knows the name; a number is what we want it to
 * be, since to some stores a latch looks like a semaphore. */
static hf_kind kind_found(const view_line *l, hf_kind wanted) {
    return *l->kind && wanted != HF_LATCH ? kind_of(l->kind) : wanted;
}

/* What stands in our way, behind "is", or of permits behind "has". */
static void describe(const view_line *l, hf_kind wanted, char *buf,
                     size_t size) {
    hf_kind kind = kind_found(l, wanted);
    long long count = (long long)l->count;
    char who[640];
    place_holders(l, who, sizeof(who));
    if (kind == HF_LATCH)
        snprintf(buf, size, "closed, %lld to count down", count);
    else if (!counts(kind))
        snprintf(buf, size, "held by %s", who);
    else if (!l->counts && !l->holder)
        snprintf(buf, size, "no permits: nobody has set their number");
    else
        snprintf(buf, size, "%lld permit%s free%s%s", count,
                 count == 1 ? "" : "s", l->holder ? ", others held by " : "",
                 l->holder ? who : "");
}

/* " for 3s": of one holder, and where it matters how long. */
static const char *held_for(const view_line *l, hf_kind kind,
                            char buf[static 32]) {
    char held[24];
    buf[0] = '\0';
    if (l->holders == 1 && l->holder->since_ms >= 0 && !counts(kind))
        snprintf(buf, 32, " for %s", text_span(l->holder->since_ms, held));
    return buf;
}

/* A line longer than the terminal would wrap and could not be rewritten. */
static int width(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20)
        return 79;
    return size.ws_col - 1;
}

/* Our number among those who wait, where they come in order; else 0: to be the
 * first of those who wait for a latch, or of a crowd, means nothing. */
static int place_in(const view_line *l, hf_kind kind, const hf_client *client) {
    bool ordered = kind != HF_LATCH && hf_can(client, kind) & HF_CAN_ORDER;
    return ordered ? own_number(l) : 0;
}

/* What matters most comes first; the end may be cut off. */
static void rewrite(const wait_line *line, const view_line *l,
                    const hf_client *client) {
    const hf_place *holder = counts(line->kind) ? NULL : l->holder;
    char waited[24], held[32], lease[24], who[640], text[1400], clean[1400];
    int mine = place_in(l, line->kind, client);
    int n = snprintf(text, sizeof(text), "waiting %s for '%s'",
                     text_span(moment_now() - line->since, waited), line->name);
    place_holders(l, who, sizeof(who));
    if (mine > 0)
        n += snprintf(text + n, sizeof(text) - (size_t)n, " (place %d of %zu)",
                      mine, l->waiters);
    if (holder)
        snprintf(text + n, sizeof(text) - (size_t)n,
                 ", held%s (lease %s) by %s", held_for(l, line->kind, held),
                 text_span(holder->lease_ms, lease), who);
    else if (counts(line->kind) || line->kind == HF_LATCH)
        snprintf(text + n, sizeof(text) - (size_t)n, ", %s", line->last);
    text_clean(text, clean, sizeof(clean));
    fprintf(stderr, "\r\033[K%.*s", text_fit(clean, width()), clean);
    fflush(stderr);
}

/* Names are lent by argv, so that they can be told apart by their address. */
static bool is_news(const wait_line *line, const char *name, const char *now) {
    return name != line->name || strcmp(now, line->last) != 0;
}

static void changed(wait_line *line, const char *name, const char *now) {
    line->name = name;
    snprintf(line->last, sizeof(line->last), "%s", now);
    notify("STATUS=waiting for '%s', %s", line->name, now);
    if (!line->terminal && line->verbose)
        complain("waiting for '%s', %s", line->name, now);
}

/* A store that does not answer leaves the line as it was. */
void wait_line_show(wait_line *line, const char *name, hf_client *client) {
    hf_error err;
    lines all = {0};
    char now[700];
    if (lines_list(&all, client, name, &err) == HF_OK) {
        const view_line *l = place_line_for(&all, line->kind);
        describe(l, line->kind, now, sizeof(now));
        if (is_news(line, name, now))
            changed(line, name, now);
        if (line->terminal) {
            rewrite(line, l, client);
            line->shown = true;
        }
    }
    lines_free(&all);
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

void wait_line_failed(hf_client *client, const char *name, hf_kind kind,
                      int64_t waited_ms) {
    hf_error err;
    lines all = {0};
    const view_line *l;
    char what[700], held[32], waited[24] = "";
    lines_list(&all, client, name, &err);
    l = place_line_for(&all, kind);
    describe(l, kind, what, sizeof(what));
    kind = kind_found(l, kind);
    if (waited_ms > 0)
        text_span(waited_ms, waited);
    complain("'%s' %s %s%s%s%s; see: holdfast show '%s'", name,
             counts(kind) ? "has" : "is", what, held_for(l, kind, held),
             *waited ? ", not obtained in " : "", waited, name);
    lines_free(&all);
}
