/* SPDX-License-Identifier: MIT
 *
 * ask.c - one script, one answer; and what to do about failures that pass. */
#include <errno.h>
#include <stdlib.h>

#include "../../alloc.h"
#include "../../err.h"
#include "store.h"

#define PAUSE (10 * HF_MS) /* before a transaction that failed is tried again */

void hf__tables_params(hf_params *p, const hf_tables *t, const hf_claim *c) {
    memset(p, 0, sizeof *p);
    hf_set_bytes(p, name, c->name, strlen(c->name));
    hf_set(p, kind, hf__tables_line_of(c->kind));
    hf_set_bytes(p, client, t->client, HF_ID);
    hf_set(p, owner, c->owner);
    hf_set(p, asked, c->kind);
    hf_set(p, permits, hf__mode(c->kind) == HF_PERMITS ? c->permits : 0);
    hf_set_bytes(p, nonce, c->nonce, sizeof c->nonce);
    hf_set(p, fifo, hf__tables_is_fifo(c));
    hf_set(p, lease, c->lease_ms * HF_US_OF_MS);
    hf_set(p, block, c->block > 1 && c->kind == HF_LOCK ? c->block : 1);
    hf_set(p, beside, c->beside);
    hf_set(p, limit, hf__tables_is_lock(c->kind) ? HF_FIRST : INT32_MAX);
}

bool hf__tables_knows(const hf_tables *t, hf_sql which) {
    return t->db->ops->texts[which][0] != '\0';
}

/* ---- answers ----------------------------------------------------------- */

void hf__answers_clear(hf_answers *a) {
    for (size_t i = 0; i < a->n; i++) {
        hf_rows *rows = &a->all[i];

        for (size_t j = 0; rows->cells && j < rows->n * (size_t)rows->columns;
             j++)
            hf__free(rows->cells[j]);
        hf__free(rows->cells);
    }
    hf__free(a->all);
    *a = (hf_answers){0};
}

static const char *cell_of(const hf_rows *rows, size_t row, int column) {
    if (row >= rows->n || column >= rows->columns)
        return NULL;
    return rows->cells[row * (size_t)rows->columns + (size_t)column];
}

int64_t hf__tables_number(const hf_rows *rows, size_t row, int column) {
    const char *text = cell_of(rows, row, column);

    return text ? strtoll(text, NULL, 10) : 0;
}

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' :
           c >= 'a' && c <= 'f' ? c - 'a' + 10 :
           c >= 'A' && c <= 'F' ? c - 'A' + 10 :
                                  -1;
}

size_t hf__tables_unhex(const char *text, void *to, size_t size) {
    unsigned char *bytes = to;
    size_t n = 0;

    for (; text && n < size; text += 2) {
        int high = digit(text[0]), low = high < 0 ? -1 : digit(text[1]);

        if (low < 0)
            break;
        bytes[n++] = (unsigned char)(high << 4 | low);
    }
    return n;
}

size_t hf__tables_bytes(const hf_rows *rows, size_t row, int column, void *to,
                        size_t size) {
    return hf__tables_unhex(cell_of(rows, row, column), to, size);
}

/* ---- asking ------------------------------------------------------------ */

static void pause_until(hf_time at) {
    while (hf__now() < at && hf__world->poll(NULL, 0, at) == 0)
        continue;
}

int hf__tables_cure(hf_tables *t, int rc, int *tries, hf_time by,
                    hf_error *err) {
    hf_time at = hf__now() + hf__jitter(PAUSE);

    ++*tries;
    if (rc == HF_DB_NO_TABLES)
        return *tries > 3 ? hf__fail(err, HF_ESTORE,
                                     "the tables were made and are not there") :
                            hf__tables_make(t, by, err);
    if (rc != HF_DB_AGAIN)
        return rc;
    if (at >= by)
        return hf__fail(err, HF_EDOWN,
                        "the database is kept busy by others: the request was "
                        "undone %d times",
                        *tries);
    if (*tries > 1) /* the first is as good as an accident */
        pause_until(at);
    return HF_OK;
}

/* What was undone leaves a session that is good, once the transaction in which
 * it failed is over. */
void hf__tables_give_back(hf_tables *t, hf_session *session, int rc) {
    hf_answers a = {0};
    bool ruined = rc < 0;
    hf_error err;
    hf_script s;

    if (rc == HF_DB_AGAIN || rc == HF_DB_NO_TABLES) {
        hf__script_init(&s, t->db);
        hf__script_add(&s, HF_SQL_rollback, NULL);
        ruined = s.failed || t->db->ops->ask(session, s.text.words, &a,
                                             hf__after_ms(500), &err) != HF_OK;
        hf__answers_clear(&a);
        hf__script_clear(&s);
    }
    t->db->ops->give_back(session, ruined);
}

int hf__tables_say(hf_tables *t, hf_session *session, const hf_script *s,
                   hf_answers *ret, hf_time by, hf_error *err) {
    const hf_database_ops *ops = t->db->ops;
    bool calls = s->calls.n > 0 && !s->failed && ops->calls(session, by);

    if (s->failed)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    return ops->ask(session, calls ? s->calls.words : s->text.words, ret, by,
                    err);
}

static int ask_once(hf_tables *t, const hf_script *s, hf_answers *ret,
                    hf_time by, hf_error *err) {
    hf_session *session = NULL;
    int rc = t->db->ops->borrow(&session, t->db, by, err);

    if (rc != HF_OK)
        return rc;
    rc = hf__tables_say(t, session, s, ret, by, err);
    if (rc == HF_OK && ret->n < s->answers)
        rc = hf__fail(err, HF_ESTORE, "%zu of %zu statements were answered",
                      ret->n, s->answers);
    hf__tables_give_back(t, session, rc);
    return rc;
}

int hf__tables_ask(hf_tables *t, const hf_script *s, hf_answers *ret,
                   hf_time by, hf_error *err) {
    int rc, tries = 0;

    if (s->failed)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    for (;;) {
        rc = ask_once(t, s, ret, by, err);
        if (rc == HF_OK)
            return HF_OK;
        hf__answers_clear(ret);
        rc = hf__tables_cure(t, rc, &tries, by, err);
        if (rc != HF_OK)
            return rc;
    }
}
