/* SPDX-License-Identifier: MIT
 *
 * mariadb.h - the port to MariaDB and MySQL, from the inside.
 *
 *     mariadb   the table of the port, open and close
 *     pool      a few connections, lent to whoever asks
 *     link      one connection: made, asked, and never waited for beyond `by`
 *     ear       the thread that looks into our mailbox while somebody waits
 *     address   where it is; errors: what a number means
 *     examine   what this server promises, and what a user needs there */
#ifndef HF_MARIADB_H
#define HF_MARIADB_H

#include <pthread.h>

#include "../../log.h"
#include "link.h"

enum { HF_MARIADB_SESSIONS = 8 };

typedef struct hf_maria_ear hf_maria_ear;

typedef struct hf_maria {
    hf_database db;
    const hf_database_host *host;
    hf_maria_address at;

    pthread_mutex_t mu;
    pthread_cond_t freed; /* a session, or room for one                */
    hf_session *idle;     /* mu: the last one used first               */
    hf_session *lent;     /* mu: for a forked child, which closes them */
    int open;             /* mu: made or being made                    */
    int room;             /* mu: the server bore no more than so many  */
    hf_maria_ear *ear;
    hf_pace pace; /* of entries that it cannot be reached */
} hf_maria;

static inline hf_maria *hf__maria_of(hf_database *d) {
    return (hf_maria *)d;
}

/* ---- pool.c ------------------------------------------------------------ */

int hf__maria_borrow(hf_session **ret, hf_maria *m, hf_time by, hf_error *err);
void hf__maria_give_back(hf_session *s, bool ruined);
void hf__maria_close_all(hf_maria *m, bool forked);

/* ---- ear.c ------------------------------------------------------------- */

int hf__maria_ear_new(hf_maria_ear **ret, hf_maria *m, hf_error *err);
void hf__maria_ear_free(hf_maria_ear *ear, bool forked); /* NULL is allowed */
void hf__maria_ear_attend(hf_maria_ear *ear, size_t waiting, int ahead);
bool hf__maria_ear_hears(const hf_maria_ear *ear);

/* ---- examine.c --------------------------------------------------------- */

int hf__maria_examine(hf_database *d, hf_fact_fn *fn, void *arg, hf_time by,
                      hf_error *err);
int hf__maria_rights(hf_database *d, const char *prefix, hf_rule_fn *fn,
                     void *arg, hf_time by, hf_error *err);

extern const hf_database_ops hf__mariadb_database;

#endif
