/* SPDX-License-Identifier: MIT
 *
 * view.h - a store as an operator sees it: every line at one moment, who is
 * stuck, and what has changed since the look before.
 *
 * One for `top`, `events` and the console, so that they say the same.  It sees
 * the public header only.  A view is for one thread at a time. */
#ifndef HF_VIEW_H
#define HF_VIEW_H

#include "../include/holdfast.h"

typedef struct view view;

typedef enum view_state {
    VIEW_FREE, /* nobody holds it; of a semaphore: and permits are left  */
    VIEW_HELD, /* of a latch: closed                                     */
    VIEW_LATE, /* held, but less than a third of its lease is left: seen
                  after some looks, since no store tells how long one is */
    VIEW_LOST  /* who held it lost it, and has not given it up yet,
                  whether or not another holds it now                    */
} view_state;

/* "free", "held", "renewing late", "lost". */
const char *view_state_word(view_state state);

/* All claims on one name: holders first, then those who lost it, then the
 * waiters in order.  A number's own place is not among them. */
typedef struct view_line {
    const char *name, *kind; /* "fair" if one waits in order, "semaphore", … */
    view_state state;
    const hf_place *claims; /* strings live as long as the picture         */
    size_t n, holders, waiters;
    const hf_place *holder; /* the first; NULL: none                       */
    bool counts;            /* a semaphore or a latch, and                 */
    int64_t count;          /* its number                                  */
    bool stuck;             /* part of a deadlock                          */
} view_line;

typedef struct view_circle {
    const hf_stuck *all;
    size_t n;
} view_circle;

/* The last look, as it was: lives until the next one. */
typedef struct view_picture {
    int64_t at_ms; /* of the look, by the wall clock; 0: none yet          */
    const view_line *lines; /* by name                                     */
    size_t n_lines;
    const view_circle *circles;
    size_t n_circles;
    const hf_presence *clients;
    size_t n_clients;
    size_t held, waiting; /* lines that are held; claims that wait         */
    int64_t rtt_us;       /* what the look took                            */
    bool stale;           /* the last look failed, with                    */
    hf_error trouble;     /* this                                          */
} view_picture;

typedef enum view_event_kind {
    VIEW_GRANTED,
    VIEW_RELEASED, /* holds no more, before its lease was over; `text` if its
                      process has ended, too                               */
    VIEW_LOST_IT,  /* its client says so                                   */
    VIEW_EXPIRED,  /* nobody renewed it any more, and the lease ran out    */
    VIEW_STOLEN,   /* its client says that it lost it, and the lease was not
                      over: taken away by an operator, or forgotten by the
                      store.  Until it notices it looks released           */
    VIEW_WAITS,
    VIEW_GAVE_UP, /* waits no more, and was not seen to be granted        */
    VIEW_STUCK,   /* a deadlock; `name` is one of the locks in it          */
    VIEW_DOWN,    /* the store does not answer                             */
    VIEW_UP,
    VIEW_EVENT_KINDS
} view_event_kind;

/* "granted", "released", "lost", "expired", "stolen", "waits", "gave-up",
 * "deadlock", "store-down", "store-up". */
const char *view_event_word(view_event_kind kind);

typedef struct view_event {
    uint64_t id;   /* counts from 1 */
    int64_t at_ms; /* wall clock: when it was seen */
    view_event_kind kind;
    hf_place claim;   /* whose; `name` alone may be set */
    const char *text; /* STUCK, DOWN, RELEASED: more, in words; or "" */
} view_event;

/* `keep`: how many events are remembered.  The client is lent. */
int view_new(view **ret, hf_client *client, size_t keep, hf_error *err);
void view_free(view *v);

/* Only names that begin so are looked at; "" or NULL: all. */
int view_only(view *v, const char *prefix, hf_error *err);

/* Looks, and notes what has changed since the look before; what was there at
 * the first one is no event.  On failure the lines stay as they were,
 * and the picture is stale. */
int view_look(view *v, hf_error *err);

const view_picture *view_now(const view *v); /* lent, never NULL */

/* The line of a name, or NULL.  If it has several the one that is held. */
const view_line *view_find(const view *v, const char *name);

/* The first remembered event after `id`, or NULL: so one reads on.  Lent until
 * the next look. */
const view_event *view_after(const view *v, uint64_t id);

/* Who keeps the i-th claim of the line waiting, or NULL: the holder, or the
 * waiter before it. */
const hf_place *view_blocker(const view_line *line, size_t i);

#endif
