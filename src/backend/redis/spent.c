/* SPDX-License-Identifier: MIT
 *
 * spent.c - markers of requests whose answer has come. */
#include "spent.h"

#include <string.h>

/* No list is searched further than this: what lies deeper waits its turn, or
 * is forgotten. */
enum { DEPTH = 16 };

static uint64_t hash(const char *name) {
    uint64_t h = UINT64_C(14695981039346656037);

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return h;
}

void hf__spent_init(hf_spent *s) {
    memset(s, 0, sizeof *s);
    pthread_mutex_init(&s->mu, NULL);
    for (int i = 0; i < HF_SPENT_ROOM; i++)
        s->notes[i].next = (uint16_t)(i + 2 > HF_SPENT_ROOM ? 0 : i + 2);
    s->unused = 1;
}

void hf__spent_clear(hf_spent *s) {
    pthread_mutex_destroy(&s->mu);
}

/* mu.  Names that are not used again fill the room in time: list after list
 * is forgotten. */
static void make_room(hf_spent *s) {
    while (!s->unused) {
        uint16_t *list = &s->lists[s->clear_next++ % HF_SPENT_LISTS], at;

        while ((at = *list)) {
            *list = s->notes[at - 1].next;
            s->notes[at - 1].next = s->unused;
            s->unused = at;
        }
    }
}

void hf__spent_note(hf_spent *s, const char *name,
                    const unsigned char nonce[16]) {
    uint64_t h = hash(name);
    uint16_t *list = &s->lists[h % HF_SPENT_LISTS], at;

    pthread_mutex_lock(&s->mu);
    make_room(s);
    at = s->unused;
    s->unused = s->notes[at - 1].next;
    s->notes[at - 1].name = h;
    memcpy(s->notes[at - 1].nonce, nonce, 16);
    s->notes[at - 1].next = *list;
    *list = at;
    pthread_mutex_unlock(&s->mu);
}

int hf__spent_take(hf_spent *s, const char *name, const unsigned char own[16],
                   unsigned char nonces[HF_SPENT_TAKE][16]) {
    uint64_t h = hash(name);
    uint16_t *link = &s->lists[h % HF_SPENT_LISTS], at;
    int n = 0;

    pthread_mutex_lock(&s->mu);
    for (int i = 0; i < DEPTH && n < HF_SPENT_TAKE && (at = *link); i++) {
        if (s->notes[at - 1].name != h ||
            memcmp(s->notes[at - 1].nonce, own, 16) == 0) {
            link = &s->notes[at - 1].next;
            continue;
        }
        memcpy(nonces[n++], s->notes[at - 1].nonce, 16);
        *link = s->notes[at - 1].next;
        s->notes[at - 1].next = s->unused;
        s->unused = at;
    }
    pthread_mutex_unlock(&s->mu);
    return n;
}
