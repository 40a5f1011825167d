/* SPDX-License-Identifier: MIT
 *
 * mariadb_test.c - what only this store has: errors told apart, names that are
 * bytes, settings of the server that must not matter, rights, certificates,
 * and a client library with habits of its own.
 *
 * Each test has a database of the shared server for itself, or a server of its
 * own where it wants another one. */
#include "support/dir.h"
#include "support/mariadb.h"
#include "support/records.h"
#include "support/stage.h"
#include "support/suite.h"
#include "support/tls.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static hf_test_mariadb *own;
static char uri[256];
static int port;

/* ---- life -------------------------------------------------------------- */

static void with_a_database(void **state) {
    hf_test_mariadb_borrow(uri, sizeof uri);
    port = hf_test_mariadb_borrowed_port();
    hf_test_body(state);
}

static void start_own(const hf_test_mariadb_options *options) {
    own = hf_test_mariadb_start(options);
    port = hf_test_mariadb_port(own);
    snprintf(uri, sizeof uri, "%s", hf_test_mariadb_uri(own));
}

static void with_a_server(void **state) {
    start_own(NULL);
    hf_test_body(state);
}

static void with_ten_connections(void **state) {
    static const char *const few[] = {"--max-connections=10", NULL};
    start_own(&(hf_test_mariadb_options){.settings = few});
    hf_test_body(state);
}

static void with_a_clock_that_stands(void **state) {
    static const char *const stands[] = {"--sysdate-is-now", NULL};
    start_own(&(hf_test_mariadb_options){.settings = stands});
    hf_test_body(state);
}

static void with_a_log_of_statements(void **state) {
    static const char *const log[] = {"--log-bin=b", "--server-id=1",
                                      "--binlog-format=STATEMENT", NULL};
    start_own(&(hf_test_mariadb_options){.settings = log});
    hf_test_body(state);
}

static void with_a_log_of_rows(void **state) {
    static const char *const log[] = {"--log-bin=b", "--server-id=1",
                                      "--binlog-format=ROW", NULL};
    start_own(&(hf_test_mariadb_options){.settings = log});
    hf_test_body(state);
}

static void with_tls(void **state) {
    start_own(&(hf_test_mariadb_options){.tls = true});
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
    hf_test_mariadb_stop(own);
    own = NULL;
    hf_test_give_back();
    return 0;
}

/* "mariadb://USER@127.0.0.1:PORT/DATABASE?MORE" */
static const char *address(const char *user, const char *database,
                           const char *more) {
    static char text[512];
    snprintf(text, sizeof text, "mariadb://%s@127.0.0.1:%d/%s%s", user, port,
             database, more);
    return text;
}

static hf_client *client(void) {
    return hf_test_open(uri, NULL);
}

static hf_lock *lock_at(const char *text) {
    return hf_test_lock(hf_test_open(text, NULL), "x", NULL);
}

static void said(const char *words) {
    if (strstr(ERR->text, words) == NULL)
        fail_msg("'%s' does not say '%s'", ERR->text, words);
    assert_null(strstr(ERR->text, "hunter2"));
}

