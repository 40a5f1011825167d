/* SPDX-License-Identifier: MIT
 *
 * site_sqlite.c - the embedded store: no server, but somebody else who has the
 * file. */
#include "site.h"

#include "support/dir.h"

#include <fcntl.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[200], file[256];
static bool small; /* the folder is a disk of its own, which can be filled */

/* Only we and our workers see it, and it ends with us. */
static bool mount_disk(void) {
    return unshare(CLONE_NEWNS) == 0 &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", dir, "tmpfs", 0, "size=16m,mode=700") == 0;
}

static void start(site *s) {
    hf_test_fresh_path(dir, sizeof dir, "sqlite");
    mkdir(dir, 0700);
    small = mount_disk();
    if (!small)
        printf("no disk can be mounted here: `full` does nothing\n");
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

/* To the last byte. */
static void fill(site *s, chance *c) {
    static const char page[4096];
    char path[256];
    (void)s, (void)c;
    if (!small)
        return;
    snprintf(path, sizeof path, "%s/ballast", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (fd >= 0 && write(fd, page, sizeof page) > 0)
        ;
    close(fd);
}

static void unfill(site *s) {
    char path[256];
    (void)s;
    snprintf(path, sizeof path, "%s/ballast", dir);
    unlink(path);
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
    if (small)
        umount2(dir, MNT_DETACH);
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
    {.name = "full", .begin = fill, .end = unfill, .least = 50, .most = 1500},
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
