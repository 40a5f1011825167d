/* SPDX-License-Identifier: MIT
 *
 * top_table.c - the pages of `holdfast top` as tables of text.
 *
 * What comes from strangers is made harmless here, once, so that nobody who
 * shows a cell has to think of it. */
#include "top_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

enum { COMFORTABLE = 24 };

typedef struct column {
    const char *title;
    int most; /* columns of the screen                            */
    int rank; /* the highest is left out first; 0: never          */
} column;

static const column pages[TOP_PAGES][TOP_COLUMNS + 1] = {
    [TOP_HELD] = {{"NAME", 60, 0},
                  {"STATE", 24, 0},
                  {"WAIT", 6, 0},
                  {"HOLDER", 30, 1},
                  {"PID", 10, 4},
                  {"HELD", 8, 2},
                  {"LEASE", 8, 3},
                  {"KIND", 10, 6},
                  {"WHY", 60, 5},
                  {NULL, 0, 0}},
    [TOP_WAITING] = {{"NAME", 60, 0},
                     {"WAITS", 8, 0},
                     {"PLACE", 6, 3},
                     {"WHO", 30, 0},
                     {"PID", 10, 4},
                     {"STATE", 12, 2},
                     {"BLOCKED BY", 40, 1},
                     {"WHY", 60, 5},
                     {NULL, 0, 0}},
    [TOP_BLOCKING] = {{"WHO", 30, 0},
                      {"STATE", 12, 0},
                      {"HOLDS", 40, 0},
                      {"WANTS", 40, 0},
                      {"WAITERS", 8, 1},
                      {"LONGEST", 8, 2},
                      {"PID", 10, 3},
                      {NULL, 0, 0}},
};

const char *top_page_word(top_page page) {
    static const char *const words[] = {"held", "waiting", "blocking"};
    return words[page];
}

const char *top_sort_word(top_sort sort) {
    static const char *const words[] = {"name", "time", "waiters"};
    return words[sort];
}

/* ---- cells ------------------------------------------------------------- */

static void put(char *cell, const char *text) {
    text_clean(*text ? text : "-", cell, TOP_CELL);
}

static void put_number(char *cell, int64_t n) {
    snprintf(cell, TOP_CELL, "%" PRId64, n);
}

static void put_pid(char *cell, int64_t pid) {
    if (pid > 0)
        put_number(cell, pid);
    else
        put(cell, "");
}

static void put_span(char *cell, int64_t ms) {
    char span[24];
    put(cell, text_span(ms, span));
}

static void put_person(char *cell, const char *user, const char *host,
                       const char *otherwise) {
    char text[2 * TOP_CELL];
    if (!*user && !*host)
        snprintf(text, sizeof(text), "%s", otherwise);
    else
        snprintf(text, sizeof(text), "%.100s@%.100s", user, host);
    put(cell, text);
}

static void put_who(char *cell, const hf_place *p) {
    put_person(cell, p->user, p->host, p->owner);
}

/* ---- rows -------------------------------------------------------------- */

static top_row *new_row(top_table *t, const char *name) {
    size_t room = t->room ? 2 * t->room : 32;
    if (t->n == t->room) {
        top_row *rows = realloc(t->rows, room * sizeof(*rows));
        if (!rows) {
            t->short_of_memory = true;
            return NULL;
        }
        t->rows = rows;
        t->room = room;
    }
    memset(&t->rows[t->n], 0, sizeof(t->rows[t->n]));
    t->rows[t->n].name = name;
    return &t->rows[t->n++];
}

/* By a word: colours alone tell not everybody something. */
static void put_state(char *cell, const view_line *line) {
    char text[TOP_CELL];
    if (line->counts)
        snprintf(text, sizeof(text), "%s, %" PRId64 " left%s",
                 view_state_word(line->state), line->count,
                 line->stuck ? ", DEADLOCK" : "");
    else
        snprintf(text, sizeof(text), "%s%s", view_state_word(line->state),
                 line->stuck ? ", DEADLOCK" : "");
    put(cell, text);
}

static void put_holder(char *cell, const view_line *line) {
    char who[TOP_CELL];
    put(cell, "");
    if (!line->holder)
        return;
    put_who(who, line->holder);
    if (line->holders > 1)
        snprintf(cell, TOP_CELL, "%.90s +%zu", who, line->holders - 1);
    else
        snprintf(cell, TOP_CELL, "%s", who);
}

