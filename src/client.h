/* SPDX-License-Identifier: MIT
 *
 * client.h - the client and the lock handle, as the core's files share them. */
#ifndef HF_CLIENT_H
#define HF_CLIENT_H

#include "keeper.h"

struct hf_client {
    hf_host host;
    hf_backend *be;
    hf_keeper *keeper;
    hf_spots spots;
    char *prefix; /* before every name; "" mostly */
    int lease_ms, renew_ms, patience_ms;
    hf_event_fn *on_event;
    void *event_arg;
    unsigned generation;      /* see hf__generation */
    atomic_ullong last_owner; /* numbers of grants */
};

struct hf_lock {
    hf_client *client;
    hf_spot *spot;
    uint64_t who; /* the handle's identity; 0: the calling thread owns */
    unsigned flags;
    hf_kind kind;
    int permits;
    int lease_ms, renew_ms; /* renew_ms 0: a fixed lease */
    int max_hold_ms;
    int backoff_ms, max_backoff_ms; /* SPIN */
    int replicas;

    /* The keeper's mu. */
    hf_state_fn *on_state;
    void *state_arg;
    int lost_fd; /* -1: not asked for */
    int n_lost;  /* lost holds not yet released */
};

/* Wraps the backend of a client that is being opened; NULL on failure, the
 * inner one then being closed. */
typedef hf_backend *hf_wrap_fn(void *arg, hf_backend *inner);

/* hf_open for tests that want a store in between. */
int hf__open_wrapped(hf_client **ret, const char *uri,
                     const hf_options *options, hf_wrap_fn *wrap, void *arg,
                     hf_error *err);

/* A copy of the client in a forked child: HF_EFORKED, else HF_OK. */
int hf__check_process(const hf_client *client, hf_error *err);

/* The spot of a name that the caller gave, checked first: HF_ENAME says what
 * is wrong with it. */
int hf__attach(hf_spot **ret, hf_client *client, hf_kind kind, const char *name,
               hf_error *err);

void hf__client_event(hf_client *client, hf_event_kind kind, const char *name,
                      uint64_t token, int code);

/* ---- name.c ------------------------------------------------------------ */

/* HF_ENAME names what is wrong with it. */
int hf__check_name(const hf_client *client, const char *name, hf_error *err);

/* ---- acquire.c --------------------------------------------------------- */

/* Asks, waits, asks again until the claim of `h` is granted or `by` has come.
 * On HF_OK a hold of the asker's stands in its spot and with the keeper, if
 * its kind is leased at all; otherwise nothing of it is left but, perhaps,
 * what the keeper gives back.  `waits` false: one question, HF_BUSY for an
 * answer.  `via` is the handle.  Takes the caller's reference. */
int hf__acquire(hf_client *client, hf_hold *h, const void *via, hf_time by,
                bool waits, hf_error *err);

/* The caller's hold in the spot, or NULL.  Spot mu. */
hf_hold *hf__hold_of(hf_spot *spot, uint64_t who, hf_mode mode);

/* A trouble of the store's that may pass by itself. */
bool hf__passing(int rc);

/* ---- kinds ------------------------------------------------------------- */

/* Is a grant of this kind something one has, and can lose? */
static inline bool hf__leased(hf_kind kind) {
    return kind != HF_SEMAPHORE && kind != HF_LATCH;
}

static inline hf_mode hf__mode(hf_kind kind) {
    return kind == HF_READ                           ? HF_SHARED :
           kind == HF_PERMIT || kind == HF_SEMAPHORE ? HF_PERMITS :
           kind == HF_LATCH                          ? HF_ZERO :
                                                       HF_EXCLUSIVE;
}

/* What a sentence calls it. */
static inline const char *hf__noun(hf_kind kind) {
    return kind == HF_LATCH                          ? "latch" :
           kind == HF_SEMAPHORE || kind == HF_PERMIT ? "semaphore" :
                                                       "lock";
}

/* May its holds pass between threads of this process without the store?  Not
 * where the line in the store decides who is next. */
static inline bool hf__shares_turns(const hf_lock *lock) {
    return lock->kind == HF_LOCK && lock->renew_ms && !lock->max_hold_ms &&
           !(lock->flags & HF_NO_COHORT);
}

/* ---- count.c ----------------------------------------------------------- */

/* Does something with a number in the store; asks again, as the same request,
 * while there is doubt and time.  *value in and out. */
int hf__count(hf_client *client, const hf_spot *spot, hf_count_op op,
              int64_t *value, int ttl_ms, hf_error *err);

#endif
