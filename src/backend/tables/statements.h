/* SPDX-License-Identifier: MIT
 *
 * statements.h - what is asked of a database, whatever its dialect: the
 * sections of postgres.sql and mariadb.sql.
 *
 * A section is one statement, or several with semicolons in between; then the
 * last one answers.  None ends with a semicolon, and no semicolon stands
 * anywhere else: the core counts them to find its answers.
 *
 * {x} in a section is a parameter out of the list below, or another section,
 * one that is an expression; {s} stands before the names of tables, for the
 * schema they are in.
 * Bytes are answered in hexadecimal, lower case; "rows" below means that only
 * how many rows were written is looked at. */
#ifndef HF_TABLES_STATEMENTS_H
#define HF_TABLES_STATEMENTS_H

/* name    bytes   of the line, together with…
 * kind    number  …the kind of the line: LOCK for the lock, the fair and the
 *                 spinning one, WRITE for readers too, SEMAPHORE for permits too
 * client  bytes   16 of the client's id, or none where nobody is meant
 * owner   number  signed; with the client who asks
 * asked   number  the kind that was asked for
 * permits number
 * nonce   bytes   16
 * fifo    0 or 1  keeps to the line
 * lease   number  us, how long from now
 * block   number  `take`: tokens wanted, at least 1; `write`: one less
 * token   number
 * until, since    us, moments by the database's clock
 * kept    0 or 1  lasts until then whatever its owner does
 * waits   number  rows in hf_wait
 * ticket  number  of a place; `write`: the last that was given out
 * number, gone_at number or NULL
 * result, value   numbers
 * note    bytes   ASCII without quotes, at most 600
 * pid     number; host, program, login, why, doing: bytes
 * all     0 or 1  `list`: from {name} on every name, and not only to {last}
 * last    bytes   `list`: the last name that is wanted
 * limit   number  `view`: so many who wait, and the claim's own place; `clients`:
 *                 so many; `edge`: so many rows further on
 * beside  number  `hold_take`: an owner of the client's that is not seen
 * least   number  `number_add`: what must be left */
#define HF_SQL_PARAMS(X)                                                       \
    X(name)                                                                    \
    X(kind)                                                                    \
    X(client)                                                                  \
    X(owner)                                                                   \
    X(asked)                                                                   \
    X(permits)                                                                 \
    X(nonce)                                                                   \
    X(fifo)                                                                    \
    X(lease)                                                                   \
    X(block)                                                                   \
    X(token)                                                                   \
    X(until)                                                                   \
    X(since)                                                                   \
    X(kept)                                                                    \
    X(waits)                                                                   \
    X(ticket)                                                                  \
    X(number)                                                                  \
    X(gone_at)                                                                 \
    X(result)                                                                  \
    X(value)                                                                   \
    X(note)                                                                    \
    X(pid)                                                                     \
    X(host)                                                                    \
    X(program)                                                                 \
    X(login)                                                                   \
    X(why)                                                                     \
    X(doing)                                                                   \
    X(last)                                                                    \
    X(all)                                                                     \
    X(limit)                                                                   \
    X(beside)                                                                  \
    X(least)

