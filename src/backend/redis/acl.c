/* SPDX-License-Identifier: MIT
 *
 * acl.c - the least that a user of a Redis server needs. */
#include "acl.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "keys.h"

/* ---- commands ---------------------------------------------------------- */

/* What is sent beside scripts; `unless` is for what takes the place of
 * another.  AUTH is open to everybody. */
static const struct {
    const char *name;
    unsigned when, unless;
} plain[] = {
    {"eval", 0, 0},
    {"evalsha", 0, 0},
    {"script|load", 0, 0},
    {"ping", 0, 0},
    {"role", 0, 0},
    {"time", 0, 0},
    {"info", 0, 0}, /* doctor */
    {"select", HF_ACL_DATABASE, 0},
    {"wait", HF_ACL_REPLICAS, 0},
    {"subscribe", 0, HF_ACL_SHARDED},
    {"unsubscribe", 0, HF_ACL_SHARDED},
    {"ssubscribe", HF_ACL_SHARDED, 0},
    {"sunsubscribe", HF_ACL_SHARDED, 0},
    {"asking", HF_ACL_CLUSTER, 0},
    {"cluster|slots", HF_ACL_CLUSTER, 0},
    {"pubsub|shardnumsub", HF_ACL_CLUSTER, 0}, /* are messages sharded? */
    {"cluster|info", HF_ACL_CLUSTER, 0},       /* doctor */
};

static void add(hf_acl *acl, const char *name) {
    int i = 0;

    while (i < acl->n && strcmp(acl->commands[i], name) < 0)
        i++;
    if (acl->n == HF_ACL_COMMANDS || strlen(name) >= HF_ACL_COMMAND_SIZE ||
        (i < acl->n && strcmp(acl->commands[i], name) == 0))
        return;
    memmove(acl->commands[i + 1], acl->commands[i],
            (size_t)(acl->n++ - i) * sizeof *acl->commands);
    strcpy(acl->commands[i], name);
}

void hf__acl_strike(hf_acl *acl, int i) {
    memmove(acl->commands[i], acl->commands[i + 1],
            (size_t)(--acl->n - i) * sizeof *acl->commands);
}

/* Does the text up to `at` end with the word? */
static bool follows(const char *text, const char *at, const char *word) {
    size_t len = strlen(word);

    return (size_t)(at - text) >= len && memcmp(at - len, word, len) == 0;
}

/* The word that begins at `at` and ends with a quote, behind what is in `to`;
 * what comes after the quote. */
static const char *copy_word(char to[HF_ACL_COMMAND_SIZE], const char *at) {
    size_t used = strlen(to), len = strcspn(at, "'");

    snprintf(to + used, HF_ACL_COMMAND_SIZE - used, "%.*s", (int)len, at);
    return at + len + (at[len] == '\'');
}

/* Every redis.call('x', redis.pcall('x' and ask('x', which is what list.lua
 * calls it by; of a command that is a family the second word, too. */
static void collect_script(hf_acl *acl, const char *text) {
    for (const char *at = text; (at = strstr(at, "('")); at += 2) {
        char name[HF_ACL_COMMAND_SIZE] = "";
        const char *rest;

        if (!follows(text, at, "call") && !follows(text, at, " ask"))
            continue;
        rest = copy_word(name, at + 2);
        if (strcmp(name, "pubsub") == 0 && strncmp(rest, ", '", 3) == 0)
            copy_word(strcat(name, "|"), rest + 3);
        add(acl, name);
    }
}

void hf__acl_collect(hf_acl *ret, const hf_scripts *scripts,
                     const bool used[HF_N_SCRIPTS], unsigned uses) {
    ret->n = 0;
    for (int i = 0; i < HF_N_SCRIPTS; i++)
        if (!used || used[i])
            collect_script(ret, scripts->text[i]);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if ((plain[i].when & uses) == plain[i].when &&
            !(plain[i].unless & uses))
            add(ret, plain[i].name);
}

/* ---- keys and channels ------------------------------------------------- */

/* Stands for anything in a name while keys are spelled with it; no name has
 * it. */
#define ANY "\001"

enum { PATTERNS_MAX = 64, PATTERN_SIZE = 2 * HF_KEY_SIZE };

/* Keys with ANY in them. */
typedef struct patterns {
    int n;
    char all[PATTERNS_MAX][HF_KEY_SIZE];
} patterns;

/* As a rule has it. */
static const char *escape(char to[PATTERN_SIZE], const char *key) {
    char *at = to;

    for (; *key; key++) {
        if (strchr("*?[\\", *key))
            *at++ = '\\';
        *at++ = (char)(*key == *ANY ? '*' : *key);
    }
    *at = '\0';
    return to;
}

