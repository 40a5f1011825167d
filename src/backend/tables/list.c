/* SPDX-License-Identifier: MIT
 *
 * list.c - who holds, who waits, and how much is left.
 *
 * All names are asked for in pages, so that neither the database nor the memory
 * has to bear with many; the lines in a page are whole.  Where a page ends is
 * asked for together with the page before it. */
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

enum { PAGE = 2000 }; /* rows, most of which may be of free names */

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

/* Names from one to another. */
typedef struct page {
    char from[HF_NAME_MAX + 2], to[HF_NAME_MAX + 2];
    bool last; /* it goes to the end of all names */
} page;

/* The next begins behind a name, which no control character continues. */
static void turn_over(page *p) {
    size_t n = strnlen(p->to, HF_NAME_MAX);

    memcpy(p->from, p->to, n);
    p->from[n] = '\001';
    p->from[n + 1] = '\0';
}

/* False: names end here, or are no names of ours. */
static bool read_edge(const hf_rows *rows, page *p) {
    if (rows->n == 0 || is_null(rows, 0, 0))
        return false;
    read_text(rows, 0, 0, p->to, sizeof p->to - 1);
    return strcmp(p->to, p->from) >= 0;
}

static void add_edge(hf_script *s, const hf_params *p, const char *from) {
    hf_params of = *p;

    hf_set_bytes(&of, name, from, strlen(from));
    hf_set(&of, limit, PAGE);
    hf__script_add(s, HF_SQL_edge, &of);
}

static int ask(hf_tables *t, const hf_script *s, hf_answers *ret, hf_time by,
               hf_error *err) {
    int rc = hf__tables_ask(t, s, ret, by, err);

    return rc == HF_EDOUBT ?
               hf__fail(err, HF_EDOWN, "the database did not answer in time") :
               rc;
}

/* Where the first page ends. */
static int open_book(hf_tables *t, page *p, hf_time by, hf_error *err) {
    const hf_claim none = {.name = ""};
    hf_answers a = {0};
    hf_params params;
    hf_script s;
    int rc;

    hf__tables_params(&params, t, &none);
    hf__script_init(&s, t->db);
    add_edge(&s, &params, "");
    rc = ask(t, &s, &a, by, err);
    p->last = rc == HF_OK && !read_edge(&a.all[0], p);
    hf__answers_clear(&a);
    hf__script_clear(&s);
    return rc;
}

/* Tells of a page, and looks where the next one ends, if there is to be one:
 * 1, and *p is the next; 0, there is none; or an error. */
static int list_page(hf_tables *t, page *p, bool more, hf_place_fn *fn,
                     void *arg, hf_time by, hf_error *err) {
    hf_claim from = {.name = p->from};
    hf_answers a = {0};
    hf_params params;
    hf_script s;
    int rc;

    hf__tables_params(&params, t, &from);
    hf_set(&params, all, p->last);
    hf_set_bytes(&params, last, p->to, strlen(p->to));
    hf__script_init(&s, t->db);
    hf__script_add(&s, HF_SQL_list, &params);
    turn_over(p);
    if (more)
        add_edge(&s, &params, p->from);
    rc = ask(t, &s, &a, by, err);
    if (rc == HF_OK && a.all[0].n > 0 && a.all[0].columns != COLUMNS)
        rc = hf__fail_plain(err, HF_ESTORE);
    if (rc == HF_OK) {
        tell_all(&a.all[0], fn, arg);
        p->last = more && !read_edge(&a.all[1], p);
        rc = more;
    }
    hf__answers_clear(&a);
    hf__script_clear(&s);
    return rc;
}

int hf__tables_list(hf_backend *be, const char *name, hf_place_fn *fn,
                    void *arg, hf_time by, hf_error *err) {
    hf_tables *t = (hf_tables *)be;
    page p = {.last = false};
    int rc;

    if (name) {
        snprintf(p.from, sizeof p.from, "%s", name);
        snprintf(p.to, sizeof p.to, "%s", name);
        return list_page(t, &p, false, fn, arg, by, err);
    }
    rc = open_book(t, &p, by, err);
    if (rc != HF_OK)
        return rc;
    while ((rc = list_page(t, &p, !p.last, fn, arg, by, err)) > 0)
        by = hf__after_ms(be->host->timeout_ms);
    return rc;
}
