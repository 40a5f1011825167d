/* SPDX-License-Identifier: MIT
 *
 * top.c - `holdfast top`: who holds, who waits, who blocks whom, as it
 * changes. */
#include "top.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "moment.h"
#include "options.h"
#include "place.h"
#include "settings.h"
#include "status.h"
#include "steal.h"
#include "text.h"

enum { EVENTS = 1000, REQUEST_MS = 2000, SHORTEST_MS = 100 };

typedef struct top_options {
    settings settings;
    bool batch;
    int delay_ms, iterations;
    const char *prefix;
} top_options;

#define AT(field) offsetof(top_options, field)
static const option_row rows[] = {
    {'d', "delay", "DURATION", OPTION_DURATION, AT(delay_ms),
     "between two looks (1s)"},
    {'b', "batch", NULL, OPTION_FLAG, AT(batch),
     "print all pages after each look, for scripts"},
    {'n', "iterations", "N", OPTION_COUNT, AT(iterations),
     "--batch: end after N looks"},
    {0, "prefix", "PREFIX", OPTION_TEXT, AT(prefix),
     "only names that begin so"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

/* ---- looking ----------------------------------------------------------- */

/* What comes and goes between two looks is not seen. */
static void count_grants(top *t, int64_t since_ms) {
    const view_event *e;
    int n = 0;
    while ((e = view_after(t->view, t->last_event)) != NULL) {
        t->last_event = e->id;
        n += e->kind == VIEW_GRANTED;
    }
    if (since_ms > 0)
        t->grants = n * 1000.0 / (double)since_ms;
}

void top_fill(top *t) {
    top_table_fill(&t->table, t->page, view_now(t->view), t->filter, t->sort);
}

void top_look(top *t) {
    hf_error err = {0};
    int64_t before = t->looked_at;
    view_look(t->view, &err);
    t->looked_at = moment_now();
    count_grants(t, before > 0 ? t->looked_at - before : 0);
    top_fill(t);
}

/* ---- words ------------------------------------------------------------- */

static int64_t worst_wait(const view_picture *p) {
    int64_t worst = -1;
    for (size_t i = 0; i < p->n_lines; i++)
        for (size_t k = 0; k < p->lines[i].n; k++) {
            const hf_place *claim = &p->lines[i].claims[k];
            if (!claim->holds && !claim->lost && claim->since_ms > worst)
                worst = claim->since_ms;
        }
    return worst;
}

/* How old what is shown is. */
static int64_t age_ms(const view_picture *p) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 - p->at_ms;
}

void top_head(const top *t, char *buf, size_t size) {
    const view_picture *p = view_now(t->view);
    char wait[24], stuck[48] = "";
    if (p->n_circles > 0)
        snprintf(stuck, sizeof(stuck), "DEADLOCKS %zu   ", p->n_circles);
    snprintf(buf, size,
             "%sheld %zu   waiting %zu   grants %.1f/s   worst "
             "wait %s   clients %zu",
             stuck, p->held, p->waiting, t->grants,
             text_span(worst_wait(p), wait), p->n_clients);
}

void top_store(const top *t, char *buf, size_t size) {
    const view_picture *p = view_now(t->view);
    char age[24];
    if (!p->stale)
        snprintf(buf, size, "store answers, a look takes %.1f ms",
                 (double)p->rtt_us / 1000);
    else if (p->at_ms == 0)
        snprintf(buf, size, "STORE DOES NOT ANSWER: %s", p->trouble.text);
    else
        snprintf(buf, size, "STORE DOES NOT ANSWER, this is %s old: %s",
                 text_span(age_ms(p), age), p->trouble.text);
}

static void put_claim(FILE *out, const hf_place *p, const char *word) {
    char who[600], span[24];
    place_who(p, who, sizeof(who));
    fprintf(out, "%-10s %s\n", word, who);
    if (p->since_ms >= 0)
        fprintf(out, "           for %s", text_span(p->since_ms, span));
    else
        fputs("          ", out);
    if (p->holds && p->lease_ms >= 0)
        fprintf(out, ", %s of its lease left", text_span(p->lease_ms, span));
    if (p->permits > 0)
        fprintf(out, ", permits %d", p->permits);
    if (p->token > 0)
        fprintf(out, ", token %" PRIu64, p->token);
    fputs("\n           owner ", out);
    text_put(out, p->owner);
    fputc('\n', out);
}

static void put_detail(FILE *out, const view_line *line) {
    char word[32];
    size_t waiters = 0;
    text_put(out, line->name);
    fprintf(out, " (%s): %s%s\n\n", line->kind, view_state_word(line->state),
            line->stuck ? ", DEADLOCK" : "");
    if (line->counts)
        fprintf(out, "left       %" PRId64 "\n", line->count);
    for (size_t i = 0; i < line->n; i++) {
        const hf_place *p = &line->claims[i];
        snprintf(word, sizeof(word), "waits %zu", waiters + 1);
        waiters += !p->holds && !p->lost;
        put_claim(out, p, p->holds ? "held by" : p->lost ? "lost by" : word);
    }
}

char *top_detail(const top *t, const char *name) {
    const view_line *line = view_find(t->view, name);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    if (line)
        put_detail(out, line);
    else
        fputs("nobody holds it or waits for it any more\n", out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* ---- taking away ------------------------------------------------------- */

const hf_place *top_victim(const top *t, const char *name, char *text,
                           size_t size) {
    const view_line *line = view_find(t->view, name);
    if (!line || line->holders == 0)
        snprintf(text, size, "'%s': nobody holds it", name);
    else if (line->holders > 1)
        snprintf(text, size,
                 "'%s' has several holders: holdfast steal says which by "
                 "--owner",
                 name);
    else
        return line->holder;
    return NULL;
}

void top_steal(top *t, const char *name, const hf_place *victim, char *text,
               size_t size) {
    hf_error err = {0};
    int r = steal_from(t->client, name, victim, &err);
    if (r == HF_OK)
        steal_words(name, victim->token, text, size);
    else if (r == HF_EFREE)
        snprintf(text, size, "'%s' has just changed hands", name);
    else
        snprintf(text, size, "%s", err.text[0] ? err.text : hf_strerror(r));
}

/* ---- batch ------------------------------------------------------------- */

static void print_page(top *t, top_page page) {
    int widths[TOP_COLUMNS];
    char line[4 * TOP_COLUMNS * TOP_CELL];
    t->page = page;
    top_fill(t);
    printf("\n%s\n", top_page_word(page));
    top_table_layout(&t->table, TOP_TEXT, widths);
    top_table_line(&t->table, widths, NULL, TOP_TEXT, line, sizeof(line));
    puts(line);
    for (size_t i = 0; i < t->table.n; i++) {
        top_table_line(&t->table, widths, &t->table.rows[i], TOP_TEXT, line,
                       sizeof(line));
        puts(line);
    }
}

static void print_all(top *t) {
    char text[TOP_TEXT];
    printf("store ");
    text_put(stdout, hf_store(t->client));
    top_store(t, text, sizeof(text));
    putchar('\n');
    text_put(stdout, text);
    top_head(t, text, sizeof(text));
    printf("\n%s\n", text);
    for (int page = 0; page < TOP_PAGES; page++)
        print_page(t, (top_page)page);
}

/* The store may be away for a while; that it was, at the end, is the status. */
static int batch(top *t, int iterations) {
    for (int i = 0; iterations == 0 || i < iterations; i++) {
        if (i > 0) {
            poll(NULL, 0, t->delay_ms);
            putchar('\n');
        }
        top_look(t);
        print_all(t);
        if (fflush(stdout) != 0)
            return EXIT_SOFTWARE;
    }
    if (view_now(t->view)->stale)
        return status_fail(&view_now(t->view)->trouble);
    return 0;
}

/* ---- the command ------------------------------------------------------- */

static int open_top(top *t, top_options *o) {
    hf_options wanted = HF_OPTIONS_INIT;
    hf_error err = {0};
    int status = settings_resolve(&o->settings);
    if (status != 0)
        return status;
    wanted.timeout_ms = REQUEST_MS;
    wanted.hidden = true;
    if (settings_open(&t->client, &o->settings, wanted, &err) != HF_OK ||
        view_new(&t->view, t->client, EVENTS, &err) != HF_OK ||
        view_only(t->view, o->prefix, &err) != HF_OK)
        return status_fail(&err);
    return 0;
}

static int run_top(const command *cmd, int argc, char **argv) {
    static top_options o = {.delay_ms = 1000};
    static top t;
    int status;
    if (options_read(cmd, &o, NULL, argc, argv) < argc)
        options_refuse(cmd, "it takes no names; --prefix chooses");
    if (o.iterations > 0 && !o.batch)
        options_refuse(cmd, "-n goes with --batch");
    if (!o.batch && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
        options_refuse(cmd, "it wants a terminal; --batch prints to anything");
    t.delay_ms = o.delay_ms < SHORTEST_MS ? SHORTEST_MS : o.delay_ms;
    status = open_top(&t, &o);
    if (status == 0)
        status = o.batch ? batch(&t, o.iterations) : top_screen(&t);
    view_free(t.view);
    top_table_free(&t.table);
    hf_close(t.client);
    return status;
}

const command top_command = {
    .name = "top",
    .operands = "",
    .summary = "Watch who holds, who waits and who blocks whom.",
    .about =
        "Keys: 1 or F1 held, 2 or F2 waiting, 3 or F3 blocking; arrows choose\n"
        "a lock, Enter shows all of it, K takes it away as 'holdfast steal'\n"
        "does; / filters, s sorts, space pauses, ? helps, q leaves.",
    .options = rows,
    .store = true,
    .run = run_top,
};
