/* SPDX-License-Identifier: MIT
 *
 * session.c - the lease that all our entries hang on, and their numbers.
 *
 *             need                 kept: ttl 0, over
 *      none ────────► alive ───────────────────────────► none, generation + 1
 *
 * The server counts from when it hears a keepalive, we from when we sent it:
 * good_until comes before the server's end.
 *
 * Numbers are given out from the lowest on and used again, because etcd keeps
 * the past of every key until it is compacted, and a range reads through it. */
#include "session.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "status.h"

static const hf_time SWEEP_MIN = HF_SECOND, SWEEP_MAX = 60 * HF_SECOND;

enum { SWEPT = 30 }; /* ghosts at once */

typedef struct slot {
    unsigned char id[16];
    bool taken, doubted;
    int64_t revision; /* 0: not known to be made */
    hf_key *left;     /* doubted, and it was left: under this key */
} slot;

struct hf_session {
    hf_speaker *speaker;
    int asked_ms;
    void (*ring)(void *arg);
    void *arg;

    pthread_mutex_t mu; /* guards all of the rest */
    pthread_cond_t begun;
    bool beginning;
    int64_t lease; /* 0: none */
    int ttl_ms;
    uint64_t generation, told;
    hf_time sent_at; /* the last keepalive that was answered */

    slot *slots;
    unsigned n_slots, room, lowest; /* below that all are taken */
    unsigned n_ghosts, sweep_from;
    hf_time sweep_at, sweep_after;
};

/* ---- life -------------------------------------------------------------- */

static void reset_slots(hf_session *s) {
    for (unsigned i = 0; i < s->n_slots; i++)
        hf__free(s->slots[i].left);
    s->n_slots = s->lowest = s->n_ghosts = s->sweep_from = 0;
}

int hf__session_new(hf_session **ret, hf_speaker *speaker, int asked_ms,
                    void (*ring)(void *arg), void *arg, hf_error *err) {
    hf_session *s = hf__calloc(1, sizeof *s);

    if (!s)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    s->speaker = speaker;
    s->asked_ms = asked_ms;
    s->ring = ring;
    s->arg = arg;
    s->generation = s->told = 1;
    pthread_mutex_init(&s->mu, NULL);
    pthread_cond_init(&s->begun, NULL);
    *ret = s;
    return HF_OK;
}

void hf__session_free(hf_session *s) {
    if (!s)
        return;
    pthread_mutex_destroy(&s->mu);
    pthread_cond_destroy(&s->begun);
    reset_slots(s);
    hf__free(s->slots);
    hf__free(s);
}

/* ---- beginning --------------------------------------------------------- */

/* An id of our own makes the question safe to repeat: "it exists" means that
 * we made it. */
static int grant(hf_session *s, int64_t *lease, int64_t *ttl, hf_time by,
                 hf_error *err) {
    hf_question q = {.path = HF_RPC_GRANT, .changes = true};
    int64_t seconds = (s->asked_ms + 999) / 1000;
    hf_leased granted = {.ttl = seconds};
    int rc;

    do {
        hf__world->random(lease, sizeof *lease);
        *lease &= INT64_MAX;
    } while (*lease == 0);
    hf__write_grant(&q.body, *lease, seconds);
    rc = hf__ask(s->speaker, &q, 1, by, err);
    if (rc != HF_OK && q.repeated &&
        hf__status_says(&q.call, "lease already exists"))
        rc = HF_OK;
    else if (rc == HF_OK && (!hf__read_lease(q.answer, &granted) ||
                             granted.lease != *lease || granted.ttl <= 0))
        rc = hf__ask_nonsense(err);
    *ttl = granted.ttl;
    hf__question_clear(&q);
    return rc == HF_EDOUBT ?
               hf__fail(err, HF_EDOWN, "no answer to the request for a lease") :
               rc;
}

static int begin(hf_session *s, hf_time by, hf_error *err) {
    hf_time before = hf__now();
    int64_t lease, ttl;
    int rc;

    s->beginning = true;
    pthread_mutex_unlock(&s->mu);
    rc = grant(s, &lease, &ttl, by, err);
    pthread_mutex_lock(&s->mu);
    s->beginning = false;
    pthread_cond_broadcast(&s->begun);
    if (rc != HF_OK)
        return rc;
    s->lease = lease;
    s->ttl_ms = ttl > INT32_MAX / 1000 ? INT32_MAX : (int)ttl * 1000;
    s->sent_at = before;
    reset_slots(s);
    s->ring(s->arg);
    return HF_OK;
}

/* mu held, not while it asks.  What is granted is good for what is left of the
 * session: that should be more than a moment, although its thread was held up.
 * Where nobody answers, the next question will not be answered either. */
