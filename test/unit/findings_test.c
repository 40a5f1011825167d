/* SPDX-License-Identifier: MIT
 *
 * findings_test.c - what was found at several servers is told once. */
#include "support/suite.h"

#include "backend/redis/findings.h"

#include <stdio.h>
#include <string.h>

static char told[2048];

static void hear(void *arg, hf_verdict_level level, const char *what,
                 const char *text) {
    size_t len = strlen(told);

    (void)arg;
    snprintf(told + len, sizeof told - len, "%d %s: %s\n", (int)level, what,
             text);
}

static void assert_told(hf_findings *f, const char *wanted) {
    hf_error err;

    told[0] = '\0';
    assert_int_equal(hf__findings_tell(f, hear, NULL, &err), HF_OK);
    assert_string_equal(told, wanted);
    hf__findings_clear(f);
}

static void what_all_have_in_common_is_told_once(void **state) {
    (void)state;
    hf_findings f = {0};
    for (int i = 1; i <= 3; i++) {
        char where[16];
        snprintf(where, sizeof where, "h:%d", i);
        hf__find(&f, where, HF_FACT, "server", "Redis %d", 7);
        hf__find(&f, where, HF_GOOD, "memory", "enough");
    }
    assert_told(&f, "0 server: Redis 7\n1 memory: enough\n");
}

static void who_differs_from_the_others_is_named(void **state) {
    (void)state;
    hf_findings f = {0};
    hf__find(&f, "h:1", HF_WARN, "disk", "none");
    hf__find(&f, "h:2", HF_GOOD, "disk", "some");
    hf__find(&f, "h:3", HF_GOOD, "disk", "some");
    hf__find(&f, "", HF_FACT, "all", "of them");
    assert_told(&f, "1 disk: some\n2 disk: h:1: none\n0 all: of them\n");
}

static void where_all_differ_all_are_named(void **state) {
    (void)state;
    hf_findings f = {0};
    hf__find(&f, "h:1", HF_FACT, "server", "6");
    hf__find(&f, "h:2", HF_FACT, "server", "7");
    assert_told(&f, "0 server: h:1: 6\n0 server: h:2: 7\n");
}

static void many_names_are_cut_short(void **state) {
    (void)state;
    hf_findings f = {0};
    for (int i = 1; i <= 15; i++) {
        char where[16];
        snprintf(where, sizeof where, "h:%d", i);
        hf__find(&f, where, HF_FACT, "server", "%d", i <= 7 ? 6 : 7);
    }
    assert_told(&f, "0 server: 7\n"
                    "0 server: h:1, h:2, h:3, h:4 and 3 more: 6\n");
}

static void what_is_about_the_whole_names_nobody(void **state) {
    (void)state;
    hf_findings f = {0};
    hf__find(&f, "", HF_FACT, "failover", "first");
    hf__find(&f, "", HF_WARN, "failover", "second");
    assert_told(&f, "0 failover: first\n2 failover: second\n");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_all_have_in_common_is_told_once),
    cmocka_unit_test(who_differs_from_the_others_is_named),
    cmocka_unit_test(where_all_differ_all_are_named),
    cmocka_unit_test(many_names_are_cut_short),
    cmocka_unit_test(what_is_about_the_whole_names_nobody),
};
HF_SUITE(tests)
