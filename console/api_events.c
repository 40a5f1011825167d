/* SPDX-License-Identifier: MIT
 *
 * api_events.c - what happens: as server-sent events, or the last of them. */
#include "api.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../cli/moment.h"
#include "../cli/write.h"
#include "stream.h"

enum { EVENTS_SHOWN = 50 };

/* ---- the last of them -------------------------------------------------- */

typedef struct tail {
    json *j;
    size_t n, skip;
} tail;

static void count(void *arg, uint64_t id, const char *object) {
    tail *t = arg;
    (void)id, (void)object;
    t->n++;
}

static void put(void *arg, uint64_t id, const char *object) {
    tail *t = arg;
    (void)id;
    if (t->skip > 0) {
        t->skip--;
        return;
    }
    fprintf(t->j->out, "%s%s", t->j->comma ? "," : "", object);
    t->j->comma = true;
}

static void put_tail(request *r, uint64_t after, const char *name,
                     size_t most) {
    watch *w = r->console->watch;
    json j = request_json(r, 200);
    tail t = {.j = &j};
    watch_events(w, after, name, count, &t);
    t.skip = t.n > most ? t.n - most : 0;
    json_open(&j, NULL, '{');
    if (name)
        json_text(&j, "name", name);
    json_open(&j, "events", '[');
    watch_events(w, after, name, put, &t);
    json_close(&j, ']');
    json_close(&j, '}');
}

void api_lock_events(request *r) {
    put_tail(r, 0, r->name, EVENTS_SHOWN);
}

/* ---- all, as they happen ----------------------------------------------- */

typedef struct listener {
    console *console;
    uint64_t last;
    bool greeted, missed;
    int64_t beat_at;
} listener;

typedef struct telling {
    FILE *out;
    uint64_t *last;
} telling;

static void tell(void *arg, uint64_t id, const char *object) {
    telling *t = arg;
    fprintf(t->out, "id: %" PRIu64 "\ndata: %s\n\n", id, object);
    *t->last = id;
}

/* A browser that comes again waits two seconds.  Who has missed events is told
 * so first: what is shown should be asked for anew. */
static void greet(listener *l, FILE *out) {
    l->greeted = true;
    fputs("retry: 2000\n", out);
    fputs(l->missed ? "event: missed\ndata: {}\n\n" : ": holdfast\n\n", out);
}

static bool fill(void *arg, FILE *out) {
    listener *l = arg;
    telling t = {.out = out, .last = &l->last};
    int64_t now = moment_now();
    uint64_t before = l->last;
    if (!l->greeted)
        greet(l, out);
    watch_events(l->console->watch, l->last, NULL, tell, &t);
    if (l->last != before) {
        l->beat_at = now + BEAT_MS;
    } else if (now >= l->beat_at) {
        fputs(": still here\n\n", out);
        l->beat_at = now + BEAT_MS;
    }
    return true;
}

static void gone(void *arg) {
    stream_gone(arg);
}

/* Last-Event-ID, or ?after=; false: neither. */
static bool asked_from(const request *r, uint64_t *id) {
    const char *text = request_header(r, "Last-Event-ID");
    char *end;
    if (!*text)
        text = request_query(r, "after");
    *id = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end;
}

static void stream_events(request *r, uint64_t from, bool asked) {
    listener *l = calloc(1, sizeof(*l));
    watch *w = r->console->watch;
    if (l) {
        l->console = r->console;
        l->missed = asked && !watch_remembers(w, from);
        l->last = l->missed ? 0 : asked ? from : watch_newest(w);
        l->beat_at = moment_now() + BEAT_MS;
    }
    if (stream_begin(r, "text/event-stream", fill, l, free))
        r->post =
            hangup_add(r->console->hangup, request_fd(r), gone, r->stream);
}

void api_events(request *r) {
    uint64_t from;
    bool asked = asked_from(r, &from);
    if (strstr(request_header(r, "Accept"), "application/json"))
        put_tail(r, asked ? from : 0, NULL, WATCH_KEEP);
    else
        stream_events(r, from, asked);
}
