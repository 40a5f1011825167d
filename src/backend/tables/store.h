/* SPDX-License-Identifier: MIT
 *
 * store.h - a store of tables as its files share it. */
#ifndef HF_TABLES_STORE_H
#define HF_TABLES_STORE_H

#include <stdatomic.h>
#include <string.h>

#include "../../claim.h"
#include "../../world.h"
#include "script.h"
#include "tables.h"

enum { HF_ID = 16 }; /* bytes of a client's id */

/* Somebody of this client who waits for a note, in a chain. */
typedef struct hf_ear {
    struct hf_ear *next;
    hf_kind kind;
    uint64_t owner;
    int ahead; /* so many stand before it; as far as is known */
    char name[];
} hf_ear;

enum { HF_EARS = 256, HF_AHEAD = 4 };

typedef struct hf_tables {
    hf_backend base;
    hf_database_host ears_of; /* lent to the database */
    hf_database *db;
    char *prepare;               /* the database's */
    unsigned char client[HF_ID]; /* our own id */

    pthread_mutex_t mu;
    hf_ear *ears[HF_EARS];      /* mu: by name */
    size_t attending[HF_AHEAD]; /* mu: how many with so many ahead */
    hf_time tidy_at;            /* mu */
    bool announced;             /* mu */
    atomic_bool plain;          /* the tables have no place for `doing` */
} hf_tables;

/* The line that a kind stands in. */
static inline hf_kind hf__tables_line_of(hf_kind kind) {
    return kind == HF_FAIR || kind == HF_SPIN ? HF_LOCK : hf_line_kind(kind);
}

/* Has its line one holder at most, in the row of the line? */
static inline bool hf__tables_is_lock(hf_kind kind) {
    return hf__tables_line_of(kind) == HF_LOCK;
}

/* See hf_entry.fifo. */
static inline bool hf__tables_is_fifo(const hf_claim *c) {
    return c->kind == HF_LOCK || c->kind == HF_FAIR ||
           (hf__tables_line_of(c->kind) == HF_WRITE && c->writers_first);
}

/* Does a grant of it end by itself?  Then it can be given unasked. */
static inline bool hf__tables_is_leased(hf_kind kind) {
    return kind != HF_SEMAPHORE && kind != HF_LATCH;
}

/* What c->place means.  0: nothing is known; a ticket; or that it holds, and
 * whether others waited when it was granted: then they will when it is given
 * back, and it is not tried to do so by one statement. */
#define HF_PLACE_HOLDS   (UINT64_C(1) << 63)
#define HF_PLACE_CROWDED UINT64_C(1)

static inline uint64_t hf__place_holding(bool crowded) {
    return HF_PLACE_HOLDS | (crowded ? HF_PLACE_CROWDED : 0);
}

static inline bool hf__place_crowded(const hf_claim *c) {
    return (c->place & HF_PLACE_HOLDS) && (c->place & HF_PLACE_CROWDED);
}

static inline bool hf__place_waits(const hf_claim *c) {
    return c->place != 0 && !(c->place & HF_PLACE_HOLDS);
}

#define HF_US_OF_MS INT64_C(1000)

/* Of those who wait for a lock only the first are looked at: one of them will
 * be the next. */
enum { HF_FIRST = 8 };

#define HF_REMEMBERED_US INT64_C(60000000) /* longer than anybody asks again */

/* Does the dialect have that statement?  Some are only a shorter way. */
bool hf__tables_knows(const hf_tables *t, hf_sql which);

/* The parameters that every statement about a claim has. */
void hf__tables_params(hf_params *p, const hf_tables *t, const hf_claim *c);

/* ---- asking ------------------------------------------------------------ */

/* One script on that session. */
int hf__tables_say(hf_tables *t, hf_session *session, const hf_script *s,
                   hf_answers *ret, hf_time by, hf_error *err);

/* One script on any session, again while that is of use: after a deadlock, and
 * after the tables were made.  HF_EDOUBT: it may have been done. */
int hf__tables_ask(hf_tables *t, const hf_script *s, hf_answers *ret,
                   hf_time by, hf_error *err);

/* Gives a session back after a script that came to rc. */
void hf__tables_give_back(hf_tables *t, hf_session *session, int rc);

/* After HF_DB_AGAIN or HF_DB_NO_TABLES: HF_OK, it is worth another try, or
 * what has become of it.  *tries is 0 at first. */
int hf__tables_cure(hf_tables *t, int rc, int *tries, hf_time by,
                    hf_error *err);

/* A cell as a number; 0 where there is none. */
int64_t hf__tables_number(const hf_rows *rows, size_t row, int column);

/* A cell's bytes, at most `size`; how many they are. */
size_t hf__tables_bytes(const hf_rows *rows, size_t row, int column, void *to,
                        size_t size);

/* Text in hexadecimal as bytes, up to the first that is none. */
size_t hf__tables_unhex(const char *text, void *to, size_t size);

/* ---- ears.c ------------------------------------------------------------ */

int hf__tables_listen(hf_tables *t, const hf_claim *c);
void hf__tables_unlisten(hf_tables *t, const hf_claim *c);

/* It was refused with so many before it. */
void hf__tables_refused(hf_tables *t, const hf_claim *c, int ahead);

/* Writes a note that tells its client to ask again; the length. */
enum { HF_NOTE_MAX = 600 };
size_t hf__tables_write_note(char *to, hf_kind asked, uint64_t owner,
                             const char *name);

/* What the database calls. */
void hf__tables_told(void *store, const char *note);
void hf__tables_missed(void *store);

void hf__tables_free_ears(hf_tables *t);

/* ---- release.c, numbers.c, list.c, layout.c, clients.c ---------------------------- */

/* What its owner is called, in lists and by operators. */
void hf__tables_owner(const unsigned char client[HF_ID], hf_kind asked,
                      uint64_t owner, const unsigned char nonce[16], char *buf,
                      size_t size);

int hf__tables_undo(hf_tables *t, hf_claim *c, hf_time by, hf_error *err);

/* Makes the tables.  Called when one was missing. */
int hf__tables_make(hf_tables *t, hf_time by, hf_error *err);

/* Makes them where there are none; HF_OK also if that is not allowed. */
int hf__tables_check_layout(hf_tables *t, hf_time by, hf_error *err);

void hf__tables_take_leave(hf_tables *t);

#endif
