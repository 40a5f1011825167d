/* SPDX-License-Identifier: MIT
 *
 * redis_sentinel_test.c - finding the master by the word of sentinels, and
 * following it.
 *
 * Most of the sentinels here are stubs that say what the test wants, and the
 * servers stand alone; what real sentinels do when a master dies is in
 * fault/redis_sentinel_fault_test.c. */
#include "support/dir.h"
#include "support/sentinel.h"
#include "support/sentinel_stub.h"
#include "support/stage.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STUBS = 3, SERVERS = 2 };

static hf_test_stub *stubs[STUBS];
static hf_test_server *servers[SERVERS];
static hf_test_ensemble *ensemble;
static char uri[1024];

/* ---- the stage --------------------------------------------------------- */

static int port(int server) {
    return hf_test_server_port(servers[server]);
}

/* All stubs name the server. */
static void all_name(int server, int64_t epoch) {
    for (int i = 0; i < STUBS; i++)
        hf_test_stub_names(stubs[i], port(server), epoch, 2);
}

static void write_uri(int n) {
    int at = snprintf(uri, sizeof uri, "redis+sentinel://");
    for (int i = 0; i < n; i++)
        at += snprintf(uri + at, sizeof uri - (size_t)at, "%s127.0.0.1:%d",
                       i > 0 ? "," : "", hf_test_stub_port(stubs[i]));
    snprintf(uri + at, sizeof uri - (size_t)at, "/mymaster");
}

static void with_stubs(void **state) {
    static const char *const args[] = {"--repl-diskless-sync-delay", "0", NULL};
    for (int i = 0; i < SERVERS; i++)
        servers[i] =
            hf_test_server_start(&(hf_test_server_options){.args = args});
    for (int i = 0; i < STUBS; i++)
        stubs[i] = hf_test_stub_start();
    all_name(0, 1);
    write_uri(STUBS);
    hf_test_body(state);
}

static void with_nothing(void **state) {
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
    for (int i = 0; i < STUBS; i++) {
        hf_test_stub_stop(stubs[i]);
        stubs[i] = NULL;
    }
    for (int i = 0; i < SERVERS; i++) {
        hf_test_server_stop(servers[i]);
        servers[i] = NULL;
    }
    hf_test_ensemble_stop(ensemble);
    ensemble = NULL;
    return 0;
}

/* A client that gives up soon. */
static hf_client *client_of_its_own(void) {
    return hf_test_open(uri, HF_CLIENT_WITH(.timeout_ms = 1000));
}

static int open_it(const char *address, int timeout_ms) {
    hf_client *client = NULL;
    int rc = hf_open(&client, address, HF_CLIENT_WITH(.timeout_ms = timeout_ms),
                     ERR);
    if (rc == HF_OK)
        hf_close(client);
    return rc;
}

static bool has(int server, const char *key) {
    return hf_test_server_ask_number(servers[server], "EXISTS %s", key) == 1;
}

