/* SPDX-License-Identifier: MIT
 *
 * ls.c - `holdfast ls`: the locks of a store, as lslocks shows files.
 *
 * A line is printed when the store has told of it, while those behind it are
 * still unknown.  Only who wants them sorted waits for all. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "../view/kind.h"
#include "command.h"
#include "options.h"
#include "place_json.h"
#include "row.h"
#include "settings.h"
#include "spell.h"
#include "status.h"
#include "text.h"

typedef struct ls_options {
    settings settings;
    bool json, no_headings, raw, waiters, held, waiting;
    const char *output, *match, *state, *host, *sort;
} ls_options;

#define AT(field) offsetof(ls_options, field)
static const option_row rows[] = {
    {'m', "match", "PATTERN", OPTION_TEXT, AT(match),
     "only names that match; the same as the operand"},
    {0, "state", "STATE", OPTION_TEXT, AT(state),
     "only what is free, held, closed, lost or waits"},
    {0, "held", NULL, OPTION_FLAG, AT(held), "only what somebody holds"},
    {0, "waiting", NULL, OPTION_FLAG, AT(waiting),
     "only what somebody waits for"},
    {0, "host", "HOST", OPTION_TEXT, AT(host),
     "only what somebody on that host holds or waits for"},
    {'W', "waiters", NULL, OPTION_FLAG, AT(waiters),
     "a row for each claim; those that wait have a *"},
    {'o', "output", "COLUMNS", OPTION_TEXT, AT(output),
     "columns with commas between; or name, wide, json, jsonl"},
    {0, "sort", "COLUMN[:desc]", OPTION_TEXT, AT(sort),
     "sort, once everything is known"},
    {'J', "json", NULL, OPTION_FLAG, AT(json), "print an object of JSON"},
    {'n', "noheadings", NULL, OPTION_FLAG, AT(no_headings),
     "leave the headings out"},
    {'r', "raw", NULL, OPTION_FLAG, AT(raw),
     "one blank between cells, and \\x20 for those in them"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

typedef enum format { TABLE, JSON, JSON_LINES } format;

/* What is listed how. */
typedef struct listing {
    const ls_options *options;
    const char *store;
    format format;
    const row_column *columns[TABLE_COLUMNS];
    const row_column *sort;
    bool descending;
    table table;
    json json;
    bool begun;
    lines line; /* that is being told                            */
    lines all;  /* if sorted: all that shall be shown            */
} listing;

/* ---- what was asked ---------------------------------------------------- */

static const char *const states[] = {"free", "held",  "closed",
                                     "lost", "waits", NULL};

static void check_state(const command *cmd, const char *state) {
    const char *nearest = NULL;
    int distance = SPELL_NONE;
    for (int i = 0; states[i]; i++) {
        if (strcmp(states[i], state) == 0)
            return;
        spell_offer(state, states[i], &nearest, &distance);
    }
    options_refuse(cmd,
                   "--state: '%s' is none of free, held, closed, lost, "
                   "waits%s%s%s",
                   state, nearest ? "; did you mean '" : "",
                   nearest ? nearest : "", nearest ? "'?" : "");
}

static void add_column(listing *l, int n, const row_column *column) {
    l->columns[n] = column;
    l->table.heads[n] = column->name;
    l->table.n = n + 1;
}

static void choose(const command *cmd, listing *l, const char *names) {
    char *copy = strdup(names), *rest = copy, *word;
    int n = 0;
    while (copy && (word = strsep(&rest, ",")) != NULL) {
        const row_column *column = row_column_named(cmd, word);
        if (n >= TABLE_COLUMNS)
            options_refuse(cmd, "no more than %d columns", TABLE_COLUMNS);
        else
            add_column(l, n++, column);
    }
    free(copy);
}

static void choose_all(listing *l) {
    for (int n = 0; row_columns[n].name; n++)
        add_column(l, n, &row_columns[n]);
}

static const char of_lines[] =
    "NAME,KIND,COUNT,HOLDER,PID,PROGRAM,HELD,LEASE,WAITERS,TOKEN,WHY";
static const char of_claims[] =
    "NAME,KIND,STATE,WHO,PID,PROGRAM,HELD,WAITED,LEASE,TOKEN,BLOCKER,WHY";

/* The formats are words in small letters, alone: NAME is a column, name is
 * kubectl's. */
