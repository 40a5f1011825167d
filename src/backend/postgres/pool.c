/* SPDX-License-Identifier: MIT
 *
 * pool.c - a few connections, lent to one thread at a time.
 *
 * They are made when they are needed.  The one given back last is lent first,
 * so that those that were needed in a rush fall idle, and idle ones are closed
 * after a while, all but one.  Where the server takes no more connections, we
 * make do with those we have. */
#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../log.h"
#include "../../world.h"
#include "postgres.h"
#include "trouble.h"

enum {
    IDLE_MS = 30000,
    PATIENCE = 16 /* questions, before it pays to prepare statements */
};

/* ---- idle ones --------------------------------------------------------- */

/* An idle connection is silent.  If it is not, it was ended, or nearly always
 * so; and to know that before a request leaves spares the doubt about it. */
static bool is_alive(const hf_session *s) {
    struct pollfd p = {.fd = PQsocket(s->conn), .events = POLLIN};

    return PQstatus(s->conn) == CONNECTION_OK && p.fd >= 0 &&
           hf__world->poll(&p, 1, hf__now()) == 0;
}

/* Takes its connection out; it is closed outside the mutex. */
static PGconn *strip(hf_postgres *pg, hf_session *s) {
    PGconn *conn = s->conn;

    s->conn = NULL;
    s->lent = false;
    pg->open--;
    pthread_cond_signal(&pg->freed);
    return conn;
}

/* The one used last; NULL: none is idle. */
static hf_session *find_idle(hf_postgres *pg) {
    hf_session *best = NULL;

    for (int i = 0; i < HF_PG_SESSIONS; i++) {
        hf_session *s = &pg->sessions[i];
        if (s->conn && !s->lent && (!best || s->used > best->used))
            best = s;
    }
    return best;
}

/* One that was not used for long, while there is another. */
static PGconn *take_stale(hf_postgres *pg) {
    hf_session *best = find_idle(pg);

    for (int i = 0; i < HF_PG_SESSIONS; i++) {
        hf_session *s = &pg->sessions[i];
        if (s != best && s->conn && !s->lent &&
            s->used < hf__now() - IDLE_MS * HF_MS)
            return strip(pg, s);
    }
    return NULL;
}

/* ---- lending ----------------------------------------------------------- */

static hf_session *find_empty(hf_postgres *pg) {
    for (int i = 0; i < HF_PG_SESSIONS; i++)
        if (!pg->sessions[i].conn && !pg->sessions[i].lent)
            return &pg->sessions[i];
    return NULL;
}

/* Called and returns with mu held, and lets go of it meanwhile. */
static int fill(hf_postgres *pg, hf_session *s, hf_time by, hf_error *err) {
    hf_pg_greeting greeting = {0};
    PGconn *conn = NULL;
    int host = pg->good, rc;
    unsigned epoch = pg->epoch;

    s->lent = true;
    pg->open++;
    pthread_mutex_unlock(&pg->mu);
    rc = hf__pg_link_open(&conn, pg->info, &host, pg->name_of_schema, &greeting,
                          by, err);
    if (rc == HF_OK)
        hf__log_connected(pg->host->host, PQhost(conn));
    else
        hf__log_unreached(pg->host->host, &pg->pace, pg->where, err);
    pthread_mutex_lock(&pg->mu);
    if (rc != HF_OK) {
        s->lent = false;
        pg->open--;
        pthread_cond_signal(&pg->freed);
        return rc;
    }
    s->conn = conn;
    s->committed = greeting.committed;
    s->lacks_schema = greeting.lacks_schema;
    s->direct = !greeting.pooled && greeting.version >= 120000;
    s->prepared = false;
    s->asked = 0;
    s->epoch = epoch;
    pg->good = host;
    pg->greeting = greeting;
    return HF_OK;
}

/* Room grows again, so that a server that was crowded once is not taken for
 * small for ever. */
static int fill_or_make_do(hf_session **ret, hf_postgres *pg, hf_session *s,
                           hf_time by, hf_error *err) {
    int rc = fill(pg, s, by, err);

    if (rc == HF_OK) {
        if (pg->room < HF_PG_SESSIONS && pg->open >= pg->room)
            pg->room = pg->open + 1;
        *ret = s;
        return HF_OK;
    }
    if (rc != HF_ECROWDED || pg->open == 0)
        return rc;
    pg->room = pg->open;
    return HF_BUSY;
}

/* HF_BUSY: none yet, look again.  With mu held. */
static int borrow_one(hf_session **ret, hf_postgres *pg, hf_time by,
                      hf_error *err) {
    hf_session *s;

    while ((s = find_idle(pg)) != NULL) {
        PGconn *gone;

        if (s->epoch == pg->epoch && is_alive(s)) {
            s->lent = true;
            *ret = s;
            return HF_OK;
        }
        gone = strip(pg, s);
        pthread_mutex_unlock(&pg->mu);
        hf__log_broke(pg->host->host, PQhost(gone),
                      "the server ended it while it was idle");
        PQfinish(gone);
        pthread_mutex_lock(&pg->mu);
    }
    s = pg->open < pg->room ? find_empty(pg) : NULL;
    if (s)
        return fill_or_make_do(ret, pg, s, by, err);
    if (hf__world->wait(&pg->freed, &pg->mu, by) == 0 || hf__now() < by)
        return HF_BUSY;
    return hf__fail(err, HF_ECROWDED,
                    "all %d connections to the database are in use", pg->open);
}

int hf__pg_pool_borrow(hf_session **ret, hf_postgres *pg, hf_time by,
                       hf_error *err) {
    int rc;

    pthread_mutex_lock(&pg->mu);
    do
        rc = borrow_one(ret, pg, by, err);
    while (rc == HF_BUSY);
    pthread_mutex_unlock(&pg->mu);
    return rc;
}

