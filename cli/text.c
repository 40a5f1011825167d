/* SPDX-License-Identifier: MIT
 *
 * text.c - words for people.
 *
 * Names, programs and reasons come out of a store that others write to.  What
 * they put there must not move the cursor, set a title or hide a line. */
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum { AUTO, ALWAYS, NEVER } colour_mode = AUTO;

/* Marks that only exist to reorder or hide the text around them. */
static bool deceives(uint32_t rune) {
    return (rune >= 0x200b && rune <= 0x200f) ||
           (rune >= 0x2028 && rune <= 0x202e) ||
           (rune >= 0x2066 && rune <= 0x2069) || rune == 0xfeff;
}

static size_t sequence_length(unsigned char first) {
    if (first >= 0xc2 && first <= 0xdf)
        return 2;
    if (first >= 0xe0 && first <= 0xef)
        return 3;
    if (first >= 0xf0 && first <= 0xf4)
        return 4;
    return 0;
}

static size_t wide_char(const unsigned char *s) {
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = sequence_length(s[0]);
    uint32_t rune = s[0] & (0x7f >> n);
    if (n == 0)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        rune = rune << 6 | (s[i] & 0x3f);
    }
    if (rune < smallest[n] || rune > 0x10ffff || rune < 0xa0 ||
        (rune >= 0xd800 && rune <= 0xdfff) || deceives(rune))
        return 0;
    return n;
}

size_t text_char(const char *text) {
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80)
        return s[0] >= 0x20 && s[0] != 0x7f;
    return wide_char(s);
}

void text_put(FILE *out, const char *text) {
    while (*text) {
        size_t n = text_char(text);
        if (n > 0)
            fwrite(text, 1, n, out);
        else
            fprintf(out, "\\x%02x", (unsigned char)*text);
        text += n > 0 ? n : 1;
    }
}

size_t text_clean(const char *text, char *buf, size_t size) {
    size_t used = 0, columns = 0;
    while (*text) {
        char hex[5];
        size_t n = text_char(text), out = n > 0 ? n : 4;
        if (used + out >= size)
            break;
        snprintf(hex, sizeof(hex), "\\x%02x", (unsigned char)*text);
        memcpy(buf + used, n > 0 ? text : hex, out);
        used += out;
        columns += n > 0 ? 1 : 4;
        text += n > 0 ? n : 1;
    }
    buf[used] = '\0';
    return columns;
}

int text_fit(const char *clean, int columns) {
    size_t used = 0;
    for (size_t n; columns > 0 && (n = text_char(clean + used)) > 0; columns--)
        used += n;
    return (int)used;
}

char *text_trim(char *text) {
    size_t n;
    text += strspn(text, " \t\r\n");
    for (n = strlen(text); n > 0 && strchr(" \t\r\n", text[n - 1]); n--)
        text[n - 1] = '\0';
    return text;
}

const char *text_span(int64_t ms, char buf[static 24]) {
    int64_t s = ms / 1000;
    if (ms < 0)
        return strcpy(buf, "-");
    if (ms < 1000)
        snprintf(buf, 24, "%dms", (int)ms);
    else if (s < 10)
        snprintf(buf, 24, "%d.%ds", (int)s, (int)(ms % 1000 / 100));
    else if (s < 60)
        snprintf(buf, 24, "%ds", (int)s);
    else if (s < 3600)
        snprintf(buf, 24, "%dm%02ds", (int)(s / 60), (int)(s % 60));
    else if (s < 86400)
        snprintf(buf, 24, "%dh%02dm", (int)(s / 3600), (int)(s / 60 % 60));
    else
        snprintf(buf, 24, "%lldd%02dh", (long long)(s / 86400),
                 (int)(s / 3600 % 24));
    return buf;
}

bool text_colour_mode(const char *mode) {
    if (strcmp(mode, "auto") == 0)
        colour_mode = AUTO;
    else if (strcmp(mode, "always") == 0)
        colour_mode = ALWAYS;
    else if (strcmp(mode, "never") == 0)
        colour_mode = NEVER;
    else
        return false;
    return true;
}

static bool is_set(const char *variable) {
    const char *value = getenv(variable);
    return value && *value && strcmp(value, "0") != 0;
}

/* NO_COLOR counts with any text, "0" too: so its authors ask. */
static bool colours(FILE *out) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (colour_mode != AUTO)
        return colour_mode == ALWAYS;
    if (no && *no)
        return false;
    if (is_set("CLICOLOR_FORCE"))
        return true;
    return isatty(fileno(out)) && !(term && strcmp(term, "dumb") == 0);
}

const char *text_paint(FILE *out, text_colour colour) {
    static const char *const sequences[] = {
        [PLAIN] = "\033[0m", [BOLD] = "\033[1m",   [DIM] = "\033[2m",
        [RED] = "\033[31m",  [GREEN] = "\033[32m", [YELLOW] = "\033[33m",
    };
    return colours(out) ? sequences[colour] : "";
}
