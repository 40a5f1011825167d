/* SPDX-License-Identifier: MIT
 *
 * leave.c - entries are taken out, or kept when their owner has gone. */
#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "etcd.h"

/* An entry that is there, and what was made with it. */
typedef struct leaving {
    hf_etcd *etcd;
    const hf_wish *wish;
    hf_time by;
    hf_error *err;
    hf_key key, twin, mark; /* of READ and WRITE: the other two */
    int64_t revision;       /* 0: whatever is there */
    bool beside;            /* its twin stays */
    bool repeated;          /* an earlier sending may have done it */
} leaving;

static void compare(hf_pb *b, const hf_key *key, hf_relation is,
                    int64_t create) {
    hf__txn_compare(b, &(hf_compare){.target = HF_OF_CREATE,
                                     .is = is,
                                     .value = create,
                                     .key = hf__etcd_key_bytes(key)});
}

static void compare_own(hf_pb *b, const leaving *l) {
    compare(b, &l->key, l->revision ? HF_EQUAL : HF_GREATER, l->revision);
}

/* What becomes of the entry. */
typedef enum fate {
    WHOLE,  /* it goes with all that was made with it             */
    ALONE,  /* only its key goes: a WRITE whose READ stays        */
    UNMARK, /* only its mark goes: a READ whose WRITE stays       */
} fate;

static void write_fate(hf_pb *b, const leaving *l, fate how) {
    bool pair = l->wish->kind == HF_READ || l->wish->kind == HF_WRITE;

    compare_own(b, l);
    if (how == WHOLE && l->revision && l->wish->kind == HF_WRITE)
        compare(b, &l->mark, HF_EQUAL, 0);
    if (how == WHOLE && l->revision && l->wish->kind == HF_READ)
        compare(b, &l->twin, HF_LESS, l->revision);
    if (how != UNMARK)
        hf__txn_delete(b, true, hf__etcd_key_bytes(&l->key));
    if (how == WHOLE && l->wish->kind == HF_WRITE)
        hf__txn_delete(b, true, hf__etcd_key_bytes(&l->twin));
    if (how == UNMARK || (how == WHOLE && pair))
        hf__txn_delete(b, true, hf__etcd_key_bytes(&l->mark));
    hf__txn_range(
        b, false,
        &(hf_range){.key = hf__etcd_key_bytes(&l->key), .keys_only = true});
}

/* HF_BUSY: the entry is there, but not as expected. */
static int judge(const leaving *l, hf_txned *t) {
    int64_t deleted = 0;
    hf_ranged r;
    hf_kv kv;

    if (t->succeeded)
        return hf__next_delete(t, &deleted) && (deleted || l->repeated) ?
                   HF_OK :
                   HF_EFREE;
    if (!hf__next_range(t, &r))
        return hf__ask_nonsense(l->err);
    if (hf__next_kv(&r, &kv) && kv.create == l->revision)
        return HF_BUSY;
    return l->repeated ? HF_OK : HF_EFREE;
}

static int carry_out(leaving *l, fate how) {
    hf_question q = {.changes = true};
    hf_txned t;
    int rc;

    write_fate(&q.body, l, how);
    rc = hf__ask_txn(&l->etcd->speaker, &q, &t, l->by, l->err);
    l->repeated |= q.repeated;
    if (rc == HF_OK)
        rc = judge(l, &t);
    if (rc == HF_EFREE)
        hf__fail_plain(l->err, rc);
    hf__question_clear(&q);
    return rc;
}

/* Who stays beside it is told by the wish, if it is ours, and found out if it
 * is not. */
static int go(leaving *l) {
    fate other = l->wish->kind == HF_WRITE ? ALONE : UNMARK;
    int rc = HF_BUSY;

    if (!l->beside)
        rc = carry_out(l, WHOLE);
    return rc == HF_BUSY ? carry_out(l, other) : rc;
}

/* What is said to stay beside it may be an entry like any other: then the two
 * were not made together. */
static void find_others(leaving *l) {
    hf_key other;
    int64_t revision;

    if (l->wish->kind != HF_READ && l->wish->kind != HF_WRITE)
        return;
    hf__etcd_key_twin(&l->twin, &l->key);
    hf__etcd_key_beside(&l->mark, &l->key);
    l->beside = l->wish->beside &&
                hf__etcd_key_heard(&other, &revision, l->wish->beside) &&
                hf__bytes_equal(hf__etcd_key_bytes(&other),
                                hf__etcd_key_bytes(&l->twin));
}

/* The number is free again once nothing of the entry is left. */
static void give_back(leaving *l) {
    int64_t lease = hf__session_lease(l->etcd->session);
    unsigned n;

    if (!l->beside && hf__etcd_key_is_ours(l->etcd->prefix, &l->key, lease, &n))
        hf__etcd_slot_give(l->etcd->session, lease, n, l->revision, &l->key);
}

/* By the id; a READ beside has no number of its own. */
static bool name_it(leaving *l) {
    hf_key write;
    int64_t lease;
    unsigned n;

    if (hf__etcd_slot_find(l->etcd->session, l->wish->id, &lease, &n)) {
        hf__etcd_key_entry(&l->key, l->etcd->prefix, l->wish, lease, n);
        return true;
    }
    if (l->wish->kind != HF_READ || !l->wish->beside ||
        !hf__etcd_key_heard(&write, &l->revision, l->wish->beside))
        return false;
    hf__etcd_key_twin(&l->key, &write);
    return true;
}

int hf__etcd_leave(hf_port *p, const hf_wish *w, const char *key, hf_time by,
                   hf_error *err) {
    leaving l = {.etcd = hf__etcd_of(p), .wish = w, .by = by, .err = err};
    bool known =
        key ? hf__etcd_key_heard(&l.key, &l.revision, key) : name_it(&l);
    int rc;

    if (!known)
        return hf__fail_plain(err, HF_EFREE);
    find_others(&l);
    rc = go(&l);
    if (rc == HF_OK || rc == HF_EFREE)
        give_back(&l);
    return rc;
}

/* The entry moves to a lease of its own, which ends by itself; its create
 * revision stays, and with it its place. */
int hf__etcd_keep_out(hf_port *p, const hf_wish *w, const char *key, int ms,
                      hf_time by, hf_error *err) {
    leaving l = {.etcd = hf__etcd_of(p), .wish = w, .by = by, .err = err};
    hf_question q = {.changes = true};
    int64_t lease;
    hf_txned t;
    int rc;

    if (!hf__etcd_key_heard(&l.key, &l.revision, key))
        return hf__fail_plain(err, HF_EFREE);
    find_others(&l);
    rc = hf__lease_grant(l.etcd, ms, &lease, by, err);
    if (rc != HF_OK)
        return rc;
    compare_own(&q.body, &l);
    hf__txn_put(&q.body, true,
                &(hf_put){.key = hf__etcd_key_bytes(&l.key),
                          .value = hf__bytes(w->note ? w->note : ""),
                          .lease = lease});
    rc = hf__ask_txn(&l.etcd->speaker, &q, &t, by, err);
    if (rc == HF_OK && !t.succeeded)
        rc = hf__fail_plain(err, HF_EFREE);
    hf__question_clear(&q);
    return rc;
}
