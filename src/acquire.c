/* SPDX-License-Identifier: MIT
 *
 * acquire.c - ask, wait, ask again: the only wait loop in the library.
 *
 * It goes in steps, so that who waits need not be a thread: acquire.h.
 *
 *             our turn             busy, or trouble that may pass
 *   queues ────────────► asks ────────────────────────────────────► rests
 *                          ▲           woken, or it is time             │
 *                          └────────────────────────────────────────────┘
 *
 * First the turn: behind the others of this process who want the same name;
 * one of them may hand it over.  Then one question.  If the answer is no, we register interest in the line
 * and ask once more, because it may have moved before we were registered; from
 * then on we sleep until we are woken, until the store said that asking makes
 * sense, or until our time is up, whichever comes first.  A message is only a
 * hint: losing it costs a moment.
 *
 * No answer is not an answer.  A request that may have taken effect is asked
 * again under the same owner, which the store answers as it did before.  If we
 * must leave without having learnt it, the keeper gives the claim back. */
#include "acquire.h"

#include <string.h>

#include "doing.h"
#include "err.h"
#include "identity.h"
#include "plant.h"

enum {
    ANSWER_MS = 200,      /* what a question gets, however late it is asked */
    FIRST_RETRY_MS = 20,  /* to a store in trouble, doubling */
    LAST_RETRY_MS = 1000, /* up to this */
    TURNS_EACH = 16,      /* tokens reserved for each who waits behind us… */
    TURNS_ALL = 128       /* …up to this: more would outrun the clock */
};

hf_hold *hf__hold_of(hf_spot *spot, uint64_t who, hf_mode mode) {
    hf_hold *h = spot->holds;

    while (h && (h->who != who || h->claim.mode != mode))
        h = h->next;
    return h;
}

/* Does somebody else in this process hold what keeps us out, as far as we can
 * tell? */
static hf_hold *live_rival(const hf_quest *q) {
    hf_mode mode = q->hold->claim.mode;
    hf_hold *h = q->spot->holds;

    if (mode == HF_PERMITS || mode == HF_ZERO || q->spot->kind == HF_FAIR)
        return NULL; /* the store knows */
    while (h && (!hf__hold_lives(h) || h->who == q->hold->who ||
                 (mode == HF_SHARED && h->claim.mode == HF_SHARED)))
        h = h->next;
    return h;
}

/* ---- the turn (spot mu) ------------------------------------------------ */

/* A process full of threads that want a lock would take it again before anybody
 * else has heard that it is free. */
static bool must_be_polite(const hf_quest *q) {
    return q->terms.waits && q->me.lock && hf__now() < q->spot->polite_until;
}

/* When it may be our turn to ask, if nobody nudges us before; 0: now. */
static hf_time turn_comes(const hf_quest *q) {
    const hf_hold *rival = live_rival(q);

    if (rival)
        return atomic_load(&rival->held_until);
    if (!hf__waiter_first(q->spot, &q->me))
        return HF_NEVER;
    return must_be_polite(q) ? q->spot->polite_until : 0;
}

/* Why waiting for the turn ends without it; HF_OK: it goes on. */
static int turn_ends(const hf_quest *q) {
    return !q->terms.waits          ? HF_BUSY :
           q->me.cancelled          ? HF_ECANCELLED :
           hf__now() >= q->terms.by ? HF_ETIMEOUT :
                                      HF_OK;
}

/* We are about to sleep for the first time: if it lasts, those who look on
 * shall hear of it.  true: the mu was let go meanwhile. */
static bool begin_wait(hf_quest *q) {
    hf_keeper *keeper = q->client->keeper;

    if (q->me.since)
        return false;
    q->me.since = hf__now();
    hf__tally_waits(q->spot->tally, q->me.mode, 1);
    if (q->me.asked)
        q->look_at = q->me.since + HF_LOOK_AFTER;
    if (hf__keeper_is_stirred(keeper))
        return false;
    pthread_mutex_unlock(&q->spot->mu);
    hf__keeper_stir(keeper, q->me.since + HF_LASTING);
    pthread_mutex_lock(&q->spot->mu);
    return true;
}

