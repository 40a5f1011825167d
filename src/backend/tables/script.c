/* SPDX-License-Identifier: MIT
 *
 * script.c - statements, their parameters written in, one after the other.
 *
 * What is written in is a number, NULL or a literal that the database itself
 * writes out of bytes: nothing that anybody called anything can become a part
 * of a statement.
 *
 * Most of what a statement costs PostgreSQL is that it is parsed and planned.
 * So a script can also be written as calls of statements that a session has
 * prepared: each is a name and what stands for its parameters, in the order in
 * which they first occur. */
#include "script.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../alloc.h"

static const char *const param_names[HF_N_PARAMS] = {
#define HF_X(name) #name,
    HF_SQL_PARAMS(HF_X)
#undef HF_X
};

static const bool is_bytes[HF_N_PARAMS] = {
    [HF_PARAM_name] = true,  [HF_PARAM_client] = true,
    [HF_PARAM_nonce] = true, [HF_PARAM_note] = true,
    [HF_PARAM_host] = true,  [HF_PARAM_program] = true,
    [HF_PARAM_login] = true, [HF_PARAM_why] = true,
    [HF_PARAM_doing] = true, [HF_PARAM_last] = true};

/* Sections that stand in others. */
static const struct {
    const char *name;
    hf_sql section;
} expressions[] = {
    {"now", HF_SQL_now},
    {"may", HF_SQL_may},
    {"hold_fits", HF_SQL_hold_fits},
    {"number_fits", HF_SQL_number_fits},
};

/* ---- text -------------------------------------------------------------- */

void hf__script_init(hf_script *s, const hf_database *db) {
    *s = (hf_script){.db = db};
}

void hf__script_clear(hf_script *s) {
    hf__free(s->text.words);
    hf__free(s->calls.words);
    hf__script_init(s, s->db);
}

/* Room for so many more, and a 0. */
static bool reserve(hf_script *s, hf_text *to, size_t n) {
    size_t room = to->room ? to->room : 1024;
    char *words;

    if (s->failed)
        return false;
    while (room < to->n + n + 1)
        room *= 2;
    if (room == to->room)
        return true;
    words = hf__realloc(to->words, room);
    if (!words) {
        s->failed = true;
        return false;
    }
    to->words = words;
    to->room = room;
    return true;
}

static void append(hf_script *s, hf_text *to, const char *words, size_t n) {
    if (!reserve(s, to, n))
        return;
    memcpy(to->words + to->n, words, n);
    to->n += n;
    to->words[to->n] = '\0';
}

static void append_value(hf_script *s, hf_text *to, const hf_value *v) {
    char number[24];

    switch (v->type) {
    case HF_IS_NULL:
        append(s, to, "NULL", 4);
        return;
    case HF_IS_BYTES:
        if (reserve(s, to, 2 * v->n + 16))
            to->n += s->db->ops->literal(to->words + to->n, v->bytes, v->n);
        return;
    default:
        append(s, to, number,
               (size_t)snprintf(number, sizeof number, "%" PRId64, v->number));
    }
}

/* ---- templates --------------------------------------------------------- */

/* Writes templates, with the values of parameters or with their numbers. */
typedef struct pen {
    hf_script *s;
    hf_text *to; /* NULL: only numbers them */
    const hf_params *p;
    bool numbers;
    unsigned char number[HF_N_PARAMS]; /* from 1 on; 0: did not occur yet */
    unsigned char nth[HF_N_PARAMS];    /* whose it is */
    int n;
} pen;

static void put(pen *w, const char *words, size_t n) {
    if (w->to)
        append(w->s, w->to, words, n);
}

static void put_number(pen *w, size_t i) {
    char text[24];

    if (w->number[i] == 0) {
        w->nth[w->n] = (unsigned char)i;
        w->number[i] = (unsigned char)++w->n;
    }
    put(w, text,
        (size_t)snprintf(text, sizeof text, "$%d::%s", w->number[i],
                         is_bytes[i] ? "bytea" : "bigint"));
}

static bool is(const char *word, size_t n, const char *name) {
    return strncmp(word, name, n) == 0 && name[n] == '\0';
}

static void put_param(pen *w, const char *word, size_t n) {
    for (size_t i = 0; i < HF_N_PARAMS && (w->p || w->numbers); i++)
        if (is(word, n, param_names[i])) {
            if (w->numbers)
                put_number(w, i);
            else
                append_value(w->s, w->to, &w->p->of[i]);
            return;
        }
    w->s->failed = true;
}

/* Texts end with newlines, which must not come before the semicolon. */
static const char *end_of(const char *text) {
    size_t n = strlen(text);

    while (n > 0 && text[n - 1] == '\n')
        n--;
    return text + n;
}

