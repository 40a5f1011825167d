/* SPDX-License-Identifier: MIT
 *
 * ls.c - `holdfast ls`: the locks of a store, as lslocks shows files. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "options.h"
#include "place.h"
#include "place_json.h"
#include "settings.h"
#include "spell.h"
#include "status.h"
#include "text.h"

typedef struct ls_options {
    settings settings;
    bool json, no_headings;
    const char *columns;
} ls_options;

#define AT(field) offsetof(ls_options, field)
static const option_row rows[] = {
    {'J', "json", NULL, OPTION_FLAG, AT(json), "print an object of JSON"},
    {'n', "noheadings", NULL, OPTION_FLAG, AT(no_headings),
     "leave the headings out"},
    {'o', "output", "COLUMNS", OPTION_TEXT, AT(columns),
     "which columns, with commas between"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

/* ---- columns ----------------------------------------------------------- */

enum { CELL = 300, MOST_COLUMNS = 16 };

/* One lock: its claims [from, end) and, among them, who holds. */
typedef struct line {
    const hf_place *first, *holder; /* holder may be NULL */
    size_t waiters;
} line;

typedef void cell_fn(const line *l, char cell[static CELL]);

static void put(char *cell, const char *text) {
    text_clean(*text ? text : "-", cell, CELL);
}

static void cell_name(const line *l, char cell[static CELL]) {
    put(cell, l->first->name);
}

static void cell_kind(const line *l, char cell[static CELL]) {
    put(cell, l->first->kind);
}

static void cell_state(const line *l, char cell[static CELL]) {
    put(cell, l->holder ? "held" : "free");
}

static void cell_holder(const line *l, char cell[static CELL]) {
    char text[CELL];
    const hf_place *p = l->holder;
    if (!p)
        put(cell, "");
    else if (!*p->user && !*p->host)
        put(cell, p->owner);
    else {
        snprintf(text, sizeof(text), "%s@%s", p->user, p->host);
        put(cell, text);
    }
}

static void cell_user(const line *l, char cell[static CELL]) {
    put(cell, l->holder ? l->holder->user : "");
}

static void cell_host(const line *l, char cell[static CELL]) {
    put(cell, l->holder ? l->holder->host : "");
}

static void cell_pid(const line *l, char cell[static CELL]) {
    put(cell, "");
    if (l->holder && l->holder->pid > 0)
        snprintf(cell, CELL, "%" PRId64, l->holder->pid);
}

static void cell_program(const line *l, char cell[static CELL]) {
    put(cell, l->holder ? l->holder->program : "");
}

static void cell_why(const line *l, char cell[static CELL]) {
    put(cell, l->holder ? l->holder->why : "");
}

static void cell_owner(const line *l, char cell[static CELL]) {
    put(cell, l->holder ? l->holder->owner : "");
}

static void cell_held(const line *l, char cell[static CELL]) {
    char span[24];
    put(cell, text_span(l->holder ? l->holder->since_ms : -1, span));
}

static void cell_lease(const line *l, char cell[static CELL]) {
    char span[24];
    put(cell, text_span(l->holder ? l->holder->lease_ms : -1, span));
}

static void cell_waiters(const line *l, char cell[static CELL]) {
    snprintf(cell, CELL, "%zu", l->waiters);
}

static void cell_token(const line *l, char cell[static CELL]) {
    put(cell, "");
    if (l->holder && l->holder->token > 0)
        snprintf(cell, CELL, "%" PRIu64, l->holder->token);
}

static const struct column {
    const char *name;
    cell_fn *fn;
} all_columns[] = {
    {"NAME", cell_name},     {"KIND", cell_kind},       {"STATE", cell_state},
    {"HOLDER", cell_holder}, {"USER", cell_user},       {"HOST", cell_host},
    {"PID", cell_pid},       {"PROGRAM", cell_program}, {"HELD", cell_held},
    {"LEASE", cell_lease},   {"WAITERS", cell_waiters}, {"TOKEN", cell_token},
    {"WHY", cell_why},       {"OWNER", cell_owner},
};
enum { ALL_COLUMNS = sizeof(all_columns) / sizeof(all_columns[0]) };

static const char default_columns[] =
    "NAME,KIND,HOLDER,PID,PROGRAM,HELD,LEASE,WAITERS,TOKEN,WHY";

static const struct column *find_column(const command *cmd, const char *word) {
    const char *nearest = NULL;
    char upper[32];
    int distance = SPELL_NONE;
    size_t n = 0;
    for (; word[n] && n < sizeof(upper) - 1; n++)
        upper[n] =
            word[n] >= 'a' && word[n] <= 'z' ? (char)(word[n] - 32) : word[n];
    upper[n] = '\0';
    for (int i = 0; i < ALL_COLUMNS; i++) {
        if (strcmp(all_columns[i].name, upper) == 0)
            return &all_columns[i];
        spell_offer(upper, all_columns[i].name, &nearest, &distance);
    }
    if (nearest)
        options_refuse(cmd, "unknown column '%s'; did you mean %s?", word,
                       nearest);
    options_refuse(cmd, "unknown column '%s'", word);
}

