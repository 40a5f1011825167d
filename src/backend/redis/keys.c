/* SPDX-License-Identifier: MIT
 *
 * keys.c - the names of things in Redis, as Redisson spells them. */
#include "keys.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../err.h"

int hf__keys_check(const char *name, hf_error *err) {
    if (strlen(name) <= HF_KEY_SIZE - 128)
        return HF_OK;
    return hf__fail(err, HF_ENAME, "the name is longer than %d bytes",
                    HF_KEY_SIZE - 128);
}

/* ---- keys -------------------------------------------------------------- */

/* These run for every request, so they do without printf. */
char *hf__key_prefix(char *buf, const char *name) {
    if (strchr(name, '{'))
        return stpcpy(buf, name);
    *buf = '{';
    buf = stpcpy(buf + 1, name);
    return stpcpy(buf, "}");
}

static char *prefix(char *buf, const char *what, const char *name) {
    buf = stpcpy(buf, what);
    *buf = ':';
    return hf__key_prefix(buf + 1, name);
}

char *hf__key_token(char *buf, const char *name) {
    return prefix(buf, HF_TOKEN_PREFIX, name);
}

char *hf__key_queue(char *buf, const char *name) {
    return prefix(buf, "redisson_lock_queue", name);
}

char *hf__key_timeouts(char *buf, const char *name) {
    return prefix(buf, "redisson_lock_timeout", name);
}

char *hf__key_writers(char *buf, const char *name) {
    return prefix(buf, "holdfast_rw_writers", name);
}

const char *const hf__shelves[HF_SHELVES] = {"26", "27", "28", "29",
                                             "50", "51", "52", "53"};

const char *hf__shelf_of(const char *client) {
    unsigned hash = 2166136261u;

    for (; *client; client++)
        hash = (hash ^ (unsigned char)*client) * 16777619u;
    return hf__shelves[hash % HF_SHELVES];
}

char *hf__key_client(char *buf, const char *shelf, const char *client) {
    buf = stpcpy(buf, "holdfast:client:");
    if (shelf)
        buf = stpcpy(stpcpy(stpcpy(buf, "{"), shelf), "}:");
    return stpcpy(buf, client);
}

char *hf__decimal(char *buf, uint64_t number) {
    char digits[HF_DECIMAL_SIZE], *at = digits + sizeof digits;

    *--at = '\0';
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    return stpcpy(buf, at);
}

char *hf__key_hold(char *buf, const char *name, const char *client,
                   uint64_t owner) {
    buf = stpcpy(hf__key_prefix(buf, name), ":");
    buf = stpcpy(stpcpy(buf, client), ":");
    return stpcpy(hf__decimal(buf, owner), ":rwlock_timeout:1");
}

/* ---- owners ------------------------------------------------------------ */

static char *hex(char *buf, const unsigned char *bytes, size_t n) {
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        *buf++ = digits[bytes[i] >> 4];
        *buf++ = digits[bytes[i] & 15];
    }
    *buf = '\0';
    return buf;
}

char *hf__owner_text(char *buf, const char *client, const hf_claim *c) {
    if (c->kind == HF_SIMPLE || c->kind == HF_PERMIT)
        return hex(buf, c->nonce, sizeof c->nonce);
    buf = stpcpy(stpcpy(buf, client), c->kind == HF_FAIR ? ":0" : ":");
    buf = hf__decimal(buf, c->owner);
    return c->kind == HF_WRITE ? stpcpy(buf, ":write") : buf;
}

char *hf__key_leased(char *buf, const char *name) {
    return stpcpy(hf__key_prefix(buf, name), ":timeout");
}

char *hf__key_note(char *buf, const char *name) {
    return prefix(buf, "holdfast_counter", name);
}

char *hf__key_marker(char *buf, const char *name,
                     const unsigned char nonce[16]) {
    buf = prefix(buf, "holdfast_request", name);
    *buf = ':';
    return hex(buf + 1, nonce, 16);
}

