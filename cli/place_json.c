/* SPDX-License-Identifier: MIT
 *
 * place_json.c - a line of claims as JSON, the same for `show`, `ls` and the
 * console. */
#include "place_json.h"

#include <time.h>

/* RFC 3339, UTC: when somebody who has been there for `ms` came. */
static void put_since(json *j, int64_t ms) {
    struct timespec now;
    struct tm tm;
    char text[40];
    if (ms < 0) {
        json_null(j, "since");
        return;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t at = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 - ms;
    time_t seconds = (time_t)(at / 1000);
    gmtime_r(&seconds, &tm);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    json_text(j, "since", text);
}

void place_json_pid(json *j, int64_t pid) {
    if (pid > 0)
        json_number(j, "pid", pid);
    else
        json_null(j, "pid");
}

static void put_blocker(json *j, const hf_place *p) {
    if (!p) {
        json_null(j, "blocker");
        return;
    }
    json_open(j, "blocker", '{');
    json_text_or_null(j, "owner", p->owner);
    json_text_or_null(j, "host", p->host);
    place_json_pid(j, p->pid);
    json_flag(j, "holds", p->holds);
    json_close(j, '}');
}

void place_json_claim(json *j, const char *key, const view_line *l,
                      const hf_place *p) {
    json_open(j, key, '{');
    json_text(j, "kind", p->kind);
    json_text(j, "owner", p->owner);
    json_flag(j, "foreign", p->foreign);
    json_text_or_null(j, "user", p->user);
    json_text_or_null(j, "host", p->host);
    place_json_pid(j, p->pid);
    json_text_or_null(j, "program", p->program);
    json_text_or_null(j, "why", p->why);
    json_text_or_null(j, "client", p->client);
    put_since(j, p->since_ms);
    json_span(j, "seconds", p->since_ms);
    if (p->permits > 0)
        json_number(j, "permits", p->permits);
    if (p->holds || p->lost) {
        json_span(j, "lease", p->lease_ms);
        json_token(j, "token", p->token);
    } else {
        put_blocker(j, view_blocker(l, (size_t)(p - l->claims)));
    }
    json_close(j, '}');
}

/* Some of those in the line, which has them in this order. */
static void put_claims(json *j, const char *key, const view_line *l,
                       size_t from, size_t n) {
    json_open(j, key, '[');
    for (size_t i = from; i < from + n; i++)
        place_json_claim(j, NULL, l, &l->claims[i]);
    json_close(j, ']');
}

void place_json_waiters(json *j, const view_line *l) {
    put_claims(j, "waiters", l, l->n - l->waiters, l->waiters);
}

void place_json(json *j, const char *name, const char *state,
                const view_line *l) {
    json_text(j, "name", name);
    json_text_or_null(j, "kind", l->kind);
    json_text(j, "state", state);
    if (l->counts)
        json_number(j, "count", l->count);
    else
        json_null(j, "count");
    if (l->holder)
        place_json_claim(j, "holder", l, l->holder);
    else
        json_null(j, "holder");
    put_claims(j, "holders", l, 0, l->holders);
    place_json_waiters(j, l);
    put_claims(j, "lost", l, l->holders, l->n - l->holders - l->waiters);
}
