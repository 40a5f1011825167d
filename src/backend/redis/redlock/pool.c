/* SPDX-License-Identifier: MIT
 *
 * pool.c - all bundles of a client, and who has which.
 *
 * A bundle that is put back while something is under way is looked after by a
 * thread, the tender, if nobody else takes it: a release that nobody waits for
 * must still be noticed to be lost with its wire, and be sent again. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../../alloc.h"
#include "../../../err.h"
#include "bundle.h"

static const hf_time TEND_AFTER = 50 * HF_MS, TEND_EVERY = 100 * HF_MS;
static const hf_time SETTLE = 500 * HF_MS;

void hf__pool_init(hf_pool *p) {
    pthread_mutex_init(&p->mu, NULL);
    pthread_cond_init(&p->cond, NULL);
    pthread_cond_init(&p->tender_cond, NULL);
}

/* ---- making and freeing bundles ---------------------------------------- */

/* mu.  Its wires are connected by the voters; it joins the idle ones when a
 * majority of them is. */
static int add_bundle(hf_pool *p, hf_error *err) {
    hf_bundle *b = hf__calloc(1, sizeof *b);

    if (!b)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    b->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (b->bell < 0) {
        hf__free(b);
        return hf__fail(err, HF_ESYSTEM, "no more descriptors: %s",
                        strerror(errno));
    }
    b->pool = p;
    b->index = p->n_bundles;
    pthread_cond_init(&b->cond, NULL);
    for (unsigned k = 0; k < p->n; k++)
        b->wires[k].bundle = b;
    p->bundles[p->n_bundles++] = b;
    for (unsigned k = 0; k < p->n; k++)
        hf__voter_join(p->voters[k], &b->wires[k]);
    return HF_OK;
}

static void free_wire(hf_wire *w) {
    hf__conn_close(w->conn);
    for (unsigned i = 0; i < w->n; i++)
        hf__letter_put(w->asked[(w->first + i) % w->room].owed);
    hf__free(w->asked);
    hf__free(w->unsent);
}

static void free_bundle(hf_bundle *b) {
    for (unsigned k = 0; k < b->pool->n; k++)
        free_wire(&b->wires[k]);
    close(b->bell);
    pthread_cond_destroy(&b->cond);
    hf__free(b);
}

/* Only descriptors. */
static void forget_bundle(hf_bundle *b) {
    for (unsigned k = 0; k < b->pool->n; k++) {
        hf_wire *w = &b->wires[k];

        if (w->conn)
            hf__world->close(w->conn->fd);
        if (w->fresh)
            hf__world->close(w->fresh->fd);
    }
    close(b->bell);
}

void hf__pool_clear(hf_pool *p, bool forked) {
    for (unsigned i = 0; i < p->n_bundles; i++)
        if (forked)
            forget_bundle(p->bundles[i]);
        else
            free_bundle(p->bundles[i]);
    if (forked)
        return;
    pthread_mutex_destroy(&p->mu);
    pthread_cond_destroy(&p->cond);
    pthread_cond_destroy(&p->tender_cond);
}

/* ---- taking and giving ------------------------------------------------- */

/* mu. */
static void push_idle(hf_pool *p, hf_bundle *b) {
    b->idle = true;
    b->next = p->idle;
    p->idle = b;
    if (b->wanted)
        pthread_cond_signal(&b->cond);
    else if (p->urgent)
        pthread_cond_broadcast(&p->cond);
    else
        pthread_cond_signal(&p->cond);
}

/* mu. */
static void remove_idle(hf_pool *p, hf_bundle *b) {
    hf_bundle **at = &p->idle;

    while (*at != b)
        at = &(*at)->next;
    *at = b->next;
    b->idle = false;
}

/* mu.  One that somebody waits for is his. */
static hf_bundle *any_idle(hf_pool *p, bool urgent) {
    hf_bundle *b = p->idle;

    if (p->urgent && !urgent)
        return NULL;
    while (b && b->wanted)
        b = b->next;
    return b;
}

/* mu.  Is one being opened already? */
static bool is_opening(const hf_pool *p) {
    return p->n_bundles && !p->bundles[p->n_bundles - 1]->ready;
}

/* mu. */
static hf_bundle *take_any(hf_pool *p, bool urgent, hf_time by) {
    hf_bundle *b;
    hf_error err;

    p->urgent += urgent;
    while (!(b = any_idle(p, urgent)) && hf__now() < by) {
        if (p->n_bundles < HF_BUNDLES_MAX && !is_opening(p))
            add_bundle(p, &err); /* or not: then the others must do */
        hf__world->wait(&p->cond, &p->mu, by);
    }
    p->urgent -= urgent;
    return b;
}

/* mu. */
static hf_bundle *take_one(hf_pool *p, unsigned index, hf_time by) {
    hf_bundle *b = p->bundles[index];

    b->wanted++;
    while (!b->idle && hf__now() < by)
        hf__world->wait(&b->cond, &p->mu, by);
    b->wanted--;
    return b->idle ? b : NULL;
}

hf_bundle *hf__pool_take(hf_pool *p, int index, bool urgent, hf_time by) {
    hf_bundle *b;

    pthread_mutex_lock(&p->mu);
    b = index < 0 ? take_any(p, urgent, by) : take_one(p, (unsigned)index, by);
    if (b)
        remove_idle(p, b);
    if (urgent && p->idle) /* others held back for us */
        pthread_cond_broadcast(&p->cond);
    pthread_mutex_unlock(&p->mu);
    return b;
}

