/* SPDX-License-Identifier: MIT
 *
 * keys.h - the names of things in Redis, as Redisson spells them.
 *
 * The lock itself is the key `name`.  What belongs to it has a prefix, and the
 * name in braces so that both lie in one slot of a cluster; a name that has a
 * brace anywhere is taken to bring its own.  That rule is naive ("a{b" ends up
 * in two slots) and part of the protocol. */
#ifndef HF_REDIS_KEYS_H
#define HF_REDIS_KEYS_H

#include "../../../include/holdfast/backend.h"

#define HF_CHANNEL_PREFIX "redisson_lock__channel"
#define HF_TOKEN_PREFIX   "redisson_lock_token"
#define HF_CLIENT_PREFIX  "holdfast:client:"

enum { HF_KEY_SIZE = 640, HF_OWNER_SIZE = 64, HF_DECIMAL_SIZE = 24 };

/* HF_ENAME if the name is too long for a key of ours. */
int hf__keys_check(const char *name, hf_error *err);

/* Each fills a buffer of HF_KEY_SIZE for a name that passed the check. */
void hf__key_token(char *buf, const char *name);
void hf__key_channel(char *buf, const char *name);

/* The record of the client. */
void hf__key_client(char *buf, const char *client);

/* The number as text, into HF_DECIMAL_SIZE bytes. */
void hf__decimal(char *buf, uint64_t number);

/* The owner as the store knows it, into HF_OWNER_SIZE bytes: `uuid:number`
 * of a lock, the random value of a simple lock. */
void hf__owner_text(char *buf, const char *client, const hf_claim *c);

/* The names whose channel this may be: "{a}" is the channel of both `a` and
 * `{a}`.  Fills up to two pointers into `buf`, a copy; returns how many. */
int hf__names_of_channel(const char *channel, char *buf, size_t size,
                         const char *names[2]);

/* Does the owner look like `uuid:number`, ours or Redisson's? */
bool hf__is_owner(const char *owner);

#endif
