/* SPDX-License-Identifier: MIT
 *
 * status.c - the one table from the library's answers to exit statuses.
 *
 * A script must be able to tell "busy", "the store is down" and "my job
 * failed" apart; so every code of the library stands here, and a new one is a
 * compiler's warning until it does. */
#include "status.h"

#include <stdarg.h>
#include <stdio.h>

#include "text.h"

int status_of(int code) {
    switch ((enum hf_result)code) {
    case HF_ETIMEOUT:
    case HF_ECANCELLED:
    case HF_EDEADLOCK:
        return EXIT_BUSY;
    case HF_EREPLICAS:
    case HF_EMINORITY:
    case HF_EDOWN:
    case HF_ESTARTING:
    case HF_EREAD_ONLY:
    case HF_EFULL:
    case HF_ECROWDED:
    case HF_ETLS:
    case HF_ESTORE:
    case HF_EDOUBT:
        return EXIT_UNAVAILABLE;
    case HF_EAUTH:
    case HF_EFORBIDDEN:
    case HF_ENOT_OWNER:
        return EXIT_NO_PERMISSION;
    case HF_ELOST:
        return EXIT_LOST;
    case HF_EFREE:
        return EXIT_NOTHING;
    case HF_EUSAGE:
    case HF_ENAME:
        return EXIT_USAGE;
    case HF_EURI:
    case HF_ENO_STORE:
    case HF_ECANNOT:
        return EXIT_CONFIG;
    case HF_ENO_MEMORY:
    case HF_ESYSTEM:
    case HF_EFORKED:
        return EXIT_SOFTWARE;
    }
    return code == HF_OK ? 0 : code == HF_BUSY ? EXIT_BUSY : EXIT_SOFTWARE;
}

int status_fail(const hf_error *err) {
    const char *text = err->text[0] ? err->text : hf_strerror(err->code);
    complain("%s", text);
    return status_of(err->code);
}

void complain(const char *format, ...) {
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    fputs("holdfast: ", stderr);
    text_put(stderr, line);
    fputc('\n', stderr);
}
