/* SPDX-License-Identifier: MIT
 *
 * postgres_test.c - what only this store has: errors told apart, names that are
 * bytes, settings of the database that must not matter, schemas, rights, a
 * pooler in between.
 *
 * Each test has a schema of the shared server for itself, or a server of its
 * own where it wants another one. */
#include "../../src/client.h"
#include "support/postgres.h"
#include "support/records.h"
#include "support/stage.h"
#include "support/suite.h"
#include "support/tls.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hf_test_postgres *own, *second;
static hf_test_pgbouncer *pooler;
static char uri[256], schema[64];
static int port;

/* ---- life -------------------------------------------------------------- */

static void with_a_schema(void **state) {
    hf_test_postgres_borrow(uri, sizeof uri);
    port = atoi(strrchr(uri, ':') + 1);
    snprintf(schema, sizeof schema, "%s", strrchr(uri, '=') + 1);
    hf_test_body(state);
}

static void start_own(const hf_test_postgres_options *options) {
    own = hf_test_postgres_start(options);
    port = hf_test_postgres_port(own);
    snprintf(uri, sizeof uri, "%s", hf_test_postgres_uri(own));
}

static void with_a_server(void **state) {
    start_own(NULL);
    hf_test_body(state);
}

/* Which takes no transaction numbers by itself. */
static void with_a_server_left_alone(void **state) {
    static const char *const alone[] = {"autovacuum=off", NULL};
    start_own(&(hf_test_postgres_options){.settings = alone});
    hf_test_body(state);
}

static void with_ten_connections(void **state) {
    static const char *const few[] = {"max_connections=10",
                                      "superuser_reserved_connections=2", NULL};
    start_own(&(hf_test_postgres_options){.settings = few});
    hf_test_body(state);
}

static void with_a_standby(void **state) {
    start_own(NULL);
    second =
        hf_test_postgres_start(&(hf_test_postgres_options){.standby_of = own});
    hf_test_body(state);
}

static void with_tls(void **state) {
    start_own(&(hf_test_postgres_options){.tls = true});
    hf_test_body(state);
}

static void with_a_pooler(void **state) {
    start_own(NULL);
    pooler = hf_test_pgbouncer_start(port, "transaction");
    hf_test_body(state);
}

static void with_a_pooler_of_sessions(void **state) {
    start_own(NULL);
    pooler = hf_test_pgbouncer_start(port, "session");
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
    hf_test_pgbouncer_stop(pooler);
    hf_test_postgres_stop(second);
    hf_test_postgres_stop(own);
    pooler = NULL;
    own = second = NULL;
    hf_test_give_back();
    return 0;
}

/* "postgresql://USER@127.0.0.1:PORT/DATABASE?MORE" */
static const char *address(const char *user, const char *database,
                           const char *more) {
    static char text[256];
    snprintf(text, sizeof text, "postgresql://%s@127.0.0.1:%d/%s%s", user, port,
             database, more);
    return text;
}

static hf_client *client(void) {
    return hf_test_open(uri, NULL);
}

static hf_lock *lock_at(const char *text) {
    return hf_test_lock(hf_test_open(text, NULL), "x", NULL);
}

/* What an open that fails says. */
static void refuses(int wanted, const char *text, const char *words) {
    hf_client *c = NULL;
    hf_expect(wanted,
              hf_open(&c, text, HF_CLIENT_WITH(.timeout_ms = 2000), ERR));
    if (strstr(ERR->text, words) == NULL)
        fail_msg("'%s' does not say '%s'", ERR->text, words);
    assert_null(strstr(ERR->text, "hunter2"));
}

/* Takes and gives back one of each kind. */
static void all_kinds_work(hf_client *c) {
    static const hf_kind kinds[] = {HF_LOCK, HF_FAIR,  HF_SPIN,
                                    HF_READ, HF_WRITE, HF_PERMIT};
    hf_semaphore *sem = hf_test_semaphore(c, "all");
    hf_latch *latch = hf_test_latch(c, "all");
    hf_expect(HF_OK, hf_semaphore_resize(sem, 3, ERR));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        hf_lock *l = hf_test_lock(c, "all", HF_LOCK_WITH(.kind = kinds[i]));
        hf_expect(HF_OK, hf_lock_acquire(l, 1000, ERR));
        assert_true(hf_lock_token(l) > 0);
        hf_expect(HF_OK, hf_lock_release(l, ERR));
    }
    hf_expect(HF_OK, hf_semaphore_acquire(sem, 2, 1000, ERR));
    hf_expect(HF_OK, hf_semaphore_release(sem, 2, ERR));
    hf_expect(HF_OK, hf_latch_set(latch, 1, ERR));
    hf_expect(HF_OK, hf_latch_count_down(latch, ERR));
    hf_expect(HF_OK, hf_latch_wait(latch, 1000, ERR));
}

/* ---- errors told apart ------------------------------------------------- */

