/* SPDX-License-Identifier: MIT
 *
 * hold.c - keeps what a majority granted, and gives it back.
 *
 * A renewal goes to every server.  Where a majority still has the lock it
 * stands, whatever the others say: no two can hold it by majorities.  Servers
 * that have forgotten it meanwhile, and that nobody else holds, are given it
 * again, so that the next ones to be restarted do no harm.  They count from the
 * next renewal on, when they are asked like all others. */
#include <string.h>

#include "../../../alloc.h"
#include "../../../err.h"
#include "../keys.h"
#include "../reply.h"
#include "redlock.h"

enum { RENEW_BATCH = 500 };

static int count_of(unsigned set) {
    return __builtin_popcount(set);
}

static const char *client_of(const hf_redlock *rl) {
    return rl->base.host->identity.client;
}

/* ---- renew ------------------------------------------------------------- */

/* Claims of one layout. */
typedef struct roll {
    hf_redlock *rl;
    hf_script script;
    size_t n;
    hf_claim *claims[RENEW_BATCH];
    unsigned kept[RENEW_BATCH]; /* by whom                   */
    unsigned gone[RENEW_BATCH]; /* who says that it is over  */
    unsigned free[RENEW_BATCH]; /* of those: nobody holds it */
} roll;

/* The highest token that may be used under the grant. */
static uint64_t last_token(const hf_claim *c) {
    return c->last_token ? c->last_token : c->token;
}

/* For each claim two keys and three arguments, behind two that say what is
 * wanted, and when.  To join is for a short time, until the next renewal: the lock may
 * be released at this moment, by another thread, and then nobody would end
 * it. */
static hf_letter *roll_letter(const roll *r, const char *what,
                              const size_t *which, size_t n) {
    enum { SPACE = HF_KEY_SIZE + HF_OWNER_SIZE + 2 * HF_DECIMAL_SIZE };
    const char **argv = hf__malloc((5 * n + 2) * sizeof *argv);
    char *space = hf__malloc(n * SPACE), *at = space;
    bool joins = strcmp(what, "join") == 0;
    char now[HF_DECIMAL_SIZE] = "";
    hf_call call = {.script = r->script,
                    .n_keys = (int)(2 * n),
                    .argc = (int)(5 * n + 2),
                    .argv = argv};
    hf_letter *l = NULL;

    for (size_t i = 0; argv && space && i < n; i++) {
        const hf_claim *c = r->claims[which ? which[i] : i];
        const char **args = argv + 2 * n + 2 + 3 * i;
        int lease = joins ? c->lease_ms / 2 : c->lease_ms;

        argv[2 * i] = c->name;
        argv[2 * i + 1] = at;
        at = hf__key_token(at, c->name) + 1;
        args[0] = at;
        at = hf__decimal(at, lease > 0 ? (uint64_t)lease : 1) + 1;
        args[1] = at;
        at = hf__owner_text(at, client_of(r->rl), c) + 1;
        args[2] = at;
        at = hf__decimal(at, last_token(c)) + 1;
    }
    if (argv && space) {
        if (joins)
            hf__decimal(now, (uint64_t)hf__world->wall_us());
        argv[2 * n] = what;
        argv[2 * n + 1] = now;
        l = hf__letter_new(&r->rl->scripts, &call, HF_NEVER);
    }
    hf__free(argv);
    hf__free(space);
    return l;
}

static bool may_vote(const roll *r, unsigned k) {
    return hf__voter_votes(r->rl->voters[k], atomic_load(&r->rl->longest_ms));
}

/* A server that was restarted a moment ago may have forgotten a vote for
 * somebody else: that we hold there counts for nothing, and we do not join
 * there, until that vote would have ended. */
static void take_word(void *arg, unsigned k, const redisReply *reply) {
    roll *r = arg;
    unsigned bit = 1u << k;
    bool votes = may_vote(r, k);

    if (!hf__reply_has(reply, r->n, r->n))
        return;
    for (size_t i = 0; i < r->n; i++) {
        long long said = reply->element[i]->integer;

        if (said != 1)
            r->gone[i] |= bit;
        else if (votes)
            r->kept[i] |= bit;
        if (said == 0 && votes)
            r->free[i] |= bit;
    }
}

