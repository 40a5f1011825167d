/* SPDX-License-Identifier: MIT
 *
 * clock.c - what the server's clock shows, without asking it. */
#include "clock.h"

#include <stdlib.h>

#include "../../world.h"

static const hf_time PERIOD = 10 * HF_SECOND;

/* No clock shows more, in seconds: with that, no sum here is too large. */
static const int64_t LATEST = 4000000000;

void hf__server_clock_init(hf_server_clock *clock) {
    atomic_init(&clock->ahead_us, 0);
    atomic_init(&clock->due_at, 0);
    pthread_mutex_init(&clock->mu, NULL);
    clock->slack_us = 0;
    clock->sampled = 0;
}

void hf__server_clock_reset(hf_server_clock *clock) {
    pthread_mutex_lock(&clock->mu);
    atomic_store(&clock->ahead_us, 0);
    pthread_mutex_unlock(&clock->mu);
    atomic_store(&clock->due_at, 0);
}

/* 0: that is no time. */
static int64_t server_us(const redisReply *reply) {
    int64_t s, us;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        !reply->element[0]->str || !reply->element[1]->str)
        return 0;
    s = strtoll(reply->element[0]->str, NULL, 10);
    us = strtoll(reply->element[1]->str, NULL, 10);
    return s < 0 || s > LATEST || us < 0 || us > 999999 ? 0 : s * 1000000 + us;
}

/* The truth lies in [ahead, ahead + slack] by the old sample, which ages by
 * 200 ppm, and in [fresh, fresh + rtt] by the new one.  If the two can both be
 * true the higher floor is the better one; if not, somebody set the clock, or
 * it is another server. */
void hf__server_clock_sample(hf_server_clock *clock, const redisReply *reply,
                             hf_time asked, hf_time came) {
    int64_t at = server_us(reply), rtt = (came - asked) / 1000;
    int64_t fresh = at - came / 1000, old, aged;

    if (!at)
        return;
    pthread_mutex_lock(&clock->mu);
    old = atomic_load(&clock->ahead_us);
    aged = (came - clock->sampled) / 5000000;
    if (old && fresh + rtt >= old - aged && fresh < old - aged)
        fresh = old - aged, rtt = clock->slack_us + 2 * aged;
    atomic_store(&clock->ahead_us, fresh);
    clock->slack_us = rtt;
    clock->sampled = came;
    pthread_mutex_unlock(&clock->mu);
    atomic_store(&clock->due_at, came + PERIOD);
}

int64_t hf__server_clock_us(hf_server_clock *clock) {
    int64_t ahead =
        atomic_load_explicit(&clock->ahead_us, memory_order_relaxed);

    return ahead ? hf__now() / 1000 + ahead : 0;
}

bool hf__server_clock_is_due(hf_server_clock *clock) {
    long long due = atomic_load_explicit(&clock->due_at, memory_order_relaxed);
    hf_time now = hf__now();

    return now >= due &&
           atomic_compare_exchange_strong(&clock->due_at, &due, now + PERIOD);
}

/* The estimate is behind by the slack at most, so that is taken off; and its
 * drift since then, 200 ppm. */
hf_time hf__server_clock_local(hf_server_clock *clock, int64_t us) {
    int64_t ahead, unsure;

    if (us < 0 || us > LATEST * 1000000)
        return 0;
    pthread_mutex_lock(&clock->mu);
    ahead = atomic_load(&clock->ahead_us);
    unsure = clock->slack_us + (hf__now() - clock->sampled) / 5000000;
    pthread_mutex_unlock(&clock->mu);
    return ahead ? (us - ahead - unsure) * 1000 : 0;
}
