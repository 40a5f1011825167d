/* SPDX-License-Identifier: MIT
 *
 * lock.c - the lock, whatever its kind: re-entry, release, and what the owner
 * may ask.
 *
 * Re-entry is counted here and never in the store, so that a repeated request
 * cannot count twice.  On the wire every grant has an owner number of its own:
 * a request of an earlier grant that arrives late finds nothing it could
 * harm. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "acquire.h"
#include "alloc.h"
#include "claim.h"
#include "err.h"
#include "identity.h"
#include "options.h"
#include "uncancelled.h"

enum {
    LEAST_LEASE_MS = 10,
    BACKOFF_MS = 1,
    MAX_BACKOFF_MS = 128,
    MOST_PERMITS = 1024,    /* at once */
    POLITE_NS = 300 * 1000, /* for a message to arrive and a question to come */
    FLAGS = HF_OWNER_HANDLE | HF_POST_RELEASE | HF_NO_REENTRY |
            HF_WRITERS_FIRST | HF_NO_COHORT | HF_DEADLOCK
};

static const char *const kind_names[HF_KINDS] = {
    [HF_LOCK] = "plain lock",      [HF_SIMPLE] = "simple lock",
    [HF_FAIR] = "fair lock",       [HF_SPIN] = "spin lock",
    [HF_READ] = "read lock",       [HF_WRITE] = "write lock",
    [HF_PERMIT] = "leased permit", [HF_SEMAPHORE] = "semaphore",
    [HF_LATCH] = "latch",
};

/* Of its verbs those that change something also ask whether the lock is a
 * member of one: hf_lock.multi. */
static bool is_multi(const hf_lock *lock) {
    return lock && !lock->spot;
}

/* ---- making a handle --------------------------------------------------- */

static int check_duration(int ms, int least, const char *what, hf_error *err) {
    if (ms != 0 && ms < least)
        return hf__fail(err, HF_EUSAGE,
                        "%s of %d ms: at least %d ms make sense", what, ms,
                        least);
    return HF_OK;
}

static int check_kind(const hf_lock_options *o, hf_error *err) {
    if (o->kind < 0 || o->kind >= HF_KINDS)
        return hf__fail(err, HF_EUSAGE, "there is no lock kind %d",
                        (int)o->kind);
    if (!hf__leased(o->kind))
        return hf__fail(err, HF_EUSAGE, "a %s is not a lock: see hf_%s_new",
                        kind_names[o->kind], kind_names[o->kind]);
    if (o->flags & ~(unsigned)FLAGS)
        return hf__fail(err, HF_EUSAGE, "unknown lock flags 0x%x", o->flags);
    if (o->flags & HF_WRITERS_FIRST && o->kind != HF_READ &&
        o->kind != HF_WRITE)
        return hf__fail(err, HF_EUSAGE,
                        "HF_WRITERS_FIRST is for read and write locks, not "
                        "for a %s",
                        kind_names[o->kind]);
    return HF_OK;
}

static int check_numbers(const hf_lock_options *o, hf_error *err) {
    if (o->permits &&
        (o->kind != HF_PERMIT || o->permits < 0 || o->permits > MOST_PERMITS))
        return hf__fail(err, HF_EUSAGE,
                        "%d permits of a %s: from 1 to %d of an HF_PERMIT "
                        "make sense",
                        o->permits, kind_names[o->kind], MOST_PERMITS);
    if ((o->backoff_ms || o->max_backoff_ms) && o->kind != HF_SPIN)
        return hf__fail(err, HF_EUSAGE, "only a spin lock has a back-off");
    if (o->replicas < HF_ALL)
        return hf__fail(err, HF_EUSAGE,
                        "%d replicas: say a number, HF_MAJORITY or HF_ALL",
                        o->replicas);
    if (o->lease_ms && (o->watchdog_ms || o->renew_ms))
        return hf__fail(err, HF_EUSAGE,
                        "lease_ms is a fixed lease; with watchdog_ms or "
                        "renew_ms leave it 0");
    return HF_OK;
}