static void add_held(top_table *t, const view_line *line) {
    const hf_place *p = line->holder;
    top_row *row;
    if (line->state == VIEW_FREE && !line->counts)
        return;
    row = new_row(t, line->name);
    if (!row)
        return;
    row->alarm = line->stuck || line->state >= VIEW_LATE;
    row->time = p ? p->since_ms : -1;
    row->waiters = line->waiters;
    put(row->cells[0], line->name);
    put_state(row->cells[1], line);
    put_number(row->cells[2], (int64_t)line->waiters);
    put_holder(row->cells[3], line);
    put_pid(row->cells[4], p ? p->pid : 0);
    put_span(row->cells[5], p ? p->since_ms : -1);
    put_span(row->cells[6], p ? p->lease_ms : -1);
    put(row->cells[7], line->kind);
    put(row->cells[8], p ? p->why : "");
}

static void add_waiter(top_table *t, const view_line *line, size_t i,
                       size_t place) {
    const hf_place *p = &line->claims[i], *blocker = view_blocker(line, i);
    top_row *row = new_row(t, line->name);
    if (!row)
        return;
    row->alarm = line->stuck;
    row->time = p->since_ms;
    row->waiters = line->waiters;
    put(row->cells[0], line->name);
    put_span(row->cells[1], p->since_ms);
    snprintf(row->cells[2], TOP_CELL, "%zu/%zu", place, line->waiters);
    put_who(row->cells[3], p);
    put_pid(row->cells[4], p->pid);
    put(row->cells[5], line->stuck ? "DEADLOCK" : "waits");
    put(row->cells[6], "");
    if (blocker)
        put_who(row->cells[6], blocker);
    put(row->cells[7], p->why);
}

static void add_waiters(top_table *t, const view_line *line) {
    size_t place = 0;
    for (size_t i = 0; i < line->n; i++)
        if (!line->claims[i].holds && !line->claims[i].lost)
            add_waiter(t, line, i, ++place);
}

static int64_t longest_wait(const view_line *line) {
    int64_t longest = -1;
    for (size_t i = 0; i < line->n; i++)
        if (!line->claims[i].holds && !line->claims[i].lost &&
            line->claims[i].since_ms > longest)
            longest = line->claims[i].since_ms;
    return longest;
}

static void add_blocker(top_table *t, const view_line *line) {
    const hf_place *p = line->holder;
    top_row *row;
    if (line->waiters == 0 || !p)
        return;
    row = new_row(t, line->name);
    if (!row)
        return;
    row->time = longest_wait(line);
    row->waiters = line->waiters;
    put_who(row->cells[0], p);
    put(row->cells[1], line->stuck ? "DEADLOCK" : "blocks");
    put(row->cells[2], line->name);
    put(row->cells[3], "");
    put_number(row->cells[4], (int64_t)line->waiters);
    put_span(row->cells[5], row->time);
    put_pid(row->cells[6], p->pid);
}

/* One wants what the next one holds, and the last what the first does. */
static void add_stuck(top_table *t, const view_circle *circle, size_t i) {
    const hf_stuck *s = &circle->all[i];
    const hf_stuck *before = &circle->all[(i + circle->n - 1) % circle->n];
    top_row *row = new_row(t, s->wants);
    if (!row)
        return;
    row->alarm = true;
    row->time = s->since_ms;
    put_person(row->cells[0], s->user, s->host, s->client);
    put(row->cells[1], "DEADLOCK");
    put(row->cells[2], before->wants);
    put(row->cells[3], s->wants);
    put(row->cells[4], "");
    put_span(row->cells[5], s->since_ms);
    put_pid(row->cells[6], s->pid);
}

/* ---- which, and in which order ----------------------------------------- */

static bool matches(const top_row *row, const char *filter) {
    for (int c = 0; c < TOP_COLUMNS; c++)
        if (strcasestr(row->cells[c], filter))
            return true;
    return false;
}

static void keep_matching(top_table *t, const char *filter) {
    size_t kept = 0;
    for (size_t i = 0; i < t->n; i++)
        if (matches(&t->rows[i], filter))
            t->rows[kept++] = t->rows[i];
    t->n = kept;
}

