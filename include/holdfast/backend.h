/* SPDX-License-Identifier: MIT
 *
 * backend.h - what a store must be able to do, and nothing more.
 *
 * For those who bring a store of their own; no promise of a stable ABI before
 * 1.0.  The contract in prose is src/backend/README.md; the contract as a
 * program is src/backend/memory.c. */
#ifndef HOLDFAST_BACKEND_H
#define HOLDFAST_BACKEND_H

#include "../holdfast.h"

typedef int64_t hf_time; /* a moment, ns of CLOCK_BOOTTIME: see src/world.h */

/* ---- the address ------------------------------------------------------- */

typedef struct hf_uri_host {
    char *host; /* decoded; without [] for IPv6 */
    int port;   /* 0: none given */
} hf_uri_host;

typedef struct hf_uri_param {
    char *key, *value; /* decoded */
} hf_uri_param;

/* A parsed address.  Strings are decoded, NULL where absent. */
typedef struct hf_uri {
    char *text;   /* as it was given: never show it, see hf_uri_redact     */
    char *scheme; /* canonical: "redis", "redis+unix", "sqlite", …         */
    bool tls;
    char *user, *password;
    hf_uri_host *hosts;
    size_t n_hosts;
    char *path; /* sqlite: the file; redis: "0"; redis+unix: the socket    */
    hf_uri_param *params;
    size_t n_params;
} hf_uri;

/* HF_EURI names what is wrong and what to write instead. */
HF_API int hf_uri_parse(hf_uri **ret, const char *text, hf_error *err);
HF_API void hf_uri_free(hf_uri *uri);

/* The parameter's value, or NULL. */
HF_API const char *hf_uri_get(const hf_uri *uri, const char *key);

/* ---- the claim --------------------------------------------------------- */

typedef enum hf_mode { HF_EXCLUSIVE, HF_SHARED, HF_PERMITS, HF_ZERO } hf_mode;

/* What a claim is, kind by kind:
 *   LOCK SIMPLE FAIR SPIN WRITE  EXCLUSIVE, leased
 *   READ                         SHARED, leased
 *   PERMIT                       PERMITS, leased
 *   SEMAPHORE                    PERMITS; a grant takes them and is over
 *   LATCH                        ZERO; a grant takes nothing */
typedef struct hf_claim {
    /* Asked: set by the core, read by the backend. */
    const char *name; /* lives as long as the claim                        */
    hf_kind kind;     /* READ meets WRITE, PERMIT meets SEMAPHORE; whether
                         LOCK meets FAIR and SPIN is the store's affair    */
    hf_mode mode;
    int permits;             /* PERMITS: how many                          */
    uint64_t owner;          /* with the client's id: who asks.  A new one
                                for every grant, so that a late request cannot
                                touch a later one; FAIR: used again once all
                                its requests were answered.  A backend that
                                gave it back may go on under another       */
    uint64_t beside;         /* READ: the owner of the WRITE that the same
                                asker holds and that must not keep it out;
                                0: none                                    */
    unsigned char nonce[16]; /* random, as new as the owner                */
    int lease_ms;
    int block; /* LOCK: tokens wanted, the first for this grant, the rest for
                  those in this process it is handed on to; 0 means 1      */
    bool writers_first; /* READ: not while a WRITE of this sort waits      */
    int replicas;       /* that must confirm a grant or renewal, or HF_MAJORITY,
                     HF_ALL; else HF_EREPLICAS, and nothing is left of it  */

    /* Answered: set by the backend. */
    uint64_t token;      /* grant: above every earlier one of the name     */
    uint64_t last_token; /* of the block; 0: there is only the one         */
    int session_ms;      /* grant, renewal: whatever the lease, it is to be
                            believed in for so long only, because the store
                            ties it to a session; 0: for the lease         */
    hf_time ask_again;   /* BUSY: pointless before this unless woken       */
    int result;          /* renew: OK, HF_ELOST, or why it is not known    */
    int rivals; /* release: how many others listen for the name, if known  */

    uint64_t place; /* the backend's own; 0 in a new claim; else it may stand
                       in the line, and must be released on the way out    */
} hf_claim;

/* The line a claim stands in goes by this kind. */
static inline hf_kind hf_line_kind(hf_kind kind) {
    return kind == HF_READ ? HF_WRITE : kind == HF_PERMIT ? HF_SEMAPHORE : kind;
}