static int check_options(const hf_lock_options *o, hf_error *err) {
    int rc;

    if ((rc = check_kind(o, err)) ||
        (rc = check_duration(o->lease_ms, LEAST_LEASE_MS, "lease_ms", err)) ||
        (rc = check_duration(o->watchdog_ms, LEAST_LEASE_MS, "watchdog_ms",
                             err)) ||
        (rc = check_duration(o->renew_ms, 1, "renew_ms", err)) ||
        (rc = check_duration(o->max_hold_ms, 1, "max_hold_ms", err)) ||
        (rc = check_duration(o->backoff_ms, 1, "backoff_ms", err)) ||
        (rc = check_duration(o->max_backoff_ms, 1, "max_backoff_ms", err)))
        return rc;
    return check_numbers(o, err);
}

/* The lease and its rhythm from the lock's own settings, or the client's. */
static int set_lease(hf_lock *lock, const hf_lock_options *o, hf_error *err) {
    const hf_client *client = lock->client;

    lock->max_hold_ms = o->max_hold_ms;
    if (o->lease_ms) {
        lock->lease_ms = o->lease_ms;
        return HF_OK;
    }
    lock->lease_ms = o->watchdog_ms ? o->watchdog_ms : client->lease_ms;
    lock->renew_ms = o->renew_ms    ? o->renew_ms :
                     o->watchdog_ms ? o->watchdog_ms / 3 :
                                      client->renew_ms;
    if (lock->renew_ms >= lock->lease_ms)
        return hf__fail(err, HF_EUSAGE,
                        "renewing every %d ms cannot keep a lease of %d ms",
                        lock->renew_ms, lock->lease_ms);
    return HF_OK;
}

static void set_backoff(hf_lock *lock, const hf_lock_options *o) {
    lock->backoff_ms = o->backoff_ms ? o->backoff_ms : BACKOFF_MS;
    lock->max_backoff_ms =
        o->max_backoff_ms ? o->max_backoff_ms : MAX_BACKOFF_MS;
    if (lock->max_backoff_ms < lock->backoff_ms)
        lock->max_backoff_ms = lock->backoff_ms;
}

/* The handle's own settings; who owns through it. */
static int configure(hf_lock *lock, const hf_lock_options *o, hf_error *err) {
    static atomic_ullong last_handle;

    lock->kind = o->kind;
    lock->flags = o->flags;
    lock->handed_on = o->flags & HF_OWNER_HANDLE;
    lock->permits = o->permits ? o->permits : 1;
    lock->replicas = o->replicas;
    if (o->kind == HF_PERMIT) /* two permits are not one permit twice */
        lock->flags |= HF_OWNER_HANDLE | HF_NO_REENTRY;
    if (lock->flags & HF_OWNER_HANDLE) /* apart from the numbers of threads */
        lock->who = UINT64_C(1) << 63 | (atomic_fetch_add(&last_handle, 1) + 1);
    set_backoff(lock, o);
    return set_lease(lock, o, err);
}

int hf_lock_new(hf_lock **ret, hf_client *client, const char *name,
                const hf_lock_options *options, hf_error *err) {
    hf_lock_options o;
    hf_lock *lock;
    int rc;

    if (!ret || !client)
        return hf__fail(err, HF_EUSAGE, "hf_lock_new: %s is NULL",
                        ret ? "client" : "ret");
    *ret = NULL;
    if ((rc = hf__check_process(client, err)) ||
        (rc =
             hf__options_copy(&o, sizeof o, options, "hf_lock_options", err)) ||
        (rc = check_options(&o, err)))
        return rc;
    if (!(hf_can(client, o.kind) & HF_CAN_HOLD))
        return hf__fail(err, HF_ECANNOT, "the store %s has no %s",
                        hf_store(client), kind_names[o.kind]);
    if (o.replicas && !(hf_can(client, o.kind) & HF_CAN_REPLICATE))
        return hf__fail(err, HF_ECANNOT,
                        "the store %s has no replicas to wait for",
                        hf_store(client));
    if (o.flags & HF_DEADLOCK && client->hidden)
        return hf__fail(err, HF_ECANNOT,
                        "HF_DEADLOCK: %s is asked without a record of what is "
                        "waited for, so that no deadlock can be found",
                        hf_store(client));
    lock = hf__calloc(1, sizeof *lock);
    if (!lock)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    lock->client = client;
    lock->lost_fd = -1;
    if ((rc = configure(lock, &o, err)) ||
        (rc = hf__attach(&lock->spot, client, o.kind, name, err))) {
        hf__free(lock);
        return rc;
    }
    *ret = lock;
    return HF_OK;
}

