/* SPDX-License-Identifier: MIT
 *
 * mariadb_bare.h - the bare statements of a lock in MariaDB: libmariadb, one
 * connection, one statement at a time. */
#ifndef HF_BENCH_MARIADB_BARE_H
#define HF_BENCH_MARIADB_BARE_H

#include <mysql.h>

#include "bare.h"

extern const bare mariadb_calls;

/* mariadb://USER@HOST:PORT/DATABASE; NULL: no connection. */
MYSQL *mariadb_dial(const char *uri);

#endif
