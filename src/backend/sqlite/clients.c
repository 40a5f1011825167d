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
    s->introducing = true;
    return hf__db_finish(s->db, st, err);
}

int hf__clients_announce(hf_embedded *s, hf_error *err) {
    int64_t one;
    int rc = hf__store_ask_number(s, HF_QUERY_known, &none, 0, &one, err);

    if (rc == 0) {
        s->introduced = false;
        rc = hf__store_begin(s, err);
        if (rc == HF_OK)
            rc = hf__store_end(s, hf__clients_introduce(s, &none, err), err);
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
