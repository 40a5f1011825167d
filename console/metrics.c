/* SPDX-License-Identifier: MIT
 *
 * metrics.c - the store in numbers, as Prometheus reads them: holdfast_store_
 * is everybody's, holdfast_console_ this server's, and the rest what its own
 * client counts, as that of any program (hf_stats_text).
 *
 * Names of locks are labels, and labels are what a monitoring system dies of:
 * so the first so many have their own, and the rest is "other". */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../cli/text.h"
#include "api.h"
#include "claims.h"
#include "stream.h"

enum { NAMED_MOST = 200 };

static void head(FILE *out, const char *name, const char *type,
                 const char *help) {
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_label(FILE *out, const char *text) {
    for (size_t n; *text; text += n) {
        n = text_char(text);
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        if (n > 0)
            fwrite(text, 1, n, out);
        else
            fprintf(out, "\\\\x%02x", (unsigned char)*text);
        n = n > 0 ? n : 1;
    }
}

typedef size_t number_fn(const view_line *l);

static size_t holders_of(const view_line *l) {
    return l->holders;
}

static size_t waiters_of(const view_line *l) {
    return l->waiters;
}

/* Lines of one name stand together, and are one. */
static size_t sum(const view_picture *p, size_t *i, number_fn *fn) {
    const char *name = p->lines[*i].name;
    size_t n = 0;
    for (; *i < p->n_lines && strcmp(p->lines[*i].name, name) == 0; ++*i)
        n += fn(&p->lines[*i]);
    return n;
}

static void put_lines(FILE *out, const view_picture *p, const char *metric,
                      number_fn *fn) {
    size_t named = 0, other = 0;
    for (size_t i = 0; i < p->n_lines; named++) {
        const char *name = p->lines[i].name;
        size_t n = sum(p, &i, fn);
        if (named >= NAMED_MOST) {
            other += n;
            continue;
        }
        fprintf(out, "%s{lock=\"", metric);
        put_label(out, name);
        fprintf(out, "\"} %zu\n", n);
    }
    if (named > NAMED_MOST)
        fprintf(out, "%s{lock=\"other\"} %zu\n", metric, other);
}

static void put_store(FILE *out, const view_picture *p) {
    head(out, "holdfast_store_seen", "gauge",
         "Whether the last look at the store succeeded.");
    fprintf(out, "holdfast_store_seen %d\n", p->stale ? 0 : 1);
    head(out, "holdfast_store_look_seconds", "gauge",
         "How long the last look at the whole store took.");
    fprintf(out, "holdfast_store_look_seconds %.6f\n", (double)p->rtt_us / 1e6);
    head(out, "holdfast_store_lines", "gauge", "Names the store knows.");
    fprintf(out, "holdfast_store_lines %zu\n", p->n_lines);
    head(out, "holdfast_store_clients", "gauge", "Clients that are known.");
    fprintf(out, "holdfast_store_clients %zu\n", p->n_clients);
    head(out, "holdfast_store_deadlocks", "gauge",
         "Circles of clients that wait for each other.");
    fprintf(out, "holdfast_store_deadlocks %zu\n", p->n_circles);
    head(out, "holdfast_store_held", "gauge", "How many hold it.");
    put_lines(out, p, "holdfast_store_held", holders_of);
    head(out, "holdfast_store_waiters", "gauge", "How many wait for it.");
    put_lines(out, p, "holdfast_store_waiters", waiters_of);
}

static void put_events(FILE *out, watch *w) {
    uint64_t counts[VIEW_EVENT_KINDS];
    watch_counts(w, counts);
    head(out, "holdfast_events_total", "counter",
         "What was seen to happen, by kind.");
    for (int i = 0; i < VIEW_EVENT_KINDS; i++)
        fprintf(out, "holdfast_events_total{event=\"%s\"} %" PRIu64 "\n",
                view_event_word((view_event_kind)i), counts[i]);
}

static void put_console(FILE *out, console *c) {
    head(out, "holdfast_console_claims", "gauge",
         "Locks that clients have taken here, or wait for.");
    fprintf(out, "holdfast_console_claims %zu\n", claims_count(c->claims));
    head(out, "holdfast_console_streams", "gauge", "Streams that are open.");
    fprintf(out, "holdfast_console_streams %zu\n", streams_count(c->streams));
    head(out, "holdfast_console_requests_total", "counter",
         "Requests that were answered, by status.");
    for (int i = 2; i < COUNTED_STATUSES; i++)
        fprintf(out, "holdfast_console_requests_total{status=\"%dxx\"} %llu\n",
                i, atomic_load(&c->answered[i]));
}

/* It may grow between two askings. */
static void put_client(FILE *out, hf_client *client) {
    size_t size = 16384, n = 0;
    char *text = NULL;
    for (;;) {
        char *more = realloc(text, size);
        if (!more)
            break;
        text = more;
        n = hf_stats_text(client, text, size);
        if (n < size)
            break;
        size = n + 4096;
    }
    if (text && n < size)
        fputs(text, out);
    free(text);
}

void api_metrics(request *r) {
    picture *p = watch_picture(r->console->watch);
    FILE *out = request_out(r, 200, "text/plain; version=0.0.4; charset=utf-8");
    put_store(out, &p->seen);
    put_events(out, r->console->watch);
    put_console(out, r->console);
    put_client(out, r->console->client);
    watch_return(r->console->watch, p);
}
