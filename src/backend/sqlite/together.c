/* SPDX-License-Identifier: MIT
 *
 * together.c - lines in which several may hold: readers or a writer, those who
 * lease permits, those who take some, and those who wait for a latch.
 *
 * Who may hold is decided by the rule of admission over the whole line.  Who
 * leaves rings everybody who would be let in now, in the order in which they
 * came, and counts those it has rung as holding: so that a permit wakes one
 * and a writer's end all readers.  Everybody watches all who hold, because the
 * end of any of them may be what it waits for.
 *
 * Where the line counts (readers and writers, writers first) a waiter who does
 * not come loses its turn as in alone.c. */
#include <string.h>

#include "clients.h"
#include "line.h"
#include "numbers.h"
#include "view.h"

/* ---- looking ----------------------------------------------------------- */

static hf_row *own_hold(const hf_embedded *s, uint64_t owner) {
    hf_view *v = s->view;

    for (size_t i = 0; owner != 0 && i < v->n_holds; i++)
        if (hf__view_is_ours(s, &v->rows[i], owner))
            return &v->rows[i];
    return NULL;
}

/* The rule of admission over the line and us at its end; where those who wait
 * are late, over who holds only.  Who reads beside his own write lock does not
 * see it, and need not wait for others: nobody could be first. */
static bool admitted(const hf_embedded *s, const hf_claim *c, bool late) {
    const hf_view *v = s->view;
    const hf_row *unseen = own_hold(s, c->beside);
    size_t rows = late ? v->n_holds : v->n;
    int n = 0;

    for (size_t i = 0; i < rows; i++)
        if (&v->rows[i] != unseen)
            v->entries[n++] = hf__view_entry(&v->rows[i]);
    v->entries[n] = (hf_entry){.mode = c->mode,
                               .permits = c->permits,
                               .fifo = hf__keeps_to_the_line(c) && !unseen};
    return hf__admit(v->entries, n + 1, n, v->number, v->number).admitted;
}

/* Has everybody before us let its turn pass? */
static bool all_late(const hf_embedded *s) {
    const hf_view *v = s->view;
    int64_t n = (int64_t)v->n;

    return v->n_holds == 0 && s->now >= v->free_since + n * HF_TURN_US;
}

/* ---- deciding ---------------------------------------------------------- */

static int extend(hf_embedded *s, hf_claim *c, const hf_row *mine,
                  hf_error *err) {
    int rc;

    if (!hf__db_writes(s->db))
        return HF_AGAIN;
    rc = hf__sqlite_line_step_out(s, c, err);
    c->token = mine->token;
    c->place = HF_PLACE_HOLDS | (uint64_t)mine->id;
    return rc == HF_OK ?
               hf__store_run_on_grant(s, HF_QUERY_hold_renew, c, err) :
               rc;
}

static int hold(hf_embedded *s, hf_claim *c, hf_error *err) {
    sqlite3_stmt *st;
    uint64_t token;
    int64_t id;
    int rc = hf__clients_introduce(s, err);

    if (rc == HF_OK)
        rc = hf__store_raise(s, c, &token, err);
    if (rc != HF_OK)
        return rc;
    st = hf__store_query(s, HF_QUERY_hold, c, (int64_t)token, err);
    if (st == NULL)
        return err->code;
    hf__store_bind_asked(st, c);
    rc = hf__store_tell_number(s, st, &id, err);
    if (rc < 0)
        return rc;
    c->token = token;
    c->place = HF_PLACE_HOLDS | (uint64_t)id;
    return HF_OK;
}

static int grant(hf_embedded *s, hf_claim *c, bool placed, hf_error *err) {
    int rc = HF_OK;

    if (c->kind == HF_LATCH && !placed)
        return HF_OK;
    if (!hf__db_writes(s->db))
        return HF_AGAIN;
    if (placed)
        rc = hf__sqlite_line_step_out(s, c, err);
    c->place = 0;
    if (rc != HF_OK || c->kind == HF_LATCH)
        return rc;
    return c->kind == HF_SEMAPHORE ? hf__numbers_take(s, c, err) :
                                     hold(s, c, err);
}

/* Whose end we want to notice, and when it makes sense to ask again. */
static void refuse(const hf_embedded *s, hf_claim *c, hf_refusal *why) {
    hf_view *v = s->view;
    int64_t at = v->gone_at;

    why->peers = v->peers;
    for (size_t i = 0; i < v->n; i++) {
        if (!v->rows[i].kept)
            v->peers[why->n++] = v->rows[i].by;
        if (v->rows[i].holds && v->rows[i].until < at)
            at = v->rows[i].until;
    }
    c->ask_again = hf__sqlite_line_look_again(s, at);
}

