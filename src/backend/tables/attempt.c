/* SPDX-License-Identifier: MIT
 *
 * attempt.c - into a line and through it.
 *
 *      take      a lock that is free, and no line: held, by one statement
 *       │ no
 *      look      who stands in the line already, and was told something or
 *       │        nothing: decides by reading only
 *       │ would have to write
 *      turn      holds, or lines up
 *       ▼
 *      BUSY      who leaves gives us what we wait for, and tells us; behind
 *                that we look again by ourselves
 *
 * Who was given something while it waited finds itself holding: to ask is to
 * confirm, whichever of the three answers. */
#include "../../err.h"
#include "turn.h"

#define LOOK_AGAIN  (2 * HF_SECOND) /* a note can be lost… */
#define LOOK_LATER  (6 * HF_SECOND) /* …who is far back misses little */
#define POLL_FIRST  INT64_C(20000)  /* us, where none comes by itself… */
#define POLL_LAST   INT64_C(500000) /* …up to this */
#define PLACE_FRESH (HF_PLACE_US * 2 / 3)

/* ---- deciding ---------------------------------------------------------- */

typedef struct request {
    bool waits;
    hf_time asked;     /* before it left */
    int64_t ends;      /* us from then: when what keeps it out is over */
    int64_t waited_us; /* so far */
    int ahead;
    bool unmade; /* there is no such line yet */
} request;

static void hold(hf_turn *turn, hf_stander *row) {
    hf_claim *c = &turn->claim;
    bool crowded = false;

    for (size_t i = 0; i < turn->sight.n && !crowded; i++)
        crowded = turn->sight.rows[i].is == HF_WAITS;
    c->token = row->token;
    c->last_token = row->block > 0 ? row->token + (uint64_t)row->block : 0;
    c->place = hf__place_holding(crowded);
}

/* Who holds and asks again gets a fresh lease. */
static int extend(hf_turn *turn, hf_stander *row) {
    hf_sight *v = &turn->sight;
    hf_stander *place = hf__sight_wait(v, turn->t, turn->claim.owner);

    if (place)
        hf__sight_remove(v, place);
    hf__sight_set_until(v, row, v->now + turn->claim.lease_ms * HF_US_OF_MS,
                        false);
    hold(turn, row);
    return HF_OK;
}

static int grant(hf_turn *turn, hf_stander *row) {
    hf_claim *c = &turn->claim;
    hf_sight *v = &turn->sight;
    int tokens = c->kind == HF_LOCK && c->block > 1 ? c->block : 1;

    if (hf__tables_is_leased(c->kind)) {
        hf__sight_grant(v, row, tokens, c->lease_ms * HF_US_OF_MS);
        hold(turn, row);
        return HF_OK;
    }
    row->is = HF_AWAY;
    c->place = 0;
    if (c->kind == HF_SEMAPHORE) {
        v->number -= c->permits;
        v->changed = turn->remembers = true;
        turn->result = HF_OK;
    }
    return HF_OK;
}

/* A place is kept by asking.  Who was called, and comes too late, lets those
 * be called for whom there is room left. */
static int refuse(hf_turn *turn, hf_stander *row, request *r) {
    hf_sight *v = &turn->sight;
    int64_t end = hf__sight_first_end(v);

    r->ends = end == INT64_MAX ? end : end - v->now;
    if (v->partial && end == INT64_MAX)
        r->ends = 0; /* all that were in the sight are dead */
    if (row->is == HF_WAITS) {
        if (row->until - v->now < PLACE_FRESH)
            hf__sight_set_until(v, row, v->now + HF_PLACE_US, false);
        if (row->asked == HF_SEMAPHORE)
            v->freed = true;
    } else if (r->waits) {
        hf__sight_line_up(v, row);
    }
    if (row->is == HF_WAITS) {
        turn->claim.place = (uint64_t)row->ticket;
        r->waited_us = v->now - row->since;
    }
    r->ahead = hf__sight_ahead(v, row);
    return HF_BUSY;
}

static int decide(hf_turn *turn, void *arg, hf_error *err) {
    hf_claim *c = &turn->claim;
    hf_sight *v = &turn->sight;
    request *r = arg;
    const hf_stander *unseen;
    hf_stander *row;

    *r = (request){.waits = r->waits, .asked = r->asked, .ends = INT64_MAX};
    if (c->kind == HF_SEMAPHORE && turn->answered)
        return turn->result;
    row = hf__sight_hold(v, turn->t, c->owner);
    if (row)
        return extend(turn, row);
    row = hf__sight_wait(v, turn->t, c->owner);
    if (!row)
        row = hf__sight_enter(v, turn->t, c);
    if (!row)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    unseen = hf__sight_hold(v, turn->t, c->beside);
    return hf__sight_admits(v, row, unseen) ? grant(turn, row) :
                                              refuse(turn, row, r);
}

