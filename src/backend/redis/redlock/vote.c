/* SPDX-License-Identifier: MIT
 *
 * vote.c - asks the servers for their votes, and makes one grant of them.
 *
 * Each server that grants names a token, higher than all it named before.  The
 * grant's token is the highest of those that were counted, and it is a grant
 * only when a majority of all servers holds that very token, under our owner:
 *
 *   votes in hand      the same token from a majority: granted, after one round
 *   otherwise          it is written back, where we are still the owner; when a
 *                      majority has it: granted, after two
 *
 * Two grants have a server in common.  There the later one was given a token
 * above the one that the earlier one had there, so it has the higher token.
 * That takes no clock: late votes, votes that ended early and servers that
 * pause cost grants, never the order of tokens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../err.h"
#include "../families.h"
#include "../keys.h"
#include "../reply.h"
#include "redlock.h"

enum {
    WRITE_BACKS = 3,    /* in one attempt                               */
    SPLIT_TRIES = 3,    /* of one who does not wait, after a split vote */
    SPLIT_PAUSE_MS = 2, /* the first, doubling                          */
    PAUSE_DOUBLINGS = 6,
    OWNER_BITS = 44 /* a core counts no further */
};

/* One attempt. */
typedef struct ballot {
    hf_redlock *rl;
    hf_bundle *b;
    hf_claim *c;
    hf_time began;
    unsigned may;     /* who may vote now                     */
    unsigned unasked; /* of those: not in the round that runs */
    unsigned sent;    /* whom a question may have reached     */
    unsigned granted, denied, refused;
    unsigned unheard; /* it was decided before they had answered */
    unsigned barred;  /* refused for a reason that does not pass */
    uint64_t tokens[HF_VOTERS_MAX];   /* granted                     */
    bool repeated;                    /* some by an earlier question */
    long long left_ms[HF_VOTERS_MAX]; /* denied, and by whom         */
    unsigned long long holders[HF_VOTERS_MAX];
    hf_error why;     /* of those who are barred        */
    bool turned_away; /* by the one that is asked first */
    uint64_t token;   /* to be confirmed                */
    unsigned confirmed;
    uint64_t higher;
} ballot;

static int count(unsigned set) {
    return __builtin_popcount(set);
}

static unsigned long long hash(const char *text, unsigned long long h) {
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h ^ h >> 29;
}

/* ---- one round of votes ------------------------------------------------ */

static bool read_token(uint64_t *ret, const redisReply *reply) {
    char *end;

    if (reply->type != REDIS_REPLY_STRING && reply->type != REDIS_REPLY_STATUS)
        return false;
    *ret = strtoull(reply->str, &end, 10);
    return *ret && !*end;
}

static void refuse(ballot *v, unsigned k, const redisReply *reply) {
    const char *where = v->rl->voters[k]->node->server.where;
    int code = hf__reply_code(reply);

    v->refused |= 1u << k;
    if (code != HF_EFORBIDDEN && code != HF_EAUTH && code != HF_EURI &&
        code != HF_ESTORE && code != HF_EFULL)
        return;
    v->barred |= 1u << k;
    hf__reply_fail(&v->why, reply, where, v->c->name);
}

static void take_vote(void *arg, unsigned k, const redisReply *reply) {
    ballot *v = arg;

    if (read_token(&v->tokens[k], reply)) {
        v->granted |= 1u << k;
        v->repeated |= reply->type == REDIS_REPLY_STATUS;
    } else if (hf__reply_has(reply, 2, 1) && reply->element[1]->str) {
        v->denied |= 1u << k;
        v->left_ms[k] = reply->element[0]->integer;
        v->holders[k] = hash(reply->element[1]->str, 1469598103934665603u);
    } else {
        refuse(v, k, reply);
    }
}

