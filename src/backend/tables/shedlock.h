/* SPDX-License-Identifier: MIT
 *
 * shedlock.h - ShedLock's table as a store: hf_compat=shedlock.
 *
 * One row a name, (name, lock_until, locked_at, locked_by), and a column of our
 * own behind them, hf_token.  Held is what has its lock_until ahead of the
 * database's clock, in UTC; who holds is in locked_by.  Rows are never deleted:
 * a process of Java's that has seen one only updates it from then on.
 *
 * The statements are the sections of shedlock.sql, in each dialect.  A section
 * may be several with semicolons in between; then the last one answers.  {x} is
 * a parameter:
 *   {t}      the table, as it is written in a statement
 *   {table}  bytes: its name; {schema}: bytes, "" where none is given
 *   {name}   bytes: of the lock
 *   {me}     bytes: locked_by of this very grant
 *   {whose}  bytes: whom to free by force, "" for anybody
 *   {lease}  us
 *   {zone}   MariaDB: the session's, as an expression
 *   {now}    the section of that name
 *
 * first   in front of every script; may be empty
 * find    One row: the table is there, its lock_until can be used, it has our
 *         column, two names that differ in bytes differ in it; each 1 or 0
 * make    the table as ShedLock's own pages have it, with our column, and with
 *         names that are told apart by their bytes
 * extend  adds our column
 * take    Takes what is over, or what is held by this very grant, which keeps
 *         its token.  Answers one row: ours (1 or 0), the token, us until it
 *         ends
 * renew   ours (1 or 0); no row: there is none
 * free    rows: 1 if it was held; keep: free after the lease, whatever its
 *         owner still does, and 1 also when it is asked again
 * force   rows: 1 if it was held.  Nobody's unlock finds the row afterwards
 * token   the last one of the name; no row: none
 * list    name, locked_by (both in hexadecimal), us left, us since, token; of
 *         what is held, by name; list_one: of one name */
#ifndef HF_TABLES_SHEDLOCK_H
#define HF_TABLES_SHEDLOCK_H

#include "database.h"

#define HF_SHED_STATEMENTS(X)                                                  \
    X(now)                                                                     \
    X(first)                                                                   \
    X(find)                                                                    \
    X(make)                                                                    \
    X(extend)                                                                  \
    X(take)                                                                    \
    X(renew)                                                                   \
    X(free)                                                                    \
    X(keep)                                                                    \
    X(force)                                                                   \
    X(token)                                                                   \
    X(list)                                                                    \
    X(list_one)

typedef enum hf_shed_sql {
#define HF_X(name) HF_SHED_##name,
    HF_SHED_STATEMENTS(HF_X)
#undef HF_X
        HF_N_SHED
} hf_shed_sql;

/* For hf_database_ops, in a file that has the dialect's texts:
 *   static const char *const shedlock[] = HF_SHED_TEXTS; */
#define HF_SHED_TEXT(name) [HF_SHED_##name] = hf_shedlock_##name,
#define HF_SHED_TEXTS                                                          \
    { HF_SHED_STATEMENTS(HF_SHED_TEXT) }

/* As the open of a backend, for an address with hf_compat=shedlock. */
int hf__shedlock_open(hf_backend **ret, const hf_database_ops *ops,
                      const hf_uri *uri, const hf_host *host, hf_time by,
                      hf_error *err);

#endif
