/* SPDX-License-Identifier: MIT
 *
 * report.c - a verdict as text: a table, the counts, and for what was broken a
 * few seconds of what happened around it. */
#include "check/trial.h"

#include <inttypes.h>
#include <string.h>

#define AROUND_NS ((int64_t)2500 * 1000 * 1000) /* to either side */

enum { LINES = 24 }; /* to either side, of that name */

/* ---- words ------------------------------------------------------------- */

static const char *const saws[] = {
    [HF_SAW_ASK] = "asks",          [HF_SAW_ANSWER] = "answer",
    [HF_SAW_LOST] = "LOST",         [HF_SAW_HELD] = "says held",
    [HF_SAW_WRITE] = "write",       [HF_SAW_PLACED] = "has a place",
    [HF_SAW_BORN] = "born",         [HF_SAW_KILLED] = "KILLED",
    [HF_SAW_PAUSED] = "PAUSED",     [HF_SAW_RESUMED] = "resumed",
    [HF_SAW_FAULT] = "FAULT",       [HF_SAW_HEALED] = "healed",
    [HF_SAW_LEFTOVER] = "left over"};
static const char *const verbs[] = {[0] = "",
                                    [HF_DO_ACQUIRE] = "acquire",
                                    [HF_DO_RELEASE] = "release",
                                    [HF_DO_AWAIT] = "await",
                                    [HF_DO_COUNT] = "count down",
                                    [HF_DO_SET] = "set"};
static const char *const kinds[HF_KINDS] = {"lock",   "simple",    "fair",
                                            "spin",   "read",      "write",
                                            "permit", "semaphore", "latch"};

static const char *code_name(int code) {
    switch (code) {
    case HF_OK:
        return "OK";
    case HF_BUSY:
        return "BUSY";
#define HF_X(number, name, class_, text)                                       \
    case HF_E##name:                                                           \
        return #name;
        HF_ERRORS(HF_X)
#undef HF_X
    }
    return "?";
}

/* "1.234 ms", with the unit that suits it. */
static const char *duration(char *buf, size_t size, int64_t ns) {
    if (ns >= 1000000000)
        snprintf(buf, size, "%.3f s", (double)ns / 1e9);
    else if (ns >= 1000000)
        snprintf(buf, size, "%.3f ms", (double)ns / 1e6);
    else if (ns > 0)
        snprintf(buf, size, "%.1f us", (double)ns / 1e3);
    else
        snprintf(buf, size, "-");
    return buf;
}

/* ---- one record -------------------------------------------------------- */

static bool concerns_all(const hf_record *rec) {
    return rec->saw >= HF_SAW_BORN && rec->saw <= HF_SAW_HEALED;
}

static void print_detail(FILE *out, const hf_record *rec) {
    bool is_call = rec->saw == HF_SAW_ASK || rec->saw == HF_SAW_ANSWER;
    if (is_call || rec->saw == HF_SAW_HELD || rec->saw == HF_SAW_LOST)
        fprintf(out, " %s", kinds[rec->kind]);
    if (rec->saw == HF_SAW_ANSWER || rec->saw == HF_SAW_WRITE)
        fprintf(out, " %s", code_name(rec->code));
    if (rec->permits > 0)
        fprintf(out, " permits %" PRId32, rec->permits);
    if (rec->token != 0)
        fprintf(out, " token %" PRIu64, rec->token);
    if (rec->until != 0)
        fprintf(out, " until %+.6f s", (double)(rec->until - rec->at) / 1e9);
    if (rec->saw == HF_SAW_HELD)
        fprintf(out, " for %.6f s", (double)rec->value / 1e9);
    else if (rec->value != 0)
        fprintf(out, " value %" PRId64, rec->value);
}

static void print_record(FILE *out, const hf_record *rec, int64_t zero,
                         bool marked) {
    fprintf(out, "  %s%+13.6f  ", marked ? ">" : " ",
            (double)(rec->at - zero) / 1e9);
    if (rec->saw == HF_SAW_FAULT || rec->saw == HF_SAW_HEALED)
        fprintf(out, "%-18s", "all");
    else if (concerns_all(rec))
        fprintf(out, "p%-17" PRIu32, rec->process);
    else
        fprintf(out, "p%" PRIu32 ".t%-5" PRIu32 " c%-7" PRIu32 " ",
                rec->process, rec->thread, rec->claim);
    fprintf(out, "%s%s%s", verbs[rec->verb], rec->verb != 0 ? " " : "",
            saws[rec->saw]);
    print_detail(out, rec);
    fputc('\n', out);
}

/* ---- what happened around it ------------------------------------------- */

static bool shown(const hf_record *rec, const hf_finding *f, int64_t zero) {
    return (rec->name == f->name || concerns_all(rec)) &&
           rec->at >= zero - AROUND_NS && rec->at <= zero + AROUND_NS;
}

