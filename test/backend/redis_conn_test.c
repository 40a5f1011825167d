/* SPDX-License-Identifier: MIT
 *
 * redis_conn_test.c - the engine under the verbs: many threads on few
 * connections, and what becomes of their requests when one of them leaves, the
 * server is silent or the connection breaks.
 *
 * Requests are ECHO where only the answer counts (an answer that is not one's
 * own is seen at once) and INCR where it counts whether it was carried out. */
#include "support/dir.h"
#include "support/proxy.h"
#include "support/server.h"
#include "support/stage.h"
#include "support/suite.h"

#include "backend/redis/keys.h"
#include "backend/redis/redis.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern const hf_backend_ops hf__redis_ops;

static hf_test_server *server;
static hf_test_proxy *proxy;
static hf_backend *be;
static atomic_int woken, woken_all, unreleased;

static void on_woken(void *core, hf_kind kind, const char *name,
                     uint64_t owner) {
    (void)core, (void)owner;
    if (kind == HF_LOCK)
        atomic_fetch_add(name ? &woken : &woken_all, 1);
}

static void on_shaken(void *core, hf_kind kind, const char *name) {
    (void)core, (void)kind, (void)name;
}

static void on_unreleased(void *core, const char *name, int code) {
    (void)core, (void)name;
    atomic_store(&unreleased, code);
}

static hf_host host = {
    .identity = {.client = "11111111-2222-4333-8444-555555555555",
                 .host = "here",
                 .program = "a test",
                 .why = "50 %\nof the time",
                 .pid = 42},
    .timeout_ms = 3000,
    .woken = on_woken,
    .shaken = on_shaken,
    .unreleased = on_unreleased,
};

static hf_time soon(void) {
    return hf__after_ms(HF_TEST_LONG);
}

static int open_uri(const char *text) {
    hf_uri *uri = NULL;
    int rc;

    assert_null(be);
    hf_expect(HF_OK, hf_uri_parse(&uri, text, ERR));
    rc = hf__redis_ops.open(&be, uri, &host, soon(), ERR);
    hf_uri_free(uri);
    return rc;
}

static void close_it(void) {
    if (be)
        hf__redis_ops.close(be, false);
    be = NULL;
}

static void reset(void) {
    host.timeout_ms = 3000;
    host.spin_us = 0;
    woken = woken_all = unreleased = 0;
}

static void with_a_server(void **state) {
    reset();
    server = hf_test_server_start(NULL);
    hf_expect(HF_OK, open_uri(hf_test_server_uri(server)));
    hf_test_body(state);
}

static void with_a_bare_server(void **state) {
    reset();
    server = hf_test_server_start(NULL);
    hf_test_body(state);
}

static void with_a_proxy(void **state) {
    char uri[64];

    reset();
    host.timeout_ms = 1000;
    server = hf_test_server_start(NULL);
    proxy = hf_test_proxy_start(hf_test_server_port(server));
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d",
             hf_test_proxy_port(proxy));
    hf_expect(HF_OK, open_uri(uri));
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    close_it();
    hf_test_clear();
    hf_test_proxy_stop(proxy);
    hf_test_server_stop(server);
    proxy = NULL;
    server = NULL;
    return 0;
}

/* ---- short words for requests ------------------------------------------ */

static hf_node *node(void) {
    hf_topology *t = ((hf_redis *)be)->topology;

    return t->ops->master(t, 0);
}

/* Echoes a text; the answer must be that text.  The result. */
static int echo(const char *text, int ms, hf_error *err) {
    redisReply *reply;
    int rc = hf__node_ask(node(), 2, (const char *const[]){"ECHO", text},
                          &reply, hf__after_ms(ms), err);

    if (rc != HF_OK)
        return rc;
    if (reply->type != REDIS_REPLY_STRING || strcmp(reply->str, text) != 0)
        rc = HF_BUSY; /* somebody else's answer */
    freeReplyObject(reply);
    return rc;
}

static int incr(const char *key, int ms, hf_error *err) {
    redisReply *reply;
    int rc = hf__node_ask(node(), 2, (const char *const[]){"INCR", key}, &reply,
                          hf__after_ms(ms), err);

    if (rc == HF_OK)
        freeReplyObject(reply);
    return rc;
}

