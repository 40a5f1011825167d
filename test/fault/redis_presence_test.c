/* SPDX-License-Identifier: MIT
 *
 * redis_presence_test.c - what becomes of the clients' records when a server
 * forgets, dies, is replaced or loses a slot: the next one puts it right. */
#include "support/cluster.h"
#include "support/proxy.h"
#include "support/sentinel.h"
#include "support/stage.h"
#include "support/suite.h"
#include "support/voters.h"

#include "backend/redis/keys.h"

#include <stdio.h>
#include <string.h>

static hf_test_server *server;
static hf_test_proxy *proxy;
static hf_test_ensemble *ensemble;
static hf_test_cluster *cluster;
static hf_test_voters voters;

static void with_a_server(void **state) {
    server = hf_test_server_start(NULL);
    proxy = hf_test_proxy_start(hf_test_server_port(server));
    hf_test_body(state);
}

static void with_an_ensemble(void **state) {
    ensemble = hf_test_ensemble_start(
        &(hf_test_ensemble_options){.down_after_ms = 700});
    hf_test_body(state);
}

static void with_a_cluster(void **state) {
    cluster = hf_test_cluster_start(&(hf_test_cluster_options){.replicas = 1});
    hf_test_body(state);
}

static void with_voters(void **state) {
    hf_test_voters_start(&voters, 3, NULL, "durable=1&node_timeout=5s");
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
    hf_test_proxy_stop(proxy);
    hf_test_server_stop(server);
    hf_test_ensemble_stop(ensemble);
    hf_test_cluster_stop(cluster);
    if (voters.n)
        hf_test_voters_stop(&voters);
    return 0;
}

/* ---- on stage ---------------------------------------------------------- */

/* Records are good for three seconds, and renewed every second.  A client has
 * one as soon as it asked for something. */
static hf_client *open_as(const char *uri, const char *host) {
    hf_client *client =
        hf_test_open(uri, HF_CLIENT_WITH(.host = host, .lease_ms = 3000));
    hf_lock *lock = hf_test_lock(client, host, NULL);

    hf_expect(HF_OK, hf_lock_acquire(lock, HF_TEST_LONG, ERR));
    hf_test_free(lock);
    return client;
}

typedef struct roll {
    const char *host;
    int n;
    char client[40];
} roll;

static void call(void *arg, const hf_presence *p) {
    roll *r = arg;

    if (strcmp(p->host, r->host) != 0)
        return;
    r->n++;
    snprintf(r->client, sizeof r->client, "%s", p->client);
}

/* How often the host is known; an error: not. */
static int known(hf_client *client, const char *host) {
    roll r = {.host = host};

    return hf_clients(client, call, &r, ERR) == HF_OK ? r.n : -1;
}

static void await_known(hf_client *client, const char *host) {
    hf_test_eventually(known(client, host) == 1, 2 * HF_TEST_LONG);
}

/* The key of its record, at the cluster. */
static void key_of(hf_client *client, const char *host, char key[HF_KEY_SIZE]) {
    roll r = {.host = host};

    hf_expect(HF_OK, hf_clients(client, call, &r, ERR));
    assert_int_equal(r.n, 1);
    hf__key_client(key, hf__shelf_of(r.client), r.client);
}

/* ---- one server -------------------------------------------------------- */

static void a_server_that_forgot_all_is_told_again(void **s) {
    (void)s;
    hf_client *a = open_as(hf_test_server_uri(server), "a");
    open_as(hf_test_server_uri(server), "b");
    await_known(a, "b");
    hf_test_server_ask(server, "FLUSHALL");
    hf_test_server_ask(server, "SCRIPT FLUSH");
    await_known(a, "b");
    hf_test_server_kill(server);
    hf_test_server_restart(server);
    await_known(a, "b");
    await_known(a, "a");
}

/* While it cannot reach the server it is not known when its lease is over. */
static void who_comes_back_is_known_again(void **s) {
    (void)s;
    char uri[64];
    hf_client *a = open_as(hf_test_server_uri(server), "a");
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d",
             hf_test_proxy_port(proxy));
    open_as(uri, "b");
    await_known(a, "b");
    hf_test_proxy_refuse(proxy, true);
    hf_test_proxy_cut(proxy);
    hf_test_eventually(known(a, "b") == 0, 2 * HF_TEST_LONG);
    hf_test_proxy_refuse(proxy, false);
    await_known(a, "b");
}

