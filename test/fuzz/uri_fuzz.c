/* SPDX-License-Identifier: MIT
 *
 * uri_fuzz.c - any text as the address of a store.
 *
 * Three things hold whatever is written: parsing and showing it ends without
 * damage; a password planted in it is never shown, however it was mangled; and
 * what was parsed, written out again in full, is parsed to the same. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 512 };

static const char secret[] = "Tr0ub4dor";

/* ---- showing ----------------------------------------------------------- */

/* A buffer of the right size, on the heap, so that a byte more is noticed. */
static void is_not_shown(const char *text) {
    size_t n = hf_uri_redact(text, NULL, 0);
    char *shown = malloc(n + 1);
    assert(shown != NULL);
    assert(hf_uri_redact(text, shown, n + 1) == n);
    assert(strlen(shown) == n);
    assert(strstr(shown, secret) == NULL);
    free(shown);
}

static void is_not_told(const char *text) {
    hf_uri *uri = NULL;
    hf_error err = {0, ""};
    if (hf_uri_parse(&uri, text, &err) == HF_OK)
        hf_uri_free(uri);
    else
        assert(strstr(err.text, secret) == NULL);
}

/* The secret stands in the middle of a password of arbitrary bytes, between
 * an arbitrary user and arbitrary hosts. */
static void check_planted_password(const char *junk) {
    static const char *const schemes[] = {"redis", "rediss",     "redis+unix",
                                          "zk",    "postgresql", "x"};
    char text[4 * INPUT_MAX];
    size_t third = strlen(junk) / 3;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        snprintf(text, sizeof text, "%s://%.*s:%.*s%s%.*s@%s", schemes[i],
                 (int)third, junk, (int)third, junk + third, secret, (int)third,
                 junk + third, junk + 2 * third);
        is_not_shown(text);
        is_not_told(text);
    }
}

static void check_planted_parameter(const char *junk) {
    char text[4 * INPUT_MAX];
    size_t half = strlen(junk) / 2;
    snprintf(text, sizeof text, "redis://%.*s&password=%s", (int)half, junk,
             secret);
    is_not_shown(text);
    snprintf(text, sizeof text, "redis://h?password=%s&%s", secret, junk);
    is_not_shown(text);
    snprintf(text, sizeof text, "zk://h?password=%s&%s", secret, junk);
    is_not_shown(text);
}

/* ---- writing out again ------------------------------------------------- */

typedef struct text {
    char s[3 * 2 * INPUT_MAX + 64];
    size_t n;
} text;

static void put(text *to, const char *from) {
    to->n += (size_t)snprintf(to->s + to->n, sizeof to->s - to->n, "%s", from);
    assert(to->n < sizeof to->s);
}

static void put_escaped(text *to, const char *from) {
    char piece[4];
    for (; *from != '\0'; from++) {
        snprintf(piece, sizeof piece, "%%%02X", (unsigned char)*from);
        put(to, piece);
    }
}

static void put_hosts(text *to, const hf_uri *uri) {
    char port[16];
    if (uri->user != NULL || uri->password != NULL) {
        put_escaped(to, uri->user != NULL ? uri->user : "");
        put(to, ":");
        put_escaped(to, uri->password != NULL ? uri->password : "");
        put(to, "@");
    }
    for (size_t i = 0; i < uri->n_hosts; i++) {
        put(to, i > 0 ? "," : "");
        put_escaped(to, uri->hosts[i].host);
        snprintf(port, sizeof port, ":%d", uri->hosts[i].port);
        put(to, uri->hosts[i].port != 0 ? port : "");
    }
}

static void write_out(text *to, const hf_uri *uri) {
    bool is_file = strcmp(uri->scheme, "sqlite") == 0;
    bool is_word = strcmp(uri->scheme, "memory") == 0;
    bool is_socket = strcmp(uri->scheme, "redis+unix") == 0;

    put(to, uri->scheme);
    put(to, is_file || is_word ? ":" : "://");
    if (!is_file && !is_word)
        put_hosts(to, uri);
    if (uri->path != NULL) {
        put(to, is_socket || is_file || is_word ? "" : "/");
        /* A socket's authority ends at its first slash. */
        put(to, is_socket ? "/" : "");
        put_escaped(to, uri->path + is_socket);
    }
    for (size_t i = 0; i < uri->n_params; i++) {
        put(to, i > 0 ? "&" : "?");
        put_escaped(to, uri->params[i].key);
        put(to, "=");
        put_escaped(to, uri->params[i].value);
    }
}

static void same(const char *a, const char *b) {
    assert((a == NULL) == (b == NULL));
    assert(a == NULL || strcmp(a, b) == 0);
}

static void same_uri(const hf_uri *a, const hf_uri *b) {
    same(a->scheme, b->scheme);
    same(a->user, b->user);
    same(a->password, b->password);
    same(a->path, b->path);
    assert(a->n_hosts == b->n_hosts && a->n_params == b->n_params);
    for (size_t i = 0; i < a->n_hosts; i++) {
        same(a->hosts[i].host, b->hosts[i].host);
        assert(a->hosts[i].port == b->hosts[i].port);
    }
    for (size_t i = 0; i < a->n_params; i++) {
        same(a->params[i].key, b->params[i].key);
        same(a->params[i].value, b->params[i].value);
    }
}

static void check_parsing(const char *input) {
    hf_uri *uri = NULL, *again = NULL;
    hf_error err = {0, ""};
    text canonical = {"", 0};

    int rc = hf_uri_parse(&uri, input, &err);
    assert(rc == HF_OK || (rc == HF_EURI && err.text[0] != '\0'));
    if (rc != HF_OK)
        return;
    write_out(&canonical, uri);
    if (hf_uri_parse(&again, canonical.s, &err) != HF_OK) {
        fprintf(stderr, "%s\n%s\n", canonical.s, err.text);
        abort();
    }
    same_uri(uri, again);
    hf_uri_free(again);
    hf_uri_free(uri);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char input[INPUT_MAX + 1];
    if (size > INPUT_MAX || (size > 0 && memchr(data, 0, size) != NULL))
        return 0;
    if (size > 0)
        memcpy(input, data, size);
    input[size] = '\0';
    if (strstr(input, secret) != NULL)
        return 0;
    is_not_shown(input);
    check_parsing(input);
    check_planted_password(input);
    check_planted_parameter(input);
    return 0;
}
