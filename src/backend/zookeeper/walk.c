/* SPDX-License-Identifier: MIT
 *
 * walk.c - every line below the chroot.
 *
 * Node by node, a batch of them in each round, which has a deadline of its own.
 * What a child is called tells whether it belongs to a line or is a part of
 * other names. */
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "zookeeper.h"

enum {
    BATCH = 256,
    KEPT_MS = 3600 * 1000 /* answers outlive their number for so long */
};

typedef struct walk {
    hf_zookeeper *p;
    void (*fn)(void *arg, const hf_line *line);
    void *arg;
    hf_time by; /* of this round */
    hf_error *err;
    bool one;     /* nothing below it is of interest */
    char **names; /* still to be looked at, from `first` on */
    size_t first, n;
} walk;

/* ---- names ------------------------------------------------------------- */

static int push(walk *w, const char *name) {
    char **more;

    if ((w->n & (w->n - 1)) == 0) { /* full: it grows by doubling */
        more = hf__realloc(w->names, (w->n ? 2 * w->n : 1) * sizeof *more);
        if (!more)
            return hf__fail_plain(w->err, HF_ENO_MEMORY);
        w->names = more;
    }
    w->names[w->n] = hf__strdup(name);
    if (!w->names[w->n])
        return hf__fail_plain(w->err, HF_ENO_MEMORY);
    w->n++;
    return HF_OK;
}

/* What cannot be a name was made by somebody else for something else. */
static int push_child(walk *w, const char *name, const char *child) {
    char longer[HF_ZNODE_SIZE];
    hf_error ignored;

    if (*name)
        hf__zookeeper_join(longer, name, child);
    else
        hf__zookeeper_join(longer, "", child);
    if (!*name)
        memmove(longer, longer + 1, strlen(longer));
    if (strlen(longer) > HF_NAME_MAX ||
        hf__layout_check_name(w->p->chroot, longer, &ignored) != HF_OK)
        return HF_OK;
    return push(w, longer);
}

/* ---- one node ---------------------------------------------------------- */

typedef struct found {
    bool lock, rw, semaphore, count, answers;
} found;

static bool note_entry(const walk *w, const char *child, found *f) {
    hf_tagged tagged;
    int64_t ms;

    if (hf__layout_parse(w->p->layout, HF_LOCK, child, &tagged))
        f->lock = true;
    else if (hf__layout_parse(w->p->layout, HF_WRITE, child, &tagged))
        f->rw = true; /* in kazoo's: a reader, so that locks are writers */
    else if (hf__layout_parse_until(child, &ms))
        f->lock = true;
    else
        return false;
    return true;
}

static bool note_part(const char *child, found *f) {
    if (strcmp(child, hf__zk_leases) == 0 || strcmp(child, hf__zk_locks) == 0)
        f->semaphore = true;
    else if (strcmp(child, hf__zk_count) == 0)
        f->count = true;
    else if (strcmp(child, hf__zk_answers) == 0)
        f->answers = true;
    else
        return false;
    return true;
}

static void tell(const walk *w, hf_kind kind, const char *name) {
    hf_line line = {.kind = kind, .name = name};

    w->fn(w->arg, &line);
}

/* Answers without a number are swept away when nobody can ask for them any
 * more. */
static void sweep(walk *w, const char *path, const struct Stat *stat) {
    int64_t now_ms;
    zoo_op_t op;
    hf_error err;
    hf_round *r;

    if (!hf__zk_clock(w->p->zk, &now_ms) || now_ms - stat->mtime < KEPT_MS)
        return;
    if (hf__round_begin(&r, w->p->zk, 1, 0, &err) == HF_OK) {
        zoo_delete_op_init(&op, path, stat->version);
        hf__round_multi(r, &op, 1);
    }
    hf__round_free(r);
}

static int ask_answers(walk *w, const char *path, hf_round **r) {
    int rc = hf__round_begin(r, w->p->zk, 1, w->by, w->err);

    if (rc != HF_OK)
        return rc;
    hf__round_get(*r, path);
    rc = hf__round_end(*r, w->by, w->err);
    if (rc != HF_OK)
        hf__round_free(*r);
    return rc;
}

/* A number alone is a semaphore's or a latch's: the answers know; one that
 * has none was made in Java, to be counted down. */
