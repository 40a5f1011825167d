/* SPDX-License-Identifier: MIT
 *
 * clients.h - the records that say who is there, and what the dead leave. */
#ifndef HF_SQLITE_CLIENTS_H
#define HF_SQLITE_CLIENTS_H

#include "store.h"

/* Writes our record, in the transaction of our first grant or place. */
int hf__clients_introduce(hf_embedded *s, hf_error *err);

/* Makes sure, outside a transaction, that it is there and says `doing`. */
int hf__clients_announce(hf_embedded *s, const char *doing, hf_error *err);

/* See hf_backend_ops.clients. */
int hf__clients_tell(hf_embedded *s, hf_record_fn *fn, void *arg, hf_time by,
                     hf_error *err);

/* Removes it at the end; false: it is still there. */
bool hf__clients_take_leave(hf_embedded *s);

/* Forgets a dead client: its places in this line, its record, and thereby
 * whatever else it holds or waits for. */
int hf__clients_bury(hf_embedded *s, const hf_claim *c, const hf_peer *dead,
                     hf_error *err);

/* Drops what is of no use to anybody.  Reads every row. */
int hf__clients_tidy(hf_embedded *s, hf_error *err);

#endif
