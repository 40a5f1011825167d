/* SPDX-License-Identifier: MIT
 *
 * completion.c - `holdfast completion bash`, `zsh` and `fish`.
 *
 * The scripts only hand the words typed so far back to this program, which
 * answers from the tables of commands and options: none of them can know less
 * than the program does, or something else than the others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "options.h"
#include "place.h"
#include "settings.h"
#include "status.h"

/* bash takes words apart at ':' and '='.  They are put together again, and
 * what bash believes to be typed already is taken off the replies. */
static const char bash_script[] =
    "_holdfast() {\n"
    "    local word glued= front=\n"
    "    local -a typed=()\n"
    "    for word in \"${COMP_WORDS[@]:0:COMP_CWORD+1}\"; do\n"
    "        if [[ -n $word && -z ${word//[:=]/} ]] && ((${#typed[@]})); then\n"
    "            typed[-1]+=$word glued=1\n"
    "        elif [[ -n $glued ]]; then\n"
    "            typed[-1]+=$word glued=\n"
    "        else\n"
    "            typed+=(\"$word\")\n"
    "        fi\n"
    "    done\n"
    "    if [[ ${typed[-1]} != \"${COMP_WORDS[COMP_CWORD]}\" ]]; then\n"
    "        front=${typed[-1]%\"${typed[-1]##*[:=]}\"}\n"
    "    fi\n"
    "    mapfile -t COMPREPLY < <(\"${COMP_WORDS[0]}\" completion reply \\\n"
    "        \"$((${#typed[@]} - 1))\" \"${typed[@]}\" 2>/dev/null)\n"
    "    COMPREPLY=(\"${COMPREPLY[@]#\"$front\"}\")\n"
    "}\n"
    "complete -o bashdefault -o default -F _holdfast holdfast\n";

static const char zsh_script[] =
    "#compdef holdfast\n"
    "_holdfast() {\n"
    "    local line\n"
    "    local -a found shown\n"
    "    for line in ${(f)\"$(${(Q)words[1]} completion describe \\\n"
    "        $((CURRENT - 1)) \"${(@Q)words}\" 2>/dev/null)\"}; do\n"
    "        found+=(\"${line%%$'\\t'*}\")\n"
    "        shown+=(\"${line/$'\\t'/  -- }\")\n"
    "    done\n"
    "    if (( ${#found} == 0 )); then\n"
    "        _files\n"
    "    else\n"
    "        compadd -l -d shown -a found\n"
    "    fi\n"
    "}\n"
    "compdef _holdfast holdfast\n";

/* Before the cursor are the words that are whole, and the one that is not. */
static const char fish_script[] =
    "function __holdfast_complete\n"
    "    set -l typed (commandline -opc)\n"
    "    set -l last (commandline -ct)\n"
    "    set -l found ($typed[1] completion describe (count $typed) \\\n"
    "        $typed \"$last\" 2>/dev/null)\n"
    "    if test (count $found) -gt 0\n"
    "        printf '%s\\n' $found\n"
    "    else\n"
    "        __fish_complete_path \"$last\"\n"
    "    end\n"
    "end\n"
    "complete -c holdfast -f -a '(__holdfast_complete)'\n";

static const char *const words[] = {"bash", "zsh", "fish", NULL};
static const char *const scripts[] = {bash_script, zsh_script, fish_script};

static const struct {
    const char *option;
    const char *values[6]; /* that it may have, NULL at the end */
} choices[] = {
    {"color", {"auto", "always", "never"}},
    {"log", {"none", "error", "warn", "info", "debug"}},
    {"on-lost", {"term", "kill", "ignore", "USR1"}},
    {"replicas", {"majority", "all"}},
    {"state", {"free", "held", "closed", "lost", "waits"}},
    {"output", {"name", "wide", "json", "jsonl"}},
};

typedef struct cursor {
    const command *cmd;
    const char *word;        /* typed so far                       */
    const option_row *value; /* the option whose value it would be */
    const char *looking_for; /* find_row's argument                */
    size_t looking_n;
    const char *front; /* "--option=", so many bytes before the word */
    int front_n;
    bool describes;  /* a tab and some words behind each reply     */
    settings *store; /* as the line has it so far                  */
} cursor;

static void offer(const cursor *at, const char *word, const char *about) {
    if (strncmp(word, at->word, strlen(at->word)) != 0)
        return;
    printf("%.*s%s", at->front_n, at->front ? at->front : "", word);
    if (at->describes)
        printf("\t%s", about);
    putchar('\n');
}

static void offer_commands(const cursor *at) {
    for (const command *const *cmd = commands; *cmd; cmd++)
        offer(at, (*cmd)->name, (*cmd)->summary);
}

static void offer_words(const cursor *at, const char *const *list,
                        const char *about) {
    for (; list && *list; list++)
        offer(at, *list, about);
}

static void offer_names(const cursor *at) {
    hf_client *client = NULL;
    hf_error err;
    lines all = {0};
    if (settings_connect(&client, at->store) != 0)
        return;
    if (lines_list(&all, client, NULL, &err) == HF_OK)
        for (size_t i = 0; i < all.n; i++)
            offer(at, all.all[i].name, place_state(&all.all[i]));
    lines_free(&all);
    hf_close(client);
}

