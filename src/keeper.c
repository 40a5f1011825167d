/* SPDX-License-Identifier: MIT
 *
 * keeper.c - keeps leases alive, and says so when it cannot.
 *
 * Two threads per client, each started when first needed.  The *clock* thread
 * never touches the store: it knows by our own clock when a hold is due for
 * renewal and when it is over, and it runs the callbacks.  The *renewer* talks
 * to the store, all that is due in one call.  They are apart because a silent
 * store must not keep us from telling a holder in time that it has lost.
 *
 * A renewal that fails is not a loss.  The hold is in doubt until held_until,
 * and we try again; only when that moment passes, by our clock, is it lost.
 * That is early rather than late: the store counts from when it heard us, we
 * count from before we spoke, and allow for clocks that run at different
 * rates.
 *
 * Order of locks: keeper mu, spots mu, spot mu.  Nothing of ours is locked
 * while a callback or a verb of the store runs. */
#include "keeper.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "alloc.h"
#include "client.h"
#include "doing.h"
#include "err.h"
#include "log.h"
#include "plant.h"

#define SPEAK_NS HF_SECOND       /* the least between two looks at our record */
#define RETRY_NS (5 * HF_SECOND) /* when the store did not take it */

enum {
    KEEP_PLACE_MS = 3000,      /* how often a waiting claim is kept in line */
    TURNS = 128,               /* a hold is handed over within the process… */
    TURNS_NS = 5 * 1000 * 1000 /* …at most so often and for so long         */
};

/* A change of state to be told, or (lock NULL by then) to be forgotten. */
typedef struct notice {
    struct notice *next;
    hf_hold *hold; /* holds a reference */
    hf_state state;
    int why;
    hf_time held; /* LOST: for so long */
} notice;

enum {
    BATCH = 1024,       /* holds in one renewal */
    SET_MS = 1000,      /* the wall clock was set, if it is off by more */
    SPEAK_MS = 500,     /* the record keeps a renewal waiting at most so long */
    GIVE_BACK_MS = 500, /* for all that are due: live holds wait meanwhile */
    CLOSE_MS = 1000     /* for all that is left at the end */
};

/* What is due, copied, so that owners may release meanwhile. */
typedef struct batch {
    size_t n;
    hf_hold *holds[BATCH]; /* with a reference each */
    hf_claim claims[BATCH];
    hf_claim *pointers[BATCH];
    size_t n_unwanted;
    hf_hold *unwanted[BATCH]; /* to be given back; likewise */
} batch;

struct hf_keeper {
    hf_client *client;
    batch *batch; /* the renewer's */
    pthread_mutex_t mu;
    pthread_cond_t clock_cond, renewer_cond, call_cond;
    pthread_t clock_thread, renewer_thread;
    bool clock_runs, renewer_runs, stopping;

    hf_hold **heap; /* slots 1 … n by due; slot 0 unused */
    size_t n, cap;
    hf_time clock_until; /* the clock thread sleeps until then */

    /* Slots spoken for by grants asked for or being released, so that none of
     * them can fail for want of memory: n + promised <= cap. */
    atomic_size_t promised;

    hf_hold *ready, **ready_end; /* for the renewer, oldest first */

    hf_time announce_at; /* when our record is due; HF_NEVER: not yet */
    hf_time spoke;       /* when what it says was last looked at… */
    hf_time speak_at; /* …and when that is due; HF_NEVER: nothing changes */
    atomic_bool stirred;      /* it is due some time */
    hf_doings *doings;        /* the renewer's: what it is to say, */
    char *said;               /* and what it says; NULL: that is not known */
    _Atomic int64_t epoch_ms; /* our clock began then; 0: not known */
    notice *notices, **notices_end;
    const hf_lock *calling; /* whose callback runs */
};

/* ---- holds ------------------------------------------------------------- */

hf_hold *hf__hold_new(hf_spot *spot, hf_kind kind) {
    hf_hold *h = hf__calloc(1, sizeof *h);

    if (!h)
        return NULL;
    h->spot = hf__spot_keep(spot);
    h->claim.name = h->spot->name;
    h->claim.kind = kind;
    h->claim.mode = hf__mode(kind);
    atomic_init(&h->refs, 1);
    h->renew_at = h->ends_at = HF_NEVER;
    return h;
}

static hf_hold *keep(hf_hold *h) {
    atomic_fetch_add(&h->refs, 1);
    return h;
}

void hf__hold_put(hf_spots *spots, hf_hold *h) {
    if (atomic_fetch_sub(&h->refs, 1) > 1)
        return;
    hf__spot_put(spots, h->spot);
    hf__free(h);
}

/* ---- the heap ---------------------------------------------------------- */