/* ---- one statement ----------------------------------------------------- */

/* The answer of `take`. */
static int read_take(hf_claim *c, const hf_rows *rows, request *r) {
    uint64_t block = (uint64_t)hf__tables_number(rows, 0, 2);

    r->unmade = rows->n == 0;
    if (r->unmade)
        return HF_AGAIN;
    if (hf__tables_number(rows, 0, 0)) {
        c->last_token = (uint64_t)hf__tables_number(rows, 0, 1);
        c->token = c->last_token - block;
        if (block == 0)
            c->last_token = 0;
        c->place = hf__place_holding(hf__tables_number(rows, 0, 4) > 0);
        return HF_OK;
    }
    r->ends = hf__tables_number(rows, 0, 3);
    return r->waits || r->ends <= 0 ? HF_AGAIN : HF_BUSY;
}

/* What it was given while it waited has a fresh lease; the view says which
 * token it is. */
static int read_given(const hf_tables *t, hf_claim *c, const hf_rows *renewal,
                      const hf_rows *view, hf_error *err) {
    hf_sight v = {.n = 0};
    const hf_stander *row;
    int rc;

    if (renewal->changed == 0)
        return HF_AGAIN;
    rc = hf__sight_read(&v, hf__tables_line_of(c->kind), view, err);
    row = rc == HF_OK ? hf__sight_hold(&v, t, c->owner) : NULL;
    if (row) {
        c->token = row->token;
        c->last_token = 0;
        c->place = hf__place_holding(v.waits > 0);
    }
    hf__sight_clear(&v);
    return rc != HF_OK ? rc : row ? HF_OK : HF_AGAIN;
}

/* The line as it stands, and nothing else. */
static int look_only(hf_tables *t, hf_claim *c, request *r, hf_time by,
                     hf_error *err) {
    hf_answers a = {0};
    hf_params p;
    hf_script s;
    int rc;

    hf__tables_params(&p, t, c);
    hf__script_init(&s, t->db);
    hf__script_add(&s, HF_SQL_view, &p);
    rc = hf__tables_ask(t, &s, &a, by, err);
    if (rc == HF_EDOUBT)
        rc = hf__fail(err, HF_EDOWN, "the database did not answer in time");
    if (rc == HF_OK)
        rc = hf__turn_dry(t, c, &a.all[0], NULL, decide, r, err);
    hf__answers_clear(&a);
    hf__script_clear(&s);
    return rc;
}

/* A lock that is free; or who waits, or looks at a latch.  HF_AGAIN: it takes a
 * turn.  Who waits for a lock and hears notes asks because it was given it: to
 * look at the line as well would cost more than to take it. */
static int ask_lightly(hf_tables *t, hf_claim *c, request *r, hf_time by,
                       hf_error *err) {
    bool lock = hf__tables_is_lock(c->kind);
    bool looks = hf__place_waits(c) || c->kind == HF_LATCH;
    bool writes = lock || hf__tables_is_leased(c->kind);
    bool views = looks && !(lock && t->db->ops->hears(t->db));
    size_t wrote = 0, view = 0;
    hf_answers a = {0};
    hf_params p;
    hf_script s;
    int rc;

    hf__tables_params(&p, t, c);
    hf__script_init(&s, t->db);
    if (writes)
        wrote = hf__script_add(&s, lock ? HF_SQL_take : HF_SQL_hold_renew, &p);
    if (views)
        view = hf__script_add(&s, HF_SQL_view, &p);
    rc = hf__tables_ask(t, &s, &a, by, err);
    if (rc == HF_EDOUBT && !writes)
        rc = hf__fail(err, HF_EDOWN, "the database did not answer in time");
    if (rc == HF_OK && lock)
        rc = read_take(c, &a.all[wrote], r);
    else if (rc == HF_OK)
        rc = writes ? read_given(t, c, &a.all[wrote], &a.all[view], err) :
                      HF_AGAIN;
    if (rc == HF_AGAIN && looks)
        rc = views ? hf__turn_dry(t, c, &a.all[view], NULL, decide, r, err) :
                     look_only(t, c, r, by, err);
    hf__answers_clear(&a);
    hf__script_clear(&s);
    return rc;
}

/* ---- one transaction --------------------------------------------------- */

