/* SPDX-License-Identifier: MIT
 *
 * link.h - one connection shared by many threads: group commit by the callers
 * themselves.
 *
 * No thread of ours stands on the way.  A caller adds its request to the open
 * batch.  If the window allows it, it sends the batch; if nobody reads, it
 * reads, for everybody; else it sleeps on the word of its batch.  The reader,
 * at the end of a batch, sends the next one first, passes its role on, and
 * wakes the whole batch with one call.  So one caller pays a bare round trip,
 * and many pay a pipelined one. */
#ifndef HF_REDIS_LINK_H
#define HF_REDIS_LINK_H

#include "batch.h"
#include "conn.h"

typedef struct hf_link hf_link;

/* What a link needs of the one who has it. */
typedef struct hf_link_needs {
    /* Opens a connection on which scripts are loaded.  Any thread, no lock. */
    int (*open)(void *arg, hf_conn **ret, hf_time by, hf_error *err);
    void *open_arg;

    /* Takes a post back.  Any thread, no lock of the link held. */
    void (*settled)(void *arg, hf_link *link, hf_post *post);
    void *settled_arg;

    const hf_host *host; /* who keeps the log */
    const char *where;
    bool once;            /* who fails to connect says so at once    */
    bool hands_back;      /* and what was posted goes back unsent    */
    int backoff_ms;       /* the longest pause before trying again   */
    int wait_ms;          /* for replicas, by the server's clock     */
    int timeout_ms;       /* a server silent for so long is given up */
    int spin_us;          /* 0: never                                */
    atomic_uint *callers; /* threads that ask anything now           */
} hf_link_needs;

int hf__link_new(hf_link **ret, const hf_link_needs *needs, hf_error *err);

/* Settles what was posted, unanswered, and frees. */
void hf__link_free(hf_link *l);

/* After a fork: closes the descriptor and nothing else. */
void hf__link_forget(hf_link *l);

/* Hints, without a lock: is it connected, does anybody use it? */
bool hf__link_is_up(hf_link *l);
bool hf__link_is_idle(hf_link *l);

/* Connects if need be; `once`: does not try again. */
int hf__link_up(hf_link *l, bool once, hf_time by, hf_error *err);

/* Sends a request and waits for its replies, which are yours.  HF_EDOUBT: it
 * may have left.  *acks, if it wants replicas: how many confirmed, HF_NO_WAIT
 * if the server knows no such thing. */
int hf__link_ask(hf_link *l, const hf_request *q, redisReply **replies,
                 int *acks, hf_time by, hf_error *err);

/* Breaks the connection: what may have left is in doubt, what comes now opens
 * another. */
void hf__link_cut(hf_link *l);

/* The same, unless it leads to an address that was not given up. */
void hf__link_leave(hf_link *l);

/* Sends it as soon as possible; takes the post.  Requests made later through
 * this link come after it. */
void hf__link_post(hf_link *l, hf_post *post);

/* Looks after posts that nobody came by to look after, until `by`. */
void hf__link_tend(hf_link *l, hf_time by);

#endif