static void a_server_that_is_away_is_down(void **state) {
    (void)state;
    hf_test_postgres_crash(own);
    refuses(HF_EDOWN, uri, "refused");
}

static void wrong_credentials_are_told(void **state) {
    (void)state;
    refuses(HF_EAUTH, address("secret:hunter2", "locks", ""), "secret");
    refuses(HF_EAUTH, address("secret", "locks", ""), "password");
    refuses(HF_EAUTH, address("nobody", "locks", ""), "nobody");
    lock_at(address("secret:secret", "locks", ""));
}

static void a_database_that_is_not_there_is_named(void **state) {
    (void)state;
    refuses(HF_EURI, address("app", "nowhere", ""), "nowhere");
}

static void parameters_are_libpqs_and_ours(void **state) {
    (void)state;
    hf_expect(
        HF_OK,
        hf_lock_try(lock_at(address("app", "locks",
                                    "?application_name=mine&connect_timeout=5"
                                    "&hf_listen=none&hf_schema=params")),
                    ERR));
    assert_string_equal(
        hf_test_sql(port, "SELECT application_name FROM pg_stat_activity "
                          "WHERE application_name = 'mine' LIMIT 1"),
        "mine");
    refuses(HF_EURI, address("app", "locks", "?sslmod=prefer"), "sslmode");
    refuses(HF_EURI, address("app", "locks", "?hf_shema=x"), "hf_schema");
    refuses(HF_EURI, address("app", "locks", "?hf_schema=a%22b"), "hf_schema");
}

static void a_text_of_keys_and_values_is_an_address(void **state) {
    (void)state;
    char text[160];
    snprintf(text, sizeof text,
             "host=127.0.0.1 port=%d user=app dbname='locks'", port);
    hf_lock *a = lock_at(text), *b = lock_at(uri);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

static void a_socket_is_an_address(void **state) {
    (void)state;
    char folder[128], text[256];
    snprintf(folder, sizeof folder, "%s",
             hf_test_sql(port, "SHOW unix_socket_directories"));
    snprintf(text, sizeof text, "postgresql:///locks?host=%s&port=%d&user=app",
             folder, port);
    hf_lock *a = lock_at(text), *b = lock_at(uri);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

static void a_crowded_server_says_so(void **state) {
    (void)state;
    hf_client *c[8];
    int n = 0, rc = HF_OK;
    hf_lock *a = lock_at(uri);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    while (n < 8 && rc == HF_OK) {
        rc = hf_open(&c[n], uri, HF_CLIENT_WITH(.timeout_ms = 1000), ERR);
        n += rc == HF_OK;
    }
    hf_expect(HF_ECROWDED, rc);
    assert_true(hf_lock_is_held(a)); /* whoever is in stays in */
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    while (n > 0)
        hf_close(c[--n]);
}

/* A client makes do with the connections it has. */
static void many_threads_get_by_on_few_connections(void **state) {
    (void)state;
    hf_test_thread t[20];
    hf_client *c = client();
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i % 5);
        hf_test_begin(&t[i], hf_test_lock(c, name, NULL), HF_TEST_LONG);
    }
    for (int i = 0; i < 20; i++) {
        hf_expect(HF_OK, hf_test_answer(&t[i]));
        hf_expect(HF_OK, hf_test_end(&t[i]));
    }
}

static void read_only_by_default_is_told(void **state) {
    (void)state;
    hf_test_sql(port, "ALTER ROLE app IN DATABASE locks "
                      "SET default_transaction_read_only = on");
    refuses(HF_EREAD_ONLY, uri, "read-only");
}

static void a_session_that_turned_read_only_is_told(void **state) {
    (void)state;
    hf_lock *a = lock_at(uri);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_test_sql(port, "ALTER SYSTEM SET default_transaction_read_only = on");
    hf_test_sql(port, "SELECT pg_reload_conf()");
    hf_test_eventually(
        strcmp(hf_test_sql(port, "SHOW default_transaction_read_only"), "on") ==
            0,
        HF_TEST_LONG);
    hf_test_eventually(hf_lock_try(a, ERR) != HF_OK ||
                           hf_lock_release(a, ERR) != HF_OK,
                       HF_TEST_LONG);
    hf_expect(HF_EREAD_ONLY, hf_lock_try(a, ERR));
}

