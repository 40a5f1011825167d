/* SPDX-License-Identifier: MIT
 *
 * server.h - one Redis server as its client knows it: what all connections to
 * it have in common. */
#ifndef HF_REDIS_SERVER_H
#define HF_REDIS_SERVER_H

#include "clock.h"
#include "conn.h"
#include "scripts.h"

typedef struct hf_server {
    const hf_host *host;
    hf_address *address;
    hf_tls *tls; /* NULL: plain */
    hf_hashes hashes;
    hf_server_clock clock;
} hf_server;

int hf__server_init(hf_server *s, const hf_uri *uri, const hf_host *host,
                    hf_error *err);
void hf__server_clear(hf_server *s);

/* A connection for anything. */
int hf__server_dial(hf_server *s, hf_conn **ret, hf_time by, hf_error *err);

/* A connection for requests: scripts loaded, clock sampled. */
int hf__server_greet(hf_server *s, hf_conn **ret, hf_time by, hf_error *err);

#endif
