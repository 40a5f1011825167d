/* SPDX-License-Identifier: MIT
 *
 * tied_list.c - who holds what, and who this client is. */
#include <stdio.h>

#include "statements.h"
#include "tied.h"

int hf__tied_announce(hf_backend *be, const char *doing, int lease_ms,
                      hf_time by, hf_error *err) {
    hf_tied *s = (hf_tied *)be;
    const hf_claim c = {.name = "", .lease_ms = lease_ms};
    hf_answers a = {.n = 0};
    size_t last;
    int rc = hf__tied_ask_tables(s, s->db->ops->texts[HF_SQL_announce], &c, &a,
                                 &last, by, err);

    (void)doing;
    hf__answers_clear(&a);
    return rc;
}

enum { NAME, CLIENT, OWNER, TOKEN, AGE, KEPT, PID, HOST, PROGRAM, LOGIN, WHY };

/* 8-4-4-4-12, out of 32 digits. */
static void write_owner(char *to, size_t size, const char *client,
                        int64_t owner) {
    char low[33];
    size_t n = 0;

    for (; n < 32 && client[n]; n++)
        low[n] = (char)(client[n] >= 'A' && client[n] <= 'F' ? client[n] + 32 :
                                                               client[n]);
    low[n] = 0;
    snprintf(to, size, "%.8s-%.4s-%.4s-%.4s-%s:%llu", low, n > 8 ? low + 8 : "",
             n > 12 ? low + 12 : "", n > 16 ? low + 16 : "",
             n > 20 ? low + 20 : "", (unsigned long long)owner);
}

static void tell_line(const hf_answers *a, size_t last, size_t row, bool held,
                      hf_place_fn *fn, void *arg) {
    char name[HF_NAME_MAX + 1], owner[64], texts[4][HF_LITERAL_MAX + 1];
    int64_t kept = hf__cell_number(a, last, row, KEPT);

    hf__unhex(name, sizeof name, hf__cell(a, last, row, NAME));
    for (int i = 0; i < 4; i++)
        hf__unhex(texts[i], sizeof texts[i], hf__cell(a, last, row, HOST + i));
    write_owner(owner, sizeof owner, hf__cell(a, last, row, CLIENT),
                hf__cell_number(a, last, row, OWNER));
    fn(arg, &(hf_place){
                .name = name,
                .kind = "lock",
                .owner = owner,
                .holds = true,
                .token = (uint64_t)hf__cell_number(a, last, row, TOKEN),
                .lease_ms = held ? -1 : (kept + 999) / 1000,
                .since_ms = hf__cell_number(a, last, row, AGE) / 1000,
                .host = texts[0],
                .program = texts[1],
                .user = texts[2],
                .why = texts[3],
                .pid = hf__cell_number(a, last, row, PID),
            });
}

/* Lines tell who had the lock last, and the database whether somebody has it:
 * one statement for each line, in one script. */
static int ask_holders(hf_tied *s, const hf_answers *lines, size_t last,
                       hf_answers *ret, hf_time by, hf_error *err) {
    hf_form form = {.text = NULL};
    size_t n = hf__answered_rows(lines, last);
    int rc;

    for (size_t i = 0; i < n; i++) {
        char name[HF_NAME_MAX + 1];
        const hf_claim c = {.name = name};
        hf_tied_fields f;

        hf__unhex(name, sizeof name, hf__cell(lines, last, i, NAME));
        hf__form_add(&form, s->texts[HF_TIED_holder],
                     hf__tied_fill_in(s, &f, &c, 0));
    }
    rc = n > 0 ? hf__form_ask_any(&form, s->db, ret, by, err) : HF_OK;
    hf__form_clear(&form);
    return rc;
}

int hf__tied_list(hf_backend *be, const char *name, hf_place_fn *fn, void *arg,
                  hf_time by, hf_error *err) {
    hf_tied *s = (hf_tied *)be;
    const hf_claim c = {.name = name};
    hf_answers lines = {.n = 0}, holders = {.n = 0};
    size_t last;
    int rc = hf__tied_ask(s, NULL, s->texts[HF_TIED_list], &c, 0, &lines, &last,
                          by, err);

    if (rc == HF_OK)
        rc = ask_holders(s, &lines, last, &holders, by, err);
    for (size_t i = 0; rc == HF_OK && i < hf__answered_rows(&lines, last);
         i++) {
        bool held = hf__answered_rows(&holders, i) > 0;

        if (held || hf__cell_number(&lines, last, i, KEPT) > 0)
            tell_line(&lines, last, i, held, fn, arg);
    }
    hf__answers_clear(&lines);
    hf__answers_clear(&holders);
    return rc == HF_DB_NO_TABLES ? HF_OK : rc == HF_EDOUBT ? HF_EDOWN : rc;
}
