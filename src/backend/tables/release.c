/* SPDX-License-Identifier: MIT
 *
 * release.c - renewals, and the way out of a line: from holding, from waiting,
 * and by force. */
#include <stdio.h>
#include <stdlib.h>

#include "../../alloc.h"
#include "../../err.h"
#include "turn.h"

enum { BATCH = 250 }; /* renewals in a script */

/* ---- release ----------------------------------------------------------- */

static int lost(const hf_claim *c, hf_error *err) {
    return hf__fail(err, HF_ELOST,
                    "%s is no longer held: its lease ended or somebody took it "
                    "away",
                    c->name);
}

/* Whatever there is of its owner; arg: how. */
static int let_go(hf_turn *turn, void *arg, hf_error *err) {
    hf_claim *c = &turn->claim;
    hf_sight *v = &turn->sight;
    hf_stander *row = hf__sight_hold(v, turn->t, c->owner);
    hf_stander *place = hf__sight_wait(v, turn->t, c->owner);
    bool keeps = *(const hf_how *)arg == HF_RELEASE_AFTER;

    c->place = 0;
    turn->hurries = hf__tables_is_leased(c->kind) && !keeps;
    if (place)
        hf__sight_remove(v, place);
    if (row && keeps)
        hf__sight_set_until(v, row, v->now + c->lease_ms * HF_US_OF_MS, true);
    else if (row)
        hf__sight_remove(v, row);
    return row || place ? HF_OK : lost(c, err);
}

/* HF_AGAIN: it takes a turn, because somebody waits or it is not held. */
static int free_lightly(hf_tables *t, hf_claim *c, hf_how how, hf_time by,
                        hf_error *err) {
    bool lock = hf__tables_is_lock(c->kind);
    size_t at, view, recall;
    hf_answers a = {0};
    hf_params p;
    hf_script s;
    int rc;

    if (hf__place_waits(c) || hf__place_crowded(c) || how == HF_RELEASE_AFTER ||
        c->kind == HF_LATCH ||
        (!lock && !hf__tables_knows(t, HF_SQL_hold_free)))
        return HF_AGAIN;
    hf__tables_params(&p, t, c);
    hf__script_init(&s, t->db);
    if (lock)
        at = hf__script_add(&s, HF_SQL_free, &p);
    else
        hf__turn_short(&s, HF_SQL_hold_free, &p, false, &at, &view, &recall);
    rc = hf__tables_ask(t, &s, &a, by, err);
    if (rc == HF_OK && a.all[at].changed == 0)
        rc = HF_AGAIN;
    hf__answers_clear(&a);
    hf__script_clear(&s);
    return rc;
}

/* ---- force ------------------------------------------------------------- */

void hf__tables_owner(const unsigned char client[HF_ID], hf_kind asked,
                      uint64_t owner, const unsigned char nonce[16], char *buf,
                      size_t size) {
    static const char dashed[] = "        -    -    -    -            ";
    hf_claim c = {.kind = asked, .owner = owner};
    char id[sizeof dashed];
    size_t digit = 0;

    for (size_t i = 0; i < sizeof id - 1; i++) {
        unsigned byte = client[digit / 2 % HF_ID];

        id[i] = dashed[i];
        if (id[i] == ' ')
            id[i] = "0123456789abcdef"[digit++ % 2 ? byte & 15 : byte >> 4];
    }
    id[sizeof id - 1] = '\0';
    memcpy(c.nonce, nonce, sizeof c.nonce);
    hf__owner_of(&c, id, buf, size);
}

/* Readers and the writer are thrown out apart. */
static bool is_meant(const hf_stander *row, const hf_claim *c,
                     const char *whose) {
    char owner[64];

    if (row->is != HF_HOLDS || hf__mode(row->asked) != c->mode)
        return false;
    hf__tables_owner(row->client, row->asked, row->owner, row->nonce, owner,
                     sizeof owner);
    return !whose || strcmp(whose, owner) == 0;
}

