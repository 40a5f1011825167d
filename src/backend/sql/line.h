/* SPDX-License-Identifier: MIT
 *
 * line.h - the line of a name: into it, through it, out of it.  Called by who
 * has entered the store. */
#ifndef HF_SQL_LINE_H
#define HF_SQL_LINE_H

#include "store.h"

/* HF_OK: held.  HF_BUSY: refused, with a place in the line if it `waits`. */
int hf__line_attempt(hf_embedded *s, hf_claim *c, bool waits, hf_error *err);

/* Out of the line; HF_ELOST: it was not in it. */
int hf__line_leave(hf_embedded *s, hf_claim *c, hf_error *err);

/* Rings the first in the line that lives.  `client` is who it may be; NULL:
 * not known. */
void hf__line_ring(hf_embedded *s, const hf_claim *c, const char *client);

#endif
