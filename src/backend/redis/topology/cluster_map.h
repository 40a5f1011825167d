/* SPDX-License-Identifier: MIT
 *
 * cluster_map.h - what the servers of a cluster say about who has which slot:
 * the answer to CLUSTER SLOTS, and the redirects MOVED and ASK.
 *
 * Where a server is, it does not always say in full.  No host, or an empty
 * one, is the host that was asked; "?" is unknown, unless an `ip` stands
 * beside it. */
#ifndef HF_REDIS_CLUSTER_MAP_H
#define HF_REDIS_CLUSTER_MAP_H

#include <hiredis/hiredis.h>

#include "../../../../include/holdfast/backend.h"
#include "slot.h"

enum { HF_CLUSTER_MAX = 1024, HF_HOST_SIZE = 256 };

typedef struct hf_cluster_place {
    char host[HF_HOST_SIZE];
    int port;
    bool master;  /* of some slots        */
    int replicas; /* of it, as far as said */
} hf_cluster_place;

typedef struct hf_cluster_map {
    uint16_t owners[HF_SLOTS]; /* a place, counted from 1; 0: nobody */
    size_t n, room;
    hf_cluster_place *places; /* replicas too */
    bool torn; /* while it is made: memory was wanting for a place */
} hf_cluster_map;

/* `asked` is the host that sent the reply.  HF_ESTORE: it makes no sense;
 * HF_EDOWN: nobody has any slot.  *ret is yours, see below. */
int hf__cluster_map_read(hf_cluster_map **ret, const redisReply *reply,
                         const char *asked, hf_error *err);
void hf__cluster_map_free(hf_cluster_map *map);

typedef struct hf_redirect {
    unsigned slot;
    char host[HF_HOST_SIZE];
    int port;
} hf_redirect;

/* The text of an error that begins with `word`, MOVED or ASK.  False: it does
 * not say where to. */
bool hf__redirect_read(hf_redirect *ret, const char *text, const char *word,
                       const char *asked);

#endif
