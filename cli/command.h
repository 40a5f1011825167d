/* SPDX-License-Identifier: MIT
 *
 * command.h - what a subcommand is: a name, its options as a table, and a
 * function.  Help, parsing, suggestions and completion all read the table, so
 * that they cannot disagree.
 *
 * The command as a whole uses only include/holdfast.h. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

typedef enum option_type {
    OPTION_FLAG,     /* bool                                               */
    OPTION_TEXT,     /* const char *, lent by argv                         */
    OPTION_DURATION, /* int, milliseconds                                  */
    OPTION_STATUS,   /* int, 0 to 255                                      */
    OPTION_NUMBER,   /* int, from 0                                        */
    OPTION_COUNT,    /* int, from 1                                        */
    OPTION_SIGNAL,   /* int, a signal's number                             */
    OPTION_LIST      /* option_list: a text for each time that it is given */
} option_type;

enum { OPTION_LIST_MOST = 31 };

typedef struct option_list {
    int n;
    const char *items[OPTION_LIST_MOST]; /* lent by argv */
} option_list;

typedef struct option_row {
    char letter;       /* 0: it has only a long name                       */
    const char *name;  /* NULL ends the table                              */
    const char *value; /* what the help calls its value; NULL: a flag      */
    option_type type;
    size_t offset;    /* where it goes in the command's struct            */
    const char *help; /* NULL: an alias, not shown                        */
} option_row;

typedef struct command command;
struct command {
    const char *name;
    const char *operands; /* as the help shows them                        */
    const char *summary;  /* one line                                      */
    const char *about;    /* the rest of the help, or NULL                 */
    const char *const *words; /* what its first operand may be, NULL at the
                                 end; NULL: anything                       */
    const option_row *options;
    const option_row *const *shared; /* tables of the structs that its own
                                        begins with, NULL at the end;
                                        NULL: none                         */
    int max_operands; /* how many it reads among its options; what comes
                         after is left alone (the command of `run`)        */
    bool store;       /* takes the options of settings.h too: its struct
                         begins with a `settings`                          */
    int (*run)(const command *cmd, int argc, char **argv);
};

/* The table in main.c, in the order of the help; NULL ends it. */
extern const command *const commands[];

const command *command_find(const char *name);

extern const command bench_command, clients_command, completion_command,
    deadlocks_command, demo_command, doctor_command, events_command,
    guard_command, hold_command, latch_command, lead_command, ls_command,
    release_command, run_command, sem_command, serve_command, show_command,
    steal_command, top_command, wait_command;

#endif
