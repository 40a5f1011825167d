/* SPDX-License-Identifier: MIT
 *
 * logged.c - wraps any store and writes into the log what it is asked: every
 * verb, what came of it and how long it took, for those who want to see all of
 * it; and for everybody when it stops doing what it is asked, and when it does
 * so again.  No change of either sort is told more than once a second. */
#include <stdio.h>

#include "../alloc.h"
#include "../err.h"
#include "../log.h"
#include "table.h"

typedef struct logged {
    hf_backend base;
    hf_backend_ops ops; /* ours, less what the store does not have */
    hf_backend *inner;

    atomic_int trouble;  /* what it last failed with; 0: it does not */
    atomic_llong since;  /* when that began */
    atomic_bool is_told; /* there is an entry about it */
    hf_pace pace;
} logged;

/* ---- trouble ----------------------------------------------------------- */

typedef enum sort { AN_ANSWER, TROUBLE, NEITHER } sort;

/* Whether the store does its work.  Of what is the caller's own limit, or the
 * machine's, nothing follows. */
static sort sort_of(int rc) {
    switch (rc) {
    case HF_EDOWN:
    case HF_EDOUBT:
    case HF_ESTARTING:
    case HF_EREAD_ONLY:
    case HF_EFULL:
    case HF_ECROWDED:
    case HF_EAUTH:
    case HF_EFORBIDDEN:
    case HF_ETLS:
    case HF_ESTORE:
        return TROUBLE;
    case HF_OK:
    case HF_BUSY:
    case HF_ELOST:
    case HF_EFREE:
        return AN_ANSWER;
    default:
        return NEITHER;
    }
}

static void fails(logged *l, int rc, const hf_error *err) {
    const hf_host *host = l->base.host;
    bool silent = rc == HF_EDOWN || rc == HF_EDOUBT || rc == HF_ESTARTING;

    if (!atomic_exchange(&l->trouble, rc))
        atomic_store(&l->since, hf__now());
    if (atomic_load(&l->is_told) || host->log_level < hf__log_level_of(rc) ||
        !hf__pace(&l->pace) || atomic_exchange(&l->is_told, true))
        return;
    hf__log(host, hf__log_level_of(rc),
            silent ? "the store does not answer" :
                     "the store refuses what it is asked",
            {"code", hf_error_name(rc)}, {"why", err->text});
}

static void answers(logged *l) {
    if (!atomic_load_explicit(&l->trouble, memory_order_relaxed) ||
        !atomic_exchange(&l->trouble, 0) ||
        !atomic_exchange(&l->is_told, false))
        return;
    hf__log(
        l->base.host, HF_LOG_INFO, "the store does its work again",
        {"ms", hf__digits((hf__now() - atomic_load(&l->since)) / HF_MS).text});
}

/* Of the verbs by which locks live. */
static int judged(logged *l, int rc, const hf_error *err) {
    switch (sort_of(rc)) {
    case TROUBLE:
        fails(l, rc, err);
        break;
    case AN_ANSWER:
        answers(l);
        break;
    case NEITHER:
        break;
    }
    return rc;
}

/* ---- every verb -------------------------------------------------------- */

static hf_digits millis(hf_time began) {
    hf_digits ret;

    snprintf(ret.text, sizeof ret.text, "%.3f",
             (double)(hf__now() - began) / 1e6);
    return ret;
}

#define SAY(be, began, verb, rc, err, ...)                                     \
    hf__log((be)->host, HF_LOG_DEBUG, "the store was asked", {"verb", (verb)}, \
            __VA_ARGS__, {"result", hf_error_name(rc)},                        \
            {"ms", millis(began).text}, {"why", (rc) < 0 ? (err)->text : ""})

/* Who does not listen to that need not look at the clock. */
static hf_time start_of(const hf_backend *be) {
    return be->host->log_level >= HF_LOG_DEBUG ? hf__now() : 0;
}

static logged *of(hf_backend *be) {
    return (logged *)be;
}

static void logged_close(hf_backend *be, bool forked) {
    hf_backend *inner = of(be)->inner;

    inner->ops->close(inner, forked);
    if (!forked) /* as the stores do: the allocator may be held by nobody */
        hf__free(be);
}

static unsigned logged_can(const hf_backend *be, hf_kind kind) {
    const hf_backend *inner = ((const logged *)be)->inner;

    return inner->ops->can(inner, kind);
}

static const char *logged_where(const hf_backend *be) {
    const hf_backend *inner = ((const logged *)be)->inner;

    return inner->ops->where(inner);
}

static int logged_attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                          hf_error *err) {
    hf_backend *inner = of(be)->inner;
    hf_time began = start_of(be);
    int rc = inner->ops->attempt(inner, c, waits, by, err);

    SAY(be, began, "attempt", rc, err, {"name", c->name},
        {"owner", hf__digits((int64_t)c->owner).text},
        {"token", rc == HF_OK ? hf__digits((int64_t)c->token).text : ""});
    return judged(of(be), rc, err);
}

static int logged_watch(hf_backend *be, const hf_claim *c, bool on, hf_time by,
                        hf_error *err) {
    hf_backend *inner = of(be)->inner;
    hf_time began = start_of(be);
    int rc = inner->ops->watch(inner, c, on, by, err);

    SAY(be, began, "watch", rc, err, {"name", c->name},
        {"how", on ? "on" : "off"});
    return rc;
}

