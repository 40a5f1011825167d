/* SPDX-License-Identifier: MIT
 *
 * redis_cluster_test.c - what a cluster does that one server does not: names
 * spread over masters, found, listed, renewed and woken wherever they are. */
#include "support/cluster.h"
#include "support/stage.h"
#include "support/suite.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const hf_test_set *set; /* three masters, borrowed */
static hf_test_cluster *own;   /* a cluster with something special */
static hf_test_server *lone;

static void with_a_cluster(void **state) {
    set = hf_test_borrow(&hf_test_cluster_sort);
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
    hf_test_give_back();
    hf_test_cluster_stop(own);
    hf_test_server_stop(lone);
    own = NULL;
    lone = NULL;
    return 0;
}

/* ---- asking the masters ------------------------------------------------ */

/* A number, or -1 for whatever else it is. */
static long long ask(int i, const char *format, ...) {
    va_list ap;
    redisContext *c = redisConnect("127.0.0.1", set->ports[i]);
    assert_non_null(c);
    assert_int_equal(c->err, 0);
    va_start(ap, format);
    redisReply *reply = redisvCommand(c, format, ap);
    va_end(ap);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2) {
        redisReply *second = reply->element[1];
        reply->element[1] = NULL;
        freeReplyObject(reply);
        reply = second;
    }
    long long n = reply->type == REDIS_REPLY_INTEGER ? reply->integer : -1;
    freeReplyObject(reply);
    redisFree(c);
    return n;
}

static int owner_of(const char *key) {
    for (int i = 0; i < set->n_ports; i++)
        if (ask(i, "EXISTS %s", key) >= 0)
            return i;
    fail_msg("nobody has %s", key);
    return -1;
}

static hf_client *client_with(const char *params) {
    char uri[300];
    snprintf(uri, sizeof uri, "%s%s", set->uri, params);
    return hf_test_open(uri, NULL);
}

static void expect_refused(const char *uri, int code, const char *word) {
    hf_client *client;
    hf_expect(code,
              hf_open(&client, uri, HF_CLIENT_WITH(.timeout_ms = 1000), ERR));
    if (strstr(hf_test_error.text, word) == NULL)
        fail_msg("not '%s' in: %s", word, hf_test_error.text);
}

/* ---- where things are -------------------------------------------------- */

enum { MANY = 60 };

static void locks_lie_at_all_masters(void **s) {
    (void)s;
    hf_client *client = client_with("");
    char name[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "lock-%d", i);
        hf_expect(HF_OK, hf_lock_try(hf_test_lock(client, name, NULL), ERR));
        assert_int_equal(ask(owner_of(name), "EXISTS %s", name), 1);
        assert_int_equal(
            ask(owner_of(name), "EXISTS redisson_lock_token:{%s}", name), 1);
    }
    for (int i = 0; i < set->n_ports; i++)
        assert_true(ask(i, "DBSIZE") >= 2);
}

typedef struct seen {
    int places, ours;
} seen;

static void see(void *arg, const hf_place *place) {
    seen *of = arg;
    of->places++;
    of->ours += place->holds && !place->foreign && place->pid == getpid() &&
                strcmp(place->why, "because") == 0;
}

/* The record of the client lies at one of them, the locks at all. */
static void the_list_knows_who_holds_what_everywhere(void **s) {
    (void)s;
    hf_client *holder =
        hf_test_open(set->uri, HF_CLIENT_WITH(.why = "because"));
    hf_client *other = client_with("");
    char name[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "lock-%d", i);
        hf_expect(HF_OK, hf_lock_try(hf_test_lock(holder, name, NULL), ERR));
    }
    seen all = {0, 0}, one = {0, 0};
    hf_test_eventually(
        (all = (seen){0, 0},
         hf_list(other, NULL, see, &all, ERR) == HF_OK && all.ours == MANY),
        HF_TEST_LONG);
    assert_int_equal(all.places, MANY);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "lock-%d", i);
        hf_expect(HF_OK, hf_list(other, name, see, &one, ERR));
    }
    assert_int_equal(one.ours, MANY);
    assert_int_equal(one.places, MANY);
}

/* ---- renewing ---------------------------------------------------------- */

