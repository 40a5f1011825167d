/* SPDX-License-Identifier: MIT
 *
 * doing.c - what this client holds and waits for, gathered from its spots.
 *
 * Whoever looks for deadlocks needs the waits, and what those hold who wait;
 * the record's room goes to them first.  So the spots are gone through three
 * times.  Threads go on meanwhile: somebody who waited the first time may hold
 * the second; a claim has one owner number, by which that is seen. */
#include "doing.h"

#include <string.h>

enum { ACTORS = 512 }; /* more lines than these have no room anyway */

typedef struct gathering {
    hf_client *client;
    hf_doings *to;
    hf_time now, ripe, young;
    int64_t epoch_ms;
    bool tells;
    size_t n_actors;
    uint64_t actors[ACTORS]; /* who wait */
} gathering;

static bool is_ripe(gathering *g, hf_time since) {
    if (since <= g->ripe)
        return true;
    g->young = hf__sooner(g->young, since);
    return false;
}

static void add(gathering *g, hf_doing *c, const hf_spot *spot, uint64_t owner,
                const unsigned char nonce[16], hf_time since) {
    char text[HF_DOING_OWNER + 1];

    hf__doing_owner(c->kind, owner, nonce, text);
    c->owner = text;
    c->since_ms = g->epoch_ms + since / HF_MS;
    c->name = spot->name;
    if (hf__mode(c->kind) != HF_PERMITS)
        c->permits = 0;
    hf__doings_add(g->to, c);
}

/* ---- a spot (its mu) --------------------------------------------------- */

static void add_waits(gathering *g, hf_spot *spot) {
    for (hf_waiter *w = spot->first; w; w = w->next) {
        hf_doing c = {.does = HF_DOES_WAIT,
                      .kind = w->kind,
                      .who = w->thread,
                      .permits = w->permits,
                      .asked = w->asked};
        bool ripe = w->since && is_ripe(g, w->since);

        if (g->tells)
            w->told = ripe;
        if (!ripe)
            continue;
        add(g, &c, spot, w->owner, w->nonce, w->since);
        if (g->n_actors < ACTORS)
            g->actors[g->n_actors++] = w->thread;
    }
}

static bool waits(const gathering *g, uint64_t actor) {
    size_t i = 0;

    while (i < g->n_actors && g->actors[i] != actor)
        i++;
    return i < g->n_actors;
}

static void add_hold(gathering *g, hf_spot *spot, hf_hold *h) {
    bool lost = atomic_load(&h->state) == HF_STATE_LOST ||
                g->now >= atomic_load(&h->held_until);
    hf_doing c = {.does = lost ? HF_DOES_MOURN : HF_DOES_HOLD,
                  .kind = h->claim.kind,
                  .who = h->actor,
                  .permits = h->claim.permits};

    add(g, &c, spot, h->claim.owner, h->claim.nonce, h->granted);
}

/* Those of whom somebody waits, or the others. */
static void add_holds(gathering *g, hf_spot *spot, bool who_wait) {
    for (hf_hold *h = spot->holds; h; h = h->next) {
        bool ripe = h->who && is_ripe(g, h->granted);

        if (g->tells)
            atomic_store(&h->told, ripe);
        if (ripe && waits(g, h->actor) == who_wait)
            add_hold(g, spot, h);
    }
}

/* ---- all of them ------------------------------------------------------- */

typedef enum pass { WAITS, HOLDS_OF_WAITERS, OTHER_HOLDS } pass;

static void go_through(gathering *g, pass which) {
    hf_spots *spots = &g->client->spots;

    for (size_t i = 0; i < spots->n_buckets; i++)
        for (hf_spot *spot = spots->buckets[i]; spot; spot = spot->next) {
            pthread_mutex_lock(&spot->mu);
            if (which == WAITS)
                add_waits(g, spot);
            else
                add_holds(g, spot, which == HOLDS_OF_WAITERS);
            pthread_mutex_unlock(&spot->mu);
        }
}

static void gather(gathering *g) {
    hf__doings_begin(g->to, g->client->inside);
    g->now = hf__now();
    g->epoch_ms = hf__keeper_epoch_ms(g->client->keeper);
    g->young = HF_NEVER;
    pthread_mutex_lock(&g->client->spots.mu);
    go_through(g, WAITS);
    if (g->n_actors)
        go_through(g, HOLDS_OF_WAITERS);
    go_through(g, OTHER_HOLDS);
    pthread_mutex_unlock(&g->client->spots.mu);
    hf__doings_end(g->to);
}

void hf__doing_tell(hf_client *client, hf_time ripe, hf_doings *ret,
                    hf_time *young) {
    gathering g = {.client = client, .to = ret, .ripe = ripe, .tells = true};

    gather(&g);
    *young = g.young;
}

void hf__doing_now(hf_client *client, hf_doings *ret) {
    gathering g = {.client = client, .to = ret, .ripe = HF_NEVER};

    gather(&g);
}
