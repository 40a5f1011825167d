/* SPDX-License-Identifier: MIT
 *
 * slot.c - the slot of a key: CRC-16 (XMODEM) modulo 16384. */
#include "slot.h"

#include <stdio.h>
#include <string.h>

static unsigned crc16(const char *text, size_t len) {
    unsigned crc = 0;

    for (size_t i = 0; i < len; i++) {
        crc ^= (unsigned)(unsigned char)text[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1;
    }
    return crc & 0xffff;
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
