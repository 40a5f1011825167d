/* SPDX-License-Identifier: MIT
 *
 * clients.c - the records of those who use the store: each server has them, as
 * one server alone does (../clients.c).  A record reaches those servers that
 * its client reaches, so they are read from all; of what several servers have
 * of a client the newest is told. */
#include <string.h>

#include "../../../alloc.h"
#include "../../../err.h"
#include "../keys.h"
#include "../redis.h"
#include "../seen.h"
#include "redlock.h"

enum { ANNOUNCE_WORDS = 8, LEAVE_WORDS = 6, BUCKETS = 1024 };

/* ---- our own ----------------------------------------------------------- */

/* To all servers, and nobody waits for it: should it be lost, the next one
 * comes in time.  As nobody hears that a server lost the script, its text goes
 * with it. */
static int post(hf_redlock *rl, int argc, const char *const *argv, hf_time by,
                hf_error *err) {
    hf_letter *letter = hf__letter_plain(argc, argv);
    hf_bundle *b;

    if (!letter)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    b = hf__pool_take(&rl->pool, -1, false, by);
    if (b) {
        hf__bundle_post(b, letter, hf__redlock_all(rl), 0);
        hf__pool_give(b);
    }
    hf__letter_put(letter);
    return b ? HF_OK : hf__redlock_crowded(rl, err);
}

int hf__redlock_announce(hf_backend *be, const char *doing, int lease_ms,
                         hf_time by, hf_error *err) {
    hf_redlock *rl = (hf_redlock *)be;
    const hf_identity *me = &be->host->identity;
    uint64_t number = atomic_fetch_add(&rl->announced, 1) + 1;
    char *text = hf__record_new(me, number, doing);
    char record[HF_KEY_SIZE], all[HF_KEY_SIZE], ms[HF_DECIMAL_SIZE];
    int rc;

    if (!text)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    hf__key_client(record, NULL, me->client);
    hf__key_client(all, NULL, HF_ALL_CLIENTS);
    hf__decimal(ms, (uint64_t)lease_ms);
    rc = post(rl, ANNOUNCE_WORDS,
              (const char *const[ANNOUNCE_WORDS]){
                  "EVAL", rl->scripts.text[HF_SCRIPT_ANNOUNCE], "2", record,
                  all, text, ms, me->client},
              by, err);
    hf__free(text);
    return rc;
}

void hf__redlock_take_leave(hf_redlock *rl, hf_time by) {
    const char *client = rl->base.host->identity.client;
    char record[HF_KEY_SIZE], all[HF_KEY_SIZE];
    hf_error err;

    if (!atomic_load(&rl->announced))
        return;
    hf__key_client(record, NULL, client);
    hf__key_client(all, NULL, HF_ALL_CLIENTS);
    post(rl, LEAVE_WORDS,
         (const char *const[LEAVE_WORDS]){
             "EVAL", rl->scripts.text[HF_SCRIPT_TAKE_LEAVE], "2", record, all,
             client},
         by, &err);
}

/* ---- everybody's ------------------------------------------------------- */

/* The newest record of a client so far. */
typedef struct entry {
    struct entry *next;
    uint64_t number;
    char client[sizeof(((hf_identity *)0)->client)];
    char *text;
} entry;

typedef struct look {
    entry *buckets[BUCKETS];
    bool failed; /* out of memory */
    char doing[HF_DOING_MAX + 1];
} look;

static entry *entry_of(look *l, const char *client) {
    entry **at = &l->buckets[hf__seen_hash(client) % BUCKETS];

    while (*at && strcmp((*at)->client, client) != 0)
        at = &(*at)->next;
    if (*at || strlen(client) >= sizeof(*at)->client)
        return *at; /* or it is none of ours */
    *at = hf__calloc(1, sizeof **at);
    if (*at)
        strcpy((*at)->client, client);
    else
        l->failed = true;
    return *at;
}

static void note(void *arg, const char *client, const char *text) {
    look *l = arg;
    entry *e = entry_of(l, client);
    uint64_t number = hf__record_number(text);
    char *copy;

    if (!e || (e->text && e->number >= number))
        return;
    copy = hf__strdup(text);
    if (!copy) {
        l->failed = true;
        return;
    }
    hf__free(e->text);
    e->text = copy;
    e->number = number;
}

static void tell(look *l, const entry *e, hf_record_fn *fn, void *arg) {
    hf_identity who;

    hf__record_read(&who, e->text);
    strcpy(who.client, e->client);
    hf__record_doing(l->doing, e->text);
    fn(arg, &who, l->doing);
}

/* fn NULL: nobody is told. */
static void finish(look *l, hf_record_fn *fn, void *arg) {
    for (int i = 0; i < BUCKETS; i++)
        while (l->buckets[i]) {
            entry *e = l->buckets[i];

            l->buckets[i] = e->next;
            if (fn && e->text)
                tell(l, e, fn, arg);
            hf__free(e->text);
            hf__free(e);
        }
    hf__free(l);
}

int hf__redlock_clients(hf_backend *be, hf_record_fn *fn, void *arg, hf_time by,
                        hf_error *err) {
    hf_redlock *rl = (hf_redlock *)be;
    hf_time share = (by - hf__now()) / rl->n; /* some may be silent */
    look *l = hf__calloc(1, sizeof *l);
    unsigned answered = 0;
    int rc = HF_OK;

    if (!l)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    for (unsigned k = 0; k < rl->n; k++)
        answered += hf__redis_clients_node(rl->voters[k]->node, note, l,
                                           hf__now() + share, err) == HF_OK;
    if (l->failed)
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    else if (answered < rl->quorum)
        rc = hf__fail(err, HF_EMINORITY,
                      "%u of %u servers told of clients, %u are needed",
                      answered, rl->n, rl->quorum);
    finish(l, rc == HF_OK ? fn : NULL, arg);
    return rc;
}
