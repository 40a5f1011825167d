/* SPDX-License-Identifier: MIT
 *
 * parsers_test.c - the corners of what reads others' texts, which the tests of
 * the parsers and the corpus of the fuzzer leave out; among them the want of
 * memory at every step.  tools/coverage.sh says which there are. */
#include "support/suite.h"
#include "support/want.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/etcd/keys.h"
#include "backend/etcd/value.h"
#include "backend/zookeeper/layout.h"
#include "claim.h"
#include "client.h"
#include "uri.h"

#define EACH(i, of) for (size_t i = 0; i < sizeof(of) / sizeof *(of); i++)

/* ---- want of memory ---------------------------------------------------- */

static int parse(const char *text) {
    hf_uri *uri = NULL;
    hf_error err = {0, ""};
    int rc = hf_uri_parse(&uri, text, &err);
    if (rc == HF_OK)
        hf_uri_free(uri);
    return rc;
}

static void an_address_bears_the_want_of_memory(void **state) {
    (void)state;
    static const char *const texts[] = {
        "redis://u:p@a:1/2?x=1&y=2",
        "rediss://h?sslmode=verify-full",
        "rediss://h?verifyPeer=CA",
        "rediss://h?ssl_cert_reqs=none",
        "redis+sentinel://a,b/main/0",
        "redis+sentinel://a?sentinelMasterId=m",
        "redis+unix:///run/r.sock?db=1",
        "redlock://a,b,c",
        "sqlite:a%20b?x=1",
        "/some/file.db",
        "file.db",
        "memory:x",
        "postgresql://u@a,b/d?sslmode=require",
        "host=a dbname=b",
        "mariadb://h/d",
        "etcds://a,b/p?password=x",
        "zk://a,b/chroot",
    };
    EACH(i, texts) {
        for (int n = 1;; n++) {
            was_hit = false;
            until_failure = n;
            int rc = parse(texts[i]);
            until_failure = 0;
            if (!was_hit)
                break;
            assert_int_equal(rc, HF_ENO_MEMORY);
        }
    }
}

static void odd_addresses_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "redis://h?%01=x",
        "redis://h?=x",
        "redis+unix://u%zz@/x",
        "redis+unix://u:p@host/x",
        "sqlite://localhostx",
        "redis+sentinel://h//x",
        "redis+sentinel://h?sentinelMasterId=",
        "redis+sentinel://h",
        "a?x.db",
    };
    EACH(i, bad)
    assert_int_equal(parse(bad[i]), HF_EURI);
}

static void no_word_is_suggested_for_one_too_long(void **state) {
    (void)state;
    char longest[200];
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    const char *const known[] = {longest, "abd", NULL};
    assert_string_equal(hf__uri_suggest("abc", known), "abd");
    assert_null(hf__uri_suggest(longest, known));
    assert_null(hf__uri_suggest("", known));
    assert_null(hf__uri_suggest("abc", NULL));
}

static void every_duration_is_looked_at(void **state) {
    (void)state;
    static const char *const texts[] = {"redis://h?hf_ttl=x",
                                        "redis://h?hf_timeout=x"};
    EACH(i, texts) {
        hf_uri *uri = NULL;
        hf_error err;
        assert_int_equal(hf_uri_parse(&uri, texts[i], &err), HF_OK);
        assert_int_equal(hf__uri_check_params(uri, NULL, &err), HF_EURI);
        hf_uri_free(uri);
    }
}

/* ---- the rule ---------------------------------------------------------- */

static void a_holder_who_overtook_is_not_the_one_to_watch(void **state) {
    (void)state;
    static const hf_entry line[] = {{.mode = HF_EXCLUSIVE, .holds = true},
                                    {.mode = HF_EXCLUSIVE},
                                    {.mode = HF_EXCLUSIVE, .holds = true}};
    hf_verdict verdict = hf__admit(line, 3, 1, 0, 0);
    assert_false(verdict.admitted);
    assert_int_equal(verdict.blocker, 0);
}

/* ---- names ------------------------------------------------------------- */

static int check(const char *prefix, const char *name) {
    hf_client client = {.prefix = (char *)(uintptr_t)prefix};
    hf_error err = {0, ""};
    return hf__check_name(&client, name, &err);
}

