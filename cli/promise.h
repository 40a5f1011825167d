/* SPDX-License-Identifier: MIT
 *
 * promise.h - what one may rely on in a store: a verdict for each promise. */
#ifndef CLI_PROMISE_H
#define CLI_PROMISE_H

#include "../include/holdfast.h"
#include "json.h"

enum { PROMISES = 7 };

typedef struct verdict {
    bool said;
    int rank; /* of the fact it was taken from; the lowest is the nearest */
    hf_verdict_level level;
    char text[600];
} verdict;

typedef struct promises {
    verdict of[PROMISES];
} promises;

/* A fact that the store told: for the promises that rest on it. */
void promises_hear(promises *p, hf_verdict_level level, const char *what,
                   const char *text);

/* What the store has not spoken of by itself is asked. */
void promises_ask(promises *p, hf_client *client);

/* Does everything hold that keeps two from holding one lock, and lets what
 * checks tokens refuse the wrong one? */
bool promises_safe(const promises *p);

void promises_print(const promises *p, FILE *out);
void promises_json(const promises *p, json *j);

#endif
