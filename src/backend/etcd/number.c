/* SPDX-License-Identifier: MIT
 *
 * number.c - numbers: one key each, written only by whoever read it last.
 *
 *     holdfast 1 NUMBER             `none`: it is not set
 *     NONCE RESULT VALUE            an answer that was given lately, …
 *
 * A number that is to end has a lease of its own, and so have the answers that
 * outlive their number. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "etcd.h"
#include "status.h"

enum { VALUE_SIZE = 64 + HF_ANSWERS * 80, REMEMBER_MS = 60000 };

#define HEAD "holdfast 1 "
#define NONE "none"

/* ---- the text ---------------------------------------------------------- */

static int write_value(char *buf, const hf_number_state *state) {
    int at = state->is_set ? snprintf(buf, VALUE_SIZE, HEAD "%" PRId64 "\n",
                                      state->number) :
                             snprintf(buf, VALUE_SIZE, HEAD NONE "\n");

    for (size_t i = 0; i < state->n_answers; i++) {
        const hf_answered *a = &state->answers[i];

        for (size_t j = 0; j < sizeof a->nonce; j++)
            at += snprintf(buf + at, (size_t)(VALUE_SIZE - at), "%02x",
                           a->nonce[j]);
        at += snprintf(buf + at, (size_t)(VALUE_SIZE - at), " %d %" PRId64 "\n",
                       a->result, a->value);
    }
    return at;
}

static int hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' :
           c >= 'a' && c <= 'f' ? c - 'a' + 10 :
                                  -1;
}

/* One line of answers; false: it is none. */
static bool parse_answer(hf_answered *a, const char *line) {
    char *end;

    for (size_t i = 0; i < sizeof a->nonce; i++) {
        int high = hex(line[2 * i]);
        int low = high < 0 ? -1 : hex(line[2 * i + 1]);

        if (low < 0)
            return false;
        a->nonce[i] = (unsigned char)(high << 4 | low);
    }
    line += 2 * sizeof a->nonce;
    if (*line != ' ')
        return false;
    a->result = (int)strtol(line + 1, &end, 10);
    if (end == line + 1 || *end != ' ')
        return false;
    line = end;
    a->value = strtoll(line + 1, &end, 10);
    return end != line + 1 && *end == '\n';
}

static bool parse(hf_number_state *state, const char *text) {
    size_t head = strlen(HEAD);
    char *end;

    if (strncmp(text, HEAD, head) != 0)
        return false;
    text += head;
    state->is_set = strncmp(text, NONE "\n", strlen(NONE "\n")) != 0;
    state->number = state->is_set ? strtoll(text, &end, 10) : 0;
    if (state->is_set && (end == text || *end != '\n'))
        return false;
    state->n_answers = 0;
    while ((text = strchr(text, '\n')) && *++text) {
        if (state->n_answers == HF_ANSWERS ||
            !parse_answer(&state->answers[state->n_answers], text))
            return false;
        state->n_answers++;
    }
    return true;
}

bool hf__etcd_number_parse(hf_number_state *state, hf_bytes value) {
    char text[VALUE_SIZE];

    if (value.n >= sizeof text)
        return false;
    if (value.n)
        memcpy(text, value.at, value.n);
    text[value.n] = '\0';
    return strlen(text) == value.n && parse(state, text);
}

/* ---- leases ------------------------------------------------------------ */

int hf__lease_grant(hf_etcd *e, int ms, int64_t *lease, hf_time by,
                    hf_error *err) {
    hf_question q = {.path = HF_RPC_GRANT, .changes = true};
    hf_leased granted = {0};
    int rc;

    hf__world->random(lease, sizeof *lease);
    *lease = (*lease & INT64_MAX) | 1;
    hf__write_grant(&q.body, *lease, ((int64_t)ms + 999) / 1000);
    rc = hf__ask(&e->speaker, &q, 1, by, err);
    if (rc != HF_OK && q.repeated &&
        hf__status_says(&q.call, "lease already exists"))
        rc = HF_OK;
    else if (rc == HF_OK && !hf__read_lease(q.answer, &granted))
        rc = hf__ask_nonsense(err);
    hf__question_clear(&q);
    return rc == HF_EDOUBT ?
               hf__fail(err, HF_EDOWN, "no answer to the request for a lease") :
               rc;
}

