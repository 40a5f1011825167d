/* SPDX-License-Identifier: MIT
 *
 * resolve.h - host names to addresses, with a deadline. */
#ifndef HF_NET_RESOLVE_H
#define HF_NET_RESOLVE_H

#include <netdb.h>

#include "../../../include/holdfast/backend.h"

/* All addresses of the host; free them with freeaddrinfo.  HF_EDOWN: it has
 * none, or nobody said so by then. */
int hf__resolve(struct addrinfo **ret, const char *host, int port, hf_time by,
                hf_error *err);

#endif