static hf_claim claim(const char *name, uint64_t owner) {
    return (hf_claim){.name = name, .owner = owner, .lease_ms = 30000};
}

static int attempt(hf_claim *c) {
    return hf__redis_ops.attempt(be, c, false, soon(), ERR);
}

static int release(hf_claim *c, hf_how how) {
    return hf__redis_ops.release(be, c, how, NULL, soon(), ERR);
}

static bool exists(const char *key) {
    return hf_test_server_ask_number(server, "EXISTS %s", key) == 1;
}

/* ---- threads that ask -------------------------------------------------- */

typedef struct asker {
    pthread_t thread;
    void *(*run)(void *);
    int number, ms;
    char key[32];
    atomic_bool done;
    int result, wrong;
    int64_t took_ms;
    hf_error err;
} asker;

static void *incr_once(void *arg) {
    asker *a = arg;
    int64_t began = hf_test_now_ms();

    a->result = incr(a->key, a->ms, &a->err);
    a->took_ms = hf_test_now_ms() - began;
    atomic_store(&a->done, true);
    return NULL;
}

static void start(asker *a, void *(*run)(void *), int number, int ms) {
    *a = (asker){.number = number, .ms = ms};
    snprintf(a->key, sizeof a->key, "key-%d", number);
    assert_int_equal(pthread_create(&a->thread, NULL, run, a), 0);
}

static void join_all(asker *askers, int n) {
    for (int i = 0; i < n; i++)
        pthread_join(askers[i].thread, NULL);
}

/* ---- reaching the server ----------------------------------------------- */

static void a_socket_does_as_well_as_a_port(void **state) {
    (void)state;
    hf_expect(HF_OK, open_uri(hf_test_server_socket_uri(server)));
    hf_expect(HF_OK, echo("hello", HF_TEST_LONG, ERR));
    assert_non_null(strstr(hf__redis_ops.where(be), "redis+unix://"));
}

static void a_name_of_a_host_is_resolved(void **state) {
    (void)state;
    char uri[64];
    snprintf(uri, sizeof uri, "redis://localhost:%d",
             hf_test_server_port(server));
    hf_expect(HF_OK, open_uri(uri));
    hf_expect(HF_OK, echo("hello", HF_TEST_LONG, ERR));
    close_it();
    hf_expect(HF_EDOWN, open_uri("redis://no-such-host.invalid"));
    assert_non_null(strstr(ERR->text, "no-such-host.invalid"));
}

static void the_database_of_the_address_is_used(void **state) {
    (void)state;
    char uri[64];
    snprintf(uri, sizeof uri, "%s/3", hf_test_server_uri(server));
    hf_expect(HF_OK, open_uri(uri));
    hf_expect(HF_OK, incr("there", HF_TEST_LONG, ERR));
    assert_false(exists("there"));
    hf_test_server_ask(server, "SWAPDB 0 3");
    assert_true(exists("there"));
}

static void a_database_that_does_not_exist_is_refused(void **state) {
    (void)state;
    char uri[64];
    snprintf(uri, sizeof uri, "%s/99", hf_test_server_uri(server));
    hf_expect(HF_EURI, open_uri(uri));
}

/* The password comes from the address, a file or the environment. */
static void a_user_with_a_password_gets_in(void **state) {
    (void)state;
    char uri[256], path[160];
    FILE *f;
    hf_test_server_ask(server, "ACL SETUSER joe on >secret-word ~* &* +@all");
    int port = hf_test_server_port(server);
    snprintf(uri, sizeof uri, "redis://joe:secret-word@127.0.0.1:%d", port);
    hf_expect(HF_OK, open_uri(uri));
    assert_null(strstr(hf__redis_ops.where(be), "secret-word"));
    close_it();

    hf_test_fresh_path(path, sizeof path, "password");
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("secret-word\n", f);
    fclose(f);
    chmod(path, 0600);
    snprintf(uri, sizeof uri, "redis://joe@127.0.0.1:%d?password_file=%s", port,
             path);
    hf_expect(HF_OK, open_uri(uri));
    close_it();
    chmod(path, 0644);
    hf_expect(HF_EAUTH, open_uri(uri));
    assert_non_null(strstr(ERR->text, path));

    snprintf(uri, sizeof uri, "redis://joe@127.0.0.1:%d", port);
    setenv("REDISCLI_AUTH", "secret-word", 1);
    int rc = open_uri(uri);
    unsetenv("REDISCLI_AUTH");
    hf_expect(HF_OK, rc);
    close_it();
    hf_expect(HF_EAUTH, open_uri(uri));
}

