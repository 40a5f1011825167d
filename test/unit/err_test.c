/* SPDX-License-Identifier: MIT
 *
 * err_test.c - every code has a name, a sentence and a class. */
#include <string.h>

#include "../../src/err.h"
#include "support/suite.h"

static void every_code_has_a_name_a_sentence_and_a_class(void **state) {
    (void)state;
#define HF_X(number, name, class_, text)                                       \
    assert_int_equal(HF_E##name, -(number));                                   \
    assert_string_equal(hf_error_name(HF_E##name), #name);                     \
    assert_string_equal(hf_strerror(HF_E##name), text);                        \
    assert_int_equal(hf_error_class(HF_E##name), HF_CLASS_##class_);
    HF_ERRORS(HF_X)
#undef HF_X
}

static void what_is_no_error_says_so(void **state) {
    (void)state;
    assert_string_equal(hf_error_name(HF_OK), "OK");
    assert_string_equal(hf_error_name(HF_BUSY), "BUSY");
    assert_int_equal(hf_error_class(HF_OK), HF_CLASS_NONE);
    assert_int_equal(hf_error_class(HF_BUSY), HF_CLASS_NONE);
}

static void numbers_that_mean_nothing_are_called_unknown(void **state) {
    static const int codes[] = {2, 1000, -1000, INT32_MIN, INT32_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        assert_string_equal(hf_error_name(codes[i]), "UNKNOWN");
}

static void a_long_text_is_cut_and_a_missing_place_is_no_matter(void **state) {
    char longer[HF_ERROR_TEXT_SIZE * 2];
    hf_error err;

    (void)state;
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = 0;
    assert_int_equal(hf__fail(&err, HF_EDOWN, "%s", longer), HF_EDOWN);
    assert_int_equal(strlen(err.text), HF_ERROR_TEXT_SIZE - 1);
    assert_int_equal(hf__fail(NULL, HF_ENAME, "nobody reads this"), HF_ENAME);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_code_has_a_name_a_sentence_and_a_class),
    cmocka_unit_test(what_is_no_error_says_so),
    cmocka_unit_test(numbers_that_mean_nothing_are_called_unknown),
    cmocka_unit_test(a_long_text_is_cut_and_a_missing_place_is_no_matter),
};
HF_SUITE(tests)
