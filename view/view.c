/* SPDX-License-Identifier: MIT
 *
 * view.c - looks at a store, and remembers what happened.
 *
 * There are two looks, the last good one and the one that is being taken; a
 * look that fails leaves the last good one in the picture.  Events are kept in
 * a ring, each with its own copy of its texts. */
#include "view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kind.h"
#include "look.h"

/* What is remembered, and behind its texts one piece of memory. */
typedef struct memory {
    view_event event;
    char *texts;
} memory;

struct view {
    hf_client *client;
    char prefix[HF_NAME_MAX + 1];
    view_picture picture;
    look looks[2], *last, *next;
    bool compares; /* `last` is a look that the next may be compared with */
    memory *ring;
    size_t keep, room;      /* it grows up to `keep` */
    uint64_t first, newest; /* ids; none while first > newest */
};

/* ---- words ------------------------------------------------------------- */

const char *view_state_word(view_state state) {
    static const char *const words[] = {
        [VIEW_FREE] = "free",
        [VIEW_HELD] = "held",
        [VIEW_LATE] = "renewing late",
        [VIEW_LOST] = "lost",
    };
    return words[state];
}

const char *view_event_word(view_event_kind kind) {
    static const char *const words[VIEW_EVENT_KINDS] = {
        [VIEW_GRANTED] = "granted", [VIEW_RELEASED] = "released",
        [VIEW_LOST_IT] = "lost",    [VIEW_EXPIRED] = "expired",
        [VIEW_STOLEN] = "stolen",   [VIEW_WAITS] = "waits",
        [VIEW_GAVE_UP] = "gave-up", [VIEW_STUCK] = "deadlock",
        [VIEW_DOWN] = "store-down", [VIEW_UP] = "store-up",
    };
    return words[kind];
}

/* ---- a view ------------------------------------------------------------ */

static int fail(hf_error *err, int code, const char *text) {
    if (err) {
        err->code = code;
        snprintf(err->text, sizeof(err->text), "%s", text);
    }
    return code;
}

int view_new(view **ret, hf_client *client, size_t keep, hf_error *err) {
    view *v = client ? calloc(1, sizeof(*v)) : NULL;
    *ret = v;
    if (!client)
        return fail(err, HF_EUSAGE, "view_new: client is NULL");
    if (!v)
        return fail(err, HF_ENO_MEMORY, hf_strerror(HF_ENO_MEMORY));
    v->client = client;
    v->keep = keep > 0 ? keep : 1;
    v->first = 1;
    v->last = &v->looks[0];
    v->next = &v->looks[1];
    return HF_OK;
}

void view_free(view *v) {
    if (!v)
        return;
    for (size_t i = 0; i < v->room; i++)
        free(v->ring[i].texts);
    free(v->ring);
    look_free(&v->looks[0]);
    look_free(&v->looks[1]);
    free(v);
}

/* What was left out before has not just begun; nor is what is left out now
 * over.  So the next look is compared with nothing. */
int view_only(view *v, const char *prefix, hf_error *err) {
    prefix = prefix ? prefix : "";
    if (strlen(prefix) > HF_NAME_MAX)
        return fail(err, HF_ENAME,
                    "the beginning is longer than a name may be");
    if (strcmp(prefix, v->prefix) != 0)
        v->compares = false;
    strcpy(v->prefix, prefix);
    return HF_OK;
}

const view_picture *view_now(const view *v) {
    return &v->picture;
}

/* ---- events ------------------------------------------------------------ */

static memory *at(const view *v, uint64_t id) {
    return &v->ring[(id - 1) % v->room];
}

/* Room for one more: the ring grows, or the oldest is forgotten. */
static memory *room_for_one(view *v) {
    size_t n = (size_t)(v->newest + 1 - v->first);
    size_t more = v->room ? 2 * v->room : 64;
    memory *ring;
    if (n < v->room)
        return at(v, v->newest + 1);
    if (v->room == v->keep) {
        v->first++;
        return at(v, v->newest + 1);
    }
    more = more < v->keep ? more : v->keep;
    ring = calloc(more, sizeof(*ring));
    if (!ring)
        return NULL;
    for (uint64_t id = v->first; id <= v->newest; id++)
        ring[(id - 1) % more] = *at(v, id);
    free(v->ring);
    v->ring = ring;
    v->room = more;
    return at(v, v->newest + 1);
}

/* One that was taken away was seen to vanish first. */
static bool was_released(const view *v, const hf_place *claim) {
    for (uint64_t id = v->newest; id >= v->first; id--) {
        const view_event *e = &at(v, id)->event;
        if (*claim->owner && strcmp(e->claim.owner, claim->owner) == 0 &&
            strcmp(e->claim.name, claim->name) == 0)
            return e->kind == VIEW_RELEASED;
    }
    return false;
}

enum { STRINGS = 9 };

/* Makes the texts of the event its own. */
static bool own(memory *m) {
    view_event *e = &m->event;
    hf_place *p = &e->claim;
    const char **all[STRINGS] = {&p->name,    &p->kind,   &p->owner,
                                 &p->host,    &p->user,   &p->why,
                                 &p->program, &p->client, &e->text};
    size_t size = 0;
    char *next;
    for (int i = 0; i < STRINGS; i++)
        size += (*all[i] ? strlen(*all[i]) : 0) + 1;
    next = m->texts = malloc(size);
    for (int i = 0; next && i < STRINGS; i++) {
        *all[i] = strcpy(next, *all[i] ? *all[i] : "");
        next += strlen(next) + 1;
    }
    return m->texts != NULL;
}

