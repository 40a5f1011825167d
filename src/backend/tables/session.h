/* SPDX-License-Identifier: MIT
 *
 * session.h - locks that belong to a session of the database, and end with it:
 * hf_lease=session.
 *
 * The statements are the sections of session.sql, in each dialect.  A section
 * may be several with semicolons in between; then the last one answers.  {x} is
 * a parameter:
 *   {s}      in front of the names of tables
 *   {name}   bytes: of the lock; {key}: a number made of it, see session.c
 *   {client} bytes; {owner} number: who asks
 *   {lease}  us
 *   {idle}   seconds after which the server may end the session
 *   {id}     of another session
 *   {all}    0 or 1: every name from {name} on, and not the one; {limit}: so
 *            many at most
 *   {host}, {program}, {login}, {why} bytes, {pid} number: who this client is
 *   {now}, {lock} the sections of these names
 *
 * now     an expression: us since 1970
 * lock    an expression: what the database calls the lock
 * settle  makes the session one that may hold locks; its id
 * id      of the session
 * pin     begins a transaction; the session's id
 * take    1 or 0: it holds the lock now; its id
 * token   Once the lock is held: 1 or 0, the token, us until others may be let
 *         in.  The next token, unless the line is kept by somebody
 * free    gives the lock back: 1 or 0; keep: the same, after it was noted that
 *         nobody comes in before the lease is over
 * force   raises the token, and nobody keeps it any more
 * last    the last token, and for how long it is kept; no row: none
 * holder  id of the session that has the lock; no row: none
 * held    keys of all locks that sessions have; empty: the dialect cannot say
 * end     ends another session
 * list    lines by name: name client owner token age kept_for pid host program
 *         login why; names and texts in hexadecimal */
#ifndef HF_TABLES_SESSION_H
#define HF_TABLES_SESSION_H

#include "database.h"

#define HF_TIED_STATEMENTS(X)                                                  \
    X(now)                                                                     \
    X(lock)                                                                    \
    X(settle)                                                                  \
    X(id)                                                                      \
    X(pin)                                                                     \
    X(take)                                                                    \
    X(token)                                                                   \
    X(free)                                                                    \
    X(keep)                                                                    \
    X(force)                                                                   \
    X(last)                                                                    \
    X(holder)                                                                  \
    X(held)                                                                    \
    X(end)                                                                     \
    X(list)

typedef enum hf_tied_sql {
#define HF_X(name) HF_TIED_##name,
    HF_TIED_STATEMENTS(HF_X)
#undef HF_X
        HF_N_TIED
} hf_tied_sql;

/* For hf_database_ops, in a file that has the dialect's texts:
 *   static const char *const session[] = HF_TIED_TEXTS; */
#define HF_TIED_TEXT(name) [HF_TIED_##name] = hf_session_##name,
#define HF_TIED_TEXTS                                                          \
    { HF_TIED_STATEMENTS(HF_TIED_TEXT) }

/* As the open of a backend, for an address with hf_lease=session. */
int hf__tied_open(hf_backend **ret, const hf_database_ops *ops,
                  const hf_uri *uri, const hf_host *host, hf_time by,
                  hf_error *err);

#endif
