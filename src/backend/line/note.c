/* SPDX-License-Identifier: MIT
 *
 * note.c - what an entry says of its owner. */
#include "note.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../claim.h"

#define HEAD "holdfast 1 "

static bool spoils(unsigned char c) {
    return c <= ' ' || c >= 127 || c == '%';
}

static char *write_field(char *to, const char *text) {
    bool alone = strcmp(text, "-") == 0;

    *to++ = ' ';
    if (!*text)
        *to++ = '-';
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (spoils(c) || alone)
            to += sprintf(to, "%%%02X", c);
        else
            *to++ = (char)c;
    }
    *to = '\0';
    return to;
}

/* At most 11 + 3 * 80 + 33 bytes, and three times an identity's. */
static void write_note(char *buf, const char *owner, int lasts_ms,
                       const hf_identity *who) {
    buf = write_field(stpcpy(buf, "holdfast 1"), owner);
    buf += sprintf(buf, " %d %" PRId64, lasts_ms, who->pid);
    buf = write_field(buf, who->host);
    buf = write_field(buf, who->user);
    buf = write_field(buf, who->program);
    write_field(buf, who->why);
}

void hf__note_write(char *buf, const hf_claim *c, int lasts_ms,
                    const hf_identity *who) {
    char owner[80];

    hf__owner_of(c, who->client, owner, sizeof owner);
    write_note(buf, owner, lasts_ms, who);
}

void hf__note_released(char *buf, int lasts_ms, const hf_identity *who) {
    write_note(buf, "released", lasts_ms, who);
}

void hf__note_present(char *buf, int lasts_ms, const hf_identity *who) {
    write_note(buf, "client", lasts_ms, who);
}

/* Of a character that is not the end of a text. */
static int hex(char c) {
    const char *digits = "0123456789ABCDEF", *at = strchr(digits, c);

    return at ? (int)(at - digits) : -1;
}

/* The next field, cut to what there is room for. */
static const char *read_field(const char *from, char *to, size_t size) {
    const char *end = from + strcspn(from, " ");
    const char *last = to + size - 1;

    if (end - from == 1 && *from == '-')
        from = end;
    while (from < end && to < last) {
        bool escaped = *from == '%' && end - from > 2 && hex(from[1]) >= 0 &&
                       hex(from[2]) >= 0;

        *to++ = (char)(escaped ? hex(from[1]) * 16 + hex(from[2]) : *from);
        from += escaped ? 3 : 1;
    }
    *to = '\0';
    return *end ? end + 1 : end;
}

bool hf__note_read(hf_note *ret, const char *text) {
    char number[24];

    *ret = (hf_note){0};
    if (!text || strncmp(text, HEAD, strlen(HEAD)) != 0)
        return false;
    text = read_field(text + strlen(HEAD), ret->owner, sizeof ret->owner);
    text = read_field(text, number, sizeof number);
    ret->lasts_ms = (int)strtol(number, NULL, 10);
    text = read_field(text, number, sizeof number);
    ret->who.pid = strtoll(number, NULL, 10);
    text = read_field(text, ret->who.host, sizeof ret->who.host);
    text = read_field(text, ret->who.user, sizeof ret->who.user);
    text = read_field(text, ret->who.program, sizeof ret->who.program);
    read_field(text, ret->who.why, sizeof ret->who.why);
    return true;
}
