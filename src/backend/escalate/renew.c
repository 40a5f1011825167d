/* SPDX-License-Identifier: MIT
 *
 * renew.c - permissions first, then what stands in each of the stores. */

#include "../../alloc.h"
#include "../../err.h"
#include "escalate.h"

/* All that is asked of one store at once. */
typedef struct batch {
    size_t n;
    hf_claim *claims, **pointers;
    size_t *whose; /* index into the core's claims */
} batch;

typedef struct renewal {
    hf_escalate *w;
    hf_claim *const *claims;
    size_t n;
    hf_time began, by;
    hf_passage **passages; /* of each claim */
    int *passed;           /* what became of the permission */
    batch batch[HF_SIDES];
} renewal;

static bool renewal_init(renewal *r) {
    bool ok;

    r->passages = hf__calloc(r->n, sizeof *r->passages);
    r->passed = hf__calloc(r->n, sizeof *r->passed);
    ok = r->passages && r->passed;
    for (int i = 0; i < HF_SIDES; i++) {
        batch *b = &r->batch[i];

        b->claims = hf__calloc(r->n, sizeof *b->claims);
        b->pointers = hf__calloc(r->n, sizeof *b->pointers);
        b->whose = hf__calloc(r->n, sizeof *b->whose);
        ok = ok && b->claims && b->pointers && b->whose;
    }
    return ok;
}

static void renewal_free(renewal *r) {
    for (size_t i = 0; r->passages && i < r->n; i++)
        if (r->passages[i])
            hf__passage_put(r->w, r->passages[i]);
    for (int i = 0; i < HF_SIDES; i++) {
        hf__free(r->batch[i].claims);
        hf__free(r->batch[i].pointers);
        hf__free(r->batch[i].whose);
    }
    hf__free(r->passages);
    hf__free(r->passed);
}

/* Permissions first; a second store that is silent is waited for once, and
 * leaves half of the time to the first. */
static void keep_permissions(renewal *r, hf_time by) {
    hf_error err;
    int silent = HF_OK;

    for (size_t i = 0; i < r->n; i++) {
        r->passages[i] = hf__passage_find(r->w, r->claims[i]->name, false);
        r->passed[i] = !r->passages[i] ? HF_ELOST :
                       silent          ? silent :
                                         hf__pass(r->w, r->passages[i], by, &err);
        if (hf__is_trouble(r->passed[i]) && hf__now() >= by)
            silent = r->passed[i];
    }
}

/* Is the claim to be renewed in that store?  Passage mu. */
static bool belongs(const hf_passage *p, const hf_twin *t, int side,
                    bool waits) {
    if (waits)
        return t->epoch == p->epoch && side == (int)(p->epoch & 1);
    if (!t->held || hf__now() >= t->until[side])
        return false;
    if (side == t->lives) /* a first store that is given up is not asked */
        return p->phase == HF_ACTIVE || side == HF_SIDE_SECOND ||
               !p->down_since;
    return p->phase != HF_ACTIVE; /* else it is a left-over */
}

static void gather(renewal *r, int side) {
    batch *b = &r->batch[side];

    for (size_t i = 0; i < r->n; i++) {
        const hf_claim *c = r->claims[i];
        hf_passage *p = r->passages[i];

        if (!p)
            continue;
        pthread_mutex_lock(&p->mu);
        hf_twin *t = hf__twin_of(p, c->owner);
        if (t && belongs(p, t, side, c->token == 0)) {
            hf_claim *inner = &b->claims[b->n];

            *inner = hf__twin_claim(p, t, side, c);
            inner->result = HF_EDOUBT;
            if (c->token == 0)
                inner->token = 0;
            b->pointers[b->n] = inner;
            b->whose[b->n++] = i;
        }
        pthread_mutex_unlock(&p->mu);
    }
}

