/* SPDX-License-Identifier: MIT
 *
 * redis.c - the verbs of the Redis store.
 *
 * The layout is Redisson's, so that Java and C hold the same locks; the text
 * of the scripts is ours.  The token key beside a lock outlives every grant.
 *
 *   kind         key     held by                    woken by
 *   lock, spin   hash    field `uuid:number`        lock: 0 on its channel
 *   fair         hash    field `uuid:0number`       the grant itself, or 0, on
 *                        waiters: a list of owners  a channel of the waiter's
 *                        and their ends in a zset
 *   read, write  hash    `mode`, a field for each   0 or 1 on their channel
 *                        reader and the writer
 *   simple       string  32 hex digits              ours: as lock; others: not
 *   semaphore    string  a number: nobody           the number, if above 0
 *   permit       ids and their ends in a zset,      as semaphore
 *                taken from a semaphore
 *   latch        string  a number: nobody           0
 *
 * Every kind runs the same verbs; families.c says by which scripts. */
#include "redis.h"

#include <stdlib.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "families.h"
#include "keys.h"
#include "post.h"
#include "redlock/redlock.h"
#include "reply.h"

static hf_redis *redis_of(hf_backend *be) {
    return (hf_redis *)be;
}

static const char *client_of(hf_backend *be) {
    return be->host->identity.client;
}

/* ---- life -------------------------------------------------------------- */

static void close_backend(hf_backend *be, bool forked) {
    hf_redis *r = redis_of(be);

    if (!forked)
        hf__redis_take_leave(r);
    hf__topology_free(r->topology, forked);
    if (forked)
        return; /* threads that are gone may have held its locks */
    hf__spent_clear(&r->spent);
    hf__free(r);
}

extern const hf_backend_ops hf__redis_ops;

static int open_backend(hf_backend **ret, const hf_uri *uri,
                        const hf_host *host, hf_time by, hf_error *err) {
    hf_redis *r;
    int rc;

    if (strcmp(uri->scheme, "redlock") == 0)
        return hf__redlock_open(ret, uri, host, by, err);
    rc = hf__redlock_refuse_params(uri, err);
    if (rc != HF_OK)
        return rc;
    r = hf__calloc(1, sizeof *r);
    if (!r)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    r->base = (hf_backend){.ops = &hf__redis_ops, .host = host};
    hf__spent_init(&r->spent);
    rc = hf__topology_open(&r->topology, uri, host, by, err);
    if (rc == HF_OK)
        *ret = &r->base;
    else
        close_backend(&r->base, false);
    return rc;
}

static unsigned can(const hf_backend *be, hf_kind kind) {
    unsigned bits = kind < HF_KINDS ? hf__families[kind].can : 0;

    (void)be;
    if (bits && kind != HF_SEMAPHORE && kind != HF_LATCH)
        bits |= HF_CAN_REPLICATE;
    return bits;
}

static const char *where(const hf_backend *be) {
    return ((const hf_redis *)be)->topology->where;
}

/* ---- calling a script -------------------------------------------------- */

/* A call, spelled. */
typedef struct letter {
    hf_call call;
    hf_spelling words;
    char space[HF_SPELLING_SPACE];
} letter;

static int write_letter(letter *l, const hf_plan *plan, const hf_asking *a,
                        hf_error *err) {
    int rc = hf__keys_check(a->claim->name, err);

    if (rc != HF_OK)
        return rc;
    if (!plan->words[0])
        return hf__fail(err, HF_ECANNOT, "%s cannot do that with this kind",
                        where(&a->redis->base));
    l->words.at = l->space;
    hf__spell(&l->words, plan, a);
    l->call = (hf_call){.script = plan->script,
                        .name = a->claim->name,
                        .n_keys = l->words.n_keys,
                        .argc = l->words.argc,
                        .argv = l->words.argv,
                        .lens = l->words.lens};
    return HF_OK;
}

/* ---- attempt ----------------------------------------------------------- */

/* When to ask again: when the lease ends, but not too late, for a message may
 * be lost, and whoever took the end away may bring it back. */
hf_time hf__ask_again(const hf_claim *c, long long left_ms) {
    const hf_family *f = &hf__families[c->kind];
    hf_time wait = hf__jitter(f->most);

    wait = hf__sooner(wait, left_ms < 0 ? HF_SECOND : (left_ms + 1) * HF_MS);
    return hf__now() + (wait < f->least ? f->least : wait);
}

/* A text is the token, a number how long it is held.  A status is a token too,
 * that of an earlier call: whether its answer was lost, and who has the rest
 * of its block, we do not know; so there is none. */
static int take_answer(hf_claim *c, const redisReply *reply) {
    uint64_t token;
    char *end;

    if (reply->type == REDIS_REPLY_INTEGER) {
        c->ask_again = hf__ask_again(c, reply->integer);
        return HF_BUSY;
    }
    if (reply->type != REDIS_REPLY_STRING && reply->type != REDIS_REPLY_STATUS)
        return HF_EDOUBT;
    token = strtoull(reply->str, &end, 10);
    if (*end || !token)
        return HF_EDOUBT;
    c->token = token;
    c->last_token = 0;
    if (c->block > 1 && reply->type == REDIS_REPLY_STRING)
        c->last_token = token + (uint64_t)c->block - 1;
    return HF_OK;
}

