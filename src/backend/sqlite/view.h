/* SPDX-License-Identifier: MIT
 *
 * view.h - a line in which several may hold, as the tables show it.
 *
 * There is one view to a store, of whoever has entered it.  What is over by
 * now is not in it; inside a transaction it is removed from the tables, too. */
#ifndef HF_SQLITE_VIEW_H
#define HF_SQLITE_VIEW_H

#include "store.h"

/* One that holds or waits. */
typedef struct hf_row {
    hf_peer by;
    hf_kind asked;
    int permits;
    uint64_t owner, token;
    unsigned char nonce[16];
    int64_t id, until; /* of who waits: the ticket, and nothing */
    bool holds, kept, fifo;
} hf_row;

struct hf_view {
    hf_row *rows; /* who holds, then who waits, each the oldest first */
    size_t n, n_holds, room;
    hf_entry *entries; /* room for the rows and one more */
    hf_peer *peers;    /* room for the rows */
    bool is_set;       /* the line has a number, until gone_at */
    int64_t number, gone_at;
    int64_t free_since; /* when nobody holds */
};

/* Looks at the line of the claim: at who holds, and at those who wait with a
 * ticket below `before`. */
int hf__view_look(hf_embedded *s, const hf_claim *c, int64_t before,
                  hf_error *err);
void hf__view_free(hf_view *v);

/* Takes the dead out of it; inside a transaction out of the tables as well.
 * How many rows that were, or an error. */
int hf__view_bury(hf_embedded *s, const hf_claim *c, hf_error *err);

/* The row as the rule of admission sees it. */
hf_entry hf__view_entry(const hf_row *row);

/* Permits that are leased out of the number. */
int64_t hf__view_leased(const hf_view *v);

/* Is the row our own, under this number? */
bool hf__view_is_ours(const hf_embedded *s, const hf_row *row, uint64_t owner);

#endif
