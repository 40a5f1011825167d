/* SPDX-License-Identifier: MIT
 *
 * environment.c - what the command that `run` starts is told.
 *
 * HOLDFAST_HELD lists the names that the command's ancestors hold, oldest
 * first, with colons between; a colon in a name is %3A.  HOLDFAST_HELD_IN has
 * a short sum of the store's address for each of them, since the same name in
 * another store is another lock. */
#include "environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const ours[] = {
    "HOLDFAST_LOCK",  "HOLDFAST_TOKEN", "HOLDFAST_OWNER",
    "HOLDFAST_STORE", "HOLDFAST_HELD",  "HOLDFAST_HELD_IN",
};
enum { OURS = sizeof(ours) / sizeof(ours[0]) };

static const char *value_of(const char *variable) {
    const char *value = getenv(variable);
    return value ? value : "";
}

/* FNV-1a: to compare, not to hide. */
static void sum_of(const char *store, char buf[static 17]) {
    uint64_t sum = 0xcbf29ce484222325u;
    for (; *store; store++)
        sum = (sum ^ (unsigned char)*store) * 0x100000001b3u;
    snprintf(buf, 17, "%016" PRIx64, sum);
}

/* Three times as long at most; NULL without memory. */
static char *encode(const char *name) {
    char *text = malloc(3 * strlen(name) + 1), *to = text;
    for (; text && *name; name++) {
        if (*name == ':' || *name == '%')
            to += sprintf(to, "%%%02X", (unsigned char)*name);
        else
            *to++ = *name;
    }
    if (text)
        *to = '\0';
    return text;
}

/* The length of the list's first word, and the list moved behind it. */
static size_t next_word(const char **list, const char **word) {
    size_t n = strcspn(*list, ":");
    *word = *list;
    *list += n + ((*list)[n] == ':');
    return n;
}

static bool is_word(const char *word, size_t n, const char *text) {
    return strlen(text) == n && memcmp(word, text, n) == 0;
}

bool environment_holds(const char *name, const char *where) {
    const char *held = value_of("HOLDFAST_HELD"), *name_word, *sum_word;
    const char *held_in = value_of("HOLDFAST_HELD_IN");
    char sum[17], *wanted = encode(name);
    bool found = false;
    sum_of(where, sum);
    while (wanted && *held && !found) {
        size_t n = next_word(&held, &name_word);
        size_t m = next_word(&held_in, &sum_word);
        found = is_word(name_word, n, wanted) &&
                (m == 0 || is_word(sum_word, m, sum));
    }
    free(wanted);
    return found;
}

/* "variable=value", or with `list` "variable=old:value". */
static char *assign(const char *variable, const char *value, bool list) {
    const char *old = list ? value_of(variable) : "";
    char *text = NULL;
    if (asprintf(&text, "%s=%s%s%s", variable, old, *old ? ":" : "", value) < 0)
        return NULL;
    return text;
}

static bool is_ours(const char *entry) {
    size_t n = strcspn(entry, "=");
    for (int i = 0; i < OURS; i++)
        if (is_word(entry, n, ours[i]))
            return true;
    return false;
}

char **environment_make(const environment *e) {
    static char **env;
    char sum[17], number[24], *held = encode(e->name);
    size_t n = 0, used = 0;
    while (environ[n])
        n++;
    env = calloc(n + OURS + 1, sizeof(*env));
    if (!env || !held) {
        free(held);
        return NULL;
    }
    sum_of(e->where, sum);
    snprintf(number, sizeof(number), "%" PRIu64, e->token);
    const char *values[OURS] = {e->name, number, e->owner, e->store, held, sum};
    for (int i = 0; i < OURS; i++)
        if ((env[used] = assign(ours[i], values[i], i >= 4)) != NULL)
            used++;
    for (size_t i = 0; i < n; i++)
        if (!is_ours(environ[i]))
            env[used++] = environ[i];
    free(held);
    return used >= OURS ? env : NULL;
}
