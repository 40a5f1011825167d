/* SPDX-License-Identifier: MIT
 *
 * list.c - who holds, who waits, and how much is left.
 *
 * All names are looked at page by page, so that neither a writer nor the memory
 * has to bear with many; the lines in a page are whole.  Rows are copied first,
 * because whoever is told of them is told outside of the database.  The dead are
 * left out, buried or not. */
#include "list.h"

#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "line.h"

typedef struct place {
    struct place *next;
    hf_place of;
    hf_kind line;
    char *texts[5];
    char owner[64];
} place;

enum { PAGE = 500 }; /* rows of a table, most of which may be of free names */

/* Columns of the statement; the first four are the client's. */
enum {
    OWNER = 4,
    TOKEN,
    NAME,
    KIND,
    RANK,
    UNTIL,
    SINCE,
    KEPT,
    ASKED,
    PERMITS,
    NONCE,
    NUMBER,
    HOST
};

enum { IS_NUMBER, HOLDS }; /* ranks; the last is to wait */

static void free_places(place *first) {
    while (first != NULL) {
        place *gone = first;
        first = gone->next;
        for (int i = 0; i < 5; i++)
            sqlite3_free(gone->texts[i]);
        hf__free(gone);
    }
}

/* Name, host, program, user, why. */
static bool copy_texts(sqlite3_stmt *st, place *ret) {
    static const int columns[] = {NAME, HOST, HOST + 1, HOST + 2, HOST + 3};
    bool ok = true;

    for (int i = 0; i < 5; i++) {
        const char *text = (const char *)sqlite3_column_text(st, columns[i]);
        ret->texts[i] = sqlite3_mprintf("%s", text != NULL ? text : "");
        ok = ok && ret->texts[i] != NULL;
    }
    ret->of.name = ret->texts[0];
    ret->of.host = ret->texts[1];
    ret->of.program = ret->texts[2];
    ret->of.user = ret->texts[3];
    ret->of.why = ret->texts[4];
    return ok;
}

static void read_owner(sqlite3_stmt *st, const hf_peer *peer, hf_kind asked,
                       place *ret) {
    const void *nonce = sqlite3_column_blob(st, NONCE);

    hf__sqlite_line_owner(
        peer, asked, (uint64_t)sqlite3_column_int64(st, OWNER), nonce,
        (size_t)sqlite3_column_bytes(st, NONCE), ret->owner, sizeof ret->owner);
}

static bool read_place(const hf_embedded *s, sqlite3_stmt *st,
                       const hf_peer *peer, place *ret) {
    static const char *const words[HF_KINDS] = {
        [HF_LOCK] = "lock",     [HF_SIMPLE] = "simple",
        [HF_FAIR] = "fair",     [HF_SPIN] = "lock",
        [HF_READ] = "read",     [HF_WRITE] = "write",
        [HF_PERMIT] = "permit", [HF_SEMAPHORE] = "semaphore",
        [HF_LATCH] = "latch",
    };
    unsigned asked = (unsigned)sqlite3_column_int(st, ASKED) % HF_KINDS;
    int rank = sqlite3_column_int(st, RANK);
    int64_t left = sqlite3_column_int64(st, UNTIL) - s->now;
    bool ends = rank <= HOLDS && sqlite3_column_type(st, UNTIL) != SQLITE_NULL;

    ret->line = (hf_kind)sqlite3_column_int(st, KIND);
    ret->of.kind = words[asked];
    ret->of.owner = ret->owner;
    ret->of.holds = rank == HOLDS;
    ret->of.token = (uint64_t)sqlite3_column_int64(st, TOKEN);
    ret->of.lease_ms = ends ? (left + 999) / 1000 : -1;
    ret->of.since_ms = -1;
    ret->of.count = sqlite3_column_int64(st, NUMBER);
    if (asked == HF_PERMIT)
        ret->of.permits = sqlite3_column_int(st, PERMITS);
    if (rank != IS_NUMBER) {
        ret->of.since_ms = (s->now - sqlite3_column_int64(st, SINCE)) / 1000;
        ret->of.pid = peer->pid;
        read_owner(st, peer, (hf_kind)asked, ret);
    }
    return copy_texts(st, ret);
}

/* Who takes permits or waits for a latch has no place that anybody would see:
 * it stands in nobody's way. */
static bool is_shown(const hf_embedded *s, sqlite3_stmt *st,
                     const hf_peer *peer) {
    int asked = sqlite3_column_int(st, ASKED);
    int rank = sqlite3_column_int(st, RANK);

    if (rank == IS_NUMBER)
        return true;
    if (rank > HOLDS && (asked == HF_SEMAPHORE || asked == HF_LATCH))
        return false;
    return sqlite3_column_int(st, KEPT) != 0 || hf__wake_lives(s->wake, peer);
}