static void read_output(const command *cmd, listing *l) {
    const char *output = l->options->output;
    if (!output)
        choose(cmd, l, l->options->waiters ? of_claims : of_lines);
    else if (strcmp(output, "json") == 0)
        l->format = JSON;
    else if (strcmp(output, "jsonl") == 0)
        l->format = JSON_LINES;
    else if (strcmp(output, "wide") == 0)
        choose_all(l);
    else
        choose(cmd, l, output);
    if (l->options->json)
        l->format = JSON;
    if (output && strcmp(output, "name") == 0)
        l->table.headings = false;
}

static void read_sort(const command *cmd, listing *l) {
    char name[64];
    const char *sort = l->options->sort;
    size_t n = strcspn(sort, ":");
    snprintf(name, sizeof(name), "%.*s", (int)n, sort);
    l->sort = row_column_named(cmd, name);
    l->descending = strcmp(sort + n, ":desc") == 0;
    if (sort[n] && !l->descending && strcmp(sort + n, ":asc") != 0)
        options_refuse(cmd, "--sort: '%s' is neither :asc nor :desc", sort + n);
}

static void read_command_line(const command *cmd, listing *l, ls_options *o,
                              int argc, char **argv) {
    char *pattern = NULL;
    if (options_read(cmd, o, &pattern, argc, argv) < argc ||
        (pattern && o->match))
        options_refuse(cmd, "one pattern at a time; 'holdfast show NAME' shows "
                            "a single lock");
    o->match = pattern ? pattern : o->match;
    if (o->state)
        check_state(cmd, o->state);
    l->options = o;
    l->table.headings = !o->no_headings;
    l->table.raw = o->raw;
    read_output(cmd, l);
    if (o->sort)
        read_sort(cmd, l);
    l->table.whole = l->sort != NULL;
}

/* ---- what is shown ----------------------------------------------------- */

static bool is_of_host(const hf_place *p, const char *host) {
    return !host || (p && fnmatch(host, p->host, 0) == 0);
}

static bool has_host(const view_line *line, const char *host) {
    bool found = !host;
    for (size_t i = 0; !found && i < line->n; i++)
        found = is_of_host(&line->claims[i], host);
    return found;
}

static bool line_is_shown(const ls_options *o, const view_line *line) {
    return place_matches(o->match, line->name) &&
           (!o->held || line->holders > 0) &&
           (!o->waiting || line->waiters > 0) && has_host(line, o->host);
}

static bool state_is_shown(const ls_options *o, const row *r) {
    if (!o->state)
        return true;
    if (!r->alone && strcmp(o->state, "waits") == 0)
        return r->line->waiters > 0;
    return strcmp(o->state, row_state(r)) == 0;
}

/* ---- rows -------------------------------------------------------------- */

/* The store is named on stderr, so that the table stays a table: two users
 * who think they share a lock see here that they do not. */
static void begin(listing *l) {
    if (l->begun)
        return;
    l->begun = true;
    l->json.out = stdout;
    if (l->format == JSON) {
        json_open(&l->json, NULL, '{');
        json_text(&l->json, "store", l->store);
        json_open(&l->json, "locks", '[');
    } else if (l->format == TABLE && !l->options->settings.verbose &&
               l->table.headings) {
        complain("store %s", l->store);
    }
}

static void put_json(listing *l, const view_line *line) {
    json_open(&l->json, NULL, '{');
    place_json(&l->json, line->name, place_state(line), line);
    json_close(&l->json, '}');
    if (l->format == JSON)
        return;
    putchar('\n');
    l->json.comma = false;
}

static void put_row(listing *l, const row *r) {
    static char cells[TABLE_COLUMNS][TABLE_CELL];
    begin(l);
    if (l->format != TABLE) {
        put_json(l, r->line);
        return;
    }
    for (int c = 0; c < l->table.n; c++)
        l->columns[c]->cell(r, cells[c]);
    table_row(&l->table, cells);
}

typedef void row_fn(void *arg, const row *r);

/* JSON has all claims of a line in one object. */
static void each_row(const listing *l, const view_line *line, row_fn *fn,
                     void *arg) {
    const ls_options *o = l->options;
    row r = {.line = line, .claim = line->holder};
    if (!o->waiters || l->format != TABLE) {
        if (state_is_shown(o, &r))
            fn(arg, &r);
        return;
    }
    r.alone = true;
    for (size_t i = 0; i < line->n; i++) {
        r.claim = &line->claims[i];
        if (state_is_shown(o, &r) && is_of_host(r.claim, o->host))
            fn(arg, &r);
    }
}

static void put_one(void *arg, const row *r) {
    put_row(arg, r);
}

/* ---- sorted ------------------------------------------------------------ */

typedef struct sorted {
    row *rows;
    size_t n, room;
} sorted;

