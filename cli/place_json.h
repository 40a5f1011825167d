/* SPDX-License-Identifier: MIT
 *
 * place_json.h - a line of claims as JSON. */
#ifndef CLI_PLACE_JSON_H
#define CLI_PLACE_JSON_H

#include "json.h"
#include "place.h"

/* The members of one line's object; the state as who asks has it in words. */
void place_json(json *j, const char *name, const char *state,
                const view_line *l);

/* "waiters", in order. */
void place_json_waiters(json *j, const view_line *l);

/* "pid", null if it is not known. */
void place_json_pid(json *j, int64_t pid);

/* One claim of the line, as an object. */
void place_json_claim(json *j, const char *key, const view_line *l,
                      const hf_place *p);

#endif