static void a_standby_is_passed_over(void **state) {
    (void)state;
    char text[256];
    snprintf(text, sizeof text, "postgresql://app@127.0.0.1:%d/locks",
             hf_test_postgres_port(second));
    refuses(HF_EREAD_ONLY, text, "standby");
    snprintf(text, sizeof text,
             "postgresql://app@127.0.0.1:%d,127.0.0.1:%d/locks",
             hf_test_postgres_port(second), port);
    hf_lock *a = lock_at(text);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

/* The one that takes over knows the tokens, or its clock does. */
static void a_promoted_standby_is_found(void **state) {
    (void)state;
    char text[256];
    snprintf(text, sizeof text,
             "postgresql://app@127.0.0.1:%d,127.0.0.1:%d/locks", port,
             hf_test_postgres_port(second));
    hf_lock *a = hf_test_lock(
        hf_test_open(text, HF_CLIENT_WITH(.lease_ms = 3000)), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_test_eventually(
        hf_test_sql_number(port,
                           "SELECT count(*) FROM pg_stat_replication WHERE "
                           "replay_lsn >= pg_current_wal_flush_lsn()") > 0,
        HF_TEST_LONG);
    hf_test_postgres_crash(own);
    hf_test_sql(hf_test_postgres_port(second), "SELECT pg_promote()");
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    assert_true(hf_lock_token(a) > token);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

/* Somebody of no concern to us has the row of x, as a dump or a curious operator
 * may. */
static PGconn *keep_the_rows(void) {
    PGconn *conn = hf_test_sql_open(port);
    PQclear(PQexec(conn, "BEGIN"));
    PGresult *r = PQexec(conn, "SELECT 1 FROM hf_line FOR UPDATE");
    assert_true(PQntuples(r) > 0);
    PQclear(r);
    return conn;
}

static void a_statement_timeout_is_told(void **state) {
    (void)state;
    hf_lock *a = lock_at(uri);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_test_sql(port, "ALTER ROLE app SET statement_timeout = '100ms'");
    hf_lock *b = lock_at(uri);
    PGconn *conn = keep_the_rows();
    hf_expect(HF_EDOWN, hf_lock_try(b, ERR));
    assert_non_null(strstr(ERR->text, "statement_timeout"));
    PQfinish(conn);
    hf_test_eventually(hf_lock_try(b, ERR) == HF_OK, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(b, ERR));
}

static void a_row_that_is_kept_costs_no_more_than_the_deadline(void **state) {
    (void)state;
    hf_lock *a = lock_at(uri);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    PGconn *conn = keep_the_rows();
    hf_lock *b = hf_test_lock(
        hf_test_open(uri, HF_CLIENT_WITH(.timeout_ms = 500)), "x", NULL);
    int64_t began = hf_test_now_ms();
    int rc = hf_lock_try(b, ERR);
    assert_true(rc == HF_EDOUBT || rc == HF_EDOWN);
    assert_in_range(hf_test_now_ms() - began, 0, 3000);
    PQfinish(conn);
    /* What was in doubt is found again. */
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_release(b, ERR));
}

/* ---- rights ------------------------------------------------------------ */

static char rules[2][8192];
static int n_rules;

static void note_rule(void *arg, const hf_rule *rule) {
    (void)arg;
    assert_true(n_rules < 2);
    snprintf(rules[n_rules++], sizeof rules[0], "%s", rule->text);
}

static void who_has_no_rights_is_told_which(void **state) {
    (void)state;
    hf_lock *a = lock_at(uri);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_client *c = NULL;
    int rc = hf_open(&c, address("guest", "locks", ""), NULL, ERR);
    if (rc == HF_OK)
        rc = hf_lock_try(hf_test_lock(hf_test_adopt(c), "x", NULL), ERR);
    hf_expect(HF_EFORBIDDEN, rc);
    assert_non_null(strstr(ERR->text, "table hf_"));
    assert_non_null(strstr(ERR->text, "guest"));
}

/* It is for those who lack them. */
static void who_has_no_rights_can_ask_for_them(void **state) {
    (void)state;
    hf_lock *a = lock_at(uri);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    n_rules = 0;
    hf_client *c = hf_test_open(address("guest", "locks", ""), NULL);
    hf_expect(HF_OK, hf_rights(c, NULL, note_rule, NULL, ERR));
    assert_int_equal(n_rules, 2);
}

static void who_may_make_no_tables_is_told(void **state) {
    (void)state;
    hf_client *c = NULL;
    int rc = hf_open(&c, address("guest", "locks", ""), NULL, ERR);
    if (rc == HF_OK)
        rc = hf_lock_try(hf_test_lock(hf_test_adopt(c), "x", NULL), ERR);
    hf_expect(HF_EFORBIDDEN, rc);
    assert_non_null(strstr(ERR->text, "doctor --acl"));
}

static void enough_are_the_rights_printed_for(const char *params) {
    char text[256];
    n_rules = 0;
    hf_test_sql(port, "CREATE ROLE holdfast LOGIN");
    hf_client *c = hf_test_open(address("postgres", "locks", params), NULL);
    hf_expect(HF_OK, hf_rights(c, NULL, note_rule, NULL, ERR));
    assert_int_equal(n_rules, 2);
    for (int i = 0; i < 2; i++)
        assert_string_equal(hf_test_sql(port, "%s", rules[i]), "");
    snprintf(text, sizeof text, "%s", address("holdfast", "locks", params));
    all_kinds_work(hf_test_open(text, NULL));
}

static void the_rights_that_are_printed_are_enough(void **state) {
    (void)state;
    enough_are_the_rights_printed_for("");
}

static void the_rights_that_are_printed_name_the_schema(void **state) {
    (void)state;
    enough_are_the_rights_printed_for("?hf_schema=Own_one");
    assert_int_equal(hf_test_sql_number(port,
                                        "SELECT count(*) FROM pg_tables WHERE "
                                        "schemaname = 'Own_one'"),
                     6);
}

/* ---- names ------------------------------------------------------------- */

static void names_are_bytes(void **state) {
    (void)state;
    static const char *const names[] = {"job",
                                        "Job",
                                        "JOB",
                                        "job ",
                                        " job",
                                        "job\\",
                                        "j'ob",
                                        "j\"ob",
                                        "j;ob--",
                                        "j{s}ob",
                                        "{name}",
                                        "caf\xc3\xa9",
                                        "cafe\xcc\x81",
                                        "%s%n",
                                        "\\x6a6f62",
                                        "$1",
                                        "NULL",
                                        "hf_line",
                                        "\xf0\x9f\x94\x92"};
    hf_client *c = client(), *d = client();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hf_lock *a = hf_test_lock(c, names[i], NULL);
        hf_expect(HF_OK, hf_lock_try(a, ERR));
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hf_lock *b = hf_test_lock(d, names[i], NULL);
        hf_expect(HF_BUSY, hf_lock_try(b, ERR));
        assert_int_equal(hf_test_holders(d, names[i]), 1);
    }
}

/* ---- settings ---------------------------------------------------------- */

static void works_with(const char *setting) {
    hf_test_sql(port, "ALTER ROLE app SET %s", setting);
    hf_client *c = client();
    all_kinds_work(c);
    assert_int_equal(hf_test_holders(c, NULL), 0);
    hf_test_sql(port, "ALTER ROLE app RESET ALL");
}

static void settings_of_the_database_do_not_matter(void **state) {
    (void)state;
    static const char *const settings[] = {
        "TimeZone = 'America/St_Johns'",
        "TimeZone = 'Asia/Kathmandu'",
        "DateStyle = 'SQL, DMY'",
        "bytea_output = 'escape'",
        "standard_conforming_strings = off",
        "IntervalStyle = 'iso_8601'",
        "extra_float_digits = 0",
        "client_encoding = 'LATIN1'",
        "default_transaction_deferrable = on",
        "enable_seqscan = off",
        "lc_numeric = 'C'",
        "row_security = off"};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        works_with(settings[i]);
}

static void other_isolation_by_default_does_not_matter(void **state) {
    (void)state;
    works_with("default_transaction_isolation = 'serializable'");
    works_with("default_transaction_isolation = 'repeatable read'");
}

static int first_answered(hf_test_thread t[16], const bool done[16]) {
    for (int i = 0; i < 16; i++)
        if (!done[i] && atomic_load(&t[i].answered))
            return i;
    return -1;
}

/* Where a serialization fails it is not ours. */
static void a_crowd_gets_through_at_serializable(void **state) {
    (void)state;
    hf_test_thread t[16];
    bool done[16] = {false};
    hf_test_sql(port, "ALTER ROLE app SET default_transaction_isolation = "
                      "'serializable'");
    for (int i = 0; i < 16; i++)
        hf_test_begin(&t[i], hf_test_lock(client(), "x", NULL), HF_TEST_LONG);
    for (int n = 0; n < 16; n++) {
        int in = -1;
        hf_test_eventually((in = first_answered(t, done)) >= 0, HF_TEST_LONG);
        done[in] = true;
        hf_expect(HF_OK, t[in].result);
        hf_expect(HF_OK, hf_test_end(&t[in]));
    }
}

/* ---- the tables -------------------------------------------------------- */

static void *come_first(void *arg) {
    hf_client *c = NULL;
    hf_lock *lock = NULL;
    int *result = arg;
    hf_error err;
    *result = hf_open(&c, uri, HF_CLIENT_WITH(.timeout_ms = 10000), &err);
    if (*result == HF_OK)
        *result = hf_lock_new(&lock, c, "x", NULL, &err);
    if (*result == HF_OK)
        *result = hf_lock_acquire(lock, HF_TEST_LONG, &err);
    if (*result == HF_OK)
        *result = hf_lock_release(lock, &err);
    hf_lock_free(lock);
    hf_close(c);
    return NULL;
}

static void a_crowd_makes_the_tables_once(void **state) {
    (void)state;
    enum { N = 12 };
    pthread_t threads[N];
    int results[N];
    strcat(uri, "?hf_schema=crowd");
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, come_first, &results[i]);
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], NULL);
        hf_expect(HF_OK, results[i]);
    }
    assert_int_equal(
        hf_test_sql_number(port, "SELECT count(*) FROM crowd.hf_layout"), 1);
}