static int choose(const command *cmd, const char *list,
                  const struct column *chosen[static MOST_COLUMNS]) {
    char *copy = strdup(list), *rest = copy, *word;
    int n = 0;
    while (copy && (word = strsep(&rest, ",")) != NULL) {
        if (n == MOST_COLUMNS)
            options_refuse(cmd, "no more than %d columns", MOST_COLUMNS);
        chosen[n++] = find_column(cmd, word);
    }
    free(copy);
    return n;
}

/* ---- the table --------------------------------------------------------- */

static size_t line_at(const places *all, size_t i, line *l) {
    size_t end = places_next_name(all, i);
    l->first = &all->items[i].seen;
    l->holder = places_holder(all, i, end);
    l->waiters = 0;
    for (; i < end; i++)
        l->waiters += !all->items[i].seen.holds;
    return end;
}

static int columns_of(const char *clean) {
    int n = 0;
    for (size_t at = 0; clean[at]; n++)
        at += text_char(clean + at);
    return n;
}

static void measure(const places *all, const struct column **chosen, int n,
                    int *widths) {
    char cell[CELL];
    line l;
    for (size_t i = 0; i < all->n;) {
        i = line_at(all, i, &l);
        for (int c = 0; c < n; c++) {
            chosen[c]->fn(&l, cell);
            if (columns_of(cell) > widths[c])
                widths[c] = columns_of(cell);
        }
    }
}

static void put_cell(const char *cell, int width, bool last) {
    printf("%s%*s", cell, last ? 0 : width - columns_of(cell) + 2, "");
    if (last)
        putchar('\n');
}

static void print_table(const places *all, const struct column **chosen, int n,
                        bool headings) {
    int widths[MOST_COLUMNS] = {0};
    char cell[CELL];
    line l;
    for (int c = 0; headings && c < n; c++)
        widths[c] = (int)strlen(chosen[c]->name);
    measure(all, chosen, n, widths);
    for (int c = 0; headings && c < n; c++)
        put_cell(chosen[c]->name, widths[c], c == n - 1);
    for (size_t i = 0; i < all->n;) {
        i = line_at(all, i, &l);
        for (int c = 0; c < n; c++) {
            chosen[c]->fn(&l, cell);
            put_cell(cell, widths[c], c == n - 1);
        }
    }
}

static void print_json(const places *all, const char *store) {
    json j = {.out = stdout};
    json_open(&j, NULL, '{');
    json_text(&j, "store", store);
    json_open(&j, "locks", '[');
    for (size_t i = 0; i < all->n;) {
        size_t end = places_next_name(all, i);
        json_open(&j, NULL, '{');
        place_json(&j, all->items[i].seen.name, all, i, end);
        json_close(&j, '}');
        i = end;
    }
    json_close(&j, ']');
    json_close(&j, '}');
    putchar('\n');
}

/* The store is named on stderr, so that the table stays a table: two users
 * who think they share a lock see here that they do not. */
static int list(hf_client *client, const ls_options *o,
                const struct column **chosen, int n) {
    hf_error err = {0};
    places all;
    int status = 0;
    if (places_list(&all, client, NULL, &err) != HF_OK) {
        status = status_fail(&err);
    } else if (o->json) {
        print_json(&all, hf_store(client));
    } else {
        if (!o->settings.verbose && !o->no_headings)
            complain("store %s", hf_store(client));
        print_table(&all, chosen, n, !o->no_headings);
    }
    places_free(&all);
    return status != 0 || fflush(stdout) == 0 ? status : EXIT_SOFTWARE;
}

static int run_ls(const command *cmd, int argc, char **argv) {
    static ls_options o;
    const struct column *chosen[MOST_COLUMNS];
    hf_client *client = NULL;
    int n, status;
    if (options_read(cmd, &o, NULL, argc, argv) < argc)
        options_refuse(cmd, "it takes no names; 'holdfast show NAME' does");
    n = choose(cmd, o.columns ? o.columns : default_columns, chosen);
    status = settings_connect(&client, &o.settings);
    if (status == 0)
        status = list(client, &o, chosen, n);
    hf_close(client);
    return status;
}

const command ls_command = {
    .name = "ls",
    .operands = "",
    .summary = "List the locks of the store.",
    .about =
        "Columns: NAME KIND STATE HOLDER USER HOST PID PROGRAM HELD LEASE\n"
        "WAITERS TOKEN WHY OWNER.",
    .options = rows,
    .store = true,
    .run = run_ls,
};
