/* SPDX-License-Identifier: MIT
 *
 * slot.c - the slot of a key: CRC-16 (XMODEM) modulo 16384. */
#include "slot.h"

#include <stdio.h>
#include <string.h>

/* Half a byte at a time: for every request, and no table worth a cache line
 * more. */
static unsigned crc16(const char *text, size_t len) {
    static const uint16_t halves[16] = {
        0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
        0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef,
    };
    unsigned crc = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned byte = (unsigned char)text[i];

        crc = (crc << 4 & 0xffff) ^ halves[crc >> 12 ^ byte >> 4];
        crc = (crc << 4 & 0xffff) ^ halves[crc >> 12 ^ (byte & 15)];
    }
    return crc;
}

unsigned hf__slot(const char *key) {
    const char *open = strchr(key, '{');
    const char *close = open ? strchr(open, '}') : NULL;

    if (close && close > open + 1)
        return crc16(open + 1, (size_t)(close - open - 1)) % HF_SLOTS;
    return crc16(key, strlen(key)) % HF_SLOTS;
}

/* The least number; 0, which lies in one slot only, stands for "none yet". */
void hf__slot_tags(uint32_t tags[HF_SLOTS]) {
    int missing = HF_SLOTS;
    char text[16];

    memset(tags, 0, HF_SLOTS * sizeof *tags);
    for (uint32_t number = 1; missing > 0; number++) {
        snprintf(text, sizeof text, "%u", number);
        unsigned slot = hf__slot(text);

        if (tags[slot] == 0) {
            tags[slot] = number;
            missing--;
        }
    }
}
