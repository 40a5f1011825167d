/* SPDX-License-Identifier: MIT
 *
 * view.c - reads a line and clears it of what is over: leases that ended,
 * numbers that vanished with all that was leased out of them, and clients that
 * died. */
#include "view.h"

#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "clients.h"

/* Columns behind the client's four; of holds and of waits. */
enum {
    OWNER = 4,
    ASKED,
    PERMITS,
    NONCE,
    ID,
    FIFO,
    UNTIL = 9,
    KEPT,
    TOKEN,
    NOW
};

/* ---- reading ----------------------------------------------------------- */

static bool grow(hf_view *v) {
    size_t room = v->room ? 2 * v->room : 16;
    hf_row *rows = hf__realloc(v->rows, room * sizeof *rows);
    hf_entry *entries = hf__realloc(v->entries, (room + 1) * sizeof *entries);
    hf_peer *peers = hf__realloc(v->peers, room * sizeof *peers);

    if (rows != NULL)
        v->rows = rows;
    if (entries != NULL)
        v->entries = entries;
    if (peers != NULL)
        v->peers = peers;
    if (rows == NULL || entries == NULL || peers == NULL)
        return false;
    v->room = room;
    return true;
}

static hf_row *append(hf_view *v) {
    if (v->n == v->room && !grow(v))
        return NULL;
    return memset(&v->rows[v->n++], 0, sizeof(hf_row));
}

static void read_row(sqlite3_stmt *st, hf_row *ret) {
    const void *nonce = sqlite3_column_blob(st, NONCE);

    hf__store_read_peer(st, &ret->by);
    ret->owner = (uint64_t)sqlite3_column_int64(st, OWNER);
    ret->asked = (hf_kind)sqlite3_column_int(st, ASKED);
    ret->permits = sqlite3_column_int(st, PERMITS);
    ret->id = sqlite3_column_int64(st, ID);
    if (nonce != NULL &&
        sqlite3_column_bytes(st, NONCE) == (int)sizeof ret->nonce)
        memcpy(ret->nonce, nonce, sizeof ret->nonce);
}

/* Those whose lease ended are left out; *over: there are some. */
static int read_holds(hf_embedded *s, const hf_claim *c, bool *over,
                      hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, HF_QUERY_holds, c, 0, err);
    hf_view *v = s->view;
    hf_row *row;
    int rc;

    if (st == NULL)
        return err->code;
    while ((rc = hf__db_step(s->db, st, err)) > 0) {
        int64_t until = sqlite3_column_int64(st, UNTIL);
        if (!sqlite3_column_int(st, NOW)) {
            *over = true;
            if (until <= s->now && until > v->free_since)
                v->free_since = until;
            continue;
        }
        row = append(v);
        if (row == NULL)
            return sqlite3_reset(st), hf__fail_plain(err, HF_ENO_MEMORY);
        read_row(st, row);
        row->until = until;
        row->kept = sqlite3_column_int(st, KEPT) != 0;
        row->token = (uint64_t)sqlite3_column_int64(st, TOKEN);
        row->holds = true;
    }
    v->n_holds = v->n;
    return rc;
}

static int read_waits(hf_embedded *s, const hf_claim *c, int64_t before,
                      hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, HF_QUERY_waits, c, before, err);
    hf_row *row;
    int rc;

    if (st == NULL)
        return err->code;
    while ((rc = hf__db_step(s->db, st, err)) > 0) {
        row = append(s->view);
        if (row == NULL)
            return sqlite3_reset(st), hf__fail_plain(err, HF_ENO_MEMORY);
        read_row(st, row);
        row->fifo = sqlite3_column_int(st, FIFO) != 0;
    }
    return rc;
}

/* Its number, which has perhaps vanished, and since when nobody holds.  The
 * statement is left open: until it is reset, all others see the same state of
 * the file. */
static int read_state(hf_embedded *s, sqlite3_stmt *st, bool *vanished,
                      hf_error *err) {
    hf_view *v = s->view;
    int rc = hf__db_step(s->db, st, err);

    if (rc < 0)
        return rc;
    v->free_since = sqlite3_column_int64(st, 0);
    *vanished = sqlite3_column_int(st, 2) != 0;
    v->is_set = sqlite3_column_type(st, 1) != SQLITE_NULL && !*vanished;
    v->number = v->is_set ? sqlite3_column_int64(st, 1) : 0;
    v->gone_at = INT64_MAX;
    if (v->is_set && sqlite3_column_type(st, 3) != SQLITE_NULL)
        v->gone_at = sqlite3_column_int64(st, 3);
    return HF_OK;
}

