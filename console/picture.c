/* SPDX-License-Identifier: MIT
 *
 * picture.c - copying a picture.
 *
 * All of it lies in a few large blocks, which are freed together. */
#include "picture.h"

#include <stdlib.h>
#include <string.h>

#include "../cli/moment.h"

enum { BLOCK = 64 * 1024 };

typedef struct block {
    struct block *next;
    size_t used, size;
    max_align_t bytes[];
} block;

static block *grow(picture *p, size_t n) {
    size_t size = n > BLOCK ? n : BLOCK;
    block *b = malloc(sizeof(*b) + size);
    if (!b)
        return NULL;
    *b = (block){.next = p->blocks, .size = size};
    p->blocks = b;
    return b;
}

static void *get(picture *p, size_t n) {
    block *b = p->blocks;
    n = (n + sizeof(max_align_t) - 1) / sizeof(max_align_t) *
        sizeof(max_align_t);
    if (!b || b->size - b->used < n)
        b = grow(p, n);
    if (!b)
        return NULL;
    b->used += n;
    return (char *)b->bytes + b->used - n;
}

static void *get_all(picture *p, size_t n, size_t size) {
    return get(p, n > 0 ? n * size : size);
}

static bool put_text(picture *p, const char **text) {
    size_t n = *text ? strlen(*text) + 1 : 1;
    char *copy = get(p, n);
    if (!copy)
        return false;
    memcpy(copy, *text ? *text : "", n);
    *text = copy;
    return true;
}

static bool put_claim(picture *p, hf_place *c) {
    return put_text(p, &c->name) && put_text(p, &c->kind) &&
           put_text(p, &c->owner) && put_text(p, &c->host) &&
           put_text(p, &c->program) && put_text(p, &c->user) &&
           put_text(p, &c->why) && put_text(p, &c->client);
}

static bool put_line(picture *p, view_line *l) {
    hf_place *claims = get_all(p, l->n, sizeof(*claims));
    if (!claims || !put_text(p, &l->name) || !put_text(p, &l->kind))
        return false;
    for (size_t i = 0; i < l->n; i++) {
        claims[i] = l->claims[i];
        if (!put_claim(p, &claims[i]))
            return false;
    }
    if (l->holder)
        l->holder = claims + (l->holder - l->claims);
    l->claims = claims;
    return true;
}

static bool put_lines(picture *p) {
    view_line *lines = get_all(p, p->seen.n_lines, sizeof(*lines));
    if (!lines)
        return false;
    for (size_t i = 0; i < p->seen.n_lines; i++) {
        lines[i] = p->seen.lines[i];
        if (!put_line(p, &lines[i]))
            return false;
    }
    p->seen.lines = lines;
    return true;
}

static bool put_stuck(picture *p, hf_stuck *s) {
    return put_text(p, &s->wants) && put_text(p, &s->kind) &&
           put_text(p, &s->client) && put_text(p, &s->host) &&
           put_text(p, &s->program) && put_text(p, &s->user) &&
           put_text(p, &s->why);
}

static bool put_circle(picture *p, view_circle *c) {
    hf_stuck *all = get_all(p, c->n, sizeof(*all));
    if (!all)
        return false;
    for (size_t i = 0; i < c->n; i++) {
        all[i] = c->all[i];
        if (!put_stuck(p, &all[i]))
            return false;
    }
    c->all = all;
    return true;
}

static bool put_circles(picture *p) {
    view_circle *circles = get_all(p, p->seen.n_circles, sizeof(*circles));
    if (!circles)
        return false;
    for (size_t i = 0; i < p->seen.n_circles; i++) {
        circles[i] = p->seen.circles[i];
        if (!put_circle(p, &circles[i]))
            return false;
    }
    p->seen.circles = circles;
    return true;
}

static bool put_clients(picture *p) {
    hf_presence *clients = get_all(p, p->seen.n_clients, sizeof(*clients));
    if (!clients)
        return false;
    for (size_t i = 0; i < p->seen.n_clients; i++) {
        hf_presence *c = &clients[i];
        *c = p->seen.clients[i];
        if (!put_text(p, &c->client) || !put_text(p, &c->host) ||
            !put_text(p, &c->program) || !put_text(p, &c->user) ||
            !put_text(p, &c->why))
            return false;
    }
    p->seen.clients = clients;
    return true;
}

picture *picture_copy(const view_picture *from) {
    picture *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->seen = *from;
    p->refs = 1;
    p->made_ms = moment_now();
    if (put_lines(p) && put_circles(p) && put_clients(p))
        return p;
    picture_free(p);
    return NULL;
}

void picture_free(picture *p) {
    block *next;
    for (block *b = p->blocks; b; b = next) {
        next = b->next;
        free(b);
    }
    free(p);
}

const view_line *picture_find(const picture *p, const char *name) {
    const view_line *found = NULL;
    for (size_t i = 0; i < p->seen.n_lines; i++) {
        const view_line *l = &p->seen.lines[i];
        if (strcmp(l->name, name) == 0 && (!found || !found->holder))
            found = l;
    }
    return found;
}
