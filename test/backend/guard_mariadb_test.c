/* SPDX-License-Identifier: MIT
 *
 * guard_mariadb_test.c - a MariaDB database refuses older tokens.  Each test has
 * a database of a shared server for itself. */
#include <fcntl.h>
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/dir.h"
#include "support/fenced.h"
#include "support/mariadb.h"
#include "support/process.h"
#include "support/suite.h"
#include "support/wait.h"

enum { LOCK_WAIT = 1205, DEADLOCK = 1213, CHANGED = 1020 };

static char database[64];
static unsigned port;

static void *open_db(void) {
    MYSQL *conn = mysql_init(NULL);
    assert_non_null(mysql_real_connect(conn, "127.0.0.1", "app", NULL, database,
                                       port, NULL, 0));
    return conn;
}

static void *open_committed(void) {
    MYSQL *conn = open_db();
    assert_int_equal(mysql_query(conn, "SET SESSION TRANSACTION ISOLATION "
                                       "LEVEL READ COMMITTED"),
                     0);
    return conn;
}

static void close_db(void *conn) {
    mysql_close(conn);
}

static int answer_of(unsigned number, const char *state) {
    if (number == 0)
        return HF_OK;
    if (strcmp(state, "HF001") == 0)
        return HF_ELOST;
    return number == LOCK_WAIT || number == DEADLOCK || number == CHANGED ?
               HF_BUSY :
               HF_ESTORE;
}

static int run(void *conn, const char *sql, int64_t *cell) {
    MYSQL_RES *r;
    MYSQL_ROW row;
    *cell = 0;
    if (mysql_query(conn, sql) != 0)
        return answer_of(mysql_errno(conn), mysql_sqlstate(conn));
    r = mysql_store_result(conn);
    if (r != NULL && (row = mysql_fetch_row(r)) != NULL && row[0] != NULL)
        *cell = atoll(row[0]);
    mysql_free_result(r);
    return HF_OK;
}

static int pass(void *conn, const char *resource, uint64_t token) {
    static const char sql[] = "CALL hf_guard_pass(?, ?)";
    MYSQL_STMT *s = mysql_stmt_init(conn);
    MYSQL_BIND values[] = {{.buffer_type = MYSQL_TYPE_STRING,
                            .buffer = (void *)resource,
                            .buffer_length = strlen(resource)},
                           {.buffer_type = MYSQL_TYPE_LONGLONG,
                            .buffer = &token,
                            .is_unsigned = 1}};
    if (mysql_stmt_prepare(s, sql, sizeof sql - 1) == 0 &&
        mysql_stmt_bind_param(s, values) == 0)
        mysql_stmt_execute(s);
    int answer = answer_of(mysql_stmt_errno(s), mysql_stmt_sqlstate(s));
    mysql_stmt_close(s);
    return answer;
}

static const hf_fenced db = {.connect = open_db,
                             .hang_up = close_db,
                             .run = run,
                             .pass = pass,
                             .begin = "START TRANSACTION"};
static const hf_fenced db_committed = {.connect = open_committed,
                                       .hang_up = close_db,
                                       .run = run,
                                       .pass = pass,
                                       .begin = "START TRANSACTION"};

/* As its users do: by the client, which knows DELIMITER. */
static void feed_client(const char *text) {
    char path[192], where[32];
    int status = -1, out = open("/dev/null", O_WRONLY | O_CLOEXEC);
    hf_test_fresh_path(path, sizeof path, "sql");
    FILE *f = fopen(path, "w+e");
    assert_non_null(f);
    fputs(text, f);
    rewind(f);
    snprintf(where, sizeof where, "--port=%u", port);
    pid_t pid =
        hf_test_spawn((char *[]){"mariadb", "--no-defaults", "--host=127.0.0.1",
                                 where, "--user=app", database, NULL},
                      fileno(f), out, -1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    fclose(f);
    close(out);
}

static void borrow(void) {
    char uri[256];
    hf_test_mariadb_borrow(uri, sizeof uri);
    snprintf(database, sizeof database, "%s", strrchr(uri, '/') + 1);
    port = (unsigned)hf_test_mariadb_borrowed_port();
}

/* Twice, as it may be. */
static void install(void **state) {
    (void)state;
    borrow();
    MYSQL *conn = open_db();
    hf_fenced_expect(&db, conn, HF_OK,
                     "CREATE TABLE entry (id BIGINT AUTO_INCREMENT "
                     "PRIMARY KEY, token BIGINT)");
    for (int i = 0; i < 2; i++)
        feed_client(hf_guard_text("mariadb"));
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
    MYSQL *a = open_db();
    hf_fenced_expect(&db, a, HF_ELOST, "CALL hf_guard_pass('x', NULL)");
    hf_fenced_expect(&db, a, HF_ELOST, "CALL hf_guard_pass(NULL, 1)");
    hf_fenced_expect(&db, a, HF_ELOST, "CALL hf_guard_pass('x', 0)");
    hf_fenced_expect(&db, a, HF_OK, /* what the text advises */
                     "SET SESSION idle_write_transaction_timeout = 30");
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

static void nor_do_they_when_reads_are_committed(void **state) {
    install(state);
    hf_fenced_never_goes_back(&db_committed);
}

static void a_table_can_check_every_write(void **state) {
    install(state);
    MYSQL *a = open_db();
    hf_fenced_expect(&db, a, HF_OK,
                     "CREATE TRIGGER guarded BEFORE UPDATE ON entry FOR EACH "
                     "ROW CALL hf_guard_pass('orders', @holdfast_token)");
    hf_fenced_expect(&db, a, HF_OK, "INSERT INTO entry VALUES (1, 0)");
    hf_fenced_expect(&db, a, HF_ELOST, "UPDATE entry SET token = 1");
    hf_fenced_expect(&db, a, HF_OK, "SET @holdfast_token = 5");
    hf_fenced_expect(&db, a, HF_OK, "UPDATE entry SET token = 2");
    hf_fenced_expect(&db, a, HF_OK, "SET @holdfast_token = 4");
    hf_fenced_expect(&db, a, HF_ELOST, "UPDATE entry SET token = 3");
    assert_int_equal(hf_fenced_ask(&db, a, "SELECT token FROM entry"), 2);
    close_db(a);
}

#define TEST(name) cmocka_unit_test_teardown(name, discard)
static const struct CMUnitTest tests[] = {
    TEST(older_tokens_are_refused),
    TEST(a_newer_one_waits_for_who_has_passed),
    TEST(many_writers_never_go_back),
    TEST(nor_do_they_when_reads_are_committed),
    TEST(a_table_can_check_every_write),
};
HF_SUITE(tests)
