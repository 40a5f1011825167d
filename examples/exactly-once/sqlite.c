/* SPDX-License-Identifier: MIT
 *
 * sqlite.c - the database is a file, for want of a server. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "database.h"

enum { BUSY_MS = 10000 };

struct db {
    sqlite3 *file;
};

static const char *said(db *d) {
    return sqlite3_errmsg(d->file);
}

/* The guard is a trigger; see guard/sqlite.sql. */
static db_answer answer_of(int rc) {
    if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE)
        return DB_OK;
    return rc == SQLITE_CONSTRAINT_TRIGGER ? DB_REFUSED : DB_FAILED;
}

static db_answer ask(db *d, const char *sql, const char *const values[2],
                     int64_t *cell) {
    sqlite3_stmt *s;
    int rc = sqlite3_prepare_v2(d->file, sql, -1, &s, NULL);
    for (int i = 0; rc == SQLITE_OK && i < 2 && values[i]; i++)
        rc = sqlite3_bind_text(s, i + 1, values[i], -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(s);
    if (rc == SQLITE_ROW && cell)
        *cell = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return answer_of(rc);
}

static db_answer script(db *d, const char *sql) {
    return answer_of(sqlite3_exec(d->file, sql, NULL, NULL, NULL));
}

static void close_db(db *d) {
    if (d)
        sqlite3_close(d->file);
    free(d);
}

static db *open_db(const char *where) {
    db *d = malloc(sizeof *d);
    if (!d)
        return NULL;
    if (sqlite3_open(where, &d->file) == SQLITE_OK) {
        sqlite3_extended_result_codes(d->file, 1);
        sqlite3_busy_timeout(d->file, BUSY_MS);
        return d;
    }
    fprintf(stderr, "%s: %s\n", where, said(d));
    close_db(d);
    return NULL;
}

/* IMMEDIATE: to wait for others at the beginning, not in the middle. */
const db_sort db_sqlite = {
    .name = "sqlite",
    .begin = "BEGIN IMMEDIATE",
    .pass = "INSERT INTO hf_guard VALUES ($1, $2) ON CONFLICT (resource) "
            "DO UPDATE SET token = excluded.token",
    .make_room = "",
    .clear_up = "DROP TABLE job; DROP TABLE effect; DROP TABLE hf_guard",
    .open = open_db,
    .close = close_db,
    .ask = ask,
    .script = script,
    .said = said};
