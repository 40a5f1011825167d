/* SPDX-License-Identifier: MIT
 *
 * wake.h - bells and signs of life among the clients of one embedded store.
 *
 * Every client has a datagram socket in the folder beside the file.  To ring
 * it wakes who waits there; that it can be reached at all says that its
 * process lives.  Both are hints for whoever also looks again by himself;
 * only the certain "nobody is there" is acted upon. */
#ifndef HF_SQLITE_WAKE_H
#define HF_SQLITE_WAKE_H

#include "../../world.h"
#include "file.h"

typedef struct hf_wake hf_wake;

/* Another client, as its record in the store describes it. */
typedef struct hf_peer {
    char client[37];
    bool known; /* it has a record, of this boot */
    int64_t pidns, pid;
} hf_peer;

int hf__wake_open(hf_wake **ret, const hf_file *file, const hf_host *host,
                  hf_error *err);

/* `stay` leaves our socket's name behind, dead, for others to find. */
void hf__wake_close(hf_wake *w, bool stay, bool forked);

/* Makes our own socket; before any grant or place of ours can be seen.  The
 * calls from here to _sweep are made by one thread at a time. */
int hf__wake_appear(hf_wake *w, hf_error *err);

/* False only if the client certainly is no more. */
bool hf__wake_lives(const hf_wake *w, const hf_peer *peer);

/* Tells the client that the line of a name moved; see hf_host.woken.  False:
 * nobody is there. */
bool hf__wake_ring(hf_wake *w, const char *client, hf_kind kind,
                   const char *name, uint64_t owner);

/* Removes the socket of a dead client; of all that died without a record,
 * telling how many. */
void hf__wake_remove(const hf_wake *w, const char *client);
int hf__wake_sweep(const hf_wake *w);

/* Begins and ends to listen for the claim: see hf_backend_ops.watch. */
int hf__wake_watch(hf_wake *w, const hf_claim *c, hf_error *err);
void hf__wake_unwatch(hf_wake *w, const hf_claim *c);

/* The watched claim waits for these clients: the end of each is a move of the
 * line.  False: one has ended already.  What cannot be watched is no
 * failure. */
bool hf__wake_arm(hf_wake *w, const hf_claim *c, const hf_peer *peers,
                  size_t n);

/* The number of our pid namespace; 0: unknown. */
int64_t hf__wake_pidns(const hf_wake *w);

#endif
