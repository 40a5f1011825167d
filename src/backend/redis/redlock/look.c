/* SPDX-License-Identifier: MIT
 *
 * look.c - for those who look: who holds, the last token, what the servers are
 * and promise. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../alloc.h"
#include "../../../err.h"
#include "../keys.h"
#include "../redis.h"
#include "../reply.h"
#include "../seen.h"
#include "redlock.h"

/* ---- the last token ---------------------------------------------------- */

typedef struct tokens {
    const hf_redlock *rl;
    unsigned n;
    uint64_t at[HF_VOTERS_MAX]; /* the highest first */
} tokens;

static void take_token(void *arg, unsigned k, const redisReply *reply) {
    tokens *t = arg;
    uint64_t token =
        reply->type == REDIS_REPLY_STRING ? strtoull(reply->str, NULL, 10) : 0;
    unsigned i = t->n;

    (void)k;
    if (reply->type == REDIS_REPLY_ERROR)
        return;
    for (; i > 0 && t->at[i - 1] < token; i--)
        t->at[i] = t->at[i - 1];
    t->at[i] = token;
    t->n++;
}

/* A grant's token stands in a majority, so it is among the first `quorum` of
 * all; servers that did not take part may have a higher one.  If not all have
 * answered, the highest is certainly not below it. */
static int64_t last_of(const tokens *t) {
    return (int64_t)t->at[t->n == t->rl->n ? t->rl->quorum - 1 : 0];
}

static bool is_majority(void *arg) {
    const tokens *t = arg;

    return t->n >= t->rl->quorum;
}

static int ask_tokens(hf_redlock *rl, tokens *t, const char *name, hf_time by,
                      hf_error *err) {
    char key[HF_KEY_SIZE];
    hf_round r = {.voters = hf__redlock_all(rl),
                  .by = by,
                  .soft = hf__redlock_by(rl, by),
                  .answer = take_token,
                  .decided = hf__redlock_await_all,
                  .enough = is_majority,
                  .arg = t};
    hf_bundle *b;

    hf__key_token(key, name);
    r.letter = hf__letter_plain(2, (const char *const[]){"GET", key});
    if (!r.letter)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    b = hf__pool_take(&rl->pool, -1, false, by);
    if (b) {
        hf__round_run(b, &r);
        hf__pool_give(b);
    }
    hf__letter_put(r.letter);
    return b ? HF_OK : hf__redlock_crowded(rl, err);
}

int hf__redlock_count(hf_backend *be, hf_claim *c, hf_count_op op,
                      int64_t *value, hf_time by, hf_error *err) {
    hf_redlock *rl = (hf_redlock *)be;
    tokens t = {.rl = rl};
    int rc;

    if (op != HF_COUNT_TOKEN)
        return hf__fail(err, HF_ECANNOT,
                        "%s counts nothing: a majority cannot share a number",
                        rl->where);
    rc = hf__keys_check(c->name, err);
    if (rc == HF_OK)
        rc = ask_tokens(rl, &t, c->name, by, err);
    if (rc != HF_OK)
        return rc;
    if (t.n < rl->quorum)
        return hf__fail(err, HF_EMINORITY,
                        "%u of %u servers answered, %u are needed", t.n, rl->n,
                        rl->quorum);
    *value = last_of(&t);
    return HF_OK;
}

/* ---- who holds --------------------------------------------------------- */

/* A claim as several servers tell of it. */
typedef struct entry {
    struct entry *next; /* as they came      */
    struct entry *like; /* in the same bucket */
    hf_place place;     /* its strings are copies in text */
    unsigned n;         /* so many tell of it             */
    int64_t lease_ms[HF_VOTERS_MAX];
    uint64_t tokens[HF_VOTERS_MAX];
    char text[];
} entry;

enum { BUCKETS = 4096 };

typedef struct listing {
    entry *first, **last;
    entry **buckets;
    bool failed; /* out of memory */
} listing;

/* The strings of a place: name, kind, owner, host, program, user, why, client.
 */
enum { TEXTS = 8 };

static const char **text_of(hf_place *p, int i) {
    const char **all[TEXTS] = {&p->name,    &p->kind, &p->owner, &p->host,
                               &p->program, &p->user, &p->why,   &p->client};

    return all[i];
}