/* How many servers deny us for the sake of the same holder, at most. */
static int largest_party(const ballot *v) {
    int largest = 0;

    for (unsigned k = 0; k < v->rl->n; k++) {
        int party = 0;

        for (unsigned j = 0; v->denied & 1u << k && j < v->rl->n; j++)
            party += v->denied & 1u << j && v->holders[j] == v->holders[k];
        if (party > largest)
            largest = party;
    }
    return largest;
}

/* It is decided when we have a majority or somebody else has.  When nobody can
 * have one any more, a denial is enough; without any, those who can be reached
 * are still heard, so that we can tell who is missing. */
static bool votes_decided(void *arg, unsigned hope) {
    ballot *v = arg;
    int quorum = (int)v->rl->quorum, granted = count(v->granted);
    int party = largest_party(v), more = count(hope | v->unasked);

    return granted >= quorum || party >= quorum ||
           (v->denied && granted + more < quorum && party + more < quorum);
}

/* A server that is restarted while we ask loses its vote. */
static bool may_vote(void *arg, unsigned k) {
    ballot *v = arg;

    if (hf__voter_votes(v->rl->voters[k], atomic_load(&v->rl->longest_ms)))
        return true;
    v->may &= ~(1u << k);
    return false;
}

static void ask(ballot *v, hf_letter *letter, unsigned voters, hf_time by) {
    hf_round r = {.letter = letter,
                  .voters = voters,
                  .by = hf__redlock_by(v->rl, by),
                  .answer = take_vote,
                  .decided = votes_decided,
                  .may = may_vote,
                  .arg = v};

    v->unasked &= ~voters;
    hf__round_run(v->b, &r);
    v->sent |= r.sent;
    v->unheard = hf__now() < r.by ? r.awaited : 0;
}

/* ---- the letters ------------------------------------------------------- */

static hf_letter *question(const ballot *v, hf_script script) {
    const hf_claim *c = v->c;
    char token[HF_KEY_SIZE], owner[HF_OWNER_SIZE], lease[HF_DECIMAL_SIZE];
    char proposal[HF_DECIMAL_SIZE], block[HF_DECIMAL_SIZE];
    const char *argv[] = {c->name, token, lease, owner, proposal, block};
    hf_call call = {.script = script,
                    .name = c->name,
                    .n_keys = 2,
                    .argc = 6,
                    .argv = argv};

    hf__key_token(token, c->name);
    hf__decimal(lease, (uint64_t)c->lease_ms);
    hf__owner_text(owner, v->rl->base.host->identity.client, c);
    hf__decimal(proposal, atomic_load(&v->rl->blunt) ?
                              0 :
                              (uint64_t)hf__world->wall_us());
    hf__decimal(block, c->block > 1 ? (uint64_t)c->block : 1);
    return hf__letter_new(&v->rl->scripts, &call, HF_NEVER);
}

static hf_letter *confirmation(const ballot *v, hf_script script) {
    const hf_claim *c = v->c;
    char counter[HF_KEY_SIZE], owner[HF_OWNER_SIZE], lease[HF_DECIMAL_SIZE];
    char token[HF_DECIMAL_SIZE];
    const char *argv[] = {c->name, counter, "confirm", "", lease, owner, token};
    hf_call call = {.script = script,
                    .name = c->name,
                    .n_keys = 2,
                    .argc = 7,
                    .argv = argv};

    hf__key_token(counter, c->name);
    hf__decimal(lease, (uint64_t)c->lease_ms);
    hf__owner_text(owner, v->rl->base.host->identity.client, c);
    hf__decimal(token, v->token);
    return hf__letter_new(&v->rl->scripts, &call, HF_NEVER);
}

/* ---- one token of many ------------------------------------------------- */

static void take_confirmation(void *arg, unsigned k, const redisReply *reply) {
    ballot *v = arg;
    const redisReply *one =
        hf__reply_has(reply, 1, 0) ? reply->element[0] : reply;
    uint64_t token;

    if (one->type == REDIS_REPLY_INTEGER && one->integer == 1)
        v->confirmed |= 1u << k;
    else if (read_token(&token, one) && token > v->higher)
        v->higher = token;
}