/* What the store said of one.  Passage mu. */
static void take_answer(hf_escalate *w, hf_passage *p, hf_twin *t, int side,
                        hf_time asked, hf_claim *c) {
    bool trouble = hf__is_trouble(c->result);

    if (side == HF_SIDE_FIRST && trouble)
        hf__first_fails(p, w->after, c->result);
    else if (side == HF_SIDE_FIRST)
        hf__first_answers(p);
    if (c->token == 0)
        return;
    if (c->result == HF_OK) {
        hf__twin_stands(t, side, asked, c);
    } else if (!trouble) {
        t->stands[side] = false;
        t->until[side] = 0;
        t->c[side].token = 0;
        if (t->lives == side)
            t->held = false;
    }
}

static void ask_side(renewal *r, int side, hf_time by) {
    batch *b = &r->batch[side];
    hf_time asked = hf__now();
    hf_backend *be;
    hf_error err;
    int rc;

    gather(r, side);
    if (!b->n)
        return;
    rc = hf__side_open(&r->w->side[side], &be, by, &err);
    if (rc == HF_OK)
        rc = be->ops->renew(be, b->pointers, b->n, by, &err);
    for (size_t k = 0; k < b->n; k++) {
        hf_passage *p = r->passages[b->whose[k]];
        hf_claim *c = &b->claims[k];

        if (rc < 0 && (c->result == HF_EDOUBT || c->result == HF_OK))
            c->result = rc;
        pthread_mutex_lock(&p->mu);
        hf_twin *t = hf__twin_of(p, c->owner);
        if (t)
            take_answer(r->w, p, t, side, asked, c);
        pthread_mutex_unlock(&p->mu);
        if (c->token == 0)
            r->claims[b->whose[k]]->result = c->result;
    }
}

/* Is there more to do for it than to wait? */
static bool is_restless(hf_passage *p) {
    pthread_mutex_lock(&p->mu);
    bool restless =
        p->phase != HF_ACTIVE || p->down_since || (p->epoch & 1) != 0;
    pthread_mutex_unlock(&p->mu);
    return restless;
}

/* What the core is told. */
static int conclude(renewal *r, size_t i) {
    hf_claim *c = r->claims[i];
    hf_passage *p = r->passages[i];
    int rc = HF_ELOST;

    if (!p)
        return HF_ELOST;
    pthread_mutex_lock(&p->mu);
    hf_twin *t = hf__twin_of(p, c->owner);
    if (c->token == 0)
        rc = t && t->epoch == p->epoch ? c->result : HF_ELOST;
    else if (t && r->passed[i] < 0 && hf__is_trouble(r->passed[i]) && t->held)
        rc = r->passed[i];
    else if (t)
        rc = hf__twin_tell(p, t, c, r->began);
    pthread_mutex_unlock(&p->mu);
    return rc;
}

int hf__escalate_renew(hf_backend *be, hf_claim *const *claims, size_t n,
                       hf_time by, hf_error *err) {
    renewal r = {.w = hf__whole_of(be),
                 .claims = claims,
                 .n = n,
                 .began = hf__now(),
                 .by = by};
    int rc = HF_OK;

    if (!renewal_init(&r)) {
        renewal_free(&r);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    keep_permissions(&r, r.began + (by - r.began) / 2);
    ask_side(&r, HF_SIDE_SECOND, hf__now() + (by - hf__now()) / 2);
    ask_side(&r, HF_SIDE_FIRST, hf__now() + (by - hf__now()) / 2);
    for (size_t i = 0; i < n; i++) {
        hf_error ignored;

        if (r.passages[i] && r.passed[i] >= 0 && is_restless(r.passages[i]))
            hf__pass(r.w, r.passages[i], by, &ignored);
        claims[i]->result = conclude(&r, i);
        if (claims[i]->result != HF_OK && claims[i]->result != HF_ELOST)
            rc = hf__fail_plain(err, claims[i]->result);
    }
    renewal_free(&r);
    return rc;
}
