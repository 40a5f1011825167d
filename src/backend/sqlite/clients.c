/* SPDX-License-Identifier: MIT
 *
 * clients.c - who is there.
 *
 * A record needs no lease here, because the socket beside it shows whether
 * its client lives.  The dead are buried by whoever meets them: at a name, as
 * a neighbour, or in a rare sweep. */
#include "clients.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"

#define IDLE_US    (24 * INT64_C(3600000000)) /* then a row is dropped */
#define TIDY_AGAIN (3600 * HF_SECOND)

static const hf_claim none = {.name = ""};

/* ---- our own ----------------------------------------------------------- */

static int write_record(hf_embedded *s, const char *doing, hf_error *err) {
    const hf_identity *me = &s->base.host->identity;
    const char *texts[] = {me->host, me->program, me->user, me->why, doing};
    sqlite3_stmt *st = hf__store_query(s, HF_QUERY_introduce, &none,
                                       hf__wake_pidns(s->wake), err);

    if (st == NULL)
        return err->code;
    sqlite3_bind_int64(st, 10, me->pid);
    for (int i = 0; i < 5; i++)
        sqlite3_bind_text(st, 11 + i, texts[i], -1, SQLITE_TRANSIENT);
    s->introducing = true;
    return hf__db_finish(s->db, st, err);
}

int hf__clients_introduce(hf_embedded *s, hf_error *err) {
    return s->introduced ? HF_OK : write_record(s, "", err);
}

static int begin_anew(hf_embedded *s, const char *doing, hf_error *err) {
    int rc;

    s->introduced = false;
    rc = hf__store_begin(s, err);
    return rc == HF_OK ? hf__store_end(s, write_record(s, doing, err), err) :
                         rc;
}

/* What is there already is not written again: to read disturbs nobody. */
int hf__clients_announce(hf_embedded *s, const char *doing, hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, HF_QUERY_known, &none, 0, err);
    int64_t same = 0;
    int rc;

    if (st == NULL)
        return err->code;
    sqlite3_bind_text(st, 9, doing, -1, SQLITE_TRANSIENT);
    rc = hf__store_tell_number(s, st, &same, err);
    if (rc == 0)
        rc = begin_anew(s, doing, err);
    else if (rc > 0 && !same)
        rc = hf__store_run_on_client(s, HF_QUERY_say, &none, doing, err);
    if (rc >= 0 && s->tidy_at <= hf__now())
        rc = hf__clients_tidy(s, err);
    return rc < 0 ? rc : HF_OK;
}

/* ---- all of them ------------------------------------------------------- */

typedef struct record {
    struct record *next;
    hf_identity who;
    char doing[];
} record;

static record *read_record(sqlite3_stmt *st, const hf_peer *peer) {
    const char *doing = (const char *)sqlite3_column_text(st, 8);
    size_t size = (size_t)sqlite3_column_bytes(st, 8) + 1;
    record *r = hf__malloc(sizeof *r + size);

    if (r == NULL || doing == NULL) {
        hf__free(r);
        return NULL;
    }
    r->next = NULL;
    memcpy(r->who.client, peer->client, sizeof r->who.client);
    r->who.pid = peer->pid;
    hf__store_copy_text(st, 4, r->who.host, sizeof r->who.host);
    hf__store_copy_text(st, 5, r->who.program, sizeof r->who.program);
    hf__store_copy_text(st, 6, r->who.user, sizeof r->who.user);
    hf__store_copy_text(st, 7, r->who.why, sizeof r->who.why);
    memcpy(r->doing, doing, size);
    return r;
}

/* Those that follow `last`, which becomes the last of them: 1, 0 (there were
 * none), or an error. */
static int read_some(hf_embedded *s, char last[static 37], record **ret,
                     hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, HF_QUERY_clients, &none, 0, err);
    int rc, some = 0;
    hf_peer peer;

    if (st == NULL)
        return err->code;
    sqlite3_bind_text(st, 9, last, -1, SQLITE_TRANSIENT);
    while ((rc = hf__db_step(s->db, st, err)) > 0) {
        some = 1;
        hf__store_read_peer(st, &peer);
        memcpy(last, peer.client, sizeof peer.client);
        if (!hf__wake_lives(s->wake, &peer))
            continue;
        *ret = read_record(st, &peer);
        if (*ret == NULL) {
            sqlite3_reset(st);
            return hf__fail_plain(err, HF_ENO_MEMORY);
        }
        ret = &(*ret)->next;
    }
    return rc < 0 ? rc : some;
}

