/* SPDX-License-Identifier: MIT
 *
 * presence.h - what a client does, as the text that its record says it with.
 *
 * A line that says its form, which also one has who does nothing; only a
 * hidden client's record is empty.  Then one for each claim, the name last, and
 * one for those that found no room:
 *
 *     1
 *     i 6f9619ff-8b86-4d01-b42d-00c04fc964ff    it works for that client, which
 *                                               releases when it is done
 *     w lock 17 3 0 1731742801000 d orders      it waits,
 *     h write 18:write 3 0 1731742799000 - x    holds,
 *     l permit 0a1b…32 3 2 1731742790000 - y    or has lost what it held
 *     m 12 0                                    holds 12 more, waits for none
 *
 * In a line: the kind; the owner as the store tells it, without the client
 * (see hf__owner_of); who is kept from going on, a thread of the process, or a
 * handle if it owns; permits; since when, in ms of the wall clock; d if it
 * asked for HF_DEADLOCK.
 *
 * Pure: no I/O, no clock, no memory.  What is read comes out of a store, where
 * anybody may have written it: a line that is not as above is passed over. */
#ifndef HF_PRESENCE_H
#define HF_PRESENCE_H

#include "../include/holdfast/backend.h"

typedef enum hf_does {
    HF_DOES_WAIT = 'w',
    HF_DOES_HOLD = 'h',
    HF_DOES_MOURN = 'l',
    HF_DOES_MORE = 'm',
    HF_DOES_INSIDE = 'i'
} hf_does;

typedef struct hf_doing {
    hf_does does;
    hf_kind kind;
    const char *owner;
    uint64_t who;
    int permits;         /* PERMIT, SEMAPHORE; else 0 */
    int64_t since_ms;    /* wall clock */
    bool asked;          /* for HF_DEADLOCK */
    const char *name;    /* as the backend sees it */
    size_t holds, waits; /* HF_DOES_MORE: how many; the rest is not set */
    const char *client;  /* HF_DOES_INSIDE: of which; likewise */
} hf_doing;

/* The most that an owner's text has. */
#define HF_DOING_OWNER 40

/* The text while it is written, from _begin to _end. */
typedef struct hf_doings {
    char text[HF_DOING_MAX + 1];
    size_t used;
    size_t holds, waits; /* that found no room */
} hf_doings;

/* `inside`: the client it works for; "": none. */
void hf__doings_begin(hf_doings *to, const char *inside);

/* Adds a line; when the first finds no room, those that follow do not either,
 * so that what comes first stays first. */
void hf__doings_add(hf_doings *to, const hf_doing *c);

/* The last line, if there is more. */
void hf__doings_end(hf_doings *to);

/* Takes the next line that can be read out of a text, which it changes;
 * strings point into it.  false: there is none. */
bool hf__doings_next(char **text, hf_doing *ret);

/* Is that the number of a client, as texts have it?  `n` bytes. */
bool hf__is_client(const char *text, size_t n);

/* "lock", … as hf_place has it. */
const char *hf__kind_word(hf_kind kind);

/* Without the client; `buf` of HF_DOING_OWNER + 1 bytes. */
void hf__doing_owner(hf_kind kind, uint64_t owner,
                     const unsigned char nonce[16], char *buf);

#endif
