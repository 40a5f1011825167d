/* SPDX-License-Identifier: MIT
 *
 * guarded.h - a counter that only a lock can keep right.
 *
 * It lies in a file that several processes map.  Everybody who holds the lock
 * reads it, lets others run, and writes it back one higher: two at a time
 * lose an increment.  Whoever enters also leaves his token behind, so that a
 * grant out of order shows. */
#ifndef HF_TEST_GUARDED_H
#define HF_TEST_GUARDED_H

#include "holdfast.h"

#include <stdatomic.h>

/* Atomics only so that the sanitizers do not take it for our mistake; no step
 * but `inside` is one that would hide the lack of a lock. */
typedef struct hf_test_guarded {
    atomic_ullong counter;
    atomic_ullong last_token;
    atomic_int inside;
    atomic_int overlaps;  /* somebody else was inside        */
    atomic_int disorders; /* a token not above the last one  */
    atomic_int failures;  /* acquire or release did not work */
} hf_test_guarded;

/* The file is made where there is none; NULL on failure. */
hf_test_guarded *hf_test_guarded_map(const char *path);
void hf_test_guarded_unmap(hf_test_guarded *g);

/* n threads that enter `rounds` times each.  Returns when all are done. */
void hf_test_contend(hf_client *client, const char *name, hf_test_guarded *g,
                     int threads, int rounds);

/* The same with a lock of another sort; of permits there must be one. */
void hf_test_contend_with(hf_client *client, const char *name,
                          const hf_lock_options *options, hf_test_guarded *g,
                          int threads, int rounds);

/* The same with a semaphore of one permit. */
void hf_test_contend_for_permit(hf_client *client, const char *name,
                                hf_test_guarded *g, int threads, int rounds);

/* What whoever is let in does; a token of 0 says nothing about order. */
void hf_test_guarded_visit(hf_test_guarded *g, uint64_t token);

#endif
