/* SPDX-License-Identifier: MIT
 *
 * cluster_map.c - what the servers of a cluster say about who has which slot.
 *
 * Nothing here is believed: whatever the reply is like, the map that is made
 * of it can be used. */
#include "cluster_map.h"

#include <stdlib.h>
#include <string.h>

#include "../../../alloc.h"
#include "../../../err.h"
#include "../reply.h"

enum { PORT_MAX = 65535 };

/* ---- one server -------------------------------------------------------- */

static bool is_text(const redisReply *r) {
    return r->type == REDIS_REPLY_STRING && strlen(r->str) == r->len;
}

/* The value beside the key `ip`. */
static const char *ip_of(const redisReply *node) {
    const redisReply *more = node->elements > 3 ? node->element[3] : NULL;

    if (!more || more->type != REDIS_REPLY_ARRAY)
        return NULL;
    for (size_t i = 0; i + 1 < more->elements; i += 2)
        if (is_text(more->element[i]) && is_text(more->element[i + 1]) &&
            strcmp(more->element[i]->str, "ip") == 0)
            return more->element[i + 1]->str;
    return NULL;
}

/* NULL: it cannot be told where it is. */
static const char *host_of(const redisReply *node, const char *asked) {
    const redisReply *host = node->element[0];

    if (host->type == REDIS_REPLY_NIL)
        return asked;
    if (!is_text(host))
        return NULL;
    if (strcmp(host->str, "?") == 0)
        return ip_of(node);
    return *host->str ? host->str : asked;
}

static bool is_place(const char *host, long long port) {
    return host && *host && strlen(host) < HF_HOST_SIZE && port > 0 &&
           port <= PORT_MAX;
}

/* The number of the place, from 1; 0: there is no room for it. */
static size_t enter(hf_cluster_map *map, const char *host, int port) {
    for (size_t i = 0; i < map->n; i++)
        if (map->places[i].port == port &&
            strcmp(map->places[i].host, host) == 0)
            return i + 1;
    if (map->n == HF_CLUSTER_MAX)
        return 0;
    if (map->n == map->room) {
        size_t room = map->room ? 2 * map->room : 8;
        hf_cluster_place *wide =
            hf__realloc(map->places, room * sizeof *map->places);

        if (!wide) {
            map->torn = true;
            return 0;
        }
        map->places = wide;
        map->room = room;
    }
    map->places[map->n] = (hf_cluster_place){.port = port};
    strcpy(map->places[map->n].host, host);
    return ++map->n;
}

static size_t enter_node(hf_cluster_map *map, const redisReply *node,
                         const char *asked) {
    const char *host;

    if (!hf__reply_has(node, 2, 0) ||
        node->element[1]->type != REDIS_REPLY_INTEGER)
        return 0;
    host = host_of(node, asked);
    if (!is_place(host, node->element[1]->integer))
        return 0;
    return enter(map, host, (int)node->element[1]->integer);
}

/* ---- the map ----------------------------------------------------------- */

/* A range of slots: the first, the last, their master, its replicas.  How many
 * slots somebody was found for. */
static size_t take_range(hf_cluster_map *map, const redisReply *range,
                         const char *asked) {
    long long first, last;
    size_t owner;
    int replicas = 0;

    if (!hf__reply_has(range, 3, 2))
        return 0;
    first = range->element[0]->integer;
    last = range->element[1]->integer;
    if (first < 0 || last < first || last >= HF_SLOTS)
        return 0;
    for (size_t i = 3; i < range->elements; i++)
        replicas += enter_node(map, range->element[i], asked) > 0;
    owner = enter_node(map, range->element[2], asked);
    if (!owner)
        return 0;
    map->places[owner - 1].master = true;
    if (map->places[owner - 1].replicas < replicas)
        map->places[owner - 1].replicas = replicas;
    for (long long slot = first; slot <= last; slot++)
        map->owners[slot] = (uint16_t)owner;
    return (size_t)(last - first) + 1;
}

int hf__cluster_map_read(hf_cluster_map **ret, const redisReply *reply,
                         const char *asked, hf_error *err) {
    hf_cluster_map *map;
    size_t served = 0;
    int rc = HF_OK;

    if (reply->type != REDIS_REPLY_ARRAY)
        return hf__fail(err, HF_ESTORE,
                        "%s: an answer to CLUSTER SLOTS that makes no sense",
                        asked);
    map = hf__calloc(1, sizeof *map);
    if (!map)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    for (size_t i = 0; i < reply->elements; i++)
        served += take_range(map, reply->element[i], asked);
    if (map->torn)
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    else if (!served)
        rc = hf__fail(err, HF_EDOWN,
                      "%s: no server of its cluster has any slots", asked);
    if (rc == HF_OK)
        *ret = map;
    else
        hf__cluster_map_free(map);
    return rc;
}

void hf__cluster_map_free(hf_cluster_map *map) {
    if (!map)
        return;
    hf__free(map->places);
    hf__free(map);
}

/* ---- redirects --------------------------------------------------------- */

/* `WORD slot host:port`; the host may have colons itself. */
bool hf__redirect_read(hf_redirect *ret, const char *text, const char *word,
                       const char *asked) {
    size_t len = strlen(word);
    const char *host, *colon;
    char *end;
    long slot, port;

    if (strncmp(text, word, len) != 0 || text[len] != ' ')
        return false;
    slot = strtol(text + len + 1, &end, 10);
    if (end == text + len + 1 || *end != ' ' || slot < 0 || slot >= HF_SLOTS)
        return false;
    host = end + 1;
    colon = strrchr(host, ':');
    if (!colon || (size_t)(colon - host) >= HF_HOST_SIZE)
        return false;
    port = strtol(colon + 1, &end, 10);
    if (end == colon + 1 || (*end && *end != '\r' && *end != ' '))
        return false;
    memcpy(ret->host, host, (size_t)(colon - host));
    ret->host[colon - host] = '\0';
    if (!*ret->host && asked && strlen(asked) < HF_HOST_SIZE)
        strcpy(ret->host, asked);
    ret->slot = (unsigned)slot;
    ret->port = (int)port;
    return is_place(ret->host, port) && strcmp(ret->host, "?") != 0;
}
