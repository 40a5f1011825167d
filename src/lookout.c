/* SPDX-License-Identifier: MIT
 *
 * lookout.c - who waits for ever, and who of them gives way.
 *
 * A record is a second old: what it says may be over.  So a circle counts when
 * it was seen twice, a second apart, with the very same claims, and when the
 * store confirmed each time who holds.  All clients choose alike who gives way,
 * each for itself; that one leaves, and nobody else does. */
#include "lookout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "err.h"
#include "look.h"

void hf__lookout_init(hf_lookout *l) {
    pthread_mutex_init(&l->mu, NULL);
}

void hf__lookout_free(hf_lookout *l) {
    pthread_mutex_destroy(&l->mu);
}

/* ---- in words ---------------------------------------------------------- */

static const char *shown(const hf_client *client, const hf_told *told) {
    size_t n = strlen(client->prefix);

    return told->of.name + (strncmp(told->of.name, client->prefix, n) ? 0 : n);
}

static void name_holder(const hf_client *client, const hf_record *r, char *buf,
                        size_t size) {
    if (strcmp(r->who.client, client->host.identity.client) == 0)
        snprintf(buf, size, "a thread of this process");
    else
        snprintf(buf, size, "%s (pid %" PRId64 " on %s)", r->who.program,
                 r->who.pid, r->who.host);
}

/* From the one who gives way all round to itself. */
static void explain(const hf_client *client, const hf_circle *c, size_t me,
                    char *text) {
    size_t used =
        (size_t)snprintf(text, HF_ERROR_TEXT_SIZE, "deadlock: '%.64s' is",
                         shown(client, c->links[me].wants));

    for (size_t i = 1; i < c->n; i++) {
        const hf_link *link = &c->links[(me + i) % c->n];
        const hf_told *wants = link->wants;
        char holder[160];

        name_holder(client, link->has->record, holder, sizeof holder);
        if (used < HF_ERROR_TEXT_SIZE)
            used += (size_t)snprintf(text + used, HF_ERROR_TEXT_SIZE - used,
                                     " held by %s, which waits for '%.64s',",
                                     holder, shown(client, wants));
    }
    if (used < HF_ERROR_TEXT_SIZE)
        snprintf(text + used, HF_ERROR_TEXT_SIZE - used, " held by the caller");
}

/* ---- the look ---------------------------------------------------------- */

static bool was_seen(const hf_lookout *l, uint64_t key) {
    size_t i = 0;

    while (i < l->n_keys && l->keys[i] != key)
        i++;
    return i < l->n_keys;
}

/* If one of ours is to give way in it, that is told so. */
static void judge(hf_lookout *l, const hf_client *client, const hf_circle *c) {
    const hf_told *last = hf__circle_yields(c);
    struct hf_sentence *v = &l->sentences[l->n_sentences];
    size_t me = 0;

    if (!last || l->n_sentences == HF_SENTENCES ||
        strcmp(last->record->who.client, client->host.identity.client) != 0)
        return;
    while (c->links[me].wants != last)
        me++;
    snprintf(v->owner, sizeof v->owner, "%s", last->of.owner);
    explain(client, c, me, v->text);
    l->n_sentences++;
}

/* Only the one who is busy comes here. */
static void look(hf_lookout *l, hf_client *client, hf_time by) {
    uint64_t keys[HF_CIRCLES_MAX];
    hf_records records;
    hf_circles circles;
    hf_error err;

    if (hf__find_stuck(client, &records, &circles, by, &err) != HF_OK)
        return; /* what was seen before was not seen to be over */
    for (size_t i = 0; i < circles.n; i++) {
        keys[i] = hf__circle_key(&circles.all[i]);
        if (was_seen(l, keys[i]))
            judge(l, client, &circles.all[i]);
    }
    l->n_keys = circles.n;
    memcpy(l->keys, keys, circles.n * sizeof *keys);
    hf__circles_free(&circles);
    hf__records_free(&records);
}

/* mu.  A sentence is for one wait: its number may be used again. */
static int answer(hf_lookout *l, const char *owner, hf_error *err) {
    for (size_t i = 0; i < l->n_sentences; i++)
        if (strcmp(l->sentences[i].owner, owner) == 0) {
            hf__fail(err, HF_EDEADLOCK, "%s", l->sentences[i].text);
            l->sentences[i] = l->sentences[--l->n_sentences];
            return HF_EDEADLOCK;
        }
    return HF_OK;
}

int hf__lookout(hf_client *client, const char *owner, hf_time by,
                hf_error *err) {
    hf_lookout *l = &client->lookout;
    int rc = HF_OK;

    pthread_mutex_lock(&l->mu);
    if (!l->busy && (!l->looked || hf__now() - l->looked >= HF_LOOK_AFTER)) {
        l->busy = true;
        l->n_sentences = 0;
        pthread_mutex_unlock(&l->mu);
        look(l, client, by);
        pthread_mutex_lock(&l->mu);
        l->looked = hf__now();
        l->busy = false;
    }
    if (!l->busy)
        rc = answer(l, owner, err);
    pthread_mutex_unlock(&l->mu);
    return rc;
}
