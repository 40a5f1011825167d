/* SPDX-License-Identifier: MIT
 *
 * entry.c - entries are made and taken out.
 *
 * Making one is a single transaction: if the key is not there yet it is put,
 * and either way the line is listed.  So it may be asked twice.  Whoever only
 * tries adds that nobody may stand in the way.
 *
 * A key's number is used again, so everything done to an entry says which one
 * is meant, by its create revision. */
#include <stdlib.h>
#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "etcd.h"

/* ---- entering ---------------------------------------------------------- */

static void compare(hf_pb *b, const hf_key *key, hf_relation is,
                    int64_t create) {
    hf__txn_compare(b, &(hf_compare){.target = HF_OF_CREATE,
                                     .is = is,
                                     .value = create,
                                     .key = hf__etcd_key_bytes(key)});
}

/* Nobody is in the folders that a claim of that kind waits for; or, once they
 * turned out to have only what is not in our way, nobody came there since. */
static void compare_free(hf_pb *b, const hf_folders *f, hf_kind kind,
                         int64_t since) {
    for (size_t i = 0; i < f->n && (i == 0 || kind != HF_READ); i++)
        hf__txn_compare(
            b, &(hf_compare){.target = since ? HF_OF_MOD : HF_OF_CREATE,
                             .is = since ? HF_LESS : HF_EQUAL,
                             .value = since ? since + 1 : 0,
                             .key = hf__etcd_key_bytes(&f->key[i]),
                             .end = hf__etcd_key_bytes(&f->end[i])});
}

static void put(hf_pb *b, const hf_making *m, const hf_key *key,
                const char *value) {
    hf__txn_put(b, true,
                &(hf_put){.key = hf__etcd_key_bytes(key),
                          .value = hf__bytes(value ? value : ""),
                          .lease = m->lease});
}

static void write_entry(hf_pb *b, const hf_making *m, bool only_if_free,
                        int64_t since) {
    const hf_wish *w = m->wish;
    hf_folders f;
    hf_key twin;

    hf__look_folders(m->etcd, &w->line, &f);
    compare(b, &m->key, HF_EQUAL, 0);
    if (only_if_free)
        compare_free(b, &f, w->kind, since);
    put(b, m, &m->key, w->note);
    if (w->kind == HF_WRITE) {
        hf__etcd_key_twin(&twin, &m->key);
        put(b, m, &twin, NULL);
    }
    hf__look_write(b, true, &f, false);
    hf__look_write(b, false, &f, false);
}

static bool find(const hf_lineup *all, const hf_key *key, size_t *ret) {
    for (*ret = 0; *ret < all->n; ++*ret)
        if (strncmp(all->all[*ret].key, key->at, key->n) == 0 &&
            all->all[*ret].key[key->n] == '@')
            return true;
    return false;
}

/* Skips the answers to what was put. */
int hf__making_came(hf_making *m, hf_txned *t) {
    hf_arrival *came = m->came;
    hf_etcd *e = m->etcd;
    size_t puts = t->succeeded ? 1 + (m->wish->kind == HF_WRITE ||
                                      m->wish->kind == HF_PERMIT) :
                                 0;
    int rc;

    while (puts-- > 0)
        if (!hf__next_put(t))
            return hf__ask_nonsense(m->err);
    hf__lineup_clear(&came->line);
    rc = hf__look_read(e, &m->wish->line, t, false, &came->line, m->err);
    if (rc != HF_OK)
        return rc;
    came->as_of = (uint64_t)t->revision;
    if (!find(&came->line, &m->key, &came->mine))
        return t->succeeded ? hf__ask_nonsense(m->err) : HF_BUSY;
    hf__etcd_slot_made(e->session, m->lease, m->n,
                       (int64_t)came->line.all[came->mine].token);
    return HF_OK;
}

/* Of what stands in the line, does anything keep out a claim of that kind? */
static bool in_the_way(const hf_lineup *all, hf_kind kind) {
    for (size_t i = 0; i < all->n; i++)
        if (kind != HF_READ || all->all[i].kind == HF_WRITE)
            return true;
    return false;
}

/* The rounds after the first are rare: keys of others lie in the folder, which
 * the first one took for entries. */
