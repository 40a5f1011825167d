/* SPDX-License-Identifier: MIT
 *
 * twins.c - a claim of the core's as the two stores know it.
 *
 * All but hf__twin_leave is for who has the passage's mu. */

#include "../../alloc.h"
#include "../../err.h"
#include "escalate.h"

hf_twin *hf__twin_of(const hf_passage *p, uint64_t owner) {
    hf_twin *t = p->twins;

    while (t && t->owner != owner)
        t = t->next;
    return t;
}

/* What could not be given back in its time. */
static void twins_sweep(hf_passage *p) {
    hf_twin **link = &p->twins;

    while (*link) {
        hf_twin *t = *link;

        if (t->ends && hf__now() >= t->ends) {
            *link = t->next;
            hf__free(t);
        } else {
            link = &t->next;
        }
    }
}

hf_twin *hf__twin_make(hf_passage *p, uint64_t owner) {
    hf_twin *t;

    twins_sweep(p);
    t = hf__twin_of(p, owner);
    if (t || !(t = hf__calloc(1, sizeof *t)))
        return t;
    t->owner = owner;
    t->next = p->twins;
    p->twins = t;
    return t;
}

void hf__twin_free(hf_passage *p, uint64_t owner) {
    hf_twin **link = &p->twins;

    while (*link && (*link)->owner != owner)
        link = &(*link)->next;
    hf_twin *t = *link;
    if (t) {
        *link = t->next;
        hf__free(t);
    }
}

hf_time hf__twin_until(const hf_passage *p, const hf_twin *t) {
    int side = (int)(p->epoch & 1);
    hf_time until;

    if (!t->held || t->tenure != p->tenure)
        return 0;
    until = hf__sooner(p->until, t->until[t->lives]);
    if (p->phase == HF_ENTERING && t->lives != side)
        until = hf__sooner(until, t->until[side]);
    return until;
}

/* For so long from `began`, which the core asked before. */
static int span_ms(hf_time began, hf_time until) {
    hf_time ms = (until - began) / HF_MS;

    return ms > INT32_MAX ? INT32_MAX : (int)ms;
}

/* What the core is told of a hold. */
int hf__twin_tell(const hf_passage *p, const hf_twin *t, hf_claim *c,
                  hf_time began) {
    hf_time until = hf__twin_until(p, t);

    if (hf__now() >= until || span_ms(began, until) < 1)
        return HF_ELOST;
    c->session_ms = span_ms(began, until);
    return HF_OK;
}

hf_claim hf__twin_claim(const hf_passage *p, const hf_twin *t, int side,
                        const hf_claim *asked) {
    const hf_claim *like = asked ? asked : &t->c[t->lives];
    hf_claim c = *like;

    c.name = side == HF_SIDE_FIRST ? p->name : p->second;
    c.token = t->c[side].token;
    c.last_token = 0;
    c.session_ms = 0;
    c.place = t->c[side].place;
    if (side == HF_SIDE_SECOND)
        c.replicas = 0;
    if (!asked)
        c.block = 0;
    return c;
}

void hf__twin_stands(hf_twin *t, int side, hf_time asked, const hf_claim *c) {
    int good_ms = c->session_ms && c->session_ms < c->lease_ms ? c->session_ms :
                                                                 c->lease_ms;
    hf_time lease = good_ms * HF_MS;

    t->c[side] = *c;
    t->stands[side] = true;
    t->until[side] = asked + lease - lease / 100 - 2 * HF_MS;
}

void hf__twin_leave(hf_escalate *w, hf_passage *p, uint64_t owner, int side,
                    hf_time by) {
    hf_claim c = {0};
    hf_backend *be;
    hf_error err;
    int rc = HF_EDOWN;

    pthread_mutex_lock(&p->mu);
    hf_twin *t = hf__twin_of(p, owner);
    bool stands = t && t->stands[side];
    if (stands)
        c = t->c[side];
    pthread_mutex_unlock(&p->mu);
    if (!stands)
        return;
    by = hf__sooner(by, hf__now() + HF_TWIN_LEAVE_MS * HF_MS);
    if (hf__side_open(&w->side[side], &be, by, &err) == HF_OK)
        rc = be->ops->release(be, &c, HF_RELEASE, NULL, by, &err);
    pthread_mutex_lock(&p->mu);
    t = hf__twin_of(p, owner);
    if (t && (rc == HF_OK || rc == HF_ELOST)) {
        t->stands[side] = false;
        t->until[side] = 0;
        t->c[side].token = t->c[side].place = 0;
    }
    pthread_mutex_unlock(&p->mu);
}
