/* SPDX-License-Identifier: MIT
 *
 * environment.c - what the command that `run` starts is told.
 *
 * HOLDFAST_TOKENS has a line for each lock, its token, a blank and its name: a
 * name may contain anything but the end of a line.
 *
 * HOLDFAST_HELD lists the names that the command's ancestors hold, oldest
 * first, with colons between; a colon in a name is %3A.  HOLDFAST_HELD_IN has
 * a short sum of the store's address for each of them, since the same name in
 * another store is another lock, with a plus behind it if the name can be
 * shared. */
#include "environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const ours[] = {
    "HOLDFAST_LOCK",   "HOLDFAST_TOKEN", "HOLDFAST_OWNER",   "HOLDFAST_STORE",
    "HOLDFAST_TOKENS", "HOLDFAST_HELD",  "HOLDFAST_HELD_IN",
};
enum { OURS = sizeof(ours) / sizeof(ours[0]), LISTS = 2 }; /* at the end */

static const char *value_of(const char *variable) {
    const char *value = getenv(variable);
    return value ? value : "";
}

enum { SUM = 16, SUM_SIZE = SUM + 2 };

/* FNV-1a: to compare, not to hide. */
static void sum_of(const char *store, bool shares, char buf[static SUM_SIZE]) {
    uint64_t sum = 0xcbf29ce484222325u;
    for (; *store; store++)
        sum = (sum ^ (unsigned char)*store) * 0x100000001b3u;
    snprintf(buf, SUM_SIZE, "%016" PRIx64 "%s", sum, shares ? "+" : "");
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

/* What is said of each lock. */
static void put_token(FILE *out, const environment *e, int i) {
    fprintf(out, "%" PRIu64 " %s", e->tokens[i], e->names[i]);
}

static void put_name(FILE *out, const environment *e, int i) {
    for (const char *name = e->names[i]; *name; name++)
        if (*name == ':' || *name == '%')
            fprintf(out, "%%%02X", (unsigned char)*name);
        else
            fputc(*name, out);
}

static void put_sum(FILE *out, const environment *e, int i) {
    char sum[SUM_SIZE];
    (void)i;
    sum_of(e->where, e->shares, sum);
    fputs(sum, out);
}

/* Of all of them; NULL without memory. */
static char *join(const environment *e, char between,
                  void (*put)(FILE *, const environment *, int)) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; out && i < e->n; i++) {
        if (i > 0)
            fputc(between, out);
        put(out, e, i);
    }
    if (out && fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Is it the store's sum, of something that two who share could not have
 * together?  No sum at all stands for any store. */
static bool is_in(const char *word, size_t n, const char *sum, bool shares) {
    bool shared = n == SUM + 1;
    if (n == 0)
        return true;
    return (n == SUM || shared) && memcmp(word, sum, SUM) == 0 &&
           !(shared && shares);
}

bool environment_holds(const char *name, const char *where, bool shares) {
    const char *held = value_of("HOLDFAST_HELD"), *name_word, *sum_word;
    const char *held_in = value_of("HOLDFAST_HELD_IN");
    environment e = {.names = &name, .n = 1};
    char sum[SUM_SIZE], *wanted = join(&e, ':', put_name);
    bool found = false;
    sum_of(where, false, sum);
    while (wanted && *held && !found) {
        size_t n = next_word(&held, &name_word);
        size_t m = next_word(&held_in, &sum_word);
        found =
            is_word(name_word, n, wanted) && is_in(sum_word, m, sum, shares);
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

/* Those of ours; one that is NULL found no memory. */
static void assign_ours(const environment *e, char **env) {
    char number[24], *tokens = join(e, '\n', put_token);
    char *held = join(e, ':', put_name), *sums = join(e, ':', put_sum);
    snprintf(number, sizeof(number), "%" PRIu64, e->tokens[0]);
    const char *values[OURS] = {e->names[0], number, e->owner, e->store,
                                tokens,      held,   sums};
    for (int i = 0; i < OURS; i++)
        env[i] =
            values[i] ? assign(ours[i], values[i], i >= OURS - LISTS) : NULL;
    free(tokens);
    free(held);
    free(sums);
}

char **environment_make(const environment *e) {
    char **env;
    size_t n = 0, used = OURS;
    while (environ[n])
        n++;
    env = calloc(n + OURS + 1, sizeof(*env));
    if (!env)
        return NULL;
    assign_ours(e, env);
    for (size_t i = 0; i < n; i++)
        if (!is_ours(environ[i]))
            env[used++] = environ[i];
    for (int i = 0; i < OURS; i++)
        if (!env[i]) {
            environment_free(env);
            return NULL;
        }
    return env;
}

/* The first ones are ours, the rest is the environment's own. */
void environment_free(char **env) {
    for (int i = 0; env && i < OURS; i++)
        free(env[i]);
    free(env);
}
