/* SPDX-License-Identifier: MIT
 *
 * select.h - which lines of a picture are asked for, in which order, and which
 * page of them. */
#ifndef CONSOLE_SELECT_H
#define CONSOLE_SELECT_H

#include "decode.h"
#include "picture.h"

enum { PAGE_USUAL = 100, PAGE_MOST = 1000 };

typedef struct selection {
    const view_line **lines; /* one page of them           */
    size_t n;
    size_t matched;             /* on all pages                        */
    char next[HF_NAME_MAX + 1]; /* the next page's cursor; "": none        */
} selection;

/* By the query's prefix, q, host, state, sort, limit and cursor.  HF_OK, or
 * HF_EUSAGE, HF_ENO_MEMORY. */
int select_lines(selection *s, const view_picture *p, const target *query,
                 hf_error *err);
void select_free(selection *s);

#endif
