/* SPDX-License-Identifier: MIT
 *
 * decode.c - the request line, and headers of several parts. */
#include "decode.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int hex(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool decode_percent(char *text, bool plus) {
    char *to = text;
    for (const char *at = text; *at; at++) {
        if (*at != '%') {
            *to++ = (char)(plus && *at == '+' ? ' ' : *at);
            continue;
        }
        int high = hex(at[1]), low = high < 0 ? -1 : hex(at[2]);
        if (low < 0 || (high == 0 && low == 0))
            return false;
        *to++ = (char)(high * 16 + low);
        at += 2;
    }
    *to = '\0';
    return true;
}

const char *decode_pairs(char *text, target_pair *pairs, size_t *n) {
    char *rest = text, *pair, *value;
    *n = 0;
    while ((pair = strsep(&rest, "&")) != NULL) {
        if (!*pair)
            continue;
        if (*n == TARGET_PAIRS)
            return "has too many parameters";
        value = strchr(pair, '=');
        if (value)
            *value++ = '\0';
        if (!decode_percent(pair, true) ||
            (value && !decode_percent(value, true)))
            return "is not percent-encoded as it should be";
        pairs[*n].key = pair;
        pairs[(*n)++].value = value ? value : "";
    }
    return NULL;
}

static const char *read_path(target *t, char *path) {
    char *part;
    if (*path == '\0') /* "/": no parts */
        return NULL;
    while ((part = strsep(&path, "/")) != NULL) {
        if (t->n_parts == TARGET_PARTS)
            return "has too many parts";
        if (!*part)
            return "has an empty part";
        if (!decode_percent(part, false))
            return "is not percent-encoded as it should be";
        t->parts[t->n_parts++] = part;
    }
    return NULL;
}

const char *target_read(target *t, const char *uri) {
    const char *wrong;
    char *query;
    memset(t, 0, sizeof(*t));
    if (*uri != '/')
        return "does not begin with a slash";
    if (strlen(uri) > TARGET_MOST)
        return "is too long";
    t->text = strdup(uri);
    if (!t->text)
        return "found no memory";
    query = strchr(t->text, '?');
    if (query)
        *query++ = '\0';
    wrong = read_path(t, t->text + 1);
    if (!wrong && query)
        wrong = decode_pairs(query, t->query, &t->n_query);
    return wrong;
}

void target_free(target *t) {
    free(t->text);
    t->text = NULL;
}

const char *target_value(const target *t, const char *key) {
    for (size_t i = 0; i < t->n_query; i++)
        if (strcmp(t->query[i].key, key) == 0)
            return t->query[i].value;
    return NULL;
}

/* How long the host is at the beginning of the text; 0: there is none. */
static size_t host_length(const char *text) {
    static const char name[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    size_t n;
    if (*text != '[')
        return strspn(text, name);
    n = 1 + strspn(text + 1, "0123456789abcdefABCDEF:.");
    return text[n] == ']' ? n + 1 : 0;
}

bool decode_host(const char *header, char *name, size_t size) {
    size_t n = host_length(header);
    const char *port = header + n;
    if (n == 0 || n >= size)
        return false;
    if (*port == ':')
        port += 1 + strspn(port + 1, "0123456789");
    if (*port != '\0')
        return false;
    memcpy(name, header, n);
    name[n] = '\0';
    return true;
}

bool decode_cookie(const char *header, const char *name, char *value,
                   size_t size) {
    size_t length = strlen(name), n;
    for (const char *at = header; *at; at += *at ? 1 : 0) {
        at += strspn(at, " \t;");
        n = strcspn(at, ";");
        if (n > length && strncmp(at, name, length) == 0 && at[length] == '=') {
            if (n - length - 1 >= size)
                return false;
            memcpy(value, at + length + 1, n - length - 1);
            value[n - length - 1] = '\0';
            return true;
        }
        at += n;
    }
    return false;
}
