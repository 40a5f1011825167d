/* SPDX-License-Identifier: MIT
 *
 * look.h - what one look at a store has shown, and what two of them say about
 * the time between.  It has no clock, and needs no store: a test can make its
 * own. */
#ifndef HF_VIEW_LOOK_H
#define HF_VIEW_LOOK_H

#include "lines.h"

/* All zero is empty. */
typedef struct look {
    int64_t at_ms;   /* by the wall clock                                  */
    int64_t then_ms; /* by one that only goes forward                      */
    lines lines;
    int64_t *longest; /* of each of lines.claims: the longest lease that was
                         seen of it; -1: none                              */
    bool *untold;     /* of each of them: it was granted, and that is yet to be
                         told, with the name that its record will have     */
    hf_presence *clients; /* by their number                               */
    size_t n_clients, clients_room;
    view_circle *circles;
    size_t n_circles, circles_room;
    hf_stuck *stuck; /* of all circles                                     */
    size_t n_stuck, stuck_room;
    texts texts;
    int failed; /* an HF_E… of the adding */
} look;

void look_add_client(look *l, const hf_presence *p);
void look_add_circle(look *l, const hf_stuck *all, size_t n);

/* Adds all that the store's records tell.  HF_ECANNOT: it keeps none. */
int look_read_clients(look *l, hf_client *client, hf_error *err);
int look_read_circles(look *l, hf_client *client, hf_error *err);

/* When everything was added: puts it in order.  `before` may be NULL; what is
 * known of leases is taken over from it. */
int look_finish(look *l, const look *before);

void look_clear(look *l);
void look_free(look *l);

/* Something that happened between two looks.  Lent for the call. */
typedef void look_event_fn(void *arg, view_event_kind kind,
                           const hf_place *claim, const char *text);

/* Tells of everything that is different, line by line: first who holds no
 * more, then who waits no more, then who holds, then who waits.  A holder whom
 * no record knows yet is told of a look later. */
void look_compare(const look *before, look *after, look_event_fn *fn,
                  void *arg);

#endif