/* As in list.c they are told outside of the database. */
static void tell_and_free(record *first, bool tells, hf_record_fn *fn,
                          void *arg) {
    while (first != NULL) {
        record *r = first;

        first = r->next;
        if (tells)
            fn(arg, &r->who, r->doing);
        hf__free(r);
    }
}

int hf__clients_tell(hf_embedded *s, hf_record_fn *fn, void *arg, hf_time by,
                     hf_error *err) {
    char last[37] = "";
    record *some;
    int rc;

    do {
        some = NULL;
        rc = hf__store_enter(s, by, err);
        if (rc != HF_OK)
            return rc;
        rc = read_some(s, last, &some, err);
        hf__db_leave(s->db);
        tell_and_free(some, rc > 0, fn, arg);
        by = hf__after_ms(s->base.host->timeout_ms);
    } while (rc > 0);
    return rc;
}

/* ---- the dead ---------------------------------------------------------- */

int hf__clients_bury(hf_embedded *s, const hf_claim *c, const hf_peer *dead,
                     hf_error *err) {
    int rc = hf__store_run_on_client(s, HF_QUERY_forget, c, dead->client, err);

    if (rc == HF_OK)
        rc = hf__store_run_on_client(s, HF_QUERY_bury, c, dead->client, err);
    if (rc == HF_OK)
        hf__wake_remove(s->wake, dead->client);
    return rc;
}

/* Looks after the clients whose ids follow, *n of them at most, and counts them
 * off; ids are random, so that in the end everybody is looked after. */
static int look_after(hf_embedded *s, const char *id, int *n, hf_error *err) {
    sqlite3_stmt *st;
    hf_peer peer;
    int rc = HF_OK;

    snprintf(peer.client, sizeof peer.client, "%s", id);
    for (; *n > 0 && rc == HF_OK; --*n) {
        st = hf__store_query(s, HF_QUERY_next, &none, 0, err);
        if (st == NULL)
            return err->code;
        sqlite3_bind_text(st, 9, peer.client, -1, SQLITE_TRANSIENT);
        rc = hf__db_step(s->db, st, err);
        if (rc <= 0)
            return rc;
        rc = HF_OK;
        hf__store_read_peer(st, &peer);
        sqlite3_reset(st);
        if (!hf__wake_lives(s->wake, &peer))
            rc = hf__clients_bury(s, &none, &peer, err);
    }
    return rc;
}

/* Who leaves looks after two others, so that leftovers do not pile up where
 * nobody waits. */
bool hf__clients_take_leave(hf_embedded *s) {
    const char *me = s->base.host->identity.client;
    hf_error err;
    int n = 2;
    bool gone;

    if (!s->introduced)
        return true;
    if (hf__store_enter(s, hf__after_ms(100), &err) != HF_OK)
        return false;
    gone = hf__store_run_on_client(s, HF_QUERY_bury, &none, me, &err) == HF_OK;
    look_after(s, me, &n, &err);
    look_after(s, "", &n, &err);
    hf__db_leave(s->db);
    return gone;
}

/* Numbers before what was leased out of them, and lines last. */
int hf__clients_tidy(hf_embedded *s, hf_error *err) {
    int all = INT_MAX;
    int rc = hf__store_begin(s, err);
    const struct {
        hf_query query;
        int64_t extra;
    } steps[] = {{HF_QUERY_tidy_waits, 0},
                 {HF_QUERY_tidy_numbers, 0},
                 {HF_QUERY_tidy_holds, HF_SEMAPHORE},
                 {HF_QUERY_tidy_answers, 0},
                 {HF_QUERY_tidy_locks, s->now - IDLE_US}};

    if (rc != HF_OK)
        return rc;
    s->tidy_at = hf__now() + hf__jitter(TIDY_AGAIN);
    rc = look_after(s, "", &all, err);
    for (size_t i = 0; rc == HF_OK && i < sizeof steps / sizeof steps[0]; i++)
        rc = hf__store_run(s, steps[i].query, &none, steps[i].extra, err);
    hf__wake_sweep(s->wake);
    return hf__store_end(s, rc, err);
}
