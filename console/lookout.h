/* SPDX-License-Identifier: MIT
 *
 * lookout.h - notices that a client has hung up while nobody reads from it.
 *
 * A connection that waits for a grant, or for something to be told, is
 * suspended, and the HTTP library does not look at it; so we do. */
#ifndef CONSOLE_LOOKOUT_H
#define CONSOLE_LOOKOUT_H

#include "../include/holdfast.h"

typedef struct lookout lookout;
typedef struct lookout_post lookout_post;

/* Called once, on the lookout's thread. */
typedef void lookout_fn(void *arg);

int lookout_new(lookout **ret, hf_error *err);
void lookout_free(lookout *l); /* NULL is allowed */

/* Watches the socket; NULL: no memory, or the system refused. */
lookout_post *lookout_add(lookout *l, int fd, lookout_fn *gone, void *arg);

/* After it has returned `gone` does not run and will not; NULL is allowed. */
void lookout_remove(lookout *l, lookout_post *post);

#endif
