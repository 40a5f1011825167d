/* SPDX-License-Identifier: MIT
 *
 * server.h - private redis-servers for a benchmark.
 *
 * They keep nothing on disk, have a session of their own, as a service has, and
 * so a share of the processors of their own, and die with the benchmark. */
#ifndef HF_BENCH_SERVER_H
#define HF_BENCH_SERVER_H

#include <sys/types.h>

enum { SERVERS_MAX = 16 };

typedef struct bench_server {
    pid_t pid;
    int port;     /* and, in a cluster, port + 10000 */
    char dir[64]; /* for files of the benchmark too; removed at exit */
    char socket[96];
} bench_server;

/* Returns when it answers; ends the program if it never does.  It is stopped
 * at exit. */
const bench_server *server_start(void);

/* The same with more arguments, NULL at the end. */
const bench_server *server_start_with(const char *const *args);

/* One that watches over `master` under the name "bench". */
const bench_server *server_start_sentinel(const bench_server *master);

/* Earlier than at exit. */
void server_stop(const bench_server *server);

#endif
