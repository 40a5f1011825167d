/* SPDX-License-Identifier: MIT
 *
 * postgres_bare.c - the bare statements of a lock in PostgreSQL.
 *
 * They are the two that the store sends for a lock that is free and that nobody
 * waits for (postgres.sql, "take" and "free"), on a table of the same columns:
 * a guarded upsert that waits for the disk, and an update that does not.  Only
 * how they are sent differs: here by PQexecParams, whose parameters are apart
 * from the text; the store writes them into it, as PQsendQuery wants.  Either
 * way the server parses and plans every time, which is what a pooler between
 * demands.  Of an answer only the number of rows is looked at. */
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
#define MINE                                                                   \
    "l.client = $2::bytea AND l.owner = $3::bigint AND l.until > " NOW         \
    " AND l.kept = 0"

static const char take_text[] =
    "WITH n AS MATERIALIZED (SELECT " NOW " AS t), "
    "a AS (INSERT INTO bare_line AS l "
    "(name, kind, token, block, until, owner, client, asked, since, kept) "
    "SELECT $1::bytea, 0, n.t, 0, n.t + $4::bigint, $3::bigint, $2::bytea, 0, "
    "n.t, 0 FROM n "
    "WHERE NOT EXISTS (SELECT 1 FROM bare_line x "
    "WHERE x.name = $1::bytea AND x.kind = 0 "
    "AND (x.until > n.t OR x.waits > 0) "
    "AND NOT (x.client = $2::bytea AND x.owner = $3::bigint "
    "AND x.until > n.t AND x.kept = 0)) "
    "ON CONFLICT (name, kind) DO UPDATE SET "
    "token = CASE WHEN " MINE " THEN l.token "
    "ELSE greatest(l.token + 1, " NOW ") END, "
    "block = CASE WHEN " MINE " THEN l.block ELSE 0 END, "
    "since = CASE WHEN " MINE " THEN l.since ELSE " NOW " END, "
    "until = " NOW " + $4::bigint, owner = $3::bigint, client = $2::bytea, "
    "asked = 0, kept = 0 "
    "WHERE (l.until <= " NOW " AND l.waits = 0) OR (" MINE ") "
    "RETURNING l.token, l.block) "
    "SELECT 1 AS taken, a.token, a.block, 0::bigint AS ends, 0 AS waits FROM a "
    "UNION ALL SELECT 0, 0, 0, x.until - n.t, x.waits FROM bare_line x, n "
    "WHERE x.name = $1::bytea AND x.kind = 0 AND NOT EXISTS (SELECT 1 FROM a)";

static const char give_text[] =
    "UPDATE bare_line l SET until = " NOW " "
    "FROM (SELECT set_config('synchronous_commit', 'off', true)) hurry "
    "WHERE l.name = $1::bytea AND l.kind = 0 AND " MINE " AND l.waits = 0";

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
    snprintf(name, sizeof name, "%s", text);
    return true;
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
