/* SPDX-License-Identifier: MIT
 *
 * stats_text.c - the numbers as Prometheus reads them, its text format 0.0.4:
 * a head for each metric, a line for each number. */
#include <stdio.h>
#include <string.h>

#include "../include/holdfast.h"

/* As snprintf: what does not fit is only counted. */
typedef struct text {
    char *buf;
    size_t size, len;
    const char *metric; /* whose head was written */
} text;

static void put_char(text *t, char c) {
    if (t->len + 1 < t->size)
        t->buf[t->len] = c;
    t->len++;
}

static void put(text *t, const char *s) {
    while (*s)
        put_char(t, *s++);
}

static void put_escaped(text *t, const char *s) {
    for (; *s; s++) {
        if (*s == '\\' || *s == '"' || *s == '\n')
            put_char(t, '\\');
        if (*s == '\n')
            put_char(t, 'n');
        else
            put_char(t, *s);
    }
}

/* Not by printf, whose decimal point is the locale's.  Nanoseconds are the
 * finest that is measured. */
static void put_number(text *t, double number) {
    double size = number < 0 ? -number : number;
    uint64_t whole = (uint64_t)size;
    uint32_t ns = (uint32_t)((size - (double)whole) * 1e9 + 0.5);
    char digits[32];

    if (ns >= 1000000000) {
        whole++;
        ns = 0;
    }
    if (number < 0)
        put_char(t, '-');
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)whole);
    put(t, digits);
    if (!ns)
        return;
    snprintf(digits, sizeof digits, ".%09u", ns);
    for (size_t end = strlen(digits); digits[end - 1] == '0';)
        digits[--end] = '\0';
    put(t, digits);
}

static void put_labels(text *t, const hf_sample *s, const char *le) {
    put_char(t, '{');
    for (size_t i = 0; i < s->n_labels; i++) {
        put(t, i ? "," : "");
        put(t, s->labels[i].name);
        put(t, "=\"");
        put_escaped(t, s->labels[i].value);
        put_char(t, '"');
    }
    if (le) {
        put(t, s->n_labels ? ",le=\"" : "le=\"");
        put(t, le);
        put_char(t, '"');
    }
    put(t, "} ");
}

static void put_line(text *t, const hf_sample *s, const char *suffix,
                     const char *le, double number) {
    put(t, s->metric);
    put(t, suffix);
    put_labels(t, s, le);
    put_number(t, number);
    put_char(t, '\n');
}

static void put_histogram(text *t, const hf_sample *s) {
    char le[32];

    for (size_t i = 0; i < s->n; i++) {
        text number = {.buf = le, .size = sizeof le};

        put_number(&number, s->bounds[i]);
        le[number.len] = '\0';
        put_line(t, s, "_bucket", le, (double)s->counts[i]);
    }
    put_line(t, s, "_bucket", "+Inf", (double)s->count);
    put_line(t, s, "_sum", NULL, s->sum);
    put_line(t, s, "_count", NULL, (double)s->count);
}

static void put_head(text *t, const hf_sample *s) {
    static const char *const types[] = {[HF_COUNTER] = "counter",
                                        [HF_GAUGE] = "gauge",
                                        [HF_HISTOGRAM] = "histogram"};

    put(t, "# HELP ");
    put(t, s->metric);
    put_char(t, ' ');
    put(t, s->help);
    put(t, "\n# TYPE ");
    put(t, s->metric);
    put_char(t, ' ');
    put(t, types[s->type]);
    put_char(t, '\n');
}

static void put_sample(void *arg, const hf_sample *s) {
    text *t = arg;

    if (t->metric != s->metric)
        put_head(t, s);
    t->metric = s->metric;
    if (s->type == HF_HISTOGRAM)
        put_histogram(t, s);
    else
        put_line(t, s, "", NULL, s->value);
}

size_t hf_stats_text(hf_client *client, char *buf, size_t size) {
    text t = {.buf = buf, .size = size};

    hf_stats(client, put_sample, &t, NULL); /* refused: there is nothing */
    if (size)
        buf[t.len < size ? t.len : size - 1] = '\0';
    return t.len;
}
