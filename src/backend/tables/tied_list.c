/* SPDX-License-Identifier: MIT
 *
 * tied_list.c - who holds what, and who this client is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "roll.h"
#include "statements.h"
#include "tied.h"

enum { LEAVE_MS = 300 };

/* Fills in one more. */
static void also(hf_tied_fields *f, const char *key, const char *text) {
    hf_blank *at = f->blanks;

    while (at->key != NULL)
        at++;
    at[0] = (hf_blank){key, text};
    at[1] = (hf_blank){NULL, NULL};
}

/* ---- records ----------------------------------------------------------- */

static int write_record(hf_tied *s, hf_sql which, const char *doing,
                        int lease_ms, hf_time by, hf_error *err) {
    const hf_claim c = {.name = "", .lease_ms = lease_ms};
    hf_form form = {.text = NULL};
    hf_answers a = {.n = 0};
    hf_tied_fields f;
    int rc;

    hf__tied_fill_in(s, &f, &c, 0);
    also(&f, "doing", doing);
    hf__form_add(&form, s->db->ops->texts[which], f.blanks);
    rc = hf__tied_ask_form(s, &form, &a, by, err);
    hf__answers_clear(&a);
    hf__form_clear(&form);
    return rc;
}

/* As in clients.c: tables of old have no place for what it does. */
int hf__tied_announce(hf_backend *be, const char *doing, int lease_ms,
                      hf_time by, hf_error *err) {
    hf_tied *s = (hf_tied *)be;
    bool plain = atomic_load(&s->plain);
    size_t n = strlen(doing);
    char *literal = hf__malloc(2 * n + 16);
    int rc;

    if (literal == NULL)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    s->db->ops->literal(literal, doing, n);
    rc = write_record(s, plain ? HF_SQL_introduce : HF_SQL_announce, literal,
                      lease_ms, by, err);
    if (rc == HF_EFORBIDDEN && !plain) {
        rc = write_record(s, HF_SQL_introduce, literal, lease_ms, by, err);
        if (rc == HF_OK)
            atomic_store(&s->plain, true);
    }
    hf__free(literal);
    if (rc == HF_OK)
        atomic_store(&s->announced, true);
    return rc;
}

void hf__tied_take_leave(hf_tied *s) {
    hf_answers a = {.n = 0};
    hf_error unheard;
    size_t last;

    if (!atomic_load(&s->announced))
        return;
    hf__tied_ask(s, NULL, s->db->ops->texts[HF_SQL_take_leave],
                 &hf__tied_nobody, 0, &a, &last, hf__after_ms(LEAVE_MS),
                 &unheard);
    hf__answers_clear(&a);
}

static int tell_some(hf_tied *s, unsigned char last[16], hf_record_fn *fn,
                     void *arg, hf_time by, hf_error *err) {
    hf_form form = {.text = NULL};
    hf_answers a = {.n = 0};
    hf_tied_fields f;
    char limit[16];
    size_t answer;
    int rc;

    snprintf(limit, sizeof limit, "%d", HF_ROLL);
    hf__tied_fill_in(s, &f, &hf__tied_nobody, 0);
    hf__literal_of(f.client, s->db, last, 16);
    also(&f, "limit", limit);
    answer = hf__form_add(&form, s->db->ops->texts[HF_SQL_clients], f.blanks);
    rc = hf__tied_ask_form(s, &form, &a, by, err);
    if (rc == HF_OK)
        rc = hf__roll_tell(&a, answer, last, fn, arg, err);
    hf__answers_clear(&a);
    hf__form_clear(&form);
    return rc == HF_EDOUBT ? HF_EDOWN : rc;
}

int hf__tied_clients(hf_backend *be, hf_record_fn *fn, void *arg, hf_time by,
                     hf_error *err) {
    unsigned char last[16] = {0};
    int rc;

    do {
        rc = tell_some((hf_tied *)be, last, fn, arg, by, err);
        by = hf__after_ms(be->host->timeout_ms);
    } while (rc > 0);
    return rc;
}

/* ---- the list ---------------------------------------------------------- */

enum { PAGE = 500 }; /* names at a time */

enum { NAME, CLIENT, OWNER, TOKEN, AGE, KEPT, PID, HOST, PROGRAM, LOGIN, WHY };

