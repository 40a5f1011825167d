/* SPDX-License-Identifier: MIT
 *
 * store.h - the embedded store as its files share it, and its statements with
 * their parameters. */
#ifndef HF_SQL_STORE_H
#define HF_SQL_STORE_H

#include "db.h"
#include "wake.h"

typedef struct hf_embedded {
    hf_backend base;
    hf_file file;
    hf_db *db;
    hf_wake *wake;
    char *where;

    /* Of whoever entered the database. */
    int64_t now;     /* us, for this verb */
    bool introduced; /* our record was written */
    hf_time tidy_at;
} hf_embedded;

/* What c->place means.  0: nothing is known. */
#define HF_PLACE_HOLDS (UINT64_C(1) << 63) /* with the row's number */

static inline bool hf__place_waits(const hf_claim *c) {
    return c->place != 0 && !(c->place & HF_PLACE_HOLDS);
}

/* The ticket that was drawn, or one before all. */
static inline int64_t hf__place_ticket(const hf_claim *c) {
    return hf__place_waits(c) ? (int64_t)c->place : 0;
}

/* Enters the database and takes the time. */
int hf__store_enter(hf_embedded *s, hf_time by, hf_error *err);
void hf__store_tick(hf_embedded *s); /* takes it anew */

/* The rest is called in between. */

/* A statement with the claim's parameters bound, ?9 being `extra`.  NULL: err
 * says why. */
sqlite3_stmt *hf__store_query(hf_embedded *s, hf_query which, const hf_claim *c,
                              int64_t extra, hf_error *err);

/* Runs one; the same about the client ?9, and about the grant in c->place. */
int hf__store_run(hf_embedded *s, hf_query which, const hf_claim *c,
                  int64_t extra, hf_error *err);
int hf__store_run_on_client(hf_embedded *s, hf_query which, const hf_claim *c,
                            const char *client, hf_error *err);
int hf__store_run_on_grant(hf_embedded *s, hf_query which, const hf_claim *c,
                           hf_error *err);
void hf__store_bind_grant(sqlite3_stmt *st, const hf_claim *c);

/* The first row of one: 1, 0 (there is none), or an error. */
int hf__store_ask_number(hf_embedded *s, hf_query which, const hf_claim *c,
                         int64_t extra, int64_t *ret, hf_error *err);
int hf__store_ask_peer(hf_embedded *s, hf_query which, const hf_claim *c,
                       int64_t extra, hf_peer *ret, hf_error *err);

/* Every statement about clients begins with the same four columns. */
void hf__store_read_peer(sqlite3_stmt *st, hf_peer *ret);
void hf__store_copy_text(sqlite3_stmt *st, int column, char *buf, size_t size);

#endif