/* Somebody drops them under our feet. */
static void tables_that_were_dropped_are_made_anew(void **state) {
    (void)state;
    hf_lock *a = lock_at(uri), *b = lock_at(uri);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    hf_test_sql(port, "DROP TABLE hf_line, hf_hold, hf_wait, hf_answer, "
                      "hf_client, hf_layout");
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    assert_true(hf_lock_token(b) > token);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_release(b, ERR));
}

/* ---- refusals ---------------------------------------------------------- */

/* The look itself takes none. */
static int64_t next_transaction(void) {
    return hf_test_sql_number(
        port, "SELECT txid_snapshot_xmax(txid_current_snapshot())");
}

static int64_t size_of_tables(void) {
    return hf_test_sql_number(
        port, "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE "
              "starts_with(relname, 'hf_') AND relkind = 'r'");
}

/* HF_TEST_REFUSALS=3000000 takes an hour or so. */
static int so_many_refusals(void) {
    const char *wanted = getenv("HF_TEST_REFUSALS");
    return wanted != NULL ? atoi(wanted) : 2000;
}

/* A share of them, of the one or the other.  No statement that writes or locks
 * a row does so without a transaction number. */
static void is_refused_for_nothing(const char *what, hf_lock *l,
                                   hf_semaphore *sem) {
    int64_t next = next_transaction(), size = size_of_tables();
    for (int i = 0; i < so_many_refusals() / 10; i++)
        hf_expect(HF_BUSY, l != NULL ? hf_lock_try(l, ERR) :
                                       hf_semaphore_acquire(sem, 1, 0, ERR));
    int64_t used = next_transaction() - next;
    if (used != 0)
        fail_msg("refusals of %s took %d transactions", what, (int)used);
    assert_int_equal(size_of_tables(), size);
}

