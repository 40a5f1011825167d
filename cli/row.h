/* SPDX-License-Identifier: MIT
 *
 * row.h - a row of `ls`, and its columns. */
#ifndef CLI_ROW_H
#define CLI_ROW_H

#include "command.h"
#include "place.h"
#include "table.h"

/* A line, or one claim in it. */
typedef struct row {
    const view_line *line;
    const hf_place *claim; /* whom the row is about: the first holder, or of a
                              row for a claim that one; NULL: nobody        */
    bool alone; /* one claim, with others in rows of their own             */
} row;

typedef struct row_column {
    const char *name;
    void (*cell)(const row *r, char cell[static TABLE_CELL]);
    int64_t (*number)(const row *r); /* to sort by; NULL: by its text      */
} row_column;

/* All of them, NULL at the end of the names. */
extern const row_column row_columns[];

/* The column of that name, in either case; another one is refused with the
 * nearest. */
const row_column *row_column_named(const command *cmd, const char *word);

/* "free", "held", "closed", "lost"; of a claim "held", "waits", "lost". */
const char *row_state(const row *r);

#endif
