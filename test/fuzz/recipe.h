/* SPDX-License-Identifier: MIT
 *
 * recipe.h - a reply of Redis of any shape, made by a recipe of bytes.
 *
 * For targets that are about what replies mean: how RESP becomes a reply is
 * resp_fuzz.c's affair. */
#ifndef HF_FUZZ_RECIPE_H
#define HF_FUZZ_RECIPE_H

#include <hiredis/hiredis.h>
#include <stdint.h>

typedef struct recipe {
    const uint8_t *at, *end;
} recipe;

/* The next byte; 0 behind the last. */
unsigned recipe_byte(recipe *r);

/* Yours to free. */
redisReply *recipe_reply(recipe *r);
void recipe_free(redisReply *reply);

#endif
