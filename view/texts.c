/* SPDX-License-Identifier: MIT
 *
 * texts.c - many small strings that are freed together: a hundred thousand
 * claims have seven each. */
#include "texts.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 16 };

struct texts_block {
    struct texts_block *next;
    size_t used, size;
    char bytes[];
};

static struct texts_block *room_for(texts *t, size_t n) {
    struct texts_block *b = t->blocks;
    size_t size = n > BLOCK ? n : BLOCK;
    if (b && b->size - b->used >= n)
        return b;
    b = malloc(sizeof(*b) + size);
    if (!b)
        return NULL;
    b->next = t->blocks;
    b->used = 0;
    b->size = size;
    t->blocks = b;
    return b;
}

const char *texts_keep(texts *t, const char *text) {
    size_t n = text ? strlen(text) + 1 : 1;
    struct texts_block *b;
    if (n == 1)
        return "";
    b = room_for(t, n);
    if (!b)
        return NULL;
    b->used += n;
    return memcpy(b->bytes + b->used - n, text, n);
}

void texts_clear(texts *t) {
    struct texts_block *kept = t->blocks;
    if (!kept)
        return;
    t->blocks = kept->next;
    texts_free(t);
    kept->next = NULL;
    kept->used = 0;
    t->blocks = kept;
}

void texts_free(texts *t) {
    while (t->blocks) {
        struct texts_block *gone = t->blocks;
        t->blocks = gone->next;
        free(gone);
    }
}
