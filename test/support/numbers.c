/* SPDX-License-Identifier: MIT
 *
 * numbers.c */
#include "numbers.h"

#include "suite.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct look {
    const char *metric, *labels;
    double found;
} look;

/* Is "name=value", len bytes of it, one of the sample's? */
static bool has(const hf_sample *s, const char *wanted, size_t len) {
    char label[512];
    for (size_t i = 0; i < s->n_labels; i++) {
        snprintf(label, sizeof label, "%s=%s", s->labels[i].name,
                 s->labels[i].value);
        if (strlen(label) == len && strncmp(label, wanted, len) == 0)
            return true;
    }
    return false;
}

static void look_at(void *arg, const hf_sample *s) {
    look *l = arg;
    if (strcmp(s->metric + strlen("holdfast_"), l->metric) != 0)
        return;
    for (const char *at = l->labels; *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        if (!has(s, at, len))
            return;
        at += len;
    }
    if (l->found < 0)
        l->found = 0;
    l->found += s->type == HF_HISTOGRAM ? (double)s->count : s->value;
}

double hf_test_number(hf_client *client, const char *metric,
                      const char *labels) {
    look l = {metric, labels, -1};
    hf_error err;
    if (hf_stats(client, look_at, &l, &err) != HF_OK)
        fail_msg("hf_stats: %s", err.text);
    return l.found;
}

/* Others count meanwhile, so it may grow. */
char *hf_test_stats_text(hf_client *client) {
    size_t size = 1, len;
    char *text = NULL;
    for (;; size = len + 1) {
        text = realloc(text, size);
        assert_non_null(text);
        len = hf_stats_text(client, text, size);
        if (len < size)
            return text;
    }
}
