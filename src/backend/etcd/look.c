/* SPDX-License-Identifier: MIT
 *
 * look.c - the line as it stands in the store, and all lines.
 *
 * The order is that of the create revisions.  Every WRITE was made together
 * with a READ of the same suffix, so that whoever writes may go on reading
 * without standing at the end again; that READ is in the line only if its
 * mark, `beside`, is there. */
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "etcd.h"
#include "value.h"

enum { PAGE = 2000, NUMBERS = 64 };

/* ---- a line ------------------------------------------------------------ */

static void add_folder(const hf_etcd *e, const char *name, const char *folder,
                       hf_folders *f) {
    hf__etcd_key_make(&f->key[f->n], e->prefix, name, folder);
    hf__etcd_key_end(&f->end[f->n], &f->key[f->n]);
    f->n++;
}

void hf__look_folders(const hf_etcd *e, const hf_line *line, hf_folders *f) {
    f->n = 0;
    if (line->kind == HF_WRITE) {
        add_folder(e, line->name, "write/", f);
        add_folder(e, line->name, "read/", f);
    } else if (line->kind == HF_SEMAPHORE) {
        add_folder(e, line->name, "permit/", f);
    } else if (line->kind == HF_LOCK) {
        add_folder(e, line->name, "", f);
    }
}

void hf__look_write(hf_pb *b, bool then, const hf_folders *f, bool notes) {
    for (size_t i = 0; i < f->n; i++)
        hf__txn_range(b, then,
                      &(hf_range){.key = hf__etcd_key_bytes(&f->key[i]),
                                  .end = hf__etcd_key_bytes(&f->end[i]),
                                  .keys_only = !notes});
}

/* A walk through the keys of a line. */
typedef struct walk {
    const hf_etcd *etcd;
    const hf_line *line;
    bool notes;
    hf_lineup *all;
    hf_kv reader; /* the READ of a WRITE, which may be in the line */
    hf_bytes suffix;
    bool failed;
} walk;

/* Nothing, and what is no text, is no note. */
static char *note_of(walk *w, hf_bytes value) {
    char *note;

    if (!w->notes || value.n == 0 || memchr(value.at, '\0', value.n))
        return NULL;
    note = hf__strndup((const char *)value.at, value.n);
    w->failed |= !note;
    return note;
}

static void add(walk *w, const hf_kv *kv, hf_kind kind, int permits,
                hf_bytes note) {
    hf_entered *e = hf__lineup_add(w->all);

    if (e)
        e->key = hf__etcd_key_told(kv->key, kv->create);
    if (!e || !e->key) {
        w->failed = true;
        return;
    }
    e->kind = kind;
    e->order = e->token = (uint64_t)kv->create;
    e->permits = permits;
    e->note = note_of(w, note);
}

static bool has_twin(const walk *w, const hf_kv *kv) {
    for (size_t i = 0; i < w->all->n; i++)
        if (w->all->all[i].kind == HF_WRITE &&
            w->all->all[i].order == (uint64_t)kv->create)
            return true;
    return false;
}

static void add_reader(walk *w, const hf_kv *kv, const hf_key_parts *p) {
    if (!has_twin(w, kv)) {
        add(w, kv, HF_READ, 1, kv->value);
        return;
    }
    w->reader = *kv; /* its mark comes next, if at all */
    w->suffix = p->unique;
}

/* The mark of a READ that stands alone by now says nothing new. */
static void add_beside(walk *w, const hf_kv *kv, const hf_key_parts *p) {
    if (w->suffix.n && hf__bytes_equal(w->suffix, p->unique))
        add(w, &w->reader, HF_READ, 1, kv->value);
    w->suffix = (hf_bytes){0};
}

