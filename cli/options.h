/* SPDX-License-Identifier: MIT
 *
 * options.h - reading a command line by a command's table. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "command.h"

/* Reads options into the struct at `into` and at most cmd->max_operands
 * operands among them into `operands` (the rest are NULL).  Answers --help
 * and --version and refuses bad usage by leaving the program.  The index of
 * the first argument that was not read. */
int options_read(const command *cmd, void *into, char **operands, int argc,
                 char **argv);

/* Prints the help of one command. */
void options_help(const command *cmd);

/* Calls `fn` for every row of the command, the store's included. */
void options_each(const command *cmd, void (*fn)(void *, const option_row *),
                  void *arg);

/* An operand that is a number from 0, or refused. */
int options_number(const command *cmd, const char *text);

/* Which of cmd->words it is; another one is refused with the nearest. */
int options_word(const command *cmd, const char *word);

/* "holdfast run: text" and where to read more; leaves with EXIT_USAGE. */
_Noreturn void options_refuse(const command *cmd, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
