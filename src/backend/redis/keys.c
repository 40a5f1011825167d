/* SPDX-License-Identifier: MIT
 *
 * keys.c - the names of things in Redis, as Redisson spells them. */
#include "keys.h"

#include <ctype.h>
#include <string.h>

#include "../../err.h"

int hf__keys_check(const char *name, hf_error *err) {
    if (strlen(name) <= HF_KEY_SIZE - 64)
        return HF_OK;
    return hf__fail(err, HF_ENAME, "the name is longer than %d bytes",
                    HF_KEY_SIZE - 64);
}

/* These run for every request, so they do without printf. */
static void prefix(char *buf, const char *what, const char *name) {
    bool tagged = strchr(name, '{');

    buf = stpcpy(buf, what);
    buf = stpcpy(buf, tagged ? ":" : ":{");
    buf = stpcpy(buf, name);
    strcpy(buf, tagged ? "" : "}");
}

void hf__key_token(char *buf, const char *name) {
    prefix(buf, HF_TOKEN_PREFIX, name);
}

void hf__key_channel(char *buf, const char *name) {
    prefix(buf, HF_CHANNEL_PREFIX, name);
}

void hf__key_client(char *buf, const char *client) {
    strcpy(stpcpy(buf, HF_CLIENT_PREFIX), client);
}

void hf__decimal(char *buf, uint64_t number) {
    char digits[HF_DECIMAL_SIZE], *at = digits + sizeof digits;

    *--at = '\0';
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    strcpy(buf, at);
}

void hf__owner_text(char *buf, const char *client, const hf_claim *c) {
    static const char digits[] = "0123456789abcdef";

    if (c->kind != HF_SIMPLE) {
        buf = stpcpy(stpcpy(buf, client), ":");
        hf__decimal(buf, c->owner);
        return;
    }
    for (size_t i = 0; i < sizeof c->nonce; i++) {
        *buf++ = digits[c->nonce[i] >> 4];
        *buf++ = digits[c->nonce[i] & 15];
    }
    *buf = '\0';
}

int hf__names_of_channel(const char *channel, char *buf, size_t size,
                         const char *names[2]) {
    size_t skip = sizeof HF_CHANNEL_PREFIX, len = strlen(channel);

    if (len <= skip || len >= size)
        return 0;
    names[0] = channel + skip;
    len -= skip;
    if (names[0][0] != '{' || names[0][len - 1] != '}' ||
        memchr(names[0] + 1, '{', len - 1))
        return 1;
    memcpy(buf, names[0] + 1, len - 2);
    buf[len - 2] = '\0';
    names[1] = buf;
    return 2;
}

bool hf__is_owner(const char *owner) {
    static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx:";
    size_t i = 0;

    for (; shape[i]; i++) {
        unsigned char at = (unsigned char)owner[i];

        if (shape[i] == 'x' ? !isxdigit(at) : at != shape[i])
            return false;
    }
    if (owner[i] == '-')
        i++;
    return owner[i] && strspn(owner + i, "0123456789") == strlen(owner + i);
}