static int throw_out(hf_turn *turn, void *arg, hf_error *err) {
    const char *whose = arg;
    hf_sight *v = &turn->sight;
    int n = 0;

    for (size_t i = 0; i < v->n; i++)
        if (is_meant(&v->rows[i], &turn->claim, whose)) {
            hf__sight_remove(v, &v->rows[i]);
            n++;
        }
    if (n == 0)
        return hf__fail(err, HF_EFREE, "%s%s %s", whose ? whose : "nobody",
                        whose ? " does not hold" : " holds", turn->claim.name);
    hf__sight_tokens(v, 1);
    return HF_OK;
}

int hf__tables_release(hf_backend *be, hf_claim *c, hf_how how,
                       const char *whose, hf_time by, hf_error *err) {
    hf_tables *t = (hf_tables *)be;
    int rc;

    if (how == HF_RELEASE_FORCED)
        return hf__turn(t, c, throw_out, (void *)(uintptr_t)whose, by, err);
    if (c->kind == HF_SEMAPHORE)
        return hf__tables_undo(t, c, by, err);
    rc = free_lightly(t, c, how, by, err);
    if (rc == HF_AGAIN)
        rc = hf__turn(t, c, let_go, &how, by, err);
    if (rc == HF_OK)
        c->place = 0;
    return rc;
}

/* ---- renew ------------------------------------------------------------- */

static hf_sql renewal_of(const hf_claim *c) {
    return c->token == 0               ? HF_SQL_keep_place :
           hf__tables_is_lock(c->kind) ? HF_SQL_renew :
                                         HF_SQL_hold_renew;
}

/* By name; of one line what is held first, then who waits: the order in which
 * a turn locks them, so that no two of us wait for each other. */
static int by_line(const void *a, const void *b) {
    const hf_claim *x = *(const hf_claim *const *)a;
    const hf_claim *y = *(const hf_claim *const *)b;
    int order = strcmp(x->name, y->name);

    if (order == 0)
        order =
            (int)hf__tables_line_of(x->kind) - (int)hf__tables_line_of(y->kind);
    if (order == 0)
        order = (x->token == 0) - (y->token == 0);
    return order ? order : (x->owner > y->owner) - (x->owner < y->owner);
}

static int renew_batch(hf_tables *t, hf_claim *const *claims, size_t n,
                       hf_time by, hf_error *err) {
    size_t answer[BATCH];
    hf_answers a = {0};
    hf_script s;
    int rc;

    hf__script_init(&s, t->db);
    for (size_t i = 0; i < n; i++) {
        hf_params p;

        hf__tables_params(&p, t, claims[i]);
        if (claims[i]->token == 0)
            hf_set(&p, lease, HF_PLACE_US);
        answer[i] = hf__script_add(&s, renewal_of(claims[i]), &p);
    }
    rc = hf__tables_ask(t, &s, &a, by, err);
    for (size_t i = 0; i < n; i++)
        claims[i]->result = rc != HF_OK                  ? rc :
                            a.all[answer[i]].changed > 0 ? HF_OK :
                                                           HF_ELOST;
    hf__answers_clear(&a);
    hf__script_clear(&s);
    return rc;
}

int hf__tables_renew(hf_backend *be, hf_claim *const *claims, size_t n,
                     hf_time by, hf_error *err) {
    hf_tables *t = (hf_tables *)be;
    hf_claim **all = hf__malloc((n ? n : 1) * sizeof(hf_claim *));
    int rc = HF_OK;
    size_t at = 0;

    if (!all)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    memcpy(all, claims, n * sizeof(hf_claim *));
    qsort(all, n, sizeof(hf_claim *), by_line);
    while (rc == HF_OK && at < n) {
        size_t size = n - at < BATCH ? n - at : BATCH;

        rc = renew_batch(t, all + at, size, by, err);
        at += size;
    }
    for (; at < n; at++)
        all[at]->result = rc;
    hf__free(all);
    return rc;
}
