/* SPDX-License-Identifier: MIT
 *
 * lines.c - claims, put into lines.
 *
 * A store tells the claims of a line together and in order, but not always in
 * one piece: one that is gone through while it changes may tell of a name
 * twice, and those whom only records know come at the end. */
#include "lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kind.h"

/* ---- adding ------------------------------------------------------------ */

enum { STRINGS = 8 };

static bool copy_strings(texts *t, hf_place *p) {
    const char **at[STRINGS] = {&p->name,    &p->kind, &p->owner, &p->host,
                                &p->program, &p->user, &p->why,   &p->client};
    for (int i = 0; i < STRINGS; i++)
        if (!(*at[i] = texts_keep(t, *at[i])))
            return false;
    return true;
}

static bool grow(void **items, size_t *room, size_t n, size_t size) {
    size_t more = *room ? 2 * *room : 16;
    void *grown;
    if (n < *room)
        return true;
    grown = realloc(*items, more * size);
    if (!grown)
        return false;
    *items = grown;
    *room = more;
    return true;
}

void lines_add(lines *l, const hf_place *p) {
    if (!grow((void **)&l->claims, &l->room, l->n_claims, sizeof(*l->claims))) {
        l->failed = HF_ENO_MEMORY;
        return;
    }
    l->claims[l->n_claims] = *p;
    if (copy_strings(&l->texts, &l->claims[l->n_claims]))
        l->n_claims++;
    else
        l->failed = HF_ENO_MEMORY;
}

/* ---- in order ---------------------------------------------------------- */

static hf_kind line_of(const hf_place *p) {
    return kind_line(kind_of(p->kind));
}

/* A number has a place of its own; it neither holds nor waits. */
static bool is_number(const hf_place *p) {
    hf_kind kind = kind_of(p->kind);
    return (kind == HF_SEMAPHORE || kind == HF_LATCH) && !*p->owner &&
           !*p->client;
}

static int same_line(const hf_place *a, const hf_place *b) {
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : (int)line_of(a) - (int)line_of(b);
}

static int rank(const hf_place *p) {
    return is_number(p) ? 0 : p->holds ? 1 : p->lost ? 2 : 3;
}

/* Among equals it stays as the store told it. */
static int by_place(const void *one, const void *other) {
    const hf_place *a = *(const hf_place *const *)one;
    const hf_place *b = *(const hf_place *const *)other;
    int order = same_line(a, b);
    if (order == 0)
        order = rank(a) - rank(b);
    return order != 0 ? order : (a > b) - (a < b);
}

/* A client's record comes after what it holds, and may go before. */
int lines_order(const hf_place *a, const hf_place *b) {
    int order = strcmp(a->owner, b->owner);
    return order != 0 || *a->owner ? order : strcmp(a->client, b->client);
}

static int by_owner(const void *one, const void *other) {
    const hf_place *a = *(const hf_place *const *)one;
    const hf_place *b = *(const hf_place *const *)other;
    int order = lines_order(a, b);
    return order != 0 ? order : (a > b) - (a < b);
}

int lines_compare(const view_line *a, const view_line *b) {
    int order = strcmp(a->name, b->name);
    return order != 0 ? order :
                        (int)kind_line(kind_of(a->kind)) -
                            (int)kind_line(kind_of(b->kind));
}

bool lines_continues(const lines *l, const hf_place *p) {
    return l->n_claims == 0 || same_line(&l->claims[l->n_claims - 1], p) == 0;
}

/* ---- lines ------------------------------------------------------------- */

/* One who waits in order makes it a fair lock, whatever the holder says. */
static const char *kind_with(const char *kind, const hf_place *p) {
    if (kind_of(p->kind) == HF_PERMIT)
        return kind_word(HF_SEMAPHORE);
    return !*kind || kind_of(p->kind) == HF_FAIR ? p->kind : kind;
}

static view_state state_of(const view_line *line) {
    bool closed =
        line->counts && (line->count <= 0 || kind_of(line->kind) == HF_LATCH);
    if (line->n > line->holders + line->waiters)
        return VIEW_LOST;
    return line->holders > 0 || closed ? VIEW_HELD : VIEW_FREE;
}

/* The same owner in the same line with the same right is the same claim, told
 * twice. */
static bool is_same(const hf_place *a, const hf_place *b) {
    return *a->owner && lines_order(a, b) == 0 && rank(a) == rank(b);
}

