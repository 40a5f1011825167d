/* SPDX-License-Identifier: MIT
 *
 * json.h - writing JSON, on one line.  Keys are an interface: they are added,
 * never renamed.  Durations are seconds.
 *
 * Every call takes the key, or NULL inside an array. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct json {
    FILE *out;
    bool comma; /* before what comes next */
} json;

void json_open(json *j, const char *key, char bracket);
void json_close(json *j, char bracket);

/* Bytes that are not UTF-8 are written as the four characters \xNN, since
 * JSON has no bytes. */
void json_text(json *j, const char *key, const char *value);
void json_text_or_null(json *j, const char *key, const char *value); /* "" */
void json_number(json *j, const char *key, int64_t value);
void json_token(json *j, const char *key, uint64_t value); /* 0 is null   */
void json_span(json *j, const char *key, int64_t ms);      /* < 0 is null */
void json_micros(json *j, const char *key, int64_t us);
void json_flag(json *j, const char *key, bool value);
void json_null(json *j, const char *key);

#endif
