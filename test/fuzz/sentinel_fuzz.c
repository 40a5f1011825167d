/* SPDX-License-Identifier: MIT
 *
 * sentinel_fuzz.c - any replies as those of a sentinel.
 *
 * The first byte says of what sort the input is.  An even one: the rest is a
 * recipe for replies of any shape (recipe.h).  An odd one: it is the lines of
 * a flat list, names and values, as sentinels send it.  Whoever is named as
 * the master, or as another sentinel, is somebody who can be dialled. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backend/redis/topology/naming.h"
#include "recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINES = 64 };

static void check_place(const hf_naming *n) {
    assert(n->host[0] != '\0' && strlen(n->host) < sizeof n->host);
    assert(n->port > 0 && n->port < 65536);
}

static void check(const redisReply *master, const redisReply *place) {
    hf_naming n;
    if (master->type == REDIS_REPLY_ARRAY &&
        hf__naming_read(&n, master, place)) {
        check_place(&n);
        assert(n.replicas >= 0 && n.sentinels >= 1);
        assert(n.quorum >= 0 && n.down_after_ms >= 0);
    }
    if (hf__naming_of_other(&n, master))
        check_place(&n);
    hf__naming_changes(place, "main");
}

/* The lines of a text as the elements of an array. */
static void check_lines(char *text) {
    static redisReply rows[LINES], *all[LINES];
    redisReply list = {.type = REDIS_REPLY_ARRAY, .element = all};
    while (text != NULL && list.elements < LINES) {
        char *line = strsep(&text, "\n");
        redisReply *row = &rows[list.elements];
        *row = (redisReply){
            .type = REDIS_REPLY_STRING, .str = line, .len = strlen(line)};
        all[list.elements++] = row;
    }
    check(&list, &list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    if (data[0] & 1) {
        char *text = calloc(1, size);
        assert(text != NULL);
        memcpy(text, data + 1, size - 1);
        check_lines(text);
        free(text);
    } else {
        recipe r = {data + 1, data + size};
        redisReply *master = recipe_reply(&r), *place = recipe_reply(&r);
        check(master, place);
        recipe_free(master);
        recipe_free(place);
    }
    return 0;
}
