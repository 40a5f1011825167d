/* SPDX-License-Identifier: MIT
 *
 * batch.h - requests that are sent together and answered together.
 *
 * A batch belongs to its link until it is done, and to whoever still has a
 * reference afterwards: each thread fetches its own reply without a lock, and
 * the last one to leave frees what is left. */
#ifndef HF_REDIS_BATCH_H
#define HF_REDIS_BATCH_H

#include <hiredis/hiredis.h>
#include <stdatomic.h>

#include "../../../include/holdfast/backend.h"

/* HF_UNSENT: the connection broke, and our request certainly had not left.
 * HF_NO_WAIT: in place of a number of replicas; see link.h. */
enum { HF_UNSENT = 2, HF_NO_WAIT = -1 };

/* A request nobody waits for.  It is sent again on a new connection until it
 * is answered or pointless. */
typedef struct hf_post {
    struct hf_post *next;
    char *bytes;
    size_t len;
    hf_time until;     /* pointless after this                       */
    bool repeated;     /* may have been carried out before           */
    redisReply *reply; /* when settled; NULL: it never was answered  */
} hf_post;

/* What a thread asks for: commands that belong together. */
typedef struct hf_request {
    const char *bytes;
    size_t len;
    size_t n;     /* commands in it, and so many replies                */
    int replicas; /* 0, or so many must confirm what it wrote           */
} hf_request;

/* One reply that is to come. */
typedef struct hf_slot {
    hf_post *post; /* NULL: a thread asks                            */
    size_t at;     /* where its bytes begin                          */
    int replicas;  /* it is the WAIT for so many, for all before it  */
    bool gone;     /* withdrawn before it was sent: no reply         */
    redisReply *reply;
} hf_slot;

enum { HF_BATCH_DONE = 1 }; /* in a word; the rest of it counts calls */

/* Guarded by the link's mu, unless said otherwise. */
typedef struct hf_batch {
    struct hf_batch *next;
    atomic_uint word;  /* slept on without mu, changed under it      */
    atomic_uint refs;  /* no guard                                   */
    unsigned asking;   /* threads whose answer is in here            */
    unsigned sleeping; /* of them, those on the word                 */
    bool wake;         /* somebody slept when it was done            */
    bool solo;         /* sent while no other request was under way  */
    hf_slot *slots;    /* replies: the reader's until it is done     */
    size_t n, room;    /* slots                                      */
    size_t answered;   /* the reader's                               */
    char *bytes;
    size_t len, cap;
    size_t sent, left; /* sent for sure; may have left               */
    hf_time sent_at;
} hf_batch;

hf_batch *hf__batch_new(void);
hf_batch *hf__batch_keep(hf_batch *b);
void hf__batch_put(hf_batch *b);

/* Adds a post.  False: out of memory. */
bool hf__batch_add_post(hf_batch *b, hf_post *post);

/* Adds a request; its replies come from *first on.  Those who want as many
 * replicas share one WAIT of so many ms, behind the last of them. */
bool hf__batch_add(hf_batch *b, const hf_request *q, int wait_ms,
                   size_t *first);

/* Takes a request of n commands out again, of which nothing was sent. */
void hf__batch_withdraw(hf_batch *b, size_t first, size_t n);

/* The reply to the WAIT behind the slot; NULL: there is none. */
const redisReply *hf__batch_wait(const hf_batch *b, size_t slot);

/* Once true, replies may be fetched. */
bool hf__batch_is_done(hf_batch *b);

/* Sleeps until the word is no longer what was `seen`, it is woken or `by`. */
void hf__batch_sleep(hf_batch *b, unsigned seen, hf_time by);
void hf__batch_wake(hf_batch *b, int n);

#endif
