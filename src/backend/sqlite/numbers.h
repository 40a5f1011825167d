/* SPDX-License-Identifier: MIT
 *
 * numbers.h - the number that a semaphore or a latch is.  Called by who has
 * entered the store. */
#ifndef HF_SQLITE_NUMBERS_H
#define HF_SQLITE_NUMBERS_H

#include "store.h"

/* See hf_backend_ops.count. */
int hf__numbers_count(hf_embedded *s, hf_claim *c, hf_count_op op,
                      int64_t *value, hf_error *err);

/* What was answered to the request before: 1, 0 (nothing), or an error. */
int hf__numbers_recall(hf_embedded *s, const hf_claim *c, int *result,
                       int64_t *value, hf_error *err);

/* Takes the claim's permits out of the number that is in view; inside a
 * transaction. */
int hf__numbers_take(hf_embedded *s, const hf_claim *c, hf_error *err);

/* The only way out for a claim on a semaphore: its permits come back, once,
 * and it stands in the line no more. */
int hf__numbers_undo(hf_embedded *s, hf_claim *c, hf_error *err);

#endif
