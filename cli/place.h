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

/* Claims in the order the store told them: those of a name together, the
 * holder first. */
typedef struct places {
    place *items;
    size_t n, room;
    int failed; /* an HF_E… of the copying */
} places;

/* Of one name, or of all if NULL. */
int places_list(places *all, hf_client *client, const char *name,
                hf_error *err);
void places_free(places *all);

/* The index behind the last claim on the name of claim i. */
size_t places_next_name(const places *all, size_t i);

/* The holder among claims [i, end), or NULL. */
const hf_place *places_holder(const places *all, size_t i, size_t end);

/* "ann@web1 (pid 42, rsync, "nightly copy")", for a person, harmless. */
void place_who(const hf_place *p, char *buf, size_t size);

/* The block that `show` and `steal` print: the holder and the waiters. */
void places_block(FILE *out, const char *name, const places *all);

#endif
