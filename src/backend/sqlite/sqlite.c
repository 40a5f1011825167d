/* SPDX-License-Identifier: MIT
 *
 * sqlite.c - the verbs of the embedded store: many processes, one host, one
 * file.
 *
 * A name is a row, and who waits for it is a line of rows (line.c): the lock
 * has one holder, in that row (alone.c); readers, writers and leased permits
 * are rows of their own (together.c); semaphores and latches are numbers
 * (numbers.c).  Clients ring each other and see each other die (wake.c), so
 * that nobody has to wait for a lease to end.
 *
 * Time in the file is the host's CLOCK_BOOTTIME with the id of the boot, since
 * nobody survives a reboot; steps of the wall clock do not matter.  Tokens are never
 * below the wall clock, so that they still grow after a power loss that took
 * the last rows with it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../alloc.h"
#include "../../err.h"
#include "clients.h"
#include "line.h"
#include "list.h"
#include "numbers.h"
#include "view.h"

enum { BATCH = 500 }; /* renewals in a transaction: others want to write too */

extern const hf_backend_ops hf__sqlite_ops;

/* ---- waiting and holding ----------------------------------------------- */

static int attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                   hf_error *err) {
    hf_embedded *s = (hf_embedded *)be;
    int rc = hf__store_enter(s, by, err);

    if (rc != HF_OK)
        return rc;
    rc = hf__sqlite_line_attempt(s, c, waits, err);
    hf__db_leave(s->db);
    return rc;
}

/* Who waits in the line is rung; here we only begin to listen. */
static int watch(hf_backend *be, const hf_claim *c, bool on, hf_time by,
                 hf_error *err) {
    hf_embedded *s = (hf_embedded *)be;
    int rc;

    if (!on) {
        hf__wake_unwatch(s->wake, c);
        return HF_OK;
    }
    rc = hf__store_enter(s, by, err);
    if (rc != HF_OK)
        return rc;
    rc = hf__wake_appear(s->wake, err);
    hf__db_leave(s->db);
    return rc == HF_OK ? hf__wake_watch(s->wake, c, err) : rc;
}

/* ---- renew ------------------------------------------------------------- */

/* A claim without a token waits, and is asked for its place. */
static int renew_one(hf_embedded *s, hf_claim *c, hf_error *err) {
    hf_query query = hf__is_alone(c) ? HF_QUERY_renew : HF_QUERY_hold_renew;
    int64_t ticket;
    int rc;

    if (c->token == 0) {
        rc = hf__sqlite_line_ticket(s, c, &ticket, err);
        return rc < 0 ? rc : rc > 0 ? HF_OK : HF_ELOST;
    }
    rc = hf__store_run_on_grant(s, query, c, err);
    return rc == HF_OK && hf__db_changes(s->db) == 0 ? HF_ELOST : rc;
}

static int renew_batch(hf_embedded *s, hf_claim *const *claims, size_t n,
                       hf_error *err) {
    int rc = hf__store_begin(s, err);

    if (rc != HF_OK)
        return rc;
    for (size_t i = 0; i < n && (rc == HF_OK || rc == HF_ELOST); i++)
        rc = claims[i]->result = renew_one(s, claims[i], err);
    return hf__store_end(s, rc == HF_ELOST ? HF_OK : rc, err);
}

static int by_place(const void *a, const void *b) {
    const hf_claim *const *x = a, *const *y = b;

    return ((*x)->place > (*y)->place) - ((*x)->place < (*y)->place);
}

/* In the order of the rows, so that a page is written once for all of its
 * rows.  NULL: no memory; any order will do. */
static hf_claim **sorted(hf_claim *const *claims, size_t n) {
    hf_claim **copy = hf__malloc(n * sizeof(hf_claim *));

    if (copy == NULL)
        return NULL;
    memcpy(copy, claims, n * sizeof(hf_claim *));
    qsort(copy, n, sizeof(hf_claim *), by_place);
    return copy;
}

static int renew(hf_backend *be, hf_claim *const *claims, size_t n, hf_time by,
                 hf_error *err) {
    hf_embedded *s = (hf_embedded *)be;
    hf_claim **copy = sorted(claims, n);
    hf_claim *const *all = copy != NULL ? copy : claims;
    int rc = hf__store_enter(s, by, err);
    bool entered = rc == HF_OK;
    size_t at = 0;

    if (entered)
        rc = hf__db_check_place(s->db, err);
    while (rc == HF_OK && at < n) {
        size_t size = n - at < BATCH ? n - at : BATCH;
        rc = renew_batch(s, all + at, size, err);
        if (rc == HF_OK)
            at += size;
    }
    for (; at < n; at++)
        all[at]->result = rc;
    if (entered)
        hf__db_leave(s->db);
    hf__free(copy);
    return rc;
}

