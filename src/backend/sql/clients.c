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
#include <stdlib.h>

#include "../../err.h"

#define IDLE_US    (24 * INT64_C(3600000000)) /* then a row is dropped */
#define TIDY_AGAIN (3600 * HF_SECOND)

static const hf_claim none = {.name = ""};

/* ---- our own ----------------------------------------------------------- */

int hf__clients_introduce(hf_embedded *s, const hf_claim *c, hf_error *err) {
    const hf_identity *me = &s->base.host->identity;
    const char *texts[] = {me->host, me->program, me->user, me->why};
    sqlite3_stmt *st;

    if (s->introduced)
        return HF_OK;
    st =
        hf__store_query(s, HF_QUERY_introduce, c, hf__wake_pidns(s->wake), err);
    if (st == NULL)
        return err->code;
    sqlite3_bind_int64(st, 10, me->pid);
    for (int i = 0; i < 4; i++)
        sqlite3_bind_text(st, 11 + i, texts[i], -1, SQLITE_STATIC);
    return hf__db_finish(s->db, st, err);
}

int hf__clients_announce(hf_embedded *s, hf_error *err) {
    int64_t one;
    int rc = hf__store_ask_number(s, HF_QUERY_known, &none, 0, &one, err);

    if (rc == 0) {
        s->introduced = false;
        rc = hf__db_begin(s->db, err);
        if (rc == HF_OK)
            rc = hf__db_end(s->db, hf__clients_introduce(s, &none, err), err);
        s->introduced = rc == HF_OK;
    }
    if (rc >= 0 && s->tidy_at <= hf__now())
        rc = hf__clients_tidy(s, err);
    return rc < 0 ? rc : HF_OK;
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

int hf__clients_tidy(hf_embedded *s, hf_error *err) {
    int64_t idle = s->now - IDLE_US;
    int all = INT_MAX;
    int rc = hf__db_begin(s->db, err);

    if (rc != HF_OK)
        return rc;
    s->tidy_at = hf__now() + hf__jitter(TIDY_AGAIN);
    rc = look_after(s, "", &all, err);
    if (rc == HF_OK)
        rc = hf__store_run(s, HF_QUERY_tidy_waits, &none, 0, err);
    if (rc == HF_OK)
        rc = hf__store_run(s, HF_QUERY_tidy_locks, &none, idle, err);
    hf__wake_sweep(s->wake);
    return hf__db_end(s->db, rc, err);
}

/* ---- the list ---------------------------------------------------------- */

/* A row of it, copied, because `fn` is called outside. */
typedef struct place {
    struct place *next;
    hf_place of;
    char *texts[6];
} place;

/* Columns of the statement; the first four are the client's. */
enum { OWNER = 4, TOKEN, NAME, KIND, HOLDS, UNTIL, SINCE, KEPT, HOST };

static void free_places(place *first) {
    while (first != NULL) {
        place *gone = first;
        first = gone->next;
        for (int i = 0; i < 6; i++)
            sqlite3_free(gone->texts[i]);
        free(gone);
    }
}

/* Name, host, program, user, why, owner. */
static bool copy_texts(sqlite3_stmt *st, const hf_peer *peer, place *ret) {
    static const int columns[] = {NAME, HOST, HOST + 1, HOST + 2, HOST + 3};
    bool ok = true;

    for (int i = 0; i < 5; i++) {
        const char *text = (const char *)sqlite3_column_text(st, columns[i]);
        ret->texts[i] = sqlite3_mprintf("%s", text != NULL ? text : "");
    }
    ret->texts[5] =
        sqlite3_mprintf("%s:%llu", peer->client,
                        (sqlite3_uint64)sqlite3_column_int64(st, OWNER));
    for (int i = 0; i < 6; i++)
        ok = ok && ret->texts[i] != NULL;
    ret->of.name = ret->texts[0];
    ret->of.host = ret->texts[1];
    ret->of.program = ret->texts[2];
    ret->of.user = ret->texts[3];
    ret->of.why = ret->texts[4];
    ret->of.owner = ret->texts[5];
    return ok;
}

static bool read_place(const hf_embedded *s, sqlite3_stmt *st,
                       const hf_peer *peer, place *ret) {
    static const char *const kinds[HF_KINDS] = {"lock", "simple"};
    int kind = sqlite3_column_int(st, KIND);
    int64_t left = sqlite3_column_int64(st, UNTIL) - s->now;

    ret->of.kind = kind >= 0 && kind < HF_KINDS ? kinds[kind] : "";
    ret->of.holds = sqlite3_column_int(st, HOLDS) != 0;
    ret->of.token = (uint64_t)sqlite3_column_int64(st, TOKEN);
    ret->of.lease_ms = ret->of.holds ? (left + 999) / 1000 : -1;
    ret->of.since_ms = (s->now - sqlite3_column_int64(st, SINCE)) / 1000;
    ret->of.pid = peer->pid;
    return copy_texts(st, peer, ret);
}

/* Copies what the statement tells; the dead are left out. */
static int read_places(hf_embedded *s, sqlite3_stmt *st, place **ret,
                       hf_error *err) {
    place **end = ret;
    hf_peer peer;
    int rc;

    while ((rc = hf__db_step(s->db, st, err)) > 0) {
        bool kept = sqlite3_column_int(st, KEPT) != 0;
        hf__store_read_peer(st, &peer);
        if (!kept && !hf__wake_lives(s->wake, &peer))
            continue;
        *end = calloc(1, sizeof **end);
        if (*end == NULL || !read_place(s, st, &peer, *end)) {
            sqlite3_reset(st);
            return hf__fail_plain(err, HF_ENO_MEMORY);
        }
        end = &(*end)->next;
    }
    return rc;
}

/* A single name, or from the first text to the last: blobs sort behind. */
static void bind_range(sqlite3_stmt *st, const char *name) {
    if (name != NULL)
        sqlite3_bind_text(st, 9, name, -1, SQLITE_STATIC);
    else
        sqlite3_bind_zeroblob(st, 9, 0);
}

int hf__clients_list(hf_embedded *s, const char *name, hf_place_fn *fn,
                     void *arg, hf_time by, hf_error *err) {
    const hf_claim from = {.name = name != NULL ? name : ""};
    place *first = NULL;
    sqlite3_stmt *st;
    int rc = hf__store_enter(s, by, err);

    if (rc != HF_OK)
        return rc;
    st = hf__store_query(s, HF_QUERY_list, &from, 0, err);
    rc = st == NULL ? err->code : HF_OK;
    if (rc == HF_OK) {
        bind_range(st, name);
        rc = read_places(s, st, &first, err);
    }
    hf__db_leave(s->db);
    for (place *p = first; rc == HF_OK && p != NULL; p = p->next)
        fn(arg, &p->of);
    free_places(first);
    return rc;
}