/* Takes out what was told twice; how many are left of n.  What came in one
 * piece has nothing of the kind, and is not looked through. */
static size_t drop_twins(const hf_place **claims, size_t n) {
    size_t left = 0;
    const hf_place **sorted;
    if (n < 2 || claims[n - 1] - claims[0] == (ptrdiff_t)n - 1)
        return n;
    sorted = malloc(n * sizeof(const hf_place *));
    if (!sorted)
        return n;
    memcpy(sorted, claims, n * sizeof(const hf_place *));
    qsort(sorted, n, sizeof(const hf_place *), by_owner);
    for (size_t i = n - 1; i > 0; i--)
        if (is_same(sorted[i], sorted[i - 1]))
            ((hf_place *)sorted[i])->name = NULL;
    for (size_t i = 0; i < n; i++)
        if (claims[i]->name)
            claims[left++] = claims[i];
    free(sorted);
    return left;
}

static void take(lines *l, view_line *line, const hf_place *p) {
    line->kind = kind_with(line->kind, p);
    if (is_number(p)) {
        line->counts = true;
        line->count = p->count;
        return;
    }
    line->holders += p->holds;
    line->waiters += !p->holds && !p->lost;
    line->n++;
    l->claims[l->n_claims++] = *p;
}

static bool add_line(lines *l, const hf_place **claims, size_t n) {
    view_line *line;
    if (!grow((void **)&l->all, &l->lines_room, l->n, sizeof(*l->all)))
        return false;
    line = &l->all[l->n++];
    *line = (view_line){
        .name = claims[0]->name, .kind = "", .claims = l->claims + l->n_claims};
    n = drop_twins(claims, n);
    for (size_t i = 0; i < n; i++)
        take(l, line, claims[i]);
    line->holder = line->holders > 0 ? line->claims : NULL;
    line->state = state_of(line);
    return true;
}

/* `order` has the claims of all lines, sorted. */
static bool add_lines(lines *l, const hf_place **order, size_t n) {
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && same_line(order[i], order[end]) == 0;)
            end++;
        if (!add_line(l, order + i, end - i))
            return false;
    }
    return true;
}

static void index_owners(lines *l) {
    for (size_t i = 0; i < l->n_claims; i++)
        l->by_owner[i] = &l->claims[i];
    for (size_t i = 0; i < l->n; i++)
        if (l->all[i].n > 1)
            qsort(l->by_owner + (l->all[i].claims - l->claims), l->all[i].n,
                  sizeof(const hf_place *), by_owner);
}

/* The claims move to a new array in their order; the old one is the list that
 * is sorted. */
static int regroup(lines *l) {
    hf_place *came = l->claims;
    size_t n = l->n_claims;
    const hf_place **order = malloc((n + 1) * sizeof(const hf_place *));
    hf_place *sorted = malloc((n + 1) * sizeof(*sorted));
    bool ok;
    if (!order || !sorted) {
        free(order);
        free(sorted);
        return HF_ENO_MEMORY;
    }
    for (size_t i = 0; i < n; i++)
        order[i] = &came[i];
    qsort(order, n, sizeof(const hf_place *), by_place);
    l->claims = sorted;
    l->room = n + 1;
    l->n_claims = 0;
    ok = add_lines(l, order, n);
    free(came);
    l->by_owner = order;
    if (ok)
        index_owners(l);
    return ok ? HF_OK : HF_ENO_MEMORY;
}

int lines_group(lines *l) {
    free(l->by_owner);
    l->by_owner = NULL;
    if (l->failed != 0)
        return l->failed;
    return regroup(l);
}

static void collect(void *arg, const hf_place *p) {
    lines_add(arg, p);
}

int lines_list(lines *l, hf_client *client, const char *name, hf_error *err) {
    int rc = hf_list(client, name, collect, l, err);
    if (rc == HF_OK && (rc = lines_group(l)) != HF_OK) {
        err->code = rc;
        snprintf(err->text, sizeof(err->text), "%s", hf_strerror(rc));
    }
    return rc;
}

void lines_clear(lines *l) {
    l->n = l->n_claims = 0;
    l->failed = 0;
    texts_clear(&l->texts);
}

void lines_free(lines *l) {
    free(l->all);
    free(l->claims);
    free(l->by_owner);
    texts_free(&l->texts);
    memset(l, 0, sizeof(*l));
}
