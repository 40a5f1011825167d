/* SPDX-License-Identifier: MIT
 *
 * db.c - the connection to the embedded store.
 *
 * The log (WAL) is left in place when a client closes, so that opening and
 * closing write nothing: a command that takes a lock for a moment would
 * otherwise pay two syncs at its end.  The next to open alone reads the log
 * once through; hence it is kept short, and pages are small.
 *
 * When the file is busy we look again after some 25 to 50 us.  SQLite's own
 * handler sleeps up to 100 ms and lets one process pass another a hundred
 * times.
 *
 * Fork.  SQLite keeps its locks and descriptors per process and file, also
 * for connections that are open only in the parent.  A copied connection is
 * therefore neither used nor closed in the child, and its descriptors stay,
 * because a connection that the child opens to the same file uses them. */
#include "db.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../alloc.h"
#include "../../err.h"
#include "sqlite.gen.h"

enum {
    OURS = 0x4846 << 16, /* "HF", and behind it which layout it has */
    LAYOUT = 3,
    SPINS = 20,       /* looks before the first nap */
    PAGE_SIZE = 1024, /* each commit writes whole pages, few bytes of ours */
    LOG_LONG = 1000,  /* pages; then it is moved into the file */
    LOG_LONG_AT_CLOSE = 128 /* about what reading it costs against syncs */
};

/* From no layout to the first, from there to the second, and so on. */
static const char *const layouts[LAYOUT] = {
    hf_sqlite_layout_1, hf_sqlite_layout_2, hf_sqlite_layout_3};

static const char *const texts[] = {
#define HF_X(name) hf_sqlite_##name,
    HF_QUERIES(HF_X)
#undef HF_X
};

struct hf_db {
    sqlite3 *sqlite;
    sqlite3_stmt *queries[HF_N_QUERIES]; /* prepared at their first use */
    char *path;
    dev_t dev;
    ino_t ino;
    char client[37];
    int64_t boot;  /* names this boot: half of its random id */
    hf_time ahead; /* of the host's clock, ours is */
    int log_pages; /* in the log after our last commit */
    hf_time by;    /* the caller's deadline */

    pthread_mutex_t mu;
    pthread_cond_t left;
    bool entered; /* mu: the rest belongs to one caller */

    pid_t pid;    /* whose connection it is */
    bool adopted; /* all_mu: a copy in a child that opened the file itself */
    hf_db *next;  /* all_mu */
};

/* Every connection, in a forked child also the copies, which stay here. */
static pthread_mutex_t all_mu = PTHREAD_MUTEX_INITIALIZER;
static hf_db *all;

/* ---- errors ------------------------------------------------------------ */

static int code_of(int rc) {
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: /* too many others in the way of our reading */
        return HF_EDOWN;
    case SQLITE_FULL:
        return HF_EFULL;
    case SQLITE_READONLY:
        return HF_EREAD_ONLY;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return HF_EFORBIDDEN;
    case SQLITE_NOMEM:
        return HF_ENO_MEMORY;
    default:
        return HF_ESTORE;
    }
}

static int fail(const hf_db *db, int rc, hf_error *err) {
    int code = code_of(rc);

    if (code == HF_EDOWN)
        return hf__fail(err, code,
                        "%s: other processes kept it busy for too long",
                        db->path);
    if ((rc & 0xff) == SQLITE_NOTADB || (rc & 0xff) == SQLITE_CORRUPT)
        return hf__fail(err, code,
                        "%s is damaged or no database (%s): stop its users "
                        "and move it away",
                        db->path, sqlite3_errstr(rc));
    return hf__fail(err, code, "%s: %s", db->path,
                    db->sqlite != NULL ? sqlite3_errmsg(db->sqlite) :
                                         sqlite3_errstr(rc));
}

/* ---- waiting ----------------------------------------------------------- */

/* Called by SQLite while another process writes; 0 gives up. */
static int on_busy(void *arg, int times) {
    const hf_db *db = arg;

    if (times < SPINS) {
        sched_yield();
        return 1;
    }
    if (hf__now() >= db->by)
        return 0;
    hf__world->poll(NULL, 0, hf__now() + hf__jitter(HF_MS / 20));
    return 1;
}

static int on_commit(void *arg, sqlite3 *sqlite, const char *schema,
                     int pages) {
    hf_db *db = arg;

    (void)sqlite, (void)schema;
    db->log_pages = pages;
    return SQLITE_OK;
}

