/* SPDX-License-Identifier: MIT
 *
 * loop.h - what is told in hf_process, and nowhere else: the ends of calls that
 * were begun, and, if the client wants it so, states and events.
 *
 * What is to be told waits in one queue, and while there is something in it the
 * client's descriptor is readable.  A *ticket* is an hf_…_async under way: a task
 * of the runner's, then an item of the queue.  It belongs to the object through
 * which it was begun, and is forgotten with it. */
#ifndef HF_LOOP_H
#define HF_LOOP_H

#include "runner.h"

typedef struct hf_loop hf_loop;
typedef struct hf_item hf_item;
typedef struct hf_ticket hf_ticket;

/* Something to tell. */
struct hf_item {
    hf_item *next, *prev;
    bool queued;
    const void *via; /* whom it is about: an object, or the client */

    /* Tells it, and ends the item: the loop's mu on entry and exit, not
     * between.  And the end of one that nobody is told; NULL: nothing. */
    void (*tell)(hf_loop *loop, hf_item *item);
    void (*drop)(hf_item *item);
};

/* The tickets of one object.  Zero: none. */
typedef struct hf_tickets {
    hf_ticket *first;
} hf_tickets;

struct hf_ticket {
    hf_item item;
    hf_task task;
    hf_loop *loop;
    hf_tickets *of; /* whose it is… */
    hf_ticket *next, *prev;
    bool dropped; /* …and was: nobody is to be told */
    hf_done_fn *fn;
    void *arg;
    int rc;
    hf_error err;

    int (*run)(hf_ticket *ticket); /* HF_SLEEPS, or what it came to… */
    bool once;                     /* …which is whatever it returns */
    void (*undo)(
        hf_ticket *ticket); /* it came to HF_OK, and nobody hears of it;
                                    NULL: nothing is to be done */
};

/* What the state of a lock has changed to, if nobody has been told. */
typedef struct hf_change {
    hf_item item;
    hf_lock *lock;
    hf_state_fn *fn;
    void *arg;
    hf_state state;
    int why;
} hf_change;

int hf__loop_new(hf_loop **ret, hf_client *client);

/* Waits for what is under way; nothing can be begun any more. */
void hf__loop_stop(hf_loop *loop);

/* Forgets what is still to be told.  Inside of hf_process that frees it. */
void hf__loop_close(hf_loop *loop);

/* ---- tickets ----------------------------------------------------------- */

/* One of `size` bytes, all zero but for what a ticket has; NULL, and err is
 * filled, if there is no room, or no thread for it. */
hf_ticket *hf__ticket_new(size_t size, hf_loop *loop, hf_tickets *of,
                          int (*run)(hf_ticket *), hf_done_fn *fn, void *arg,
                          hf_error *err);

/* It begins; or it is over before it has, with that result. */
void hf__ticket_start(hf_ticket *ticket);
void hf__ticket_skip(hf_ticket *ticket, int rc);

/* The object is about to be freed.  Forgets its tickets that are over, and says
 * whether others are under way: then its waits are to be cancelled, and all of
 * them awaited.  Nobody is told any more. */
bool hf__tickets_drop(hf_loop *loop, hf_tickets *tickets);
void hf__tickets_await(hf_loop *loop, hf_tickets *tickets);

/* ---- states and events ------------------------------------------------- */

void hf__loop_state(hf_loop *loop, hf_change *change, hf_lock *lock,
                    hf_state_fn *fn, void *arg, hf_state state, int why);

/* What waits to be told of that lock is told to `fn`; NULL: to nobody.  Waits
 * until nothing of it is being told, unless the caller is who tells it. */
void hf__loop_redirect(hf_loop *loop, hf_change *change, hf_state_fn *fn,
                       void *arg);

/* Copied.  Too many that nobody fetches are forgotten, and so are those that
 * there is no memory for: they are for the log. */
void hf__loop_event(hf_loop *loop, const hf_event *event);

#endif
