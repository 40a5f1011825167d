/* SPDX-License-Identifier: MIT
 *
 * cluster_fuzz.c - any reply as the map of a cluster, any text as a redirect.
 *
 * The bytes are not RESP, which is hiredis' affair, but a recipe for a reply of
 * any shape.  Whatever comes of it, a map that is accepted can be used: every
 * owner is a place, and every place can be dialled. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backend/redis/topology/cluster_map.h"
#include "recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    char *text = calloc(1, size + 1);
    redisReply *reply = recipe_reply(&r);
    assert(text != NULL);
    memcpy(text, data, size);
    check_redirect(text);
    check_map(reply);
    recipe_free(reply);
    free(text);
    return 0;
}