/* ---- release ----------------------------------------------------------- */

/* In a line where the order counts it matters since when nobody holds. */
static int free_held(hf_embedded *s, hf_claim *c, hf_error *err) {
    bool alone = hf__is_alone(c), waited_for = false;
    int rc = hf__store_free(s, alone ? HF_QUERY_free : HF_QUERY_hold_free, c,
                            &waited_for, err);

    if (rc < 0)
        return rc;
    if (rc == 0) /* perhaps it waits */
        return hf__sqlite_line_leave(s, c, err);
    c->place = 0;
    if (!waited_for)
        return HF_OK;
    if (!alone)
        hf__store_run(s, HF_QUERY_freed, c, s->now, err);
    hf__sqlite_line_ring(s, c);
    return HF_OK;
}

static int keep(hf_embedded *s, hf_claim *c, hf_error *err) {
    hf_query query = hf__is_alone(c) ? HF_QUERY_keep : HF_QUERY_hold_keep;
    int rc = hf__store_run_on_grant(s, query, c, err);

    if (rc == HF_OK && hf__db_changes(s->db) == 0)
        return hf__sqlite_line_leave(s, c, err);
    if (rc == HF_OK)
        c->place = 0;
    return rc;
}

static int let_go(hf_embedded *s, hf_claim *c, hf_how how, const char *whose,
                  hf_error *err) {
    if (how == HF_RELEASE_FORCED)
        return hf__sqlite_line_force(s, c, whose, err);
    if (c->kind == HF_SEMAPHORE)
        return hf__numbers_undo(s, c, err);
    if (c->kind == HF_LATCH || hf__place_waits(c))
        return hf__sqlite_line_leave(s, c, err);
    return how == HF_RELEASE_AFTER ? keep(s, c, err) : free_held(s, c, err);
}

static int release(hf_backend *be, hf_claim *c, hf_how how, const char *whose,
                   hf_time by, hf_error *err) {
    hf_embedded *s = (hf_embedded *)be;
    int rc = hf__store_enter(s, by, err);

    if (rc != HF_OK)
        return rc;
    rc = let_go(s, c, how, whose, err);
    hf__db_leave(s->db);
    return rc;
}

/* ---- numbers ----------------------------------------------------------- */

static int count(hf_backend *be, hf_claim *c, hf_count_op op, int64_t *value,
                 hf_time by, hf_error *err) {
    hf_embedded *s = (hf_embedded *)be;
    int rc = hf__store_enter(s, by, err);

    if (rc != HF_OK)
        return rc;
    rc = hf__numbers_count(s, c, op, value, err);
    hf__db_leave(s->db);
    return rc;
}

/* ---- who is there ------------------------------------------------------ */

static int announce(hf_backend *be, const char *doing, int lease_ms, hf_time by,
                    hf_error *err) {
    hf_embedded *s = (hf_embedded *)be;
    int rc = hf__store_enter(s, by, err);

    (void)lease_ms; /* the socket is the sign of life */
    if (rc != HF_OK)
        return rc;
    rc = hf__wake_appear(s->wake, err);
    if (rc == HF_OK)
        rc = hf__clients_announce(s, doing, err);
    hf__db_leave(s->db);
    return rc;
}

static int clients(hf_backend *be, hf_record_fn *fn, void *arg, hf_time by,
                   hf_error *err) {
    return hf__clients_tell((hf_embedded *)be, fn, arg, by, err);
}

static int list(hf_backend *be, const char *name, hf_place_fn *fn, void *arg,
                hf_time by, hf_error *err) {
    return hf__list((hf_embedded *)be, name, fn, arg, by, err);
}

/* ---- the store itself -------------------------------------------------- */

static unsigned can(const hf_backend *be, hf_kind kind) {
    static const unsigned lock = HF_CAN_HOLD | HF_CAN_NOTICE;

    (void)be;
    switch (kind) {
    case HF_LOCK:
    case HF_FAIR:
        return lock | HF_CAN_ORDER | HF_CAN_WAKE;
    case HF_READ:
    case HF_WRITE:
    case HF_PERMIT:
        return lock | HF_CAN_WAKE;
    case HF_SPIN:
        return lock;
    case HF_SEMAPHORE:
    case HF_LATCH:
        return HF_CAN_HOLD | HF_CAN_WAKE;
    default:
        return 0;
    }
}

static const char *where(const hf_backend *be) {
    return ((const hf_embedded *)be)->where;
}

