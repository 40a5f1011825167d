/* SPDX-License-Identifier: MIT
 *
 * samples.c - how long something took, many times. */
#include "samples.h"

#include <stdlib.h>

void samples_add(samples *s, int64_t ns) {
    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 1024;
        int64_t *more = realloc(s->ns, room * sizeof(*more));
        if (!more)
            return;
        s->ns = more;
        s->room = room;
    }
    s->ns[s->n++] = ns;
}

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

void samples_sort(samples *s) {
    if (s->n > 0)
        qsort(s->ns, s->n, sizeof(*s->ns), compare);
}

int64_t samples_us(const samples *s, int percent) {
    if (s->n == 0)
        return 0;
    return s->ns[(s->n - 1) * (size_t)percent / 100] / 1000;
}

void samples_free(samples *s) {
    free(s->ns);
}
