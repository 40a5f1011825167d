/* SPDX-License-Identifier: MIT
 *
 * row.c - the columns of `ls`.
 *
 * A column that is about somebody is about the first holder; in a row for one
 * claim about whoever made it. */
#include "row.h"

#include <inttypes.h>
#include <string.h>

#include "options.h"
#include "spell.h"
#include "text.h"

static void put_number(char to[static TABLE_CELL], int64_t n) {
    snprintf(to, TABLE_CELL, "%" PRId64, n);
}

/* A duration; -1 is none. */
static void put_span(char to[static TABLE_CELL], int64_t ms) {
    char span[24];
    table_put(to, text_span(ms, span));
}

static bool waits(const row *r) {
    return r->claim && !r->claim->holds && !r->claim->lost;
}

/* ---- the line ---------------------------------------------------------- */

const char *row_state(const row *r) {
    if (r->alone)
        return waits(r) ? "waits" : r->claim->lost ? "lost" : "held";
    return r->line->state == VIEW_LOST ? "lost" : place_state(r->line);
}

static void cell_name(const row *r, char to[static TABLE_CELL]) {
    table_put(to, r->line->name);
}

/* Who waits is marked, as lslocks does it. */
static void cell_kind(const row *r, char to[static TABLE_CELL]) {
    char marked[40];
    snprintf(marked, sizeof(marked), "%.30s%s",
             r->alone ? r->claim->kind : r->line->kind,
             r->alone && waits(r) ? "*" : "");
    table_put(to, marked);
}

static void cell_state(const row *r, char to[static TABLE_CELL]) {
    table_put(to, row_state(r));
}

static int64_t number_count(const row *r) {
    return r->line->counts ? r->line->count : INT64_MIN;
}

static void cell_count(const row *r, char to[static TABLE_CELL]) {
    table_put(to, "");
    if (r->line->counts)
        put_number(to, r->line->count);
}

static int64_t number_holders(const row *r) {
    return (int64_t)r->line->holders;
}

static void cell_holders(const row *r, char to[static TABLE_CELL]) {
    put_number(to, number_holders(r));
}

static int64_t number_waiters(const row *r) {
    return (int64_t)r->line->waiters;
}

static void cell_waiters(const row *r, char to[static TABLE_CELL]) {
    put_number(to, number_waiters(r));
}

/* ---- somebody ---------------------------------------------------------- */

/* Who is not known by a record of ours is marked. */
static void put_who(char to[static TABLE_CELL], const hf_place *p,
                    const char *more) {
    char text[TABLE_CELL];
    if (!*p->user && !*p->host)
        snprintf(text, sizeof(text), "%.300s%s%s", *p->owner ? p->owner : "?",
                 p->foreign ? " (foreign)" : "", more);
    else
        snprintf(text, sizeof(text), "%.120s@%.120s%s", p->user, p->host, more);
    table_put(to, text);
}

/* Several hold it: the first, and how many more. */
static void cell_holder(const row *r, char to[static TABLE_CELL]) {
    char more[24] = "";
    table_put(to, "");
    if (r->line->holders > 1)
        snprintf(more, sizeof(more), " +%zu", r->line->holders - 1);
    if (r->line->holder)
        put_who(to, r->line->holder, more);
}

static void cell_who(const row *r, char to[static TABLE_CELL]) {
    table_put(to, "");
    if (r->claim)
        put_who(to, r->claim, "");
}

static void cell_user(const row *r, char to[static TABLE_CELL]) {
    table_put(to, r->claim ? r->claim->user : "");
}

static void cell_host(const row *r, char to[static TABLE_CELL]) {
    table_put(to, r->claim ? r->claim->host : "");
}

static int64_t number_pid(const row *r) {
    return r->claim ? r->claim->pid : 0;
}

static void cell_pid(const row *r, char to[static TABLE_CELL]) {
    table_put(to, "");
    if (number_pid(r) > 0)
        put_number(to, number_pid(r));
}

static void cell_program(const row *r, char to[static TABLE_CELL]) {
    table_put(to, r->claim ? r->claim->program : "");
}

static void cell_why(const row *r, char to[static TABLE_CELL]) {
    table_put(to, r->claim ? r->claim->why : "");
}