/* What an open that fails says. */
static void refuses(int wanted, const char *text, const char *words) {
    hf_client *c = NULL;
    hf_expect(wanted,
              hf_open(&c, text, HF_CLIENT_WITH(.timeout_ms = 2000), ERR));
    said(words);
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

/* Both are the same store. */
static void excludes(const char *one, const char *other) {
    hf_lock *a = lock_at(one), *b = lock_at(other);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

/* ---- errors told apart ------------------------------------------------- */

static void a_server_that_is_away_is_down(void **state) {
    (void)state;
    hf_test_mariadb_crash(own);
    refuses(HF_EDOWN, uri, "connect");
}

static void a_server_that_is_silent_is_down(void **state) {
    (void)state;
    hf_test_mariadb_pause(own);
    int64_t began = hf_test_now_ms();
    refuses(HF_EDOWN, uri, "no answer");
    assert_in_range(hf_test_now_ms() - began, 0, 2000 + 2000);
    hf_test_mariadb_resume(own);
}

static void wrong_credentials_are_told(void **state) {
    (void)state;
    refuses(HF_EAUTH, address("secret:hunter2", "locks", ""), "secret");
    refuses(HF_EAUTH, address("secret", "locks", ""), "password");
    lock_at(address("secret:secret", "locks", ""));
}

static void write_secret(const char *path, const char *text) {
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(chmod(path, 0600), 0);
}

static void a_password_may_stand_in_a_file(void **state) {
    (void)state;
    char path[160], more[200];
    hf_test_fresh_path(path, sizeof path, "password");
    write_secret(path, "secret\n");
    snprintf(more, sizeof more, "?password_file=%s", path);
    excludes(address("secret", "locks", more), uri);
}

static void an_option_file_has_a_group_for_us(void **state) {
    (void)state;
    char path[160], text[256];
    hf_test_fresh_path(path, sizeof path, "options");
    write_secret(path, "[holdfast]\nuser=secret\npassword=secret\nreconnect\n");
    snprintf(text, sizeof text, "mariadb://127.0.0.1:%d/locks?option_file=%s",
             port, path);
    excludes(text, uri);
}

static void a_database_that_is_not_there_is_named(void **state) {
    (void)state;
    refuses(HF_EURI, address("root", "nowhere", ""), "nowhere");
    refuses(HF_EURI, address("root", "", ""), "DATABASE");
    refuses(HF_EFORBIDDEN, address("app", "nowhere", ""), "nowhere");
}

static void parameters_are_checked(void **state) {
    (void)state;
    refuses(HF_EURI, address("app", "locks", "?sockt=/x"), "socket");
    refuses(HF_EURI, address("app", "locks", "?tls_ca=/x"), "mariadbs://");
}

static void a_socket_is_an_address(void **state) {
    (void)state;
    char text[256];
    snprintf(text, sizeof text, "mysql://app@/locks?socket=%s",
             hf_test_mariadb_socket(own));
    excludes(text, uri);
    snprintf(text, sizeof text, "mariadb://app@/locks?unix_socket=%s",
             hf_test_mariadb_socket(own));
    excludes(text, uri);
}

static void a_crowded_server_says_so(void **state) {
    (void)state;
    hf_client *c[12];
    int n = 0, rc = HF_OK;
    hf_lock *a = lock_at(uri);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    while (n < 12 && rc == HF_OK) {
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
    hf_client *c = hf_test_open(address("few", "locks", ""), NULL);
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        hf_test_begin(&t[i], hf_test_lock(c, name, NULL), HF_TEST_LONG);
    }
    for (int i = 0; i < 20; i++) {
        hf_expect(HF_OK, hf_test_answer(&t[i]));
        hf_expect(HF_OK, hf_test_end(&t[i]));
    }
}

static void who_finds_no_room_to_listen_looks_again(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *a = lock_at(address("few", "locks", ""));
    lock_at(address("few", "locks", ""));
    hf_lock *b = lock_at(address("few", "locks", ""));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static void a_server_that_turned_read_only_is_told(void **state) {
    (void)state;
    hf_lock *a = lock_at(uri);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_test_mariadb_ask(port, "SET GLOBAL read_only = 1");
    hf_expect(HF_EREAD_ONLY, hf_lock_try(a, ERR));
    said("read-only");
    hf_test_mariadb_ask(port, "SET GLOBAL read_only = 0");
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

/* Somebody of no concern to us has the rows, as a dump or a curious operator
 * may. */
static struct st_mysql *keep_the_rows(void) {
    struct st_mysql *my = hf_test_mariadb_open(port);
    hf_test_mariadb_say(my, "START TRANSACTION");
    hf_test_mariadb_say(my, "SELECT * FROM hf_line FOR UPDATE");
    return my;
}

static void a_statement_that_is_ended_is_told(void **state) {
    (void)state;
    hf_lock *a = lock_at(uri);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_test_mariadb_ask(port, "SET GLOBAL max_statement_time = 0.1");
    hf_lock *b = lock_at(uri);
    struct st_mysql *my = keep_the_rows();
    hf_expect(HF_EDOWN, hf_lock_try(b, ERR));
    said("ended the statement");
    hf_test_mariadb_close(my);
    hf_test_eventually(hf_lock_try(b, ERR) == HF_OK, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(b, ERR));
}

static void a_row_that_is_kept_costs_no_more_than_the_deadline(void **state) {
    (void)state;
    hf_lock *a = lock_at(uri);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_lock *b = hf_test_lock(
        hf_test_open(uri, HF_CLIENT_WITH(.timeout_ms = 500)), "x", NULL);
    struct st_mysql *my = keep_the_rows();
    int64_t began = hf_test_now_ms();
    int rc = hf_lock_try(b, ERR);
    assert_true(rc == HF_EDOUBT || rc == HF_EDOWN);
    assert_in_range(hf_test_now_ms() - began, 0, 3000);
    hf_test_mariadb_close(my);
    /* What was in doubt is found again. */
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_release(b, ERR));
}

static void a_clock_that_stands_is_refused(void **state) {
    (void)state;
    refuses(HF_ECANNOT, uri, "sysdate-is-now");
}

static void a_log_that_cannot_be_written_is_told(void **state) {
    (void)state;
    refuses(HF_ESTORE, uri, "binlog_format");
}

static void with_a_log_of_rows_all_works(void **state) {
    (void)state;
    all_kinds_work(client());
}

/* ---- rights ------------------------------------------------------------ */

static char rules[2][8192];
static int n_rules;

static void note_rule(void *arg, const hf_rule *rule) {
    (void)arg;
    assert_true(n_rules < 2);
    snprintf(rules[n_rules++], sizeof rules[0], "%s", rule->text);
}

static int try_as_guest(void) {
    hf_client *c = NULL;
    int rc = hf_open(&c, address("guest", "locks", ""), NULL, ERR);
    if (rc == HF_OK)
        rc = hf_lock_try(hf_test_lock(hf_test_adopt(c), "x", NULL), ERR);
    return rc;
}

static void who_has_no_rights_is_told_which(void **state) {
    (void)state;
    hf_expect(HF_EFORBIDDEN, try_as_guest()); /* to make tables */
    said("doctor --acl");
    lock_at(uri);
    hf_expect(HF_EFORBIDDEN, try_as_guest());
    said("hf_");
    said("guest");
}

static void the_rights_that_are_printed_are_enough(void **state) {
    (void)state;
    hf_test_mariadb_ask(port, "CREATE USER holdfast; CREATE DATABASE other");
    hf_client *c = hf_test_open(address("root", "other", ""), NULL);
    hf_expect(HF_OK, hf_rights(c, NULL, note_rule, NULL, ERR));
    assert_int_equal(n_rules, 2);
    hf_test_mariadb_ask(port, "DROP DATABASE other; CREATE DATABASE other");
    for (int i = 0; i < 2; i++)
        assert_string_equal(
            hf_test_mariadb_ask(port, "USE other; %s", rules[i]), "");
    all_kinds_work(hf_test_open(address("holdfast", "other", ""), NULL));
}

/* ---- names ------------------------------------------------------------- */

static void names_are_bytes(void **state) {
    (void)state;
    static const char *const names[] = {
        "job",    "Job",         "JOB",
        "job ",   "job  ",       " job",
        "job\\",  "j'ob",        "j\"ob",
        "j`ob",   "j;ob-- ",     "j{s}ob",
        "{name}", "caf\xc3\xa9", "cafe\xcc\x81",
        "cafe",   "%s%n",        "x'6a6f62'",
        "NULL",   "hf_line",     "\xf0\x9f\x94\x92"};
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

static void settings_of_the_server_do_not_matter(void **state) {
    (void)state;
    static const char *const settings[] = {
        "time_zone = '-03:30'",
        "time_zone = '+13:00'",
        "sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH'",
        "sql_mode = ''",
        "sql_mode = 'ORACLE'",
        "autocommit = 0",
        "completion_type = 1",
        "sql_safe_updates = 1",
        "sql_select_limit = 1",
        "max_join_size = 1",
        "tx_read_only = 1",
        "character_set_server = latin1",
        "collation_connection = utf8mb4_bin",
        "lc_time_names = 'de_DE'",
        "innodb_lock_wait_timeout = 1"};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        print_message("%s\n", settings[i]);
        assert_string_equal(
            hf_test_mariadb_ask(port, "SET GLOBAL %s", settings[i]), "");
        hf_client *c = client();
        all_kinds_work(c);
        assert_int_equal(hf_test_holders(c, NULL), 0);
    }
}

/* Nobody waits longer, nor less long, for the server being elsewhere. */
static void a_lease_is_as_long_in_every_zone(void **state) {
    (void)state;
    static const char *const zones[] = {"-11:00", "+00:00", "+12:45"};
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        hf_lock *a = hf_test_lock(client(), "x", HF_LOCK_WITH(.lease_ms = 700));
        hf_expect(HF_OK, hf_lock_try(a, ERR));
        hf_test_mariadb_ask(port, "SET GLOBAL time_zone = '%s'", zones[i]);
        hf_lock *b = hf_test_lock(client(), "x", NULL);
        int64_t began = hf_test_now_ms();
        hf_expect(HF_BUSY, hf_lock_try(b, ERR));
        hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
        assert_in_range(hf_test_now_ms() - began, 100, 700 + 4000);
        hf_expect(HF_OK, hf_lock_release(b, ERR));
    }
}

static int first_answered(hf_test_thread t[16], const bool done[16]) {
    for (int i = 0; i < 16; i++)
        if (!done[i] && atomic_load(&t[i].answered))
            return i;
    return -1;
}

static void a_crowd_gets_through(void) {
    hf_test_thread t[16];
    bool done[16] = {false};
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

static void other_isolation_by_default_does_not_matter(void **state) {
    (void)state;
    static const char *const levels[] = {"SERIALIZABLE", "REPEATABLE READ",
                                         "READ UNCOMMITTED"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        hf_test_mariadb_ask(port, "SET GLOBAL TRANSACTION ISOLATION LEVEL %s",
                            levels[i]);
        all_kinds_work(client());
        a_crowd_gets_through();
    }
}

/* ---- refusals ---------------------------------------------------------- */

static int64_t written(void) {
    return hf_test_mariadb_number(
        port, "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS "
              "WHERE VARIABLE_NAME = 'INNODB_LSN_CURRENT'");
}

/* Beside what the server does by itself. */
static void refusals_write_nothing(void **state) {
    (void)state;
    static const hf_kind kinds[] = {HF_LOCK, HF_WRITE, HF_PERMIT};
    hf_client *a = client(), *b = client();
    hf_expect(HF_OK, hf_semaphore_resize(hf_test_semaphore(a, "x"), 1, ERR));
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        hf_lock *held = hf_test_lock(a, "x", HF_LOCK_WITH(.kind = kinds[k]));
        hf_lock *tried = hf_test_lock(b, "x", HF_LOCK_WITH(.kind = kinds[k]));
        hf_expect(HF_OK, hf_lock_try(held, ERR));
        int64_t before = written();
        for (int i = 0; i < 1000; i++)
            hf_expect(HF_BUSY, hf_lock_try(tried, ERR));
        assert_in_range(written() - before, 0, 1000 * 20);
        hf_expect(HF_OK, hf_lock_release(held, ERR));
    }
}

/* What is read is enough to refuse a try, also while somebody else has locked
 * the row of the line. */
static void a_refusal_waits_for_no_row(void **state) {
    (void)state;
    hf_semaphore *sem = hf_test_semaphore(client(), "x");
    hf_lock *l = hf_test_lock(client(), "x", HF_LOCK_WITH(.kind = HF_WRITE));
    hf_lock *other = hf_test_lock(client(), "x", HF_LOCK_WITH(.kind = HF_READ));
    hf_expect(HF_OK, hf_lock_try(l, ERR));
    hf_expect(HF_OK, hf_semaphore_resize(sem, 0, ERR));
    struct st_mysql *my = keep_the_rows();
    hf_expect(HF_BUSY, hf_lock_try(other, ERR));
    hf_expect(HF_BUSY, hf_semaphore_acquire(sem, 1, 0, ERR));
    hf_test_mariadb_close(my);
    hf_expect(HF_OK, hf_lock_release(l, ERR));
}

static void a_thousand_grants_are_one_row(void **state) {
    (void)state;
    hf_lock *a = lock_at(uri);
    for (int i = 0; i < 1000; i++) {
        hf_expect(HF_OK, hf_lock_try(a, ERR));
        hf_expect(HF_OK, hf_lock_release(a, ERR));
    }
    assert_int_equal(
        hf_test_mariadb_number(port, "SELECT COUNT(*) FROM hf_line"), 1);
    assert_int_equal(
        hf_test_mariadb_number(port, "SELECT COUNT(*) FROM hf_note"), 0);
}

/* ---- the client library ------------------------------------------------ */

static void on_pipe(int sig) {
    (void)sig;
}

/* It ignores SIGPIPE for everybody, left to itself. */
static void the_programs_signals_stay_its_own(void **state) {
    (void)state;
    struct sigaction mine = {.sa_handler = on_pipe}, now;
    sigaction(SIGPIPE, &mine, NULL);
    all_kinds_work(client());
    sigaction(SIGPIPE, NULL, &now);
    assert_true(now.sa_handler == on_pipe);
    signal(SIGPIPE, SIG_DFL);
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
    hf_test_mariadb_ask(port, "ALTER TABLE hf_client DROP COLUMN doing");
    hf_test_announce(c, "w lock 1 x");
    hf_test_records(d, c, &doing);
    assert_string_equal(doing, "w lock 1 x");
    hf_test_mariadb_ask(port, "ALTER TABLE hf_client DROP COLUMN doing");
    hf_test_records(d, c, &doing); /* who looks does it as well */
    assert_string_equal(doing, "");
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
    hf_test_mariadb_ask(port,
                        "INSERT INTO hf_line (name, kind, token) SELECT "
                        "CONCAT('job', LPAD(seq, 5, '0')), 0, 1 "
                        "FROM seq_0_to_%d",
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

/* ---- doctor ------------------------------------------------------------ */

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

static void doctor_says_what_it_found(void **state) {
    (void)state;
    hf_client *c = client();
    facts_say(c, "MariaDB ");
    facts_say(c, "innodb_flush_log_at_trx_commit is 2");
    facts_say(c, "agrees with ours");
}

/* ---- certificates ------------------------------------------------------ */

static const char *secure(const char *more) {
    static char text[512];
    snprintf(text, sizeof text, "mariadbs://app@127.0.0.1:%d/locks%s", port,
             more);
    return text;
}

static void certificates_are_checked(void **state) {
    (void)state;
    const hf_test_tls *tls = hf_test_tls_files();
    char more[200];
    snprintf(more, sizeof more, "?tls_ca=%s", tls->ca);
    all_kinds_work(hf_test_open(secure(more), NULL));
    snprintf(more, sizeof more, "?tls_ca=%s", tls->stranger);
    refuses(HF_ETLS, secure(more), "");
    snprintf(more, sizeof more, "?tls_ca=%s&tls_verify=ca", tls->stranger);
    refuses(HF_ETLS, secure(more), "");
    refuses(HF_ETLS, secure(""), "");
    lock_at(secure("?tls_verify=none"));
}

/* What is written to a connection that is no more raises no signal. */
static void a_broken_secure_connection_raises_no_signal(void **state) {
    (void)state;
    hf_lock *a = lock_at(secure("?tls_verify=none"));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    for (int i = 0; i < 3; i++) {
        hf_test_mariadb_ask(port, "KILL USER app");
        hf_test_eventually(hf_lock_extend(a, 30000, ERR) == HF_OK,
                           HF_TEST_LONG);
    }
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

static void a_server_without_certificate_is_told(void **state) {
    (void)state;
    refuses(HF_ETLS, secure("?tls_verify=none"), "plain text");
    refuses(HF_ETLS, secure(""), "");
}

/* ---- the list ---------------------------------------------------------- */

#define BASE(name)   HF_TEST_IN(with_a_database, name, teardown)
#define SERVER(name) HF_TEST_IN(with_a_server, name, teardown)
#define TLS(name)    HF_TEST_IN(with_tls, name, teardown)

static const struct CMUnitTest tests[] = {
    SERVER(a_server_that_is_away_is_down),
    SERVER(a_server_that_is_silent_is_down),
    SERVER(wrong_credentials_are_told),
    SERVER(a_password_may_stand_in_a_file),
    SERVER(an_option_file_has_a_group_for_us),
    SERVER(a_database_that_is_not_there_is_named),
    SERVER(parameters_are_checked),
    SERVER(a_socket_is_an_address),
    HF_TEST_IN(with_ten_connections, a_crowded_server_says_so, teardown),
    SERVER(many_threads_get_by_on_few_connections),
    SERVER(who_finds_no_room_to_listen_looks_again),
    SERVER(a_server_that_turned_read_only_is_told),
    SERVER(a_statement_that_is_ended_is_told),
    SERVER(a_row_that_is_kept_costs_no_more_than_the_deadline),
    HF_TEST_IN(with_a_clock_that_stands, a_clock_that_stands_is_refused,
               teardown),
    HF_TEST_IN(with_a_log_of_statements, a_log_that_cannot_be_written_is_told,
               teardown),
    HF_TEST_IN(with_a_log_of_rows, with_a_log_of_rows_all_works, teardown),
    SERVER(who_has_no_rights_is_told_which),
    SERVER(the_rights_that_are_printed_are_enough),
    BASE(names_are_bytes),
    SERVER(settings_of_the_server_do_not_matter),
    SERVER(a_lease_is_as_long_in_every_zone),
    SERVER(other_isolation_by_default_does_not_matter),
    SERVER(refusals_write_nothing),
    SERVER(a_refusal_waits_for_no_row),
    SERVER(a_thousand_grants_are_one_row),
    BASE(records_are_kept),
    SERVER(a_table_of_old_gets_the_column),
    SERVER(a_long_list_is_told_page_by_page),
    SERVER(the_programs_signals_stay_its_own),
    SERVER(doctor_says_what_it_found),
    TLS(certificates_are_checked),
    TLS(a_broken_secure_connection_raises_no_signal),
    SERVER(a_server_without_certificate_is_told),
};
HF_SUITE(tests)
