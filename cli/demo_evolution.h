/* SPDX-License-Identifier: MIT
 *
 * demo_evolution.h - what the designs of `holdfast demo evolution` share. */
#ifndef CLI_DEMO_EVOLUTION_H
#define CLI_DEMO_EVOLUTION_H

#include "demo_server.h"

enum { MASTERS = 5 };

typedef struct evolution {
    const demo *demo;
    demo_server one, copy;        /* a master and its replica               */
    demo_server masters[MASTERS]; /* independent ones                       */
} evolution;

/* The head of a design, and the commands that it consists of. */
void evolution_design(int number, const char *title, const char *commands);

/* What it was made for, and how it breaks: a sentence each, in one line or two.
 * False, and said otherwise, if that did not happen. */
bool evolution_holds(bool came_true, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool evolution_breaks(bool came_true, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Designs 5 and 6: a majority, and the token. */
bool evolution_majority(evolution *e);

#endif
