/* SPDX-License-Identifier: MIT
 *
 * dial.h - a connected socket, by a deadline. */
#ifndef HF_NET_DIAL_H
#define HF_NET_DIAL_H

#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "../../../include/holdfast/backend.h"

/* Waits for a socket on which we connect.  False: `by` has come, or
 * *given_up was set, because nobody wants the connection any more; given_up
 * may be NULL. */
bool hf__net_wait(int fd, short events, hf_time by,
                  const atomic_bool *given_up);

/* Connects a socket and waits until it stands.  The descriptor; or -1, and
 * *why is an errno. */
int hf__net_reach(const struct sockaddr *addr, socklen_t len, hf_time by,
                  const atomic_bool *given_up, int *why);

/* The same with a host's name or address, each of its addresses in turn,
 * without Nagle's delay.  `where` is the server, in errors. */
int hf__net_dial(const char *host, int port, const char *where, hf_time by,
                 const atomic_bool *given_up, hf_error *err);

#endif
