/* SPDX-License-Identifier: MIT
 *
 * options.h - reading option structs of callers older or newer than we. */
#ifndef HF_OPTIONS_H
#define HF_OPTIONS_H

#include "../include/holdfast.h"

/* Copies the caller's options, which begin with their own size; what an older
 * caller does not know is zero.  A newer caller's additions must be zero, or
 * we would ignore what it asks for.  NULL is all zero. */
int hf__options_copy(void *to, size_t size, const void *from, const char *what,
                     hf_error *err);

#endif
