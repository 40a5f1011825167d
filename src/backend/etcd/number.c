/* SPDX-License-Identifier: MIT
 *
 * number.c - numbers: one key each, written only by whoever read it last.
 *
 * A number that is to end has a lease of its own, and so have the answers that
 * outlive their number. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "etcd.h"
#include "status.h"
#include "value.h"

enum { REMEMBER_MS = 60000 };

/* ---- leases ------------------------------------------------------------ */

int hf__lease_grant(hf_etcd *e, int ms, int64_t *lease, hf_time by,
                    hf_error *err) {
    hf_question q = {.path = HF_RPC_GRANT, .changes = true};
    hf_leased granted = {0};
    int rc;

    hf__world->random(lease, sizeof *lease);
    *lease = (*lease & INT64_MAX) | 1;
    hf__write_grant(&q.body, *lease, ((int64_t)ms + 999) / 1000);
    rc = hf__ask(&e->speaker, &q, 1, by, err);
    if (rc != HF_OK && q.repeated &&
        hf__status_says(&q.call, "lease already exists"))
        rc = HF_OK;
    else if (rc == HF_OK && !hf__read_lease(q.answer, &granted))
        rc = hf__ask_nonsense(err);
    hf__question_clear(&q);
    return rc == HF_EDOUBT ?
               hf__fail(err, HF_EDOWN, "no answer to the request for a lease") :
               rc;
}

/* How long a number has left: whole seconds, and a part of one. */
static int read_left(hf_etcd *e, int64_t lease, hf_number_state *state,
                     hf_time by, hf_error *err) {
    hf_question q = {.path = HF_RPC_LEFT};
    hf_leased left;
    int rc;

    hf__write_lease(&q.body, lease);
    rc = hf__ask(&e->speaker, &q, 1, by, err);
    if (rc == HF_EFREE)
        left.ttl = -1;
    else if (rc == HF_OK && !hf__read_lease(q.answer, &left))
        rc = hf__ask_nonsense(err);
    hf__question_clear(&q);
    if (rc != HF_OK && rc != HF_EFREE)
        return rc;
    if (left.ttl < 0)
        state->is_set = false;
    state->gone_at = hf__now() + (left.ttl + 1) * HF_SECOND;
    state->own = (uint64_t)lease;
    return HF_OK;
}

/* ---- read -------------------------------------------------------------- */

static int take_number(hf_txned *t, hf_number_state *state, int64_t *lease,
                       hf_error *err) {
    hf_ranged r;
    hf_kv kv;

    *lease = 0;
    if (!hf__next_range(t, &r))
        return hf__ask_nonsense(err);
    if (!hf__next_kv(&r, &kv))
        return HF_OK;
    if (!hf__etcd_value_read(state, kv.value))
        return hf__fail(err, HF_ESTORE,
                        "%.*s is in use for something that is not holdfast's",
                        (int)kv.key.n, (const char *)kv.key.at);
    state->version = (uint64_t)kv.mod;
    *lease = kv.lease;
    return HF_OK;
}

static int take_leased(hf_etcd *e, const hf_line *line, hf_txned *t,
                       int64_t *leased, hf_error *err) {
    hf_lineup all = {0};
    int rc = HF_OK;

    *leased = 0;
    if (line->kind == HF_SEMAPHORE)
        rc = hf__look_read(e, line, t, false, &all, err);
    for (size_t i = 0; i < all.n; i++)
        *leased += all.all[i].permits;
    hf__lineup_clear(&all);
    return rc;
}

int hf__etcd_read(hf_port *p, const hf_line *line, hf_number_state *state,
                  int64_t *leased, hf_time by, hf_error *err) {
    hf_etcd *e = hf__etcd_of(p);
    hf_question q = {0};
    hf_folders f;
    int64_t lease = 0;
    hf_key key;
    hf_txned t;
    int rc;

    *state = (hf_number_state){.gone_at = HF_NEVER};
    hf__etcd_key_number(&key, e->prefix, line);
    hf__txn_range(&q.body, true, &(hf_range){.key = hf__etcd_key_bytes(&key)});
    hf__look_folders(e, line, &f);
    hf__look_write(&q.body, true, &f, false);
    rc = hf__ask_txn(&e->speaker, &q, &t, by, err);
    if (rc == HF_OK)
        rc = take_number(&t, state, &lease, err);
    if (rc == HF_OK)
        rc = take_leased(e, line, &t, leased, err);
    state->as_of = rc == HF_OK ? (uint64_t)t.revision : 0;
    hf__question_clear(&q);
    if (rc == HF_OK && lease && state->is_set)
        rc = read_left(e, lease, state, by, err);
    return rc;
}

/* ---- write ------------------------------------------------------------- */

/* The lease that the number is to have: none, the one it has, or a new one. */
static int find_lease(hf_etcd *e, const hf_number_state *state, hf_put *put,
                      hf_time by, hf_error *err) {
    int ms = REMEMBER_MS;

    if (state->is_set && state->gone_at == HF_NEVER)
        return HF_OK;
    put->same_lease = state->is_set && state->own;
    if (put->same_lease)
        return HF_OK;
    if (state->is_set)
        ms = hf__ms_until(state->gone_at);
    return hf__lease_grant(e, ms, &put->lease, by, err);
}

int hf__etcd_write(hf_port *p, const hf_line *line,
                   const hf_number_state *state, hf_time by, hf_error *err) {
    hf_etcd *e = hf__etcd_of(p);
    hf_question q = {.changes = true};
    char value[HF_VALUE_SIZE];
    hf_key key;
    hf_put put = {0};
    hf_txned t;
    int rc;

    hf__etcd_key_number(&key, e->prefix, line);
    put.key = hf__etcd_key_bytes(&key);
    put.value = (hf_bytes){(uint8_t *)value,
                           (size_t)hf__etcd_value_write(value, state)};
    rc = find_lease(e, state, &put, by, err);
    if (rc != HF_OK)
        return rc;
    hf__txn_compare(&q.body, &(hf_compare){.target = HF_OF_MOD,
                                           .value = (int64_t)state->version,
                                           .key = put.key});
    hf__txn_put(&q.body, true, &put);
    rc = hf__ask_txn(&e->speaker, &q, &t, by, err);
    if (rc == HF_OK && !t.succeeded)
        rc = HF_BUSY;
    hf__question_clear(&q);
    return rc;
}
