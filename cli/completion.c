/* SPDX-License-Identifier: MIT
 *
 * completion.c - `holdfast completion bash`.
 *
 * The script only hands the words typed so far back to this program, which
 * answers from the tables of commands and options: it cannot know less than
 * the program does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "options.h"
#include "place.h"
#include "settings.h"
#include "status.h"

static const char script[] =
    "_holdfast() {\n"
    "    mapfile -t COMPREPLY < <(\"${COMP_WORDS[0]}\" completion reply \\\n"
    "        \"$COMP_CWORD\" \"${COMP_WORDS[@]}\" 2>/dev/null)\n"
    "}\n"
    "complete -o bashdefault -o default -F _holdfast holdfast\n";

static const struct {
    const char *option;
    const char *values[5]; /* that it may have */
} choices[] = {
    {"color", {"auto", "always", "never"}},
    {"on-lost", {"term", "kill", "ignore", "USR1"}},
    {"replicas", {"majority", "all"}},
};

typedef struct cursor {
    const command *cmd;
    const char *word;        /* typed so far                       */
    const option_row *value; /* the option whose value it would be */
    const char *looking_for; /* find_row's argument                */
} cursor;

static void offer(const cursor *at, const char *word) {
    if (strncmp(word, at->word, strlen(at->word)) == 0)
        puts(word);
}

static void offer_commands(const cursor *at) {
    for (const command *const *cmd = commands; *cmd; cmd++)
        offer(at, (*cmd)->name);
}

static void offer_words(const cursor *at, const char *const *words) {
    for (; words && *words; words++)
        offer(at, *words);
}

static void offer_names(const cursor *at);

static void offer_values(const cursor *at, const char *option) {
    if (strcmp(option, "also") == 0)
        offer_names(at);
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
        if (strcmp(choices[i].option, option) == 0)
            offer_words(at, choices[i].values);
}

static void offer_row(void *arg, const option_row *row) {
    char word[64];
    snprintf(word, sizeof(word), "--%s", row->name);
    if (row->help)
        offer(arg, word);
}

static void offer_names(const cursor *at) {
    static settings s;
    hf_client *client = NULL;
    hf_error err;
    places all;
    place_line l;
    if (settings_connect(&client, &s) != 0)
        return;
    if (places_list(&all, client, NULL, &err) == HF_OK)
        for (size_t i = 0; i < all.n; i = places_line(&all, i, &l))
            offer(at, all.items[i].seen.name);
    places_free(&all);
    hf_close(client);
}

static void find_row(void *arg, const option_row *row) {
    cursor *at = arg;
    const char *word = at->looking_for;
    if (!row->value)
        return;
    if ((word[0] == '-' && row->letter && word[1] == row->letter && !word[2]) ||
        (strncmp(word, "--", 2) == 0 && strcmp(word + 2, row->name) == 0))
        at->value = row;
}

/* Walks over the words before the cursor; how many of them are operands. */
static int walk(cursor *at, char **words, int n) {
    int operands = 0;
    for (int i = 2; i < n; i++) {
        if (at->value) {
            at->value = NULL;
            continue;
        }
        at->looking_for = words[i];
        options_each(at->cmd, find_row, at);
        operands += words[i][0] != '-';
    }
    return operands;
}

static void offer_options(cursor *at) {
    options_each(at->cmd, offer_row, at);
    offer(at, "--help");
    offer(at, "--version");
}

/* The n-th operand: a word where the command has words, then a lock. */
static void offer_operand(const cursor *at, int n) {
    if (strcmp(at->cmd->name, "help") == 0)
        offer_commands(at);
    else if (n == 0 && at->cmd->words)
        offer_words(at, at->cmd->words);
    else if (at->cmd->store && n == (at->cmd->words != NULL))
        offer_names(at);
}

/* Nothing printed means that bash offers files. */
static void reply(char **words, int n) {
    cursor at = {.word = words[n]};
    int operands;
    if (n == 1) {
        offer_commands(&at);
        return;
    }
    at.cmd = command_find(words[1]);
    if (!at.cmd)
        return;
    operands = walk(&at, words, n);
    if (at.value)
        offer_values(&at, at.value->name);
    else if (operands > at.cmd->max_operands)
        return;
    else if (at.word[0] == '-')
        offer_options(&at);
    else if (operands < at.cmd->max_operands)
        offer_operand(&at, operands);
}

static int run_completion(const command *cmd, int argc, char **argv) {
    char *shell = NULL;
    int first = options_read(cmd, NULL, &shell, argc, argv);
    if (shell && strcmp(shell, "reply") == 0 && first + 2 < argc) {
        int n = atoi(argv[first]);
        if (n > 0 && n < argc - first - 1)
            reply(argv + first + 1, n);
    } else if (!shell || first < argc) {
        options_refuse(cmd, "for which shell?  holdfast completion bash");
    } else if (strcmp(shell, "bash") != 0) {
        options_refuse(cmd, "'%s': only bash is known", shell);
    } else {
        fputs(script, stdout);
    }
    return fflush(stdout) == 0 ? 0 : EXIT_SOFTWARE;
}

static const char *const words[] = {"bash", NULL};

const command completion_command = {
    .name = "completion",
    .operands = "bash",
    .words = words,
    .summary = "Print a completion script for a shell.",
    .about = "    source <(holdfast completion bash)",
    .max_operands = 1,
    .run = run_completion,
};
