/* SPDX-License-Identifier: MIT
 *
 * log_test.c - what those read who look for the cause of trouble.
 *
 * Entries are kept as lines, "LEVEL text name=value …", so that a test says
 * what it waits for as one looks for it in a log. */
#include "support/dir.h"
#include "support/etcdctl.h"
#include "support/lender.h"
#include "support/mariadb.h"
#include "support/postgres.h"
#include "support/quorum.h"
#include "support/sentinel_stub.h"
#include "support/server.h"
#include "support/stage.h"
#include "support/suite.h"
#include "support/voters.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECRET "Sekrit-7bJq"

/* ---- keeping entries --------------------------------------------------- */

enum { ENTRIES = 4000, LINE = 1000 };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static char (*lines)[LINE]; /* mu */
static int n_lines;         /* mu */

static void keep(void *arg, const hf_log_entry *e) {
    static const char *const levels[] = {"NONE", "ERROR", "WARN", "INFO",
                                         "DEBUG"};
    (void)arg;
    pthread_mutex_lock(&mu);
    if (n_lines < ENTRIES) {
        char *to = lines[n_lines++];
        int n = snprintf(to, LINE, "%s %s", levels[e->level], e->text);
        for (size_t i = 0; i < e->n_fields && n < LINE; i++)
            n += snprintf(to + n, (size_t)(LINE - n), " %s=%s",
                          e->fields[i].name, e->fields[i].value);
    }
    pthread_mutex_unlock(&mu);
}

/* How many entries begin with `what` and have `field` in them. */
static int count(const char *what, const char *field) {
    int n = 0;
    pthread_mutex_lock(&mu);
    for (int i = 0; i < n_lines; i++)
        n += strncmp(lines[i], what, strlen(what)) == 0 &&
             strstr(lines[i], field) != NULL;
    pthread_mutex_unlock(&mu);
    return n;
}

static bool is_told(const char *what, const char *field) {
    return count(what, field) > 0;
}

/* Nothing of it is in any of them. */
static void assert_never(const char *word) {
    pthread_mutex_lock(&mu);
    for (int i = 0; i < n_lines; i++)
        if (strstr(lines[i], word) != NULL)
            fail_msg("there it is: %s", lines[i]);
    pthread_mutex_unlock(&mu);
}

static int begin(void **state) {
    (void)state;
    lines = calloc(ENTRIES, sizeof *lines);
    n_lines = 0;
    return lines == NULL;
}

/* Those of a test that failed are worth reading. */
static int end(void **state) {
    (void)state;
    hf_test_clear();
    if (getenv("HF_TEST_LOG") != NULL)
        for (int i = 0; i < n_lines; i++)
            print_message("%s\n", lines[i]);
    free(lines);
    lines = NULL;
    return 0;
}

#define LOGGED(...) HF_CLIENT_WITH(.on_log = keep, __VA_ARGS__)

static const char *sqlite_uri(void) {
    static char uri[192];
    char path[160];
    hf_test_fresh_path(path, sizeof path, "locks");
    snprintf(uri, sizeof uri, "sqlite:%s.db", path);
    return uri;
}

/* Takes a lock and gives it back. */
static void use(hf_client *c) {
    hf_lock *lock = hf_test_lock(c, "report", NULL);
    hf_expect(HF_OK, hf_lock_acquire(lock, 5000, ERR));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    hf_test_free(lock);
}

/* ---- levels ------------------------------------------------------------ */

static void opening_and_closing_are_told(void **state) {
    (void)state;
    const char *uri = sqlite_uri();
    char field[256];
    hf_client *c = hf_test_open(uri, LOGGED(.lease_ms = 5000));
    use(c);
    hf_test_close(c);
    snprintf(field, sizeof field, "store=%s", uri);
    assert_int_equal(1, count("INFO the store is open", field));
    assert_int_equal(1, count("INFO the store is being closed", field));
    assert_int_equal(2, n_lines);
}

