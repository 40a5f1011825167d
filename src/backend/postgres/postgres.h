/* SPDX-License-Identifier: MIT
 *
 * postgres.h - the port to PostgreSQL, from the inside.
 *
 *     postgres   the table of the port, open and close
 *     pool       a few connections, lent to whoever asks
 *     link       one connection: made, asked, and never waited for beyond `by`
 *     ear        the connection that listens, and its thread
 *     conninfo   the address; trouble: what an error means
 *     examine    what this server promises; rights: what a user needs there
 *
 * libpq is used without blocking, but for what it does of its own accord when
 * a connection begins: it asks for the addresses of a host, and reads service
 * and password files.
 *
 * Nothing depends on the state of a session, so that a pooler may stand
 * between.  Where none does, a session that is asked often has its statements
 * prepared.  Only the ear needs a session of its own, and finds out whether it
 * has one. */
#ifndef HF_POSTGRES_H
#define HF_POSTGRES_H

#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>

#include "../../log.h"
#include "../tables/database.h"
#include "conninfo.h"

enum { HF_PG_SESSIONS = 8, HF_PG_SCHEMA_MAX = 63 };

typedef struct hf_postgres hf_postgres;
typedef struct hf_pg_ear hf_pg_ear;

/* ---- link.c ------------------------------------------------------------ */

/* What a connection says of itself when it is made. */
typedef struct hf_pg_greeting {
    int version;       /* 150018 */
    bool committed;    /* transactions are READ COMMITTED by themselves   */
    bool pooled;       /* somebody stands between us and the server       */
    bool lacks_schema; /* hf_schema names none that is there              */
} hf_pg_greeting;

/* Connects, to the first host of `info` from *host on that can write; *host
 * is then its number. */
int hf__pg_link_open(PGconn **ret, const hf_conninfo *info, int *host,
                     const char *schema, hf_pg_greeting *greeting, hf_time by,
                     hf_error *err);

/* One round trip; as `ask` of database.h. */
int hf__pg_link_ask(PGconn *conn, const char *script, hf_answers *ret,
                    hf_time by, hf_error *err);

/* Without a word to the server, after a fork: the descriptor only. */
void hf__pg_link_abandon(PGconn *conn);

/* ---- pool.c ------------------------------------------------------------ */

struct hf_session {
    hf_postgres *pg;
    PGconn *conn;                 /* whoever is lent the session, else mu */
    bool lent;                    /* mu */
    bool committed, lacks_schema; /* see hf_pg_greeting */
    bool direct;                  /* what it prepares stays its own */
    bool prepared;                /* database.h: calls */
    int asked;                    /* so often, before that */
    unsigned epoch;               /* of when it was made */
    hf_time used;                 /* mu: given back then */
};

int hf__pg_pool_borrow(hf_session **ret, hf_postgres *pg, hf_time by,
                       hf_error *err);
void hf__pg_pool_give_back(hf_session *s, bool ruined);
bool hf__pg_pool_calls(hf_session *s, hf_time by);
int hf__pg_pool_ask(hf_session *s, const char *script, hf_answers *ret,
                    hf_time by, hf_error *err);
void hf__pg_pool_close(hf_postgres *pg, bool forked);

/* ---- ear.c ------------------------------------------------------------- */

int hf__pg_ear_open(hf_pg_ear **ret, hf_postgres *pg, hf_error *err);
void hf__pg_ear_close(hf_pg_ear *ear, bool forked); /* NULL is allowed */
void hf__pg_ear_attend(hf_pg_ear *ear, size_t waiting);
bool hf__pg_ear_hears(const hf_pg_ear *ear);

/* Lets it listen, and waits until it does or is known not to: then `why` says
 * why, in words. */
bool hf__pg_ear_try(hf_pg_ear *ear, char *why, size_t size, hf_time by);

/* ---- the whole --------------------------------------------------------- */

struct hf_postgres {
    hf_database db;
    const hf_database_host *host;
    hf_conninfo *info;   /* of the pool */
    hf_conninfo *listen; /* of the ear, perhaps the same; NULL: none      */
    char *where;
    char name_of_schema[HF_PG_SCHEMA_MAX + 1]; /* "": as search_path says */
    char schema[HF_PG_SCHEMA_MAX + 4];         /* quoted, and a dot       */
    char channel[40];                          /* on which we are told    */

    pthread_mutex_t mu;
    pthread_cond_t freed;                /* a session, or room for one */
    hf_session sessions[HF_PG_SESSIONS]; /* mu */
    int open;                /* mu: made or being made                      */
    int room;                /* mu: the server bore no more than so many    */
    hf_pace pace;            /* of entries that it cannot be reached */
    int good;                /* mu: the number of the host that was last good */
    unsigned epoch;          /* mu: grows when the server turned read-only  */
    hf_pg_greeting greeting; /* mu: of the newest connection                */
    hf_pg_ear *ear;
};

static inline hf_postgres *hf__postgres_of(hf_database *d) {
    return (hf_postgres *)d;
}

int hf__postgres_examine(hf_database *d, hf_fact_fn *fn, void *arg, hf_time by,
                         hf_error *err);
int hf__postgres_rights(hf_database *d, const char *prefix, hf_rule_fn *fn,
                        void *arg, hf_time by, hf_error *err);

extern const hf_database_ops hf__postgres_database;

#endif
