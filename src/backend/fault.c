/* SPDX-License-Identifier: MIT
 *
 * fault.c - wraps any store and loses, doubles and delays its verbs. */
#include "fault.h"

#include <stdatomic.h>

#include "../alloc.h"
#include "../err.h"
#include "../world.h"

typedef struct fault {
    hf_backend base;
    hf_backend *inner;
    pthread_mutex_t mu;
    pthread_cond_t cond;
    struct {
        hf_trouble trouble;
        int times, calls;
    } verbs[HF_VERBS]; /* mu */
    atomic_int session_ms;
} fault;

static fault *fault_of(hf_backend *be) {
    return (fault *)be;
}

/* What happens to this call. */
static hf_trouble fate(fault *f, hf_verb verb) {
    hf_trouble trouble = HF_TROUBLE_NONE;

    pthread_mutex_lock(&f->mu);
    f->verbs[verb].calls++;
    if (f->verbs[verb].times != 0) {
        trouble = f->verbs[verb].trouble;
        if (f->verbs[verb].times > 0)
            f->verbs[verb].times--;
    }
    pthread_mutex_unlock(&f->mu);
    return trouble;
}

static int unsent(hf_error *err) {
    return hf__fail(err, HF_EDOWN, "the request was lost on its way");
}

static int unanswered(hf_error *err) {
    return hf__fail(err, HF_EDOUBT, "the answer was lost on its way");
}

static int silent(fault *f, hf_time by, hf_error *err) {
    pthread_mutex_lock(&f->mu);
    while (hf__now() < by)
        hf__world->wait(&f->cond, &f->mu, by);
    pthread_mutex_unlock(&f->mu);
    return unanswered(err);
}

static void fault_close(hf_backend *be, bool forked) {
    fault *f = fault_of(be);

    f->inner->ops->close(f->inner, forked);
    if (forked)
        return;
    pthread_mutex_destroy(&f->mu);
    pthread_cond_destroy(&f->cond);
    hf__free(f);
}

static unsigned fault_can(const hf_backend *be, hf_kind kind) {
    const hf_backend *inner = ((const fault *)be)->inner;

    return inner->ops->can(inner, kind);
}

static const char *fault_where(const hf_backend *be) {
    const hf_backend *inner = ((const fault *)be)->inner;

    return inner->ops->where(inner);
}

static int fault_attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                         hf_error *err) {
    fault *f = fault_of(be);
    hf_claim unheard = *c;

    switch (fate(f, HF_VERB_ATTEMPT)) {
    case HF_TROUBLE_UNSENT:
        return unsent(err);
    case HF_TROUBLE_UNANSWERED:
        f->inner->ops->attempt(f->inner, &unheard, waits, by, err);
        return unanswered(err);
    case HF_TROUBLE_SILENT:
        return silent(f, by, err);
    case HF_TROUBLE_TWICE:
        f->inner->ops->attempt(f->inner, &unheard, waits, by, err);
        break;
    default:
        break;
    }
    c->session_ms = f->session_ms;
    return f->inner->ops->attempt(f->inner, c, waits, by, err);
}

static int fault_watch(hf_backend *be, const hf_claim *c, bool on, hf_time by,
                       hf_error *err) {
    fault *f = fault_of(be);
    hf_trouble trouble = fate(f, HF_VERB_WATCH);

    if (trouble == HF_TROUBLE_MUTE)
        return HF_OK;
    if (on && trouble == HF_TROUBLE_UNSENT)
        return unsent(err);
    return f->inner->ops->watch(f->inner, c, on, by, err);
}

static int fault_renew(hf_backend *be, hf_claim *const *claims, size_t n,
                       hf_time by, hf_error *err) {
    fault *f = fault_of(be);
    int rc = HF_OK;

    switch (fate(f, HF_VERB_RENEW)) {
    case HF_TROUBLE_UNSENT:
        rc = unsent(err);
        break;
    case HF_TROUBLE_UNANSWERED:
        f->inner->ops->renew(f->inner, claims, n, by, err);
        rc = unanswered(err);
        break;
    case HF_TROUBLE_SILENT:
        rc = silent(f, by, err);
        break;
    case HF_TROUBLE_TWICE:
        f->inner->ops->renew(f->inner, claims, n, by, err);
        break;
    default:
        break;
    }
    for (size_t i = 0; i < n; i++) {
        claims[i]->session_ms = f->session_ms;
        claims[i]->result = rc;
    }
    if (rc == HF_OK)
        rc = f->inner->ops->renew(f->inner, claims, n, by, err);
    return rc;
}

