/* SPDX-License-Identifier: MIT
 *
 * batch.c - requests that are sent together and answered together. */
#include "batch.h"

#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../world.h"

hf_batch *hf__batch_new(void) {
    hf_batch *b = hf__calloc(1, sizeof *b);

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
    hf__free(b->slots);
    hf__free(b->bytes);
    hf__free(b);
}

/* The array with room for `want`; NULL: out of memory, it stays as it was. */
static void *widened(void *array, size_t *room, size_t want, size_t least,
                     size_t size) {
    size_t wide = *room ? *room : least;

    if (want <= *room)
        return array;
    while (wide < want)
        wide *= 2;
    array = hf__realloc(array, wide * size);
    if (array)
        *room = wide;
    return array;
}

static bool add_bytes(hf_batch *b, const char *bytes, size_t len) {
    char *text = widened(b->bytes, &b->cap, b->len + len, 512, 1);

    if (!text)
        return false;
    b->bytes = text;
    memcpy(b->bytes + b->len, bytes, len);
    b->len += len;
    return true;
}

/* Room for n slots more: adding them cannot fail then. */
static bool make_room(hf_batch *b, size_t n) {
    hf_slot *slots = widened(b->slots, &b->room, b->n + n, 4, sizeof *slots);

    if (slots)
        b->slots = slots;
    return slots != NULL;
}

bool hf__batch_add_post(hf_batch *b, hf_post *post) {
    size_t at = b->len;

    if (!make_room(b, 1) || !add_bytes(b, post->bytes, post->len))
        return false;
    b->slots[b->n++] = (hf_slot){.post = post, .at = at};
    return true;
}

static size_t write_wait(char *to, size_t room, int replicas, int ms) {
    char number[16], time[16];

    snprintf(number, sizeof number, "%d", replicas);
    snprintf(time, sizeof time, "%d", ms);
    return (size_t)snprintf(to, room,
                            "*3\r\n$4\r\nWAIT\r\n$%zu\r\n%s\r\n"
                            "$%zu\r\n%s\r\n",
                            strlen(number), number, strlen(time), time);
}

/* The WAIT at the end, if it is for so many, moves behind what comes now. */
static void take_wait_off(hf_batch *b, int replicas) {
    if (b->n == 0 || b->slots[b->n - 1].replicas != replicas)
        return;
    b->len = b->slots[--b->n].at;
}

/* The first command has all the bytes, so that they are withdrawn together. */
bool hf__batch_add(hf_batch *b, const hf_request *q, int wait_ms,
                   size_t *first) {
    char wait[96];
    size_t wait_len, at;

    if (!make_room(b, q->n + 1))
        return false;
    if (q->replicas) /* makes room for the new one, or less */
        take_wait_off(b, q->replicas);
    at = b->len;
    wait_len =
        q->replicas ? write_wait(wait, sizeof wait, q->replicas, wait_ms) : 0;
    if (!add_bytes(b, q->bytes, q->len) || !add_bytes(b, wait, wait_len)) {
        b->len = at;
        return false;
    }
    *first = b->n;
    for (size_t i = 0; i < q->n; i++)
        b->slots[b->n++] = (hf_slot){.at = i ? at + q->len : at};
    if (q->replicas)
        b->slots[b->n++] =
            (hf_slot){.at = at + q->len, .replicas = q->replicas};
    return true;
}

void hf__batch_withdraw(hf_batch *b, size_t first, size_t n) {
    size_t at = b->slots[first].at;
    size_t end = first + n < b->n ? b->slots[first + n].at : b->len;

    memmove(b->bytes + at, b->bytes + end, b->len - end);
    b->len -= end - at;
    for (size_t k = first + n; k < b->n; k++)
        b->slots[k].at -= end - at;
    for (size_t k = first; k < first + n; k++)
        b->slots[k].gone = true;
}

const redisReply *hf__batch_wait(const hf_batch *b, size_t slot) {
    while (slot < b->n && !b->slots[slot].replicas)
        slot++;
    return slot < b->n ? b->slots[slot].reply : NULL;
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
