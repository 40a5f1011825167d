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

#endif