/* A number is told without what is leased out of it. */
static void deduct(place *number, const place *hold) {
    if (number != NULL && number->line == hold->line && hold->of.holds &&
        strcmp(number->of.name, hold->of.name) == 0)
        number->of.count -= hold->of.permits;
}

static int read_places(hf_embedded *s, sqlite3_stmt *st, place **ret,
                       hf_error *err) {
    place **end = ret, *number = NULL;
    hf_peer peer;
    int rc;

    while ((rc = hf__db_step(s->db, st, err)) > 0) {
        hf__store_read_peer(st, &peer);
        if (!is_shown(s, st, &peer))
            continue;
        *end = hf__calloc(1, sizeof **end);
        if (*end == NULL || !read_place(s, st, &peer, *end)) {
            sqlite3_reset(st);
            return hf__fail_plain(err, HF_ENO_MEMORY);
        }
        if (sqlite3_column_int(st, RANK) == IS_NUMBER)
            number = *end;
        deduct(number, *end);
        end = &(*end)->next;
    }
    return rc;
}

/* Where the page that begins with `from` ends: a text, or NULL for the end of
 * all.  sqlite3_free() it. */
static int find_end(hf_embedded *s, const hf_claim *from, char **ret,
                    hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, HF_QUERY_page, from, PAGE, err);
    int rc = st == NULL ? err->code : hf__db_step(s->db, st, err);
    const char *text;

    if (rc <= 0)
        return rc;
    text = (const char *)sqlite3_column_text(st, 0);
    *ret = text != NULL ? sqlite3_mprintf("%s", text) : NULL;
    rc = text != NULL && *ret == NULL ? hf__fail_plain(err, HF_ENO_MEMORY) :
                                        HF_OK;
    sqlite3_reset(st);
    return rc;
}

/* The lines from one name to another.  NULL: to the last; blobs sort behind
 * every text. */
static int read_lines(hf_embedded *s, const hf_claim *from, const char *to,
                      place **ret, hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, HF_QUERY_list, from, 0, err);

    if (st == NULL)
        return err->code;
    if (to != NULL)
        sqlite3_bind_text(st, 9, to, -1, SQLITE_TRANSIENT);
    else
        sqlite3_bind_zeroblob(st, 9, 0);
    return read_places(s, st, ret, err);
}

/* *to is the name to end with; NULL: the end of the page, which it becomes. */
static int list_page(hf_embedded *s, const char *name, char **to,
                     hf_place_fn *fn, void *arg, hf_time by, hf_error *err) {
    const hf_claim from = {.name = name};
    bool whole = *to == NULL;
    place *first = NULL;
    int rc = hf__store_enter(s, by, err);

    if (rc != HF_OK)
        return rc;
    if (whole)
        rc = find_end(s, &from, to, err);
    if (rc == HF_OK)
        rc = read_lines(s, &from, *to, &first, err);
    hf__db_leave(s->db);
    for (place *p = first; rc == HF_OK && p != NULL; p = p->next)
        fn(arg, &p->of);
    free_places(first);
    return rc;
}

/* The next page begins behind the last name, which no control character
 * continues. */
static int list_all(hf_embedded *s, hf_place_fn *fn, void *arg, hf_time by,
                    hf_error *err) {
    char *from = sqlite3_mprintf(""), *to;
    int rc = from != NULL ? HF_OK : hf__fail_plain(err, HF_ENO_MEMORY);

    while (rc == HF_OK && from != NULL) {
        to = NULL;
        rc = list_page(s, from, &to, fn, arg, by, err);
        by = hf__after_ms(s->base.host->timeout_ms);
        sqlite3_free(from);
        from = to != NULL ? sqlite3_mprintf("%s\001", to) : NULL;
        if (to != NULL && from == NULL)
            rc = hf__fail_plain(err, HF_ENO_MEMORY);
        sqlite3_free(to);
    }
    sqlite3_free(from);
    return rc;
}

int hf__list(hf_embedded *s, const char *name, hf_place_fn *fn, void *arg,
             hf_time by, hf_error *err) {
    char *to = NULL;
    int rc;

    if (name == NULL)
        return list_all(s, fn, arg, by, err);
    to = sqlite3_mprintf("%s", name);
    if (to == NULL)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    rc = list_page(s, name, &to, fn, arg, by, err);
    sqlite3_free(to);
    return rc;
}
