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

typedef void cell_fn(const place_line *l, char cell[static CELL]);

static void put(char *cell, const char *text) {
    text_clean(*text ? text : "-", cell, CELL);
}

static void cell_name(const place_line *l, char cell[static CELL]) {
    put(cell, l->all->items[l->from].seen.name);
}

static void cell_kind(const place_line *l, char cell[static CELL]) {
    put(cell, l->kind);
}

static void cell_state(const place_line *l, char cell[static CELL]) {
    put(cell, l->state);
}

static void cell_count(const place_line *l, char cell[static CELL]) {
    put(cell, "");
    if (l->count)
        snprintf(cell, CELL, "%" PRId64, l->count->count);
}

/* Several hold it: the first, and how many more. */
static void cell_holder(const place_line *l, char cell[static CELL]) {
    char text[CELL], more[24] = "";
    const hf_place *p = l->holder;
    if (l->holders > 1)
        snprintf(more, sizeof(more), " +%zu", l->holders - 1);
    if (!p)
        text[0] = '\0';
    else if (!*p->user && !*p->host)
        snprintf(text, sizeof(text), "%.250s%s", p->owner, more);
    else
        snprintf(text, sizeof(text), "%.120s@%.120s%s", p->user, p->host, more);
    put(cell, text);
}

static void cell_holders(const place_line *l, char cell[static CELL]) {
    snprintf(cell, CELL, "%zu", l->holders);
}

static void cell_user(const place_line *l, char cell[static CELL]) {
    put(cell, l->holder ? l->holder->user : "");
}

static void cell_host(const place_line *l, char cell[static CELL]) {
    put(cell, l->holder ? l->holder->host : "");
}

static void cell_pid(const place_line *l, char cell[static CELL]) {
    put(cell, "");
    if (l->holder && l->holder->pid > 0)
        snprintf(cell, CELL, "%" PRId64, l->holder->pid);
}

static void cell_program(const place_line *l, char cell[static CELL]) {
    put(cell, l->holder ? l->holder->program : "");
}

static void cell_why(const place_line *l, char cell[static CELL]) {
    put(cell, l->holder ? l->holder->why : "");
}

static void cell_owner(const place_line *l, char cell[static CELL]) {
    put(cell, l->holder ? l->holder->owner : "");
}

static void cell_held(const place_line *l, char cell[static CELL]) {
    char span[24];
    put(cell, text_span(l->holder ? l->holder->since_ms : -1, span));
}

static void cell_lease(const place_line *l, char cell[static CELL]) {
    char span[24];
    put(cell, text_span(l->holder ? l->holder->lease_ms : -1, span));
}

static void cell_waiters(const place_line *l, char cell[static CELL]) {
    snprintf(cell, CELL, "%zu", l->waiters);
}

static void cell_token(const place_line *l, char cell[static CELL]) {
    put(cell, "");
    if (l->holder && l->holder->token > 0)
        snprintf(cell, CELL, "%" PRIu64, l->holder->token);
}

static const struct column {
    const char *name;
    cell_fn *fn;
} all_columns[] = {
    {"NAME", cell_name},       {"KIND", cell_kind},
    {"STATE", cell_state},     {"COUNT", cell_count},
    {"HOLDER", cell_holder},   {"HOLDERS", cell_holders},
    {"USER", cell_user},       {"HOST", cell_host},
    {"PID", cell_pid},         {"PROGRAM", cell_program},
    {"HELD", cell_held},       {"LEASE", cell_lease},
    {"WAITERS", cell_waiters}, {"TOKEN", cell_token},
    {"WHY", cell_why},         {"OWNER", cell_owner},
};
enum { ALL_COLUMNS = sizeof(all_columns) / sizeof(all_columns[0]) };

static const char default_columns[] =
    "NAME,KIND,COUNT,HOLDER,PID,PROGRAM,HELD,LEASE,WAITERS,TOKEN,WHY";

static const struct column *find_column(const command *cmd, const char *word) {
    const char *nearest = NULL;
    char upper[32];
    int distance = SPELL_NONE;
    size_t n = 0;
    for (; n < sizeof(upper) - 1 && word[n]; n++)
        upper[n] =
            (char)(word[n] >= 'a' && word[n] <= 'z' ? word[n] - 32 : word[n]);
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

static int columns_of(const char *clean) {
    int n = 0;
    for (size_t at = 0; clean[at]; n++)
        at += text_char(clean + at);
    return n;
}

static void measure(const places *all, const struct column **chosen, int n,
                    int *widths) {
    char cell[CELL];
    place_line l;
    for (size_t i = 0; i < all->n;) {
        i = places_line(all, i, &l);
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
    place_line l;
    for (int c = 0; headings && c < n; c++)
        widths[c] = (int)strlen(chosen[c]->name);
    measure(all, chosen, n, widths);
    for (int c = 0; headings && c < n; c++)
        put_cell(chosen[c]->name, widths[c], c == n - 1);
    for (size_t i = 0; i < all->n;) {
        i = places_line(all, i, &l);
        for (int c = 0; c < n; c++) {
            chosen[c]->fn(&l, cell);
            put_cell(cell, widths[c], c == n - 1);
        }
    }
}

static void print_json(const places *all, const char *store) {
    json j = {.out = stdout};
    place_line l;
    json_open(&j, NULL, '{');
    json_text(&j, "store", store);
    json_open(&j, "locks", '[');
    for (size_t i = 0; i < all->n;) {
        const char *name = all->items[i].seen.name;
        i = places_line(all, i, &l);
        json_open(&j, NULL, '{');
        place_json(&j, name, &l);
        json_close(&j, '}');
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
        "Columns: NAME KIND STATE COUNT HOLDER HOLDERS USER HOST PID PROGRAM\n"
        "HELD LEASE WAITERS TOKEN WHY OWNER.  COUNT is the number of free\n"
        "permits of a semaphore, or of what a latch still waits for.",
    .options = rows,
    .store = true,
    .run = run_ls,
};