int hf__db_enter(hf_db *db, hf_time by, hf_error *err) {
    int rc = 0;

    pthread_mutex_lock(&db->mu);
    while (db->entered && rc != ETIMEDOUT)
        rc = hf__world->wait(&db->left, &db->mu, by);
    rc = db->entered ? HF_EDOWN : HF_OK;
    db->entered = true;
    pthread_mutex_unlock(&db->mu);
    if (rc != HF_OK)
        return hf__fail(err, rc,
                        "%s: other threads kept the connection busy for too "
                        "long",
                        db->path);
    db->by = by;
    return HF_OK;
}

/* Which part of the log is in the file already is known to the living only;
 * after the last of us the log would be read from its beginning, and grow.
 * So it is cut at the end, unless others are at work, who will do it. */
static void shorten_log(hf_db *db, int longer_than, int how) {
    if (db->log_pages <= longer_than)
        return;
    sqlite3_wal_checkpoint_v2(db->sqlite, NULL, how, NULL, NULL);
    db->log_pages = 0;
}

void hf__db_leave(hf_db *db) {
    shorten_log(db, LOG_LONG, SQLITE_CHECKPOINT_PASSIVE);
    pthread_mutex_lock(&db->mu);
    db->entered = false;
    pthread_cond_signal(&db->left);
    pthread_mutex_unlock(&db->mu);
}

/* ---- statements -------------------------------------------------------- */

sqlite3_stmt *hf__db_query(hf_db *db, hf_query which, hf_error *err) {
    sqlite3_stmt **st = &db->queries[which];
    int rc, n;

    if (*st != NULL)
        return *st;
    rc = sqlite3_prepare_v3(db->sqlite, texts[which], -1,
                            SQLITE_PREPARE_PERSISTENT, st, NULL);
    if (rc != SQLITE_OK) {
        fail(db, rc, err);
        return NULL;
    }
    n = sqlite3_bind_parameter_count(*st);
    if (n >= 4)
        sqlite3_bind_text(*st, 4, db->client, -1, SQLITE_STATIC);
    if (n >= 5)
        sqlite3_bind_int64(*st, 5, db->boot);
    return *st;
}

int hf__db_step(hf_db *db, sqlite3_stmt *st, hf_error *err) {
    int rc = sqlite3_step(st);

    if (rc == SQLITE_ROW)
        return 1;
    if (rc != SQLITE_DONE)
        fail(db, rc, err);
    sqlite3_reset(st);
    return rc == SQLITE_DONE ? 0 : err->code;
}

int hf__db_finish(hf_db *db, sqlite3_stmt *st, hf_error *err) {
    int rc;

    while ((rc = hf__db_step(db, st, err)) > 0)
        ;
    return rc;
}

int hf__db_changes(hf_db *db) {
    return sqlite3_changes(db->sqlite);
}

static int run(hf_db *db, const char *sql, hf_error *err) {
    int rc = sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? HF_OK : fail(db, rc, err);
}

