/* SPDX-License-Identifier: MIT
 *
 * duration.h - "1500ms", "30s", "5m", "2h", "1d"; a bare number is seconds, as
 * flock and timeout have it; fractions are allowed. */
#ifndef CLI_DURATION_H
#define CLI_DURATION_H

/* Milliseconds into *ret, rounded up so that nothing becomes zero but zero.
 * NULL, or a phrase that says what is wrong with the text. */
const char *duration_read(const char *text, int *ret);

#endif
