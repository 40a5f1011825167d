/* SPDX-License-Identifier: MIT
 *
 * waiters.h - who in this process waits for what, and who holds it.
 *
 * A *spot* is a name as this process sees it.  Of all the threads that want
 * the name only the first in the spot's queue asks the store, and only while
 * nobody else in this process holds it; the others sleep behind it, in order.
 * A thousand waiters thus cost the store one question at a time. */
#ifndef HF_WAITERS_H
#define HF_WAITERS_H

#include <pthread.h>
#include <stdatomic.h>

#include "../include/holdfast/backend.h"
#include "world.h"

typedef struct hf_hold hf_hold;

/* One thread in the queue.  Lives on its stack. */
typedef struct hf_waiter {
    struct hf_waiter *next, *prev;
    const hf_lock *via; /* the handle it waits through, for cancel */
    pthread_cond_t cond;
    bool woken; /* the line moved since it was last cleared */
    bool cancelled;
} hf_waiter;

typedef struct hf_spot {
    struct hf_spot *next; /* in its bucket: spots mu */
    atomic_uint refs;     /* falls to 0 and rises from it under spots mu */
    hf_kind kind;
    uint32_t hash;
    pthread_mutex_t mu;
    hf_waiter *first, *last; /* mu: the queue */
    hf_hold *holds;          /* mu: grants of this process, newest first */
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
 * asks again. */
void hf__spots_woken(hf_spots *spots, hf_kind kind, const char *name);

/* The rest is called with the spot's mu. */

void hf__waiter_join(hf_spot *spot, hf_waiter *w, const hf_lock *via);
void hf__waiter_leave(hf_spot *spot, hf_waiter *w);

/* Whoever is first may have to look up: a hold ended, or the one before left. */
void hf__spot_nudge(hf_spot *spot);

/* Ends the waits made through `via`. */
void hf__spot_cancel(hf_spot *spot, const hf_lock *via);

#endif
