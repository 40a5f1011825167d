/* SPDX-License-Identifier: MIT
 *
 * table.h - the one list of stores. */
#ifndef HF_TABLE_H
#define HF_TABLE_H

#include "../../include/holdfast/backend.h"

/* The store for a canonical scheme; where it lives in a module, that is loaded
 * and stays.  HF_ENO_STORE says what to install. */
int hf__table_find(const hf_backend_ops **ret, const char *scheme,
                   hf_error *err);

/* Wraps a backend: prints every verb on stderr, its outcome and how long it
 * took.  NULL: no memory, and `inner` is closed. */
hf_backend *hf__trace_wrap(void *arg, hf_backend *inner);

#endif
