/* SPDX-License-Identifier: MIT
 *
 * zookeeper_layout_test.c - entries are called as their peers call them, and
 * nothing else is taken for one. */
#include "support/suite.h"

#include "backend/zookeeper/layout.h"

#include <stdlib.h>
#include <string.h>

static const unsigned char id[16] = {0xfa, 0xd6, 0xf1, 0x6f, 0xf9, 0x58,
                                     0x0b, 0x55, 0x08, 0x37, 0xf3, 0x38,
                                     0xd4, 0xbb, 0x8b, 0xf3};
#define UUID "fad6f16f-f958-4b55-8837-f338d4bb8bf3"
#define HEX  "fad6f16ff9584b558837f338d4bb8bf3"

static void an_entry_is_called_as_its_peer_calls_it(void **state) {
    static const struct {
        hf_layout layout;
        hf_kind kind;
        const char *name;
    } cases[] = {
        {HF_CURATOR, HF_LOCK, "_c_" UUID "-lock-"},
        {HF_CURATOR, HF_READ, "_c_" UUID "-__READ__"},
        {HF_CURATOR, HF_WRITE, "_c_" UUID "-__WRIT__"},
        {HF_CURATOR, HF_PERMIT, "_c_" UUID "-lease-"},
        {HF_KAZOO, HF_LOCK, HEX "__lock__"},
        {HF_KAZOO, HF_READ, HEX "__rlock__"},
        {HF_KAZOO, HF_WRITE, HEX "__lock__"},
        {HF_KAZOO, HF_PERMIT, "_c_" UUID "-lease-"},
        {HF_BRIDGE, HF_LOCK, "_c_" UUID "-lock-"},
        {HF_BRIDGE, HF_WRITE, "_c_" UUID "-__WRIT__"},
    };
    char buf[HF_ZNODE_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = hf__layout_name(cases[i].layout, cases[i].kind, id, buf);

        assert_string_equal(buf, cases[i].name);
        assert_int_equal(n, strlen(buf));
        assert_true(hf__layout_has_id(buf, id));
    }
    hf__layout_twin(id, buf);
    assert_string_equal(buf, "_c_" UUID "-__lock__");
    assert_true(hf__layout_has_id(buf, id));
    assert_false(hf__layout_has_id("_c_" UUID, id));
}

