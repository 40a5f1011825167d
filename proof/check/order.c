/* SPDX-License-Identifier: MIT
 *
 * order.c - numbers in an order, without moving what they stand for. */
#include "trial.h"

#include <stdlib.h>
#include <string.h>

static void merge(size_t *to, const size_t *from, size_t half, size_t n,
                  hf__before_fn *before, const void *of) {
    size_t a = 0, b = half;
    for (size_t i = 0; i < n; i++) {
        bool second = a >= half || (b < n && before(of, from[b], from[a]));
        to[i] = second ? from[b++] : from[a++];
    }
}

static void sort(size_t *ids, size_t *spare, size_t n, hf__before_fn *before,
                 const void *of) {
    if (n < 2)
        return;
    size_t half = n / 2;
    sort(ids, spare, half, before, of);
    sort(ids + half, spare, n - half, before, of);
    if (!before(of, ids[half], ids[half - 1]))
        return;
    memcpy(spare, ids, n * sizeof *ids);
    merge(ids, spare, half, n, before, of);
}

size_t *hf__order(size_t n, hf__before_fn *before, const void *of) {
    size_t *ids = malloc((n + 1) * sizeof *ids);
    size_t *spare = malloc((n + 1) * sizeof *spare);
    if (ids != NULL && spare != NULL) {
        for (size_t i = 0; i < n; i++)
            ids[i] = i;
        sort(ids, spare, n, before, of);
    } else {
        free(ids);
        ids = NULL;
    }
    free(spare);
    return ids;
}
