/* SPDX-License-Identifier: MIT
 *
 * main.c - the holdfast command: a table of commands, and help. */
#include <stdio.h>
#include <string.h>

#include "../include/holdfast.h"
#include "command.h"
#include "job.h"
#include "options.h"
#include "spell.h"
#include "status.h"

static int run_help(const command *cmd, int argc, char **argv);

static const command help_command = {
    .name = "help",
    .operands = "[COMMAND]",
    .summary = "Show what a command does and its options.",
    .max_operands = 1,
    .run = run_help,
};

const command *const commands[] = {
    &run_command,     &hold_command,
    &lead_command,    &sem_command,
    &latch_command,   &wait_command,
    &guard_command,   &show_command,
    &ls_command,      &top_command,
    &events_command,  &deadlocks_command,
    &clients_command, &release_command,
    &steal_command,   &serve_command,
    &doctor_command,  &bench_command,
    &demo_command,    &completion_command,
    &help_command,    NULL,
};

const command *command_find(const char *name) {
    for (const command *const *cmd = commands; *cmd; cmd++)
        if (strcmp((*cmd)->name, name) == 0)
            return *cmd;
    return NULL;
}

static void overview(FILE *out) {
    fputs("Usage: holdfast COMMAND [OPTION...] [ARGUMENT...]\n\n"
          "Locks that many processes on many machines share through a store "
          "they already\nrun.  Try: holdfast demo\n\nCommands:\n",
          out);
    for (const command *const *cmd = commands; *cmd; cmd++)
        fprintf(out, "  %-11s %s\n", (*cmd)->name, (*cmd)->summary);
    fprintf(out,
            "\n'holdfast COMMAND --help' tells more, 'man holdfast-COMMAND' "
            "everything.\nStores: %s.\n",
            hf_stores());
}

static int unknown(const char *name) {
    const char *nearest = NULL;
    int distance = SPELL_NONE;
    for (const command *const *cmd = commands; *cmd; cmd++)
        spell_offer(name, (*cmd)->name, &nearest, &distance);
    if (nearest)
        complain("unknown command '%s'; did you mean '%s'?", name, nearest);
    else
        complain("unknown command '%s'; 'holdfast help' lists them", name);
    return EXIT_USAGE;
}

static int flushed(void) {
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : EXIT_SOFTWARE;
}

static int run_help(const command *cmd, int argc, char **argv) {
    char *name = NULL;
    if (options_read(cmd, NULL, &name, argc, argv) < argc)
        options_refuse(cmd, "one command at a time");
    if (!name) {
        overview(stdout);
        return flushed();
    }
    if (!command_find(name))
        return unknown(name);
    options_help(command_find(name));
    return flushed();
}

static bool is_one_of(const char *word, const char *a, const char *b) {
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

int main(int argc, char **argv) {
    const command *cmd;
    if (argc < 2) {
        overview(stderr);
        return EXIT_USAGE;
    }
    if (is_one_of(argv[1], "--help", "-h")) {
        overview(stdout);
        return flushed();
    }
    if (is_one_of(argv[1], "--version", "-V")) {
        printf("holdfast %s\n", hf_version());
        return flushed();
    }
    cmd = command_find(argv[1]);
    if (!cmd)
        return unknown(argv[1]);
    guard_title(argv);
    return cmd->run(cmd, argc - 1, argv + 1);
}
