/* SPDX-License-Identifier: MIT
 *
 * client.h - the client and the lock handle, as the core's files share them. */
#ifndef HF_CLIENT_H
#define HF_CLIENT_H

#include "claim.h"
#include "keeper.h"
#include "lookout.h"
#include "loop.h"
#include "tally.h"

typedef struct hf_multi hf_multi;

struct hf_client {
    hf_host host;
    hf_backend *be;
    hf_backend *pair; /* of two stores: be, or what be wraps; else NULL */
    hf_keeper *keeper;
    hf_spots spots;
    hf_tallies tallies;
    char *prefix; /* before every name; "" mostly */
    int lease_ms, renew_ms, patience_ms;
    bool hidden;     /* its record says nothing of what it does */
    char inside[37]; /* the client that it works for; "": none */
    hf_lookout lookout;
    hf_event_fn *on_event;
    void *event_arg;
    hf_log_fn *on_log;
    void *log_arg;
    char *address; /* as it was given, without secrets; NULL: no log is kept */
    _Atomic(const char *) shown; /* that, or the store's own word while it is
                                    open: in every entry of the log */
    unsigned generation;         /* see hf__generation */
    atomic_ullong last_owner;    /* numbers of grants */
    atomic_bool silent;          /* the last question was not answered */
    hf_loop *loop;
    hf_tickets tickets; /* that belong to no object */
    bool by_loop;       /* states and events are told in hf_process */
};

struct hf_lock {
    hf_client *client;
    hf_spot *spot;   /* NULL: a multi-lock */
    hf_multi *multi; /* that it is, or is a member of; NULL: neither */
    uint64_t who;    /* the handle's identity; 0: the calling thread owns */
    bool handed_on;  /* any thread may release it: it was asked for */
    unsigned flags;
    hf_kind kind;
    int permits;
    int lease_ms, renew_ms; /* renew_ms 0: a fixed lease */
    int max_hold_ms;
    int backoff_ms, max_backoff_ms; /* SPIN */
    int replicas;

    /* The keeper's mu, or the multi-lock's. */
    hf_state_fn *on_state;
    void *state_arg;
    int lost_fd; /* -1: not asked for */
    int n_lost;  /* lost holds not yet released */

    hf_tickets tickets; /* the loop's mu */
    hf_change change;
};

struct hf_semaphore {
    hf_client *client;
    hf_spot *spot;
    hf_tickets tickets; /* the loop's mu */
};

struct hf_latch {
    hf_client *client;
    hf_spot *spot;
    hf_tickets tickets; /* the loop's mu */
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

/* Whoever wants to hear it is told; the name as the store has it. */
void hf__client_tell(hf_client *client, const hf_event *event);

/* The state of what is held through it has changed: its callback is told, now
 * or in hf_process.  Nothing is locked. */
void hf__lock_tell(hf_lock *lock, hf_state_fn *fn, void *arg, hf_state state,
                   int why);

/* ---- name.c ------------------------------------------------------------ */

/* HF_ENAME names what is wrong with it. */
int hf__check_name(const hf_client *client, const char *name, hf_error *err);

/* Where in it is a control character, or a byte that is not UTF-8, counted
 * from 1; 0: nowhere. */
size_t hf__odd_byte(const char *text);

/* ---- acquire.c --------------------------------------------------------- */

/* For how long it may last, and what ends it. */
typedef struct hf_terms {
    hf_time by;
    bool waits; /* false: one question, HF_BUSY for an answer */
    hf_time began;
    const void *via; /* the handle, see hf__spot_cancel */

    /* For a wait in several parts: a cancel is counted before it is told to
     * those who wait, so that nobody begins to who has not seen it.  NULL:
     * there is none. */
    const atomic_uint *cancels;
    unsigned seen; /* of them, when it began */
} hf_terms;

static inline hf_terms hf__terms(int wait_ms, const void *via) {
    hf_time now = hf__now();

    return (hf_terms){.by = wait_ms < 0 ? HF_NEVER : now + wait_ms * HF_MS,
                      .waits = wait_ms != 0,
                      .began = now,
                      .via = via};
}

static inline bool hf__terms_cancelled(const hf_terms *t) {
    return t->cancels && atomic_load(t->cancels) != t->seen;
}

/* The caller's hold in the spot, or NULL.  Spot mu. */
hf_hold *hf__hold_of(hf_spot *spot, uint64_t who, hf_mode mode);

/* A trouble of the store's that may pass by itself. */
bool hf__passing(int rc);

/* ---- lock.c: what a multi-lock does with its members ------------------- */

/* As the public ones, which refuse a member; err is not NULL. */
int hf__lock_acquire(hf_lock *lock, const hf_terms *terms, hf_error *err);
int hf__lock_release(hf_lock *lock, int after_ms, hf_error *err);

/* A release in two parts: the first asks nothing of the store.  HF_GOES_ON: the
 * second follows, with the hold. */
int hf__lock_let_go(hf_lock *lock, int after_ms, hf_hold **ret, hf_error *err);
int hf__lock_end(hf_lock *lock, hf_hold *h, int after_ms, hf_error *err);
int hf__lock_extend(hf_lock *lock, int lease_ms, hf_error *err);

/* HF_EUSAGE: it is below HF_FOREVER. */
int hf__check_wait(int wait_ms, hf_error *err);

/* How the hold of that thread (or of the handle, if it owns) fares, as the
 * keeper has it, and why if not well; no hold is a lost one. */
hf_state hf__lock_state(hf_lock *lock, uint64_t who, int *why);

/* Is anything held through the handle?  And the end of it, whoever owns it. */
bool hf__lock_has_holds(hf_lock *lock);
void hf__lock_end_holds(hf_lock *lock);

/* ---- multi.c ----------------------------------------------------------- */

/* The verbs that change something: of a multi-lock for all of its members; a
 * member by itself is refused.  err is not NULL. */
int hf__multi_acquire(hf_lock *lock, int wait_ms, hf_error *err);
int hf__multi_release(hf_lock *lock, int after_ms, hf_error *err);
int hf__multi_let_go(hf_lock *lock, hf_error *err); /* in two parts, as above */
int hf__multi_end(hf_lock *lock, int after_ms, hf_error *err);
bool hf__multi_owned_by_handle(const hf_lock *lock);
int hf__multi_extend(hf_lock *lock, int lease_ms, hf_error *err);
void hf__multi_on_state(hf_lock *lock, hf_state_fn *fn, void *arg);

/* Of a multi-lock only. */
int hf__multi_force_release(hf_lock *lock, const char *owner, hf_error *err);
void hf__multi_cancel(hf_lock *lock);
int64_t hf__multi_remaining_ms(hf_lock *lock); /* 0: not held */
int hf__multi_holds(hf_lock *lock);
int hf__multi_lost_fd(hf_lock *lock);
const char *hf__multi_name(const hf_lock *lock);
void hf__multi_free(hf_lock *lock); /* a forked copy, too */

/* ---- kinds ------------------------------------------------------------- */

/* Is a grant of this kind something one has, and can lose? */
static inline bool hf__leased(hf_kind kind) {
    return kind != HF_SEMAPHORE && kind != HF_LATCH;
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
