/* SPDX-License-Identifier: MIT
 *
 * address.c - what a redis URI says.
 *
 * The password comes from the URI, else from password_file=, else from
 * REDISCLI_AUTH, as redis-cli has it.  It is wiped when we are done. */
#include "address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../net/secret.h"

enum { DEFAULT_PORT = 6379 };

/* Copies a string that may be absent.  False: out of memory. */
static bool copy(char **ret, const char *text) {
    *ret = text ? hf__strdup(text) : NULL;
    return *ret || !text;
}

static int set_db(hf_address *a, const char *text, hf_error *err) {
    char *end;
    long db;

    if (!text || !*text)
        return HF_OK;
    db = strtol(text, &end, 10);
    if (*end || db < 0 || db > 1000000) /* as is what overflowed */
        return hf__fail(err, HF_EURI,
                        "the database \"%s\" is not a number: write "
                        "redis://host:port/0",
                        text);
    if (a->db && a->db != (int)db)
        return hf__fail(err, HF_EURI,
                        "two databases, %d and %ld: give one of them", a->db,
                        db);
    a->db = (int)db;
    return HF_OK;
}

static int set_credentials(hf_address *a, const hf_uri *uri, hf_error *err) {
    const char *file = hf_uri_get(uri, "password_file");
    const char *password = uri->password;

    if (!password && file)
        return copy(&a->user, uri->user) ?
                   hf__secret_read(&a->password, file, err) :
                   hf__fail_plain(err, HF_ENO_MEMORY);
    if (!password)
        password = secure_getenv("REDISCLI_AUTH");
    if (!password && uri->user)
        password = ""; /* Redis knows users that need none */
    if (!copy(&a->user, uri->user) || !copy(&a->password, password))
        return hf__fail_plain(err, HF_ENO_MEMORY);
    return HF_OK;
}

static int set_tls(hf_address *a, const hf_uri *uri, hf_error *err) {
    a->tls = uri->tls;
    return hf__tls_rules_read(&a->rules, uri, "rediss://", err);
}

static int set_place(hf_address *a, const hf_uri *uri, size_t i,
                     hf_error *err) {
    bool local = strcmp(uri->scheme, "redis+unix") == 0;
    const hf_uri_host *at = i < uri->n_hosts ? &uri->hosts[i] : NULL;
    const char *host = at ? at->host : NULL;

    if (local && (!uri->path || !*uri->path))
        return hf__fail(err, HF_EURI,
                        "no socket: write redis+unix:///run/redis.sock");
    if (local)
        return copy(&a->socket, uri->path) ? HF_OK :
                                             hf__fail_plain(err, HF_ENO_MEMORY);
    a->port = at && at->port ? at->port : DEFAULT_PORT;
    if (!copy(&a->host, host && *host ? host : "127.0.0.1"))
        return hf__fail_plain(err, HF_ENO_MEMORY);
    return set_db(a, uri->path, err);
}

static int set_where(hf_address *a, hf_error *err) {
    const char *at = a->user ? "@" : "", *user = a->user ? a->user : "";
    bool v6 = a->host && strchr(a->host, ':');
    int size;

    if (a->socket)
        size = hf__asprintf(&a->where, "redis+unix://%s%s%s?db=%d", user, at,
                            a->socket, a->db);
    else
        size = hf__asprintf(&a->where, "redis%s://%s%s%s%s%s:%d/%d",
                            a->tls ? "s" : "", user, at, v6 ? "[" : "", a->host,
                            v6 ? "]" : "", a->port, a->db);
    if (size >= 0)
        return HF_OK;
    a->where = NULL;
    return hf__fail_plain(err, HF_ENO_MEMORY);
}

int hf__address_new(hf_address **ret, const hf_uri *uri, size_t i,
                    hf_error *err) {
    hf_address *a = hf__calloc(1, sizeof *a);
    int rc;

    if (!a)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    rc = set_place(a, uri, i, err);
    if (rc == HF_OK)
        rc = set_db(a, hf_uri_get(uri, "db"), err);
    if (rc == HF_OK)
        rc = set_tls(a, uri, err);
    if (rc == HF_OK)
        rc = set_credentials(a, uri, err);
    if (rc == HF_OK)
        rc = set_where(a, err);
    if (rc == HF_OK)
        *ret = a;
    else
        hf__address_free(a);
    return rc;
}

int hf__address_at(hf_address **ret, const hf_address *like, const char *host,
                   int port, hf_error *err) {
    hf_address *a = hf__calloc(1, sizeof *a);
    int rc = HF_OK;

    if (!a)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    a->port = port;
    a->db = like->db;
    a->tls = like->tls;
    if (!copy(&a->host, host) || !copy(&a->user, like->user) ||
        !copy(&a->password, like->password))
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    if (rc == HF_OK)
        rc = hf__tls_rules_copy(&a->rules, &like->rules, err);
    if (rc == HF_OK)
        rc = set_where(a, err);
    if (rc == HF_OK)
        *ret = a;
    else
        hf__address_free(a);
    return rc;
}

int hf__address_tls(hf_tls **ret, const hf_address *a, hf_error *err) {
    const hf_tls_peer peer = {.rules = &a->rules,
                              .where = a->where,
                              .host = a->host,
                              .plain = "redis://",
                              .given_up = a->given_up};

    return hf__tls_new(ret, &peer, err);
}

void hf__address_free(hf_address *a) {
    if (!a)
        return;
    hf__free(a->host);
    hf__free(a->socket);
    hf__free(a->user);
    hf__secret_free(a->password);
    hf__tls_rules_clear(&a->rules);
    hf__free(a->where);
    hf__free(a);
}