static void every_request_is_told_to_who_wants_it(void **state) {
    (void)state;
    hf_client *c =
        hf_test_open(sqlite_uri(), LOGGED(.log_level = HF_LOG_DEBUG));
    use(c);
    hf_test_close(c);
    assert_int_equal(1, count("DEBUG the store was asked", "verb=attempt"));
    assert_int_equal(1, count("DEBUG the store was asked", "verb=release"));
    assert_int_equal(count("DEBUG the store was asked", ""),
                     count("DEBUG the store was asked", " result=OK ms="));
    assert_true(is_told("DEBUG the store was asked", " name=report"));
}

static void a_quiet_life_is_no_warning(void **state) {
    (void)state;
    hf_client *c = hf_test_open(sqlite_uri(), LOGGED(.log_level = HF_LOG_WARN));
    use(c);
    hf_test_close(c);
    assert_int_equal(0, n_lines);
}

static void a_store_that_does_not_open_is_told(void **state) {
    (void)state;
    hf_client *c;
    hf_expect(HF_EDOWN, hf_open(&c, "redis://127.0.0.1:1",
                                LOGGED(.timeout_ms = 500), ERR));
    assert_true(is_told("WARN the store was not opened", "code=DOWN"));
    assert_true(is_told("WARN a server cannot be reached", "node=redis://"));
}

/* Whoever is between the core and the store must not be noticed. */
static void a_store_is_the_same_with_a_log(void **state) {
    (void)state;
    hf_test_voters v;
    hf_test_voters_start(&v, 3, NULL, "durable=1");
    hf_client *plain = hf_test_open(v.uri, NULL);
    hf_client *logged = hf_test_open(v.uri, LOGGED(.log_level = HF_LOG_DEBUG));
    for (hf_kind kind = 0; kind < HF_KINDS; kind++)
        assert_int_equal(hf_can(plain, kind), hf_can(logged, kind));
    assert_string_equal(hf_store(plain), hf_store(logged));
    hf_test_clear();
    assert_int_equal(0, count("WARN", ""));
    hf_test_voters_stop(&v);
}

/* ---- trouble ----------------------------------------------------------- */

