/* SPDX-License-Identifier: MIT
 *
 * roll.h - clients' records as a database tells them. */
#ifndef HF_TABLES_ROLL_H
#define HF_TABLES_ROLL_H

#include "form.h"

enum { HF_ROLL = 64 }; /* at a time: each may be long */

/* Tells of what the statement `clients` answered.  1: there may be more behind
 * the client `last`; 0: there are none; or an error. */
int hf__roll_tell(const hf_answers *a, size_t answer, unsigned char last[16],
                  hf_record_fn *fn, void *arg, hf_error *err);

/* A client's id as text, out of its bytes in hexadecimal. */
void hf__roll_id(char to[37], const char *hex);

#endif
