/* SPDX-License-Identifier: MIT
 *
 * families.h - how each kind does what the verbs ask: by which script, with
 * which keys and arguments.
 *
 * A *family* is the scripts of a kind.  The table in families.c says in words
 * what each of them is told, NAME, TOKEN, LEASE, …; one function spells these
 * words for a claim.  So a verb is written once, for every kind. */
#ifndef HF_REDIS_FAMILIES_H
#define HF_REDIS_FAMILIES_H

#include "keys.h"
#include "redis.h"

enum {
    HF_WORDS_MAX = 10, /* in a plan                                        */
    HF_ARGS_MAX = 16   /* that they can become                             */
};

/* One script and what it is told, in words; the first of them is NAME, but for
 * renew, the rest see families.c.  Without words the family does not do
 * this. */
typedef struct hf_plan {
    hf_script script;
    unsigned char words[HF_WORDS_MAX];
} hf_plan;

typedef struct hf_family {
    unsigned can;        /* of hf_ability; 0: there is no such kind here   */
    hf_time least, most; /* when refused, ask again not sooner than this,
                            and (with jitter) not later, though nobody woke
                            us                                             */
    hf_plan attempt, release, after, force, renew;
    hf_plan alone; /* to attempt with the one key, where that is possible  */

    /* Reads the answer to attempt; NULL: it is a token or a number, as
     * lua/lock_attempt.lua has it. */
    int (*answer)(hf_redis *r, hf_claim *c, const redisReply *reply);
} hf_family;

extern const hf_family hf__families[HF_KINDS];

/* Bits of a claim's place. */
enum {
    HF_PLACE_STANDS = 1, /* it may stand in the store                      */
    HF_PLACE_DOUBT = 2,  /* SEMAPHORE, count: a question was not answered,
                            and may still be on its way                    */
    HF_PLACE_GRANTED = 4 /* SEMAPHORE: and the marker may be gone          */
};

/* When to ask again for what may be free in so many ms; -1: nobody knows. */
hf_time hf__ask_again(const hf_claim *c, long long left_ms);

/* In count.c: how the claims on numbers are answered. */
int hf__semaphore_answer(hf_redis *r, hf_claim *c, const redisReply *reply);
int hf__latch_answer(hf_redis *r, hf_claim *c, const redisReply *reply);

/* What the words are about. */
typedef struct hf_asking {
    hf_redis *redis;
    const hf_claim *claim;
    bool waits;        /* attempt */
    const char *whose; /* force: NULL means any */
} hf_asking;

/* Words as they are spelled; those of KEYS first.  Lives as long as the claim
 * and the space do. */
typedef struct hf_spelling {
    int n_keys, argc;
    const char *argv[HF_ARGS_MAX];
    size_t lens[HF_ARGS_MAX];
    char *at; /* free space; HF_SPELLING_SPACE of it is enough for a plan */
} hf_spelling;

enum { HF_SPELLING_SPACE = HF_ARGS_MAX * HF_KEY_SIZE };

void hf__spell(hf_spelling *s, const hf_plan *plan, const hf_asking *a);

/* Does a claim that waits stand in the store, and must be released and kept
 * up there? */
bool hf__stands(const hf_claim *c);

#endif
