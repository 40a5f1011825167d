/* SPDX-License-Identifier: MIT
 *
 * entry.c - entering a line of locks, and leaving any line.
 *
 * A node is made and its line listed in one round trip.  When the answer is
 * lost, the node is found again by the id in its name: a sync makes sure that
 * the list is not older than the request, and the node must be our session's.
 * Its parent may be missing, now or at any time: the server removes containers
 * that have been empty for a while, so making them is a part of the loop.
 *
 *            answer lost, or the id was used before
 *          ┌───────────────────────────┐
 *          ▼                           │
 *       look for it ──── not there ──► make it ──► settle: found in the list
 *          │                           ▲   │
 *          └──► verify, settle         └───┘ no parent: made */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "zookeeper.h"

typedef struct entering {
    hf_zookeeper *p;
    const hf_wish *w;
    hf_arrival *came;
    bool unsure; /* it may be there without our knowing */
    hf_time by;
    hf_error *err;
    char folder[HF_ZNODE_SIZE];
} entering;

/* ---- the node ---------------------------------------------------------- */

static void new_path(const entering *e, char buf[HF_ZNODE_SIZE]) {
    char name[HF_ZNODE_SIZE];

    hf__layout_name(e->p->layout, e->w->kind, e->w->id, name);
    hf__zookeeper_join(buf, e->folder, name);
}

static const hf_answer *create_one(entering *e, hf_round *r) {
    char path[HF_ZNODE_SIZE];

    new_path(e, path);
    return hf__round_create(r, path, e->w->note, strlen(e->w->note), e->p->acl,
                            ZOO_EPHEMERAL_SEQUENTIAL);
}

static void create_op(entering *e, zoo_op_t *op, const char *path, int mode) {
    zoo_create_op_init(op, path, e->w->note, (int)strlen(e->w->note), e->p->acl,
                       mode, NULL, 0);
}

/* On the bridge a lock has a node for each peer, made at once: so two who
 * cross it cannot each be first for one of the peers. */
static const hf_answer *create_pair(entering *e, hf_round *r) {
    char path[HF_ZNODE_SIZE], name[HF_ZNODE_SIZE], twin[HF_ZNODE_SIZE];
    zoo_op_t ops[2];

    new_path(e, path);
    hf__layout_twin(e->w->id, name);
    hf__zookeeper_join(twin, e->folder, name);
    create_op(e, &ops[0], path, ZOO_EPHEMERAL_SEQUENTIAL);
    create_op(e, &ops[1], twin, ZOO_EPHEMERAL_SEQUENTIAL);
    return hf__round_multi(r, ops, 2);
}

/* A reader beside its own writer has the writer's number, as Curator has it
 * since 5.5, so that no writer in between gets in when the write side is left.
 * The check keeps it from standing there without the writer. */
static const hf_answer *create_beside(entering *e, hf_round *r) {
    char path[HF_ZNODE_SIZE], writer[HF_ZNODE_SIZE];
    size_t n;
    zoo_op_t ops[2];

    new_path(e, path);
    n = strlen(path);
    snprintf(path + n, sizeof path - n, "%010" PRIu64,
             hf__zk_key_order(e->w->beside));
    hf__zk_key_node(e->w->beside, 0, writer);
    zoo_check_op_init(&ops[0], writer, -1);
    create_op(e, &ops[1], path, ZOO_EPHEMERAL);
    return hf__round_multi(r, ops, 2);
}

static bool is_pair(const entering *e) {
    return e->p->layout == HF_BRIDGE && e->w->kind == HF_LOCK;
}

static const hf_answer *create(entering *e, hf_round *r) {
    return e->w->beside ? create_beside(e, r) :
           is_pair(e)   ? create_pair(e, r) :
                          create_one(e, r);
}

/* ---- settling ---------------------------------------------------------- */

/* Beyond this the server's numbers soon turn negative, and nobody's order
 * works any more, ours included. */
