/* SPDX-License-Identifier: MIT
 *
 * form.c - sections, blanks, and the one way to ask. */
#include "form.h"

#include <stdlib.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"

/* ---- the text ---------------------------------------------------------- */

static void put(hf_form *f, const char *text, size_t n) {
    if (f->size + n + 1 > f->room) {
        size_t room = 2 * (f->size + n) + 512;
        char *more = hf__realloc(f->text, room);

        if (more == NULL) {
            f->failed = true;
            return;
        }
        f->text = more;
        f->room = room;
    }
    memcpy(f->text + f->size, text, n);
    f->size += n;
    f->text[f->size] = 0;
}

static const char *blank_of(const hf_blank *blanks, const char *key, size_t n) {
    for (; blanks->key != NULL; blanks++)
        if (strlen(blanks->key) == n && memcmp(blanks->key, key, n) == 0)
            return blanks->text;
    return NULL;
}

/* Blanks may have blanks, such as {now}. */
static void fill(hf_form *f, const char *section, const hf_blank *blanks) {
    const char *open;

    while ((open = strchr(section, '{')) != NULL) {
        size_t n = strcspn(open + 1, "}");
        const char *text = blank_of(blanks, open + 1, n);

        put(f, section, (size_t)(open - section));
        if (text != NULL)
            fill(f, text, blanks);
        section = open + 1 + n + (open[1 + n] != 0);
    }
    put(f, section, strlen(section));
}

size_t hf__form_add(hf_form *f, const char *section, const hf_blank *blanks) {
    if (section[0] == 0)
        return 0;
    if (f->n > 0)
        put(f, ";\n", 2);
    fill(f, section, blanks);
    f->n++;
    for (; *section; section++)
        f->n += *section == ';';
    return f->n - 1;
}

void hf__form_clear(hf_form *f) {
    hf__free(f->text);
    *f = (hf_form){.text = NULL};
}

void hf__literal_of(hf_literal to, const hf_database *d, const void *bytes,
                    size_t n) {
    d->ops->literal(to, bytes, n < HF_LITERAL_MAX ? n : HF_LITERAL_MAX);
}

void hf__literal(hf_literal to, const hf_database *d, const char *text) {
    hf__literal_of(to, d, text, strlen(text));
}

/* ---- asking ------------------------------------------------------------ */

int hf__form_ask(const hf_form *f, const hf_database *d, hf_session *s,
                 hf_answers *ret, hf_time by, hf_error *err) {
    if (f->failed)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    return d->ops->ask(s, f->text, ret, by, err);
}

static void pause_a_moment(hf_time by) {
    atomic_uint nobody = 0;

    hf__world->park(&nobody, 0,
                    hf__sooner(by, hf__now() + hf__jitter(10 * HF_MS)));
}

int hf__form_ask_any(const hf_form *f, hf_database *d, hf_answers *ret,
                     hf_time by, hf_error *err) {
    for (;;) {
        hf_session *s;
        int rc = d->ops->borrow(&s, d, by, err);

        if (rc != HF_OK)
            return rc;
        rc = hf__form_ask(f, d, s, ret, by, err);
        d->ops->give_back(s, rc == HF_EDOUBT);
        if (rc != HF_DB_AGAIN)
            return rc;
        hf__answers_clear(ret);
        if (hf__now() >= by)
            return hf__fail(err, HF_EDOWN,
                            "the database %s was too busy with others: the "
                            "statement was ended again and again",
                            d->ops->where(d));
        pause_a_moment(by);
    }
}

/* ---- answers ----------------------------------------------------------- */

const char *hf__cell(const hf_answers *a, size_t answer, size_t row,
                     int column) {
    const hf_rows *rows = answer < a->n ? &a->all[answer] : NULL;
    const char *cell;

    if (rows == NULL || row >= rows->n || column >= rows->columns)
        return "";
    cell = rows->cells[row * (size_t)rows->columns + (size_t)column];
    return cell != NULL ? cell : "";
}

int64_t hf__cell_number(const hf_answers *a, size_t answer, size_t row,
                        int column) {
    return strtoll(hf__cell(a, answer, row, column), NULL, 10);
}

size_t hf__answered_rows(const hf_answers *a, size_t answer) {
    return answer < a->n ? a->all[answer].n : 0;
}

static int digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

size_t hf__unhex(char *to, size_t size, const char *hex) {
    size_t n = 0;

    for (; n + 1 < size && digit(hex[0]) >= 0 && digit(hex[1]) >= 0; hex += 2)
        to[n++] = (char)(digit(hex[0]) << 4 | digit(hex[1]));
    to[n] = 0;
    return n;
}
