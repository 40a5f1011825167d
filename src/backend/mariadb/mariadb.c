/* SPDX-License-Identifier: MIT
 *
 * mariadb.c - the port to MariaDB and MySQL. */
#include "mariadb.h"

#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../tables/session.h"
#include "../tables/shedlock.h"
#include "../tables/statements.h"
#include "mariadb.gen.h"

static const char *const texts[] = HF_SQL_TEXTS(mariadb);
static const char *const shedlock[] = HF_SHED_TEXTS;
static const char *const session[] = HF_TIED_TEXTS;

static size_t literal(char *to, const void *bytes, size_t n) {
    static const char digits[] = "0123456789abcdef";
    const unsigned char *from = bytes;
    char *at = stpcpy(to, "x'");

    for (size_t i = 0; i < n; i++) {
        *at++ = digits[from[i] >> 4];
        *at++ = digits[from[i] & 15];
    }
    at = stpcpy(at, "'");
    return (size_t)(at - to);
}

/* ---- open and close ---------------------------------------------------- */

static void free_all(hf_maria *m) {
    hf__maria_ear_free(m->ear, false);
    hf__maria_close_all(m, false);
    hf__maria_address_clear(&m->at);
    pthread_mutex_destroy(&m->mu);
    pthread_cond_destroy(&m->freed);
    hf__free(m);
}

static int connect_once(hf_maria *m, hf_time by, hf_error *err) {
    hf_session *s;
    int rc = hf__maria_borrow(&s, m, by, err);

    if (rc == HF_OK)
        hf__maria_give_back(s, false);
    return rc;
}

static int open_database(hf_database **ret, const hf_uri *uri,
                         const hf_database_host *host, hf_time by,
                         hf_error *err) {
    hf_maria *m = hf__calloc(1, sizeof *m);
    int rc;

    if (!m)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    m->db.ops = &hf__mariadb_database;
    m->host = host;
    m->room = HF_MARIADB_SESSIONS;
    pthread_mutex_init(&m->mu, NULL);
    pthread_cond_init(&m->freed, NULL);
    rc = hf__maria_address_read(&m->at, uri, err);
    if (rc == HF_OK)
        rc = hf__maria_ear_new(&m->ear, m, err);
    if (rc == HF_OK)
        rc = connect_once(m, by, err);
    if (rc == HF_OK)
        *ret = &m->db;
    else
        free_all(m);
    return rc;
}

static void close_database(hf_database *d, bool forked) {
    hf_maria *m = hf__maria_of(d);

    if (!forked) {
        free_all(m);
        return;
    }
    hf__maria_ear_free(m->ear, true);
    hf__maria_close_all(m, true);
}

/* ---- small verbs ------------------------------------------------------- */

static const char *where(const hf_database *d) {
    return ((const hf_maria *)d)->at.where;
}

static int borrow(hf_session **ret, hf_database *d, hf_time by, hf_error *err) {
    return hf__maria_borrow(ret, hf__maria_of(d), by, err);
}

static void attend(hf_database *d, size_t waiting, int ahead) {
    hf__maria_ear_attend(hf__maria_of(d)->ear, waiting, ahead);
}

static bool hears(const hf_database *d) {
    return hf__maria_ear_hears(((const hf_maria *)d)->ear);
}

const hf_database_ops hf__mariadb_database = {
    .texts = texts,
    .shedlock = shedlock,
    .session = session,
    .literal = literal,
    .open = open_database,
    .close = close_database,
    .where = where,
    .borrow = borrow,
    .give_back = hf__maria_give_back,
    .ask = hf__maria_ask,
    .descriptor = hf__maria_descriptor,
    .attend = attend,
    .hears = hears,
    .examine = hf__maria_examine,
    .rights = hf__maria_rights,
};
