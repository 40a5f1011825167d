/* SPDX-License-Identifier: MIT
 *
 * err.c - numbers, names and sentences of errors, from the one list in
 * holdfast.h, so that they cannot drift apart. */
#include "err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef hf__fail /* what analysers are told in their place */
#undef hf__fail_plain

typedef struct entry {
    hf_class class_;
    const char *name, *text;
} entry;

static const entry entries[] = {
#define HF_X(number, name, class_, text)                                       \
    [number] = {HF_CLASS_##class_, #name, text},
    HF_ERRORS(HF_X)
#undef HF_X
};

static const entry *find(int code) {
    static const entry unknown = {HF_CLASS_MISUSE, "UNKNOWN", "unknown code"};
    static const entry ok = {HF_CLASS_NONE, "OK", "done"};
    static const entry busy = {HF_CLASS_NONE, "BUSY", "somebody else holds it"};

    if (code == HF_OK)
        return &ok;
    if (code == HF_BUSY)
        return &busy;
    if (code > 0 || code <= -(int)(sizeof entries / sizeof entries[0]))
        return &unknown;
    return &entries[-code];
}

hf_class hf_error_class(int code) {
    return find(code)->class_;
}

const char *hf_error_name(int code) {
    return find(code)->name;
}

const char *hf_strerror(int code) {
    return find(code)->text;
}

int hf__fail(hf_error *err, int code, const char *format, ...) {
    va_list args;

    if (!err)
        return code;
    err->code = code;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return code;
}

int hf__fail_plain(hf_error *err, int code) {
    return hf__fail(err, code, "%s", hf_strerror(code));
}