/* A server that dies under a lock, and comes back with its data. */
static void a_server_that_dies_and_comes_back_is_told(void **state) {
    (void)state;
    hf_test_server *server =
        hf_test_server_start(&(hf_test_server_options){.durable = true});
    char node[64];
    snprintf(node, sizeof node, "node=redis://127.0.0.1:%d",
             hf_test_server_port(server));
    hf_client *c = hf_test_open(
        hf_test_server_uri(server),
        LOGGED(.lease_ms = 30000, .renew_ms = 50, .timeout_ms = 500));
    assert_true(is_told("INFO connected", node));
    hf_lock *lock = hf_test_lock(c, "report", NULL);
    hf_expect(HF_OK, hf_lock_acquire(lock, 5000, ERR));
    int connected = count("INFO connected", node);

    hf_test_server_kill(server);
    hf_test_eventually(is_told("WARN a connection broke", node), HF_TEST_LONG);
    hf_test_eventually(is_told("WARN a server cannot be reached", node),
                       HF_TEST_LONG);
    hf_test_eventually(is_told("WARN the store does not answer", "code=D"),
                       HF_TEST_LONG);
    hf_test_eventually(
        is_told("WARN a lock could not be renewed yet", "name=report"),
        HF_TEST_LONG);
    int64_t began = hf_test_now_ms();
    hf_test_server_restart(server);
    hf_test_eventually(count("INFO connected", node) > connected, HF_TEST_LONG);
    hf_test_eventually(is_told("INFO the store does its work again", "ms="),
                       HF_TEST_LONG);
    hf_test_eventually(
        is_told("INFO a lock that was in doubt is renewed", "name=report"),
        HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    /* As a change, not as often as it was asked: at most once a second. */
    int64_t seconds = 2 + (hf_test_now_ms() - began) / 1000;
    assert_true(count("WARN the store does not answer", "") <= seconds);
    int broke = count("WARN", "");
    hf_test_clear();
    assert_int_equal(broke, count("WARN", "")); /* closing is no trouble */
    hf_test_server_stop(server);
}

static void a_wait_hears_of_releases_again(void **state) {
    (void)state;
    hf_test_server *server =
        hf_test_server_start(&(hf_test_server_options){.durable = true});
    hf_client *c = hf_test_open(hf_test_server_uri(server), LOGGED(0));
    hf_client *other = hf_test_open(hf_test_server_uri(server), NULL);
    hf_lock *held = hf_test_lock(other, "report", NULL);
    hf_expect(HF_OK, hf_lock_acquire(held, 5000, ERR));
    hf_test_thread waiter;
    hf_test_begin(&waiter, hf_test_lock(c, "report", NULL), 60000);
    hf_test_eventually(
        strstr(hf_test_server_ask(server, "PUBSUB CHANNELS"), "report"),
        HF_TEST_LONG);
    hf_test_server_ask(server, "CLIENT KILL TYPE pubsub");
    hf_test_eventually(is_told("INFO releases are heard of again", "node="),
                       HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(held, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    hf_test_clear();
    hf_test_server_stop(server);
}

static void another_master_is_told(void **state) {
    (void)state;
    hf_test_server *one = hf_test_server_start(NULL);
    hf_test_server *two = hf_test_server_start(NULL);
    hf_test_stub *stub = hf_test_stub_start();
    char uri[80], node[64];
    hf_test_stub_names(stub, hf_test_server_port(one), 1, 0);
    snprintf(uri, sizeof uri, "redis+sentinel://127.0.0.1:%d/mymaster",
             hf_test_stub_port(stub));
    hf_test_open(uri, LOGGED(0));
    snprintf(node, sizeof node, "node=redis://127.0.0.1:%d/0 epoch=1",
             hf_test_server_port(one));
    assert_true(is_told("INFO the sentinels name the master", node));
    hf_test_stub_names(stub, hf_test_server_port(two), 2, 0);
    hf_test_stub_announces(stub);
    snprintf(node, sizeof node, "node=redis://127.0.0.1:%d/0 before=redis://",
             hf_test_server_port(two));
    hf_test_eventually(is_told("INFO the sentinels name the master", node),
                       HF_TEST_LONG);
    hf_test_clear();
    hf_test_stub_stop(stub);
    hf_test_server_stop(one);
    hf_test_server_stop(two);
}

static void a_lock_that_was_stolen_is_told(void **state) {
    (void)state;
    hf_client *c = hf_test_open("memory:stolen", LOGGED(.renew_ms = 20));
    hf_client *thief = hf_test_open("memory:stolen", NULL);
    hf_lock *lock = hf_test_lock(c, "report", NULL);
    hf_expect(HF_OK, hf_lock_acquire(lock, 5000, ERR));
    hf_expect(HF_OK, hf_lock_force_release(hf_test_lock(thief, "report", NULL),
                                           NULL, ERR));
    hf_test_eventually(is_told("WARN a lock was lost", "name=report token="),
                       HF_TEST_LONG);
    hf_lock_release(lock, ERR);
}

static void a_move_to_the_other_store_is_told(void **state) {
    (void)state;
    hf_test_server *server = hf_test_server_start(NULL);
    hf_client *c;
    hf_expect(HF_OK, hf_escalate_to(
                         &c, hf_test_server_uri(server), sqlite_uri(),
                         LOGGED(.renew_ms = 50, .timeout_ms = 300), NULL, ERR));
    hf_test_adopt(c);
    assert_true(is_told("INFO connected", "side=redis://"));
    hf_lock *lock = hf_test_lock(c, "report", NULL);
    hf_expect(HF_OK, hf_lock_acquire(lock, 5000, ERR));
    hf_test_server_kill(server);
    hf_test_eventually(
        is_told("WARN a lock leaves for the other store", "name=report"),
        HF_TEST_LONG);
    hf_test_eventually(
        is_told("INFO a lock lives in the other store now", "to=sqlite:"),
        HF_TEST_LONG);
    assert_true(is_told("WARN the store does not answer", "side=redis://"));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    hf_test_clear();
    hf_test_server_stop(server);
}

/* ---- every store ------------------------------------------------------- */

static void connects(const char *uri) {
    hf_client *c = hf_test_open(uri, LOGGED(.log_level = HF_LOG_DEBUG));
    use(c);
    hf_test_close(c);
    assert_true(is_told("INFO connected", "node="));
    assert_true(is_told("INFO the store is open", "client="));
    assert_int_equal(1, count("DEBUG the store was asked", "verb=attempt"));
    assert_int_equal(0, count("WARN", ""));
    assert_int_equal(0, count("ERROR", ""));
    hf_test_give_back();
}

static void zookeeper_is_told(void **state) {
    (void)state;
    char uri[256];
    hf_test_quorum_borrow(&hf_test_zookeeper_sort, uri, sizeof uri);
    connects(uri);
}

static void etcd_is_told(void **state) {
    (void)state;
    char uri[256];
    hf_test_quorum_borrow(&hf_test_etcd_sort, uri, sizeof uri);
    connects(uri);
}

/* An operator revokes the lease on which all of a client's entries hang. */
static void a_session_that_is_over_is_told(void **state) {
    (void)state;
    char uri[256], key[256];
    hf_test_quorum_borrow(&hf_test_etcd_sort, uri, sizeof uri);
    const char *at = strstr(uri, "127.0.0.1:"), *root = strrchr(uri, '/') + 1;
    assert_non_null(at);
    int port = atoi(at + strlen("127.0.0.1:"));
    hf_lock *lock = hf_test_lock(hf_test_open(uri, LOGGED(0)), "report", NULL);
    hf_expect(HF_OK, hf_lock_acquire(lock, HF_TEST_LONG, ERR));
    snprintf(key, sizeof key, "%s/report/", root);
    snprintf(key, sizeof key, "%s", hf_test_etcd_keys(port, key));
    key[strcspn(key, "\n")] = '\0';
    assert_non_null(
        strstr(hf_test_etcdctl(
                   port, "lease revoke %llx",
                   (unsigned long long)hf_test_etcd_fact(port, key, "Lease")),
               "revoked"));
    hf_test_eventually(is_told("WARN the session is over", "generation=1"),
                       HF_TEST_LONG);
    hf_test_eventually(is_told("WARN a lock was lost", "name=report"),
                       HF_TEST_LONG);
    hf_lock_release(lock, ERR);
    hf_test_clear();
    hf_test_give_back();
}

static void postgres_is_told(void **state) {
    (void)state;
    char uri[256];
    hf_test_postgres_borrow_patiently(uri, sizeof uri);
    connects(uri);
}

static void mariadb_is_told(void **state) {
    (void)state;
    char uri[256];
    hf_test_mariadb_borrow_patiently(uri, sizeof uri);
    connects(uri);
}

/* A store that keeps no records must not look as if it did. */
static void what_a_store_lacks_it_lacks_with_a_log(void **state) {
    (void)state;
    char uri[256], table[300];
    hf_test_mariadb_borrow_patiently(uri, sizeof uri);
    snprintf(table, sizeof table, "%s%chf_compat=shedlock", uri,
             strchr(uri, '?') != NULL ? '&' : '?');
    hf_client *c = hf_test_open(table, LOGGED(.log_level = HF_LOG_DEBUG));
    hf_lock *lock;
    hf_expect(HF_ECANNOT, hf_lock_new(&lock, c, "x",
                                      HF_LOCK_WITH(.flags = HF_DEADLOCK), ERR));
    hf_test_close(c);
    hf_test_give_back();
}

/* ---- secrets ----------------------------------------------------------- */

static void a_password_is_in_no_entry(void **state) {
    (void)state;
    hf_test_server *server = hf_test_server_start(
        &(hf_test_server_options){.durable = true, .password = SECRET});
    hf_client *c = hf_test_open(
        hf_test_server_uri(server),
        LOGGED(.log_level = HF_LOG_DEBUG, .renew_ms = 50, .timeout_ms = 300));
    hf_lock *lock = hf_test_lock(c, "report", NULL);
    hf_expect(HF_OK, hf_lock_acquire(lock, 5000, ERR));
    hf_test_server_kill(server);
    hf_test_eventually(is_told("WARN the store does not answer", ""),
                       HF_TEST_LONG);
    hf_test_server_restart(server);
    hf_test_eventually(is_told("INFO the store does its work again", ""),
                       HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    hf_test_clear();
    assert_true(n_lines > 5);
    assert_never(SECRET);
    hf_test_server_stop(server);
}

/* Refused, or not even there: the words of the client libraries, too. */
static void a_password_that_is_refused_is_in_no_entry(void **state) {
    static const char *const away[] = {
        "redis://u:" SECRET "@127.0.0.1:1",
        "rediss://u:" SECRET "@127.0.0.1:1",
        "redis+unix:///nowhere?password=" SECRET,
        "redis+cluster://u:" SECRET "@127.0.0.1:1,127.0.0.1:2",
        "redis+sentinel://u:" SECRET
        "@127.0.0.1:1/mymaster?sentinel_password=" SECRET,
        "redlock://u:" SECRET "@127.0.0.1:1,127.0.0.1:2,127.0.0.1:3",
        "zk://u:" SECRET "@127.0.0.1:1",
        "etcd://u:" SECRET "@127.0.0.1:1",
        "postgresql://u:" SECRET "@127.0.0.1:1/x",
        "postgresql://u@127.0.0.1:1/x?password=" SECRET,
        "mariadb://u:" SECRET "@127.0.0.1:1/x",
        "redis://u:" SECRET "@127.0.0.1:1?no_such=1",
        "nosuch://u:" SECRET "@127.0.0.1:1",
    };
    (void)state;
    hf_test_server *server =
        hf_test_server_start(&(hf_test_server_options){.password = "another"});
    char wrong[80];
    hf_client *c;
    snprintf(wrong, sizeof wrong, "redis://:" SECRET "@127.0.0.1:%d",
             hf_test_server_port(server));
    hf_expect(HF_EAUTH,
              hf_open(&c, wrong, LOGGED(.log_level = HF_LOG_DEBUG), ERR));
    assert_true(is_told("ERROR the store was not opened", "code=AUTH"));
    for (size_t i = 0; i < sizeof away / sizeof *away; i++)
        assert_true(
            hf_open(&c, away[i],
                    LOGGED(.log_level = HF_LOG_DEBUG, .timeout_ms = 200),
                    ERR) < 0);
    assert_true(count("WARN the store was not opened", "code=DOWN") > 8);
    assert_never(SECRET);
    hf_test_server_stop(server);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
static const struct CMUnitTest tests[] = {
    TEST(opening_and_closing_are_told),
    TEST(every_request_is_told_to_who_wants_it),
    TEST(a_quiet_life_is_no_warning),
    TEST(a_store_that_does_not_open_is_told),
    TEST(a_store_is_the_same_with_a_log),
    TEST(a_server_that_dies_and_comes_back_is_told),
    TEST(a_wait_hears_of_releases_again),
    TEST(another_master_is_told),
    TEST(a_lock_that_was_stolen_is_told),
    TEST(a_move_to_the_other_store_is_told),
    TEST(zookeeper_is_told),
    TEST(etcd_is_told),
    TEST(a_session_that_is_over_is_told),
    TEST(postgres_is_told),
    TEST(mariadb_is_told),
    TEST(what_a_store_lacks_it_lacks_with_a_log),
    TEST(a_password_is_in_no_entry),
    TEST(a_password_that_is_refused_is_in_no_entry),
};
HF_SUITE(tests)
