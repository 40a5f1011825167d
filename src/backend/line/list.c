/* SPDX-License-Identifier: MIT
 *
 * list.c - who holds and who waits; and the operator's hand.
 *
 * Who holds is written nowhere: it follows from the order, by the same rule
 * that everybody goes by. */
#include <search.h>
#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../claim.h"
#include "../../err.h"
#include "note.h"
#include "store.h"

/* One who is told of places. */
typedef struct listing {
    hf_line_store *store;
    hf_place_fn *fn;
    void *arg;
    hf_time by;
    hf_error *err;
} listing;

/* What stands beside a writer holds as long as that does; no rule need be asked
 * about it. */
static bool holds(const hf_lineup *l, size_t i) {
    size_t blocker, before;

    return hf__lineup_admits(l, i, &blocker, &before);
}

/* A stranger is called by what its entry is called; what a port has to say of
 * it beyond that stands behind an @. */
static bool owner_of(hf_note *note, const hf_entered *e) {
    const char *slash = strrchr(e->key, '/'),
               *name = slash ? slash + 1 : e->key;
    const char *at = strrchr(name, '@');

    if (hf__note_read(note, e->note))
        return true;
    snprintf(note->owner, sizeof note->owner, "%.*s",
             (int)(at ? (size_t)(at - name) : strlen(name)), name);
    return false;
}

/* ---- list -------------------------------------------------------------- */

/* A fair one is told by its number, see hf__owner_of. */
static const char *word_of(const hf_entered *e, const hf_note *note) {
    const char *colon = strchr(note->owner, ':');

    switch (e->kind) {
    case HF_READ:
        return "read";
    case HF_WRITE:
        return "write";
    case HF_PERMIT:
        return "permit";
    default:
        return colon && colon[1] == '0' ? "fair" : "lock";
    }
}

static void show(const listing *l, const char *name, const hf_entered *e,
                 bool is_held) {
    hf_note note;
    bool ours = owner_of(&note, e);
    hf_place shown = {.name = name,
                      .kind = word_of(e, &note),
                      .owner = note.owner,
                      .holds = is_held,
                      .foreign = !ours,
                      .token = is_held ? e->token : 0,
                      .lease_ms = is_held && ours ? note.lasts_ms : -1,
                      .since_ms = e->since_ms,
                      .host = note.who.host,
                      .program = note.who.program,
                      .user = note.who.user,
                      .why = note.who.why,
                      .pid = note.who.pid,
                      .permits = e->kind == HF_PERMIT ? e->permits : 0};

    l->fn(l->arg, &shown);
}

static int show_number(const listing *l, const hf_line *line) {
    hf_number_state state = {.gone_at = HF_NEVER};
    int64_t leased = 0;
    int rc = hf__count_read(l->store, line, &state, &leased, l->by, l->err);
    hf_place shown = {.name = line->name,
                      .kind = line->kind == HF_LATCH ? "latch" : "semaphore",
                      .owner = "",
                      .lease_ms = -1,
                      .since_ms = -1,
                      .host = "",
                      .program = "",
                      .user = "",
                      .why = ""};

    if (rc != HF_OK || !state.is_set)
        return rc;
    shown.count = state.number - leased;
    if (state.gone_at != HF_NEVER)
        shown.lease_ms = hf__ms_until(state.gone_at);
    l->fn(l->arg, &shown);
    return HF_OK;
}

static int show_line(const listing *l, const hf_line *line) {
    hf_port *port = l->store->port;
    hf_lineup all = {0};
    int rc = HF_OK;

    if (line->kind == HF_SEMAPHORE || line->kind == HF_LATCH)
        rc = show_number(l, line);
    if (rc != HF_OK || line->kind == HF_LATCH)
        return rc;
    rc = port->ops->look(port, line, true, &all, l->by, l->err);
    for (int held = 1; held >= 0; held--)
        for (size_t i = 0; i < all.n; i++)
            if (holds(&all, i) == held)
                show(l, line->name, &all.all[i], held);
    hf__lineup_clear(&all);
    return rc;
}

/* Lines are looked at as they are found, each with a deadline of its own; which
 * have been is remembered, because a port may find one twice. */
typedef struct walk {
    const listing *l;
    void *seen; /* a tree of lines */
    int rc;
} walk;

static int by_line(const void *a, const void *b) {
    const hf_line *x = a, *y = b;

    return x->kind != y->kind ? (int)x->kind - (int)y->kind :
                                strcmp(x->name, y->name);
}

static hf_line *copy_line(const hf_line *line) {
    size_t n = strlen(line->name) + 1;
    hf_line *copy = hf__malloc(sizeof *copy + n);

    if (copy) {
        copy->kind = line->kind;
        copy->name = memcpy(copy + 1, line->name, n);
    }
    return copy;
}

