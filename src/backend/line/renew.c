/* SPDX-License-Identifier: MIT
 *
 * renew.c - are they still there?  Asked of many entries at once.
 *
 * A lease is ours to set, so a renewal is only a question: does the session
 * live, by the majority's word, and are the entries in it.  What the table does
 * not have, or has of an earlier generation, is lost without asking. */
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "store.h"

/* The entries that the port is asked about. */
typedef struct round {
    size_t n;
    size_t *claims; /* which claim it is of */
    char **keys;
    int *found;
} round;

static void clear(round *r) {
    for (size_t i = 0; i < r->n; i++)
        hf__free(r->keys[i]);
    hf__free(r->keys);
    hf__free(r->claims);
    hf__free(r->found);
}

static int make_room(round *r, size_t n) {
    r->claims = hf__calloc(n, sizeof *r->claims);
    r->keys = hf__calloc(n, sizeof *r->keys);
    r->found = hf__calloc(n, sizeof *r->found);
    return r->claims && r->keys && r->found ? HF_OK : HF_ENO_MEMORY;
}

/* A claim without a token waits.  While it asks, it need not be told to. */
static int known(hf_line_store *s, const hf_claim *c, const hf_line_place *p) {
    if (!p)
        return HF_ELOST;
    if (!c->token && p->busy)
        return HF_OK;
    if (!p->key || !hf__line_lives(s, p) || (c->token && !p->holds))
        return HF_ELOST;
    return HF_BUSY;
}

/* Answers for what is known here; the rest is copied, because its owner may
 * let go meanwhile. */
static int gather(hf_line_store *s, round *r, hf_claim *const *claims,
                  size_t n) {
    for (size_t i = 0; i < n; i++) {
        hf_line_place *p = hf__place_find(s, claims[i]);

        claims[i]->result = known(s, claims[i], p);
        if (claims[i]->result != HF_BUSY)
            continue;
        claims[i]->result = HF_EDOUBT;
        r->keys[r->n] = hf__strdup(p->key);
        if (!r->keys[r->n])
            return HF_ENO_MEMORY;
        r->claims[r->n++] = i;
    }
    return HF_OK;
}

/* What is gone is not ours to leave any more. */
static void drop(hf_line_store *s, hf_line_place *p) {
    if (p->busy)
        return; /* who is at it finds out */
    if (!p->holds) {
        hf__place_clear(s, p); /* and begins anew */
        return;
    }
    hf__place_unlink(s, p);
    hf__place_free(s, p);
}

/* The answer counts only for the entry that was asked about. */
static int take_answer(hf_line_store *s, hf_claim *c, const char *key,
                       int found) {
    hf_line_place *p = hf__place_find(s, c);

    if (!p || !p->key || strcmp(p->key, key) != 0 || (c->token && !p->holds))
        return HF_ELOST;
    if (found == HF_EFREE) {
        drop(s, p);
        return HF_ELOST;
    }
    if (found != HF_OK || !c->token)
        return found;
    c->session_ms = hf__line_session_ms(s);
    if (!hf__line_lives(s, p)) { /* that was said of another session */
        drop(s, p);
        return HF_ELOST;
    }
    p->lease_until = hf__line_lease(c);
    hf__worker_look_by(s, p->lease_until);
    return HF_OK;
}

static int ask(hf_line_store *s, round *r, hf_claim *const *claims, hf_time by,
               hf_error *err) {
    int rc;

    for (size_t i = 0; i < r->n; i++)
        r->found[i] = HF_EDOWN;
    rc = s->port->ops->check(s->port, (const char *const *)r->keys, r->found,
                             r->n, by, err);
    pthread_mutex_lock(&s->mu);
    for (size_t i = 0; i < r->n; i++) {
        hf_claim *c = claims[r->claims[i]];

        c->result = take_answer(s, c, r->keys[i], r->found[i]);
    }
    pthread_mutex_unlock(&s->mu);
    return rc;
}

int hf__lines_renew(hf_backend *be, hf_claim *const *claims, size_t n,
                    hf_time by, hf_error *err) {
    hf_line_store *s = hf__line_store(be);
    round r = {0};
    int rc = make_room(&r, n);

    if (rc == HF_OK) {
        pthread_mutex_lock(&s->mu);
        rc = gather(s, &r, claims, n);
        pthread_mutex_unlock(&s->mu);
    }
    if (rc != HF_OK)
        hf__fail_plain(err, rc);
    else if (r.n > 0)
        rc = ask(s, &r, claims, by, err);
    clear(&r);
    return rc;
}