static void tell_line(const hf_answers *a, size_t last, size_t row, bool held,
                      hf_place_fn *fn, void *arg) {
    char name[HF_NAME_MAX + 1], owner[64], client[37];
    char texts[4][HF_LITERAL_MAX + 1];
    int64_t kept = hf__cell_number(a, last, row, KEPT);

    hf__unhex(name, sizeof name, hf__cell(a, last, row, NAME));
    for (int i = 0; i < 4; i++)
        hf__unhex(texts[i], sizeof texts[i], hf__cell(a, last, row, HOST + i));
    hf__roll_id(client, hf__cell(a, last, row, CLIENT));
    snprintf(owner, sizeof owner, "%s:%llu", client,
             (unsigned long long)hf__cell_number(a, last, row, OWNER));
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

/* A page: lines tell who had the lock last, and the database whether somebody
 * has it, by a list of all that are held or by one statement for each. */
typedef struct page {
    hf_answers lines, holders;
    size_t last;   /* answer of the lines */
    int64_t *keys; /* NULL: there is no such list */
    size_t n_keys;
} page;

static void clear(page *p) {
    hf__answers_clear(&p->lines);
    hf__answers_clear(&p->holders);
    hf__free(p->keys);
}

static void read_name(const page *p, size_t row, char to[HF_NAME_MAX + 1]) {
    hf__unhex(to, HF_NAME_MAX + 1, hf__cell(&p->lines, p->last, row, NAME));
}

static int by_number(const void *a, const void *b) {
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static int read_keys(page *p, size_t answer, hf_error *err) {
    size_t n = hf__answered_rows(&p->lines, answer);

    p->keys = hf__malloc((n + 1) * sizeof *p->keys);
    if (p->keys == NULL)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    for (size_t i = 0; i < n; i++)
        p->keys[i] = hf__cell_number(&p->lines, answer, i, 0);
    p->n_keys = n;
    qsort(p->keys, n, sizeof *p->keys, by_number);
    return HF_OK;
}

/* The line of a name, or all from `from` on, some of them. */
static int ask_lines(hf_tied *s, const char *name, const char *from, page *p,
                     hf_time by, hf_error *err) {
    bool lists = name == NULL && *s->texts[HF_TIED_held] != '\0';
    const hf_claim c = {.name = name};
    hf_form form = {.text = NULL};
    hf_tied_fields f;
    size_t held = 0;
    char limit[16];
    int rc;

    snprintf(limit, sizeof limit, "%d", PAGE);
    hf__tied_fill_in(s, &f, &c, 0);
    if (name == NULL)
        hf__literal(f.name, s->db, from);
    also(&f, "limit", limit);
    p->last = hf__form_add(&form, s->texts[HF_TIED_list], f.blanks);
    if (lists)
        held = hf__form_add(&form, s->texts[HF_TIED_held], f.blanks);
    rc = hf__form_ask_any(&form, s->db, &p->lines, by, err);
    hf__form_clear(&form);
    return rc == HF_OK && lists ? read_keys(p, held, err) : rc;
}

static int ask_holders(hf_tied *s, page *p, hf_time by, hf_error *err) {
    hf_form form = {.text = NULL};
    size_t n = hf__answered_rows(&p->lines, p->last);
    int rc;

    if (n == 0 || p->keys != NULL)
        return HF_OK;
    for (size_t i = 0; i < n; i++) {
        char name[HF_NAME_MAX + 1];
        const hf_claim c = {.name = name};
        hf_tied_fields f;

        read_name(p, i, name);
        hf__form_add(&form, s->texts[HF_TIED_holder],
                     hf__tied_fill_in(s, &f, &c, 0));
    }
    rc = hf__form_ask_any(&form, s->db, &p->holders, by, err);
    hf__form_clear(&form);
    return rc;
}

static bool is_held(const hf_tied *s, const page *p, size_t row) {
    char name[HF_NAME_MAX + 1];
    int64_t key;

    if (p->keys == NULL)
        return hf__answered_rows(&p->holders, row) > 0;
    read_name(p, row, name);
    key = hf__tied_key(s, name);
    return bsearch(&key, p->keys, p->n_keys, sizeof key, by_number) != NULL;
}

/* 1: there may be more, from `from` on, which is behind the last name: no
 * control character continues that. */
static int list_page(hf_tied *s, const char *name, char from[HF_NAME_MAX + 2],
                     hf_place_fn *fn, void *arg, hf_time by, hf_error *err) {
    page p = {.keys = NULL};
    int rc = ask_lines(s, name, from, &p, by, err);
    size_t n = hf__answered_rows(&p.lines, p.last);

    if (rc == HF_OK)
        rc = ask_holders(s, &p, by, err);
    for (size_t i = 0; rc == HF_OK && i < n; i++) {
        bool held = is_held(s, &p, i);

        if (held || hf__cell_number(&p.lines, p.last, i, KEPT) > 0)
            tell_line(&p.lines, p.last, i, held, fn, arg);
    }
    if (rc == HF_OK && name == NULL && n == PAGE) {
        read_name(&p, n - 1, from);
        strcat(from, "\001");
        rc = 1;
    }
    clear(&p);
    return rc;
}

int hf__tied_list(hf_backend *be, const char *name, hf_place_fn *fn, void *arg,
                  hf_time by, hf_error *err) {
    char from[HF_NAME_MAX + 2] = "";
    int rc;

    while ((rc = list_page((hf_tied *)be, name, from, fn, arg, by, err)) == 1)
        by = hf__after_ms(be->host->timeout_ms);
    return rc == HF_DB_NO_TABLES ? HF_OK : rc == HF_EDOUBT ? HF_EDOWN : rc;
}