/* Now and then, if it was asked for: HF_EDEADLOCK when the wait has no end and
 * we are the one to leave.  Nothing is locked. */
static int look_out(hf_quest *q, hf_error *err) {
    hf_time by = hf__sooner(q->terms.by, hf__now() + HF_SECOND);
    char owner[HF_DOING_OWNER + 1];
    int rc = HF_OK;

    hf__doing_owner(q->me.kind, q->me.owner, q->me.nonce, owner);
    if (!q->down_since)
        rc = hf__lookout(q->client, owner, by, err);
    q->look_at = hf__now() + HF_LOOK_AFTER + hf__jitter(HF_LOOK_AFTER / 2);
    return rc;
}

/* The mu is let go meanwhile. */
static int look_out_in_queue(hf_quest *q, hf_error *err) {
    int rc;

    pthread_mutex_unlock(&q->spot->mu);
    rc = look_out(q, err);
    pthread_mutex_lock(&q->spot->mu);
    return rc;
}

/* Until `until` nothing is to be done, unless the bell rings.  It is muffled
 * before the mu is let go: what changes from then on rings it. */
static int fall_asleep(hf_quest *q, hf_time until) {
    q->until = until;
    atomic_store(&q->me.bell, HF_BELL_STILL);
    return HF_SLEEPS;
}

/* Was a hold put into our hands?  Then we are out of the queue, and without
 * the mu, which we have no use for; else we have it. */
static bool was_given(hf_quest *q) {
    if (atomic_load(&q->me.bell) == HF_BELL_GIVEN)
        return true;
    pthread_mutex_lock(&q->spot->mu);
    if (atomic_load(&q->me.bell) != HF_BELL_GIVEN)
        return false;
    pthread_mutex_unlock(&q->spot->mu);
    return true;
}

/* A number that was used before is still listened to: to register it first
 * costs nothing, and then one question is enough. */
static void watch_first(hf_quest *q, hf_error *err);

/* HF_OK: it is our turn. */
static int look_up(hf_quest *q, hf_error *err) {
    hf_time until;
    int rc = HF_OK;

    while ((until = turn_comes(q)) != 0 && (rc = turn_ends(q)) == HF_OK) {
        if (begin_wait(q))
            continue;
        if (hf__now() >= q->look_at) {
            if ((rc = look_out_in_queue(q, err)) != HF_OK)
                break;
            continue;
        }
        q->me.takes = q->me.lock != NULL;
        q->lingers = q->me.takes && q->spot->first == &q->me;
        return fall_asleep(
            q, hf__sooner(hf__sooner(q->terms.by, q->look_at), until));
    }
    return rc;
}

/* A thread of its own may ask once more; few threads that serve thousands would
 * be busy for minutes with a store that says nothing. */
static bool is_hopeless(const hf_quest *q) {
    return q->me.task && atomic_load(&q->client->silent);
}

/* It is our turn: does it come too late?  HF_OK: no.  A try asks in any
 * case. */
static int turn_is_late(const hf_quest *q) {
    if (q->me.cancelled && q->terms.waits)
        return HF_ECANCELLED;
    return q->terms.waits && is_hopeless(q) && hf__now() >= q->terms.by ?
               HF_ETIMEOUT :
               HF_OK;
}

/* In the queue.  HF_OK: we were given it. */
static int queue(hf_quest *q, hf_error *err) {
    int rc;

    if (was_given(q))
        return HF_OK;
    q->me.takes = q->lingers = false;
    rc = look_up(q, err);
    if (rc == HF_OK)
        rc = turn_is_late(q);
    pthread_mutex_unlock(&q->spot->mu);
    if (rc != HF_OK)
        return rc;
    if (q->terms.waits && q->hold->above)
        watch_first(q, err);
    q->phase = HF_ASKS;
    return HF_GOES_ON;
}

static bool is_still(const hf_quest *q) {
    return !q->me.woken && !q->me.cancelled && hf__now() < q->rest_until;
}