static void a_child_is_an_entry_by_its_tag_and_ten_digits(void **state) {
    enum { NONE = -1 };
    static const struct {
        hf_layout layout;
        hf_kind line;
        const char *child;
        int kind;
        uint64_t order;
    } cases[] = {
        {HF_CURATOR, HF_LOCK, "_c_" UUID "-lock-0000000007", HF_LOCK, 7},
        {HF_CURATOR, HF_LOCK, "lock-2147483647", HF_LOCK, 2147483647},
        {HF_CURATOR, HF_LOCK, HEX "-lock-0000000001", HF_LOCK, 1},
        {HF_CURATOR, HF_LOCK, "_c_" UUID "-lock--2147483648", NONE, 0},
        {HF_CURATOR, HF_LOCK, "_c_" UUID "-lock-00000000071", NONE, 0},
        {HF_CURATOR, HF_LOCK, "_c_" UUID "-lock-000000007", NONE, 0},
        {HF_CURATOR, HF_LOCK, HEX "__lock__0000000001", NONE, 0},
        {HF_CURATOR, HF_LOCK, "0", NONE, 0},
        {HF_CURATOR, HF_LOCK, "0000000001", NONE, 0},
        {HF_CURATOR, HF_LOCK, "", NONE, 0},
        {HF_CURATOR, HF_LOCK, "b", NONE, 0},
        {HF_CURATOR, HF_LOCK, "_c_" UUID "-__WRIT__0000000001", NONE, 0},
        {HF_CURATOR, HF_WRITE, "_c_" UUID "-__WRIT__0000000001", HF_WRITE, 1},
        {HF_CURATOR, HF_WRITE, "_c_" UUID "-__READ__0000000001", HF_READ, 1},
        {HF_CURATOR, HF_WRITE, "_c_" UUID "-lock-0000000001", NONE, 0},
        {HF_CURATOR, HF_SEMAPHORE, "_c_" UUID "-lease-0000000012", HF_PERMIT,
         12},
        {HF_CURATOR, HF_LATCH, "_c_" UUID "-lock-0000000001", NONE, 0},
        {HF_KAZOO, HF_LOCK, HEX "__lock__0000000001", HF_LOCK, 1},
        {HF_KAZOO, HF_LOCK, HEX "__rlock__0000000001", NONE, 0},
        {HF_KAZOO, HF_WRITE, HEX "__lock__0000000001", HF_WRITE, 1},
        {HF_KAZOO, HF_WRITE, HEX "__rlock__0000000001", HF_READ, 1},
        {HF_KAZOO, HF_LOCK, "_c_" UUID "-lock-0000000001", NONE, 0},
        {HF_BRIDGE, HF_LOCK, "_c_" UUID "-lock-0000000001", HF_LOCK, 1},
        {HF_BRIDGE, HF_LOCK, HEX "__lock__0000000002", HF_LOCK, 2},
        {HF_BRIDGE, HF_WRITE, HEX "__lock__0000000002", NONE, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hf_tagged tagged = {0};
        bool found = hf__layout_parse(cases[i].layout, cases[i].line,
                                      cases[i].child, &tagged);

        if (found != (cases[i].kind != NONE))
            fail_msg("\"%s\"", cases[i].child);
        if (found) {
            assert_int_equal(tagged.kind, cases[i].kind);
            assert_int_equal(tagged.order, cases[i].order);
        }
    }
}

static void nodes_of_one_claim_are_known_by_their_id(void **state) {
    (void)state;
    assert_true(hf__layout_same_id("_c_" UUID "-lease-0000000001",
                                   "_c_" UUID "-lease-0000000002"));
    assert_true(hf__layout_same_id("_c_" UUID "-lock-0000000001",
                                   "_c_" UUID "-__lock__0000000002"));
    assert_false(hf__layout_same_id("lock-0000000001", "lock-0000000002"));
    assert_false(
        hf__layout_same_id("_c_" UUID "-lease-0000000001",
                           "_c_0ad6f16f-f958-4b55-8837-f338d4bb8bf3-lease-"
                           "0000000002"));
}

static void expect_nodes(const char *folder, const char *child, int nodes,
                         size_t n, const char *const *paths) {
    char *key = hf__zk_key_make(folder, child, nodes), buf[HF_ZNODE_SIZE];

    assert_int_equal(hf__zk_key_nodes(key), n);
    for (size_t i = 0; i < n; i++) {
        hf__zk_key_node(key, i, buf);
        assert_string_equal(buf, paths[i]);
    }
    free(key);
}

static void a_key_knows_all_its_nodes(void **state) {
    static const char *const one[] = {"/a/_c_" UUID "-lock-0000000009"};
    static const char *const pair[] = {"/a/_c_" UUID "-lock-0000000009",
                                       "/a/_c_" UUID "-__lock__0000000010"};
    static const char *const leases[] = {
        "/a/leases/_c_" UUID "-lease-0000000099",
        "/a/leases/_c_" UUID "-lease-0000000100",
        "/a/leases/_c_" UUID "-lease-0000000101"};
    char *key;

    (void)state;
    expect_nodes("/a", "_c_" UUID "-lock-0000000009", HF_ONE, 1, one);
    expect_nodes("/a", "_c_" UUID "-lock-0000000009", HF_PAIR, 2, pair);
    expect_nodes("/a/leases", "_c_" UUID "-lease-0000000099", 3, 3, leases);
    key = hf__zk_key_make("/a/leases", "_c_" UUID "-lease-0000000099", 3);
    assert_int_equal(hf__zk_key_order(key), 99);
    free(key);
}

static void a_mark_says_until_when(void **state) {
    char buf[HF_ZNODE_SIZE];
    int64_t ms = 0;

    (void)state;
    hf__layout_until(INT64_C(1700000000123), buf);
    assert_string_equal(buf, "hf-until-1700000000123");
    assert_true(hf__layout_parse_until(buf, &ms));
    assert_int_equal(ms, INT64_C(1700000000123));
    assert_false(hf__layout_parse_until("hf-until-", &ms));
    assert_false(hf__layout_parse_until("hf-until-1x", &ms));
    assert_false(hf__layout_parse_until("hf-until-9999999999999999", &ms));
}

static void names_that_are_no_paths_are_refused(void **state) {
    static const struct {
        const char *chroot, *name;
        bool good;
    } cases[] = {
        {"", "a", true},
        {"", "a/b/c", true},
        {"", "größe", true},
        {"", "鍵", true},
        {"", "locks", true},
        {"", "zookeeperx", true},
        {"/app", "zookeeper", true},
        {"", "...", true},
        {"", ".", false},
        {"", "..", false},
        {"", "a/../b", false},
        {"", "/a", false},
        {"", "a/", false},
        {"", "a//b", false},
        {"", "zookeeper", false},
        {"", "zookeeper/quota", false},
        {"", "hf-clients", false},
        {"", "hf-clients/a", false},
        {"/app", "hf-clients", false},
        {"", "hf-clients2", true},
        {"", "a/hf-clients", true},
        {"", "🔑", false},
        {"", "\xee\x80\x80", false},
        {"", "\xc2\x85", false},
        {"", "\xef\xbf\xbe", false},
        {"", "a/locks", false},
        {"", "a/leases/b", false},
        {"", "a/count", false},
        {"", "a/count-answers", false},
        {"", "a/x-lock-0000000001", false},
        {"", "a/x__lock__0000000001", false},
        {"", "a/x__rlock__0000000001", false},
        {"", "a/x__READ__0000000001", false},
        {"", "a/hf-until-1", false},
        {"", "lock-0000000001", true},
    };
    hf_error err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int rc = hf__layout_check_name(cases[i].chroot, cases[i].name, &err);

        if ((rc == HF_OK) != cases[i].good)
            fail_msg("\"%s\" below \"%s\"", cases[i].name, cases[i].chroot);
        if (rc != HF_OK) {
            assert_int_equal(rc, HF_ENAME);
            assert_non_null(strstr(err.text, cases[i].name));
        }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_entry_is_called_as_its_peer_calls_it),
    cmocka_unit_test(a_child_is_an_entry_by_its_tag_and_ten_digits),
    cmocka_unit_test(nodes_of_one_claim_are_known_by_their_id),
    cmocka_unit_test(a_key_knows_all_its_nodes),
    cmocka_unit_test(a_mark_says_until_when),
    cmocka_unit_test(names_that_are_no_paths_are_refused),
};
HF_SUITE(tests)
