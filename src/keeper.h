/* SPDX-License-Identifier: MIT
 *
 * keeper.h - keeps leases alive, and says so when it cannot. */
#ifndef HF_KEEPER_H
#define HF_KEEPER_H

#include <stdatomic.h>

#include "waiters.h"

typedef struct hf_keeper hf_keeper;

/* A grant that this process has, from the asking to the end.
 *
 *       granted                renewal fails            held_until passes
 *  new ────────► held ────────────────────────► doubt ────────────────► lost
 *        _add     ▲             renewed            │         expire       ▲
 *                 └────────────────────────────────┘                      │
 *                     renewed OK                      the store says so ──┘ */
struct hf_hold {
    hf_claim claim;
    hf_spot *spot;        /* holds a reference */
    struct hf_hold *next; /* spot mu: other holds of the spot */
    uint64_t who;         /* spot mu: thread or handle; 0: being released */
    int count;            /* spot mu: re-entries */
    int renew_ms;         /* 0: a fixed lease, that is only checked */
    int turns;            /* spot mu: how often it was handed over */
    uint64_t actor;       /* spot mu: who is to release it: a thread, or the
                             handle, if any thread may */
    atomic_bool told;     /* our record says so */
    hf_time granted;      /* when the store granted it */
    hf_time since;        /* its owner has it, who may not be the first */
    hf_time ended;        /* lost or released; 0: neither.  The keeper's mu */
    uint64_t above;       /* FAIR: the last token of the same number */
    bool doubted;         /* some question for it may still be under way */
    atomic_int refs;

    /* Read by anybody, written under the keeper's mu. */
    _Atomic hf_time held_until;
    _Atomic int state; /* hf_state */
    _Atomic int why;   /* it is in doubt or lost; set before the state */

    /* Keeper's mu. */
    hf_lock *lock;    /* the handle it was taken through; NULL: detached */
    size_t slot;      /* in the heap, from 1; 0: not in it */
    hf_time due;      /* when the clock thread must look at it */
    hf_time renew_at; /* HF_NEVER: not, or the renewer has it */
    hf_time ends_at;  /* the longest hold allowed */
    hf_time leased;   /* when its lease began… */
    int leased_ms;    /* …and how long that is */
    int session_ms;   /* as the claim was last answered */
    struct hf_hold *next_ready; /* waits for the renewer */
    bool is_ready;
    bool given_back; /* nobody holds it any more; release until it is so */
    bool waits;      /* it has a place in the store's line, to be kept */
};

hf_hold *hf__hold_new(hf_spot *spot, hf_kind kind);
void hf__hold_put(hf_spots *spots, hf_hold *h);

/* Still ours by our own clock: costs no lock. */
static inline bool hf__hold_lives(const hf_hold *h) {
    return atomic_load(&h->state) != HF_STATE_LOST &&
           hf__now() < atomic_load(&h->held_until);
}

/* Until when a lease asked for at that moment may be believed in: the store's
 * clock may run a hundredth faster than ours, and some time is left to act. */
hf_time hf__trusted_until(hf_time asked, int lease_ms);

/* For how long the store's word for a grant is good. */
static inline int hf__good_for_ms(int lease_ms, int session_ms) {
    return session_ms && session_ms < lease_ms ? session_ms : lease_ms;
}

int hf__keeper_new(hf_keeper **ret, hf_client *client);

/* Joins the threads.  What was not given back yet is tried once more.  The
 * store may still speak to it until it is freed. */
void hf__keeper_stop(hf_keeper *k);
void hf__keeper_free(hf_keeper *k);

/* Makes sure that a coming grant can be added: memory and thread.  Ended by
 * _add, _give_back or _settle. */
int hf__keeper_reserve(hf_keeper *k, hf_error *err);
void hf__keeper_settle(hf_keeper *k);

/* From now on the hold is watched and renewed.  `asked` is the moment before
 * the request left. */
void hf__keeper_add(hf_keeper *k, hf_hold *h, hf_time asked);

/* The same for a grant that came unasked: believed in until `until` only, and
 * renewed well before. */
void hf__keeper_add_brief(hf_keeper *k, hf_hold *h, hf_time until);

/* Keeps the place of a claim that waits, until _unwait; the waiter is woken
 * should the store say that it has none.  Both need the reserved room. */
void hf__keeper_wait(hf_keeper *k, hf_hold *h);
void hf__keeper_unwait(hf_keeper *k, hf_hold *h);

/* The hold passes from its owner, who has let go, to the first in the spot's
 * queue, without the store, if both are of the same sort and it is good for
 * others, too: so many turns, so long.  *at is when.  false: it must go back. */
bool hf__keeper_hand_over(hf_keeper *k, hf_hold *h, hf_time *at);

/* Ends that, before its release is sent, but keeps its room: _settle or
 * _give_back follow.  Tells whether it was lost, and why;
 * h->ended is when. */
bool hf__keeper_drop(hf_keeper *k, hf_hold *h, int *why);

/* The claim as it is now, for its owner to set its lease anew; false: the hold
 * is over, by another thread of that owner's perhaps. */
bool hf__keeper_claim(hf_keeper *k, const hf_hold *h, hf_claim *ret);

/* A lease set anew by its owner, as the claim has it. */
void hf__keeper_extended(hf_keeper *k, hf_hold *h, hf_time asked,
                         const hf_claim *c);

/* What our record says is to be looked at, when `at` comes or soon after it;
 * unless that is known already, or nobody wants to know. */
void hf__keeper_stir(hf_keeper *k, hf_time at);
bool hf__keeper_is_stirred(const hf_keeper *k); /* costs no lock */

/* What ms of the wall clock our clock began at: always the same, unless
 * somebody sets the wall clock. */
int64_t hf__keeper_epoch_ms(hf_keeper *k);

/* What is held of the name (NULL: of any) may be gone: it is renewed now. */
void hf__keeper_shaken(hf_keeper *k, hf_kind kind, const char *name);

/* The store told its owner that the hold is gone. */
void hf__keeper_taken(hf_keeper *k, hf_hold *h);

/* Takes over a claim that may still stand in the store although nobody here
 * wants it: releases it until the store has answered or its lease is over.
 * Takes the caller's reference. */
void hf__keeper_give_back(hf_keeper *k, hf_hold *h);

/* The hold outlives its handle: nothing is told through it any more. */
void hf__keeper_detach(hf_keeper *k, hf_hold *h);

/* The handle's callback; waits until the old one no longer runs. */
void hf__keeper_set_callback(hf_keeper *k, hf_lock *lock, hf_state_fn *fn,
                             void *arg);

/* Opens the handle's descriptor of loss. */
int hf__keeper_lost_fd(hf_keeper *k, hf_lock *lock);

/* A lost hold is being released: perhaps its handle's descriptor falls. */
void hf__keeper_mourned(hf_keeper *k, hf_hold *h);

/* The descriptor itself, under the mu that guards it: one hold more is lost,
 * one less, and its opening. */
void hf__loss_raise(hf_lock *lock);
void hf__loss_lower(hf_lock *lock);
int hf__loss_fd(hf_lock *lock); /* HF_ESYSTEM: there is none to be had */

#endif
