/* SPDX-License-Identifier: MIT
 *
 * loop.h - a small event loop for tests about what is begun without waiting. */
#ifndef HF_TEST_LOOP_H
#define HF_TEST_LOOP_H

#include "stage.h"

/* What a callback was told, and how often: hf_test_tell as fn, this as arg. */
typedef struct hf_test_told {
    int n, rc;
} hf_test_told;

/* The text goes to ERR. */
void hf_test_tell(void *arg, int rc, const hf_error *err);

bool hf_test_readable(hf_client *client);

/* Sleeps until it is; fails the test after HF_TEST_LONG. */
void hf_test_await_readable(hf_client *client);

/* Goes round until `condition` holds; fails the test after HF_TEST_LONG. */
#define hf_test_pump(client, condition)                                        \
    do {                                                                       \
        int64_t hf_by_ = hf_test_now_ms() + HF_TEST_LONG;                      \
        while (!(condition)) {                                                 \
            if (hf_test_now_ms() > hf_by_)                                     \
                fail_msg("not within %d ms: %s", HF_TEST_LONG, #condition);    \
            hf_test_turn(client);                                              \
        }                                                                      \
    } while (0)
void hf_test_turn(hf_client *client);

/* Begins it, and goes round until it is told: the answer. */
int hf_test_acquired(hf_client *client, hf_lock *lock, int wait_ms);
int hf_test_released(hf_client *client, hf_lock *lock);

#endif
