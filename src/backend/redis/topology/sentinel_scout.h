/* SPDX-License-Identifier: MIT
 *
 * sentinel_scout.h - our thread for one sentinel: asks it every second, and at
 * once when it says that the master has changed. */
#ifndef HF_REDIS_SENTINEL_SCOUT_H
#define HF_REDIS_SENTINEL_SCOUT_H

#include "../server.h"
#include "naming.h"

typedef struct hf_scout hf_scout;

typedef struct hf_scout_needs {
    const char *name; /* of the master; lent */
    int timeout_ms;

    /* What came of asking: HF_OK and a naming; HF_EFREE: it knows no master of
     * that name; or why it cannot be asked, and nothing it said before counts
     * any more.  The scout's thread. */
    void (*heard)(void *arg, unsigned id, int rc, const hf_naming *naming,
                  const hf_error *why);

    /* There is another sentinel.  The scout's thread. */
    void (*met)(void *arg, const char *host, int port);
    void *arg;
} hf_scout_needs;

/* Starts it.  Takes the address, also when it fails; `needs` is lent. */
int hf__scout_new(hf_scout **ret, hf_address *address, unsigned id,
                  const hf_scout_needs *needs, hf_error *err);

/* Waits for its end; it is told nothing any more. */
void hf__scout_stop(hf_scout *w);
void hf__scout_free(hf_scout *w, bool forked); /* NULL is allowed */

/* Makes it ask again now, or a moment after it last did. */
void hf__scout_hurry(hf_scout *w);

/* The address of its sentinel.  Lent. */
const char *hf__scout_where(const hf_scout *w);

/* Whether it is for the sentinel at that place. */
bool hf__scout_is_at(const hf_scout *w, const char *host, int port);

#endif
