/* SPDX-License-Identifier: MIT
 *
 * samples.h - how long something took, many times. */
#ifndef CLI_SAMPLES_H
#define CLI_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

typedef struct samples {
    int64_t *ns;
    size_t n, room;
} samples;

void samples_add(samples *s, int64_t ns); /* without memory: not */
void samples_sort(samples *s);

/* Of sorted ones, in microseconds: not above it were so many of a hundred.
 * 0 if there are none. */
int64_t samples_us(const samples *s, int percent);
void samples_free(samples *s);

#endif
