/* SPDX-License-Identifier: MIT
 *
 * guard_sqlite_test.c - an SQLite database refuses older tokens. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "support/dir.h"
#include "support/fenced.h"
#include "support/suite.h"
#include "support/wait.h"

static char path[256];

static int answer_of(sqlite3 *conn, int rc) {
    if (rc == SQLITE_OK || rc == SQLITE_DONE || rc == SQLITE_ROW)
        return HF_OK;
    if (rc == SQLITE_BUSY)
        return HF_BUSY;
    return sqlite3_extended_errcode(conn) == SQLITE_CONSTRAINT_TRIGGER &&
                   strstr(sqlite3_errmsg(conn), "holdfast: ") != NULL ?
               HF_ELOST :
               HF_ESTORE;
}

static void *open_db(void) {
    sqlite3 *conn;
    assert_int_equal(sqlite3_open(path, &conn), SQLITE_OK);
    sqlite3_busy_timeout(conn, HF_TEST_LONG);
    return conn;
}

static void close_db(void *conn) {
    sqlite3_close(conn);
}

static int run(void *conn, const char *sql, int64_t *cell) {
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(conn, sql, -1, &s, NULL), answer;
    *cell = 0;
    if (rc == SQLITE_OK)
        rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        *cell = sqlite3_column_int64(s, 0);
    answer = answer_of(conn, rc);
    sqlite3_finalize(s);
    return answer;
}

static int pass(void *conn, const char *resource, uint64_t token) {
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(
            conn,
            "INSERT INTO hf_guard VALUES (?1, ?2) "
            "ON CONFLICT (resource) DO UPDATE SET token = excluded.token",
            -1, &s, NULL),
        answer;
    sqlite3_bind_text(s, 1, resource, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, (int64_t)token);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(s);
    answer = answer_of(conn, rc);
    sqlite3_finalize(s);
    return answer;
}

static const hf_fenced db = {.connect = open_db,
                             .hang_up = close_db,
                             .run = run,
                             .pass = pass,
                             .begin = "BEGIN IMMEDIATE"};

/* Twice, as it may be. */
static int install(void **state) {
    (void)state;
    hf_test_fresh_path(path, sizeof path, "db");
    sqlite3 *conn = open_db();
    assert_int_equal(
        sqlite3_exec(conn,
                     "PRAGMA journal_mode = wal; PRAGMA synchronous = off;"
                     "CREATE TABLE entry (id INTEGER PRIMARY KEY, token)",
                     NULL, NULL, NULL),
        SQLITE_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            sqlite3_exec(conn, hf_guard_text("sqlite"), NULL, NULL, NULL),
            SQLITE_OK);
    close_db(conn);
    return 0;
}

static void older_tokens_are_refused(void **state) {
    (void)state;
    hf_fenced_refuses_older_ones(&db);
}

static void a_newer_one_waits_for_who_has_passed(void **state) {
    (void)state;
    hf_fenced_lets_a_newer_one_wait(&db);
}

static void many_writers_never_go_back(void **state) {
    (void)state;
    hf_fenced_never_goes_back(&db);
}

/* A transaction that began by reading is not let on by what it read. */
static void who_reads_first_is_told_to_begin_again(void **state) {
    (void)state;
    sqlite3 *a = open_db(), *b = open_db();
    sqlite3_busy_timeout(a, 0);
    assert_int_equal(hf_fenced_write(&db, a, 1), HF_OK);
    hf_fenced_expect(&db, a, HF_OK, "BEGIN");
    hf_fenced_ask(&db, a, "SELECT count(*) FROM entry");
    assert_int_equal(hf_fenced_write(&db, b, 3), HF_OK);
    assert_int_equal(pass(a, "ledger", 2), HF_BUSY);
    hf_fenced_expect(&db, a, HF_OK, "ROLLBACK");
    assert_int_equal(hf_fenced_write(&db, a, 2), HF_ELOST);
    close_db(a);
    close_db(b);
}

static void a_table_can_check_every_write(void **state) {
    (void)state;
    sqlite3 *a = open_db();
    hf_fenced_expect(&db, a, HF_OK,
                     "CREATE TRIGGER guarded BEFORE UPDATE ON entry BEGIN "
                     "INSERT INTO hf_guard VALUES ('orders', NEW.token) "
                     "ON CONFLICT (resource) DO UPDATE "
                     "SET token = excluded.token; END");
    hf_fenced_expect(&db, a, HF_OK, "INSERT INTO entry VALUES (1, 0)");
    hf_fenced_expect(&db, a, HF_OK, "UPDATE entry SET token = 5");
    hf_fenced_expect(&db, a, HF_ELOST, "UPDATE entry SET token = 4");
    hf_fenced_expect(&db, a, HF_ESTORE, "UPDATE entry SET token = NULL");
    hf_fenced_expect(&db, a, HF_OK, "UPDATE entry SET token = 5");
    close_db(a);
}

static void the_record_is_a_token_and_never_lower(void **state) {
    (void)state;
    sqlite3 *a = open_db();
    hf_fenced_expect(&db, a, HF_ESTORE, "INSERT INTO hf_guard VALUES ('x', 0)");
    hf_fenced_expect(&db, a, HF_ESTORE,
                     "INSERT INTO hf_guard VALUES ('x', 'y')");
    hf_fenced_expect(&db, a, HF_OK, "INSERT INTO hf_guard VALUES ('x', 5)");
    hf_fenced_expect(&db, a, HF_ELOST, "UPDATE hf_guard SET token = 4");
    close_db(a);
}

#define TEST(name) cmocka_unit_test_setup(name, install)
static const struct CMUnitTest tests[] = {
    TEST(older_tokens_are_refused),
    TEST(a_newer_one_waits_for_who_has_passed),
    TEST(many_writers_never_go_back),
    TEST(who_reads_first_is_told_to_begin_again),
    TEST(a_table_can_check_every_write),
    TEST(the_record_is_a_token_and_never_lower),
};
HF_SUITE(tests)
