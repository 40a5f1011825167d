/* SPDX-License-Identifier: MIT
 *
 * number.c - what a semaphore or a latch counts with.
 *
 * Read, computed, and written if nobody else wrote meanwhile; otherwise again.
 * What changes the number is remembered beside it by its nonce, in the same
 * write, so that it counts once however often it is asked for.  What changes
 * nothing is not written and not remembered.
 *
 * The number is of all permits, the leased ones among them; nobody's are what
 * is left of it. */
#include <stdlib.h>
#include <string.h>

#include "../../err.h"
#include "store.h"

/* One request about a number. */
typedef struct sum {
    hf_line_store *store;
    hf_line line;
    const unsigned char *nonce;
    hf_time by;
    hf_error *err;
    hf_number_state state; /* as it was read, then as it shall be */
    int64_t leased;
    bool changed; /* it is to be written */
} sum;

static sum sum_of(hf_line_store *s, const hf_claim *c, hf_time by,
                  hf_error *err) {
    return (sum){.store = s,
                 .line = hf__line_of(c->kind, c->name),
                 .nonce = c->nonce,
                 .by = by,
                 .err = err};
}

/* ---- reading ----------------------------------------------------------- */

/* What was leased out of a number goes with it. */
static int take_leases(hf_line_store *s, const hf_line *line, hf_time by,
                       hf_error *err) {
    hf_port *port = s->port;
    hf_lineup all = {0};
    int rc = port->ops->look(port, line, false, &all, by, err);

    for (size_t i = 0; rc == HF_OK && i < all.n; i++) {
        hf_wish w = {
            .line = *line, .kind = HF_PERMIT, .permits = all.all[i].permits};

        rc = port->ops->leave(port, &w, all.all[i].key, by, err);
        rc = rc == HF_EFREE ? HF_OK : rc;
    }
    hf__lineup_clear(&all);
    return rc;
}

int hf__count_read(hf_line_store *s, const hf_line *line,
                   hf_number_state *state, int64_t *leased, hf_time by,
                   hf_error *err) {
    int rc = s->port->ops->read(s->port, line, state, leased, by, err);

    if (rc != HF_OK)
        return rc;
    if (line->kind == HF_LATCH && state->number <= 0)
        state->is_set = false; /* it is open, and can be set again */
    if (!state->is_set)
        state->number = 0;
    if (state->is_set || *leased == 0)
        return HF_OK;
    rc = take_leases(s, line, by, err);
    *leased = 0;
    return rc;
}

static int read_number(sum *u) {
    u->state = (hf_number_state){.gone_at = HF_NEVER};
    u->leased = 0;
    u->changed = false;
    return hf__count_read(u->store, &u->line, &u->state, &u->leased, u->by,
                          u->err);
}

/* ---- answers ----------------------------------------------------------- */

static hf_answered *recall(sum *u) {
    for (size_t i = 0; i < u->state.n_answers; i++)
        if (memcmp(u->state.answers[i].nonce, u->nonce, 16) == 0)
            return &u->state.answers[i];
    return NULL;
}

/* Room for one, in place of the oldest. */
static hf_answered *remember(sum *u) {
    hf_number_state *st = &u->state;
    hf_answered *a;

    if (st->n_answers == HF_ANSWERS) {
        memmove(st->answers, st->answers + 1,
                (HF_ANSWERS - 1) * sizeof *st->answers);
        st->n_answers--;
    }
    a = &st->answers[st->n_answers++];
    *a = (hf_answered){.result = HF_BUSY};
    memcpy(a->nonce, u->nonce, sizeof a->nonce);
    return a;
}

/* ---- the loop ---------------------------------------------------------- */

/* Computes the result, and says by `changed` whether the state is to be
 * written. */
typedef int compute_fn(sum *u, void *arg);

static int too_many(const sum *u) {
    return hf__fail(u->err, HF_ECROWDED,
                    "\"%.128s\": others were always faster to write",
                    u->line.name);
}

/* Somebody else was first: not in step with him. */
static void stand_back(sum *u, int turn) {
    pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    int ms = turn < 5 ? 1 << turn : 32;
    hf_time at = hf__sooner(u->by, hf__now() + hf__jitter(ms * HF_MS));

    pthread_mutex_lock(&mu);
    while (hf__now() < at)
        hf__world->wait(&cond, &mu, at);
    pthread_mutex_unlock(&mu);
}

static int change(sum *u, compute_fn *compute, void *arg) {
    hf_port *port = u->store->port;
    int rc, wrote;

    for (int turn = 0;; turn++) {
        if (turn > 1)
            stand_back(u, turn - 2);
        rc = read_number(u);
        if (rc != HF_OK)
            return rc;
        rc = compute(u, arg);
        if (rc < 0 || !u->changed)
            return rc;
        wrote = port->ops->write(port, &u->line, &u->state, u->by, u->err);
        if (wrote != HF_BUSY)
            return wrote < 0 ? wrote : rc;
        if (hf__now() >= u->by)
            return too_many(u);
    }
}

/* ---- taking and waiting ------------------------------------------------ */

static int take(sum *u, void *arg) {
    const hf_claim *c = arg;
    const hf_answered *before = recall(u);

    if (before)
        return before->result;
    if (!u->state.is_set || u->state.number - u->leased < c->permits)
        return HF_BUSY;
    u->state.number -= c->permits;
    remember(u)->result = HF_OK;
    u->changed = true;
    return HF_OK;
}

static int zero(sum *u, void *arg) {
    (void)arg;
    return u->state.is_set ? HF_BUSY : HF_OK;
}

