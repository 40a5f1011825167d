/* SPDX-License-Identifier: MIT
 *
 * line.c - who may hold, and who is next.
 *
 * Taking a free name that nobody waits for is one statement.  Everything else
 * is decided by the rule of admission, over what the tables show:
 *
 *      take         free and no line: held, by one statement
 *       │ no
 *      decide       looks at holder and line, reading only; if it would have
 *       │           to write, again inside a transaction: bury the dead, hold,
 *       │           or join the line
 *       ▼
 *      BUSY         the one before us rings when it leaves, and we notice its
 *                   process's end; behind both we look again by ourselves
 *
 * A waiter who was rung but does not come (stopped, swapped out) keeps its
 * place and loses its turn: who has n others before it may hold what has been
 * free for n turns. */
#include "line.h"

#include <string.h>

#include "../../claim.h"
#include "../../err.h"
#include "clients.h"

enum { AGAIN = 2 }; /* beside HF_OK and HF_BUSY: wants a transaction */

#define TURN_US    INT64_C(2000000)
#define LOOK_AGAIN HF_SECOND

/* The name as it is held. */
typedef struct sight {
    bool held, kept;
    uint64_t owner, token;
    int64_t until, row;
    hf_peer by;
} sight;

/* Why a claim is refused. */
typedef struct refusal {
    hf_peer before; /* who is next before us; not .known: nobody to watch */
    bool ring;      /* the holder was dead: the first in line should know */
} refusal;

/* ---- taking ------------------------------------------------------------ */

/* `decided`: the line was looked at.  OK, or BUSY: somebody is before us. */
static int take(hf_embedded *s, hf_claim *c, bool decided, hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, HF_QUERY_take, c, decided, err);
    int64_t token, row;
    int rc;

    if (st == NULL)
        return err->code;
    sqlite3_bind_int64(st, 8, hf__world->wall_us());
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
    int rc = hf__db_begin(s->db, err);

    if (rc != HF_OK)
        return rc;
    rc = hf__clients_introduce(s, c, err);
    if (rc == HF_OK)
        rc = take(s, c, false, err);
    if (rc == HF_OK)
        rc = hf__db_end(s->db, rc, err);
    else
        hf__db_cancel(s->db);
    if (rc != HF_OK)
        c->place = 0;
    s->introduced = rc == HF_OK;
    return rc;
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
                      refusal *why, hf_error *err) {
    int rc;

    if (!seen->held || seen->kept || hf__wake_lives(s->wake, &seen->by))
        return HF_OK;
    if (!hf__db_writes(s->db))
        return AGAIN;
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
            return AGAIN;
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

    if (seen->held || s->now < seen->until + TURN_US)
        return 0;
    rc = hf__store_ask_number(s, HF_QUERY_count, c, ticket, &n, err);
    return rc < 0 ? rc : s->now >= seen->until + n * TURN_US;
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
    line[n] = (hf_entry){c->mode, c->permits, false, true};
    return hf__admit(line, n + 1, n, 0, 0).admitted;
}

static int hold(hf_embedded *s, hf_claim *c, hf_error *err) {
    int rc;

    if (!hf__db_writes(s->db))
        return AGAIN;
    rc = hf__clients_introduce(s, c, err);
    if (rc == HF_OK)
        rc = hf__store_run(s, HF_QUERY_leave, c, hf__place_ticket(c), err);
    return rc == HF_OK ? take(s, c, true, err) : rc;
}

static int join(hf_embedded *s, hf_claim *c, hf_error *err) {
    int64_t ticket = 0;
    int rc;

    if (!hf__db_writes(s->db))
        return AGAIN;
    rc = hf__clients_introduce(s, c, err);
    if (rc == HF_OK)
        rc = hf__store_ask_number(s, HF_QUERY_join, c, 0, &ticket, err);
    if (rc < 0)
        return rc;
    c->place = (uint64_t)ticket;
    return HF_BUSY;
}

static int extend(hf_embedded *s, hf_claim *c, const sight *seen,
                  hf_error *err) {
    if (!hf__db_writes(s->db))
        return AGAIN;
    c->token = seen->token;
    c->place = HF_PLACE_HOLDS | (uint64_t)seen->row;
    return hf__store_run_on_grant(s, HF_QUERY_renew, c, err);
}

/* Behind every bell we look again: when the lease ends at the latest, and
 * within a second, for bells can be lost. */
static hf_time look_again(const sight *seen) {
    hf_time soon = hf__now() + hf__jitter(LOOK_AGAIN);

    return seen->held ? hf__sooner(soon, seen->until * 1000) : soon;
}

