/* SPDX-License-Identifier: MIT
 *
 * gate.h - who is let in. */
#ifndef CONSOLE_GATE_H
#define CONSOLE_GATE_H

#include "request.h"

/* Does it come by one of our names, from a page of ours or from none?  False:
 * refused, and answered. */
bool gate_address(request *r);

/* May whoever asks have what the route is?  Likewise. */
bool gate_open(request *r);

/* The cookie of a browser that has logged in. */
#define GATE_COOKIE "holdfast-session"

#endif
