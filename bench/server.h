/* SPDX-License-Identifier: MIT
 *
 * server.h - a private redis-server for a benchmark.
 *
 * It keeps nothing on disk, has a session of its own, as a service has, and so
 * a share of the processors of its own, and dies with the benchmark. */
#ifndef HF_BENCH_SERVER_H
#define HF_BENCH_SERVER_H

#include <sys/types.h>

typedef struct bench_server {
    pid_t pid;
    int port;
    char dir[64]; /* for files of the benchmark too, which it removes */
    char socket[96];
} bench_server;

/* Returns when it answers; ends the program if it never does.  There is one,
 * and it is stopped at exit. */
const bench_server *server_start(void);

/* User and system time it has used, in clock ticks. */
double server_ticks(const bench_server *server);

#endif
