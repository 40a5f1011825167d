/* SPDX-License-Identifier: MIT
 *
 * scripts.c - the scripts in lua/, by number. */
#include "scripts.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "keys.h"
#include "lua.gen.h"

static const char *const texts[HF_N_SCRIPTS] = {
#define HF_X(name, text) text,
    HF_SCRIPTS(HF_X)
#undef HF_X
};

/* ---- as a client runs them --------------------------------------------- */

bool hf__script_grants(hf_script script) {
    switch (script) {
    case HF_SCRIPT_LOCK_ATTEMPT:
    case HF_SCRIPT_SIMPLE_ATTEMPT:
    case HF_SCRIPT_FAIR_ATTEMPT:
    case HF_SCRIPT_READ_ATTEMPT:
    case HF_SCRIPT_WRITE_ATTEMPT:
    case HF_SCRIPT_PERMIT_ATTEMPT:
        return true;
    default:
        return false;
    }
}

/* `text` with every `word` in it replaced; takes it.  NULL: out of memory. */
static char *replace(char *text, const char *word, const char *by) {
    size_t size = text ? strlen(text) + 1 : 0, grown = strlen(by);
    char *wide = NULL, *to, *at, *from = text;

    for (at = text; at && (at = strstr(at, word)); at += strlen(word))
        size += grown;
    to = wide = text ? hf__malloc(size) : NULL;
    while (wide && (at = strstr(from, word))) {
        to = stpncpy(to, from, (size_t)(at - from));
        to = stpcpy(to, by);
        from = at + strlen(word);
    }
    if (wide)
        strcpy(to, from);
    hf__free(text);
    return wide;
}

/* The check of the era goes in front, and nobody is granted anything unasked:
 * such a grant would go past it. */
static char *with_delay(char *text, hf_script script, int ms) {
    char *whole = NULL;

    text = replace(text, "local DIRECT = true", "local DIRECT = false");
    if (!text || !hf__script_grants(script))
        return text;
    if (hf__asprintf(&whole, "local DELAY = %d\n%s%s", ms, hf_delay_lua, text) <
        0)
        whole = NULL;
    hf__free(text);
    return whole;
}

static char *compose(hf_script script, const hf_manner *manner) {
    char *text = hf__strdup(texts[script]);

    if (manner->sharded)
        text = replace(text, "'publish'", "'spublish'");
    if (text && manner->lock_delay)
        text = with_delay(text, script, manner->lock_delay);
    return text;
}

/* ---- their hashes ------------------------------------------------------ */

/* SHA-1, because that is how Redis names scripts; it protects nothing. */
static bool hash(char ret[41], const char *text) {
    static const char digits[] = "0123456789abcdef";
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned int size;

    if (!EVP_Digest(text, strlen(text), sum, &size, EVP_sha1(), NULL))
        return false;
    for (size_t i = 0; i < 20; i++) {
        ret[2 * i] = digits[sum[i] >> 4];
        ret[2 * i + 1] = digits[sum[i] & 15];
    }
    ret[40] = '\0';
    return true;
}

static int no_sha1(hf_error *err) {
    return hf__fail(err, HF_ESYSTEM,
                    "OpenSSL refuses SHA-1, by which Redis names scripts");
}

static int make_mark(hf_scripts *s, hf_error *err) {
    char all[HF_N_SCRIPTS * 40 + 1], sum[41], *to = all;

    for (int i = 0; i < HF_N_SCRIPTS; i++)
        to = stpcpy(to, s->hash[i]);
    if (!hash(sum, all))
        return no_sha1(err);
    snprintf(s->mark, sizeof s->mark, "return '%s'", sum);
    return hash(s->mark_hash, s->mark) ? HF_OK : no_sha1(err);
}

int hf__scripts_init(hf_scripts *ret, const hf_manner *manner, hf_error *err) {
    int rc = HF_OK;

    memset(ret, 0, sizeof *ret);
    for (int i = 0; i < HF_N_SCRIPTS && rc == HF_OK; i++) {
        ret->text[i] = compose((hf_script)i, manner);
        if (!ret->text[i])
            rc = hf__fail_plain(err, HF_ENO_MEMORY);
        else if (!hash(ret->hash[i], ret->text[i]))
            rc = no_sha1(err);
    }
    if (rc == HF_OK)
        rc = make_mark(ret, err);
    if (rc != HF_OK)
        hf__scripts_clear(ret);
    return rc;
}

void hf__scripts_clear(hf_scripts *s) {
    for (int i = 0; i < HF_N_SCRIPTS; i++)
        hf__free(s->text[i]);
    memset(s, 0, sizeof *s);
}

/* ---- calling them ------------------------------------------------------ */

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

char *hf__script_command(const hf_scripts *scripts, const hf_call *call,
                         bool whole, size_t *len) {
    enum { AROUND = HF_DECIMAL_SIZE + 5 }; /* $ number CR LF … CR LF */
    const char *text =
        whole ? scripts->text[call->script] : scripts->hash[call->script];
    size_t text_len = whole ? strlen(text) : 40, size = 4ul * AROUND + text_len;
    char n_keys[HF_DECIMAL_SIZE], *command, *to;

    for (int i = 0; i < call->argc; i++)
        size += AROUND + len_of(call, i);
    command = to = hf__malloc(size);
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
