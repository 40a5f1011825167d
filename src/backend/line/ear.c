/* SPDX-License-Identifier: MIT
 *
 * ear.c - what the port tells, and who hears it.
 *
 * A claim that waits listens for the one entry that keeps it out, or for the
 * number.  What it heard of is spent: the attempt that follows listens anew,
 * for whatever keeps it out then.  A place listens for its own entry, which
 * nobody but an operator takes out while the session lives.
 *
 * Orders only grow.  So when the one entry that stood before ours is gone, and
 * ours is not, nobody can stand there any more: the line is ours without a
 * further question. */
#include <string.h>

#include "store.h"

#include "../../alloc.h"

/* ---- listening --------------------------------------------------------- */

static bool same_key(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Turns the ear to the key.  *number: of the watch that the port is to be asked
 * for; 0: nobody listens, or it does so already. */
static int turn_ear(hf_line_store *s, const hf_claim *c, const char *key,
                    uint64_t *number) {
    hf_line_ear *ear = hf__ear_find(s, c);
    char *copy = NULL;

    *number = 0;
    if (!ear || (ear->watch.number && same_key(ear->key, key)))
        return HF_OK;
    if (key && !(copy = hf__strdup(key)))
        return HF_ENO_MEMORY;
    hf__watch_drop(s, &ear->watch);
    hf__free(ear->key);
    ear->key = copy;
    *number = hf__watch_begin(s, &ear->watch);
    return HF_OK;
}

static void forget_watch(hf_line_store *s, uint64_t number) {
    hf_line_watch *w;

    pthread_mutex_lock(&s->mu);
    w = hf__watch_find(s, number);
    if (w)
        hf__watch_end(s, w);
    pthread_mutex_unlock(&s->mu);
}

int hf__line_listen(hf_line_store *s, const hf_claim *c, const char *key,
                    uint64_t as_of, hf_time by) {
    hf_line line = hf__line_of(c->kind, c->name);
    uint64_t number;
    hf_error err;
    int rc;

    pthread_mutex_lock(&s->mu);
    rc = turn_ear(s, c, key, &number);
    pthread_mutex_unlock(&s->mu);
    if (rc != HF_OK || !number)
        return rc;
    rc = s->port->ops->watch(s->port, &line, key, as_of, number, by, &err);
    if (rc == HF_OK)
        return HF_OK;
    forget_watch(s, number);
    return rc == HF_EFREE ? HF_BUSY : rc;
}

/* ---- hearing ----------------------------------------------------------- */

/* Until the lease or what the session is good for ends; the waiter is told a
 * little less, because clocks differ. */
static hf_time good_until(hf_line_store *s, const hf_line_place *p) {
    return hf__sooner(s->port->ops->good_until(s->port),
                      hf__after_ms(p->lease_ms));
}

static hf_time trusted(hf_line_store *s, hf_time until) {
    return until - s->port->ops->session_ms(s->port) * HF_MS / 100 - 2 * HF_MS;
}

/* The only one before it is gone: it holds, if its own entry is still there,
 * which we would have heard of before, and if the session lives.  Its lease
 * counts from now, however late the waiter wakes up. */
static bool give(hf_line_store *s, const hf_line_ear *ear) {
    const hf_host *host = s->base.host;
    hf_claim c = {.name = ear->name, .kind = ear->kind, .owner = ear->owner};
    hf_line_place *p = hf__place_find(s, &c);
    hf_time until;

    if (!p || p->busy || !p->only_one || !p->minded || !hf__line_lives(s, p))
        return false;
    until = good_until(s, p);
    if (trusted(s, until) < hf__now() + 20 * HF_MS)
        return false; /* it had better ask */
    p->holds = true;
    p->lease_until = until;
    hf__worker_look_by(s, p->lease_until);
    host->granted(host->core, hf_line_kind(p->kind), p->name, p->owner,
                  p->token, trusted(s, until));
    return true;
}

static void tell_ear(hf_line_store *s, const hf_line_ear *ear, bool gone) {
    const hf_host *host = s->base.host;

    if (!gone || !give(s, ear))
        host->woken(host->core, hf_line_kind(ear->kind), ear->name, ear->owner);
}

/* A change alone, as peers make one to ask for the lock, ends no hold. */
static void tell_place(hf_line_store *s, hf_line_place *p, bool gone) {
    const hf_host *host = s->base.host;

    p->minded = false;
    p->mind_at = gone ? HF_NEVER : hf__now() + HF_SECOND;
    hf__worker_look_by(s, p->mind_at);
    if (p->holds)
        host->shaken(host->core, hf_line_kind(p->kind), p->name);
    else
        host->woken(host->core, hf_line_kind(p->kind), p->name, p->owner);
}

void hf__line_moved(void *line_store, uint64_t watch, bool gone) {
    hf_line_store *s = line_store;
    hf_line_watch *w;

    pthread_mutex_lock(&s->mu);
    w = hf__watch_find(s, watch);
    if (w) {
        hf__watch_end(s, w);
        if (w->ear)
            tell_ear(s, w->ear, gone);
        else
            tell_place(s, w->place, gone);
    }
    pthread_mutex_unlock(&s->mu);
}

static void look_at_everything(const hf_line_store *s) {
    const hf_host *host = s->base.host;

    host->woken(host->core, HF_LOCK, NULL, 0);
    host->shaken(host->core, HF_LOCK, NULL);
}

void hf__line_renewed(void *line_store, uint64_t generation) {
    hf_line_store *s = line_store;

    (void)generation; /* the port is asked when it matters */
    pthread_mutex_lock(&s->mu);
    for (size_t i = 0; i < HF_LINE_BUCKETS; i++)
        while (s->watches[i]) {
            hf_line_watch *w = s->watches[i];

            if (w->place)
                w->place->minded = false;
            hf__watch_end(s, w);
        }
    s->interrupted = hf__now();
    hf__worker_look_by(s, 0); /* errands of the old one are done */
    pthread_mutex_unlock(&s->mu);
    look_at_everything(s);
}

void hf__line_reconnected(void *line_store) {
    hf_line_store *s = line_store;

    pthread_mutex_lock(&s->mu);
    s->interrupted = hf__now();
    pthread_mutex_unlock(&s->mu);
    look_at_everything(s);
}
