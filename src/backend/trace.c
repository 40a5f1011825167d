/* SPDX-License-Identifier: MIT
 *
 * trace.c - wraps any store and prints every verb on stderr: what was asked,
 * what came of it, how long it took.  Switched on by HOLDFAST_TRACE=1, which
 * is the only thing that makes the library print. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "../alloc.h"
#include "../err.h"
#include "../world.h"
#include "table.h"

typedef struct trace {
    hf_backend base;
    hf_backend *inner;
} trace;

static hf_backend *inner_of(hf_backend *be) {
    return ((trace *)be)->inner;
}

__attribute__((format(printf, 3, 4))) static int say(hf_time began, int rc,
                                                     const char *format, ...) {
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "holdfast: %8.3f ms  %-9s %s\n",
            (double)(hf__now() - began) / 1e6, hf_error_name(rc), text);
    return rc;
}

static void trace_close(hf_backend *be, bool forked) {
    hf_backend *inner = inner_of(be);
    hf_time began = hf__now();

    inner->ops->close(inner, forked);
    say(began, HF_OK, "close%s", forked ? " (in a forked child)" : "");
    hf__free(be);
}

static unsigned trace_can(const hf_backend *be, hf_kind kind) {
    const hf_backend *inner = ((const trace *)be)->inner;

    return inner->ops->can(inner, kind);
}

static const char *trace_where(const hf_backend *be) {
    const hf_backend *inner = ((const trace *)be)->inner;

    return inner->ops->where(inner);
}

static int trace_attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                         hf_error *err) {
    hf_backend *inner = inner_of(be);
    hf_time began = hf__now();
    int rc = inner->ops->attempt(inner, c, waits, by, err);

    return say(began, rc, "attempt %s owner %" PRIu64 " token %" PRIu64,
               c->name, c->owner, rc == HF_OK ? c->token : 0);
}

static int trace_watch(hf_backend *be, const hf_claim *c, bool on, hf_time by,
                       hf_error *err) {
    hf_backend *inner = inner_of(be);
    hf_time began = hf__now();
    int rc = inner->ops->watch(inner, c, on, by, err);

    return say(began, rc, "watch %s %s", c->name, on ? "on" : "off");
}

static int trace_renew(hf_backend *be, hf_claim *const *claims, size_t n,
                       hf_time by, hf_error *err) {
    hf_backend *inner = inner_of(be);
    hf_time began = hf__now();
    int rc = inner->ops->renew(inner, claims, n, by, err);

    return say(began, rc, "renew %zu, the first %s: %s", n, claims[0]->name,
               hf_error_name(claims[0]->result));
}

static int trace_release(hf_backend *be, hf_claim *c, hf_how how,
                         const char *whose, hf_time by, hf_error *err) {
    static const char *const words[] = {"", " posted", " after", " forced"};
    hf_backend *inner = inner_of(be);
    hf_time began = hf__now();
    int rc = inner->ops->release(inner, c, how, whose, by, err);

    return say(began, rc, "release%s %s owner %" PRIu64, words[how], c->name,
               c->owner);
}

static int trace_count(hf_backend *be, hf_claim *c, hf_count_op op,
                       int64_t *value, hf_time by, hf_error *err) {
    static const char *const words[] = {
        [HF_COUNT_FREE] = "free",     [HF_COUNT_LEASED] = "leased",
        [HF_COUNT_TOKEN] = "token",   [HF_COUNT_SET] = "set",
        [HF_COUNT_ADD] = "add",       [HF_COUNT_RESIZE] = "resize",
        [HF_COUNT_GIVE] = "give",     [HF_COUNT_GIVE_IF_SET] = "give if set",
        [HF_COUNT_DRAIN] = "drain",   [HF_COUNT_DOWN] = "down",
        [HF_COUNT_DELETE] = "delete",
    };
    hf_backend *inner = inner_of(be);
    hf_time began = hf__now();
    int rc = inner->ops->count(inner, c, op, value, by, err);

    return say(began, rc, "count %s %s: %" PRId64, c->name, words[op], *value);
}

static int trace_announce(hf_backend *be, const char *doing, int lease_ms,
                          hf_time by, hf_error *err) {
    hf_backend *inner = inner_of(be);
    hf_time began = hf__now();

    return say(began, inner->ops->announce(inner, doing, lease_ms, by, err),
               "announce for %d ms", lease_ms);
}

static int trace_clients(hf_backend *be, hf_record_fn *fn, void *arg,
                         hf_time by, hf_error *err) {
    hf_backend *inner = inner_of(be);
    hf_time began = hf__now();
    int rc = inner->ops->clients ?
                 inner->ops->clients(inner, fn, arg, by, err) :
                 hf__fail_plain(err, HF_ECANNOT);

    return say(began, rc, "clients");
}

static int trace_list(hf_backend *be, const char *name, hf_place_fn *fn,
                      void *arg, hf_time by, hf_error *err) {
    hf_backend *inner = inner_of(be);
    hf_time began = hf__now();

    return say(began, inner->ops->list(inner, name, fn, arg, by, err),
               "list %s", name ? name : "everything");
}

static int trace_examine(hf_backend *be, hf_fact_fn *fn, void *arg, hf_time by,
                         hf_error *err) {
    hf_backend *inner = inner_of(be);
    hf_time began = hf__now();

    return say(began, inner->ops->examine(inner, fn, arg, by, err), "examine");
}

static int trace_rights(hf_backend *be, const char *prefix, hf_rule_fn *fn,
                        void *arg, hf_time by, hf_error *err) {
    hf_backend *inner = inner_of(be);
    hf_time began = hf__now();
    int rc = inner->ops->rights ?
                 inner->ops->rights(inner, prefix, fn, arg, by, err) :
                 hf__fail_plain(err, HF_ECANNOT);

    return say(began, rc, "rights %s", prefix);
}

static const hf_backend_ops trace_ops = {
    .close = trace_close,
    .can = trace_can,
    .where = trace_where,
    .attempt = trace_attempt,
    .watch = trace_watch,
    .renew = trace_renew,
    .release = trace_release,
    .count = trace_count,
    .announce = trace_announce,
    .clients = trace_clients,
    .list = trace_list,
    .examine = trace_examine,
    .rights = trace_rights,
};

hf_backend *hf__trace_wrap(void *arg, hf_backend *inner) {
    trace *t = hf__calloc(1, sizeof *t);

    (void)arg;
    if (!t) {
        inner->ops->close(inner, false);
        return NULL;
    }
    t->base.ops = &trace_ops;
    t->base.host = inner->host;
    t->inner = inner;
    say(hf__now(), HF_OK, "open %s", inner->ops->where(inner));
    return &t->base;
}
