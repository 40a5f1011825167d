/* SPDX-License-Identifier: MIT
 *
 * count.c - what is done with a number in the store.
 *
 * To count twice is as wrong as not to count.  So every request carries a
 * random mark by which the store knows it again, and an answer that was lost
 * is asked for once more. */
#include <string.h>

#include "client.h"
#include "err.h"

enum { FIRST_PAUSE_MS = 10, LAST_PAUSE_MS = 500 };

/* Sleeps, and is not woken by anything. */
static void pause_until(hf_time at) {
    pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

    pthread_mutex_lock(&mu);
    while (hf__now() < at)
        hf__world->wait(&cond, &mu, at);
    pthread_mutex_unlock(&mu);
}

int hf__count(hf_client *client, const hf_spot *spot, hf_count_op op,
              int64_t *value, int ttl_ms, hf_error *err) {
    hf_claim c = {.name = spot->name,
                  .kind = spot->kind,
                  .mode = hf__mode(spot->kind),
                  .lease_ms = ttl_ms};
    hf_backend *be = client->be;
    hf_time by = hf__after_ms(client->host.timeout_ms);
    int64_t given = *value;
    bool doubt = false;
    int pause_ms = FIRST_PAUSE_MS, rc;

    hf__world->random(c.nonce, sizeof c.nonce);
    for (;;) {
        *value = given;
        rc = be->ops->count(be, &c, op, value, by, err);
        doubt |= rc == HF_EDOUBT;
        if (!hf__passing(rc) || hf__now() + pause_ms * HF_MS >= by)
            break;
        pause_until(hf__now() + hf__jitter(pause_ms * HF_MS));
        pause_ms = pause_ms < LAST_PAUSE_MS ? 2 * pause_ms : LAST_PAUSE_MS;
    }
    if (rc < 0 && doubt && hf_error_class(rc) == HF_CLASS_NOT_DONE)
        return hf__fail(err, HF_EDOUBT,
                        "no answer about %s '%s': it may have been counted",
                        hf__noun(c.kind), spot->name + strlen(client->prefix));
    return rc;
}
