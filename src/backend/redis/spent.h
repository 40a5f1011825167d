/* SPDX-License-Identifier: MIT
 *
 * spent.h - markers of requests whose answer has come.
 *
 * A request that changes a counter leaves a marker in the store, so that it
 * counts once however often it is asked; see lua/marker.lua.  With the answer
 * the marker has served, and would only lie about for its minute: at twenty
 * thousand requests a second more than a million of them.  So it is noted
 * here, and the next request for the same name takes it along to be deleted.
 * That costs no round trip, and leaves of a busy name as many markers as there
 * are requests under way.
 *
 * Only a request that was sent once is noted.  Of one that was asked again a
 * copy may still be on its way; its marker must see to it, and ends by itself.
 * So do markers of names that are not used again, and what finds no room. */
#ifndef HF_REDIS_SPENT_H
#define HF_REDIS_SPENT_H

#include <pthread.h>
#include <stdint.h>

enum { HF_SPENT_ROOM = 1024, HF_SPENT_LISTS = 64, HF_SPENT_TAKE = 4 };

typedef struct hf_spent {
    pthread_mutex_t mu; /* for the rest */
    struct {
        uint64_t name; /* its hash: a wrong one deletes what is not there */
        unsigned char nonce[16];
        uint16_t next; /* an index from 1; 0: the end */
    } notes[HF_SPENT_ROOM];
    uint16_t lists[HF_SPENT_LISTS], unused;
    unsigned clear_next; /* the list to be forgotten when there is no room */
} hf_spent;

void hf__spent_init(hf_spent *s);
void hf__spent_clear(hf_spent *s);

void hf__spent_note(hf_spent *s, const char *name,
                    const unsigned char nonce[16]);

/* Takes out up to HF_SPENT_TAKE notes of the name, for the request `own`, whose
 * own is left alone: it is asked again; how many. */
int hf__spent_take(hf_spent *s, const char *name, const unsigned char own[16],
                   unsigned char nonces[HF_SPENT_TAKE][16]);

#endif
