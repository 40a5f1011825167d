/* SPDX-License-Identifier: MIT
 *
 * check.c - are entries still there, and when do they go? */
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "etcd.h"

enum { PER_TXN = 100 }; /* etcd takes 128 operations unless told otherwise */

/* ---- check ------------------------------------------------------------- */

/* A keepalive, and ranges over the keys, all at once. */
typedef struct round {
    hf_etcd *etcd;
    int64_t lease;
    const char *const *keys;
    int *found;
    size_t n, n_questions;
    hf_question *q; /* the first is the keepalive */
} round;

static void write_round(round *r) {
    int64_t revision;
    hf_key key;

    r->q[0].path = HF_RPC_KEEPALIVE;
    hf__write_lease(&r->q[0].body, r->lease);
    for (size_t i = 0; i < r->n; i++) {
        hf_question *q = &r->q[1 + i / PER_TXN];

        q->path = HF_RPC_TXN;
        if (!hf__etcd_key_heard(&key, &revision, r->keys[i]))
            key.n = 0;
        hf__txn_range(
            &q->body, true,
            &(hf_range){.key = hf__etcd_key_bytes(&key), .keys_only = true});
    }
}

/* Its number is free again when it is gone. */
static int judge(const round *r, const char *told, hf_ranged *range) {
    int64_t revision;
    unsigned n;
    hf_key key;
    hf_kv kv;

    if (!hf__etcd_key_heard(&key, &revision, told) ||
        !hf__etcd_key_is_ours(r->etcd->prefix, &key, r->lease, &n))
        return HF_EFREE;
    if (hf__next_kv(range, &kv) && kv.create == revision &&
        kv.lease == r->lease)
        return HF_OK;
    hf__etcd_slot_give(r->etcd->session, r->lease, n, revision, &key);
    return HF_EFREE;
}

static int read_txn(const round *r, size_t at, hf_error *err) {
    size_t first = (at - 1) * PER_TXN;
    hf_txned t;
    hf_ranged range;

    if (!hf__read_txn(r->q[at].answer, &t))
        return hf__ask_nonsense(err);
    for (size_t i = first; i < r->n && i < first + PER_TXN; i++) {
        if (!hf__next_range(&t, &range))
            return hf__ask_nonsense(err);
        r->found[i] = judge(r, r->keys[i], &range);
    }
    return HF_OK;
}

static void say(const round *r, int code) {
    for (size_t i = 0; i < r->n; i++)
        r->found[i] = code;
}

static int read_round(round *r, hf_error *err) {
    hf_leased kept;
    int rc = HF_OK;

    if (!hf__read_lease(r->q[0].answer, &kept) || kept.lease != r->lease)
        return hf__ask_nonsense(err);
    hf__session_kept(r->etcd->session, r->lease, r->q[0].asked_at, kept.ttl);
    if (kept.ttl <= 0) {
        say(r, HF_EFREE);
        return HF_OK;
    }
    for (size_t i = 1; rc == HF_OK && i < r->n_questions; i++)
        rc = read_txn(r, i, err);
    return rc;
}

int hf__etcd_check(hf_port *p, const char *const *keys, int *found, size_t n,
                   hf_time by, hf_error *err) {
    round r = {.etcd = hf__etcd_of(p), .keys = keys, .found = found, .n = n};
    int rc;

    r.lease = hf__session_lease(r.etcd->session);
    if (!r.lease) {
        say(&r, HF_EFREE);
        return HF_OK;
    }
    r.n_questions = 1 + (n + PER_TXN - 1) / PER_TXN;
    r.q = hf__calloc(r.n_questions, sizeof *r.q);
    if (!r.q)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    write_round(&r);
    rc = hf__ask(&r.etcd->speaker, r.q, r.n_questions, by, err);
    if (rc == HF_OK)
        rc = read_round(&r, err);
    if (rc != HF_OK)
        say(&r, rc);
    for (size_t i = 0; i < r.n_questions; i++)
        hf__question_clear(&r.q[i]);
    hf__free(r.q);
    return rc;
}

/* ---- watch ------------------------------------------------------------- */

