/* SPDX-License-Identifier: MIT
 *
 * renew.c - sets many leases anew with few requests.
 *
 * Claims of a kind that want as many replicas go together, up to RENEW_BATCH of
 * them in one call of its script: first the keys of all, then the arguments of
 * all. */
#include <stdlib.h>
#include <string.h>

#include "../../err.h"
#include "families.h"
#include "reply.h"

enum { RENEW_BATCH = 500, RENEW_SPACE = 1 << 18 };

typedef struct renewal {
    const hf_family *family;
    size_t n;
    hf_claim *claims[RENEW_BATCH];
    int n_keys, n_args; /* keys, then arguments, of a call so far */
    const char *keys[RENEW_BATCH * HF_WORDS_MAX];
    const char *args[RENEW_BATCH * HF_WORDS_MAX];
    char *at, space[RENEW_SPACE + HF_SPELLING_SPACE];
} renewal;

static void begin(renewal *b) {
    b->n = 0;
    b->n_keys = b->n_args = 0;
    b->at = b->space;
}

/* A claim without a token waits. */
static void add(renewal *b, hf_redis *r, hf_claim *c) {
    hf_asking asking = {r, c, .waits = !c->token};
    hf_spelling words = {.at = b->at};
    size_t n_args;

    hf__spell(&words, &b->family->renew, &asking);
    n_args = (size_t)(words.argc - words.n_keys);
    memcpy(b->keys + b->n_keys, words.argv,
           (size_t)words.n_keys * sizeof *b->keys);
    memcpy(b->args + b->n_args, words.argv + words.n_keys,
           n_args * sizeof *b->args);
    b->n_keys += words.n_keys;
    b->n_args += (int)n_args;
    b->claims[b->n++] = c;
    b->at = words.at;
}

static int send_call(hf_redis *r, renewal *b, redisReply **reply,
                     bool *confirmed, hf_time by, hf_error *err) {
    size_t n_keys = (size_t)b->n_keys, n_args = (size_t)b->n_args;
    const char **argv = malloc((n_keys + n_args) * sizeof *argv);
    hf_call call = {.script = b->family->renew.script,
                    .name = b->n == 1 ? b->claims[0]->name : NULL,
                    .n_keys = b->n_keys,
                    .argc = b->n_keys + b->n_args,
                    .argv = argv};
    int rc;

    if (!argv)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    call.replicas = b->claims[0]->replicas;
    call.confirmed = confirmed;
    memcpy(argv, b->keys, n_keys * sizeof *argv);
    memcpy(argv + n_keys, b->args, n_args * sizeof *argv);
    rc = hf__topology_call(r->topology, &call, reply, by, err);
    free(argv);
    return rc;
}

/* The results of n claims from the answer to their call; takes it.  What too
 * few replicas know of is as good as not renewed. */
static int settle(hf_redis *r, hf_claim *const *claims, size_t n, int rc,
                  redisReply *reply, bool confirmed, hf_error *err) {
    if (rc == HF_OK && !hf__reply_has(reply, n, n))
        rc = hf__reply_odd(err, r->topology->where);
    for (size_t i = 0; i < n; i++)
        claims[i]->result = rc                          ? rc :
                            !reply->element[i]->integer ? HF_ELOST :
                            confirmed                   ? HF_OK :
                                                          HF_EREPLICAS;
    if (reply)
        freeReplyObject(reply);
    if (rc == HF_OK && !confirmed)
        rc = hf__fail(err, HF_EREPLICAS,
                      "%s: too few replicas confirmed a renewal in time",
                      r->topology->where);
    return rc;
}

static int send_batch(hf_redis *r, renewal *b, hf_time by, hf_error *err) {
    redisReply *reply = NULL;
    bool confirmed = true;
    int rc = send_call(r, b, &reply, &confirmed, by, err);

    rc = settle(r, b->claims, b->n, rc, reply, confirmed, err);
    begin(b);
    return rc;
}

static bool fits(const renewal *b, const hf_claim *c) {
    return !b->n || (b->n < RENEW_BATCH && b->at - b->space <= RENEW_SPACE &&
                     b->claims[0]->replicas == c->replicas);
}

/* All claims of a kind, a batch at a time. */
static int renew_kind(hf_redis *r, renewal *b, hf_kind kind,
                      hf_claim *const *claims, size_t n, hf_time by,
                      hf_error *err) {
    int worst = HF_OK, rc = HF_OK;

    b->family = &hf__families[kind];
    begin(b);
    for (size_t i = 0; i < n; i++) {
        if (claims[i]->kind != kind)
            continue;
        if (!fits(b, claims[i]) && (rc = send_batch(r, b, by, err)) != HF_OK)
            worst = rc;
        add(b, r, claims[i]);
    }
    if (b->n && (rc = send_batch(r, b, by, err)) != HF_OK)
        worst = rc;
    return worst;
}

static int renew_many(hf_redis *r, hf_claim *const *claims, size_t n,
                      hf_time by, hf_error *err) {
    renewal *b = malloc(sizeof *b);
    int worst = HF_OK;

    if (!b)
        return settle(r, claims, n, hf__fail_plain(err, HF_ENO_MEMORY), NULL,
                      true, err);
    for (hf_kind kind = 0; kind < HF_KINDS; kind++) {
        int rc = renew_kind(r, b, kind, claims, n, by, err);

        if (rc != HF_OK)
            worst = rc;
    }
    free(b);
    return worst;
}

/* One that was granted unasked is renewed at once, so that this is common. */
static int renew_one(hf_redis *r, hf_claim *c, hf_time by, hf_error *err) {
    const hf_plan *plan = &hf__families[c->kind].renew;
    char space[HF_SPELLING_SPACE];
    hf_spelling words = {.at = space};
    redisReply *reply = NULL;
    bool confirmed = true;
    hf_call call;
    int rc;

    hf__spell(&words, plan, &(hf_asking){r, c, .waits = !c->token});
    call = (hf_call){plan->script, c->name,    words.n_keys, words.argc,
                     words.argv,   words.lens, c->replicas,  &confirmed};
    rc = hf__topology_call(r->topology, &call, &reply, by, err);
    return settle(r, &c, 1, rc, reply, confirmed, err);
}

int hf__redis_renew(hf_backend *be, hf_claim *const *claims, size_t n,
                    hf_time by, hf_error *err) {
    hf_redis *r = (hf_redis *)be;
    int rc = n == 1 ? renew_one(r, claims[0], by, err) :
                      renew_many(r, claims, n, by, err);

    hf__topology_set_clocks(r->topology, by);
    return rc;
}