static void put_template(pen *w, const char *at, const char *end);

/* A word out of braces. */
static void put_word(pen *w, const char *word, size_t n) {
    const hf_database *db = w->s->db;

    if (is(word, n, "s")) {
        if (db->schema)
            put(w, db->schema, strlen(db->schema));
        return;
    }
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++)
        if (is(word, n, expressions[i].name)) {
            const char *text = db->ops->texts[expressions[i].section];

            put_template(w, text, end_of(text));
            return;
        }
    put_param(w, word, n);
}

static void put_template(pen *w, const char *at, const char *end) {
    while (at < end) {
        size_t n = strcspn(at, "{");

        if (n > (size_t)(end - at))
            n = (size_t)(end - at);
        put(w, at, n);
        at += n;
        if (at < end) {
            n = strcspn(++at, "}");
            put_word(w, at, n);
            at += n + 1;
        }
    }
}

/* ---- calls ------------------------------------------------------------- */

/* One statement of a section. */
typedef struct part {
    hf_sql section;
    int nth;
    const char *at, *end;
} part;

static part first_of(const hf_script *s, hf_sql which) {
    const char *at = s->db->ops->texts[which];

    return (part){.section = which, .at = at, .end = at + strcspn(at, ";")};
}

/* False: it was the last. */
static bool next_of(part *x) {
    if (*x->end == '\0')
        return false;
    x->at = x->end + 1 + strspn(x->end + 1, "\n");
    x->end = x->at + strcspn(x->at, ";");
    x->nth++;
    return true;
}

/* BEGIN, SET and the like are not prepared, nor is what is seldom asked. */
static bool is_called(const part *x) {
    static const char *const verbs[] = {"SELECT ", "INSERT ", "UPDATE ",
                                        "DELETE ", "WITH "};

    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strncmp(x->at, verbs[i], strlen(verbs[i])) == 0)
            return x->section >= HF_SQL_take && x->section < HF_SQL_announce;
    return false;
}

/* Names that are the same mean the same text, whoever prepared it. */
static void put_name(pen *w, const part *x) {
    char name[48];

    put(w, name,
        (size_t)snprintf(name, sizeof name, "hf_%016" PRIx64 "_%d_%d",
                         w->s->db->key, (int)x->section, x->nth));
}

static void put_call(pen *w, const part *x) {
    pen numbers = {.s = w->s, .numbers = true};

    put_template(&numbers, x->at, x->end);
    put(w, "EXECUTE ", 8);
    put_name(w, x);
    for (int i = 0; i < numbers.n; i++) {
        put(w, i == 0 ? " (" : ", ", 2);
        append_value(w->s, w->to, &w->p->of[numbers.nth[i]]);
    }
    put(w, ")", numbers.n > 0);
}

static void separate(hf_script *s, hf_text *to) {
    if (to->n > 0)
        append(s, to, ";\n", 2);
}

static void add_calls(hf_script *s, hf_sql which, const hf_params *p) {
    pen w = {.s = s, .to = &s->calls, .p = p};
    part x = first_of(s, which);

    do {
        separate(s, &s->calls);
        if (is_called(&x) && p)
            put_call(&w, &x);
        else
            put_template(&w, x.at, *x.end ? x.end : end_of(x.at));
    } while (next_of(&x));
}

void hf__script_prepare(hf_script *s) {
    hf__script_add(s, HF_SQL_calls, NULL);
    for (int i = 0; i < HF_N_SQL; i++) {
        part x = first_of(s, (hf_sql)i);

        do {
            pen w = {.s = s, .to = &s->text, .numbers = true};

            if (!is_called(&x))
                continue;
            separate(s, &s->text);
            put(&w, "PREPARE ", 8);
            put_name(&w, &x);
            put(&w, " AS ", 4);
            put_template(&w, x.at, *x.end ? x.end : end_of(x.at));
        } while (next_of(&x));
    }
}

static uint64_t hash(uint64_t h, const char *text) {
    for (; text && *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return h;
}

uint64_t hf__script_key(const hf_database *db) {
    uint64_t h = hash(UINT64_C(14695981039346656037), db->schema);

    for (int i = 0; i < HF_N_SQL; i++)
        h = hash(h, db->ops->texts[i]);
    return h;
}

/* ---- the script -------------------------------------------------------- */

size_t hf__script_add(hf_script *s, hf_sql which, const hf_params *p) {
    const char *text = s->db->ops->texts[which];
    pen w = {.s = s, .to = &s->text, .p = p};

    separate(s, &s->text);
    put_template(&w, text, end_of(text));
    if (s->db->prepare)
        add_calls(s, which, p);
    for (; *text; text++)
        s->answers += *text == ';';
    return s->answers++;
}