static void put_at(hf_keeper *k, size_t slot, hf_hold *h) {
    k->heap[slot] = h;
    h->slot = slot;
}

static void sift(hf_keeper *k, size_t slot) {
    hf_hold *h = k->heap[slot];

    while (slot > 1 && k->heap[slot / 2]->due > h->due) {
        put_at(k, slot, k->heap[slot / 2]);
        slot /= 2;
    }
    for (size_t child; (child = slot * 2) <= k->n; slot = child) {
        if (child < k->n && k->heap[child + 1]->due < k->heap[child]->due)
            child++;
        if (k->heap[child]->due >= h->due)
            break;
        put_at(k, slot, k->heap[child]);
    }
    put_at(k, slot, h);
}

static void remove_from_heap(hf_keeper *k, hf_hold *h) {
    size_t slot = h->slot;
    hf_hold *last = k->heap[k->n--];

    h->slot = 0;
    if (last == h)
        return;
    put_at(k, slot, last);
    sift(k, slot);
}

/* A hold that was given back is owned by the heap. */
static void end(hf_keeper *k, hf_hold *h) {
    remove_from_heap(k, h);
    if (h->given_back)
        hf__hold_put(&k->client->spots, h);
}

/* Wakes the clock thread only if it would sleep too long: with leases of
 * seconds that is once in a while, not once per lock. */
static void look_by(hf_keeper *k, hf_time at) {
    if (at >= k->clock_until)
        return;
    k->clock_until = at;
    pthread_cond_signal(&k->clock_cond);
}

static void schedule(hf_keeper *k, hf_hold *h) {
    hf_time until = atomic_load(&h->held_until);

    h->due = hf__sooner(hf__sooner(h->renew_at, until), h->ends_at);
    if (!h->slot) {
        k->heap[++k->n] = h;
        h->slot = k->n;
    }
    sift(k, h->slot);
    look_by(k, h->due);
}

/* Never twice within a second, and then only if something is different.  What
 * comes and goes in between wakes nobody. */
static void stir(hf_keeper *k, hf_time at) {
    if (at < k->spoke + SPEAK_NS)
        at = k->spoke + SPEAK_NS;
    if (k->client->hidden || at >= k->speak_at)
        return;
    k->speak_at = at;
    atomic_store(&k->stirred, true);
    look_by(k, at);
}

/* ---- changes of state -------------------------------------------------- */

static void note(hf_keeper *k, hf_hold *h, hf_state state, int why) {
    notice *told = hf__malloc(sizeof *told);

    if (!told)
        return; /* the state and the descriptor still tell */
    if (HF_PLANTED(LOSS) && state == HF_STATE_LOST) {
        hf__free(told);
        return;
    }
    *told = (notice){.hold = keep(h),
                     .state = state,
                     .why = why,
                     .held = h->ended ? h->ended - h->since : 0};
    *k->notices_end = told;
    k->notices_end = &told->next;
    pthread_cond_signal(&k->clock_cond);
}

static void lose(hf_keeper *k, hf_hold *h, hf_loss how, int why) {
    h->ended = hf__now();
    hf__tally_lost(h->spot->tally, how);
    hf__tally_held(h->spot->tally, h->claim.mode, h->ended - h->since);
    h->why = why;
    atomic_store(&h->state, HF_STATE_LOST);
    if (h->lock)
        hf__loss_raise(h->lock);
    note(k, h, HF_STATE_LOST, why);
    stir(k, 0);
}

/* By the store's own word, not by our clock. */
static void take_away(hf_keeper *k, hf_hold *h) {
    remove_from_heap(k, h);
    lose(k, h, HF_LOSS_TAKEN, HF_ELOST);
}

hf_time hf__trusted_until(hf_time asked, int lease_ms) {
    return asked + lease_ms * HF_MS - lease_ms * HF_MS / 100 - 2 * HF_MS;
}

/* A little early, on a grid of sixteenths, so that holds of the same rhythm
 * come due together and many of them go in one request. */
static hf_time renewal_time(hf_time asked, int renew_ms) {
    hf_time period = renew_ms * HF_MS, grain = period / 16;

    return renew_ms ? (asked + period) / grain * grain : HF_NEVER;
}

static void lease(hf_hold *h, hf_time asked, int lease_ms) {
    h->leased = asked;
    h->leased_ms = lease_ms;
}

/* How often the store is asked about it; 0: never.  A session that could end
 * before the lease is looked at, also where the lease is left as it is. */
static int rhythm_ms(const hf_hold *h) {
    int good_ms = hf__good_for_ms(h->leased_ms, h->session_ms);
    bool tied = good_ms < h->leased_ms;

    return tied && (!h->renew_ms || good_ms / 3 < h->renew_ms) ? good_ms / 3 :
                                                                 h->renew_ms;
}

