/* SPDX-License-Identifier: MIT
 *
 * wish.c - reading the body of a request.
 *
 * The one file that sees jansson, whose names and those of our own writer of
 * JSON (cli/json.h) are partly the same. */
#include "wish.h"

#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../cli/duration.h"

static int refuse(hf_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int refuse(hf_error *err, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    return err->code = HF_EUSAGE;
}

/* 1.5, or "1500ms" as the command has it. */
static int read_span(const char *key, const json_t *value, int *ret,
                     hf_error *err) {
    const char *wrong =
        "is neither a number of seconds nor a text like \"30s\"";
    if (json_is_string(value)) {
        wrong = duration_read(json_string_value(value), ret);
    } else if (json_is_number(value)) {
        double ms = json_number_value(value) * 1000;
        wrong = ms >= 0 && ms < INT_MAX ? NULL : "is no length of time";
        *ret = wrong ? 0 : (int)(ms + 0.999);
    }
    return wrong ? refuse(err, "the body's \"%s\" %s", key, wrong) : HF_OK;
}

static int read_text(const char *key, const json_t *value, char *to,
                     size_t size, hf_error *err) {
    if (!json_is_string(value) ||
        strlen(json_string_value(value)) != json_string_length(value))
        return refuse(err, "the body's \"%s\" is not a text", key);
    if (json_string_length(value) >= size)
        return refuse(err, "the body's \"%s\" is too long", key);
    strcpy(to, json_string_value(value));
    return HF_OK;
}

static int read_count(const char *key, const json_t *value, int *ret,
                      hf_error *err) {
    json_int_t n = json_is_integer(value) ? json_integer_value(value) : 0;
    if (n < 1 || n > INT_MAX)
        return refuse(err, "the body's \"%s\" is not a whole number from 1",
                      key);
    *ret = (int)n;
    return HF_OK;
}

static int read_member(wish *w, const char *key, const json_t *value,
                       hf_error *err) {
    if (strcmp(key, "wait") == 0)
        return read_span(key, value, &w->wait_ms, err);
    if (strcmp(key, "ttl") == 0)
        return read_span(key, value, &w->ttl_ms, err);
    if (strcmp(key, "mode") == 0)
        return read_text(key, value, w->mode, sizeof(w->mode), err);
    if (strcmp(key, "permits") == 0)
        return read_count(key, value, &w->permits, err);
    if (strcmp(key, "token") == 0)
        return read_text(key, value, w->token, sizeof(w->token), err);
    if (strcmp(key, "confirm") == 0)
        return read_text(key, value, w->confirm, sizeof(w->confirm), err);
    if (strcmp(key, "owner") == 0)
        return read_text(key, value, w->owner, sizeof(w->owner), err);
    return refuse(err,
                  "the body has an unknown member \"%.40s\"; there are wait, "
                  "ttl, mode, permits, token, confirm, owner",
                  key);
}

static int check(const wish *w, hf_error *err) {
    if (w->wait_ms > WISH_WAIT_MOST_MS)
        return refuse(err, "the body's \"wait\" is longer than an hour: ask "
                           "again instead");
    if (w->ttl_ms != 0 && w->ttl_ms < WISH_TTL_LEAST_MS)
        return refuse(err, "the body's \"ttl\" is shorter than a second");
    return HF_OK;
}

static int read_members(wish *w, json_t *object, hf_error *err) {
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        int r = read_member(w, key, value, err);
        if (r != HF_OK)
            return r;
    }
    return check(w, err);
}

int wish_read(wish *w, const char *body, size_t n, hf_error *err) {
    json_error_t trouble;
    json_t *object;
    int r;
    memset(w, 0, sizeof(*w));
    if (n == 0)
        return HF_OK;
    object = json_loadb(body, n, JSON_REJECT_DUPLICATES, &trouble);
    if (!object)
        return refuse(err, "the body is not JSON: line %d, column %d: %.120s",
                      trouble.line, trouble.column, trouble.text);
    r = json_is_object(object) ? read_members(w, object, err) :
                                 refuse(err, "the body is not an object");
    json_decref(object);
    return r;
}
