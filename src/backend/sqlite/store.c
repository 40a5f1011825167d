/* SPDX-License-Identifier: MIT
 *
 * store.c - statements with their parameters; sqlite.sql says which number
 * means what.  A number that a statement does not have is simply not bound. */
#include "store.h"

#include <stdio.h>
#include <string.h>

int hf__store_enter(hf_embedded *s, hf_time by, hf_error *err) {
    int rc = hf__db_enter(s->db, by, err);

    if (rc == HF_OK)
        s->now = hf__db_now_us(s->db);
    return rc;
}

int hf__store_begin(hf_embedded *s, hf_error *err) {
    int rc = hf__db_begin(s->db, err);

    s->introducing = false;
    if (rc == HF_OK)
        s->now = hf__db_now_us(s->db);
    return rc;
}

int hf__store_end(hf_embedded *s, int rc, hf_error *err) {
    rc = hf__db_end(s->db, rc, err);
    if (rc >= 0 && s->introducing)
        s->introduced = true;
    return rc;
}

sqlite3_stmt *hf__store_query(hf_embedded *s, hf_query which, const hf_claim *c,
                              int64_t extra, hf_error *err) {
    sqlite3_stmt *st = hf__db_query(s->db, which, err);

    if (st == NULL)
        return NULL;
    sqlite3_bind_int64(st, 1, hf__sqlite_line_of(c->kind));
    sqlite3_bind_text(st, 2, c->name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(st, 3, (int64_t)c->owner);
    sqlite3_bind_int64(st, 6, s->now);
    sqlite3_bind_int64(st, 7, s->now + c->lease_ms * INT64_C(1000));
    sqlite3_bind_int64(st, 9, extra);
    return st;
}

int hf__store_run(hf_embedded *s, hf_query which, const hf_claim *c,
                  int64_t extra, hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, which, c, extra, err);

    return st == NULL ? err->code : hf__db_finish(s->db, st, err);
}

int hf__store_run_on_client(hf_embedded *s, hf_query which, const hf_claim *c,
                            const char *client, hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, which, c, 0, err);

    if (st == NULL)
        return err->code;
    sqlite3_bind_text(st, 9, client, -1, SQLITE_TRANSIENT);
    return hf__db_finish(s->db, st, err);
}

static void bind_grant(sqlite3_stmt *st, const hf_claim *c) {
    if (c->place & HF_PLACE_HOLDS)
        sqlite3_bind_int64(st, 9, (int64_t)(c->place & ~HF_PLACE_HOLDS));
    else
        sqlite3_bind_null(st, 9);
}

void hf__store_bind_asked(sqlite3_stmt *st, const hf_claim *c) {
    sqlite3_bind_int64(st, 10, c->kind);
    sqlite3_bind_int64(st, 11, c->permits);
    sqlite3_bind_blob(st, 12, c->nonce, sizeof c->nonce, SQLITE_STATIC);
    sqlite3_bind_int64(st, 13, hf__keeps_to_the_line(c));
}

int hf__store_run_on_grant(hf_embedded *s, hf_query which, const hf_claim *c,
                           hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, which, c, 0, err);

    if (st == NULL)
        return err->code;
    bind_grant(st, c);
    return hf__db_finish(s->db, st, err);
}

int hf__store_tell_number(hf_embedded *s, sqlite3_stmt *st, int64_t *ret,
                          hf_error *err) {
    int rc = hf__db_step(s->db, st, err);

    if (rc <= 0)
        return rc;
    *ret = sqlite3_column_int64(st, 0);
    rc = hf__db_finish(s->db, st, err);
    return rc < 0 ? rc : 1;
}

int hf__store_free(hf_embedded *s, hf_query which, const hf_claim *c,
                   bool *waited_for, hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, which, c, 0, err);
    int64_t found = 0;
    int rc;

    if (st == NULL)
        return err->code;
    bind_grant(st, c);
    rc = hf__store_tell_number(s, st, &found, err);
    *waited_for = found != 0;
    return rc;
}

int hf__store_ask_number(hf_embedded *s, hf_query which, const hf_claim *c,
                         int64_t extra, int64_t *ret, hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, which, c, extra, err);

    return st == NULL ? err->code : hf__store_tell_number(s, st, ret, err);
}

int hf__store_raise(hf_embedded *s, const hf_claim *c, uint64_t *ret,
                    hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, HF_QUERY_raise, c, 0, err);
    int64_t token = 0;
    int rc;

    if (st == NULL)
        return err->code;
    sqlite3_bind_int64(st, 8, hf__world->wall_us());
    rc = hf__store_tell_number(s, st, &token, err);
    *ret = (uint64_t)token;
    return rc < 0 ? rc : HF_OK;
}

int hf__store_ask_peer(hf_embedded *s, hf_query which, const hf_claim *c,
                       int64_t extra, hf_peer *ret, hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, which, c, extra, err);
    int rc = st == NULL ? err->code : hf__db_step(s->db, st, err);

    if (rc <= 0)
        return rc;
    hf__store_read_peer(st, ret);
    sqlite3_reset(st);
    return 1;
}

void hf__store_copy_text(sqlite3_stmt *st, int column, char *buf, size_t size) {
    const char *text = (const char *)sqlite3_column_text(st, column);

    snprintf(buf, size, "%s", text != NULL ? text : "");
}

void hf__store_read_peer(sqlite3_stmt *st, hf_peer *ret) {
    hf__store_copy_text(st, 0, ret->client, sizeof ret->client);
    ret->known = sqlite3_column_int(st, 1) != 0;
    ret->pidns = sqlite3_column_int64(st, 2);
    ret->pid = sqlite3_column_int64(st, 3);
}
