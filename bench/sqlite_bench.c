/* SPDX-License-Identifier: MIT
 *
 * sqlite_bench.c - what the embedded store costs beside its own database.
 *
 * A pair is taking a free lock and giving it back.  It is measured through
 * the library, and as a bare loop over the sqlite3 interface with the same
 * two statements in a file of the same making: what remains is our price.
 * The two take turns in a shuffled order, so that a noisy machine hits both;
 * the medians are compared. */
#include <fcntl.h>
#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <holdfast.h>

#include "figures.h"

enum { REPEATS = 5, PAIRS = 20000, WARM_UP = 500 };

#define GOAL 0.7

static const char take_sql[] =
    "INSERT INTO lock (name, kind, owner, client, boot, until, since, kept,"
    "                  token, asked)"
    "SELECT ?2, ?1, ?3, ?4, ?5, ?7, ?6, 0, ?8, ?10"
    " WHERE NOT EXISTS (SELECT 1 FROM wait WHERE name = ?2 AND kind = ?1)"
    "    ON CONFLICT (name, kind) DO UPDATE"
    "   SET owner = excluded.owner, client = excluded.client,"
    "       boot = excluded.boot, until = excluded.until,"
    "       since = excluded.since, kept = 0, asked = excluded.asked,"
    "       token = max(token + 1, excluded.token)"
    " WHERE until <= ?6 OR boot <> ?5 "
    "RETURNING token, id";

static const char free_sql[] =
    "UPDATE lock SET until = ?6"
    " WHERE id = coalesce(?9, (SELECT id FROM lock"
    "                           WHERE name = ?2 AND kind = ?1))"
    "   AND owner = ?3 AND client = ?4 AND until > ?6 AND boot = ?5"
    "   AND NOT kept "
    "RETURNING EXISTS (SELECT 1 FROM wait WHERE name = ?2 AND kind = ?1)";

static const char tables_sql[] =
    "PRAGMA page_size = 1024;"
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = NORMAL;"
    "CREATE TABLE lock (id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
    "    kind INTEGER NOT NULL, owner INTEGER NOT NULL, client TEXT NOT NULL,"
    "    boot INTEGER NOT NULL, until INTEGER NOT NULL,"
    "    since INTEGER NOT NULL, kept INTEGER NOT NULL,"
    "    token INTEGER NOT NULL, asked INTEGER NOT NULL,"
    "    UNIQUE (name, kind));"
    "CREATE TABLE wait (name TEXT, kind INTEGER, ticket INTEGER, client TEXT,"
    "    PRIMARY KEY (name, kind, ticket)) WITHOUT ROWID;";

static const char client_id[] = "00000000-0000-4000-8000-000000000000";

static void die(const char *what, const char *why) {
    fprintf(stderr, "sqlite_bench: %s: %s\n", what, why);
    exit(1);
}

/* ---- bare -------------------------------------------------------------- */

typedef struct bare {
    sqlite3 *db;
    sqlite3_stmt *take, *free;
    int64_t owner, row;
} bare;

static void bare_open(bare *b, const char *path) {
    memset(b, 0, sizeof *b);
    if (sqlite3_open(path, &b->db) != SQLITE_OK ||
        sqlite3_exec(b->db, tables_sql, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(b->db, take_sql, -1, &b->take, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(b->db, free_sql, -1, &b->free, NULL) != SQLITE_OK)
        die(path, sqlite3_errmsg(b->db));
}

static void bare_close(bare *b) {
    sqlite3_finalize(b->take);
    sqlite3_finalize(b->free);
    sqlite3_close(b->db);
}

static int64_t clock_us(clockid_t clock) {
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static void bare_step(bare *b, sqlite3_stmt *st) {
    int64_t at = clock_us(CLOCK_BOOTTIME);

    sqlite3_bind_int64(st, 1, 0);
    sqlite3_bind_text(st, 2, "bench", -1, SQLITE_STATIC);
    sqlite3_bind_int64(st, 3, b->owner);
    sqlite3_bind_text(st, 4, client_id, -1, SQLITE_STATIC);
    sqlite3_bind_int64(st, 5, 1);
    sqlite3_bind_int64(st, 6, at);
    sqlite3_bind_int64(st, 7, at + 30000000);
    sqlite3_bind_int64(st, 8, clock_us(CLOCK_REALTIME));
    sqlite3_bind_int64(st, 10, 0);
    if (st == b->free)
        sqlite3_bind_int64(st, 9, b->row);
    if (sqlite3_step(st) != SQLITE_ROW)
        die("bare", sqlite3_errmsg(b->db));
    if (st == b->take)
        b->row = sqlite3_column_int64(st, 1);
    if (sqlite3_step(st) != SQLITE_DONE)
        die("bare", sqlite3_errmsg(b->db));
    sqlite3_reset(st);
}

static double bare_pairs(bare *b, int n) {
    int64_t began = now_ns();

    for (int i = 0; i < n; i++) {
        b->owner++;
        bare_step(b, b->take);
        bare_step(b, b->free);
    }
    return n * 1e9 / (double)(now_ns() - began);
}

/* ---- ours -------------------------------------------------------------- */

static double our_pairs(hf_lock *lock, int n) {
    int64_t began = now_ns();
    hf_error err;

    for (int i = 0; i < n; i++)
        if (hf_lock_acquire(lock, 0, &err) != HF_OK ||
            hf_lock_release(lock, &err) != HF_OK)
            die("ours", err.text);
    return n * 1e9 / (double)(now_ns() - began);
}

/* ---- both -------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *where) {
    (void)st, (void)type, (void)where;
    return remove(path);
}

static void measure(bare *b, hf_lock *lock, double *ours, double *bares) {
    bare_pairs(b, WARM_UP);
    our_pairs(lock, WARM_UP);
    srand((unsigned)time(NULL));
    for (int i = 0; i < REPEATS; i++) {
        bool first = rand() & 1;

        if (first)
            ours[i] = our_pairs(lock, PAIRS);
        bares[i] = bare_pairs(b, PAIRS);
        if (!first)
            ours[i] = our_pairs(lock, PAIRS);
    }
}

int main(void) {
    const char *tmp = getenv("TMPDIR");
    char folder[256], path[300], uri[320];
    double ours[REPEATS], bares[REPEATS], rate, bare_rate;
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    hf_error err;
    bare b;

    snprintf(folder, sizeof folder, "%s/hf-bench-XXXXXX",
             tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(folder) == NULL)
        die(folder, "cannot be made");
    snprintf(path, sizeof path, "%s/bare.db", folder);
    snprintf(uri, sizeof uri, "sqlite:%s/ours.db", folder);
    bare_open(&b, path);
    if (hf_open(&client, uri, NULL, &err) != HF_OK ||
        hf_lock_new(&lock, client, "bench", NULL, &err) != HF_OK)
        die(uri, err.text);
    measure(&b, lock, ours, bares);
    rate = median(ours, REPEATS);
    bare_rate = median(bares, REPEATS);
    printf("embedded store, pairs of acquire and release\n"
           "  bare sqlite3 loop  %8.0f /s\n"
           "  holdfast           %8.0f /s\n"
           "  ratio              %8.2f    goal %.2f  %s\n",
           bare_rate, rate, rate / bare_rate, GOAL,
           rate / bare_rate >= GOAL ? "ok" : "MISSED");
    hf_lock_free(lock);
    hf_close(client);
    bare_close(&b);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}