static int exhausted(entering *e) {
    hf_error ignored;

    if (hf__zookeeper_leave(&e->p->base, e->w, NULL, e->by, &ignored) !=
        HF_EDOUBT)
        e->unsure = false;
    return hf__fail(
        e->err, HF_ESTORE,
        "the path %.80s is exhausted: ZooKeeper has numbered two "
        "thousand million nodes there.  Use another name, or delete "
        "the path while nobody uses it",
        e->folder);
}

static int check_order(entering *e) {
    const hf_entered *mine = &e->came->line.all[e->came->mine];

    return mine->order < HF_LAST_ORDER ? HF_OK : exhausted(e);
}

/* Asks for what the making did not tell: whose it is, and its token.
 * HF_EFREE: it is not, or no more, ours. */
static int settle_by_asking(entering *e, size_t mine) {
    const char *keys[2] = {e->came->line.all[mine].key, e->w->beside};
    size_t n = e->w->beside ? 2 : 1;
    uint64_t tokens[2];
    int found[2];
    int rc = hf__zookeeper_verify(e->p, keys, found, tokens, n,
                                  &e->came->generation, e->by, e->err);

    if (rc == HF_OK)
        rc = found[0];
    if (rc == HF_OK && n == 2)
        rc = found[1];
    e->came->line.all[mine].token = rc == HF_OK ? tokens[n - 1] : 0;
    e->came->mine = mine;
    return rc;
}

/* The list as it was right behind the making.  HF_BUSY: somebody has taken the
 * node away already. */
static int settle(entering *e, const hf_round *r, const hf_answer *made,
                  const hf_answer *list) {
    int mine, rc;

    if (list->rc != ZOK)
        return list->rc == ZNONODE ?
                   HF_BUSY :
                   hf__zk_refusal(list->rc, e->folder, e->err);
    rc = hf__zookeeper_lineup(e->p, &e->w->line, e->folder, list,
                              &e->came->line, e->by, e->err);
    if (rc != HF_OK)
        return rc;
    mine = hf__zookeeper_at(&e->came->line, made->text);
    if (mine < 0 && strstr(made->text, "--"))
        return exhausted(e);
    if (mine < 0)
        return HF_BUSY;
    if (e->w->beside || is_pair(e))
        return settle_by_asking(e, (size_t)mine);
    if (made->stat.ephemeralOwner != hf__round_session(r))
        return HF_BUSY;
    e->came->mine = (size_t)mine;
    e->came->line.all[mine].token = (uint64_t)made->stat.czxid;
    e->came->generation = hf__round_generation(r);
    return HF_OK;
}

/* What an earlier try may have made must not stand there alone. */
static int nothing_beside(entering *e) {
    hf_error ignored;

    if (hf__zookeeper_leave(&e->p->base, e->w, NULL, e->by, &ignored) !=
        HF_EDOUBT)
        e->unsure = false;
    return hf__fail(e->err, HF_EFREE,
                    "the write lock that it was to stand beside is gone");
}

/* Why it was not made.  HF_BUSY: it may be tried again at once. */
static int not_made(entering *e, const hf_answer *made) {
    if (made->rc == ZNODEEXISTS)
        return HF_BUSY;
    if (made->rc != ZNONODE)
        return hf__zk_refusal(made->rc, e->folder, e->err);
    if (e->w->beside)
        return nothing_beside(e);
    return hf__zookeeper_make_folder(e->p, e->folder, e->by, e->err) == HF_OK ?
               HF_BUSY :
               e->err->code;
}

/* One try.  HF_BUSY: again; HF_EDOUBT: look for it first; HF_EFREE: it has
 * nothing to stand beside. */
static int make(entering *e) {
    const hf_answer *made, *list;
    hf_round *r;
    int rc = hf__round_begin(&r, e->p->zk, 2, e->by, e->err);

    if (rc != HF_OK)
        return rc;
    made = create(e, r);
    list = hf__round_children(r, e->folder);
    rc = hf__round_end(r, e->by, e->err);
    if (rc == HF_EDOUBT || (rc == HF_OK && made->rc == ZNODEEXISTS))
        e->unsure = true;
    if (rc == HF_OK && made->rc != ZOK) {
        rc = not_made(e, made);
    } else if (rc == HF_OK) {
        e->unsure = true; /* until it is settled */
        rc = settle(e, r, made, list);
        if (rc == HF_EFREE)
            rc = HF_BUSY;
    }
    hf__round_free(r);
    return rc;
}