static void refresh(hf_session *s, hf_time by) {
    hf_question q = {.path = HF_RPC_KEEPALIVE};
    int64_t lease = s->lease;
    hf_leased kept;
    hf_error err;

    pthread_mutex_unlock(&s->mu);
    hf__write_lease(&q.body, lease);
    if (hf__ask(s->speaker, &q, 1, by, &err) == HF_OK &&
        hf__read_lease(q.answer, &kept) && kept.lease == lease)
        hf__session_kept(s, lease, q.asked_at, kept.ttl);
    hf__question_clear(&q);
    pthread_mutex_lock(&s->mu);
}

int hf__session_need(hf_session *s, int64_t *lease, uint64_t *generation,
                     hf_time by, hf_error *err) {
    int rc = HF_OK;

    pthread_mutex_lock(&s->mu);
    if (s->lease && hf__now() > s->sent_at + s->ttl_ms * HF_MS / 2)
        refresh(s, by);
    while (!s->lease && rc == HF_OK) {
        if (!s->beginning)
            rc = begin(s, by, err);
        else if (hf__now() < by)
            hf__world->wait(&s->begun, &s->mu, by);
        else
            rc = hf__fail(err, HF_EDOWN, "no lease was granted in time");
    }
    *lease = s->lease;
    *generation = s->generation;
    pthread_mutex_unlock(&s->mu);
    return rc;
}

/* ---- living ------------------------------------------------------------ */

/* mu held */
static void over(hf_session *s) {
    s->lease = 0;
    s->generation++;
    reset_slots(s);
    s->ring(s->arg);
}

void hf__session_kept(hf_session *s, int64_t lease, hf_time sent_at,
                      int64_t ttl) {
    pthread_mutex_lock(&s->mu);
    if (lease == s->lease && ttl <= 0) {
        over(s);
    } else if (lease == s->lease && sent_at > s->sent_at) {
        s->sent_at = sent_at;
        s->ttl_ms = ttl > INT32_MAX / 1000 ? INT32_MAX : (int)ttl * 1000;
    }
    pthread_mutex_unlock(&s->mu);
}

void hf__session_over(hf_session *s, int64_t lease) {
    hf__session_kept(s, lease, 0, 0);
}

int64_t hf__session_end(hf_session *s) {
    int64_t lease;

    pthread_mutex_lock(&s->mu);
    lease = s->lease;
    s->lease = 0;
    pthread_mutex_unlock(&s->mu);
    return lease;
}

int64_t hf__session_lease(hf_session *s) {
    int64_t lease;

    pthread_mutex_lock(&s->mu);
    lease = s->lease;
    pthread_mutex_unlock(&s->mu);
    return lease;
}

uint64_t hf__session_generation(hf_session *s) {
    uint64_t generation;

    pthread_mutex_lock(&s->mu);
    generation = s->generation;
    pthread_mutex_unlock(&s->mu);
    return generation;
}

hf_time hf__session_good_until(hf_session *s) {
    hf_time until;

    pthread_mutex_lock(&s->mu);
    until = s->lease ? s->sent_at + s->ttl_ms * HF_MS : 0;
    pthread_mutex_unlock(&s->mu);
    return until;
}

int hf__session_granted_ms(hf_session *s) {
    int ms;

    pthread_mutex_lock(&s->mu);
    ms = s->lease ? s->ttl_ms : s->asked_ms;
    pthread_mutex_unlock(&s->mu);
    return ms;
}

int hf__session_left_ms(hf_session *s) {
    hf_time until = hf__session_good_until(s);
    hf_time left = (until - hf__now()) / HF_MS;

    if (!until)
        return s->asked_ms;
    return left < 1 ? 1 : left > INT32_MAX ? INT32_MAX : (int)left;
}

hf_time hf__session_due(hf_session *s) {
    hf_time due;

    pthread_mutex_lock(&s->mu);
    due = s->lease ? s->sent_at + s->ttl_ms * HF_MS / 3 : HF_NEVER;
    pthread_mutex_unlock(&s->mu);
    return due;
}

uint64_t hf__session_news(hf_session *s) {
    uint64_t news = 0;

    pthread_mutex_lock(&s->mu);
    if (s->told != s->generation)
        news = s->told = s->generation;
    pthread_mutex_unlock(&s->mu);
    return news;
}

/* ---- numbers of entries ------------------------------------------------ */

static bool find(hf_session *s, const unsigned char *id, unsigned *n) {
    for (*n = 0; *n < s->n_slots; ++*n)
        if (s->slots[*n].taken &&
            memcmp(s->slots[*n].id, id, sizeof s->slots->id) == 0)
            return true;
    return false;
}

/* The slot of an entry that is there, by its number.  mu held. */
static slot *slot_of(hf_session *s, int64_t lease, unsigned n) {
    return lease == s->lease && n < s->n_slots ? &s->slots[n] : NULL;
}

