/* SPDX-License-Identifier: MIT
 *
 * header.h - the public header, for tests that have a table of all its
 * functions. */
#ifndef HF_TEST_HEADER_H
#define HF_TEST_HEADER_H

#include <stdbool.h>
#include <stddef.h>

/* Fails the test for a function of holdfast.h that `has_row` does not know by
 * its name, of n bytes. */
void hf_test_header_is_covered(bool (*has_row)(const char *name, size_t n));

#endif
