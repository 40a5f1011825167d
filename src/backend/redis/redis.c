/* SPDX-License-Identifier: MIT
 *
 * redis.c - the verbs of the Redis store.
 *
 * The layout is Redisson's, so that Java and C hold the same locks; the text
 * of the scripts is ours.  A lock is a hash `name` with one field for its
 * owner, a simple lock a string.  The token key beside it outlives every
 * grant.
 *
 *   kind    key      held by                 woken by
 *   lock    hash     field `uuid:number`     message 0 on its channel
 *   simple  string   32 hex digits           ours: the same; others: polling
 *
 * Both kinds run the same verbs; the table `families` says by which script. */
#include "redis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "keys.h"
#include "reply.h"

enum { RENEW_BATCH = 500 };

static const struct family {
    hf_script attempt, release, after, force, renew;
    unsigned can;
    hf_time look_again; /* at most, with jitter, though nobody woke us */
    const char *after_owner;
} families[HF_KINDS] = {
    [HF_LOCK] = {HF_SCRIPT_LOCK_ATTEMPT, HF_SCRIPT_LOCK_RELEASE,
                 HF_SCRIPT_LOCK_AFTER, HF_SCRIPT_LOCK_FORCE,
                 HF_SCRIPT_LOCK_RENEW, HF_CAN_HOLD | HF_CAN_WAKE, 3 * HF_SECOND,
                 NULL},
    [HF_SIMPLE] = {HF_SCRIPT_SIMPLE_ATTEMPT, HF_SCRIPT_SIMPLE_RELEASE,
                   HF_SCRIPT_SIMPLE_AFTER, HF_SCRIPT_SIMPLE_FORCE,
                   HF_SCRIPT_SIMPLE_RENEW, HF_CAN_HOLD, 100 * HF_MS,
                   "00000000000000000000000000000000"},
};

static hf_redis *redis_of(hf_backend *be) {
    return (hf_redis *)be;
}

static const char *client_of(hf_backend *be) {
    return be->host->identity.client;
}

/* ---- life -------------------------------------------------------------- */

static void close_backend(hf_backend *be, bool forked) {
    hf_redis *r = redis_of(be);

    hf__listener_free(r->listener, forked);
    hf__engine_free(r->engine, forked);
    if (forked)
        return; /* threads that are gone may have held its locks */
    hf__server_clear(&r->server);
    free(r);
}

extern const hf_backend_ops hf__redis_ops;

static int open_backend(hf_backend **ret, const hf_uri *uri,
                        const hf_host *host, hf_time by, hf_error *err) {
    hf_redis *r = calloc(1, sizeof *r);
    int rc;

    if (!r)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    r->base = (hf_backend){.ops = &hf__redis_ops, .host = host};
    rc = hf__server_init(&r->server, uri, host, err);
    if (rc != HF_OK) {
        free(r);
        return rc;
    }
    rc = hf__engine_new(&r->engine, &r->server, by, err);
    if (rc == HF_OK)
        rc = hf__listener_new(&r->listener, &r->server, err);
    if (rc == HF_OK)
        *ret = &r->base;
    else
        close_backend(&r->base, false);
    return rc;
}

static unsigned can(const hf_backend *be, hf_kind kind) {
    (void)be;
    return kind < HF_KINDS ? families[kind].can : 0;
}

static const char *where(const hf_backend *be) {
    return ((const hf_redis *)be)->server.address->where;
}

/* ---- attempt ----------------------------------------------------------- */

/* The floor of the next token, as text; "" lets the script ask. */
static void token_floor(hf_redis *r, char *buf) {
    int64_t us = hf__server_clock_us(&r->server.clock);

    buf[0] = '\0';
    if (us > 0)
        hf__decimal(buf, (uint64_t)us);
}

/* When to ask again: when the lease ends, but not too late, for a message may
 * be lost, and whoever took the end away may bring it back. */
static hf_time ask_again(hf_kind kind, long long left_ms) {
    hf_time most = hf__jitter(families[kind].look_again);

    if (left_ms < 0)
        return hf__now() + hf__sooner(most, HF_SECOND);
    return hf__now() + hf__sooner(most, (left_ms + 1) * HF_MS);
}

/* A text is the token, a number how long it is held. */
static int take_answer(hf_claim *c, const redisReply *reply) {
    uint64_t token;
    char *end;

    if (reply->type == REDIS_REPLY_INTEGER) {
        c->ask_again = ask_again(c->kind, reply->integer);
        return HF_BUSY;
    }
    if (reply->type != REDIS_REPLY_STRING)
        return HF_EDOUBT;
    token = strtoull(reply->str, &end, 10);
    if (*end || !token)
        return HF_EDOUBT;
    c->token = token;
    return HF_OK;
}

