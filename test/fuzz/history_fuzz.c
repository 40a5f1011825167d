/* SPDX-License-Identifier: MIT
 *
 * history_fuzz.c - any bytes as a history, judged, told and drawn.
 *
 * Bytes that begin like a file are read as one: what is damaged is refused, and
 * the rest does no harm.  All others are taken as a few records each, of so few
 * names, owners and moments that they collide; and what the sweeps say of them
 * must be what a look at every pair says. */
#include "check/trial.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTES = 12, MS = 1000000 };

static const hf_promise promise = {.idle_ns = 300 * MS,
                                   .late_ns = 100 * MS,
                                   .haste_ns = 20 * MS,
                                   .lease_ns = 200 * MS,
                                   .permits = 2};

static const int codes[] = {HF_OK,     HF_BUSY,  HF_ETIMEOUT,   HF_EDOWN,
                            HF_EDOUBT, HF_ELOST, HF_ENOT_OWNER, HF_EUSAGE};

/* ---- records ----------------------------------------------------------- */

static hf_record record_of(const uint8_t *b, int64_t at) {
    hf_record rec = {.at = at,
                     .process = b[1] % 4,
                     .thread = b[1] >> 6,
                     .call = b[7] % 16,
                     .saw = (uint16_t)(HF_SAW_ASK + b[2] % HF_SAW_LEFTOVER),
                     .verb = (uint8_t)(HF_DO_ACQUIRE + b[3] % HF_DO_SET),
                     .kind = b[4] % HF_KINDS,
                     .name = b[5] % 2,
                     .claim = b[5] >> 6,
                     .code = codes[b[6] % (sizeof codes / sizeof *codes)],
                     .permits = b[11] % 4,
                     .token = b[8] % 16,
                     .value = b[10] % 8};
    if (b[9] != 0)
        rec.until = at + b[9] * (int64_t)MS;
    if (rec.saw == HF_SAW_HELD)
        rec.value *= 20 * MS;
    return rec;
}

static void make_up(hf_history *h, const uint8_t *data, size_t size) {
    int64_t at = 1;
    for (; size >= BYTES; data += BYTES, size -= BYTES) {
        at += data[0] * (int64_t)MS;
        hf_record rec = record_of(data, at);
        assert(hf_history_add(h, &rec) == HF_OK);
    }
}

/* ---- every pair -------------------------------------------------------- */

static bool is_lock(const hold *h) {
    return h->side == SIDE_ALONE && h->kind != HF_WRITE && h->to > h->from;
}

static bool overlap(const hold *a, const hold *b) {
    return a->name == b->name && a->from < b->to && b->from < a->to &&
           (a->process != b->process || a->claim != b->claim);
}

static bool goes_back(const hold *a, const hold *b) {
    return a->name == b->name && b->token != 0 && !b->beside &&
           a->from < b->taken->asked && a->token > b->token;
}

static bool side_by_side(const hold *a, const hold *b) {
    return (a->kind == HF_WRITE &&
            (b->kind == HF_WRITE || b->kind == HF_READ)) ||
           (b->kind == HF_WRITE && a->kind == HF_READ);
}

static void same_for_every_pair(const trial *t, const hf_verdict *v) {
    bool locks = false, back = false, readers = false;
    for (const hold *a = t->holds; a < t->holds + t->n_holds; a++)
        for (const hold *b = t->holds; b < t->holds + t->n_holds; b++) {
            if (a == b)
                continue;
            locks = locks || (is_lock(a) && is_lock(b) && overlap(a, b));
            back = back || goes_back(a, b);
            readers = readers || (side_by_side(a, b) && overlap(a, b));
        }
    assert(locks == (v->of[HF_INV_EXCLUSION].broken > 0));
    assert(!back || v->of[HF_INV_TOKENS].broken > 0);
    assert(readers || v->of[HF_INV_READERS].broken == 0);
}

static bool wrote(const hf_record *rec) {
    return rec->saw == HF_SAW_WRITE && rec->code == HF_OK;
}

static void same_for_every_write(const hf_history *h, const hf_verdict *v) {
    bool wrong = false;
    for (size_t i = 0; i < h->n; i++)
        for (size_t j = 0; j < h->n; j++) {
            const hf_record *a = &h->records[i], *b = &h->records[j];
            bool before =
                a->value < b->value || (a->value == b->value && i < j);
            wrong = wrong || (wrote(a) && wrote(b) && a->name == b->name &&
                              before && a->token > b->token);
        }
    assert(wrong == (v->of[HF_INV_FENCE].broken > 0));
}

/* ---- all of it --------------------------------------------------------- */

static void tell(const hf_history *h, const hf_verdict *v) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert(out != NULL);
    hf_verdict_print(out, v, &promise, h);
    hf_verdict_tsv(out, "store", "fault", v, &promise);
    for (size_t at = 0; at < h->n; at += 1 + h->n / 2)
        assert(hf_picture(out, h, h->records[at].name, at, 500 * MS) == HF_OK);
    assert(!ferror(out));
    fclose(out);
    free(text);
}

static void judge(hf_history *h) {
    hf_verdict v, ignored = {0};
    trial t;
    assert(hf_check(h, &promise, &v) == HF_OK);
    for (size_t i = 0; i < HF_INV_N; i++)
        assert(v.of[i].broken == 0 || v.of[i].first < h->n);
    assert(hf__trial_make(&t, h, &promise, &ignored) == HF_OK);
    assert(hf__judge_tokens(&t) == HF_OK); /* marks readers beside writers */
    same_for_every_pair(&t, &v);
    same_for_every_write(h, &v);
    hf__trial_free(&t);
    if (h->n % 8 == 7) /* takes longer than all the rest */
        tell(h, &v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hf_history h = {0};
    const char *why = NULL;
    if (size >= 3 && memcmp(data, "hf-", 3) == 0) {
        int rc = hf_history_parse(&h, data, size, &why);
        assert(rc == HF_OK || (rc == HF_EUSAGE && *why != '\0' && h.n == 0));
    } else {
        make_up(&h, data, size);
    }
    judge(&h);
    hf_history_free(&h);
    return 0;
}