static int logged_renew(hf_backend *be, hf_claim *const *claims, size_t n,
                        hf_time by, hf_error *err) {
    hf_backend *inner = of(be)->inner;
    hf_time began = start_of(be);
    int rc = inner->ops->renew(inner, claims, n, by, err);

    SAY(be, began, "renew", rc, err, {"name", n ? claims[0]->name : ""},
        {"n", hf__digits((int64_t)n).text});
    return judged(of(be), rc, err);
}

static int logged_release(hf_backend *be, hf_claim *c, hf_how how,
                          const char *whose, hf_time by, hf_error *err) {
    static const char *const words[] = {[HF_RELEASE] = "awaited",
                                        [HF_RELEASE_POSTED] = "posted",
                                        [HF_RELEASE_AFTER] = "after",
                                        [HF_RELEASE_FORCED] = "forced"};
    hf_backend *inner = of(be)->inner;
    hf_time began = start_of(be);
    int rc = inner->ops->release(inner, c, how, whose, by, err);

    SAY(be, began, "release", rc, err, {"name", c->name},
        {"owner", hf__digits((int64_t)c->owner).text}, {"how", words[how]});
    return judged(of(be), rc, err);
}

static int logged_count(hf_backend *be, hf_claim *c, hf_count_op op,
                        int64_t *value, hf_time by, hf_error *err) {
    static const char *const words[] = {
        [HF_COUNT_FREE] = "free",     [HF_COUNT_LEASED] = "leased",
        [HF_COUNT_TOKEN] = "token",   [HF_COUNT_SET] = "set",
        [HF_COUNT_ADD] = "add",       [HF_COUNT_RESIZE] = "resize",
        [HF_COUNT_GIVE] = "give",     [HF_COUNT_GIVE_IF_SET] = "give if set",
        [HF_COUNT_DRAIN] = "drain",   [HF_COUNT_DOWN] = "down",
        [HF_COUNT_DELETE] = "delete",
    };
    hf_backend *inner = of(be)->inner;
    hf_time began = start_of(be);
    int rc = inner->ops->count(inner, c, op, value, by, err);

    SAY(be, began, "count", rc, err, {"name", c->name}, {"how", words[op]},
        {"value", hf__digits(*value).text});
    return judged(of(be), rc, err);
}

static int logged_announce(hf_backend *be, const char *doing, int lease_ms,
                           hf_time by, hf_error *err) {
    hf_backend *inner = of(be)->inner;
    hf_time began = start_of(be);
    int rc = inner->ops->announce(inner, doing, lease_ms, by, err);

    SAY(be, began, "announce", rc, err,
        {"lease_ms", hf__digits(lease_ms).text});
    return judged(of(be), rc, err);
}

static int logged_clients(hf_backend *be, hf_record_fn *fn, void *arg,
                          hf_time by, hf_error *err) {
    hf_backend *inner = of(be)->inner;
    hf_time began = start_of(be);
    int rc = inner->ops->clients(inner, fn, arg, by, err);

    SAY(be, began, "clients", rc, err, {"name", ""});
    return rc;
}

static int logged_list(hf_backend *be, const char *name, hf_place_fn *fn,
                       void *arg, hf_time by, hf_error *err) {
    hf_backend *inner = of(be)->inner;
    hf_time began = start_of(be);
    int rc = inner->ops->list(inner, name, fn, arg, by, err);

    SAY(be, began, "list", rc, err, {"name", name});
    return rc;
}

static int logged_examine(hf_backend *be, hf_fact_fn *fn, void *arg, hf_time by,
                          hf_error *err) {
    hf_backend *inner = of(be)->inner;
    hf_time began = start_of(be);
    int rc = inner->ops->examine(inner, fn, arg, by, err);

    SAY(be, began, "examine", rc, err, {"name", ""});
    return rc;
}

static int logged_rights(hf_backend *be, const char *prefix, hf_rule_fn *fn,
                         void *arg, hf_time by, hf_error *err) {
    hf_backend *inner = of(be)->inner;
    hf_time began = start_of(be);
    int rc = inner->ops->rights(inner, prefix, fn, arg, by, err);

    SAY(be, began, "rights", rc, err, {"name", prefix});
    return rc;
}

/* ---- wrapping ---------------------------------------------------------- */

static const hf_backend_ops logged_ops = {
    .close = logged_close,
    .can = logged_can,
    .where = logged_where,
    .attempt = logged_attempt,
    .watch = logged_watch,
    .renew = logged_renew,
    .release = logged_release,
    .count = logged_count,
    .announce = logged_announce,
    .clients = logged_clients,
    .list = logged_list,
    .examine = logged_examine,
    .rights = logged_rights,
};

hf_backend *hf__logged_wrap(hf_backend *inner) {
    logged *l;

    if (inner->host->log_level == HF_LOG_NONE)
        return inner;
    l = hf__calloc(1, sizeof *l);
    if (!l) {
        inner->ops->close(inner, false);
        return NULL;
    }
    l->ops = logged_ops;
    if (!inner->ops->clients)
        l->ops.clients = NULL;
    if (!inner->ops->rights)
        l->ops.rights = NULL;
    l->base.ops = &l->ops;
    l->base.host = inner->host;
    l->inner = inner;
    return &l->base;
}
