/* SPDX-License-Identifier: MIT
 *
 * json.c - writing JSON. */
#include "json.h"

#include <inttypes.h>

#include "text.h"

static void put_char(FILE *out, const char **at) {
    unsigned char c = (unsigned char)**at;
    size_t n = text_char(*at);
    if (c == '"' || c == '\\')
        fprintf(out, "\\%c", c);
    else if (n > 0)
        fwrite(*at, 1, n, out);
    else if (c < 0x80)
        fprintf(out, "\\u%04x", c);
    else
        fprintf(out, "\\\\x%02x", c);
    *at += n > 0 ? n : 1;
}

static void put_string(FILE *out, const char *text) {
    fputc('"', out);
    while (*text)
        put_char(out, &text);
    fputc('"', out);
}

static void begin(json *j, const char *key) {
    if (j->comma)
        fputc(',', j->out);
    j->comma = true;
    if (!key)
        return;
    put_string(j->out, key);
    fputc(':', j->out);
}

void json_open(json *j, const char *key, char bracket) {
    begin(j, key);
    fputc(bracket, j->out);
    j->comma = false;
}

void json_close(json *j, char bracket) {
    fputc(bracket, j->out);
    j->comma = true;
}

void json_text(json *j, const char *key, const char *value) {
    begin(j, key);
    put_string(j->out, value);
}

void json_text_or_null(json *j, const char *key, const char *value) {
    if (value && *value)
        json_text(j, key, value);
    else
        json_null(j, key);
}

void json_number(json *j, const char *key, int64_t value) {
    begin(j, key);
    fprintf(j->out, "%" PRId64, value);
}

void json_token(json *j, const char *key, uint64_t value) {
    if (value == 0) {
        json_null(j, key);
        return;
    }
    begin(j, key);
    fprintf(j->out, "%" PRIu64, value);
}

void json_span(json *j, const char *key, int64_t ms) {
    if (ms < 0) {
        json_null(j, key);
        return;
    }
    begin(j, key);
    fprintf(j->out, "%" PRId64 ".%03d", ms / 1000, (int)(ms % 1000));
}

void json_micros(json *j, const char *key, int64_t us) {
    begin(j, key);
    fprintf(j->out, "%" PRId64 ".%06d", us / 1000000, (int)(us % 1000000));
}

void json_flag(json *j, const char *key, bool value) {
    begin(j, key);
    fputs(value ? "true" : "false", j->out);
}

void json_null(json *j, const char *key) {
    begin(j, key);
    fputs("null", j->out);
}
