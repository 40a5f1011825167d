/* SPDX-License-Identifier: MIT
 *
 * place.h - the lines of a store, in words. */
#ifndef CLI_PLACE_H
#define CLI_PLACE_H

#include <stdio.h>

#include "../view/lines.h"

/* The line that a claim of this kind would stand in; if there is none, the
 * first; if there is not even that, one that is empty and whose kind is "". */
const view_line *place_line_for(const lines *all, hf_kind kind);

/* The first holder, or NULL. */
const hf_place *place_holder(const lines *all);

/* Is it meant by the pattern?  One without * ? [ is a beginning; NULL means
 * all. */
bool place_matches(const char *pattern, const char *name);

/* "held", "free", of a latch "closed": by these words scripts go. */
const char *place_state(const view_line *line);

/* "ann@web1 (pid 42, rsync, "nightly copy")", for a person, harmless. */
void place_who(const hf_place *p, char *buf, size_t size);

/* The holders of a line, in words. */
void place_holders(const view_line *line, char *buf, size_t size);

/* The block that `show` and `steal` print: holders and waiters. */
void place_block(FILE *out, const char *name, const lines *all);

#endif