/* ---- acquire ----------------------------------------------------------- */

static uint64_t who_asks(const hf_lock *lock) {
    return lock->who ? lock->who : hf__thread_number();
}

static hf_mode mode_of(const hf_lock *lock) {
    return hf__mode(lock->kind);
}

/* Why an owner who holds already cannot take this. */
static int refuse(const hf_lock *lock, int rc, hf_error *err) {
    const char *name = hf_lock_name(lock);

    if (rc == HF_ELOST)
        return hf__fail(err, rc,
                        "lock '%s' was held by the caller and lost: release it "
                        "before taking it again",
                        name);
    if (rc == HF_EUSAGE && lock->flags & HF_NO_REENTRY)
        return hf__fail(err, rc,
                        "'%s' is held by the caller already and cannot be "
                        "entered twice",
                        name);
    if (rc == HF_EUSAGE)
        return hf__fail(err, rc,
                        "the caller reads under '%s': it would wait for itself "
                        "to write; release the read side first",
                        name);
    return rc;
}

/* The owner comes again: HF_BUSY when it does not hold yet.  A writer may
 * read; *beside is then the number of its hold. */
static int reenter(hf_lock *lock, uint64_t who, uint64_t *beside) {
    hf_spot *spot = lock->spot;
    hf_mode mode = mode_of(lock);
    int rc = HF_BUSY;

    pthread_mutex_lock(&spot->mu);
    hf_hold *mine = hf__hold_of(spot, who, mode);
    hf_hold *other =
        hf__hold_of(spot, who, mode == HF_SHARED ? HF_EXCLUSIVE : HF_SHARED);
    if (mine && !hf__hold_lives(mine)) {
        rc = HF_ELOST;
    } else if (mine && lock->flags & HF_NO_REENTRY) {
        rc = HF_EUSAGE;
    } else if (mine) {
        mine->count++;
        rc = HF_OK;
    } else if (other && mode == HF_EXCLUSIVE && hf__hold_lives(other)) {
        rc = HF_EUSAGE;
    } else if (other && mode == HF_SHARED && hf__hold_lives(other)) {
        *beside = other->claim.owner;
    }
    pthread_mutex_unlock(&spot->mu);
    return rc;
}

/* A number of its own for every grant; in a fair line one that was used before,
 * if there is one. */
static void set_owner(hf_client *client, hf_hold *h) {
    hf_spot *spot = h->spot;
    hf_number used = {0};

    if (spot->kind == HF_FAIR) {
        pthread_mutex_lock(&spot->mu);
        hf__number_take(spot, &used);
        pthread_mutex_unlock(&spot->mu);
    }
    h->above = used.token;
    h->claim.owner =
        used.owner ? used.owner : atomic_fetch_add(&client->last_owner, 1) + 1;
}

static hf_hold *new_hold(hf_lock *lock, uint64_t who) {
    hf_client *client = lock->client;
    hf_hold *h = hf__hold_new(lock->spot, lock->kind);
    hf_claim *c;

    if (!h)
        return NULL;
    c = &h->claim;
    h->lock = lock;
    h->who = who;
    h->actor = lock->handed_on ? who : hf__thread_number();
    h->count = 1;
    h->renew_ms = lock->renew_ms;
    c->lease_ms = lock->lease_ms;
    c->replicas = lock->replicas;
    set_owner(client, h);
    c->permits = lock->permits;
    c->writers_first = lock->flags & HF_WRITERS_FIRST;
    if (lock->kind == HF_SIMPLE || lock->kind == HF_PERMIT)
        hf__world->random(c->nonce, sizeof c->nonce);
    return h;
}

