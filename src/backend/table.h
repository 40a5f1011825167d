/* SPDX-License-Identifier: MIT
 *
 * table.h - the one list of stores. */
#ifndef HF_TABLE_H
#define HF_TABLE_H

#include "../../include/holdfast/backend.h"

/* The store for a canonical scheme; where it lives in a module, that is loaded
 * and stays.  HF_ENO_STORE says what to install.  `host` hears of a module that
 * is loaded; NULL: nobody does. */
int hf__table_find(const hf_backend_ops **ret, const char *scheme,
                   const hf_host *host, hf_error *err);

/* Wraps a backend whose host keeps a log, and writes there what it is asked;
 * any other is returned as it is.  NULL: no memory, and `inner` is closed. */
hf_backend *hf__logged_wrap(hf_backend *inner);

/* A name is on its way to a store (HF_OK: back, else why), or a hold has
 * arrived there with it. */
typedef void hf_moved_fn(void *core, const char *name, const char *store,
                         bool arrived, int why);

/* A store made of two, see hf_escalate_to.  The first may be unreachable, the
 * second not. */
int hf__escalate_open(hf_backend **ret, const hf_uri *first,
                      const hf_uri *second, const hf_host *host,
                      const hf_escalate_options *options, hf_moved_fn *moved,
                      hf_time by, hf_error *err);

/* The address of the store in which the name lives, as far as is known here. */
const char *hf__escalate_where(hf_backend *be, const char *name);

#endif