/* The store has answered for it what was asked then: it holds until its lease
 * ends, or the session that it is tied to. */
static void renewed(hf_keeper *k, hf_hold *h, hf_time asked, int session_ms) {
    int good_ms = hf__good_for_ms(h->leased_ms, session_ms);

    h->session_ms = session_ms;
    atomic_store(&h->held_until,
                 hf__sooner(hf__trusted_until(h->leased, h->leased_ms),
                            hf__trusted_until(asked, good_ms)));
    h->renew_at = renewal_time(asked, rhythm_ms(h));
    h->why = HF_OK;
    if (atomic_load(&h->state) == HF_STATE_DOUBT) {
        atomic_store(&h->state, HF_STATE_HELD);
        note(k, h, HF_STATE_HELD, HF_OK);
    }
    schedule(k, h);
}

/* Soon again, but not at once: the store may be restarting. */
static hf_time retry_time(const hf_hold *h) {
    int ms = rhythm_ms(h) / 4;

    ms = ms < 20 ? 20 : ms > 1000 ? 1000 : ms;
    return hf__now() + hf__jitter(ms * HF_MS);
}

static void not_renewed(hf_keeper *k, hf_hold *h, int why) {
    h->renew_at = retry_time(h);
    h->why = why;
    if (atomic_load(&h->state) == HF_STATE_HELD) {
        atomic_store(&h->state, HF_STATE_DOUBT);
        note(k, h, HF_STATE_DOUBT, why);
    }
    schedule(k, h);
}

/* ---- the clock thread -------------------------------------------------- */

/* Tells the holder, then lets whoever waits in this process go on.  Clock
 * thread, mu held on entry and exit, not between. */
static void deliver(hf_keeper *k, notice *told) {
    hf_hold *h = told->hold;
    hf_client *client = k->client;
    hf_lock *lock = h->lock;
    hf_state_fn *fn = lock ? lock->on_state : NULL;
    void *arg = lock ? lock->state_arg : NULL;
    static const hf_event_kind events[] = {[HF_STATE_HELD] = HF_EVENT_RENEWED,
                                           [HF_STATE_DOUBT] = HF_EVENT_DOUBT,
                                           [HF_STATE_LOST] = HF_EVENT_LOST};

    k->calling = lock;
    pthread_mutex_unlock(&k->mu);
    if (fn)
        hf__lock_tell(lock, fn, arg, told->state, told->why);
    hf__client_tell(client, &(hf_event){.kind = events[told->state],
                                        .name = h->claim.name,
                                        .token = h->claim.token,
                                        .code = told->why,
                                        .held_us = told->held / HF_US});
    if (told->state == HF_STATE_LOST) {
        pthread_mutex_lock(&h->spot->mu);
        hf__spot_nudge(h->spot);
        pthread_mutex_unlock(&h->spot->mu);
    }
    hf__hold_put(&client->spots, h);
    hf__free(told);
    pthread_mutex_lock(&k->mu);
    k->calling = NULL;
    pthread_cond_broadcast(&k->call_cond);
}

static void deliver_all(hf_keeper *k) {
    while (k->notices) {
        notice *told = k->notices;

        k->notices = told->next;
        if (!k->notices)
            k->notices_end = &k->notices;
        deliver(k, told);
    }
}

static void *renewer_run(void *arg);

/* Gives work to the renewer, which is started with its first piece. */
static bool wake_renewer(hf_keeper *k) {
    if (!k->batch)
        k->batch = hf__malloc(sizeof *k->batch);
    if (!k->renewer_runs && k->batch &&
        hf__world->thread_start(&k->renewer_thread, renewer_run, k) == 0)
        k->renewer_runs = true;
    pthread_cond_signal(&k->renewer_cond);
    return k->renewer_runs;
}

static void push_ready(hf_keeper *k, hf_hold *h) {
    if (h->is_ready)
        return;
    h->is_ready = true;
    h->next_ready = NULL;
    *k->ready_end = keep(h);
    k->ready_end = &h->next_ready;
}

/* The reference goes to the caller. */
static hf_hold *pop_ready(hf_keeper *k) {
    hf_hold *h = k->ready;

    if (!h)
        return NULL;
    k->ready = h->next_ready;
    if (!k->ready)
        k->ready_end = &k->ready;
    h->is_ready = false;
    return h;
}

/* By our clock. */
static void expire(hf_keeper *k, hf_hold *h, hf_time now) {
    int why = h->why;

    if (now >= h->ends_at)
        lose(k, h, HF_LOSS_LIMIT, HF_ETIMEOUT);
    else
        lose(k, h, why ? HF_LOSS_STORE : HF_LOSS_EXPIRED, why ? why : HF_ELOST);
}