/* now        an expression: us since 1970, at the moment it is evaluated
 * layout_1   makes what is missing of the tables, as one user at a time; the
 *            row of hf_layout last.  A script of its own
 * layout     the layout's version, or NULL; no such table: there is none
 *
 * A lock, by one statement, without a transaction around it:
 * take       Takes it if it is free and nobody waits, or is held by this very
 *            owner already, which gets a fresh lease and keeps its token.
 *            Answers one row: taken (1 or 0), token, block as stored; and if it
 *            is not taken, us until the lease ends (may be negative) and waits.
 *            No row: there is no such line yet.  The token is
 *            greatest(token + 1, now) + block - 1, computed under the row's
 *            lock.  Writes nothing if it was not free.  A row that says that
 *            this owner holds it is not enough: only who wrote it just now has
 *            the lease that was asked for
 * take_first then: makes the line, taken, with the token now + block - 1.
 *            Answers as `take`; no row: somebody else was first
 * free       rows: 1 if the owner held it and nobody waited
 *
 * Of many claims in a script, in the order of names:
 * renew      rows: 1 if the owner holds the lock
 * hold_renew rows: 1 if it holds one of the others, whose number, if it has
 *            one, is not gone
 * keep_place rows: 1 if it waits
 *
 * The turn.  First script: begin, lock_line, lock_holds, view, perhaps recall.
 * Second script: what is written, tell, commit.
 * begin      of a transaction; also limits how long it can keep others waiting
 * lock_line  makes the line's row if there is none, and locks it.  Answers one
 *            row; none: it was tidied away meanwhile
 * lock_holds locks what is held in the line
 * view       Of the line, one snapshot; also used outside a transaction.
 *            Columns: rank client owner asked permits nonce token place until
 *            since flag lease now waits ticket number gone_at.  Rank 0 is the
 *            line, always one row (waits -1: it does not exist; place is the
 *            block; flag is kept); 1 who holds (flag is kept), by token;
 *            2 who waits (place is the ticket, flag is fifo), by ticket, the
 *            first `limit`; 3 the claim's own place, once more
 * recall     result, value of the nonce; no row: never answered
 * write      the whole row of the line
 * hold       a new hold
 * hold_set   until and kept of one; found by client, owner, token
 * hold_drop  likewise
 * join       a new place; stay: its until; leave: by ticket
 * remember   an answer, in place of an earlier one of the nonce
 * forget     answers of the line that are over
 * tell       sends the note to the client, when the transaction is committed
 * hurry      The commit need not wait for the disk.  May be missing
 * commit, rollback
 *
 * One round trip for the other kinds: begin, perhaps a look, lock_line,
 * lock_holds, one of the next, commit.  A dialect may leave them empty; then it
 * takes a turn.
 * may        an expression: false if a look in this transaction found that it
 *            does not fit.  Then lock_line, lock_holds, hold_take and number_add
 *            lock and write nothing, and answer no row
 * hold_fits, number_fits  expressions over the row l of the line: what the next
 *            ones want
 * hold_look, number_look  look whether it fits, by reading only
 * hold_take  A new hold with a new token, if nobody waits, the number is not
 *            gone, the owner holds nothing yet, and: whoever asks for the
 *            line's own kind finds nobody who holds, others nobody who holds by
 *            the line's own kind, {beside} left out; and there are {permits},
 *            if those are asked for.  Answers the token; no row: it did not
 * hold_free  rows: 1 if the owner held and nobody waited.  Without lock_holds
 * number_add Adds {value} to a number that is set, unless fewer than {least}
 *            would be free, somebody waits while {value} is above zero, or the
 *            nonce was answered; remembers for {lease} that it was done.
 *            Answers how many are free; no row: it did not
 *
 * calls      What a session is set to before it prepares statements.  Empty: the
 *            dialect has no PREPARE and EXECUTE as in PostgreSQL
 *
 * Who is there:
 * announce   who this client is and what it does, for a lease; introduce: the
 *            same without what it does, for tables that have no place for it;
 *            take_leave: no more
 * clients    Who else is, by client, behind {client}: client pid host program
 *            login why doing, all but pid in hexadecimal
 * edge       a name so many rows behind {name}, in the table where that comes
 *            first, in hexadecimal; no row: there are less
 * list       Names from {name} on, with who holds, who waits, how much is left.
 *            Columns: rank
 *            name kind client owner asked permits nonce token ends age number
 *            place pid host program login why; ends and age in us from now, or
 *            NULL; by name, kind, rank, place.  Names and texts in hexadecimal
 *
 * tidy_*     what is over since {lease}; each a statement of its own */
#define HF_SQL_STATEMENTS(X)                                                   \
    X(now)                                                                     \
    X(layout_1)                                                                \
    X(layout)                                                                  \
    X(take)                                                                    \
    X(take_first)                                                              \
    X(free)                                                                    \
    X(renew)                                                                   \
    X(hold_renew)                                                              \
    X(keep_place)                                                              \
    X(begin)                                                                   \
    X(lock_line)                                                               \
    X(lock_holds)                                                              \
    X(view)                                                                    \
    X(recall)                                                                  \
    X(write)                                                                   \
    X(hold)                                                                    \
    X(hold_set)                                                                \
    X(hold_drop)                                                               \
    X(join)                                                                    \
    X(stay)                                                                    \
    X(leave)                                                                   \
    X(remember)                                                                \
    X(forget)                                                                  \
    X(tell)                                                                    \
    X(may)                                                                     \
    X(hold_fits)                                                               \
    X(hold_look)                                                               \
    X(hold_take)                                                               \
    X(hold_free)                                                               \
    X(number_fits)                                                             \
    X(number_look)                                                             \
    X(number_add)                                                              \
    X(hurry)                                                                   \
    X(commit)                                                                  \
    X(rollback)                                                                \
    X(announce)                                                                \
    X(introduce)                                                               \
    X(calls)                                                                   \
    X(take_leave)                                                              \
    X(clients)                                                                 \
    X(edge)                                                                    \
    X(list)                                                                    \
    X(tidy_clients)                                                            \
    X(tidy_answers)                                                            \
    X(tidy_waits)                                                              \
    X(tidy_holds)                                                              \
    X(tidy_lines)

typedef enum hf_sql {
#define HF_X(name) HF_SQL_##name,
    HF_SQL_STATEMENTS(HF_X)
#undef HF_X
        HF_N_SQL
} hf_sql;

typedef enum hf_sql_param {
#define HF_X(name) HF_PARAM_##name,
    HF_SQL_PARAMS(HF_X)
#undef HF_X
        HF_N_PARAMS
} hf_sql_param;

/* A dialect's texts in the order of the list, for hf_database_ops:
 *   static const char *const texts[] = HF_SQL_TEXTS(postgres) */
#define HF_SQL_TEXT_OF_postgres(name) [HF_SQL_##name] = hf_postgres_##name,
#define HF_SQL_TEXT_OF_mariadb(name)  [HF_SQL_##name] = hf_mariadb_##name,
#define HF_SQL_TEXTS(dialect)                                                  \
    { HF_SQL_STATEMENTS(HF_SQL_TEXT_OF_##dialect) }

#endif
