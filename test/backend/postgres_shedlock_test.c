/* SPDX-License-Identifier: MIT
 *
 * postgres_shedlock_test.c - ShedLock's table: addresses, rights, a table that
 * is another one. */
#include "support/postgres.h"
#include "support/stage.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char base[200], table[40];
static int port;

static void with_a_table(void **state) {
    hf_test_postgres_borrow(base, sizeof base);
    port = atoi(strrchr(base, ':') + 1);
    snprintf(table, sizeof table, "shed_%.30s", strrchr(base, '=') + 1);
    base[strcspn(base, "?")] = 0;
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
    hf_test_give_back();
    return 0;
}

static const char *address(const char *user, const char *params) {
    static char uri[400];
    snprintf(uri, sizeof uri, "postgresql://%s@127.0.0.1:%d/locks?%s%s%s", user,
             port, "hf_compat=shedlock&hf_table=", table, params);
    return uri;
}

static void says(const char *word) {
    if (strstr(ERR->text, word) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", ERR->text, word);
}

static void a_table_is_a_name_and_nothing_else(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "a.b.c",
        ".a",
        "a.",
        "a%20b",
        "a%22b",
        "a;DROP%20TABLE%20b",
        "1a",
        "a-b",
        "%C3%A4",
        "a%27",
        "a(b)",
        "a234567890123456789012345678901234567890123456789012345678901234",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char uri[400];
        hf_client *client = NULL;
        snprintf(uri, sizeof uri, "%s?hf_compat=shedlock&hf_table=%s", base,
                 bad[i]);
        hf_expect(HF_EURI, hf_open(&client, uri, NULL, ERR));
    }
}

static void other_words_are_refused(void **state) {
    (void)state;
    char uri[300];
    hf_client *client = NULL;
    snprintf(uri, sizeof uri, "%s?hf_compat=quartz", base);
    hf_expect(HF_EURI, hf_open(&client, uri, NULL, ERR));
    says("shedlock");
    hf_expect(HF_EURI,
              hf_open(&client, address("app", "&hf_lease=session"), NULL, ERR));
}

static void a_schema_may_stand_before_the_table(void **state) {
    (void)state;
    char uri[300];
    hf_test_sql(port, "CREATE SCHEMA s_%s AUTHORIZATION app", table);
    snprintf(uri, sizeof uri, "%s?hf_compat=shedlock&hf_table=s_%s.t", base,
             table);
    hf_expect(
        HF_OK,
        hf_lock_try(hf_test_lock(hf_test_open(uri, NULL), "x", NULL), ERR));
    assert_int_equal(
        hf_test_sql_number(port, "SELECT count(*) FROM s_%s.t", table), 1);
}

/* Who may not make it is told what to run; who may only use it needs no more
 * than that. */
static void rights_are_named_that_are_missing(void **state) {
    (void)state;
    hf_lock *lock =
        hf_test_lock(hf_test_open(address("guest", ""), NULL), "x", NULL);
    hf_expect(HF_EFORBIDDEN, hf_lock_try(lock, ERR));
    says("ADD COLUMN hf_token");
    hf_test_sql(port,
                "SET ROLE app; CREATE TABLE %s (name varchar(64) PRIMARY KEY, "
                "lock_until timestamp NOT NULL, locked_at timestamp NOT NULL, "
                "locked_by varchar(255) NOT NULL); GRANT SELECT, INSERT, "
                "UPDATE ON %s TO guest",
                table, table);
    hf_expect(HF_EFORBIDDEN, hf_lock_try(lock, ERR));
    says("ALTER TABLE");
    hf_test_sql(port,
                "ALTER TABLE %s ADD COLUMN hf_token bigint NOT NULL DEFAULT 0",
                table);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
}

static void a_table_of_another_kind_is_refused(void **state) {
    (void)state;
    hf_test_sql(port,
                "SET ROLE app; CREATE TABLE %s (name varchar(64) PRIMARY KEY, "
                "lock_until timestamptz, locked_at timestamptz, locked_by "
                "varchar(255))",
                table);
    hf_lock *lock =
        hf_test_lock(hf_test_open(address("app", ""), NULL), "x", NULL);
    hf_expect(HF_ESTORE, hf_lock_try(lock, ERR));
    says("without time zone");
}

/* A row that is held with nobody behind it is what lockAtLeastFor leaves. */
static void what_a_stranger_left_held_is_waited_for(void **state) {
    (void)state;
    hf_lock *lock =
        hf_test_lock(hf_test_open(address("app", ""), NULL), "x", NULL);
    hf_test_sql(
        port,
        "INSERT INTO %s (name, lock_until, locked_at, locked_by) VALUES "
        "('x', timezone('utc', clock_timestamp()) + interval '1 s', "
        "timezone('utc', clock_timestamp()), 'gone')",
        table);
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_acquire(lock, HF_TEST_LONG, ERR));
}

static const struct CMUnitTest tests[] = {
    HF_TEST_IN(with_a_table, a_table_is_a_name_and_nothing_else, teardown),
    HF_TEST_IN(with_a_table, other_words_are_refused, teardown),
    HF_TEST_IN(with_a_table, a_schema_may_stand_before_the_table, teardown),
    HF_TEST_IN(with_a_table, rights_are_named_that_are_missing, teardown),
    HF_TEST_IN(with_a_table, a_table_of_another_kind_is_refused, teardown),
    HF_TEST_IN(with_a_table, what_a_stranger_left_held_is_waited_for, teardown),
};
HF_SUITE(tests)
