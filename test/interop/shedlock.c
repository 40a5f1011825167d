/* SPDX-License-Identifier: MIT
 *
 * shedlock.c - a table, one virtual machine, one client. */
#include "shedlock.h"

#include "support/mariadb.h"
#include "support/postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static char table[40], uri[300];

const char *the_table(void) {
    return table;
}

bool on_postgres(void) {
    const char *db = getenv("HF_SHEDLOCK_DB");
    return db == NULL || strcmp(db, "mariadb") != 0;
}

/* The database's address, without what is for us alone. */
static void borrow(void) {
    unsigned part = 0;
    if (on_postgres())
        hf_test_postgres_borrow(uri, sizeof uri);
    else
        hf_test_mariadb_borrow(uri, sizeof uri);
    uri[strcspn(uri, "?")] = 0;
    assert_int_equal(getrandom(&part, sizeof part, 0), sizeof part);
    snprintf(table, sizeof table, "shed_%08x", part);
}

static void java_joins(const char *time) {
    const char *folder = getenv("HF_SHEDLOCK");
    char told[400];
    snprintf(told, sizeof told, "%s time=%s table=%s by=java", uri, time,
             table);
    java_start(folder != NULL ? folder : ".", "lib7", told);
}

void c_joins(void) {
    char ours[400];
    snprintf(ours, sizeof ours, "%s?hf_compat=shedlock&hf_table=%s", uri,
             table);
    c_meet(ours, LONG_LEASE);
}

static void meet(const char *time) {
    borrow();
    java_joins(time);
    c_joins();
}

void with_database_time(void **state) {
    meet("db");
    hf_test_body(state);
}

void with_own_time(void **state) {
    meet("utc");
    hf_test_body(state);
}

void with_java_alone(void **state) {
    borrow();
    java_joins("db");
    hf_test_body(state);
}

int end_shedlock(void **state) {
    (void)state;
    hf_test_clear();
    java_kill();
    hf_test_give_back();
    return 0;
}
