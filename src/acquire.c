/* SPDX-License-Identifier: MIT
 *
 * acquire.c - ask, wait, ask again: the only wait loop in the library.
 *
 * First the turn: behind the others of this process who want the same name.
 * Then one question.  If the answer is no, we register interest in the line
 * and ask once more, because it may have moved before we were registered; from
 * then on we sleep until we are woken, until the store said that asking makes
 * sense, or until our time is up, whichever comes first.  A message is only a
 * hint: losing it costs a moment.
 *
 * No answer is not an answer.  A request that may have taken effect is asked
 * again under the same owner, which the store answers as it did before.  If we
 * must leave without having learnt it, the keeper gives the claim back. */
#include <string.h>

#include "client.h"
#include "err.h"

enum {
    ANSWER_MS = 50,       /* what a question gets, however late it is asked */
    FIRST_RETRY_MS = 20,  /* to a store in trouble, doubling */
    LAST_RETRY_MS = 1000, /* up to this */
    LOOK_AGAIN_MS = 5000, /* the longest sleep between two questions */
};

/* One acquire under way. */
typedef struct quest {
    hf_client *client;
    hf_lock *lock;
    hf_spot *spot;
    hf_hold *hold;
    hf_time by;
    bool waits;
    bool watching;
    bool doubt;         /* some question may have been granted unheard */
    hf_time asked;      /* before the last question left */
    hf_time down_since; /* 0: the store answers */
    int retry_ms;
    hf_waiter me;
} quest;

hf_hold *hf__hold_of(hf_spot *spot, uint64_t who) {
    hf_hold *h = spot->holds;

    while (h && h->who != who)
        h = h->next;
    return h;
}

/* Does somebody in this process hold the name, as far as we can tell? */
static hf_hold *live_hold(hf_spot *spot) {
    hf_hold *h = spot->holds;

    while (h && !hf__hold_lives(h))
        h = h->next;
    return h;
}

/* ---- the turn (spot mu) ------------------------------------------------ */

static int wait_for_turn(quest *q) {
    hf_spot *spot = q->spot;
    hf_hold *holder;

    while ((holder = live_hold(spot)) || spot->first != &q->me) {
        hf_time until = holder ? atomic_load(&holder->held_until) : HF_NEVER;

        if (!q->waits)
            return HF_BUSY;
        if (q->me.cancelled)
            return HF_ECANCELLED;
        if (hf__now() >= q->by)
            return HF_ETIMEOUT;
        hf__world->wait(&q->me.cond, &spot->mu, hf__sooner(q->by, until));
    }
    return HF_OK;
}

/* Sleeps until `at`, unless something happens before. */
static int sleep_until(quest *q, hf_time at) {
    hf_spot *spot = q->spot;
    int rc = HF_OK;

    at = hf__sooner(at, q->by);
    pthread_mutex_lock(&spot->mu);
    while (!q->me.woken && !q->me.cancelled && hf__now() < at)
        hf__world->wait(&q->me.cond, &spot->mu, at);
    if (q->me.cancelled)
        rc = HF_ECANCELLED;
    else if (!q->me.woken && hf__now() >= q->by)
        rc = HF_ETIMEOUT;
    pthread_mutex_unlock(&spot->mu);
    return rc;
}

/* ---- the question ------------------------------------------------------ */

/* A try is given the time of a request, a wait what is left of it, and each
 * enough that an answer can come at all: a question that is cut off leaves
 * nothing but doubt. */
static hf_time answer_by(const quest *q) {
    hf_time request = hf__after_ms(q->client->host.timeout_ms);
    hf_time least = hf__after_ms(ANSWER_MS);

    if (!q->waits)
        return request;
    return hf__sooner(request, q->by > least ? q->by : least);
}

static int ask(quest *q, hf_error *err) {
    hf_backend *be = q->client->be;
    hf_claim *c = &q->hold->claim;
    int rc;

    pthread_mutex_lock(&q->spot->mu);
    q->me.woken = false; /* before we ask, or we miss what comes meanwhile */
    pthread_mutex_unlock(&q->spot->mu);
    q->asked = hf__now();
    rc = be->ops->attempt(be, c, q->waits, answer_by(q), err);
    if (rc == HF_OK && hf__now() >= hf__trusted_until(q->asked, c->lease_ms))
        rc = hf__fail(err, HF_EDOUBT, "the answer came after its lease");
    if (rc == HF_EDOUBT)
        q->doubt = true;
    return rc;
}

/* Troubles that may pass by themselves. */
static bool passing(int rc) {
    switch (rc) {
    case HF_EDOUBT:
    case HF_EDOWN:
    case HF_ESTARTING:
    case HF_EREAD_ONLY:
    case HF_ECROWDED:
        return true;
    default:
        return false;
    }
}

/* The store is in trouble: whether to try again, after a pause.  Returns the
 * trouble itself when patience or time is at an end. */
