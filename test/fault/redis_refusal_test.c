/* SPDX-License-Identifier: MIT
 *
 * redis_refusal_test.c - the server answers, and the answer is no.
 *
 * Each kind of refusal has a code of its own, because each has another cure;
 * and no text may contain a secret. */
#include "support/dir.h"
#include "support/server.h"
#include "support/stage.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET "s3cr3t-Pa55"

static hf_test_server *server;

static void with_a_server(void **state) {
    server = hf_test_server_start(NULL);
    hf_test_body(state);
}

static void with_a_password(void **state) {
    server =
        hf_test_server_start(&(hf_test_server_options){.password = SECRET});
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
    hf_test_server_stop(server);
    server = NULL;
    return 0;
}

static hf_client *client_of_its_own(void) {
    return hf_test_open(hf_test_server_uri(server), NULL);
}

/* Opening fails with this code, at once, and nothing leaks out. */
static void opening_is(int code, const char *format, const char *credentials,
                       int port) {
    char uri[256];
    hf_client *client = (hf_client *)uri; /* must become NULL */
    snprintf(uri, sizeof uri, "%s%s127.0.0.1:%d", format, credentials, port);
    int64_t began = hf_test_now_ms();
    hf_expect(code, hf_open(&client, uri, NULL, ERR));
    assert_in_range(hf_test_now_ms() - began, 0, 10000);
    assert_null(client);
    assert_null(strstr(ERR->text, SECRET));
    assert_null(strstr(ERR->text, "wrong-word"));
}

/* ---- who are you ------------------------------------------------------- */

static void a_wrong_password_is_refused_at_once(void **state) {
    (void)state;
    int port = hf_test_server_port(server);
    opening_is(HF_EAUTH, "redis://", ":wrong-word@", port);
    opening_is(HF_EAUTH, "redis://", "default:wrong-word@", port);
    opening_is(HF_EAUTH, "redis://", "nobody:" SECRET "@", port);
    opening_is(HF_EAUTH, "redis://", "", port);
    hf_expect(HF_OK,
              hf_lock_try(hf_test_lock(client_of_its_own(), "x", NULL), ERR));
}

