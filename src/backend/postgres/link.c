/* SPDX-License-Identifier: MIT
 *
 * link.c - one connection to PostgreSQL. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "postgres.h"
#include "trouble.h"

/* A host that is silent is not waited for longer than this while others are
 * left. */
enum { SHARE_MIN_MS = 200 };

static void ignore(void *arg, const PGresult *notice) {
    (void)arg, (void)notice;
}

/* Waits for the socket: 1 ready, 0 the time is over. */
static int await(const PGconn *conn, short events, hf_time by) {
    struct pollfd p = {.fd = PQsocket(conn), .events = events};
    int n;

    if (p.fd < 0)
        return 1; /* libpq will say what it is */
    do
        n = hf__world->poll(&p, 1, by);
    while (n < 0 && errno == EINTR);
    return n != 0;
}

/* ---- connecting -------------------------------------------------------- */

/* By hand, one step after the other, because PQconnectdb knows no deadline of
 * ours. */
static int shake_hands(PGconn *conn, hf_time by, hf_error *err) {
    PostgresPollingStatusType step = PGRES_POLLING_WRITING;

    if (PQstatus(conn) == CONNECTION_BAD)
        return hf__pg_trouble_connecting(conn, err);
    PQsetNoticeReceiver(conn, ignore, NULL); /* it would print them */
    PQsetErrorVerbosity(conn, PQERRORS_VERBOSE);
    while (step == PGRES_POLLING_READING || step == PGRES_POLLING_WRITING) {
        if (!await(conn, step == PGRES_POLLING_READING ? POLLIN : POLLOUT, by))
            return hf__fail(err, HF_EDOWN,
                            "no answer from %.100s port %.10s within the time "
                            "for it",
                            PQhost(conn) ? PQhost(conn) : "the server",
                            PQport(conn) ? PQport(conn) : "");
        step = PQconnectPoll(conn);
    }
    if (step != PGRES_POLLING_OK)
        return hf__pg_trouble_connecting(conn, err);
    if (PQsetnonblocking(conn, 1) != 0)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    return HF_OK;
}

static bool is(const char *cell, const char *wanted) {
    return cell && strcmp(cell, wanted) == 0;
}

/* A pooler invents the number that it calls the server's process. */
static int greet(PGconn *conn, const char *schema, hf_pg_greeting *g,
                 hf_time by, hf_error *err) {
    char script[512];
    hf_answers a = {0};
    int rc;

    snprintf(script, sizeof script,
             "SELECT current_setting('server_version_num'),"
             " current_setting('default_transaction_isolation'),"
             " pg_is_in_recovery()"
             " OR current_setting('default_transaction_read_only')::bool,"
             " pg_backend_pid(),"
             " '%s' <> '' AND NOT EXISTS (SELECT FROM pg_catalog.pg_namespace"
             " WHERE nspname = '%s')",
             schema, schema);
    rc = hf__pg_link_ask(conn, script, &a, by, err);
    if (rc == HF_EDOUBT) /* nothing that could be in doubt */
        rc = err->code = HF_EDOWN;
    if (rc == HF_OK && (a.n != 1 || a.all[0].n != 1 || a.all[0].columns != 5))
        rc = hf__fail(err, HF_ESTORE, "this is not PostgreSQL");
    if (rc == HF_OK) {
        char **cells = a.all[0].cells;

        g->version = cells[0] ? atoi(cells[0]) : 0;
        g->committed = is(cells[1], "read committed");
        g->pooled = cells[3] && atoi(cells[3]) != PQbackendPID(conn);
        g->lacks_schema = is(cells[4], "t");
        if (is(cells[2], "t"))
            rc = hf__fail(err, HF_EREAD_ONLY,
                          "%.100s is a standby, or its transactions are "
                          "read-only by default: name the primary, or all "
                          "hosts, in the address",
                          PQhost(conn) ? PQhost(conn) : "the server");
    }
    hf__answers_clear(&a);
    return rc;
}

static int open_one(PGconn **ret, const hf_conninfo *info, int i,
                    const char *schema, hf_pg_greeting *g, hf_time by,
                    hf_error *err) {
    PGconn *conn = hf__pg_conninfo_start(info, i);
    int rc;

    if (!conn)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    rc = shake_hands(conn, by, err);
    if (rc == HF_OK)
        rc = greet(conn, schema, g, by, err);
    if (rc == HF_OK)
        *ret = conn;
    else
        PQfinish(conn);
    return rc;
}

/* Each in its share of what is left.  Told is what may help most: of a host
 * that is away and one that is a standby, the standby. */
