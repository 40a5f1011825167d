/* SPDX-License-Identifier: MIT
 *
 * cluster_ears.c - the channels we listen to, wherever their slots go.
 *
 *            watch, move               told
 *   ─ ─ ─ ──────────────► WAITING ──────────────► HEARD
 *                            ▲  │ told, broke       │
 *                            │  ▼                   │
 *                            │ REFUSED              │
 *                            └── told, broke, move ─┘
 *
 * A listener that lost its connection subscribes again by itself, and tells
 * everybody; an ear only waits for it, or is moved meanwhile. */
#include "cluster_ears.h"

#include <string.h>

#include "../../../alloc.h"
#include "../../../err.h"
#include "../../../world.h"

typedef enum state { WAITING, HEARD, REFUSED } state;

struct hf_ear {
    hf_ear *next; /* in its bucket */
    unsigned slot, watches;
    hf_node *at; /* entered */
    state state;
    int code;    /* REFUSED: why                                     */
    bool astray; /* the node sent it away,                           */
    int strays;  /* so often since it was heard                      */
    bool moved;  /* since whoever waits was last told to ask again   */
    char channel[];
};

/* ---- the table --------------------------------------------------------- */

static unsigned hash(const char *text) {
    unsigned h = 2166136261u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

static hf_ear **find(hf_ears *es, const char *channel) {
    hf_ear **at = &es->buckets[hash(channel) & (es->n_buckets - 1)];

    while (*at && strcmp((*at)->channel, channel) != 0)
        at = &(*at)->next;
    return at;
}

/* Twice the buckets, if there is memory; it works without, more slowly. */
static void spread(hf_ears *es) {
    size_t n = 2 * es->n_buckets;
    hf_ear **wide = hf__calloc(n, sizeof *wide), *e, *next;

    if (!wide)
        return;
    for (size_t i = 0; i < es->n_buckets; i++)
        for (e = es->buckets[i]; e; e = next) {
            hf_ear **at = &wide[hash(e->channel) & (n - 1)];

            next = e->next;
            e->next = *at;
            *at = e;
        }
    hf__free(es->buckets);
    es->buckets = wide;
    es->n_buckets = n;
}

static hf_ear *enter(hf_ears *es, unsigned slot, const char *channel) {
    hf_ear **at = find(es, channel), *e = *at;

    if (e)
        return e;
    e = hf__calloc(1, sizeof *e + strlen(channel) + 1);
    if (!e)
        return NULL;
    e->slot = slot;
    strcpy(e->channel, channel);
    *at = e;
    if (++es->n > es->n_buckets)
        spread(es);
    return e;
}

/* ---- where an ear is --------------------------------------------------- */

/* mu. */
static void take_off(hf_ears *es, hf_ear *e) {
    if (!e->at)
        return;
    hf__listener_unwatch(e->at->listener, e->channel);
    hf__nodes_leave(es->nodes, e->at);
    e->at = NULL;
}

/* mu.  Takes the node, which was entered. */
static void put_at(hf_ears *es, hf_ear *e, hf_node *node) {
    hf_error err;
    int rc;

    take_off(es, e);
    e->at = node;
    e->astray = false;
    rc = hf__listener_adopt(node->listener, e->channel, &err);
    e->state = rc == HF_OK ? HEARD : rc == HF_BUSY ? WAITING : REFUSED;
    e->code = rc < 0 ? rc : 0;
    if (rc < 0) { /* it is not known there, so there is nothing to drop */
        hf__nodes_leave(es->nodes, node);
        e->at = NULL;
    }
}

/* mu. */
static void tell(hf_ears *es, hf_ear *e) {
    if (e->state != HEARD || !e->moved)
        return;
    e->moved = false;
    hf__listener_tell(es->topology->host, e->channel);
}

/* mu. */
static void drop(hf_ears *es, hf_ear *e) {
    if (--e->watches > 0)
        return;
    take_off(es, e);
    *find(es, e->channel) = e->next;
    es->n--;
    hf__free(e);
}

/* ---- what listeners say ------------------------------------------------ */

void hf__ears_told(void *ears, hf_listener *w, const char *channel, int code) {
    hf_ears *es = ears;
    hf_ear *e;
    int strays = 0;

    pthread_mutex_lock(&es->mu);
    e = *find(es, channel);
    if (e && e->at && e->at->listener == w) {
        e->astray = code == HF_STRAYED;
        e->strays = e->astray ? e->strays + 1 : 0;
        e->state = code == HF_OK ? HEARD : e->astray ? WAITING : REFUSED;
        e->code = code;
        strays = e->strays;
        tell(es, e);
        pthread_cond_broadcast(&es->changed);
    }
    pthread_mutex_unlock(&es->mu);
    if (strays)
        es->astray(es->arg, strays > 1);
}

/* Will trying again help? */
static bool is_hopeless(int code) {
    return code == HF_EAUTH || code == HF_EFORBIDDEN || code == HF_ETLS ||
           code == HF_EURI;
}

void hf__ears_broke(void *ears, hf_listener *w, int code) {
    hf_ears *es = ears;

    pthread_mutex_lock(&es->mu);
    for (size_t i = 0; i < es->n_buckets; i++)
        for (hf_ear *e = es->buckets[i]; e; e = e->next) {
            if (!e->at || e->at->listener != w || e->astray)
                continue;
            e->state = is_hopeless(code) ? REFUSED : WAITING;
            e->code = code;
        }
    pthread_cond_broadcast(&es->changed);
    pthread_mutex_unlock(&es->mu);
    es->astray(es->arg, false);
}

/* ---- what others call -------------------------------------------------- */

/* mu. */
static int await(hf_ears *es, hf_ear *e, hf_time by, hf_error *err) {
    const char *where = e->at ? e->at->server.where : es->topology->where;

    while (e->state == WAITING && hf__now() < by)
        hf__world->wait(&es->changed, &es->mu, by);
    if (e->state == HEARD)
        return HF_OK;
    if (e->state == REFUSED)
        return hf__fail(err, e->code, "%s: may not subscribe to %.100s", where,
                        e->channel);
    return hf__fail(err, HF_EDOWN, "%s: no answer to SUBSCRIBE in time", where);
}

int hf__ears_watch(hf_ears *es, unsigned slot, const char *channel, hf_time by,
                   hf_error *err) {
    hf_ear *e;
    int rc;

    pthread_mutex_lock(&es->mu);
    e = enter(es, slot, channel);
    if (!e) {
        pthread_mutex_unlock(&es->mu);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    e->watches++;
    if (!e->at || e->state == REFUSED)
        put_at(es, e, es->topology->ops->locate(es->topology, slot));
    rc = await(es, e, by, err);
    if (rc != HF_OK)
        drop(es, e);
    pthread_mutex_unlock(&es->mu);
    return rc;
}

void hf__ears_unwatch(hf_ears *es, const char *channel) {
    hf_ear *e;

    pthread_mutex_lock(&es->mu);
    e = *find(es, channel);
    if (e)
        drop(es, e);
    pthread_mutex_unlock(&es->mu);
}

/* mu. */
static void move(hf_ears *es, hf_ear *e) {
    hf_node *home = es->topology->ops->locate(es->topology, e->slot);

    if (home == e->at && !e->astray) {
        hf__nodes_leave(es->nodes, home);
        return;
    }
    e->moved = true;
    put_at(es, e, home);
    tell(es, e);
}

void hf__ears_move(hf_ears *es) {
    pthread_mutex_lock(&es->mu);
    for (size_t i = 0; i < es->n_buckets; i++)
        for (hf_ear *e = es->buckets[i]; e; e = e->next)
            move(es, e);
    pthread_cond_broadcast(&es->changed);
    pthread_mutex_unlock(&es->mu);
}

bool hf__ears_any(hf_ears *es) {
    bool any;

    pthread_mutex_lock(&es->mu);
    any = es->n > 0;
    pthread_mutex_unlock(&es->mu);
    return any;
}

/* ---- life -------------------------------------------------------------- */

int hf__ears_init(hf_ears *es, hf_error *err) {
    pthread_mutex_init(&es->mu, NULL);
    pthread_cond_init(&es->changed, NULL);
    es->n_buckets = 64;
    es->buckets = hf__calloc(es->n_buckets, sizeof *es->buckets);
    return es->buckets ? HF_OK : hf__fail_plain(err, HF_ENO_MEMORY);
}

/* Nodes are taken down between the two: until then their listeners call. */
void hf__ears_forget(hf_ears *es) {
    hf_ear *e;

    pthread_mutex_lock(&es->mu);
    for (size_t i = 0; es->buckets && i < es->n_buckets; i++)
        while ((e = es->buckets[i])) {
            es->buckets[i] = e->next;
            hf__free(e);
        }
    pthread_mutex_unlock(&es->mu);
}

void hf__ears_clear(hf_ears *es) {
    hf__free(es->buckets);
    pthread_mutex_destroy(&es->mu);
    pthread_cond_destroy(&es->changed);
}
