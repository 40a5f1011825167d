/* SPDX-License-Identifier: MIT
 *
 * top.h - what `holdfast top` knows: the store as it was seen last, and how its
 * user wants to see it.  Nothing here draws. */
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include "../view/view.h"
#include "top_table.h"

enum { TOP_TEXT = 512 };

typedef struct top {
    hf_client *client;
    view *view;
    int delay_ms;
    top_page page;
    top_sort sort;
    bool paused;
    char filter[HF_NAME_MAX + 1];
    uint64_t last_event;
    int64_t looked_at; /* by moment_now; 0: not yet */
    double grants;     /* a second, as far as looks see them */
    top_table table;   /* the page that is shown */
} top;

/* Looks at the store and fills the table.  If the store does not answer the
 * picture is as it was; the head says so. */
void top_look(top *t);

/* The table again, for another page, filter or order. */
void top_fill(top *t);

/* The lines above every page: what there is, and how the store is.  Of
 * strangers: to be made harmless. */
void top_head(const top *t, char *buf, size_t size);
void top_store(const top *t, char *buf, size_t size);

/* All of one name, in lines of text; free it.  NULL without memory. */
char *top_detail(const top *t, const char *name);

/* The only holder, whom `steal` would take the lock from; NULL after saying
 * in `text` why there is none. */
const hf_place *top_victim(const top *t, const char *name, char *text,
                           size_t size);

/* Takes it away, and says in `text` what came of it. */
void top_steal(top *t, const char *name, const hf_place *victim, char *text,
               size_t size);

/* On a terminal; an exit status.  Where it was built without ncurses it says
 * so. */
int top_screen(top *t);

#endif
