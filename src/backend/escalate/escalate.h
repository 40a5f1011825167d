/* SPDX-License-Identifier: MIT
 *
 * escalate.h - between the files of the store made of a first and a second.
 *
 * A name lives in the first store in even *epochs* and in the second in odd
 * ones.  What the second store keeps of it, beside the locks of odd epochs:
 *
 *     NAME~closed.E   a number, set once and never deleted: E is over
 *     NAME~gate.E     a read-write lock.  A client's *permission* is the read
 *                     side, leased for a short time; who gets the write side
 *                     of a closed gate knows that no permission is left
 *     NAME~empty.E    a number, set once: somebody did
 *     NAME~well.E     a number, E being odd: since when the first store is well
 *
 * A client is *active* in E while it has a permission of E and has seen, after
 * it got it, that E is not closed and that the gate of E - 1 was empty once it
 * was closed.  Who holds the lock of the store of E while active in E holds
 * the name.  Nobody is active in two epochs at once: docs/escalation.md.
 *
 *          gate(E), not closed      gate(E - 1) empty         E is closed
 *  OUTSIDE ───────────────► ENTERING ───────────► ACTIVE ───────────► LEAVING
 *     ▲                        ▲                                       │  │
 *     │                        └───── with holds: both locks, gate(E+1)┘  │
 *     └──────────────────────────────────── with none: on to E + 1 ───────┘
 *
 * From everywhere: a permission that ends leads outside, and takes the holds
 * with it. */
#ifndef HF_ESCALATE_H
#define HF_ESCALATE_H

#include "../../../include/holdfast/backend.h"
#include "../../world.h"
#include "../table.h"

enum {
    HF_SIDE_FIRST,
    HF_SIDE_SECOND,
    HF_SIDES,
    HF_PASSAGES = 256,      /* buckets */
    HF_TWIN_LEAVE_MS = 200, /* for what may as well be left to its lease */
    HF_GATE_TEXT = 24,      /* what is put behind a name                      */
    HF_TOKEN_BITS = 51,  /* µs since 1970 until 2041                       */
    HF_LAST_EPOCH = 4095 /* a token stays below 2^63                       */
};

typedef struct hf_escalate hf_escalate;

/* One of the two stores. */
typedef struct hf_side {
    hf_escalate *whole;
    const hf_backend_ops *ops;
    hf_uri *uri;
    hf_host host;
    const char *prefix; /* before names there */
    char *shown;        /* its address, without secrets */
    pthread_mutex_t mu; /* opening it */
    hf_time open_at;    /* mu: not before this */
    _Atomic(hf_backend *) be;
} hf_side;

/* A claim of the core's as the two stores know it.  Guarded by the passage's
 * mu; verbs get copies of the claims. */
typedef struct hf_twin {
    struct hf_twin *next;
    uint64_t owner;
    hf_claim c[HF_SIDES];
    bool stands[HF_SIDES];   /* something of it may be in that store         */
    hf_time until[HF_SIDES]; /* the lock there may be believed in; 0: none */
    bool held;
    int lives;       /* held: the side whose lock is the hold             */
    unsigned tenure; /* held: under which permission                      */
    uint64_t epoch;  /* that it last asked in                             */
    uint64_t token, last_token; /* held: as told to the core               */
    bool watching, watched[HF_SIDES];
    hf_time ends; /* released, but no store has said so; 0: it is in use   */
} hf_twin;

typedef enum hf_phase {
    HF_OUTSIDE,
    HF_ENTERING,
    HF_ACTIVE,
    HF_LEAVING
} hf_phase;

/* What the holder is to be told. */
typedef struct hf_news {
    bool moving, moved;
    uint64_t to; /* epoch */
    int why;     /* moving: HF_OK: back */
} hf_news;

/* What this process knows of a name, and its permission. */
typedef struct hf_passage {
    struct hf_passage *next;
    int refs;            /* the whole's mu */
    char *name, *second; /* in the first store and in the second            */

    pthread_mutex_t mu;
    pthread_cond_t free; /* the turn is */
    bool busy;           /* somebody has the turn: he alone changes phase and
                            epoch, and asks the second store about them     */
    hf_phase phase;
    uint64_t epoch;
    bool found;      /* epoch is not a guess                                */
    unsigned tenure; /* permissions so far; a move keeps it                 */
    hf_claim gate;   /* the turn: of epoch; owner 0: none asked for         */
    char *gate_name;
    hf_time until;     /* the permission may be believed in                 */
    hf_time refreshed; /* when it was last asked for                        */

    hf_time down_since, down_last; /* the first store fails; 0: it does not */
    int down_code;
    hf_time up_since, probe_at; /* the turn, odd: the first is well; look   */

    hf_news news; /* not told yet                                          */

    hf_twin *twins;
} hf_passage;

struct hf_escalate {
    hf_backend base;
    hf_side side[HF_SIDES];
    hf_time permission, after, back; /* durations; back HF_NEVER            */
    int permission_ms;
    hf_moved_fn *moved;

    pthread_mutex_t mu;
    uint64_t last_owner; /* mu: of gates */
    hf_passage *passages[HF_PASSAGES];
};

static inline hf_escalate *hf__whole_of(hf_backend *be) {
    return (hf_escalate *)be;
}

static inline hf_side *hf__side_of(hf_escalate *w, uint64_t epoch) {
    return &w->side[epoch & 1];
}

/* ---- sides.c ----------------------------------------------------------- */

/* Set up, but not opened.  To be freed also when that failed. */
int hf__side_init(hf_side *side, hf_escalate *w, const hf_uri *uri,
                  hf_error *err);

/* Closes the store; forked: and leaves the memory as it is. */
void hf__side_free(hf_side *side, bool forked);

