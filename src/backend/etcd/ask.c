/* SPDX-License-Identifier: MIT
 *
 * ask.c - questions to whichever server knows the answer.
 *
 * A server whose leader was just killed keeps a request for seven seconds and
 * then does not know.  So a try has half of the time that is left, and the next
 * one goes elsewhere. */
#include "ask.h"

#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "status.h"

static const hf_time TRY_MIN = 200 * HF_MS, PAUSE = 20 * HF_MS;
static const hf_time PAUSE_MAX = 200 * HF_MS;

enum { TOKENS = 2 }; /* that may turn out too old, in a row */

/* One asking, with all its tries. */
typedef struct asking {
    hf_speaker *s;
    hf_question *q;
    size_t n;
    hf_time by;
    unsigned link, serial;
    int tokens;
    hf_time pause;
    bool doubt; /* something may have been done */
} asking;

static hf_time try_by(hf_time by) {
    hf_time now = hf__now(), half = (by - now) / 2;

    return half < TRY_MIN ? by : now + half;
}

/* What is to be done about those that were not answered; the first that has no
 * cure decides.  The answered ones are left alone from now on. */
static hf_ruling judge(asking *a, const hf_question **worst) {
    hf_ruling all = {HF_OK, false, HF_NO_CURE};

    for (size_t i = 0; i < a->n; i++) {
        hf_question *q = &a->q[i];
        hf_ruling one = hf__status_rule(&q->call, q->done);

        if (one.code == HF_OK)
            continue;
        q->done = false;
        if (one.maybe_done && q->changes)
            q->repeated = a->doubt = true;
        if (all.code == HF_OK || one.cure == HF_NO_CURE) {
            all = one;
            *worst = q;
        }
    }
    return all;
}

static void rest(asking *a) {
    a->pause = a->pause ? hf__sooner(2 * a->pause, PAUSE_MAX) : PAUSE;
    hf__world->poll(NULL, 0,
                    hf__sooner(a->by, hf__now() + hf__jitter(a->pause)));
}

/* True: try again. */
static bool cure(asking *a, const hf_ruling *r, hf_error *err) {
    if (r->cure == HF_NEW_TOKEN && a->tokens++ < TOKENS) {
        a->pause = 0;
        return hf__auth_renew(a->s->auth, a->s->calls, a->serial, a->by, err) ==
               HF_OK;
    }
    if (r->cure != HF_ELSEWHERE || hf__now() >= a->by)
        return false;
    hf__calls_leave(a->s->calls, a->link);
    rest(a);
    return hf__now() < a->by;
}

static int one_try(asking *a, hf_error *err) {
    char *token = hf__auth_token(a->s->auth, &a->serial);
    int rc = HF_OK;

    if (!token && hf__auth_user(a->s->auth) && a->serial == 0) {
        rc = hf__auth_renew(a->s->auth, a->s->calls, 0, a->by, err);
        if (rc == HF_OK)
            token = hf__auth_token(a->s->auth, &a->serial);
    }
    if (rc == HF_OK)
        rc = hf__calls_ask(a->s->calls, a->q, a->n, token, &a->link,
                           try_by(a->by), err);
    hf__free(token);
    return rc;
}

/* The words stay; what they mean is that nobody knows. */
static int in_doubt(const asking *a, int rc, hf_error *err) {
    if (a->doubt && rc != HF_OK)
        rc = err->code = HF_EDOUBT;
    return rc;
}

static int take_answers(asking *a, hf_error *err) {
    for (size_t i = 0; i < a->n; i++)
        if (!hf__grpc_answer(&a->q[i].call, &a->q[i].answer))
            return hf__ask_nonsense(err);
    return HF_OK;
}

static int out_of_memory(const asking *a) {
    for (size_t i = 0; i < a->n; i++)
        if (a->q[i].body.failed)
            return true;
    return false;
}

int hf__ask(hf_speaker *s, hf_question *q, size_t n, hf_time by,
            hf_error *err) {
    asking a = {.s = s, .q = q, .n = n, .by = by};
    const hf_question *worst = NULL;
    char where[256];
    hf_ruling r;
    int rc;

    if (out_of_memory(&a))
        return hf__fail_plain(err, HF_ENO_MEMORY);
    do {
        rc = one_try(&a, err);
        if (rc != HF_OK)
            return in_doubt(&a, rc, err);
        r = judge(&a, &worst);
        if (r.code == HF_OK)
            return take_answers(&a, err);
        hf__calls_where(s->calls, where, sizeof where);
        rc = hf__status_fail(&worst->call, worst->call.status >= 0,
                             where[0] ? where : "etcd", err);
    } while (cure(&a, &r, err));
    return in_doubt(&a, err->code, err);
}

int hf__ask_nonsense(hf_error *err) {
    return hf__fail(err, HF_ESTORE, "the server's answer cannot be read");
}

int hf__ask_txn(hf_speaker *s, hf_question *q, hf_txned *ret, hf_time by,
                hf_error *err) {
    int rc;

    q->path = HF_RPC_TXN;
    rc = hf__ask(s, q, 1, by, err);
    if (rc == HF_OK && !hf__read_txn(q->answer, ret))
        rc = hf__ask_nonsense(err);
    return rc;
}