/* A client that may not load scripts sends them whole. */
static void a_user_who_may_not_load_scripts_can_lock(void **state) {
    (void)state;
    char uri[128];
    hf_test_server_ask(server, "ACL SETUSER joe on >word ~* &* +@all -script");
    snprintf(uri, sizeof uri, "redis://joe:word@127.0.0.1:%d",
             hf_test_server_port(server));
    hf_expect(HF_OK, open_uri(uri));
    hf_claim c = claim("x", 1);
    hf_expect(HF_OK, attempt(&c));
    hf_expect(HF_OK, release(&c, HF_RELEASE));
}

/* ---- answers ----------------------------------------------------------- */

static void *echo_many(void *arg) {
    asker *a = arg;

    for (int i = 0; i < 300; i++) {
        char text[64];
        int rc;

        snprintf(text, sizeof text, "%d says %d", a->number, i);
        rc = echo(text, a->ms, &a->err);
        if (rc != HF_OK)
            a->result = rc;
        if (rc == HF_BUSY)
            a->wrong++;
    }
    return NULL;
}

static void everybody_gets_the_answer_to_his_own_question(void **state) {
    (void)state;
    enum { N = 64 };
    asker askers[N];
    for (int i = 0; i < N; i++)
        start(&askers[i], echo_many, i, HF_TEST_LONG);
    join_all(askers, N);
    for (int i = 0; i < N; i++)
        assert_int_equal(askers[i].result, HF_OK);
}

static void a_request_larger_than_any_buffer_gets_through(void **state) {
    (void)state;
    size_t size = 20 << 20;
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'x', size);
    text[size] = '\0';
    int rc = echo(text, HF_TEST_LONG, ERR);
    free(text);
    hf_expect(HF_OK, rc);
}

/* OpenSSL wants one thread at a time on a connection. */
static void many_threads_share_an_encrypted_connection(void **state) {
    (void)state;
    enum { N = 16 };
    asker askers[N];
    char uri[256];
    reset();
    const hf_test_tls *tls = hf_test_tls_files();
    server =
        hf_test_server_start(&(hf_test_server_options){.tls_cert = tls->cert});
    snprintf(uri, sizeof uri, "rediss://127.0.0.1:%d?tls_ca=%s",
             hf_test_server_tls_port(server), tls->ca);
    hf_expect(HF_OK, open_uri(uri));
    for (int i = 0; i < N; i++)
        start(&askers[i], echo_many, i, HF_TEST_LONG);
    join_all(askers, N);
    for (int i = 0; i < N; i++)
        assert_int_equal(askers[i].result, HF_OK);
    a_request_larger_than_any_buffer_gets_through(state);
}

static void a_lone_caller_may_spin_for_its_answer(void **state) {
    (void)state;
    host.spin_us = 200;
    hf_expect(HF_OK, open_uri(hf_test_server_uri(server)));
    asker one;
    start(&one, echo_many, 0, HF_TEST_LONG);
    join_all(&one, 1);
    assert_int_equal(one.result, HF_OK);
}

/* Cut off at any moment, one is told so; one never gets another's answer. */
static void no_cut_mixes_answers_up(void **state) {
    (void)state;
    enum { N = 16 };
    asker askers[N];
    for (int i = 0; i < N; i++)
        start(&askers[i], echo_many, i, HF_TEST_LONG);
    for (int i = 0; i < 20; i++) {
        hf_test_proxy_cut(proxy);
        hf_test_breathe();
    }
    join_all(askers, N);
    for (int i = 0; i < N; i++)
        assert_int_equal(askers[i].wrong, 0);
    hf_expect(HF_OK, echo("still there", HF_TEST_LONG, ERR));
}

/* Impatient ones, on a way that is slower than they bear: their late answers
 * must not be taken for those of the next. */
