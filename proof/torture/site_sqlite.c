/* SPDX-License-Identifier: MIT
 *
 * site_sqlite.c - the embedded store: no server, but somebody else who has the
 * file. */
#include "site.h"

#include "support/dir.h"

#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>

static char file[256];

static void start(site *s) {
    char dir[200];
    hf_test_fresh_path(dir, sizeof dir, "sqlite");
    mkdir(dir, 0700);
    snprintf(file, sizeof file, "%s/locks.db", dir);
    snprintf(s->uri, sizeof s->uri, "sqlite:%s", file);
    snprintf(s->plain, sizeof s->plain, "sqlite:%s", file);
}

static void close_ours(site *s) {
    sqlite3_close(s->sqlite);
    s->sqlite = NULL;
}

/* It is ours while the fault lasts only: whoever has the file open delays what
 * SQLite does when the last one closes it. */
static void say(site *s, const char *sql) {
    if (s->sqlite == NULL) {
        sqlite3 *db = NULL;
        sqlite3_open(file, &db);
        sqlite3_busy_timeout(db, 2000);
        s->sqlite = db;
    }
    sqlite3_exec(s->sqlite, sql, NULL, NULL, NULL);
}

/* Nobody else can write. */
static void occupy(site *s, chance *c) {
    (void)c;
    say(s, "BEGIN IMMEDIATE");
}

static void leave(site *s) {
    say(s, "ROLLBACK");
    close_ours(s);
}

/* The log cannot be cut short while somebody reads an old state. */
static void read_on(site *s, chance *c) {
    (void)c;
    say(s, "BEGIN");
    say(s, "SELECT count(*) FROM hf_lock");
}

static void checkpoint(site *s, chance *c) {
    (void)c;
    say(s, "PRAGMA wal_checkpoint(TRUNCATE)");
}

static void checkpoint_end(site *s) {
    close_ours(s);
}

static int count(sqlite3 *db, const char *sql) {
    sqlite3_stmt *stmt = NULL;
    int n = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        n = sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return n;
}

/* What belongs to nobody any more is swept out now and then. */
static int left(site *s, char *what, size_t size) {
    say(s, "PRAGMA busy_timeout=2000");
    int waits = count(s->sqlite, "SELECT count(*) FROM hf_wait WHERE client IN "
                                 "(SELECT client FROM hf_client)");
    close_ours(s);
    if (waits > 0)
        snprintf(what, size, " %d rows in hf_wait", waits);
    return waits;
}

static void stop(site *s) {
    close_ours(s);
}

static const char *missing(void) {
    return NULL;
}

static const fault faults[] = {
    {.name = "busy", .begin = occupy, .end = leave, .least = 20, .most = 1500},
    {.name = "reader",
     .begin = read_on,
     .end = leave,
     .least = 100,
     .most = 1500},
    {.name = "checkpoint",
     .begin = checkpoint,
     .end = checkpoint_end,
     .least = 5,
     .most = 100},
    {.name = NULL},
};

const store store_sqlite = {
    .name = "sqlite",
    .missing = missing,
    .start = start,
    .stop = stop,
    .left = left,
    .faults = faults,
    .lease_ms = 1500,
    .timeout_ms = 500,
};