static int look_at_number(walk *w, const char *name, const found *f) {
    hf_line line = {.kind = HF_LATCH, .name = name};
    char path[HF_ZNODE_SIZE];
    const hf_answer *answers;
    hf_round *r;
    int rc;

    hf__zookeeper_base(w->p, &line, path);
    hf__zookeeper_join(path, path, hf__zk_answers);
    w->by = hf__after_ms(w->p->host->host->timeout_ms);
    do
        rc = ask_answers(w, path, &r);
    while (hf__zookeeper_again(rc, w->by));
    if (rc != HF_OK)
        return rc;
    answers = hf__round_nth(r, 0);
    if (!f->count && answers->rc == ZOK)
        sweep(w, path, &answers->stat);
    else if (f->count && answers->rc == ZOK &&
             hf__zk_answers_are_of(answers->text, answers->length,
                                   HF_SEMAPHORE))
        tell(w, HF_SEMAPHORE, name);
    else if (f->count)
        tell(w, HF_LATCH, name);
    hf__round_free(r);
    return HF_OK;
}

static int look_at(walk *w, const char *name, const hf_answer *children) {
    bool top = *name == '\0';
    found f = {0};
    int rc = HF_OK;

    for (size_t i = 0; i < children->n && rc == HF_OK; i++) {
        const char *child = children->names[i];

        if ((top || (!note_entry(w, child, &f) && !note_part(child, &f))) &&
            !w->one)
            rc = push_child(w, name, child);
    }
    if (rc != HF_OK)
        return rc;
    if (f.lock && !(f.rw && w->p->layout == HF_KAZOO))
        tell(w, HF_LOCK, name);
    if (f.rw)
        tell(w, HF_WRITE, name);
    if (f.semaphore)
        tell(w, HF_SEMAPHORE, name);
    else if (f.count || f.answers)
        rc = look_at_number(w, name, &f);
    return rc;
}

/* ---- all of them ------------------------------------------------------- */

static void path_of(const walk *w, const char *name, char buf[HF_ZNODE_SIZE]) {
    hf__zookeeper_join(buf, w->p->chroot, name);
    if (!*name && *w->p->chroot)
        buf[strlen(buf) - 1] = '\0';
}

static int ask_children(walk *w, size_t n, hf_round **r) {
    char path[HF_ZNODE_SIZE];
    int rc = hf__round_begin(r, w->p->zk, n + 1, w->by, w->err);

    if (rc != HF_OK)
        return rc;
    hf__round_sync(*r);
    for (size_t i = 0; i < n; i++) {
        path_of(w, w->names[w->first + i], path);
        hf__round_children(*r, path);
    }
    rc = hf__round_end(*r, w->by, w->err);
    if (rc != HF_OK)
        hf__round_free(*r);
    return rc;
}

/* Names that are gone meanwhile, or closed to us, are no lines of ours. */
static int look_at_some(walk *w, size_t n) {
    hf_round *r;
    int rc;

    do
        rc = ask_children(w, n, &r);
    while (hf__zookeeper_again(rc, w->by));
    if (rc != HF_OK)
        return rc;
    for (size_t i = 0; i < n && rc == HF_OK; i++)
        if (hf__round_nth(r, i + 1)->rc == ZOK)
            rc = look_at(w, w->names[w->first + i], hf__round_nth(r, i + 1));
    hf__round_free(r);
    return rc;
}

static int go(walk *w, const char *from) {
    int rc = push(w, from);

    while (rc == HF_OK && w->first < w->n) {
        size_t left = w->n - w->first, n = left < BATCH ? left : BATCH;

        rc = look_at_some(w, n);
        w->first += n;
        w->by = hf__after_ms(w->p->host->host->timeout_ms);
    }
    for (size_t i = 0; i < w->n; i++)
        hf__free(w->names[i]);
    hf__free(w->names);
    return hf__zookeeper_only_asked(rc, w->err);
}

int hf__zookeeper_names(hf_port *port,
                        void (*fn)(void *arg, const hf_line *line), void *arg,
                        hf_time by, hf_error *err) {
    walk w = {
        .p = (hf_zookeeper *)port, .fn = fn, .arg = arg, .by = by, .err = err};

    return go(&w, "");
}

int hf__zookeeper_lines_of(hf_port *port, const char *name,
                           void (*fn)(void *arg, const hf_line *line),
                           void *arg, hf_time by, hf_error *err) {
    walk w = {.p = (hf_zookeeper *)port,
              .fn = fn,
              .arg = arg,
              .by = by,
              .err = err,
              .one = true};

    return go(&w, name);
}
