/* SPDX-License-Identifier: MIT
 *
 * scripts.c - the scripts in lua/, by number. */
#include "scripts.h"

#include <hiredis/hiredis.h>
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

char *hf__script_command(const hf_hashes *hashes, const hf_call *call,
                         bool whole, size_t *len) {
    const char *few[16], **argv = few;
    char n_keys[HF_DECIMAL_SIZE], *command = NULL;
    long long size;

    if (call->argc + 3 > 16)
        argv = malloc(((size_t)call->argc + 3) * sizeof *argv);
    if (!argv)
        return NULL;
    hf__decimal(n_keys, (uint64_t)call->n_keys);
    argv[0] = whole ? "EVAL" : "EVALSHA";
    argv[1] = whole ? hf__script_text[call->script] : hashes->of[call->script];
    argv[2] = n_keys;
    memcpy(argv + 3, call->argv, (size_t)call->argc * sizeof *argv);
    size = redisFormatCommandArgv(&command, call->argc + 3, argv, NULL);
    if (argv != few)
        free(argv);
    if (size < 0)
        return NULL;
    *len = (size_t)size;
    return command;
}
