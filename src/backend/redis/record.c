/* SPDX-License-Identifier: MIT
 *
 * record.c - who a client is and what it does, as it stands in the store.
 *
 * Lines of `key=value`, so that one can read it with redis-cli; what would
 * spoil a line is written %XX.  Unknown keys are passed over: a newer client
 * may say more.  What it does comes last, on one line however long: whoever
 * wants to know only who it is reads the first HF_RECORD_SIZE bytes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis.h"

#include "../../alloc.h"

typedef struct field {
    const char *key;
    size_t offset, size;
} field;

#define FIELD(name)                                                            \
    { #name, offsetof(hf_identity, name), sizeof((hf_identity *)0)->name }

static const field fields[] = {FIELD(host), FIELD(program), FIELD(user),
                               FIELD(why)};

enum { N_FIELDS = sizeof fields / sizeof fields[0] };

/* Whatever is in the fields, the record has room for it: three bytes for every
 * one of theirs, the end of each being the line's, and the keys. */
_Static_assert(
    3 * (sizeof(((hf_identity *)0)->host) +
         sizeof(((hf_identity *)0)->program) +
         sizeof(((hf_identity *)0)->user) + sizeof(((hf_identity *)0)->why)) +
            sizeof "pid=-9223372036854775808host=program=user=why=" <=
        HF_RECORD_SIZE,
    "a record may be longer than its place");

static char *write_escaped(char *to, const char *text) {
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c < ' ' || c == '%' || c == 127)
            to += sprintf(to, "%%%02X", c);
        else
            *to++ = (char)c;
    }
    return to;
}

static char *write_identity(char *buf, const hf_identity *identity) {
    buf += sprintf(buf, "pid=%" PRId64, identity->pid);
    for (int i = 0; i < N_FIELDS; i++) {
        const char *value = (const char *)identity + fields[i].offset;

        if (!*value)
            continue;
        buf += sprintf(buf, "\n%s=", fields[i].key);
        buf = write_escaped(buf, value);
    }
    *buf = '\0';
    return buf;
}

void hf__record_write(char *buf, const hf_identity *identity) {
    write_identity(buf, identity);
}

char *hf__record_new(const hf_identity *identity, uint64_t number,
                     const char *doing) {
    static const char keys[] = "\nnumber=18446744073709551615\ndoing=";
    char *text = hf__malloc(HF_RECORD_SIZE + sizeof keys + 3 * strlen(doing));
    char *to;

    if (!text)
        return NULL;
    to = write_identity(text, identity);
    to += sprintf(to, "\nnumber=%" PRIu64 "\ndoing=", number);
    *write_escaped(to, doing) = '\0';
    return text;
}

static int hex(char c) {
    static const char digits[] = "0123456789ABCDEF";
    const char *at = memchr(digits, c, sizeof digits - 1);

    return at ? (int)(at - digits) : -1;
}

static void read_escaped(char *to, size_t size, const char *text, size_t len) {
    const char *end = text + len;
    char *last = to + size - 1;

    while (text < end && to < last) {
        bool escaped = *text == '%' && end - text > 2 && hex(text[1]) >= 0 &&
                       hex(text[2]) >= 0;

        *to++ = (char)(escaped ? hex(text[1]) * 16 + hex(text[2]) : *text);
        text += escaped ? 3 : 1;
    }
    *to = '\0';
}

static void read_line(hf_identity *ret, const char *line, size_t len) {
    const char *equals = memchr(line, '=', len);
    size_t key = equals ? (size_t)(equals - line) : len;

    if (!equals)
        return;
    if (key == 3 && memcmp(line, "pid", 3) == 0)
        ret->pid = strtoll(equals + 1, NULL, 10);
    for (int i = 0; i < N_FIELDS; i++)
        if (strlen(fields[i].key) == key &&
            memcmp(fields[i].key, line, key) == 0)
            read_escaped((char *)ret + fields[i].offset, fields[i].size,
                         equals + 1, len - key - 1);
}

void hf__record_read(hf_identity *ret, const char *text) {
    memset(ret, 0, sizeof *ret);
    while (*text) {
        size_t len = strcspn(text, "\n");

        read_line(ret, text, len);
        text += len;
        text += *text == '\n';
    }
}

/* The value of a key, not decoded; NULL: there is none. */
static const char *value_of(const char *text, const char *key, size_t *len) {
    size_t n = strlen(key);

    while (*text) {
        size_t line = strcspn(text, "\n");

        if (line > n && text[n] == '=' && memcmp(text, key, n) == 0) {
            *len = line - n - 1;
            return text + n + 1;
        }
        text += line;
        text += *text == '\n';
    }
    return NULL;
}

uint64_t hf__record_number(const char *text) {
    size_t len;
    const char *value = value_of(text, "number", &len);

    return value ? strtoull(value, NULL, 10) : 0;
}

void hf__record_doing(char *buf, const char *text) {
    size_t len = 0;
    const char *value = value_of(text, "doing", &len);

    read_escaped(buf, HF_DOING_MAX + 1, value ? value : "", len);
}