static int attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                   hf_error *err) {
    char lease[HF_DECIMAL_SIZE], floor[HF_DECIMAL_SIZE];
    char owner[HF_OWNER_SIZE], token[HF_KEY_SIZE];
    const char *argv[] = {c->name, token, lease, owner, floor};
    hf_call call = {families[c->kind].attempt, c->name, 2, 5, argv};
    redisReply *reply;
    int rc = hf__keys_check(c->name, err);

    (void)waits;
    if (rc != HF_OK)
        return rc;
    hf__key_token(token, c->name);
    hf__owner_text(owner, client_of(be), c);
    hf__decimal(lease, (uint64_t)c->lease_ms);
    token_floor(redis_of(be), floor);
    rc = hf__engine_call(redis_of(be)->engine, &call, &reply, by, err);
    if (rc != HF_OK)
        return rc;
    rc = take_answer(c, reply);
    if (rc < 0)
        hf__reply_odd(err, where(be));
    freeReplyObject(reply);
    return rc;
}

/* ---- watch ------------------------------------------------------------- */

static int watch(hf_backend *be, const hf_claim *c, bool on, hf_time by,
                 hf_error *err) {
    hf_redis *r = redis_of(be);
    char channel[HF_KEY_SIZE];
    int rc = hf__keys_check(c->name, err);

    if (rc != HF_OK)
        return rc;
    hf__key_channel(channel, c->name);
    if (on)
        return hf__listener_watch(r->listener, channel, by, err);
    hf__listener_unwatch(r->listener, channel);
    return HF_OK;
}

/* ---- renew ------------------------------------------------------------- */

/* The arguments of one call of the script. */
typedef struct renewal {
    size_t n;
    hf_claim *claims[RENEW_BATCH];
    const char *argv[3 * RENEW_BATCH];
    char leases[RENEW_BATCH][HF_DECIMAL_SIZE];
    char owners[RENEW_BATCH][HF_OWNER_SIZE];
} renewal;

static void renewal_add(renewal *b, const char *client, hf_claim *c) {
    hf__decimal(b->leases[b->n], (uint64_t)c->lease_ms);
    hf__owner_text(b->owners[b->n], client, c);
    b->claims[b->n++] = c;
}

/* Keys first, then a lease and an owner for each. */
static void renewal_arrange(renewal *b) {
    for (size_t i = 0; i < b->n; i++) {
        b->argv[i] = b->claims[i]->name;
        b->argv[b->n + 2 * i] = b->leases[i];
        b->argv[b->n + 2 * i + 1] = b->owners[i];
    }
}

static int renewal_send(hf_redis *r, renewal *b, hf_kind kind, hf_time by,
                        hf_error *err) {
    hf_call call = {families[kind].renew, b->n == 1 ? b->claims[0]->name : NULL,
                    (int)b->n, 3 * (int)b->n, b->argv};
    redisReply *reply = NULL;
    int rc;

    renewal_arrange(b);
    rc = hf__engine_call(r->engine, &call, &reply, by, err);
    if (rc == HF_OK && !hf__reply_has(reply, b->n, b->n))
        rc = hf__reply_odd(err, r->server.address->where);
    for (size_t i = 0; i < b->n; i++)
        b->claims[i]->result = rc                         ? rc :
                               reply->element[i]->integer ? HF_OK :
                                                            HF_ELOST;
    if (reply)
        freeReplyObject(reply);
    b->n = 0;
    return rc;
}

/* All claims of a kind, a batch at a time. */
static int renew_kind(hf_redis *r, renewal *b, hf_kind kind,
                      hf_claim *const *claims, size_t n, hf_time by,
                      hf_error *err) {
    int worst = HF_OK, rc = HF_OK;

    for (size_t i = 0; i <= n; i++) {
        if (i < n && claims[i]->kind == kind)
            renewal_add(b, client_of(&r->base), claims[i]);
        if (b->n == RENEW_BATCH || (i == n && b->n))
            rc = renewal_send(r, b, kind, by, err);
        if (rc != HF_OK)
            worst = rc;
    }
    return worst;
}

