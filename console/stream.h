/* SPDX-License-Identifier: MIT
 *
 * stream.h - answers that go on: events as they happen, a lock while it is
 * held.
 *
 * A stream that has nothing to say is suspended.  It is woken after every
 * look, and when something happens to its lock. */
#ifndef CONSOLE_STREAM_H
#define CONSOLE_STREAM_H

#include "request.h"

typedef struct stream stream;
typedef struct streams streams;

/* Writes what is new; false: that was the last of it. */
typedef bool stream_fill_fn(void *arg, FILE *out);

streams *streams_new(void); /* NULL: no memory */
void streams_free(streams *all);
void streams_wake(streams *all);
void streams_end(streams *all); /* those there are, and those to come */
size_t streams_count(streams *all);

/* Makes the answer to `r` a stream.  `arg` goes with it: freed by `let_go`,
 * unless NULL.  False: there are too many, or no memory; answered. */
bool stream_begin(request *r, const char *type, stream_fill_fn *fill, void *arg,
                  void (*let_go)(void *));
void stream_gone(stream *s); /* its client hung up */
void stream_free(stream *s);
struct MHD_Response *stream_response(stream *s);

#endif