/* Why the rest ends, and whether that is the end of all; spot mu. */
static int rest_ends(const hf_quest *q, int rc) {
    if (q->me.granted)
        return HF_GOES_ON; /* whatever else came at the same time */
    if (q->me.cancelled)
        return HF_ECANCELLED;
    if (rc == HF_OK && !q->me.woken && hf__now() >= q->terms.by)
        return q->trouble ? q->trouble : HF_ETIMEOUT;
    return rc == HF_OK ? HF_GOES_ON : rc;
}

/* Until something happens, or it is time to ask again. */
static int rest(hf_quest *q, hf_error *err) {
    int rc = HF_OK;

    pthread_mutex_lock(&q->spot->mu);
    begin_wait(q);
    while (rc == HF_OK && is_still(q) && hf__now() >= q->look_at)
        rc = look_out_in_queue(q, err);
    if (rc == HF_OK && is_still(q))
        rc = fall_asleep(q, hf__sooner(q->rest_until, q->look_at));
    else
        rc = rest_ends(q, rc);
    pthread_mutex_unlock(&q->spot->mu);
    if (rc == HF_GOES_ON)
        q->phase = HF_ASKS;
    return rc;
}

static int rest_until(hf_quest *q, hf_time at, int trouble) {
    q->rest_until = hf__sooner(at, q->terms.by);
    q->trouble = trouble;
    q->phase = HF_RESTS;
    return HF_GOES_ON;
}

/* ---- the question ------------------------------------------------------ */

/* A try is given the time of a request, a wait what is left of it, and each
 * enough that an answer can come at all: a question that is cut off leaves
 * nothing but doubt. */
static hf_time answer_by(const hf_quest *q) {
    hf_time request = hf__after_ms(q->client->host.timeout_ms);
    hf_time least = hf__after_ms(ANSWER_MS);

    if (!q->terms.waits)
        return request;
    return hf__sooner(request, q->terms.by > least ? q->terms.by : least);
}

/* How often the lock may be handed over before it is given back. */
static int turns_behind(const hf_waiter *me) {
    int turns = 0;

    for (const hf_waiter *w = me->next; w && w->lock && turns < TURNS_ALL;
         w = w->next)
        turns += TURNS_EACH;
    return turns;
}

/* Takes what came unasked; otherwise makes ready to ask.  What comes from now
 * on is not missed.  No replica confirmed a gift, so who wants that asks. */
static bool take_gift(hf_quest *q) {
    hf_claim *c = &q->hold->claim;
    bool granted;

    pthread_mutex_lock(&q->spot->mu);
    granted = q->me.granted && hf__now() < q->me.until && !c->replicas;
    if (granted) {
        q->asked = q->answered = hf__now();
        q->brief = q->me.until;
        c->token = q->me.token;
    }
    q->me.granted = q->me.woken = q->me.refused = false;
    if (c->kind == HF_LOCK && q->me.lock)
        c->block = 1 + turns_behind(&q->me);
    pthread_mutex_unlock(&q->spot->mu);
    return granted;
}

static bool came_too_late(const hf_quest *q) {
    const hf_claim *c = &q->hold->claim;

    return hf__leased(c->kind) &&
           q->answered >=
               hf__trusted_until(q->asked,
                                 hf__good_for_ms(c->lease_ms, c->session_ms));
}

static int attempt(hf_quest *q, hf_error *err) {
    hf_backend *be = q->client->be;
    int rc;

    q->asked = hf__now();
    rc = be->ops->attempt(be, &q->hold->claim, q->terms.waits, answer_by(q),
                          err);
    q->answered =
        hf__tally_asked(&q->client->tallies, HF_RTT_ATTEMPT, q->asked, rc);
    if (atomic_load(&q->client->silent) != (rc == HF_EDOUBT || rc == HF_EDOWN))
        atomic_store(&q->client->silent, rc == HF_EDOUBT || rc == HF_EDOWN);
    return rc;
}

/* The number was used before, and a store that has lost writes may not know
 * that its last grant was given back: it takes us for the holder and names a
 * token that was used.  So that is given back once more. */