/* The nth client.  Its record is written soon after it first asks, and again
 * after a third of its lease: not in this test. */
static hf_client *quiet_client(int n) {
    hf_client *c = hf_test_open(
        uri, HF_CLIENT_WITH(.lease_ms = 86400 * 1000, .hidden = true));
    hf_lock *l = hf_test_lock(c, "quiet", NULL);
    hf_expect(HF_OK, hf_lock_try(l, ERR));
    hf_test_eventually(
        hf_test_sql_number(port, "SELECT count(*) FROM hf_client") == n,
        HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(l, ERR));
    return c;
}

static void refusals_write_nothing(void **state) {
    (void)state;
    static const struct {
        const char *what;
        hf_kind held, tried;
    } pairs[] = {
        {"a lock", HF_LOCK, HF_LOCK},
        {"a fair lock", HF_FAIR, HF_FAIR},
        {"a spinning lock", HF_SPIN, HF_SPIN},
        {"a reader by a writer", HF_WRITE, HF_READ},
        {"a writer by a reader", HF_READ, HF_WRITE},
        {"a writer by a writer", HF_WRITE, HF_WRITE},
        {"a permit", HF_PERMIT, HF_PERMIT},
    };
    hf_client *a = quiet_client(1), *b = quiet_client(2);
    hf_semaphore *sem = hf_test_semaphore(a, "x");
    hf_expect(HF_OK, hf_semaphore_resize(sem, 1, ERR));
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        hf_lock *l = hf_test_lock(a, "x", HF_LOCK_WITH(.kind = pairs[i].held));
        hf_expect(HF_OK, hf_lock_try(l, ERR));
        is_refused_for_nothing(
            pairs[i].what,
            hf_test_lock(b, "x", HF_LOCK_WITH(.kind = pairs[i].tried)), NULL);
        hf_expect(HF_OK, hf_lock_release(l, ERR));
    }
    hf_expect(HF_OK, hf_semaphore_acquire(sem, 1, 0, ERR));
    is_refused_for_nothing("a semaphore", NULL, hf_test_semaphore(b, "x"));
    is_refused_for_nothing("a semaphore that was never set", NULL,
                           hf_test_semaphore(b, "unset"));
    is_refused_for_nothing(
        "a permit of nothing",
        hf_test_lock(b, "unset", HF_LOCK_WITH(.kind = HF_PERMIT)), NULL);
}

/* A try does not even wait for the row of a line that somebody else has locked:
 * what it reads is enough to refuse it. */
static void a_refusal_waits_for_no_row(void **state) {
    (void)state;
    hf_semaphore *sem = hf_test_semaphore(client(), "x");
    hf_lock *l = hf_test_lock(client(), "x", HF_LOCK_WITH(.kind = HF_WRITE));
    hf_lock *other = hf_test_lock(client(), "x", HF_LOCK_WITH(.kind = HF_READ));
    hf_expect(HF_OK, hf_lock_try(l, ERR));
    hf_expect(HF_OK, hf_semaphore_resize(sem, 0, ERR));
    PGconn *conn = keep_the_rows();
    hf_expect(HF_BUSY, hf_lock_try(other, ERR));
    hf_expect(HF_BUSY, hf_semaphore_acquire(sem, 1, 0, ERR));
    PQfinish(conn);
    hf_expect(HF_OK, hf_lock_release(l, ERR));
}

