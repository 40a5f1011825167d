/* SPDX-License-Identifier: MIT
 *
 * lines.h - claims, copied as hf_list tells them, and put into lines. */
#ifndef HF_VIEW_LINES_H
#define HF_VIEW_LINES_H

#include "texts.h"
#include "view.h"

/* All zero is empty. */
typedef struct lines {
    view_line *all; /* by name */
    size_t n;
    hf_place *claims; /* of all lines, in their order; while they are being
                         added: as they came, numbers' own places included */
    const hf_place **by_owner; /* the same, sorted within each line        */
    size_t n_claims;
    size_t room, lines_room;
    texts texts;
    int failed; /* an HF_E… of the adding */
} lines;

/* Copies a claim.  Not after lines_group, unless cleared between. */
void lines_add(lines *l, const hf_place *p);

/* Puts what was added into lines.  HF_ENO_MEMORY: also of the adding. */
int lines_group(lines *l);

/* Would the claim stand in the line of what was added last? */
bool lines_continues(const lines *l, const hf_place *p);

/* Lists and groups; of one name, or of all if NULL. */
int lines_list(lines *l, hf_client *client, const char *name, hf_error *err);

/* Empties it; memory is kept for what comes next. */
void lines_clear(lines *l);
void lines_free(lines *l);

/* The order of `by_owner`, by which a claim is found in the next look. */
int lines_order(const hf_place *a, const hf_place *b);

/* By name, then by the kind of line. */
int lines_compare(const view_line *a, const view_line *b);

#endif
