/* SPDX-License-Identifier: MIT
 *
 * database.h - what the databases that keep lines in tables differ in:
 * PostgreSQL and MariaDB.
 *
 * The verbs of a store (tables.c) are written once, over this port.  A database
 * knows connections, its dialect, its errors, and how one client tells another
 * something; it knows no claim, no line and no rule of admission.
 *
 * What is asked of it is a *script*: statements in its dialect, sent together
 * and answered together, one round trip.  Statements are templates by name
 * (postgres.sql, mariadb.sql), whose parameters the core writes in as numbers
 * and as literals of bytes; a text of a user's never stands in a script as
 * such.  Times are microseconds since 1970 by the database's clock, taken when
 * a statement runs and not when its transaction began.
 *
 * Every call may come from many threads at once, and returns by `by`.  err is
 * never NULL. */
#ifndef HF_TABLES_DATABASE_H
#define HF_TABLES_DATABASE_H

#include "../../../include/holdfast/backend.h"

typedef struct hf_database hf_database;
typedef struct hf_session hf_session; /* one connection, lent to one thread */

/* Beside HF_OK, HF_BUSY and errors: what the core can cure by itself. */
enum {
    HF_DB_AGAIN = 2,    /* nothing was done: a deadlock's victim, a failed
                         serialization, a lock that was not had in time…    */
    HF_DB_NO_TABLES = 3 /* nothing was done: a table of ours is not there   */
};

/* ---- answers ----------------------------------------------------------- */

/* Rows of one statement.  A cell is text, NULL where the database has NULL;
 * bytes are in hexadecimal because the statement asks for them so. */
typedef struct hf_rows {
    char **cells; /* n * columns, row by row */
    size_t n;
    int columns;
    int64_t changed; /* rows that it wrote */
} hf_rows;

/* Of all statements of a script, in their order.  Those of a kind that answers
 * nothing (BEGIN, SET, COMMIT) have an entry, too. */
typedef struct hf_answers {
    hf_rows *all;
    size_t n;
} hf_answers;

void hf__answers_clear(hf_answers *a);

/* ---- the statements ---------------------------------------------------- */

/* The sections of postgres.sql and mariadb.sql; statements.h has the list of
 * names and what their parameters mean.  Templates end without a semicolon. */
typedef const char *const *hf_texts;

/* ---- the database ------------------------------------------------------ */

/* What the database calls, from a thread of its own. */
typedef struct hf_database_host {
    const hf_host *host; /* identity, timeouts */

    /* Somebody told this client something, by the statement `tell`. */
    void (*told)(void *store, const char *note);

    /* Notes may have been lost: whoever waits looks again. */
    void (*missed)(void *store);

    void *store;
} hf_database_host;

typedef struct hf_database_ops {
    hf_texts texts;

    /* Of ShedLock's table (shedlock.h), and of locks that belong to a session
     * (session.h); NULL: there are none. */
    hf_texts shedlock, session;

    /* Writes a literal of these bytes, 0-terminated; the length.  There is room
     * for 2 * n + 16. */
    size_t (*literal)(char *to, const void *bytes, size_t n);

    /* Connects once, so that a wrong address is known.  Makes no tables.
     * `host` lives longer than the database. */
    int (*open)(hf_database **ret, const hf_uri *uri,
                const hf_database_host *host, hf_time by, hf_error *err);

    /* When it has returned, nothing of `host` is called any more.  `forked` as
     * in backend.h. */
    void (*close)(hf_database *d, bool forked);
    const char *(*where)(const hf_database *d);

    /* A connection out of few, made anew where one was lost: READ COMMITTED,
     * able to write, the session's zone out of the way.  HF_EDOWN, HF_EAUTH,
     * HF_ECROWDED, HF_EREAD_ONLY, HF_ESTARTING, HF_ETLS… tell why there is
     * none; none free by then is HF_ECROWDED. */
    int (*borrow)(hf_session **ret, hf_database *d, hf_time by, hf_error *err);

    /* Whoever has an open transaction, or was not answered, gives it back with
     * ruined set: it is closed, which ends the transaction. */
    void (*give_back)(hf_session *s, bool ruined);

    /* One round trip.  HF_OK: every statement was done.  On anything else the
     * first that failed ended it, and an open transaction is to be rolled back
     * (or the session given back as ruined); what HF_DB_AGAIN and
     * HF_DB_NO_TABLES say holds for scripts that are one statement or one
     * transaction.  HF_EDOUBT: it left, and no answer came by then or the
     * connection broke; the caller knows whether that matters. */
    int (*ask)(hf_session *s, const char *script, hf_answers *ret, hf_time by,
               hf_error *err);

    /* Is the session to be asked by calls?  It may prepare what d->prepare says,
     * now, when it was asked often enough for that to pay; not where somebody
     * else may be lent it in between.  NULL: never. */
    bool (*calls)(hf_session *s, hf_time by);

    /* What poll(2) finds readable when the server ends the session, for whoever
     * keeps it borrowed; -1: not known. */
    int (*descriptor)(const hf_session *s);

    /* So many claims of this client wait now, and before the foremost of them
     * stand so many; 0 waiting: nobody, and it may rest.  Does not block. */
    void (*attend)(hf_database *d, size_t waiting, int ahead);

    /* Does a note arrive by itself at once?  Otherwise the waiters must look
     * again and again. */
    bool (*hears)(const hf_database *d);

    int (*examine)(hf_database *d, hf_fact_fn *fn, void *arg, hf_time by,
                   hf_error *err);
    int (*rights)(hf_database *d, const char *prefix, hf_rule_fn *fn, void *arg,
                  hf_time by, hf_error *err);
} hf_database_ops;

struct hf_database {
    const hf_database_ops *ops;

    /* Written before every table's name ({s}): a quoted schema and a dot; NULL:
     * nothing. */
    const char *schema;

    /* A script that prepares the statements that are asked often, and what
     * their names have in common.  NULL: the dialect knows no such thing. */
    const char *prepare;
    uint64_t key;
};

#endif