static void collect_row(void *arg, const row *r) {
    sorted *s = arg;
    if (s->n < s->room)
        s->rows[s->n++] = *r;
}

static int by_column(const void *one, const void *other, void *arg) {
    const listing *l = arg;
    const row *a = one, *b = other;
    static char left[TABLE_CELL], right[TABLE_CELL];
    int order = 0;
    if (l->sort->number) {
        int64_t x = l->sort->number(a), y = l->sort->number(b);
        order = (x > y) - (x < y);
    } else {
        l->sort->cell(a, left);
        l->sort->cell(b, right);
        order = strcmp(left, right);
    }
    order = l->descending ? -order : order;
    if (order == 0)
        order = strcmp(a->line->name, b->line->name);
    return order != 0 ? order : (a->claim > b->claim) - (a->claim < b->claim);
}

/* What was collected, in that order. */
static int put_sorted(listing *l) {
    sorted s = {0};
    int rc = lines_group(&l->all);
    s.room = l->all.n + l->all.n_claims;
    s.rows = rc == HF_OK ? malloc((s.room + 1) * sizeof(*s.rows)) : NULL;
    if (!s.rows)
        return HF_ENO_MEMORY;
    for (size_t i = 0; i < l->all.n; i++)
        if (line_is_shown(l->options, &l->all.all[i]))
            each_row(l, &l->all.all[i], collect_row, &s);
    qsort_r(s.rows, s.n, sizeof(*s.rows), by_column, l);
    for (size_t i = 0; i < s.n; i++)
        put_row(l, &s.rows[i]);
    free(s.rows);
    return HF_OK;
}

/* ---- as they come ------------------------------------------------------ */

/* The line that was told of is complete. */
static int put_line(listing *l) {
    int failed = lines_group(&l->line);
    for (size_t i = 0; failed == HF_OK && i < l->line.n; i++)
        if (line_is_shown(l->options, &l->line.all[i]))
            each_row(l, &l->line.all[i], put_one, l);
    lines_clear(&l->line);
    return l->line.failed = failed; /* and so it stays */
}

static void take_place(void *arg, const hf_place *p) {
    listing *l = arg;
    if (l->sort) {
        if (place_matches(l->options->match, p->name))
            lines_add(&l->all, p);
        return;
    }
    if (l->line.failed != HF_OK)
        return;
    if (lines_continues(&l->line, p) || put_line(l) == HF_OK)
        lines_add(&l->line, p);
}

static bool end(listing *l, const hf_error *err) {
    if (err->code == HF_OK)
        begin(l);
    if (l->format == TABLE)
        return !l->begun || table_end(&l->table);
    if (l->format == JSON && l->begun) {
        json_close(&l->json, ']');
        if (err->code != HF_OK)
            json_text(&l->json, "error", err->text);
        json_close(&l->json, '}');
        putchar('\n');
    }
    return fflush(stdout) == 0;
}

static int list(hf_client *client, listing *l) {
    hf_error err = {0};
    int rc, status = 0;
    l->store = hf_store(client);
    rc = hf_list(client, NULL, take_place, l, &err);
    if (rc == HF_OK && l->sort)
        rc = put_sorted(l);
    else if (rc == HF_OK)
        rc = put_line(l);
    err.code = rc;
    if (!end(l, &err))
        status = EXIT_SOFTWARE;
    if (rc != HF_OK)
        status = status_fail(&err);
    lines_free(&l->line);
    lines_free(&l->all);
    return status;
}

static int run_ls(const command *cmd, int argc, char **argv) {
    static ls_options o;
    static listing l;
    hf_client *client = NULL;
    int status;
    read_command_line(cmd, &l, &o, argc, argv);
    status = settings_connect(&client, &o.settings);
    if (status == 0)
        status = list(client, &l);
    hf_close(client);
    return status;
}

const command ls_command = {
    .name = "ls",
    .operands = "[PATTERN]",
    .summary = "List the locks of the store.",
    .about =
        "PATTERN is a beginning of names, or one with * ? [ in it.\n\n"
        "Columns: NAME KIND STATE COUNT HOLDER HOLDERS WHO USER HOST PID\n"
        "PROGRAM HELD LEASE WAITERS WAITED BLOCKER PERMITS TOKEN WHY OWNER\n"
        "CLIENT.  COUNT is the number of free permits of a semaphore, or of\n"
        "what a latch still waits for.  With --waiters WHO and those behind it\n"
        "are about each claim, and BLOCKER is HOST:PID of who is in its way.",
    .options = rows,
    .max_operands = 1,
    .store = true,
    .run = run_ls,
};
