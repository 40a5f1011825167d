/* SPDX-License-Identifier: MIT
 *
 * fenced.h - a database that refuses older tokens, and writers who try.
 *
 * A database says how it is talked to.  In it are the guard and a table
 *
 *     entry (id, which grows with each row; token)
 *
 * to which whoever passes the guard of the resource `ledger` adds its token. */
#ifndef HF_TEST_FENCED_H
#define HF_TEST_FENCED_H

#include <stdint.h>

#include "holdfast.h"

/* The verbs answer HF_OK; HF_ELOST, refused by the guard; HF_BUSY, to be tried
 * again from the beginning of the transaction; or HF_ESTORE.  Called by
 * several threads, each with a connection of its own. */
typedef struct hf_fenced {
    void *(*connect)(void);
    void (*hang_up)(void *conn);

    /* One statement; the first cell of what it gives, 0 for none. */
    int (*run)(void *conn, const char *sql, int64_t *cell);

    /* The guard, with the values bound. */
    int (*pass)(void *conn, const char *resource, uint64_t token);

    const char *begin; /* what begins a transaction */
} hf_fenced;

/* Of one connection: fails the test unless the answer is `wanted`. */
void hf_fenced_expect(const hf_fenced *db, void *conn, int wanted,
                      const char *sql);
int64_t hf_fenced_ask(const hf_fenced *db, void *conn, const char *sql);

/* A whole transaction: it passes, and adds an entry. */
int hf_fenced_write(const hf_fenced *db, void *conn, uint64_t token);

/* ---- what every guard must do ------------------------------------------ */

void hf_fenced_refuses_older_ones(const hf_fenced *db);
void hf_fenced_lets_a_newer_one_wait(const hf_fenced *db);
void hf_fenced_never_goes_back(const hf_fenced *db);

#endif
