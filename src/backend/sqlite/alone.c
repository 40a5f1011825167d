/* SPDX-License-Identifier: MIT
 *
 * alone.c - the lock, the fair and the spinning one: one holder, in the row of
 * the name.
 *
 * They are one line, first come, first served; the spinning one stands in no
 * line and takes what it finds free.  Only the head is rung, and everybody
 * watches the one before it, so that a release wakes one and not all.
 *
 * A waiter who was rung but does not come (stopped, swapped out) keeps its
 * place and loses its turn: who has n others before it may hold what has been
 * free for n turns. */
#include <string.h>

#include "clients.h"
#include "line.h"

/* The name as it is held. */
typedef struct sight {
    bool held, kept;
    hf_kind asked;
    uint64_t owner, token;
    int64_t until, row;
    hf_peer by;
} sight;

/* ---- taking ------------------------------------------------------------ */

/* `decided`: the line was looked at.  OK, or BUSY: somebody is before us. */
static int take(hf_embedded *s, hf_claim *c, bool decided, hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, HF_QUERY_take, c, decided, err);
    int64_t token, row;
    int rc;

    if (st == NULL)
        return err->code;
    sqlite3_bind_int64(st, 8, hf__world->wall_us());
    sqlite3_bind_int64(st, 10, c->kind);
    rc = hf__db_step(s->db, st, err);
    if (rc <= 0)
        return rc < 0 ? rc : HF_BUSY;
    token = sqlite3_column_int64(st, 0);
    row = sqlite3_column_int64(st, 1);
    rc = hf__db_finish(s->db, st, err);
    if (rc == HF_OK) {
        c->token = (uint64_t)token;
        c->place = HF_PLACE_HOLDS | (uint64_t)row;
    }
    return rc;
}

/* The same when nobody knows us yet; what fails leaves no trace. */
static int introduce_and_take(hf_embedded *s, hf_claim *c, hf_error *err) {
    int rc = hf__store_begin(s, err);

    if (rc != HF_OK)
        return rc;
    rc = hf__clients_introduce(s, err);
    if (rc == HF_OK)
        rc = take(s, c, false, err);
    if (rc == HF_OK)
        rc = hf__store_end(s, rc, err);
    else
        hf__db_cancel(s->db);
    if (rc != HF_OK)
        c->place = 0;
    return rc;
}

int hf__alone_take(hf_embedded *s, hf_claim *c, hf_error *err) {
    return s->introduced ? take(s, c, false, err) :
                           introduce_and_take(s, c, err);
}

/* ---- looking ----------------------------------------------------------- */

static int look(hf_embedded *s, const hf_claim *c, sight *ret, hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, HF_QUERY_look, c, 0, err);
    int rc = st == NULL ? err->code : hf__db_step(s->db, st, err);

    memset(ret, 0, sizeof *ret);
    if (rc <= 0)
        return rc;
    hf__store_read_peer(st, &ret->by);
    ret->owner = (uint64_t)sqlite3_column_int64(st, 4);
    ret->token = (uint64_t)sqlite3_column_int64(st, 5);
    ret->until = sqlite3_column_int64(st, 6);
    ret->kept = sqlite3_column_int(st, 7) != 0;
    ret->held = sqlite3_column_int(st, 8) != 0;
    ret->row = sqlite3_column_int64(st, 9);
    ret->asked = (hf_kind)sqlite3_column_int(st, 10);
    sqlite3_reset(st);
    return HF_OK;
}

static bool is_ours(const hf_embedded *s, const hf_claim *c,
                    const sight *seen) {
    return seen->held && !seen->kept && seen->owner == c->owner &&
           strcmp(seen->by.client, s->base.host->identity.client) == 0;
}

/* Who holds and has died holds no more. */
static int clear_dead(hf_embedded *s, const hf_claim *c, sight *seen,
                      hf_refusal *why, hf_error *err) {
    int rc;

    if (!seen->held || seen->kept || hf__wake_lives(s->wake, &seen->by))
        return HF_OK;
    if (!hf__db_writes(s->db))
        return HF_AGAIN;
    rc = hf__store_run(s, HF_QUERY_vacate, c, 0, err);
    if (rc == HF_OK)
        rc = hf__clients_bury(s, c, &seen->by, err);
    seen->held = false;
    seen->until = s->now;
    why->ring = true;
    return rc;
}

/* The nearest before the ticket who lives: 1, 0, AGAIN or an error. */
static int nearest(hf_embedded *s, const hf_claim *c, int64_t ticket,
                   hf_peer *ret, hf_error *err) {
    int rc;

    while ((rc = hf__store_ask_peer(s, HF_QUERY_ahead, c, ticket, ret, err)) >
           0) {
        if (hf__wake_lives(s->wake, ret))
            return 1;
        if (!hf__db_writes(s->db))
            return HF_AGAIN;
        rc = hf__clients_bury(s, c, ret, err);
        if (rc < 0)
            return rc;
    }
    ret->known = false;
    return rc;
}