static int result_of(const roll *r, size_t i) {
    if (count_of(r->kept[i]) >= (int)r->rl->quorum)
        return HF_OK;
    if (count_of(r->gone[i]) > (int)(r->rl->n - r->rl->quorum))
        return HF_ELOST;
    return HF_EMINORITY;
}

/* Everybody is waited for, for a while: who has forgotten a lock shall be given
 * it again. */
static bool is_settled(void *arg) {
    const roll *r = arg;

    for (size_t i = 0; i < r->n; i++)
        if (result_of(r, i) == HF_EMINORITY)
            return false;
    return true;
}

/* Sends it to one voter, over the bundle on which the lock was asked for, so
 * that its release comes behind. */
static void join_at(roll *r, hf_bundle *b, unsigned k) {
    size_t which[RENEW_BATCH], n = 0;
    hf_letter *l;

    for (size_t i = 0; i < r->n; i++)
        if (r->claims[i]->result == HF_OK && r->free[i] & 1u << k &&
            hf__place_bundle(r->claims[i]) == (int)b->index)
            which[n++] = i;
    l = n ? roll_letter(r, "join", which, n) : NULL;
    if (l && hf__bundle_post(b, l, 1u << k, 0))
        atomic_fetch_add(&r->rl->counts.joined, n);
    hf__letter_put(l);
}

static void join_again(roll *r, hf_time by) {
    unsigned bundles = 0, voters = 0;

    for (size_t i = 0; i < r->n; i++)
        if (r->claims[i]->result == HF_OK && r->free[i] &&
            hf__place_bundle(r->claims[i]) >= 0) {
            bundles |= 1u << hf__place_bundle(r->claims[i]);
            voters |= r->free[i];
        }
    for (unsigned index = 0; bundles >> index; index++) {
        hf_bundle *b = bundles & 1u << index ?
                           hf__pool_take(&r->rl->pool, (int)index, false, by) :
                           NULL;

        for (unsigned k = 0; b && voters >> k; k++)
            if (voters & 1u << k)
                join_at(r, b, k);
        if (b)
            hf__pool_give(b);
    }
}

static void set_results(roll *r, int rc) {
    for (size_t i = 0; i < r->n; i++)
        r->claims[i]->result = rc == HF_OK ? result_of(r, i) : rc;
}

static int ask_roll(roll *r, hf_time by, hf_error *err) {
    hf_redlock *rl = r->rl;
    hf_round round = {.voters = hf__redlock_all(rl),
                      .by = by,
                      .soft = hf__redlock_by(rl, by),
                      .answer = take_word,
                      .decided = hf__redlock_await_all,
                      .enough = is_settled,
                      .arg = r};
    hf_bundle *b = hf__pool_take(&rl->pool, -1, true, by);

    if (!b)
        return hf__redlock_crowded(rl, err);
    memset(r->kept, 0, sizeof r->kept);
    memset(r->gone, 0, sizeof r->gone);
    memset(r->free, 0, sizeof r->free);
    round.letter = roll_letter(r, "renew", NULL, r->n);
    if (round.letter)
        hf__round_run(b, &round);
    hf__pool_give(b);
    if (!round.letter)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    hf__letter_put(round.letter);
    return HF_OK;
}

/* Those who are on the roll; it is empty afterwards. */
static int renew_roll(roll *r, hf_time by, hf_error *err) {
    int rc = r->n ? ask_roll(r, by, err) : HF_OK;

    set_results(r, rc);
    if (rc == HF_OK)
        join_again(r, hf__redlock_by(r->rl, by));
    for (size_t i = 0; i < r->n && rc == HF_OK; i++)
        if (r->claims[i]->result == HF_EMINORITY)
            rc = hf__fail(err, HF_EMINORITY,
                          "\"%.64s\": %d of %u servers renewed it, %u are "
                          "needed",
                          r->claims[i]->name, count_of(r->kept[i]), r->rl->n,
                          r->rl->quorum);
    r->n = 0;
    return rc;
}

