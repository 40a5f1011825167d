/* SPDX-License-Identifier: MIT
 *
 * clock.h - servers whose clocks the test sets. */
#ifndef HF_TEST_CLOCK_H
#define HF_TEST_CLOCK_H

#include "server.h"

typedef struct hf_test_clock hf_test_clock;

/* A clock that is right; skips the test where the library of skew.c was not
 * built.  Forgotten at the end of the process. */
hf_test_clock *hf_test_clock_new(void);

/* From now on it is off by so much. */
void hf_test_clock_set(hf_test_clock *clock, int off_ms);

/* A server that goes by it. */
hf_test_server *hf_test_clock_server(hf_test_clock *clock,
                                     const hf_test_server_options *options);
void hf_test_clock_restart(hf_test_clock *clock, hf_test_server *server);

#endif