int hf__lock_begin(hf_quest *q, hf_lock *lock, const hf_terms *terms,
                   hf_task *task, hf_error *err) {
    uint64_t who = who_asks(lock), beside = 0;
    hf_hold *h;
    int rc = reenter(lock, who, &beside);

    if (rc != HF_BUSY)
        return refuse(lock, rc, err);
    h = new_hold(lock, who);
    if (!h)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    h->claim.beside = beside;
    return hf__quest_begin(q, lock->client, h, terms, task, err);
}

int hf__lock_acquire(hf_lock *lock, const hf_terms *terms, hf_error *err) {
    hf_quest q;
    int rc = hf__lock_begin(&q, lock, terms, NULL, err);

    return rc == HF_GOES_ON ? hf__quest_finish(&q, err) : rc;
}

int hf__check_wait(int wait_ms, hf_error *err) {
    return wait_ms < HF_FOREVER ? hf__fail(err, HF_EUSAGE,
                                           "a wait of %d ms: use HF_FOREVER "
                                           "(-1) to wait for ever",
                                           wait_ms) :
                                  HF_OK;
}

int hf_lock_acquire(hf_lock *lock, int wait_ms, hf_error *err) {
    HF_UNCANCELLED;
    hf_terms terms;
    int rc;

    err = err ? err : &(hf_error){0};
    if (!lock)
        return hf__fail(err, HF_EUSAGE, "hf_lock_acquire: lock is NULL");
    if ((rc = hf__check_wait(wait_ms, err)) ||
        (rc = hf__check_process(lock->client, err)))
        return rc;
    if (lock->multi)
        return hf__multi_acquire(lock, wait_ms, err);
    terms = hf__terms(wait_ms, lock);
    return hf__lock_acquire(lock, &terms, err);
}

int hf_lock_try(hf_lock *lock, hf_error *err) {
    return hf_lock_acquire(lock, 0, err);
}

void hf_lock_cancel(hf_lock *lock) {
    if (!lock || hf__check_process(lock->client, NULL))
        return;
    if (is_multi(lock)) {
        hf__multi_cancel(lock);
        return;
    }
    pthread_mutex_lock(&lock->spot->mu);
    hf__spot_cancel(lock->spot, lock);
    pthread_mutex_unlock(&lock->spot->mu);
}

/* ---- release ----------------------------------------------------------- */

/* Counts one hold down.  HF_OK: it was the last, *ret is the caller's to end
 * and keeps others of this process waiting until then.  HF_BUSY: some are
 * left. */
static int count_down(hf_lock *lock, uint64_t who, hf_hold **ret) {
    hf_spot *spot = lock->spot;
    int rc = HF_ENOT_OWNER;

    pthread_mutex_lock(&spot->mu);
    hf_hold *h = hf__hold_of(spot, who, mode_of(lock));
    if (h && --h->count > 0) {
        rc = hf__hold_lives(h) ? HF_BUSY : HF_ELOST;
    } else if (h) {
        h->who = 0;
        *ret = h;
        rc = HF_OK;
    }
    pthread_mutex_unlock(&spot->mu);
    return rc;
}

/* Takes the hold out of its spot and lets the next in.  `clean`: nothing of it
 * is under way. */
static void unlink_hold(hf_spot *spot, hf_hold *h, bool clean) {
    pthread_mutex_lock(&spot->mu);
    if (h->claim.rivals > 0 && spot->first)
        spot->polite_until = hf__now() + POLITE_NS;
    if (clean && !h->doubted && spot->kind == HF_FAIR)
        hf__number_put(spot, (hf_number){h->claim.owner, h->claim.token});
    hf_hold **link = &spot->holds;
    while (*link != h)
        link = &(*link)->next;
    *link = h->next;
    hf__spot_nudge(spot);
    pthread_mutex_unlock(&spot->mu);
}

static int tell_store(hf_client *client, hf_hold *h, hf_how how,
                      hf_error *err) {
    bool posted = how == HF_RELEASE_POSTED;
    hf_time asked = posted ? hf__now() : h->ended; /* a moment ago */
    hf_time by = asked + client->host.timeout_ms * HF_MS;
    int rc =
        client->be->ops->release(client->be, &h->claim, how, NULL, by, err);

    if (!posted) /* else nobody has answered yet */
        hf__tally_asked(&client->tallies, HF_RTT_RELEASE, asked, rc);
    return rc;
}

