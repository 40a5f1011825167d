/* SPDX-License-Identifier: MIT
 *
 * site_database.c - PostgreSQL and MariaDB behind a link, and a session of
 * somebody who locks the rows of others. */
#include "site.h"

#include "support/wait.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

/* ---- PostgreSQL -------------------------------------------------------- */

static void pg_start(site *s) {
    s->postgres = hf_test_postgres_start(NULL);
    add_link(s, hf_test_postgres_port(s->postgres), false);
    snprintf(s->uri, sizeof s->uri, "postgresql://app@127.0.0.1:%d/locks",
             hf_test_proxy_port(s->links[0]));
    snprintf(s->plain, sizeof s->plain, "%s",
             hf_test_postgres_uri(s->postgres));
}

static void pg_stop(site *s) {
    hf_test_postgres_stop(s->postgres);
}

static void pg_die(site *s, chance *c) {
    (void)c;
    hf_test_postgres_crash(s->postgres);
}

static void pg_come_back(site *s) {
    hf_test_postgres_restart(s->postgres);
}

static void pg_say(site *s, const char *sql) {
    if (s->pg_session == NULL)
        s->pg_session = hf_test_sql_open(hf_test_postgres_port(s->postgres));
    PQclear(PQexec(s->pg_session, sql));
}

/* Half of the rows, in another order than ours: both wait for each other. */
static void pg_occupy(site *s, chance *c) {
    (void)c;
    pg_say(s, "BEGIN");
    pg_say(s, "SET LOCAL lock_timeout = '300ms'");
    pg_say(s, "SELECT 1 FROM hf_hold FOR UPDATE");
    pg_say(s, "SAVEPOINT a");
    pg_say(s, "SELECT 1 FROM hf_line ORDER BY name DESC FOR UPDATE");
}

static void pg_leave(site *s) {
    pg_say(s, "ROLLBACK");
    PQfinish(s->pg_session);
    s->pg_session = NULL;
}

