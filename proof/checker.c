/* SPDX-License-Identifier: MIT
 *
 * checker.c - judges a history: runs one look after the other over it. */
#include "checker.h"

#include <string.h>

static const struct {
    const char *name, *text;
} words[] = {
#define X(id, text) {#id, text},
    HF_INVARIANTS(X)
#undef X
};

const char *hf_invariant_name(hf_invariant inv) {
    return words[inv].name;
}

const char *hf_invariant_text(hf_invariant inv) {
    return words[inv].text;
}

int hf_check(hf_history *h, const hf_promise *promise, hf_verdict *ret) {
    (void)promise;
    memset(ret, 0, sizeof *ret);
    return hf_history_sort(h);
}

bool hf_verdict_bad(const hf_verdict *v, const hf_promise *promise) {
    for (int i = 0; i < HF_INV_N; i++)
        if (v->of[i].broken > 0 && !promise->waived[i])
            return true;
    return false;
}

void hf_verdict_print(FILE *out, const hf_verdict *v, const hf_promise *promise,
                      const hf_history *h) {
    (void)promise, (void)h;
    for (int i = 0; i < HF_INV_N; i++)
        fprintf(out, "%s %lu\n", words[i].name, (unsigned long)v->of[i].broken);
}

int hf_picture(FILE *out, const hf_history *h, uint32_t name, size_t at,
               int64_t span_ns) {
    (void)out, (void)h, (void)name, (void)at, (void)span_ns;
    return HF_ECANNOT;
}