static void a_late_answer_is_thrown_away(void **state) {
    (void)state;
    enum { N = 16 };
    asker askers[N];
    hf_test_proxy_delay(proxy, HF_TO_CLIENT, 20);
    for (int i = 0; i < N; i++)
        start(&askers[i], echo_many, i, 5 + 2 * i);
    join_all(askers, N);
    hf_test_proxy_delay(proxy, HF_TO_CLIENT, 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(askers[i].wrong, 0);
    hf_expect(HF_OK, echo("in time", HF_TEST_LONG, ERR));
}

/* ---- those who leave --------------------------------------------------- */

/* The first to come reads for the others; the impatient one leaves in time,
 * though it is not the one who reads. */
static void who_only_follows_leaves_at_its_own_deadline(void **state) {
    (void)state;
    asker reader, follower;
    hf_test_proxy_stall(proxy, HF_TO_CLIENT, true);
    start(&reader, incr_once, 1, 900);
    hf_test_eventually(exists("key-1"), HF_TEST_LONG);
    start(&follower, incr_once, 2, 50);
    join_all(&follower, 1);
    hf_expect(HF_EDOUBT, follower.result);
    assert_false(atomic_load(&reader.done));
    hf_test_proxy_stall(proxy, HF_TO_CLIENT, false);
    join_all(&reader, 1);
    hf_expect(HF_OK, reader.result);
}

/* Likewise the reader: those who stay are still served. */
static void who_reads_and_leaves_passes_the_role_on(void **state) {
    (void)state;
    asker reader, followers[8];
    hf_test_proxy_stall(proxy, HF_TO_CLIENT, true);
    start(&reader, incr_once, 0, 100);
    hf_test_eventually(exists("key-0"), HF_TEST_LONG);
    for (int i = 0; i < 8; i++)
        start(&followers[i], incr_once, 1 + i, 900);
    join_all(&reader, 1);
    hf_expect(HF_EDOUBT, reader.result);
    hf_test_proxy_stall(proxy, HF_TO_CLIENT, false);
    join_all(followers, 8);
    for (int i = 0; i < 8; i++)
        hf_expect(HF_OK, followers[i].result);
}

/* With the window full a request waits here.  If its time is over before it
 * was sent, it is certainly not done - and must not be sent afterwards. */
static void what_was_held_back_is_not_done(void **state) {
    (void)state;
    enum { N = 32 };
    asker askers[N];
    int doubts = 0;
    hf_test_proxy_stall(proxy, HF_TO_CLIENT, true);
    for (int i = 0; i < N; i++)
        start(&askers[i], incr_once, i, 200);
    join_all(askers, N);
    hf_test_proxy_stall(proxy, HF_TO_CLIENT, false);
    hf_expect(HF_OK, echo("after all that", HF_TEST_LONG, ERR));
    for (int i = 0; i < N; i++) {
        doubts += askers[i].result == HF_EDOUBT;
        if (askers[i].result == HF_EDOUBT)
            continue;
        hf_expect(HF_EDOWN, askers[i].result);
        assert_false(exists(askers[i].key));
    }
    assert_in_range(doubts, 1, N - 1);
}

/* A silent server is given up after timeout_ms, and what was sent to it is in
 * doubt for everybody. */
static void a_silent_server_leaves_doubt_and_a_new_connection(void **state) {
    (void)state;
    enum { N = 4 };
    asker askers[N];
    int before = hf_test_proxy_connections(proxy);
    hf_test_proxy_drop(proxy, HF_TO_CLIENT, true);
    for (int i = 0; i < N; i++)
        start(&askers[i], incr_once, i, HF_TEST_LONG);
    join_all(askers, N);
    hf_test_proxy_drop(proxy, HF_TO_CLIENT, false);
    for (int i = 0; i < N; i++) {
        assert_true(askers[i].result == HF_EDOUBT ||
                    askers[i].result == HF_EDOWN);
        assert_in_range(askers[i].took_ms, 0, 10000);
    }
    hf_expect(HF_OK, echo("there you are", HF_TEST_LONG, ERR));
    assert_true(hf_test_proxy_connections(proxy) > before);
}

static void a_server_that_sleeps_is_waited_for_within_the_timeout(void **s) {
    (void)s;
    hf_test_server_tell(server, "DEBUG SLEEP 0.5");
    hf_expect(HF_OK, echo("good morning", HF_TEST_LONG, ERR));
}

/* ---- a server that comes and goes -------------------------------------- */

static void a_server_that_was_restarted_is_found_again(void **state) {
    (void)state;
    hf_expect(HF_OK, echo("before", HF_TEST_LONG, ERR));
    hf_test_server_kill(server);
    int rc = echo("meanwhile", 100, ERR);
    assert_true(rc == HF_EDOWN || rc == HF_EDOUBT);
    hf_test_server_restart(server);
    hf_claim c = claim("x", 1);
    hf_test_eventually(attempt(&c) == HF_OK, HF_TEST_LONG);
    assert_true(c.token > 0);
}

/* Connecting goes on for as long as the caller has time, so nothing that was
 * not sent fails because of a restart. */
static void who_has_time_waits_for_the_server(void **state) {
    (void)state;
    hf_test_server_kill(server);
    int rc = incr("key-0", 100, ERR); /* notices that it is gone */
    assert_true(rc < 0);
    asker patient;
    start(&patient, incr_once, 1, 2500);
    hf_test_server_restart(server);
    join_all(&patient, 1);
    hf_expect(HF_OK, patient.result);
}

static void a_dead_server_is_not_stormed(void **state) {
    (void)state;
    hf_test_proxy_refuse(proxy, true);
    hf_test_proxy_cut(proxy);
    int before = hf_test_proxy_connections(proxy);
    int64_t until = hf_test_now_ms() + 1000;
    while (hf_test_now_ms() < until)
        assert_true(echo("anybody?", 10, ERR) != HF_OK);
    assert_in_range(hf_test_proxy_connections(proxy) - before, 1, 20);
    hf_test_proxy_refuse(proxy, false);
    hf_test_eventually(echo("yes", HF_TEST_LONG, ERR) == HF_OK, HF_TEST_LONG);
}

/* ---- posted releases --------------------------------------------------- */

static void a_posted_release_is_not_overtaken(void **state) {
    (void)state;
    for (uint64_t i = 1; i <= 500; i++) {
        hf_claim c = claim("x", i);
        hf_expect(HF_OK, attempt(&c));
        hf_expect(HF_OK, release(&c, HF_RELEASE_POSTED));
    }
}

static void *pass_on(void *arg) {
    asker *a = arg;

    for (int i = 0; i < 200; i++) {
        hf_claim c = claim(a->key, (uint64_t)(a->number * 1000 + i + 1));
        hf_error err;

        if (hf__redis_ops.attempt(be, &c, false, soon(), &err) != HF_OK ||
            hf__redis_ops.release(be, &c, HF_RELEASE_POSTED, NULL, soon(),
                                  &err) != HF_OK)
            a->wrong++;
    }
    return NULL;
}

static void posted_releases_of_many_threads_are_not_overtaken(void **state) {
    (void)state;
    enum { N = 16 };
    asker askers[N];
    for (int i = 0; i < N; i++)
        start(&askers[i], pass_on, i, 0);
    join_all(askers, N);
    for (int i = 0; i < N; i++)
        assert_int_equal(askers[i].wrong, 0);
    close_it(); /* which flushes */
    for (int i = 0; i < N; i++)
        assert_false(exists(askers[i].key));
    assert_int_equal(atomic_load(&unreleased), 0);
}

static void a_posted_release_is_sent_though_nobody_comes_by(void **state) {
    (void)state;
    hf_claim c = claim("x", 1);
    hf_expect(HF_OK, attempt(&c));
    hf_expect(HF_OK, release(&c, HF_RELEASE_POSTED));
    hf_test_eventually(!exists("x"), HF_TEST_LONG);
}

/* The connection breaks before it is answered, and nobody asks anything. */
static void a_posted_release_survives_a_cut(void **state) {
    (void)state;
    hf_claim c = claim("x", 1);
    hf_expect(HF_OK, attempt(&c));
    hf_test_proxy_stall(proxy, HF_TO_SERVER, true);
    hf_expect(HF_OK, release(&c, HF_RELEASE_POSTED));
    hf_test_proxy_cut(proxy);
    hf_test_proxy_stall(proxy, HF_TO_SERVER, false);
    hf_test_eventually(!exists("x"), HF_TEST_LONG);
    close_it();
    assert_int_equal(atomic_load(&unreleased), 0);
}

/* It was carried out, and only the answer was lost: no alarm. */
static void a_posted_release_done_twice_is_no_failure(void **state) {
    (void)state;
    hf_claim c = claim("x", 1);
    hf_expect(HF_OK, attempt(&c));
    hf_test_proxy_catch(proxy, "EVALSHA", "x", 0);
    hf_expect(HF_OK, release(&c, HF_RELEASE_POSTED));
    hf_test_eventually(hf_test_proxy_caught(proxy) > 0, HF_TEST_LONG);
    close_it();
    assert_int_equal(atomic_load(&unreleased), 0);
    assert_false(exists("x"));
}

static void a_posted_release_that_fails_is_told(void **state) {
    (void)state;
    hf_claim c = claim("x", 1), d = claim("y", 2);
    hf_expect(HF_OK, attempt(&c));
    hf_test_server_ask(server, "DEL x");
    hf_expect(HF_OK, release(&c, HF_RELEASE_POSTED));
    hf_test_eventually(atomic_load(&unreleased) == HF_ELOST, HF_TEST_LONG);
    hf_expect(HF_OK, attempt(&d));
    hf_test_server_ask(server, "REPLICAOF 127.0.0.1 1");
    hf_expect(HF_OK, release(&d, HF_RELEASE_POSTED));
    hf_test_eventually(atomic_load(&unreleased) == HF_EREAD_ONLY, HF_TEST_LONG);
}

static void a_posted_release_copes_with_forgotten_scripts(void **state) {
    (void)state;
    hf_claim c = claim("x", 1);
    hf_expect(HF_OK, attempt(&c));
    hf_test_server_ask(server, "SCRIPT FLUSH");
    hf_expect(HF_OK, release(&c, HF_RELEASE_POSTED));
    hf_test_eventually(!exists("x"), HF_TEST_LONG);
    close_it();
    assert_int_equal(atomic_load(&unreleased), 0);
}

static void more_is_posted_than_any_window_takes(void **state) {
    (void)state;
    enum { N = 2000 };
    static char names[N][16];
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        hf_claim c = claim(names[i], (uint64_t)i + 1);
        hf_expect(HF_OK, attempt(&c));
    }
    for (int i = 0; i < N; i++) {
        hf_claim c = claim(names[i], (uint64_t)i + 1);
        hf_expect(HF_OK, release(&c, HF_RELEASE_POSTED));
    }
    close_it();
    for (int i = 0; i < N; i += 97)
        assert_false(exists(names[i]));
    assert_int_equal(atomic_load(&unreleased), 0);
}

