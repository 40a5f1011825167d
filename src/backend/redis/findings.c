/* SPDX-License-Identifier: MIT
 *
 * findings.c - what was found at several servers, told once. */
#include "findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"

enum { NAMED = 4 }; /* servers, then "and 3 more" */

struct hf_finding {
    const char *what;
    hf_verdict_level level;
    char where[112], text[480];
};

static hf_finding *add(hf_findings *f) {
    if (f->n == f->room) {
        size_t room = f->room ? 2 * f->room : 32;
        hf_finding *all = hf__realloc(f->all, room * sizeof *all);

        if (!all) {
            f->failed = true;
            return NULL;
        }
        f->all = all;
        f->room = room;
    }
    return &f->all[f->n++];
}

void hf__find(hf_findings *f, const char *where, hf_verdict_level level,
              const char *what, const char *format, ...) {
    hf_finding *found = add(f);
    va_list ap;

    if (!found)
        return;
    snprintf(found->where, sizeof found->where, "%s", where);
    found->what = what;
    found->level = level;
    va_start(ap, format);
    vsnprintf(found->text, sizeof found->text, format, ap);
    va_end(ap);
}

/* ---- telling ----------------------------------------------------------- */

static bool same_subject(const hf_finding *a, const hf_finding *b) {
    return strcmp(a->what, b->what) == 0;
}

static bool same(const hf_finding *a, const hf_finding *b) {
    return same_subject(a, b) && a->level == b->level &&
           strcmp(a->text, b->text) == 0;
}

/* Was anything like the i-th noted before it? */
static bool is_repeat(const hf_findings *f, size_t i,
                      bool like(const hf_finding *, const hf_finding *)) {
    for (size_t j = 0; j < i; j++)
        if (like(&f->all[j], &f->all[i]))
            return true;
    return false;
}

static size_t count(const hf_findings *f, const hf_finding *one,
                    bool like(const hf_finding *, const hf_finding *)) {
    size_t n = 0;

    for (size_t j = 0; j < f->n; j++)
        n += like(&f->all[j], one);
    return n;
}

/* What most have in common, or NULL. */
static const hf_finding *common(const hf_findings *f, const hf_finding *one) {
    const hf_finding *best = NULL;
    size_t most = 1;

    if (count(f, one, same) == count(f, one, same_subject))
        return one;
    for (size_t j = 0; j < f->n; j++) {
        size_t n = count(f, &f->all[j], same);

        if (same_subject(&f->all[j], one) && n > most) {
            best = &f->all[j];
            most = n;
        }
    }
    return best;
}

/* "10.0.0.1:6379, 10.0.0.2:6379: the text" */
static void tell_named(const hf_findings *f, const hf_finding *one,
                       hf_fact_fn *fn, void *arg) {
    char text[1024];
    size_t n = 0, len = 0, all = count(f, one, same);

    for (size_t j = 0; j < f->n && n < NAMED; j++)
        if (same(&f->all[j], one) && *f->all[j].where)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%s",
                                    n++ ? ", " : "", f->all[j].where);
    if (n && all > n)
        len += (size_t)snprintf(text + len, sizeof text - len, " and %zu more",
                                all - n);
    snprintf(text + len, sizeof text - len, "%s%s", n ? ": " : "", one->text);
    fn(arg, one->level, one->what, text);
}

static void tell_subject(const hf_findings *f, size_t first, hf_fact_fn *fn,
                         void *arg) {
    const hf_finding *shared = common(f, &f->all[first]);

    if (shared)
        fn(arg, shared->level, shared->what, shared->text);
    for (size_t i = first; i < f->n; i++)
        if (same_subject(&f->all[i], &f->all[first]) &&
            !is_repeat(f, i, same) && !(shared && same(&f->all[i], shared)))
            tell_named(f, &f->all[i], fn, arg);
}

int hf__findings_tell(const hf_findings *f, hf_fact_fn *fn, void *arg,
                      hf_error *err) {
    if (f->failed)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    for (size_t i = 0; i < f->n; i++)
        if (!is_repeat(f, i, same_subject))
            tell_subject(f, i, fn, arg);
    return HF_OK;
}

void hf__findings_clear(hf_findings *f) {
    hf__free(f->all);
    *f = (hf_findings){0};
}
