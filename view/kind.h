/* SPDX-License-Identifier: MIT
 *
 * kind.h - the kinds of lock, and what they are called. */
#ifndef HF_VIEW_KIND_H
#define HF_VIEW_KIND_H

#include "../include/holdfast.h"

/* "read": as hf_place and our JSON have it. */
const char *kind_word(hf_kind kind);

/* "read lock": as a person calls it. */
const char *kind_title(hf_kind kind);

/* The kind of that word; HF_KINDS: there is none. */
hf_kind kind_of(const char *word);

/* The kind whose line it stands in: readers stand with writers, permits with
 * their semaphore, and a fair lock is a lock. */
hf_kind kind_line(hf_kind kind);

/* Can several have it at a time? */
bool kind_shares(hf_kind kind);

#endif
