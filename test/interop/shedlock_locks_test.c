/* SPDX-License-Identifier: MIT
 *
 * shedlock_locks_test.c - one table for C and for ShedLock itself. */
#include "shedlock.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { TURNS = 6, LEAST = 1500, MINUTE = 60000 };

static bool is_free(const char *name) {
    return java_number("row left %s", name) <= 0;
}

/* ---- exclusion --------------------------------------------------------- */

static void each_keeps_the_other_out(const char *name) {
    hf_lock *lock = c_lock(HF_LOCK, name);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_says("NO", "lock try %d 0 %s", MINUTE, name);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_says("YES", "lock try %d 0 %s", MINUTE, name);
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    if (name == names[0])
        hf_expect(HF_ETIMEOUT, hf_lock_acquire(lock, A_MOMENT, ERR));
    java_says("NO", "lock try %d 0 %s", MINUTE, name);
    java_says("OK", "lock unlock %s", name);
    java_says("1", "row count %s", name);
    hf_test_free(lock);
}

static void what_either_holds_is_refused_to_the_other(void **state) {
    (void)state;
    for (int i = 0; i < n_names; i++)
        each_keeps_the_other_out(names[i]);
}

static void together_they_count_without_losing_one(void **state) {
    (void)state;
    both_add_up(&the_java, HF_LOCK, "lock", "x");
}

/* The other way to wait. */
static void a_spinning_one_counts_as_well(void **state) {
    (void)state;
    both_add_up(&the_java, HF_SPIN, "lock", "x");
}

/* Java remembers rows that it has seen, and only updates them then. */
static void the_row_stays_for_java(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    for (int i = 0; i < TURNS; i++) {
        java_says("YES", "lock try %d 0 x", MINUTE);
        java_says("OK", "lock unlock x");
        hf_expect(HF_OK, hf_lock_acquire(lock, HF_TEST_LONG, ERR));
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        assert_true(is_free("x"));
        java_says("1", "row count x");
    }
}

static void a_row_that_somebody_deleted_is_made_again(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    uint64_t token = hf_lock_token(lock);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_says("OK", "row delete x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    assert_true(hf_lock_token(lock) > token);
}

/* ---- waiting ----------------------------------------------------------- */

static void c_waits_until_java_unlocks(void **state) {
    (void)state;
    hf_test_thread waiter;
    java_says("YES", "lock try %d 0 x", MINUTE);
    hf_test_begin(&waiter, c_lock(HF_LOCK, "x"), HF_TEST_LONG);
    java_says("OK", "lock unlock x");
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static void c_keeps_out_for_as_long_as_java_said_at_least(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    java_says("YES", "lock try %d 0 warm", MINUTE); /* takes its time */
    int64_t began = hf_test_now_ms();
    java_says("YES", "lock try %d %d x", MINUTE, LEAST);
    java_says("OK", "lock unlock x");
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_acquire(lock, HF_TEST_LONG, ERR));
    /* The clocks of two machines would differ by more. */
    assert_in_range(hf_test_now_ms() - began, LEAST - 5, LEAST + SOON);
}

static void java_keeps_out_until_what_c_left_is_over(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    java_says("YES", "lock try %d 0 warm", MINUTE); /* takes its time */
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_release_after(lock, LEAST, ERR));
    java_says("NO", "lock try %d 0 x", MINUTE);
    java_says("YES", "lock wait %d 0 %d x", MINUTE, HF_TEST_LONG);
    assert_in_range(hf_test_now_ms() - began, LEAST - 5, LEAST + SOON);
}

static void what_java_extends_stays_its_own(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    java_says("YES", "lock try %d 0 x", LEAST);
    for (int i = 0; i < 3; i++) {
        java_says("YES", "lock extend %d 0 x", MINUTE);
        hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    }
    java_says("OK", "lock unlock x");
    hf_expect(HF_OK, hf_lock_acquire(lock, HF_TEST_LONG, ERR));
}

/* ---- death ------------------------------------------------------------- */

