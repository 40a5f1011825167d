/* SPDX-License-Identifier: MIT
 *
 * bundle.h - a wire to every voter, and rounds of questions over them.
 *
 * One thread has a bundle at a time.  It writes a letter to all voters first
 * and then takes the answers as they come, until the matter is decided: nobody
 * waits for a server that is not needed.  What is still unanswered then is left
 * under way.  Its answers come first on their wires, are counted off by whoever
 * has the bundle next, and thrown away.
 *
 * Hence what undoes a request goes over the same bundle as the request itself:
 * on a wire nothing is overtaken, so that a vote that a slow server gives late
 * is followed by its release. */
#ifndef HF_REDLOCK_BUNDLE_H
#define HF_REDLOCK_BUNDLE_H

#include "voter.h"

enum { HF_VOTERS_MAX = 15, HF_BUNDLES_MAX = 4 };

typedef struct hf_pool hf_pool;

struct hf_bundle {
    hf_pool *pool;
    unsigned index;
    int bell;        /* eventfd: a wire came up */
    uint64_t rounds; /* so many there were      */
    hf_wire wires[HF_VOTERS_MAX];

    /* The pool's mu. */
    hf_bundle *next;  /* idle, the last one used first               */
    unsigned plugged; /* voters whose wire was up once, by bits…     */
    unsigned failed;  /* …or could not be connected when first tried */
    bool ready;       /* it is being used                            */
    bool idle;
    unsigned wanted;     /* threads that wait for this very one */
    pthread_cond_t cond; /* for them                            */
    hf_time put_at;      /* when it became idle                 */
    bool owes;           /* and not all was answered by then    */
};

/* ---- rounds ------------------------------------------------------------ */

/* A letter to some of the voters.  Sets of voters are bits by their number. */
typedef struct hf_round {
    hf_letter *letter;
    unsigned voters; /* whom to ask                                 */
    bool owed;       /* a release: it is not given up with the wire */
    hf_time by;
    hf_time soft; /* those who are not needed are waited for until then only */

    /* Called for each answer, and whenever something has changed: is it
     * decided?  `hope` are those who may still answer. */
    void (*answer)(void *arg, unsigned k, const redisReply *reply);
    bool (*decided)(void *arg, unsigned hope);

    /* From `soft` on: are those who have answered enough?  NULL: no. */
    bool (*enough)(void *arg);

    /* Called when it could be sent: shall it be?  It may be another life of
     * the server than when the round began.  NULL: yes. */
    bool (*may)(void *arg, unsigned k);
    void *arg;

    unsigned sent;    /* whom it may have reached            */
    unsigned awaited; /* sent, and not answered yet          */
    unsigned later;   /* to be sent when their wire is ready */
    uint64_t number;
} hf_round;

void hf__round_run(hf_bundle *b, hf_round *r);

/* Sends something that nobody waits for.  A release that must arrive at some
 * voters (`owed`) is sent to them as soon as they can be reached.  How many it
 * was sent to at once. */
int hf__bundle_post(hf_bundle *b, hf_letter *l, unsigned voters, unsigned owed);

/* Takes in what has come, sends on what was not sent, and gives up wires that
 * were silent for too long.  True: something is still under way. */
bool hf__bundle_tend(hf_bundle *b);

/* The same until everything was answered, or `by`. */
void hf__bundle_settle(hf_bundle *b, hf_time by);

/* ---- the pool ---------------------------------------------------------- */

/* All bundles of a client.  Another is opened when all are in use. */
struct hf_pool {
    const hf_host *host;
    const hf_scripts *scripts;
    hf_voter **voters;
    unsigned n, quorum;
    int patience_ms; /* a voter that is silent for so long is not asked    */

    pthread_mutex_t mu;  /* for the rest                              */
    pthread_cond_t cond; /* a bundle became idle, or a wire was tried */
    hf_bundle *bundles[HF_BUNDLES_MAX];
    unsigned n_bundles;
    hf_bundle *idle;
    unsigned urgent; /* threads that wait and go first                     */
    pthread_t tender;
    pthread_cond_t tender_cond;
    bool tended, dozing, stopping;
};

void hf__pool_init(hf_pool *p);

/* Opens the first bundle and waits until it is usable: a majority of its wires
 * is up, and the others were tried or had their time. */
int hf__pool_open(hf_pool *p, hf_time by, hf_error *err);

/* Waits a moment for what is under way.  The voters must still run. */
void hf__pool_stop(hf_pool *p);
void hf__pool_clear(hf_pool *p, bool forked);

/* A bundle to be had alone: the one of that number, or any (-1).  `urgent`: go
 * before the others who take any.  NULL: `by` has come. */
hf_bundle *hf__pool_take(hf_pool *p, int index, bool urgent, hf_time by);
void hf__pool_give(hf_bundle *b);

/* See hf_voter_needs. */
void hf__pool_wired(hf_pool *p, hf_wire *w, int rc);

#endif
