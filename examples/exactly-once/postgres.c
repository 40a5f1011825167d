/* SPDX-License-Identifier: MIT
 *
 * postgres.c - the database is PostgreSQL. */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"

struct db {
    PGconn *conn;
};

static const char *said(db *d) {
    return PQerrorMessage(d->conn);
}

/* HF001 is the guard's own; see guard/postgresql.sql. */
static db_answer answer_of(PGresult *r, int64_t *cell) {
    ExecStatusType status = PQresultStatus(r);
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    db_answer answer = DB_FAILED;
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        answer = DB_OK;
    else if (state && strcmp(state, "HF001") == 0)
        answer = DB_REFUSED;
    if (cell && status == PGRES_TUPLES_OK && PQntuples(r) > 0)
        *cell = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    PQclear(r);
    return answer;
}

static db_answer ask(db *d, const char *sql, const char *const values[2],
                     int64_t *cell) {
    int n = !values[0] ? 0 : !values[1] ? 1 : 2;
    return answer_of(PQexecParams(d->conn, sql, n, NULL, values, NULL, NULL, 0),
                     cell);
}

static db_answer script(db *d, const char *sql) {
    return answer_of(PQexec(d->conn, sql), NULL);
}

static void close_db(db *d) {
    if (d)
        PQfinish(d->conn);
    free(d);
}

static db *open_db(const char *where) {
    db *d = malloc(sizeof *d);
    if (!d)
        return NULL;
    d->conn = PQconnectdb(where);
    if (PQstatus(d->conn) == CONNECTION_OK &&
        script(d, "SET client_min_messages = warning;"
                  "SET search_path = holdfast_example") == DB_OK)
        return d;
    fprintf(stderr, "%s", said(d));
    close_db(d);
    return NULL;
}

const db_sort db_postgres = {
    .name = "postgresql",
    .begin = "BEGIN",
    .pass = "SELECT hf_guard_pass($1, $2)",
    .make_room = "DROP SCHEMA IF EXISTS holdfast_example CASCADE;"
                 "CREATE SCHEMA holdfast_example",
    .clear_up = "DROP SCHEMA holdfast_example CASCADE",
    .open = open_db,
    .close = close_db,
    .ask = ask,
    .script = script,
    .said = said};
