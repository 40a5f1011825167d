/* SPDX-License-Identifier: MIT
 *
 * escalate.c - a store made of two: names live in the first as long as that
 * can be had, and go over to the second, with what is held, when it cannot.
 *
 * A verb first sees to it that we may ask at all, which move.c knows, and then
 * asks the store in which the name lives.  No thread is needed for that: a
 * permission is what the core calls a session, and a core that is told so
 * (session_ms) asks for a renewal in time.  attempt, renew and release have
 * files of their own; here is the rest.
 *
 * The core's claim has a *twin*: one claim in each store, of which mostly one
 * is used. */
#include "escalate.h"

#include "../../alloc.h"
#include "../../err.h"

enum { CLOSE_MS = 1000 };

/* The number of a hold that has moved is not what its new store would say. */
static int count(hf_backend *be, hf_claim *c, hf_count_op op, int64_t *value,
                 hf_time by, hf_error *err) {
    (void)be, (void)op, (void)value, (void)by;
    return hf__fail(err, HF_ECANNOT,
                    "'%s': a client of two stores has locks, but no numbers "
                    "that could go over with them",
                    c->name);
}

/* Permissions wait meanwhile: a store that is silent must not cost one.  Both
 * are told, since either may be the one that others can read; one that heard it
 * is enough. */
static int announce(hf_backend *be, const char *doing, int lease_ms, hf_time by,
                    hf_error *err) {
    hf_escalate *w = hf__whole_of(be);
    int best = hf__fail_plain(err, HF_EDOWN);

    for (int i = HF_SIDES; i-- > 0;) {
        hf_backend *there = atomic_load(&w->side[i].be);
        hf_time soon = hf__sooner(by, hf__now() + w->permission / 12);

        if (there &&
            there->ops->announce(there, doing, lease_ms, soon, err) == HF_OK)
            best = HF_OK;
    }
    return best == HF_OK ? best : err->code;
}

/* Those of both, so that many are told twice, which is the core's affair.  One
 * store that answers is enough. */
static int clients(hf_backend *be, hf_record_fn *fn, void *arg, hf_time by,
                   hf_error *err) {
    hf_escalate *w = hf__whole_of(be);
    int best = hf__fail_plain(err, HF_ECANNOT);

    for (int i = HF_SIDES; i-- > 0;) {
        hf_backend *there = atomic_load(&w->side[i].be);

        if (!there || !there->ops->clients)
            continue;
        if (there->ops->clients(there, fn, arg, by, err) == HF_OK)
            best = HF_OK;
        by = hf__after_ms(be->host->timeout_ms);
    }
    return best == HF_OK ? best : err->code;
}

/* Tokens of the store as they are are not those of the name. */
typedef struct listing {
    const hf_side *side;
    uint64_t epoch;
    hf_place_fn *fn;
    void *arg;
} listing;

static void show(void *arg, const hf_place *place) {
    const listing *l = arg;
    hf_place shown = *place;
    char buf[2 * HF_NAME_MAX];

    shown.name = hf__side_outer_name(l->side, place->name, buf, sizeof buf);
    if (l->epoch)
        shown.token = 0;
    l->fn(l->arg, &shown);
}

static int list_side(hf_escalate *w, listing *l, const char *name, hf_time by,
                     hf_error *err) {
    hf_side *side = hf__side_of(w, l->epoch);
    hf_backend *be;
    int rc = hf__side_open(side, &be, by, err);

    l->side = side;
    return rc < 0 ? rc : be->ops->list(be, name, show, l, by, err);
}

/* A name in the store in which it lives; all names in the first alone, because
 * in the second there are gates and the names of others, too. */
static int list(hf_backend *be, const char *name, hf_place_fn *fn, void *arg,
                hf_time by, hf_error *err) {
    hf_escalate *w = hf__whole_of(be);
    listing l = {.fn = fn, .arg = arg};
    hf_passage *p;
    int rc;

    if (!name)
        return list_side(w, &l, NULL, by, err);
    rc = hf__passage_of(w, &p, name, err);
    if (rc != HF_OK)
        return rc;
    rc = hf__gate_find(w, p, &l.epoch, by, err);
    if (rc == HF_OK)
        rc = list_side(w, &l, l.epoch & 1 ? p->second : name, by, err);
    hf__passage_put(w, p);
    return rc;
}

static int examine(hf_backend *be, hf_fact_fn *fn, void *arg, hf_time by,
                   hf_error *err) {
    hf_escalate *w = hf__whole_of(be);
    int rc = HF_OK;

    for (int i = 0; i < HF_SIDES && rc == HF_OK; i++) {
        hf_backend *there;

        fn(arg, HF_FACT, i == HF_SIDE_FIRST ? "first store" : "second store",
           hf__side_where(&w->side[i]));
        rc = hf__side_open(&w->side[i], &there, by, err);
        if (rc == HF_OK)
            rc = there->ops->examine(there, fn, arg, by, err);
    }
    return rc;
}

/* What both can; of what has to be carried over, only locks. */
static unsigned can(const hf_backend *be, hf_kind kind) {
    hf_escalate *w = (hf_escalate *)be;
    unsigned both = ~0U;

    if (kind == HF_SIMPLE || kind == HF_PERMIT || kind == HF_SEMAPHORE ||
        kind == HF_LATCH)
        return 0;
    for (int i = 0; i < HF_SIDES; i++) {
        hf_backend *there = atomic_load(&w->side[i].be);

        both &= there ? there->ops->can(there, kind) : ~0U;
    }
    return both;
}

