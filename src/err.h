/* SPDX-License-Identifier: MIT
 *
 * err.h - filling an hf_error. */
#ifndef HF_ERR_H
#define HF_ERR_H

#include "../include/holdfast.h"

/* Writes code and text (err may be NULL) and returns the code, so that a
 * failure is one statement: return hf__fail(err, HF_EDOWN, "…", …). */
int hf__fail(hf_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, with the code's general sentence as the text. */
int hf__fail_plain(hf_error *err, int code);

/* Analysers see one file at a time, and not that these return their code. */
#ifdef HF_ANALYSED
#define hf__fail(err, code, ...)  (hf__fail((err), (code), __VA_ARGS__), (code))
#define hf__fail_plain(err, code) (hf__fail_plain((err), (code)), (code))
#endif

#endif