static void tell_place(const hf_embedded *s, hf_fact_fn *fn, void *arg) {
    char text[80];
    struct stat st;

    fn(arg, HF_FACT, "file", s->file.path);
    fn(arg, HF_FACT, "sqlite", sqlite3_libversion());
    if (stat(s->file.path, &st) == 0) {
        snprintf(text, sizeof text, "%04o, user %u, group %u%s",
                 (unsigned)st.st_mode & 07777, (unsigned)st.st_uid,
                 (unsigned)st.st_gid,
                 s->file.mode == 0660 ? ", shared with the group" : "");
        fn(arg, HF_FACT, "permissions", text);
    }
    if (s->file.network)
        fn(arg, HF_WARN, "file system",
           "a network file system: two hosts can hold one lock");
    else
        fn(arg, HF_FACT, "file system", s->file.fs);
}

static void tell_guarantees(hf_fact_fn *fn, void *arg) {
    fn(arg, HF_WARN, "reach",
       "locks exclude the processes of this host only; for several hosts use "
       "a server, such as redis://");
    fn(arg, HF_GOOD, "order",
       "first come, first served, for locks and fair locks");
    fn(arg, HF_GOOD, "death",
       "a killed holder is noticed at once, without waiting for its lease");
    fn(arg, HF_GOOD, "crash",
       "a crashed process leaves the file whole, and with the host its holders "
       "are gone too");
    fn(arg, HF_GOOD, "failover", "there is no server that another replaces");
    fn(arg, HF_GOOD, "token",
       "grows with every grant, also across kill -9 and power loss, as long "
       "as the wall clock is not set back");
    fn(arg, HF_GOOD, "clock", "leases do not depend on the wall clock");
}

static int examine(hf_backend *be, hf_fact_fn *fn, void *arg, hf_time by,
                   hf_error *err) {
    hf_embedded *s = (hf_embedded *)be;
    char journal[16], check[80];
    int rc = hf__store_enter(s, by, err);

    if (rc != HF_OK)
        return rc;
    rc = hf__db_check_place(s->db, err);
    if (rc == HF_OK)
        rc = hf__clients_tidy(s, err);
    hf__db_pragma(s->db, "PRAGMA journal_mode", journal, sizeof journal);
    hf__db_pragma(s->db, "PRAGMA quick_check(1)", check, sizeof check);
    hf__db_leave(s->db);
    if (rc != HF_OK)
        return rc;
    tell_place(s, fn, arg);
    fn(arg, strcmp(journal, "wal") == 0 ? HF_FACT : HF_WARN, "journal",
       journal);
    fn(arg, strcmp(check, "ok") == 0 ? HF_GOOD : HF_WARN, "check", check);
    tell_guarantees(fn, arg);
    return HF_OK;
}

/* ---- open and close ---------------------------------------------------- */

static void sqlite_close(hf_backend *be, bool forked) {
    hf_embedded *s = (hf_embedded *)be;
    bool gone = forked || s->db == NULL || hf__clients_take_leave(s);

    /* Where our record stays, a dead socket tells the same. */
    hf__wake_close(s->wake, !gone, forked);
    if (s->db != NULL)
        hf__db_close(s->db, forked);
    hf__view_free(s->view);
    hf__file_free(&s->file);
    hf__free(s->where);
    hf__free(s);
}

static int sqlite_open(hf_backend **ret, const hf_uri *uri, const hf_host *host,
                       hf_time by, hf_error *err) {
    hf_embedded *s = hf__calloc(1, sizeof *s);
    int rc;

    if (s == NULL)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    s->base.ops = &hf__sqlite_ops;
    s->base.host = host;
    s->tidy_at = hf__after_ms(3600 * 1000);
    rc = hf__file_find(&s->file, uri, err);
    if (rc == HF_OK && hf__asprintf(&s->where, "sqlite:%s", s->file.path) < 0) {
        s->where = NULL;
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    }
    if (rc == HF_OK)
        rc = hf__db_open(&s->db, &s->file, host->identity.client, by, err);
    if (rc == HF_OK)
        rc = hf__wake_open(&s->wake, &s->file, host, err);
    if (rc == HF_OK)
        *ret = &s->base;
    else
        sqlite_close(&s->base, false);
    return rc;
}

static const char *const schemes[] = {"sqlite", NULL};
static const char *const params[] = {"unsafe_network_fs", NULL};

const hf_backend_ops hf__sqlite_ops = {
    .schemes = schemes,
    .params = params,
    .open = sqlite_open,
    .close = sqlite_close,
    .can = can,
    .where = where,
    .attempt = attempt,
    .watch = watch,
    .renew = renew,
    .release = release,
    .count = count,
    .announce = announce,
    .clients = clients,
    .list = list,
    .examine = examine,
};