/* What can be done with the number that a SEMAPHORE or a LATCH is. */
typedef enum hf_count_op {
    HF_COUNT_FREE,        /* how many are free, or left to count down     */
    HF_COUNT_LEASED,      /* SEMAPHORE: held as PERMIT                    */
    HF_COUNT_TOKEN,       /* any kind: the last token granted; 0: none    */
    HF_COUNT_SET,         /* if it is not set, for lease_ms (0: for ever);
                              HF_BUSY: it is                               */
    HF_COUNT_ADD,         /* so many more, or less                        */
    HF_COUNT_RESIZE,      /* free and leased shall be so many             */
    HF_COUNT_GIVE,        /* release                                      */
    HF_COUNT_GIVE_IF_SET, /* HF_EFREE: it is not set                      */
    HF_COUNT_DRAIN,       /* take all that are free; says how many        */
    HF_COUNT_DOWN,        /* LATCH: one less, never below zero            */
    HF_COUNT_DELETE       /* HF_EFREE: there was none                     */
} hf_count_op;

/* ---- what the core lends to a backend ---------------------------------- */

typedef struct hf_identity {
    char client[37]; /* UUID of this client, text                          */
    char host[65];
    char program[65];
    char user[33];
    char why[129];
    int64_t pid;
} hf_identity;

/* The most that a client's record says of what it does. */
#define HF_DOING_MAX 16384

/* One client's record.  Lent for the call. */
typedef void hf_record_fn(void *arg, const hf_identity *who, const char *doing);

typedef struct hf_host {
    hf_identity identity;
    int timeout_ms; /* for one request                                     */
    int lease_ms;   /* of locks that ask for no other                      */
    int spin_us;    /* see hf_options; 0: never                            */

    /* The line of a name may have moved: who waits for it should ask again.
     * NULL means every line (after a reconnect).  `kind` is a line's kind
     * (hf_line_kind).  `owner` is the one waiter that was meant; 0: whoever
     * is next.  Callable from any thread, also with locks of the backend's
     * held: the core calls no verb while it holds its own. */
    void (*woken)(void *core, hf_kind kind, const char *name, uint64_t owner);

    /* The store gave the name to `owner`, who waits, unasked.  It may believe
     * so until `until` and must renew before.  A waiter that is gone gives it
     * back by the release on its way out.  Callable as woken is. */
    void (*granted)(void *core, hf_kind kind, const char *name, uint64_t owner,
                    uint64_t token, hf_time until);

    /* What this client holds of a name may be gone before its time: the core
     * renews it now, and so finds out.  NULL: all that it holds (after a
     * failover).  Callable as woken is. */
    void (*shaken)(void *core, hf_kind kind, const char *name);

    /* A posted release failed for good. */
    void (*unreleased)(void *core, const char *name, int code);

    /* The store cannot do what the claim on that name asks for, and goes on
     * without it; `code` says what.  Callable as woken is. */
    void (*weaker)(void *core, const char *name, int code);

    /* Writes an entry down, for hf_options.on_log; only what is at most as
     * detailed as log_level, HF_LOG_NONE where nobody listens.  Callable as
     * woken is.  In src/, call hf__log (src/log.h). */
    void (*log)(void *core, const hf_log_entry *entry);
    hf_log_level log_level;

    void *core;
} hf_host;

/* ---- the verbs --------------------------------------------------------- */

typedef struct hf_backend hf_backend;

typedef enum hf_how {
    HF_RELEASE,        /* by its owner, awaited                            */
    HF_RELEASE_POSTED, /* by its owner, not awaited; OK = will be sent     */
    HF_RELEASE_AFTER,  /* by its owner, free only after claim->lease_ms    */
    HF_RELEASE_FORCED  /* by an operator, see `whose`                      */
} hf_how;

/* Every verb but close may be called from many threads at once, takes an
 * absolute deadline `by`, and returns by then.  err is never NULL and is
 * filled on a negative result.  HF_EDOUBT is for requests that left and
 * were not answered; a backend that cannot tell says doubt. */