static void what_was_posted_to_a_dead_server_is_told_on_closing(void **state) {
    (void)state;
    hf_claim c = claim("x", 1);
    hf_expect(HF_OK, attempt(&c));
    hf_test_server_kill(server);
    hf_expect(HF_OK, release(&c, HF_RELEASE_POSTED));
    close_it();
    assert_true(atomic_load(&unreleased) < 0);
}

/* ---- in numbers -------------------------------------------------------- */

static void thousands_of_leases_are_renewed_in_batches(void **state) {
    (void)state;
    enum { N = 1700 };
    static char names[N][16];
    static hf_claim claims[N], *pointers[N];
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        claims[i] = claim(names[i], (uint64_t)i + 1);
        claims[i].kind = i % 3 ? HF_LOCK : HF_SIMPLE;
        memset(claims[i].nonce, i, sizeof claims[i].nonce);
        pointers[i] = &claims[i];
        hf_expect(HF_OK, attempt(&claims[i]));
        claims[i].lease_ms = 90000;
    }
    hf_test_server_ask(server, "DEL n10 n600 n1699");
    hf_expect(HF_OK, hf__redis_ops.renew(be, pointers, N, soon(), ERR));
    for (int i = 0; i < N; i++) {
        bool gone = i == 10 || i == 600 || i == 1699;
        assert_int_equal(claims[i].result, gone ? HF_ELOST : HF_OK);
    }
    assert_true(hf_test_server_ask_number(server, "PTTL n0") > 60000);
    assert_true(hf_test_server_ask_number(server, "PTTL n1") > 60000);
}

