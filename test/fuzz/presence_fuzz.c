/* SPDX-License-Identifier: MIT
 *
 * presence_fuzz.c - any text as what clients say that they do.
 *
 * A form feed ends a record.  What is read is within its bounds and can be
 * written and read again; whatever the records say, a circle closes: each one
 * in it wants, by a wait, what the next one holds. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "deadlock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const hf_doing *c) {
    static hf_doings text;
    char *at = text.text;
    hf_doing read;

    hf__doings_begin(&text, "");
    hf__doings_add(&text, c);
    hf__doings_end(&text);
    assert(hf__doings_next(&at, &read));
    assert(read.does == c->does && read.kind == c->kind);
    assert(read.who == c->who && read.permits == c->permits);
    assert(read.since_ms == c->since_ms && read.asked == c->asked);
    assert(strcmp(read.owner, c->owner) == 0);
    assert(strcmp(read.name, c->name) == 0);
    assert(!hf__doings_next(&at, &read));
}

static void check_circle(const hf_circle *c) {
    const hf_told *yields = hf__circle_yields(c);

    assert(c->n > 0);
    for (size_t i = 0; i < c->n; i++) {
        const hf_link *link = &c->links[i], *next = &c->links[(i + 1) % c->n];

        assert(link->wants->of.does == HF_DOES_WAIT && link->wants->stuck);
        assert(next->has->of.does == HF_DOES_HOLD && next->has->stuck);
        assert(strcmp(link->wants->of.name, next->has->of.name) == 0);
        if (next->has->record == next->wants->record)
            assert(next->has->of.who == next->wants->of.who ||
                   next->has->record->has_inner);
        else
            assert(next->has->record->has_inner);
        assert(yields || !link->wants->of.asked);
    }
}

static void add(hf_records *records, char *text) {
    hf_identity who = {.pid = 1};

    memset(who.client, 'a' + (int)(records->n % 26), 36);
    hf__records_add(records, &who, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1), *rest = text, *one;
    hf_records records = {0};
    hf_circles circles;

    assert(text);
    memcpy(text, data, size);
    text[size] = 0;
    while ((one = strsep(&rest, "\f")))
        add(&records, one);
    assert(hf__records_sort(&records) == HF_OK);
    for (size_t i = 0; i < records.n_claims; i++) {
        const hf_doing *c = &records.claims[i].of;

        assert(*c->name && strlen(c->name) <= HF_NAME_MAX);
        assert(*c->owner && strlen(c->owner) <= HF_DOING_OWNER);
        check_again(c);
    }
    assert(hf__circles_find(&circles, &records) == HF_OK);
    for (size_t i = 0; i < circles.n; i++)
        check_circle(&circles.all[i]);
    hf__circles_free(&circles);
    hf__records_free(&records);
    free(text);
    return 0;
}
