/* SPDX-License-Identifier: MIT
 *
 * write.h - what was seen, as JSON: the same for the command and the console.
 * A line has the keys of `holdfast ls -J`, and some more. */
#ifndef CLI_WRITE_H
#define CLI_WRITE_H

#include "../view/view.h"
#include "json.h"

/* The members of a line's object. */
void write_line(json *j, const view_line *l);

/* A whole object. */
void write_event(json *j, const view_event *e, uint64_t id);
void write_client(json *j, const hf_presence *c);

/* "circles": an array of arrays. */
void write_circles(json *j, const char *key, const view_picture *p);

/* RFC 3339 in UTC of milliseconds since 1970; 0 is null. */
void write_time(json *j, const char *key, int64_t at_ms);

/* When it was, and whether the look before this answer succeeded. */
void write_look(json *j, const view_picture *p);

#endif
