/* SPDX-License-Identifier: MIT
 *
 * table.c - rows under headings. */
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

enum { SCREENFUL = 40 };

void table_put(char cell[static TABLE_CELL], const char *text) {
    text_clean(*text ? text : "-", cell, TABLE_CELL);
}

static int columns_of(const char *clean) {
    int n = 0;
    for (size_t at = 0; clean[at]; n++)
        at += text_char(clean + at);
    return n;
}

/* ---- printing ---------------------------------------------------------- */

/* So that a blank is always the end of a cell. */
static void print_raw(const char *cell, bool last) {
    for (; *cell; cell++)
        if (*cell == ' ')
            fputs("\\x20", stdout);
        else
            putchar(*cell);
    putchar(last ? '\n' : ' ');
}

static void print_cell(const table *t, int column, const char *cell) {
    bool last = column == t->n - 1;
    int wide = columns_of(cell), width = t->widths[column];
    if (t->raw)
        print_raw(cell, last);
    else if (last)
        printf("%s\n", cell);
    else
        printf("%s%*s", cell, (wide < width ? width - wide : 0) + 2, "");
}

static void print_row(const table *t, const char *row) {
    for (int c = 0; c < t->n; c++) {
        print_cell(t, c, row);
        row += strlen(row) + 1;
    }
}

static void measure(table *t) {
    for (int c = 0; t->headings && c < t->n; c++)
        t->widths[c] = columns_of(t->heads[c]);
    for (size_t i = 0; i < t->n_rows; i++) {
        const char *cell = t->rows[i];
        for (int c = 0; c < t->n; c++) {
            if (columns_of(cell) > t->widths[c])
                t->widths[c] = columns_of(cell);
            cell += strlen(cell) + 1;
        }
    }
}

void table_flush(table *t) {
    if (!t->begun) {
        measure(t);
        for (int c = 0; t->headings && c < t->n; c++)
            print_cell(t, c, t->heads[c]);
        t->begun = true;
    }
    for (size_t i = 0; i < t->n_rows; i++) {
        print_row(t, t->rows[i]);
        free(t->rows[i]);
    }
    t->n_rows = 0;
    if (fflush(stdout) != 0)
        t->failed = true;
}

bool table_end(table *t) {
    table_flush(t);
    free(t->rows);
    t->rows = NULL;
    t->room = 0;
    return !t->failed;
}

/* ---- adding ------------------------------------------------------------ */

static char *join(const table *t, char cells[][TABLE_CELL]) {
    size_t size = 0;
    char *row, *next;
    for (int c = 0; c < t->n; c++)
        size += strlen(cells[c]) + 1;
    row = next = malloc(size);
    for (int c = 0; row && c < t->n; c++)
        next = stpcpy(next, cells[c]) + 1;
    return row;
}

static bool make_room(table *t) {
    size_t room = t->room ? 2 * t->room : SCREENFUL;
    char **rows;
    if (t->n_rows < t->room)
        return true;
    rows = realloc(t->rows, room * sizeof(*rows));
    if (!rows)
        return false;
    t->rows = rows;
    t->room = room;
    return true;
}

void table_row(table *t, char cells[][TABLE_CELL]) {
    char *row = make_room(t) ? join(t, cells) : NULL;
    if (!row) {
        t->failed = true;
        return;
    }
    t->rows[t->n_rows++] = row;
    if (!t->whole && t->n_rows == SCREENFUL)
        table_flush(t);
}
