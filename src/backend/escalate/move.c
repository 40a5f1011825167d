/* SPDX-License-Identifier: MIT
 *
 * move.c - from epoch to epoch, with what is held.
 *
 * The order is the promise.  A hold takes the lock of the other store while it
 * is a hold of this epoch, so nobody of the next epoch can have it.  Then it
 * takes the permission of the next epoch, then it drops that of this one: from
 * here on its own deadline in the store that it leaves is all it has, until
 * nobody is left in this epoch and it holds in the next.  A waiter has nothing
 * to carry and just goes.
 *
 * All of this runs on the turn of the passage; the passage's mu is for what
 * others read. */
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "escalate.h"

enum {
    MORE = HF_BUSY + 1,
    STEPS = 16,
    PROBE_MS = 1000 /* how often a first store that fails is asked again */
};

static bool is_first(uint64_t epoch) {
    return (epoch & 1) == HF_SIDE_FIRST;
}

static hf_time trusted_until(hf_time asked, hf_time lease) {
    return asked + lease - lease / 100 - 2 * HF_MS;
}

/* ---- the first store's health (mu) ------------------------------------- */

bool hf__is_trouble(int rc) {
    switch (hf_error_class(rc)) {
    case HF_CLASS_DOUBT:
        return true;
    case HF_CLASS_NOT_DONE:
        return rc != HF_ETIMEOUT && rc != HF_ECANCELLED && rc != HF_ENO_MEMORY;
    default:
        return false;
    }
}

/* Two failures with nothing in between do not make a long one. */
void hf__first_fails(hf_passage *p, hf_time after, int code) {
    hf_time now = hf__now();

    if (!p->down_since || now - p->down_last > 2 * after + 5 * HF_SECOND)
        p->down_since = now;
    p->down_last = now;
    p->down_code = code;
}

void hf__first_answers(hf_passage *p) {
    p->down_since = 0;
}

/* ---- phases ------------------------------------------------------------ */

static void set_phase(hf_passage *p, hf_phase phase) {
    pthread_mutex_lock(&p->mu);
    p->phase = phase;
    pthread_mutex_unlock(&p->mu);
}

/* The permission is over, and what was held under it. */
static void fall_out(hf_passage *p) {
    pthread_mutex_lock(&p->mu);
    p->phase = HF_OUTSIDE;
    p->tenure++;
    p->until = 0;
    pthread_mutex_unlock(&p->mu);
}

/* The holds that are worth carrying on, or none. */
static hf_twin *next_hold(const hf_passage *p, hf_twin *t) {
    for (t = t ? t->next : p->twins; t; t = t->next)
        if (t->held && hf__now() < hf__twin_until(p, t))
            return t;
    return NULL;
}

static bool has_holds(hf_passage *p) {
    pthread_mutex_lock(&p->mu);
    bool has = next_hold(p, NULL) != NULL;
    pthread_mutex_unlock(&p->mu);
    return has;
}

/* To be told when the turn is over: a callback may want it. */
static void note_moving(hf_passage *p, int why) {
    pthread_mutex_lock(&p->mu);
    p->news = (hf_news){.moving = true, .to = p->epoch + 1, .why = why};
    pthread_mutex_unlock(&p->mu);
}

/* ---- OUTSIDE ----------------------------------------------------------- */

/* Closed, looked at after the permission was there: the order decides. */
static int look_in(hf_escalate *w, hf_passage *p, hf_time asked, hf_time by,
                   hf_error *err) {
    int closed = hf__gate_is_closed(w, p, p->epoch, by, err);

    if (closed < 0)
        return closed;
    if (closed) {
        hf__gate_leave(w, &p->gate, &p->gate_name, by);
        p->found = false;
        return HF_OK;
    }
    pthread_mutex_lock(&p->mu);
    p->until = trusted_until(asked, w->permission);
    p->refreshed = asked;
    p->tenure++;
    p->phase = p->epoch ? HF_ENTERING : HF_ACTIVE;
    pthread_mutex_unlock(&p->mu);
    return HF_OK;
}