static void offer_values(const cursor *at, const option_row *option) {
    const char *about = option->help ? option->help : "";
    if (strcmp(option->name, "also") == 0)
        offer_names(at);
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
        if (strcmp(choices[i].option, option->name) == 0)
            offer_words(at, choices[i].values, about);
}

static void offer_row(void *arg, const option_row *row) {
    char word[64];
    snprintf(word, sizeof(word), "--%s", row->name);
    if (row->help)
        offer(arg, word, row->help);
}

static void find_row(void *arg, const option_row *row) {
    cursor *at = arg;
    const char *word = at->looking_for;
    size_t n = at->looking_n;
    if (!row->value)
        return;
    if ((n == 2 && word[0] == '-' && row->letter && word[1] == row->letter) ||
        (n > 2 && strncmp(word, "--", 2) == 0 && strlen(row->name) == n - 2 &&
         strncmp(word + 2, row->name, n - 2) == 0))
        at->value = row;
}

/* The option of that word that wants a value; kept in at->value. */
static void find_option(cursor *at, const char *word, size_t n) {
    at->looking_for = word;
    at->looking_n = n;
    options_each(at->cmd, find_row, at);
}

/* Names are looked up in the store that the line speaks of. */
static void note_store(const cursor *at, const char *value) {
    if (strcmp(at->value->name, "store") == 0)
        at->store->flags[SET_STORE] = value;
    else if (strcmp(at->value->name, "store-file") == 0)
        at->store->store_file = value;
    else if (strcmp(at->value->name, "config") == 0)
        at->store->config = value;
}

/* "--option=value", whole; false if it is not that. */
static bool take_joined(cursor *at, const char *word) {
    size_t n = strcspn(word, "=");
    if (strncmp(word, "--", 2) != 0 || word[n] != '=')
        return false;
    find_option(at, word, n);
    if (at->value)
        note_store(at, word + n + 1);
    at->value = NULL;
    return true;
}

/* Walks over the words before the cursor; how many of them are operands. */
static int walk(cursor *at, char **line, int n) {
    int operands = 0;
    for (int i = 2; i < n; i++) {
        if (at->value) {
            note_store(at, line[i]);
            at->value = NULL;
        } else if (!take_joined(at, line[i])) {
            find_option(at, line[i], strlen(line[i]));
            operands += line[i][0] != '-';
        }
    }
    return operands;
}

/* The word at the cursor may have its option in front. */
static void split_word(cursor *at) {
    size_t n = strcspn(at->word, "=");
    if (at->value || strncmp(at->word, "--", 2) != 0 || at->word[n] != '=')
        return;
    find_option(at, at->word, n);
    at->front = at->word;
    at->front_n = (int)n + 1;
    at->word += n + 1;
}

static void offer_options(cursor *at) {
    options_each(at->cmd, offer_row, at);
    offer(at, "--help", "show this help");
    offer(at, "--version", "show the version");
}

/* The n-th operand: a word where the command has words, then a lock. */
static void offer_operand(const cursor *at, int n) {
    if (strcmp(at->cmd->name, "help") == 0)
        offer_commands(at);
    else if (n == 0 && at->cmd->words)
        offer_words(at, at->cmd->words, at->cmd->name);
    else if (at->cmd->store && n == (at->cmd->words != NULL))
        offer_names(at);
}

/* Nothing printed means that the shell offers files. */
static void reply(cursor *at, char **line, int n) {
    int operands;
    at->word = line[n];
    if (n == 1) {
        offer_commands(at);
        return;
    }
    at->cmd = command_find(line[1]);
    if (!at->cmd)
        return;
    operands = walk(at, line, n);
    if (operands <= at->cmd->max_operands)
        split_word(at);
    if (at->value)
        offer_values(at, at->value);
    else if (operands > at->cmd->max_operands || at->front)
        return;
    else if (at->word[0] == '-')
        offer_options(at);
    else if (operands < at->cmd->max_operands)
        offer_operand(at, operands);
}

/* What the scripts ask: the number of the word at the cursor, and the line. */
static void answer(const char *how, int n, char **line, int n_line) {
    static settings s;
    cursor at = {.store = &s, .describes = strcmp(how, "describe") == 0};
    if (n > 0 && n < n_line)
        reply(&at, line, n);
}

static int run_completion(const command *cmd, int argc, char **argv) {
    char *word = NULL;
    int first = options_read(cmd, NULL, &word, argc, argv);
    if (word && first + 2 < argc &&
        (strcmp(word, "reply") == 0 || strcmp(word, "describe") == 0))
        answer(word, atoi(argv[first]), argv + first + 1, argc - first - 1);
    else if (!word || first < argc)
        options_refuse(cmd, "for which shell?  holdfast completion bash, zsh "
                            "or fish");
    else
        fputs(scripts[options_word(cmd, word)], stdout);
    return fflush(stdout) == 0 ? 0 : EXIT_SOFTWARE;
}

const command completion_command = {
    .name = "completion",
    .operands = "bash|zsh|fish",
    .words = words,
    .summary = "Print a completion script for a shell.",
    .about = "    source <(holdfast completion bash)      in ~/.bashrc\n"
             "    source <(holdfast completion zsh)       in ~/.zshrc, behind "
             "compinit\n"
             "    holdfast completion fish | source       in "
             "~/.config/fish/config.fish",
    .max_operands = 1,
    .run = run_completion,
};
