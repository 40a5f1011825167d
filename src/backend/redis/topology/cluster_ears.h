/* SPDX-License-Identifier: MIT
 *
 * cluster_ears.h - the channels we listen to, wherever their slots go.
 *
 * An *ear* is a channel that somebody watches.  It is at the node that has its
 * slot; when the slot moves it goes along: it is subscribed at the new node,
 * and then those who wait are told to ask again, because what was said between
 * is lost. */
#ifndef HF_REDIS_CLUSTER_EARS_H
#define HF_REDIS_CLUSTER_EARS_H

#include "cluster_nodes.h"
#include "topology.h"

typedef struct hf_ear hf_ear;

typedef struct hf_ears {
    hf_topology *topology; /* whose locate says where they belong */
    hf_nodes *nodes;
    /* Who has which slot should be looked up; `again`: that was done before
     * and did not help, so it has time. */
    void (*astray)(void *arg, bool again);
    void *arg;

    pthread_mutex_t mu; /* for the rest; before that of a listener */
    pthread_cond_t changed;
    hf_ear **buckets;
    size_t n_buckets, n;
} hf_ears;

int hf__ears_init(hf_ears *es, hf_error *err);

/* Drops all, before the nodes are taken down; frees the rest, afterwards. */
void hf__ears_forget(hf_ears *es);
void hf__ears_clear(hf_ears *es);

/* As hf__listener_watch and _unwatch. */
int hf__ears_watch(hf_ears *es, unsigned slot, const char *channel, hf_time by,
                   hf_error *err);
void hf__ears_unwatch(hf_ears *es, const char *channel);

/* Brings all of them where their slots are now. */
void hf__ears_move(hf_ears *es);

/* Is there any? */
bool hf__ears_any(hf_ears *es);

/* For the needs of listeners; see wake.h. */
void hf__ears_told(void *ears, hf_listener *w, const char *channel, int code);
void hf__ears_broke(void *ears, hf_listener *w, int code);

#endif
