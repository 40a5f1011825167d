/* SPDX-License-Identifier: MIT
 *
 * multi_stores_test.c - a multi-lock whose members are in several stores, or in one
 * store under several addresses. */
#include "support/dir.h"
#include "support/server.h"
#include "support/stage.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

#define KEPT_ALIVE HF_LOCK_WITH(.watchdog_ms = 700, .renew_ms = 50)

static hf_test_server *server;
static char sqlite_uri[192];

static void with_a_server(void **state) {
    char path[160];
    server = hf_test_server_start(NULL);
    hf_test_fresh_path(path, sizeof path, "locks");
    snprintf(sqlite_uri, sizeof sqlite_uri, "sqlite:%s.db", path);
    hf_test_body(state);
}

static int without(void **state) {
    (void)state;
    hf_test_clear();
    hf_test_server_stop(server);
    server = NULL;
    return 0;
}

/* "a" in Redis, "b" in SQLite, "c" in memory. */
typedef struct mix {
    hf_lock *a, *b, *c, *all;
} mix;

static mix mix_of(const hf_lock_options *options) {
    mix m;
    m.a = hf_test_lock(hf_test_open(hf_test_server_uri(server),
                                    HF_CLIENT_WITH(.timeout_ms = 500)),
                       "a", options);
    m.b = hf_test_lock(hf_test_open(sqlite_uri, NULL), "b", options);
    m.c = hf_test_lock(hf_test_open("memory:mix", NULL), "c", options);
    m.all = HF_MULTI_OF(m.b, m.a, m.c);
    return m;
}

/* What somebody else finds who wants only the two that outlive the server. */
static void others_find(int wanted) {
    hf_client *sqlite = hf_test_open(sqlite_uri, NULL);
    hf_client *memory = hf_test_open("memory:mix", NULL);
    hf_lock *b = hf_test_lock(sqlite, "b", NULL);
    hf_lock *c = hf_test_lock(memory, "c", NULL);
    hf_expect(wanted, hf_lock_try(b, ERR));
    hf_expect(wanted, hf_lock_try(c, ERR));
    hf_test_free(b);
    hf_test_free(c);
    hf_test_close(sqlite);
    hf_test_close(memory);
}

/* The last request may have left before the server was gone. */
static void is_trouble_with_a(int rc) {
    assert_true(rc == HF_EDOWN || rc == HF_EDOUBT);
    assert_int_equal(ERR->code, rc);
    assert_non_null(strstr(ERR->text, "'a'"));
}

static void members_may_be_in_different_stores(void **state) {
    (void)state;
    mix one = mix_of(NULL), other = mix_of(NULL);
    hf_test_thread waiter;
    hf_expect(HF_OK, hf_lock_acquire(one.all, 5000, ERR));
    hf_expect(HF_BUSY, hf_lock_try(other.all, ERR));
    others_find(HF_BUSY);
    assert_int_equal(hf_test_server_ask_number(server, "EXISTS a"), 1);
    hf_test_begin(&waiter, other.all, HF_FOREVER);
    hf_expect(HF_OK, hf_lock_release(one.all, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    others_find(HF_OK);
    assert_int_equal(hf_test_server_ask_number(server, "EXISTS a"), 0);
}

static void
a_store_that_is_down_is_named_and_the_others_are_free(void **state) {
    (void)state;
    mix m = mix_of(NULL);
    hf_test_server_kill(server);
    is_trouble_with_a(hf_lock_try(m.all, ERR));
    others_find(HF_OK);
    hf_test_server_restart(server);
    hf_expect(HF_OK, hf_lock_acquire(m.all, HF_TEST_LONG, ERR));
}

static void a_store_that_dies_takes_the_multi_lock_with_it(void **state) {
    (void)state;
    mix m = mix_of(KEPT_ALIVE);
    hf_expect(HF_OK, hf_lock_try(m.all, ERR));
    assert_false(hf_test_is_told(m.all));
    hf_test_server_kill(server);
    hf_test_eventually(hf_test_is_told(m.all), HF_TEST_LONG);
    assert_false(hf_lock_is_held(m.all));
    assert_true(hf_lock_is_held(m.b));
    others_find(HF_BUSY);
    hf_expect(HF_ELOST, hf_lock_release(m.all, ERR));
    assert_non_null(strstr(ERR->text, "'a'"));
    assert_false(hf_test_is_told(m.all));
    others_find(HF_OK);
}

static void a_store_that_cannot_release_does_not_keep_the_others(void **state) {
    (void)state;
    mix m = mix_of(NULL);
    hf_expect(HF_OK, hf_lock_try(m.all, ERR));
    hf_test_server_kill(server);
    is_trouble_with_a(hf_lock_release(m.all, ERR));
    others_find(HF_OK);
}

/* One server under two addresses: the order of the stores is not the same for
 * "a" and "b".  Each stands first in the fair line of the one that it takes
 * first, so that both have got it before they want the other's. */
static void who_sorts_otherwise_is_not_waited_for_for_ever(void **state) {
    (void)state;
    const hf_lock_options *fair = HF_LOCK_WITH(.kind = HF_FAIR);
    hf_client *tcp = hf_test_open(hf_test_server_uri(server), NULL);
    hf_client *unix_ = hf_test_open(hf_test_server_socket_uri(server), NULL);
    hf_lock *first = HF_MULTI_OF(hf_test_lock(tcp, "a", fair),
                                 hf_test_lock(unix_, "b", fair));
    hf_lock *second = HF_MULTI_OF(hf_test_lock(unix_, "a", fair),
                                  hf_test_lock(tcp, "b", fair));
    assert_string_not_equal(hf_lock_name(first), hf_lock_name(second));
    hf_client *client = hf_test_open(hf_test_server_uri(server), NULL);
    hf_lock *a = hf_test_lock(client, "a", fair);
    hf_lock *b = hf_test_lock(client, "b", fair);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    hf_test_thread both[2];
    hf_test_begin(&both[0], first, HF_FOREVER);
    hf_test_begin(&both[1], second, HF_FOREVER);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    hf_test_eventually(atomic_load(&both[0].answered) ||
                           atomic_load(&both[1].answered),
                       HF_TEST_LONG);
    int winner = atomic_load(&both[0].answered) ? 0 : 1;
    assert_false(atomic_load(&both[1 - winner].answered));
    hf_expect(HF_OK, hf_test_answer(&both[winner]));
    hf_expect(HF_OK, hf_test_end(&both[winner]));
    hf_expect(HF_OK, hf_test_answer(&both[1 - winner]));
    hf_expect(HF_OK, hf_test_end(&both[1 - winner]));
    assert_int_equal(hf_test_holders(client, NULL), 0);
}

static const struct CMUnitTest tests[] = {
    HF_TEST_IN(with_a_server, members_may_be_in_different_stores, without),
    HF_TEST_IN(with_a_server,
               a_store_that_is_down_is_named_and_the_others_are_free, without),
    HF_TEST_IN(with_a_server, a_store_that_dies_takes_the_multi_lock_with_it,
               without),
    HF_TEST_IN(with_a_server,
               a_store_that_cannot_release_does_not_keep_the_others, without),
    HF_TEST_IN(with_a_server, who_sorts_otherwise_is_not_waited_for_for_ever,
               without),
};
HF_SUITE(tests)
