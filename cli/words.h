/* SPDX-License-Identifier: MIT
 *
 * words.h - commands of several words: `sem set NAME N`, `latch wait NAME`. */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include "claim.h"

typedef struct words_options {
    wait_options wait;
    bool json;
    int ttl_ms;
} words_options;

/* What was asked, of what, and the numbers that came of it. */
typedef struct words {
    words_options options;
    const char *name;
    int n;
    hf_semaphore *sem; /* one of these two, by the kind */
    hf_latch *latch;
    int64_t numbers[2];
    hf_error err;
} words;

enum word_takes {
    TAKES_N = 1, /* a number, or else 1                                    */
    NEEDS_N = 2,
    TAKES_WAIT = 4, /* -n, -w                                              */
    TAKES_TTL = 8
};

typedef struct word {
    unsigned takes;
    int (*run)(words *w);   /* a result; NULL: it waits for a grant         */
    const char *numbers[2]; /* what it tells, as JSON calls it; or NULL    */
} word;

/* Does what table[i] says if the first operand is cmd->words[i].  An exit
 * status. */
int words_run(const command *cmd, hf_kind kind, const word *table, int argc,
              char **argv);

#endif
