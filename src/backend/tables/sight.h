/* SPDX-License-Identifier: MIT
 *
 * sight.h - a line as the tables show it, what is decided about it, and the
 * statements that make it so.
 *
 * A decision changes the view; what was is remembered row by row, so that what
 * is to be written is the difference.  A view that nobody changed, or that was
 * only looked at, is written nowhere. */
#ifndef HF_TABLES_SIGHT_H
#define HF_TABLES_SIGHT_H

#include "store.h"

#define HF_OFFER_US INT64_C(2000000)  /* who is given something comes within */
#define HF_PLACE_US INT64_C(15000000) /* a place that nobody keeps is over   */

typedef enum hf_stand { HF_AWAY, HF_WAITS, HF_HOLDS } hf_stand;

/* One that holds or waits, or did. */
typedef struct hf_stander {
    hf_stand was, is;
    bool changed; /* though it stands as it stood */
    bool kept;    /* holds until then, whatever its owner does */
    bool fifo;    /* waits: see hf_entry */
    bool called;  /* waits, and would be let in: is told to come */
    bool far;     /* waits behind others who are not in the sight */
    unsigned char client[HF_ID], nonce[16];
    uint64_t owner, token;
    int block; /* further tokens of the grant */
    hf_kind asked;
    int permits;
    int64_t ticket, until, since, lease; /* us */
} hf_stander;

typedef struct hf_sight {
    hf_kind kind;     /* of the line */
    hf_stander *rows; /* who holds, then who waits, each the oldest first;
                         behind them who came now */
    size_t n, room;
    hf_entry *entries; /* room for the rows and one more */

    int64_t now;
    bool exists;
    uint64_t token; /* the last that was granted */
    int64_t until;  /* of a lock without a holder: when it became free */
    int64_t ticket; /* the last that was given out */
    int waits;      /* as the line's row has it */
    bool partial;   /* more wait than are in the sight */
    bool is_set;    /* it has a number, until gone_at */
    int64_t number, gone_at;

    bool changed; /* the line's own row must be written */
    bool freed;   /* somebody may be let in by what is over */
} hf_sight;

/* Reads the answer of the statement `view`.  What is over by now is away. */
int hf__sight_read(hf_sight *v, hf_kind line, const hf_rows *rows,
                   hf_error *err);
void hf__sight_clear(hf_sight *v);

/* Our own row that holds (and was not left to its end), or waits; or NULL. */
hf_stander *hf__sight_hold(const hf_sight *v, const hf_tables *t,
                           uint64_t owner);
hf_stander *hf__sight_wait(const hf_sight *v, const hf_tables *t,
                           uint64_t owner);

/* A row for the claim, which stands nowhere yet; NULL: no memory. */
hf_stander *hf__sight_enter(hf_sight *v, const hf_tables *t, const hf_claim *c);

/* May it hold now?  The row is in the view.  `unseen` is not looked at. */
bool hf__sight_admits(const hf_sight *v, const hf_stander *row,
                      const hf_stander *unseen);

/* What becomes of a row. */
void hf__sight_grant(hf_sight *v, hf_stander *row, int tokens, int64_t lease);
void hf__sight_line_up(hf_sight *v, hf_stander *row);
void hf__sight_remove(hf_sight *v, hf_stander *row);
void hf__sight_set_until(hf_sight *v, hf_stander *row, int64_t until,
                         bool kept);

/* So many tokens; the first of them. */
uint64_t hf__sight_tokens(hf_sight *v, int n);

/* The number is no more, and what was leased out of it neither. */
void hf__sight_unset(hf_sight *v);
int64_t hf__sight_leased_out(const hf_sight *v);

/* Lets in whom there is room for now, in their order: a leased claim is given
 * what it waits for, for long enough to come; others are called, and counted
 * as if they came. */
void hf__sight_settle(hf_sight *v);

/* Would anything have to be written? */
bool hf__sight_differs(const hf_sight *v);

/* Writes the differences, and the notes to those concerned. */
void hf__sight_write(const hf_sight *v, const hf_tables *t, const hf_claim *c,
                     hf_script *to);

/* When the first that holds ends (INT64_MAX: never), and how many stand before
 * a row (or at all, if NULL). */
int64_t hf__sight_first_end(const hf_sight *v);
int hf__sight_ahead(const hf_sight *v, const hf_stander *row);

#endif
