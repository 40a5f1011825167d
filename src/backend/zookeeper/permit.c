/* SPDX-License-Identifier: MIT
 *
 * permit.c - permits of a semaphore: leases out of a number.
 *
 * What is leased and the number are read together.  If it fits, one request
 * makes the leases and writes the number over itself with the version that was
 * read: whoever else took permits meanwhile, leased or not, makes it fail, and
 * all is read again.
 *
 * Curator takes a lease under a lock of its own (P/locks) and does not write
 * the number, but it too makes its lease first and counts then.  So we list
 * once more behind the making: of two who did not see each other the later
 * list sees both, and if that is ours and they are too many, we step back.  No
 * lock is needed for that, and who finds all permits taken writes nothing. */
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "zookeeper.h"

typedef struct taking {
    hf_zookeeper *p;
    const hf_wish *w;
    hf_arrival *came;
    bool unsure;
    hf_time by;
    hf_error *err;
    char base[HF_ZNODE_SIZE], folder[HF_ZNODE_SIZE], count[HF_ZNODE_SIZE];
    int64_t number; /* as it was read */
    int version;
} taking;

static int64_t leased(const hf_lineup *l) {
    int64_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        n += l->all[i].permits;
    return n;
}

/* ---- how it stands ----------------------------------------------------- */

static int note_number(taking *t, const hf_answer *count) {
    t->number = 0;
    if (count->rc == ZNONODE)
        return HF_OK;
    if (count->rc != ZOK)
        return hf__zk_refusal(count->rc, t->count, t->err);
    t->version = count->stat.version;
    if (!hf__zk_count_parse(count, &t->number))
        return hf__fail(t->err, HF_ESTORE,
                        "%.150s is not the four bytes of a SharedCount",
                        t->count);
    return HF_OK;
}

static int note_leases(taking *t, const hf_answer *leases) {
    if (leases->rc == ZNONODE)
        return HF_OK;
    if (leases->rc != ZOK)
        return hf__zk_refusal(leases->rc, t->folder, t->err);
    return hf__zookeeper_lineup(t->p, &t->w->line, t->folder, leases,
                                &t->came->line, t->by, t->err);
}

static int survey(taking *t) {
    const hf_answer *leases, *count;
    hf_round *r;
    int rc = hf__round_begin(&r, t->p->zk, 3, t->by, t->err);

    if (rc != HF_OK)
        return rc;
    hf__round_sync(r);
    leases = hf__round_children(r, t->folder);
    count = hf__round_get(r, t->count);
    rc = hf__round_end(r, t->by, t->err);
    if (rc == HF_OK)
        rc = note_number(t, count);
    if (rc == HF_OK)
        rc = note_leases(t, leases);
    if (rc == HF_OK)
        t->came->as_of = hf__zk_number_as_of(count, leases);
    hf__round_free(r);
    return rc;
}

/* Somebody took a part of it away. */
static int give_up(taking *t, const char *key) {
    int rc = hf__zookeeper_leave(&t->p->base, t->w, key, t->by, t->err);

    return rc == HF_OK || rc == HF_EFREE ?
               hf__fail(t->err, HF_EDOUBT, "permits were taken away") :
               rc;
}

/* Whether the i-th is what an earlier try made.  HF_EFREE: it is not. */
static int adopt(taking *t, size_t i) {
    hf_entered *e = &t->came->line.all[i];
    const char *key = e->key;
    int found, rc;

    rc = hf__zookeeper_verify(t->p, &key, &found, &e->token, 1,
                              &t->came->generation, t->by, t->err);
    if (rc == HF_OK)
        rc = found;
    if (rc == HF_OK && e->permits != t->w->permits)
        return give_up(t, key);
    t->came->mine = i;
    return rc;
}

static int find_mine(taking *t) {
    int i = -1, rc = HF_EFREE;

    while (rc == HF_EFREE && (i = hf__zookeeper_find(&t->came->line, HF_PERMIT,
                                                     t->w->id, i + 1)) >= 0)
        rc = adopt(t, (size_t)i);
    return rc;
}

/* ---- taking ------------------------------------------------------------ */