static void names_are_utf_8(void **state) {
    (void)state;
    static const char *const good[] = {"a",
                                       "\xc3\xa9",
                                       "\xe2\x82\xac",
                                       "\xf0\x9f\x94\x92",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xf4\x8f\xbf\xbf",
                                       "a{b}",
                                       "{a}b",
                                       "a b"};
    static const char *const bad[] = {"",
                                      "\x1f",
                                      "\x7f",
                                      "\x80", /* in the middle of a character */
                                      "\xc3", /* cut off */
                                      "\xc0\xaf", /* longer than need be */
                                      "\xe0\x80\xaf",
                                      "\xf0\x80\x80\xaf",
                                      "\xed\xa0\x80", /* a surrogate */
                                      "\xed\xbf\xbf",
                                      "\xf4\x90\x80\x80", /* beyond the last */
                                      "\xf8\x88\x80\x80\x80", /* of five */
                                      "{",
                                      "}",
                                      "{}",
                                      "}{",
                                      "a{b",
                                      "a}b"};
    EACH(i, good)
    assert_int_equal(check("", good[i]), HF_OK);
    EACH(i, bad)
    assert_int_equal(check("", bad[i]), HF_ENAME);
    assert_int_equal(check("", NULL), HF_ENAME);
}

static void a_name_fits_behind_its_prefix(void **state) {
    (void)state;
    char name[HF_NAME_MAX + 2];
    memset(name, 'x', sizeof name);
    name[HF_NAME_MAX] = '\0';
    assert_int_equal(check("", name), HF_OK);
    assert_int_equal(check("p", name), HF_ENAME);
    assert_int_equal(check("p{", "x}"), HF_OK);
    assert_int_equal(check("p{", "x"), HF_ENAME);
}

/* ---- addresses --------------------------------------------------------- */

static void shown(const char *uri, const char *expected) {
    char buf[256];
    assert_int_equal(hf_uri_redact(uri, buf, sizeof buf), strlen(expected));
    assert_string_equal(buf, expected);
}

static void odd_secrets_are_hidden(void **state) {
    (void)state;
    shown("valkey://u:p@h", "valkey://u:***@h");
    shown("redlock://u:p@h", "redlock://u:***@h");
    shown("unix://u:p@h", "unix://u:***@h");
    shown("redis://h?pass%77ord=p&a=b", "redis://h?pass%77ord=***&a=b");
    shown("redis://h?pass%7=p%", "redis://h?pass%7=***");
    shown("valkey://word@h", "valkey://***@h");
    shown("unix://word@h", "unix://***@h");
    shown("zk://word@h", "zk://word@h");
    shown("redis://h?a%zz=1&a%2z=1", "redis://h?a%zz=1&a%2z=1");
    shown(
        "redis://h?aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaa=1",
        "redis://h?aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaa=***");
    shown("host=h password='a\\'b' user=u", "host=h password=*** user=u");
    shown("host=h password=a\\", "host=h password=***");
}

/* ---- entries ----------------------------------------------------------- */

static int path(const char *name) {
    hf_error err;
    return hf__layout_check_name("", name, &err);
}

static void paths_end_with_whole_characters(void **state) {
    (void)state;
    char longest[HF_ZNODE_SIZE + 8];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(path(longest), HF_ENAME);
    assert_int_equal(path("\xe2\x82\xac"), HF_OK);
    assert_int_equal(path("\x80"), HF_ENAME);
    assert_int_equal(path("\xe2\x82"), HF_ENAME);
    assert_int_equal(path("\xc2\x85"), HF_ENAME);     /* a control     */
    assert_int_equal(path("\xee\x80\x80"), HF_ENAME); /* private use   */
    assert_int_equal(path("\xef\xbf\xbf"), HF_ENAME); /* a special     */
    assert_int_equal(path("\xef\xa4\x80"), HF_OK);    /* behind them   */
    assert_int_equal(path("\xf0\x9f\x94\x92"), HF_ENAME);
    assert_int_equal(path("\xc3\xa9"), HF_OK);
    assert_int_equal(path("\x1f"), HF_ENAME);
    assert_int_equal(path("\x7f"), HF_ENAME);
}

#define UUID "01234567-89ab-4cde-8f01-23456789abcd"

