/* SPDX-License-Identifier: MIT
 *
 * lend.h - the way to a grant, which `acquire` and `hold` share. */
#ifndef CONSOLE_LEND_H
#define CONSOLE_LEND_H

#include "claims.h"
#include "request.h"

/* Reads what is wanted and makes the claim; false: refused, and answered. */
bool lend_begin(request *r, bool hold);

/* Hands it to the crew that waits, or, if it does not, to that of tasks. */
void lend_part(request *r, crew_fn *fn);

/* In the crew: waits for the grant; false: answered why there is none. */
bool lend_take(request *r);

/* Name, token, fence, lease: the members of an object. */
void lend_write(json *j, claim *c);

#endif
