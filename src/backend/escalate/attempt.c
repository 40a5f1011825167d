/* SPDX-License-Identifier: MIT
 *
 * attempt.c - asking the store in which the name lives, and listening to it. */
#include <string.h>

#include "../../err.h"
#include "escalate.h"

enum {
    LOOK_MS = 200 /* the longest sleep of who waits for a gate to be empty */
};

static uint64_t token_of(uint64_t epoch, uint64_t token) {
    return epoch << HF_TOKEN_BITS | token;
}

static bool fits(const hf_claim *c) {
    uint64_t end = UINT64_C(1) << HF_TOKEN_BITS;

    return c->token < end && c->last_token < end;
}

/* A grant counts if we are active in its epoch when the answer is there.
 * HF_ELOST: it does not. */
static int register_hold(hf_passage *p, hf_twin *t, hf_claim *c,
                         const hf_claim *answer, uint64_t epoch, hf_time began,
                         hf_time asked) {
    int side = (int)(epoch & 1);
    bool again =
        t->held && t->c[side].token == answer->token && t->tenure == p->tenure;

    hf__twin_stands(t, side, asked, answer);
    if (p->epoch != epoch || p->phase != HF_ACTIVE)
        return HF_ELOST;
    t->held = true;
    t->lives = side;
    t->tenure = p->tenure;
    if (!again) {
        t->token = token_of(epoch, answer->token);
        t->last_token =
            answer->last_token ? token_of(epoch, answer->last_token) : 0;
    }
    c->token = t->token;
    c->last_token = t->last_token;
    c->rivals = answer->rivals;
    return hf__twin_tell(p, t, c, began);
}

/* One question to the store of the epoch. */
typedef struct question {
    hf_escalate *w;
    hf_passage *p;
    hf_claim *c;
    bool waits;
    hf_time began, by;
} question;

/* The epoch that we are active in, and the claim for its store. */
static int prepare(const question *q, uint64_t *epoch, hf_claim *c,
                   hf_error *err) {
    hf_passage *p = q->p;
    hf_twin *t;

    pthread_mutex_lock(&p->mu);
    *epoch = p->epoch;
    t = hf__twin_make(p, q->c->owner);
    if (t) {
        *c = hf__twin_claim(p, t, (int)(*epoch & 1), q->c);
        t->epoch = *epoch;
        t->stands[*epoch & 1] = true;
        t->c[*epoch & 1] = *c;
    }
    pthread_mutex_unlock(&p->mu);
    if (!t)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    q->c->place = 1; /* so that we hear of its end */
    return HF_OK;
}

/* A place in the other store is of no use any more. */
static void leave_other(const question *q, uint64_t epoch) {
    int other = (int)((epoch + 1) & 1);

    pthread_mutex_lock(&q->p->mu);
    hf_twin *t = hf__twin_of(q->p, q->c->owner);
    bool useless = t && t->stands[other] && !t->held;
    pthread_mutex_unlock(&q->p->mu);
    if (useless)
        hf__twin_leave(q->w, q->p, q->c->owner, other, q->by);
}

/* Who listens to one store must listen to the other when the name has gone
 * there.  true: it does so now, and should look at once. */
static bool listen_there(const question *q, hf_backend *be, uint64_t epoch) {
    int side = (int)(epoch & 1);
    hf_claim c = {0};
    hf_error err;
    bool wanted, done;

    pthread_mutex_lock(&q->p->mu);
    hf_twin *t = hf__twin_of(q->p, q->c->owner);
    wanted = t && t->watching && !t->watched[side];
    if (wanted)
        c = hf__twin_claim(q->p, t, side, q->c);
    pthread_mutex_unlock(&q->p->mu);
    done = wanted && be->ops->watch(be, &c, true, q->by, &err) == HF_OK;
    if (!done)
        return false;
    pthread_mutex_lock(&q->p->mu);
    t = hf__twin_of(q->p, q->c->owner);
    if (t)
        t->watched[side] = true;
    pthread_mutex_unlock(&q->p->mu);
    return true;
}

/* What the answer means here.  HF_ELOST: it came for nothing; ask again. */
static int weigh(const question *q, int rc, uint64_t epoch, hf_time asked,
                 hf_claim *answer, hf_error *err) {
    hf_passage *p = q->p;
    int side = (int)(epoch & 1);

    pthread_mutex_lock(&p->mu);
    hf_twin *t = hf__twin_of(p, q->c->owner);
    if (side == HF_SIDE_FIRST && hf__is_trouble(rc))
        hf__first_fails(p, q->w->after, rc);
    else if (side == HF_SIDE_FIRST && rc >= 0)
        hf__first_answers(p);
    if (!t) {
        rc = hf__fail_plain(err, HF_EDOUBT);
    } else if (rc == HF_OK && !fits(answer)) {
        t->c[side] = *answer;
        rc = hf__fail(err, HF_ESTORE,
                      "the token of '%s' is too large to be put behind an "
                      "epoch",
                      p->name);
    } else if (rc == HF_OK) {
        rc = register_hold(p, t, q->c, answer, epoch, q->began, asked);
    } else {
        t->stands[side] = answer->place || t->held || rc == HF_EDOUBT;
        t->c[side] = *answer; /* what has to leave, should it come to that */
        q->c->ask_again =
            hf__sooner(answer->ask_again, hf__now() + q->w->permission / 3);
    }
    pthread_mutex_unlock(&p->mu);
    return rc;
}