static void an_id_has_the_form_of_curators(void **state) {
    (void)state;
    assert_true(hf__layout_same_id("_c_" UUID "-a", "_c_" UUID "-b"));
    assert_false(hf__layout_same_id("_c_" UUID "_a", "_c_" UUID "_a"));
    assert_false(
        hf__layout_same_id("_c_0123456g-89ab-4cde-8f01-23456789abcd-",
                           "_c_0123456g-89ab-4cde-8f01-23456789abcd-"));
    assert_false(
        hf__layout_same_id("_c_01234567x89ab-4cde-8f01-23456789abcd-",
                           "_c_01234567x89ab-4cde-8f01-23456789abcd-"));
}

static void keys_without_digits_have_no_order(void **state) {
    (void)state;
    char buf[HF_ZNODE_SIZE];
    assert_int_equal(hf__zk_key_order(""), 0);
    assert_int_equal(hf__zk_key_order("/a"), 0);
    assert_int_equal(hf__zk_key_nodes("12"), 1);
    assert_int_equal(hf__zk_key_nodes("a12"), 1);
    assert_int_equal(hf__zk_key_nodes("/a/x-0000000001*12"), 12);
    until_failure = 1;
    was_hit = false;
    char *key = hf__zk_key_make("/a", "b", HF_ONE);
    until_failure = 0;
    assert_true((key == NULL) == was_hit);
    free(key);
    hf__zk_key_node("/a", 1, buf);
    assert_string_equal(buf, "/a");
    char longest[HF_ZNODE_SIZE + 20];
    memset(longest, '1', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    hf__zk_key_node(longest, 1, buf);
    assert_int_equal(strlen(buf), sizeof buf - 1);
}

static bool reads(const char *text) {
    hf_number_state state;
    return hf__etcd_value_read(&state,
                               (hf_bytes){(const uint8_t *)text, strlen(text)});
}

#define NONCE "00112233445566778899aabbccddeeff"

static void a_value_is_as_we_write_it(void **state) {
    (void)state;
    char text[HF_VALUE_SIZE + 8];
    hf_number_state s = {.is_set = true, .number = -3};
    int n = hf__etcd_value_write(text, &s);
    assert_string_equal(text, "holdfast 1 -3\n");
    assert_true(reads(text) && n == 14);
    s.is_set = false;
    s.n_answers = 1;
    hf__etcd_value_write(text, &s);
    assert_true(reads(text));
    assert_true(reads("holdfast 1 none\n" NONCE " 0 5\n"));
    static const char *const bad[] = {
        "",
        "holdfast 2 1\n",
        "holdfast 1 x\n",
        "holdfast 1 1",
        "holdfast 1 1\nx",
        "holdfast 1 1\n0x",
        "holdfast 1 1\n0!",
        "holdfast 1 1\n0G",
        "holdfast 1 1\n" NONCE "\n",
        "holdfast 1 1\n" NONCE " x 5\n",
        "holdfast 1 1\n" NONCE " 0\n",
        "holdfast 1 1\n" NONCE " 0 x\n",
        "holdfast 1 1\n" NONCE " 0 5",
        "holdfast 1 1\n" NONCE " 0 5 \n",
    };
    EACH(i, bad)
    assert_false(reads(bad[i]));
    memset(text, '1', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_false(reads(text));
    assert_false(hf__etcd_value_read(
        &s, (hf_bytes){(const uint8_t *)"holdfast 1 1\n\0", 14}));
    n = snprintf(text, sizeof text, "holdfast 1 1\n");
    for (int i = 0; i <= HF_ANSWERS; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, NONCE " 0 5\n");
    assert_false(reads(text));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_address_bears_the_want_of_memory),
    cmocka_unit_test(odd_addresses_are_refused),
    cmocka_unit_test(no_word_is_suggested_for_one_too_long),
    cmocka_unit_test(every_duration_is_looked_at),
    cmocka_unit_test(a_holder_who_overtook_is_not_the_one_to_watch),
    cmocka_unit_test(names_are_utf_8),
    cmocka_unit_test(a_name_fits_behind_its_prefix),
    cmocka_unit_test(odd_secrets_are_hidden),
    cmocka_unit_test(paths_end_with_whole_characters),
    cmocka_unit_test(an_id_has_the_form_of_curators),
    cmocka_unit_test(keys_without_digits_have_no_order),
    cmocka_unit_test(a_value_is_as_we_write_it),
};
HF_SUITE(tests)
