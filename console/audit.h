/* SPDX-License-Identifier: MIT
 *
 * audit.h - who took what away from whom, written down. */
#ifndef CONSOLE_AUDIT_H
#define CONSOLE_AUDIT_H

#include "request.h"

typedef struct audit audit;

/* A file that is added to, or stderr if NULL.  NULL after saying why. */
audit *audit_open(const char *path);
void audit_close(audit *a); /* NULL is allowed */

/* One line of JSON, whole or not at all.  `stage` is "asked" before, and then
 * the result; false: it could not be written. */
bool audit_write(audit *a, const request *r, const char *action,
                 const char *owner, uint64_t token, const char *stage);

#endif