/* ---- finding it again -------------------------------------------------- */

/* Is there anybody whom a claim of this kind waits for? */
static bool is_taken(const entering *e) {
    const hf_lineup *l = &e->came->line;

    for (size_t i = 0; i < l->n; i++) {
        const hf_entered *other = &l->all[i];
        bool beside = e->w->beside && strcmp(other->key, e->w->beside) == 0;

        if (!beside && (e->w->kind != HF_READ || other->kind == HF_WRITE))
            return true;
    }
    return l->kept_out_until > hf__now();
}

/* HF_OK: it is there; HF_EFREE: it is not; HF_BUSY: nor may it be. */
static int look_for_it(entering *e, bool only_if_free) {
    hf_lineup *l = &e->came->line;
    int mine = -1;
    int rc = hf__zookeeper_lines(e->p, &e->w->line, l, e->by, e->err);

    if (rc != HF_OK)
        return rc;
    do {
        mine = hf__zookeeper_find(l, e->w->kind, e->w->id, mine + 1);
        rc = mine >= 0 ? settle_by_asking(e, (size_t)mine) : HF_EFREE;
    } while (mine >= 0 && rc == HF_EFREE);
    if (rc == HF_EFREE) {
        e->unsure = false;
        if (only_if_free && is_taken(e))
            rc = HF_BUSY;
    }
    return rc;
}

static int try_to_enter(entering *e, bool only_if_free) {
    int rc = HF_EFREE;

    if (e->unsure || only_if_free)
        rc = look_for_it(e, only_if_free);
    if (rc != HF_EFREE)
        return rc;
    hf__lineup_clear(&e->came->line);
    rc = make(e);
    return rc == HF_BUSY ? HF_EDOUBT : rc;
}

int hf__zookeeper_enter(hf_port *port, const hf_wish *w, bool only_if_free,
                        hf_arrival *came, hf_time by, hf_error *err) {
    entering e = {.p = (hf_zookeeper *)port,
                  .w = w,
                  .came = came,
                  .unsure = w->again,
                  .by = by,
                  .err = err};
    int rc;

    if (w->kind == HF_PERMIT)
        return hf__zookeeper_enter_permit(e.p, w, came, by, err);
    hf__zookeeper_folder(e.p, &w->line, e.folder);
    do {
        hf__arrival_clear(came);
        rc = try_to_enter(&e, only_if_free);
    } while (hf__zookeeper_again(rc, by));
    if (rc == HF_OK)
        rc = check_order(&e);
    if (rc != HF_OK)
        hf__arrival_clear(came);
    return hf__zookeeper_certainty(rc, e.unsure, err);
}

/* ---- leaving ----------------------------------------------------------- */

/* HF_OK: at least one was there; HF_EFREE: none was. */
static int how_it_went(const hf_round *r, size_t n, hf_error *err) {
    int rc = HF_EFREE;

    for (size_t i = 0; i < n; i++) {
        int one = hf__round_nth(r, i)->rc;

        if (one == ZOK)
            rc = HF_OK;
        else if (one != ZNONODE)
            return hf__zk_refusal(one, "an entry", err);
    }
    return rc;
}

static int delete_nodes(hf_zookeeper *p, const char *key, hf_time by,
                        hf_error *err) {
    size_t n = hf__zk_key_nodes(key);
    char path[HF_ZNODE_SIZE];
    hf_round *r;
    int rc = hf__round_begin(&r, p->zk, n, by, err);

    if (rc != HF_OK)
        return rc;
    for (size_t i = 0; i < n; i++) {
        hf__zk_key_node(key, i, path);
        hf__round_delete(r, path);
    }
    rc = hf__round_end(r, by, err);
    if (rc == HF_OK)
        rc = how_it_went(r, n, err);
    hf__round_free(r);
    return rc;
}