static entry *new_entry(const hf_place *place) {
    hf_place p = *place;
    size_t size = 0;
    entry *e;
    char *to;

    for (int i = 0; i < TEXTS; i++)
        size += strlen(*text_of(&p, i)) + 1;
    e = hf__calloc(1, sizeof *e + size);
    if (!e)
        return NULL;
    e->place = p;
    to = e->text;
    for (int i = 0; i < TEXTS; i++) {
        const char *from = *text_of(&p, i);

        *text_of(&e->place, i) = to;
        to = stpcpy(to, from) + 1;
    }
    return e;
}

static entry *entry_of(listing *l, const hf_place *p) {
    entry **bucket = &l->buckets[hf__seen_hash(p->name) % BUCKETS];
    entry *e = *bucket;

    while (e && (strcmp(e->place.name, p->name) != 0 ||
                 strcmp(e->place.owner, p->owner) != 0))
        e = e->like;
    if (e || !(e = new_entry(p)))
        return e;
    e->like = *bucket;
    *bucket = *l->last = e;
    l->last = &e->next;
    return e;
}

/* The other kinds are not ours: they live on one server each. */
static void note_place(void *arg, const hf_place *p) {
    listing *l = arg;
    entry *e;

    if (!p->holds ||
        (strcmp(p->kind, "lock") != 0 && strcmp(p->kind, "simple") != 0))
        return;
    e = entry_of(l, p);
    if (!e) {
        l->failed = true;
    } else if (e->n < HF_VOTERS_MAX) {
        e->lease_ms[e->n] = p->lease_ms < 0 ? INT64_MAX : p->lease_ms;
        e->tokens[e->n++] = p->token;
        if (!*e->place.host && *p->host) /* the first knew no record of it */
            e->place.foreign = p->foreign;
    }
}

static int higher_lease(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x < y) - (x > y);
}

static int higher_token(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x < y) - (x > y);
}

/* It is held while a majority holds it, and that is as long as the shortest of
 * the `quorum` longest leases; its token is the one that a majority has. */
static void tell_entry(const hf_redlock *rl, entry *e, hf_place_fn *fn,
                       void *arg) {
    int64_t lease;

    if (e->n < rl->quorum)
        return;
    qsort(e->lease_ms, e->n, sizeof *e->lease_ms, higher_lease);
    qsort(e->tokens, e->n, sizeof *e->tokens, higher_token);
    lease = e->lease_ms[rl->quorum - 1];
    e->place.lease_ms = lease == INT64_MAX ? -1 : lease;
    e->place.token = e->tokens[rl->quorum - 1];
    fn(arg, &e->place);
}

static void tell_all(const hf_redlock *rl, listing *l, bool tell,
                     hf_place_fn *fn, void *arg) {
    while (l->first) {
        entry *e = l->first;

        l->first = e->next;
        if (tell)
            tell_entry(rl, e, fn, arg);
        hf__free(e);
    }
}

int hf__redlock_list(hf_backend *be, const char *name, hf_place_fn *fn,
                     void *arg, hf_time by, hf_error *err) {
    hf_redlock *rl = (hf_redlock *)be;
    listing l = {.last = &l.first};
    hf_time share = (by - hf__now()) / rl->n; /* some may be silent */
    unsigned answered = 0;
    int rc = name ? hf__keys_check(name, err) : HF_OK;

    if (rc == HF_OK && !(l.buckets = hf__calloc(BUCKETS, sizeof *l.buckets)))
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    for (unsigned k = 0; k < rl->n && rc == HF_OK; k++)
        answered += hf__redis_list_node(rl->voters[k]->node, name, note_place,
                                        &l, hf__now() + share, err) == HF_OK;
    if (rc == HF_OK && l.failed)
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    else if (rc == HF_OK && answered < rl->quorum)
        rc = hf__fail(err, HF_EMINORITY,
                      "%u of %u servers told who holds, %u are needed",
                      answered, rl->n, rl->quorum);
    tell_all(rl, &l, rc == HF_OK, fn, arg);
    hf__free(l.buckets);
    return rc;
}

/* ---- examine ----------------------------------------------------------- */

typedef struct report {
    hf_redlock *rl;
    hf_fact_fn *fn;
    void *arg;
} report;

static const char *endurance(const hf_voter *v, const hf_facts *f) {
    return v->needs.durable ? "durable, says the address" :
           f->always        ? "writes down every vote" :
           f->aof ? "an append-only file, but not written before each answer" :
                    "no append-only file";
}