/* The hold at the top is due: it ends, or it goes to the renewer. */
static void act(hf_keeper *k, hf_hold *h, hf_time now) {
    if (now >= atomic_load(&h->held_until) || now >= h->ends_at) {
        if (!h->given_back)
            expire(k, h, now);
        end(k, h);
        return;
    }
    h->renew_at = HF_NEVER;
    push_ready(k, h);
    if (!wake_renewer(k))
        h->renew_at = retry_time(h);
    schedule(k, h);
}

/* When to look next.  An alarm that is still to come stays, though what it was
 * for may have gone: a lock that is taken and released all the time would set
 * it again each time, and wake us for that. */
static void set_alarm(hf_keeper *k, hf_time now) {
    hf_time at = k->n ? k->heap[1]->due : HF_NEVER;

    if (k->announce_at > now)
        at = hf__sooner(at, k->announce_at);
    if (k->speak_at > now)
        at = hf__sooner(at, k->speak_at);
    if (k->clock_until <= now || at < k->clock_until)
        k->clock_until = at;
}

static void *clock_run(void *arg) {
    hf_keeper *k = arg;

    pthread_mutex_lock(&k->mu);
    while (!k->stopping) {
        hf_time now = hf__now();

        while (k->n && k->heap[1]->due <= now)
            act(k, k->heap[1], now);
        deliver_all(k);
        if (k->announce_at <= now || k->speak_at <= now)
            wake_renewer(k);
        set_alarm(k, now);
        if (!k->stopping && !k->notices && k->clock_until > hf__now())
            hf__world->wait(&k->clock_cond, &k->mu, k->clock_until);
    }
    deliver_all(k);
    pthread_mutex_unlock(&k->mu);
    return NULL;
}

/* ---- the renewer ------------------------------------------------------- */

/* Of a claim that waits only what was asked: what is answered belongs to the
 * thread that asks, perhaps at this moment. */
static hf_claim asked_of(const hf_claim *c) {
    return (hf_claim){.name = c->name,
                      .kind = c->kind,
                      .mode = c->mode,
                      .permits = c->permits,
                      .owner = c->owner,
                      .lease_ms = c->lease_ms,
                      .writers_first = c->writers_first};
}

/* Of a fixed lease. */
static int what_is_left_ms(const hf_hold *h) {
    hf_time left = h->leased + h->leased_ms * HF_MS - hf__now();

    return left > HF_MS ? (int)(left / HF_MS) : 1;
}

static void batch_add(batch *b, hf_hold *h) {
    hf_claim *c = &b->claims[b->n];

    *c = h->waits ? asked_of(&h->claim) : h->claim;
    c->session_ms = h->session_ms;
    if (!h->waits && !h->renew_ms)
        c->lease_ms = what_is_left_ms(h);
    c->result = HF_EDOUBT;
    b->holds[b->n] = h;
    b->pointers[b->n] = c;
    b->n++;
}

/* A try may last a sixth of the shortest lease, so that several fit. */
static hf_time renew_by(hf_keeper *k, const batch *b) {
    int ms = k->client->host.timeout_ms;

    for (size_t i = 0; i < b->n; i++) {
        int good_ms =
            hf__good_for_ms(b->claims[i].lease_ms, b->claims[i].session_ms);

        ms = good_ms / 6 < ms ? good_ms / 6 : ms;
    }
    return hf__after_ms(ms < 50 ? 50 : ms);
}

/* Whoever has no place must ask for one. */
static void place_kept(hf_keeper *k, hf_hold *h, int result) {
    h->renew_at = result == HF_OK ? renewal_time(hf__now(), KEEP_PLACE_MS) :
                                    hf__now() + hf__jitter(HF_SECOND);
    schedule(k, h);
    if (result == HF_ELOST)
        hf__spots_woken(&k->client->spots, h->spot->kind, h->spot->name,
                        h->claim.owner);
}

/* What was left of the lease it had, if it was to get a new one. */
static void count_renewal(hf_hold *h, int result, hf_time now) {
    hf_time slack = h->renew_ms ? atomic_load(&h->held_until) - now : HF_NEVER;

    hf__tally_renewed(h->spot->tally, result, now, slack);
}