/* Grants are updates in place, which the next look at the page tidies up. */
static void a_thousand_grants_leave_the_table_small(void **state) {
    (void)state;
    hf_lock *a = lock_at(uri);
    for (int i = 0; i < 1000; i++) {
        hf_expect(HF_OK, hf_lock_try(a, ERR));
        hf_expect(HF_OK, hf_lock_release(a, ERR));
    }
    assert_in_range(
        hf_test_sql_number(port, "SELECT pg_relation_size('hf_line')"), 1,
        8 * 8192);
    assert_int_equal(hf_test_sql_number(port, "SELECT count(*) FROM hf_line"),
                     1);
}

/* ---- records ----------------------------------------------------------- */

static void records_are_kept(void **state) {
    (void)state;
    hf_test_records_are_kept(uri);
}

/* As an earlier holdfast made it. */
static void a_table_of_old_gets_the_column(void **state) {
    (void)state;
    hf_client *c = client(), *d = client();
    const char *doing;
    hf_test_sql(port, "ALTER TABLE hf_client DROP COLUMN doing");
    hf_test_announce(c, "w lock 1 x");
    hf_test_records(d, c, &doing);
    assert_string_equal(doing, "w lock 1 x");
    hf_test_sql(port, "ALTER TABLE hf_client DROP COLUMN doing");
    hf_test_records(d, c, &doing); /* who looks does it as well */
    assert_string_equal(doing, "");
}

static void on_any_record(void *arg, const hf_identity *who,
                          const char *doing) {
    (void)who, (void)doing;
    ++*(int *)arg;
}

/* Then others see at least who it is. */
static void who_may_not_alter_the_table_goes_on_without(void **state) {
    (void)state;
    hf_client *c = client();
    hf_test_sql(port, "ALTER TABLE hf_client DROP COLUMN doing");
    hf_test_sql(port, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN "
                      "SCHEMA public TO guest");
    hf_client *guest = hf_test_open(address("guest", "locks", ""), NULL);
    int n = 0;
    for (int i = 0; i < 2; i++)
        hf_test_announce(guest, "w lock 1 x");
    assert_int_equal(hf_test_sql_number(port, "SELECT count(*) FROM hf_client"),
                     1);
    hf_expect(HF_EFORBIDDEN,
              guest->be->ops->clients(guest->be, on_any_record, &n,
                                      hf__after_ms(HF_TEST_LONG), ERR));
    hf_test_announce(c, ""); /* the owner mends it */
    hf_expect(HF_OK, guest->be->ops->clients(guest->be, on_any_record, &n,
                                             hf__after_ms(HF_TEST_LONG), ERR));
    assert_int_equal(n, 2);
}

/* Once a second for days: in place, as grants are. */
static void a_thousand_records_leave_the_table_small(void **state) {
    (void)state;
    hf_client *c = client();
    char doing[400];
    for (int i = 0; i < 1000; i++) {
        snprintf(doing, sizeof doing, "w lock %d %0*d", i, 200 + i % 100, 0);
        hf_test_announce(c, doing);
    }
    assert_in_range(
        hf_test_sql_number(port, "SELECT pg_relation_size('hf_client')"), 1,
        8 * 8192);
    assert_in_range(
        hf_test_sql_number(port, "SELECT pg_relation_size('hf_client_pkey')"),
        1, 2 * 8192);
}

/* ---- long lists -------------------------------------------------------- */

/* More than a page of names that nobody holds any more, some of which somebody
 * does, and one that is waited for. */
typedef struct walk {
    int n, waits;
    char last[64];
} walk;

static void on_step(void *arg, const hf_place *place) {
    walk *w = arg;
    if (!place->holds) {
        assert_string_equal(place->name, w->last);
        w->waits++;
        return;
    }
    assert_true(strcmp(place->name, w->last) > 0);
    snprintf(w->last, sizeof w->last, "%s", place->name);
    assert_int_equal(atoi(place->name + 3), w->n++ * 1000);
}

