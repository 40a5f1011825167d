/* SPDX-License-Identifier: MIT
 *
 * watch.h - one thread that looks at the store once a second, and what it has
 * seen: the last picture and the last events. */
#ifndef CONSOLE_WATCH_H
#define CONSOLE_WATCH_H

#include <stdio.h>

#include "picture.h"

enum { WATCH_KEEP = 4096, WATCH_EVERY_MS = 1000 };

typedef struct watch watch;

/* After every look, on the watch's thread. */
typedef void watch_fn(void *arg);

/* Looks once, so that there is a picture, and begins; the client is lent. */
int watch_new(watch **ret, hf_client *client, watch_fn *fn, void *arg,
              hf_error *err);
void watch_free(watch *w); /* NULL is allowed */

/* The next look comes at once: something was changed. */
void watch_poke(watch *w);

/* The last picture; give it back. */
picture *watch_picture(watch *w);
void watch_return(watch *w, picture *p);

/* Events have numbers that grow, also when the server is started anew; as
 * objects of JSON. */
uint64_t watch_newest(watch *w); /* 0: there was none */

/* Are all events after `id` remembered?  Not those of an earlier server. */
bool watch_remembers(watch *w, uint64_t id);

/* Calls `fn` for the events after `id`, oldest first, under the watch's
 * lock; of one name unless NULL. */
typedef void watch_event_fn(void *arg, uint64_t id, const char *object);
void watch_events(watch *w, uint64_t id, const char *name, watch_event_fn *fn,
                  void *arg);

/* How many of each kind were seen. */
void watch_counts(watch *w, uint64_t counts[static VIEW_EVENT_KINDS]);

#endif
