/* SPDX-License-Identifier: MIT
 *
 * lineup.c - a line as a port found it: its memory, its order, and who in it
 * may hold. */
#include <stdlib.h>
#include <string.h>

#include "../../alloc.h"
#include "../../claim.h"
#include "store.h"

hf_entered *hf__lineup_add(hf_lineup *l) {
    hf_entered *e;

    if ((l->n & (l->n - 1)) == 0) { /* full: it grows by doubling */
        size_t room = l->n ? 2 * l->n : 1;
        hf_entered *wide = hf__realloc(l->all, room * sizeof *wide);

        if (!wide)
            return NULL;
        l->all = wide;
    }
    e = &l->all[l->n++];
    *e = (hf_entered){.permits = 1, .since_ms = -1};
    return e;
}

/* What stands beside a WRITE comes after it. */
static int by_order(const void *a, const void *b) {
    const hf_entered *x = a, *y = b;

    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (x->kind == HF_READ) - (y->kind == HF_READ);
}

void hf__lineup_sort(hf_lineup *l) {
    if (l->n > 1)
        qsort(l->all, l->n, sizeof *l->all, by_order);
}

void hf__lineup_clear(hf_lineup *l) {
    for (size_t i = 0; i < l->n; i++) {
        hf__free(l->all[i].key);
        hf__free(l->all[i].note);
    }
    hf__free(l->all);
    *l = (hf_lineup){0};
}

void hf__arrival_clear(hf_arrival *a) {
    hf__lineup_clear(&a->line);
    *a = (hf_arrival){0};
}

/* ---- the rule ---------------------------------------------------------- */

/* What shares our order stands beside us, and is our own: it is not seen. */
static hf_entry entry_of(const hf_entered *e, const hf_entered *mine) {
    bool unseen = e != mine && e->order == mine->order;

    return (hf_entry){.mode = unseen             ? HF_ZERO :
                              e->kind == HF_READ ? HF_SHARED :
                                                   HF_EXCLUSIVE,
                      .permits = 1,
                      .fifo = true};
}

/* Nobody overtakes, so who came later does not count, and no mark of who holds
 * is needed: it follows from the order.  A permit that has an entry was let in
 * when that was made. */
bool hf__lineup_admits(const hf_lineup *l, size_t me, size_t *blocker,
                       size_t *before) {
    const hf_entered *mine = &l->all[me];
    hf_entry *entries;
    hf_verdict v;

    *blocker = 0;
    *before = me;
    if (mine->kind == HF_PERMIT)
        return true;
    entries = hf__malloc((me + 1) * sizeof *entries);
    if (!entries)
        return false;
    for (size_t i = 0; i <= me; i++)
        entries[i] = entry_of(&l->all[i], mine);
    v = hf__admit(entries, (int)me + 1, (int)me, 0, 0);
    hf__free(entries);
    if (!v.admitted)
        *blocker = (size_t)v.blocker;
    return v.admitted;
}