static void assert_says(const char *part) {
    if (strstr(hf_test_error.text, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, hf_test_error.text);
}

/* Where a lock taken now lands.  Each has a name of its own: a request that
 * was cut off may have left one behind. */
static int lands_on(hf_client *client) {
    static int n;
    char name[16];
    snprintf(name, sizeof name, "at%d", n++);
    hf_lock *lock = hf_test_lock(client, name, NULL);
    hf_expect(HF_OK, hf_lock_acquire(lock, HF_TEST_LONG, ERR));
    int at = has(0, name) ? 0 : has(1, name) ? 1 : -1;
    hf_lock_release(lock, NULL); /* LOST, if it has moved meanwhile */
    hf_test_free(lock);
    return at;
}

/* Connections of clients at a server, the asking one not counted. */
static int guests(int server) {
    const char *at = hf_test_server_ask(servers[server], "CLIENT LIST");
    int n = -1;
    for (; (at = strstr(at, "laddr=")) != NULL; at++)
        n++;
    return n;
}

/* ---- who is the master ------------------------------------------------- */

static void the_highest_epoch_names_the_master_not_the_first(void **s) {
    (void)s;
    hf_test_stub_names(stubs[2], port(1), 7, 2);
    for (int i = 0; i < 5; i++) {
        hf_client *client = client_of_its_own();
        assert_int_equal(lands_on(client), 1);
        hf_test_close(client);
    }
}

static void one_that_sleeps_is_not_waited_for(void **s) {
    (void)s;
    hf_test_stub_sleeps(stubs[0], true);
    int64_t began = hf_test_now_ms();
    hf_client *client = hf_test_open(uri, NULL);
    assert_in_range(hf_test_now_ms() - began, 0, 2500);
    assert_int_equal(lands_on(client), 0);
    began = hf_test_now_ms();
    hf_test_close(client);
    assert_in_range(hf_test_now_ms() - began, 0, 2500);
}

static void one_that_knows_no_such_master_does_not_disturb(void **s) {
    (void)s;
    hf_test_stub_names(stubs[0], 0, 0, 0);
    hf_test_stub_names(stubs[1], 0, 0, 0);
    assert_int_equal(lands_on(client_of_its_own()), 0);
}

static void a_name_that_no_sentinel_knows_is_told(void **s) {
    (void)s;
    for (int i = 0; i < STUBS; i++)
        hf_test_stub_names(stubs[i], 0, 0, 0);
    hf_expect(HF_EURI, open_it(uri, 1000));
    assert_says("no sentinel knows a master named \"mymaster\" (3 of 3");
}

static void sentinels_that_are_not_there_are_told(void **s) {
    (void)s;
    hf_expect(HF_EDOWN,
              open_it("redis+sentinel://127.0.0.1:1,127.0.0.1:2/m", 1000));
    assert_says("no sentinel can be reached: sentinel 127.0.0.1:1: ");
}

static void sentinels_that_all_sleep_are_told(void **s) {
    (void)s;
    for (int i = 0; i < STUBS; i++)
        hf_test_stub_sleeps(stubs[i], true);
    hf_expect(HF_EDOWN, open_it(uri, 500));
    assert_says("no sentinel can be reached");
}

static void a_master_that_is_not_there_is_told(void **s) {
    (void)s;
    hf_test_server_kill(servers[0]);
    hf_expect(HF_EDOWN, open_it(uri, 500));
    assert_says("the master they name is not there: redis://127.0.0.1:");
}

static void a_server_that_is_no_sentinel_is_told(void **s) {
    (void)s;
    char address[64];
    snprintf(address, sizeof address, "redis+sentinel://127.0.0.1:%d/m",
             port(0));
    hf_expect(HF_EURI, open_it(address, 1000));
    assert_says("is no sentinel");
}

/* The last look at it may have been cut short. */
static void assert_not_the_master(int rc) {
    assert_true(rc == HF_EREAD_ONLY || rc == HF_EDOWN);
}

/* Its sentinels may not have heard yet that it lost the role. */
static void a_replica_is_not_taken_for_the_master(void **s) {
    (void)s;
    hf_test_server_ask(servers[0], "REPLICAOF 127.0.0.1 %d", port(1));
    assert_not_the_master(open_it(uri, 500));
    assert_says("the master they name is not there");
}

/* Named when it can no longer be unnoticed that the first one is dead. */
static void *name_the_other_later(void *arg) {
    int asked = hf_test_stub_questions(stubs[0]);
    (void)arg;
    while (hf_test_stub_questions(stubs[0]) < asked + 4)
        hf_test_breathe();
    all_name(1, 2);
    return NULL;
}

static void who_opens_during_a_failover_waits_for_its_end(void **s) {
    (void)s;
    pthread_t thread;
    hf_test_server_kill(servers[0]);
    assert_int_equal(pthread_create(&thread, NULL, name_the_other_later, NULL),
                     0);
    hf_client *client =
        hf_test_open(uri, HF_CLIENT_WITH(.timeout_ms = HF_TEST_LONG));
    pthread_join(thread, NULL);
    assert_int_equal(lands_on(client), 1);
}

static void other_sentinels_are_found_through_the_first(void **s) {
    (void)s;
    hf_test_stub_meets(stubs[0], hf_test_stub_port(stubs[1]));
    hf_test_stub_meets(stubs[1], hf_test_stub_port(stubs[2]));
    write_uri(1);
    hf_client *client = client_of_its_own();
    hf_test_eventually(hf_test_stub_questions(stubs[2]) > 0, HF_TEST_LONG);
    hf_test_stub_sleeps(stubs[0], true);
    hf_test_stub_names(stubs[2], port(1), 2, 2);
    hf_test_eventually(lands_on(client) == 1, HF_TEST_LONG);
}

/* They may all be away when we come. */
static void replicas_that_only_the_sentinels_know_count(void **s) {
    (void)s;
    hf_client *client = client_of_its_own();
    hf_lock *a = hf_test_lock(client, "x", HF_LOCK_WITH(.replicas = HF_ALL));
    hf_expect(HF_EREPLICAS, hf_lock_try(a, ERR));
    for (int i = 0; i < STUBS; i++)
        hf_test_stub_names(stubs[i], port(0), 1, 0);
    hf_lock *b = hf_test_lock(client_of_its_own(), "x",
                              HF_LOCK_WITH(.replicas = HF_ALL));
    hf_expect(HF_EREPLICAS, hf_lock_try(b, ERR)); /* not without any */
}

/* ---- following it ------------------------------------------------------ */

static void a_newer_epoch_moves_every_connection(void **s) {
    (void)s;
    hf_test_thread waiter;
    hf_client *client = client_of_its_own();
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, hf_test_lock(client_of_its_own(), "x", NULL),
                  HF_FOREVER);
    hf_test_eventually(guests(0) >= 3, HF_TEST_LONG); /* one listens */
    all_name(1, 2);
    for (int i = 0; i < STUBS; i++)
        hf_test_stub_announces(stubs[i]);
    hf_expect(HF_OK, hf_test_answer(&waiter)); /* nobody holds it there */
    hf_test_eventually(guests(0) == 0, HF_TEST_LONG);
    assert_true(has(1, "x"));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static void without_a_message_it_is_noticed_all_the_same(void **s) {
    (void)s;
    hf_client *client = client_of_its_own();
    hf_test_stub_names(stubs[1], port(1), 2, 2);
    hf_test_eventually(lands_on(client) == 1, HF_TEST_LONG);
    hf_test_eventually(guests(0) == 0, HF_TEST_LONG);
}

static void a_message_makes_us_ask_at_once(void **s) {
    (void)s;
    client_of_its_own();
    hf_test_eventually(hf_test_stub_listeners(stubs[0]) == 1, HF_TEST_LONG);
    int64_t by = hf_test_now_ms() + HF_TEST_LONG; /* too soon by polling */
    for (int i = 0; i < 60; i++) {
        int asked = hf_test_stub_questions(stubs[0]);
        assert_int_equal(hf_test_stub_announces(stubs[0]), 1);
        hf_test_eventually(hf_test_stub_questions(stubs[0]) > asked,
                           by - hf_test_now_ms());
    }
}

/* The others hear of it a little later. */
static void the_one_who_leads_a_failover_is_believed_at_once(void **s) {
    (void)s;
    hf_client *client = client_of_its_own();
    hf_test_stub_leads(stubs[0], port(0));
    hf_test_stub_names(stubs[0], port(1), 2, 2);
    hf_test_eventually(lands_on(client) == 1, HF_TEST_LONG);
    for (int i = 0; i < 10; i++)
        assert_int_equal(lands_on(client), 1);
}

static void a_lone_sentinel_does_not_lead_back(void **s) {
    (void)s;
    hf_test_stub_names(stubs[1], port(1), 7, 2);
    hf_test_stub_names(stubs[2], port(1), 7, 2);
    hf_client *client = client_of_its_own();
    assert_int_equal(lands_on(client), 1);
    hf_test_stub_sleeps(stubs[1], true);
    hf_test_stub_sleeps(stubs[2], true);
    int asked = hf_test_stub_questions(stubs[0]);
    hf_test_eventually(hf_test_stub_questions(stubs[0]) > asked + 3,
                       HF_TEST_LONG);
    assert_int_equal(lands_on(client), 1);
}

/* As when somebody has set them up anew. */
static void most_of_them_lead_back(void **s) {
    (void)s;
    all_name(1, 7);
    hf_client *client = client_of_its_own();
    assert_int_equal(lands_on(client), 1);
    hf_test_stub_names(stubs[0], port(0), 0, 2);
    hf_test_stub_names(stubs[1], port(0), 0, 2);
    hf_test_stub_sleeps(stubs[2], true);
    hf_test_eventually(lands_on(client) == 0, HF_TEST_LONG);
}

static void without_sentinels_the_last_master_stays(void **s) {
    (void)s;
    hf_client *client = client_of_its_own();
    for (int i = 0; i < STUBS; i++)
        hf_test_stub_sleeps(stubs[i], true);
    hf_test_server_ask(servers[0], "CLIENT KILL TYPE normal");
    assert_int_equal(lands_on(client), 0);
}

static void *name_the_other(void *arg) {
    (void)arg;
    all_name(1, 2);
    hf_test_stub_announces(stubs[0]);
    return NULL;
}

/* The very request that met the refusal is answered by the new master. */
static void a_demoted_master_is_left(void **s) {
    (void)s;
    pthread_t thread;
    hf_client *client = hf_test_open(uri, NULL);
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_test_server_ask(servers[0], "REPLICAOF 127.0.0.1 1");
    assert_int_equal(pthread_create(&thread, NULL, name_the_other, NULL), 0);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    pthread_join(thread, NULL);
    assert_true(has(1, "x"));
    hf_test_eventually(guests(0) == 0, HF_TEST_LONG);
}

static void a_demoted_master_is_told_when_nobody_takes_over(void **s) {
    (void)s;
    hf_client *client = hf_test_open(uri, HF_CLIENT_WITH(.timeout_ms = 600));
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_test_server_ask(servers[0], "REPLICAOF 127.0.0.1 1");
    assert_not_the_master(hf_lock_try(a, ERR));
    assert_not_the_master(hf_lock_acquire(a, 800, ERR));
    hf_test_server_ask(servers[0], "REPLICAOF NO ONE");
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
}

/* Who is connecting to it when it is replaced turns away from it. */
static void a_frozen_master_does_not_hold_up_the_move(void **s) {
    (void)s;
    hf_test_thread waiter;
    hf_client *client = hf_test_open(uri, HF_CLIENT_WITH(.timeout_ms = 15000));
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_test_server_pause(servers[0]);
    hf_test_begin(&waiter, a, HF_FOREVER);
    all_name(1, 2);
    hf_test_stub_announces(stubs[0]);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(waiter.took_ms, 0, 8000);
    assert_true(has(1, "x"));
    hf_expect(HF_OK, hf_test_end(&waiter));
    hf_test_server_resume(servers[0]);
}

static void who_connects_to_a_frozen_master_turns_to_the_new_one(void **s) {
    (void)s;
    hf_test_thread waiter;
    hf_client *client = hf_test_open(uri, HF_CLIENT_WITH(.timeout_ms = 15000));
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_test_server_ask(servers[0], "CLIENT KILL TYPE normal");
    hf_test_server_pause(servers[0]);
    hf_test_begin(&waiter, a, HF_FOREVER); /* connects, and hears nothing */
    all_name(1, 2);
    hf_test_stub_announces(stubs[0]);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(waiter.took_ms, 0, 8000);
    assert_true(has(1, "x"));
    hf_expect(HF_OK, hf_test_end(&waiter));
    hf_test_server_resume(servers[0]);
}

static void a_posted_release_follows_the_master(void **s) {
    (void)s;
    hf_client *client = hf_test_open(uri, NULL);
    hf_lock *a =
        hf_test_lock(client, "x", HF_LOCK_WITH(.flags = HF_POST_RELEASE));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    /* The other server is a copy, as a replica is. */
    hf_test_server_ask(servers[1], "REPLICAOF 127.0.0.1 %d", port(0));
    hf_test_eventually(has(1, "x"), HF_TEST_LONG);
    hf_test_server_ask(servers[1], "REPLICAOF NO ONE");
    hf_test_server_ask(servers[0], "REPLICAOF 127.0.0.1 1");
    hf_expect(HF_OK, hf_lock_release(a, ERR)); /* to be sent away there */
    all_name(1, 2);
    hf_test_stub_announces(stubs[0]);
    hf_test_eventually(!has(1, "x"), HF_TEST_LONG);
}

static void tokens_take_the_clock_of_whoever_is_master(void **s) {
    (void)s;
    hf_client *client = client_of_its_own();
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    all_name(1, 2); /* which has never heard of that token */
    hf_test_stub_announces(stubs[0]);
    hf_test_eventually(lands_on(client) == 1, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_true(hf_lock_token(a) > token);
}

/* ---- the address ------------------------------------------------------- */

static void the_address_is_shown_without_secrets(void **s) {
    (void)s;
    char address[1200], wanted[1200];
    hf_test_server_ask(servers[0], "ACL SETUSER me on >Tr0ub4dor ~* &* +@all");
    snprintf(address, sizeof address, "redis+sentinel://me:Tr0ub4dor@%s/3",
             uri + strlen("redis+sentinel://"));
    snprintf(wanted, sizeof wanted, "redis+sentinel://me@%s/3",
             uri + strlen("redis+sentinel://"));
    hf_client *client = hf_test_open(address, NULL);
    assert_string_equal(hf_store(client), wanted);
    snprintf(wanted, sizeof wanted, "%s/0", uri);
    assert_string_equal(hf_store(client_of_its_own()), wanted);
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_non_null(
        strstr(hf_test_server_ask(servers[0], "INFO keyspace"), "db3:"));
}

static void addresses_that_make_no_sense_are_refused(void **s) {
    (void)s;
    static const struct {
        const char *address, *says;
        int code;
    } cases[] = {
        {"redis+sentinel://h/my%20master", "letters, digits", HF_EURI},
        {"redis+sentinel://h/mymaster/x", "not a number", HF_EURI},
        {"redis+sentinel://h/mymaster/1?db=2", "two databases", HF_EURI},
        {"redis+sentinel://h/m?sentinel_tls=yes", "say on or off", HF_EURI},
        {"redis+sentinel://h/m?sentinel_tls_ca=/x", "add sentinel_tls=on",
         HF_EURI},
        {"rediss+sentinel://h/m?sentinel_tls=off&sentinel_tls_ca=/x",
         "add sentinel_tls=on", HF_EURI},
        {"redis+sentinel://h/m?tls_ca=/x", "without TLS", HF_EURI},
        {"redis+sentinel://h/m?sentinel_tls=on&sentinel_tls_verify=no",
         "tls_verify", HF_EURI},
        {"redis+sentinel://h/m?sentinel_password_file=/nowhere",
         "cannot read password_file", HF_EAUTH},
        {"redis+sentinel://h/m?sentinel_pasword=Tr0ub4dor", "sentinel_password",
         HF_EURI},
        {"redis://h?sentinel_user=me", "is for redis+sentinel://", HF_EURI},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hf_expect(cases[i].code, open_it(cases[i].address, 1000));
        assert_says(cases[i].says);
        assert_null(strstr(hf_test_error.text, "Tr0ub4dor"));
    }
}

static void a_server_that_cannot_be_reached_as_wished_is_told(void **s) {
    (void)s;
    char address[1200];
    snprintf(address, sizeof address, "rediss%s?sentinel_tls=off&tls_ca=/no",
             uri + strlen("redis"));
    hf_expect(HF_ETLS, open_it(address, HF_TEST_LONG));
    assert_says("/no");
}

/* ---- sentinels with locks of their own --------------------------------- */

static const char *with_query(const char *query) {
    snprintf(uri, sizeof uri, "%s?%s", hf_test_ensemble_uri(ensemble), query);
    return uri;
}

static void sentinels_have_their_own_password(void **s) {
    (void)s;
    ensemble = hf_test_ensemble_start(&(hf_test_ensemble_options){
        .password = "of-servers", .sentinel_password = "of-sentinels"});
    char address[512], file[160];
    const char *hosts =
        hf_test_ensemble_uri(ensemble) + strlen("redis+sentinel://");

    setenv("REDISCLI_AUTH", "of-servers", 1);
    hf_expect(HF_EAUTH, open_it(hf_test_ensemble_uri(ensemble), HF_TEST_LONG));
    assert_says("give sentinel_password=");
    hf_expect(HF_OK, open_it(with_query("sentinel_password=of-sentinels"),
                             HF_TEST_LONG));
    unsetenv("REDISCLI_AUTH");
    hf_expect(HF_EAUTH, open_it(with_query("sentinel_password=of-sentinels"),
                                HF_TEST_LONG)); /* and now the servers refuse */
    hf_expect(HF_EAUTH,
              open_it(with_query("sentinel_password=Tr0ub4dor"), HF_TEST_LONG));
    assert_null(strstr(hf_test_error.text, "Tr0ub4dor"));

    hf_test_fresh_path(file, sizeof file, "password");
    FILE *f = fopen(file, "we");
    assert_non_null(f);
    fputs("of-sentinels\n", f);
    fclose(f);
    chmod(file, 0600);
    snprintf(address, sizeof address,
             "redis+sentinel://:of-servers@%s?sentinel_password_file=%s", hosts,
             file);
    hf_client *client = hf_test_open(address, NULL);
    assert_null(strstr(hf_store(client), "of-s"));
    hf_expect(HF_OK, hf_lock_try(hf_test_lock(client, "x", NULL), ERR));
}

static void a_password_for_the_servers_is_not_shown_to_sentinels(void **s) {
    (void)s;
    ensemble = hf_test_ensemble_start(
        &(hf_test_ensemble_options){.password = "of-servers"});
    char address[256];
    snprintf(address, sizeof address, "redis+sentinel://:of-servers@%s",
             hf_test_ensemble_uri(ensemble) + strlen("redis+sentinel://"));
    hf_client *client = hf_test_open(address, NULL);
    hf_expect(HF_OK, hf_lock_try(hf_test_lock(client, "x", NULL), ERR));
}

/* docs/redis.md has the rule. */
static void a_user_of_the_sentinels_needs_no_more_than_we_say(void **s) {
    (void)s;
    ensemble = hf_test_ensemble_start(
        &(hf_test_ensemble_options){.sentinel_password = "admin"});
    for (int i = 0; i < HF_TEST_SENTINELS; i++)
        assert_string_equal(
            hf_test_server_ask(
                hf_test_ensemble_sentinel(ensemble, i),
                "ACL SETUSER hf on >pw resetchannels &+switch-master -@all "
                "+subscribe +sentinel|master +sentinel|sentinels "
                "+sentinel|get-master-addr-by-name"),
            "OK");
    hf_client *client =
        hf_test_open(with_query("sentinel_user=hf&sentinel_password=pw"), NULL);
    hf_expect(HF_OK, hf_lock_try(hf_test_lock(client, "x", NULL), ERR));
    hf_test_ensemble_fail_over(ensemble);
    int now = hf_test_ensemble_await_failover(ensemble, 0);
    hf_lock *b = hf_test_lock(client, "y", NULL);
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    hf_test_eventually(
        hf_lock_release(b, ERR) == HF_OK &&
            hf_lock_acquire(b, HF_TEST_LONG, ERR) == HF_OK &&
            hf_test_server_ask_number(hf_test_ensemble_server(ensemble, now),
                                      "EXISTS y") == 1,
        HF_TEST_LONG);
}

static void sentinels_may_have_tls_alone(void **s) {
    (void)s;
    const hf_test_tls *files = hf_test_tls_files();
    char query[512];
    ensemble = hf_test_ensemble_start(
        &(hf_test_ensemble_options){.tls_cert = files->cert});
    snprintf(query, sizeof query, "sentinel_tls=on&sentinel_tls_ca=%s",
             files->ca);
    hf_expect(HF_OK, open_it(with_query(query), HF_TEST_LONG));
    hf_expect(HF_ETLS, open_it(with_query("sentinel_tls=on"), HF_TEST_LONG));
    snprintf(query, sizeof query, "sentinel_tls=on&sentinel_tls_ca=%s",
             files->stranger);
    hf_expect(HF_ETLS, open_it(with_query(query), HF_TEST_LONG));
    assert_says("sentinel 127.0.0.1:");
}

static void servers_and_sentinels_may_have_tls(void **s) {
    (void)s;
    const hf_test_tls *files = hf_test_tls_files();
    char query[512];
    ensemble = hf_test_ensemble_start(
        &(hf_test_ensemble_options){.tls_cert = files->cert, .tls = true});
    snprintf(query, sizeof query, "tls_ca=%s", files->ca);
    hf_client *client = hf_test_open(with_query(query), NULL);
    assert_int_equal(strncmp(hf_store(client), "rediss+sentinel://", 18), 0);
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_ensemble_sync(ensemble, 0);
    hf_test_ensemble_fail_over(ensemble);
    hf_test_ensemble_await_failover(ensemble, 0);
    hf_test_eventually(hf_lock_extend(a, 20000, ERR) == HF_OK, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

#define TEST(name) HF_TEST_IN(with_stubs, name, teardown)
#define BARE(name) HF_TEST_IN(with_nothing, name, teardown)

static const struct CMUnitTest tests[] = {
    TEST(the_highest_epoch_names_the_master_not_the_first),
    TEST(one_that_sleeps_is_not_waited_for),
    TEST(one_that_knows_no_such_master_does_not_disturb),
    TEST(a_name_that_no_sentinel_knows_is_told),
    BARE(sentinels_that_are_not_there_are_told),
    TEST(sentinels_that_all_sleep_are_told),
    TEST(a_master_that_is_not_there_is_told),
    TEST(a_server_that_is_no_sentinel_is_told),
    TEST(a_replica_is_not_taken_for_the_master),
    TEST(who_opens_during_a_failover_waits_for_its_end),
    TEST(other_sentinels_are_found_through_the_first),
    TEST(replicas_that_only_the_sentinels_know_count),
    TEST(a_newer_epoch_moves_every_connection),
    TEST(without_a_message_it_is_noticed_all_the_same),
    TEST(a_message_makes_us_ask_at_once),
    TEST(the_one_who_leads_a_failover_is_believed_at_once),
    TEST(a_lone_sentinel_does_not_lead_back),
    TEST(most_of_them_lead_back),
    TEST(without_sentinels_the_last_master_stays),
    TEST(a_demoted_master_is_left),
    TEST(a_demoted_master_is_told_when_nobody_takes_over),
    TEST(a_frozen_master_does_not_hold_up_the_move),
    TEST(who_connects_to_a_frozen_master_turns_to_the_new_one),
    TEST(a_posted_release_follows_the_master),
    TEST(tokens_take_the_clock_of_whoever_is_master),
    TEST(the_address_is_shown_without_secrets),
    BARE(addresses_that_make_no_sense_are_refused),
    TEST(a_server_that_cannot_be_reached_as_wished_is_told),
    BARE(sentinels_have_their_own_password),
    BARE(a_password_for_the_servers_is_not_shown_to_sentinels),
    BARE(a_user_of_the_sentinels_needs_no_more_than_we_say),
    BARE(sentinels_may_have_tls_alone),
    BARE(servers_and_sentinels_may_have_tls),
};
HF_SUITE(tests)
