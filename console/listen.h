/* SPDX-License-Identifier: MIT
 *
 * listen.h - where the console is to be found. */
#ifndef CONSOLE_LISTEN_H
#define CONSOLE_LISTEN_H

#include <stdbool.h>

#define LISTEN_DEFAULT "127.0.0.1:8765"

typedef struct place_to_listen {
    int fd;
    bool local;     /* a Unix socket, at `path`                            */
    bool open;      /* others than this host can reach it                  */
    char host[128]; /* as a URL has it; "" if local                        */
    int port;
    char path[108];
} place_to_listen;

/* "HOST:PORT", "[::1]:0", "unix:/run/x.sock".  0, or an exit status after
 * saying why.  A Unix socket is for its owner alone; one that nobody listens
 * on any more is replaced. */
int listen_open(place_to_listen *p, const char *where);
void listen_close(place_to_listen *p); /* removes its path */

#endif