static int ask(const question *q, hf_error *err) {
    hf_claim c;
    hf_backend *be = NULL;
    uint64_t epoch;
    hf_time asked, by;
    int rc = prepare(q, &epoch, &c, err);

    if (rc != HF_OK)
        return rc;
    leave_other(q, epoch);
    /* A later answer would be worth nothing. */
    by = hf__sooner(q->by, hf__now() + q->w->permission);
    rc = hf__side_open(hf__side_of(q->w, epoch), &be, by, err);
    asked = hf__now();
    c.ask_again = HF_NEVER;
    if (rc == HF_OK)
        rc = be->ops->attempt(be, &c, q->waits, by, err);
    rc = weigh(q, rc, epoch, asked, &c, err);
    if (rc == HF_ELOST)
        hf__twin_leave(q->w, q->p, q->c->owner, (int)(epoch & 1), q->by);
    else if (rc == HF_BUSY && listen_there(q, be, epoch))
        q->c->ask_again = hf__now();
    return rc;
}

static int on_the_way(const question *q, hf_error *err) {
    hf_time look = q->w->permission / 8;

    look = hf__sooner(look, LOOK_MS * HF_MS);
    q->c->ask_again = hf__now() + hf__jitter(look);
    q->c->place = 1;
    if (q->waits)
        return HF_BUSY;
    return hf__fail(err, HF_EDOWN,
                    "'%s' is on its way between two stores: ask again in a "
                    "moment",
                    q->p->name);
}

int hf__escalate_attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                         hf_error *err) {
    hf_escalate *w = hf__whole_of(be);
    question q = {.w = w, .c = c, .waits = waits, .began = hf__now(), .by = by};
    int rc = hf__passage_of(w, &q.p, c->name, err);

    if (rc != HF_OK)
        return rc;
    do {
        rc = hf__pass(w, q.p, by, err);
        if (rc == HF_OK)
            rc = ask(&q, err);
        else if (rc == HF_BUSY)
            rc = on_the_way(&q, err);
    } while (rc == HF_ELOST && hf__now() < by);
    if (rc == HF_ELOST)
        rc = on_the_way(&q, err);
    hf__passage_put(w, q.p);
    return rc;
}

int hf__escalate_watch(hf_backend *be, const hf_claim *c, bool on, hf_time by,
                       hf_error *err) {
    hf_escalate *w = hf__whole_of(be);
    bool was[HF_SIDES] = {false};
    hf_claim inner[HF_SIDES] = {{0}};
    hf_passage *p;
    hf_backend *there;
    int side = 0, rc = hf__passage_of(w, &p, c->name, err);

    if (rc != HF_OK)
        return rc;
    pthread_mutex_lock(&p->mu);
    hf_twin *t = on ? hf__twin_make(p, c->owner) : hf__twin_of(p, c->owner);
    if (t) {
        side = (int)(p->epoch & 1);
        memcpy(was, t->watched, sizeof was);
        for (int i = 0; i < HF_SIDES; i++)
            inner[i] = hf__twin_claim(p, t, i, c);
        t->watching = t->watched[side] = on;
        if (!on)
            memset(t->watched, 0, sizeof t->watched);
    }
    pthread_mutex_unlock(&p->mu);
    if (!t)
        rc = on ? hf__fail_plain(err, HF_ENO_MEMORY) : HF_OK;
    else if (on && !was[side]) {
        rc = hf__side_open(&w->side[side], &there, by, err);
        if (rc == HF_OK)
            rc = there->ops->watch(there, &inner[side], true, by, err);
        if (rc != HF_OK) {
            pthread_mutex_lock(&p->mu);
            if ((t = hf__twin_of(p, c->owner)))
                t->watching = t->watched[side] = false;
            pthread_mutex_unlock(&p->mu);
        }
    }
    for (int i = 0; i < HF_SIDES && !on; i++)
        if (was[i] && (there = atomic_load(&w->side[i].be)))
            there->ops->watch(there, &inner[i], false, by, err);
    hf__passage_put(w, p);
    return rc;
}