static void cell_owner(const row *r, char to[static TABLE_CELL]) {
    table_put(to, r->claim ? r->claim->owner : "");
}

static void cell_client(const row *r, char to[static TABLE_CELL]) {
    table_put(to, r->claim ? r->claim->client : "");
}

static int64_t number_permits(const row *r) {
    return r->claim ? r->claim->permits : 0;
}

static void cell_permits(const row *r, char to[static TABLE_CELL]) {
    table_put(to, "");
    if (number_permits(r) > 0)
        put_number(to, number_permits(r));
}

static int64_t number_held(const row *r) {
    return r->claim && r->claim->holds ? r->claim->since_ms : -1;
}

static void cell_held(const row *r, char to[static TABLE_CELL]) {
    put_span(to, number_held(r));
}

/* Of a line: the longest wait in it. */
static int64_t number_waited(const row *r) {
    const view_line *l = r->line;
    int64_t most = -1;
    if (r->alone)
        return waits(r) ? r->claim->since_ms : -1;
    for (size_t i = l->n - l->waiters; i < l->n; i++)
        if (l->claims[i].since_ms > most)
            most = l->claims[i].since_ms;
    return most;
}

static void cell_waited(const row *r, char to[static TABLE_CELL]) {
    put_span(to, number_waited(r));
}

static int64_t number_lease(const row *r) {
    return r->claim ? r->claim->lease_ms : -1;
}

static void cell_lease(const row *r, char to[static TABLE_CELL]) {
    put_span(to, number_lease(r));
}

static int64_t number_token(const row *r) {
    return r->claim ? (int64_t)r->claim->token : 0;
}

static void cell_token(const row *r, char to[static TABLE_CELL]) {
    table_put(to, "");
    if (number_token(r) > 0)
        put_number(to, number_token(r));
}

/* HOST:PID of whoever is in the way; its owner where no more is known. */
static void cell_blocker(const row *r, char to[static TABLE_CELL]) {
    const hf_place *p =
        r->alone ? view_blocker(r->line, (size_t)(r->claim - r->line->claims)) :
                   NULL;
    char text[TABLE_CELL] = "";
    if (p && p->pid > 0)
        snprintf(text, sizeof(text), "%.120s:%" PRId64, p->host, p->pid);
    else if (p)
        snprintf(text, sizeof(text), "%.300s", p->owner);
    table_put(to, text);
}

/* ---- all of them ------------------------------------------------------- */

const row_column row_columns[] = {
    {"NAME", cell_name, NULL},
    {"KIND", cell_kind, NULL},
    {"STATE", cell_state, NULL},
    {"COUNT", cell_count, number_count},
    {"HOLDER", cell_holder, NULL},
    {"HOLDERS", cell_holders, number_holders},
    {"WHO", cell_who, NULL},
    {"USER", cell_user, NULL},
    {"HOST", cell_host, NULL},
    {"PID", cell_pid, number_pid},
    {"PROGRAM", cell_program, NULL},
    {"HELD", cell_held, number_held},
    {"LEASE", cell_lease, number_lease},
    {"WAITERS", cell_waiters, number_waiters},
    {"WAITED", cell_waited, number_waited},
    {"BLOCKER", cell_blocker, NULL},
    {"PERMITS", cell_permits, number_permits},
    {"TOKEN", cell_token, number_token},
    {"WHY", cell_why, NULL},
    {"OWNER", cell_owner, NULL},
    {"CLIENT", cell_client, NULL},
    {NULL, NULL, NULL},
};

const row_column *row_column_named(const command *cmd, const char *word) {
    const char *nearest = NULL;
    char upper[32];
    int distance = SPELL_NONE;
    size_t n = 0;
    for (; n < sizeof(upper) - 1 && word[n]; n++)
        upper[n] =
            (char)(word[n] >= 'a' && word[n] <= 'z' ? word[n] - 32 : word[n]);
    upper[n] = '\0';
    for (const row_column *c = row_columns; c->name; c++) {
        if (strcmp(c->name, upper) == 0)
            return c;
        spell_offer(upper, c->name, &nearest, &distance);
    }
    if (nearest)
        options_refuse(cmd, "unknown column '%s'; did you mean %s?", word,
                       nearest);
    options_refuse(cmd, "unknown column '%s'", word);
}
