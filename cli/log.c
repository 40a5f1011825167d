/* SPDX-License-Identifier: MIT
 *
 * log.c - the library's log on stderr, an entry a line:
 *
 *     time=2026-03-01T02:00:00.123Z level=warn msg="a connection broke" store=…
 *
 * A line is written at once, so that those of several threads, and of several
 * processes with one stderr, do not mix. */
#include "log.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const levels[] = {[HF_LOG_NONE] = "none",
                                     [HF_LOG_ERROR] = "error",
                                     [HF_LOG_WARN] = "warn",
                                     [HF_LOG_INFO] = "info",
                                     [HF_LOG_DEBUG] = "debug"};

typedef struct line {
    char text[4096];
    size_t n;
} line;

bool log_level_read(const char *word, hf_log_level *ret) {
    for (int i = HF_LOG_NONE; i <= HF_LOG_DEBUG; i++)
        if (strcmp(word, levels[i]) == 0) {
            *ret = (hf_log_level)i;
            return true;
        }
    return false;
}

/* Room is left for the end of the line. */
static void add(line *l, char c) {
    if (l->n < sizeof(l->text) - 2)
        l->text[l->n++] = c;
}

static void add_text(line *l, const char *text) {
    for (; *text; text++)
        add(l, *text);
}

static bool is_plain(const char *value) {
    for (; *value; value++)
        if ((unsigned char)*value <= ' ' || strchr("=\"\\\x7f", *value))
            return false;
    return true;
}

/* What could end the value, or the line, is written as JSON has it. */
static void add_quoted(line *l, const char *value) {
    char escape[8];
    add(l, '"');
    for (; *value; value++) {
        unsigned char c = (unsigned char)*value;
        if (c == '"' || c == '\\')
            add(l, '\\');
        snprintf(escape, sizeof(escape), "\\u%04x", c);
        if (c < ' ' || c == 0x7f)
            add_text(l, escape);
        else
            add(l, *value);
    }
    add(l, '"');
}

static void add_field(line *l, const char *name, const char *value) {
    if (l->n > 0)
        add(l, ' ');
    add_text(l, name);
    add(l, '=');
    if (*value && is_plain(value))
        add_text(l, value);
    else
        add_quoted(l, value);
}

static void add_time(line *l) {
    char text[40], whole[24];
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    strftime(whole, sizeof(whole), "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text, sizeof(text), "%s.%03ldZ", whole, now.tv_nsec / 1000000);
    add_field(l, "time", text);
}

void log_write(void *arg, const hf_log_entry *entry) {
    line l = {.n = 0};
    (void)arg;
    add_time(&l);
    add_field(&l, "level", levels[entry->level]);
    add_field(&l, "msg", entry->text);
    for (size_t i = 0; i < entry->n_fields; i++)
        add_field(&l, entry->fields[i].name, entry->fields[i].value);
    l.text[l.n++] = '\n';
    if (write(STDERR_FILENO, l.text, l.n) < 0)
        return; /* nobody reads it */
}
