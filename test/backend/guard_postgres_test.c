/* SPDX-License-Identifier: MIT
 *
 * guard_postgres_test.c - a PostgreSQL database refuses older tokens.  Each test
 * has a schema of a shared server for itself. */
#include <inttypes.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fenced.h"
#include "support/postgres.h"
#include "support/suite.h"
#include "support/wait.h"

static char uri[256];
static const char *schema; /* in it */

static void quiet(void *arg, const PGresult *notice) {
    (void)arg, (void)notice;
}

static void *open_db(void) {
    char path[96];
    PGconn *conn = PQconnectdb(uri);
    PQsetNoticeReceiver(conn, quiet, NULL);
    assert_int_equal(PQstatus(conn), CONNECTION_OK);
    snprintf(path, sizeof path, "SET search_path = %s", schema);
    PQclear(PQexec(conn, path));
    return conn;
}

static void close_db(void *conn) {
    PQfinish(conn);
}

static int answer_of(PGresult *r, int64_t *cell) {
    ExecStatusType status = PQresultStatus(r);
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    int answer = HF_ESTORE;
    *cell = 0;
    if (status == PGRES_TUPLES_OK && PQntuples(r) > 0)
        *cell = atoll(PQgetvalue(r, 0, 0));
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        answer = HF_OK;
    else if (state && strcmp(state, "HF001") == 0)
        answer = HF_ELOST;
    else if (state &&
             (strcmp(state, "40001") == 0 || strcmp(state, "40P01") == 0))
        answer = HF_BUSY;
    PQclear(r);
    return answer;
}

static int run(void *conn, const char *sql, int64_t *cell) {
    return answer_of(PQexec(conn, sql), cell);
}

static int pass(void *conn, const char *resource, uint64_t token) {
    char number[24];
    int64_t cell;
    snprintf(number, sizeof number, "%" PRIu64, token);
    return answer_of(PQexecParams(conn, "SELECT hf_guard_pass($1, $2)", 2, NULL,
                                  (const char *const[]){resource, number}, NULL,
                                  NULL, 0),
                     &cell);
}

/* Guard and write in one statement: no rows, refused. */
static int pass_and_add(void *conn, const char *resource, uint64_t token) {
    static const char sql[] =
        "WITH pass AS (INSERT INTO hf_guard AS g VALUES ($1, $2) "
        "ON CONFLICT (resource) DO UPDATE SET token = excluded.token "
        "WHERE g.token <= excluded.token RETURNING token) "
        "INSERT INTO entry (token) SELECT token FROM pass";
    char number[24];
    int64_t cell;
    snprintf(number, sizeof number, "%" PRIu64, token);
    PGresult *r =
        PQexecParams(conn, sql, 2, NULL,
                     (const char *const[]){resource, number}, NULL, NULL, 0);
    bool refused = PQresultStatus(r) == PGRES_COMMAND_OK &&
                   strcmp(PQcmdTuples(r), "0") == 0;
    int answer = answer_of(r, &cell);
    return refused ? HF_ELOST : answer;
}

static int run_but_add(void *conn, const char *sql, int64_t *cell) {
    return strncmp(sql, "INSERT", 6) == 0 ? HF_OK : run(conn, sql, cell);
}

static const hf_fenced db_at_once = {
    .connect = open_db,
    .hang_up = close_db,
    .run = run_but_add,
    .pass = pass_and_add,
    .begin = "BEGIN ISOLATION LEVEL READ COMMITTED"};
static const hf_fenced db = {.connect = open_db,
                             .hang_up = close_db,
                             .run = run,
                             .pass = pass,
                             .begin = "BEGIN ISOLATION LEVEL READ COMMITTED"};
static const hf_fenced db_repeatable = {
    .connect = open_db,
    .hang_up = close_db,
    .run = run,
    .pass = pass,
    .begin = "BEGIN ISOLATION LEVEL REPEATABLE READ"};

static void borrow(void) {
    static const char mark[] = "?hf_schema=";
    hf_test_postgres_borrow(uri, sizeof uri);
    char *at = strstr(uri, mark);
    assert_non_null(at);
    *at = '\0';
    schema = at + sizeof mark - 1;
}

/* Twice, as it may be. */
static void install(void **state) {
    (void)state;
    borrow();
    PGconn *conn = open_db();
    hf_fenced_expect(&db, conn, HF_OK,
                     "CREATE TABLE entry (id bigserial, token bigint)");
    for (int i = 0; i < 2; i++)
        hf_fenced_expect(&db, conn, HF_OK, hf_guard_text("postgresql"));
    close_db(conn);
}

static int discard(void **state) {
    (void)state;
    hf_test_give_back();
    return 0;
}

static void older_tokens_are_refused(void **state) {
    install(state);
    hf_fenced_refuses_older_ones(&db);
    PGconn *a = open_db();
    hf_fenced_expect(&db, a, HF_ELOST, "SELECT hf_guard_pass('x', NULL)");
    hf_fenced_expect(&db, a, HF_ELOST, "SELECT hf_guard_pass(NULL, 1)");
    hf_fenced_expect(&db, a, HF_ELOST, "SELECT hf_guard_pass('x', 0)");
    close_db(a);
}

static void a_newer_one_waits_for_who_has_passed(void **state) {
    install(state);
    hf_fenced_lets_a_newer_one_wait(&db);
}

static void many_writers_never_go_back(void **state) {
    install(state);
    hf_fenced_never_goes_back(&db);
}

static void nor_do_they_when_reads_are_repeatable(void **state) {
    install(state);
    hf_fenced_never_goes_back(&db_repeatable);
}

static void nor_do_they_with_the_guard_in_the_statement(void **state) {
    install(state);
    hf_fenced_never_goes_back(&db_at_once);
}

static void a_table_can_check_every_write(void **state) {
    install(state);
    PGconn *a = open_db();
    hf_fenced_expect(&db, a, HF_OK,
                     "CREATE TRIGGER guarded BEFORE INSERT OR UPDATE OR DELETE "
                     "OR TRUNCATE ON entry FOR EACH STATEMENT "
                     "EXECUTE FUNCTION hf_guard_check('orders')");
    hf_fenced_expect(&db, a, HF_ELOST, "INSERT INTO entry VALUES (1, 0)");
    hf_fenced_expect(&db, a, HF_OK,
                     "BEGIN; SET LOCAL holdfast.token = '5'; "
                     "INSERT INTO entry VALUES (1, 0); COMMIT");
    hf_fenced_expect(&db, a, HF_ELOST, "DELETE FROM entry"); /* "" is left */
    hf_fenced_expect(&db, a, HF_ELOST,
                     "BEGIN; SET LOCAL holdfast.token = '4'; "
                     "DELETE FROM entry; COMMIT");
    hf_fenced_expect(&db, a, HF_OK, "ROLLBACK");
    assert_int_equal(hf_fenced_ask(&db, a, "SELECT count(*) FROM entry"), 1);
    hf_fenced_expect(&db, a, HF_OK,
                     "BEGIN; SET LOCAL holdfast.token = '6'; "
                     "TRUNCATE entry; COMMIT");
    close_db(a);
}

#define TEST(name) cmocka_unit_test_teardown(name, discard)
static const struct CMUnitTest tests[] = {
    TEST(older_tokens_are_refused),
    TEST(a_newer_one_waits_for_who_has_passed),
    TEST(many_writers_never_go_back),
    TEST(nor_do_they_when_reads_are_repeatable),
    TEST(nor_do_they_with_the_guard_in_the_statement),
    TEST(a_table_can_check_every_write),
};
HF_SUITE(tests)