static void add_kv(walk *w, const hf_kv *kv) {
    size_t skip = strlen(w->etcd->prefix);
    hf_key_parts p;

    if (kv->key.n <= skip)
        return;
    hf__etcd_key_read(&p, (hf_bytes){kv->key.at + skip, kv->key.n - skip});
    if (p.name != strlen(w->line->name))
        return; /* of a name that begins like ours */
    if (w->line->kind == HF_LOCK && p.sort == HF_KEY_LOCK)
        add(w, kv, HF_LOCK, 1, kv->value);
    else if (w->line->kind == HF_SEMAPHORE && p.sort == HF_KEY_PERMIT)
        add(w, kv, HF_PERMIT, p.permits, kv->value);
    else if (w->line->kind == HF_WRITE && p.sort == HF_KEY_WRITE)
        add(w, kv, HF_WRITE, 1, kv->value);
    else if (w->line->kind == HF_WRITE && p.sort == HF_KEY_READ)
        add_reader(w, kv, &p);
    else if (w->line->kind == HF_WRITE && p.sort == HF_KEY_BESIDE)
        add_beside(w, kv, &p);
}

int hf__look_read(const hf_etcd *e, const hf_line *line, hf_txned *t,
                  bool notes, hf_lineup *all, hf_error *err) {
    walk w = {.etcd = e, .line = line, .notes = notes, .all = all};
    size_t folders = line->kind == HF_WRITE ? 2 : line->kind != HF_LATCH;
    hf_ranged r;
    hf_kv kv;

    for (size_t i = 0; i < folders; i++) {
        if (!hf__next_range(t, &r))
            return hf__ask_nonsense(err);
        while (hf__next_kv(&r, &kv))
            add_kv(&w, &kv);
    }
    if (w.failed)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    hf__lineup_sort(all);
    all->as_of = all->last_token = (uint64_t)t->revision;
    return HF_OK;
}

int hf__etcd_look(hf_port *p, const hf_line *line, bool notes, hf_lineup *all,
                  hf_time by, hf_error *err) {
    hf_etcd *e = hf__etcd_of(p);
    hf_question q = {0};
    hf_folders f;
    hf_txned t;
    int rc;

    hf__look_folders(e, line, &f);
    hf__look_write(&q.body, true, &f, notes);
    rc = hf__ask_txn(&e->speaker, &q, &t, by, err);
    if (rc == HF_OK)
        rc = hf__look_read(e, line, &t, notes, all, err);
    hf__question_clear(&q);
    if (rc != HF_OK)
        hf__lineup_clear(all);
    return rc;
}

/* ---- all lines --------------------------------------------------------- */

/* What was told lately is not told again at once; the caller bears the rest. */
typedef struct telling {
    hf_etcd *etcd;
    void (*fn)(void *arg, const hf_line *line);
    void *arg;
    hf_line last;
    char name[HF_KEY_SIZE];

    hf_key numbers[NUMBERS]; /* to be looked into: they may be others' */
    size_t n;
} telling;

static void tell(telling *t, hf_kind kind, hf_bytes key, size_t name) {
    if (name > HF_NAME_MAX)
        return;
    if (t->last.name && t->last.kind == kind && strlen(t->name) == name &&
        memcmp(t->name, key.at, name) == 0)
        return;
    memcpy(t->name, key.at, name);
    t->name[name] = '\0';
    t->last = (hf_line){kind, t->name};
    t->fn(t->arg, &t->last);
}

static void tell_number(telling *t, hf_ranged *r) {
    size_t skip = strlen(t->etcd->prefix);
    hf_number_state *state = hf__calloc(1, sizeof *state);
    hf_key_parts p;
    hf_kv kv;

    if (state && hf__next_kv(r, &kv) && hf__etcd_value_read(state, kv.value)) {
        hf_bytes key = {kv.key.at + skip, kv.key.n - skip};

        hf__etcd_key_read(&p, key);
        if (state->is_set)
            tell(t, p.sort == HF_KEY_LATCH ? HF_LATCH : HF_SEMAPHORE, key,
                 p.name);
    }
    hf__free(state);
}

/* Between them the caller takes its time, so each question has a deadline of its
 * own. */
