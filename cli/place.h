/* SPDX-License-Identifier: MIT
 *
 * place.h - the lines of a store as they were at one moment, copied, and in
 * words. */
#ifndef CLI_PLACE_H
#define CLI_PLACE_H

#include <stdio.h>

#include "../include/holdfast.h"

/* One claim: as hf_place, its strings our own. */
typedef struct place {
    hf_place seen;
    char *text; /* behind the strings of `seen` */
} place;

/* Claims in the order the store told them: those of a line together, holders
 * first. */
typedef struct places {
    place *items;
    size_t n, room;
    int failed; /* an HF_E… of the copying */
} places;

/* Of one name, or of all if NULL. */
int places_list(places *all, hf_client *client, const char *name,
                hf_error *err);
void places_free(places *all);

/* The claims [from, end) of one line, and what is to be said of them. */
typedef struct place_line {
    const places *all;
    size_t from, end;
    const char *kind;       /* "" if the store knows nothing of the name    */
    const char *state;      /* "held", "free", of a latch "closed"          */
    const hf_place *holder; /* the first of them, or NULL                   */
    const hf_place *count;  /* of a semaphore or latch, or NULL             */
    size_t holders, waiters;
} place_line;

/* The line that begins with claim i; where the next one begins. */
size_t places_line(const places *all, size_t i, place_line *l);

/* The line that a claim of this kind would stand in; if there is none, the
 * first. */
void places_line_for(const places *all, hf_kind kind, place_line *l);

/* The first holder, or NULL. */
const hf_place *places_holder(const places *all);

/* "ann@web1 (pid 42, rsync, "nightly copy")", for a person, harmless. */
void place_who(const hf_place *p, char *buf, size_t size);

/* The holders of a line, in words. */
void places_who(const place_line *l, char *buf, size_t size);

/* The block that `show` and `steal` print: holders and waiters. */
void places_block(FILE *out, const char *name, const places *all);

#endif
