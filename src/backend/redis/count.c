/* SPDX-License-Identifier: MIT
 *
 * count.c - the numbers: what can be done with a semaphore or a latch beside
 * claiming it, and how their claims are answered.
 *
 * Both are Redisson's: the key `name` is a string, a decimal number.  That says
 * nothing of who changed it, so every change carries a marker by which it
 * counts once, however often it is asked (lua/marker.lua).  When the answer
 * has come the marker is spent and will be deleted by a later request
 * (spent.h), unless this one was in doubt before: then a copy of it may still
 * be on its way, and the marker stays for its minute. */
#include "families.h"

#include <stdlib.h>
#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "reply.h"

/* ---- claims ------------------------------------------------------------ */

/* Nothing ends by itself: a message will tell, or the next look. */
enum { HOUR_MS = 3600000 };

static void answered(hf_redis *r, const hf_claim *c) {
    if (!(c->place & HF_PLACE_DOUBT))
        hf__spent_note(&r->spent, c->name, c->nonce);
}

int hf__semaphore_answer(hf_redis *r, hf_claim *c, const redisReply *reply) {
    if (reply->type == REDIS_REPLY_INTEGER) {
        c->ask_again = hf__ask_again(c, reply->integer);
        return HF_BUSY;
    }
    if (reply->type != REDIS_REPLY_STRING)
        return HF_EDOUBT;
    answered(r, c);
    c->place |= HF_PLACE_GRANTED;
    return HF_OK;
}

int hf__latch_answer(hf_redis *r, hf_claim *c, const redisReply *reply) {
    (void)r;
    if (reply->type != REDIS_REPLY_INTEGER)
        return HF_EDOUBT;
    if (reply->integer <= 0)
        return HF_OK;
    c->ask_again = hf__ask_again(c, HOUR_MS);
    return HF_BUSY;
}

/* ---- the numbers ------------------------------------------------------- */

/* What is asked, by kind; HF_N_SCRIPTS: such a thing cannot be done with it. */
static const struct op {
    hf_script semaphore, latch;
    bool reads;         /* changes nothing, or nothing that must count once */
    int none;           /* what the answer nil means                        */
    const char *option; /* a third argument                                 */
} ops[] = {
    [HF_COUNT_FREE] = {HF_SCRIPT_SEM_COUNT, HF_SCRIPT_LATCH_COUNT, true, 0,
                       "free"},
    [HF_COUNT_LEASED] = {HF_SCRIPT_SEM_COUNT, HF_N_SCRIPTS, true, 0, "leased"},
    [HF_COUNT_SET] = {HF_SCRIPT_COUNT_SET, HF_SCRIPT_COUNT_SET, false, HF_BUSY,
                      NULL},
    [HF_COUNT_ADD] = {HF_SCRIPT_SEM_ADD, HF_N_SCRIPTS, false, 0, ""},
    [HF_COUNT_RESIZE] = {HF_SCRIPT_SEM_RESIZE, HF_N_SCRIPTS, false, 0, ""},
    [HF_COUNT_GIVE] = {HF_SCRIPT_SEM_ADD, HF_N_SCRIPTS, false, 0, ""},
    [HF_COUNT_GIVE_IF_SET] = {HF_SCRIPT_SEM_ADD, HF_N_SCRIPTS, false, HF_EFREE,
                              "1"},
    [HF_COUNT_DRAIN] = {HF_SCRIPT_SEM_DRAIN, HF_N_SCRIPTS, false, 0, ""},
    [HF_COUNT_DOWN] = {HF_N_SCRIPTS, HF_SCRIPT_LATCH_DOWN, false, 0, ""},
    [HF_COUNT_DELETE] = {HF_SCRIPT_COUNT_DELETE, HF_SCRIPT_COUNT_DELETE, false,
                         HF_EFREE, ""},
};

/* The request, spelled. */
typedef struct counting {
    const char *argv[9 + HF_SPENT_TAKE];
    char marker[HF_KEY_SIZE], leased[HF_KEY_SIZE], channel[HF_KEY_SIZE];
    char note[HF_KEY_SIZE];
    char spent[HF_SPENT_TAKE][HF_KEY_SIZE];
    char number[HF_DECIMAL_SIZE + 1], ttl[HF_DECIMAL_SIZE];
    int n_keys, argc;
} counting;

static void spell_spent(hf_redis *r, counting *q, const hf_claim *c) {
    unsigned char nonces[HF_SPENT_TAKE][16];
    int n = hf__spent_take(&r->spent, c->name, c->nonce, nonces);

    for (int i = 0; i < n; i++) {
        hf__key_marker(q->spent[i], c->name, nonces[i]);
        q->argv[q->argc++] = q->spent[i];
    }
}

