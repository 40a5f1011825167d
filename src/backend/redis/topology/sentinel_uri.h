/* SPDX-License-Identifier: MIT
 *
 * sentinel_uri.h - what a redis+sentinel URI says. */
#ifndef HF_REDIS_SENTINEL_URI_H
#define HF_REDIS_SENTINEL_URI_H

#include "../address.h"

enum { HF_SENTINEL_PORT = 26379 };

typedef struct hf_sentinel_uri {
    char *name;            /* of the master                                */
    char *where;           /* all of it, without secrets                   */
    hf_address *servers;   /* how servers are reached, but for the place   */
    hf_address *sentinels; /* and how sentinels are: they have their own
                              credentials and TLS                          */
} hf_sentinel_uri;

/* HF_EURI, HF_EAUTH: as hf__address_new. */
int hf__sentinel_uri_read(hf_sentinel_uri *ret, const hf_uri *uri,
                          hf_error *err);
void hf__sentinel_uri_clear(hf_sentinel_uri *u);

/* A parameter for sentinels in an address that has none. */
int hf__sentinel_uri_refuse(const hf_uri *uri, hf_error *err);

#endif
