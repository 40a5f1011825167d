/* SPDX-License-Identifier: MIT
 *
 * picture.h - a picture of the store that outlives the look it came from:
 * copied once, then read by everybody without a lock. */
#ifndef CONSOLE_PICTURE_H
#define CONSOLE_PICTURE_H

#include "../view/view.h"

typedef struct picture {
    view_picture seen;
    int refs;        /* the watch's lock */
    void *blocks;    /* of memory */
    int64_t made_ms; /* when, as moment_now has it */
} picture;

/* NULL: no memory. */
picture *picture_copy(const view_picture *from);
void picture_free(picture *p);

/* The line of a name, the held one first; or NULL. */
const view_line *picture_find(const picture *p, const char *name);

#endif
