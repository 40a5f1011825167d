/* SPDX-License-Identifier: MIT
 *
 * route.h - what is answered: a method and a path, and who answers. */
#ifndef CONSOLE_ROUTE_H
#define CONSOLE_ROUTE_H

#include "request.h"

/* The table; a NULL method ends it. */
extern const route routes[];

/* Finds the route and the name in its path; false: there is none, and that was
 * answered. */
bool route_find(request *r);

/* "GET /api/v1/locks", one on each line. */
void route_print(FILE *out);

#endif
