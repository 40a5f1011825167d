/* SPDX-License-Identifier: MIT
 *
 * hangup.h - notices a client that has hung up while nobody reads from it.
 *
 * A connection that waits for a grant, or for something to be told, is
 * suspended, and the HTTP library does not look at it; so we do. */
#ifndef CONSOLE_HANGUP_H
#define CONSOLE_HANGUP_H

#include "../include/holdfast.h"

typedef struct hangup hangup;
typedef struct hangup_post hangup_post;

/* Called once, on the thread that watches. */
typedef void hangup_fn(void *arg);

int hangup_new(hangup **ret, hf_error *err);
void hangup_free(hangup *l); /* NULL is allowed */

/* Watches the socket; NULL: no memory, or the system refused. */
hangup_post *hangup_add(hangup *l, int fd, hangup_fn *gone, void *arg);

/* After it has returned `gone` does not run and will not; NULL is allowed. */
void hangup_remove(hangup *l, hangup_post *post);

#endif