/* Does one say as much as the other? */
static bool covers(const char *one, const char *other) {
    char pattern[PATTERN_SIZE];

    return fnmatch(escape(pattern, one), other, 0) == 0;
}

/* Unless one that is there says as much; those of which it says as much go. */
static void add_pattern(patterns *p, const char *key) {
    int kept = 0;

    for (int i = 0; i < p->n; i++)
        if (covers(p->all[i], key))
            return;
    for (int i = 0; i < p->n; i++)
        if (!covers(key, p->all[i]))
            memmove(p->all[kept++], p->all[i], HF_KEY_SIZE);
    p->n = kept;
    if (p->n < PATTERNS_MAX)
        strcpy(p->all[p->n++], key);
}

static void holds_of(patterns *p, const char *name) {
    char key[HF_KEY_SIZE];

    strcpy(hf__key_prefix(key, name), ":" ANY ":rwlock_timeout:" ANY);
    add_pattern(p, key);
}

static void markers_of(patterns *p, const char *name) {
    char key[HF_KEY_SIZE];
    char *end = hf__key_marker(key, name, (const unsigned char[16]){0});

    strcpy(end - 32, ANY);
    add_pattern(p, key);
}

static void keys_of(patterns *p, const char *name) {
    static char *(*const spelled[])(char *, const char *) = {
        hf__key_token,   hf__key_queue,  hf__key_timeouts,
        hf__key_writers, hf__key_leased, hf__key_note,
    };
    char key[HF_KEY_SIZE];

    add_pattern(p, name);
    for (size_t i = 0; i < sizeof spelled / sizeof *spelled; i++) {
        spelled[i](key, name);
        add_pattern(p, key);
    }
    holds_of(p, name);
    markers_of(p, name);
}

static void channels_of(patterns *p, const char *name) {
    char key[HF_KEY_SIZE];

    for (int kind = 0; kind < HF_KINDS; kind++) {
        char *end = hf__key_line(key, (hf_kind)kind, name);

        add_pattern(p, key);
        if (kind == HF_FAIR) {
            strcpy(end, ":" ANY); /* each waiter has its own */
            add_pattern(p, key);
        }
    }
}

static void keys_of_ours(patterns *p, unsigned uses) {
    char key[HF_KEY_SIZE];

    hf__key_client(key, NULL, ANY); /* with shelves, too */
    add_pattern(p, key);
    if (!(uses & HF_ACL_DELAY))
        return;
    add_pattern(p,
                uses & HF_ACL_CLUSTER ? HF_ERA_KEY ":{" ANY "}" : HF_ERA_KEY);
}

/* Names with a tag in braces are spelled otherwise than those without. */
static void collect_patterns(patterns *p, const char *prefix,
                             void (*of)(patterns *, const char *)) {
    char name[HF_KEY_SIZE];

    snprintf(name, sizeof name, "%s" ANY, prefix);
    of(p, name);
    if (strchr(prefix, '{'))
        return;
    snprintf(name, sizeof name, "%s" ANY "{" ANY "}" ANY, prefix);
    of(p, name);
}

/* ---- the line ---------------------------------------------------------- */

static void put_patterns(FILE *f, char mark, const patterns *p) {
    char pattern[PATTERN_SIZE];

    for (int i = 0; i < p->n; i++)
        fprintf(f, " %c%s", mark, escape(pattern, p->all[i]));
}

/* `reset` takes away what a user of that name may have had; afterwards the
 * server's own default may be all channels. */
static void write_line(FILE *f, const hf_acl *acl, const char *prefix,
                       unsigned uses, patterns *p) {
    fprintf(f, "user holdfast reset on " HF_ACL_PASSWORD);
    p->n = 0;
    collect_patterns(p, prefix, keys_of);
    keys_of_ours(p, uses);
    put_patterns(f, '~', p);
    if (uses & HF_ACL_CHANNELS) {
        fprintf(f, " resetchannels");
        p->n = 0;
        collect_patterns(p, prefix, channels_of);
        put_patterns(f, '&', p);
    }
    for (int i = 0; i < acl->n; i++)
        fprintf(f, " +%s", acl->commands[i]);
}

char *hf__acl_line(const hf_acl *acl, const char *prefix, unsigned uses) {
    patterns *p = hf__malloc(sizeof *p);
    char *line = NULL;
    FILE *f = p ? hf__memstream(&line) : NULL;

    if (f) {
        write_line(f, acl, prefix, uses, p);
        if (fclose(f) != 0) {
            hf__free(line);
            line = NULL;
        }
    }
    hf__free(p);
    return line;
}