static int lost_before(hf_lock *lock, int why, hf_error *err) {
    return hf__fail(err, HF_ELOST, "lock '%s' was lost before its release: %s",
                    hf_lock_name(lock), hf_strerror(why));
}

/* Straight to the next thread of this process, without the store. */
static bool hand_over(hf_lock *lock, hf_hold *h) {
    hf_client *client = lock->client;
    hf_event event = {.kind = HF_EVENT_RELEASED,
                      .name = lock->spot->name,
                      .token = h->claim.token};
    hf_time since = h->since, at;

    if (!hf__shares_turns(lock) ||
        !hf__keeper_hand_over(client->keeper, h, &at))
        return false;
    hf__tally_held(lock->spot->tally, HF_EXCLUSIVE, at - since);
    event.held_us = (at - since) / HF_US;
    if (client->on_event)
        hf__client_tell(client, &event);
    return true;
}

/* That it was taken from us may come out only now. */
static void count_end(const hf_hold *h, int rc) {
    hf__tally_held(h->spot->tally, h->claim.mode, h->ended - h->since);
    if (rc == HF_ELOST)
        hf__tally_lost(h->spot->tally, HF_LOSS_TAKEN);
}

/* Ends a hold that count_down took.  One that was lost by our clock may still
 * stand in the store, so that is told too; what was taken from us is not. */
static int end_hold(hf_lock *lock, hf_hold *h, hf_how how, int after_ms,
                    hf_error *err) {
    hf_client *client = lock->client;
    hf_event event = {.name = lock->spot->name, .token = h->claim.token};
    int why, rc = HF_ELOST;
    bool lost = hf__keeper_drop(client->keeper, h, &why);

    if (lost) {
        hf__keeper_mourned(client->keeper, h);
        how = HF_RELEASE_POSTED;
    }
    if (how == HF_RELEASE_AFTER) /* now that the keeper no longer reads it */
        h->claim.lease_ms = after_ms;
    if (!lost || why != HF_ELOST)
        rc = tell_store(client, h, how, err);
    event.held_us = (h->ended - h->since) / HF_US;
    if (!lost)
        count_end(h, rc);
    hf__keeper_detach(client->keeper, h);
    unlink_hold(lock->spot, h, rc == HF_OK && how == HF_RELEASE);
    if (rc == HF_OK || rc == HF_ELOST || how == HF_RELEASE_AFTER) {
        hf__keeper_settle(client->keeper);
        hf__hold_put(&client->spots, h);
    } else {
        hf__keeper_give_back(client->keeper, h);
    }
    event.kind =
        rc == HF_OK || rc == HF_ELOST ? HF_EVENT_RELEASED : HF_EVENT_UNRELEASED;
    event.code = rc;
    if (client->on_event)
        hf__client_tell(client, &event);
    if (lost || rc == HF_ELOST)
        return lost_before(lock, lost ? why : HF_ELOST, err);
    return rc;
}

static int not_owner(const hf_lock *lock, hf_error *err) {
    return hf__fail(err, HF_ENOT_OWNER, "lock '%s' is not held by the caller",
                    hf_lock_name(lock));
}

int hf__lock_let_go(hf_lock *lock, int after_ms, hf_hold **ret, hf_error *err) {
    int rc = count_down(lock, who_asks(lock), ret);

    if (rc == HF_BUSY)
        return HF_OK;
    if (rc == HF_ENOT_OWNER)
        return not_owner(lock, err);
    if (rc == HF_ELOST)
        return hf__fail(err, rc, "lock '%s' was lost", hf_lock_name(lock));
    return after_ms == 0 && hand_over(lock, *ret) ? HF_OK : HF_GOES_ON;
}

