/* SPDX-License-Identifier: MIT
 *
 * no-lock.c - preloaded into an example: a lock that everybody gets, at once and
 * with the same token.  What an example shows must then not be seen. */
#include <stddef.h>

#include "holdfast.h"

int hf_lock_acquire(hf_lock *lock, int wait_ms, hf_error *err) {
    (void)lock, (void)wait_ms, (void)err;
    return HF_OK;
}

int hf_lock_release(hf_lock *lock, hf_error *err) {
    (void)lock, (void)err;
    return HF_OK;
}

uint64_t hf_lock_token(hf_lock *lock) {
    return lock != NULL ? 1 : 0;
}
