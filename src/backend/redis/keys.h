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
#define HF_ERA_KEY        "holdfast_era"

enum { HF_KEY_SIZE = 640, HF_OWNER_SIZE = 80, HF_DECIMAL_SIZE = 24 };

/* HF_ENAME if the name is too long for a key of ours. */
int hf__keys_check(const char *name, hf_error *err);

/* Each fills a buffer of HF_KEY_SIZE for a name that passed the check, and
 * returns the end of the text. */
char *hf__key_token(char *buf, const char *name);
char *hf__key_queue(char *buf, const char *name);    /* of a fair lock        */
char *hf__key_timeouts(char *buf, const char *name); /* of those in the queue */
char *hf__key_writers(char *buf, const char *name);  /* who go first          */
char *hf__key_prefix(char *buf, const char *name);   /* name in its braces    */
char *hf__key_leased(char *buf, const char *name);   /* permits, by their ids */
char *hf__key_note(char *buf, const char *name);     /* what a counter is     */

/* The marker of a request that counts once. */
char *hf__key_marker(char *buf, const char *name,
                     const unsigned char nonce[16]);

/* The channel of a line, by the kind of a claim in it; hf__key_channel is that
 * of the plain lock. */
char *hf__key_line(char *buf, hf_kind kind, const char *name);
char *hf__key_channel(char *buf, const char *name);

/* The channel on which the claim is told: a fair one has its own. */
char *hf__key_ear(char *buf, const char *client, const hf_claim *c);

/* Of the one hold of a reader: it lives as long as its lease. */
char *hf__key_hold(char *buf, const char *name, const char *client,
                   uint64_t owner);

/* ---- records of clients ---- */

/* A client's record and the list of all who have one are written together, so
 * they lie in one slot.  In a cluster there are several such places, *shelves*,
 * each with the records of some clients and a list of its own.  One for all
 * would put every client's record at one master; one for each slot would have
 * whoever wants all records ask for 16384 lists.  With eight, one in every
 * eighth of the slots, up to eight masters share the work, and eight requests
 * find all records, wherever the slots have gone. */
enum { HF_SHELVES = 8 };
extern const char *const hf__shelves[HF_SHELVES]; /* their tags */

const char *hf__shelf_of(const char *client);

/* The record of the client, on that shelf; NULL: there are none, it is one
 * server.  "" as the client: what all of them begin with. */
char *hf__key_client(char *buf, const char *shelf, const char *client);

/* Who has a record there: a sorted set, by when it ends.  No client is called
 * like that, and who may use records may use it. */
#define HF_ALL_CLIENTS "all"

/* The number as text, into HF_DECIMAL_SIZE bytes; the end. */
char *hf__decimal(char *buf, uint64_t number);

/* The owner as the store knows it, into HF_OWNER_SIZE bytes; the end.
 *   LOCK SPIN READ  `uuid:number`
 *   FAIR            `uuid:0number`: the zero tells a script of ours that this
 *                   one can be granted the lock unasked; no Java thread has it
 *   WRITE           `uuid:number:write`
 *   SIMPLE PERMIT   the random value, 32 hex digits */
char *hf__owner_text(char *buf, const char *client, const hf_claim *c);

/* What a message on a channel is about. */
typedef struct hf_news {
    hf_kind kind;         /* of the line                                   */
    uint64_t owner;       /* a fair claim of this client; else 0           */
    int n;                /* of the names                                  */
    const char *names[2]; /* "{a}" is the channel of both `a` and `{a}`    */
    char buf[2 * HF_KEY_SIZE];
} hf_news;

/* False: it is no channel of ours. */
bool hf__news_of_channel(hf_news *ret, const char *channel, const char *client);

/* Does the owner look like `uuid:number`, ours or Redisson's? */
bool hf__is_owner(const char *owner);

#endif