/* It is not granted after all, and nobody shall find it held.  If even that is
 * not answered, who knows: the core gives it back. */
static int undo(hf_redis *r, hf_claim *c, int code, const char *why, hf_time by,
                hf_error *err) {
    hf_error trouble;
    int rc = r->base.ops->release(&r->base, c, HF_RELEASE, NULL, by, &trouble);

    if (rc != HF_OK && rc != HF_ELOST)
        return hf__fail(err, HF_EDOUBT,
                        "\"%.128s\": %s, and it could not be given back: "
                        "%.64s",
                        c->name, why, trouble.text);
    return hf__fail(err, code, "\"%.128s\": %s; it was given back", c->name,
                    why);
}

static int too_few(hf_redis *r, hf_claim *c, hf_time by, hf_error *err) {
    return undo(r, c, HF_EREPLICAS, "too few replicas confirmed it in time", by,
                err);
}

/* Asks for the claim by that plan; see hf_call for `torn`. */
static int ask_for(hf_redis *r, hf_claim *c, const hf_plan *plan, bool waits,
                   bool *torn, hf_time by, hf_error *err) {
    const hf_family *f = &hf__families[c->kind];
    bool confirmed = true;
    redisReply *reply;
    letter l;
    int rc = write_letter(&l, plan, &(hf_asking){r, c, waits, NULL}, err);

    if (rc != HF_OK)
        return rc;
    l.call.replicas = c->replicas;
    l.call.confirmed = &confirmed;
    l.call.torn = torn;
    rc = hf__topology_call(r->topology, &l.call, &reply, by, err);
    if (rc != HF_OK)
        return rc;
    rc = f->answer ? f->answer(r, c, reply) : take_answer(c, reply);
    if (rc < 0)
        hf__reply_odd(err, r->topology->where);
    freeReplyObject(reply);
    return rc == HF_OK && !confirmed ? too_few(r, c, by, err) : rc;
}

/* Brings the key of the token up to what was granted. */
static int raise_token(hf_redis *r, hf_claim *c, hf_time by, hf_error *err) {
    char key[HF_KEY_SIZE], token[HF_DECIMAL_SIZE];
    const char *argv[] = {key, token};
    bool confirmed = true;
    redisReply *reply;
    hf_call call = {.script = HF_SCRIPT_TOKEN_RAISE,
                    .name = c->name,
                    .n_keys = 1,
                    .argc = 2,
                    .argv = argv,
                    .replicas = c->replicas,
                    .confirmed = &confirmed};
    int rc;

    hf__key_token(key, c->name);
    hf__decimal(token, c->token);
    rc = hf__topology_call(r->topology, &call, &reply, by, err);
    if (rc != HF_OK)
        return undo(r, c, HF_ESTARTING,
                    "its slot is being moved, and its token stayed behind", by,
                    err);
    rc = take_answer(c, reply);
    if (rc != HF_OK)
        hf__reply_odd(err, r->topology->where);
    freeReplyObject(reply);
    return rc == HF_OK && !confirmed ? too_few(r, c, by, err) : rc;
}

/* The slot of the name is half moved.  There is one token, not a block. */
static int ask_alone(hf_redis *r, hf_claim *c, hf_time by, hf_error *err) {
    int block = c->block, rc;

    c->block = 1;
    rc = ask_for(r, c, &hf__families[c->kind].alone, false, NULL, by, err);
    if (rc == HF_OK)
        rc = raise_token(r, c, by, err);
    c->block = block;
    return rc;
}

static void note_token(hf_redis *r, const hf_claim *c) {
    unsigned long long last = c->last_token ? c->last_token : c->token;
    unsigned long long seen = atomic_load(&r->last_token);

    while (seen < last &&
           !atomic_compare_exchange_weak(&r->last_token, &seen, last))
        ;
}

static int attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                   hf_error *err) {
    hf_redis *r = redis_of(be);
    const hf_family *f = &hf__families[c->kind];
    bool torn = false, alone = f->alone.words[0] && !r->topology->lock_delay;
    int rc;

    if (waits && hf__stands(c))
        c->place |= HF_PLACE_STANDS; /* also if no answer comes */
    rc = ask_for(r, c, &f->attempt, waits, alone ? &torn : NULL, by, err);
    if (torn)
        rc = ask_alone(r, c, by, err);
    if (rc == HF_EDOUBT && c->kind == HF_SEMAPHORE)
        c->place |= HF_PLACE_DOUBT;
    if (rc == HF_OK && r->topology->slotted)
        note_token(r, c);
    return rc;
}

/* ---- watch ------------------------------------------------------------- */

