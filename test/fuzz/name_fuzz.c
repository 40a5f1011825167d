/* SPDX-License-Identifier: MIT
 *
 * name_fuzz.c - any text as the names of locks, and as channels.
 *
 * The lines of the input are a prefix, two names, and a channel.  All keys of
 * a name that is accepted lie in one slot, and the keys of two names are the
 * same only for `a` and `{a}`, which Redisson spells alike.  What is heard on
 * a name's channel leads back to the name. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/redis/keys.h"
#include "backend/redis/topology/slot.h"
#include "client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char uuid[] = "01234567-89ab-4cde-8f01-23456789abcd";

/* ---- keys -------------------------------------------------------------- */

enum { KEYS = 12 };

/* Of every sort that a line has; the name itself is the first. */
static void spell(char keys[KEYS][HF_KEY_SIZE], const char *name) {
    static char *(*const spelled[])(char *, const char *) = {
        hf__key_token,   hf__key_queue,  hf__key_timeouts,
        hf__key_writers, hf__key_leased, hf__key_note,
    };
    static const hf_kind lines[] = {HF_LOCK, HF_WRITE, HF_SEMAPHORE};
    int n = 0;

    strcpy(keys[n++], name);
    for (size_t i = 0; i < sizeof spelled / sizeof *spelled; i++)
        spelled[i](keys[n++], name);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        hf__key_line(keys[n++], lines[i], name);
    hf__key_marker(keys[n++], name, (const unsigned char[16]){1, 2});
    hf__key_hold(keys[n++], name, uuid, UINT64_MAX);
    assert(n == KEYS);
}

static void one_slot(char keys[KEYS][HF_KEY_SIZE]) {
    for (int i = 0; i < KEYS; i++) {
        assert(strlen(keys[i]) < HF_KEY_SIZE);
        assert(hf__slot(keys[i]) == hf__slot(keys[0]));
        for (int j = 0; j < i; j++)
            assert(strcmp(keys[i], keys[j]) != 0);
    }
}

/* Is b the name a in braces? */
static bool in_braces(const char *a, const char *b) {
    size_t n = strlen(a);
    return strchr(a, '{') == NULL && strlen(b) == n + 2 && b[0] == '{' &&
           b[n + 1] == '}' && memcmp(b + 1, a, n) == 0;
}

static void injective(const char *a, const char *b) {
    static char of_a[KEYS][HF_KEY_SIZE], of_b[KEYS][HF_KEY_SIZE];
    bool alike = in_braces(a, b) || in_braces(b, a);

    spell(of_a, a);
    spell(of_b, b);
    one_slot(of_a);
    one_slot(of_b);
    for (int i = 0; i < KEYS; i++)
        assert((strcmp(of_a[i], of_b[i]) == 0) ==
               (strcmp(a, b) == 0 || (i > 0 && alike)));
}

/* ---- channels ---------------------------------------------------------- */

static bool leads_to(const hf_news *news, const char *name) {
    for (int i = 0; i < news->n; i++)
        if (strcmp(news->names[i], name) == 0)
            return true;
    return false;
}

static void come_back(const char *name) {
    static const hf_kind kinds[] = {HF_LOCK, HF_FAIR, HF_WRITE, HF_SEMAPHORE,
                                    HF_LATCH};
    char channel[HF_KEY_SIZE];
    hf_news news;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        hf_claim c = {.kind = kinds[i], .name = name, .owner = 77};
        hf__key_ear(channel, uuid, &c);
        assert(hf__news_of_channel(&news, channel, uuid));
        assert(leads_to(&news, name));
        assert(news.kind == (kinds[i] == HF_SPIN ? HF_LOCK : kinds[i]));
        assert(news.owner == (kinds[i] == HF_FAIR ? 77 : 0));
    }
}

static void hear(const char *channel) {
    hf_news news;
    if (!hf__news_of_channel(&news, channel, uuid))
        return;
    assert(news.n == 1 || news.n == 2);
    for (int i = 0; i < news.n; i++)
        assert(strlen(news.names[i]) < HF_KEY_SIZE);
}

/* ---- all of it --------------------------------------------------------- */

/* The whole name, or NULL if it may not be one. */
static char *accepted(const hf_client *client, const char *name) {
    hf_error err = {0, ""};
    char *whole = NULL;
    int rc = hf__check_name(client, name, &err);

    assert(rc == HF_OK || (rc == HF_ENAME && err.text[0] != '\0'));
    if (rc != HF_OK)
        return NULL;
    assert(asprintf(&whole, "%s%s", client->prefix, name) > 0);
    assert(strlen(whole) <= HF_NAME_MAX);
    if (hf__keys_check(whole, &err) == HF_OK)
        return whole;
    free(whole);
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = calloc(1, size + 1), *rest = text, *lines[4], *names[2];
    hf_client client = {0};

    assert(text != NULL);
    memcpy(text, data, size);
    for (int i = 0; i < 4; i++) {
        lines[i] = rest != NULL ? strsep(&rest, "\n") : text + size;
        hear(lines[i]);
        hf__is_owner(lines[i]);
    }
    if (strlen(lines[0]) > HF_NAME_MAX / 2)
        lines[0] = text + size;
    client.prefix = lines[0];
    for (int i = 0; i < 2; i++) {
        names[i] = accepted(&client, lines[i + 1]);
        /* A name that speaks of our own uuid is its own fault. */
        if (names[i] != NULL && strstr(names[i], uuid) == NULL)
            come_back(names[i]);
    }
    if (names[0] != NULL && names[1] != NULL)
        injective(names[0], names[1]);
    free(names[0]);
    free(names[1]);
    free(text);
    return 0;
}