static void a_long_list_is_told_page_by_page(void **state) {
    (void)state;
    enum { NAMES = 9000 };
    hf_client *c = client(), *d = client();
    hf_test_thread waiter;
    walk w = {0};
    char name[64];
    hf_lock *l = NULL;
    hf_test_sql(port,
                "INSERT INTO hf_line (name, kind, token) SELECT "
                "convert_to('job' || lpad(i::text, 5, '0'), 'UTF8'), 0, 1 "
                "FROM generate_series(0, %d) i",
                NAMES - 1);
    for (int i = 0; i < NAMES; i += 1000) {
        snprintf(name, sizeof name, "job%05d", i);
        l = hf_test_lock(c, name, NULL);
        hf_expect(HF_OK, hf_lock_try(l, ERR));
    }
    hf_test_begin(&waiter, hf_test_lock(d, name, NULL), HF_TEST_LONG);
    hf_test_eventually(hf_test_waiters(c, name) == 1, HF_TEST_LONG);
    hf_expect(HF_OK, hf_list(c, NULL, on_step, &w, ERR));
    assert_int_equal(w.n, NAMES / 1000);
    assert_int_equal(w.waits, 1);
    hf_expect(HF_OK, hf_lock_release(l, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

/* ---- prepared statements ----------------------------------------------- */

/* How many sessions of the user were last asked by the name of a statement. */
static int64_t sessions_that_call(void) {
    return hf_test_sql_number(
        port, "SELECT count(*) FROM pg_stat_activity WHERE usename = 'app' "
              "AND query LIKE '%%EXECUTE hf\\_%%'");
}

static void ask_often(hf_lock *l) {
    for (int i = 0; i < 40; i++) {
        hf_expect(HF_OK, hf_lock_try(l, ERR));
        hf_expect(HF_OK, hf_lock_release(l, ERR));
    }
}

/* The keeper may have the session in between, for our record. */
static void asks_often_by_calls(hf_lock *l) {
    hf_test_eventually((ask_often(l), sessions_that_call() > 0), HF_TEST_LONG);
}

static void who_asks_often_prepares_statements(void **state) {
    (void)state;
    hf_client *c = client();
    hf_lock *l = hf_test_lock(c, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(l, ERR));
    hf_expect(HF_OK, hf_lock_release(l, ERR));
    assert_int_equal(sessions_that_call(), 0);
    asks_often_by_calls(l);
    for (int i = 0; i < 5; i++)
        all_kinds_work(c);
}

static void tables_are_missed_by_them_too(void **state) {
    (void)state;
    hf_lock *l = lock_at(uri);
    ask_often(l);
    hf_test_sql(port, "DROP TABLE hf_line, hf_hold, hf_wait, hf_answer, "
                      "hf_client, hf_layout");
    asks_often_by_calls(l);
}

/* Then what was prepared answers with other columns than it did. */
static void tables_that_are_altered_are_asked_anew(void **state) {
    (void)state;
    hf_client *c = client();
    ask_often(hf_test_lock(c, "x", NULL));
    hf_test_sql(port, "ALTER TABLE hf_line ALTER COLUMN waits TYPE bigint");
    hf_test_sql(port, "ALTER TABLE hf_hold ALTER COLUMN permits TYPE bigint");
    ask_often(hf_test_lock(c, "x", NULL));
    all_kinds_work(c);
}

static void other_isolation_does_not_matter_to_them(void **state) {
    (void)state;
    hf_test_sql(port, "ALTER ROLE app SET default_transaction_isolation = "
                      "'serializable'");
    hf_client *c = client();
    asks_often_by_calls(hf_test_lock(c, "x", NULL));
    for (int i = 0; i < 5; i++)
        all_kinds_work(c);
}

/* ---- poolers ----------------------------------------------------------- */

static bool is_listening(void) {
    return hf_test_sql_number(port,
                              "SELECT count(*) FROM pg_stat_activity WHERE "
                              "usename = 'app' AND query LIKE 'LISTEN%%'") > 0;
}

static char facts[4096];

static void note_fact(void *arg, hf_verdict_level level, const char *what,
                      const char *text) {
    (void)arg;
    size_t n = strlen(facts);
    snprintf(facts + n, sizeof facts - n, "%d %s: %s\n", (int)level, what,
             text);
}

static void facts_say(hf_client *c, const char *words) {
    facts[0] = '\0';
    hf_expect(HF_OK, hf_examine(c, note_fact, NULL, ERR));
    if (strstr(facts, words) == NULL)
        fail_msg("no '%s' in\n%s", words, facts);
}

/* LISTEN succeeds there and nothing comes; the pool is of four. */
static void behind_a_pooler_of_transactions_all_works(void **state) {
    (void)state;
    hf_test_thread t[3];
    const char *through = hf_test_pgbouncer_uri(pooler);
    hf_client *c = hf_test_open(through, NULL);
    all_kinds_work(c);
    for (int i = 0; i < 3; i++)
        hf_test_begin(&t[i],
                      hf_test_lock(hf_test_open(through, NULL), "x",
                                   HF_LOCK_WITH(.kind = HF_FAIR)),
                      HF_TEST_LONG);
    for (int i = 0; i < 3; i++) {
        hf_expect(HF_OK, hf_test_answer(&t[i]));
        hf_expect(HF_OK, hf_test_end(&t[i]));
    }
    ask_often(hf_test_lock(c, "y", NULL));
    assert_int_equal(sessions_that_call(), 0);
    facts_say(c, "look again and again");
    facts_say(c, "pooler");
}

static void past_a_pooler_waiters_are_told(void **state) {
    (void)state;
    char text[256];
    snprintf(text, sizeof text, "%s?hf_listen=host%%3D127.0.0.1%%20port%%3D%d",
             hf_test_pgbouncer_uri(pooler), port);
    hf_client *c = hf_test_open(text, NULL);
    facts_say(c, "told at once");
    assert_true(is_listening());
}

static void a_pooler_of_sessions_lets_waiters_be_told(void **state) {
    (void)state;
    facts_say(hf_test_open(hf_test_pgbouncer_uri(pooler), NULL),
              "told at once");
}

static void nobody_listens_who_was_told_not_to(void **state) {
    (void)state;
    char text[300];
    hf_test_thread t;
    snprintf(text, sizeof text, "%s?hf_listen=none", uri);
    hf_lock *a = lock_at(text), *b = lock_at(text);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&t, b, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&t));
    assert_false(is_listening());
    hf_expect(HF_OK, hf_test_end(&t));
}

/* ---- doctor ------------------------------------------------------------ */

static void doctor_says_what_it_found(void **state) {
    (void)state;
    hf_client *c = client();
    facts_say(c, "PostgreSQL ");
    facts_say(c, "fsync is off");
    facts_say(c, "agrees with ours");
    facts_say(c, "told at once");
}

/* ---- certificates ------------------------------------------------------ */

static void certificates_are_checked(void **state) {
    (void)state;
    const hf_test_tls *tls = hf_test_tls_files();
    char more[200];
    snprintf(more, sizeof more, "?sslmode=verify-full&sslrootcert=%s", tls->ca);
    lock_at(address("app", "locks", more));
    assert_int_equal(hf_test_sql_number(port,
                                        "SELECT count(*) FROM pg_stat_ssl JOIN "
                                        "pg_stat_activity USING (pid) WHERE "
                                        "ssl AND usename = 'app'"),
                     1);
    snprintf(more, sizeof more, "?sslmode=verify-full&sslrootcert=%s",
             tls->stranger);
    refuses(HF_ETLS, address("app", "locks", more), "");
}

static void a_server_without_certificate_is_told(void **state) {
    (void)state;
    refuses(HF_ETLS, address("app", "locks", "?sslmode=require"), "SSL");
}

/* ---- the list ---------------------------------------------------------- */

#define SCHEMA(name)  HF_TEST_IN(with_a_schema, name, teardown)
#define SERVER(name)  HF_TEST_IN(with_a_server, name, teardown)
#define TEN(name)     HF_TEST_IN(with_ten_connections, name, teardown)
#define STANDBY(name) HF_TEST_IN(with_a_standby, name, teardown)
#define QUIET(name)   HF_TEST_IN(with_a_server_left_alone, name, teardown)
#define TLS(name)     HF_TEST_IN(with_tls, name, teardown)
#define POOLER(name)  HF_TEST_IN(with_a_pooler, name, teardown)

static const struct CMUnitTest tests[] = {
    SERVER(a_server_that_is_away_is_down),
    SERVER(wrong_credentials_are_told),
    SERVER(a_database_that_is_not_there_is_named),
    SERVER(parameters_are_libpqs_and_ours),
    SERVER(a_text_of_keys_and_values_is_an_address),
    SERVER(a_socket_is_an_address),
    TEN(a_crowded_server_says_so),
    TEN(many_threads_get_by_on_few_connections),
    SERVER(read_only_by_default_is_told),
    SERVER(a_session_that_turned_read_only_is_told),
    STANDBY(a_standby_is_passed_over),
    STANDBY(a_promoted_standby_is_found),
    SERVER(a_statement_timeout_is_told),
    SERVER(a_row_that_is_kept_costs_no_more_than_the_deadline),
    SERVER(who_has_no_rights_is_told_which),
    SERVER(who_has_no_rights_can_ask_for_them),
    SERVER(who_may_make_no_tables_is_told),
    SERVER(the_rights_that_are_printed_are_enough),
    SERVER(the_rights_that_are_printed_name_the_schema),
    SCHEMA(names_are_bytes),
    SERVER(settings_of_the_database_do_not_matter),
    SERVER(other_isolation_by_default_does_not_matter),
    SERVER(a_crowd_gets_through_at_serializable),
    SERVER(a_crowd_makes_the_tables_once),
    SERVER(tables_that_were_dropped_are_made_anew),
    QUIET(refusals_write_nothing),
    SERVER(a_refusal_waits_for_no_row),
    SERVER(records_are_kept),
    SERVER(a_table_of_old_gets_the_column),
    SERVER(who_may_not_alter_the_table_goes_on_without),
    SERVER(a_thousand_records_leave_the_table_small),
    SERVER(a_long_list_is_told_page_by_page),
    SERVER(who_asks_often_prepares_statements),
    SERVER(tables_are_missed_by_them_too),
    SERVER(tables_that_are_altered_are_asked_anew),
    SERVER(other_isolation_does_not_matter_to_them),
    SERVER(a_thousand_grants_leave_the_table_small),
    POOLER(behind_a_pooler_of_transactions_all_works),
    POOLER(past_a_pooler_waiters_are_told),
    HF_TEST_IN(with_a_pooler_of_sessions,
               a_pooler_of_sessions_lets_waiters_be_told, teardown),
    SERVER(nobody_listens_who_was_told_not_to),
    SERVER(doctor_says_what_it_found),
    TLS(certificates_are_checked),
    SERVER(a_server_without_certificate_is_told),
};
HF_SUITE(tests)