int hf__lock_end(hf_lock *lock, hf_hold *h, int after_ms, hf_error *err) {
    hf_how how = after_ms                      ? HF_RELEASE_AFTER :
                 lock->flags & HF_POST_RELEASE ? HF_RELEASE_POSTED :
                                                 HF_RELEASE;

    return end_hold(lock, h, how, after_ms, err);
}

int hf__lock_release(hf_lock *lock, int after_ms, hf_error *err) {
    hf_hold *h = NULL;
    int rc = hf__lock_let_go(lock, after_ms, &h, err);

    return rc == HF_GOES_ON ? hf__lock_end(lock, h, after_ms, err) : rc;
}

static int release(hf_lock *lock, int after_ms, hf_error *err) {
    int rc;

    err = err ? err : &(hf_error){0};
    if ((rc = hf__check_process(lock->client, err)))
        return rc;
    if (lock->multi)
        return hf__multi_release(lock, after_ms, err);
    return hf__lock_release(lock, after_ms, err);
}

int hf_lock_release(hf_lock *lock, hf_error *err) {
    HF_UNCANCELLED;

    if (!lock)
        return hf__fail(err, HF_EUSAGE, "hf_lock_release: lock is NULL");
    return release(lock, 0, err);
}

int hf_lock_release_after(hf_lock *lock, int ms, hf_error *err) {
    HF_UNCANCELLED;

    if (!lock || ms < 0)
        return hf__fail(err, HF_EUSAGE, "hf_lock_release_after: %s",
                        lock ? "the time is negative" : "lock is NULL");
    return release(lock, ms, err);
}

/* One that was taken through the handle, whoever owns it.  Spot mu. */
static hf_hold *any_hold(const hf_lock *lock) {
    hf_hold *h = lock->spot->holds;

    while (h && (h->who == 0 || h->lock != lock))
        h = h->next;
    return h;
}

bool hf__lock_has_holds(hf_lock *lock) {
    bool has;

    pthread_mutex_lock(&lock->spot->mu);
    has = any_hold(lock) != NULL;
    pthread_mutex_unlock(&lock->spot->mu);
    return has;
}

/* The caller's to end. */
static hf_hold *take_any_hold(hf_lock *lock) {
    pthread_mutex_lock(&lock->spot->mu);
    hf_hold *h = any_hold(lock);
    if (h)
        h->who = 0;
    pthread_mutex_unlock(&lock->spot->mu);
    return h;
}

void hf__lock_end_holds(hf_lock *lock) {
    hf_error err;
    hf_hold *h;

    while ((h = take_any_hold(lock)))
        end_hold(lock, h, HF_RELEASE, 0, &err);
}

/* What was begun without waiting ends, and nobody is told. */
static void end_tickets(hf_lock *lock) {
    hf_loop *loop = lock->client->loop;

    hf_lock_on_state(lock, NULL, NULL);
    if (hf__tickets_drop(loop, &lock->tickets)) {
        hf_lock_cancel(lock);
        hf__tickets_await(loop, &lock->tickets);
    }
}

void hf_lock_free(hf_lock *lock) {
    HF_UNCANCELLED;
    hf_client *client;

    if (!lock)
        return;
    client = lock->client;
    if (hf__check_process(client, NULL) == HF_OK)
        end_tickets(lock);
    if (is_multi(lock)) {
        hf__multi_free(lock);
    } else if (hf__check_process(client, NULL) == HF_OK) {
        hf__keeper_set_callback(client->keeper, lock, NULL, NULL);
        hf__lock_end_holds(lock);
        hf__spot_put(&client->spots, lock->spot);
    }
    if (lock->lost_fd >= 0)
        close(lock->lost_fd);
    hf__free(lock);
}

/* ---- extend and force -------------------------------------------------- */

/* The caller's hold with a reference, or NULL; a multi-lock has none of its
 * own. */
static hf_hold *borrow(hf_lock *lock) {
    hf_hold *h;

    if (!lock || is_multi(lock) || hf__check_process(lock->client, NULL))
        return NULL;
    pthread_mutex_lock(&lock->spot->mu);
    h = hf__hold_of(lock->spot, who_asks(lock), mode_of(lock));
    if (h)
        atomic_fetch_add(&h->refs, 1);
    pthread_mutex_unlock(&lock->spot->mu);
    return h;
}

