/* SPDX-License-Identifier: MIT
 *
 * redlock.h - locks held by a majority of independent servers, as the files of
 * this store share them.
 *
 * Each server keeps, for a name, who holds it, until when, and the last token,
 * in the keys of a lock on one server (../redis.c); see ../lua/redlock_*.lua.
 * A grant is the vote of a majority of all servers in the address, whether they
 * can be reached or not, so that any two grants have a server in common. */
#ifndef HF_REDLOCK_H
#define HF_REDLOCK_H

#include "bundle.h"

enum { HF_NEWS = 256 };

/* How often what happened; read by tests and benchmarks. */
typedef struct hf_redlock_counts {
    atomic_ullong one_round; /* grants whose servers named one token    */
    atomic_ullong written;   /* grants whose token was written back     */
    atomic_ullong split;     /* attempts in which nobody got a majority */
    atomic_ullong joined;    /* locks brought back to a server          */
} hf_redlock_counts;

typedef struct hf_redlock {
    hf_backend base;
    hf_scripts scripts;
    unsigned n, quorum;
    hf_voter *voters[HF_VOTERS_MAX];
    hf_pool pool;
    char *where;
    int node_timeout_ms;
    atomic_int longest_ms; /* of all leases asked for          */
    atomic_bool blunt;     /* propose no token: for benchmarks */
    hf_redlock_counts counts;
    atomic_ullong announced; /* so often we said who we are    */

    pthread_mutex_t ears_mu;  /* for the rest: see redlock.c              */
    pthread_cond_t ears_cond; /* some listener's channel is heard, or not */
    unsigned ears_refused;    /* so often not                             */
    struct {
        unsigned hash, voters;
        hf_time since;
    } news[HF_NEWS];
} hf_redlock;

/* By which scripts a kind is held. */
typedef struct hf_layout {
    unsigned can; /* of hf_ability; 0: there is no such kind here */
    hf_script attempt, confirm, release, undo, after, force;
} hf_layout;

extern const hf_layout hf__redlock_layouts[HF_KINDS];

/* ---- a claim's place ---------------------------------------------------- */

/* Every attempt that fails is followed by a release, on whatever wires it was
 * made.  One of them may be slow, or be a connection that broke and whose last
 * bytes arrive after those of the next.  So a name once released may not be
 * used again: the release could end a later vote.  The first attempt goes by
 * the number (or value) that the core gave the claim, each further one by a
 * number above all that the core gives, or another random value.  Until it is
 * released the same claim may be asked again: that is idempotent. */
enum {
    HF_PLACE_LIVE = 1, /* it may stand in the servers                  */
    HF_PLACE_SPLIT = 2 /* there was a split vote: ask one server first */
};

/* It certainly does not: its last attempt was undone, or it was released. */
static inline bool hf__place_is_over(const hf_claim *c) {
    return c->place && !(c->place & HF_PLACE_LIVE);
}

/* Over which it was asked for; -1: that is not known. */
static inline int hf__place_bundle(const hf_claim *c) {
    return c->place & HF_PLACE_LIVE ? (int)(c->place >> 4 & 15) : -1;
}

/* The voters it may stand in. */
static inline unsigned hf__place_voters(const hf_claim *c) {
    return c->place >> 8 & 0x7fff;
}

/* ---- what the verbs share ----------------------------------------------- */

/* HF_ECANNOT, HF_ENAME; else the layout of its kind. */
int hf__redlock_check(hf_redlock *rl, const hf_claim *c, const hf_layout **ret,
                      hf_error *err);

static inline unsigned hf__redlock_all(const hf_redlock *rl) {
    return (1u << rl->n) - 1;
}

/* For rounds in which everybody is waited for. */
static inline bool hf__redlock_await_all(void *arg, unsigned hope) {
    (void)arg;
    return !hope;
}

/* A server has node_timeout to answer, but not more than there is. */
static inline hf_time hf__redlock_by(const hf_redlock *rl, hf_time by) {
    return hf__sooner(by, hf__after_ms(rl->node_timeout_ms));
}

/* A lease that is longer than all before keeps servers that were restarted out
 * for longer. */
void hf__redlock_note_lease(hf_redlock *rl, int ms);

/* No bundle became free in time. */
int hf__redlock_crowded(hf_redlock *rl, hf_error *err);

/* Gives the claim back by that script; `tell`: those who wait hear of it.  NULL:
 * out of memory. */
hf_letter *hf__redlock_release_letter(hf_redlock *rl, const hf_claim *c,
                                      hf_script script, bool tell);

/* ---- the verbs ----------------------------------------------------------- */

/* vote.c */
int hf__redlock_attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                        hf_error *err);

/* hold.c */
int hf__redlock_renew(hf_backend *be, hf_claim *const *claims, size_t n,
                      hf_time by, hf_error *err);
int hf__redlock_release(hf_backend *be, hf_claim *c, hf_how how,
                        const char *whose, hf_time by, hf_error *err);

/* look.c */
int hf__redlock_count(hf_backend *be, hf_claim *c, hf_count_op op,
                      int64_t *value, hf_time by, hf_error *err);
int hf__redlock_list(hf_backend *be, const char *name, hf_place_fn *fn,
                     void *arg, hf_time by, hf_error *err);
int hf__redlock_examine(hf_backend *be, hf_fact_fn *fn, void *arg, hf_time by,
                        hf_error *err);

/* clients.c */
int hf__redlock_announce(hf_backend *be, const char *doing, int lease_ms,
                         hf_time by, hf_error *err);
int hf__redlock_clients(hf_backend *be, hf_record_fn *fn, void *arg, hf_time by,
                        hf_error *err);
void hf__redlock_take_leave(hf_redlock *rl, hf_time by); /* no more record */

/* rights.c */
int hf__redlock_rights(hf_backend *be, const char *prefix, hf_rule_fn *fn,
                       void *arg, hf_time by, hf_error *err);

/* redlock.c */

/* What only this store knows in an address; others refuse it. */
#define HF_REDLOCK_PARAMS                                                      \
    "durable", "hf_allow_even", "max_lease", "node_timeout"

int hf__redlock_refuse_params(const hf_uri *uri, hf_error *err);

int hf__redlock_open(hf_backend **ret, const hf_uri *uri, const hf_host *host,
                     hf_time by, hf_error *err);
const hf_redlock_counts *hf__redlock_counts(const hf_backend *be);

/* Has every server name its own clock as the token, so that they differ. */
void hf__redlock_be_blunt(hf_backend *be, bool on);

#endif
