/* SPDX-License-Identifier: MIT
 *
 * place.c - who of this client stands in which line, and who listens.
 *
 * Three tables, of places and ears by their owner and of watches by their
 * number.  All of it with the store's mutex held. */
#include <stdlib.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "store.h"

static size_t bucket_of(uint64_t number) {
    return (size_t)(number % HF_LINE_BUCKETS);
}

/* ---- watches ----------------------------------------------------------- */

uint64_t hf__watch_begin(hf_line_store *s, hf_line_watch *w) {
    hf_line_watch **bucket = &s->watches[bucket_of(++s->last_watch)];

    w->number = s->last_watch;
    w->next = *bucket;
    *bucket = w;
    return w->number;
}

void hf__watch_end(hf_line_store *s, hf_line_watch *w) {
    hf_line_watch **link = &s->watches[bucket_of(w->number)];

    if (!w->number)
        return;
    while (*link != w)
        link = &(*link)->next;
    *link = w->next;
    w->number = 0;
}

hf_line_watch *hf__watch_find(hf_line_store *s, uint64_t number) {
    hf_line_watch *w = s->watches[bucket_of(number)];

    while (w && w->number != number)
        w = w->next;
    return w;
}

void hf__watch_drop(hf_line_store *s, hf_line_watch *w) {
    uint64_t number = w->number;

    hf__watch_end(s, w);
    if (number)
        s->port->ops->unwatch(s->port, number);
}

/* ---- places ------------------------------------------------------------ */

/* Kinds that meet in a line have numbers of one series, but a reader may ask
 * under the name of a writer's. */
static bool is_of(const hf_line_place *p, const hf_claim *c) {
    return p->owner == c->owner && p->kind == c->kind &&
           strcmp(p->name, c->name) == 0;
}

hf_line_place *hf__place_find(hf_line_store *s, const hf_claim *c) {
    hf_line_place *p = s->places[bucket_of(c->owner)];

    while (p && !is_of(p, c))
        p = p->next;
    return p;
}

hf_line_place *hf__place_add(hf_line_store *s, const hf_claim *c) {
    hf_line_place **bucket = &s->places[bucket_of(c->owner)];
    size_t size = strlen(c->name) + 1;
    hf_line_place *p = hf__calloc(1, sizeof *p + size);

    if (!p)
        return NULL;
    memcpy(p->name, c->name, size);
    p->kind = c->kind;
    p->owner = c->owner;
    p->permits = c->permits > 0 ? c->permits : 1;
    p->own.place = p;
    hf__place_clear(s, p);
    p->next = *bucket;
    *bucket = p;
    return p;
}

void hf__place_unlink(hf_line_store *s, hf_line_place *p) {
    hf_line_place **link = &s->places[bucket_of(p->owner)];

    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    p->next = NULL;
    hf__watch_drop(s, &p->own);
}

void hf__place_free(hf_line_store *s, hf_line_place *p) {
    hf__watch_drop(s, &p->own);
    hf__free(p->key);
    hf__free(p);
    pthread_cond_broadcast(&s->changed);
}

void hf__place_clear(hf_line_store *s, hf_line_place *p) {
    hf__watch_drop(s, &p->own);
    hf__free(p->key);
    p->key = NULL;
    p->holds = p->asked = p->doubted = p->minded = p->only_one = false;
    p->lease_until = p->mind_at = HF_NEVER;
    p->settles_at = p->looked = 0;
    p->token = 0;
    hf__world->random(p->id, sizeof p->id);
}

hf_line_place *hf__place_wait(hf_line_store *s, const hf_claim *c, hf_time by,
                              bool *late) {
    hf_line_place *p;

    *late = false;
    while ((p = hf__place_find(s, c)) && p->busy) {
        if (hf__now() >= by) {
            *late = true;
            return NULL;
        }
        hf__world->wait(&s->changed, &s->mu, by);
    }
    return p;
}

/* A READ that was let in beside a WRITE knows its owner; the two are in one
 * table, by different numbers. */
static const hf_line_place *beside(hf_line_store *s, const hf_line_place *p) {
    const hf_line_place *other;

    if (p->kind == HF_READ && p->beside)
        return hf__place_find(
            s,
            &(hf_claim){.name = p->name, .kind = HF_WRITE, .owner = p->beside});
    if (!p->read_beside)
        return NULL;
    for (size_t i = 0; i < HF_LINE_BUCKETS; i++)
        for (other = s->places[i]; other; other = other->next)
            if (other->kind == HF_READ && other->beside == p->owner &&
                strcmp(other->name, p->name) == 0)
                return other;
    return NULL;
}

int hf__place_beside(hf_line_store *s, const hf_line_place *p, char **ret) {
    const hf_line_place *other = beside(s, p);

    *ret = NULL;
    if (!other || !other->key || !hf__line_lives(s, other))
        return HF_OK;
    *ret = hf__strdup(other->key);
    return *ret ? HF_OK : HF_ENO_MEMORY;
}

hf_wish hf__place_wish(const hf_line_place *p) {
    hf_line line = hf__line_of(p->kind, p->name);
    hf_wish w = {.line = line,
                 .kind = line.kind == HF_LOCK ? HF_LOCK : p->kind,
                 .again = p->asked,
                 .permits = p->permits};

    memcpy(w.id, p->id, sizeof w.id);
    return w;
}

/* ---- ears -------------------------------------------------------------- */

hf_line_ear *hf__ear_find(hf_line_store *s, const hf_claim *c) {
    hf_line_ear *ear = s->ears[bucket_of(c->owner)];

    while (ear && (ear->owner != c->owner || ear->kind != c->kind ||
                   strcmp(ear->name, c->name) != 0))
        ear = ear->next;
    return ear;
}

hf_line_ear *hf__ear_add(hf_line_store *s, const hf_claim *c) {
    hf_line_ear **bucket = &s->ears[bucket_of(c->owner)];
    size_t size = strlen(c->name) + 1;
    hf_line_ear *ear = hf__calloc(1, sizeof *ear + size);

    if (!ear)
        return NULL;
    memcpy(ear->name, c->name, size);
    ear->kind = c->kind;
    ear->owner = c->owner;
    ear->watch.ear = ear;
    ear->next = *bucket;
    *bucket = ear;
    return ear;
}

void hf__ear_free(hf_line_store *s, hf_line_ear *ear) {
    hf_line_ear **link = &s->ears[bucket_of(ear->owner)];

    while (*link != ear)
        link = &(*link)->next;
    *link = ear->next;
    hf__watch_drop(s, &ear->watch);
    hf__free(ear->key);
    hf__free(ear);
}