static void visit(void *arg, const hf_line *line) {
    walk *w = arg;
    listing l = *w->l;
    hf_line *copy = NULL;

    if (w->rc != HF_OK || tfind(line, &w->seen, by_line))
        return;
    copy = copy_line(line);
    if (!copy || !tsearch(copy, &w->seen, by_line)) {
        hf__free(copy);
        w->rc = hf__fail_plain(l.err, HF_ENO_MEMORY);
        return;
    }
    l.by = hf__after_ms(l.store->base.host->timeout_ms);
    w->rc = show_line(&l, copy);
}

/* Of what is found: the first error, its own or theirs. */
static int end_walk(walk *w, int rc) {
    tdestroy(w->seen, hf__free);
    return w->rc != HF_OK ? w->rc : rc;
}

/* Every kind of line that the name may be. */
static int show_kinds(const listing *l, const char *name) {
    static const hf_kind kinds[] = {HF_LOCK, HF_WRITE, HF_SEMAPHORE, HF_LATCH};
    int rc = HF_OK;

    for (size_t i = 0; rc == HF_OK && i < sizeof kinds / sizeof *kinds; i++) {
        hf_line line = {.kind = kinds[i], .name = name};

        if (l->store->port->ops->check_name(l->store->port, &line, l->err))
            continue;
        rc = show_line(l, &line);
    }
    return rc;
}

static int show_all(const listing *l) {
    hf_port *port = l->store->port;
    hf_error unheard;
    walk w = {.l = l};
    int rc = port->ops->names(port, visit, &w, l->by, &unheard);

    if (w.rc == HF_OK && rc != HF_OK)
        *l->err = unheard;
    return end_walk(&w, rc);
}

static int show_name(const listing *l, const char *name) {
    hf_port *port = l->store->port;
    hf_line line = {.kind = HF_LOCK, .name = name};
    hf_error unheard;
    walk w = {.l = l};
    int rc;

    if (!port->ops->lines_of)
        return show_kinds(l, name);
    if (port->ops->check_name(port, &line, l->err) != HF_OK)
        return HF_OK;
    rc = port->ops->lines_of(port, name, visit, &w, l->by, &unheard);
    if (w.rc == HF_OK && rc != HF_OK)
        *l->err = unheard;
    return end_walk(&w, rc);
}

int hf__lines_list(hf_backend *be, const char *name, hf_place_fn *fn, void *arg,
                   hf_time by, hf_error *err) {
    listing l = {.store = hf__line_store(be),
                 .fn = fn,
                 .arg = arg,
                 .by = by,
                 .err = err};

    return name ? show_name(&l, name) : show_all(&l);
}

/* ---- force ------------------------------------------------------------- */

/* Readers and the writer are thrown out apart. */
static bool is_meant(const hf_lineup *l, size_t i, const hf_claim *c,
                     const char *whose) {
    const hf_entered *e = &l->all[i];
    hf_note note;

    owner_of(&note, e);
    return (e->kind == HF_READ) == (c->mode == HF_SHARED) && holds(l, i) &&
           (!whose || strcmp(whose, note.owner) == 0);
}

static int throw_out(hf_line_store *s, const hf_line *line, const hf_lineup *l,
                     size_t i, hf_time by, hf_error *err) {
    const hf_entered *e = &l->all[i];
    hf_wish w = {.line = *line, .kind = e->kind, .permits = e->permits};

    for (size_t j = 0; j < l->n; j++)
        if (j != i && l->all[j].order == e->order && e->kind != HF_PERMIT)
            w.beside = l->all[j].key;
    return s->port->ops->leave(s->port, &w, e->key, by, err);
}

int hf__line_force(hf_line_store *s, const hf_claim *c, const char *whose,
                   hf_time by, hf_error *err) {
    hf_line line = hf__line_of(c->kind, c->name);
    hf_lineup all = {0};
    bool found = false;
    int rc = s->port->ops->look(s->port, &line, true, &all, by, err);

    for (size_t i = 0; rc == HF_OK && i < all.n; i++) {
        if (!is_meant(&all, i, c, whose))
            continue;
        rc = throw_out(s, &line, &all, i, by, err);
        found |= rc == HF_OK;
        rc = rc == HF_EFREE ? HF_OK : rc;
    }
    hf__lineup_clear(&all);
    if (rc != HF_OK)
        return rc;
    return found ? HF_OK :
                   hf__fail(err, HF_EFREE, "nobody like that holds \"%.128s\"",
                            c->name);
}

/* ---- the last token ---------------------------------------------------- */

/* The holder's; while nobody holds, what the store knows of those before. */
int hf__line_token(hf_line_store *s, const hf_claim *c, int64_t *value,
                   hf_time by, hf_error *err) {
    hf_line line = hf__line_of(c->kind, c->name);
    hf_lineup all = {0};
    uint64_t token = 0;
    int rc = s->port->ops->look(s->port, &line, true, &all, by, err);

    for (size_t i = 0; i < all.n; i++)
        if (holds(&all, i) && all.all[i].token > token)
            token = all.all[i].token;
    if (rc == HF_OK)
        *value = (int64_t)(token ? token : all.last_token);
    hf__lineup_clear(&all);
    return rc;
}
