/* SPDX-License-Identifier: MIT
 *
 * postgres_bare.c - the bare statements of a lock in PostgreSQL.
 *
 * They are the two that the store sends for a lock that is free and that nobody
 * waits for (postgres.sql, "take" and "free"), on a table of the same columns:
 * a guarded update that waits for the disk, and one that does not.  Only how
 * they are sent differs: here by PQexecParams, so that the server parses and
 * plans every time, which is what a pooler between demands; the store has them
 * prepared, as there is none.  Of an answer only the number of rows is looked
 * at. */
#include "postgres_bare.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

static const char table[] = "CREATE TABLE bare_line ("
                            "name bytea NOT NULL, kind smallint NOT NULL, "
                            "token bigint NOT NULL DEFAULT 0, "
                            "block integer NOT NULL DEFAULT 0, "
                            "until bigint NOT NULL DEFAULT 0, "
                            "owner bigint NOT NULL DEFAULT 0, "
                            "client bytea NOT NULL DEFAULT '', "
                            "asked smallint NOT NULL DEFAULT 0, "
                            "since bigint NOT NULL DEFAULT 0, "
                            "kept smallint NOT NULL DEFAULT 0, "
                            "waits integer NOT NULL DEFAULT 0, "
                            "ticket bigint NOT NULL DEFAULT 0, "
                            "number bigint, gone_at bigint, "
                            "PRIMARY KEY (name, kind)) WITH (fillfactor = 50)";

/* $1 name, $2 client, $3 owner, $4 lease in µs. */
static const char take_text[] =
    "WITH a AS (UPDATE bare_line l "
    "SET token = CASE WHEN l.until > n.t THEN l.token "
    "ELSE greatest(l.token + 1, n.t) + 1 - 1 END, "
    "block = CASE WHEN l.until > n.t THEN l.block ELSE 1 - 1 END, "
    "since = CASE WHEN l.until > n.t THEN l.since ELSE n.t END, "
    "until = n.t + $4::bigint, owner = $3::bigint, client = $2::bytea, "
    "asked = 0, kept = 0 FROM (SELECT " NOW " AS t) n "
    "WHERE l.name = $1::bytea AND l.kind = 0 "
    "AND ((l.until <= n.t AND l.waits = 0) "
    "OR (l.until > n.t AND l.client = $2::bytea AND l.owner = $3::bigint "
    "AND l.kept = 0)) RETURNING l.token, l.block) "
    "SELECT (a.token IS NOT NULL)::int, coalesce(a.token, 0), "
    "coalesce(a.block, 0), x.until - " NOW ", x.waits "
    "FROM bare_line x LEFT JOIN a ON true "
    "WHERE x.name = $1::bytea AND x.kind = 0";

static const char give_text[] =
    "UPDATE bare_line l SET until = " NOW " "
    "FROM (SELECT set_config('synchronous_commit', 'off', true)) hurry "
    "WHERE l.name = $1::bytea AND l.kind = 0 AND l.client = $2::bytea "
    "AND l.owner = $3::bigint AND l.until > " NOW
    " AND l.kept = 0 AND l.waits = 0";

static PGconn *conn;
static char name[160];
static const char *const values[] = {name, "0123456789abcdef", "1", "30000000"};

static const char *postgres_open(const char *uri) {
    static char version[16];
    PGresult *made;

    conn = PQconnectdb(uri);
    made = PQexec(conn, table);
    snprintf(version, sizeof version, "%d.%d", PQlibVersion() / 10000,
             PQlibVersion() % 10000);
    if (PQresultStatus(made) != PGRES_COMMAND_OK) {
        fprintf(stderr, "bench: %s", PQerrorMessage(conn));
        return NULL;
    }
    PQclear(made);
    return version;
}

static bool postgres_begin(const char *text) {
    PGresult *r;
    bool well;

    snprintf(name, sizeof name, "%s", text);
    r = PQexecParams(conn,
                     "INSERT INTO bare_line (name, kind) VALUES ($1::bytea, 0)",
                     1, NULL, values, NULL, NULL, 0);
    well = PQresultStatus(r) == PGRES_COMMAND_OK;
    PQclear(r);
    return well;
}

static bool postgres_take(void) {
    PGresult *r = PQexecParams(conn, take_text, 4, NULL, values, NULL, NULL, 0);
    bool well = PQntuples(r) == 1 && *PQgetvalue(r, 0, 0) == '1';

    PQclear(r);
    return well;
}

static bool postgres_give(void) {
    PGresult *r = PQexecParams(conn, give_text, 3, NULL, values, NULL, NULL, 0);
    bool well = strcmp(PQcmdTuples(r), "1") == 0;

    PQclear(r);
    return well;
}

const bare postgres_calls = {"libpq",       postgres_open, postgres_begin,
                             postgres_take, postgres_give, true};