static bool confirmations_decided(void *arg, unsigned hope) {
    ballot *v = arg;
    int quorum = (int)v->rl->quorum, confirmed = count(v->confirmed);

    return confirmed >= quorum || confirmed + count(hope) < quorum;
}

/* To all who may hold a vote for us, also behind a question that they have not
 * answered yet; but not to those who named this very token.  A server that has
 * a higher one by now says so. */
static bool write_back(ballot *v, const hf_layout *layout, hf_time by) {
    for (int i = 0; i < WRITE_BACKS; i++) {
        hf_letter *letter = confirmation(v, layout->confirm);
        hf_round r = {.letter = letter,
                      .voters =
                          v->sent & ~v->denied & ~v->refused & ~v->confirmed,
                      .by = hf__redlock_by(v->rl, by),
                      .answer = take_confirmation,
                      .decided = confirmations_decided,
                      .arg = v};

        if (letter)
            hf__round_run(v->b, &r);
        hf__letter_put(letter);
        if (count(v->confirmed) >= (int)v->rl->quorum)
            return true;
        if (v->higher <= v->token)
            return false;
        v->token = v->higher;
        v->confirmed = 0;
    }
    return false;
}

/* A majority voted.  True: it has the same token, which is ours. */
static bool agree(ballot *v, const hf_layout *layout, hf_time by) {
    bool agreed;

    for (unsigned k = 0; k < v->rl->n; k++)
        if (v->granted & 1u << k && v->tokens[k] > v->token)
            v->token = v->tokens[k];
    for (unsigned k = 0; k < v->rl->n; k++)
        if (v->granted & 1u << k && v->tokens[k] == v->token)
            v->confirmed |= 1u << k;
    agreed = count(v->confirmed) >= (int)v->rl->quorum;
    if (!agreed && !write_back(v, layout, by))
        return false;
    atomic_fetch_add(agreed ? &v->rl->counts.one_round : &v->rl->counts.written,
                     1);
    return true;
}

/* Counted from before the first question, and less what clocks may differ by:
 * a hundredth, and a little for the grain of Redis' own. */
static bool is_late(const ballot *v) {
    hf_time lease = v->c->lease_ms * HF_MS;

    return hf__now() >= v->began + lease - lease / 100 - 2 * HF_MS;
}

/* ---- defeat ------------------------------------------------------------ */

static void ignore(void *arg, unsigned k, const redisReply *reply) {
    (void)arg, (void)k, (void)reply;
}

/* Gives every vote back, also those that may still come.  Whoever granted is
 * waited for: the next one to ask shall not be denied because of us.  Nobody is
 * woken by it, since nothing has become free that others wait for. */
static void undo(ballot *v, const hf_layout *layout) {
    unsigned maybe = v->sent & ~v->denied;
    hf_letter *letter =
        maybe ? hf__redlock_release_letter(v->rl, v->c, layout->undo, false) :
                NULL;
    hf_round r = {.letter = letter,
                  .voters = v->granted,
                  .owed = true,
                  .by = hf__after_ms(v->rl->node_timeout_ms),
                  .answer = ignore,
                  .decided = hf__redlock_await_all};

    if (!letter)
        return;
    hf__bundle_post(v->b, letter, maybe & ~v->granted, maybe);
    hf__round_run(v->b, &r);
    hf__bundle_post(v->b, letter, v->granted & ~r.sent, maybe);
    hf__letter_put(letter);
}

/* Perhaps nobody holds it: of those who answered no majority denied us for the
 * sake of one holder.  If it is held all the same, by servers that were silent,
 * we ask more often than we must, that is all. */
static bool is_split(const ballot *v) {
    return largest_party(v) < (int)v->rl->quorum;
}

