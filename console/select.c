/* SPDX-License-Identifier: MIT
 *
 * select.c - a page of lines.
 *
 * By name a cursor is the last name of the page before, so that what comes
 * and goes in between shifts nothing; lines of one name are never torn apart.
 * In another order it is a position. */
#include "select.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int order_fn(const void *, const void *);

typedef struct filter {
    const char *prefix, *part, *host, *state, *cursor;
    order_fn *order; /* NULL: by name */
    size_t limit;
} filter;

static int refuse(hf_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int refuse(hf_error *err, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    return err->code = HF_EUSAGE;
}

/* ---- which ------------------------------------------------------------- */

static const char *const states[] = {"",     "busy", "held", "waited",
                                     "late", "lost", "free", NULL};

static bool in_state(const view_line *l, const char *state) {
    if (strcmp(state, "busy") == 0)
        return l->state != VIEW_FREE || l->waiters > 0;
    if (strcmp(state, "held") == 0)
        return l->state == VIEW_HELD || l->state == VIEW_LATE;
    if (strcmp(state, "waited") == 0)
        return l->waiters > 0;
    if (strcmp(state, "late") == 0)
        return l->state == VIEW_LATE;
    if (strcmp(state, "lost") == 0)
        return l->state == VIEW_LOST;
    return !*state || l->state == VIEW_FREE;
}

static bool of_host(const view_line *l, const char *host) {
    if (!*host)
        return true;
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->claims[i].host, host) == 0)
            return true;
    return false;
}

static bool wanted(const view_line *l, const filter *f) {
    return strncmp(l->name, f->prefix, strlen(f->prefix)) == 0 &&
           strstr(l->name, f->part) && of_host(l, f->host) &&
           in_state(l, f->state);
}

/* ---- in which order ---------------------------------------------------- */

/* By the pointers, which stand in the order of the names. */
static int by_place(const view_line *a, const view_line *b) {
    return a < b ? -1 : a > b;
}

static int by_held(const void *x, const void *y) {
    const view_line *a = *(const view_line *const *)x,
                    *b = *(const view_line *const *)y;
    int64_t m = a->holder ? a->holder->since_ms : -1;
    int64_t n = b->holder ? b->holder->since_ms : -1;
    return m != n ? (m > n ? -1 : 1) : by_place(a, b);
}

static int64_t lease_left(const view_line *l) {
    return l->holder && l->holder->lease_ms >= 0 ? l->holder->lease_ms :
                                                   INT64_MAX;
}

static int by_lease(const void *x, const void *y) {
    const view_line *a = *(const view_line *const *)x,
                    *b = *(const view_line *const *)y;
    int64_t m = lease_left(a), n = lease_left(b);
    return m != n ? (m < n ? -1 : 1) : by_place(a, b);
}

static int by_waiters(const void *x, const void *y) {
    const view_line *a = *(const view_line *const *)x,
                    *b = *(const view_line *const *)y;
    return a->waiters != b->waiters ? (a->waiters > b->waiters ? -1 : 1) :
                                      by_place(a, b);
}

/* ---- the query --------------------------------------------------------- */

static const char *value(const target *query, const char *key) {
    const char *text = target_value(query, key);
    return text ? text : "";
}

static int read_limit(filter *f, const char *text, hf_error *err) {
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    f->limit = PAGE_USUAL;
    if (!*text)
        return HF_OK;
    if (*text < '0' || *text > '9' || *end || n < 1 || n > PAGE_MOST)
        return refuse(err, "limit is not a number from 1 to %d", PAGE_MOST);
    f->limit = n;
    return HF_OK;
}

static int read_sort(filter *f, const char *text, hf_error *err) {
    static const struct {
        const char *word;
        order_fn *order;
    } orders[] = {{"", NULL},
                  {"name", NULL},
                  {"held", by_held},
                  {"lease", by_lease},
                  {"waiters", by_waiters}};
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
        if (strcmp(orders[i].word, text) == 0) {
            f->order = orders[i].order;
            return HF_OK;
        }
    return refuse(err, "sort is not one of name, held, lease, waiters");
}

static int read_state(filter *f, const char *text, hf_error *err) {
    for (int i = 0; states[i]; i++)
        if (strcmp(states[i], text) == 0) {
            f->state = text;
            return HF_OK;
        }
    return refuse(err, "state is not one of busy, held, waited, late, lost, "
                       "free");
}

static int read_filter(filter *f, const target *query, hf_error *err) {
    int r;
    f->prefix = value(query, "prefix");
    f->part = value(query, "q");
    f->host = value(query, "host");
    f->cursor = value(query, "cursor");
    r = read_state(f, value(query, "state"), err);
    if (r == HF_OK)
        r = read_sort(f, value(query, "sort"), err);
    if (r == HF_OK)
        r = read_limit(f, value(query, "limit"), err);
    return r;
}

/* ---- the page ---------------------------------------------------------- */

static void page_by_name(selection *s, const filter *f) {
    size_t from = 0, end;
    while (from < s->matched && *f->cursor &&
           strcmp(s->lines[from]->name, f->cursor) <= 0)
        from++;
    end = s->matched - from > f->limit ? from + f->limit : s->matched;
    while (end > from && end < s->matched &&
           strcmp(s->lines[end]->name, s->lines[end - 1]->name) == 0)
        end++;
    if (end < s->matched)
        snprintf(s->next, sizeof(s->next), "%s", s->lines[end - 1]->name);
    s->n = end - from;
    memmove(s->lines, s->lines + from, s->n * sizeof(*s->lines));
}

static void page_by_place(selection *s, const filter *f) {
    size_t from = strtoul(f->cursor, NULL, 10);
    if (from > s->matched)
        from = s->matched;
    qsort(s->lines, s->matched, sizeof(*s->lines), f->order);
    s->n = s->matched - from > f->limit ? f->limit : s->matched - from;
    if (from + s->n < s->matched)
        snprintf(s->next, sizeof(s->next), "%zu", from + s->n);
    memmove(s->lines, s->lines + from, s->n * sizeof(*s->lines));
}

int select_lines(selection *s, const view_picture *p, const target *query,
                 hf_error *err) {
    filter f = {0};
    int r = read_filter(&f, query, err);
    memset(s, 0, sizeof(*s));
    if (r != HF_OK)
        return r;
    s->lines = calloc(p->n_lines + 1, sizeof(*s->lines));
    if (!s->lines)
        return err->code = HF_ENO_MEMORY;
    for (size_t i = 0; i < p->n_lines; i++)
        if (wanted(&p->lines[i], &f))
            s->lines[s->matched++] = &p->lines[i];
    if (f.order)
        page_by_place(s, &f);
    else
        page_by_name(s, &f);
    return HF_OK;
}

void select_free(selection *s) {
    free(s->lines);
}
