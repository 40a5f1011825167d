/* SPDX-License-Identifier: MIT
 *
 * worker.c - the thread that sees to what nobody waits for.
 *
 * It ends leases: the store knows sessions only, so a lease that is over while
 * the session lives is ended by us.  So is a hold that could not be renewed for
 * as long as the session is good: nobody believes in it any more, though the
 * session may have come through.  Both count from after the answer, and the
 * core from before the question, so that the core has given up by then.  It runs errands: entries that are to be taken out, and were not
 * yet, are left until the store has said so or their generation is over.  And
 * it has the port mind the entries of those who hold or wait for a while.
 *
 * A call of the port's is short, because all of this waits for it. */
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "store.h"

enum {
    CALL_MS = 500,        /* for one call of the port's */
    FIRST_PAUSE_MS = 20,  /* between two tries of an errand, doubling… */
    LAST_PAUSE_MS = 1000, /* …up to this */
    SETTLE_MS = 250       /* for which an attempt waits for errands */
};

/* ---- errands ----------------------------------------------------------- */

void hf__worker_look_by(hf_line_store *s, hf_time at) {
    if (at >= s->sleeps_until)
        return;
    s->sleeps_until = at;
    pthread_cond_signal(&s->work);
}

void hf__errand_add(hf_line_store *s, hf_line_place *p, hf_time at) {
    p->due = at;
    p->holds = p->busy = false;
    p->next = NULL;
    *s->errands_end = p;
    s->errands_end = &p->next;
    hf__worker_look_by(s, at);
}

static bool on_its_way(const hf_line_place *p, hf_line line) {
    return hf__line_of(p->kind, p->name).kind == line.kind &&
           p->due <= hf__now() && p->pause_ms == 0 &&
           strcmp(p->name, line.name) == 0;
}

/* What we have just let go of should not keep us out. */
void hf__errands_settle(hf_line_store *s, hf_line line, hf_time by) {
    const hf_line_place *p;

    by = hf__sooner(by, hf__after_ms(SETTLE_MS));
    for (;;) {
        for (p = s->errands; p && !on_its_way(p, line);)
            p = p->next;
        if (!p || hf__now() >= by)
            return;
        hf__world->wait(&s->changed, &s->mu, by);
    }
}

/* Nothing that could be repeated with another result. */
static bool is_for_good(int rc) {
    return rc == HF_EAUTH || rc == HF_EFORBIDDEN ||
           hf_error_class(rc) == HF_CLASS_MISUSE;
}

int hf__errand_try(hf_line_store *s, hf_line_place *p, bool *over, hf_time by,
                   hf_error *err) {
    hf_wish w = hf__place_wish(p);
    char *beside;
    int rc;

    *over = true;
    if (!hf__line_lives(s, p))
        return HF_EFREE;
    pthread_mutex_lock(&s->mu);
    rc = hf__place_beside(s, p, &beside);
    pthread_mutex_unlock(&s->mu);
    if (rc == HF_OK) {
        w.beside = beside;
        rc = s->port->ops->leave(s->port, &w, p->key, by, err);
        hf__free(beside);
    } else {
        hf__fail_plain(err, rc);
    }
    if (rc == HF_OK || rc == HF_EFREE) {
        *over = hf__now() >= p->settles_at;
        hf__free(p->key); /* what a late request brings is known by its id */
        p->key = NULL;
    } else if (!hf__line_lives(s, p)) {
        rc = HF_EFREE; /* it went with the session */
    } else {
        *over = is_for_good(rc);
    }
    return rc;
}

int hf__place_leave(hf_line_store *s, hf_line_place *p, hf_time by,
                    hf_error *err) {
    bool over = true;
    int rc = HF_EFREE;

    hf__place_unlink(s, p);
    pthread_mutex_unlock(&s->mu);
    if (p->key || p->doubted)
        rc = hf__errand_try(s, p, &over, by, err);
    pthread_mutex_lock(&s->mu);
    if (over)
        hf__place_free(s, p);
    else
        hf__errand_add(s, p, 0);
    pthread_mutex_unlock(&s->mu);
    return rc;
}

static void take_out(hf_line_store *s, hf_line_place *p) {
    hf_line_place **link = &s->errands;

    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    if (s->errands_end == &p->next)
        s->errands_end = link;
}

static void not_yet(hf_line_place *p) {
    p->pause_ms = p->pause_ms ? 2 * p->pause_ms : FIRST_PAUSE_MS;
    if (p->pause_ms > LAST_PAUSE_MS)
        p->pause_ms = LAST_PAUSE_MS;
    p->due = hf__now() + hf__jitter(p->pause_ms * HF_MS);
    p->busy = false;
}

