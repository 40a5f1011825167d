/* SPDX-License-Identifier: MIT
 *
 * value.h - what stands in the value of a number.
 *
 *     holdfast 1 NUMBER             `none`: it is not set
 *     NONCE RESULT VALUE            an answer that was given lately, …
 *
 * Pure: text in, text out. */
#ifndef HF_ETCD_VALUE_H
#define HF_ETCD_VALUE_H

#include "../line/port.h"
#include "wire.h"

enum { HF_VALUE_SIZE = 64 + HF_ANSWERS * 80 };

/* The length. */
int hf__etcd_value_write(char buf[HF_VALUE_SIZE], const hf_number_state *state);

/* False: it is not ours. */
bool hf__etcd_value_read(hf_number_state *state, hf_bytes value);

#endif