static int tell_numbers(telling *t, hf_error *err) {
    hf_time by = hf__after_ms(t->etcd->host->timeout_ms);
    hf_question q = {0};
    hf_txned txn;
    hf_ranged r;
    int rc;

    if (t->n == 0)
        return HF_OK;
    for (size_t i = 0; i < t->n; i++)
        hf__txn_range(&q.body, true,
                      &(hf_range){.key = hf__etcd_key_bytes(&t->numbers[i])});
    rc = hf__ask_txn(&t->etcd->speaker, &q, &txn, by, err);
    while (rc == HF_OK && hf__next_range(&txn, &r))
        tell_number(t, &r);
    hf__question_clear(&q);
    t->n = 0;
    return rc;
}

static int tell_kv(telling *t, const hf_kv *kv, hf_error *err) {
    size_t skip = strlen(t->etcd->prefix);
    hf_bytes key = {kv->key.at + skip, kv->key.n - skip};
    hf_key_parts p;

    hf__etcd_key_read(&p, key);
    if (p.sort == HF_KEY_COUNT || p.sort == HF_KEY_LATCH) {
        if (kv->key.n >= HF_KEY_SIZE)
            return HF_OK;
        t->numbers[t->n].n = kv->key.n;
        memcpy(t->numbers[t->n].at, kv->key.at, kv->key.n);
        t->n++;
        return t->n == NUMBERS ? tell_numbers(t, err) : HF_OK;
    }
    if (kv->lease == 0) /* nobody's entry: entries end with a session */
        return HF_OK;
    if (p.sort == HF_KEY_LOCK)
        tell(t, HF_LOCK, key, p.name);
    else if (p.sort == HF_KEY_READ || p.sort == HF_KEY_WRITE)
        tell(t, HF_WRITE, key, p.name);
    else if (p.sort == HF_KEY_PERMIT)
        tell(t, HF_SEMAPHORE, key, p.name);
    return HF_OK;
}

/* One page, and where the next one begins. */
static int tell_page(telling *t, hf_key *from, const hf_key *end, bool *more,
                     hf_time by, hf_error *err) {
    hf_question q = {.path = HF_RPC_RANGE};
    hf_ranged r;
    hf_kv kv = {0};
    int rc;

    hf__write_range(&q.body, &(hf_range){.key = hf__etcd_key_bytes(from),
                                         .end = hf__etcd_key_bytes(end),
                                         .limit = PAGE,
                                         .keys_only = true});
    rc = hf__ask(&t->etcd->speaker, &q, 1, by, err);
    if (rc == HF_OK && !hf__read_range(q.answer, &r))
        rc = hf__ask_nonsense(err);
    while (rc == HF_OK && hf__next_kv(&r, &kv))
        rc = tell_kv(t, &kv, err);
    *more = rc == HF_OK && r.more && kv.key.n + 1 < HF_KEY_SIZE;
    if (*more) {
        memcpy(from->at, kv.key.at, kv.key.n);
        from->at[kv.key.n] = '\0';
        from->n = kv.key.n + 1;
    }
    hf__question_clear(&q);
    return rc;
}

int hf__etcd_names(hf_port *p, void (*fn)(void *arg, const hf_line *line),
                   void *arg, hf_time by, hf_error *err) {
    telling *t = hf__calloc(1, sizeof *t);
    hf_key from = {.n = 1}, end = {.n = 1}; /* a zero byte: all there is */
    bool more = true;
    int rc = HF_OK;

    if (!t)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    t->etcd = hf__etcd_of(p);
    t->fn = fn;
    t->arg = arg;
    if (t->etcd->prefix[0]) {
        from.n = strlen(t->etcd->prefix);
        memcpy(from.at, t->etcd->prefix, from.n);
        hf__etcd_key_end(&end, &from);
    }
    while (rc == HF_OK && more) {
        rc = tell_page(t, &from, &end, &more, by, err);
        by = hf__after_ms(t->etcd->host->timeout_ms);
    }
    if (rc == HF_OK)
        rc = tell_numbers(t, err);
    hf__free(t);
    return rc;
}
