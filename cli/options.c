/* SPDX-License-Identifier: MIT
 *
 * options.c - reading a command line by a command's table.
 *
 * getopt_long is told to stop at the first operand ('+'), and is started
 * again behind it as long as the command takes operands.  So options may
 * stand on both sides of NAME, and yet the flags of the command that `run`
 * starts are never ours. */
#include "options.h"

#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../include/holdfast.h"
#include "duration.h"
#include "settings.h"
#include "signals.h"
#include "spell.h"
#include "status.h"
#include "text.h"

enum { MOST_ROWS = 48, HELP = 1000, VERSION, ROWS }; /* getopt's answers */

typedef struct reader {
    const command *cmd;
    char *into;
    const option_row *rows[MOST_ROWS];
    int n_rows;
    struct option longs[MOST_ROWS + 3];
    char letters[2 * MOST_ROWS + 3];
} reader;

static void each_row(const option_row *row,
                     void (*fn)(void *, const option_row *), void *arg) {
    for (; row && row->name; row++)
        fn(arg, row);
}

void options_each(const command *cmd, void (*fn)(void *, const option_row *),
                  void *arg) {
    for (const option_row *const *table = cmd->shared; table && *table; table++)
        each_row(*table, fn, arg);
    each_row(cmd->options, fn, arg);
    if (cmd->store)
        each_row(settings_options, fn, arg);
}

_Noreturn void options_refuse(const command *cmd, const char *format, ...) {
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    fprintf(stderr, "holdfast %s: ", cmd->name);
    text_put(stderr, line);
    fprintf(stderr, "\nTry 'holdfast %s --help'.\n", cmd->name);
    exit(EXIT_USAGE);
}

/* ---- help -------------------------------------------------------------- */

static void help_row(void *arg, const option_row *row) {
    char left[64];
    (void)arg;
    if (!row->help)
        return;
    snprintf(left, sizeof(left), "%c%c%s --%s%s%s", row->letter ? '-' : ' ',
             row->letter ? row->letter : ' ', row->letter ? "," : " ",
             row->name, row->value ? " " : "", row->value ? row->value : "");
    printf("  %-30s %s\n", left, row->help);
}

void options_help(const command *cmd) {
    printf("Usage: holdfast %s [OPTION...]%s%s\n\n%s\n", cmd->name,
           *cmd->operands ? " " : "", cmd->operands, cmd->summary);
    if (cmd->about)
        printf("\n%s\n", cmd->about);
    printf("\nOptions:\n");
    options_each(cmd, help_row, NULL);
    printf("  %-30s %s\n  %-30s %s\n", "    --help", "show this help",
           "    --version", "show the version");
    printf("\nEverything: man holdfast-%s\n", cmd->name);
}

static _Noreturn void answer_help(const command *cmd) {
    options_help(cmd);
    exit(fflush(stdout) == 0 ? 0 : EXIT_SOFTWARE);
}

/* ---- values ------------------------------------------------------------ */

static int small_number(const char *text, int most) {
    char *end;
    long n = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || n > most)
        return -1;
    return (int)n;
}

static const char *set_number(const option_row *row, const char *text,
                              int *to) {
    switch (row->type) {
    case OPTION_DURATION:
        return duration_read(text, to);
    case OPTION_STATUS:
        *to = small_number(text, 255);
        return *to < 0 ? "is not a number from 0 to 255" : NULL;
    case OPTION_NUMBER:
        *to = small_number(text, INT_MAX);
        return *to < 0 ? "is not a whole number" : NULL;
    case OPTION_COUNT:
        *to = small_number(text, INT_MAX);
        return *to < 1 ? "is not a whole number from 1" : NULL;
    case OPTION_SIGNAL:
        *to = signals_number(text);
        return *to == 0 ? "is not a signal" : NULL;
    case OPTION_FLAG:
    case OPTION_TEXT:
    case OPTION_LIST:
        break;
    }
    return NULL;
}

int options_number(const command *cmd, const char *text) {
    int n = small_number(text, INT_MAX);
    if (n < 0)
        options_refuse(cmd, "'%s' is not a whole number", text);
    return n;
}

