/* SPDX-License-Identifier: MIT
 *
 * endpoints.c - the servers that an address names, any of which will do. */
#include "endpoints.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../log.h"
#include "../../world.h"
#include "../net/dial.h"

enum { DEFAULT_PORT = 2379 };

static const hf_time BACKOFF_MIN = 50 * HF_MS, BACKOFF_MAX = 2 * HF_SECOND;

typedef struct endpoint {
    char *host, *where, *authority;
    int port;
    hf_tls *tls; /* NULL: plain */

    hf_time shy_until, backoff; /* mu: it just failed */
    hf_error why;               /* mu: how */
    hf_pace pace;               /* of entries about it */
} endpoint;

struct hf_endpoints {
    const hf_host *host; /* who keeps the log */
    endpoint *all;
    size_t n;
    bool secure;
    hf_tls_rules rules;
    atomic_bool stopping;
    pthread_mutex_t mu;
    size_t first; /* mu: to be tried first */
};

/* ---- life -------------------------------------------------------------- */

static int name_it(hf_endpoints *e, endpoint *p, const hf_uri_host *at) {
    bool v6 = at->host && strchr(at->host, ':');
    const char *host = at->host && *at->host ? at->host : "127.0.0.1";

    p->port = at->port ? at->port : DEFAULT_PORT;
    p->host = hf__strdup(host);
    if (hf__asprintf(&p->authority, "%s%s%s:%d", v6 ? "[" : "", host,
                     v6 ? "]" : "", p->port) < 0)
        p->authority = NULL;
    if (hf__asprintf(&p->where, "etcd%s://%s", e->secure ? "s" : "",
                     p->authority ? p->authority : "") < 0)
        p->where = NULL;
    return p->host && p->authority && p->where ? HF_OK : HF_ENO_MEMORY;
}

static int add(hf_endpoints *e, const hf_uri_host *at, hf_error *err) {
    endpoint *p = &e->all[e->n++];

    if (name_it(e, p, at) != HF_OK)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    if (!e->secure)
        return HF_OK;
    return hf__tls_new(&p->tls,
                       &(hf_tls_peer){.rules = &e->rules,
                                      .where = p->where,
                                      .host = p->host,
                                      .plain = "etcd://",
                                      .alpn = "h2",
                                      .given_up = &e->stopping},
                       err);
}

int hf__endpoints_new(hf_endpoints **ret, const hf_uri *uri,
                      const hf_host *host, hf_error *err) {
    hf_endpoints *e = hf__calloc(1, sizeof *e);
    int rc;

    if (!e)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    e->host = host;
    pthread_mutex_init(&e->mu, NULL);
    e->secure = uri->tls;
    e->all = hf__calloc(uri->n_hosts ? uri->n_hosts : 1, sizeof *e->all);
    rc = e->all ? hf__tls_rules_read(&e->rules, uri, "etcds://", err) :
                  hf__fail_plain(err, HF_ENO_MEMORY);
    for (size_t i = 0; rc == HF_OK && i < uri->n_hosts; i++)
        rc = add(e, &uri->hosts[i], err);
    if (rc == HF_OK)
        *ret = e;
    else
        hf__endpoints_free(e);
    return rc;
}

void hf__endpoints_free(hf_endpoints *e) {
    if (!e)
        return;
    for (size_t i = 0; i < e->n; i++) {
        hf__tls_free(e->all[i].tls);
        hf__free(e->all[i].host);
        hf__free(e->all[i].where);
        hf__free(e->all[i].authority);
    }
    hf__free(e->all);
    hf__tls_rules_clear(&e->rules);
    pthread_mutex_destroy(&e->mu);
    hf__free(e);
}

void hf__endpoints_stop(hf_endpoints *e) {
    atomic_store(&e->stopping, true);
}

size_t hf__endpoints_count(const hf_endpoints *e) {
    return e->n;
}

const char *hf__endpoint_where(const hf_endpoints *e, size_t which) {
    return e->all[which].where;
}

const hf_tls_rules *hf__endpoints_rules(const hf_endpoints *e) {
    return e->secure ? &e->rules : NULL;
}

/* ---- connecting -------------------------------------------------------- */

int hf__endpoint_dial(hf_endpoints *e, size_t which, hf_grpc **ret, hf_time by,
                      hf_error *err) {
    const endpoint *p = &e->all[which];
    SSL *ssl = NULL;
    int fd = hf__net_dial(p->host, p->port, p->where, by, &e->stopping, err);
    int rc = HF_OK;

    if (fd < 0)
        return fd;
    if (p->tls)
        rc = hf__tls_connect(&ssl, p->tls, fd, by, err);
    if (rc == HF_OK)
        rc = hf__grpc_new(ret, fd, ssl, p->authority, err);
    if (rc == HF_OK)
        return HF_OK;
    SSL_free(ssl);
    hf__world->close(fd);
    return rc;
}

static void failed(hf_endpoints *e, size_t which, const hf_error *err) {
    endpoint *p = &e->all[which];

    pthread_mutex_lock(&e->mu);
    p->backoff =
        p->backoff ? hf__sooner(2 * p->backoff, BACKOFF_MAX) : BACKOFF_MIN;
    p->shy_until = hf__now() + hf__jitter(p->backoff);
    p->why = *err;
    if (e->first == which)
        e->first = (which + 1) % e->n;
    pthread_mutex_unlock(&e->mu);
}

static void served(hf_endpoints *e, size_t which) {
    pthread_mutex_lock(&e->mu);
    e->all[which].backoff = e->all[which].shy_until = 0;
    e->first = which;
    pthread_mutex_unlock(&e->mu);
}

/* It is reachable, so it is not left alone for long. */
void hf__endpoints_shun(hf_endpoints *e, size_t which) {
    pthread_mutex_lock(&e->mu);
    if (e->first == which)
        e->first = (which + 1) % e->n;
    pthread_mutex_unlock(&e->mu);
}

/* May it be tried, and if not, why it failed last. */
static bool ready(hf_endpoints *e, size_t which, hf_error *err) {
    endpoint *p = &e->all[which];
    bool yes;

    pthread_mutex_lock(&e->mu);
    yes = p->shy_until <= hf__now();
    if (!yes)
        *err = p->why;
    pthread_mutex_unlock(&e->mu);
    return yes;
}

int hf__endpoints_dial(hf_endpoints *e, hf_grpc **ret, size_t *which,
                       hf_time by, hf_error *err) {
    size_t first, left = e->n;
    int rc = HF_EDOWN;

    pthread_mutex_lock(&e->mu);
    first = e->first;
    pthread_mutex_unlock(&e->mu);
    for (size_t i = 0; i < e->n && !atomic_load(&e->stopping); i++, left--) {
        size_t at = (first + i) % e->n;
        hf_time share = hf__now() + (by - hf__now()) / (hf_time)left;

        if (!ready(e, at, err)) {
            rc = err->code;
            continue;
        }
        rc = hf__endpoint_dial(e, at, ret, share, err);
        if (rc == HF_OK) {
            served(e, at);
            hf__log_connected(e->host, e->all[at].where);
            *which = at;
            return HF_OK;
        }
        failed(e, at, err);
        hf__log_unreached(e->host, &e->all[at].pace, e->all[at].where, err);
    }
    if (atomic_load(&e->stopping))
        return hf__fail(err, HF_EDOWN, "the client is being closed");
    return rc;
}
