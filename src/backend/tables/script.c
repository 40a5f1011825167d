/* SPDX-License-Identifier: MIT
 *
 * script.c - statements, their parameters written in, one after the other.
 *
 * What is written in is a number, NULL or a literal that the database itself
 * writes out of bytes: nothing that anybody called anything can become a part
 * of a statement. */
#include "script.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const param_names[HF_N_PARAMS] = {
#define HF_X(name) #name,
    HF_SQL_PARAMS(HF_X)
#undef HF_X
};

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

void hf__script_init(hf_script *s, const hf_database *db) {
    *s = (hf_script){.db = db};
}

void hf__script_clear(hf_script *s) {
    free(s->text);
    hf__script_init(s, s->db);
}

/* Room for so many more, and a 0. */
static bool reserve(hf_script *s, size_t n) {
    size_t room = s->room ? s->room : 1024;
    char *text;

    if (s->failed)
        return false;
    while (room < s->n + n + 1)
        room *= 2;
    if (room == s->room)
        return true;
    text = realloc(s->text, room);
    if (!text) {
        s->failed = true;
        return false;
    }
    s->text = text;
    s->room = room;
    return true;
}

static void append(hf_script *s, const char *text, size_t n) {
    if (!reserve(s, n))
        return;
    memcpy(s->text + s->n, text, n);
    s->n += n;
    s->text[s->n] = '\0';
}

static void append_value(hf_script *s, const hf_value *v) {
    char number[24];

    switch (v->type) {
    case HF_IS_NULL:
        append(s, "NULL", 4);
        return;
    case HF_IS_BYTES:
        if (reserve(s, 2 * v->n + 16))
            s->n += s->db->ops->literal(s->text + s->n, v->bytes, v->n);
        return;
    default:
        append(s, number,
               (size_t)snprintf(number, sizeof number, "%" PRId64, v->number));
    }
}

static bool is(const char *word, size_t n, const char *name) {
    return strncmp(word, name, n) == 0 && name[n] == '\0';
}

static void append_section(hf_script *s, hf_sql which, const hf_params *p);

/* A word out of braces. */
static void append_word(hf_script *s, const char *word, size_t n,
                        const hf_params *p) {
    if (is(word, n, "s")) {
        if (s->db->schema)
            append(s, s->db->schema, strlen(s->db->schema));
        return;
    }
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++)
        if (is(word, n, expressions[i].name)) {
            append_section(s, expressions[i].section, p);
            return;
        }
    for (size_t i = 0; p && i < HF_N_PARAMS; i++)
        if (is(word, n, param_names[i])) {
            append_value(s, &p->of[i]);
            return;
        }
    s->failed = true;
}

/* Texts end with newlines, which must not come before the semicolon. */
static size_t trimmed(const char *text) {
    size_t n = strlen(text);

    while (n > 0 && text[n - 1] == '\n')
        n--;
    return n;
}

static void append_section(hf_script *s, hf_sql which, const hf_params *p) {
    const char *at = s->db->ops->texts[which], *end = at + trimmed(at);

    while (at < end) {
        size_t plain = strcspn(at, "{;");

        if (at + plain > end)
            plain = (size_t)(end - at);
        append(s, at, plain);
        at += plain;
        if (at < end && *at == ';') {
            s->answers++;
            append(s, at++, 1);
        } else if (at < end) {
            size_t n = strcspn(++at, "}");

            append_word(s, at, n, p);
            at += n + 1;
        }
    }
}

size_t hf__script_add(hf_script *s, hf_sql which, const hf_params *p) {
    if (s->n > 0)
        append(s, ";\n", 2);
    append_section(s, which, p);
    return s->answers++;
}