/* Mutex held on entry and exit, not while the port is asked. */
static void run_errand(hf_line_store *s, hf_line_place *p) {
    const hf_host *host = s->base.host;
    hf_error err;
    bool over;
    int rc;

    p->busy = true;
    pthread_mutex_unlock(&s->mu);
    rc = hf__errand_try(s, p, &over, hf__after_ms(CALL_MS), &err);
    if (over && rc < 0 && rc != HF_EFREE && p->posted)
        host->unreleased(host->core, p->name, rc);
    pthread_mutex_lock(&s->mu);
    if (over) {
        take_out(s, p);
        hf__place_free(s, p);
    } else {
        not_yet(p);
        pthread_cond_broadcast(&s->changed);
    }
}

/* Nobody waits for what goes with the session anyway. */
static bool is_due(const hf_line_store *s, const hf_line_place *p,
                   hf_time now) {
    return p->due <= now || !hf__line_lives(s, p);
}

static bool run_errands(hf_line_store *s, hf_time *next) {
    hf_time now = hf__now();
    hf_line_place *p = s->errands;

    while (p && !is_due(s, p, now)) {
        *next = hf__sooner(*next, p->due);
        p = p->next;
    }
    if (p)
        run_errand(s, p);
    return p != NULL;
}

/* ---- places ------------------------------------------------------------ */

/* Has the port tell when the entry goes.  Mutex as above. */
static void mind(hf_line_store *s, hf_line_place *p) {
    const hf_host *host = s->base.host;
    hf_line line = hf__line_of(p->kind, p->name);
    hf_kind kind = hf_line_kind(p->kind);
    uint64_t number = hf__watch_begin(s, &p->own);
    char *name = hf__strdup(p->name), *key = hf__strdup(p->key);
    int rc = HF_ENO_MEMORY;
    hf_line_watch *w;
    hf_error err;

    p->mind_at = HF_NEVER;
    line.name = name;
    pthread_mutex_unlock(&s->mu);
    if (name && key)
        rc = s->port->ops->watch(s->port, &line, key, 0, number,
                                 hf__after_ms(CALL_MS), &err);
    if (rc == HF_EFREE)
        host->shaken(host->core, kind, name);
    hf__free(name);
    hf__free(key);
    pthread_mutex_lock(&s->mu);
    w = hf__watch_find(s, number);
    if (w && rc == HF_OK) {
        w->place->minded = true;
    } else if (w) { /* renewals will tell */
        hf__watch_end(s, w);
    } else if (rc == HF_OK) {
        s->port->ops->unwatch(s->port, number);
    }
}

/* Its lease is over, and so is the place; the entry goes as an errand. */
static void end_lease(hf_line_store *s, hf_line_place *p) {
    hf__place_unlink(s, p);
    hf__errand_add(s, p, 0);
}

/* One place of the bucket that is due; false: none is, and *next is when one
 * will be. */
static bool see_to_bucket(hf_line_store *s, size_t bucket, hf_time *next) {
    hf_time now = hf__now();

    for (hf_line_place *p = s->places[bucket]; p; p = p->next) {
        if (p->busy)
            continue; /* who is at it says when to look */
        if (p->holds && p->lease_until <= now) {
            end_lease(s, p);
            return true;
        }
        if (p->mind_at <= now && p->key) {
            mind(s, p);
            return true;
        }
        if (p->holds)
            *next = hf__sooner(*next, p->lease_until);
        *next = hf__sooner(*next, p->mind_at);
    }
    return false;
}

/* Bucket after bucket, because there may be many; in each from its beginning,
 * because it may have changed. */
static bool see_to_places(hf_line_store *s, hf_time *next) {
    bool worked = false;

    for (size_t i = 0; i < HF_LINE_BUCKETS; i++)
        while (!s->stopping && see_to_bucket(s, i, next))
            worked = true;
    return worked || s->stopping;
}

/* ---- the thread -------------------------------------------------------- */

static void *run(void *arg) {
    hf_line_store *s = arg;

    pthread_mutex_lock(&s->mu);
    while (!s->stopping) {
        hf_time next = HF_NEVER;

        s->sleeps_until = HF_NEVER;
        if (run_errands(s, &next) || see_to_places(s, &next))
            continue;
        s->sleeps_until = next;
        hf__world->wait(&s->work, &s->mu, next);
    }
    pthread_mutex_unlock(&s->mu);
    return NULL;
}

int hf__worker_start(hf_line_store *s, hf_error *err) {
    int rc;

    if (s->runs)
        return HF_OK;
    rc = hf__world->thread_start(&s->worker, run, s);
    if (rc != 0)
        return hf__fail(err, HF_ESYSTEM, "cannot start a thread: %s",
                        strerror(rc));
    s->runs = true;
    return HF_OK;
}

void hf__worker_stop(hf_line_store *s) {
    pthread_mutex_lock(&s->mu);
    s->stopping = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->mu);
    if (s->runs)
        hf__world->thread_join(s->worker);
    pthread_mutex_lock(&s->mu);
    while (s->errands) { /* they go with the session */
        hf_line_place *p = s->errands;

        s->errands = p->next;
        hf__place_free(s, p);
    }
    pthread_mutex_unlock(&s->mu);
}
