/* SPDX-License-Identifier: MIT
 *
 * delay.h - a longer way to a server: every byte arrives a little later, and
 * as many as you like are under way at once. */
#ifndef HF_BENCH_DELAY_H
#define HF_BENCH_DELAY_H

/* Listens on a free port of 127.0.0.1 and forwards to another, from a process
 * of its own that dies with this one.  Each way takes `us` longer.  The port,
 * or -1. */
int delay_start(int server_port, int us);

/* The same to n servers, through one process; at most DELAY_SERVERS.  Fills
 * `ports`; 0, or -1. */
enum { DELAY_SERVERS = 8 };
int delay_start_all(const int *server_ports, int n, int us, int *ports);

#endif
