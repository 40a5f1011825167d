/* SPDX-License-Identifier: MIT
 *
 * status.h - exit statuses: those of sysexits.h that flock and systemd know,
 * and those of the shell. */
#ifndef CLI_STATUS_H
#define CLI_STATUS_H

#include "../include/holdfast.h"

enum status {
    EXIT_NOTHING = 1, /* release, steal: nobody held it                    */
    EXIT_UNSAFE = 1,  /* doctor: see promises_safe                         */
    EXIT_STUCK = 1,   /* deadlocks: there are some                         */
    EXIT_USAGE = 64,
    EXIT_UNAVAILABLE = 69, /* the store                                    */
    EXIT_SOFTWARE = 70,
    EXIT_BUSY = 75,
    EXIT_LOST = 76, /* while the command ran                               */
    EXIT_NO_PERMISSION = 77,
    EXIT_CONFIG = 78,
    EXIT_NOT_EXECUTABLE = 126,
    EXIT_NOT_FOUND = 127,
    EXIT_SIGNAL = 128 /* plus its number                                   */
};

/* The status for an answer of the library. */
int status_of(int code);

/* Says the error on stderr and gives its status. */
int status_fail(const hf_error *err);

/* "holdfast: text" on stderr. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
