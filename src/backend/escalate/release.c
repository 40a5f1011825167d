/* SPDX-License-Identifier: MIT
 *
 * release.c - out of the store in which the name lives, and out of the other. */
#include "../../err.h"
#include "escalate.h"

/* Whoever holds it, wherever: the store in which the name lives decides. */
static int force(hf_escalate *w, hf_passage *p, const hf_claim *c,
                 const char *whose, hf_time by, hf_error *err) {
    int rc[HF_SIDES], lives;
    hf_error errs[HF_SIDES];

    rc[0] = hf__pass(w, p, by, err);
    if (rc[0] < 0)
        return rc[0];
    pthread_mutex_lock(&p->mu);
    lives = (int)(p->epoch & 1);
    pthread_mutex_unlock(&p->mu);
    for (int i = 0; i < HF_SIDES; i++) {
        int side = i == 0 ? lives : 1 - lives;
        hf_time until =
            i == 0 ? by : hf__sooner(by, hf__now() + HF_TWIN_LEAVE_MS * HF_MS);
        hf_claim inner = *c;
        hf_backend *be;

        inner.name = side == HF_SIDE_FIRST ? p->name : p->second;
        rc[side] = hf__side_open(&w->side[side], &be, until, &errs[side]);
        if (rc[side] == HF_OK)
            rc[side] = be->ops->release(be, &inner, HF_RELEASE_FORCED, whose,
                                        until, &errs[side]);
    }
    if (rc[lives] == HF_EFREE && rc[1 - lives] == HF_OK)
        return HF_OK;
    *err = errs[lives];
    return rc[lives];
}

/* The place or the lock in one store. */
static int let_go(hf_escalate *w, hf_passage *p, hf_claim *c, int side,
                  hf_how how, hf_time by, hf_error *err) {
    hf_claim inner = {0};
    hf_backend *be;
    int rc;

    pthread_mutex_lock(&p->mu);
    hf_twin *t = hf__twin_of(p, c->owner);
    bool stands = t && t->stands[side];
    if (stands)
        inner = hf__twin_claim(p, t, side, c);
    if (side == HF_SIDE_FIRST && p->down_since) /* the keeper may be asking */
        by = hf__sooner(by, hf__now() + w->permission / 12);
    pthread_mutex_unlock(&p->mu);
    if (!stands)
        return HF_OK;
    rc = hf__side_open(&w->side[side], &be, by, err);
    if (rc == HF_OK)
        rc = be->ops->release(be, &inner, how, NULL, by, err);
    c->rivals = inner.rivals;
    if (rc == HF_OK || rc == HF_ELOST) {
        pthread_mutex_lock(&p->mu);
        if ((t = hf__twin_of(p, c->owner)))
            t->stands[side] = false;
        pthread_mutex_unlock(&p->mu);
    }
    return rc;
}

/* The store whose word is the answer to a release: on the way it is the one
 * where the name will live.  Passage mu. */
static int leaves_from(const hf_passage *p, const hf_twin *t) {
    uint64_t to = p->phase == HF_LEAVING ? p->epoch + 1 : p->epoch;

    if (!t->held)
        return (int)(t->epoch & 1);
    return t->until[to & 1] ? (int)(to & 1) : t->lives;
}

/* The lock that is the hold first; what may stand in the other store is left
 * to its lease if that store cannot be reached now. */
static int leave(hf_escalate *w, hf_passage *p, hf_claim *c, hf_how how,
                 hf_time by, hf_error *err) {
    hf_error ignored;
    int lives, rc;

    pthread_mutex_lock(&p->mu);
    hf_twin *t = hf__twin_of(p, c->owner);
    lives = t ? leaves_from(p, t) : HF_SIDE_FIRST;
    bool down = p->down_since || (p->epoch & 1);
    if (t)
        t->held = false;
    pthread_mutex_unlock(&p->mu);
    if (!t)
        return HF_OK;
    rc = let_go(w, p, c, lives, how, by, err);
    if (lives == HF_SIDE_FIRST || !down)
        let_go(w, p, c, 1 - lives,
               how == HF_RELEASE_AFTER ? HF_RELEASE_POSTED : how,
               hf__sooner(by, hf__now() + HF_TWIN_LEAVE_MS * HF_MS), &ignored);
    pthread_mutex_lock(&p->mu);
    if (rc == HF_OK || rc == HF_ELOST)
        hf__twin_free(p, c->owner);
    else if ((t = hf__twin_of(p, c->owner)))
        t->ends = hf__now() + 2 * HF_MS * c->lease_ms;
    pthread_mutex_unlock(&p->mu);
    return rc;
}

int hf__escalate_release(hf_backend *be, hf_claim *c, hf_how how,
                         const char *whose, hf_time by, hf_error *err) {
    hf_escalate *w = hf__whole_of(be);
    hf_passage *p;
    int rc = hf__passage_of(w, &p, c->name, err);

    if (rc != HF_OK)
        return rc;
    rc = how == HF_RELEASE_FORCED ? force(w, p, c, whose, by, err) :
                                    leave(w, p, c, how, by, err);
    hf__passage_put(w, p);
    return rc;
}
