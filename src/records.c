/* SPDX-License-Identifier: MIT
 *
 * records.c - what all clients of a store say of themselves. */
#include "records.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

enum { UUID = 36 };

/* Room for one more; NULL: there is none. */
static void *widen(void *old, size_t n, size_t *room, size_t size) {
    size_t wide = *room ? 2 * *room : 16;
    void *new;

    if (n < *room)
        return old;
    new = hf__realloc(old, wide * size);
    if (new)
        *room = wide;
    return new;
}

void hf__records_add(void *arg, const hf_identity *who, const char *doing) {
    hf_records *records = arg;
    hf_record *all =
        widen(records->all, records->n, &records->room, sizeof *records->all);
    char *copy = strnlen(doing, HF_DOING_MAX + 1) > HF_DOING_MAX ?
                     hf__strdup("") :
                     hf__strdup(doing);

    if (all)
        records->all = all;
    if (!all || !copy) {
        records->failed = true;
        hf__free(copy);
        return;
    }
    all[records->n++] =
        (hf_record){.who = *who, .doing = copy, .hidden = !*doing};
}

/* ---- order ------------------------------------------------------------- */

static int by_client(const void *a, const void *b) {
    const hf_record *x = a, *y = b;

    return strcmp(x->who.client, y->who.client);
}

static int by_owner(const void *a, const void *b) {
    const hf_told *x = a, *y = b;
    int order = strcmp(x->of.owner, y->of.owner);

    return order ? order : strcmp(x->record->who.client, y->record->who.client);
}

/* Two stores in one, or a record that is moved, tell twice of a client. */
static void drop_twins(hf_records *records) {
    size_t kept = 0;

    for (size_t i = 0; i < records->n; i++) {
        hf_record *r = &records->all[i];

        if (kept && by_client(&records->all[kept - 1], r) == 0)
            hf__free(r->doing);
        else
            records->all[kept++] = *r;
    }
    records->n = kept;
}

static bool add_claim(hf_records *records, hf_record *r, const hf_doing *c) {
    hf_told *claims = widen(records->claims, records->n_claims,
                            &records->claims_room, sizeof *records->claims);

    if (!claims)
        return false;
    records->claims = claims;
    claims[records->n_claims++] = (hf_told){.record = r, .of = *c};
    return true;
}

static void count(hf_record *r, const hf_doing *c) {
    if (c->does == HF_DOES_MORE) {
        r->holds += c->holds;
        r->waits += c->waits;
    } else if (c->does == HF_DOES_WAIT) {
        if (!r->waits++ || c->since_ms < r->waits_since_ms)
            r->waits_since_ms = c->since_ms;
    } else if (c->does == HF_DOES_HOLD) {
        r->holds++;
    }
}

static bool read_claims(hf_records *records, hf_record *r) {
    char *text = r->doing;
    hf_doing c;

    while (hf__doings_next(&text, &c)) {
        count(r, &c);
        if (c.does == HF_DOES_INSIDE)
            r->inside = c.client;
        else if (c.does != HF_DOES_MORE && !add_claim(records, r, &c))
            return false;
    }
    return true;
}

/* Whom each of them works for. */
static void tie(hf_records *records) {
    for (size_t i = 0; i < records->n; i++) {
        hf_record *r = &records->all[i], *outer = NULL;

        if (r->inside)
            outer = (hf_record *)hf__records_client(records, r->inside,
                                                    strlen(r->inside));
        r->outer = outer;
        if (outer)
            outer->has_inner = true;
    }
}

int hf__records_sort(hf_records *records) {
    if (records->n)
        qsort(records->all, records->n, sizeof *records->all, by_client);
    drop_twins(records);
    for (size_t i = 0; i < records->n && !records->failed; i++)
        records->failed = !read_claims(records, &records->all[i]);
    if (records->n_claims)
        qsort(records->claims, records->n_claims, sizeof *records->claims,
              by_owner);
    tie(records);
    return records->failed ? HF_ENO_MEMORY : HF_OK;
}

void hf__records_free(hf_records *records) {
    for (size_t i = 0; i < records->n; i++)
        hf__free(records->all[i].doing);
    hf__free(records->all);
    hf__free(records->claims);
    *records = (hf_records){0};
}

/* ---- looking up -------------------------------------------------------- */

const hf_record *hf__records_client(const hf_records *records,
                                    const char *client, size_t length) {
    hf_record key = {.doing = NULL};

    if (!records->n || length >= sizeof key.who.client)
        return NULL;
    memcpy(key.who.client, client, length);
    key.who.client[length] = 0;
    return bsearch(&key, records->all, records->n, sizeof *records->all,
                   by_client);
}

/* The first claim that is not before the key. */
static size_t lower(const hf_records *records, const hf_told *key) {
    size_t low = 0, high = records->n_claims;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (by_owner(&records->claims[mid], key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* "client:17" is one client's, a nonce says itself whose it is. */
hf_told *hf__records_find(const hf_records *records, const char *owner,
                          const char *name) {
    static const hf_record nobody;
    size_t length = strcspn(owner, ":");
    bool named = length == UUID && owner[length];
    hf_told key = {
        .record = named ? hf__records_client(records, owner, length) : &nobody,
        .of = {.owner = named ? owner + length + 1 : owner}};

    if (!key.record)
        return NULL;
    for (size_t i = lower(records, &key); i < records->n_claims; i++) {
        hf_told *told = &records->claims[i];

        if (strcmp(told->of.owner, key.of.owner) != 0 ||
            (named && told->record != key.record))
            break;
        if (strcmp(told->of.name, name) == 0)
            return told;
    }
    return NULL;
}