static void the_killed_keep_the_other_out_for_their_lease(void **state) {
    (void)state;
    hf_test_peer *c = c_peer(SHORT_LEASE);
    c_says(c, "OK", "lock 0 c");
    assert_memory_equal(hf_test_peer_ask(c, "try 0"), "OK ", 3);
    java_says("NO", "lock try %d 0 c", MINUTE);
    hf_test_peer_signal(c, SIGKILL);
    hf_test_peer_stop(c);
    java_says("YES", "lock wait %d 0 %d c", MINUTE, HF_TEST_LONG);

    java_says("YES", "lock try %d 0 j", SHORT_LEASE);
    java_kill();
    hf_lock *lock = c_lock(HF_LOCK, "j");
    hf_expect(HF_OK, hf_lock_acquire(lock, SHORT_LEASE + HF_TEST_LONG, ERR));
}

static void the_watchdog_keeps_java_out(void **state) {
    (void)state;
    hf_lock *lock =
        hf_test_lock(client, "x", HF_LOCK_WITH(.watchdog_ms = SHORT_LEASE));
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_test_throughout(hf_lock_is_held(lock) &&
                           strcmp(java_ask("lock try %d 0 x", MINUTE), "NO") ==
                               0,
                       3 * SHORT_LEASE);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_says("YES", "lock try %d 0 x", MINUTE);
}

/* ---- what the row says ------------------------------------------------- */

