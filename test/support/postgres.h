/* SPDX-License-Identifier: MIT
 *
 * postgres.h - private PostgreSQL servers, standbys, and PgBouncer.
 *
 * They listen on free ports of 127.0.0.1 below 32768 and on a socket in the
 * test's folder, and die with the test process.  Where they are not installed
 * the test is skipped.  Root runs them as the user `postgres`, because they
 * refuse root.
 *
 * There is a database `locks`, of the user `app`.  Users: `app`; `guest`, who
 * owns nothing; `secret`, whose password is `secret`; `postgres`, who may do
 * everything. */
#ifndef HF_TEST_POSTGRES_H
#define HF_TEST_POSTGRES_H

#include "lender.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct hf_test_postgres hf_test_postgres;
typedef struct hf_test_pgbouncer hf_test_pgbouncer;

typedef struct hf_test_postgres_options {
    bool durable;                 /* waits for its disk, as in daily life */
    bool tls;                     /* shows the certificate of tls.h       */
    hf_test_postgres *standby_of; /* follows that one, and is read-only   */
    const char *const *settings;  /* "max_connections=20", NULL at the end */
} hf_test_postgres_options;

/* Returns when it answers.  options may be NULL. */
hf_test_postgres *hf_test_postgres_start(const hf_test_postgres_options *);
void hf_test_postgres_stop(hf_test_postgres *pg); /* NULL is allowed */

/* An immediate shutdown: nothing is written any more, nobody is told. */
void hf_test_postgres_crash(hf_test_postgres *pg);
void hf_test_postgres_revive(hf_test_postgres *pg);  /* does not wait */
void hf_test_postgres_restart(hf_test_postgres *pg); /* until it answers */

int hf_test_postgres_port(const hf_test_postgres *pg);

/* "postgresql://app@127.0.0.1:PORT/locks".  Lent. */
const char *hf_test_postgres_uri(const hf_test_postgres *pg);

/* Asks by hand, as `postgres` in `locks`: the first cell of the last answer,
 * "" for none; an error begins with "-".  Lent until the next call. */
const char *hf_test_sql(int port, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int64_t hf_test_sql_number(int port, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A connection like those, to be kept; ends with PQfinish. */
struct pg_conn *hf_test_sql_open(int port);

/* Why there can be none; NULL: there can. */
const char *hf_test_postgres_missing(void);
const char *hf_test_pgbouncer_missing(void);

/* A pooler before the server that listens on that port. */
hf_test_pgbouncer *hf_test_pgbouncer_start(int port, const char *pool_mode);
void hf_test_pgbouncer_stop(hf_test_pgbouncer *b); /* NULL is allowed */
int hf_test_pgbouncer_port(const hf_test_pgbouncer *b);
const char *hf_test_pgbouncer_uri(const hf_test_pgbouncer *b);

/* A schema that nobody else uses, on a server that many tests share. */
extern const hf_test_sort hf_test_postgres_sort;
void hf_test_postgres_borrow(char *uri, size_t size);

/* Its clients wait for an answer for long: on a machine that has no time for
 * the server, what they ask for is not in doubt. */
void hf_test_postgres_borrow_patiently(char *uri, size_t size);

#endif