/* mu held on entry and exit, not while the store is asked. */
static void renew(hf_keeper *k, batch *b) {
    hf_backend *be = k->client->be;
    hf_time asked, answered, by;
    hf_error err;
    int rc;

    pthread_mutex_unlock(&k->mu);
    by = renew_by(k, b);
    asked = hf__now();
    rc = be->ops->renew(be, b->pointers, b->n, by, &err);
    answered = hf__tally_asked(&k->client->tallies, HF_RTT_RENEW, asked, rc);
    pthread_mutex_lock(&k->mu);
    for (size_t i = 0; i < b->n; i++) {
        hf_hold *h = b->holds[i];
        int result = b->claims[i].result;

        if (!h->slot)
            continue; /* released, or over, while we asked */
        if (h->waits) {
            place_kept(k, h, result);
            continue;
        }
        if (b->claims[i].token == 0) {
            schedule(k, h); /* it waited when we asked, and now it holds */
            continue;
        }
        count_renewal(h, result, answered);
        if (result == HF_OK) {
            if (h->renew_ms)
                lease(h, asked, b->claims[i].lease_ms);
            renewed(k, h, asked, b->claims[i].session_ms);
        } else if (result == HF_ELOST) {
            take_away(k, h);
        } else {
            not_renewed(k, h, result < 0 ? result : rc);
        }
    }
}

/* Releases what nobody here wants any more, unless the time for that is over.
 * mu as above. */
static void give_back(hf_keeper *k, hf_hold *h, hf_time by) {
    hf_backend *be = k->client->be;
    hf_claim c = h->claim;
    hf_error err;
    int rc = HF_EDOUBT;

    pthread_mutex_unlock(&k->mu);
    if (hf__now() < by)
        rc = be->ops->release(be, &c, HF_RELEASE, NULL, by, &err);
    pthread_mutex_lock(&k->mu);
    if (!h->slot)
        return; /* its lease ended meanwhile */
    if (rc == HF_OK || rc == HF_ELOST) {
        hf__log(&k->client->host, HF_LOG_INFO,
                "a claim that nobody wants is given back",
                {"name", c.name + strlen(k->client->prefix)});
        end(k, h);
    } else {
        h->renew_at = retry_time(h);
        schedule(k, h);
    }
}

/* What is ready, at most a batch of it, with the references. */
static void gather(hf_keeper *k, batch *b) {
    hf_hold *h;

    b->n = b->n_unwanted = 0;
    while (b->n < BATCH && b->n_unwanted < BATCH && (h = pop_ready(k)))
        if (h->slot && !h->given_back)
            batch_add(b, h);
        else
            b->unwanted[b->n_unwanted++] = h;
}

/* Live holds first: a store in trouble takes its time.  What is not given back
 * in this turn is tried again in another, so that however much there is of it,
 * the next renewal is not kept waiting. */
static void work_off(hf_keeper *k, batch *b) {
    hf_spots *spots = &k->client->spots;
    hf_time by;

    gather(k, b);
    if (b->n)
        renew(k, b);
    for (size_t i = 0; i < b->n; i++)
        hf__hold_put(spots, b->holds[i]);
    by = hf__after_ms(GIVE_BACK_MS);
    for (size_t i = 0; i < b->n_unwanted; i++) {
        if (b->unwanted[i]->slot)
            give_back(k, b->unwanted[i], by);
        hf__hold_put(spots, b->unwanted[i]);
    }
}

/* ---- our record (the renewer) ------------------------------------------ */

/* What it is to say; without memory it says who we are, and no more. */
static const char *gather_doings(hf_keeper *k, hf_time now, hf_time *young) {
    *young = HF_NEVER;
    if (k->client->hidden)
        return "";
    if (!k->doings)
        k->doings = hf__malloc(sizeof *k->doings);
    if (!k->doings)
        return "";
    hf__doing_tell(k->client, now - HF_LASTING, k->doings, young);
    return k->doings->text;
}

/* A store that is silent must not keep a renewal waiting. */
static hf_time speak_by(const hf_keeper *k) {
    hf_time next = k->n ? k->heap[1]->due : HF_NEVER;
    hf_time least = hf__after_ms(SPEAK_MS);

    return hf__sooner(hf__after_ms(k->client->host.timeout_ms),
                      next > least ? next : least);
}

/* Writes the record when its time has come, or when it has something else to
 * say.  It outlives two missed turns.  mu as above. */
static void speak(hf_keeper *k) {
    hf_client *client = k->client;
    hf_time now = hf__now(), by = speak_by(k), young;
    bool due = k->announce_at <= now;
    const char *doing;
    hf_error err;
    int rc = HF_OK;

    k->spoke = now;
    k->speak_at = HF_NEVER;
    atomic_store(&k->stirred, false);
    pthread_mutex_unlock(&k->mu);
    doing = gather_doings(k, now, &young);
    if (due || !k->said || strcmp(doing, k->said) != 0) {
        rc = client->be->ops->announce(client->be, doing, client->lease_ms, by,
                                       &err);
        hf__tally_heard(&client->tallies, rc);
        hf__free(k->said);
        k->said = rc == HF_OK ? hf__strdup(doing) : NULL;
        due = true;
    }
    pthread_mutex_lock(&k->mu);
    if (due)
        k->announce_at = hf__now() + client->lease_ms / 3 * HF_MS;
    look_by(k, k->announce_at);
    if (young != HF_NEVER)
        stir(k, young + HF_LASTING);
    if (rc != HF_OK) { /* leave it alone for a while */
        k->spoke = hf__now() + hf__jitter(RETRY_NS);
        stir(k, 0);
    }
}

