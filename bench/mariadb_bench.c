/* SPDX-License-Identifier: MIT
 *
 * mariadb_bench.c - holdfast in MariaDB beside the bare statements, session
 * locks (GET_LOCK) and ShedLock.
 *
 *     mariadb_bench [--shedlock FOLDER] [--results FILE]
 *                   [--rounds N] [--cell MS] [--quick]
 *
 * FOLDER is what shedlock/build.sh made; without it that side is left out. */
#include <stdlib.h>
#include <string.h>

#include "mariadb_bare.h"
#include "rivals.h"
#include "server.h"
#include "shedlock.h"

/* ---- session locks ----------------------------------------------------- */

/* A lock is a connection's, so every thread has one of its own.  Nothing is
 * written: no lease, no token, no owner, and no lock after a restart. */
typedef struct session {
    MYSQL *conn;
    char take[256], give[256];
} session;

static char address[256];

static const char *session_open(const char *uri, char *why) {
    snprintf(address, sizeof address, "%s", uri);
    if (mysql_library_init(0, NULL, NULL) == 0)
        return mysql_get_client_info();
    snprintf(why, WORKER_WHY, "libmariadb does not begin");
    return NULL;
}

static void session_leave(void *joined) {
    session *s = joined;

    if (s->conn)
        mysql_close(s->conn);
    free(s);
}

static void *session_join(const char *kind, const char *name, char *why) {
    session *s = calloc(1, sizeof *s);

    if (!s)
        abort();
    snprintf(s->take, sizeof s->take, "SELECT GET_LOCK('%s', 20)", name);
    snprintf(s->give, sizeof s->give, "SELECT RELEASE_LOCK('%s')", name);
    s->conn = mariadb_dial(address);
    if (s->conn && strcmp(kind, "lock") == 0)
        return s;
    snprintf(why, WORKER_WHY, "%s: no connection", kind);
    session_leave(s);
    return NULL;
}

/* Both answer 1. */
static bool session_do(session *s, const char *statement, char *why) {
    MYSQL_RES *r = mysql_real_query(s->conn, statement, strlen(statement)) ?
                       NULL :
                       mysql_store_result(s->conn);
    MYSQL_ROW row = r ? mysql_fetch_row(r) : NULL;
    bool well = row && row[0] && strcmp(row[0], "1") == 0;

    if (!well)
        snprintf(why, WORKER_WHY, "%.100s: %.100s", statement,
                 mysql_error(s->conn));
    if (r)
        mysql_free_result(r);
    return well;
}

static bool session_take(void *joined, char *why) {
    return session_do(joined, ((session *)joined)->take, why);
}

static bool session_give(void *joined, char *why) {
    return session_do(joined, ((session *)joined)->give, why);
}

static const worker_side sessions = {.open = session_open,
                                     .join = session_join,
                                     .take = session_take,
                                     .give = session_give,
                                     .leave = session_leave};

/* ---- the whole --------------------------------------------------------- */

/* As its README has it. */
static const char shedlock_table[] =
    "CREATE TABLE shedlock (name VARCHAR(64) NOT NULL, "
    "lock_until TIMESTAMP(3) NOT NULL, "
    "locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), "
    "locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))";

/* Makes ShedLock's table, and says what answers. */
static const char *version_of(const char *uri) {
    static char version[32];
    MYSQL *conn = mariadb_dial(uri);

    if (!conn)
        return "?";
    mysql_real_query(conn, shedlock_table, strlen(shedlock_table));
    snprintf(version, sizeof version, "%s", mysql_get_server_info(conn));
    version[strcspn(version, "-")] = '\0';
    mysql_close(conn);
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
    server = server_start_mariadb();
    if (!server) {
        printf("MariaDB: not measured, because no server starts\n");
        return 0;
    }
    snprintf(uri, sizeof uri, "mariadb://root@127.0.0.1:%d/test", server->port);
    rivals_run(&(contest){
        .store = "MariaDB",
        .version = version_of(uri),
        .uri = uri,
        .dir = server->dir,
        .bare = &mariadb_calls,
        .rivals = {{.name = "holdfast", .argv = {"/proc/self/exe", "--worker"}},
                   {.name = "GET_LOCK",
                    .argv = {"/proc/self/exe", "--sessions"},
                    .less = true},
                   shedlock(rivals_option(argc, argv, "--shedlock"))},
        .n = 3});
    return 0;
}
