/* SPDX-License-Identifier: MIT
 *
 * console.h - what all requests share. */
#ifndef CONSOLE_CONSOLE_H
#define CONSOLE_CONSOLE_H

#include <stdatomic.h>

#include "../cli/serve_options.h"
#include "crew.h"
#include "hangup.h"
#include "watch.h"

enum {
    BODY_MOST = 64 * 1024,
    SWALLOW_MOST = 1024 * 1024, /* of a body that is refused anyway        */
    HEADERS_MOST = 32 * 1024,   /* a connection's memory                   */
    CONNECTIONS_MOST = 2048,
    SILENCE_MOST_S = 20, /* of a connection that is being read or written  */
    WAITS_MOST = 64,     /* threads that wait for a grant                  */
    TASKS_MOST = 8,      /* threads for what takes a round trip            */
    TASKS_LINE = 256,
    STREAMS_MOST = 64,
    CLAIMS_MOST = 4096,
    BEAT_MS = 15000 /* of a stream that has nothing else to say            */
};

enum { COUNTED_STATUSES = 6 }; /* 1xx to 5xx, by their first digit */

typedef struct console {
    const serve_options *options;
    hf_client *client;
    watch *watch;
    hangup *hangup;
    crew *waits, *tasks;
    struct claims *claims;
    struct streams *streams;
    struct keys *keys; /* NULL: nobody is asked for one                    */
    struct audit *audit;
    int ttl_ms; /* of claims that do not say                             */
    bool local; /* on a Unix socket: no name leads a browser there       */
    bool tls;
    char host[128]; /* that it listens on, as Host has it; "" if local     */
    atomic_bool stopping;
    atomic_int open; /* requests that came and are not over                */
    atomic_ullong answered[COUNTED_STATUSES];
} console;

#endif