static void hold_many(hf_client *client) {
    char name[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "lock-%d", i);
        hf_lock *lock = hf_test_lock(
            client, name, HF_LOCK_WITH(.watchdog_ms = 900, .renew_ms = 150));
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
    }
}

static atomic_int lost;

static void on_event(void *arg, const hf_event *event) {
    (void)arg;
    if (event->kind == HF_EVENT_LOST)
        atomic_fetch_add(&lost, 1);
}

static void holds_at_all_masters_are_kept(void **s) {
    (void)s;
    hf_client *client =
        hf_test_open(set->uri, HF_CLIENT_WITH(.on_event = on_event));
    hold_many(client);
    hf_test_throughout(atomic_load(&lost) == 0, 2500);
    assert_int_equal(hf_test_holders(client, NULL), MANY);
}

static void renewal_survives_servers_that_forget_its_scripts(void **s) {
    (void)s;
    hf_client *client =
        hf_test_open(set->uri, HF_CLIENT_WITH(.on_event = on_event));
    hold_many(client);
    int64_t by = hf_test_now_ms() + 2000;
    while (hf_test_now_ms() < by) {
        for (int i = 0; i < set->n_ports; i++)
            ask(i, "SCRIPT FLUSH");
        hf_test_breathe();
    }
    assert_int_equal(atomic_load(&lost), 0);
    assert_int_equal(hf_test_holders(client, NULL), MANY);
}

/* ---- messages ---------------------------------------------------------- */

static void listen_at_the_owner(const char *params, const char *command) {
    hf_test_thread waiter;
    static const char channel[] = "redisson_lock__channel:{x}";
    hf_lock *a = hf_test_lock(client_with(params), "x", NULL);
    hf_lock *b = hf_test_lock(client_with(params), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(ask(owner_of("x"), command, channel) == 1, HF_TEST_LONG);
    for (int i = 0; i < set->n_ports; i++)
        assert_int_equal(ask(i, command, channel), i == owner_of("x"));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static void messages_stay_in_their_shard(void **s) {
    (void)s;
    listen_at_the_owner("", "PUBSUB SHARDNUMSUB %s");
}

static void messages_stay_in_their_shard_if_so_wanted(void **s) {
    (void)s;
    listen_at_the_owner("?sharded=on", "PUBSUB SHARDNUMSUB %s");
}

static void messages_go_everywhere_if_so_wanted(void **s) {
    (void)s;
    listen_at_the_owner("?sharded=off", "PUBSUB NUMSUB %s");
}

/* Its channel lies in another slot than itself; so it is looked at. */
static void a_latch_with_a_tag_is_waited_for_all_the_same(void **s) {
    (void)s;
    hf_test_task waiter;
    hf_latch *a = hf_test_latch(client_with(""), "{t}latch");
    hf_latch *b = hf_test_latch(client_with(""), "{t}latch");
    hf_expect(HF_OK, hf_latch_set(a, 1, ERR));
    hf_test_await(&waiter, b, HF_FOREVER);
    hf_expect(HF_OK, hf_latch_count_down(a, ERR));
    hf_expect(HF_OK, hf_test_result(&waiter));
}

/* ---- the address ------------------------------------------------------- */

static void a_cluster_has_one_database(void **s) {
    (void)s;
    char uri[300];
    snprintf(uri, sizeof uri, "%s/1", set->uri);
    expect_refused(uri, HF_EURI, "one database");
    snprintf(uri, sizeof uri, "%s?db=2", set->uri);
    expect_refused(uri, HF_EURI, "one database");
    hf_test_open((snprintf(uri, sizeof uri, "%s/0", set->uri), uri), NULL);
}

static void what_messages_shall_do_is_one_of_three(void **s) {
    (void)s;
    char uri[300];
    snprintf(uri, sizeof uri, "%s?sharded=perhaps", set->uri);
    expect_refused(uri, HF_EURI, "auto, on or off");
}

static void a_server_of_its_own_is_no_cluster(void **s) {
    (void)s;
    char uri[128];
    lone = hf_test_server_start(NULL);
    snprintf(uri, sizeof uri, "redis+cluster://127.0.0.1:%d",
             hf_test_server_port(lone));
    expect_refused(uri, HF_EURI, "write redis://");
    snprintf(uri, sizeof uri, "%s?sharded=on", hf_test_server_uri(lone));
    expect_refused(uri, HF_EURI, "redis+cluster://");
}

static void a_cluster_is_not_taken_for_one_server(void **s) {
    (void)s;
    char uri[64], name[16];
    int moved = 0;
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d", set->ports[0]);
    hf_client *client = hf_test_open(uri, NULL);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "n%d", i);
        if (hf_lock_try(hf_test_lock(client, name, NULL), ERR) != HF_EURI)
            continue;
        assert_non_null(strstr(hf_test_error.text, "redis+cluster://"));
        moved++;
    }
    assert_true(moved > 0);
}

