/* SPDX-License-Identifier: MIT
 *
 * cluster_nodes_test.c - nodes come and go, and nobody uses one that is gone.
 * By a clock of the test's; nothing is connected to. */
#include "backend/redis/topology/cluster_nodes.h"
#include "support/stage.h"
#include "support/suite.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hf_time now;
static hf_world world;
static const hf_host host = {.timeout_ms = 1000};
static const hf_scripts scripts;
static const hf_node_needs needs = {
    .host = &host, .scripts = &scripts, .once = true, .wait_ms = 100};
static hf_address *like;
static hf_nodes *nodes;

static hf_time test_clock(void) {
    return now;
}

static void with_nodes(void **state) {
    hf_uri *uri;
    world = hf__real_world;
    world.now = test_clock;
    now = 100 * HF_SECOND;
    hf__world = &world;
    hf_expect(HF_OK, hf_uri_parse(&uri, "redis+cluster://seed", ERR));
    hf_expect(HF_OK, hf__address_new(&like, uri, 0, ERR));
    hf_uri_free(uri);
    nodes = calloc(1, sizeof *nodes);
    assert_non_null(nodes);
    hf__nodes_init(nodes, &needs);
    nodes->like = like;
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    hf__nodes_clear(nodes, false);
    free(nodes);
    hf__address_free(like);
    hf__world = &hf__real_world;
    return 0;
}

static unsigned at(const char *where, int port) {
    int number = hf__nodes_at(nodes, where, port, ERR);
    assert_true(number >= 0);
    return (unsigned)number;
}

static bool is_there(unsigned number) {
    hf_node *node = hf__nodes_enter(nodes, number);
    if (node != NULL)
        hf__nodes_leave(nodes, node);
    return node != NULL;
}

static void pass(int seconds) {
    now += seconds * HF_SECOND;
    hf__nodes_sweep(nodes);
}

static void one_address_is_one_node(void **s) {
    (void)s;
    unsigned a = at("a", 1);
    assert_int_equal(at("a", 1), a);
    assert_int_not_equal(at("a", 2), a);
    assert_int_not_equal(at("b", 1), a);
    assert_int_equal(at("a", 1), a);
}

static void who_has_slots_stays(void **s) {
    (void)s;
    unsigned a = at("a", 1);
    atomic_store(&nodes->seats[a].slots, 1);
    for (int i = 0; i < 100; i++)
        pass(60);
    assert_true(is_there(a));
    atomic_store(&nodes->seats[a].slots, 0);
    pass(5);
    assert_true(is_there(a));
    pass(6);
    assert_false(is_there(a));
}

static void who_is_asked_for_again_stays(void **s) {
    (void)s;
    unsigned a = at("a", 1);
    for (int i = 0; i < 10; i++) {
        pass(9);
        assert_int_equal(at("a", 1), a);
    }
    assert_true(is_there(a));
}

static void nobody_is_taken_down_while_it_is_used(void **s) {
    (void)s;
    unsigned a = at("a", 1);
    hf_node *node = hf__nodes_enter(nodes, a);
    assert_non_null(node);
    for (int i = 0; i < 10; i++)
        pass(60);
    assert_string_equal(node->server.target.address->host, "a");
    assert_ptr_equal(hf__nodes_enter(nodes, a), node);
    hf__nodes_leave(nodes, node);
    hf__nodes_leave(nodes, node);
    pass(1);
    assert_false(is_there(a));
}

static void a_seat_that_was_left_is_taken_again(void **s) {
    (void)s;
    for (int i = 0; i < 3 * HF_CLUSTER_MAX; i++) {
        char where[16];
        snprintf(where, sizeof where, "h%d", i);
        at(where, 1);
        if (i % 100 == 99)
            pass(11);
    }
    assert_true(atomic_load(&nodes->n) <= 100);
}

static void there_is_an_end_to_them(void **s) {
    (void)s;
    for (int port = 1; port <= HF_CLUSTER_MAX; port++)
        at("a", port);
    assert_int_equal(hf__nodes_at(nodes, "b", 1, ERR), HF_ECANNOT);
    assert_true(is_there(at("a", HF_CLUSTER_MAX)));
    pass(11);
    assert_true(is_there(at("b", 1)));
}

#define TEST(name) HF_TEST_IN(with_nodes, name, teardown)

static const struct CMUnitTest tests[] = {
    TEST(one_address_is_one_node),
    TEST(who_has_slots_stays),
    TEST(who_is_asked_for_again_stays),
    TEST(nobody_is_taken_down_while_it_is_used),
    TEST(a_seat_that_was_left_is_taken_again),
    TEST(there_is_an_end_to_them),
};
HF_SUITE(tests)
