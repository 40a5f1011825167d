/* SPDX-License-Identifier: MIT
 *
 * wire.c - protocol buffers: fields, and nothing of what they mean. */
#include "wire.h"

#include <string.h>

#include "../../alloc.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
enum { VARINT_MAX = 10, FIELD_MAX = (1 << 29) - 1 };

hf_bytes hf__bytes(const char *text) {
    return (hf_bytes){(const uint8_t *)text, strlen(text)};
}

bool hf__bytes_equal(hf_bytes a, hf_bytes b) {
    return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

/* ---- writing ----------------------------------------------------------- */

static bool make_room(hf_pb *b, size_t more) {
    size_t cap = b->cap ? b->cap : 256;
    uint8_t *wide;

    if (b->failed)
        return false;
    while (cap - b->n < more)
        cap *= 2;
    if (cap == b->cap)
        return true;
    wide = hf__realloc(b->at, cap);
    if (!wide) {
        b->failed = true;
        return false;
    }
    b->at = wide;
    b->cap = cap;
    return true;
}

static size_t varint(uint8_t *to, uint64_t value) {
    size_t n = 0;

    while (value >= 0x80) {
        to[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    to[n++] = (uint8_t)value;
    return n;
}

static void put_varint(hf_pb *b, uint64_t value) {
    if (make_room(b, VARINT_MAX))
        b->n += varint(b->at + b->n, value);
}

void hf__pb_raw(hf_pb *b, const void *at, size_t n) {
    if (n == 0 || !make_room(b, n))
        return;
    memcpy(b->at + b->n, at, n);
    b->n += n;
}

void hf__pb_int(hf_pb *b, unsigned field, int64_t value) {
    if (value == 0)
        return;
    put_varint(b, (uint64_t)field << 3 | VARINT);
    put_varint(b, (uint64_t)value);
}

void hf__pb_bytes(hf_pb *b, unsigned field, hf_bytes value) {
    if (value.n == 0)
        return;
    put_varint(b, (uint64_t)field << 3 | BYTES);
    put_varint(b, value.n);
    hf__pb_raw(b, value.at, value.n);
}

size_t hf__pb_open(hf_pb *b, unsigned field) {
    put_varint(b, (uint64_t)field << 3 | BYTES);
    return b->n;
}

/* The length goes before what is there already. */
void hf__pb_close(hf_pb *b, size_t mark) {
    uint8_t length[VARINT_MAX];
    size_t n;

    if (b->failed)
        return;
    n = varint(length, b->n - mark);
    if (!make_room(b, n))
        return;
    memmove(b->at + mark + n, b->at + mark, b->n - mark);
    memcpy(b->at + mark, length, n);
    b->n += n;
}

void hf__pb_free(hf_pb *b) {
    if (b->at)
        explicit_bzero(b->at, b->n);
    hf__free(b->at);
    *b = (hf_pb){0};
}

/* ---- reading ----------------------------------------------------------- */

static bool take_varint(hf_bytes *in, uint64_t *value) {
    *value = 0;
    for (unsigned i = 0; i < VARINT_MAX && i < in->n; i++) {
        uint8_t byte = in->at[i];

        *value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte & 0x80)
            continue;
        if (i == VARINT_MAX - 1 && byte > 1)
            return false; /* more than 64 bits */
        in->at += i + 1;
        in->n -= i + 1;
        return true;
    }
    return false;
}

static bool take_bytes(hf_bytes *in, uint64_t n, hf_bytes *value) {
    if (n > in->n)
        return false;
    *value = (hf_bytes){in->at, (size_t)n};
    in->at += n;
    in->n -= (size_t)n;
    return true;
}

/* No message that we read has fixed ones; those we skip. */
static bool take_value(hf_bytes *in, unsigned type, hf_pb_field *f) {
    uint64_t value;

    switch (type) {
    case VARINT:
        if (!take_varint(in, &value))
            return false;
        f->value = (int64_t)value;
        return true;
    case BYTES:
        f->is_bytes = true;
        return take_varint(in, &value) && take_bytes(in, value, &f->bytes);
    case FIXED64:
        f->number = 0;
        return take_bytes(in, 8, &f->bytes);
    case FIXED32:
        f->number = 0;
        return take_bytes(in, 4, &f->bytes);
    default:
        return false;
    }
}

int hf__pb_next(hf_bytes *in, hf_pb_field *f) {
    uint64_t tag;

    if (in->n == 0)
        return 0;
    *f = (hf_pb_field){0};
    if (!take_varint(in, &tag) || tag >> 3 == 0 || tag >> 3 > FIELD_MAX)
        return -1;
    f->number = (unsigned)(tag >> 3);
    return take_value(in, tag & 7, f) ? 1 : -1;
}
