/* SPDX-License-Identifier: MIT
 *
 * api_locks.c - what is seen: locks, who waits, who is stuck, who is there.
 *
 * All of it is answered from the last picture, which is a second old at most
 * while the store answers; "at" says how old, and "stale" that it does not. */
#include "api.h"

#include <string.h>

#include "../cli/place_json.h"
#include "../cli/write.h"
#include "select.h"

static void write_selection(json *j, const selection *s) {
    json_open(j, "locks", '[');
    for (size_t i = 0; i < s->n; i++) {
        json_open(j, NULL, '{');
        write_line(j, s->lines[i]);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_text_or_null(j, "next", s->next);
    json_number(j, "matched", (int64_t)s->matched);
}

void api_locks(request *r) {
    picture *p = watch_picture(r->console->watch);
    hf_error err = {0};
    selection s;
    if (select_lines(&s, &p->seen, &r->target, &err) == HF_OK) {
        json j = request_json(r, 200);
        json_open(&j, NULL, '{');
        json_text(&j, "store", hf_store(r->console->client));
        write_selection(&j, &s);
        json_number(&j, "held", (int64_t)p->seen.held);
        json_number(&j, "waiting", (int64_t)p->seen.waiting);
        write_look(&j, &p->seen);
        json_close(&j, '}');
    } else {
        request_fail(r, &err);
    }
    select_free(&s);
    watch_return(r->console->watch, p);
}

/* The line of the path's name; NULL after having answered. */
static const view_line *asked_line(request *r, const picture *p) {
    const view_line *l = picture_find(p, r->name);
    if (!l)
        request_problem(r, 404, HF_EFREE,
                        "nothing is known of '%.255s': nobody holds it or "
                        "waits for it",
                        r->name);
    return l;
}

void api_lock(request *r) {
    picture *p = watch_picture(r->console->watch);
    const view_line *l = asked_line(r, p);
    if (l) {
        json j = request_json(r, 200);
        json_open(&j, NULL, '{');
        write_line(&j, l);
        write_look(&j, &p->seen);
        json_close(&j, '}');
    }
    watch_return(r->console->watch, p);
}

void api_waiters(request *r) {
    picture *p = watch_picture(r->console->watch);
    const view_line *l = asked_line(r, p);
    if (l) {
        json j = request_json(r, 200);
        json_open(&j, NULL, '{');
        json_text(&j, "name", l->name);
        place_json_waiters(&j, l);
        write_look(&j, &p->seen);
        json_close(&j, '}');
    }
    watch_return(r->console->watch, p);
}

void api_blocking(request *r) {
    picture *p = watch_picture(r->console->watch);
    json j = request_json(r, 200);
    json_open(&j, NULL, '{');
    json_open(&j, "locks", '[');
    for (size_t i = 0; i < p->seen.n_lines; i++) {
        if (p->seen.lines[i].waiters == 0)
            continue;
        json_open(&j, NULL, '{');
        write_line(&j, &p->seen.lines[i]);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    write_circles(&j, "circles", &p->seen);
    write_look(&j, &p->seen);
    json_close(&j, '}');
    watch_return(r->console->watch, p);
}

void api_deadlocks(request *r) {
    picture *p = watch_picture(r->console->watch);
    json j = request_json(r, 200);
    json_open(&j, NULL, '{');
    write_circles(&j, "circles", &p->seen);
    write_look(&j, &p->seen);
    json_close(&j, '}');
    watch_return(r->console->watch, p);
}

void api_clients(request *r) {
    picture *p = watch_picture(r->console->watch);
    json j = request_json(r, 200);
    json_open(&j, NULL, '{');
    json_open(&j, "clients", '[');
    for (size_t i = 0; i < p->seen.n_clients; i++)
        write_client(&j, &p->seen.clients[i]);
    json_close(&j, ']');
    write_look(&j, &p->seen);
    json_close(&j, '}');
    watch_return(r->console->watch, p);
}
