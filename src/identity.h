/* SPDX-License-Identifier: MIT
 *
 * identity.h - who we are: the client's record, the calling thread, and
 * whether we are still the process that opened the client. */
#ifndef HF_IDENTITY_H
#define HF_IDENTITY_H

#include "../include/holdfast/backend.h"

/* A fresh random client id, and what the user set; NULL: what we find. */
void hf__identity_make(hf_identity *ret, const hf_options *options);

/* The calling thread's number: above 0, never used by another thread of this
 * process, not even after this one has ended. */
uint64_t hf__thread_number(void);

/* Counts the forks between the first process and this one.  A client
 * remembers the count at its birth; where it differs, it is a copy. */
unsigned hf__generation(void);

#endif