static int find(hf_escalate *w, hf_passage *p, hf_time by, hf_error *err) {
    uint64_t epoch;
    int rc = hf__gate_find(w, p, &epoch, by, err);

    if (rc != HF_OK)
        return rc;
    if (epoch > HF_LAST_EPOCH)
        return hf__fail(err, HF_ESTORE, "'%s' has no more epochs", p->name);
    if (epoch != p->epoch)
        hf__gate_leave(w, &p->gate, &p->gate_name, by);
    pthread_mutex_lock(&p->mu);
    p->epoch = epoch;
    p->found = true;
    pthread_mutex_unlock(&p->mu);
    return HF_OK;
}

static int go_in(hf_escalate *w, hf_passage *p, hf_time by, hf_error *err) {
    hf_time asked;
    int rc = p->found ? HF_OK : find(w, p, by, err);

    if (rc != HF_OK)
        return rc;
    asked = hf__now();
    rc = hf__gate_enter(w, p, p->epoch, &p->gate, &p->gate_name, by, err);
    return rc == HF_OK ? look_in(w, p, asked, by, err) : rc;
}

/* ---- a permission that is kept ----------------------------------------- */

/* *closed: it was seen that the epoch is over. */
static int refresh(hf_escalate *w, hf_passage *p, bool *closed, hf_time by,
                   hf_error *err) {
    hf_time asked = hf__now();
    int rc;

    *closed = false;
    if (asked - p->refreshed < w->permission / 3)
        return HF_OK;
    rc = hf__gate_renew(w, &p->gate, by, err);
    if (rc == HF_ELOST) {
        hf__gate_leave(w, &p->gate, &p->gate_name, by);
        fall_out(p);
        return HF_OK;
    }
    if (rc != HF_OK)
        return rc;
    pthread_mutex_lock(&p->mu);
    p->until = trusted_until(asked, w->permission);
    p->refreshed = asked;
    pthread_mutex_unlock(&p->mu);
    rc = hf__gate_is_closed(w, p, p->epoch, by, err);
    *closed = rc == 1;
    return rc < 0 ? rc : HF_OK;
}

/* ---- ENTERING ---------------------------------------------------------- */

/* Nobody is left in the epoch before.  Holds that came with us are holds of
 * this one, if their time in the other store has lasted. */
static void arrive(hf_passage *p) {
    int side = (int)(p->epoch & 1);
    bool moved = false;

    pthread_mutex_lock(&p->mu);
    for (hf_twin *t = next_hold(p, NULL); t; t = next_hold(p, t)) {
        moved = moved || t->lives != side;
        t->lives = side;
        t->until[1 - side] = 0; /* nobody keeps it up there: see REUSE in
                                   models/escalation.pml */
    }
    p->phase = HF_ACTIVE;
    p->up_since = p->probe_at = p->down_since = 0;
    if (moved) {
        p->news.moved = true;
        p->news.to = p->epoch;
    }
    pthread_mutex_unlock(&p->mu);
}

static int come_in(hf_escalate *w, hf_passage *p, hf_time by, hf_error *err) {
    bool closed;
    int rc = refresh(w, p, &closed, by, err);

    if (rc != HF_OK || p->phase != HF_ENTERING)
        return rc;
    rc = hf__gate_is_empty(w, p, p->epoch - 1, by, err);
    if (rc == HF_OK)
        arrive(p);
    return rc;
}

/* ---- ACTIVE ------------------------------------------------------------ */

static bool wants_over(const hf_escalate *w, hf_passage *p) {
    pthread_mutex_lock(&p->mu);
    bool over = is_first(p->epoch) && p->down_since &&
                p->down_last - p->down_since >= w->after;
    pthread_mutex_unlock(&p->mu);
    return over;
}

/* Does the first store grant locks again?  Asked for one that nobody wants,
 * because one that is full or read-only answers every other question. */
static int try_first(hf_escalate *w, const hf_passage *p, hf_time by) {
    hf_claim c = {.kind = HF_LOCK,
                  .mode = HF_EXCLUSIVE,
                  .owner = 1,
                  .lease_ms = PROBE_MS};
    hf_backend *be;
    hf_error err;
    char *name = hf__gate_text(p->name, "well", p->epoch);
    int rc = name ? HF_OK : HF_ENO_MEMORY;

    c.name = name;
    by = hf__sooner(by, hf__now() + w->permission / 6);
    if (rc == HF_OK)
        rc = hf__side_open(&w->side[HF_SIDE_FIRST], &be, by, &err);
    if (rc == HF_OK)
        rc = be->ops->attempt(be, &c, false, by, &err);
    if (rc == HF_OK)
        be->ops->release(be, &c, HF_RELEASE, NULL, by, &err);
    hf__free(name);
    return rc;
}