/* ---- another master ---------------------------------------------------- */

static void a_new_master_is_told(void **s) {
    (void)s;
    hf_client *a = open_as(hf_test_ensemble_uri(ensemble), "a");
    open_as(hf_test_ensemble_uri(ensemble), "b");
    await_known(a, "b");
    hf_test_server_kill(hf_test_ensemble_server(ensemble, 0));
    int now = hf_test_ensemble_await_failover(ensemble, 0);
    hf_test_server_ask(hf_test_ensemble_server(ensemble, now), "FLUSHALL");
    await_known(a, "b");
    await_known(a, "a");
}

static void a_new_master_of_the_shelf_is_told(void **s) {
    (void)s;
    char key[HF_KEY_SIZE];
    hf_client *a = open_as(hf_test_cluster_uri(cluster), "a");
    open_as(hf_test_cluster_uri(cluster), "b");
    await_known(a, "b");
    key_of(a, "b", key);
    int owner = hf_test_cluster_owner(cluster, key);
    hf_test_server_kill(hf_test_cluster_server(cluster, owner));
    int now = hf_test_cluster_await_failover(cluster, key, owner);
    hf_test_server_ask(hf_test_cluster_server(cluster, now), "FLUSHALL");
    await_known(a, "b");
    await_known(a, "a");
}

/* Records and their list go along with the slot, and are written there. */
static void a_shelf_moves_to_another_master(void **s) {
    (void)s;
    char key[HF_KEY_SIZE];
    hf_client *a = open_as(hf_test_cluster_uri(cluster), "a");
    hf_client *b = open_as(hf_test_cluster_uri(cluster), "b");
    await_known(a, "b");
    key_of(a, "b", key);
    int from = hf_test_cluster_owner(cluster, key), to = (from + 1) % 3;
    hf_test_cluster_move(cluster, hf_test_cluster_slot(cluster, key), from, to);
    hf_test_server_ask(hf_test_cluster_server(cluster, to), "DEL %s", key);
    await_known(a, "b");
    assert_int_equal(hf_test_server_ask_number(
                         hf_test_cluster_server(cluster, to), "EXISTS %s", key),
                     1);
    hf_test_close(b);
    hf_test_eventually(known(a, "b") == 0, 2 * HF_TEST_LONG);
}

/* ---- a majority -------------------------------------------------------- */

static void servers_that_forgot_or_fell_silent_hide_nobody(void **s) {
    (void)s;
    hf_client *a = open_as(voters.uri, "a");
    hf_client *b = open_as(voters.uri, "b");
    await_known(a, "b");
    hf_test_server_ask(voters.servers[0], "FLUSHALL");
    hf_test_server_kill(voters.servers[1]);
    await_known(a, "b");
    hf_test_server_ask(voters.servers[2], "FLUSHALL");
    await_known(a, "b");
    hf_test_server_restart(voters.servers[1]);
    hf_test_eventually(hf_test_server_ask_number(
                           voters.servers[1], "ZCARD holdfast:client:all") == 2,
                       2 * HF_TEST_LONG);
    hf_test_close(b);
    hf_test_eventually(known(a, "b") == 0, 2 * HF_TEST_LONG);
    hf_test_server_kill(voters.servers[0]);
    hf_test_server_kill(voters.servers[1]);
    hf_expect(HF_EMINORITY, hf_clients(a, call, &(roll){.host = "a"}, ERR));
}

#define TEST(with, name) HF_TEST_IN(with, name, teardown)

static const struct CMUnitTest tests[] = {
    TEST(with_a_server, a_server_that_forgot_all_is_told_again),
    TEST(with_a_server, who_comes_back_is_known_again),
    TEST(with_an_ensemble, a_new_master_is_told),
    TEST(with_a_cluster, a_new_master_of_the_shelf_is_told),
    TEST(with_a_cluster, a_shelf_moves_to_another_master),
    TEST(with_voters, servers_that_forgot_or_fell_silent_hide_nobody),
};

HF_SUITE(tests)
