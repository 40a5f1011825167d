/* SPDX-License-Identifier: MIT
 *
 * waiters.h - who in this process waits for what, and who holds it.
 *
 * A *spot* is a name as this process sees it.  Of all the threads that want
 * the name exclusively only the first in the spot's queue asks the store, and
 * only while nobody else in this process holds it; the others sleep behind it,
 * in order.  A thousand waiters thus cost the store one question at a time.
 * Readers, and those who want permits, ask side by side until one of them is
 * refused, and then queue behind it.
 *
 * In a fair line every waiter asks for itself, because its place in the store
 * counts, and is woken by itself. */
#ifndef HF_WAITERS_H
#define HF_WAITERS_H

#include <pthread.h>
#include <stdatomic.h>

#include "../include/holdfast/backend.h"
#include "world.h"

typedef struct hf_hold hf_hold;

/* One who waits in the queue: a thread, on whose stack this lives, or a task of
 * the runner's, which has no thread while it waits. */
typedef struct hf_waiter {
    struct hf_waiter *next, *prev;
    const void *via;      /* the handle it waits through, for cancel */
    struct hf_task *task; /* NULL: a thread, that sleeps on the bell */
    uint64_t owner;       /* as its claim has it */
    uint64_t above;       /* a grant with a token up to this is an old story */
    hf_mode mode;
    bool inside; /* reads beside its own writing: whoever waits, waits for it */
    atomic_uint bell; /* HF_BELL_…; slept on */
    bool woken;       /* the line moved since it was last cleared */
    bool cancelled;
    bool refused; /* it asked, was told no, and nothing has moved since */

    /* The store gave it the name unasked; see hf_host.granted. */
    bool granted;
    uint64_t token;
    hf_time until;

    /* The owner before it, in this process, handed its hold over.  Only to
     * one that `takes`: it has not asked the store itself. */
    bool takes;
    uint64_t who;
    hf_lock *lock;
    hf_hold *given;   /* if the bell says so, … */
    hf_time given_at; /* … since then, with `token`: it may be gone again */

    /* For the record: see doing.h. */
    hf_kind kind;
    int permits;
    unsigned char nonce[16];
    uint64_t thread; /* who waits, whoever is to own */
    bool asked;      /* for HF_DEADLOCK */
    hf_time since;   /* when it first went to sleep; 0: it has not */
    bool told;       /* our record says so */
} hf_waiter;

enum {
    HF_BELL_STILL,
    HF_BELL_RUNG, /* something has changed for it: look */
    HF_BELL_GIVEN /* it is out of the queue with a hold, and may be gone */
};

/* The number of an owner whose grant has ended with the store's word, and its
 * token.  In a fair line the store calls a waiter by its number, so that a
 * number that is used again need not be introduced again. */
typedef struct hf_number {
    uint64_t owner, token;
} hf_number;

typedef struct hf_spot {
    struct hf_spot *next; /* in its bucket: spots mu */
    atomic_uint refs;     /* falls to 0 and rises from it under spots mu */
    hf_kind kind;         /* of the line: see hf_line_kind */
    uint32_t hash;
    pthread_mutex_t mu;
    hf_waiter *first, *last; /* mu: the queue */
    hf_hold *holds;          /* mu: grants of this process, newest first */
    hf_number *numbers;      /* mu: to be used again, the newest last */
    size_t n_numbers, room;
    hf_time polite_until; /* mu: nobody here asks before that: others may */
    struct hf_tally *_Atomic tally; /* see tally.h; NULL: never attached */
    char name[];
} hf_spot;

typedef struct hf_spots {
    pthread_mutex_t mu;
    hf_spot **buckets; /* a power of two of them */
    size_t n_buckets, n;
} hf_spots;

int hf__spots_init(hf_spots *spots);
void hf__spots_free(hf_spots *spots);

/* The spot of a name, made where there is none; NULL: out of memory. */
hf_spot *hf__spot_get(hf_spots *spots, hf_kind kind, const char *name);
hf_spot *hf__spot_keep(hf_spot *spot); /* one reference more */
void hf__spot_put(hf_spots *spots, hf_spot *spot);

/* The line of the name moved (NULL: perhaps every line): whoever asks there
 * asks again; if `owner` is not 0, that one alone. */
void hf__spots_woken(hf_spots *spots, hf_kind kind, const char *name,
                     uint64_t owner);

/* The store gave the name to one who waits. */
void hf__spots_granted(hf_spots *spots, hf_kind kind, const char *name,
                       uint64_t owner, uint64_t token, hf_time until);

/* Ends every wait that has no thread. */
void hf__spots_cancel_tasks(hf_spots *spots);

/* The rest is called with the spot's mu. */

void hf__waiter_join(hf_spot *spot, hf_waiter *w);
void hf__waiter_leave(hf_spot *spot, hf_waiter *w);

/* Takes the first one, who takes, out of the queue with the hold in its hands.
 * The bells are its own and that of the next, who had better be awake when its
 * turn comes; the caller rings them when it has let the mu go. */
typedef struct hf_bells {
    atomic_uint *given, *next; /* NULL: nobody */
} hf_bells;

hf_bells hf__waiter_give(hf_spot *spot, hf_hold *h);
void hf__bells_ring(hf_bells bells);

/* May it ask the store, as far as those before it are concerned? */
bool hf__waiter_first(const hf_spot *spot, const hf_waiter *w);

/* Whoever is next may have to look up: a hold ended, or the one before left. */
void hf__spot_nudge(hf_spot *spot);

/* A number that can be used again; false: there is none.  Nothing of its last
 * grant may be under way when it is put. */
bool hf__number_take(hf_spot *spot, hf_number *ret);
void hf__number_put(hf_spot *spot, hf_number number);

/* Ends the waits made through `via`. */
void hf__spot_cancel(hf_spot *spot, const void *via);

#endif
