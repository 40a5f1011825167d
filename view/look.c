/* SPDX-License-Identifier: MIT
 *
 * look.c - what one look at a store has shown. */
#include "look.h"

#include <stdlib.h>
#include <string.h>

#include "kind.h"

static void grow(look *l, void **items, size_t *room, size_t n, size_t size) {
    size_t more = 2 * n > 16 ? 2 * n : 16;
    void *bigger;
    if (n <= *room)
        return;
    bigger = realloc(*items, more * size);
    if (!bigger) {
        l->failed = HF_ENO_MEMORY;
        return;
    }
    *items = bigger;
    *room = more;
}

/* ---- clients ----------------------------------------------------------- */

static bool keep(look *l, const char **text) {
    *text = texts_keep(&l->texts, *text);
    if (!*text)
        l->failed = HF_ENO_MEMORY;
    return *text != NULL;
}

void look_add_client(look *l, const hf_presence *p) {
    hf_presence copy = *p;
    grow(l, (void **)&l->clients, &l->clients_room, l->n_clients + 1,
         sizeof(*l->clients));
    if (l->failed == 0 && keep(l, &copy.client) && keep(l, &copy.host) &&
        keep(l, &copy.program) && keep(l, &copy.user) && keep(l, &copy.why))
        l->clients[l->n_clients++] = copy;
}

static void add_client(void *arg, const hf_presence *p) {
    look_add_client(arg, p);
}

int look_read_clients(look *l, hf_client *client, hf_error *err) {
    return hf_clients(client, add_client, l, err);
}

static int by_client(const void *one, const void *other) {
    const hf_presence *a = one, *b = other;
    return strcmp(a->client, b->client);
}

/* ---- circles ----------------------------------------------------------- */

static int by_member(const hf_stuck *a, const hf_stuck *b) {
    int order = strcmp(a->client, b->client);
    if (order == 0)
        order = (a->thread > b->thread) - (a->thread < b->thread);
    return order != 0 ? order : strcmp(a->wants, b->wants);
}

/* Where a circle begins is chance; here it is its least member. */
static size_t first_of(const hf_stuck *all, size_t n) {
    size_t least = 0;
    for (size_t i = 1; i < n; i++)
        if (by_member(&all[i], &all[least]) < 0)
            least = i;
    return least;
}

void look_add_circle(look *l, const hf_stuck *all, size_t n) {
    size_t first = first_of(all, n);
    grow(l, (void **)&l->stuck, &l->stuck_room, l->n_stuck + n,
         sizeof(*l->stuck));
    grow(l, (void **)&l->circles, &l->circles_room, l->n_circles + 1,
         sizeof(*l->circles));
    for (size_t i = 0; l->failed == 0 && i < n; i++) {
        hf_stuck copy = all[(first + i) % n];
        if (keep(l, &copy.wants) && keep(l, &copy.kind) &&
            keep(l, &copy.client) && keep(l, &copy.host) &&
            keep(l, &copy.program) && keep(l, &copy.user) && keep(l, &copy.why))
            l->stuck[l->n_stuck + i] = copy;
    }
    if (l->failed != 0)
        return;
    l->circles[l->n_circles++] = (view_circle){.n = n};
    l->n_stuck += n;
}

static void add_circle(void *arg, const hf_stuck *circle, size_t n) {
    look_add_circle(arg, circle, n);
}

int look_read_circles(look *l, hf_client *client, hf_error *err) {
    return hf_deadlocks(client, add_circle, l, err);
}

static int by_circle(const void *one, const void *other) {
    const view_circle *a = one, *b = other;
    int order = 0;
    for (size_t i = 0; order == 0 && i < a->n && i < b->n; i++)
        order = by_member(&a->all[i], &b->all[i]);
    return order != 0 ? order : (a->n > b->n) - (a->n < b->n);
}

/* The array of their members has stopped moving. */
static void order_circles(look *l) {
    const hf_stuck *next = l->stuck;
    for (size_t i = 0; i < l->n_circles; i++) {
        l->circles[i].all = next;
        next += l->circles[i].n;
    }
    if (l->n_circles > 1)
        qsort(l->circles, l->n_circles, sizeof(*l->circles), by_circle);
}

static int by_name(const void *name, const void *line) {
    return strcmp(name, ((const view_line *)line)->name);
}

