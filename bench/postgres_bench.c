/* SPDX-License-Identifier: MIT
 *
 * postgres_bench.c - holdfast in PostgreSQL beside the bare statements, session
 * locks (pg_advisory_lock) and ShedLock.
 *
 *     postgres_bench [--shedlock FOLDER] [--results FILE]
 *                    [--rounds N] [--cell MS] [--quick]
 *
 * FOLDER is what shedlock/build.sh made; without it that side is left out. */
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "postgres_bare.h"
#include "rivals.h"
#include "server.h"
#include "shedlock.h"

/* ---- session locks ----------------------------------------------------- */

/* A lock is a connection's, so every thread has one of its own.  Nothing is
 * written: no lease, no token, no owner, and no lock after a restart. */
typedef struct session {
    PGconn *conn;
    char name[160];
} session;

static const char *address;

static const char *session_open(const char *uri, char *why) {
    static char version[16], kept[256];
    PGconn *conn = PQconnectdb(uri);
    bool well = PQstatus(conn) == CONNECTION_OK;

    snprintf(kept, sizeof kept, "%s", uri);
    address = kept;
    snprintf(version, sizeof version, "%d.%d", PQlibVersion() / 10000,
             PQlibVersion() % 10000);
    if (!well)
        snprintf(why, WORKER_WHY, "%.200s", PQerrorMessage(conn));
    PQfinish(conn);
    return well ? version : NULL;
}

static void session_leave(void *joined) {
    session *s = joined;

    PQfinish(s->conn);
    free(s);
}

static void *session_join(const char *kind, const char *name, char *why) {
    session *s = calloc(1, sizeof *s);

    if (!s)
        abort();
    s->conn = PQconnectdb(address);
    snprintf(s->name, sizeof s->name, "%s", name);
    if (PQstatus(s->conn) == CONNECTION_OK && strcmp(kind, "lock") == 0)
        return s;
    snprintf(why, WORKER_WHY, "%s: %.200s", kind, PQerrorMessage(s->conn));
    session_leave(s);
    return NULL;
}

static bool session_do(session *s, const char *statement, char *why) {
    const char *const values[] = {s->name};
    PGresult *r =
        PQexecParams(s->conn, statement, 1, NULL, values, NULL, NULL, 0);
    bool well = PQntuples(r) == 1 && *PQgetvalue(r, 0, 0) != 'f';

    if (!well)
        snprintf(why, WORKER_WHY, "%.200s", PQerrorMessage(s->conn));
    PQclear(r);
    return well;
}

static bool session_take(void *joined, char *why) {
    return session_do(
        joined, "SELECT pg_advisory_lock(hashtextextended($1::text, 0))", why);
}

static bool session_give(void *joined, char *why) {
    return session_do(
        joined, "SELECT pg_advisory_unlock(hashtextextended($1::text, 0))",
        why);
}

static const worker_side sessions = {.open = session_open,
                                     .join = session_join,
                                     .take = session_take,
                                     .give = session_give,
                                     .leave = session_leave};

/* ---- the whole --------------------------------------------------------- */

/* As its README has it. */
static const char shedlock_table[] =
    "CREATE TABLE shedlock (name varchar(64) NOT NULL, "
    "lock_until timestamp NOT NULL, locked_at timestamp NOT NULL, "
    "locked_by varchar(255) NOT NULL, PRIMARY KEY (name))";

/* Makes ShedLock's table, and says what answers. */
static const char *version_of(const char *uri) {
    static char version[32];
    PGconn *conn = PQconnectdb(uri);
    const char *text = PQparameterStatus(conn, "server_version");

    PQclear(PQexec(conn, shedlock_table));
    snprintf(version, sizeof version, "%s", text ? text : "?");
    version[strcspn(version, " ")] = '\0';
    PQfinish(conn);
    return version;
}

int main(int argc, char **argv) {
    const bench_server *server;
    char uri[96];

    if (argc == 2 && strcmp(argv[1], "--worker") == 0)
        return worker_main();
    if (argc == 2 && strcmp(argv[1], "--sessions") == 0)
        return worker_run(&sessions);
    rivals_options(argc, argv);
    server = server_start_postgres();
    if (!server) {
        printf("PostgreSQL: not measured, because no server starts\n");
        return 0;
    }
    snprintf(uri, sizeof uri, "postgresql://postgres@127.0.0.1:%d/postgres",
             server->port);
    rivals_run(&(contest){
        .store = "PostgreSQL",
        .version = version_of(uri),
        .uri = uri,
        .dir = server->dir,
        .bare = &postgres_calls,
        .rivals = {{.name = "holdfast", .argv = {"/proc/self/exe", "--worker"}},
                   {.name = "pg_advisory",
                    .argv = {"/proc/self/exe", "--sessions"},
                    .less = true},
                   shedlock(rivals_option(argc, argv, "--shedlock"))},
        .n = 3});
    return 0;
}