static void print_around(FILE *out, const hf_history *h, const hf_finding *f) {
    int64_t zero = h->records[f->first].at;
    size_t from = f->first, to = from;
    for (int n = 0; from > 0 && n < LINES;) {
        if (h->records[from - 1].at < zero - AROUND_NS)
            break;
        n += shown(&h->records[--from], f, zero);
    }
    for (int n = 0; to + 1 < h->n && n < LINES;) {
        if (h->records[to + 1].at > zero + AROUND_NS)
            break;
        n += shown(&h->records[++to], f, zero);
    }
    if (f->with < from)
        print_record(out, &h->records[f->with], zero, true);
    for (size_t i = from; i <= to; i++)
        if (i == f->first || i == f->with || shown(&h->records[i], f, zero))
            print_record(out, &h->records[i], zero,
                         i == f->first || i == f->with);
    if (f->with != HF_NONE && f->with > to && f->with < h->n)
        print_record(out, &h->records[f->with], zero, true);
}

/* ---- the table --------------------------------------------------------- */

static bool is_time(int inv) {
    return inv != HF_INV_PERMITS && inv != HF_INV_LEFTOVERS;
}

static void print_row(FILE *out, int inv, const hf_finding *f, bool waived) {
    char worst[32], state[32];
    if (is_time(inv))
        duration(worst, sizeof worst, f->worst);
    else
        snprintf(worst, sizeof worst, "%" PRId64, f->worst);
    snprintf(state, sizeof state, "%s",
             f->broken == 0 ? f->checked == 0 ? "not seen" : "kept" :
             waived         ? "broken, as told" :
                              "BROKEN");
    fprintf(out, "  %-10s %10" PRIu64 " %8" PRIu64 "  %12s  %-16s %s\n",
            hf_invariant_name((hf_invariant)inv), f->checked, f->broken,
            f->worst > 0 ? worst : "-", state,
            hf_invariant_text((hf_invariant)inv));
}

static void print_counts(FILE *out, const hf_verdict *v) {
    char lasted[32], wait[32];
    fprintf(out,
            "  %" PRIu64 " grants, %" PRIu64 " refusals, %" PRIu64
            " timeouts, %" PRIu64 " in doubt, %" PRIu64 " lost; %" PRIu64
            " deaths, %" PRIu64 " pauses, %" PRIu64
            " faults; %s long, longest wait for a grant %s\n",
            v->grants, v->refusals, v->timeouts, v->doubts, v->losses,
            v->deaths, v->pauses, v->faults,
            duration(lasted, sizeof lasted, v->span),
            duration(wait, sizeof wait, v->longest_wait));
    if (v->of[HF_INV_READERS].checked > 0)
        fprintf(out, "  %" PRIu64 " readers held beside another\n",
                v->together);
    if (v->left_out > 0)
        fprintf(out,
                "  %" PRIu64 " records did not fit: what depends on them was "
                "not judged\n",
                v->left_out);
}

void hf_verdict_print(FILE *out, const hf_verdict *v, const hf_promise *promise,
                      const hf_history *h) {
    fprintf(out, "  %-10s %10s %8s  %12s\n", "invariant", "checked", "broken",
            "worst");
    for (int i = 0; i < HF_INV_N; i++)
        print_row(out, i, &v->of[i], promise->waived[i]);
    print_counts(out, v);
    for (int i = 0; i < HF_INV_N && h != NULL; i++) {
        const hf_finding *f = &v->of[i];
        if (f->broken == 0 || promise->waived[i] || f->first >= h->n)
            continue;
        fprintf(out, "\n%s: %s; name %" PRIu32 ", seconds around it:\n",
                hf_invariant_name((hf_invariant)i),
                hf_invariant_text((hf_invariant)i), f->name);
        print_around(out, h, f);
    }
}

/* ---- for machines ------------------------------------------------------ */

void hf_verdict_tsv_head(FILE *out) {
    fputs("store\tfault\tverdict\tseconds\tgrants\trefusals\ttimeouts\tdoubts\t"
          "losses\tdeaths\tpauses\tfaults\ttogether\tleft_out\tlongest_wait_ns",
          out);
    for (int i = 0; i < HF_INV_N; i++) {
        const char *name = hf_invariant_name((hf_invariant)i);
        fprintf(out, "\t%s.checked\t%s.broken\t%s.worst\t%s.waived", name, name,
                name, name);
    }
    fputc('\n', out);
}

void hf_verdict_tsv(FILE *out, const char *store, const char *fault,
                    const hf_verdict *v, const hf_promise *promise) {
    fprintf(out,
            "%s\t%s\t%s\t%.3f\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
            "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
            "\t%" PRIu64 "\t%" PRId64,
            store, fault, hf_verdict_bad(v, promise) ? "BROKEN" : "kept",
            (double)v->span / 1e9, v->grants, v->refusals, v->timeouts,
            v->doubts, v->losses, v->deaths, v->pauses, v->faults, v->together,
            v->left_out, v->longest_wait);
    for (int i = 0; i < HF_INV_N; i++)
        fprintf(out, "\t%" PRIu64 "\t%" PRIu64 "\t%" PRId64 "\t%d",
                v->of[i].checked, v->of[i].broken, v->of[i].worst,
                promise->waived[i]);
    fputc('\n', out);
}