/* Busy: who listens is told of the next change, or that there was one. */
static int ask(hf_line_store *s, hf_claim *c, compute_fn *compute, hf_time by,
               hf_error *err) {
    sum u = sum_of(s, c, by, err);
    int rc, heard;

    do {
        rc = change(&u, compute, c);
        if (rc != HF_BUSY)
            return rc;
        c->ask_again = hf__now() + HF_LINE_AGAIN;
        heard = hf__line_listen(s, c, NULL, u.state.as_of, by);
    } while (heard == HF_BUSY && hf__now() < by);
    if (heard < 0)
        c->ask_again = hf__now() + HF_LINE_POLL;
    else if (heard == HF_BUSY)
        c->ask_again = hf__now();
    return HF_BUSY;
}

int hf__count_take(hf_line_store *s, hf_claim *c, hf_time by, hf_error *err) {
    int rc = ask(s, c, take, by, err);

    if (rc == HF_EDOUBT)
        c->place = 1;
    return rc;
}

int hf__count_zero(hf_line_store *s, hf_claim *c, hf_time by, hf_error *err) {
    return ask(s, c, zero, by, err);
}

/* The permits come back, once; should the attempt arrive only now, it gets
 * nothing. */
static int undo(sum *u, void *arg) {
    const hf_claim *c = arg;
    hf_answered *a = recall(u);
    bool granted = a && a->result == HF_OK;

    if (a && !granted)
        return HF_EFREE;
    if (!a)
        a = remember(u);
    a->result = HF_BUSY;
    if (granted && u->state.is_set)
        u->state.number += c->permits;
    u->changed = true;
    return granted ? HF_OK : HF_BUSY;
}

int hf__count_undo(hf_line_store *s, const hf_claim *c, hf_time by,
                   hf_error *err) {
    sum u = sum_of(s, c, by, err);
    int rc = change(&u, undo, (void *)c);

    if (rc == HF_EFREE || rc == HF_BUSY)
        return hf__fail(err, HF_ELOST, "nothing of \"%.128s\" was taken",
                        c->name);
    return rc;
}

/* ---- count ------------------------------------------------------------- */

typedef struct operation {
    const hf_claim *claim;
    hf_count_op op;
    int64_t given, value;
} operation;

static void set(sum *u, int64_t number) {
    if (!u->state.is_set)
        u->state.gone_at = HF_NEVER;
    u->state.is_set = true;
    u->state.number = number;
    u->changed = true;
}

static void unset(sum *u) {
    u->state.is_set = false;
    u->state.number = 0;
    u->changed = true;
}

static int set_first(sum *u, const operation *o) {
    if (u->state.is_set)
        return HF_BUSY;
    set(u, o->given);
    if (o->claim->lease_ms)
        u->state.gone_at = hf__after_ms(o->claim->lease_ms);
    return HF_OK;
}

static int add(sum *u, int64_t more) {
    int64_t number;

    if (__builtin_add_overflow(u->state.number, more, &number))
        return hf__fail(u->err, HF_EUSAGE,
                        "\"%.128s\" would be more than can be counted",
                        u->line.name);
    set(u, number);
    return HF_OK;
}

static int drain(sum *u, operation *o) {
    o->value = u->state.number - u->leased;
    if (o->value <= 0)
        o->value = 0;
    else
        set(u, u->state.number - o->value);
    return HF_OK;
}

static int count_down(sum *u) {
    if (u->state.is_set && u->state.number <= 1)
        unset(u);
    else if (u->state.is_set)
        set(u, u->state.number - 1);
    return HF_OK;
}

static int forget(sum *u) {
    if (!u->state.is_set)
        return HF_EFREE;
    unset(u);
    return HF_OK;
}

static int perform(sum *u, operation *o) {
    switch (o->op) {
    case HF_COUNT_SET:
        return set_first(u, o);
    case HF_COUNT_RESIZE:
        set(u, o->given);
        return HF_OK;
    case HF_COUNT_ADD:
    case HF_COUNT_GIVE:
        return add(u, o->given);
    case HF_COUNT_GIVE_IF_SET:
        return u->state.is_set ? add(u, o->given) : HF_EFREE;
    case HF_COUNT_DRAIN:
        return drain(u, o);
    case HF_COUNT_DOWN:
        return count_down(u);
    case HF_COUNT_DELETE:
        return forget(u);
    case HF_COUNT_LEASED:
        o->value = u->leased;
        return HF_OK;
    default:
        return HF_OK;
    }
}

/* Once per nonce. */
static int count_once(sum *u, void *arg) {
    operation *o = arg;
    hf_answered *before = recall(u), *a;
    int rc;

    if (before) {
        o->value = before->value;
        return before->result;
    }
    rc = perform(u, o);
    if (o->op != HF_COUNT_DRAIN && o->op != HF_COUNT_LEASED)
        o->value = u->state.number - u->leased;
    if (rc == HF_OK && u->changed) {
        a = remember(u);
        a->result = rc;
        a->value = o->value;
    }
    return rc;
}

int hf__lines_count(hf_backend *be, hf_claim *c, hf_count_op op, int64_t *value,
                    hf_time by, hf_error *err) {
    hf_line_store *s = hf__line_store(be);
    operation o = {.claim = c, .op = op, .given = *value};
    sum u = sum_of(s, c, by, err);
    int rc = s->port->ops->check_name(s->port, &u.line, err);

    if (rc != HF_OK)
        return rc;
    if (op == HF_COUNT_TOKEN)
        return hf__line_token(s, c, value, by, err);
    rc = change(&u, count_once, &o);
    if (rc == HF_OK && !u.state.is_set && u.leased > 0)
        rc = take_leases(s, &u.line, by, err);
    if (rc >= 0)
        *value = o.value;
    else if (rc == HF_EFREE)
        hf__fail_plain(err, rc);
    return rc;
}