/* A second try that finds nothing followed a first that was served. */
static int leave_key(hf_zookeeper *p, const char *key, hf_time by,
                     hf_error *err) {
    bool unsure = false;
    int rc;

    do {
        rc = delete_nodes(p, key, by, err);
        unsure = unsure || rc == HF_EDOUBT;
    } while (hf__zookeeper_again(rc, by));
    if (unsure && rc == HF_EFREE)
        return HF_OK;
    if (unsure && rc == HF_EDOWN)
        err->code = rc = HF_EDOUBT;
    return rc;
}

/* All that has the id, whichever try made it. */
static int leave_by_id(hf_zookeeper *p, const hf_wish *w, hf_time by,
                       hf_error *err) {
    hf_lineup all = {0};
    int left = HF_EFREE, rc = hf__zookeeper_lines(p, &w->line, &all, by, err);

    for (size_t i = 0; i < all.n && rc == HF_OK; i++) {
        const char *slash = strrchr(all.all[i].key, '/');

        if (!hf__layout_has_id(slash + 1, w->id))
            continue;
        rc = leave_key(p, all.all[i].key, by, err);
        if (rc == HF_OK)
            left = HF_OK;
        else if (rc == HF_EFREE)
            rc = HF_OK;
    }
    hf__lineup_clear(&all);
    return rc == HF_OK ? left : rc;
}

int hf__zookeeper_leave(hf_port *port, const hf_wish *w, const char *key,
                        hf_time by, hf_error *err) {
    hf_zookeeper *p = (hf_zookeeper *)port;

    return key ? leave_key(p, key, by, err) : leave_by_id(p, w, by, err);
}

/* ---- keeping others out ------------------------------------------------ */

/* The entry is written to, so that whoever watches it looks again and sees the
 * mark, and does not take the place when the entry goes. */
static int make_mark(hf_zookeeper *p, const hf_wish *w, const char *key,
                     const char *mark, hf_time by, hf_error *err) {
    const char *note = w->note ? w->note : "";
    char node[HF_ZNODE_SIZE];
    const hf_answer *made;
    zoo_op_t ops[2];
    hf_round *r;
    int rc = hf__round_begin(&r, p->zk, 1, by, err);

    if (rc != HF_OK)
        return rc;
    hf__zk_key_node(key, 0, node);
    zoo_set_op_init(&ops[0], node, note, (int)strlen(note), -1, NULL);
    zoo_create_op_init(&ops[1], mark, "", 0, p->acl, ZOO_PERSISTENT, NULL, 0);
    made = hf__round_multi(r, ops, 2);
    rc = hf__round_end(r, by, err);
    if (rc == HF_OK && made->rc == ZNONODE)
        rc = HF_EFREE;
    else if (rc == HF_OK && made->rc != ZOK && made->rc != ZNODEEXISTS)
        rc = hf__zk_refusal(made->rc, mark, err);
    hf__round_free(r);
    return rc;
}

/* A mark beside the entries, for holdfast's eyes; peers are kept out by the
 * entry itself, while its session lives. */
int hf__zookeeper_keep_out(hf_port *port, const hf_wish *w, const char *key,
                           int ms, hf_time by, hf_error *err) {
    hf_zookeeper *p = (hf_zookeeper *)port;
    char name[HF_ZNODE_SIZE], mark[HF_ZNODE_SIZE];
    int64_t now_ms;
    int rc = hf__zookeeper_clock(p, &now_ms, by, err);

    if (rc != HF_OK)
        return rc;
    hf__layout_until(now_ms + ms, name);
    hf__zookeeper_folder(p, &w->line, mark);
    hf__zookeeper_join(mark, mark, name);
    do
        rc = make_mark(p, w, key, mark, by, err);
    while (hf__zookeeper_again(rc, by));
    return rc;
}
