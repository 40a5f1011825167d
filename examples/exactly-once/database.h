/* SPDX-License-Identifier: MIT
 *
 * database.h - as much of a database as the example needs, so that it runs with
 * PostgreSQL and, where there is none, with SQLite.  What differs between them
 * about the guard is `begin` and `pass`. */
#ifndef EXAMPLES_DATABASE_H
#define EXAMPLES_DATABASE_H

#include <stdint.h>

typedef enum db_answer {
    DB_OK,
    DB_REFUSED, /* by the guard: a newer token has been seen */
    DB_FAILED
} db_answer;

typedef struct db db;

typedef struct db_sort {
    const char *name;  /* as hf_guard_text knows it                        */
    const char *begin; /* a transaction                                    */
    const char *pass;  /* the guard; the resource is $1, the token $2      */
    const char *make_room, *clear_up; /* for the tables, and of them       */

    /* `where`: PostgreSQL's conninfo, SQLite's file.  NULL: said why. */
    db *(*open)(const char *where);
    void (*close)(db *d); /* NULL is allowed */

    /* One statement with two parameters, or NULL for those it has not; the
     * first number of the answer goes to *cell, which may be NULL. */
    db_answer (*ask)(db *d, const char *sql, const char *const values[2],
                     int64_t *cell);
    db_answer (*script)(db *d, const char *sql); /* many, none with a $ */
    const char *(*said)(db *d);                  /* the last trouble    */
} db_sort;

extern const db_sort db_postgres, db_sqlite;

#endif
