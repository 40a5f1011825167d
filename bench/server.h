/* SPDX-License-Identifier: MIT
 *
 * server.h - private servers for a benchmark.
 *
 * Those of Redis keep nothing on disk; the others are as they come, and wait for
 * the disk.  They have a session of their own, as a service has, and
 * so a share of the processors of their own, and die with the benchmark. */
#ifndef HF_BENCH_SERVER_H
#define HF_BENCH_SERVER_H

#include <sys/types.h>

enum { SERVERS_MAX = 16 };

typedef struct bench_server {
    pid_t pid;
    int port;     /* and, in a cluster and for etcd's peers, port + 10000 */
    char dir[64]; /* for files of the benchmark too; removed at exit */
    char socket[96];
    const char *user; /* whom root starts it as; NULL: root       */
    int end;          /* the signal that ends it; 0: SIGKILL      */
} bench_server;

/* Returns when it answers; ends the program if it never does.  It is stopped
 * at exit. */
const bench_server *server_start(void);

/* The same with more arguments, NULL at the end. */
const bench_server *server_start_with(const char *const *args);

/* One that watches over `master` under the name "bench". */
const bench_server *server_start_sentinel(const bench_server *master);

/* One ZooKeeper, one etcd; NULL where it is not installed. */
const bench_server *server_start_zookeeper(void);
const bench_server *server_start_etcd(void);

/* One PostgreSQL, whose user and database are "postgres"; one MariaDB, with the
 * user "root" and the database "test"; nobody is asked for a password.  Root
 * starts them as their own users.  NULL where it is not installed. */
const bench_server *server_start_postgres(void);
const bench_server *server_start_mariadb(void);

/* Of such a one; lent until the next call. */
const char *server_zookeeper_version(const bench_server *server);
const char *server_etcd_version(const bench_server *server);

/* Earlier than at exit. */
void server_stop(const bench_server *server);

#endif
