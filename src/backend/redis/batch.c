/* SPDX-License-Identifier: MIT
 *
 * batch.c - requests that are sent together and answered together. */
#include "batch.h"

#include <stdlib.h>
#include <string.h>

#include "../../world.h"

hf_batch *hf__batch_new(void) {
    hf_batch *b = calloc(1, sizeof *b);

    if (b)
        atomic_init(&b->refs, 1);
    return b;
}

hf_batch *hf__batch_keep(hf_batch *b) {
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

void hf__batch_put(hf_batch *b) {
    if (atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) > 1)
        return;
    for (size_t i = 0; i < b->n; i++)
        if (b->slots[i].reply)
            freeReplyObject(b->slots[i].reply);
    free(b->slots);
    free(b->bytes);
    free(b);
}

/* The array with room for `want`; NULL: out of memory, it stays as it was. */
static void *widened(void *array, size_t *room, size_t want, size_t least,
                     size_t size) {
    size_t wide = *room ? *room : least;

    if (want <= *room)
        return array;
    while (wide < want)
        wide *= 2;
    array = realloc(array, wide * size);
    if (array)
        *room = wide;
    return array;
}

bool hf__batch_add(hf_batch *b, const char *bytes, size_t len, hf_post *post) {
    hf_slot *slots = widened(b->slots, &b->room, b->n + 1, 4, sizeof *slots);
    char *text;

    if (!slots)
        return false;
    b->slots = slots;
    text = widened(b->bytes, &b->cap, b->len + len, 512, 1);
    if (!text)
        return false;
    b->bytes = text;
    b->slots[b->n++] = (hf_slot){.post = post, .at = b->len};
    memcpy(b->bytes + b->len, bytes, len);
    b->len += len;
    return true;
}

void hf__batch_withdraw(hf_batch *b, size_t i) {
    size_t at = b->slots[i].at;
    size_t end = i + 1 < b->n ? b->slots[i + 1].at : b->len;

    memmove(b->bytes + at, b->bytes + end, b->len - end);
    b->len -= end - at;
    for (size_t k = i + 1; k < b->n; k++)
        b->slots[k].at -= end - at;
    b->slots[i].gone = true;
}

bool hf__batch_is_done(hf_batch *b) {
    return atomic_load_explicit(&b->word, memory_order_acquire) & HF_BATCH_DONE;
}

void hf__batch_sleep(hf_batch *b, unsigned seen, hf_time by) {
    hf__world->park(&b->word, seen, by);
}

void hf__batch_wake(hf_batch *b, int n) {
    hf__world->unpark(&b->word, n);
}