int hf__pg_link_open(PGconn **ret, const hf_conninfo *info, int *host,
                     const char *schema, hf_pg_greeting *greeting, hf_time by,
                     hf_error *err) {
    int n = hf__pg_conninfo_hosts(info), rc = HF_EDOWN;
    hf_error told = {.code = HF_EDOWN};

    for (int i = 0; i < n; i++) {
        int at = (*host + i) % n;
        hf_time now = hf__now(), until = by;

        if (i < n - 1 && by != HF_NEVER) {
            until = now + (by - now) / (n - i);
            if (until < now + SHARE_MIN_MS * HF_MS)
                until = hf__sooner(by, now + SHARE_MIN_MS * HF_MS);
        }
        rc = open_one(ret, info, at, schema, greeting, until, err);
        if (rc == HF_OK) {
            *host = at;
            return HF_OK;
        }
        if (i == 0 || told.code == HF_EDOWN)
            told = *err;
    }
    *err = told;
    return told.code;
}

void hf__pg_link_abandon(PGconn *conn) {
    if (PQsocket(conn) >= 0)
        close(PQsocket(conn));
}

/* ---- asking ------------------------------------------------------------ */

static int no_answer(hf_error *err) {
    return hf__fail(err, HF_EDOUBT,
                    "the database did not answer within the time for it");
}

static int broken(const PGconn *conn, hf_error *err) {
    const char *words = PQerrorMessage(conn);

    return hf__fail(err, HF_EDOUBT, "the connection broke: %.*s",
                    (int)strcspn(words, "\n"), words);
}

/* While bytes leave, bytes may come: who does not read may not be read. */
static int send_all(PGconn *conn, hf_time by, hf_error *err) {
    int left;

    while ((left = PQflush(conn)) == 1) {
        if (!await(conn, POLLIN | POLLOUT, by))
            return no_answer(err);
        if (!PQconsumeInput(conn))
            return broken(conn, err);
    }
    return left < 0 ? broken(conn, err) : HF_OK;
}

static int receive(PGconn *conn, hf_time by, hf_error *err) {
    while (PQisBusy(conn)) {
        if (!await(conn, POLLIN, by))
            return no_answer(err);
        if (!PQconsumeInput(conn))
            return broken(conn, err);
    }
    return HF_OK;
}

static bool copy_cells(hf_rows *to, const PGresult *r) {
    size_t n = (size_t)PQntuples(r), columns = (size_t)PQnfields(r);

    to->columns = (int)columns;
    if (!n || !columns)
        return true;
    to->cells = hf__calloc(n * columns, sizeof *to->cells);
    if (!to->cells)
        return false;
    to->n = n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < columns; j++) {
            char **cell = &to->cells[i * columns + j];

            if (PQgetisnull(r, (int)i, (int)j))
                continue;
            *cell = hf__strdup(PQgetvalue(r, (int)i, (int)j));
            if (!*cell)
                return false;
        }
    return true;
}

static int keep(hf_answers *ret, PGresult *r, hf_error *err) {
    hf_rows *all = hf__reallocarray(ret->all, ret->n + 1, sizeof *all);

    if (!all)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    ret->all = all;
    all[ret->n] = (hf_rows){.changed = atoll(PQcmdTuples(r))};
    return copy_cells(&all[ret->n++], r) ? HF_OK :
                                           hf__fail_plain(err, HF_ENO_MEMORY);
}

/* All results are read, also behind one that failed. */
static int collect(PGconn *conn, hf_answers *ret, hf_time by, hf_error *err) {
    int rc = HF_OK;

    for (;;) {
        int got = receive(conn, by, rc == HF_OK ? err : &(hf_error){0});
        PGresult *r;

        if (got != HF_OK)
            return rc == HF_OK ? got : rc;
        r = PQgetResult(conn);
        if (!r)
            return rc;
        switch (PQresultStatus(r)) {
        case PGRES_TUPLES_OK:
        case PGRES_COMMAND_OK:
        case PGRES_EMPTY_QUERY:
            if (rc == HF_OK)
                rc = keep(ret, r, err);
            break;
        default:
            if (rc == HF_OK)
                rc = hf__pg_trouble_asking(r, conn, err);
        }
        PQclear(r);
    }
}

int hf__pg_link_ask(PGconn *conn, const char *script, hf_answers *ret,
                    hf_time by, hf_error *err) {
    int rc;

    *ret = (hf_answers){0};
    if (!PQsendQuery(conn, script)) /* nothing has left */
        return hf__fail(err, HF_EDOWN, "the connection is lost: %.*s",
                        (int)strcspn(PQerrorMessage(conn), "\n"),
                        PQerrorMessage(conn));
    rc = send_all(conn, by, err);
    if (rc == HF_OK)
        rc = collect(conn, ret, by, err);
    if (rc != HF_OK)
        hf__answers_clear(ret);
    return rc;
}