static void *renewer_run(void *arg) {
    hf_keeper *k = arg;

    pthread_mutex_lock(&k->mu);
    while (!k->stopping) {
        if (k->ready)
            work_off(k, k->batch);
        else if (hf__sooner(k->announce_at, k->speak_at) <= hf__now())
            speak(k);
        else
            hf__world->wait(&k->renewer_cond, &k->mu, HF_NEVER);
    }
    pthread_mutex_unlock(&k->mu);
    return NULL;
}

/* ---- what the core calls ----------------------------------------------- */

int hf__keeper_new(hf_keeper **ret, hf_client *client) {
    hf_keeper *k = hf__calloc(1, sizeof *k);

    if (!k)
        return HF_ENO_MEMORY;
    k->client = client;
    k->clock_until = k->announce_at = k->speak_at = HF_NEVER;
    k->spoke = -SPEAK_NS;
    k->notices_end = &k->notices;
    k->ready_end = &k->ready;
    pthread_mutex_init(&k->mu, NULL);
    pthread_cond_init(&k->clock_cond, NULL);
    pthread_cond_init(&k->renewer_cond, NULL);
    pthread_cond_init(&k->call_cond, NULL);
    *ret = k;
    return HF_OK;
}

static void stop_threads(hf_keeper *k) {
    pthread_mutex_lock(&k->mu);
    k->stopping = true;
    pthread_cond_signal(&k->clock_cond);
    pthread_cond_signal(&k->renewer_cond);
    pthread_mutex_unlock(&k->mu);
    if (k->clock_runs)
        hf__world->thread_join(k->clock_thread);
    if (k->renewer_runs)
        hf__world->thread_join(k->renewer_thread);
}

void hf__keeper_stop(hf_keeper *k) {
    hf_time by = hf__after_ms(CLOSE_MS);
    hf_spots *spots;
    hf_hold *h;

    if (!k)
        return;
    spots = &k->client->spots;
    stop_threads(k);
    pthread_mutex_lock(&k->mu);
    while ((h = pop_ready(k)))
        hf__hold_put(spots, h);
    while (k->n) {
        h = keep(k->heap[1]);
        if (h->given_back && hf__now() < by)
            give_back(k, h, by);
        if (h->slot)
            end(k, h);
        hf__hold_put(spots, h);
    }
    pthread_mutex_unlock(&k->mu);
}

void hf__keeper_free(hf_keeper *k) {
    if (!k)
        return;
    pthread_mutex_destroy(&k->mu);
    pthread_cond_destroy(&k->clock_cond);
    pthread_cond_destroy(&k->renewer_cond);
    pthread_cond_destroy(&k->call_cond);
    hf__free(k->heap);
    hf__free(k->batch);
    hf__free(k->doings);
    hf__free(k->said);
    hf__free(k);
}

/* Room for all that are there or spoken for. */
static bool make_room(hf_keeper *k, size_t want) {
    size_t cap = k->cap ? k->cap : 64;
    hf_hold **wide;

    while (cap < want)
        cap *= 2;
    if (cap == k->cap)
        return true;
    wide = hf__realloc(k->heap, (cap + 1) * sizeof *wide);
    if (!wide)
        return false;
    k->heap = wide;
    k->cap = cap;
    return true;
}

/* Others see who we are soon after we first ask for something, but a short
 * errand need not pay for it. */
static int start_clock(hf_keeper *k) {
    int rc;

    if (k->clock_runs)
        return 0;
    k->announce_at = hf__now() + 50 * HF_MS;
    rc = hf__world->thread_start(&k->clock_thread, clock_run, k);
    k->clock_runs = rc == 0;
    return rc;
}

int hf__keeper_reserve(hf_keeper *k, hf_error *err) {
    int rc = HF_OK, why;

    pthread_mutex_lock(&k->mu);
    if (!make_room(k, k->n + atomic_load(&k->promised) + 1))
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    else if ((why = start_clock(k)) != 0)
        rc = hf__fail(err, HF_ESYSTEM, "cannot start the keeper's thread: %s",
                      strerror(why));
    else
        atomic_fetch_add(&k->promised, 1);
    pthread_mutex_unlock(&k->mu);
    return rc;
}