typedef struct hf_backend_ops {
    const char *const *schemes; /* canonical ones it opens, NULL at the end */
    const char *const *params;  /* URI parameters it knows, NULL at the end */

    /* Connects far enough to know that the address is right.  `host` lives
     * longer than the backend. */
    int (*open)(hf_backend **ret, const hf_uri *uri, const hf_host *host,
                hf_time by, hf_error *err);

    /* Frees everything.  No verb runs and none will.  After `forked` it must
     * not touch what it shares with the parent: no bytes sent, no unlink, no
     * locks taken; it closes its descriptors and may leave memory behind. */
    void (*close)(hf_backend *be, bool forked);

    /* Bits of hf_ability for the kind, or 0. */
    unsigned (*can)(const hf_backend *be, hf_kind kind);

    /* The store's address as resolved, no secrets.  Lent. */
    const char *(*where)(const hf_backend *be);

    /* Asks for the claim.  OK: held for lease_ms from now, token set.  BUSY:
     * ask_again set.  Idempotent per owner: who holds gets OK, the same token
     * and a fresh lease, so that the cure for doubt is to ask again.
     * `waits`: the caller will wait; a store that keeps order gives it a
     * place in the line (left by release), others ignore it.
     * SEMAPHORE: once per nonce, however often it is asked. */
    int (*attempt)(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                   hf_error *err);

    /* Registers interest in the line of c (on), or drops it.  When it returns
     * OK, every later move calls host->woken; what moved before is found by
     * the attempt that the core always makes next.  An error means: polling
     * must do.  Calls with on and off are paired; off never fails and does
     * not block on the store. */
    int (*watch)(hf_backend *be, const hf_claim *c, bool on, hf_time by,
                 hf_error *err);

    /* Sets the lease of n grants anew; c->result for each one.  OK means that
     * every result is an answer (OK or HF_ELOST).  A claim without a token
     * waits: its place is kept, and HF_ELOST tells that it must ask again.
     * A lease that nobody renews comes with what is left of it, to be checked
     * where it is tied to a session. */
    int (*renew)(hf_backend *be, hf_claim *const *claims, size_t n, hf_time by,
                 hf_error *err);

    /* The only way out, from holding and from waiting.  OK: the owner is out.
     * HF_ELOST: it no longer held.  May be called twice, and when neither is
     * known.  SEMAPHORE: undoes the attempt with that nonce, if it was granted.
     *  FORCED: frees the name whoever holds it (if `whose` is not
     * NULL: only that owner text), raises the token; HF_EFREE: nobody did. */
    int (*release)(hf_backend *be, hf_claim *c, hf_how how, const char *whose,
                   hf_time by, hf_error *err);

    /* Does something with the number of c->name; *value is what to do it with,
     * and then what came of it.  Once per nonce, however often it is asked. */
    int (*count)(hf_backend *be, hf_claim *c, hf_count_op op, int64_t *value,
                 hf_time by, hf_error *err);

    /* Renews the record that says who this client is (host->identity) and, in
     * `doing`, what it holds and waits for, a text of the core's with at most
     * HF_DOING_MAX bytes, for lease_ms.  Failure is harmless. */
    int (*announce)(hf_backend *be, const char *doing, int lease_ms, hf_time by,
                    hf_error *err);

    /* Tells of every client whose record lives.  NULL: the store keeps none. */
    int (*clients)(hf_backend *be, hf_record_fn *fn, void *arg, hf_time by,
                   hf_error *err);

    /* The line of `name`, or of all names if NULL.  Places carry names as the
     * backend sees them.  All names may be many: they are told as they come,
     * page by page and each once, and `by` is for one request of it, the first;
     * each of the others has as long, or host->timeout_ms.  The same goes for
     * `clients`. */
    int (*list)(hf_backend *be, const char *name, hf_place_fn *fn, void *arg,
                hf_time by, hf_error *err);

    /* Facts and warnings about the store, for `holdfast doctor`. */
    int (*examine)(hf_backend *be, hf_fact_fn *fn, void *arg, hf_time by,
                   hf_error *err);

    /* The rules a user of the store needs, for names as the backend sees them
     * that begin with `prefix`.  NULL: the store has no users. */
    int (*rights)(hf_backend *be, const char *prefix, hf_rule_fn *fn, void *arg,
                  hf_time by, hf_error *err);
} hf_backend_ops;

/* Every backend's own struct begins with this. */
struct hf_backend {
    const hf_backend_ops *ops;
    const hf_host *host;
};

/* What a module (a shared object holdfast-NAME.so) exports. */
#define HF_MODULE_SYMBOL "hf_module_ops"
#define HF_MODULE_ABI    6
typedef struct hf_module {
    int abi; /* HF_MODULE_ABI */
    const hf_backend_ops *ops;
} hf_module;

#endif