/* In the middle of whatever they do. */
static void pg_kick(site *s, chance *c) {
    (void)c;
    hf_test_sql(hf_test_postgres_port(s->postgres),
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE usename = 'app'");
}

static void pg_interrupt(site *s, chance *c) {
    (void)c;
    hf_test_sql(hf_test_postgres_port(s->postgres),
                "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity "
                "WHERE usename = 'app'");
}

static void pg_read_only(site *s, chance *c) {
    (void)c;
    int port = hf_test_postgres_port(s->postgres);
    hf_test_sql(port, "ALTER SYSTEM SET default_transaction_read_only = on");
    hf_test_sql(port, "SELECT pg_reload_conf()");
}

static void pg_writable(site *s) {
    PGconn *conn = hf_test_sql_open(hf_test_postgres_port(s->postgres));
    PQclear(PQexec(conn, "SET default_transaction_read_only = off"));
    PQclear(PQexec(conn, "ALTER SYSTEM RESET default_transaction_read_only"));
    PQclear(PQexec(conn, "SELECT pg_reload_conf()"));
    PQfinish(conn);
}

static int64_t pg_count(site *s, const char *table) {
    return hf_test_sql_number(hf_test_postgres_port(s->postgres),
                              "SELECT count(*) FROM %s", table);
}

/* Rows that hold or wait.  Who was killed leaves one that has ended, to be
 * swept out by whoever comes next: the list tells. */
static int pg_left(site *s, char *what, size_t size) {
    int port = hf_test_postgres_port(s->postgres);
    int64_t now_us = hf_test_sql_number(
        port, "SELECT (extract(epoch FROM clock_timestamp()) * 1e6)::bigint");
    int64_t n = hf_test_sql_number(
        port, "SELECT count(*) FROM hf_hold WHERE until > %lld",
        (long long)now_us);
    (void)pg_count;
    if (n > 0)
        snprintf(what, size, " %lld rows in hf_hold", (long long)n);
    return (int)n;
}

static const fault pg_faults[] = {
    LINK_FAULTS,
    {.name = "restart",
     .begin = pg_die,
     .end = pg_come_back,
     .least = 20,
     .most = 1500},
    {.name = "rows",
     .begin = pg_occupy,
     .end = pg_leave,
     .least = 20,
     .most = 1500},
    {.name = "kicked", .begin = pg_kick, .least = 20, .most = 500},
    {.name = "interrupted", .begin = pg_interrupt, .least = 5, .most = 200},
    {.name = "read-only",
     .begin = pg_read_only,
     .end = pg_writable,
     .least = 100,
     .most = 1200},
    {.name = NULL},
};

const store store_postgres = {
    .name = "postgres",
    .missing = hf_test_postgres_missing,
    .start = pg_start,
    .stop = pg_stop,
    .left = pg_left,
    .faults = pg_faults,
    .lease_ms = 1800,
    .timeout_ms = 600,
};

/* ---- MariaDB ----------------------------------------------------------- */

static void my_start(site *s) {
    s->mariadb = hf_test_mariadb_start(NULL);
    add_link(s, hf_test_mariadb_port(s->mariadb), false);
    snprintf(s->uri, sizeof s->uri, "mariadb://app@127.0.0.1:%d/locks",
             hf_test_proxy_port(s->links[0]));
    snprintf(s->plain, sizeof s->plain, "%s", hf_test_mariadb_uri(s->mariadb));
}

static void my_stop(site *s) {
    hf_test_mariadb_stop(s->mariadb);
}

static void my_die(site *s, chance *c) {
    (void)c;
    hf_test_mariadb_crash(s->mariadb);
}

static void my_come_back(site *s) {
    hf_test_mariadb_restart(s->mariadb);
}

static void my_freeze(site *s, chance *c) {
    (void)c;
    hf_test_mariadb_pause(s->mariadb);
}

static void my_thaw(site *s) {
    hf_test_mariadb_resume(s->mariadb);
}

static const char *my_ask(site *s, const char *sql) {
    return hf_test_mariadb_ask(hf_test_mariadb_port(s->mariadb), "%s", sql);
}

/* The last answer of a connection that is not kept is not waited for: it holds
 * the rows until the server notices, which is what a client that vanishes
 * does. */
static void my_occupy(site *s, chance *c) {
    (void)c;
    s->my_session = hf_test_mariadb_open(hf_test_mariadb_port(s->mariadb));
    hf_test_mariadb_say(s->my_session,
                        "SET SESSION innodb_lock_wait_timeout = 1");
    hf_test_mariadb_say(s->my_session, "BEGIN");
    hf_test_mariadb_say(s->my_session,
                        "SELECT count(*) FROM (SELECT 1 FROM hf_line "
                        "LIMIT 4 FOR UPDATE SKIP LOCKED) t");
}

static void my_leave(site *s) {
    hf_test_mariadb_close(s->my_session);
    s->my_session = NULL;
}

static void my_kick(site *s, chance *c) {
    (void)c;
    my_ask(s, "KILL USER 'app'");
}

static void my_interrupt(site *s, chance *c) {
    (void)c;
    my_ask(s, "KILL QUERY USER 'app'");
}

static void my_read_only(site *s, chance *c) {
    (void)c;
    my_ask(s, "SET GLOBAL read_only = ON");
}

static void my_writable(site *s) {
    my_ask(s, "SET GLOBAL read_only = OFF");
}

static const fault my_faults[] = {
    LINK_FAULTS,
    {.name = "restart",
     .begin = my_die,
     .end = my_come_back,
     .least = 20,
     .most = 1500},
    {.name = "slow-server",
     .begin = my_freeze,
     .end = my_thaw,
     .least = 100,
     .most = 2500},
    {.name = "rows",
     .begin = my_occupy,
     .end = my_leave,
     .least = 20,
     .most = 1500},
    {.name = "kicked", .begin = my_kick, .least = 20, .most = 500},
    {.name = "interrupted", .begin = my_interrupt, .least = 5, .most = 200},
    {.name = "read-only",
     .begin = my_read_only,
     .end = my_writable,
     .least = 100,
     .most = 1200},
    {.name = NULL},
};

const store store_mariadb = {
    .name = "mariadb",
    .missing = hf_test_mariadb_missing,
    .start = my_start,
    .stop = my_stop,
    .faults = my_faults,
    .lease_ms = 1800,
    .timeout_ms = 600,
};