/* The token is not below the server's clock, nor far above it. */
static void a_token_is_the_servers_time_at_least(void **state) {
    (void)state;
    hf_claim c = claim("x", 1), d = claim("x", 2);
    int64_t before = hf__world->wall_us() - 1000000;
    hf_expect(HF_OK, attempt(&c));
    assert_true(c.token > (uint64_t)before);
    assert_true(c.token < (uint64_t)before + 60000000);
    hf_test_server_ask(server, "SET redisson_lock_token:{x} 4000000000000000");
    hf_expect(HF_OK, release(&c, HF_RELEASE));
    hf_expect(HF_OK, attempt(&d));
    assert_int_equal(d.token, INT64_C(4000000000000001));
}

typedef struct found {
    int n;
    char program[65], why[129];
} found;

static void find(void *arg, const hf_place *place) {
    found *f = arg;
    f->n++;
    snprintf(f->program, sizeof f->program, "%s", place->program);
    snprintf(f->why, sizeof f->why, "%s", place->why);
}

static void all_locks_are_listed_page_by_page(void **state) {
    (void)state;
    enum { N = 1200 };
    static char names[N][16];
    found f = {0};
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        hf_claim c = claim(names[i], (uint64_t)i + 1);
        hf_expect(HF_OK, attempt(&c));
    }
    hf_test_server_ask(server, "HSET other field value");
    hf_test_server_ask(server, "SET text value");
    hf_expect(HF_OK, hf__redis_ops.announce(be, "", 30000, soon(), ERR));
    hf_expect(HF_OK, hf__redis_ops.list(be, NULL, find, &f, soon(), ERR));
    assert_int_equal(f.n, N);
    assert_string_equal(f.program, "a test");
    assert_string_equal(f.why, "50 %\nof the time");
}

