/* SPDX-License-Identifier: MIT
 *
 * postgres.c - the port to PostgreSQL. */
#include "postgres.h"

#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../tables/session.h"
#include "../tables/shedlock.h"
#include "../tables/statements.h"
#include "postgres.gen.h"

static const char *const texts[] = HF_SQL_TEXTS(postgres);
static const char *const shedlock[] = HF_SHED_TEXTS;
static const char *const session[] = HF_TIED_TEXTS;

/* ---- texts ------------------------------------------------------------- */

/* E'…' means the same whatever standard_conforming_strings is set to. */
static size_t literal(char *to, const void *bytes, size_t n) {
    static const char digits[] = "0123456789abcdef";
    const unsigned char *from = bytes;
    char *at = stpcpy(to, "E'\\\\x");

    for (size_t i = 0; i < n; i++) {
        *at++ = digits[from[i] >> 4];
        *at++ = digits[from[i] & 15];
    }
    at = stpcpy(at, "'::bytea");
    return (size_t)(at - to);
}

/* A schema is quoted in every statement; what would need escaping is refused,
 * and so is what would be cut. */
static int set_schema(hf_postgres *pg, const char *name, hf_error *err) {
    static const char good[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";

    if (!name)
        return HF_OK;
    if (!*name || strlen(name) > HF_PG_SCHEMA_MAX ||
        strspn(name, good) != strlen(name))
        return hf__fail(err, HF_EURI,
                        "hf_schema is not the name of a schema: write at most "
                        "%d letters, digits and _",
                        HF_PG_SCHEMA_MAX);
    snprintf(pg->name_of_schema, sizeof pg->name_of_schema, "%s", name);
    snprintf(pg->schema, sizeof pg->schema, "\"%s\".", name);
    pg->db.schema = pg->schema;
    return HF_OK;
}

static void set_channel(hf_postgres *pg) {
    char *at = stpcpy(pg->channel, "hf_");
    const char *id = pg->host->host->identity.client;

    for (; *id; id++)
        if (*id != '-')
            *at++ = *id;
    *at = '\0';
}

static int set_listen(hf_postgres *pg, const char *text, hf_error *err) {
    if (text && strcmp(text, "none") == 0)
        return HF_OK;
    if (text)
        return hf__pg_conninfo_beside(&pg->listen, pg->info, text, err);
    pg->listen = pg->info;
    return HF_OK;
}

/* ---- open and close ---------------------------------------------------- */

static void free_all(hf_postgres *pg) {
    hf__pg_ear_close(pg->ear, false);
    hf__pg_pool_close(pg, false);
    if (pg->listen != pg->info)
        hf__pg_conninfo_free(pg->listen);
    hf__pg_conninfo_free(pg->info);
    pthread_mutex_destroy(&pg->mu);
    pthread_cond_destroy(&pg->freed);
    hf__free(pg->where);
    hf__free(pg);
}

static int read_address(hf_postgres *pg, const hf_uri *uri, hf_error *err) {
    int rc = hf__pg_conninfo_of(&pg->info, uri, err);

    if (rc == HF_OK)
        rc = set_schema(pg, hf_uri_get(uri, "hf_schema"), err);
    if (rc == HF_OK)
        rc = set_listen(pg, hf_uri_get(uri, "hf_listen"), err);
    return rc;
}

static int connect_once(hf_postgres *pg, hf_time by, hf_error *err) {
    hf_session *s;
    int rc = hf__pg_pool_borrow(&s, pg, by, err);

    if (rc != HF_OK)
        return rc;
    pg->where = hf__pg_conninfo_where(pg->info, s->conn);
    hf__pg_pool_give_back(s, false);
    return pg->where ? HF_OK : hf__fail_plain(err, HF_ENO_MEMORY);
}

static int open_database(hf_database **ret, const hf_uri *uri,
                         const hf_database_host *host, hf_time by,
                         hf_error *err) {
    hf_postgres *pg = hf__calloc(1, sizeof *pg);
    int rc;

    if (!pg)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    pg->db.ops = &hf__postgres_database;
    pg->host = host;
    pg->room = HF_PG_SESSIONS;
    for (int i = 0; i < HF_PG_SESSIONS; i++)
        pg->sessions[i].pg = pg;
    pthread_mutex_init(&pg->mu, NULL);
    pthread_cond_init(&pg->freed, NULL);
    set_channel(pg);
    rc = read_address(pg, uri, err);
    if (rc == HF_OK)
        rc = hf__pg_ear_open(&pg->ear, pg, err);
    if (rc == HF_OK)
        rc = connect_once(pg, by, err);
    if (rc == HF_OK)
        *ret = &pg->db;
    else
        free_all(pg);
    return rc;
}

static void close_database(hf_database *d, bool forked) {
    hf_postgres *pg = hf__postgres_of(d);

    if (!forked) {
        free_all(pg);
        return;
    }
    hf__pg_ear_close(pg->ear, true);
    hf__pg_pool_close(pg, true);
}

/* ---- small verbs ------------------------------------------------------- */

static const char *where(const hf_database *d) {
    return ((const hf_postgres *)d)->where;
}

static int borrow(hf_session **ret, hf_database *d, hf_time by, hf_error *err) {
    return hf__pg_pool_borrow(ret, hf__postgres_of(d), by, err);
}

static int descriptor(const hf_session *s) {
    return PQsocket(s->conn);
}

static void attend(hf_database *d, size_t waiting, int ahead) {
    (void)ahead;
    hf__pg_ear_attend(hf__postgres_of(d)->ear, waiting);
}

static bool hears(const hf_database *d) {
    return hf__pg_ear_hears(((const hf_postgres *)d)->ear);
}

const hf_database_ops hf__postgres_database = {
    .texts = texts,
    .shedlock = shedlock,
    .session = session,
    .literal = literal,
    .open = open_database,
    .close = close_database,
    .where = where,
    .borrow = borrow,
    .give_back = hf__pg_pool_give_back,
    .ask = hf__pg_pool_ask,
    .calls = hf__pg_pool_calls,
    .descriptor = descriptor,
    .attend = attend,
    .hears = hears,
    .examine = hf__postgres_examine,
    .rights = hf__postgres_rights,
};