static const char *where(const hf_backend *be) {
    return hf__side_where(&((hf_escalate *)be)->side[HF_SIDE_FIRST]);
}

const char *hf__escalate_where(hf_backend *be, const char *name) {
    hf_escalate *w = hf__whole_of(be);
    hf_passage *p = hf__passage_find(w, name, false);
    uint64_t epoch = 0;

    if (p) {
        pthread_mutex_lock(&p->mu);
        epoch = p->phase == HF_ENTERING ? p->epoch - 1 : p->epoch;
        pthread_mutex_unlock(&p->mu);
        hf__passage_put(w, p);
    }
    return hf__side_where(hf__side_of(w, epoch));
}

/* ---- opening and closing ----------------------------------------------- */

static void leave_gates(hf_escalate *w) {
    hf_time by = hf__now() + CLOSE_MS * HF_MS;

    for (size_t i = 0; i < HF_PASSAGES; i++)
        for (hf_passage *p = w->passages[i], *next; p; p = next) {
            next = p->next;
            if (hf__now() < by && hf__now() < p->until)
                hf__gate_leave(w, &p->gate, &p->gate_name, by);
            while (p->twins)
                hf__twin_free(p, p->twins->owner);
            hf__passage_free(p);
        }
}

static void close_both(hf_backend *be, bool forked) {
    hf_escalate *w = hf__whole_of(be);

    if (!forked)
        leave_gates(w);
    for (int i = 0; i < HF_SIDES; i++)
        hf__side_free(&w->side[i], forked);
    if (forked)
        return;
    pthread_mutex_destroy(&w->mu);
    hf__free(w);
}

static const hf_backend_ops ops = {
    .close = close_both,
    .can = can,
    .where = where,
    .attempt = hf__escalate_attempt,
    .watch = hf__escalate_watch,
    .renew = hf__escalate_renew,
    .release = hf__escalate_release,
    .count = count,
    .announce = announce,
    .clients = clients,
    .list = list,
    .examine = examine,
};

static int check(const hf_escalate_options *o, const hf_host *host,
                 hf_error *err) {
    if (o->permission_ms < 0 || o->after_ms < 0 || o->back_ms < HF_FOREVER)
        return hf__fail(err, HF_EUSAGE,
                        "hf_escalate_options: a duration is negative");
    if (o->permission_ms &&
        (o->permission_ms < 50 || o->permission_ms > host->lease_ms))
        return hf__fail(err, HF_EUSAGE,
                        "permission_ms is %d: from 50 ms to the lease (%d ms) "
                        "makes sense",
                        o->permission_ms, host->lease_ms);
    return HF_OK;
}

static void configure(hf_escalate *w, const hf_escalate_options *o) {
    int lease_ms = w->base.host->lease_ms;

    w->permission_ms = o->permission_ms ? o->permission_ms : lease_ms / 6;
    if (w->permission_ms < 50)
        w->permission_ms = 50;
    w->permission = w->permission_ms * HF_MS;
    w->after = o->after_ms ? o->after_ms * HF_MS : w->permission;
    w->back = o->back_ms == HF_FOREVER ? HF_NEVER :
              o->back_ms               ? o->back_ms * HF_MS :
                                         lease_ms * HF_MS;
}

/* Read and write sides for the gates, numbers for the epochs. */
static int check_second(hf_side *side, hf_error *err) {
    hf_backend *be = atomic_load(&side->be);

    if (be->ops->can(be, HF_READ) & be->ops->can(be, HF_WRITE) &
        be->ops->can(be, HF_SEMAPHORE) & HF_CAN_HOLD)
        return HF_OK;
    return hf__fail(err, HF_ECANNOT,
                    "%s cannot be the second store: it has no read-write locks "
                    "or no semaphores",
                    hf__side_where(side));
}

int hf__escalate_open(hf_backend **ret, const hf_uri *first,
                      const hf_uri *second, const hf_host *host,
                      const hf_escalate_options *options, hf_moved_fn *moved,
                      hf_time by, hf_error *err) {
    hf_escalate *w = hf__calloc(1, sizeof *w);
    hf_backend *be;
    int rc;

    if (!w)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    w->base.ops = &ops;
    w->base.host = host;
    w->moved = moved;
    pthread_mutex_init(&w->mu, NULL);
    configure(w, options);
    if ((rc = check(options, host, err)) ||
        (rc = hf__side_init(&w->side[HF_SIDE_FIRST], w, first, err)) ||
        (rc = hf__side_init(&w->side[HF_SIDE_SECOND], w, second, err)) ||
        (rc = hf__side_open(&w->side[HF_SIDE_SECOND], &be, by, err)) ||
        (rc = check_second(&w->side[HF_SIDE_SECOND], err)))
        goto out;
    rc = hf__side_open(&w->side[HF_SIDE_FIRST], &be, by, err);
    if (hf__is_trouble(rc) && rc != HF_EAUTH && rc != HF_EFORBIDDEN &&
        rc != HF_ETLS)
        rc = HF_OK; /* names may live in the second by now */
out:
    if (rc == HF_OK)
        *ret = &w->base;
    else
        close_both(&w->base, false);
    return rc;
}
