/* SPDX-License-Identifier: MIT
 *
 * store.h - the embedded store as its files share it, and its statements with
 * their parameters. */
#ifndef HF_SQLITE_STORE_H
#define HF_SQLITE_STORE_H

#include "../../claim.h"
#include "db.h"
#include "wake.h"

typedef struct hf_view hf_view; /* view.h */

typedef struct hf_embedded {
    hf_backend base;
    hf_file file;
    hf_db *db;
    hf_wake *wake;
    char *where;

    /* Of whoever entered the database. */
    int64_t now;      /* us, for this verb */
    bool introduced;  /* our record was written… */
    bool introducing; /* …in the transaction that is under way */
    hf_time tidy_at;
    hf_view *view;
} hf_embedded;

/* The line that a kind stands in. */
static inline hf_kind hf__sqlite_line_of(hf_kind kind) {
    return kind == HF_FAIR || kind == HF_SPIN ? HF_LOCK : hf_line_kind(kind);
}

/* Has its line one holder at most, in the row of the name? */
static inline bool hf__is_alone(const hf_claim *c) {
    return hf__sqlite_line_of(c->kind) == HF_LOCK;
}

/* See hf_entry.fifo. */
static inline bool hf__keeps_to_the_line(const hf_claim *c) {
    return c->kind == HF_LOCK || c->kind == HF_FAIR ||
           (hf__sqlite_line_of(c->kind) == HF_WRITE && c->writers_first);
}

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

/* The rest is called in between. */

/* A transaction that writes; the time is taken anew, for we may have waited.
 * end commits if rc is not an error, and tells the error there was or came. */
int hf__store_begin(hf_embedded *s, hf_error *err);
int hf__store_end(hf_embedded *s, int rc, hf_error *err);

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

/* ?10 to ?13: what is asked for. */
void hf__store_bind_asked(sqlite3_stmt *st, const hf_claim *c);

/* Ends the grant in c->place: 1, 0 (there is none), or an error. */
int hf__store_free(hf_embedded *s, hf_query which, const hf_claim *c,
                   bool *waited_for, hf_error *err);

/* The next token of the line. */
int hf__store_raise(hf_embedded *s, const hf_claim *c, uint64_t *ret,
                    hf_error *err);

/* The number in the first row: 1, 0 (there is none), or an error. */
int hf__store_tell_number(hf_embedded *s, sqlite3_stmt *st, int64_t *ret,
                          hf_error *err);

/* The first row of one: 1, 0 (there is none), or an error. */
int hf__store_ask_number(hf_embedded *s, hf_query which, const hf_claim *c,
                         int64_t extra, int64_t *ret, hf_error *err);
int hf__store_ask_peer(hf_embedded *s, hf_query which, const hf_claim *c,
                       int64_t extra, hf_peer *ret, hf_error *err);

/* Every statement about clients begins with the same four columns. */
void hf__store_read_peer(sqlite3_stmt *st, hf_peer *ret);
void hf__store_copy_text(sqlite3_stmt *st, int column, char *buf, size_t size);

#endif