static int attempt_anew(hf_quest *q, hf_error *err) {
    hf_backend *be = q->client->be;
    hf_claim *c = &q->hold->claim;
    int rc = be->ops->release(be, c, HF_RELEASE, NULL, answer_by(q), err);

    c->token = c->last_token = 0;
    if (rc == HF_OK || rc == HF_ELOST)
        rc = attempt(q, err);
    if (rc == HF_OK && c->token <= q->hold->above)
        rc = HF_EDOUBT;
    return rc < 0 ?
               hf__fail(err, HF_EDOUBT,
                        "the store forgot that '%s' was released", c->name) :
               rc;
}

static int ask(hf_quest *q, hf_error *err) {
    int rc;

    if (take_gift(q))
        return HF_OK;
    rc = attempt(q, err);
    if (!HF_PLANTED(NUMBER) && rc == HF_OK && q->hold->above &&
        q->hold->claim.token <= q->hold->above)
        rc = attempt_anew(q, err);
    if (HF_PLANTED(DOUBT) && rc == HF_EDOUBT)
        return HF_BUSY;
    if (rc == HF_OK && came_too_late(q))
        rc = hf__fail(err, HF_EDOUBT, "the answer came after its lease");
    if (rc == HF_EDOUBT && q->hold->claim.kind != HF_LATCH)
        q->doubt = true;
    return rc;
}

bool hf__passing(int rc) {
    switch (rc) {
    case HF_EDOUBT:
    case HF_EDOWN:
    case HF_ESTARTING:
    case HF_EREAD_ONLY:
    case HF_ECROWDED:
    case HF_EREPLICAS:
    case HF_EMINORITY:
        return true;
    default:
        return false;
    }
}

/* The store is in trouble: whether to try again, after a pause.  The result is
 * the trouble itself when patience or time is at an end. */
static int bear(hf_quest *q, int trouble) {
    hf_time now = hf__now();

    if (!q->terms.waits || !hf__passing(trouble))
        return trouble;
    if (!q->down_since)
        q->down_since = q->asked;
    if (now - q->down_since >= q->client->patience_ms * HF_MS)
        return trouble;
    q->retry_ms = q->retry_ms ? q->retry_ms * 2 : FIRST_RETRY_MS;
    if (q->retry_ms > LAST_RETRY_MS)
        q->retry_ms = LAST_RETRY_MS;
    return rest_until(q, now + hf__jitter(q->retry_ms * HF_MS), trouble);
}

/* SPIN: twice as long as the last time, and not in step with others. */
static hf_time next_pause(hf_quest *q) {
    const hf_lock *lock = q->hold->lock;
    int ms = q->pause_ms ? 2 * q->pause_ms : lock->backoff_ms;

    q->pause_ms = ms < lock->max_backoff_ms ? ms : lock->max_backoff_ms;
    return hf__now() + hf__jitter(q->pause_ms * HF_MS);
}

/* We are known to wait: those who share come behind us now, and a place that
 * must be kept is kept. */
static void settle_down(hf_quest *q) {
    const hf_claim *c = &q->hold->claim;

    q->down_since = 0;
    q->retry_ms = 0;
    pthread_mutex_lock(&q->spot->mu);
    q->me.refused = !q->me.woken;
    pthread_mutex_unlock(&q->spot->mu);
    if (!q->kept && c->place && (c->kind == HF_FAIR || c->writers_first)) {
        hf__keeper_wait(q->client->keeper, q->hold);
        q->kept = true;
    }
}

/* Busy: rests until it makes sense to ask again.  The first time it only
 * registers, because the very next question closes the gap. */
static int look_again(hf_quest *q, hf_error *err) {
    hf_backend *be = q->client->be;
    hf_claim *c = &q->hold->claim;
    hf_time longest = hf__now() + hf__jitter(hf__look_again);

    settle_down(q);
    if (c->kind == HF_SPIN)
        return rest_until(q, next_pause(q), 0);
    if (!q->watching) {
        q->watching = true;
        if (be->ops->watch(be, c, true, answer_by(q), err) != HF_OK)
            q->watching = false; /* polling must do, and we try again later */
        else if (!HF_PLANTED(WATCH))
            return hf__now() < q->terms.by ? HF_GOES_ON : HF_ETIMEOUT;
    }
    if (HF_PLANTED(TIMER))
        longest = c->ask_again = HF_NEVER;
    return rest_until(q, hf__sooner(c->ask_again, longest), 0);
}

