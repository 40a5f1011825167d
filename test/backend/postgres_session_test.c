/* SPDX-License-Identifier: MIT
 *
 * postgres_session_test.c - advisory locks: who ends a session ends its locks,
 * and a pooler has none to give. */
#include "support/postgres.h"
#include "support/records.h"
#include "support/stage.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 3000 }; /* ms; a renewal comes after 5 s at the earliest */

static hf_test_postgres *own;
static hf_test_pgbouncer *pooler;
static char uri[256], plain[256];
static int port;

/* ---- life -------------------------------------------------------------- */

static void with_a_schema(void **state) {
    hf_test_postgres_borrow(plain, sizeof plain);
    port = atoi(strrchr(plain, ':') + 1);
    snprintf(uri, sizeof uri, "%.230s&hf_lease=session", plain);
    hf_test_body(state);
}

static void with_a_pooler(void **state) {
    own = hf_test_postgres_start(NULL);
    pooler = hf_test_pgbouncer_start(hf_test_postgres_port(own), "transaction");
    hf_test_body(state);
}

static void with_a_pooler_of_sessions(void **state) {
    own = hf_test_postgres_start(NULL);
    pooler = hf_test_pgbouncer_start(hf_test_postgres_port(own), "session");
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
    hf_test_pgbouncer_stop(pooler);
    hf_test_postgres_stop(own);
    hf_test_give_back();
    return 0;
}

static hf_lock *a_lock(const char *name) {
    return hf_test_lock(hf_test_open(uri, HF_CLIENT_WITH(.lease_ms = 60000)),
                        name, NULL);
}

/* As the manual says. */
static long long key_of(const char *name) {
    char text[300];
    uint64_t h = 14695981039346656037u;
    snprintf(text, sizeof text, "holdfast:\"%s\".%s",
             strstr(plain, "hf_schema=") + strlen("hf_schema="), name);
    for (const char *p = text; *p; p++)
        h = (h ^ (unsigned char)*p) * 1099511628211u;
    return (long long)(int64_t)h;
}

/* The session that has the lock; 0: none. */
static int64_t holder(const char *name) {
    return hf_test_sql_number(
        port,
        "SELECT coalesce((SELECT pid FROM pg_locks WHERE locktype = "
        "'advisory' AND granted AND (classid::bigint << 32 | objid::bigint) = "
        "%lld), 0)",
        key_of(name));
}

/* ---- the session ------------------------------------------------------- */

static void the_lock_is_one_that_the_manual_tells_of(void **state) {
    (void)state;
    hf_lock *lock = a_lock("x");
    assert_int_equal(holder("x"), 0);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    assert_true(holder("x") != 0);
    assert_string_equal(
        hf_test_sql(port, "SELECT pg_try_advisory_lock(%lld)", key_of("x")),
        "f");
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    assert_int_equal(holder("x"), 0);
}

static void an_ended_session_is_told_of_at_once(void **state) {
    (void)state;
    hf_lock *lock = a_lock("x"), *other = a_lock("x");
    hf_lock *second =
        hf_test_lock(hf_test_open(uri, NULL), "unconcerned", NULL);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_try(second, ERR));
    uint64_t token = hf_lock_token(lock);
    hf_test_sql(port, "SELECT pg_terminate_backend(%lld)",
                (long long)holder("x"));
    hf_test_eventually(hf_test_is_told(lock), AT_ONCE);
    assert_false(hf_lock_is_held(lock));
    assert_true(hf_lock_is_held(second));
    hf_expect(HF_OK, hf_lock_acquire(other, AT_ONCE, ERR));
    assert_true(hf_lock_token(other) > token);
    hf_expect(HF_ELOST, hf_lock_release(lock, ERR));
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_release(other, ERR));
    hf_expect(HF_OK, hf_lock_acquire(lock, AT_ONCE, ERR)); /* a new one */
}