static int fault_release(hf_backend *be, hf_claim *c, hf_how how,
                         const char *whose, hf_time by, hf_error *err) {
    fault *f = fault_of(be);

    switch (fate(f, HF_VERB_RELEASE)) {
    case HF_TROUBLE_UNSENT:
        return unsent(err);
    case HF_TROUBLE_UNANSWERED:
        f->inner->ops->release(f->inner, c, how, whose, by, err);
        return unanswered(err);
    case HF_TROUBLE_SILENT:
        return silent(f, by, err);
    case HF_TROUBLE_FORGOTTEN:
        return HF_OK;
    case HF_TROUBLE_TWICE:
        f->inner->ops->release(f->inner, c, how, whose, by, err);
        break;
    default:
        break;
    }
    return f->inner->ops->release(f->inner, c, how, whose, by, err);
}

static int fault_count(hf_backend *be, hf_claim *c, hf_count_op op,
                       int64_t *value, hf_time by, hf_error *err) {
    fault *f = fault_of(be);
    int64_t unheard = *value;

    switch (fate(f, HF_VERB_COUNT)) {
    case HF_TROUBLE_UNSENT:
        return unsent(err);
    case HF_TROUBLE_UNANSWERED:
        f->inner->ops->count(f->inner, c, op, &unheard, by, err);
        return unanswered(err);
    case HF_TROUBLE_SILENT:
        return silent(f, by, err);
    case HF_TROUBLE_TWICE:
        f->inner->ops->count(f->inner, c, op, &unheard, by, err);
        break;
    default:
        break;
    }
    return f->inner->ops->count(f->inner, c, op, value, by, err);
}

static int fault_announce(hf_backend *be, const char *doing, int lease_ms,
                          hf_time by, hf_error *err) {
    hf_backend *inner = fault_of(be)->inner;

    return inner->ops->announce(inner, doing, lease_ms, by, err);
}

static int fault_clients(hf_backend *be, hf_record_fn *fn, void *arg,
                         hf_time by, hf_error *err) {
    hf_backend *inner = fault_of(be)->inner;

    return inner->ops->clients ? inner->ops->clients(inner, fn, arg, by, err) :
                                 hf__fail_plain(err, HF_ECANNOT);
}

static int fault_list(hf_backend *be, const char *name, hf_place_fn *fn,
                      void *arg, hf_time by, hf_error *err) {
    hf_backend *inner = fault_of(be)->inner;

    return inner->ops->list(inner, name, fn, arg, by, err);
}

static int fault_examine(hf_backend *be, hf_fact_fn *fn, void *arg, hf_time by,
                         hf_error *err) {
    hf_backend *inner = fault_of(be)->inner;

    return inner->ops->examine(inner, fn, arg, by, err);
}

static const hf_backend_ops fault_ops = {
    .close = fault_close,
    .can = fault_can,
    .where = fault_where,
    .attempt = fault_attempt,
    .watch = fault_watch,
    .renew = fault_renew,
    .release = fault_release,
    .count = fault_count,
    .announce = fault_announce,
    .clients = fault_clients,
    .list = fault_list,
    .examine = fault_examine,
};

hf_backend *hf__fault_wrap(void *arg, hf_backend *inner) {
    fault *f = hf__calloc(1, sizeof *f);

    if (!f) {
        inner->ops->close(inner, false);
        return NULL;
    }
    f->base.ops = &fault_ops;
    f->base.host = inner->host;
    f->inner = inner;
    pthread_mutex_init(&f->mu, NULL);
    pthread_cond_init(&f->cond, NULL);
    if (arg)
        *(hf_backend **)arg = &f->base;
    return &f->base;
}

void hf__fault_set(hf_backend *be, hf_verb verb, hf_trouble trouble,
                   int times) {
    fault *f = fault_of(be);

    pthread_mutex_lock(&f->mu);
    f->verbs[verb].trouble = trouble;
    f->verbs[verb].times = times;
    pthread_mutex_unlock(&f->mu);
}

void hf__fault_tie(hf_backend *be, int session_ms) {
    atomic_store(&fault_of(be)->session_ms, session_ms);
}

int hf__fault_calls(hf_backend *be, hf_verb verb) {
    fault *f = fault_of(be);
    int calls;

    pthread_mutex_lock(&f->mu);
    calls = f->verbs[verb].calls;
    pthread_mutex_unlock(&f->mu);
    return calls;
}
