/* SPDX-License-Identifier: MIT
 *
 * tokens.c - tokens of one name never repeat, and grow.
 *
 * Two grants that were asked for at the same time may have been made in either
 * order.  A grant that was asked for after another had been answered was made
 * later, and must have the higher token: the sweep goes by asks and keeps the
 * highest token of all grants that were answered before.
 *
 * A reader may have the token of its own writer; it is left out. */
#include "trial.h"

#include <stdlib.h>

/* ---- none repeats ------------------------------------------------------ */

static bool by_token(const void *of, size_t a, size_t b) {
    const hold *x = &((const hold *)of)[a], *y = &((const hold *)of)[b];
    return x->name != y->name ? x->name < y->name : x->token < y->token;
}

static bool is_beside(const hold *a, const hold *b) {
    return hf__one_owner(a, b) &&
           ((a->kind == HF_READ && b->kind == HF_WRITE) ||
            (a->kind == HF_WRITE && b->kind == HF_READ));
}

/* Redis tells a reader, or a holder of permits, that asks again the last token
 * of the name, which may be that of somebody who came meanwhile: those who do
 * not keep each other out need no order among themselves. */
static bool is_together(const hold *a, const hold *b) {
    return a->side == b->side &&
           (a->side == SIDE_SHARED || a->side == SIDE_PERMIT) &&
           a->taken->asked <= b->gone && b->taken->asked <= a->gone;
}

/* Where threads share a claim, one may have entered while another left. */
static bool went_on(const hold *a, const hold *b) {
    const hold *first = a->from <= b->from ? a : b;
    const hold *second = first == a ? b : a;
    return a->process == b->process && a->claim == b->claim &&
           (first->given == NULL ||
            first->given->ended >= second->taken->asked);
}

static int check_repeats(trial *t) {
    size_t *ids = hf__order(t->n_holds, by_token, t->holds);
    if (ids == NULL)
        return HF_ENO_MEMORY;
    for (size_t i = 1; i < t->n_holds; i++) {
        hold *a = &t->holds[ids[i - 1]], *b = &t->holds[ids[i]];
        if (a->token == 0 || a->name != b->name || a->token != b->token)
            continue;
        if (is_beside(a, b))
            a->beside = b->beside = true;
        else if (!is_together(a, b) && !went_on(a, b))
            hf__found(t, HF_INV_TOKENS, 0, b->taken->answer, a->taken->answer,
                      b->name);
    }
    free(ids);
    return HF_OK;
}

/* ---- all grow ---------------------------------------------------------- */

static bool by_ask(const void *of, size_t a, size_t b) {
    const hold *x = &((const hold *)of)[a], *y = &((const hold *)of)[b];
    return x->name != y->name ? x->name < y->name :
                                x->taken->asked < y->taken->asked;
}

/* Holds stand by their answers already. */
static int check_growth(trial *t) {
    size_t *ids = hf__order(t->n_holds, by_ask, t->holds);
    const hold *highest = NULL;
    if (ids == NULL)
        return HF_ENO_MEMORY;
    for (size_t i = 0, answered = 0; i < t->n_holds; i++) {
        const hold *h = &t->holds[ids[i]];
        if (i == 0 || t->holds[ids[i - 1]].name != h->name) {
            answered = i; /* both orders have the names together */
            highest = NULL;
        }
        for (; answered < t->n_holds && t->holds[answered].name == h->name &&
               t->holds[answered].from < h->taken->asked;
             answered++)
            if (highest == NULL || t->holds[answered].token > highest->token)
                highest = &t->holds[answered];
        if (h->token == 0)
            continue;
        hf__look(t, HF_INV_TOKENS);
        if (highest != NULL && highest->token > h->token && !h->beside)
            hf__found(t, HF_INV_TOKENS, 0, h->taken->answer,
                      highest->taken->answer, h->name);
    }
    free(ids);
    return HF_OK;
}

int hf__judge_tokens(trial *t) {
    int rc = check_repeats(t);
    return rc == HF_OK ? check_growth(t) : rc;
}
