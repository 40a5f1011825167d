/* SPDX-License-Identifier: MIT
 *
 * trouble.c - errors are told apart by SQLSTATE, never by words: those come in
 * the language that the server was set to.
 *
 * libpq keeps no SQLSTATE of a connection that failed.  But it writes it into
 * its message when asked to be verbose, "FATAL:  28P01: password …", and that
 * is asked of every connection.  What has none was said by libpq itself. */
#include "trouble.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../../err.h"
#include "../tables/database.h"

enum { WORDS = 120 };

typedef struct trouble {
    const char *state; /* or its first two letters: a class */
    int code;
    const char *text; /* NULL: the database's own words */
} trouble;

/* The first that fits. */
static const trouble at_the_door[] = {
    {"28", HF_EAUTH, NULL},         {"3D000", HF_EURI, NULL},
    {"42501", HF_EFORBIDDEN, NULL}, /* no CONNECT on the database */
    {"53300", HF_ECROWDED, NULL},   {"57P03", HF_ESTARTING, NULL},
    {"57P01", HF_ESTARTING, NULL},  {"57P02", HF_ESTARTING, NULL},
    {"08P01", HF_EDOWN, NULL}, /* how a pooler says many things */
    {"08", HF_EDOWN, NULL},         {"58", HF_EDOWN, NULL},
    {NULL, HF_EDOWN, NULL},
};

/* 25P03 and 25P04: the session was ended while it was idle in a transaction,
 * which is gone, before it heard this script. */
static const trouble inside[] = {
    {"40003", HF_EDOUBT, NULL},
    {"40", HF_DB_AGAIN, "the database chose this transaction as a victim"},
    {"55P03", HF_DB_AGAIN, "a lock inside the database was not had in time"},
    {"25P03", HF_DB_AGAIN, "the database ended a transaction that was idle"},
    {"25P04", HF_DB_AGAIN, "the database ended a transaction of ours"},
    {"23505", HF_DB_AGAIN, "somebody else made the row first"},
    {"42P07", HF_DB_AGAIN, "somebody else made the table first"},
    {"42P01", HF_DB_NO_TABLES, "a table of holdfast is missing"},
    {"42703", HF_DB_NO_TABLES, "a column of holdfast's tables is missing"},
    {"3F000", HF_DB_NO_TABLES, "the schema of holdfast's tables is missing"},
    {"26000", HF_PG_FORGOTTEN, "the session lost its prepared statements"},
    {"0A000", HF_PG_FORGOTTEN, "a table of holdfast was changed"},
    {"25006", HF_EREAD_ONLY, NULL},
    {"42501", HF_EFORBIDDEN, NULL},
    {"53100", HF_EFULL, NULL},
    {"53300", HF_ECROWDED, NULL},
    {"57014", HF_EDOWN,
     "the database ended the statement before it was done: see "
     "statement_timeout"},
    {"57P05", HF_DB_AGAIN, "the database ended a session that was idle"},
    {"57P", HF_EDOUBT, NULL},
    {"08", HF_EDOUBT, NULL},
    {NULL, HF_ESTORE, NULL},
};

static const trouble *find(const trouble *all, const char *state) {
    for (; all->state; all++)
        if (strncmp(all->state, state, strlen(all->state)) == 0)
            return all;
    return all;
}

/* ---- at the door ------------------------------------------------------- */

/* The SQLSTATE in "… FATAL:  28P01: password …"; where its words begin. */
static const char *find_state(const char *text, char state[6]) {
    for (const char *at = text; (at = strstr(at, ":  ")) != NULL; at++) {
        const char *s = at + 3;
        int n = 0;

        while (n < 5 &&
               (isdigit((unsigned char)s[n]) || (s[n] >= 'A' && s[n] <= 'Z')))
            n++;
        if (n < 5 || s[5] != ':')
            continue;
        memcpy(state, s, 5);
        state[5] = '\0';
        return s + 6 + strspn(s + 6, " ");
    }
    return NULL;
}

/* libpq's own words, in the language of the program; these stay. */
static int by_words(const PGconn *conn, const char *text) {
    if (PQconnectionNeedsPassword(conn))
        return HF_EAUTH;
    if (strstr(text, "read-only") || strstr(text, "hot standby"))
        return HF_EREAD_ONLY;
    if (strstr(text, "SSL") || strstr(text, "certificate") ||
        strstr(text, "GSSAPI"))
        return HF_ETLS;
    return HF_EDOWN;
}

static const char *hint(int code) {
    switch (code) {
    case HF_EAUTH:
        return " (PGPASSFILE, ~/.pgpass or PGPASSWORD can have the password)";
    case HF_ECROWDED:
        return " (raise max_connections, or put a pooler before it)";
    default:
        return "";
    }
}

int hf__pg_trouble_connecting(const PGconn *conn, hf_error *err) {
    char state[6] = "";
    const char *text = PQerrorMessage(conn);
    const char *words = find_state(text, state), *host = PQhost(conn);
    int code = words ? find(at_the_door, state)->code : by_words(conn, text);

    if (!words) { /* "connection to server at … failed: Connection refused" */
        words = strstr(text, " failed: ");
        words = words ? words + strlen(" failed: ") : text;
    }
    return hf__fail(err, code, "%.60s%s%s: %.*s%s", host ? host : "",
                    host && *host != '/' ? ":" : "",
                    host && *host != '/' ? PQport(conn) : "",
                    (int)strcspn(words, "\n"), words, hint(code));
}

/* ---- inside ------------------------------------------------------------ */

static const char *field(const PGresult *result, int code) {
    const char *text = PQresultErrorField(result, code);

    return text ? text : "";
}

/* "permission denied for table hf_line" names it; libpq has no field for it
 * in this one error. */
static int forbidden(const PGresult *result, const PGconn *conn,
                     hf_error *err) {
    return hf__fail(err, HF_EFORBIDDEN,
                    "%.*s: let its owner run what `holdfast doctor --acl` "
                    "prints, for %.60s",
                    WORDS, field(result, PG_DIAG_MESSAGE_PRIMARY),
                    PQuser(conn));
}

int hf__pg_trouble_asking(const PGresult *result, const PGconn *conn,
                          hf_error *err) {
    const char *state = field(result, PG_DIAG_SQLSTATE);
    const char *words = field(result, PG_DIAG_MESSAGE_PRIMARY);
    const trouble *t = find(inside, state);

    if (!*state) /* libpq's: the connection broke */
        return hf__fail(err, HF_EDOUBT, "the connection broke: %.*s",
                        (int)strcspn(PQerrorMessage(conn), "\n"),
                        PQerrorMessage(conn));
    if (t->code == HF_EFORBIDDEN)
        return forbidden(result, conn, err);
    if (t->text)
        return hf__fail(err, t->code, "%s (%s)", t->text, state);
    return hf__fail(err, t->code, "%.*s (%s)", WORDS, words, state);
}