static int renew_layout(roll *r, hf_claim *const *claims, size_t n, hf_time by,
                        hf_error *err) {
    int worst = HF_OK, rc;

    r->n = 0;
    for (size_t i = 0; i < n; i++) {
        hf_claim *c = claims[i];

        if (hf__redlock_layouts[c->kind].confirm != r->script)
            continue;
        if (hf__place_is_over(c)) {
            c->result = HF_ELOST;
            continue;
        }
        if (r->n == RENEW_BATCH && (rc = renew_roll(r, by, err)) != HF_OK)
            worst = rc;
        hf__redlock_note_lease(r->rl, c->lease_ms);
        r->claims[r->n++] = c;
    }
    rc = renew_roll(r, by, err);
    return rc != HF_OK ? rc : worst;
}

int hf__redlock_renew(hf_backend *be, hf_claim *const *claims, size_t n,
                      hf_time by, hf_error *err) {
    static const hf_script scripts[] = {HF_SCRIPT_REDLOCK_CONFIRM,
                                        HF_SCRIPT_REDLOCK_SIMPLE_CONFIRM};
    roll *r = hf__malloc(sizeof *r);
    int worst = HF_OK;

    if (!r) {
        for (size_t i = 0; i < n; i++)
            claims[i]->result = HF_ENO_MEMORY;
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    r->rl = (hf_redlock *)be;
    for (size_t i = 0; i < 2; i++) {
        int rc;

        r->script = scripts[i];
        rc = renew_layout(r, claims, n, by, err);
        if (rc != HF_OK)
            worst = rc;
    }
    hf__free(r);
    return worst;
}

/* ---- release ----------------------------------------------------------- */

hf_letter *hf__redlock_release_letter(hf_redlock *rl, const hf_claim *c,
                                      hf_script script, bool tell) {
    char owner[HF_OWNER_SIZE], channel[HF_KEY_SIZE];
    const char *argv[] = {c->name, owner, channel};
    hf_call call = {.script = script,
                    .name = c->name,
                    .n_keys = 1,
                    .argc = 3,
                    .argv = argv};

    channel[0] = '\0';
    if (tell)
        hf__key_line(channel, c->kind, c->name);
    hf__owner_text(owner, client_of(rl), c);
    return hf__letter_new(&rl->scripts, &call, hf__now() + c->lease_ms * HF_MS);
}

static hf_letter *after_letter(hf_redlock *rl, const hf_claim *c,
                               hf_script script) {
    hf_claim nobody = {.kind = c->kind};
    char owner[HF_OWNER_SIZE], stand_in[HF_OWNER_SIZE], channel[HF_KEY_SIZE];
    char ms[HF_DECIMAL_SIZE];
    const char *argv[] = {c->name, owner, ms, stand_in, channel};
    hf_call call = {.script = script,
                    .name = c->name,
                    .n_keys = 1,
                    .argc = 5,
                    .argv = argv};

    hf__owner_text(owner, client_of(rl), c);
    hf__owner_text(stand_in, client_of(rl), &nobody);
    hf__decimal(ms, (uint64_t)c->lease_ms);
    hf__key_line(channel, c->kind, c->name);
    return hf__letter_new(&rl->scripts, &call, HF_NEVER);
}

static hf_letter *force_letter(hf_redlock *rl, const hf_claim *c,
                               hf_script script, const char *whose) {
    char token[HF_KEY_SIZE], channel[HF_KEY_SIZE];
    const char *argv[] = {c->name, token, whose ? whose : "", channel, ""};
    hf_call call = {.script = script,
                    .name = c->name,
                    .n_keys = 2,
                    .argc = 5,
                    .argv = argv};

    hf__key_token(token, c->name);
    hf__key_line(channel, c->kind, c->name);
    return hf__letter_new(&rl->scripts, &call, HF_NEVER);
}

/* What was said to a release: yes and, from 1 on, how many heard of it; or 0,
 * it was not held there. */
typedef struct farewell {
    const hf_redlock *rl;
    unsigned yes, no;
    long long heard;
} farewell;

static void take_farewell(void *arg, unsigned k, const redisReply *reply) {
    farewell *f = arg;

    if (reply->type == REDIS_REPLY_INTEGER && reply->integer > f->heard)
        f->heard = reply->integer;
    if (reply->type == REDIS_REPLY_INTEGER)
        *(reply->integer ? &f->yes : &f->no) |= 1u << k;
    else if (hf__reply_is(reply, "WRONGTYPE")) /* somebody wrote over it */
        f->no |= 1u << k;
}

static bool farewell_decided(void *arg, unsigned hope) {
    farewell *f = arg;
    int quorum = (int)f->rl->quorum, n = (int)f->rl->n;

    return !hope || count_of(f->yes) >= quorum || count_of(f->no) > n - quorum;
}

static bool farewell_enough(void *arg) {
    const farewell *f = arg;

    return count_of(f->yes | f->no) >= (int)f->rl->quorum;
}

static int no_majority(const farewell *f, const hf_claim *c, hf_error *err) {
    return hf__fail(err, HF_EDOUBT,
                    "\"%.64s\": %d of %u servers confirmed the release, %u are "
                    "needed",
                    c->name, count_of(f->yes), f->rl->n, f->rl->quorum);
}

static int was_lost(const hf_claim *c, hf_error *err) {
    return hf__fail(err, HF_ELOST, "\"%.128s\" was no longer held", c->name);
}

/* What cannot be reached now is told later, or ends with its lease; so it is
 * enough that all who can be reached know. */
static int farewell_result(const farewell *f, const hf_claim *c,
                           unsigned unanswered, hf_error *err) {
    int quorum = (int)f->rl->quorum, n = (int)f->rl->n;

    if (count_of(f->yes) >= quorum || (f->yes && !unanswered))
        return HF_OK;
    if (count_of(f->no) > n - quorum || (f->no && !unanswered))
        return was_lost(c, err);
    if (!f->yes && !f->no && !unanswered)
        return hf__fail(err, HF_EDOWN, "%s: no server can be reached",
                        f->rl->where);
    return no_majority(f, c, err);
}

/* How many others listen, of those who were told. */
static int rivals(hf_redlock *rl, const hf_claim *c, long long heard) {
    char channel[HF_KEY_SIZE];
    bool hears = false;

    if (c->kind != HF_LOCK || heard <= 0)
        return 0;
    hf__key_line(channel, c->kind, c->name);
    for (unsigned k = 0; k < rl->n && !hears; k++)
        hears = hf__listener_hears(rl->voters[k]->node->listener, channel);
    return (int)heard - hears;
}

static void forget(hf_claim *c) {
    c->place = ((c->place >> 24) + 1) << 24;
}

static int release_now(hf_redlock *rl, hf_bundle *b, hf_claim *c,
                       hf_letter *letter, hf_time by, hf_error *err) {
    unsigned stands = hf__place_voters(c);
    farewell f = {.rl = rl};
    hf_round r = {.letter = letter,
                  .voters = hf__redlock_all(rl),
                  .owed = true,
                  .by = by,
                  .answer = take_farewell,
                  .decided = farewell_decided,
                  .arg = &f};
    int rc;

    hf__round_run(b, &r);
    hf__bundle_post(b, letter, r.voters & ~r.sent, stands & ~r.sent);
    rc = farewell_result(&f, c, r.awaited | r.later, err);
    if (rc == HF_OK)
        c->rivals = rivals(rl, c, f.heard - 1);
    return rc;
}

static int release_after(hf_redlock *rl, hf_bundle *b, hf_claim *c,
                         hf_letter *letter, hf_time by, hf_error *err) {
    farewell f = {.rl = rl};
    hf_round r = {.letter = letter,
                  .voters = hf__redlock_all(rl),
                  .by = by,
                  .answer = take_farewell,
                  .decided = farewell_decided,
                  .arg = &f};

    hf__round_run(b, &r);
    if (count_of(f.yes) >= (int)rl->quorum)
        return HF_OK;
    if (count_of(f.no) > (int)(rl->n - rl->quorum))
        return was_lost(c, err);
    return no_majority(&f, c, err);
}

/* A majority must have had its say; who cannot be reached may still hold. */
static int force(hf_redlock *rl, const hf_claim *c, const hf_layout *layout,
                 const char *whose, hf_time by, hf_error *err) {
    hf_letter *letter = force_letter(rl, c, layout->force, whose);
    hf_bundle *b = letter ? hf__pool_take(&rl->pool, -1, false, by) : NULL;
    farewell f = {.rl = rl};
    hf_round r = {.letter = letter,
                  .voters = hf__redlock_all(rl),
                  .by = by,
                  .soft = hf__redlock_by(rl, by),
                  .answer = take_farewell,
                  .decided = hf__redlock_await_all,
                  .enough = farewell_enough,
                  .arg = &f};
    int rc = HF_OK;

    if (!letter)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    if (b) {
        hf__round_run(b, &r);
        hf__pool_give(b);
    }
    hf__letter_put(letter);
    if (!b)
        rc = hf__redlock_crowded(rl, err);
    else if (count_of(f.yes | f.no) < (int)rl->quorum)
        rc = hf__fail(err, HF_EMINORITY,
                      "\"%.64s\": %d of %u servers answered, %u are needed to "
                      "free it",
                      c->name, count_of(f.yes | f.no), rl->n, rl->quorum);
    else if (!f.yes)
        rc = hf__fail(err, HF_EFREE, "nobody like that holds \"%.128s\"",
                      c->name);
    return rc;
}

/* Sent to all, and not waited for. */
static int release_posted(hf_redlock *rl, hf_bundle *b, const hf_claim *c,
                          hf_letter *letter, hf_error *err) {
    int sent =
        hf__bundle_post(b, letter, hf__redlock_all(rl), hf__place_voters(c));

    if (sent >= (int)rl->quorum)
        return HF_OK;
    return hf__fail(err, HF_EDOUBT,
                    "\"%.64s\": the release could be sent to %d of %u servers, "
                    "%u are needed",
                    c->name, sent, rl->n, rl->quorum);
}

int hf__redlock_release(hf_backend *be, hf_claim *c, hf_how how,
                        const char *whose, hf_time by, hf_error *err) {
    hf_redlock *rl = (hf_redlock *)be;
    const hf_layout *layout;
    hf_letter *letter;
    hf_bundle *b;
    int rc = hf__redlock_check(rl, c, &layout, err);

    if (rc != HF_OK)
        return rc;
    if (how == HF_RELEASE_FORCED)
        return force(rl, c, layout, whose, by, err);
    if (hf__place_is_over(c))
        return was_lost(c, err);
    letter = how == HF_RELEASE_AFTER ?
                 after_letter(rl, c, layout->after) :
                 hf__redlock_release_letter(rl, c, layout->release,
                                            c->kind != HF_SPIN);
    if (!letter)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    b = hf__pool_take(&rl->pool, hf__place_bundle(c), false, by);
    if (!b)
        rc = hf__redlock_crowded(rl, err);
    else if (how == HF_RELEASE_POSTED)
        rc = release_posted(rl, b, c, letter, err);
    else if (how == HF_RELEASE_AFTER)
        rc = release_after(rl, b, c, letter, by, err);
    else
        rc = release_now(rl, b, c, letter, by, err);
    if (b)
        hf__pool_give(b);
    hf__letter_put(letter);
    if (rc == HF_OK || rc == HF_ELOST)
        forget(c);
    return rc;
}