/* By who is before us in the line, where we may have a place or not. */
static int decide_among(hf_embedded *s, hf_claim *c, bool waits,
                        const sight *seen, refusal *why, hf_error *err) {
    int64_t ticket = INT64_MAX;
    int placed, behind, late = 0;

    placed = hf__store_ask_number(s, HF_QUERY_place, c, hf__place_ticket(c),
                                  &ticket, err);
    if (placed < 0)
        return placed;
    behind = nearest(s, c, ticket, &why->before, err);
    if (behind == 1)
        late = all_late(s, c, ticket, seen, err);
    if (behind < 0 || behind == AGAIN)
        return behind;
    if (late < 0)
        return late;
    if (admitted(c, seen->held, behind && !late))
        return hold(s, c, err);
    if (!behind && !seen->kept)
        why->before = seen->by;
    c->ask_again = look_again(seen);
    return placed || !waits ? HF_BUSY : join(s, c, err);
}

/* Holds, joins the line or refuses.  AGAIN: would have to write. */
static int decide(hf_embedded *s, hf_claim *c, bool waits, refusal *why,
                  hf_error *err) {
    sight seen;
    int rc = look(s, c, &seen, err);

    memset(why, 0, sizeof *why);
    if (rc == HF_OK && is_ours(s, c, &seen))
        return extend(s, c, &seen, err);
    if (rc == HF_OK)
        rc = clear_dead(s, c, &seen, why, err);
    return rc == HF_OK ? decide_among(s, c, waits, &seen, why, err) : rc;
}

static int decide_for_good(hf_embedded *s, hf_claim *c, bool waits,
                           refusal *why, hf_error *err) {
    uint64_t place = c->place;
    int rc = hf__db_begin(s->db, err);

    if (rc != HF_OK)
        return rc;
    hf__store_tick(s); /* we may have waited for it */
    rc = hf__db_end(s->db, decide(s, c, waits, why, err), err);
    if (rc < 0)
        c->place = place;
    else if (rc == HF_OK || waits)
        s->introduced = true;
    return rc;
}

/* One question.  AGAIN: who was before us died as we looked. */
static int ask(hf_embedded *s, hf_claim *c, bool waits, hf_error *err) {
    bool must_write = waits && !hf__place_waits(c);
    refusal why;
    int rc = must_write ? AGAIN : decide(s, c, waits, &why, err);

    if (rc == AGAIN)
        rc = decide_for_good(s, c, waits, &why, err);
    if (rc != HF_BUSY)
        return rc;
    if (why.ring)
        hf__line_ring(s, c, NULL);
    if (why.before.known && !hf__wake_arm(s->wake, c, &why.before, 1))
        return AGAIN;
    return HF_BUSY;
}

int hf__line_attempt(hf_embedded *s, hf_claim *c, bool waits, hf_error *err) {
    int rc = hf__db_check_place(s->db, err);

    if (rc == HF_OK)
        rc = hf__wake_appear(s->wake, err);
    if (rc != HF_OK)
        return rc;
    if (c->place == 0) {
        rc = s->introduced ? take(s, c, false, err) :
                             introduce_and_take(s, c, err);
        if (rc != HF_BUSY)
            return rc;
    }
    for (int i = 0; i < 3; i++)
        if ((rc = ask(s, c, waits, err)) != AGAIN)
            return rc;
    c->ask_again = hf__now(); /* they die faster than we can look */
    return HF_BUSY;
}

/* ---- leaving ----------------------------------------------------------- */

void hf__line_ring(hf_embedded *s, const hf_claim *c, const char *client) {
    hf_error err;
    hf_peer head;

    if (client != NULL && hf__wake_ring(s->wake, client, c->kind, c->name, 0))
        return;
    while (hf__store_ask_peer(s, HF_QUERY_head, c, 0, &head, &err) > 0) {
        if (hf__wake_lives(s->wake, &head)) {
            hf__wake_ring(s->wake, head.client, c->kind, c->name, 0);
            return;
        }
        if (hf__clients_bury(s, c, &head, &err) != HF_OK)
            return; /* who is behind looks again by himself */
    }
}

/* If the name is free, those behind us may have waited for us. */
int hf__line_leave(hf_embedded *s, hf_claim *c, hf_error *err) {
    sight seen;
    int rc = hf__store_run(s, HF_QUERY_leave, c, hf__place_ticket(c), err);

    if (rc != HF_OK)
        return rc;
    c->place = 0;
    if (hf__db_changes(s->db) == 0)
        return hf__fail(err, HF_ELOST,
                        "%s is no longer held: its lease ended or somebody "
                        "took it away",
                        c->name);
    if (look(s, c, &seen, err) == HF_OK && !seen.held)
        hf__line_ring(s, c, NULL);
    return HF_OK;
}