static void watch_first(hf_quest *q, hf_error *err) {
    hf_backend *be = q->client->be;

    q->watching =
        be->ops->watch(be, &q->hold->claim, true, answer_by(q), err) == HF_OK;
}

static int ask_store(hf_quest *q, hf_error *err) {
    int rc = ask(q, err);

    if (rc == HF_OK || (rc == HF_BUSY && !q->terms.waits))
        return rc;
    return rc == HF_BUSY ? look_again(q, err) : bear(q, rc);
}

/* ---- the way out ------------------------------------------------------- */

static void install(hf_quest *q) {
    hf_hold *h = q->hold;
    hf_keeper *keeper = q->client->keeper;

    if (HF_PLANTED(REPLY))
        q->asked = hf__now();
    h->granted = q->asked;
    h->since = q->answered;
    q->token = h->claim.token;
    h->doubted = q->doubt;
    if (h->lock->max_hold_ms)
        h->ends_at = q->asked + h->lock->max_hold_ms * HF_MS;
    if (q->brief)
        hf__keeper_add_brief(keeper, h, q->brief);
    else
        hf__keeper_add(keeper, h, q->asked);
}

/* Nothing is left to do for the hold. */
static void forget(hf_quest *q) {
    hf__keeper_settle(q->client->keeper);
    hf__hold_put(&q->client->spots, q->hold);
}

/* Out of the store's line, if we may stand in it.  The keeper sees to it when
 * the store does not answer now. */
static void withdraw(hf_quest *q) {
    hf_client *client = q->client;
    hf_error err;
    int rc = HF_EDOUBT;

    if (!q->doubt && (q->hold->claim.place == 0 || HF_PLANTED(PLACE))) {
        forget(q);
        return;
    }
    if (!q->doubt && !is_hopeless(q))
        rc = client->be->ops->release(client->be, &q->hold->claim, HF_RELEASE,
                                      NULL, hf__after_ms(ANSWER_MS), &err);
    if (rc == HF_OK || rc == HF_ELOST)
        forget(q);
    else
        hf__keeper_give_back(client->keeper, q->hold);
}

/* Leaves the queue; a hold stands in the spot before the next one looks. */
static void leave_queue(hf_quest *q, bool holds) {
    pthread_mutex_lock(&q->spot->mu);
    if (holds) {
        q->hold->next = q->spot->holds;
        q->spot->holds = q->hold;
    }
    hf__waiter_leave(q->spot, &q->me);
    pthread_mutex_unlock(&q->spot->mu);
    if (q->me.told)
        hf__keeper_stir(q->client->keeper, 0);
}

/* The text when the wait ended without a store's error to explain it. */
static int explain(const hf_quest *q, int rc, hf_error *err) {
    const hf_claim *c = &q->hold->claim;
    const char *name = c->name + strlen(q->client->prefix);
    const char *noun = hf__noun(c->kind);

    if (rc < 0 && q->doubt)
        return hf__fail(err, HF_EDOUBT,
                        "no answer about %s '%s': it may have been granted; "
                        "it will be given back",
                        noun, name);
    if (rc == HF_ETIMEOUT)
        return hf__fail(err, rc, "%s '%s' was not free in the time allowed",
                        noun, name);
    if (rc == HF_ECANCELLED)
        return hf__fail(err, rc, "the wait for %s '%s' was cancelled", noun,
                        name);
    return rc;
}

/* What the loop came to: a grant, or nothing. */
static int end_quest(hf_quest *q, int rc, hf_error *err) {
    hf_backend *be = q->client->be;
    bool leased = hf__leased(q->hold->claim.kind);

    if (q->watching)
        be->ops->watch(be, &q->hold->claim, false, HF_NEVER, err);
    if (q->kept)
        hf__keeper_unwait(q->client->keeper, q->hold);
    if (rc == HF_OK && leased)
        install(q);
    else if (rc != HF_OK)
        rc = explain(q, rc, err);
    leave_queue(q, rc == HF_OK && leased);
    if (rc != HF_OK)
        withdraw(q);
    else if (!leased)
        forget(q);
    return rc;
}

