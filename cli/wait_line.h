/* SPDX-License-Identifier: MIT
 *
 * wait_line.h - what someone sees who waits: who holds it, for how long, and
 * how many are before him. */
#ifndef CLI_WAIT_LINE_H
#define CLI_WAIT_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "../include/holdfast.h"

typedef struct wait_line {
    const char *name; /* that was shown last                               */
    hf_kind kind;     /* of what we ask for                                   */
    int64_t since;    /* we wait                                              */
    int64_t next;     /* when to look and show again; MOMENT_NEVER: never     */
    bool terminal;    /* one line that is rewritten                           */
    bool verbose;     /* else a line per change                               */
    bool shown;
    char last[700];
} wait_line;

/* Nothing is shown for the first 300 ms: most waits are shorter. */
void wait_line_start(wait_line *line, hf_kind kind, int64_t since,
                     bool verbose);

/* Asks the store who holds that name, and shows it. */
void wait_line_show(wait_line *line, const char *name, hf_client *client);

/* Takes the line off the terminal. */
void wait_line_clear(const wait_line *line);

/* Says that a signal ended the wait. */
void wait_line_end(const char *name, int sig);

/* Says why it was not obtained, who holds it, and what to type next. */
void wait_line_failed(hf_client *client, const char *name, hf_kind kind,
                      int64_t waited_ms);

#endif