/* Is the entry still there? */
static int look_at_key(hf_etcd *e, const hf_key *key, int64_t revision,
                       hf_time by, hf_error *err) {
    hf_question q = {.path = HF_RPC_RANGE};
    hf_ranged r;
    hf_kv kv;
    int rc;

    hf__write_range(&q.body, &(hf_range){.key = hf__etcd_key_bytes(key),
                                         .keys_only = true});
    rc = hf__ask(&e->speaker, &q, 1, by, err);
    if (rc == HF_OK && !hf__read_range(q.answer, &r))
        rc = hf__ask_nonsense(err);
    if (rc == HF_OK && (!hf__next_kv(&r, &kv) || kv.create != revision))
        rc = hf__fail_plain(err, HF_EFREE);
    hf__question_clear(&q);
    return rc;
}

/* Has anything changed in the range since?  What is new has a later revision,
 * and if as many are there as then, none has gone. */
static int look_at_range(hf_etcd *e, const hf_key *key, const hf_key *end,
                         int64_t since, hf_time by, hf_error *err) {
    hf_question q = {0};
    hf_range r = {.key = hf__etcd_key_bytes(key), .count_only = true};
    hf_ranged newer, then, now;
    hf_txned t;
    int rc;

    if (end)
        r.end = hf__etcd_key_bytes(end);
    r.newer = since;
    r.count_only = false;
    r.keys_only = true;
    r.limit = 1;
    hf__txn_range(&q.body, true, &r);
    r = (hf_range){.key = r.key, .end = r.end, .count_only = true};
    hf__txn_range(&q.body, true, &r);
    r.revision = since;
    hf__txn_range(&q.body, true, &r);
    rc = hf__ask_txn(&e->speaker, &q, &t, by, err);
    if (rc == HF_OK &&
        (!hf__next_range(&t, &newer) || !hf__next_range(&t, &now) ||
         !hf__next_range(&t, &then)))
        rc = hf__ask_nonsense(err);
    if (rc == HF_OK) {
        hf_kv kv;

        if (hf__next_kv(&newer, &kv) || now.count != then.count)
            rc = hf__fail_plain(err, HF_EFREE);
    } else if (rc == HF_ESTORE) {
        rc = hf__fail_plain(err, HF_EFREE); /* that past is compacted */
    }
    hf__question_clear(&q);
    return rc;
}

static int watch_key(hf_etcd *e, const char *told, uint64_t as_of,
                     uint64_t watch, hf_time by, hf_error *err) {
    int64_t revision, began;
    hf_key key;
    int rc;

    if (!hf__etcd_key_heard(&key, &revision, told))
        return hf__fail_plain(err, HF_EFREE);
    rc = hf__streams_watch(e->streams, watch, HF_WATCH_KEY, &key, NULL, &began,
                           by, err);
    if (rc == HF_OK && (uint64_t)began != as_of)
        rc = look_at_key(e, &key, revision, by, err);
    return rc;
}

static int watch_number(hf_etcd *e, const hf_line *line, uint64_t as_of,
                        uint64_t watch, hf_time by, hf_error *err) {
    bool latch = line->kind == HF_LATCH;
    hf_key key, last, end;
    int64_t began;
    int rc;

    hf__etcd_key_number(&key, e->prefix, line);
    hf__etcd_key_make(&last, e->prefix, line->name, "permit/");
    hf__etcd_key_end(&end, &last);
    rc = hf__streams_watch(e->streams, watch,
                           latch ? HF_WATCH_NUMBER : HF_WATCH_SEMAPHORE, &key,
                           latch ? NULL : &end, &began, by, err);
    if (rc == HF_OK && as_of && (uint64_t)began != as_of)
        rc = look_at_range(e, &key, latch ? NULL : &end, (int64_t)as_of, by,
                           err);
    return rc;
}

int hf__etcd_watch(hf_port *p, const hf_line *line, const char *key,
                   uint64_t as_of, uint64_t watch, hf_time by, hf_error *err) {
    hf_etcd *e = hf__etcd_of(p);
    int rc = key ? watch_key(e, key, as_of, watch, by, err) :
                   watch_number(e, line, as_of, watch, by, err);

    if (rc != HF_OK)
        hf__streams_unwatch(e->streams, watch);
    return rc;
}