/* The store, opened if it was not to be had so far.  HF_EDOWN and so on. */
int hf__side_open(hf_side *side, hf_backend **ret, hf_time by, hf_error *err);

/* Its address, without secrets; lives as long as the side. */
const char *hf__side_where(hf_side *side);

/* The side's name as the core knows it: `name` itself, or written into buf. */
const char *hf__side_outer_name(const hf_side *side, const char *name,
                                char *buf, size_t size);

/* ---- passage.c: passages, and the turn --------------------------------- */

/* The name's, to be put back.  HF_ENAME: too long to change stores. */
int hf__passage_of(hf_escalate *w, hf_passage **ret, const char *name,
                   hf_error *err);

/* The same, however long.  NULL: there is none, or (make) no memory. */
hf_passage *hf__passage_find(hf_escalate *w, const char *name, bool make);
void hf__passage_put(hf_escalate *w, hf_passage *p);

/* When nobody can find it any more; its gate and twins are the caller's. */
void hf__passage_free(hf_passage *p);

/* hf__advance on our turn, and tells the news.  HF_EDOWN: it did not come. */
int hf__pass(hf_escalate *w, hf_passage *p, hf_time by, hf_error *err);

/* ---- twins.c ----------------------------------------------------------- */

/* The owner's; NULL: it has none.  Passage mu. */
hf_twin *hf__twin_of(const hf_passage *p, uint64_t owner);

/* The owner's, made if it has none; NULL: no memory.  Passage mu. */
hf_twin *hf__twin_make(hf_passage *p, uint64_t owner);

/* Forgets the owner's, if it has one.  Passage mu. */
void hf__twin_free(hf_passage *p, uint64_t owner);

/* Until when the hold may be believed in; 0: not any more.  Passage mu. */
hf_time hf__twin_until(const hf_passage *p, const hf_twin *t);

/* That, as c->session_ms from `began`.  HF_ELOST: not any more.  Passage mu. */
int hf__twin_tell(const hf_passage *p, const hf_twin *t, hf_claim *c,
                  hf_time began);

/* The core's claim as the side is asked for it.  Passage mu. */
hf_claim hf__twin_claim(const hf_passage *p, const hf_twin *t, int side,
                        const hf_claim *asked);

/* What a store said about the lock there.  Passage mu. */
void hf__twin_stands(hf_twin *t, int side, hf_time asked, const hf_claim *c);

/* Out of that store, as far as that can be had until `by`. */
void hf__twin_leave(hf_escalate *w, hf_passage *p, uint64_t owner, int side,
                    hf_time by);

/* ---- attempt.c, renew.c, release.c: verbs, as backend.h has them ------- */

/* HF_BUSY, or HF_EDOWN for who does not wait, also while the name moves. */
int hf__escalate_attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                         hf_error *err);

/* In the store where the name lives; attempts follow it to the other. */
int hf__escalate_watch(hf_backend *be, const hf_claim *c, bool on, hf_time by,
                       hf_error *err);

/* Permissions, too, and with them goes who has to move. */
int hf__escalate_renew(hf_backend *be, hf_claim *const *claims, size_t n,
                       hf_time by, hf_error *err);

/* The store in which the name lives, or will, has the word. */
int hf__escalate_release(hf_backend *be, hf_claim *c, hf_how how,
                         const char *whose, hf_time by, hf_error *err);

/* ---- gate.c: what stands in the second store --------------------------- */

/* 1, 0, or an error. */
int hf__gate_is_closed(hf_escalate *w, const hf_passage *p, uint64_t epoch,
                       hf_time by, hf_error *err);
int hf__gate_close(hf_escalate *w, const hf_passage *p, hf_time by,
                   hf_error *err);

/* The first epoch that is not closed, from p->epoch on, into *ret. */
int hf__gate_find(hf_escalate *w, const hf_passage *p, uint64_t *ret,
                  hf_time by, hf_error *err);

/* A permission of that epoch: *c with its owner and name (*text) set.
 * HF_BUSY: somebody looks whether the gate is empty. */
int hf__gate_enter(hf_escalate *w, const hf_passage *p, uint64_t epoch,
                   hf_claim *c, char **text, hf_time by, hf_error *err);
int hf__gate_renew(hf_escalate *w, hf_claim *c, hf_time by, hf_error *err);
void hf__gate_leave(hf_escalate *w, hf_claim *c, char **text, hf_time by);

/* HF_OK: nobody has a permission of the closed epoch.  HF_BUSY: somebody has. */
int hf__gate_is_empty(hf_escalate *w, const hf_passage *p, uint64_t epoch,
                      hf_time by, hf_error *err);

/* Since when the first store is well, as somebody noted; 0: we are the first.
 * And that it is not.  Wall clocks: nothing but the moment of going back
 * depends on it. */
hf_time hf__gate_well_for(hf_escalate *w, const hf_passage *p, hf_time by);
void hf__gate_not_well(hf_escalate *w, const hf_passage *p, hf_time by);

/* NAME~WHAT.EPOCH, to be freed; NULL without memory. */
char *hf__gate_text(const char *name, const char *what, uint64_t epoch);

/* ---- move.c ------------------------------------------------------------ */

/* As far as it goes until `by`.  HF_OK: active, with a permission that is good
 * for a while.  HF_BUSY: on the way.  Else what is wrong with the second
 * store. */
int hf__advance(hf_escalate *w, hf_passage *p, hf_time by, hf_error *err);

/* What the first store's answers come to.  Passage mu. */
void hf__first_fails(hf_passage *p, hf_time after, int code);
void hf__first_answers(hf_passage *p);

/* A failure of the store rather than of the question. */
bool hf__is_trouble(int rc);

#endif
