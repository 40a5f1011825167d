/* SPDX-License-Identifier: MIT
 *
 * ears.c - who of this client waits to be told something, and what is told.
 *
 * A note says that a line has moved for one of us: it was given what it waits
 * for, or would get it now.  It is a hint: whoever hears it asks.
 *
 *      w KIND OWNER NAME     kind of the waiter's line, 0 for whoever is next,
 *                            the name in hexadecimal */
#include <inttypes.h>
#include <stdio.h>

#include "../../alloc.h"
#include "../../err.h"
#include "store.h"

/* ---- who listens ------------------------------------------------------- */

static hf_ear **bucket_of(hf_tables *t, const hf_claim *c) {
    uint32_t h = 2166136261u ^ (uint32_t)c->kind ^ (uint32_t)c->owner;

    for (const char *at = c->name; *at; at++)
        h = (h ^ (unsigned char)*at) * 16777619u;
    return &t->ears[(h ^ h >> 16) % HF_EARS];
}

/* mu */
static hf_ear **find(hf_tables *t, const hf_claim *c) {
    hf_ear **link = bucket_of(t, c);

    while (*link && ((*link)->owner != c->owner || (*link)->kind != c->kind ||
                     strcmp((*link)->name, c->name) != 0))
        link = &(*link)->next;
    return link;
}

/* mu.  Tells the database how many of us listen, and how near the first is. */
static void attend(hf_tables *t) {
    size_t waiting = 0;
    int ahead = HF_AHEAD - 1;

    for (int i = HF_AHEAD - 1; i >= 0; i--) {
        waiting += t->attending[i];
        if (t->attending[i] > 0)
            ahead = i;
    }
    t->db->ops->attend(t->db, waiting, waiting ? ahead : 0);
}

int hf__tables_listen(hf_tables *t, const hf_claim *c) {
    size_t size = strlen(c->name) + 1;
    hf_ear *ear = hf__calloc(1, sizeof *ear + size), **link;

    if (!ear)
        return HF_ENO_MEMORY;
    ear->kind = c->kind;
    ear->owner = c->owner;
    memcpy(ear->name, c->name, size);
    pthread_mutex_lock(&t->mu);
    link = bucket_of(t, c);
    ear->next = *link;
    *link = ear;
    t->attending[ear->ahead]++;
    attend(t);
    pthread_mutex_unlock(&t->mu);
    return HF_OK;
}

void hf__tables_unlisten(hf_tables *t, const hf_claim *c) {
    hf_ear **link, *ear;

    pthread_mutex_lock(&t->mu);
    link = find(t, c);
    ear = *link;
    if (ear) {
        *link = ear->next;
        t->attending[ear->ahead]--;
        attend(t);
    }
    pthread_mutex_unlock(&t->mu);
    hf__free(ear);
}

void hf__tables_refused(hf_tables *t, const hf_claim *c, int ahead) {
    hf_ear *ear;

    if (ahead >= HF_AHEAD)
        ahead = HF_AHEAD - 1;
    pthread_mutex_lock(&t->mu);
    ear = *find(t, c);
    if (ear && ear->ahead != ahead) {
        t->attending[ear->ahead]--;
        ear->ahead = ahead;
        t->attending[ahead]++;
        attend(t);
    }
    pthread_mutex_unlock(&t->mu);
}

void hf__tables_free_ears(hf_tables *t) {
    for (size_t i = 0; i < HF_EARS; i++)
        while (t->ears[i]) {
            hf_ear *gone = t->ears[i];

            t->ears[i] = gone->next;
            hf__free(gone);
        }
}

int hf__tables_watch(hf_backend *be, const hf_claim *c, bool on, hf_time by,
                     hf_error *err) {
    hf_tables *t = (hf_tables *)be;

    (void)by;
    if (!on) {
        hf__tables_unlisten(t, c);
        return HF_OK;
    }
    return hf__tables_listen(t, c) == HF_OK ?
               HF_OK :
               hf__fail_plain(err, HF_ENO_MEMORY);
}

/* ---- notes ------------------------------------------------------------- */

/* Those who ask beside others of their process, who were refused, are called
 * by their number; for the rest it is enough to wake whoever is next there. */
static bool has_a_bell_of_its_own(hf_kind asked) {
    return asked == HF_FAIR || hf__mode(asked) == HF_PERMITS;
}

size_t hf__tables_write_note(char *to, hf_kind asked, uint64_t owner,
                             const char *name) {
    size_t n = (size_t)snprintf(to, HF_NOTE_MAX, "w %d %" PRIu64 " ",
                                (int)hf_line_kind(asked),
                                has_a_bell_of_its_own(asked) ? owner : 0);

    for (; *name && n + 3 < HF_NOTE_MAX; name++, n += 2)
        snprintf(to + n, 3, "%02x", (unsigned char)*name);
    return n;
}

void hf__tables_told(void *store, const char *note) {
    hf_tables *t = store;
    const hf_host *host = t->base.host;
    char name[HF_NAME_MAX + 1];
    uint64_t owner;
    int kind, at = 0;

    if (sscanf(note, "w %d %" SCNu64 " %n", &kind, &owner, &at) < 2 ||
        at == 0 || kind < 0 || kind >= HF_KINDS)
        return;
    name[hf__tables_unhex(note + at, name, HF_NAME_MAX)] = '\0';
    host->woken(host->core, (hf_kind)kind, name, owner);
}

void hf__tables_missed(void *store) {
    const hf_host *host = ((hf_tables *)store)->base.host;

    host->woken(host->core, HF_LOCK, NULL, 0);
}
