/* SPDX-License-Identifier: MIT
 *
 * presence.c - the text of a client's record; presence.h has its form. */
#include "presence.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claim.h"
#include "client.h"

enum { LAST_LINE = 48, /* bytes kept for it */ UUID = 36 };

/* A spin lock is a lock to those who look on. */
static const char *const words[HF_KINDS] = {
    [HF_LOCK] = "lock",     [HF_SIMPLE] = "simple",       [HF_FAIR] = "fair",
    [HF_SPIN] = "lock",     [HF_READ] = "read",           [HF_WRITE] = "write",
    [HF_PERMIT] = "permit", [HF_SEMAPHORE] = "semaphore", [HF_LATCH] = "latch",
};

const char *hf__kind_word(hf_kind kind) {
    return words[kind];
}

void hf__doing_owner(hf_kind kind, uint64_t owner,
                     const unsigned char nonce[16], char *buf) {
    hf_claim c = {.kind = kind, .owner = owner};
    char text[HF_DOING_OWNER + 2];

    memcpy(c.nonce, nonce, sizeof c.nonce);
    hf__owner_of(&c, "", text, sizeof text);
    snprintf(buf, HF_DOING_OWNER + 1, "%s", text + (text[0] == ':'));
}

/* ---- writing ----------------------------------------------------------- */

void hf__doings_begin(hf_doings *to, const char *inside) {
    to->holds = to->waits = 0;
    to->used =
        (size_t)snprintf(to->text, sizeof to->text, "1\n%s%s%s",
                         *inside ? "i " : "", inside, *inside ? "\n" : "");
}

void hf__doings_add(hf_doings *to, const hf_doing *c) {
    size_t room = sizeof to->text - LAST_LINE - to->used;
    int n = -1;

    if (!to->holds && !to->waits)
        n = snprintf(to->text + to->used, room,
                     "%c %s %s %" PRIu64 " %d %" PRId64 " %s %s\n", c->does,
                     words[c->kind], c->owner, c->who, c->permits, c->since_ms,
                     c->asked ? "d" : "-", c->name);
    if (n >= 0 && (size_t)n < room) {
        to->used += (size_t)n;
        return;
    }
    to->text[to->used] = 0;
    *(c->does == HF_DOES_WAIT ? &to->waits : &to->holds) += 1;
}

void hf__doings_end(hf_doings *to) {
    if (!to->holds && !to->waits)
        return;
    snprintf(to->text + to->used, LAST_LINE, "m %zu %zu\n", to->holds,
             to->waits);
    to->used += strlen(to->text + to->used);
}

/* ---- reading ----------------------------------------------------------- */

/* The next word of a line; "" at its end. */
static char *word(char **line) {
    char *w = strsep(line, " ");

    return w ? w : "";
}

/* Digits only, and not too many of them. */
static bool number(char **line, uint64_t most, uint64_t *ret) {
    const char *w = word(line);
    unsigned long long n;
    char *end;

    errno = 0;
    n = strtoull(w, &end, 10);
    if (w[0] < '0' || w[0] > '9' || *end || errno || n > most)
        return false;
    *ret = n;
    return true;
}

static bool read_kind(char **line, hf_kind *ret) {
    const char *w = word(line);

    for (int kind = 0; kind < HF_KINDS; kind++)
        if (strcmp(w, words[kind]) == 0) {
            *ret = (hf_kind)kind;
            return true;
        }
    return false;
}

static bool read_owner(char **line, const char **ret) {
    size_t n;

    *ret = word(line);
    n = strspn(*ret, "0123456789abcdef:writ");
    return n > 0 && n <= HF_DOING_OWNER && !(*ret)[n];
}

/* The rest of the line: a name may have blanks in it. */
static bool read_name(const char *rest, const char **ret) {
    *ret = rest;
    return rest && *rest && strlen(rest) <= HF_NAME_MAX && !hf__odd_byte(rest);
}

static bool read_claim(char *line, hf_doing *ret) {
    uint64_t permits, since;

    if (!read_kind(&line, &ret->kind) || !read_owner(&line, &ret->owner) ||
        !number(&line, UINT64_MAX, &ret->who) ||
        !number(&line, INT32_MAX, &permits) ||
        !number(&line, INT64_MAX, &since))
        return false;
    ret->permits = (int)permits;
    ret->since_ms = (int64_t)since;
    ret->asked = strchr(word(&line), 'd') != NULL;
    return read_name(line, &ret->name);
}

static bool read_more(char *line, hf_doing *ret) {
    uint64_t holds, waits;

    if (!number(&line, INT32_MAX, &holds) || !number(&line, INT32_MAX, &waits))
        return false;
    ret->holds = (size_t)holds;
    ret->waits = (size_t)waits;
    return true;
}

bool hf__is_client(const char *text, size_t n) {
    return n == UUID && strspn(text, "0123456789abcdef-") >= UUID;
}

static bool read_inside(const char *line, hf_doing *ret) {
    ret->client = line;
    return line && hf__is_client(line, strlen(line));
}

static bool read_line(char *line, hf_doing *ret) {
    const char *does = word(&line);

    if (!does[0] || does[1])
        return false;
    *ret = (hf_doing){.does = (hf_does)does[0]};
    switch (ret->does) {
    case HF_DOES_WAIT:
    case HF_DOES_HOLD:
    case HF_DOES_MOURN:
        return read_claim(line, ret);
    case HF_DOES_MORE:
        return read_more(line, ret);
    case HF_DOES_INSIDE:
        return read_inside(line, ret);
    default:
        return false;
    }
}

bool hf__doings_next(char **text, hf_doing *ret) {
    char *line;

    while ((line = strsep(text, "\n")))
        if (read_line(line, ret))
            return true;
    return false;
}