/* ---- channels ---------------------------------------------------------- */

/* The latch's has its braces whatever the name is like. */
static const struct {
    hf_kind line;
    const char *before, *after;
} channels[] = {
    {HF_LOCK, HF_CHANNEL_PREFIX ":", NULL},
    {HF_WRITE, "redisson_rwlock:", NULL},
    {HF_SEMAPHORE, "redisson_sc:", NULL},
    {HF_LATCH, "redisson_countdownlatch__channel__{", "}"},
};

enum { N_CHANNELS = sizeof channels / sizeof channels[0] };

char *hf__key_line(char *buf, hf_kind kind, const char *name) {
    int i = N_CHANNELS - 1;

    kind = hf_line_kind(kind);
    while (i > 0 && channels[i].line != kind)
        i--;
    buf = stpcpy(buf, channels[i].before);
    if (!channels[i].after)
        return hf__key_prefix(buf, name);
    return stpcpy(stpcpy(buf, name), channels[i].after);
}

char *hf__key_channel(char *buf, const char *name) {
    return hf__key_line(buf, HF_LOCK, name);
}

char *hf__key_ear(char *buf, const char *client, const hf_claim *c) {
    buf = hf__key_line(buf, c->kind, c->name);
    if (c->kind != HF_FAIR)
        return buf;
    *buf = ':';
    return hf__owner_text(buf + 1, client, c);
}

/* The number in `uuid:0number` at the end of the text, if the uuid is ours; it
 * is cut off, with the colon before it.  0: there is none. */
static uint64_t cut_owner(char *text, const char *client) {
    char *digits = strrchr(text, ':'), *end;
    size_t len = strlen(client);
    uint64_t owner;

    if (!digits || digits[1] != '0' || (size_t)(digits - text) < len + 1)
        return 0;
    if (digits[-(ptrdiff_t)len - 1] != ':' ||
        memcmp(digits - len, client, len) != 0)
        return 0;
    owner = strtoull(digits + 2, &end, 10);
    if (*end)
        return 0;
    digits[-(ptrdiff_t)len - 1] = '\0';
    return owner;
}

/* `{a}` is the name `a` in braces, or the name that has them. */
static void find_second(hf_news *news) {
    char *name = news->buf;
    size_t len = strlen(name);

    if (len < 3 || name[0] != '{' || name[len - 1] != '}' ||
        strchr(name + 1, '{'))
        return;
    name += HF_KEY_SIZE;
    memcpy(name, news->buf + 1, len - 2);
    name[len - 2] = '\0';
    news->names[news->n++] = name;
}

bool hf__news_of_channel(hf_news *ret, const char *channel,
                         const char *client) {
    size_t skip = 0, len = strlen(channel);
    int i = N_CHANNELS;

    while (!skip && i-- > 0)
        if (strncmp(channel, channels[i].before, strlen(channels[i].before)) ==
            0)
            skip = strlen(channels[i].before);
    if (!skip || len == skip || len - skip >= HF_KEY_SIZE)
        return false;
    ret->kind = channels[i].line;
    ret->owner = 0;
    ret->n = 1;
    ret->names[0] = strcpy(ret->buf, channel + skip);
    if (channels[i].after) {
        ret->buf[len - skip - 1] = '\0';
        return true;
    }
    if (ret->kind == HF_LOCK && (ret->owner = cut_owner(ret->buf, client)))
        ret->kind = HF_FAIR;
    find_second(ret);
    return true;
}

bool hf__is_owner(const char *owner) {
    static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx:";
    size_t i = 0;

    for (; shape[i]; i++) {
        unsigned char at = (unsigned char)owner[i];

        if (shape[i] == 'x' ? !isxdigit(at) : at != (unsigned char)shape[i])
            return false;
    }
    if (owner[i] == '-')
        i++;
    return owner[i] && strspn(owner + i, "0123456789") == strlen(owner + i);
}
