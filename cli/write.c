/* SPDX-License-Identifier: MIT
 *
 * write.c - what was seen, as JSON. */
#include "write.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "place_json.h"

void write_time(json *j, const char *key, int64_t at_ms) {
    char text[40], whole[32];
    time_t seconds = (time_t)(at_ms / 1000);
    struct tm tm;
    if (at_ms <= 0) {
        json_null(j, key);
        return;
    }
    gmtime_r(&seconds, &tm);
    strftime(whole, sizeof(whole), "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text, sizeof(text), "%s.%03dZ", whole, (int)(at_ms % 1000));
    json_text(j, key, text);
}

void write_line(json *j, const view_line *l) {
    place_json(j, l->name, view_state_word(l->state), l);
    json_flag(j, "stuck", l->stuck);
}

void write_event(json *j, const view_event *e, uint64_t id) {
    const hf_place *c = &e->claim;
    json_open(j, NULL, '{');
    json_token(j, "id", id);
    write_time(j, "at", e->at_ms);
    json_text(j, "event", view_event_word(e->kind));
    json_text_or_null(j, "name", c->name);
    json_text_or_null(j, "kind", c->kind);
    json_text_or_null(j, "owner", c->owner);
    json_text_or_null(j, "user", c->user);
    json_text_or_null(j, "host", c->host);
    place_json_pid(j, c->pid);
    json_text_or_null(j, "why", c->why);
    json_token(j, "token", c->token);
    json_text_or_null(j, "text", e->text);
    json_close(j, '}');
}

void write_client(json *j, const hf_presence *c) {
    json_open(j, NULL, '{');
    json_text(j, "client", c->client);
    json_text_or_null(j, "user", c->user);
    json_text_or_null(j, "host", c->host);
    place_json_pid(j, c->pid);
    json_text_or_null(j, "program", c->program);
    json_text_or_null(j, "why", c->why);
    json_number(j, "holds", (int64_t)c->holds);
    json_number(j, "waits", (int64_t)c->waits);
    json_span(j, "longest", c->waits_ms);
    json_close(j, '}');
}

static void write_stuck(json *j, const hf_stuck *s) {
    json_open(j, NULL, '{');
    json_text(j, "wants", s->wants);
    json_text_or_null(j, "kind", s->kind);
    json_text_or_null(j, "client", s->client);
    json_text_or_null(j, "user", s->user);
    json_text_or_null(j, "host", s->host);
    json_number(j, "pid", s->pid);
    json_text_or_null(j, "program", s->program);
    json_text_or_null(j, "why", s->why);
    json_number(j, "thread", (int64_t)s->thread);
    json_span(j, "seconds", s->since_ms);
    json_flag(j, "asked", s->asked);
    json_close(j, '}');
}

void write_circles(json *j, const char *key, const view_picture *p) {
    json_open(j, key, '[');
    for (size_t i = 0; i < p->n_circles; i++) {
        json_open(j, NULL, '[');
        for (size_t k = 0; k < p->circles[i].n; k++)
            write_stuck(j, &p->circles[i].all[k]);
        json_close(j, ']');
    }
    json_close(j, ']');
}

void write_look(json *j, const view_picture *p) {
    write_time(j, "at", p->at_ms);
    json_flag(j, "stale", p->stale);
    json_text_or_null(j, "trouble", p->stale ? p->trouble.text : "");
}
