/* SPDX-License-Identifier: MIT
 *
 * mariadb.h - private MariaDB servers.
 *
 * They listen on a free port of 127.0.0.1 below 32768 and on a socket in the
 * test's folder, and die with the test process.  Where MariaDB is not installed
 * the test is skipped.  Root runs them as the user `mysql`.
 *
 * There is a database `locks`.  Users: `app`, who may do everything in it;
 * `guest`, who may only look; `secret`, whose password is `secret` and who
 * otherwise is like `app`; `few`, like it, with three connections; `root`. */
#ifndef HF_TEST_MARIADB_H
#define HF_TEST_MARIADB_H

#include "lender.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct hf_test_mariadb hf_test_mariadb;

typedef struct hf_test_mariadb_options {
    bool tls;                    /* shows the certificate of tls.h       */
    const char *const *settings; /* "--max-connections=20", NULL at the end */
} hf_test_mariadb_options;

/* Returns when it answers.  options may be NULL. */
hf_test_mariadb *hf_test_mariadb_start(const hf_test_mariadb_options *options);
void hf_test_mariadb_stop(hf_test_mariadb *m); /* NULL is allowed */

void hf_test_mariadb_crash(hf_test_mariadb *m);   /* kill -9 */
void hf_test_mariadb_revive(hf_test_mariadb *m);  /* does not wait */
void hf_test_mariadb_restart(hf_test_mariadb *m); /* until it answers */
void hf_test_mariadb_pause(hf_test_mariadb *m);   /* SIGSTOP */
void hf_test_mariadb_resume(hf_test_mariadb *m);  /* SIGCONT */

int hf_test_mariadb_port(const hf_test_mariadb *m);
const char *hf_test_mariadb_socket(const hf_test_mariadb *m);

/* "mariadb://app@127.0.0.1:PORT/locks".  Lent. */
const char *hf_test_mariadb_uri(const hf_test_mariadb *m);

/* Asks by hand, as `root`, in `locks` or in the database that was borrowed:
 * the first cell of the last answer, "" for none; an error begins with "-" and
 * its number.  Lent until the next call. */
const char *hf_test_mariadb_ask(int port, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int64_t hf_test_mariadb_number(int port, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A connection by hand, as `root`; for what takes more than one step.  Says a
 * statement, which must succeed. */
struct st_mysql *hf_test_mariadb_open(int port);
void hf_test_mariadb_say(struct st_mysql *my, const char *statement);
void hf_test_mariadb_close(struct st_mysql *my);

/* Why there can be none; NULL: there can. */
const char *hf_test_mariadb_missing(void);

/* A database that nobody else uses, on a server that many tests share. */
extern const hf_test_sort hf_test_mariadb_sort;
void hf_test_mariadb_borrow(char *uri, size_t size);

/* Its clients wait for an answer for long: on a machine that has no time for
 * the server, what they ask for is not in doubt. */
void hf_test_mariadb_borrow_patiently(char *uri, size_t size);
int hf_test_mariadb_borrowed_port(void);

#endif
