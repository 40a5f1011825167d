/* SPDX-License-Identifier: MIT
 *
 * numbers.h - what a client counts, one number at a time. */
#ifndef HF_TEST_NUMBERS_H
#define HF_TEST_NUMBERS_H

#include "holdfast.h"

/* The value of the samples of "holdfast_" metric that have all of these labels
 * ("lock=x result=ok"; "": whichever), added up; of a histogram how many it has
 * counted.  -1: there is none. */
double hf_test_number(hf_client *client, const char *metric,
                      const char *labels);

/* The whole text, to be freed. */
char *hf_test_stats_text(hf_client *client);

#endif