/* When so many leases have ended that a majority could vote for us; -1: nobody
 * knows. */
static long long free_in_ms(const ballot *v) {
    long long left[HF_VOTERS_MAX];
    int n = 0, wanted = (int)v->rl->quorum - count(v->granted);

    for (unsigned k = 0; k < v->rl->n; k++) {
        int at = n;

        if (!(v->denied & 1u << k))
            continue;
        for (; at > 0 && (unsigned long long)left[at - 1] >
                             (unsigned long long)v->left_ms[k];
             at--)
            left[at] = left[at - 1];
        left[at] = v->left_ms[k];
        n++;
    }
    return wanted > 0 && wanted <= n ? left[wanted - 1] : -1;
}

static uint64_t tries(const hf_claim *c) {
    return c->place >> 24;
}

static hf_time split_pause(const hf_claim *c) {
    uint64_t doublings = tries(c);

    if (doublings > PAUSE_DOUBLINGS)
        doublings = PAUSE_DOUBLINGS;
    return hf__jitter((SPLIT_PAUSE_MS << doublings) * HF_MS);
}

/* What kept a server from having a say; NULL: it had. */
static const char *what_of(const ballot *v, unsigned k) {
    hf_voter *voter = v->rl->voters[k];
    unsigned bit = 1u << k;
    bool away;

    if ((v->granted | v->denied) & bit)
        return NULL;
    if ((v->refused | v->sent) & bit)
        return v->refused & bit ? "refused" : "did not answer";
    pthread_mutex_lock(&voter->mu);
    away = voter->why.code || !*voter->facts.run_id;
    pthread_mutex_unlock(&voter->mu);
    return away || v->may & bit ? "is away" : "may not vote";
}

/* Too few servers voted or denied.  If that will not pass, why not is the
 * news. */
static int tell_minority(const ballot *v, hf_error *err) {
    const hf_redlock *rl = v->rl;
    char text[HF_ERROR_TEXT_SIZE] = "";
    size_t len = 0;

    if (rl->n - (unsigned)count(v->barred) < rl->quorum) {
        *err = v->why;
        return err->code;
    }
    for (unsigned k = 0; k < rl->n && len < sizeof text; k++) {
        const char *what = what_of(v, k);

        if (what)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%s %s",
                                    len ? ", " : "", rl->voters[k]->name, what);
    }
    return hf__fail(err, HF_EMINORITY,
                    "\"%.64s\": %d of %u servers granted it, %u are needed: "
                    "%.120s",
                    v->c->name, count(v->granted), rl->n, rl->quorum, text);
}

/* Not granted: BUSY, or why not enough servers had a say. */
static int concede(ballot *v, hf_error *err) {
    hf_claim *c = v->c;

    if (count(v->granted | v->denied | v->unheard) < (int)v->rl->quorum &&
        !v->turned_away)
        return tell_minority(v, err);
    if (count(v->granted) >= (int)v->rl->quorum)
        return hf__fail(err, HF_EMINORITY,
                        "\"%.64s\": a majority granted it, but its lease of %d "
                        "ms was nearly over, or lost, before that was sure",
                        c->name, c->lease_ms);
    c->ask_again = hf__ask_again(c, free_in_ms(v));
    if (!v->turned_away && is_split(v)) {
        atomic_fetch_add(&v->rl->counts.split, 1);
        c->place |= HF_PLACE_SPLIT;
    }
    if (c->place & HF_PLACE_SPLIT)
        c->ask_again = hf__sooner(c->ask_again, hf__now() + split_pause(c));
    return HF_BUSY;
}

/* ---- an attempt -------------------------------------------------------- */

/* After a split vote all who want the name ask the same server first, and the
 * others only with its vote in hand, so that they meet there. */
