/* SPDX-License-Identifier: MIT
 *
 * tally.h - what a client counts for monitoring.
 *
 * A *tally* is what is counted under one label: a name, a pattern, or "other".
 * A spot finds its tally once, when it is attached, and keeps the pointer; from
 * then on counting is a few additions, atomic and in no order.  Tallies live
 * as long as their client, because a counter must not fall.
 *
 * What can be worked out is not counted: a grant is one in `granted`, so that
 * is how many were OK, and what is held is those that were granted and have not
 * ended. */
#ifndef HF_TALLY_H
#define HF_TALLY_H

#include <pthread.h>
#include <stdatomic.h>

#include "../include/holdfast/backend.h"
#include "world.h"

enum {
    HF_BOUNDS = 17, /* of every histogram; one bucket more is above them all */
    HF_MODES = HF_ZERO + 1
};

typedef struct hf_histogram {
    atomic_ullong buckets[HF_BOUNDS + 1]; /* not cumulative */
    atomic_ullong sum_ns;
} hf_histogram;

/* How an acquire ended; granted ones are not counted here. */
typedef enum hf_outcome {
    HF_OUTCOME_OK,
    HF_OUTCOME_BUSY,
    HF_OUTCOME_TIMEOUT,
    HF_OUTCOME_CANCELLED,
    HF_OUTCOME_DEADLOCK,
    HF_OUTCOME_ERROR,
    HF_OUTCOMES
} hf_outcome;

/* How a hold was lost. */
typedef enum hf_loss {
    HF_LOSS_TAKEN,   /* the store says so: somebody freed it by force, or the
                        store forgot it                                    */
    HF_LOSS_EXPIRED, /* a lease that nobody was to renew, or we slept      */
    HF_LOSS_LIMIT,   /* max_hold_ms                                        */
    HF_LOSS_STORE,   /* renewals failed until it was over                  */
    HF_LOSSES
} hf_loss;

typedef enum hf_renewal {
    HF_RENEWAL_OK,
    HF_RENEWAL_LOST,
    HF_RENEWAL_ERROR,
    HF_RENEWALS
} hf_renewal;

typedef enum hf_rtt {
    HF_RTT_ATTEMPT,
    HF_RTT_RENEW,
    HF_RTT_RELEASE,
    HF_RTTS
} hf_rtt;

typedef struct hf_tally_mode {
    hf_histogram granted;  /* waits that ended well                        */
    hf_histogram given_up; /* and the others                               */
    hf_histogram held;     /* holds that ended                             */
    atomic_ullong outcomes[HF_OUTCOMES];
    atomic_ullong unleased; /* grants that are not held: nothing ends them */
    atomic_long waiters;
} hf_tally_mode;

struct hf_tally {
    hf_tally_mode modes[HF_MODES];
    atomic_ullong lost[HF_LOSSES], renewals[HF_RENEWALS];

    /* The smallest slack in this minute and in the one before it in which
     * something was renewed; HF_NEVER: none.  Written under the keeper's mu. */
    _Atomic hf_time slack, slack_before, slack_minute;

    uint32_t hash;
    const char *label;
};

typedef struct hf_tallies {
    pthread_mutex_t mu; /* to add one */
    atomic_size_t n;
    struct hf_tally *tallies[HF_STATS_MAX]; /* the first n stay as they are */
    bool fixed;                             /* they are patterns            */
    struct hf_tally other;

    hf_histogram rtt[HF_RTTS];
    atomic_bool down; /* the store, when it was last asked */
} hf_tallies;

/* The bounds of the buckets, in ns. */
extern const hf_time hf__bounds[HF_BOUNDS];

static inline uint64_t hf__tally_read(const atomic_ullong *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* As slack_minute has it. */
static inline hf_time hf__minute_of(hf_time at) {
    return at / (60 * HF_SECOND);
}

/* `names` as in hf_options; NULL or "": none.  HF_EUSAGE says what is wrong
 * with it.  Freed also after it failed. */
int hf__tallies_init(hf_tallies *t, const char *names, hf_error *err);
void hf__tallies_free(hf_tallies *t);

/* The one to count a name under, without the client's prefix. */
struct hf_tally *hf__tally_of(hf_tallies *t, const char *name);

/* An acquire ended like that after so long; `waits` is what it was told to. */
void hf__tally_acquired(struct hf_tally *t, hf_kind kind, bool waits, int rc,
                        hf_time waited);

/* A hold ended, by release or by loss. */
void hf__tally_held(struct hf_tally *t, hf_mode mode, hf_time held);
void hf__tally_lost(struct hf_tally *t, hf_loss how);

/* A renewal was answered, or given up, when so much of the lease was left;
 * HF_NEVER: it is not kept alive. */
void hf__tally_renewed(struct hf_tally *t, int result, hf_time now,
                       hf_time slack);

static inline void hf__tally_waits(struct hf_tally *t, hf_mode mode, int n) {
    if (t)
        atomic_fetch_add_explicit(&t->modes[mode].waiters, n,
                                  memory_order_relaxed);
}

/* The store was asked at that moment and now said rc; returns now. */
hf_time hf__tally_asked(hf_tallies *t, hf_rtt verb, hf_time asked, int rc);

/* The same of a request whose time says nothing. */
void hf__tally_heard(hf_tallies *t, int rc);

#endif
