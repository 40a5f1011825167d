/* SPDX-License-Identifier: MIT
 *
 * keep.h - holding without a command to run. */
#ifndef CLI_KEEP_H
#define CLI_KEEP_H

#include "grant.h"

/* Holds until `input` (-1: none) ends, which is 0; until a signal asks us to
 * leave, which is EXIT_SIGNAL plus its number; or until it is lost, which is
 * EXIT_LOST and was said on stderr.  Nothing was released. */
int keep(grant *g, const signals *s, int input);

#endif