static bool grow(hf_session *s) {
    unsigned room = s->room ? 2 * s->room : 16;
    slot *wide = hf__realloc(s->slots, room * sizeof *wide);

    if (!wide)
        return false;
    s->slots = wide;
    s->room = room;
    return true;
}

/* The lowest free one.  False: no memory. */
static bool pick(hf_session *s, unsigned *n) {
    while (s->lowest < s->n_slots && s->slots[s->lowest].taken)
        s->lowest++;
    *n = s->lowest;
    if (*n < s->n_slots)
        return true;
    if (s->n_slots == s->room && !grow(s))
        return false;
    s->n_slots++;
    return true;
}

int hf__etcd_slot_take(hf_session *s, int64_t lease, const unsigned char *id,
                       bool again, unsigned *n, hf_error *err) {
    int rc = HF_OK;

    pthread_mutex_lock(&s->mu);
    if (lease != s->lease) {
        rc = hf__fail(err, HF_EFREE, "the session is over");
    } else if (!again || !find(s, id, n)) {
        if (pick(s, n)) {
            s->slots[*n] = (slot){.taken = true};
            memcpy(s->slots[*n].id, id, sizeof s->slots->id);
        } else {
            rc = hf__fail_plain(err, HF_ENO_MEMORY);
        }
    }
    pthread_mutex_unlock(&s->mu);
    return rc;
}

bool hf__etcd_slot_find(hf_session *s, const unsigned char *id, int64_t *lease,
                        unsigned *n) {
    bool found;

    pthread_mutex_lock(&s->mu);
    *lease = s->lease;
    found = s->lease && find(s, id, n);
    pthread_mutex_unlock(&s->mu);
    return found;
}

void hf__etcd_slot_doubt(hf_session *s, int64_t lease, unsigned n) {
    slot *one;

    pthread_mutex_lock(&s->mu);
    one = slot_of(s, lease, n);
    if (one)
        one->doubted = true;
    pthread_mutex_unlock(&s->mu);
}

void hf__etcd_slot_made(hf_session *s, int64_t lease, unsigned n,
                        int64_t revision) {
    slot *one;

    pthread_mutex_lock(&s->mu);
    one = slot_of(s, lease, n);
    if (one)
        one->revision = revision;
    pthread_mutex_unlock(&s->mu);
}

/* mu held.  Where memory is short it is not swept. */
static void haunt(hf_session *s, slot *one, const hf_key *key) {
    if (!one->left) {
        one->left = hf__etcd_key_copy(key);
        s->n_ghosts += one->left != NULL;
    }
    s->sweep_after = SWEEP_MIN;
    s->sweep_at = hf__now() + SWEEP_MIN;
}

void hf__etcd_slot_give(hf_session *s, int64_t lease, unsigned n,
                        int64_t revision, const hf_key *key) {
    slot *one;

    pthread_mutex_lock(&s->mu);
    one = slot_of(s, lease, n);
    if (!one || !one->taken || (revision && revision != one->revision)) {
        one = NULL;
    } else if (one->doubted) {
        haunt(s, one, key);
    } else {
        one->taken = false;
        if (n < s->lowest)
            s->lowest = n;
    }
    pthread_mutex_unlock(&s->mu);
}

/* ---- ghosts ------------------------------------------------------------ */

static void exorcise(hf_pb *b, const hf_key *key) {
    hf_key other;

    hf__txn_delete(b, true, hf__etcd_key_bytes(key));
    if (!hf__etcd_key_is_pair(key))
        return;
    hf__etcd_key_beside(&other, key);
    hf__txn_delete(b, true, hf__etcd_key_bytes(&other));
    hf__etcd_key_twin(&other, key);
    hf__txn_delete(b, true, hf__etcd_key_bytes(&other));
}

/* mu held.  Some of them, beginning where the last sweep ended. */
static void write_sweep(hf_session *s, hf_pb *b) {
    unsigned n = 0;

    for (unsigned i = 0; i < s->n_slots && n < SWEPT; i++) {
        const slot *one = &s->slots[s->sweep_from++ % s->n_slots];

        if (one->left) {
            exorcise(b, one->left);
            n++;
        }
    }
}

hf_time hf__session_sweep(hf_session *s, bool now) {
    hf_question q = {.changes = true};
    hf_txned t;
    hf_error err;
    hf_time at;

    pthread_mutex_lock(&s->mu);
    if (s->n_ghosts && (now || hf__now() >= s->sweep_at)) {
        write_sweep(s, &q.body);
        s->sweep_at = hf__now() + s->sweep_after;
        s->sweep_after = hf__sooner(2 * s->sweep_after, SWEEP_MAX);
    }
    at = s->n_ghosts ? s->sweep_at : HF_NEVER;
    pthread_mutex_unlock(&s->mu);
    if (q.body.n)
        hf__ask_txn(s->speaker, &q, &t, hf__now() + SWEEP_MIN / 2, &err);
    hf__question_clear(&q);
    return at;
}
