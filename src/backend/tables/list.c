/* SPDX-License-Identifier: MIT
 *
 * list.c - who holds, who waits, and how much is left. */
#include <stdio.h>
#include <stdlib.h>

#include "../../err.h"
#include "store.h"

/* Columns of the statement. */
enum {
    RANK,
    NAME,
    KIND,
    CLIENT,
    OWNER,
    ASKED,
    PERMITS,
    NONCE,
    TOKEN,
    ENDS,
    AGE,
    NUMBER,
    PLACE,
    PID,
    HOST,
    PROGRAM,
    LOGIN,
    WHY,
    COLUMNS
};

enum { IS_NUMBER, HOLDS }; /* ranks; the last is to wait */

/* A place, and the room its texts need. */
typedef struct shown {
    hf_place of;
    char name[HF_NAME_MAX + 1], owner[64];
    char host[65], program[65], login[33], why[129];
} shown;

static bool is_null(const hf_rows *rows, size_t i, int column) {
    return !rows->cells[i * (size_t)rows->columns + (size_t)column];
}

static void read_text(const hf_rows *rows, size_t i, int column, char *to,
                      size_t size) {
    to[hf__tables_bytes(rows, i, column, to, size - 1)] = '\0';
}

static void read_who(const hf_rows *rows, size_t i, hf_kind asked, shown *ret) {
    unsigned char client[HF_ID] = {0}, nonce[16] = {0};

    hf__tables_bytes(rows, i, CLIENT, client, sizeof client);
    hf__tables_bytes(rows, i, NONCE, nonce, sizeof nonce);
    hf__tables_owner(client, asked, (uint64_t)hf__tables_number(rows, i, OWNER),
                     nonce, ret->owner, sizeof ret->owner);
    read_text(rows, i, HOST, ret->host, sizeof ret->host);
    read_text(rows, i, PROGRAM, ret->program, sizeof ret->program);
    read_text(rows, i, LOGIN, ret->login, sizeof ret->login);
    read_text(rows, i, WHY, ret->why, sizeof ret->why);
    ret->of.pid = hf__tables_number(rows, i, PID);
}

static void read_place(const hf_rows *rows, size_t i, shown *ret) {
    static const char *const words[HF_KINDS] = {
        [HF_LOCK] = "lock",     [HF_SIMPLE] = "simple",
        [HF_FAIR] = "fair",     [HF_SPIN] = "lock",
        [HF_READ] = "read",     [HF_WRITE] = "write",
        [HF_PERMIT] = "permit", [HF_SEMAPHORE] = "semaphore",
        [HF_LATCH] = "latch",
    };
    unsigned asked = (unsigned)hf__tables_number(rows, i, ASKED) % HF_KINDS;
    int64_t rank = hf__tables_number(rows, i, RANK);

    memset(ret, 0, sizeof *ret);
    read_text(rows, i, NAME, ret->name, sizeof ret->name);
    ret->of = (hf_place){.name = ret->name,
                         .kind = words[asked],
                         .owner = ret->owner,
                         .holds = rank == HOLDS,
                         .token = (uint64_t)hf__tables_number(rows, i, TOKEN),
                         .lease_ms = -1,
                         .since_ms = -1,
                         .host = ret->host,
                         .program = ret->program,
                         .user = ret->login,
                         .why = ret->why,
                         .count = hf__tables_number(rows, i, NUMBER)};
    if (!is_null(rows, i, ENDS))
        ret->of.lease_ms = (hf__tables_number(rows, i, ENDS) + 999) / 1000;
    if (!is_null(rows, i, AGE))
        ret->of.since_ms = hf__tables_number(rows, i, AGE) / 1000;
    if (asked == HF_PERMIT)
        ret->of.permits = (int)hf__tables_number(rows, i, PERMITS);
    if (rank != IS_NUMBER)
        read_who(rows, i, (hf_kind)asked, ret);
}

/* Who takes permits or waits for a latch has no place that anybody would see:
 * it stands in nobody's way. */
static bool is_shown(const hf_rows *rows, size_t i) {
    int64_t asked = hf__tables_number(rows, i, ASKED);

    return hf__tables_number(rows, i, RANK) <= HOLDS ||
           (asked != HF_SEMAPHORE && asked != HF_LATCH);
}

static bool same_line(const hf_rows *rows, size_t i, size_t j) {
    const char *a = rows->cells[i * (size_t)rows->columns + NAME];
    const char *b = rows->cells[j * (size_t)rows->columns + NAME];

    return a && b && strcmp(a, b) == 0 &&
           hf__tables_number(rows, i, KIND) == hf__tables_number(rows, j, KIND);
}

/* A number is told without what is leased out of it. */
static int64_t leased_out(const hf_rows *rows, size_t at) {
    int64_t n = 0;

    for (size_t i = at + 1; i < rows->n && same_line(rows, at, i); i++)
        if (hf__tables_number(rows, i, RANK) == HOLDS)
            n += hf__tables_number(rows, i, PERMITS);
    return n;
}

static void tell_all(const hf_rows *rows, hf_place_fn *fn, void *arg) {
    shown place;

    for (size_t i = 0; i < rows->n; i++) {
        if (!is_shown(rows, i))
            continue;
        read_place(rows, i, &place);
        if (hf__tables_number(rows, i, RANK) == IS_NUMBER)
            place.of.count -= leased_out(rows, i);
        fn(arg, &place.of);
    }
}

int hf__tables_list(hf_backend *be, const char *name, hf_place_fn *fn,
                    void *arg, hf_time by, hf_error *err) {
    hf_tables *t = (hf_tables *)be;
    const hf_claim from = {.name = name ? name : ""};
    hf_answers a = {0};
    hf_params p;
    hf_script s;
    int rc;

    hf__tables_params(&p, t, &from);
    hf_set(&p, all, name == NULL);
    hf__script_init(&s, t->db);
    hf__script_add(&s, HF_SQL_list, &p);
    rc = hf__tables_ask(t, &s, &a, by, err);
    if (rc == HF_EDOUBT)
        rc = hf__fail(err, HF_EDOWN, "the database did not answer in time");
    if (rc == HF_OK && a.all[0].n > 0 && a.all[0].columns != COLUMNS)
        rc = hf__fail_plain(err, HF_ESTORE);
    if (rc == HF_OK)
        tell_all(&a.all[0], fn, arg);
    hf__answers_clear(&a);
    hf__script_clear(&s);
    return rc;
}
