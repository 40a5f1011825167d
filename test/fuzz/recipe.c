/* SPDX-License-Identifier: MIT
 *
 * recipe.c - a reply of Redis of any shape. */
#include "recipe.h"

#include <assert.h>
#include <stdlib.h>

enum { DEPTH = 5, MEMBERS = 12 };

unsigned recipe_byte(recipe *r) {
    return r->at < r->end ? *r->at++ : 0;
}

static void *make(size_t size) {
    void *made = calloc(1, size);
    assert(made != NULL);
    return made;
}

static redisReply *reply_new(recipe *r, int depth);

static void fill_text(redisReply *reply, recipe *r) {
    reply->len = recipe_byte(r);
    reply->str = make(reply->len + 1);
    for (size_t i = 0; i < reply->len; i++)
        reply->str[i] = (char)recipe_byte(r);
}

static void fill_array(redisReply *reply, recipe *r, int depth) {
    reply->elements = recipe_byte(r) % MEMBERS;
    reply->element = make((reply->elements + 1) * sizeof *reply->element);
    for (size_t i = 0; i < reply->elements; i++)
        reply->element[i] = reply_new(r, depth - 1);
}

/* Numbers about as large as slots and ports are, and beyond. */
static long long number(recipe *r) {
    long long n = recipe_byte(r) << 8;
    n += recipe_byte(r);
    return recipe_byte(r) % 8 == 7 ? -n : n;
}

static redisReply *reply_new(recipe *r, int depth) {
    redisReply *reply = make(sizeof *reply);
    switch (recipe_byte(r) % 8) {
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

void recipe_free(redisReply *reply) {
    for (size_t i = 0; i < reply->elements; i++)
        recipe_free(reply->element[i]);
    free(reply->element);
    free(reply->str);
    free(reply);
}

redisReply *recipe_reply(recipe *r) {
    return reply_new(r, DEPTH);
}
