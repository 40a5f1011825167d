/* SPDX-License-Identifier: MIT
 *
 * status.c - what the end of a call means for whoever asked.
 *
 * The numbers are gRPC's; etcd tells apart by its words what has the same
 * number. */
#include "status.h"

#include <string.h>

#include "../../err.h"

enum {
    CANCELLED = 1,
    UNKNOWN = 2,
    INVALID = 3,
    DEADLINE = 4,
    NOT_FOUND = 5,
    DENIED = 7,
    EXHAUSTED = 8,
    PRECONDITION = 9,
    UNIMPLEMENTED = 12,
    INTERNAL = 13,
    UNAVAILABLE = 14,
    UNAUTHENTICATED = 16,
};

/* The first row that fits decides; words "": any. */
static const struct rule {
    int status;
    const char *words;
    hf_ruling ruling;
} rules[] = {
    {UNAVAILABLE, "no leader", {HF_EDOWN, false, HF_ELSEWHERE}},
    {UNAVAILABLE, "", {HF_EDOWN, true, HF_ELSEWHERE}},
    {CANCELLED, "", {HF_EDOWN, true, HF_ELSEWHERE}},
    {DEADLINE, "", {HF_EDOWN, true, HF_ELSEWHERE}},
    {UNKNOWN, "proposal dropped", {HF_EDOWN, false, HF_ELSEWHERE}},
    {PRECONDITION, "not leader", {HF_EDOWN, false, HF_ELSEWHERE}},
    {UNAUTHENTICATED, "", {HF_EAUTH, false, HF_NEW_TOKEN}},
    {INVALID, "auth store is old", {HF_EAUTH, false, HF_NEW_TOKEN}},
    {INVALID, "user name is empty", {HF_EAUTH, false, HF_NO_CURE}},
    {INVALID, "authentication failed", {HF_EAUTH, false, HF_NO_CURE}},
    {DENIED, "", {HF_EFORBIDDEN, false, HF_NO_CURE}},
    {EXHAUSTED, "space exceeded", {HF_EFULL, false, HF_NO_CURE}},
    {EXHAUSTED, "too many requests", {HF_ECROWDED, false, HF_NO_CURE}},
    {NOT_FOUND, "lease not found", {HF_EFREE, false, HF_NO_CURE}},
    {UNKNOWN, "", {HF_ESTORE, true, HF_NO_CURE}},
    {INTERNAL, "", {HF_ESTORE, true, HF_NO_CURE}},
};

bool hf__status_says(const hf_call *c, const char *words) {
    return strstr(c->text, words) != NULL;
}

static hf_ruling without_status(const hf_call *c) {
    if (c->http == 502 || c->http == 503 || c->http == 504)
        return (hf_ruling){HF_EDOWN, true, HF_ELSEWHERE};
    if (c->http || c->broken)
        return (hf_ruling){HF_ESTORE, !c->http, HF_NO_CURE};
    return (hf_ruling){HF_EDOWN, !c->unsent, HF_ELSEWHERE};
}

hf_ruling hf__status_rule(const hf_call *c, bool done) {
    if (!done || c->status == HF_GRPC_NO_STATUS)
        return without_status(c);
    if (c->status == 0)
        return (hf_ruling){HF_OK, true, HF_NO_CURE};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (c->status == rules[i].status && hf__status_says(c, rules[i].words))
            return rules[i].ruling;
    return (hf_ruling){HF_ESTORE, false, HF_NO_CURE};
}

int hf__status_fail(const hf_call *c, bool done, const char *where,
                    hf_error *err) {
    int code = hf__status_rule(c, done).code;

    if (c->http)
        return hf__fail(err, code, "%s: not etcd 3: HTTP status %d", where,
                        c->http);
    if (c->text[0])
        return hf__fail(err, code, "%s: %s", where, c->text);
    if (c->status == UNIMPLEMENTED)
        return hf__fail(err, code, "%s: this server does not know %s", where,
                        c->path);
    if (c->status > 0)
        return hf__fail(err, code, "%s: gRPC status %d", where, c->status);
    return hf__fail(err, code, "%s: no answer", where);
}