static int enter_line(hf_making *m, bool only_if_free) {
    int64_t since = 0;
    hf_txned t = {0};
    int rc;

    do {
        hf_question q = {.changes = true};

        write_entry(&q.body, m, only_if_free, since);
        rc = hf__ask_txn(&m->etcd->speaker, &q, &t, m->by, m->err);
        if (q.repeated)
            hf__etcd_slot_doubt(m->etcd->session, m->lease, m->n);
        if (rc == HF_OK)
            rc = hf__making_came(m, &t);
        since = t.revision;
        hf__question_clear(&q);
    } while (rc == HF_BUSY && !in_the_way(&m->came->line, m->wish->kind) &&
             hf__now() < m->by);
    return rc;
}

/* ---- beside ------------------------------------------------------------ */

static void write_mark(hf_pb *b, const hf_making *m, const hf_key *write,
                       int64_t revision) {
    hf_folders f;
    hf_key mark;

    hf__etcd_key_beside(&mark, write);
    hf__look_folders(m->etcd, &m->wish->line, &f);
    compare(b, &m->key, HF_EQUAL, revision);
    put(b, m, &mark, m->wish->note);
    hf__look_write(b, true, &f, false);
    hf__look_write(b, false, &f, false);
}

/* The READ that was made with the WRITE gets its mark, and is in the line.
 * HF_EFREE: there is no such WRITE of ours any more. */
static int enter_beside(hf_making *m) {
    hf_question q = {.changes = true};
    hf_etcd *e = m->etcd;
    hf_key write;
    int64_t revision;
    hf_txned t;
    int rc;

    m->lease = hf__session_lease(e->session);
    m->came->generation = hf__session_generation(e->session);
    if (!m->lease || !hf__etcd_key_heard(&write, &revision, m->wish->beside) ||
        !hf__etcd_key_is_ours(e->prefix, &write, m->lease, &m->n))
        return hf__fail_plain(m->err, HF_EFREE);
    hf__etcd_key_twin(&m->key, &write);
    write_mark(&q.body, m, &write, revision);
    rc = hf__ask_txn(&e->speaker, &q, &t, m->by, m->err);
    if (q.repeated)
        hf__etcd_slot_doubt(e->session, m->lease, m->n);
    if (rc == HF_OK && !t.succeeded)
        rc = HF_EFREE;
    else if (rc == HF_OK)
        rc = hf__making_came(m, &t);
    else if (rc == HF_EFREE)
        hf__session_over(e->session, m->lease);
    hf__question_clear(&q);
    return rc == HF_EFREE ? hf__fail_plain(m->err, rc) : rc;
}

/* ---- enter ------------------------------------------------------------- */

static int enter_once(hf_making *m, bool only_if_free) {
    hf_etcd *e = m->etcd;
    const hf_wish *w = m->wish;
    int rc = hf__session_need(e->session, &m->lease, &m->came->generation,
                              m->by, m->err);

    if (rc == HF_OK)
        rc = hf__etcd_slot_take(e->session, m->lease, w->id, w->again, &m->n,
                                m->err);
    if (rc != HF_OK)
        return rc;
    hf__etcd_key_entry(&m->key, e->prefix, w, m->lease, m->n);
    rc = w->kind == HF_PERMIT ? hf__enter_permit(m) :
                                enter_line(m, only_if_free);
    if (rc == HF_EFREE)
        hf__session_over(e->session, m->lease);
    else if (rc == HF_EDOUBT)
        hf__etcd_slot_doubt(e->session, m->lease, m->n);
    else if (rc != HF_OK)
        hf__etcd_slot_give(e->session, m->lease, m->n, 0, &m->key);
    return rc;
}

/* A session that turns out to be over is followed by another. */
static int enter_anew(hf_making *m, bool only_if_free) {
    int rc;

    do
        rc = enter_once(m, only_if_free);
    while (rc == HF_EFREE && hf__now() < m->by);
    return rc == HF_EFREE ? hf__fail(m->err, HF_EDOWN, "the session is over") :
                            rc;
}

int hf__etcd_enter(hf_port *p, const hf_wish *w, bool only_if_free,
                   hf_arrival *came, hf_time by, hf_error *err) {
    hf_making m = {
        .etcd = hf__etcd_of(p), .wish = w, .came = came, .by = by, .err = err};
    int rc = w->kind == HF_READ && w->beside ? enter_beside(&m) :
                                               enter_anew(&m, only_if_free);

    if (rc != HF_OK)
        hf__lineup_clear(&came->line);
    return rc;
}
