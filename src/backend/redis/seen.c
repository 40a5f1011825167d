/* SPDX-License-Identifier: MIT
 *
 * seen.c - texts that came by. */
#include "seen.h"

#include <string.h>

#include "../../alloc.h"

uint32_t hf__seen_hash(const char *text) {
    uint32_t hash = 2166136261u;

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

/* Where it stands, or may stand.  There is always a free slot; room is a power
 * of two. */
static char **find(const hf_seen *s, const char *text) {
    size_t at = hf__seen_hash(text) & (s->room - 1);

    while (s->slots[at] && strcmp(s->slots[at], text) != 0)
        at = (at + 1) & (s->room - 1);
    return &s->slots[at];
}

static int grow(hf_seen *s) {
    hf_seen wide = {.n = s->n, .room = s->room ? 2 * s->room : 64};

    wide.slots = hf__calloc(wide.room, sizeof *wide.slots);
    if (!wide.slots)
        return HF_ENO_MEMORY;
    for (size_t i = 0; i < s->room; i++)
        if (s->slots[i])
            *find(&wide, s->slots[i]) = s->slots[i];
    hf__free(s->slots);
    *s = wide;
    return HF_OK;
}

int hf__seen_add(hf_seen *s, const char *text) {
    char **slot;

    if (2 * s->n >= s->room && grow(s) != HF_OK)
        return HF_ENO_MEMORY;
    slot = find(s, text);
    if (*slot)
        return HF_BUSY;
    *slot = hf__strdup(text);
    if (!*slot)
        return HF_ENO_MEMORY;
    s->n++;
    return HF_OK;
}

void hf__seen_clear(hf_seen *s) {
    for (size_t i = 0; i < s->room; i++)
        hf__free(s->slots[i]);
    hf__free(s->slots);
    *s = (hf_seen){0};
}
