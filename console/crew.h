/* SPDX-License-Identifier: MIT
 *
 * crew.h - a bounded number of threads for what may take its time. */
#ifndef CONSOLE_CREW_H
#define CONSOLE_CREW_H

#include <stdbool.h>
#include <stddef.h>

typedef struct crew crew;
typedef void crew_fn(void *arg);

/* At most `threads` at work and `waiting` in line for them.  NULL: no
 * memory. */
crew *crew_new(size_t threads, size_t waiting);

/* False: all are at work and the line is full, or no thread could be had. */
bool crew_ask(crew *c, crew_fn *fn, void *arg);

/* However long the line is; for giving back what is held.  Where there is no
 * memory to stand in line it is done at once. */
void crew_post(crew *c, crew_fn *fn, void *arg);

/* Refuses from now on, and returns when all that was asked for is done. */
void crew_end(crew *c);

void crew_free(crew *c); /* after its end; NULL is allowed */

#endif