static void note(void *arg, view_event_kind kind, const hf_place *claim,
                 const char *text) {
    view *v = arg;
    memory fresh = {.event = {.id = v->newest + 1,
                              .at_ms = v->picture.at_ms,
                              .kind = kind,
                              .claim = *claim,
                              .text = text}};
    memory *m;
    if (kind == VIEW_LOST_IT && was_released(v, claim))
        fresh.event.kind = VIEW_STOLEN;
    if (!own(&fresh))
        return;
    m = room_for_one(v);
    if (!m) {
        free(fresh.texts);
        return;
    }
    free(m->texts);
    *m = fresh;
    v->newest++;
}

static void note_store(view *v, view_event_kind kind, const char *text) {
    note(v, kind, &(hf_place){.lease_ms = -1, .since_ms = -1}, text);
}

const view_event *view_after(const view *v, uint64_t id) {
    uint64_t next = id + 1 > v->first ? id + 1 : v->first;
    return next <= v->newest ? &at(v, next)->event : NULL;
}

/* ---- looking ----------------------------------------------------------- */

static int64_t clock_us(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void add_place(void *arg, const hf_place *p) {
    view *v = arg;
    if (strncmp(p->name, v->prefix, strlen(v->prefix)) == 0)
        lines_add(&v->next->lines, p);
}

/* A store without records has neither clients nor circles. */
static int read_records(view *v, hf_error *err) {
    int rc = look_read_clients(v->next, v->client, err);
    if (rc == HF_OK)
        rc = look_read_circles(v->next, v->client, err);
    return rc == HF_ECANNOT ? HF_OK : rc;
}

static int read_store(view *v, hf_error *err) {
    int rc;
    look_clear(v->next);
    rc = hf_list(v->client, NULL, add_place, v, err);
    v->next->at_ms = clock_us(CLOCK_REALTIME) / 1000;
    v->next->then_ms = clock_us(CLOCK_BOOTTIME) / 1000;
    if (rc == HF_OK)
        rc = read_records(v, err);
    if (rc == HF_OK && (rc = look_finish(v->next, v->last)) != HF_OK)
        fail(err, rc, hf_strerror(rc));
    return rc;
}

static void show(view *v, const look *l) {
    view_picture *p = &v->picture;
    p->at_ms = l->at_ms;
    p->lines = l->lines.all;
    p->n_lines = l->lines.n;
    p->circles = l->circles;
    p->n_circles = l->n_circles;
    p->clients = l->clients;
    p->n_clients = l->n_clients;
    p->held = p->waiting = 0;
    for (size_t i = 0; i < l->lines.n; i++) {
        p->held += l->lines.all[i].state != VIEW_FREE;
        p->waiting += l->lines.all[i].waiters;
    }
}

static int look_failed(view *v, const hf_error *err) {
    bool was_stale = v->picture.stale;
    v->picture.stale = true;
    v->picture.trouble = *err;
    if (!was_stale) {
        int64_t at_ms = v->picture.at_ms;
        v->picture.at_ms = clock_us(CLOCK_REALTIME) / 1000;
        note_store(v, VIEW_DOWN, err->text);
        v->picture.at_ms = at_ms;
    }
    return err->code;
}

int view_look(view *v, hf_error *err) {
    int64_t began = clock_us(CLOCK_BOOTTIME);
    look *before = v->last;
    hf_error trouble = {0};
    int rc = read_store(v, &trouble);
    v->picture.rtt_us = clock_us(CLOCK_BOOTTIME) - began;
    if (err)
        *err = trouble;
    if (rc != HF_OK)
        return look_failed(v, &trouble);
    v->last = v->next;
    v->next = before;
    show(v, v->last);
    if (v->picture.stale)
        note_store(v, VIEW_UP, "");
    v->picture.stale = false;
    v->picture.trouble = trouble;
    if (v->compares)
        look_compare(before, v->last, note, v);
    v->compares = true;
    return HF_OK;
}

/* ---- reading the picture ----------------------------------------------- */

static int by_name(const void *name, const void *line) {
    return strcmp(name, ((const view_line *)line)->name);
}

const view_line *view_find(const view *v, const char *name) {
    const view_line *all = v->picture.lines, *found, *end;
    if (v->picture.n_lines == 0)
        return NULL;
    end = all + v->picture.n_lines;
    found = bsearch(name, all, v->picture.n_lines, sizeof(*all), by_name);
    while (found && found > all && strcmp(found[-1].name, name) == 0)
        found--;
    for (const view_line *l = found; l && l < end && by_name(name, l) == 0; l++)
        if (l->state != VIEW_FREE)
            return l;
    return found;
}

static bool reads(const hf_place *p) {
    return kind_of(p->kind) == HF_READ;
}

/* A reader does not wait for readers, but for the writer who goes first. */
static bool in_the_way(const hf_place *p, const hf_place *waiter) {
    return !(reads(p) && reads(waiter));
}

/* Where they are served in order each waits for the one before it. */
const hf_place *view_blocker(const view_line *line, size_t i) {
    const hf_place *waiter = &line->claims[i];
    size_t first = line->n - line->waiters;
    if (waiter->holds || waiter->lost)
        return NULL;
    if (i > first && kind_of(waiter->kind) == HF_FAIR)
        return waiter - 1;
    if (line->holder && in_the_way(line->holder, waiter))
        return line->holder;
    for (const hf_place *p = waiter; p-- > line->claims + first;)
        if (in_the_way(p, waiter))
            return p;
    return NULL;
}