/* In one round trip, where nobody waits.  A try that is refused locks nothing,
 * so that it keeps nobody out who renews or comes, and is told so by the view
 * that comes along. */
static int ask_shortly(hf_tables *t, hf_claim *c, request *r, hf_time by,
                       hf_error *err) {
    bool leased = hf__tables_is_leased(c->kind);
    hf_sql which = leased ? HF_SQL_hold_take : HF_SQL_number_add;
    size_t at, view, recall;
    hf_answers a = {0};
    hf_params p;
    hf_script s;
    int rc;

    if (!hf__tables_knows(t, which))
        return HF_AGAIN;
    hf__tables_params(&p, t, c);
    if (!leased) {
        hf_set(&p, value, -(int64_t)c->permits);
        hf_set(&p, least, 0);
        hf_set(&p, lease, HF_REMEMBERED_US);
    }
    hf__script_init(&s, t->db);
    hf__turn_short(&s, which, &p, true, &at, &view, &recall);
    rc = hf__tables_ask(t, &s, &a, by, err);
    if (rc == HF_OK && a.all[at].n > 0) {
        c->token = leased ? (uint64_t)hf__tables_number(&a.all[at], 0, 0) : 0;
        c->last_token = 0;
        c->place = leased ? hf__place_holding(false) : 0;
    } else if (rc == HF_OK) {
        rc = hf__turn_dry(t, c, &a.all[view], leased ? NULL : &a.all[recall],
                          decide, r, err);
    }
    hf__answers_clear(&a);
    hf__script_clear(&s);
    return rc;
}

/* A line that nobody made before.  HF_AGAIN: it takes a turn. */
static int ask_first(hf_tables *t, hf_claim *c, request *r, hf_time by,
                     hf_error *err) {
    hf_answers a = {0};
    hf_params p;
    hf_script s;
    int rc;

    hf__tables_params(&p, t, c);
    hf__script_init(&s, t->db);
    hf__script_add(&s, HF_SQL_take_first, &p);
    rc = hf__tables_ask(t, &s, &a, by, err);
    if (rc == HF_OK)
        rc = read_take(c, &a.all[0], r);
    hf__answers_clear(&a);
    hf__script_clear(&s);
    return rc;
}

/* ---- the verb ---------------------------------------------------------- */

/* When to ask again if nobody tells us: when what keeps us out ends, and now
 * and then; often, where nobody can tell us. */
static hf_time look_again(const hf_tables *t, const request *r) {
    int64_t poll = r->waited_us / 4;
    hf_time now = hf__now(), at;

    if (t->db->ops->hears(t->db)) {
        at = now + hf__jitter(hf__sooner(LOOK_AGAIN + 50 * HF_MS * r->ahead,
                                         LOOK_LATER));
    } else {
        poll = poll < POLL_FIRST ? POLL_FIRST : poll;
        poll = poll > POLL_LAST ? POLL_LAST : poll;
        at = now + hf__jitter(poll * 1000);
    }
    if (r->ends < INT64_MAX / 1000 - r->asked / 1000 - 1000)
        at = hf__sooner(at, r->asked + (r->ends + 1000) * 1000);
    return at;
}

/* A try is not polled for: it learns when the lease ends. */
static hf_time ask_again(const hf_tables *t, const request *r) {
    if (r->waits || r->ends >= INT64_MAX / 2000)
        return look_again(t, r);
    return r->asked + (r->ends > 0 ? r->ends : 0) * 1000;
}

/* What can be done without a turn; HF_AGAIN: it takes one. */
static int ask(hf_tables *t, hf_claim *c, request *r, hf_time by,
               hf_error *err) {
    if (hf__tables_is_lock(c->kind) || hf__place_waits(c) ||
        c->kind == HF_LATCH)
        return ask_lightly(t, c, r, by, err);
    return ask_shortly(t, c, r, by, err);
}

int hf__tables_attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                       hf_error *err) {
    hf_tables *t = (hf_tables *)be;
    request r = {.waits = waits && c->kind != HF_SPIN,
                 .asked = hf__now(),
                 .ends = INT64_MAX};
    int rc = ask(t, c, &r, by, err);

    if (rc == HF_AGAIN && r.unmade) {
        r.asked = hf__now();
        rc = ask_first(t, c, &r, by, err);
    }
    if (rc == HF_AGAIN) {
        r.asked = hf__now();
        rc = hf__turn(t, c, decide, &r, by, err);
    }
    if (rc != HF_BUSY)
        return rc;
    c->ask_again = ask_again(t, &r);
    if (r.waits)
        hf__tables_refused(t, c, r.ahead);
    return HF_BUSY;
}