static void tell_voter(report *p, hf_voter *v) {
    int longest = atomic_load(&p->rl->longest_ms);
    hf_time from = hf__voter_votes_from(v, longest);
    char text[256];
    hf_facts f;
    hf_error why;

    pthread_mutex_lock(&v->mu);
    f = v->facts;
    why = v->why;
    pthread_mutex_unlock(&v->mu);
    if (why.code) {
        snprintf(text, sizeof text, "cannot be reached: %.180s", why.text);
        p->fn(p->arg, HF_WARN, v->name, text);
        return;
    }
    switch ((hf_standing)atomic_load(&v->standing)) {
    case HF_VOTES:
        snprintf(text, sizeof text, "votes: Redis %s, %s", f.version,
                 endurance(v, &f));
        break;
    case HF_FORGETS:
        if (hf__voter_votes(v, longest))
            snprintf(text, sizeof text,
                     "votes: Redis %s, %s; after a restart not for %d s",
                     f.version, endurance(v, &f),
                     (int)((from - atomic_load(&v->born)) / HF_SECOND));
        else
            snprintf(text, sizeof text,
                     "does not vote for %d s: it was started lately and may "
                     "have forgotten what it granted (Redis %s, %s)",
                     hf__ms_until(from) / 1000 + 1, f.version,
                     endurance(v, &f));
        break;
    case HF_IS_REPLICA:
        snprintf(text, sizeof text, "does not vote: it is a replica");
        break;
    case HF_EVICTS:
        snprintf(text, sizeof text,
                 "does not vote: it throws out keys when memory is short; set "
                 "maxmemory-policy noeviction (it is %s)",
                 f.policy);
        break;
    case HF_UNKNOWN:
        snprintf(text, sizeof text,
                 "does not vote: our user may not ask how long it runs (INFO); "
                 "allow it, or write durable=1 if it forgets nothing");
        break;
    }
    p->fn(p->arg, hf__voter_votes(v, longest) ? HF_GOOD : HF_WARN, v->name,
          text);
}

static void tell_clock(report *p, hf_voter *v) {
    int64_t theirs = hf__server_clock_us(&v->node->server.clock);
    int64_t off = (theirs - hf__world->wall_us()) / 1000;
    char text[256];

    if (!theirs || (off <= 1000 && off >= -1000))
        return;
    snprintf(text, sizeof text,
             "that of %s is %" PRId64 " ms %s ours: tokens need a second "
             "round",
             v->name, off < 0 ? -off : off, off < 0 ? "behind" : "ahead of");
    p->fn(p->arg, HF_WARN, "clock", text);
}

static void tell_majority(report *p) {
    const hf_redlock *rl = p->rl;
    int longest = atomic_load(&rl->longest_ms);
    unsigned voting = 0;
    char text[160];

    for (unsigned k = 0; k < rl->n; k++) {
        hf_voter *v = rl->voters[k];

        pthread_mutex_lock(&v->mu);
        voting += !v->why.code && hf__voter_votes(v, longest);
        pthread_mutex_unlock(&v->mu);
    }
    snprintf(text, sizeof text, "%u of %u servers vote, %u are needed%s",
             voting, rl->n, rl->quorum,
             voting < rl->quorum  ? ": nothing can be granted now" :
             voting == rl->quorum ? ": none of them may fail" :
                                    "");
    p->fn(p->arg, voting > rl->quorum ? HF_GOOD : HF_WARN, "majority", text);
}

int hf__redlock_examine(hf_backend *be, hf_fact_fn *fn, void *arg, hf_time by,
                        hf_error *err) {
    report p = {(hf_redlock *)be, fn, arg};

    (void)by, (void)err;
    for (unsigned k = 0; k < p.rl->n; k++)
        tell_voter(&p, p.rl->voters[k]);
    tell_majority(&p);
    for (unsigned k = 0; k < p.rl->n; k++)
        tell_clock(&p, p.rl->voters[k]);
    fn(arg, HF_GOOD, "crash",
       "a server that restarts has no vote until what it may have forgotten is "
       "over");
    fn(arg, HF_GOOD, "failover", "none takes over: a majority decides");
    fn(arg, HF_GOOD, "token",
       "grows with every grant, whatever clocks and servers do");
    fn(arg, HF_FACT, "guarantee",
       "one holder at a time while a majority of the servers keeps what it "
       "granted and no clocks of theirs jump; a lock ends by itself when its "
       "lease does; tokens grow with every grant, whatever clocks and servers "
       "do, as long as servers that forgot stay out for a while");
    return HF_OK;
}
