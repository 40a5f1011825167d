/* SPDX-License-Identifier: MIT
 *
 * suite.h - how a file of tests becomes a program.
 *
 *     #include "support/suite.h"
 *
 *     static void an_empty_name_is_refused(void **state) { … }
 *
 *     static const struct CMUnitTest tests[] = {
 *         cmocka_unit_test(an_empty_name_is_refused),
 *     };
 *     HF_SUITE(tests)
 *
 * `prog --list` prints the names, `prog NAME…` runs those tests, `prog` runs
 * all.  CTest runs every test in a process of its own.
 *
 * A descriptor that is open afterwards and was not before is a failure. */
#ifndef HF_TEST_SUITE_H
#define HF_TEST_SUITE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct suite {
    const char *name;
    const struct CMUnitTest *tests;
    size_t n_tests;
    CMFixtureFunction setup, teardown; /* around the whole run; NULL: none */
};

int suite_main(const struct suite *suite, int argc, char **argv);

#define HF_SUITE(tests) HF_SUITE_WITH(tests, NULL, NULL)

#define HF_SUITE_WITH(tests, setup, teardown)                                  \
    int main(int argc, char **argv) {                                          \
        const struct suite suite = {__FILE__, tests,                           \
                                    sizeof(tests) / sizeof(tests[0]), setup,   \
                                    teardown};                                 \
        return suite_main(&suite, argc, argv);                                 \
    }

#endif
