/* SPDX-License-Identifier: MIT
 *
 * claims.c - the locks that clients have taken through us.
 *
 * A claim is freed, and with it its lock released, by the last who lets go of
 * it; the list counts as one.  That may ask the store, so it never happens
 * under the list's lock nor on the thread of the HTTP library. */
#include "claims.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../cli/moment.h"
#include "../view/kind.h"
#include "keys.h"

enum { LOST_KEPT_MS = 60000 };

struct claims {
    hf_client *client;
    size_t most;
    pthread_mutex_t mu;
    claim *first; /* mu */
    size_t n;     /* mu */
};

claims *claims_new(hf_client *client, size_t most) {
    claims *all = calloc(1, sizeof(*all));
    if (!all)
        return NULL;
    all->client = client;
    all->most = most;
    pthread_mutex_init(&all->mu, NULL);
    return all;
}

/* ---- one claim --------------------------------------------------------- */

static bool make_secret(char secret[static CLAIM_SECRET]) {
    unsigned char bytes[(CLAIM_SECRET - 1) / 2];
    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return false;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(secret + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static int refuse(hf_error *err, int code, const char *text) {
    err->code = code;
    snprintf(err->text, sizeof(err->text), "%s", text);
    return code;
}

static int options_of(const claim *c, const wish *w, hf_lock_options *o,
                      hf_error *err) {
    o->kind = c->kind;
    o->flags = HF_OWNER_HANDLE;
    if (c->kind > HF_PERMIT)
        return refuse(err, HF_EUSAGE,
                      "the body's \"mode\" is not one of lock, fair, read, "
                      "write, permit, simple");
    if (w->permits > 0 && c->kind != HF_PERMIT)
        return refuse(err, HF_EUSAGE,
                      "\"permits\" goes with the mode permit only");
    o->permits = w->permits;
    if (c->hold)
        o->watchdog_ms = c->ttl_ms;
    else
        o->lease_ms = c->ttl_ms;
    return HF_OK;
}

static int enter(claim *c, hf_error *err) {
    claims *all = c->all;
    bool room;
    pthread_mutex_lock(&all->mu);
    room = all->n < all->most;
    if (room) {
        all->n++;
        c->next = all->first;
        c->self = &all->first;
        if (c->next)
            c->next->self = &c->next;
        all->first = c;
        c->refs++;
    }
    pthread_mutex_unlock(&all->mu);
    return room ? HF_OK :
                  refuse(err, HF_ECROWDED, "clients hold too many locks here");
}

int claim_new(claim **ret, claims *all, const char *name, const wish *w,
              int ttl_ms, bool hold, hf_error *err) {
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    claim *c = calloc(1, sizeof(*c));
    int r;
    if (!c || !make_secret(c->secret)) {
        free(c);
        return refuse(err, HF_ENO_MEMORY, "no memory for a claim");
    }
    c->all = all;
    c->refs = 1;
    c->kind = *w->mode ? kind_of(w->mode) : HF_LOCK;
    c->wait_ms = w->wait_ms;
    c->ttl_ms = w->ttl_ms ? w->ttl_ms : ttl_ms;
    c->hold = hold;
    c->told = -1;
    r = options_of(c, w, &options, err);
    if (r == HF_OK)
        r = hf_lock_new(&c->lock, all->client, name, &options, err);
    if (r == HF_OK)
        r = enter(c, err);
    if (r == HF_OK)
        *ret = c;
    else
        claim_drop(c);
    return r;
}

void claim_drop(claim *c) {
    bool last;
    pthread_mutex_lock(&c->all->mu);
    last = --c->refs == 0;
    pthread_mutex_unlock(&c->all->mu);
    if (!last)
        return;
    if (c->lock) {
        hf_lock_on_state(c->lock, NULL, NULL);
        hf_lock_free(c->lock);
    }
    free(c);
}

/* With mu. */
static bool leave(claim *c) {
    if (!c->self)
        return false;
    *c->self = c->next;
    if (c->next)
        c->next->self = c->self;
    c->self = NULL;
    c->all->n--;
    return true;
}

bool claim_forget(claim *c) {
    bool was_there;
    pthread_mutex_lock(&c->all->mu);
    was_there = leave(c);
    pthread_mutex_unlock(&c->all->mu);
    if (was_there)
        claim_drop(c);
    return was_there;
}

void claim_gone(claim *c) {
    c->gone = true;
    hf_lock_cancel(c->lock);
}

/* ---- all of them ------------------------------------------------------- */

claim *claim_find(claims *all, const char *name, const char *secret) {
    claim *found = NULL;
    pthread_mutex_lock(&all->mu);
    for (claim *c = all->first; c; c = c->next)
        if (c->held && !c->hold && keys_equal(c->secret, secret) &&
            strcmp(hf_lock_name(c->lock), name) == 0)
            found = c;
    if (found)
        found->refs++;
    pthread_mutex_unlock(&all->mu);
    return found;
}

/* With mu. */
static bool is_lost(claim *c) {
    return c->held && !c->hold && c->past_ms == 0 && !hf_lock_is_held(c->lock);
}

static claim *first_that(claims *all, bool (*fn)(claim *)) {
    claim *c;
    pthread_mutex_lock(&all->mu);
    for (c = all->first; c && !fn(c); c = c->next)
        ;
    if (c)
        c->refs++;
    pthread_mutex_unlock(&all->mu);
    return c;
}

/* Its client may still come and shall hear that it is lost; for the store and
 * for who looks at it, it is over. */
static void let_go_of_lost(claims *all) {
    claim *c;
    while ((c = first_that(all, is_lost)) != NULL) {
        c->past_ms = moment_now();
        hf_lock_release(c->lock, NULL);
        claim_drop(c);
    }
}

static bool is_old(claim *c) {
    return c->past_ms != 0 && moment_now() - c->past_ms > LOST_KEPT_MS;
}

static void forget_old(claims *all) {
    claim *c;
    while ((c = first_that(all, is_old)) != NULL) {
        claim_forget(c);
        claim_drop(c);
    }
}

/* A cancel that came before the wait began had no effect: so again. */
static void cancel_again(claims *all) {
    pthread_mutex_lock(&all->mu);
    for (claim *c = all->first; c; c = c->next)
        if (!c->held && c->gone)
            hf_lock_cancel(c->lock);
    pthread_mutex_unlock(&all->mu);
}

void claims_tend(claims *all) {
    cancel_again(all);
    let_go_of_lost(all);
    forget_old(all);
}

void claims_cancel(claims *all) {
    pthread_mutex_lock(&all->mu);
    for (claim *c = all->first; c; c = c->next) {
        if (c->held)
            continue;
        c->gone = true;
        hf_lock_cancel(c->lock);
    }
    pthread_mutex_unlock(&all->mu);
}

size_t claims_count(claims *all) {
    size_t n;
    pthread_mutex_lock(&all->mu);
    n = all->n;
    pthread_mutex_unlock(&all->mu);
    return n;
}

void claims_free(claims *all) {
    if (!all)
        return;
    while (all->first)
        claim_forget(all->first);
    pthread_mutex_destroy(&all->mu);
    free(all);
}
