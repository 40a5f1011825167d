/* SPDX-License-Identifier: MIT
 *
 * families.c - how each kind does what the verbs ask. */
#include "families.h"

#include <string.h>

#include "../../world.h"

/* ---- the table --------------------------------------------------------- */

/* What a script can be told.  Keys stand first in the list of words, so that
 * it need not be said how many there are. */
enum word {
    END,
    /* keys */
    NAME,
    TOKEN,    /* redisson_lock_token:{name}                        */
    QUEUE,    /* redisson_lock_queue:{name}                        */
    TIMEOUTS, /* redisson_lock_timeout:{name}                      */
    HOLD,     /* {name}:owner:rwlock_timeout:1                     */
    WRITERS,  /* holdfast_rw_writers:{name}                        */
    MARKER,   /* holdfast_request:{name}:nonce                     */
    LEASED,   /* {name}:timeout                                    */
    SPENT,    /* markers to be deleted, none or a few              */
    ERA,      /* where there is a lock delay, last of the keys; in no plan */
    /* arguments */
    FIRST_ARGUMENT,
    LEASE = FIRST_ARGUMENT, /* in ms                               */
    OWNER,                  /* as the store knows it               */
    FLOOR,                  /* of the token; '': let the script ask */
    BLOCK,                  /* how many tokens, at least 1         */
    CHANNEL,                /* of the line                         */
    STAND_IN,               /* who keeps others out afterwards     */
    WHOSE,                  /* the owner to be thrown out; '': any */
    WAITS,                  /* '1': it waits, '': it does not      */
    BESIDE,                 /* the owner of the WRITE beside a READ, or '' */
    WRITERS_FIRST,          /* '1' or ''                           */
    PREFIX,                 /* {name}, what HOLDs begin with       */
    PERMITS,                /* how many                            */
    ID,                     /* of the first permit, 16 bytes       */
    GRANTED,                /* '1': we know that it was, or ''     */
    LAST                    /* token that we know of, of any name  */
};

#define PLAN(name, ...)                                                        \
    {                                                                          \
        HF_SCRIPT_##name, {                                                    \
            __VA_ARGS__                                                        \
        }                                                                      \
    }

/* To add a kind: its scripts in lua/ and in scripts.h, a row here, its channel
 * in keys.c if it has one of its own, and for what no word stands for yet a
 * word above and a line in spell_word. */
