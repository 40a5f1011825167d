/* SPDX-License-Identifier: MIT
 *
 * numbers.c - semaphores and latches: numbers in the row of their line.
 *
 * What changes a number is one turn with the answer that is remembered by the
 * request's nonce, so that it counts once however often it is asked for. */
#include "../../err.h"
#include "turn.h"

/* ---- permits that come back -------------------------------------------- */

/* Also should the attempt arrive only now: then it gets nothing. */
static int give_back(hf_turn *turn, void *arg, hf_error *err) {
    hf_claim *c = &turn->claim;
    hf_sight *v = &turn->sight;
    hf_stander *place = hf__sight_wait(v, turn->t, c->owner);
    bool granted = turn->answered && turn->result == HF_OK;

    (void)arg;
    c->place = 0;
    if (place)
        hf__sight_remove(v, place);
    if (granted && v->is_set) {
        v->number += c->permits;
        v->changed = v->freed = true;
    }
    turn->remembers = !turn->answered || granted;
    turn->result = HF_BUSY;
    turn->value = 0;
    return granted ?
               HF_OK :
               hf__fail(err, HF_ELOST, "nothing was taken from %s", c->name);
}

int hf__tables_undo(hf_tables *t, hf_claim *c, hf_time by, hf_error *err) {
    return hf__turn(t, c, give_back, NULL, by, err);
}

/* ---- changing ---------------------------------------------------------- */

typedef struct change {
    hf_count_op op;
    int64_t value; /* what to do it with, and what came of it */
    int64_t given; /* the first, should it be done again */
} change;

static void set(hf_sight *v, int64_t number) {
    if (!v->is_set)
        v->gone_at = INT64_MAX;
    v->is_set = true;
    v->number = number;
    v->changed = v->freed = true;
}

static int set_first(hf_sight *v, const hf_claim *c, int64_t number) {
    if (v->is_set)
        return HF_BUSY;
    set(v, number);
    if (c->lease_ms > 0)
        v->gone_at = v->now + c->lease_ms * HF_US_OF_MS;
    return HF_OK;
}

static int give_if_set(hf_sight *v, int64_t n) {
    if (!v->is_set)
        return HF_EFREE;
    set(v, v->number + n);
    return HF_OK;
}

/* How many that are, and they are gone. */
static int64_t drain(hf_sight *v) {
    int64_t taken = v->number - hf__sight_leased_out(v);

    if (taken < 0)
        return 0;
    v->number -= taken;
    v->changed = true;
    return taken;
}

static void count_down(hf_sight *v) {
    if (v->is_set && v->number <= 1)
        hf__sight_unset(v);
    else if (v->is_set)
        set(v, v->number - 1);
}

static int forget(hf_sight *v) {
    if (!v->is_set)
        return HF_EFREE;
    hf__sight_unset(v);
    return HF_OK;
}

/* The answer, and in *value what goes with it. */
static int perform(hf_sight *v, const hf_claim *c, hf_count_op op,
                   int64_t *value) {
    int result = HF_OK;

    switch (op) {
    case HF_COUNT_SET:
        result = set_first(v, c, *value);
        break;
    case HF_COUNT_RESIZE:
        set(v, *value);
        break;
    case HF_COUNT_ADD:
    case HF_COUNT_GIVE:
        set(v, v->number + *value);
        break;
    case HF_COUNT_GIVE_IF_SET:
        result = give_if_set(v, *value);
        break;
    case HF_COUNT_DRAIN:
        *value = drain(v);
        return HF_OK;
    case HF_COUNT_DOWN:
        count_down(v);
        break;
    default:
        result = forget(v);
    }
    *value = v->number - hf__sight_leased_out(v);
    return result;
}

/* Once per nonce. */
static int decide(hf_turn *turn, void *arg, hf_error *err) {
    change *ch = arg;

    ch->value = ch->given;
    if (!turn->answered) {
        turn->result = perform(&turn->sight, &turn->claim, ch->op, &ch->value);
        turn->value = ch->value;
        turn->remembers = true;
    }
    ch->value = turn->value;
    return turn->result < 0 ?
               hf__fail(err, turn->result, "%s is not set", turn->claim.name) :
               turn->result;
}

/* In one round trip, what no waiter has to hear of.  HF_AGAIN: it takes a
 * turn. */
static int change_shortly(hf_tables *t, hf_claim *c, hf_count_op op,
                          int64_t *value, hf_time by, hf_error *err) {
    bool down = op == HF_COUNT_DOWN;
    size_t at, view, recall;
    hf_answers a = {0};
    hf_params p;
    hf_script s;
    int rc;

    if ((!down && op != HF_COUNT_GIVE && op != HF_COUNT_GIVE_IF_SET) ||
        !hf__tables_knows(t, HF_SQL_number_add))
        return HF_AGAIN;
    hf__tables_params(&p, t, c);
    hf_set(&p, value, down ? -1 : *value);
    hf_set(&p, least, down ? 1 : INT64_MIN / 2);
    hf_set(&p, lease, HF_REMEMBERED_US);
    hf__script_init(&s, t->db);
    hf__turn_short(&s, HF_SQL_number_add, &p, false, &at, &view, &recall);
    rc = hf__tables_ask(t, &s, &a, by, err);
    if (rc == HF_OK && a.all[at].n == 0)
        rc = HF_AGAIN;
    else if (rc == HF_OK)
        *value = hf__tables_number(&a.all[at], 0, 0);
    hf__answers_clear(&a);
    hf__script_clear(&s);
    return rc;
}

/* ---- asking ------------------------------------------------------------ */

static int64_t told(const hf_sight *v, hf_count_op op) {
    int64_t leased = hf__sight_leased_out(v);

    return op == HF_COUNT_TOKEN  ? (int64_t)v->token :
           op == HF_COUNT_LEASED ? leased :
                                   v->number - leased;
}

static int look(hf_tables *t, const hf_claim *c, hf_count_op op, int64_t *value,
                hf_time by, hf_error *err) {
    hf_sight v = {.n = 0};
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
        rc = hf__sight_read(&v, hf__tables_line_of(c->kind), &a.all[0], err);
    if (rc == HF_OK)
        *value = told(&v, op);
    hf__sight_clear(&v);
    hf__answers_clear(&a);
    hf__script_clear(&s);
    return rc;
}

int hf__tables_count(hf_backend *be, hf_claim *c, hf_count_op op,
                     int64_t *value, hf_time by, hf_error *err) {
    hf_tables *t = (hf_tables *)be;
    change ch = {.op = op, .given = *value};
    int rc;

    if (op == HF_COUNT_FREE || op == HF_COUNT_LEASED || op == HF_COUNT_TOKEN)
        return look(t, c, op, value, by, err);
    rc = change_shortly(t, c, op, value, by, err);
    if (rc != HF_AGAIN)
        return rc;
    rc = hf__turn(t, c, decide, &ch, by, err);
    if (rc >= 0 || rc == HF_EFREE)
        *value = ch.value;
    return rc;
}
