/* SPDX-License-Identifier: MIT
 *
 * db.h - one connection to the embedded store: one thread at a time, every
 * wait with a deadline, every failure told apart. */
#ifndef HF_SQLITE_DB_H
#define HF_SQLITE_DB_H

#include <sqlite3.h>

#include "../../world.h"
#include "file.h"

typedef struct hf_db hf_db;

/* The sections of sqlite.sql, but the tables. */
#define HF_QUERIES(X)                                                          \
    X(take)                                                                    \
    X(free)                                                                    \
    X(keep)                                                                    \
    X(renew)                                                                   \
    X(vacate)                                                                  \
    X(look)                                                                    \
    X(token)                                                                   \
    X(raise)                                                                   \
    X(place)                                                                   \
    X(ahead)                                                                   \
    X(count)                                                                   \
    X(head)                                                                    \
    X(join)                                                                    \
    X(leave)                                                                   \
    X(forget)                                                                  \
    X(state)                                                                   \
    X(holds)                                                                   \
    X(waits)                                                                   \
    X(hold)                                                                    \
    X(hold_free)                                                               \
    X(hold_keep)                                                               \
    X(hold_renew)                                                              \
    X(hold_drop)                                                               \
    X(hold_drop_over)                                                          \
    X(hold_drop_all)                                                           \
    X(hold_forget)                                                             \
    X(freed)                                                                   \
    X(set)                                                                     \
    X(unset)                                                                   \
    X(recall)                                                                  \
    X(remember)                                                                \
    X(prune)                                                                   \
    X(bury)                                                                    \
    X(introduce)                                                               \
    X(known)                                                                   \
    X(say)                                                                     \
    X(next)                                                                    \
    X(clients)                                                                 \
    X(page)                                                                    \
    X(list)                                                                    \
    X(tidy_waits)                                                              \
    X(tidy_numbers)                                                            \
    X(tidy_holds)                                                              \
    X(tidy_answers)                                                            \
    X(tidy_locks)

typedef enum hf_query {
#define HF_X(name) HF_QUERY_##name,
    HF_QUERIES(HF_X)
#undef HF_X
        HF_N_QUERIES
} hf_query;

/* `client` is our own id, bound as ?4 wherever it is asked for. */
int hf__db_open(hf_db **ret, const hf_file *file, const char *client,
                hf_time by, hf_error *err);

/* A forked copy is left as it is: see db.c. */
void hf__db_close(hf_db *db, bool forked);

/* Between the two the connection is the caller's.  HF_EDOWN: not by then.
 * Who leaves a long log behind moves it into the file: a sync or two. */
int hf__db_enter(hf_db *db, hf_time by, hf_error *err);
void hf__db_leave(hf_db *db);

/* The rest is called in between. */

/* The statement, ready to be bound; ?4 and ?5 are.  NULL: err says why. */
sqlite3_stmt *hf__db_query(hf_db *db, hf_query which, hf_error *err);

/* 1: a row, 0: none (any more), negative: an error; then it is reset. */
int hf__db_step(hf_db *db, sqlite3_stmt *st, hf_error *err);

/* Runs it to its end, which is where an autocommit commits.  HF_OK, or an
 * error: then nothing was done. */
int hf__db_finish(hf_db *db, sqlite3_stmt *st, hf_error *err);

/* Rows changed by the statement that ended last. */
int hf__db_changes(hf_db *db);

/* A transaction that writes.  end commits if rc is not an error, and tells
 * the error there was or came. */
int hf__db_begin(hf_db *db, hf_error *err);
int hf__db_end(hf_db *db, int rc, hf_error *err);
void hf__db_cancel(hf_db *db);
bool hf__db_writes(hf_db *db); /* inside one? */

/* The time that is written in the file, in us, and back into ours. */
int64_t hf__db_now_us(const hf_db *db);
hf_time hf__db_local(const hf_db *db, int64_t at_us);

/* Is the file that we opened still the one at its path?  Otherwise others
 * lock in another one. */
int hf__db_check_place(hf_db *db, hf_error *err);

/* The value of a pragma, as text; "" on failure. */
void hf__db_pragma(hf_db *db, const char *sql, char *buf, size_t size);

#endif
