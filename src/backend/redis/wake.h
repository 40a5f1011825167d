/* SPDX-License-Identifier: MIT
 *
 * wake.h - hears that a lock was released: the subscriptions of one client.
 *
 * One connection with a thread of its own, started when first needed, for any
 * number of channels.  A message is a hint; after every break the channels are
 * subscribed again and then everybody is told to ask again, because what was
 * said meanwhile is lost. */
#ifndef HF_REDIS_WAKE_H
#define HF_REDIS_WAKE_H

#include "server.h"

typedef struct hf_listener hf_listener;

int hf__listener_new(hf_listener **ret, hf_server *server, hf_error *err);
void hf__listener_free(hf_listener *w, bool forked);

/* Returns when the server has confirmed the subscription.  HF_EFORBIDDEN: our
 * user may not subscribe. */
int hf__listener_watch(hf_listener *w, const char *channel, hf_time by,
                       hf_error *err);

/* Is the channel subscribed at this moment? */
bool hf__listener_hears(hf_listener *w, const char *channel);

/* Ends one watch.  The subscription stays for a few seconds, for the next. */
void hf__listener_unwatch(hf_listener *w, const char *channel);

#endif
