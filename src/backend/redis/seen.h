/* SPDX-License-Identifier: MIT
 *
 * seen.h - texts that came by.  SCAN may tell of a key twice, and one name has
 * several keys; whoever looks is told once. */
#ifndef HF_REDIS_SEEN_H
#define HF_REDIS_SEEN_H

#include "../../../include/holdfast.h"

typedef struct hf_seen {
    char **slots; /* NULL: free */
    size_t n, room;
} hf_seen;

uint32_t hf__seen_hash(const char *text);

/* HF_OK: it is new, and noted.  HF_BUSY: it was there.  HF_ENO_MEMORY. */
int hf__seen_add(hf_seen *s, const char *text);
void hf__seen_clear(hf_seen *s);

#endif
