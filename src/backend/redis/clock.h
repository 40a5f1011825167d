/* SPDX-License-Identifier: MIT
 *
 * clock.h - what the server's clock shows, without asking it.
 *
 * A sample says: when the answer came, the server's clock showed at least
 * this.  We advance it by our own clock.  The estimate is a floor: it may be
 * behind the server by a round trip, and is ahead of it only by the drift
 * since the last sample. */
#ifndef HF_REDIS_CLOCK_H
#define HF_REDIS_CLOCK_H

#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdatomic.h>

#include "../../../include/holdfast/backend.h"

typedef struct hf_server_clock {
    atomic_llong ahead_us; /* of our clock; 0: never sampled  */
    pthread_mutex_t mu;
    int64_t slack_us;    /* mu: how far behind it may be      */
    hf_time sampled;     /* mu                                */
    atomic_llong due_at; /* when a new sample is wanted       */
} hf_server_clock;

void hf__server_clock_init(hf_server_clock *clock);

/* It will be another server's: nothing is known of it. */
void hf__server_clock_reset(hf_server_clock *clock);

/* A reply to TIME, asked at `asked` and come at `came`. */
void hf__server_clock_sample(hf_server_clock *clock, const redisReply *reply,
                             hf_time asked, hf_time came);

/* Microseconds since 1970 by the server; 0: unknown. */
int64_t hf__server_clock_us(hf_server_clock *clock);

/* Our clock when the server's showed that, or earlier; 0: unknown. */
hf_time hf__server_clock_local(hf_server_clock *clock, int64_t us);

/* True once per period: the caller should ask. */
bool hf__server_clock_is_due(hf_server_clock *clock);

#endif