/* Our ticket is known, and the line before it is in view. */
static int decide_among(hf_embedded *s, hf_claim *c, bool placed, bool waits,
                        hf_refusal *why, hf_error *err) {
    const hf_row *mine = own_hold(s, c->owner);
    int dead;

    if (mine != NULL)
        return extend(s, c, mine, err);
    if (admitted(s, c, false))
        return grant(s, c, placed, err);
    dead = hf__view_bury(s, c, err);
    if (dead < 0)
        return dead;
    if (dead > 0 && !hf__db_writes(s->db))
        return HF_AGAIN;
    why->ring = dead > 0;
    if (admitted(s, c, all_late(s)))
        return grant(s, c, placed, err);
    refuse(s, c, why);
    return placed || !waits ? HF_BUSY : hf__sqlite_line_join(s, c, err);
}

/* A claim on a semaphore that was answered is answered alike. */
static int answered(hf_embedded *s, hf_claim *c, hf_error *err) {
    int64_t value;
    int result;
    int rc = hf__numbers_recall(s, c, &result, &value, err);

    if (rc <= 0)
        return rc < 0 ? rc : HF_AGAIN;
    c->ask_again = hf__sqlite_line_look_again(s, INT64_MAX);
    return result;
}

int hf__together_decide(hf_embedded *s, hf_claim *c, bool waits,
                        hf_refusal *why, hf_error *err) {
    int64_t ticket = INT64_MAX;
    int placed = 0, rc;

    if (c->kind == HF_SEMAPHORE && (rc = answered(s, c, err)) != HF_AGAIN)
        return rc;
    if (waits || hf__place_waits(c))
        placed = hf__sqlite_line_ticket(s, c, &ticket, err);
    if (placed < 0)
        return placed;
    rc = hf__view_look(s, c, hf__keeps_to_the_line(c) ? ticket : 0, err);
    return rc == HF_OK ? decide_among(s, c, placed, waits, why, err) : rc;
}

/* ---- letting others in ------------------------------------------------- */

/* Of readers, and of those who wait for a latch, one bell wakes all that are
 * in one process. */
static bool was_rung(const hf_view *v, size_t at) {
    hf_mode mode = hf__mode(v->rows[at].asked);

    if (mode != HF_SHARED && mode != HF_ZERO)
        return false;
    for (size_t i = v->n_holds; i < at; i++)
        if (v->rows[i].holds && hf__mode(v->rows[i].asked) == mode &&
            strcmp(v->rows[i].by.client, v->rows[at].by.client) == 0)
            return true;
    return false;
}

/* Rings one who would be let in, and takes it for a holder from then on; or
 * for nothing, if it is dead. */
static void call(hf_embedded *s, const hf_claim *c, size_t at) {
    hf_row *row = &s->view->rows[at];
    hf_entry *entry = &s->view->entries[at];
    hf_error err;

    if (was_rung(s->view, at) ||
        hf__sqlite_line_ring_one(s, c, &row->by, row->asked, row->owner)) {
        row->holds = entry->holds = true;
        return;
    }
    entry->mode = HF_ZERO;
    if (!hf__wake_lives(s->wake, &row->by))
        hf__clients_bury(s, c, &row->by, &err);
}

void hf__together_ring(hf_embedded *s, const hf_claim *c) {
    hf_error err;
    hf_view *v;
    int n;

    if (hf__view_look(s, c, INT64_MAX, &err) != HF_OK)
        return; /* they look again by themselves */
    v = s->view;
    n = (int)v->n;
    for (int i = 0; i < n; i++)
        v->entries[i] = hf__view_entry(&v->rows[i]);
    for (int i = (int)v->n_holds; i < n; i++)
        if (hf__admit(v->entries, n, i, v->number, v->number).admitted)
            call(s, c, (size_t)i);
}

/* Readers and the writer are thrown out apart. */
static bool is_meant(const hf_row *row, const hf_claim *c, const char *whose) {
    char owner[64];

    hf__sqlite_line_owner(&row->by, row->asked, row->owner, row->nonce,
                          sizeof row->nonce, owner, sizeof owner);
    return hf__mode(row->asked) == c->mode &&
           (whose == NULL || strcmp(whose, owner) == 0);
}

int hf__together_force(hf_embedded *s, const hf_claim *c, const char *whose,
                       hf_error *err) {
    int rc = hf__view_look(s, c, 0, err), n = 0;
    uint64_t token;

    for (size_t i = 0; rc == HF_OK && i < s->view->n_holds; i++) {
        const hf_row *row = &s->view->rows[i];
        if (!is_meant(row, c, whose))
            continue;
        rc = hf__store_run(s, HF_QUERY_hold_drop, c, row->id, err);
        n++;
    }
    if (rc == HF_OK && n > 0)
        rc = hf__store_raise(s, c, &token, err);
    return rc < 0 ? rc : n > 0;
}