/* The hold we came with is not needed: we were given another's. */
static int take_given(hf_quest *q) {
    q->answered = q->me.given_at;
    q->token = q->me.token;
    forget(q);
    if (q->me.told)
        hf__keeper_stir(q->client->keeper, 0);
    return HF_OK;
}

/* Counts it, and tells who listens.  The hold is not ours to look at any more:
 * whoever owns it may have released it. */
static void report(const hf_quest *q, int rc) {
    hf_time waited = (rc == HF_OK ? q->answered : hf__now()) - q->terms.began;

    if (q->me.since)
        hf__tally_waits(q->spot->tally, q->me.mode, -1);
    hf__tally_acquired(q->spot->tally, q->me.kind, q->terms.waits, rc, waited);
    if (q->client->on_event && hf__leased(q->me.kind))
        hf__client_tell(q->client,
                        &(hf_event){.kind = rc == HF_OK ? HF_EVENT_GRANTED :
                                                          HF_EVENT_REFUSED,
                                    .name = q->spot->name,
                                    .token = rc == HF_OK ? q->token : 0,
                                    .code = rc,
                                    .waited_us = waited / HF_US});
}

/* ---- step by step ------------------------------------------------------ */

/* Whom others see waiting: a thread; or, without one, nobody but this quest,
 * since the thread that began it goes on. */
static uint64_t who_waits(const hf_quest *q, const hf_task *task) {
    return task ? UINT64_C(1) << 62 | q->hold->claim.owner :
                  hf__thread_number();
}

static void set_waiter(hf_quest *q, hf_task *task) {
    const hf_hold *h = q->hold;

    q->me = (hf_waiter){.via = q->terms.via,
                        .task = task,
                        .owner = h->claim.owner,
                        .above = h->above,
                        .mode = h->claim.mode,
                        .inside = h->claim.beside != 0,
                        .who = h->who,
                        .kind = h->claim.kind,
                        .permits = h->claim.permits,
                        .thread = who_waits(q, task)};
    memcpy(q->me.nonce, h->claim.nonce, sizeof q->me.nonce);
    q->me.asked = h->lock && h->lock->flags & HF_DEADLOCK;
    if (h->lock && hf__shares_turns(h->lock))
        q->me.lock = h->lock;
}

int hf__quest_begin(hf_quest *q, hf_client *client, hf_hold *h,
                    const hf_terms *terms, hf_task *task, hf_error *err) {
    int rc = hf__keeper_reserve(client->keeper, err);

    *q = (hf_quest){.client = client,
                    .spot = h->spot,
                    .hold = h,
                    .terms = *terms,
                    .look_at = HF_NEVER};
    set_waiter(q, task);
    if (rc < 0) {
        report(q, rc);
        hf__hold_put(&client->spots, h);
        return rc;
    }
    pthread_mutex_lock(&q->spot->mu);
    hf__waiter_join(q->spot, &q->me);
    q->me.cancelled = hf__terms_cancelled(terms);
    pthread_mutex_unlock(&q->spot->mu);
    return HF_GOES_ON;
}

static int go_on(hf_quest *q, hf_error *err) {
    switch (q->phase) {
    case HF_QUEUES:
        return queue(q, err);
    case HF_ASKS:
        return ask_store(q, err);
    default:
        return rest(q, err);
    }
}

int hf__quest_step(hf_quest *q, hf_error *err) {
    int rc;

    do
        rc = go_on(q, err);
    while (rc == HF_GOES_ON);
    if (rc == HF_SLEEPS)
        return rc;
    rc = q->me.given ? take_given(q) : end_quest(q, rc, err);
    report(q, rc);
    return rc;
}

void hf__quest_sleep(hf_quest *q) {
    if (q->lingers)
        hf__world->linger(&q->me.bell, HF_BELL_STILL);
    hf__world->park(&q->me.bell, HF_BELL_STILL, q->until);
}

int hf__quest_finish(hf_quest *q, hf_error *err) {
    int rc;

    while ((rc = hf__quest_step(q, err)) == HF_SLEEPS)
        hf__quest_sleep(q);
    return rc;
}