static int bear(quest *q, int trouble) {
    hf_time now = hf__now();
    int rc;

    if (!q->waits || !passing(trouble))
        return trouble;
    if (!q->down_since)
        q->down_since = q->asked;
    if (now - q->down_since >= q->client->patience_ms * HF_MS)
        return trouble;
    q->retry_ms = q->retry_ms ? q->retry_ms * 2 : FIRST_RETRY_MS;
    if (q->retry_ms > LAST_RETRY_MS)
        q->retry_ms = LAST_RETRY_MS;
    rc = sleep_until(q, now + hf__jitter(q->retry_ms * HF_MS));
    return rc == HF_ETIMEOUT ? trouble : rc;
}

/* Busy: sleeps until it makes sense to ask again.  The first time it only
 * registers, because the very next question closes the gap. */
static int look_again(quest *q, hf_error *err) {
    hf_backend *be = q->client->be;
    hf_claim *c = &q->hold->claim;
    hf_time longest = hf__now() + hf__jitter(LOOK_AGAIN_MS * HF_MS);

    q->down_since = 0;
    q->retry_ms = 0;
    if (!q->watching) {
        q->watching = true;
        if (be->ops->watch(be, c, true, answer_by(q), err) == HF_OK)
            return hf__now() < q->by ? HF_OK : HF_ETIMEOUT;
        q->watching = false; /* polling must do, and we try again later */
    }
    return sleep_until(q, hf__sooner(c->ask_again, longest));
}

static int ask_until_answered(quest *q, hf_error *err) {
    int rc;

    for (;;) {
        rc = ask(q, err);
        if (rc == HF_OK || (rc == HF_BUSY && !q->waits))
            return rc;
        if (rc == HF_BUSY)
            rc = look_again(q, err);
        else
            rc = bear(q, rc);
        if (rc != HF_OK)
            return rc;
    }
}

/* ---- the way out ------------------------------------------------------- */

static void install(quest *q) {
    hf_hold *h = q->hold;

    if (q->lock->max_hold_ms)
        h->ends_at = q->asked + q->lock->max_hold_ms * HF_MS;
    hf__keeper_add(q->client->keeper, h, q->asked);
}

/* Out of the store's line, if we may stand in it.  The keeper sees to it when
 * the store does not answer now. */
static void withdraw(quest *q) {
    hf_client *client = q->client;
    hf_error err;
    int rc = HF_EDOUBT;

    if (!q->doubt && q->hold->claim.place == 0) {
        hf__keeper_settle(client->keeper);
        hf__hold_put(&client->spots, q->hold);
        return;
    }
    if (!q->doubt)
        rc = client->be->ops->release(client->be, &q->hold->claim, HF_RELEASE,
                                      NULL, hf__after_ms(ANSWER_MS), &err);
    if (rc == HF_OK || rc == HF_ELOST) {
        hf__keeper_settle(client->keeper);
        hf__hold_put(&client->spots, q->hold);
    } else {
        hf__keeper_give_back(client->keeper, q->hold);
    }
}

/* Leaves the queue; on success the hold stands in the spot before the next
 * one looks. */
static void leave_queue(quest *q, bool granted) {
    pthread_mutex_lock(&q->spot->mu);
    if (granted) {
        q->hold->next = q->spot->holds;
        q->spot->holds = q->hold;
    }
    hf__waiter_leave(q->spot, &q->me);
    pthread_mutex_unlock(&q->spot->mu);
}

/* The text when the wait ended without a store's error to explain it. */
static int explain(const quest *q, int rc, hf_error *err) {
    const char *name = q->hold->claim.name + strlen(q->client->prefix);

    if (rc < 0 && q->doubt)
        return hf__fail(err, HF_EDOUBT,
                        "no answer about lock '%s': it may have been granted; "
                        "it will be given back",
                        name);
    if (rc == HF_ETIMEOUT)
        return hf__fail(err, rc, "lock '%s' was not free in the time allowed",
                        name);
    if (rc == HF_ECANCELLED)
        return hf__fail(err, rc, "the wait for lock '%s' was cancelled", name);
    return rc;
}

int hf__acquire(hf_lock *lock, hf_hold *h, hf_time by, bool waits,
                hf_error *err) {
    hf_client *client = lock->client;
    hf_backend *be = client->be;
    quest q = {.client = client,
               .lock = lock,
               .spot = lock->spot,
               .hold = h,
               .by = by,
               .waits = waits};
    int rc = hf__keeper_reserve(client->keeper, err);

    if (rc < 0) {
        hf__hold_put(&client->spots, h);
        return rc;
    }
    pthread_mutex_lock(&q.spot->mu);
    hf__waiter_join(q.spot, &q.me, lock);
    rc = wait_for_turn(&q);
    pthread_mutex_unlock(&q.spot->mu);
    if (rc == HF_OK)
        rc = ask_until_answered(&q, err);
    if (q.watching)
        be->ops->watch(be, &h->claim, false, HF_NEVER, err);
    if (rc == HF_OK)
        install(&q);
    else
        rc = explain(&q, rc, err);
    leave_queue(&q, rc == HF_OK);
    if (rc != HF_OK)
        withdraw(&q);
    return rc;
}
