/* SPDX-License-Identifier: MIT
 *
 * wire.h - protocol buffers: fields, and nothing of what they mean.
 *
 * A message is a row of fields, each a number and a value: an integer, or
 * bytes, which may be a message again.  Fields that are absent are zero. */
#ifndef HF_ETCD_WIRE_H
#define HF_ETCD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of somebody else's; nothing behind them. */
typedef struct hf_bytes {
    const uint8_t *at;
    size_t n;
} hf_bytes;

hf_bytes hf__bytes(const char *text); /* without its end */
bool hf__bytes_equal(hf_bytes a, hf_bytes b);

/* ---- writing ----------------------------------------------------------- */

/* Grows by itself.  Once memory was short it stays `failed`, and whoever sends
 * it looks there. */
typedef struct hf_pb {
    uint8_t *at;
    size_t n, cap;
    bool failed;
} hf_pb;

/* Zero and nothing are left out, which means the same. */
void hf__pb_int(hf_pb *b, unsigned field, int64_t value);
void hf__pb_bytes(hf_pb *b, unsigned field, hf_bytes value);
void hf__pb_raw(hf_pb *b, const void *at, size_t n);

/* What is written between the two is a message in that field, also when it is
 * empty. */
size_t hf__pb_open(hf_pb *b, unsigned field);
void hf__pb_close(hf_pb *b, size_t mark);

void hf__pb_free(hf_pb *b); /* wiped: a password may be in it */

/* ---- reading ----------------------------------------------------------- */

typedef struct hf_pb_field {
    unsigned number;
    bool is_bytes;
    int64_t value;
    hf_bytes bytes;
} hf_pb_field;

/* Takes the next field off `in`.  1; 0: there is none; -1: these bytes are no
 * message. */
int hf__pb_next(hf_bytes *in, hf_pb_field *f);

#endif
