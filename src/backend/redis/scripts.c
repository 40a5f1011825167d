/* SPDX-License-Identifier: MIT
 *
 * scripts.c - the scripts in lua/, by number. */
#include "scripts.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "../../err.h"
#include "keys.h"
#include "lua.gen.h"

const char *const hf__script_text[HF_N_SCRIPTS] = {
#define HF_X(name, text) text,
    HF_SCRIPTS(HF_X)
#undef HF_X
};

/* SHA-1, because that is how Redis names scripts; it protects nothing. */
static bool hash(char ret[41], const char *text) {
    static const char digits[] = "0123456789abcdef";
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned int size;

    if (!EVP_Digest(text, strlen(text), sum, &size, EVP_sha1(), NULL))
        return false;
    for (int i = 0; i < 20; i++) {
        ret[2 * i] = digits[sum[i] >> 4];
        ret[2 * i + 1] = digits[sum[i] & 15];
    }
    ret[40] = '\0';
    return true;
}

int hf__hash_scripts(hf_hashes *ret, hf_error *err) {
    for (int i = 0; i < HF_N_SCRIPTS; i++)
        if (!hash(ret->of[i], hf__script_text[i]))
            return hf__fail(err, HF_ESYSTEM,
                            "OpenSSL refuses SHA-1, by which Redis names "
                            "scripts");
    return HF_OK;
}

/* hiredis formats with printf, which is half of what a request costs us. */
static char *add_text(char *to, const char *text, size_t len) {
    *to++ = '$';
    to = stpcpy(hf__decimal(to, len), "\r\n");
    memcpy(to, text, len);
    return stpcpy(to + len, "\r\n");
}

static size_t len_of(const hf_call *call, int i) {
    return call->lens ? call->lens[i] : strlen(call->argv[i]);
}

char *hf__script_command(const hf_hashes *hashes, const hf_call *call,
                         bool whole, size_t *len) {
    enum { AROUND = HF_DECIMAL_SIZE + 5 }; /* $ number CR LF … CR LF */
    const char *text =
        whole ? hf__script_text[call->script] : hashes->of[call->script];
    size_t text_len = whole ? strlen(text) : 40, size = 4 * AROUND + text_len;
    char n_keys[HF_DECIMAL_SIZE], *command, *to;

    for (int i = 0; i < call->argc; i++)
        size += AROUND + len_of(call, i);
    command = to = malloc(size);
    if (!command)
        return NULL;
    *to++ = '*';
    to = stpcpy(hf__decimal(to, (uint64_t)call->argc + 3), "\r\n");
    to = whole ? add_text(to, "EVAL", 4) : add_text(to, "EVALSHA", 7);
    to = add_text(to, text, text_len);
    hf__decimal(n_keys, (uint64_t)call->n_keys);
    to = add_text(to, n_keys, strlen(n_keys));
    for (int i = 0; i < call->argc; i++)
        to = add_text(to, call->argv[i], len_of(call, i));
    *len = (size_t)(to - command);
    return command;
}
