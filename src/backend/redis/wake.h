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

/* In place of a code: the server has not, or no longer, what it is about. */
enum { HF_STRAYED = 3 };

typedef struct hf_listener_needs {
    hf_server *server;
    bool sharded; /* messages stay in the shard: SSUBSCRIBE */

    /* Where channels move from server to server; both are NULL elsewhere.
     * What became of a channel: 0, it is heard; HF_STRAYED; or why it may not
     * be.  And: the connection broke, or did not come about.  Listener's
     * thread, no lock held. */
    void (*told)(void *arg, hf_listener *w, const char *channel, int code);
    void (*broke)(void *arg, hf_listener *w, int code);
    void *arg;
} hf_listener_needs;

int hf__listener_new(hf_listener **ret, const hf_listener_needs *needs,
                     hf_error *err);
void hf__listener_free(hf_listener *w, bool forked);

/* Breaks the connection, and connects again at once: the server has changed. */
void hf__listener_cut(hf_listener *w);

/* Returns when the server has confirmed the subscription.  HF_EFORBIDDEN: our
 * user may not subscribe. */
int hf__listener_watch(hf_listener *w, const char *channel, hf_time by,
                       hf_error *err);

/* Is the channel subscribed at this moment? */
bool hf__listener_hears(hf_listener *w, const char *channel);

/* Watches as well, without waiting.  HF_OK: it is heard; HF_BUSY: it will be
 * told. */
int hf__listener_adopt(hf_listener *w, const char *channel, hf_error *err);

/* Ends one watch.  The subscription stays for a few seconds, for the next. */
void hf__listener_unwatch(hf_listener *w, const char *channel);

/* Whoever waits for what the channel is about should ask again. */
void hf__listener_tell(const hf_host *host, const char *channel);

#endif
