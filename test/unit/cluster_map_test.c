/* SPDX-License-Identifier: MIT
 *
 * cluster_map_test.c - what servers of a cluster say of each other, in every
 * form they have for it. */
#include "backend/redis/topology/cluster_map.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hf_cluster_map *map;
static hf_error err;

/* The reply as the wire has it. */
static int read_map(const char *wire) {
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;

    hf__cluster_map_free(map);
    map = NULL;
    assert_int_equal(redisReaderFeed(reader, wire, strlen(wire)), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    int rc = hf__cluster_map_read(&map, reply, "asked", &err);
    freeReplyObject(reply);
    redisReaderFree(reader);
    return rc;
}

/* "host:port" of the slot's owner, "-" if it has none. */
static const char *owner(unsigned slot) {
    static char text[300];
    unsigned i = map->owners[slot];

    if (!i)
        return "-";
    snprintf(text, sizeof text, "%s:%d", map->places[i - 1].host,
             map->places[i - 1].port);
    return text;
}

static int teardown(void **state) {
    (void)state;
    hf__cluster_map_free(map);
    map = NULL;
    return 0;
}

#define NODE(host, port) "*3\r\n" host ":" port "\r\n$2\r\nid\r\n"

static void every_form_of_an_endpoint_is_understood(void **s) {
    (void)s;
    assert_int_equal(
        read_map("*5\r\n"
                 /* an address, with a replica */
                 "*4\r\n:0\r\n:99\r\n" NODE("$9\r\n127.0.0.1\r\n", "7001")
                     NODE("$9\r\n127.0.0.1\r\n", "7004")
                 /* a host name */
                 "*3\r\n:100\r\n:199\r\n" NODE("$4\r\nhost\r\n", "7002")
                 /* none, and an empty one: whom we asked */
                 "*3\r\n:200\r\n:299\r\n" NODE(
                     "$-1\r\n",
                     "7003") "*3\r\n:300\r\n:300\r\n" NODE("$0\r\n\r\n", "7005")
                 /* unknown, but its ip stands beside it */
                 "*3\r\n:400\r\n:400\r\n*4\r\n$1\r\n?\r\n:7006\r\n$2\r\nid\r\n"
                 "*4\r\n$8\r\nhostname\r\n$1\r\nh\r\n$2\r\nip\r\n"
                 "$3\r\n::1\r\n"),
        HF_OK);
    assert_string_equal(owner(0), "127.0.0.1:7001");
    assert_string_equal(owner(99), "127.0.0.1:7001");
    assert_string_equal(owner(150), "host:7002");
    assert_string_equal(owner(250), "asked:7003");
    assert_string_equal(owner(300), "asked:7005");
    assert_string_equal(owner(301), "-");
    assert_string_equal(owner(400), "::1:7006");
    assert_int_equal(map->places[map->owners[0] - 1].replicas, 1);
    assert_int_equal(map->n, 6);
}

static void ranges_of_one_server_are_one_place(void **s) {
    (void)s;
    assert_int_equal(
        read_map(
            "*3\r\n*3\r\n:0\r\n:5\r\n" NODE("$1\r\na\r\n", "1") "*3\r\n:6\r\n:6\r\n" NODE(
                "$1\r\nb\r\n", "1") "*3\r\n:7\r\n:16383\r\n" NODE("$1\r\na\r\n",
                                                                  "1")),
        HF_OK);
    assert_int_equal(map->n, 2);
    assert_string_equal(owner(16383), "a:1");
    assert_string_equal(owner(6), "b:1");
}

static void what_makes_no_sense_is_passed_over(void **s) {
    static const char *const odd[] = {
        "*1\r\n*3\r\n:-1\r\n:5\r\n" NODE("$1\r\na\r\n", "1"),
        "*1\r\n*3\r\n:5\r\n:4\r\n" NODE("$1\r\na\r\n", "1"),
        "*1\r\n*3\r\n:0\r\n:16384\r\n" NODE("$1\r\na\r\n", "1"),
        "*1\r\n*3\r\n:0\r\n:5\r\n" NODE("$1\r\na\r\n", "0"),
        "*1\r\n*3\r\n:0\r\n:5\r\n" NODE("$1\r\na\r\n", "65536"),
        "*1\r\n*3\r\n:0\r\n:5\r\n" NODE("$1\r\n?\r\n", "1"),
        "*1\r\n*3\r\n:0\r\n:5\r\n*1\r\n$1\r\na\r\n",
        "*1\r\n*3\r\n:0\r\n:5\r\n:7\r\n",
        "*1\r\n*2\r\n:0\r\n:5\r\n",
        "*1\r\n:5\r\n",
        "*0\r\n",
    };
    (void)s;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        assert_int_equal(read_map(odd[i]), HF_EDOWN);
        assert_non_null(strstr(err.text, "slots"));
    }
    assert_int_equal(read_map("$2\r\nOK\r\n"), HF_ESTORE);
}

