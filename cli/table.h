/* SPDX-License-Identifier: MIT
 *
 * table.h - rows under headings, printed as they come.
 *
 * Columns are as wide as the first screenful of rows wants them; what comes
 * later and is wider pushes its row to the right.  So a table that goes on for
 * ever begins at once. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* A name of 255 bytes, each written as \xNN, still fits. */
enum { TABLE_COLUMNS = 24, TABLE_CELL = 1100 };

typedef struct table {
    const char *heads[TABLE_COLUMNS];
    int n;
    bool headings;
    bool raw;   /* a blank between cells, and none in them: \x20           */
    bool whole; /* measures all rows first                                 */

    /* The table's own; zero at first. */
    bool begun;
    int widths[TABLE_COLUMNS];
    char **rows; /* that wait to be printed: cells with NUL between        */
    size_t n_rows, room;
    bool failed;
} table;

/* Adds a row of n cells, of clean text. */
void table_row(table *t, char cells[][TABLE_CELL]);

/* What has been added is seen now. */
void table_flush(table *t);

/* The end; false: it could not be printed.  Prints the headings if there were
 * no rows. */
bool table_end(table *t);

/* `text` made harmless, or "-" if it is empty. */
void table_put(char cell[static TABLE_CELL], const char *text);

#endif