void hf__db_pragma(hf_db *db, const char *sql, char *buf, size_t size) {
    sqlite3_stmt *st = NULL;
    const char *text = NULL;

    if (sqlite3_prepare_v2(db->sqlite, sql, -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        text = (const char *)sqlite3_column_text(st, 0);
    snprintf(buf, size, "%s", text != NULL ? text : "");
    sqlite3_finalize(st);
}

/* ---- transactions ------------------------------------------------------ */

/* Never a transaction that begins by reading: one that wants to write later
 * is told BUSY at once if anybody wrote in between. */
int hf__db_begin(hf_db *db, hf_error *err) {
    return run(db, "BEGIN IMMEDIATE", err);
}

int hf__db_end(hf_db *db, int rc, hf_error *err) {
    if (rc >= 0) {
        int ended = run(db, "COMMIT", err);
        if (ended == HF_OK)
            return rc;
        rc = ended;
    }
    hf__db_cancel(db);
    return rc;
}

bool hf__db_writes(hf_db *db) {
    return sqlite3_get_autocommit(db->sqlite) == 0;
}

void hf__db_cancel(hf_db *db) {
    if (hf__db_writes(db)) /* some errors have rolled back already */
        sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- the place --------------------------------------------------------- */

int hf__db_check_place(hf_db *db, hf_error *err) {
    struct stat st;

    if (lstat(db->path, &st) == 0 && st.st_ino == db->ino &&
        st.st_dev == db->dev)
        return HF_OK;
    return hf__fail(err, HF_ESTORE,
                    "%s was removed or replaced while it was in use: open it "
                    "anew",
                    db->path);
}

static int read_boot(hf_db *db, hf_error *err) {
    static const char path[] = "/proc/sys/kernel/random/boot_id";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[36 + 1] = "";
    unsigned parts[3];

    if (fd >= 0) {
        if (read(fd, text, sizeof text - 1) < 0)
            text[0] = '\0';
        close(fd);
    }
    if (sscanf(text, "%8x-%4x-%4x", &parts[0], &parts[1], &parts[2]) != 3)
        return hf__fail(err, HF_ESYSTEM,
                        "cannot read %s, which tells one boot from another",
                        path);
    db->boot = (int64_t)((uint64_t)parts[0] << 32 | parts[1] << 16 | parts[2]);
    return HF_OK;
}

/* Is the time namespace of our children, of which the kernel tells, our own? */
static bool knows_own_time(void) {
    char own[64], next[64];
    ssize_t n = readlink("/proc/self/ns/time", own, sizeof own);
    ssize_t m = readlink("/proc/self/ns/time_for_children", next, sizeof next);

    return n > 0 && n == m && memcmp(own, next, (size_t)n) == 0;
}

/* A container may count from another moment than its host does, and they may
 * share the file: so the host's time is written in it. */
static hf_time read_ahead(void) {
    FILE *f =
        knows_own_time() ? fopen("/proc/self/timens_offsets", "re") : NULL;
    long long s = 0, ns = 0;
    bool found = false;
    char line[80];

    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL)
        found = sscanf(line, "boottime %lld %lld", &s, &ns) == 2;
    if (f != NULL)
        fclose(f);
    return found ? s * HF_SECOND + ns : 0;
}

int64_t hf__db_now_us(const hf_db *db) {
    return (hf__now() - db->ahead) / 1000;
}

hf_time hf__db_local(const hf_db *db, int64_t at_us) {
    return at_us * 1000 + db->ahead;
}

/* ---- opening ----------------------------------------------------------- */

static int number(hf_db *db, const char *sql, int64_t *ret, hf_error *err) {
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db->sqlite, sql, -1, &st, NULL);

    if (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        *ret = sqlite3_column_int64(st, 0);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(st);
    return rc == SQLITE_OK ? HF_OK : fail(db, rc, err);
}

/* Persistent, so only for a new file.  While others do the same SQLite says
 * BUSY without asking the handler. */
static int use_log(hf_db *db, hf_error *err) {
    char mode[16];

    for (int i = 0;; i++) {
        hf__db_pragma(db, "PRAGMA journal_mode = WAL", mode, sizeof mode);
        if (strcmp(mode, "wal") == 0)
            return HF_OK;
        if ((sqlite3_errcode(db->sqlite) & 0xff) != SQLITE_BUSY)
            break;
        if (!on_busy(db, i))
            return fail(db, SQLITE_BUSY, err);
    }
    return hf__fail(err, HF_ESTORE,
                    "%s: this file system cannot share memory, which the "
                    "store needs",
                    db->path);
}

/* Makes the tables, or those of an earlier layout what they are now.  Who has
 * the file open goes on as before: see sqlite.sql. */
static int make_tables(hf_db *db, hf_error *err) {
    int64_t found = 0;
    char sql[64];
    int rc;

    rc = hf__db_begin(db, err);
    if (rc != HF_OK)
        return rc;
    rc = number(db, "PRAGMA user_version", &found, err);
    for (int64_t at = found & 0xffff; rc == HF_OK && at < LAYOUT; at++)
        rc = run(db, layouts[at], err);
    snprintf(sql, sizeof sql, "PRAGMA user_version = %d", OURS | LAYOUT);
    if (rc == HF_OK && found < (OURS | LAYOUT))
        rc = run(db, sql, err);
    return hf__db_end(db, rc, err);
}

/* A file without a version and without tables is a new one. */
static int create(hf_db *db, hf_error *err) {
    int64_t tables = 0;
    char sql[64];
    int rc;

    rc = number(db, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (rc != HF_OK)
        return rc;
    snprintf(sql, sizeof sql, "PRAGMA page_size = %d", PAGE_SIZE);
    rc = tables == 0 ? run(db, sql, err) : HF_OK;
    if (rc == HF_OK && tables == 0)
        rc = use_log(db, err);
    return rc == HF_OK && tables == 0 ? make_tables(db, err) : rc;
}

/* One number read says that the file is ours and as we know it. */
static int check_layout(hf_db *db, hf_error *err) {
    int64_t found = 0;
    int rc = number(db, "PRAGMA user_version", &found, err);

    if (rc == HF_OK && found == 0)
        rc = create(db, err);
    else if (rc == HF_OK && found > OURS && found < (OURS | LAYOUT))
        rc = make_tables(db, err);
    else if (rc != HF_OK || found == (OURS | LAYOUT))
        return rc;
    if (rc == HF_OK)
        rc = number(db, "PRAGMA user_version", &found, err);
    if (rc != HF_OK || found == (OURS | LAYOUT))
        return rc;
    if (found >> 16 == OURS >> 16)
        return hf__fail(err, HF_ESTORE,
                        "%s was made by a newer holdfast (layout %d, known is "
                        "%d): upgrade",
                        db->path, (int)(found & 0xffff), LAYOUT);
    return hf__fail(err, HF_ESTORE,
                    "%s is a database of another program: choose another file",
                    db->path);
}

/* A stored trigger or view must not run in whoever opens the file. */
static void harden(sqlite3 *sqlite) {
    sqlite3_db_config(sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(sqlite, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(sqlite, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(sqlite, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
}

static int connect_file(hf_db *db, hf_error *err) {
    struct stat st;
    int rc = sqlite3_open_v2(db->path, &db->sqlite,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                                 SQLITE_OPEN_NOFOLLOW,
                             NULL);

    if (rc != SQLITE_OK)
        return fail(db, rc, err);
    if (lstat(db->path, &st) < 0)
        return hf__fail(err, HF_EURI, "%s vanished", db->path);
    db->dev = st.st_dev;
    db->ino = st.st_ino;
    harden(db->sqlite);
    sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_extended_result_codes(db->sqlite, 1);
    sqlite3_busy_handler(db->sqlite, on_busy, db);
    sqlite3_wal_hook(db->sqlite, on_commit, db);
    rc = check_layout(db, err);
    if (rc == HF_OK)
        rc = run(db, "PRAGMA synchronous = NORMAL", err);
    if (rc == HF_OK && sqlite3_db_readonly(db->sqlite, "main") == 1)
        rc = hf__fail(err, HF_EREAD_ONLY, "%s cannot be written", db->path);
    return rc;
}

/* Is there a copy of a connection to this file, not yet cared for? */
static bool adopts(const hf_db *db) {
    for (hf_db *other = all; other != NULL; other = other->next)
        if (other->ino == db->ino && other->dev == db->dev &&
            other->pid != db->pid) {
            bool first = !other->adopted;
            other->adopted = true;
            return first;
        }
    return false;
}

/* SQLite takes a lock on the shared memory that says "in use" when the first
 * connection of a process comes, and believes to have it in a forked child
 * too.  Without it the next process would begin the memory anew under our
 * hands.  Byte 128 is part of SQLite's documented format. */
static void claim_memory(const hf_db *db) {
    struct flock in_use = {
        .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 128, .l_len = 1};
    char path[PATH_MAX + 8];
    int fd;

    snprintf(path, sizeof path, "%s-shm", db->path);
    fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0)
        fcntl(fd, F_SETLK, &in_use);
    /* Stays open: closing it would drop every lock on that file. */
}

static void enlist(hf_db *db) {
    bool copied;

    pthread_mutex_lock(&all_mu);
    copied = adopts(db);
    db->next = all;
    all = db;
    pthread_mutex_unlock(&all_mu);
    if (copied)
        claim_memory(db);
}

static void delist(hf_db *db) {
    pthread_mutex_lock(&all_mu);
    for (hf_db **at = &all; *at != NULL; at = &(*at)->next)
        if (*at == db) {
            *at = db->next;
            break;
        }
    pthread_mutex_unlock(&all_mu);
}

int hf__db_open(hf_db **ret, const hf_file *file, const char *client,
                hf_time by, hf_error *err) {
    hf_db *db = hf__calloc(1, sizeof *db);
    char side[PATH_MAX + 8];
    int rc;

    *ret = NULL;
    if (db == NULL || (db->path = hf__strdup(file->path)) == NULL) {
        hf__free(db);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    pthread_mutex_init(&db->mu, NULL);
    pthread_cond_init(&db->left, NULL);
    snprintf(db->client, sizeof db->client, "%s", client);
    db->by = by;
    db->pid = getpid();
    db->ahead = read_ahead();
    rc = read_boot(db, err);
    if (rc == HF_OK)
        rc = connect_file(db, err);
    if (rc != HF_OK) {
        hf__db_close(db, false);
        return rc;
    }
    enlist(db);
    for (int i = 0; i < 2; i++) {
        snprintf(side, sizeof side, "%s%s", db->path, i ? "-shm" : "-wal");
        hf__file_share(file, side);
    }
    *ret = db;
    return HF_OK;
}

void hf__db_close(hf_db *db, bool forked) {
    if (forked)
        return;
    delist(db);
    db->by = 0; /* no waiting for others */
    shorten_log(db, LOG_LONG_AT_CLOSE, SQLITE_CHECKPOINT_TRUNCATE);
    for (int i = 0; i < HF_N_QUERIES; i++)
        sqlite3_finalize(db->queries[i]);
    sqlite3_close(db->sqlite);
    pthread_cond_destroy(&db->left);
    pthread_mutex_destroy(&db->mu);
    hf__free(db->path);
    hf__free(db);
}
