/* SPDX-License-Identifier: MIT
 *
 * top_table.h - the pages of `holdfast top` as tables of text, whatever they
 * are shown on. */
#ifndef CLI_TOP_TABLE_H
#define CLI_TOP_TABLE_H

#include "../view/view.h"

typedef enum top_page {
    TOP_HELD,
    TOP_WAITING,
    TOP_BLOCKING,
    TOP_PAGES
} top_page;

typedef enum top_sort {
    TOP_BY_NAME,
    TOP_BY_TIME,
    TOP_BY_WAITERS,
    TOP_SORTS
} top_sort;

const char *top_page_word(top_page page); /* "held", … */
const char *top_sort_word(top_sort sort); /* "name", … */

enum { TOP_COLUMNS = 9, TOP_CELL = 120 };

typedef struct top_row {
    const char *name; /* of the lock; lent by the picture        */
    bool alarm;       /* part of a deadlock, lost, renewing late */
    int64_t time;     /* to sort by */
    size_t waiters;   /* likewise   */
    char cells[TOP_COLUMNS][TOP_CELL]; /* clean */
} top_row;

typedef struct top_table {
    top_page page;
    top_row *rows;
    size_t n, room;
    bool short_of_memory; /* some rows are missing */
} top_table;

/* What the page shows of the picture: rows in which `filter` occurs, in upper
 * or lower case ("": all), in that order; deadlocks come first. */
void top_table_fill(top_table *t, top_page page, const view_picture *picture,
                    const char *filter, top_sort sort);
void top_table_free(top_table *t);

/* How wide the columns are when there are so many for all; 0: left out. */
void top_table_layout(const top_table *t, int width, int widths[TOP_COLUMNS]);

/* A row, or the headings if NULL, in at most `width` columns. */
void top_table_line(const top_table *t, const int widths[TOP_COLUMNS],
                    const top_row *row, int width, char *buf, size_t size);

#endif