static void everything_ends_with_the_session(void **state) {
    (void)state;
    hf_client *client = hf_test_open(uri, HF_CLIENT_WITH(.lease_ms = 60000));
    hf_lock *a = hf_test_lock(client, "a", NULL),
            *b = hf_test_lock(client, "b", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    assert_int_equal(holder("a"), holder("b"));
    hf_test_sql(port, "SELECT pg_terminate_backend(%lld)",
                (long long)holder("a"));
    hf_test_eventually(hf_test_is_told(a) && hf_test_is_told(b), AT_ONCE);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_expect(HF_ELOST, hf_lock_release(b, ERR));
}

/* What others settle for all sessions does not end ours early. */
static void the_server_waits_for_the_longest_lease(void **state) {
    (void)state;
    hf_client *client = hf_test_open(uri, NULL);
    hf_lock *brief = hf_test_lock(client, "a", HF_LOCK_WITH(.lease_ms = 700));
    hf_lock *kept = hf_test_lock(client, "b", NULL);
    hf_expect(HF_OK, hf_lock_try(brief, ERR));
    hf_expect(HF_OK, hf_lock_try(kept, ERR));
    hf_test_eventually(holder("a") == 0, HF_TEST_LONG); /* given back */
    hf_test_throughout(hf_lock_is_held(kept) && holder("b") != 0, 4000);
}

static void tokens_grow_from_leases_to_sessions_and_back(void **state) {
    (void)state;
    hf_lock *tied = a_lock("x");
    hf_lock *leased = hf_test_lock(hf_test_open(plain, NULL), "x", NULL);
    uint64_t last = 0;
    for (int i = 0; i < 6; i++) {
        hf_lock *lock = i % 2 == 0 ? tied : leased;
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        assert_true(hf_lock_token(lock) > last);
        last = hf_lock_token(lock);
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
    }
}

/* ---- addresses --------------------------------------------------------- */

static void refused(int code, const char *address, const char *word) {
    hf_client *client = NULL;
    hf_expect(code, hf_open(&client, address, NULL, ERR));
    if (strstr(ERR->text, word) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", ERR->text, word);
}

static void another_word_than_session_is_refused(void **state) {
    (void)state;
    char bad[280];
    snprintf(bad, sizeof bad, "%.200s&hf_lease=rows", plain);
    refused(HF_EURI, bad, "session");
}

static void a_pooler_that_lends_for_a_transaction_is_refused(void **state) {
    (void)state;
    char through[280];
    snprintf(through, sizeof through, "%s?hf_lease=session&hf_listen=none",
             hf_test_pgbouncer_uri(pooler));
    for (int i = 0; i < 3; i++)
        refused(HF_ECANNOT, through, "pooler");
}

static void a_pooler_that_lends_a_session_will_do(void **state) {
    (void)state;
    snprintf(uri, sizeof uri, "%.200s?hf_lease=session&hf_listen=none",
             hf_test_pgbouncer_uri(pooler));
    hf_lock *lock = a_lock("x"), *other = a_lock("x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_BUSY, hf_lock_try(other, ERR));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    hf_expect(HF_OK, hf_lock_try(other, ERR));
}

static void records_are_kept(void **state) {
    (void)state;
    hf_test_records_are_kept(uri);
}

static const struct CMUnitTest tests[] = {
    HF_TEST_IN(with_a_schema, records_are_kept, teardown),
    HF_TEST_IN(with_a_schema, the_lock_is_one_that_the_manual_tells_of,
               teardown),
    HF_TEST_IN(with_a_schema, an_ended_session_is_told_of_at_once, teardown),
    HF_TEST_IN(with_a_schema, everything_ends_with_the_session, teardown),
    HF_TEST_IN(with_a_schema, the_server_waits_for_the_longest_lease, teardown),
    HF_TEST_IN(with_a_schema, tokens_grow_from_leases_to_sessions_and_back,
               teardown),
    HF_TEST_IN(with_a_schema, another_word_than_session_is_refused, teardown),
    HF_TEST_IN(with_a_pooler, a_pooler_that_lends_for_a_transaction_is_refused,
               teardown),
    HF_TEST_IN(with_a_pooler_of_sessions, a_pooler_that_lends_a_session_will_do,
               teardown),
};
HF_SUITE(tests)
