/* SPDX-License-Identifier: MIT
 *
 * topology.h - which server a request goes to, and what is done when that
 * changes.
 *
 * The layer between connections and verbs.  A verb says what it asks and for
 * which name; here it is sent to the node that has the name, and sent again
 * when the answer is that it lives elsewhere, or nowhere for the moment.  There
 * are two topologies: *one* master, fixed or found by Sentinel (one.c,
 * sentinel.c), and a *cluster*, where the slot of a name says which (cluster.c).
 *
 * Whatever may have taken effect is never sent again from here: no answer is
 * HF_EDOUBT, and the core knows what to do. */
#ifndef HF_REDIS_TOPOLOGY_H
#define HF_REDIS_TOPOLOGY_H

#include "node.h"

typedef struct hf_topology hf_topology;

/* One request on its way. */
typedef struct hf_trip {
    unsigned slot;
    hf_node *at; /* where it was sent                        */
    bool asking; /* … with ASKING                            */
    hf_node *to; /* HF_NEXT_ASKING: where to ask; to be left */
    int hops;    /* redirects so far                         */
    int pauses;  /* likewise                                 */

    bool cut_short;     /* a script ended in the middle                 */
    bool has_other_way; /* than to wait for keys that are apart         */
    int torn;           /* how often they were                          */
    hf_time torn_since;
} hf_trip;

typedef enum hf_next {
    HF_NEXT_DONE,  /* result and reply stand                          */
    HF_NEXT_AGAIN, /* at once, where the name is now                  */
    HF_NEXT_LATER, /* the same after a pause, longer each time        */
    HF_NEXT_ASKING /* at once, at trip->to, with ASKING in front      */
} hf_next;

/* Those who decide on a change of master where it is not the servers. */
typedef struct hf_referees {
    int n, reached;    /* sentinels: there are, and answer us            */
    int quorum;        /* so many must agree that the master is gone     */
    int down_after_ms; /* which it is when it was silent for so long     */
} hf_referees;

typedef struct hf_topology_ops {
    /* The node that has the slot now, as far as we know; to be left. */
    hf_node *(*locate)(hf_topology *t, unsigned slot);

    /* A request came back: with rc HF_OK and a reply, which may be an error,
     * or with another rc and none.  Takes note of what that tells about the
     * servers, and says how to go on. */
    hf_next (*learn)(hf_topology *t, hf_trip *trip, int rc,
                     const redisReply *reply, hf_time by);

    /* The i-th of the masters, from 0, to be left; NULL: there are no more. */
    hf_node *(*master)(hf_topology *t, unsigned i);

    /* It is not used any more by whoever located it.  NULL: nodes stay. */
    void (*leave)(hf_topology *t, hf_node *node);

    /* Listens to a channel of the slot, wherever that goes, until unwatch; see
     * wake.h. */
    int (*watch)(hf_topology *t, unsigned slot, const char *channel, hf_time by,
                 hf_error *err);
    void (*unwatch)(hf_topology *t, unsigned slot, const char *channel);

    /* For those who look.  NULL: there are none. */
    void (*referees)(hf_topology *t, hf_referees *ret);

    void (*free)(hf_topology *t, bool forked);
} hf_topology_ops;

/* Every topology's own struct begins with this. */
struct hf_topology {
    const hf_topology_ops *ops;
    const hf_host *host;
    char *where; /* the whole of it as a URI, without secrets */
    hf_scripts scripts;
    hf_node_needs needs; /* of its nodes */
    bool slotted;        /* a cluster */
    bool steady;         /* one server, always the same: its clock can be
                            estimated, and an estimate used again */
    int lock_delay;      /* ms; 0: none */
    uint32_t *tags;      /* of the slots, for keys of ours there, if needed */
};

/* By the scheme. */
int hf__topology_open(hf_topology **ret, const hf_uri *uri, const hf_host *host,
                      hf_time by, hf_error *err);
void hf__topology_free(hf_topology *t, bool forked);

/* For those who make one: scripts, needs and settings from the address.  The
 * rest of *t is zero, and cleared again by _clear. */
int hf__topology_init(hf_topology *t, const hf_topology_ops *ops,
                      const hf_uri *uri, const hf_host *host, hf_error *err);
void hf__topology_clear(hf_topology *t);

int hf__one_open(hf_topology **ret, const hf_uri *uri, const hf_host *host,
                 hf_time by, hf_error *err);
int hf__cluster_open(hf_topology **ret, const hf_uri *uri, const hf_host *host,
                     hf_time by, hf_error *err);

static inline void hf__topology_leave(hf_topology *t, hf_node *node) {
    if (t->ops->leave)
        t->ops->leave(t, node);
}

/* The slot of a key, 0 where there are none. */
unsigned hf__topology_slot(const hf_topology *t, const char *key);

/* Runs a script where its first key lives.  OK: *ret is yours, and no error.
 * HF_EDOUBT: no answer; otherwise err says why it certainly was not done. */
int hf__topology_call(hf_topology *t, const hf_call *call, redisReply **ret,
                      hf_time by, hf_error *err);

/* Before asking again for what was answered with HF_NEXT_LATER: longer each
 * time.  False: after it there would be no time left. */
bool hf__topology_pause(hf_trip *trip, hf_time by);

/* A plain command, where `key` lives. */
int hf__topology_ask(hf_topology *t, const char *key, int argc,
                     const char *const *argv, redisReply **ret, hf_time by,
                     hf_error *err);

/* Posts a release; see hf__poster_release. */
int hf__topology_post(hf_topology *t, const hf_call *call, hf_time until,
                      hf_error *err);

/* The key that keeps the era of the name's server for a lock delay, into
 * HF_KEY_SIZE bytes; the end. */
char *hf__topology_era(const hf_topology *t, const char *name, char *buf);

/* The clock of the server that has the name; NULL where it is not to be
 * estimated. */
hf_server_clock *hf__topology_clock(hf_topology *t, const char *name);

/* Asks the server that has the name for the time, if it is time to. */
void hf__topology_set_clock(hf_topology *t, const char *name, hf_time by);

#endif