static int read_all(hf_embedded *s, const hf_claim *c, int64_t before,
                    bool *vanished, bool *over, hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, HF_QUERY_state, c, 0, err);
    int rc = st == NULL ? err->code : read_state(s, st, vanished, err);

    if (rc == HF_OK)
        rc = read_holds(s, c, over, err);
    if (rc == HF_OK && *vanished)
        s->view->n = s->view->n_holds = 0;
    if (rc == HF_OK && before > 0)
        rc = read_waits(s, c, before, err);
    sqlite3_reset(st);
    return rc;
}

/* ---- clearing ---------------------------------------------------------- */

static int drop_over(hf_embedded *s, const hf_claim *c, hf_error *err) {
    int rc = hf__store_run(s, HF_QUERY_hold_drop_over, c, 0, err);

    if (rc == HF_OK && s->view->n_holds == 0)
        rc = hf__store_run(s, HF_QUERY_freed, c, s->view->free_since, err);
    return rc;
}

static int drop_vanished(hf_embedded *s, const hf_claim *c, hf_error *err) {
    int rc = hf__store_run(s, HF_QUERY_hold_drop_all, c, 0, err);

    return rc == HF_OK ? hf__store_run(s, HF_QUERY_unset, c, 0, err) : rc;
}

int hf__view_look(hf_embedded *s, const hf_claim *c, int64_t before,
                  hf_error *err) {
    bool vanished = false, over = false, writes = hf__db_writes(s->db);
    hf_view *v;
    int rc;

    if (s->view == NULL)
        s->view = hf__calloc(1, sizeof *s->view);
    v = s->view;
    if (v == NULL || (v->room == 0 && !grow(v)))
        return hf__fail_plain(err, HF_ENO_MEMORY);
    v->n = v->n_holds = 0;
    rc = read_all(s, c, before, &vanished, &over, err);
    if (rc == HF_OK && vanished && writes)
        rc = drop_vanished(s, c, err);
    else if (rc == HF_OK && over && writes)
        rc = drop_over(s, c, err);
    return rc;
}

void hf__view_free(hf_view *v) {
    if (v == NULL)
        return;
    hf__free(v->rows);
    hf__free(v->entries);
    hf__free(v->peers);
    hf__free(v);
}

static int bury(hf_embedded *s, const hf_claim *c, const hf_peer *dead,
                hf_error *err) {
    int rc =
        hf__store_run_on_client(s, HF_QUERY_hold_forget, c, dead->client, err);

    return rc == HF_OK ? hf__clients_bury(s, c, dead, err) : rc;
}

/* Keeps what `gone` did not leave behind. */
static void leave_out(hf_view *v, const hf_peer *gone) {
    char client[sizeof gone->client];
    size_t kept = 0, holds = 0;

    memcpy(client, gone->client, sizeof client);
    for (size_t i = 0; i < v->n; i++) {
        if (!v->rows[i].kept && strcmp(v->rows[i].by.client, client) == 0)
            continue;
        holds += v->rows[i].holds;
        v->rows[kept++] = v->rows[i];
    }
    v->n = kept;
    v->n_holds = holds;
}

int hf__view_bury(hf_embedded *s, const hf_claim *c, hf_error *err) {
    size_t before = s->view->n, holders = s->view->n_holds;
    hf_view *v = s->view;
    int rc = HF_OK;

    for (size_t i = 0; i < v->n && rc == HF_OK;) {
        hf_peer *by = &v->rows[i].by;
        if (v->rows[i].kept || hf__wake_lives(s->wake, by)) {
            i++;
            continue;
        }
        if (hf__db_writes(s->db))
            rc = bury(s, c, by, err);
        leave_out(v, by); /* nothing of it stands before i */
    }
    if (rc == HF_OK && holders > 0 && v->n_holds == 0) {
        v->free_since = s->now;
        if (hf__db_writes(s->db))
            rc = hf__store_run(s, HF_QUERY_freed, c, s->now, err);
    }
    return rc < 0 ? rc : (int)(before - v->n);
}

/* ---- saying ------------------------------------------------------------ */

hf_entry hf__view_entry(const hf_row *row) {
    return (hf_entry){.mode = hf__mode(row->asked),
                      .permits = row->permits,
                      .holds = row->holds,
                      .fifo = row->fifo};
}

int64_t hf__view_leased(const hf_view *v) {
    int64_t n = 0;

    for (size_t i = 0; i < v->n_holds; i++)
        n += v->rows[i].permits;
    return n;
}

bool hf__view_is_ours(const hf_embedded *s, const hf_row *row, uint64_t owner) {
    return !row->kept && row->owner == owner &&
           strcmp(row->by.client, s->base.host->identity.client) == 0;
}