static unsigned designated(const ballot *v) {
    unsigned long long best = 0;
    unsigned chosen = 0;

    for (unsigned k = 0; k < v->rl->n; k++) {
        unsigned long long h = hash(v->c->name, 0x9e3779b97f4a7c15u * (k + 1));

        if (v->may & 1u << k && (!chosen || h > best)) {
            best = h;
            chosen = 1u << k;
        }
    }
    return chosen;
}

static bool collect(ballot *v, hf_letter *letter, hf_time by) {
    unsigned first = 0;

    if (v->c->place & HF_PLACE_SPLIT) {
        first = designated(v);
        ask(v, letter, first, by);
        v->turned_away = v->denied & first;
        if (v->turned_away)
            return false;
    }
    ask(v, letter, v->may & ~first, by);
    return count(v->granted) >= (int)v->rl->quorum;
}

/* A name of its own for every attempt after one that was undone.  Of the random
 * value as many bits change as the number of tries has. */
static void rename_claim(hf_claim *c) {
    const uint64_t mask = (UINT64_C(1) << OWNER_BITS) - 1;
    uint32_t tail, n = (uint32_t)tries(c);

    if (c->place & HF_PLACE_LIVE || !n)
        return;
    c->owner = (c->owner & mask) | (uint64_t)n << OWNER_BITS;
    memcpy(&tail, c->nonce, sizeof tail);
    tail ^= n ^ (n - 1);
    memcpy(c->nonce, &tail, sizeof tail);
}

static void remember(hf_claim *c, const ballot *v) {
    c->place = (c->place & ~UINT64_C(0xffffff)) | v->sent << 8 |
               v->b->index << 4 | (c->place & HF_PLACE_SPLIT) | HF_PLACE_LIVE;
}

/* The number of tries stays below what an owner has room for. */
static void forget(hf_claim *c) {
    uint64_t n = tries(c) < 0x7ffff ? tries(c) + 1 : 1;

    c->place = n << 24 | (c->place & HF_PLACE_SPLIT);
}

static void set_tokens(hf_claim *c, const ballot *v) {
    uint64_t more = c->block > 1 && !v->repeated ? (uint64_t)c->block - 1 : 0;

    c->token = v->token - more;
    c->last_token = more ? v->token : 0;
}

static int vote(hf_redlock *rl, hf_bundle *b, hf_claim *c,
                const hf_layout *layout, hf_time by, hf_error *err) {
    ballot v = {.rl = rl, .b = b, .c = c, .began = hf__now()};
    hf_letter *letter;
    bool won;

    rename_claim(c);
    v.may = hf__redlock_all(rl);
    for (unsigned k = 0; k < rl->n; k++)
        may_vote(&v, k);
    v.unasked = v.may;
    if (c->place & HF_PLACE_LIVE)
        v.sent = hf__place_voters(c);
    letter = question(&v, layout->attempt);
    if (!letter)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    won = collect(&v, letter, by) && agree(&v, layout, by) && !is_late(&v);
    hf__letter_put(letter);
    if (won) {
        remember(c, &v);
        set_tokens(c, &v);
        return HF_OK;
    }
    undo(&v, layout);
    forget(c);
    return concede(&v, err);
}

int hf__redlock_attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                        hf_error *err) {
    hf_redlock *rl = (hf_redlock *)be;
    const hf_layout *layout;
    int rc = hf__redlock_check(rl, c, &layout, err);

    if (rc != HF_OK)
        return rc;
    hf__redlock_note_lease(rl, c->lease_ms);
    for (int i = 0;; i++) {
        hf_bundle *b = hf__pool_take(&rl->pool, hf__place_bundle(c), false, by);

        if (!b)
            return hf__redlock_crowded(rl, err);
        rc = vote(rl, b, c, layout, by, err);
        hf__pool_give(b);
        if (waits || rc != HF_BUSY || i == SPLIT_TRIES ||
            !(c->place & HF_PLACE_SPLIT) || c->ask_again >= by)
            return rc;
        hf__world->poll(NULL, 0, c->ask_again);
    }
}