static void more_servers_than_there_can_be_do_no_harm(void **s) {
    size_t size = 1 << 20, at = 0;
    char *wire = malloc(size);
    (void)s;
    at += (size_t)snprintf(wire, size, "*2000\r\n");
    for (int i = 0; i < 2000; i++)
        at += (size_t)snprintf(
            wire + at, size - at,
            "*3\r\n:%d\r\n:%d\r\n*3\r\n$1\r\na\r\n:%d\r\n$2\r\nid\r\n", i, i,
            i + 1);
    assert_int_equal(read_map(wire), HF_OK);
    assert_int_equal(map->n, HF_CLUSTER_MAX);
    assert_string_equal(owner(HF_CLUSTER_MAX - 1), "a:1024");
    assert_string_equal(owner(HF_CLUSTER_MAX), "-");
    free(wire);
}

static void redirects_are_read_in_every_form(void **s) {
    static const struct {
        const char *text, *word;
        int slot; /* -1: it does not say where to */
        const char *host;
        int port;
    } cases[] = {
        {"MOVED 3999 127.0.0.1:6381", "MOVED", 3999, "127.0.0.1", 6381},
        {"ASK 0 host.example:1", "ASK", 0, "host.example", 1},
        {"MOVED 16383 2001:db8::1:6379", "MOVED", 16383, "2001:db8::1", 6379},
        {"MOVED 5287 :17004", "MOVED", 5287, "asked", 17004},
        {"MOVED 1 ?:17004", "MOVED", -1, "", 0},
        {"MOVED 16384 a:1", "MOVED", -1, "", 0},
        {"MOVED -1 a:1", "MOVED", -1, "", 0},
        {"MOVED 1 a", "MOVED", -1, "", 0},
        {"MOVED 1 a:", "MOVED", -1, "", 0},
        {"MOVED 1 a:0", "MOVED", -1, "", 0},
        {"MOVED 1 a:65536", "MOVED", -1, "", 0},
        {"MOVED 1 a:1x", "MOVED", -1, "", 0},
        {"MOVED  a:1", "MOVED", -1, "", 0},
        {"MOVED", "MOVED", -1, "", 0},
        {"ASK 1 a:1", "MOVED", -1, "", 0},
        {"ASKED 1 a:1", "ASK", -1, "", 0},
    };
    (void)s;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hf_redirect to = {0};
        bool ok = hf__redirect_read(&to, cases[i].text, cases[i].word, "asked");
        if (ok != (cases[i].slot >= 0))
            fail_msg("%s", cases[i].text);
        if (!ok)
            continue;
        assert_int_equal(to.slot, cases[i].slot);
        assert_string_equal(to.host, cases[i].host);
        assert_int_equal(to.port, cases[i].port);
    }
}

static void a_host_longer_than_any_name_is_refused(void **s) {
    char text[600];
    hf_redirect to;
    (void)s;
    snprintf(text, sizeof text, "MOVED 1 %0300d:1", 7);
    assert_false(hf__redirect_read(&to, text, "MOVED", "asked"));
    snprintf(text, sizeof text, "MOVED 1 %0255d:1", 7);
    assert_true(hf__redirect_read(&to, text, "MOVED", "asked"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(every_form_of_an_endpoint_is_understood,
                              teardown),
    cmocka_unit_test_teardown(ranges_of_one_server_are_one_place, teardown),
    cmocka_unit_test_teardown(what_makes_no_sense_is_passed_over, teardown),
    cmocka_unit_test_teardown(more_servers_than_there_can_be_do_no_harm,
                              teardown),
    cmocka_unit_test(redirects_are_read_in_every_form),
    cmocka_unit_test(a_host_longer_than_any_name_is_refused),
};
HF_SUITE(tests)