static void mark_stuck(look *l, const hf_stuck *s) {
    view_line *all = l->lines.all, *end = all + l->lines.n;
    view_line *found =
        l->lines.n ? bsearch(s->wants, all, l->lines.n, sizeof(*all), by_name) :
                     NULL;
    while (found && found > all && strcmp(found[-1].name, s->wants) == 0)
        found--;
    for (; found && found < end && strcmp(found->name, s->wants) == 0; found++)
        if (kind_line(kind_of(found->kind)) == kind_line(kind_of(s->kind)))
            found->stuck = true;
}

/* ---- leases ------------------------------------------------------------ */

/* The record of a client that was killed ends, perhaps before its leases do;
 * who it was is still known. */
static void remember_who(look *l, hf_place *p, const hf_place *old) {
    if (*p->client || !*old->client)
        return;
    p->host = old->host;
    p->program = old->program;
    p->user = old->user;
    p->why = old->why;
    p->client = old->client;
    p->pid = old->pid;
    p->foreign = old->foreign;
    if (keep(l, &p->host) && keep(l, &p->program) && keep(l, &p->user) &&
        keep(l, &p->why))
        keep(l, &p->client);
}

/* No store says how long a lease is, only what is left of it.  It is at least
 * as long as the most that was ever left. */
static void remember(look *l, const look *before, const hf_place *p,
                     const hf_place *old) {
    size_t i = (size_t)(p - l->lines.claims);
    int64_t earlier = before->longest[old - before->lines.claims];
    if (!p->holds || !old->holds || p->token != old->token)
        return;
    if (earlier > l->longest[i])
        l->longest[i] = earlier;
    remember_who(l, &l->lines.claims[i], old);
}

static void remember_line(look *l, const look *before, const view_line *now,
                          const view_line *old) {
    const hf_place **a = l->lines.by_owner + (now->claims - l->lines.claims);
    const hf_place **b =
        before->lines.by_owner + (old->claims - before->lines.claims);
    size_t i = 0, k = 0;
    while (i < now->n && k < old->n) {
        int order = lines_order(a[i], b[k]);
        if (order == 0)
            remember(l, before, a[i], b[k]);
        i += order <= 0;
        k += order >= 0;
    }
}

static void remember_leases(look *l, const look *before) {
    size_t i = 0, k = 0;
    while (i < l->lines.n && k < before->lines.n) {
        view_line *now = &l->lines.all[i];
        const view_line *old = &before->lines.all[k];
        int order = lines_compare(now, old);
        if (order == 0)
            remember_line(l, before, now, old);
        i += order <= 0;
        k += order >= 0;
    }
}

static void judge_leases(look *l) {
    for (size_t i = 0; i < l->lines.n; i++) {
        view_line *line = &l->lines.all[i];
        for (size_t k = 0; k < line->holders; k++) {
            const hf_place *p = &line->claims[k];
            int64_t longest = l->longest[p - l->lines.claims];
            if (line->state == VIEW_HELD && p->lease_ms >= 0 &&
                p->lease_ms < longest / 3)
                line->state = VIEW_LATE;
        }
    }
}

static bool make_leases(look *l) {
    size_t n = l->lines.n_claims;
    free(l->longest);
    l->longest = malloc((n + 1) * sizeof(*l->longest));
    for (size_t i = 0; l->longest && i < n; i++)
        l->longest[i] = l->lines.claims[i].lease_ms;
    free(l->untold);
    l->untold = calloc(n + 1, sizeof(*l->untold));
    return l->longest && l->untold;
}

int look_finish(look *l, const look *before) {
    int rc = lines_group(&l->lines);
    if (rc == HF_OK)
        rc = l->failed;
    if (rc == HF_OK && !make_leases(l))
        rc = HF_ENO_MEMORY;
    if (rc != HF_OK)
        return rc;
    if (l->n_clients > 1)
        qsort(l->clients, l->n_clients, sizeof(*l->clients), by_client);
    order_circles(l);
    for (size_t i = 0; i < l->n_stuck; i++)
        mark_stuck(l, &l->stuck[i]);
    if (before && before->longest)
        remember_leases(l, before);
    judge_leases(l);
    return l->failed;
}

void look_clear(look *l) {
    lines_clear(&l->lines);
    texts_clear(&l->texts);
    l->n_clients = l->n_circles = l->n_stuck = 0;
    l->failed = 0;
}

void look_free(look *l) {
    lines_free(&l->lines);
    texts_free(&l->texts);
    free(l->longest);
    free(l->untold);
    free(l->clients);
    free(l->circles);
    free(l->stuck);
    memset(l, 0, sizeof(*l));
}