/* The password is changed under a client: it is told, not kept waiting. */
static void a_password_that_no_longer_fits_ends_the_wait(void **state) {
    (void)state;
    char uri[128];
    hf_test_server_ask(server, "ACL SETUSER me on >" SECRET " ~* &* +@all");
    snprintf(uri, sizeof uri, "redis://me:" SECRET "@127.0.0.1:%d",
             hf_test_server_port(server));
    hf_lock *a = hf_test_lock(hf_test_open(uri, NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_test_server_ask(server, "ACL SETUSER me resetpass >another-word");
    hf_test_server_ask(server, "CLIENT KILL USER me");
    hf_test_eventually(hf_lock_try(a, ERR) == HF_EAUTH, HF_TEST_LONG);
    int64_t began = hf_test_now_ms();
    hf_expect(HF_EAUTH, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    assert_in_range(hf_test_now_ms() - began, 0, 10000);
    assert_null(strstr(ERR->text, SECRET));
}

static int first_refusal(const char *user) {
    char uri[128];
    hf_client *client;
    hf_lock *lock;
    snprintf(uri, sizeof uri, "redis://%s:pw@127.0.0.1:%d", user,
             hf_test_server_port(server));
    int result = hf_open(&client, uri, NULL, ERR);
    if (result != HF_OK)
        return result;
    hf_expect(HF_OK, hf_lock_new(&lock, client, "x", NULL, ERR));
    result = hf_lock_try(lock, ERR);
    hf_lock_free(lock);
    hf_close(client);
    return result;
}

/* The last one is refused inside the script, where Redis words it otherwise. */
static void a_user_without_the_right_is_told_so(void **state) {
    (void)state;
    static const char *const users[] = {
        "noscripts on >pw ~* &* +@all -eval -evalsha -script",
        "nokeys on >pw resetkeys ~other &* +@all",
        "nowrites on >pw ~* &* +@all -hset -hincrby -set -hsetnx",
    };
    for (size_t i = 0; i < sizeof users / sizeof users[0]; i++) {
        char user[16];
        sscanf(users[i], "%15s", user);
        assert_string_equal(
            hf_test_server_ask(server, "ACL SETUSER %s", users[i]), "OK");
        hf_expect(HF_EFORBIDDEN, first_refusal(user));
    }
}

/* ---- is it you --------------------------------------------------------- */

static void start_tls(bool true_name) {
    const hf_test_tls *tls = hf_test_tls_files();
    server = hf_test_server_start(&(hf_test_server_options){
        .tls_cert = true_name ? tls->cert : tls->other_cert});
}

static int open_tls(const char *more, int port) {
    char uri[512];
    hf_client *client;
    snprintf(uri, sizeof uri, "rediss://127.0.0.1:%d%s", port, more);
    int result = hf_open(&client, uri, NULL, ERR);
    if (result == HF_OK)
        hf_test_adopt(client);
    return result;
}

static const char *trusting(const char *ca) {
    static char more[256];
    snprintf(more, sizeof more, "?tls_ca=%s", ca);
    return more;
}

static void a_good_certificate_is_accepted(void **state) {
    (void)state;
    char uri[512];
    start_tls(true);
    snprintf(uri, sizeof uri, "rediss://127.0.0.1:%d%s",
             hf_test_server_tls_port(server),
             trusting(hf_test_tls_files()->ca));
    hf_test_thread waiter;
    hf_lock *a = hf_test_lock(hf_test_open(uri, NULL), "x", NULL);
    hf_lock *b = hf_test_lock(hf_test_open(uri, NULL), "x", NULL);
    for (int i = 0; i < 20; i++) {
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        hf_test_begin(&waiter, b, HF_FOREVER);
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        hf_expect(HF_OK, hf_test_answer(&waiter));
        hf_expect(HF_OK, hf_test_end(&waiter));
    }
}

static void a_certificate_of_a_stranger_is_refused(void **state) {
    (void)state;
    start_tls(true);
    int port = hf_test_server_tls_port(server);
    hf_expect(HF_ETLS, open_tls(trusting(hf_test_tls_files()->stranger), port));
    hf_expect(HF_ETLS, open_tls("", port)); /* not the system's either */
    hf_expect(HF_OK, open_tls("?tls_verify=none", port));
}

static void a_certificate_that_has_ended_is_refused(void **state) {
    (void)state;
    const hf_test_tls *tls = hf_test_tls_files();
    server = hf_test_server_start(
        &(hf_test_server_options){.tls_cert = tls->ended_cert});
    int port = hf_test_server_tls_port(server);
    hf_expect(HF_ETLS, open_tls(trusting(tls->ca), port));
    hf_expect(HF_OK, open_tls("?tls_verify=none", port));
}

static void a_certificate_for_another_host_is_refused(void **state) {
    (void)state;
    char more[400];
    start_tls(false);
    int port = hf_test_server_tls_port(server);
    const char *ca = hf_test_tls_files()->ca;
    hf_expect(HF_ETLS, open_tls(trusting(ca), port));
    snprintf(more, sizeof more, "?tls_ca=%s&tls_verify=ca", ca);
    hf_expect(HF_OK, open_tls(more, port));
    snprintf(more, sizeof more, "?tls_ca=%s&tls_server_name=elsewhere.example",
             ca);
    hf_expect(HF_OK, open_tls(more, port));
}

static void a_server_without_tls_is_not_talked_to_in_the_clear(void **state) {
    (void)state;
    start_tls(true);
    const char *ca = hf_test_tls_files()->ca;
    hf_expect(HF_ETLS, open_tls(trusting(ca), hf_test_server_port(server)));
}

static void a_missing_authority_file_is_named(void **state) {
    (void)state;
    start_tls(true);
    assert_true(open_tls("?tls_ca=/nowhere/ca.pem",
                         hf_test_server_tls_port(server)) < 0);
    assert_non_null(strstr(ERR->text, "/nowhere/ca.pem"));
}

/* ---- not now ----------------------------------------------------------- */

static void nobody_there_is_down(void **state) {
    (void)state;
    int port = hf_test_server_port(server);
    hf_test_server_kill(server);
    opening_is(HF_EDOWN, "redis://", ":" SECRET "@", port);
}

/* A peer's release script writes before it deletes, and so could not release
 * when memory was full. */
static void a_full_server_grants_nothing_but_releases(void **state) {
    (void)state;
    hf_client *client = client_of_its_own();
    hf_lock *a = hf_test_lock(
        client, "x", HF_LOCK_WITH(.watchdog_ms = 1500, .renew_ms = 100));
    hf_lock *b = hf_test_lock(client, "y", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_string_equal(hf_test_server_ask(server, "CONFIG SET maxmemory 1"),
                        "OK");
    hf_expect(HF_EFULL, hf_lock_try(b, ERR));
    hf_expect(HF_EFULL, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    hf_test_throughout(hf_lock_is_held(a), 1700); /* renewal works, too */
    hf_expect(HF_OK, hf_lock_extend(a, 1500, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    assert_int_equal(hf_test_server_ask_number(server, "EXISTS x"), 0);
    hf_test_server_ask(server, "CONFIG SET maxmemory 0");
    hf_expect(HF_OK, hf_lock_try(b, ERR));
}

/* Its snapshots go to a folder that is gone, as on a disk that is full: then
 * it refuses every write, also those that renew and release. */
static void without_a_place_to_save(bool on) {
    char path[200];
    snprintf(path, sizeof path, "%.150s/gone", hf_test_dir());
    if (on) {
        assert_int_equal(mkdir(path, 0700), 0);
        hf_test_server_ask(server, "SET some thing");
        hf_test_server_ask(server, "CONFIG SET save \"3600 1\"");
        assert_string_equal(
            hf_test_server_ask(server, "CONFIG SET dir %s", path), "OK");
        assert_int_equal(rmdir(path), 0);
        hf_test_server_ask(server, "BGSAVE");
        hf_test_eventually(strncmp(hf_test_server_ask(server, "SET more x"),
                                   "-MISCONF", 8) == 0,
                           HF_TEST_LONG);
    } else {
        hf_test_server_ask(server, "CONFIG SET stop-writes-on-bgsave-error no");
    }
}

static void with_settings_to_change(void **state) {
    const char *const args[] = {"--enable-protected-configs", "yes", NULL};
    server = hf_test_server_start(&(hf_test_server_options){.args = args});
    hf_test_body(state);
}

static void a_server_that_cannot_save_grants_nothing(void **state) {
    (void)state;
    hf_client *client = client_of_its_own();
    hf_lock *a = hf_test_lock(
        client, "x", HF_LOCK_WITH(.watchdog_ms = 1500, .renew_ms = 100));
    hf_lock *b = hf_test_lock(client, "y", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    without_a_place_to_save(true);
    hf_expect(HF_EFULL, hf_lock_try(b, ERR));
    assert_non_null(strstr(ERR->text, "disk"));
    hf_test_eventually(!hf_lock_is_held(a), HF_TEST_LONG);
    assert_true(hf_lock_release(a, ERR) < 0);
    without_a_place_to_save(false);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
}

static void a_replica_is_read_only_until_it_is_promoted(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *a = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_test_server_ask(server, "REPLICAOF 127.0.0.1 1");
    hf_expect(HF_EREAD_ONLY, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, a, HF_FOREVER);
    assert_false(atomic_load(&waiter.answered));
    hf_test_server_ask(server, "REPLICAOF NO ONE");
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static void a_replica_that_lost_its_master_is_down(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *a = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_test_server_ask(server, "CONFIG SET replica-serve-stale-data no");
    hf_test_server_ask(server, "REPLICAOF 127.0.0.1 1");
    assert_int_equal(
        strncmp(hf_test_server_ask(server, "GET x"), "-MASTERDOWN", 11), 0);
    hf_expect(HF_EDOWN, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, a, HF_FOREVER);
    assert_false(atomic_load(&waiter.answered));
    hf_test_server_ask(server, "REPLICAOF NO ONE");
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

/* Reading a thousand keys at a millisecond each is a long start. */
static void a_server_that_loads_is_waited_for(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_test_server_ask(server, "DEBUG POPULATE 1500 key 100");
    hf_test_server_ask(server, "CONFIG SET key-load-delay 1000");
    hf_test_server_ask(server,
                       "CONFIG SET loading-process-events-interval-bytes 1024");
    hf_test_server_tell(server, "DEBUG RELOAD");
    hf_test_eventually(
        strncmp(hf_test_server_ask(server, "GET x"), "-LOADING", 8) == 0,
        HF_TEST_LONG);
    hf_expect(HF_ESTARTING, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

static void a_crowded_server_says_so(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_server_ask(server, "CONFIG SET maxclients 1");
    opening_is(HF_ECROWDED, "redis://", "", hf_test_server_port(server));
    assert_true(hf_lock_is_held(a)); /* who is in stays in */
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

/* A script of somebody else's does not end. */
static void a_busy_server_is_waited_for(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_test_server_ask(server, "CONFIG SET busy-reply-threshold 50");
    hf_test_server_tell(server,
                        "EVAL \"local t = redis.call('TIME')[1] + 2 "
                        "while redis.call('TIME')[1] + 0 < t do end\" 0");
    hf_test_eventually(
        strncmp(hf_test_server_ask(server, "GET x"), "-BUSY", 5) == 0,
        HF_TEST_LONG);
    assert_true(hf_lock_try(a, ERR) < 0);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

/* Somebody keeps something else under the lock's name. */
static void a_name_that_is_no_lock_is_left_alone(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(client_of_its_own(), "x", NULL);
    hf_test_server_ask(server, "SET x precious");
    assert_true(hf_lock_try(a, ERR) != HF_OK);
    assert_false(hf_lock_is_held(a));
    assert_string_equal(hf_test_server_ask(server, "GET x"), "precious");
}

#define TEST(name)        HF_TEST_IN(with_a_server, name, teardown)
#define TEST_SECRET(name) HF_TEST_IN(with_a_password, name, teardown)
#define TEST_TLS(name)    cmocka_unit_test_teardown(name, teardown)

static const struct CMUnitTest tests[] = {
    TEST_SECRET(a_wrong_password_is_refused_at_once),
    TEST(a_password_that_no_longer_fits_ends_the_wait),
    TEST(a_user_without_the_right_is_told_so),
    TEST_TLS(a_good_certificate_is_accepted),
    TEST_TLS(a_certificate_of_a_stranger_is_refused),
    TEST_TLS(a_certificate_that_has_ended_is_refused),
    TEST_TLS(a_certificate_for_another_host_is_refused),
    TEST_TLS(a_server_without_tls_is_not_talked_to_in_the_clear),
    TEST_TLS(a_missing_authority_file_is_named),
    TEST(nobody_there_is_down),
    TEST(a_full_server_grants_nothing_but_releases),
    HF_TEST_IN(with_settings_to_change,
               a_server_that_cannot_save_grants_nothing, teardown),
    TEST(a_replica_is_read_only_until_it_is_promoted),
    TEST(a_replica_that_lost_its_master_is_down),
    TEST(a_server_that_loads_is_waited_for),
    TEST(a_crowded_server_says_so),
    TEST(a_busy_server_is_waited_for),
    TEST(a_name_that_is_no_lock_is_left_alone),
};
HF_SUITE(tests)
