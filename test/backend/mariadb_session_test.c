/* SPDX-License-Identifier: MIT
 *
 * mariadb_session_test.c - GET_LOCK: who ends a session ends its locks. */
#include "support/mariadb.h"
#include "support/records.h"
#include "support/stage.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

enum { AT_ONCE = 3000 }; /* ms; a renewal comes after 5 s at the earliest */

static char uri[256], plain[256];
static int port;

static void with_a_database(void **state) {
    hf_test_mariadb_borrow(plain, sizeof plain);
    port = hf_test_mariadb_borrowed_port();
    snprintf(uri, sizeof uri, "%.230s?hf_lease=session", plain);
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
    hf_test_give_back();
    return 0;
}

static hf_lock *a_lock(const char *name) {
    return hf_test_lock(hf_test_open(uri, HF_CLIENT_WITH(.lease_ms = 60000)),
                        name, NULL);
}

/* As the manual says; the session that has the lock, 0: none. */
static int64_t holder(const char *name) {
    char text[300];
    uint64_t h = 14695981039346656037u;
    snprintf(text, sizeof text, "holdfast:%s", name);
    for (const char *p = text; *p; p++)
        h = (h ^ (unsigned char)*p) * 1099511628211u;
    return hf_test_mariadb_number(
        port,
        "SELECT COALESCE(IS_USED_LOCK(CONCAT('hf:', LEFT(SHA1(DATABASE()), "
        "12), ':', %lld)), 0)",
        (long long)(int64_t)h);
}

static void the_lock_is_one_that_the_manual_tells_of(void **state) {
    (void)state;
    hf_lock *lock = a_lock("x");
    assert_int_equal(holder("x"), 0);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    assert_true(holder("x") != 0);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    assert_int_equal(holder("x"), 0);
}

static void a_killed_session_is_told_of_at_once(void **state) {
    (void)state;
    hf_client *client = hf_test_open(uri, HF_CLIENT_WITH(.lease_ms = 60000));
    hf_lock *a = hf_test_lock(client, "a", NULL),
            *b = hf_test_lock(client, "b", NULL), *other = a_lock("a");
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    uint64_t token = hf_lock_token(a);
    assert_int_equal(holder("a"), holder("b"));
    hf_test_mariadb_ask(port, "KILL %lld", (long long)holder("a"));
    hf_test_eventually(hf_test_is_told(a) && hf_test_is_told(b), AT_ONCE);
    hf_expect(HF_OK, hf_lock_acquire(other, AT_ONCE, ERR));
    assert_true(hf_lock_token(other) > token);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_expect(HF_ELOST, hf_lock_release(b, ERR));
    hf_expect(HF_OK, hf_lock_acquire(b, AT_ONCE, ERR)); /* by a new one */
    hf_expect(HF_BUSY, hf_lock_try(a, ERR));
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

static void records_are_kept(void **state) {
    (void)state;
    hf_test_records_are_kept(uri);
}

static const struct CMUnitTest tests[] = {
    HF_TEST_IN(with_a_database, records_are_kept, teardown),
    HF_TEST_IN(with_a_database, the_lock_is_one_that_the_manual_tells_of,
               teardown),
    HF_TEST_IN(with_a_database, a_killed_session_is_told_of_at_once, teardown),
    HF_TEST_IN(with_a_database, tokens_grow_from_leases_to_sessions_and_back,
               teardown),
};
HF_SUITE(tests)