/* How long it has been well is remembered in the second store, too: many who
 * use a lock do not live that long. */
static void probe(hf_escalate *w, hf_passage *p, hf_time by) {
    int rc = try_first(w, p, by);
    bool well = rc == HF_OK || rc == HF_BUSY;
    hf_time since = p->up_since, now = hf__now();

    if (well && !since)
        since = now - hf__gate_well_for(w, p, by);
    else if (!well && since)
        hf__gate_not_well(w, p, by);
    pthread_mutex_lock(&p->mu);
    p->up_since = well ? since : 0;
    p->probe_at = now + hf__sooner(PROBE_MS * HF_MS, w->back / 2);
    pthread_mutex_unlock(&p->mu);
}

static bool wants_back(hf_escalate *w, hf_passage *p, hf_time by) {
    if (is_first(p->epoch) || w->back == HF_NEVER)
        return false;
    if (hf__now() >= p->probe_at)
        probe(w, p, by);
    return p->up_since && hf__now() - p->up_since >= w->back;
}

/* Says that the epoch is over, in the one way there is. */
static int close_epoch(hf_escalate *w, hf_passage *p, int why, hf_time by,
                       hf_error *err) {
    int rc = hf__gate_close(w, p, by, err);

    if (rc != HF_OK)
        return rc;
    set_phase(p, HF_LEAVING);
    note_moving(p, why);
    return HF_OK;
}

/* The lock in the second store that a hold has come back from.  One in the
 * first is left to its lease: that store could not be reached. */
static void drop_left_behind(hf_escalate *w, hf_passage *p, hf_time by) {
    uint64_t owner = 0;

    pthread_mutex_lock(&p->mu);
    for (hf_twin *t = next_hold(p, NULL); t; t = next_hold(p, t))
        if (is_first(p->epoch) && t->stands[HF_SIDE_SECOND])
            owner = t->owner;
    pthread_mutex_unlock(&p->mu);
    if (owner)
        hf__twin_leave(w, p, owner, HF_SIDE_SECOND, by);
}

static int stay(hf_escalate *w, hf_passage *p, hf_time by, hf_error *err) {
    bool closed;
    int rc = refresh(w, p, &closed, by, err);

    if (rc != HF_OK || p->phase != HF_ACTIVE)
        return rc;
    if (closed)
        set_phase(p, HF_LEAVING);
    else if (wants_over(w, p))
        rc = close_epoch(w, p, p->down_code, by, err);
    else if (wants_back(w, p, by))
        rc = close_epoch(w, p, HF_OK, by, err);
    else
        drop_left_behind(w, p, by);
    return rc;
}

/* ---- LEAVING ----------------------------------------------------------- */

static void step_out(hf_escalate *w, hf_passage *p, hf_time by) {
    pthread_mutex_lock(&p->mu);
    p->phase = HF_OUTSIDE;
    p->until = 0;
    p->tenure++;
    p->epoch++;
    p->found = false;
    pthread_mutex_unlock(&p->mu);
    hf__gate_leave(w, &p->gate, &p->gate_name, by);
}

/* A hold that does not have the lock of that store: writers first, whom their
 * own reading would keep out.  mu. */
static hf_twin *first_without(const hf_passage *p, int side) {
    hf_twin *found = NULL;

    for (hf_twin *t = next_hold(p, NULL); t; t = next_hold(p, t))
        if (hf__now() >= t->until[side] &&
            (!found || t->c[t->lives].mode == HF_EXCLUSIVE))
            found = t;
    return found;
}

/* One hold that does not have the lock of the other store yet asks for it.
 * MORE: it has it now.  HF_OK: all have.  HF_BUSY: somebody else has. */
