/* SPDX-License-Identifier: MIT
 *
 * texts.h - many small strings that are freed together. */
#ifndef HF_VIEW_TEXTS_H
#define HF_VIEW_TEXTS_H

#include <stddef.h>

typedef struct texts {
    struct texts_block *blocks; /* the one that is being filled first */
} texts;

/* A copy that lives until the next texts_clear; "" for NULL.  NULL: no memory. */
const char *texts_keep(texts *t, const char *text);

/* Forgets all, but keeps a block for what comes next. */
void texts_clear(texts *t);
void texts_free(texts *t);

#endif