static void give(hf_lock *lock, hf_hold *h) {
    hf__hold_put(&lock->client->spots, h);
}

static int extend(hf_client *client, hf_hold *h, int lease_ms, hf_error *err) {
    hf_backend *be = client->be;
    hf_claim c, *batch = &c;
    hf_time asked = hf__now();
    bool there = hf__keeper_claim(client->keeper, h, &c);
    int rc;

    if (!hf__hold_lives(h))
        return HF_ELOST;
    if (!there)
        return HF_ENOT_OWNER;
    c.lease_ms = lease_ms;
    rc = be->ops->renew(be, &batch, 1, hf__after_ms(client->host.timeout_ms),
                        err);
    hf__tally_asked(&client->tallies, HF_RTT_RENEW, asked, rc);
    if (rc == HF_OK && c.result == HF_ELOST) {
        hf__keeper_taken(client->keeper, h);
        return HF_ELOST;
    }
    if (rc == HF_OK)
        hf__keeper_extended(client->keeper, h, asked, &c);
    return rc;
}

int hf__lock_extend(hf_lock *lock, int lease_ms, hf_error *err) {
    hf_hold *h = borrow(lock);
    int rc;

    if (!h)
        return not_owner(lock, err);
    rc = extend(lock->client, h, lease_ms, err);
    give(lock, h);
    if (rc == HF_ELOST)
        hf__fail(err, rc, "lock '%s' was lost", hf_lock_name(lock));
    return rc == HF_ENOT_OWNER ? not_owner(lock, err) : rc;
}

int hf_lock_extend(hf_lock *lock, int lease_ms, hf_error *err) {
    HF_UNCANCELLED;
    int rc;

    err = err ? err : &(hf_error){0};
    if (!lock || lease_ms < LEAST_LEASE_MS)
        return hf__fail(err, HF_EUSAGE, "hf_lock_extend: %s",
                        lock ? "the lease is too short" : "lock is NULL");
    if ((rc = hf__check_process(lock->client, err)))
        return rc;
    if (lock->multi)
        return hf__multi_extend(lock, lease_ms, err);
    return hf__lock_extend(lock, lease_ms, err);
}

int hf_lock_force_release(hf_lock *lock, const char *owner, hf_error *err) {
    HF_UNCANCELLED;
    hf_backend *be;
    hf_claim c = {0};
    int rc;

    err = err ? err : &(hf_error){0};
    if (!lock)
        return hf__fail(err, HF_EUSAGE, "hf_lock_force_release: lock is NULL");
    if ((rc = hf__check_process(lock->client, err)))
        return rc;
    if (is_multi(lock))
        return hf__multi_force_release(lock, owner, err);
    be = lock->client->be;
    c.name = lock->spot->name;
    c.kind = lock->kind;
    c.mode = mode_of(lock);
    return be->ops->release(be, &c, HF_RELEASE_FORCED, owner,
                            hf__after_ms(lock->client->host.timeout_ms), err);
}

/* ---- what the owner may ask -------------------------------------------- */

bool hf_lock_is_held(hf_lock *lock) {
    hf_hold *h = borrow(lock);
    bool held = h && hf__hold_lives(h);

    if (h)
        give(lock, h);
    return held || (is_multi(lock) && hf__multi_holds(lock) > 0);
}

int64_t hf_lock_remaining_ms(hf_lock *lock) {
    hf_hold *h = borrow(lock);
    int64_t ms = 0;

    if (!h)
        return is_multi(lock) ? hf__multi_remaining_ms(lock) : 0;
    if (hf__hold_lives(h))
        ms = (atomic_load(&h->held_until) - hf__now()) / HF_MS;
    give(lock, h);
    return ms > 0 ? ms : 0;
}

int hf_lock_holds(hf_lock *lock) {
    hf_hold *h;
    int count = 0;

    if (!lock || hf__check_process(lock->client, NULL))
        return 0;
    if (is_multi(lock))
        return hf__multi_holds(lock);
    pthread_mutex_lock(&lock->spot->mu);
    h = hf__hold_of(lock->spot, who_asks(lock), mode_of(lock));
    if (h && hf__hold_lives(h))
        count = h->count;
    pthread_mutex_unlock(&lock->spot->mu);
    return count;
}