void hf__keeper_settle(hf_keeper *k) {
    atomic_fetch_sub(&k->promised, 1);
}

void hf__keeper_add(hf_keeper *k, hf_hold *h, hf_time asked) {
    pthread_mutex_lock(&k->mu);
    hf__keeper_settle(k);
    atomic_store(&h->state, HF_STATE_HELD);
    lease(h, asked, h->claim.lease_ms);
    renewed(k, h, asked, h->claim.session_ms);
    stir(k, asked + HF_LASTING);
    pthread_mutex_unlock(&k->mu);
}

void hf__keeper_add_brief(hf_keeper *k, hf_hold *h, hf_time until) {
    hf_time now = hf__now();

    pthread_mutex_lock(&k->mu);
    hf__keeper_settle(k);
    atomic_store(&h->state, HF_STATE_HELD);
    lease(h, now, h->claim.lease_ms);
    until = hf__sooner(until, hf__trusted_until(now, h->claim.lease_ms));
    atomic_store(&h->held_until, until);
    h->renew_at = now + (until - now) / 4;
    schedule(k, h);
    stir(k, now + HF_LASTING);
    pthread_mutex_unlock(&k->mu);
}

void hf__keeper_wait(hf_keeper *k, hf_hold *h) {
    pthread_mutex_lock(&k->mu);
    hf__keeper_settle(k);
    h->waits = true;
    atomic_store(&h->held_until, HF_NEVER);
    h->renew_at = renewal_time(hf__now(), KEEP_PLACE_MS);
    schedule(k, h);
    pthread_mutex_unlock(&k->mu);
}

void hf__keeper_unwait(hf_keeper *k, hf_hold *h) {
    pthread_mutex_lock(&k->mu);
    remove_from_heap(k, h);
    h->waits = false;
    h->renew_at = HF_NEVER;
    atomic_fetch_add(&k->promised, 1);
    pthread_mutex_unlock(&k->mu);
}

/* Only between locks that are kept alive in the same way, so that the next
 * owner loses nothing by not asking.  The tokens were reserved with the
 * grant. */
static bool fits(const hf_hold *h, const hf_waiter *w) {
    return w && w->takes && w->lock->replicas == h->claim.replicas &&
           w->lock->lease_ms == h->claim.lease_ms &&
           w->lock->renew_ms == h->renew_ms && !w->lock->max_hold_ms;
}

static bool may_stay(const hf_hold *h, hf_time *now) {
    return h->slot && h->renew_ms && h->ends_at == HF_NEVER &&
           h->claim.token < h->claim.last_token && h->turns < TURNS &&
           (*now = hf__now()) - h->granted < TURNS_NS &&
           *now < atomic_load(&h->held_until) &&
           atomic_load(&h->state) == HF_STATE_HELD;
}

bool hf__keeper_hand_over(hf_keeper *k, hf_hold *h, hf_time *at) {
    hf_spot *spot = h->spot;
    hf_bells bells = {0};

    pthread_mutex_lock(&k->mu);
    pthread_mutex_lock(&spot->mu);
    hf_waiter *next = spot->first;
    if (may_stay(h, at) && fits(h, next)) {
        h->turns++;
        h->claim.token += !HF_PLANTED(TURN);
        h->lock = next->lock;
        h->who = next->who;
        h->actor = next->thread;
        h->count = 1;
        h->since = next->given_at = *at;
        next->token = h->claim.token;
        bells = hf__waiter_give(spot, h);
    }
    pthread_mutex_unlock(&spot->mu);
    pthread_mutex_unlock(&k->mu);
    if (!bells.given)
        return false;
    hf__bells_ring(bells);
    return true;
}

bool hf__keeper_drop(hf_keeper *k, hf_hold *h, int *why) {
    bool lost;

    pthread_mutex_lock(&k->mu);
    if (h->slot)
        remove_from_heap(k, h);
    atomic_fetch_add(&k->promised, 1);
    if (atomic_load(&h->told))
        stir(k, 0);
    if (atomic_load(&h->state) != HF_STATE_LOST) {
        hf_time now = hf__now();

        if (now >= atomic_load(&h->held_until))
            expire(k, h, now); /* the clock is just behind */
        else
            h->ended = now;
    }
    lost = atomic_load(&h->state) == HF_STATE_LOST;
    *why = h->why;
    pthread_mutex_unlock(&k->mu);
    return lost;
}

bool hf__keeper_claim(hf_keeper *k, const hf_hold *h, hf_claim *ret) {
    bool there;

    pthread_mutex_lock(&k->mu);
    there = h->slot != 0;
    if (there)
        *ret = h->claim;
    pthread_mutex_unlock(&k->mu);
    return there;
}

