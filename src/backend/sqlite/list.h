/* SPDX-License-Identifier: MIT
 *
 * list.h - who holds, who waits, and how much is left. */
#ifndef HF_SQLITE_LIST_H
#define HF_SQLITE_LIST_H

#include "store.h"

/* See hf_backend_ops.list. */
int hf__list(hf_embedded *s, const char *name, hf_place_fn *fn, void *arg,
             hf_time by, hf_error *err);

#endif