static void one_seed_that_answers_is_enough(void **s) {
    (void)s;
    char uri[128];
    snprintf(uri, sizeof uri, "redis+cluster://127.0.0.1:1,127.0.0.1:%d",
             set->ports[1]);
    hf_client *client = hf_test_open(uri, NULL);
    for (int i = 0; i < 12; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        hf_expect(HF_OK, hf_lock_try(hf_test_lock(client, name, NULL), ERR));
    }
    expect_refused("redis+cluster://127.0.0.1:1,127.0.0.1:2", HF_EDOWN,
                   "127.0.0.1:2");
}

/* ---- clusters with something special ----------------------------------- */

static void use_it(const char *uri) {
    hf_client *client = hf_test_open(uri, NULL);
    hf_client *other = hf_test_open(uri, NULL);
    hf_test_thread waiter;
    char name[16];
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "n%d", i);
        hf_expect(HF_OK, hf_lock_try(hf_test_lock(client, name, NULL), ERR));
    }
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, hf_test_lock(other, "x", NULL), HF_FOREVER);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

/* What the seeds are told, all servers are told. */
static void a_password_opens_all_servers(void **s) {
    (void)s;
    char uri[128];
    own = hf_test_cluster_start(
        &(hf_test_cluster_options){.password = "Tr0ub4dor"});
    use_it(hf_test_cluster_uri(own));
    snprintf(uri, sizeof uri, "redis+cluster://:wrong@127.0.0.1:%d",
             hf_test_server_port(hf_test_cluster_server(own, 0)));
    expect_refused(uri, HF_EAUTH, "password");
    assert_null(strstr(hf_test_error.text, "wrong@"));
}

static void a_cluster_is_reached_by_tls(void **s) {
    (void)s;
    char uri[600];
    const hf_test_tls *tls = hf_test_tls_files();
    own = hf_test_cluster_start(
        &(hf_test_cluster_options){.tls_cert = tls->cert});
    snprintf(uri, sizeof uri, "%s?tls_ca=%s", hf_test_cluster_uri(own),
             tls->ca);
    use_it(uri);
    snprintf(uri, sizeof uri, "%s?tls_ca=%s", hf_test_cluster_uri(own),
             tls->stranger);
    expect_refused(uri, HF_ETLS, "");
}

#define TEST(name) HF_TEST_IN(with_a_cluster, name, teardown)

static const struct CMUnitTest tests[] = {
    TEST(locks_lie_at_all_masters),
    TEST(the_list_knows_who_holds_what_everywhere),
    TEST(holds_at_all_masters_are_kept),
    TEST(renewal_survives_servers_that_forget_its_scripts),
    TEST(messages_stay_in_their_shard),
    TEST(messages_stay_in_their_shard_if_so_wanted),
    TEST(messages_go_everywhere_if_so_wanted),
    TEST(a_latch_with_a_tag_is_waited_for_all_the_same),
    TEST(a_cluster_has_one_database),
    TEST(what_messages_shall_do_is_one_of_three),
    cmocka_unit_test_teardown(a_server_of_its_own_is_no_cluster, teardown),
    TEST(a_cluster_is_not_taken_for_one_server),
    TEST(one_seed_that_answers_is_enough),
    cmocka_unit_test_teardown(a_password_opens_all_servers, teardown),
    cmocka_unit_test_teardown(a_cluster_is_reached_by_tls, teardown),
};
HF_SUITE(tests)
