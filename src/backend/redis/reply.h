/* SPDX-License-Identifier: MIT
 *
 * reply.h - what the server's refusals mean. */
#ifndef HF_REDIS_REPLY_H
#define HF_REDIS_REPLY_H

#include <hiredis/hiredis.h>

#include "../../../include/holdfast.h"

/* The code for an error reply, by its first word.  0: not an error reply. */
int hf__reply_code(const redisReply *reply);

/* Fills err from an error reply; `name` may be NULL. */
int hf__reply_fail(hf_error *err, const redisReply *reply, const char *where,
                   const char *name);

bool hf__reply_is(const redisReply *reply, const char *word);

/* Did a script end in the middle?  While a slot moves, a key that a script has
 * just deleted is not there to be looked at, and that is an error. */
bool hf__reply_cut_short(const redisReply *reply);

/* An array of at least n elements, the first `ints` of them integers. */
bool hf__reply_has(const redisReply *reply, size_t n, size_t ints);

/* For a reply of a shape that no server should send: doubt, since who knows
 * what it did. */
int hf__reply_odd(hf_error *err, const char *where);

#endif
