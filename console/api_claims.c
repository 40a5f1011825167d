/* SPDX-License-Identifier: MIT
 *
 * api_claims.c - taking a lock for a client, for as long as it says, and
 * giving it back. */
#include "api.h"

#include <string.h>
#include <time.h>

#include "../cli/write.h"
#include "claims.h"
#include "lend.h"

/* ---- what is told of a claim ------------------------------------------- */

static int64_t wall_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Our tokens are "fences" here, since the client's secret is its token. */
void lend_write(json *j, claim *c) {
    int64_t left = hf_lock_remaining_ms(c->lock);
    json_text(j, "name", hf_lock_name(c->lock));
    if (!c->hold)
        json_text(j, "token", c->secret);
    json_token(j, "fence", hf_lock_token(c->lock));
    json_span(j, "ttl", c->ttl_ms);
    json_span(j, "left", left);
    write_time(j, "expires", wall_ms() + left);
}

static void answer_claim(request *r, claim *c) {
    json j = request_json(r, 200);
    json_open(&j, NULL, '{');
    lend_write(&j, c);
    json_close(&j, '}');
}

/* ---- taking ------------------------------------------------------------ */

static void client_gone(void *arg) {
    claim_gone(arg);
}

bool lend_begin(request *r, bool hold) {
    hf_error err = {0};
    wish w;
    if (wish_read(&w, r->body, r->n_body, &err) != HF_OK ||
        claim_new(&r->claim, r->console->claims, r->name, &w,
                  r->console->ttl_ms, hold, &err) != HF_OK) {
        if (err.code == HF_ECROWDED)
            request_extra(r, "Retry-After", "1");
        request_fail(r, &err);
        return false;
    }
    r->post =
        hangup_add(r->console->hangup, request_fd(r), client_gone, r->claim);
    return true;
}

/* A claim that is not `held` when its request is over is given back. */
bool lend_take(request *r) {
    claim *c = r->claim;
    hf_error err = {0};
    int result =
        c->gone ? HF_ECANCELLED : hf_lock_acquire(c->lock, c->wait_ms, &err);
    hangup_remove(r->console->hangup, r->post);
    r->post = NULL;
    if (result == HF_OK && c->gone)
        result = HF_ECANCELLED; /* in vain: it is given back with the claim */
    if (result == HF_OK) {
        c->held = true;
        watch_poke(r->console->watch);
        return true;
    }
    err.code = result;
    if (result == HF_BUSY)
        snprintf(err.text, sizeof(err.text),
                 "somebody else holds it; give \"wait\", or see "
                 "/api/v1/locks");
    request_fail(r, &err);
    return false;
}

static void take(void *arg) {
    request *r = arg;
    if (lend_take(r))
        answer_claim(r, r->claim);
    request_back(r);
}

void lend_part(request *r, crew_fn *fn) {
    console *c = r->console;
    request_part(r, r->claim->wait_ms > 0 ? c->waits : c->tasks, fn);
}

void api_acquire(request *r) {
    if (lend_begin(r, false))
        lend_part(r, take);
}

/* ---- renewing and giving back ------------------------------------------ */

/* The claim whose token is in the query or in the body; its `wish` too. */
static claim *asked_claim(request *r, wish *w) {
    const char *secret = request_query(r, "token");
    hf_error err = {0};
    claim *c;
    if (wish_read(w, r->body, r->n_body, &err) != HF_OK) {
        request_fail(r, &err);
        return NULL;
    }
    if (!*secret)
        secret = w->token;
    if (!*secret) {
        request_problem(r, 400, HF_EUSAGE,
                        "give the token that acquire answered: \"token\" in "
                        "the body, or ?token=");
        return NULL;
    }
    c = claim_find(r->console->claims, r->name, secret);
    if (!c)
        request_problem(r, 403, HF_ENOT_OWNER,
                        "this token holds no such lock: it was released, or "
                        "its time is over");
    return c;
}

static bool refuse_lost(request *r, claim *c) {
    if (c->past_ms == 0)
        return false;
    request_problem(r, 410, HF_ELOST,
                    "its time was over, or it was taken away: acquire it "
                    "anew");
    return true;
}

static void renew(void *arg) {
    request *r = arg;
    hf_error err = {0};
    wish w;
    claim *c = asked_claim(r, &w);
    if (c && !refuse_lost(r, c)) {
        int ttl = w.ttl_ms ? w.ttl_ms : c->ttl_ms;
        if (hf_lock_extend(c->lock, ttl, &err) == HF_OK) {
            c->ttl_ms = ttl;
            answer_claim(r, c);
        } else {
            request_fail(r, &err);
        }
    }
    if (c)
        claim_drop(c);
    request_back(r);
}

static void give_back(void *arg) {
    request *r = arg;
    hf_error err = {0};
    wish w;
    claim *c = asked_claim(r, &w);
    if (c) {
        if (!refuse_lost(r, c)) {
            if (hf_lock_release(c->lock, &err) == HF_OK)
                request_out(r, 204, NULL);
            else
                request_fail(r, &err);
        }
        claim_forget(c);
        claim_drop(c);
        watch_poke(r->console->watch);
    }
    request_back(r);
}

void api_renew(request *r) {
    request_part(r, r->console->tasks, renew);
}

void api_release(request *r) {
    request_part(r, r->console->tasks, give_back);
}
