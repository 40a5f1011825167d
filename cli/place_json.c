/* SPDX-License-Identifier: MIT
 *
 * place_json.c - a line of claims as JSON, the same for `show` and `ls`. */
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

void place_json_claim(json *j, const char *key, const hf_place *p) {
    json_open(j, key, '{');
    json_text(j, "kind", p->kind);
    json_text(j, "owner", p->owner);
    json_flag(j, "foreign", p->foreign);
    json_text_or_null(j, "user", p->user);
    json_text_or_null(j, "host", p->host);
    if (p->pid > 0)
        json_number(j, "pid", p->pid);
    else
        json_null(j, "pid");
    json_text_or_null(j, "program", p->program);
    json_text_or_null(j, "why", p->why);
    put_since(j, p->since_ms);
    json_span(j, "seconds", p->since_ms);
    if (p->permits > 0)
        json_number(j, "permits", p->permits);
    if (p->holds) {
        json_span(j, "lease", p->lease_ms);
        json_token(j, "token", p->token);
    }
    json_close(j, '}');
}

/* Those who hold, or those who wait. */
static void put_claims(json *j, const char *key, const place_line *l,
                       bool holds) {
    json_open(j, key, '[');
    for (size_t i = l->from; i < l->end; i++) {
        const hf_place *p = &l->all->items[i].seen;
        if (p != l->count && p->holds == holds)
            place_json_claim(j, NULL, p);
    }
    json_close(j, ']');
}

void place_json(json *j, const char *name, const place_line *l) {
    json_text(j, "name", name);
    json_text_or_null(j, "kind", l->kind);
    json_text(j, "state", l->state);
    if (l->count)
        json_number(j, "count", l->count->count);
    else
        json_null(j, "count");
    if (l->holder)
        place_json_claim(j, "holder", l->holder);
    else
        json_null(j, "holder");
    put_claims(j, "holders", l, true);
    put_claims(j, "waiters", l, false);
}
