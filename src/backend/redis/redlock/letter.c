/* SPDX-License-Identifier: MIT
 *
 * letter.c - one command as it goes to several servers. */
#include "letter.h"

#include <stdio.h>
#include <string.h>

#include "../../../alloc.h"
#include "../conn.h"

/* Takes the bytes. */
static hf_letter *letter_of(char *bytes, size_t len) {
    hf_letter *l = bytes ? hf__calloc(1, sizeof *l) : NULL;

    if (!l) {
        hf__free(bytes);
        return NULL;
    }
    atomic_init(&l->refs, 1);
    l->bytes = bytes;
    l->len = len;
    return l;
}

hf_letter *hf__letter_new(const hf_scripts *scripts, const hf_call *call,
                          hf_time until) {
    size_t len;
    char *bytes = hf__script_command(scripts, call, false, &len);
    hf_letter *l = letter_of(bytes, len);

    if (!l)
        return NULL;
    l->scripted = true;
    l->script = call->script;
    l->until = until;
    return l;
}

hf_letter *hf__letter_plain(int argc, const char *const *argv) {
    hf_pipe p = {0};

    hf__pipe_add(&p, argc, argv);
    if (p.failed) {
        hf__pipe_free(&p);
        return NULL;
    }
    return letter_of(p.bytes, p.len);
}

hf_letter *hf__letter_keep(hf_letter *l) {
    atomic_fetch_add(&l->refs, 1);
    return l;
}

void hf__letter_put(hf_letter *l) {
    if (!l || atomic_fetch_sub(&l->refs, 1) > 1)
        return;
    hf__free(l->bytes);
    hf__free(l);
}

/* `*N EVALSHA hash rest` becomes `*N EVAL text rest`. */
char *hf__letter_whole(const hf_letter *l, const hf_scripts *scripts,
                       size_t *len) {
    static const char call[] = "$7\r\nEVALSHA\r\n$40\r\n";
    const char *text = scripts->text[l->script];
    const char *at = strstr(l->bytes, call);
    const char *rest = at + sizeof call - 1 + 40;
    size_t before = (size_t)(at - l->bytes);
    size_t behind = l->len - (size_t)(rest - l->bytes);
    char *whole = hf__malloc(l->len + strlen(text) + 32), *to;

    if (!whole)
        return NULL;
    memcpy(whole, l->bytes, before);
    to = whole + before;
    to += sprintf(to, "$4\r\nEVAL\r\n$%zu\r\n%s", strlen(text), text);
    memcpy(to, rest, behind);
    *len = (size_t)(to - whole) + behind;
    return whole;
}