const hf_family hf__families[HF_KINDS] = {
    [HF_LOCK] =
        {
            .can = HF_CAN_HOLD | HF_CAN_WAKE,
            .most = 3 * HF_SECOND,
            .attempt =
                PLAN(LOCK_ATTEMPT, NAME, TOKEN, LEASE, OWNER, FLOOR, BLOCK),
            .alone = PLAN(LOCK_ALONE, NAME, LEASE, OWNER, LAST),
            .release = PLAN(LOCK_RELEASE, NAME, OWNER, CHANNEL),
            .after = PLAN(LOCK_AFTER, NAME, OWNER, LEASE, STAND_IN, CHANNEL),
            .force = PLAN(LOCK_FORCE, NAME, TOKEN, WHOSE, CHANNEL, FLOOR),
            .renew = PLAN(LOCK_RENEW, NAME, LEASE, OWNER),
        },
    [HF_SIMPLE] =
        {
            .can = HF_CAN_HOLD,
            .most = 100 * HF_MS,
            .attempt = PLAN(SIMPLE_ATTEMPT, NAME, TOKEN, LEASE, OWNER, FLOOR),
            .alone = PLAN(SIMPLE_ALONE, NAME, LEASE, OWNER, LAST),
            .release = PLAN(SIMPLE_RELEASE, NAME, OWNER, CHANNEL),
            .after = PLAN(SIMPLE_AFTER, NAME, OWNER, LEASE, STAND_IN, CHANNEL),
            .force = PLAN(SIMPLE_FORCE, NAME, TOKEN, WHOSE, CHANNEL, FLOOR),
            .renew = PLAN(SIMPLE_RENEW, NAME, LEASE, OWNER),
        },
    [HF_SPIN] =
        {
            .can = HF_CAN_HOLD,
            .most = 3 * HF_SECOND,
            .attempt =
                PLAN(LOCK_ATTEMPT, NAME, TOKEN, LEASE, OWNER, FLOOR, BLOCK),
            .alone = PLAN(LOCK_ALONE, NAME, LEASE, OWNER, LAST),
            .release = PLAN(SPIN_RELEASE, NAME, OWNER),
            .after = PLAN(LOCK_AFTER, NAME, OWNER, LEASE, STAND_IN, CHANNEL),
            .force = PLAN(LOCK_FORCE, NAME, TOKEN, WHOSE, CHANNEL, FLOOR),
            .renew = PLAN(LOCK_RENEW, NAME, LEASE, OWNER),
        },
    [HF_FAIR] =
        {
            .can = HF_CAN_HOLD | HF_CAN_ORDER | HF_CAN_WAKE,
            .least = 50 * HF_MS,
            .most = 5 * HF_SECOND,
            .attempt = PLAN(FAIR_ATTEMPT, NAME, TOKEN, QUEUE, TIMEOUTS, LEASE,
                            OWNER, FLOOR, WAITS, CHANNEL),
            .release = PLAN(FAIR_RELEASE, NAME, TOKEN, QUEUE, TIMEOUTS, OWNER,
                            CHANNEL, FLOOR),
            .after =
                PLAN(FAIR_AFTER, NAME, QUEUE, OWNER, LEASE, STAND_IN, CHANNEL),
            .force = PLAN(FAIR_FORCE, NAME, TOKEN, QUEUE, TIMEOUTS, WHOSE,
                          CHANNEL, FLOOR),
            .renew =
                PLAN(FAIR_RENEW, NAME, QUEUE, TIMEOUTS, LEASE, OWNER, WAITS),
        },
    [HF_READ] =
        {
            .can = HF_CAN_HOLD | HF_CAN_WAKE,
            .most = 3 * HF_SECOND,
            .attempt = PLAN(READ_ATTEMPT, NAME, TOKEN, HOLD, WRITERS,
                            LEASE, OWNER, FLOOR, BESIDE, WRITERS_FIRST),
            .release = PLAN(READ_RELEASE, NAME, HOLD, OWNER, CHANNEL, PREFIX),
            .force =
                PLAN(READ_FORCE, NAME, TOKEN, WHOSE, CHANNEL, FLOOR, PREFIX),
            .renew = PLAN(READ_RENEW, NAME, HOLD, LEASE, OWNER),
        },
    [HF_WRITE] =
        {
            .can = HF_CAN_HOLD | HF_CAN_WAKE,
            .most = 3 * HF_SECOND,
            .attempt = PLAN(WRITE_ATTEMPT, NAME, TOKEN, WRITERS, LEASE, OWNER,
                            FLOOR, WAITS, WRITERS_FIRST, PREFIX),
            .release = PLAN(WRITE_RELEASE, NAME, WRITERS, OWNER, CHANNEL),
            .after = PLAN(WRITE_AFTER, NAME, OWNER, LEASE, STAND_IN, CHANNEL),
            .force = PLAN(WRITE_FORCE, NAME, TOKEN, WHOSE, CHANNEL, FLOOR),
            .renew = PLAN(WRITE_RENEW, NAME, WRITERS, LEASE, OWNER, WAITS),
        },
    [HF_PERMIT] =
        {
            .can = HF_CAN_HOLD | HF_CAN_WAKE,
            .least = 50 * HF_MS,
            .most = 3 * HF_SECOND,
            .attempt = PLAN(PERMIT_ATTEMPT, NAME, TOKEN, LEASED, LEASE,
                            ID, FLOOR, PERMITS, CHANNEL),
            .release = PLAN(PERMIT_RELEASE, NAME, LEASED, ID, CHANNEL, PERMITS),
            .force =
                PLAN(PERMIT_FORCE, NAME, TOKEN, LEASED, WHOSE, CHANNEL, FLOOR),
            .renew = PLAN(PERMIT_RENEW, LEASED, LEASE, OWNER, PERMITS),
        },
    [HF_SEMAPHORE] =
        {
            .can = HF_CAN_HOLD | HF_CAN_WAKE,
            .least = 50 * HF_MS,
            .most = 3 * HF_SECOND,
            .attempt = PLAN(SEM_ATTEMPT, NAME, MARKER, LEASED, SPENT,
                            PERMITS, CHANNEL, GRANTED),
            .release = PLAN(SEM_RELEASE, NAME, MARKER, LEASED, PERMITS, CHANNEL,
                            GRANTED),
            .answer = hf__semaphore_answer,
        },
    [HF_LATCH] =
        {
            .can = HF_CAN_HOLD | HF_CAN_WAKE,
            .least = 50 * HF_MS,
            .most = 3 * HF_SECOND,
            .attempt = PLAN(LATCH_COUNT, NAME),
            .answer = hf__latch_answer,
        },
};

bool hf__stands(const hf_claim *c) {
    return c->kind == HF_FAIR || (c->kind == HF_WRITE && c->writers_first);
}

/* ---- spelling ---------------------------------------------------------- */

static const char *client_of(const hf_asking *a) {
    return a->redis->base.host->identity.client;
}

/* Where the server can change, the script asks the one it runs on: an estimate
 * from another's clock, or one made before the change, could be below a token
 * that was granted and forgotten. */