int options_word(const command *cmd, const char *word) {
    const char *nearest = NULL;
    int distance = SPELL_NONE;
    for (int i = 0; cmd->words[i]; i++) {
        if (strcmp(cmd->words[i], word) == 0)
            return i;
        spell_offer(word, cmd->words[i], &nearest, &distance);
    }
    if (nearest)
        options_refuse(cmd, "unknown word '%s'; did you mean '%s'?", word,
                       nearest);
    options_refuse(cmd, "unknown word '%s'", word);
}

static const char *add(option_list *to, const char *text) {
    if (to->n == OPTION_LIST_MOST)
        return "is one too many";
    to->items[to->n++] = text;
    return NULL;
}

static void set(const reader *r, const option_row *row, const char *text) {
    void *to = r->into + row->offset;
    const char *wrong = NULL;
    if (row->type == OPTION_FLAG)
        *(bool *)to = true;
    else if (row->type == OPTION_TEXT)
        *(const char **)to = text;
    else if (row->type == OPTION_LIST)
        wrong = add(to, text);
    else
        wrong = set_number(row, text, to);
    if (wrong)
        options_refuse(r->cmd, "--%s: '%s' %s", row->name, text, wrong);
}

/* ---- getopt ------------------------------------------------------------ */

static void add_row(void *arg, const option_row *row) {
    reader *r = arg;
    size_t n = strlen(r->letters);
    r->longs[r->n_rows] =
        (struct option){row->name, row->value ? required_argument : no_argument,
                        NULL, ROWS + r->n_rows};
    r->rows[r->n_rows++] = row;
    if (row->letter) {
        r->letters[n++] = row->letter;
        if (row->value)
            r->letters[n++] = ':';
        r->letters[n] = '\0';
    }
}

static void prepare(reader *r, const command *cmd, void *into) {
    memset(r, 0, sizeof(*r));
    r->cmd = cmd;
    r->into = into;
    strcpy(r->letters, "+:");
    options_each(cmd, add_row, r);
    r->longs[r->n_rows] = (struct option){"help", no_argument, NULL, HELP};
    r->longs[r->n_rows + 1] =
        (struct option){"version", no_argument, NULL, VERSION};
}

static const option_row *row_of(const reader *r, int answer) {
    for (int i = 0; i < r->n_rows; i++)
        if (answer == ROWS + i ||
            (answer < 256 && r->rows[i]->letter == answer))
            return r->rows[i];
    return NULL;
}

static _Noreturn void refuse_unknown(const reader *r, const char *word) {
    const char *nearest = NULL;
    char name[64];
    int distance = SPELL_NONE;
    if (optopt != 0 && optopt < 256) /* below 0: a byte that is not ASCII */
        options_refuse(r->cmd, "unknown option '-%c'", optopt);
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
    if (optopt >= HELP)
        options_refuse(r->cmd, "option '--%s' takes no value", name);
    for (const struct option *o = r->longs; o->name; o++)
        spell_offer(name, o->name, &nearest, &distance);
    if (nearest)
        options_refuse(r->cmd, "unknown option '--%s'; did you mean '--%s'?",
                       name, nearest);
    options_refuse(r->cmd, "unknown option '--%s'", name);
}

static void read_options(const reader *r, int argc, char **argv) {
    int answer;
    while ((answer = getopt_long(argc, argv, r->letters, r->longs, NULL)) !=
           -1) {
        if (answer == HELP)
            answer_help(r->cmd);
        if (answer == VERSION) {
            printf("holdfast %s\n", hf_version());
            exit(0);
        }
        if (answer == '?')
            refuse_unknown(r, argv[optind - 1]);
        if (answer == ':')
            options_refuse(r->cmd, "option '%s' needs a value",
                           argv[optind - 1]);
        set(r, row_of(r, answer), optarg);
    }
}

int options_read(const command *cmd, void *into, char **operands, int argc,
                 char **argv) {
    reader r;
    bool ended = false; /* by "--" */
    prepare(&r, cmd, into);
    opterr = 0;
    optind = 1;
    for (int n = 0;; n++) {
        if (!ended) {
            read_options(&r, argc, argv);
            ended = optind > 1 && strcmp(argv[optind - 1], "--") == 0;
        }
        if (n == cmd->max_operands || optind >= argc)
            return optind;
        operands[n] = argv[optind++];
    }
}