/* Under the mu: a hold that is handed over has another one. */
uint64_t hf_lock_token(hf_lock *lock) {
    hf_hold *h;
    uint64_t token = 0;

    if (!lock || is_multi(lock) || hf__check_process(lock->client, NULL))
        return 0;
    pthread_mutex_lock(&lock->spot->mu);
    h = hf__hold_of(lock->spot, who_asks(lock), mode_of(lock));
    if (h && hf__hold_lives(h))
        token = h->claim.token;
    pthread_mutex_unlock(&lock->spot->mu);
    return token;
}

size_t hf_lock_owner(hf_lock *lock, char *buf, size_t size) {
    hf_hold *h = borrow(lock);
    int n;

    if (h && hf__hold_lives(h))
        n = hf__owner_of(&h->claim, lock->client->host.identity.client, buf,
                         size);
    else
        n = snprintf(buf, size, "%s", "");
    if (h)
        give(lock, h);
    return (size_t)n;
}

int hf_lock_last_token(hf_lock *lock, uint64_t *token, hf_error *err) {
    HF_UNCANCELLED;
    int64_t value = 0;
    int rc;

    err = err ? err : &(hf_error){0};
    if (!lock || !token)
        return hf__fail(err, HF_EUSAGE, "hf_lock_last_token: %s is NULL",
                        lock ? "token" : "lock");
    if ((rc = hf__check_process(lock->client, err)))
        return rc;
    if (is_multi(lock))
        return hf__fail(err, HF_EUSAGE,
                        "the multi-lock '%s' has no tokens of its own: ask its "
                        "members",
                        hf_lock_name(lock));
    rc = hf__count(lock->client, lock->spot, HF_COUNT_TOKEN, &value, 0, err);
    *token = (uint64_t)value;
    return rc;
}

const char *hf_lock_name(const hf_lock *lock) {
    if (!lock)
        return "";
    if (is_multi(lock))
        return hf__multi_name(lock);
    return lock->spot->name + strlen(lock->client->prefix);
}

/* ---- loss -------------------------------------------------------------- */

/* What tells a multi-lock of its members is not for the loop. */
void hf__lock_tell(hf_lock *lock, hf_state_fn *fn, void *arg, hf_state state,
                   int why) {
    if (lock->client->by_loop && (is_multi(lock) || !lock->multi))
        hf__loop_state(lock->client->loop, &lock->change, lock, fn, arg, state,
                       why);
    else
        fn(arg, lock, state, why);
}

/* A member's callback is its multi-lock's. */
void hf_lock_on_state(hf_lock *lock, hf_state_fn *fn, void *arg) {
    HF_UNCANCELLED;

    if (!lock || hf__check_process(lock->client, NULL))
        return;
    if (lock->multi)
        hf__multi_on_state(lock, fn, arg);
    else
        hf__keeper_set_callback(lock->client->keeper, lock, fn, arg);
    hf__loop_redirect(lock->client->loop, &lock->change, fn, arg);
}

hf_state hf__lock_state(hf_lock *lock, uint64_t who, int *why) {
    hf_state state = HF_STATE_LOST;
    hf_hold *h;

    *why = HF_ELOST;
    pthread_mutex_lock(&lock->spot->mu);
    h = hf__hold_of(lock->spot, lock->who ? lock->who : who, mode_of(lock));
    if (h) {
        state = (hf_state)atomic_load(&h->state);
        *why = h->why;
    }
    pthread_mutex_unlock(&lock->spot->mu);
    return state;
}

int hf_lock_lost_fd(hf_lock *lock) {
    HF_UNCANCELLED;
    int rc;

    if (!lock)
        return HF_EUSAGE;
    if ((rc = hf__check_process(lock->client, NULL)))
        return rc;
    if (is_multi(lock))
        return hf__multi_lost_fd(lock);
    return hf__keeper_lost_fd(lock->client->keeper, lock);
}