void hf__pg_pool_give_back(hf_session *s, bool ruined) {
    hf_postgres *pg = s->pg;
    PGconn *gone[2] = {NULL, NULL};

    if (PQstatus(s->conn) != CONNECTION_OK ||
        PQtransactionStatus(s->conn) != PQTRANS_IDLE)
        ruined = true;
    if (PQstatus(s->conn) != CONNECTION_OK)
        hf__log_broke(pg->host->host, PQhost(s->conn), "it broke in use");
    pthread_mutex_lock(&pg->mu);
    if (ruined || s->epoch != pg->epoch) {
        gone[0] = strip(pg, s);
    } else {
        s->used = hf__now();
        s->lent = false;
        pthread_cond_signal(&pg->freed);
    }
    gone[1] = take_stale(pg);
    pthread_mutex_unlock(&pg->mu);
    for (int i = 0; i < 2; i++)
        PQfinish(gone[i]);
}

/* ---- asking ------------------------------------------------------------ */

/* The primary of a moment ago: everybody looks for the new one. */
static void turned_read_only(hf_session *s) {
    hf_postgres *pg = s->pg;

    pthread_mutex_lock(&pg->mu);
    if (s->epoch == pg->epoch) {
        pg->epoch++;
        pg->good = (pg->good + 1) % hf__pg_conninfo_hosts(pg->info);
    }
    pthread_mutex_unlock(&pg->mu);
}

static void drop_row(hf_answers *a, size_t i) {
    hf_answers one = {.all = hf__malloc(sizeof *one.all), .n = 1};

    if (one.all) {
        one.all[0] = a->all[i];
        hf__answers_clear(&one);
    }
    memmove(&a->all[i], &a->all[i + 1], (a->n - i - 1) * sizeof *a->all);
    a->n--;
}

/* What is not a transaction yet becomes one of the isolation that our
 * statements are written for, where the database is set to another. */
static int ask_committed(hf_session *s, const char *script, hf_answers *ret,
                         hf_time by, hf_error *err) {
    static const char begin[] = "BEGIN ISOLATION LEVEL READ COMMITTED;";
    size_t size = sizeof begin + strlen(script) + sizeof ";COMMIT";
    char *whole = hf__malloc(size);
    hf_answers none = {0};
    hf_error unheard;
    int rc;

    if (!whole)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    stpcpy(stpcpy(stpcpy(whole, begin), script), ";COMMIT");
    rc = hf__pg_link_ask(s->conn, whole, ret, by, err);
    hf__free(whole);
    if (rc == HF_OK && ret->n >= 2) {
        drop_row(ret, ret->n - 1);
        drop_row(ret, 0);
    }
    if (PQtransactionStatus(s->conn) == PQTRANS_INERROR &&
        hf__pg_link_ask(s->conn, "ROLLBACK", &none, by, &unheard) == HF_OK)
        hf__answers_clear(&none);
    return rc;
}

static int ask(hf_session *s, const char *script, hf_answers *ret, hf_time by,
               hf_error *err) {
    if (!s->committed && strncmp(script, "BEGIN", 5) != 0 &&
        PQtransactionStatus(s->conn) == PQTRANS_IDLE)
        return ask_committed(s, script, ret, by, err);
    return hf__pg_link_ask(s->conn, script, ret, by, err);
}

/* Only for whoever makes the tables. */
static int make_schema(hf_session *s, hf_time by, hf_error *err) {
    char script[128];
    hf_answers none = {0};
    int rc;

    snprintf(script, sizeof script, "CREATE SCHEMA IF NOT EXISTS \"%s\"",
             s->pg->name_of_schema);
    rc = hf__pg_link_ask(s->conn, script, &none, by, err);
    hf__answers_clear(&none);
    return rc == HF_DB_AGAIN ? HF_OK : rc; /* somebody else made it */
}

int hf__pg_pool_ask(hf_session *s, const char *script, hf_answers *ret,
                    hf_time by, hf_error *err) {
    int rc = HF_OK;

    *ret = (hf_answers){0};
    if (s->lacks_schema && strstr(script, "CREATE TABLE"))
        rc = make_schema(s, by, err);
    if (rc == HF_OK)
        rc = ask(s, script, ret, by, err);
    if (rc == HF_EREAD_ONLY)
        turned_read_only(s);
    if (rc == HF_PG_FORGOTTEN) {
        rc = err->code = s->prepared ? HF_DB_AGAIN : HF_ESTORE;
        s->prepared = s->direct = false;
    }
    return rc;
}

/* Whoever asks a few questions and leaves need not pay for it.  What cannot be
 * prepared is asked in full for ever: PREPARE is not undone with the rest. */
bool hf__pg_pool_calls(hf_session *s, hf_time by) {
    hf_answers none = {0};
    hf_error unheard;

    if (s->prepared || !s->direct || s->asked++ < PATIENCE ||
        PQtransactionStatus(s->conn) != PQTRANS_IDLE)
        return s->prepared;
    s->prepared = s->direct = hf__pg_link_ask(s->conn, s->pg->db.prepare, &none,
                                              by, &unheard) == HF_OK;
    hf__answers_clear(&none);
    return s->prepared;
}

/* ---- the end ----------------------------------------------------------- */

void hf__pg_pool_close(hf_postgres *pg, bool forked) {
    for (int i = 0; i < HF_PG_SESSIONS; i++) {
        if (!pg->sessions[i].conn)
            continue;
        if (forked)
            hf__pg_link_abandon(pg->sessions[i].conn);
        else
            PQfinish(pg->sessions[i].conn);
        pg->sessions[i].conn = NULL;
    }
}
