/* SPDX-License-Identifier: MIT
 *
 * options_test.c - programs older and newer than the library. */
#include <string.h>

#include "../../src/options.h"
#include "support/suite.h"

typedef struct known {
    size_t size;
    int a, b;
} known;

typedef struct newer {
    known known;
    int c, d; /* two, for options must not end in padding */
} newer;

static void nothing_given_is_all_zero(void **state) {
    known k = {9, 9, 9};

    (void)state;
    assert_int_equal(hf__options_copy(&k, sizeof k, NULL, "known", NULL),
                     HF_OK);
    assert_int_equal(k.a, 0);
    assert_int_equal(k.b, 0);
}

static void what_an_older_program_does_not_know_is_zero(void **state) {
    known theirs = {offsetof(known, b), 1, 2}, k;

    (void)state;
    assert_int_equal(hf__options_copy(&k, sizeof k, &theirs, "known", NULL),
                     HF_OK);
    assert_int_equal(k.a, 1);
    assert_int_equal(k.b, 0);
}

static void a_newer_program_may_not_ask_for_what_we_do_not_know(void **state) {
    newer theirs = {{sizeof(newer), 1, 2}, 0, 0};
    known k;
    hf_error err;

    (void)state;
    assert_int_equal(hf__options_copy(&k, sizeof k, &theirs, "known", &err),
                     HF_OK);
    theirs.c = 1;
    assert_int_equal(hf__options_copy(&k, sizeof k, &theirs, "known", &err),
                     HF_EUSAGE);
    assert_non_null(strstr(err.text, "known"));
}

static void a_size_that_cannot_be_is_refused(void **state) {
    known theirs = {0, 1, 2}, k;
    hf_error err;

    (void)state;
    assert_int_equal(hf__options_copy(&k, sizeof k, &theirs, "known", &err),
                     HF_EUSAGE);
    theirs.size = 1 << 20;
    assert_int_equal(hf__options_copy(&k, sizeof k, &theirs, "known", &err),
                     HF_EUSAGE);
    assert_non_null(strstr(err.text, "sizeof(known)"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(nothing_given_is_all_zero),
    cmocka_unit_test(what_an_older_program_does_not_know_is_zero),
    cmocka_unit_test(a_newer_program_may_not_ask_for_what_we_do_not_know),
    cmocka_unit_test(a_size_that_cannot_be_is_refused),
};
HF_SUITE(tests)
