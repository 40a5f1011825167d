/* SPDX-License-Identifier: MIT
 *
 * suggest.c - the word that was probably meant; and the parameters of an
 * address, of which none is ignored.
 *
 * A parameter that is skipped because of a typing error is a setting that the
 * operator believes in and does not have. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "uri.h"

enum { WORD_MAX = 40 };

static int least(int a, int b) {
    return a < b ? a : b;
}

/* How many letters must be changed, left out, put in, or swapped with their
 * neighbour to make one word of the other.  The textbook's table, of which
 * three rows are enough: d[i % 3][j] is the distance of the first i letters of
 * `a` from the first j letters of `b`. */
static int distance(const char *a, size_t n, const char *b, size_t m) {
    int d[3][WORD_MAX + 1];

    for (size_t j = 0; j <= m; j++)
        d[0][j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int *row = d[i % 3], *above = d[(i - 1) % 3], *higher = d[(i + 1) % 3];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(row[j], least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], higher[j - 2] + 1);
        }
    }
    return d[n % 3][m];
}

/* Near is a third of the letters: one in "zk3", three in "postgresqueel"; or
 * the beginning of the word. */
const char *hf__uri_suggest(const char *word, const char *const *known) {
    const char *best = NULL;
    size_t n = strlen(word);
    if (n == 0 || n > WORD_MAX)
        return NULL;
    int nearest = (int)(n + 2) / 3 + 1;
    for (; known != NULL && *known != NULL; known++) {
        size_t m = strlen(*known);
        int d = m <= WORD_MAX ? distance(word, n, *known, m) : nearest;
        if (n >= 3 && strncmp(*known, word, n) == 0)
            d = least(d, nearest - 1);
        if (d < nearest) {
            nearest = d;
            best = *known;
        }
    }
    return best;
}

/* ---- parameters -------------------------------------------------------- */

static const char *const common[] = {"hf_prefix", "hf_ttl", "hf_timeout",
                                     "hf_presence", NULL};

static bool is_in(const char *word, const char *const *words) {
    for (; words != NULL && *words != NULL; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

static int unknown(const char *key, const char *const *known, hf_error *err) {
    const char *near = hf__uri_suggest(key, known);
    if (near == NULL)
        near = hf__uri_suggest(key, common);
    if (near == NULL)
        return hf__fail(err, HF_EURI,
                        "unknown parameter '%.60s' in the store's address",
                        key);
    return hf__fail(err, HF_EURI,
                    "unknown parameter '%.60s' in the store's address: did "
                    "you mean '%s'?",
                    key, near);
}

int hf__uri_check_params(const hf_uri *uri, const char *const *known,
                         hf_error *err) {
    int ignored = 0;
    for (size_t i = 0; i < uri->n_params; i++) {
        const char *key = uri->params[i].key;
        if (!is_in(key, known) && !is_in(key, common))
            return unknown(key, known, err);
    }
    const char *presence = hf_uri_get(uri, "hf_presence");
    if (presence != NULL && strcmp(presence, "on") != 0 &&
        strcmp(presence, "off") != 0)
        return hf__fail(err, HF_EURI,
                        "hf_presence=%.40s in the store's address: write on, "
                        "or off to keep no record of what is held and waited "
                        "for",
                        presence);
    int rc = hf__uri_ms(uri, "hf_ttl", &ignored, err);
    return rc == HF_OK ? hf__uri_ms(uri, "hf_timeout", &ignored, err) : rc;
}

/* ---- durations --------------------------------------------------------- */

/* 0: not a unit. */
static int unit_ms(const char *unit) {
    static const struct {
        const char *name;
        int ms;
    } units[] = {{"", 1000},   {"ms", 1},      {"s", 1000},
                 {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].ms;
    return 0;
}

int hf__uri_ms(const hf_uri *uri, const char *key, int *ms, hf_error *err) {
    const char *value = hf_uri_get(uri, key);
    if (value == NULL)
        return HF_OK;
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    int unit = unit_ms(end);
    /* strtol also takes blanks and signs. */
    bool digits = value[0] >= '0' && value[0] <= '9';
    if (!digits || errno != 0 || unit == 0 || number < 1 ||
        number > INT_MAX / unit)
        return hf__fail(err, HF_EURI,
                        "%s=%.40s in the store's address is not a duration: "
                        "write for instance %s=30s, or 1500ms, 5m, 2h, 1d",
                        key, value, key);
    *ms = (int)number * unit;
    return HF_OK;
}