static void spell_number(char *buf, int64_t number) {
    if (number < 0)
        *buf++ = '-';
    hf__decimal(buf, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

/* All scripts are told the same: three keys and the spent markers; the number,
 * the channel, the option, the time to live, where to note what it is. */
static void spell(hf_redis *r, counting *q, const hf_claim *c,
                  const struct op *op, int64_t number) {
    bool latch = c->kind == HF_LATCH;
    const char *option = op->option;

    spell_number(q->number, number);
    hf__decimal(q->ttl, c->lease_ms > 0 ? (uint64_t)c->lease_ms : 0);
    hf__key_marker(q->marker, c->name, c->nonce);
    hf__key_leased(q->leased, c->name);
    hf__key_line(q->channel, c->kind, c->name);
    hf__key_note(q->note, c->name);
    if (!option)
        option = latch ? "1" : number > 0 ? q->number : "";
    q->argc = 0;
    q->argv[q->argc++] = c->name;
    q->argv[q->argc++] = q->marker;
    q->argv[q->argc++] = latch ? c->name : q->leased;
    if (!op->reads)
        spell_spent(r, q, c);
    q->n_keys = q->argc;
    q->argv[q->argc++] = q->number;
    q->argv[q->argc++] = q->channel;
    q->argv[q->argc++] = option;
    q->argv[q->argc++] = q->ttl;
    q->argv[q->argc++] = q->note;
    q->argv[q->argc++] = latch ? "latch" : "semaphore";
}

static int answer(hf_redis *r, hf_claim *c, const struct op *op,
                  const redisReply *reply, int64_t *value, hf_error *err) {
    if (reply->type == REDIS_REPLY_NIL && op->none == HF_BUSY)
        return HF_BUSY;
    if (reply->type == REDIS_REPLY_NIL && op->none)
        return hf__fail(err, op->none, "\"%.128s\" is not set", c->name);
    if (reply->type != REDIS_REPLY_INTEGER)
        return hf__reply_odd(err, r->topology->where);
    *value = reply->integer;
    return HF_OK;
}

static int ask(hf_redis *r, hf_claim *c, hf_script script, const struct op *op,
               int64_t *value, hf_time by, hf_error *err) {
    counting q;
    redisReply *reply;
    int rc;

    spell(r, &q, c, op, *value);
    rc = hf__topology_call(r->topology,
                           &(hf_call){.script = script,
                                      .name = c->name,
                                      .n_keys = q.n_keys,
                                      .argc = q.argc,
                                      .argv = q.argv},
                           &reply, by, err);
    if (rc == HF_OK) {
        rc = answer(r, c, op, reply, value, err);
        freeReplyObject(reply);
    }
    if (rc == HF_EDOUBT && op->reads)
        return err->code = HF_EDOWN; /* nothing was changed */
    if (rc == HF_EDOUBT)
        c->place |= HF_PLACE_DOUBT;
    if (rc == HF_OK && !op->reads)
        answered(r, c);
    return rc;
}

/* A plain command does. */
static int last_token(hf_redis *r, const hf_claim *c, int64_t *value,
                      hf_time by, hf_error *err) {
    char key[HF_KEY_SIZE];
    redisReply *reply;
    int rc;

    hf__key_token(key, c->name);
    rc = hf__topology_ask(r->topology, key, 2,
                          (const char *const[]){"GET", key}, &reply, by, err);
    if (rc != HF_OK)
        return rc == HF_EDOUBT ? (err->code = HF_EDOWN) : rc;
    *value = reply->str ? strtoll(reply->str, NULL, 10) : 0;
    freeReplyObject(reply);
    return HF_OK;
}

int hf__redis_count(hf_backend *be, hf_claim *c, hf_count_op op, int64_t *value,
                    hf_time by, hf_error *err) {
    hf_redis *r = (hf_redis *)be;
    hf_kind line = hf_line_kind(c->kind);
    hf_script script = HF_N_SCRIPTS;
    int rc = hf__keys_check(c->name, err);

    if (rc != HF_OK)
        return rc;
    if (op == HF_COUNT_TOKEN)
        return last_token(r, c, value, by, err);
    if (line == HF_SEMAPHORE)
        script = ops[op].semaphore;
    else if (line == HF_LATCH)
        script = ops[op].latch;
    if (script == HF_N_SCRIPTS)
        return hf__fail(err, HF_ECANNOT,
                        "\"%.128s\": this cannot be done with that kind",
                        c->name);
    return ask(r, c, script, &ops[op], value, by, err);
}
