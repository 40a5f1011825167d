/* SPDX-License-Identifier: MIT
 *
 * tables_script_test.c - scripts out of statements and parameters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/backend/tables/script.h"
#include "support/suite.h"

static size_t literal(char *to, const void *bytes, size_t n) {
    const unsigned char *from = bytes;
    char *at = stpcpy(to, "x'");

    for (size_t i = 0; i < n; i++)
        at += sprintf(at, "%02x", from[i]);
    return (size_t)(stpcpy(at, "'") - to);
}

static const char *texts[HF_N_SQL] = {
    [HF_SQL_now] = "clock()\n",
    [HF_SQL_take] = "SELECT {owner}\nFROM {s}t WHERE n = {name}\n",
    [HF_SQL_begin] = "BEGIN;\nSET a = 1;\nSET b = 2\n",
    [HF_SQL_renew] = "UPDATE {s}t SET u = {now} + {lease}, g = {gone_at}\n",
    [HF_SQL_calls] = "SET c = 3\n",
    [HF_SQL_stay] = "WITH x AS (SELECT {may}), {kind}, {name}, {kind};\n"
                    "SELECT 2\n",
    [HF_SQL_commit] = "COMMIT\n",
    [HF_SQL_may] = "m = {kind}\n   AND {s}u > {now}\n",
    [HF_SQL_lock_holds] = "SELECT 1 FROM {s}h WHERE {may} FOR UPDATE\n",
    [HF_SQL_leave] = "what is {unheard_of}\n",
};

static const hf_database_ops ops = {.texts = texts, .literal = literal};
static hf_database db = {.ops = &ops};
static hf_script script;
static char wanted[512];

static int begin(void **state) {
    (void)state;
    for (int i = 0; i < HF_N_SQL; i++)
        texts[i] = texts[i] ? texts[i] : "";
    db.schema = db.prepare = NULL;
    hf__script_init(&script, &db);
    return 0;
}

static int end(void **state) {
    (void)state;
    hf__script_clear(&script);
    return 0;
}

static void parameters_are_written_in(void **state) {
    hf_params p = {0};

    (void)state;
    hf_set(&p, owner, UINT64_MAX);
    hf_set_bytes(&p, name, "a';--", 5);
    assert_int_equal(hf__script_add(&script, HF_SQL_take, &p), 0);
    assert_string_equal(script.text.words,
                        "SELECT -1\nFROM t WHERE n = x'61273b2d2d'");
    assert_false(script.failed);
}

static void tables_are_in_their_schema(void **state) {
    hf_params p = {0};

    (void)state;
    db.schema = "\"locks\".";
    hf_set(&p, lease, 5);
    hf_set_null(&p, gone_at);
    hf__script_add(&script, HF_SQL_renew, &p);
    assert_string_equal(script.text.words,
                        "UPDATE \"locks\".t SET u = clock() + 5, g = NULL");
}

static void expressions_stand_in_statements(void **state) {
    hf_params p = {0};

    (void)state;
    db.schema = "a.";
    hf_set(&p, kind, 3);
    hf__script_add(&script, HF_SQL_lock_holds, &p);
    assert_string_equal(script.text.words, "SELECT 1 FROM a.h WHERE m = 3\n"
                                           "   AND a.u > clock() FOR UPDATE");
    assert_int_equal(script.answers, 1);
}

static void answers_are_counted_through_sections_of_several(void **state) {
    hf_params p = {0};

    (void)state;
    assert_int_equal(hf__script_add(&script, HF_SQL_begin, &p), 2);
    assert_int_equal(hf__script_add(&script, HF_SQL_renew, &p), 3);
    assert_int_equal(hf__script_add(&script, HF_SQL_begin, &p), 6);
    assert_int_equal(script.answers, 7);
    assert_non_null(strstr(script.text.words, "SET b = 2;\nUPDATE t"));
}

/* Parameters are numbered as they first occur; each is handed over once. */
static void calls_hand_over_what_was_numbered(void **state) {
    hf_params p = {0};

    (void)state;
    db.prepare = "anything";
    db.key = 0xab;
    hf_set(&p, kind, 3);
    hf_set_bytes(&p, name, "x", 1);
    hf__script_add(&script, HF_SQL_begin, NULL);
    assert_int_equal(hf__script_add(&script, HF_SQL_stay, &p), 4);
    hf__script_add(&script, HF_SQL_commit, NULL);
    snprintf(wanted, sizeof wanted,
             "BEGIN;\nSET a = 1;\nSET b = 2;\n"
             "EXECUTE hf_00000000000000ab_%d_0 (3, x'78');\n"
             "EXECUTE hf_00000000000000ab_%d_1;\nCOMMIT",
             HF_SQL_stay, HF_SQL_stay);
    assert_string_equal(script.calls.words, wanted);
    assert_non_null(strstr(script.text.words, "SET b = 2;\nWITH x"));
}

static void what_is_asked_often_is_prepared(void **state) {
    (void)state;
    db.key = 0xab;
    hf__script_prepare(&script);
    assert_false(script.failed);
    assert_int_equal(strncmp(script.text.words, "SET c = 3;\nPREPARE hf_", 22),
                     0);
    snprintf(wanted, sizeof wanted,
             "PREPARE hf_00000000000000ab_%d_0 AS WITH x AS (SELECT m = "
             "$1::bigint\n   AND u > clock()), $1::bigint, $2::bytea, "
             "$1::bigint;\nPREPARE hf_00000000000000ab_%d_1 AS SELECT 2",
             HF_SQL_stay, HF_SQL_stay);
    assert_non_null(strstr(script.text.words, wanted));
    assert_null(strstr(script.text.words, "COMMIT"));
}

static void other_texts_have_other_names(void **state) {
    uint64_t key = hf__script_key(&db);

    (void)state;
    assert_int_equal(hf__script_key(&db), key);
    db.schema = "a.";
    assert_int_not_equal(hf__script_key(&db), key);
}

static void what_nobody_knows_is_not_sent(void **state) {
    hf_params p = {0};

    (void)state;
    hf__script_add(&script, HF_SQL_leave, &p);
    assert_true(script.failed);
}

static void a_long_script_is_whole(void **state) {
    char name[255];
    hf_params p = {0};

    (void)state;
    memset(name, 'n', sizeof name);
    hf_set_bytes(&p, name, name, sizeof name);
    for (size_t i = 0; i < 200; i++)
        assert_int_equal(hf__script_add(&script, HF_SQL_take, &p), i);
    assert_false(script.failed);
    assert_int_equal(strlen(script.text.words), script.text.n);
    assert_int_equal(script.text.n,
                     200 * (strlen("SELECT 0\nFROM t WHERE n = x''") + 510) +
                         199 * strlen(";\n"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(parameters_are_written_in, begin, end),
    cmocka_unit_test_setup_teardown(tables_are_in_their_schema, begin, end),
    cmocka_unit_test_setup_teardown(expressions_stand_in_statements, begin,
                                    end),
    cmocka_unit_test_setup_teardown(
        answers_are_counted_through_sections_of_several, begin, end),
    cmocka_unit_test_setup_teardown(calls_hand_over_what_was_numbered, begin,
                                    end),
    cmocka_unit_test_setup_teardown(what_is_asked_often_is_prepared, begin,
                                    end),
    cmocka_unit_test_setup_teardown(other_texts_have_other_names, begin, end),
    cmocka_unit_test_setup_teardown(what_nobody_knows_is_not_sent, begin, end),
    cmocka_unit_test_setup_teardown(a_long_script_is_whole, begin, end),
};
HF_SUITE(tests)