static bool owes(const hf_bundle *b) {
    for (unsigned k = 0; k < b->pool->n; k++)
        if (b->wires[k].n)
            return true;
    return false;
}

void hf__pool_give(hf_bundle *b) {
    hf_pool *p = b->pool;
    bool is_owing = owes(b);

    pthread_mutex_lock(&p->mu);
    b->put_at = hf__now();
    b->owes = is_owing;
    push_idle(p, b);
    if (is_owing && p->dozing) {
        p->dozing = false;
        pthread_cond_signal(&p->tender_cond);
    }
    pthread_mutex_unlock(&p->mu);
}

/* ---- the tender -------------------------------------------------------- */

/* mu.  One that owes and was not taken for a while; *more: another may be so
 * soon. */
static hf_bundle *neglected(hf_pool *p, bool *more) {
    hf_time limit = hf__now() - TEND_AFTER;

    *more = false;
    for (hf_bundle *b = p->idle; b; b = b->next) {
        if (b->owes && b->put_at < limit)
            return b;
        *more |= b->owes;
    }
    return NULL;
}

/* mu held on entry and exit, not between. */
static void tend(hf_pool *p, hf_bundle *b) {
    remove_idle(p, b);
    pthread_mutex_unlock(&p->mu);
    hf__bundle_tend(b);
    hf__pool_give(b);
    pthread_mutex_lock(&p->mu);
}

/* Tender's thread. */
static void *run_tender(void *arg) {
    hf_pool *p = arg;
    hf_bundle *b;
    bool more;

    pthread_mutex_lock(&p->mu);
    while (!p->stopping) {
        while (!p->stopping && (b = neglected(p, &more)))
            tend(p, b);
        if (p->stopping)
            break;
        p->dozing = !more;
        hf__world->wait(&p->tender_cond, &p->mu,
                        more ? hf__now() + TEND_EVERY : HF_NEVER);
    }
    pthread_mutex_unlock(&p->mu);
    return NULL;
}

/* ---- life -------------------------------------------------------------- */

void hf__pool_wired(hf_pool *p, hf_wire *w, int rc) {
    hf_bundle *b = w->bundle;
    unsigned bit = 1u << w->voter->k;
    uint64_t one = 1;

    pthread_mutex_lock(&p->mu);
    *(rc == HF_OK ? &b->plugged : &b->failed) |= bit;
    if (!b->ready && (unsigned)__builtin_popcount(b->plugged) >= p->quorum) {
        b->ready = true;
        push_idle(p, b);
    }
    pthread_cond_broadcast(&p->cond);
    pthread_mutex_unlock(&p->mu);
    while (write(b->bell, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* The failure to tell: one that will not pass by itself, if there is any. */
static int why_not(hf_pool *p, int up, hf_error *err) {
    hf_error worst = {0};

    for (unsigned k = 0; k < p->n; k++) {
        hf_voter *v = p->voters[k];

        pthread_mutex_lock(&v->mu);
        if (v->why.code && (!worst.code || worst.code == HF_EDOWN))
            worst = v->why;
        pthread_mutex_unlock(&v->mu);
    }
    if (worst.code && worst.code != HF_EDOWN) {
        *err = worst;
        return err->code;
    }
    return hf__fail(err, HF_EDOWN,
                    "%d of %u servers can be reached, a majority of %u is "
                    "needed: %.140s",
                    up, p->n, p->quorum,
                    worst.code ? worst.text : "no answer in time");
}

int hf__pool_open(hf_pool *p, hf_time by, hf_error *err) {
    hf_time grace = hf__now() + p->patience_ms * HF_MS;
    unsigned all = (1u << p->n) - 1;
    bool ready = false;
    hf_bundle *b;
    int rc, up, why;

    pthread_mutex_lock(&p->mu);
    rc = add_bundle(p, err);
    b = p->bundles[0];
    while (rc == HF_OK && (b->plugged | b->failed) != all &&
           hf__now() < (b->ready ? grace : by))
        hf__world->wait(&p->cond, &p->mu, b->ready ? grace : by);
    ready = rc == HF_OK && b->ready;
    up = rc == HF_OK ? __builtin_popcount(b->plugged) : 0;
    pthread_mutex_unlock(&p->mu);
    if (rc != HF_OK || !ready)
        return rc != HF_OK ? rc : why_not(p, up, err);
    p->dozing = true;
    why = hf__world->thread_start(&p->tender, run_tender, p);
    if (why)
        return hf__fail(err, HF_ESYSTEM, "cannot start a thread: %s",
                        strerror(why));
    p->tended = true;
    return HF_OK;
}

void hf__pool_stop(hf_pool *p) {
    hf_time by = hf__now() + SETTLE;

    pthread_mutex_lock(&p->mu);
    p->stopping = true;
    pthread_cond_signal(&p->tender_cond);
    pthread_mutex_unlock(&p->mu);
    if (p->tended)
        hf__world->thread_join(p->tender);
    p->tended = false;
    for (unsigned i = 0; i < p->n_bundles; i++)
        hf__bundle_settle(p->bundles[i], by);
}