static char *spell_floor(char *to, const hf_asking *a) {
    hf_server_clock *clock =
        hf__topology_clock(a->redis->topology, a->claim->name);
    int64_t us = clock ? hf__server_clock_us(clock) : 0;

    *to = '\0';
    return us > 0 ? hf__decimal(to, (uint64_t)us) : to;
}

/* Nobody has the number 0, so that this is nobody's. */
static char *spell_stand_in(char *to, const hf_asking *a) {
    hf_claim nobody = {.kind = a->claim->kind};

    return hf__owner_text(to, client_of(a), &nobody);
}

static char *spell_beside(char *to, const hf_asking *a) {
    hf_claim writer = {.kind = HF_WRITE, .owner = a->claim->beside};

    *to = '\0';
    return writer.owner ? hf__owner_text(to, client_of(a), &writer) : to;
}

/* Into `to`; the end of it. */
static char *spell_word(enum word word, const hf_asking *a, char *to) {
    const hf_claim *c = a->claim;

    switch (word) {
    case TOKEN:
        return hf__key_token(to, c->name);
    case QUEUE:
        return hf__key_queue(to, c->name);
    case TIMEOUTS:
        return hf__key_timeouts(to, c->name);
    case HOLD:
        return hf__key_hold(to, c->name, client_of(a), c->owner);
    case WRITERS:
        return hf__key_writers(to, c->name);
    case LEASE:
        return hf__decimal(to, (uint64_t)c->lease_ms);
    case OWNER:
        return hf__owner_text(to, client_of(a), c);
    case FLOOR:
        return spell_floor(to, a);
    case BLOCK:
        return hf__decimal(to, c->block > 1 ? (uint64_t)c->block : 1);
    case CHANNEL:
        return hf__key_line(to, c->kind, c->name);
    case STAND_IN:
        return spell_stand_in(to, a);
    case WAITS:
        return stpcpy(to, a->waits ? "1" : "");
    case BESIDE:
        return spell_beside(to, a);
    case WRITERS_FIRST:
        return stpcpy(to, c->writers_first ? "1" : "");
    case PREFIX:
        return hf__key_prefix(to, c->name);
    case MARKER:
        return hf__key_marker(to, c->name, c->nonce);
    case LEASED:
        return hf__key_leased(to, c->name);
    case PERMITS:
        return hf__decimal(to, c->permits > 0 ? (uint64_t)c->permits : 0);
    case ERA:
        return hf__topology_era(a->redis->topology, c->name, to);
    case LAST:
        return hf__decimal(to, atomic_load(&a->redis->last_token));
    case GRANTED:
        return stpcpy(to, c->place & HF_PLACE_GRANTED ? "1" : "");
    case NAME:
    case ID:
    case SPENT:
    case WHOSE:
    case END:
        break;
    }
    return to;
}

static void lend(hf_spelling *s, const char *text, size_t len) {
    s->argv[s->argc] = text;
    s->lens[s->argc++] = len;
}

static void spell_spent(hf_spelling *s, const hf_asking *a) {
    unsigned char nonces[HF_SPENT_TAKE][16];
    const char *name = a->claim->name;
    int n = hf__spent_take(&a->redis->spent, name, a->claim->nonce, nonces);

    for (int i = 0; i < n; i++) {
        char *end = hf__key_marker(s->at, name, nonces[i]);

        lend(s, s->at, (size_t)(end - s->at));
        s->at = end + 1;
    }
}

static void spell(hf_spelling *s, enum word word, const hf_asking *a) {
    char *end;

    if (word == SPENT) {
        spell_spent(s, a);
    } else if (word == NAME) {
        lend(s, a->claim->name, strlen(a->claim->name));
    } else if (word == ID) {
        lend(s, (const char *)a->claim->nonce, sizeof a->claim->nonce);
    } else if (word == WHOSE) {
        lend(s, a->whose ? a->whose : "", a->whose ? strlen(a->whose) : 0);
    } else {
        end = spell_word(word, a, s->at);
        lend(s, s->at, (size_t)(end - s->at));
        s->at = end + 1;
    }
}

/* For every request, so without printf.  The era comes behind the last key. */
void hf__spell(hf_spelling *s, const hf_plan *plan, const hf_asking *a) {
    bool era =
        a->redis->topology->lock_delay && hf__script_grants(plan->script);

    s->argc = s->n_keys = 0;
    for (int i = 0; i < HF_WORDS_MAX && plan->words[i]; i++) {
        if (era && plan->words[i] >= FIRST_ARGUMENT) {
            spell(s, ERA, a);
            s->n_keys = s->argc;
            era = false;
        }
        spell(s, plan->words[i], a);
        if (plan->words[i] < FIRST_ARGUMENT)
            s->n_keys = s->argc;
    }
}