/* ---- messages ---------------------------------------------------------- */

static void thousands_of_channels_fit_on_one_connection(void **state) {
    (void)state;
    enum { N = 2000 };
    static char names[N][16];
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        hf_claim c = claim(names[i], 1);
        hf_expect(HF_OK, hf__redis_ops.watch(be, &c, true, soon(), ERR));
    }
    hf_test_server_ask(server, "PUBLISH redisson_lock__channel:{n1234} 0");
    hf_test_eventually(atomic_load(&woken) > 0, HF_TEST_LONG);
    assert_int_equal(hf_test_server_ask_number(server, "CLIENT KILL TYPE "
                                                       "pubsub"),
                     1);
    hf_test_eventually(atomic_load(&woken_all) > 0, HF_TEST_LONG);
    assert_int_equal(hf_test_server_ask_number(server,
                                               "PUBLISH "
                                               "redisson_lock__channel:{n7} 0"),
                     1);
    for (int i = 0; i < N; i++) {
        hf_claim c = claim(names[i], 1);
        hf_expect(HF_OK, hf__redis_ops.watch(be, &c, false, soon(), ERR));
    }
}

static void a_watch_on_a_silent_link_ends_on_time(void **state) {
    (void)state;
    hf_claim c = claim("x", 1);
    hf_test_proxy_drop(proxy, HF_TO_CLIENT, true);
    int64_t began = hf_test_now_ms();
    int rc = hf__redis_ops.watch(be, &c, true, hf__after_ms(200), ERR);
    hf_expect(HF_EDOWN, rc);
    assert_in_range(hf_test_now_ms() - began, 0, 10000);
}

static void who_may_not_subscribe_is_told_so(void **state) {
    (void)state;
    char uri[128];
    hf_test_server_ask(server,
                       "ACL SETUSER joe on >word ~* resetchannels +@all");
    snprintf(uri, sizeof uri, "redis://joe:word@127.0.0.1:%d",
             hf_test_server_port(server));
    hf_expect(HF_OK, open_uri(uri));
    hf_claim c = claim("x", 1);
    hf_expect(HF_EFORBIDDEN, hf__redis_ops.watch(be, &c, true, soon(), ERR));
    hf_expect(HF_OK, attempt(&c));
    hf_expect(HF_OK, release(&c, HF_RELEASE)); /* though it cannot publish */
}

/* ---- fork -------------------------------------------------------------- */

