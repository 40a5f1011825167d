/* SPDX-License-Identifier: MIT
 *
 * claim.c - the rule of admission; claim.h says what it means. */
#include "claim.h"

#include <inttypes.h>
#include <stdio.h>

/* Does `other` count when `mine` asks: because it holds, or because it came
 * first and neither of the two overtakes? */
static bool counts(const hf_entry *other, const hf_entry *mine, bool first) {
    return other->holds || (first && other->fifo && mine->fifo);
}

/* The one to watch is the nearest before us, so that a release wakes one
 * waiter and not all; behind us stands only a holder who overtook. */
static int nearer(int blocker, int i, int me) {
    return blocker < 0 || i < me ? i : blocker;
}

hf_verdict hf__admit(const hf_entry *line, int n, int me, int64_t limit,
                     int64_t count) {
    const hf_entry *mine = &line[me];
    hf_verdict verdict = {.admitted = false, .blocker = -1};
    int64_t taken = 0; /* permits that count before ours */
    int rival = -1;    /* the nearest who has some of them */

    if (mine->holds) {
        verdict.admitted = true;
        return verdict;
    }
    if (mine->mode == HF_ZERO) {
        verdict.admitted = count <= 0;
        return verdict;
    }
    for (int i = 0; i < n; i++) {
        const hf_entry *other = &line[i];

        if (i == me || other->mode == HF_ZERO || !counts(other, mine, i < me))
            continue;
        if (mine->mode == HF_SHARED && other->mode == HF_SHARED)
            continue;
        if (mine->mode == HF_PERMITS && other->mode == HF_PERMITS) {
            taken += other->permits;
            rival = nearer(rival, i, me);
            continue;
        }
        verdict.blocker = nearer(verdict.blocker, i, me);
    }
    if (mine->mode == HF_PERMITS && taken + mine->permits > limit)
        verdict.blocker = verdict.blocker < 0 ? rival : verdict.blocker;
    else if (verdict.blocker < 0)
        verdict.admitted = true;
    return verdict;
}

int hf__owner_of(const hf_claim *c, const char *client, char *buf,
                 size_t size) {
    char hex[2 * sizeof c->nonce + 1];

    if (c->kind != HF_SIMPLE && c->kind != HF_PERMIT)
        return snprintf(buf, size, "%s:%s%" PRIu64 "%s", client,
                        c->kind == HF_FAIR ? "0" : "", c->owner,
                        c->kind == HF_WRITE ? ":write" : "");
    for (size_t i = 0; i < sizeof c->nonce; i++)
        snprintf(hex + 2 * i, 3, "%02x", c->nonce[i]);
    return snprintf(buf, size, "%s", hex);
}