static void who_holds_is_in_the_row(void **state) {
    (void)state;
    char first[300];
    hf_lock *lock = c_lock(HF_LOCK, "x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    snprintf(first, sizeof first, "%s", java_ask("row by x"));
    assert_memory_equal(first, "hf:", 3);
    assert_in_range(java_number("row left x"), 1, LONG_LEASE);
    assert_in_range(java_number("row since x"), 0, SOON);
    assert_true((uint64_t)java_number("row token x") == hf_lock_token(lock));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    assert_true(is_free("x"));
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    assert_string_not_equal(java_ask("row by x"), first); /* of the grant */
}

typedef struct seen {
    char owner[256];
    bool foreign, holds;
    uint64_t token;
    int64_t lease_ms;
} seen;

static void look(void *arg, const hf_place *place) {
    seen *s = arg;
    snprintf(s->owner, sizeof s->owner, "%s", place->owner);
    s->foreign = place->foreign;
    s->holds = place->holds;
    s->token = place->token;
    s->lease_ms = place->lease_ms;
}

static void who_holds_in_java_is_listed_as_a_stranger(void **state) {
    (void)state;
    seen s = {.holds = false};
    hf_lock *lock = c_lock(HF_LOCK, "x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_says("YES", "lock try %d 0 x", MINUTE);
    hf_expect(HF_OK, hf_list(client, "x", look, &s, ERR));
    assert_true(s.holds);
    assert_true(s.foreign);
    assert_string_equal(s.owner, "java");
    assert_true(s.token == 0);
    assert_in_range(s.lease_ms, 1, MINUTE + 1000);
    java_says("OK", "lock unlock x");
    assert_int_equal(hf_test_holders(client, NULL), 0);
}

static void tokens_grow_past_the_grants_of_java(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    uint64_t last = 0;
    for (int i = 0; i < TURNS; i++) {
        hf_expect(HF_OK, hf_lock_acquire(lock, HF_TEST_LONG, ERR));
        assert_true(hf_lock_token(lock) > last);
        last = hf_lock_token(lock);
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        java_says("YES", "lock try %d 0 x", MINUTE);
        java_says("OK", "lock unlock x");
    }
}

static void what_c_frees_by_force_java_cannot_unlock(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    hf_expect(HF_EFREE, hf_lock_force_release(lock, NULL, ERR));
    java_says("YES", "lock try %d %d x", MINUTE, MINUTE);
    hf_expect(HF_EFREE, hf_lock_force_release(lock, "somebody", ERR));
    hf_expect(HF_OK, hf_lock_force_release(lock, "java", ERR));
    java_says("OK", "lock unlock x"); /* finds nothing to keep */
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    assert_true(hf_lock_is_held(lock));
    java_says("NO", "lock try %d 0 x", MINUTE);
}

/* ---- names and tables -------------------------------------------------- */

static void a_name_of_64_characters_is_the_longest(void **state) {
    (void)state;
    char name[2 * 65 + 1] = "";
    for (int i = 0; i < 64; i++)
        strcat(name, "ä");
    hf_lock *lock = c_lock(HF_LOCK, name);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_says("NO", "lock try %d 0 %s", MINUTE, name);
    strcat(name, "ä");
    lock = c_lock(HF_LOCK, name);
    hf_expect(HF_ENAME, hf_lock_try(lock, ERR));
    assert_non_null(strstr(ERR->text, "64"));
    hf_expect(HF_ENAME, hf_lock_acquire(lock, HF_TEST_LONG, ERR));
}

/* As ShedLock's manual has it, word for word. */
static void make_their_table(void) {
    if (on_postgres())
        java_says("OK",
                  "sql run CREATE TABLE %s (name VARCHAR(64) NOT NULL, "
                  "lock_until TIMESTAMP NOT NULL, locked_at TIMESTAMP NOT "
                  "NULL, locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))",
                  the_table());
    else
        java_says("OK",
                  "sql run CREATE TABLE %s(name VARCHAR(64) NOT NULL, "
                  "lock_until TIMESTAMP(3) NOT NULL, locked_at TIMESTAMP(3) "
                  "NOT NULL DEFAULT CURRENT_TIMESTAMP(3), locked_by "
                  "VARCHAR(255) NOT NULL, PRIMARY KEY (name))",
                  the_table());
}

static void a_table_that_java_has_gets_a_column(void **state) {
    (void)state;
    make_their_table();
    java_says("YES", "lock try %d 0 x", MINUTE);
    c_joins();
    java_says("name,lock_until,locked_at,locked_by,hf_token",
              "table columns %s", the_table());
    hf_lock *lock = c_lock(HF_LOCK, "x");
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    java_says("OK", "lock unlock x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_says("NO", "lock try %d 0 x", MINUTE);
}

/* In the table as their manual has it MariaDB does not tell case apart, neither
 * for them nor for us. */
static void names_are_what_the_table_makes_of_them(void **state) {
    (void)state;
    make_their_table();
    c_joins();
    bool exact = on_postgres();
    hf_lock *lock = c_lock(HF_LOCK, "Job");
    java_says("YES", "lock try %d 0 job", MINUTE);
    hf_expect(exact ? HF_OK : HF_BUSY, hf_lock_try(lock, ERR));
}

static void a_dropped_table_is_made_again(void **state) {
    (void)state;
    c_joins();
    hf_lock *lock = c_lock(HF_LOCK, "x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_says("OK", "sql run DROP TABLE %s", the_table());
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_says("NO", "lock try %d 0 x", MINUTE);
}

static const struct CMUnitTest tests[] = {
    WITH_DB_TIME(what_either_holds_is_refused_to_the_other),
    WITH_DB_TIME(together_they_count_without_losing_one),
    WITH_DB_TIME(a_spinning_one_counts_as_well),
    WITH_DB_TIME(the_row_stays_for_java),
    WITH_DB_TIME(a_row_that_somebody_deleted_is_made_again),
    WITH_DB_TIME(c_waits_until_java_unlocks),
    WITH_DB_TIME(c_keeps_out_for_as_long_as_java_said_at_least),
    WITH_DB_TIME(java_keeps_out_until_what_c_left_is_over),
    WITH_DB_TIME(what_java_extends_stays_its_own),
    WITH_DB_TIME(the_killed_keep_the_other_out_for_their_lease),
    WITH_DB_TIME(the_watchdog_keeps_java_out),
    WITH_DB_TIME(who_holds_is_in_the_row),
    WITH_DB_TIME(who_holds_in_java_is_listed_as_a_stranger),
    WITH_DB_TIME(tokens_grow_past_the_grants_of_java),
    WITH_DB_TIME(what_c_frees_by_force_java_cannot_unlock),
    WITH_DB_TIME(a_name_of_64_characters_is_the_longest),
    WITH_JAVA(a_table_that_java_has_gets_a_column),
    WITH_JAVA(names_are_what_the_table_makes_of_them),
    WITH_JAVA(a_dropped_table_is_made_again),
};
HF_SUITE(tests)