static void a_forked_copy_closes_without_a_word(void **state) {
    (void)state;
    hf_claim c = claim("x", 1), w = claim("y", 2);
    hf_expect(HF_OK, attempt(&c));
    hf_expect(HF_OK, hf__redis_ops.watch(be, &w, true, soon(), ERR));
    pid_t child = fork();
    if (child == 0) {
        hf__redis_ops.close(be, true);
        _exit(0);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    hf_expect(HF_OK, release(&c, HF_RELEASE));
    hf_test_server_ask(server, "PUBLISH redisson_lock__channel:{y} 0");
    hf_test_eventually(atomic_load(&woken) > 0, HF_TEST_LONG);
    assert_int_equal(atomic_load(&woken_all), 0); /* nothing broke */
}

/* ---- names ------------------------------------------------------------- */

static void names_are_spelled_as_redisson_does(void **state) {
    (void)state;
    char key[HF_KEY_SIZE];
    hf_news news;
    hf__key_token(key, "a");
    assert_string_equal(key, "redisson_lock_token:{a}");
    hf__key_token(key, "x{a}");
    assert_string_equal(key, "redisson_lock_token:x{a}");
    hf__key_channel(key, "a{");
    assert_string_equal(key, "redisson_lock__channel:a{");
    assert_true(hf__news_of_channel(&news, key, ""));
    assert_int_equal(news.n, 1);
    assert_string_equal(news.names[0], "a{");
    hf__key_channel(key, "a");
    assert_true(hf__news_of_channel(&news, key, ""));
    assert_int_equal(news.n, 2);
    assert_string_equal(news.names[0], "{a}");
    assert_string_equal(news.names[1], "a");
    assert_true(hf__is_owner("11111111-2222-4333-8444-555555555555:7"));
    assert_false(hf__is_owner("11111111-2222-4333-8444-555555555555:"));
    assert_false(hf__is_owner("mode"));
}

#define TEST(name)       HF_TEST_IN(with_a_server, name, teardown)
#define TEST_BARE(name)  HF_TEST_IN(with_a_bare_server, name, teardown)
#define TEST_PROXY(name) HF_TEST_IN(with_a_proxy, name, teardown)

static const struct CMUnitTest tests[] = {
    TEST_BARE(a_socket_does_as_well_as_a_port),
    TEST_BARE(a_name_of_a_host_is_resolved),
    TEST_BARE(the_database_of_the_address_is_used),
    TEST_BARE(a_database_that_does_not_exist_is_refused),
    TEST_BARE(a_user_with_a_password_gets_in),
    TEST_BARE(a_user_who_may_not_load_scripts_can_lock),
    TEST(everybody_gets_the_answer_to_his_own_question),
    cmocka_unit_test_teardown(many_threads_share_an_encrypted_connection,
                              teardown),
    TEST_BARE(a_lone_caller_may_spin_for_its_answer),
    TEST_PROXY(no_cut_mixes_answers_up),
    TEST_PROXY(a_late_answer_is_thrown_away),
    TEST(a_request_larger_than_any_buffer_gets_through),
    TEST_PROXY(who_only_follows_leaves_at_its_own_deadline),
    TEST_PROXY(who_reads_and_leaves_passes_the_role_on),
    TEST_PROXY(what_was_held_back_is_not_done),
    TEST_PROXY(a_silent_server_leaves_doubt_and_a_new_connection),
    TEST(a_server_that_sleeps_is_waited_for_within_the_timeout),
    TEST(a_server_that_was_restarted_is_found_again),
    TEST(who_has_time_waits_for_the_server),
    TEST_PROXY(a_dead_server_is_not_stormed),
    TEST(a_posted_release_is_not_overtaken),
    TEST(posted_releases_of_many_threads_are_not_overtaken),
    TEST(a_posted_release_is_sent_though_nobody_comes_by),
    TEST_PROXY(a_posted_release_survives_a_cut),
    TEST_PROXY(a_posted_release_done_twice_is_no_failure),
    TEST(a_posted_release_that_fails_is_told),
    TEST(a_posted_release_copes_with_forgotten_scripts),
    TEST(more_is_posted_than_any_window_takes),
    TEST(what_was_posted_to_a_dead_server_is_told_on_closing),
    TEST(thousands_of_leases_are_renewed_in_batches),
    TEST(a_token_is_the_servers_time_at_least),
    TEST(all_locks_are_listed_page_by_page),
    TEST(thousands_of_channels_fit_on_one_connection),
    TEST_PROXY(a_watch_on_a_silent_link_ends_on_time),
    TEST_BARE(who_may_not_subscribe_is_told_so),
    TEST(a_forked_copy_closes_without_a_word),
    cmocka_unit_test(names_are_spelled_as_redisson_does),
};
HF_SUITE(tests)