static const hf_answer *make_leases(taking *t, hf_round *r) {
    int n = t->w->permits;
    zoo_op_t *ops = hf__calloc((size_t)n + 1, sizeof *ops);
    char name[HF_ZNODE_SIZE], path[HF_ZNODE_SIZE], bytes[HF_COUNT_BYTES];
    const hf_answer *made;

    if (!ops)
        return NULL;
    hf__layout_name(t->p->layout, HF_PERMIT, t->w->id, name);
    hf__zookeeper_join(path, t->folder, name);
    hf__zk_count_write(t->number, bytes);
    zoo_set_op_init(&ops[0], t->count, bytes, sizeof bytes, t->version, NULL);
    for (int i = 1; i <= n; i++)
        zoo_create_op_init(&ops[i], path, t->w->note, (int)strlen(t->w->note),
                           t->p->acl, ZOO_EPHEMERAL_SEQUENTIAL, NULL, 0);
    made = hf__round_multi(r, ops, n + 1);
    hf__free(ops);
    return made;
}

/* HF_BUSY: somebody who does not write the number was first. */
static int settle(taking *t, const hf_round *r, const hf_answer *made,
                  const hf_answer *list) {
    hf_lineup *l = &t->came->line;
    hf_error ignored;
    int mine, rc;

    hf__lineup_clear(l);
    rc = note_leases(t, list);
    if (rc != HF_OK)
        return rc;
    mine = hf__zookeeper_at(l, made->text);
    if (mine < 0)
        return hf__fail(t->err, HF_EDOUBT, "the permits were taken away again");
    t->came->mine = (size_t)mine;
    t->came->generation = hf__round_generation(r);
    l->all[mine].token = (uint64_t)made->stat.mzxid;
    if (leased(l) <= t->number)
        return HF_OK;
    rc = hf__zookeeper_leave(&t->p->base, t->w, l->all[mine].key, t->by,
                             &ignored);
    if (rc == HF_EDOUBT || rc == HF_EDOWN)
        return hf__fail(t->err, HF_EDOUBT, "%s", ignored.text);
    t->unsure = false;
    return HF_BUSY;
}

/* The number changed, or is gone: look again.  No folder: make it. */
static int not_made(taking *t, const hf_answer *made) {
    if (made->rc == ZBADVERSION ||
        (made->rc == ZNONODE && made->failed_op == 0))
        return hf__fail(t->err, HF_EDOUBT, "too many want permits of %.150s",
                        t->w->line.name);
    if (made->rc != ZNONODE)
        return hf__zk_refusal(made->rc, t->folder, t->err);
    if (hf__zookeeper_make_folder(t->p, t->folder, t->by, t->err) != HF_OK)
        return t->err->code;
    return hf__fail(t->err, HF_EDOUBT, "%.150s comes and goes", t->folder);
}

/* HF_EDOUBT: again. */
static int take(taking *t) {
    const hf_answer *made, *list;
    hf_round *r;
    int rc = hf__round_begin(&r, t->p->zk, 2, t->by, t->err);

    if (rc != HF_OK)
        return rc;
    made = make_leases(t, r);
    if (!made) {
        hf__round_free(r);
        return hf__fail_plain(t->err, HF_ENO_MEMORY);
    }
    list = hf__round_children(r, t->folder);
    rc = hf__round_end(r, t->by, t->err);
    if (rc == HF_OK && made->rc != ZOK) {
        rc = not_made(t, made);
    } else if (rc != HF_EDOWN) {
        t->unsure = true;
        if (rc == HF_OK)
            rc = settle(t, r, made, list);
    }
    hf__round_free(r);
    return rc;
}

static int take_if_it_fits(taking *t) {
    int rc;

    hf__arrival_clear(t->came);
    rc = survey(t);
    if (rc != HF_OK)
        return rc;
    rc = find_mine(t);
    if (rc != HF_EFREE)
        return rc;
    t->unsure = false;
    if (t->number - leased(&t->came->line) < t->w->permits)
        return HF_BUSY;
    return take(t);
}

int hf__zookeeper_enter_permit(hf_zookeeper *p, const hf_wish *w,
                               hf_arrival *came, hf_time by, hf_error *err) {
    taking t = {
        .p = p, .w = w, .came = came, .unsure = w->again, .by = by, .err = err};
    uint64_t as_of;
    int rc;

    hf__zookeeper_base(p, &w->line, t.base);
    hf__zookeeper_join(t.folder, t.base, hf__zk_leases);
    hf__zookeeper_join(t.count, t.base, hf__zk_count);
    do
        rc = take_if_it_fits(&t);
    while (hf__zookeeper_again(rc, by));
    as_of = came->as_of;
    if (rc != HF_OK)
        hf__arrival_clear(came);
    came->as_of = as_of;
    return hf__zookeeper_certainty(rc, t.unsure, err);
}