/* Has everybody before the ticket let its turn pass? */
static int all_late(hf_embedded *s, const hf_claim *c, int64_t ticket,
                    const sight *seen, hf_error *err) {
    int64_t n = 0;
    int rc;

    if (seen->held || s->now < seen->until + HF_TURN_US)
        return 0;
    rc = hf__store_ask_number(s, HF_QUERY_count, c, ticket, &n, err);
    return rc < 0 ? rc : s->now >= seen->until + n * HF_TURN_US;
}

/* ---- deciding ---------------------------------------------------------- */

/* The rule of admission, over the holder, who is before us, and us. */
static bool admitted(const hf_claim *c, bool held, bool behind) {
    hf_entry line[3];
    int n = 0;

    if (held)
        line[n++] = (hf_entry){HF_EXCLUSIVE, 0, true, true};
    if (behind)
        line[n++] = (hf_entry){HF_EXCLUSIVE, 0, false, true};
    line[n] = (hf_entry){c->mode, c->permits, false, hf__keeps_to_the_line(c)};
    return hf__admit(line, n + 1, n, 0, 0).admitted;
}

static int hold(hf_embedded *s, hf_claim *c, hf_error *err) {
    int rc;

    if (!hf__db_writes(s->db))
        return HF_AGAIN;
    rc = hf__clients_introduce(s, err);
    if (rc == HF_OK)
        rc = hf__sqlite_line_step_out(s, c, err);
    return rc == HF_OK ? take(s, c, true, err) : rc;
}

static int extend(hf_embedded *s, hf_claim *c, const sight *seen,
                  hf_error *err) {
    if (!hf__db_writes(s->db))
        return HF_AGAIN;
    c->token = seen->token;
    c->place = HF_PLACE_HOLDS | (uint64_t)seen->row;
    return hf__store_run_on_grant(s, HF_QUERY_renew, c, err);
}

/* By who is before us in the line, where we may have a place or not. */
static int decide_among(hf_embedded *s, hf_claim *c, bool waits,
                        const sight *seen, hf_refusal *why, hf_error *err) {
    int64_t ticket = INT64_MAX;
    int placed, behind, late = 0;

    placed = hf__sqlite_line_ticket(s, c, &ticket, err);
    if (placed < 0)
        return placed;
    behind = nearest(s, c, ticket, &why->one, err);
    if (behind == 1)
        late = all_late(s, c, ticket, seen, err);
    if (behind < 0 || behind == HF_AGAIN)
        return behind;
    if (late < 0)
        return late;
    if (admitted(c, seen->held, behind && !late))
        return hold(s, c, err);
    if (!behind && !seen->kept)
        why->one = seen->by;
    why->peers = &why->one;
    why->n = why->one.known ? 1 : 0;
    c->ask_again =
        hf__sqlite_line_look_again(s, seen->held ? seen->until : INT64_MAX);
    return placed || !waits ? HF_BUSY : hf__sqlite_line_join(s, c, err);
}

int hf__alone_decide(hf_embedded *s, hf_claim *c, bool waits, hf_refusal *why,
                     hf_error *err) {
    sight seen;
    int rc = look(s, c, &seen, err);

    if (rc == HF_OK && is_ours(s, c, &seen))
        return extend(s, c, &seen, err);
    if (rc == HF_OK)
        rc = clear_dead(s, c, &seen, why, err);
    return rc == HF_OK ? decide_among(s, c, waits, &seen, why, err) : rc;
}

/* ---- letting others in ------------------------------------------------- */

/* The first in the line of a free lock: 1, 0 (there is none), or an error. */
static int find_head(hf_embedded *s, const hf_claim *c, hf_peer *ret,
                     hf_kind *asked, uint64_t *owner, hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, HF_QUERY_head, c, 0, err);
    int rc = st == NULL ? err->code : hf__db_step(s->db, st, err);

    if (rc <= 0)
        return rc;
    hf__store_read_peer(st, ret);
    *asked = (hf_kind)sqlite3_column_int(st, 4);
    *owner = (uint64_t)sqlite3_column_int64(st, 5);
    sqlite3_reset(st);
    return 1;
}

void hf__alone_ring(hf_embedded *s, const hf_claim *c) {
    uint64_t owner;
    hf_kind asked;
    hf_error err;
    hf_peer head;

    while (find_head(s, c, &head, &asked, &owner, &err) > 0) {
        if (hf__sqlite_line_ring_one(s, c, &head, asked, owner) ||
            hf__wake_lives(s->wake, &head))
            return;
        if (hf__clients_bury(s, c, &head, &err) != HF_OK)
            return; /* who is behind looks again by himself */
    }
}

int hf__alone_force(hf_embedded *s, const hf_claim *c, const char *whose,
                    hf_error *err) {
    uint64_t token;
    char owner[64];
    sight seen;
    int rc = look(s, c, &seen, err);

    if (rc != HF_OK || !seen.held)
        return rc;
    hf__sqlite_line_owner(&seen.by, seen.asked, seen.owner, NULL, 0, owner,
                          sizeof owner);
    if (whose != NULL && strcmp(whose, owner) != 0)
        return 0;
    rc = hf__store_raise(s, c, &token, err); /* and so frees it */
    return rc < 0 ? rc : 1;
}