static int watch(hf_backend *be, const hf_claim *c, bool on, hf_time by,
                 hf_error *err) {
    hf_topology *t = redis_of(be)->topology;
    char channel[HF_KEY_SIZE];
    unsigned slot;
    int rc = hf__keys_check(c->name, err);

    if (rc != HF_OK)
        return rc;
    hf__key_ear(channel, client_of(be), c);
    slot = hf__topology_slot(t, c->name);
    if (t->needs.sharded && hf__topology_slot(t, channel) != slot)
        return on ? hf__fail(err, HF_ECANNOT,
                             "\"%.128s\": in a cluster nobody is told of a "
                             "latch that has a tag in its name",
                             c->name) :
                    HF_OK;
    if (on)
        return t->ops->watch(t, slot, channel, by, err);
    t->ops->unwatch(t, slot, channel);
    return HF_OK;
}

/* ---- release ----------------------------------------------------------- */

/* Calls a script that answers 0, for which the code is `none`, or *said. */
static int call_for_one(hf_backend *be, const hf_call *call, int none,
                        long long *said, hf_time by, hf_error *err) {
    redisReply *reply;
    int rc = hf__topology_call(redis_of(be)->topology, call, &reply, by, err);

    *said = 1;
    if (rc == HF_ESTORE && none == HF_ELOST && strstr(err->text, "WRONGTYPE"))
        return err->code = HF_ELOST; /* somebody wrote over it */
    if (rc != HF_OK)
        return rc;
    if (reply->type != REDIS_REPLY_INTEGER)
        rc = hf__reply_odd(err, where(be));
    else if (!reply->integer && *call->cut_short)
        rc = HF_OK; /* that was done before it ended in the middle */
    else if (!reply->integer)
        rc = hf__fail(err, none,
                      none == HF_EFREE ? "nobody like that holds \"%.128s\"" :
                                         "\"%.128s\" was no longer held",
                      call->name);
    else
        *said = reply->integer;
    freeReplyObject(reply);
    return rc;
}

/* How many others listen, of `heard` who were told that a lock is free. */
static int rivals(hf_redis *r, const hf_claim *c, long long heard) {
    hf_topology *t = r->topology;
    char channel[HF_KEY_SIZE];
    hf_node *node;

    if (c->kind != HF_LOCK || heard <= 0)
        return 0;
    hf__key_ear(channel, client_of(&r->base), c);
    node = t->ops->locate(t, hf__topology_slot(t, c->name));
    heard -= hf__listener_hears(node->listener, channel);
    hf__topology_leave(t, node);
    return (int)heard;
}

static const hf_plan *plan_of(const hf_family *f, hf_how how) {
    return how == HF_RELEASE_FORCED ? &f->force :
           how == HF_RELEASE_AFTER  ? &f->after :
                                      &f->release;
}

static int release(hf_backend *be, hf_claim *c, hf_how how, const char *whose,
                   hf_time by, hf_error *err) {
    hf_redis *r = redis_of(be);
    const hf_plan *plan = plan_of(&hf__families[c->kind], how);
    bool cut_short = false;
    long long said;
    letter l;
    int rc;

    if (c->kind == HF_LATCH && plan == &hf__families[HF_LATCH].release)
        return HF_OK; /* nothing is held */
    rc = write_letter(&l, plan, &(hf_asking){r, c, false, whose}, err);
    if (rc != HF_OK)
        return rc;
    if (how == HF_RELEASE_POSTED && l.call.argc <= HF_POST_ARGS)
        return hf__topology_post(r->topology, &l.call,
                                 hf__now() + c->lease_ms * HF_MS, err);
    l.call.cut_short = &cut_short;
    rc = call_for_one(be, &l.call,
                      how == HF_RELEASE_FORCED ? HF_EFREE : HF_ELOST, &said, by,
                      err);
    if (rc == HF_OK && how == HF_RELEASE)
        c->rivals = rivals(r, c, said - 1);
    return rc;
}

/* ---- the table --------------------------------------------------------- */

static const char *const schemes[] = {
    "redis", "redis+unix", "redis+sentinel", "redis+cluster", "redlock", NULL};

/* clang-format off */
static const char *const params[] = {
    "db", "password_file", "replicas", "lock_delay", "wait_timeout",
    "sharded",
    "tls_ca", "tls_cert", "tls_key", "tls_verify", "tls_server_name",
    "sentinel_user", "sentinel_password", "sentinel_password_file",
    "sentinel_tls", "sentinel_tls_ca", "sentinel_tls_cert", "sentinel_tls_key",
    "sentinel_tls_verify", "sentinel_tls_server_name",
    HF_REDLOCK_PARAMS, NULL};
/* clang-format on */

const hf_backend_ops hf__redis_ops = {
    .schemes = schemes,
    .params = params,
    .open = open_backend,
    .close = close_backend,
    .can = can,
    .where = where,
    .attempt = attempt,
    .watch = watch,
    .renew = hf__redis_renew,
    .release = release,
    .count = hf__redis_count,
    .announce = hf__redis_announce,
    .clients = hf__redis_clients,
    .list = hf__redis_list,
    .examine = hf__redis_examine,
    .rights = hf__redis_rights,
};

#ifdef HF_MODULE
HF_API extern const hf_module hf_module_ops;
const hf_module hf_module_ops = {.abi = HF_MODULE_ABI, .ops = &hf__redis_ops};
#endif