static int carry(hf_escalate *w, hf_passage *p, hf_time by, hf_error *err) {
    int other = (int)((p->epoch + 1) & 1);
    hf_error ignored;
    uint64_t owner = 0;
    bool counts;
    hf_backend *be;
    hf_time asked;
    hf_claim c;
    int rc;

    pthread_mutex_lock(&p->mu);
    hf_twin *t = first_without(p, other);
    if (t) {
        owner = t->owner;
        t->c[other] = c = hf__twin_claim(p, t, other, NULL);
        t->stands[other] = true; /* perhaps, from now on */
    }
    pthread_mutex_unlock(&p->mu);
    if (!owner)
        return HF_OK;
    asked = hf__now();
    by = hf__sooner(by, asked + w->permission / 4);
    rc = hf__side_open(&w->side[other], &be, by, err);
    if (rc == HF_OK)
        rc = be->ops->attempt(be, &c, false, by, err);
    pthread_mutex_lock(&p->mu);
    for (t = p->twins; t && t->owner != owner; t = t->next)
        ;
    /* Counts only if it was still a hold when the answer was there. */
    counts = rc == HF_OK && t && hf__now() < hf__twin_until(p, t);
    if (counts)
        hf__twin_stands(t, other, asked, &c);
    pthread_mutex_unlock(&p->mu);
    if (rc == HF_OK && !counts) /* perhaps it was released meanwhile */
        be->ops->release(be, &c, HF_RELEASE, NULL, by, &ignored);
    return rc == HF_OK ? MORE : rc;
}

/* With both locks and the next permission in hand, that of this epoch goes. */
static int cross(hf_escalate *w, hf_passage *p, hf_time by, hf_error *err) {
    hf_claim gate = {0};
    char *name = NULL;
    hf_time asked = hf__now();
    bool still;
    int rc = hf__gate_enter(w, p, p->epoch + 1, &gate, &name, by, err);

    if (rc == HF_OK)
        rc = hf__gate_is_closed(w, p, p->epoch + 1, by, err);
    pthread_mutex_lock(&p->mu);
    still = rc == HF_OK && hf__now() < p->until;
    if (still) {
        hf_claim old = p->gate;
        char *old_name = p->gate_name;

        p->gate = gate;
        p->gate_name = name;
        gate = old;
        name = old_name;
        p->epoch++;
        p->until = trusted_until(asked, w->permission);
        p->refreshed = asked;
        p->phase = HF_ENTERING;
    }
    pthread_mutex_unlock(&p->mu);
    hf__gate_leave(w, &gate, &name, by); /* the old one; or the new, unused */
    return still ? HF_OK : rc < 0 ? rc : HF_BUSY;
}

static int go_out(hf_escalate *w, hf_passage *p, hf_time by, hf_error *err) {
    bool closed;
    int rc;

    if (!has_holds(p)) {
        step_out(w, p, by);
        return HF_OK;
    }
    rc = refresh(w, p, &closed, by, err);
    if (rc != HF_OK || p->phase != HF_LEAVING)
        return rc;
    while ((rc = carry(w, p, by, err)) == MORE && hf__now() < by)
        ;
    if (rc == MORE)
        return HF_BUSY;
    if (hf__is_trouble(rc) && !is_first(p->epoch))
        return HF_BUSY; /* the first store again: we stay where we are */
    return rc == HF_OK ? cross(w, p, by, err) : rc;
}

/* ------------------------------------------------------------------------ */

static int step(hf_escalate *w, hf_passage *p, hf_time by, hf_error *err) {
    switch (p->phase) {
    case HF_OUTSIDE:
        return go_in(w, p, by, err);
    case HF_ENTERING:
        return come_in(w, p, by, err);
    case HF_ACTIVE:
        return stay(w, p, by, err);
    case HF_LEAVING:
        return go_out(w, p, by, err);
    }
    return HF_OK;
}

int hf__advance(hf_escalate *w, hf_passage *p, hf_time by, hf_error *err) {
    for (int i = 0; i < STEPS; i++) {
        hf_phase was;
        int rc;

        if (p->phase != HF_OUTSIDE && hf__now() >= p->until)
            fall_out(p);
        was = p->phase;
        rc = step(w, p, by, err);
        if (rc != HF_OK)
            return rc;
        if (was == HF_ACTIVE && p->phase == was && hf__now() < p->until)
            return HF_OK; /* and nothing speaks against staying */
        if (hf__now() >= by)
            return hf__fail(err, HF_EDOWN,
                            "'%s' is on its way between two stores", p->name);
    }
    return HF_BUSY;
}