static int renew(hf_backend *be, hf_claim *const *claims, size_t n, hf_time by,
                 hf_error *err) {
    hf_redis *r = redis_of(be);
    renewal *b = malloc(sizeof *b);
    int worst = HF_OK;

    if (!b) {
        for (size_t i = 0; i < n; i++)
            claims[i]->result = HF_ENO_MEMORY;
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    b->n = 0;
    for (hf_kind kind = 0; kind < HF_KINDS; kind++) {
        int rc = renew_kind(r, b, kind, claims, n, by, err);
        if (rc != HF_OK)
            worst = rc;
    }
    free(b);
    hf__engine_set_clock(r->engine, by);
    return worst;
}

/* ---- release ----------------------------------------------------------- */

/* Calls a script that answers 1 or 0; for 0 the code is `none`. */
static int call_for_one(hf_backend *be, const hf_call *call, int none,
                        hf_time by, hf_error *err) {
    redisReply *reply;
    int rc = hf__engine_call(redis_of(be)->engine, call, &reply, by, err);

    if (rc == HF_ESTORE && none == HF_ELOST && strstr(err->text, "WRONGTYPE"))
        return err->code = HF_ELOST; /* somebody wrote over it */
    if (rc != HF_OK)
        return rc;
    if (reply->type != REDIS_REPLY_INTEGER)
        rc = hf__reply_odd(err, where(be));
    else if (!reply->integer)
        rc = hf__fail(err, none,
                      none == HF_EFREE ? "nobody like that holds \"%.128s\"" :
                                         "\"%.128s\" was no longer held",
                      call->name);
    freeReplyObject(reply);
    return rc;
}

static int release_forced(hf_backend *be, hf_claim *c, const char *whose,
                          hf_time by, hf_error *err) {
    char token[HF_KEY_SIZE], channel[HF_KEY_SIZE], floor[HF_DECIMAL_SIZE];
    const char *argv[] = {c->name, token, whose ? whose : "", channel, floor};
    hf_call call = {families[c->kind].force, c->name, 2, 5, argv};

    hf__key_token(token, c->name);
    hf__key_channel(channel, c->name);
    token_floor(redis_of(be), floor);
    return call_for_one(be, &call, HF_EFREE, by, err);
}

static int release_after(hf_backend *be, hf_claim *c, const char *owner,
                         hf_time by, hf_error *err) {
    char ms[HF_DECIMAL_SIZE], stand_in[HF_OWNER_SIZE], channel[HF_KEY_SIZE];
    const char *argv[] = {c->name, owner, ms, stand_in, channel};
    hf_call call = {families[c->kind].after, c->name, 1, 5, argv};

    hf__decimal(ms, (uint64_t)c->lease_ms);
    hf__key_channel(channel, c->name);
    if (families[c->kind].after_owner)
        snprintf(stand_in, sizeof stand_in, "%s",
                 families[c->kind].after_owner);
    else
        snprintf(stand_in, sizeof stand_in, "%s:0", client_of(be));
    return call_for_one(be, &call, HF_ELOST, by, err);
}

static int release_now(hf_backend *be, hf_claim *c, const char *owner,
                       hf_time by, hf_error *err) {
    char channel[HF_KEY_SIZE];
    const char *argv[] = {c->name, owner, channel};
    hf_call call = {families[c->kind].release, c->name, 1, 3, argv};

    hf__key_channel(channel, c->name);
    return call_for_one(be, &call, HF_ELOST, by, err);
}

static int release(hf_backend *be, hf_claim *c, hf_how how, const char *whose,
                   hf_time by, hf_error *err) {
    char owner[HF_OWNER_SIZE];
    int rc = hf__keys_check(c->name, err);

    if (rc != HF_OK)
        return rc;
    hf__owner_text(owner, client_of(be), c);
    switch (how) {
    case HF_RELEASE_FORCED:
        return release_forced(be, c, whose, by, err);
    case HF_RELEASE_AFTER:
        return release_after(be, c, owner, by, err);
    case HF_RELEASE_POSTED:
        return hf__engine_post(redis_of(be)->engine, families[c->kind].release,
                               c->name, owner, hf__now() + c->lease_ms * HF_MS,
                               err);
    case HF_RELEASE:
        break;
    }
    return release_now(be, c, owner, by, err);
}

/* ---- announce ---------------------------------------------------------- */

static int announce(hf_backend *be, int lease_ms, hf_time by, hf_error *err) {
    char key[HF_KEY_SIZE], record[HF_RECORD_SIZE], ms[HF_DECIMAL_SIZE];
    redisReply *reply;
    int rc;

    hf__key_client(key, client_of(be));
    hf__record_write(record, &be->host->identity);
    hf__decimal(ms, (uint64_t)lease_ms);
    rc = hf__engine_ask(redis_of(be)->engine, 5,
                        (const char *const[]){"SET", key, record, "PX", ms},
                        &reply, by, err);
    if (rc != HF_OK)
        return rc;
    freeReplyObject(reply);
    hf__engine_set_clock(redis_of(be)->engine, by);
    return HF_OK;
}

/* ---- the table --------------------------------------------------------- */

static const char *const schemes[] = {"redis", "redis+unix", NULL};

static const char *const params[] = {
    "db",      "password_file",   "tls_ca",     "tls_cert",
    "tls_key", "tls_server_name", "tls_verify", NULL};

const hf_backend_ops hf__redis_ops = {
    .schemes = schemes,
    .params = params,
    .open = open_backend,
    .close = close_backend,
    .can = can,
    .where = where,
    .attempt = attempt,
    .watch = watch,
    .renew = renew,
    .release = release,
    .announce = announce,
    .list = hf__redis_list,
    .examine = hf__redis_examine,
};

#ifdef HF_MODULE
HF_API extern const hf_module hf_module_ops;
const hf_module hf_module_ops = {.abi = HF_MODULE_ABI, .ops = &hf__redis_ops};
#endif
