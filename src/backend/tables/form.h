/* SPDX-License-Identifier: MIT
 *
 * form.h - a script out of sections whose blanks are filled in, for stores that
 * need few of them. */
#ifndef HF_TABLES_FORM_H
#define HF_TABLES_FORM_H

#include "database.h"

/* {key} in a section becomes the text, as it is.  A list of them ends with
 * a key that is NULL. */
typedef struct hf_blank {
    const char *key, *text;
} hf_blank;

typedef struct hf_form {
    char *text;
    size_t size, room;
    size_t n;    /* statements so far */
    bool failed; /* no memory: asking says so */
} hf_form;

/* Adds a section, which is one statement or several; which of the answers is
 * that of its last one.  An empty section adds nothing. */
size_t hf__form_add(hf_form *f, const char *section, const hf_blank *blanks);
void hf__form_clear(hf_form *f);

/* A literal of bytes for a blank: of at most HF_LITERAL_MAX bytes, what is more
 * is left out. */
enum { HF_LITERAL_MAX = 256 };
typedef char hf_literal[2 * HF_LITERAL_MAX + 16];
void hf__literal(hf_literal to, const hf_database *d, const char *text);
void hf__literal_of(hf_literal to, const hf_database *d, const void *bytes,
                    size_t n);

/* Asks a session for it. */
int hf__form_ask(const hf_form *f, const hf_database *d, hf_session *s,
                 hf_answers *ret, hf_time by, hf_error *err);

/* The same with any session, again where nothing was done.  HF_DB_NO_TABLES is
 * the caller's affair. */
int hf__form_ask_any(const hf_form *f, hf_database *d, hf_answers *ret,
                     hf_time by, hf_error *err);

/* The cell, "" where there is none. */
const char *hf__cell(const hf_answers *a, size_t answer, size_t row,
                     int column);
int64_t hf__cell_number(const hf_answers *a, size_t answer, size_t row,
                        int column);
size_t hf__answered_rows(const hf_answers *a, size_t answer);

/* A text out of the hexadecimal of its bytes; its length, cut to size - 1. */
size_t hf__unhex(char *to, size_t size, const char *hex);

#endif