static int by_name(const void *a, const void *b) {
    const top_row *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int by_time(const void *a, const void *b) {
    const top_row *x = a, *y = b;
    return x->time != y->time ? (x->time > y->time ? -1 : 1) : by_name(a, b);
}

static int by_waiters(const void *a, const void *b) {
    const top_row *x = a, *y = b;
    if (x->waiters != y->waiters)
        return x->waiters > y->waiters ? -1 : 1;
    return by_name(a, b);
}

/* Waiters of one name stay in their order: qsort may not keep it. */
static void sort_rows(top_table *t, size_t from, top_sort sort) {
    static int (*const how[])(const void *, const void *) = {by_name, by_time,
                                                             by_waiters};
    if (t->n - from > 1 && !(t->page == TOP_WAITING && sort == TOP_BY_NAME))
        qsort(t->rows + from, t->n - from, sizeof(*t->rows), how[sort]);
}

/* The picture has its lines by name. */
void top_table_fill(top_table *t, top_page page, const view_picture *picture,
                    const char *filter, top_sort sort) {
    static void (*const add[])(top_table *, const view_line *) = {
        add_held, add_waiters, add_blocker};
    size_t circles = 0;
    t->page = page;
    t->n = 0;
    t->short_of_memory = false;
    for (size_t i = 0; page == TOP_BLOCKING && i < picture->n_circles; i++)
        for (size_t k = 0; k < picture->circles[i].n; k++)
            add_stuck(t, &picture->circles[i], k);
    keep_matching(t, filter);
    circles = t->n;
    for (size_t i = 0; i < picture->n_lines; i++)
        add[page](t, &picture->lines[i]);
    keep_matching(t, filter);
    sort_rows(t, circles, sort);
}

void top_table_free(top_table *t) {
    free(t->rows);
}

/* ---- as lines ---------------------------------------------------------- */

static int columns_of(const char *clean) {
    int n = 0;
    for (size_t at = 0; clean[at]; n++)
        at += text_char(clean + at);
    return n;
}

static int natural(const top_table *t, int c) {
    int width = (int)strlen(pages[t->page][c].title);
    for (size_t i = 0; i < t->n; i++) {
        int columns = columns_of(t->rows[i].cells[c]);
        width = columns > width ? columns : width;
    }
    return width < pages[t->page][c].most ? width : pages[t->page][c].most;
}

/* Two blanks between them. */
static int total(const int widths[TOP_COLUMNS]) {
    int sum = 0;
    for (int c = 0; c < TOP_COLUMNS; c++)
        sum += widths[c] > 0 ? widths[c] + 2 : 0;
    return sum - 2;
}

static bool leave_one_out(const top_table *t, int widths[TOP_COLUMNS]) {
    int worst = -1;
    for (int c = 0; pages[t->page][c].title; c++)
        if (widths[c] > 0 && pages[t->page][c].rank > 0 &&
            (worst < 0 || pages[t->page][c].rank > pages[t->page][worst].rank))
            worst = c;
    if (worst >= 0)
        widths[worst] = 0;
    return worst >= 0;
}

/* What must stay gets narrower, the widest first. */
static void squeeze(int widths[TOP_COLUMNS], int width) {
    while (total(widths) > width) {
        int widest = 0;
        for (int c = 1; c < TOP_COLUMNS; c++)
            if (widths[c] > widths[widest])
                widest = c;
        if (widths[widest] <= 4)
            return;
        widths[widest]--;
    }
}

/* Rather a name that is cut than no holder: which columns there is room for is
 * found with none of them wider than is comfortable. */
void top_table_layout(const top_table *t, int width, int widths[TOP_COLUMNS]) {
    int full[TOP_COLUMNS] = {0};
    memset(widths, 0, TOP_COLUMNS * sizeof(*widths));
    for (int c = 0; pages[t->page][c].title; c++) {
        full[c] = natural(t, c);
        widths[c] = full[c] < COMFORTABLE ? full[c] : COMFORTABLE;
    }
    while (total(widths) > width && leave_one_out(t, widths))
        ;
    for (int c = 0; c < TOP_COLUMNS; c++)
        widths[c] = widths[c] > 0 ? full[c] : 0;
    squeeze(widths, width);
}

void top_table_line(const top_table *t, const int widths[TOP_COLUMNS],
                    const top_row *row, int width, char *buf, size_t size) {
    size_t n = 0;
    int used = 0;
    buf[0] = '\0';
    for (int c = 0; c < TOP_COLUMNS && used < width; c++) {
        const char *cell = row ? row->cells[c] : pages[t->page][c].title;
        int room = widths[c] < width - used ? widths[c] : width - used, bytes;
        if (widths[c] == 0 || !cell)
            continue;
        bytes = text_fit(cell, room);
        if (n + (size_t)bytes + (size_t)room + 3 > size)
            return;
        memcpy(buf + n, cell, (size_t)bytes);
        n += (size_t)bytes;
        buf[n] = '\0';
        room -= columns_of(cell) < room ? columns_of(cell) : room;
        n += (size_t)snprintf(buf + n, size - n, "%*s  ", room, "");
        used += widths[c] + 2;
    }
    while (n > 0 && buf[n - 1] == ' ')
        buf[--n] = '\0';
}