/* How long a number has left: whole seconds, and a part of one. */
static int read_left(hf_etcd *e, int64_t lease, hf_number_state *state,
                     hf_time by, hf_error *err) {
    hf_question q = {.path = HF_RPC_LEFT};
    hf_leased left;
    int rc;

    hf__write_lease(&q.body, lease);
    rc = hf__ask(&e->speaker, &q, 1, by, err);
    if (rc == HF_EFREE)
        left.ttl = -1;
    else if (rc == HF_OK && !hf__read_lease(q.answer, &left))
        rc = hf__ask_nonsense(err);
    hf__question_clear(&q);
    if (rc != HF_OK && rc != HF_EFREE)
        return rc;
    if (left.ttl < 0)
        state->is_set = false;
    state->gone_at = hf__now() + (left.ttl + 1) * HF_SECOND;
    state->own = (uint64_t)lease;
    return HF_OK;
}

/* ---- read -------------------------------------------------------------- */

static int take_number(hf_txned *t, hf_number_state *state, int64_t *lease,
                       hf_error *err) {
    hf_ranged r;
    hf_kv kv;

    *lease = 0;
    if (!hf__next_range(t, &r))
        return hf__ask_nonsense(err);
    if (!hf__next_kv(&r, &kv))
        return HF_OK;
    if (!hf__etcd_number_parse(state, kv.value))
        return hf__fail(err, HF_ESTORE,
                        "%.*s is in use for something that is not holdfast's",
                        (int)kv.key.n, (const char *)kv.key.at);
    state->version = (uint64_t)kv.mod;
    *lease = kv.lease;
    return HF_OK;
}

static int take_leased(hf_etcd *e, const hf_line *line, hf_txned *t,
                       int64_t *leased, hf_error *err) {
    hf_lineup all = {0};
    int rc = HF_OK;

    *leased = 0;
    if (line->kind == HF_SEMAPHORE)
        rc = hf__look_read(e, line, t, false, &all, err);
    for (size_t i = 0; i < all.n; i++)
        *leased += all.all[i].permits;
    hf__lineup_clear(&all);
    return rc;
}

int hf__etcd_read(hf_port *p, const hf_line *line, hf_number_state *state,
                  int64_t *leased, hf_time by, hf_error *err) {
    hf_etcd *e = hf__etcd_of(p);
    hf_question q = {0};
    hf_folders f;
    int64_t lease = 0;
    hf_key key;
    hf_txned t;
    int rc;

    *state = (hf_number_state){.gone_at = HF_NEVER};
    hf__etcd_key_number(&key, e->prefix, line);
    hf__txn_range(&q.body, true, &(hf_range){.key = hf__etcd_key_bytes(&key)});
    hf__look_folders(e, line, &f);
    hf__look_write(&q.body, true, &f, false);
    rc = hf__ask_txn(&e->speaker, &q, &t, by, err);
    if (rc == HF_OK)
        rc = take_number(&t, state, &lease, err);
    if (rc == HF_OK)
        rc = take_leased(e, line, &t, leased, err);
    state->as_of = rc == HF_OK ? (uint64_t)t.revision : 0;
    hf__question_clear(&q);
    if (rc == HF_OK && lease && state->is_set)
        rc = read_left(e, lease, state, by, err);
    return rc;
}

/* ---- write ------------------------------------------------------------- */

/* The lease that the number is to have: none, the one it has, or a new one. */
static int find_lease(hf_etcd *e, const hf_number_state *state, hf_put *put,
                      hf_time by, hf_error *err) {
    int ms = REMEMBER_MS;

    if (state->is_set && state->gone_at == HF_NEVER)
        return HF_OK;
    put->same_lease = state->is_set && state->own;
    if (put->same_lease)
        return HF_OK;
    if (state->is_set)
        ms = hf__ms_until(state->gone_at);
    return hf__lease_grant(e, ms, &put->lease, by, err);
}

int hf__etcd_write(hf_port *p, const hf_line *line,
                   const hf_number_state *state, hf_time by, hf_error *err) {
    hf_etcd *e = hf__etcd_of(p);
    hf_question q = {.changes = true};
    char value[VALUE_SIZE];
    hf_key key;
    hf_put put = {0};
    hf_txned t;
    int rc;

    hf__etcd_key_number(&key, e->prefix, line);
    put.key = hf__etcd_key_bytes(&key);
    put.value = (hf_bytes){(uint8_t *)value, (size_t)write_value(value, state)};
    rc = find_lease(e, state, &put, by, err);
    if (rc != HF_OK)
        return rc;
    hf__txn_compare(&q.body, &(hf_compare){.target = HF_OF_MOD,
                                           .value = (int64_t)state->version,
                                           .key = put.key});
    hf__txn_put(&q.body, true, &put);
    rc = hf__ask_txn(&e->speaker, &q, &t, by, err);
    if (rc == HF_OK && !t.succeeded)
        rc = HF_BUSY;
    hf__question_clear(&q);
    return rc;
}