/* What is over meanwhile belongs to whoever ends it. */
void hf__keeper_extended(hf_keeper *k, hf_hold *h, hf_time asked,
                         const hf_claim *c) {
    pthread_mutex_lock(&k->mu);
    if (h->slot) {
        h->claim.lease_ms = c->lease_ms;
        lease(h, asked, c->lease_ms);
        renewed(k, h, asked, c->session_ms);
    }
    pthread_mutex_unlock(&k->mu);
}

bool hf__keeper_is_stirred(const hf_keeper *k) {
    return k->client->hidden || atomic_load(&k->stirred);
}

void hf__keeper_stir(hf_keeper *k, hf_time at) {
    if (hf__keeper_is_stirred(k))
        return;
    pthread_mutex_lock(&k->mu);
    stir(k, at);
    pthread_mutex_unlock(&k->mu);
}

int64_t hf__keeper_epoch_ms(hf_keeper *k) {
    int64_t epoch = hf__world->wall_us() / 1000 - hf__now() / HF_MS;
    int64_t known = atomic_load(&k->epoch_ms);

    if (!known || epoch - known > SET_MS || known - epoch > SET_MS) {
        known = epoch;
        atomic_store(&k->epoch_ms, known);
    }
    return known;
}

static bool is_of(const hf_hold *h, hf_kind kind, const char *name) {
    return !name || (h->spot->kind == kind && strcmp(h->spot->name, name) == 0);
}

void hf__keeper_shaken(hf_keeper *k, hf_kind kind, const char *name) {
    pthread_mutex_lock(&k->mu);
    for (size_t i = 1; i <= k->n && !k->stopping; i++)
        if (!k->heap[i]->given_back && !k->heap[i]->waits &&
            is_of(k->heap[i], kind, name))
            push_ready(k, k->heap[i]);
    if (k->ready)
        wake_renewer(k);
    pthread_mutex_unlock(&k->mu);
}

void hf__keeper_taken(hf_keeper *k, hf_hold *h) {
    pthread_mutex_lock(&k->mu);
    if (h->slot)
        take_away(k, h);
    pthread_mutex_unlock(&k->mu);
}

void hf__keeper_give_back(hf_keeper *k, hf_hold *h) {
    pthread_mutex_lock(&k->mu);
    hf__keeper_settle(k);
    h->lock = NULL;
    h->given_back = !HF_PLANTED(RENEWAL);
    h->ends_at = HF_NEVER;
    atomic_store(&h->held_until, hf__now() + h->claim.lease_ms * HF_MS);
    h->renew_at = hf__now();
    schedule(k, h);
    pthread_mutex_unlock(&k->mu);
}

void hf__keeper_detach(hf_keeper *k, hf_hold *h) {
    pthread_mutex_lock(&k->mu);
    h->lock = NULL;
    pthread_mutex_unlock(&k->mu);
}

void hf__keeper_set_callback(hf_keeper *k, hf_lock *lock, hf_state_fn *fn,
                             void *arg) {
    pthread_mutex_lock(&k->mu);
    lock->on_state = fn;
    lock->state_arg = arg;
    while (k->calling == lock &&
           !pthread_equal(pthread_self(), k->clock_thread))
        hf__world->wait(&k->call_cond, &k->mu, HF_NEVER);
    pthread_mutex_unlock(&k->mu);
}

int hf__keeper_lost_fd(hf_keeper *k, hf_lock *lock) {
    int fd;

    pthread_mutex_lock(&k->mu);
    fd = hf__loss_fd(lock);
    pthread_mutex_unlock(&k->mu);
    return fd;
}

void hf__keeper_mourned(hf_keeper *k, hf_hold *h) {
    pthread_mutex_lock(&k->mu);
    hf__loss_lower(h->lock);
    pthread_mutex_unlock(&k->mu);
}

/* ---- the descriptor of loss -------------------------------------------- */

static void signal_fd(int fd) {
    uint64_t one = 1;

    if (fd >= 0)
        while (write(fd, &one, sizeof one) < 0 && errno == EINTR)
            ;
}

void hf__loss_raise(hf_lock *lock) {
    if (lock->n_lost++ == 0)
        signal_fd(lock->lost_fd);
}

void hf__loss_lower(hf_lock *lock) {
    uint64_t was;

    if (--lock->n_lost == 0 && lock->lost_fd >= 0)
        while (read(lock->lost_fd, &was, sizeof was) < 0 && errno == EINTR)
            ;
}

int hf__loss_fd(hf_lock *lock) {
    if (lock->lost_fd < 0) {
        lock->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (lock->n_lost)
            signal_fd(lock->lost_fd);
    }
    return lock->lost_fd < 0 ? HF_ESYSTEM : lock->lost_fd;
}
