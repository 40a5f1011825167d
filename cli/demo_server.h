/* SPDX-License-Identifier: MIT
 *
 * demo_server.h - private Redis servers for a demonstration: on free ports of
 * this host, with their data in its folder, asked through redis-cli.
 *
 * They do not outlive the process that started them. */
#ifndef CLI_DEMO_SERVER_H
#define CLI_DEMO_SERVER_H

#include "demo.h"

enum { REPLY_SIZE = 256 };

typedef struct demo_server {
    pid_t pid; /* 0: it does not run                                       */
    int port;
    int master; /* the port of its master; 0: it is one                     */
    char folder[280];
} demo_server;

/* Are redis-server and redis-cli there?  0, or an exit status when it has said
 * what to install. */
int demo_server_needs(void);

/* Starts one on a free port, as a replica of `master` unless NULL.  When it
 * returns the server answers. */
bool demo_server_start(demo_server *s, const demo *d, const char *name,
                       const demo_server *master);

/* As kill -9. */
void demo_server_kill(demo_server *s);

/* After that: on the same port, and with nothing of what it knew. */
bool demo_server_restart(demo_server *s);

/* The reply to a command, given as its words and a NULL, as redis-cli writes
 * it into a pipe; "" for none. */
typedef char reply[REPLY_SIZE];
void demo_server_ask(const demo_server *s, reply r, ...)
    __attribute__((sentinel));

#endif
