/* SPDX-License-Identifier: MIT
 *
 * claim.h - the options of those who ask for something: how long they wait,
 * and of which kind it is.
 *
 * Each struct begins with the one before it, and a command's own struct with
 * the last that it needs: so the tables fit every command. */
#ifndef CLI_CLAIM_H
#define CLI_CLAIM_H

#include "grant.h"
#include "settings.h"
#include "status.h"

typedef struct wait_options {
    settings settings;
    bool nonblock;
    int wait_ms, conflict;
} wait_options;

typedef struct claim_options {
    wait_options wait;
    bool exclusive, shared, writers_first, fair, simple, deadlock;
    int permits, limit; /* 0: not given */
    option_list also;
    const char *replicas;
} claim_options;

extern const option_row wait_rows[], claim_rows[];

#define WAIT_OPTIONS_INIT                                                      \
    { .wait_ms = HF_FOREVER, .conflict = EXIT_BUSY }
#define CLAIM_OPTIONS_INIT                                                     \
    { .wait = WAIT_OPTIONS_INIT }

/* What is wished for.  Options that contradict each other are refused; else 0,
 * or an exit status after complaining. */
int claim_wish(const command *cmd, claim_options *o, const char *name,
               grant_wish *wish);

/* How long to wait. */
int claim_wait_ms(const wait_options *o);

#endif
