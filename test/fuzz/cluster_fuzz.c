/* SPDX-License-Identifier: MIT
 *
 * cluster_fuzz.c - any reply as the map of a cluster, any text as a redirect.
 *
 * The bytes are not RESP, which is hiredis' affair, but a recipe for a reply of
 * any shape.  Whatever comes of it, a map that is accepted can be used: every
 * owner is a place, and every place can be dialled. */
#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/redis/topology/cluster_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DEPTH = 5, MEMBERS = 12 };

typedef struct recipe {
    const uint8_t *at, *end;
} recipe;

static unsigned take(recipe *r) {
    return r->at < r->end ? *r->at++ : 0;
}

static void *make(size_t size) {
    void *made = calloc(1, size);
    assert(made != NULL);
    return made;
}

/* ---- replies ----------------------------------------------------------- */

static redisReply *reply_new(recipe *r, int depth);

static void fill_text(redisReply *reply, recipe *r) {
    reply->len = take(r);
    reply->str = make(reply->len + 1);
    for (size_t i = 0; i < reply->len; i++)
        reply->str[i] = (char)take(r);
}

static void fill_array(redisReply *reply, recipe *r, int depth) {
    reply->elements = take(r) % MEMBERS;
    reply->element = make((reply->elements + 1) * sizeof *reply->element);
    for (size_t i = 0; i < reply->elements; i++)
        reply->element[i] = reply_new(r, depth - 1);
}

/* Numbers about as large as slots and ports are, and beyond. */
static long long number(recipe *r) {
    long long n = take(r) << 8;
    n += take(r);
    return take(r) % 8 == 7 ? -n : n;
}

static redisReply *reply_new(recipe *r, int depth) {
    redisReply *reply = make(sizeof *reply);
    switch (take(r) % 8) {
    case 0:
        reply->type = REDIS_REPLY_NIL;
        break;
    case 1:
    case 2:
        reply->type = REDIS_REPLY_INTEGER;
        reply->integer = number(r);
        break;
    case 3:
        reply->type = REDIS_REPLY_STRING;
        fill_text(reply, r);
        break;
    case 4:
        reply->type = REDIS_REPLY_ERROR;
        fill_text(reply, r);
        break;
    default:
        reply->type = depth > 0 ? REDIS_REPLY_ARRAY : REDIS_REPLY_NIL;
        if (depth > 0)
            fill_array(reply, r, depth);
    }
    return reply;
}

static void reply_free(redisReply *reply) {
    for (size_t i = 0; i < reply->elements; i++)
        reply_free(reply->element[i]);
    free(reply->element);
    free(reply->str);
    free(reply);
}

/* ---- what must hold ---------------------------------------------------- */

static void check_place(const char *host, int port) {
    assert(*host != '\0' && strlen(host) < HF_HOST_SIZE);
    assert(port > 0 && port < 65536);
}

static void check_map(const redisReply *reply) {
    hf_cluster_map *map = NULL;
    hf_error err;
    size_t served = 0;
    if (hf__cluster_map_read(&map, reply, "asked", &err) != HF_OK) {
        assert(map == NULL);
        return;
    }
    assert(map->n > 0 && map->n <= HF_CLUSTER_MAX);
    for (size_t i = 0; i < map->n; i++)
        check_place(map->places[i].host, map->places[i].port);
    for (int slot = 0; slot < HF_SLOTS; slot++) {
        unsigned owner = map->owners[slot];
        assert(owner <= map->n);
        assert(owner == 0 || map->places[owner - 1].master);
        served += owner != 0;
    }
    assert(served > 0);
    hf__cluster_map_free(map);
}

static void check_redirect(const char *text) {
    static const char *const words[] = {"MOVED", "ASK"};
    for (int i = 0; i < 2; i++) {
        hf_redirect to;
        if (!hf__redirect_read(&to, text, words[i], "asked"))
            continue;
        check_place(to.host, to.port);
        assert(to.slot < HF_SLOTS);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    recipe r = {data, data + size};
    char *text = make(size + 1);
    redisReply *reply = reply_new(&r, DEPTH);
    memcpy(text, data, size);
    check_redirect(text);
    check_map(reply);
    reply_free(reply);
    free(text);
    return 0;
}
