/* SPDX-License-Identifier: MIT
 *
 * server.h - the HTTP library, and the way of a request through it. */
#ifndef CONSOLE_SERVER_H
#define CONSOLE_SERVER_H

#include "console.h"

typedef struct server server;

/* Serves on a socket that listens, which becomes its own; certificate and key
 * are NULL, or texts in PEM, lent.  NULL after saying why. */
server *server_start(console *c, int fd, const char *cert, const char *key);

/* Every request is answered or given up, and what it held given back. */
void server_stop(server *s); /* NULL is allowed */

#endif
