/* SPDX-License-Identifier: MIT
 *
 * request_fuzz.c - what strangers send to the console: the request line, the
 * Host and Cookie headers, a form, and the body of JSON.
 *
 * The first byte says which; what is read must make sense. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../console/decode.h"
#include "../../console/wish.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_target(const char *text) {
    target t;
    if (!target_read(&t, text)) {
        assert(t.n_parts <= TARGET_PARTS && t.n_query <= TARGET_PAIRS);
        for (size_t i = 0; i < t.n_parts; i++)
            assert(*t.parts[i] && strlen(t.parts[i]) <= strlen(text));
        for (size_t i = 0; i < t.n_query; i++)
            assert(target_value(&t, t.query[i].key) != NULL);
    }
    target_free(&t);
}

static void read_host(const char *text) {
    char name[64];
    if (decode_host(text, name, sizeof(name)))
        assert(*name && strncmp(text, name, strlen(name)) == 0 &&
               !strpbrk(name + 1, "[") && (*name == '[' || !strchr(name, ':')));
}

static void read_cookie(const char *text) {
    char value[32];
    if (decode_cookie(text, "a", value, sizeof(value)))
        assert(strstr(text, value) && !strchr(value, ';'));
}

static void read_form(char *text) {
    target_pair pairs[TARGET_PAIRS];
    size_t n, length = 0;
    if (decode_pairs(text, pairs, &n))
        return;
    assert(n <= TARGET_PAIRS);
    for (size_t i = 0; i < n; i++)
        length += strlen(pairs[i].key) + strlen(pairs[i].value);
    assert(length <= 4096);
}

static void read_body(const char *text, size_t n) {
    hf_error err = {0};
    wish w;
    if (wish_read(&w, text, n, &err) != HF_OK) {
        assert(err.code == HF_EUSAGE && err.text[0]);
        return;
    }
    assert(w.wait_ms >= 0 && w.wait_ms <= WISH_WAIT_MOST_MS);
    assert(w.ttl_ms == 0 || w.ttl_ms >= WISH_TTL_LEAST_MS);
    assert(w.permits >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    char *text;
    if (n < 1 || n > 4096)
        return 0;
    text = malloc(n);
    memcpy(text, data + 1, n - 1);
    text[n - 1] = '\0';
    switch (data[0]) {
    case 'p':
        read_target(text);
        break;
    case 'h':
        read_host(text);
        break;
    case 'c':
        read_cookie(text);
        break;
    case 'f':
        read_form(text);
        break;
    default:
        read_body(text, n - 1);
    }
    free(text);
    return 0;
}
