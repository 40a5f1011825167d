/* SPDX-License-Identifier: MIT
 *
 * sentinel_uri.c - what a redis+sentinel URI says.
 *
 * User, password, database and tls_ parameters are those of the servers.  The
 * sentinels have their own, sentinel_user and so on: no password unless one is
 * given, TLS as the servers have it unless sentinel_ parameters say
 * otherwise. */
#include "sentinel_uri.h"

#include <stdio.h>
#include <string.h>

#include "../../../alloc.h"
#include "../../../err.h"
#include "../../net/secret.h"

/* What the sentinels may have of their own, and what it is called there. */
static const char *const tls_params[] = {"tls_ca", "tls_cert", "tls_key",
                                         "tls_verify", "tls_server_name"};

enum { TLS_PARAMS = sizeof tls_params / sizeof tls_params[0] };

static const char *own_param(const hf_uri *uri, const char *key) {
    char own[32];

    snprintf(own, sizeof own, "sentinel_%s", key);
    return hf_uri_get(uri, own);
}

/* ---- the path ---------------------------------------------------------- */

/* "mymaster" or "mymaster/0"; *db is what stands behind the slash, or NULL. */
static int read_path(hf_sentinel_uri *u, const char *path, const char **db,
                     hf_error *err) {
    size_t n = strcspn(path, "/");

    *db = path[n] && path[n + 1] ? path + n + 1 : NULL;
    for (size_t i = 0; i < n; i++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                    "0123456789.-_",
                    path[i]))
            return hf__fail(err, HF_EURI,
                            "a master's name has letters, digits and .-_ "
                            "only: write redis+sentinel://HOST,HOST/MASTER/0");
    u->name = hf__strndup(path, n);
    return u->name ? HF_OK : hf__fail_plain(err, HF_ENO_MEMORY);
}

/* ---- the servers ------------------------------------------------------- */

/* As if it were one server's address; only the place is missing. */
static int read_servers(hf_sentinel_uri *u, const hf_uri *uri, const char *db,
                        hf_error *err) {
    hf_uri one = {.scheme = "redis",
                  .tls = uri->tls,
                  .user = uri->user,
                  .password = uri->password,
                  .path = (char *)(uintptr_t)db,
                  .params = uri->params,
                  .n_params = uri->n_params};

    return hf__address_new(&u->servers, &one, 0, err);
}

/* ---- the sentinels ----------------------------------------------------- */

static int has_tls(const hf_uri *uri, bool *ret, hf_error *err) {
    const char *text = hf_uri_get(uri, "sentinel_tls");

    *ret = text ? strcmp(text, "on") == 0 : uri->tls;
    if (text && !*ret && strcmp(text, "off") != 0)
        return hf__fail(err, HF_EURI, "sentinel_tls=%.32s: say on or off",
                        text);
    for (int i = 0; i < TLS_PARAMS && !*ret; i++)
        if (own_param(uri, tls_params[i]))
            return hf__fail(err, HF_EURI,
                            "sentinel_%s without TLS to the sentinels: add "
                            "sentinel_tls=on",
                            tls_params[i]);
    return HF_OK;
}

static void set_param(hf_uri *one, const char *key, const char *value) {
    if (value)
        one->params[one->n_params++] =
            (hf_uri_param){(char *)(uintptr_t)key, (char *)(uintptr_t)value};
}

/* A password that was meant for the servers is none of the sentinels': where
 * they have none of their own, an empty one keeps REDISCLI_AUTH away. */
static int read_sentinels(hf_sentinel_uri *u, const hf_uri *uri,
                          hf_error *err) {
    const char *file = hf_uri_get(uri, "sentinel_password_file");
    const char *password = hf_uri_get(uri, "sentinel_password");
    bool none = !password && !file;
    hf_uri_param params[TLS_PARAMS + 1];
    hf_uri one = {.scheme = "redis",
                  .user = (char *)(uintptr_t)hf_uri_get(uri, "sentinel_user"),
                  .password = (char *)(uintptr_t)(none ? "" : password),
                  .params = params};
    int rc = has_tls(uri, &one.tls, err);

    if (rc != HF_OK)
        return rc;
    set_param(&one, "password_file", file);
    for (int i = 0; i < TLS_PARAMS && one.tls; i++) {
        const char *own = own_param(uri, tls_params[i]);

        set_param(&one, tls_params[i],
                  own ? own : hf_uri_get(uri, tls_params[i]));
    }
    rc = hf__address_new(&u->sentinels, &one, 0, err);
    if (rc == HF_OK && none && !one.user) {
        hf__secret_free(u->sentinels->password);
        u->sentinels->password = NULL;
    }
    return rc;
}

/* ---- where ------------------------------------------------------------- */

/* "host:port,host:port" */
static char *spell_hosts(const hf_uri *uri) {
    size_t size = 1;
    char *text, *to;

    for (size_t i = 0; i < uri->n_hosts; i++)
        size += strlen(uri->hosts[i].host) + sizeof "[]:65535,";
    text = to = hf__malloc(size);
    for (size_t i = 0; text && i < uri->n_hosts; i++) {
        const hf_uri_host *h = &uri->hosts[i];
        bool v6 = strchr(h->host, ':') != NULL;

        to += sprintf(to, "%s%s%s%s:%d", i ? "," : "", v6 ? "[" : "", h->host,
                      v6 ? "]" : "", h->port ? h->port : HF_SENTINEL_PORT);
    }
    return text;
}

static int set_where(hf_sentinel_uri *u, const hf_uri *uri, hf_error *err) {
    const hf_address *a = u->servers;
    char *hosts = spell_hosts(uri);
    int size = -1;

    if (hosts)
        size = hf__asprintf(&u->where, "redis%s+sentinel://%s%s%s/%s/%d",
                            a->tls ? "s" : "", a->user ? a->user : "",
                            a->user ? "@" : "", hosts, u->name, a->db);
    hf__free(hosts);
    if (size >= 0)
        return HF_OK;
    u->where = NULL;
    return hf__fail_plain(err, HF_ENO_MEMORY);
}

/* ---- all of it --------------------------------------------------------- */

int hf__sentinel_uri_read(hf_sentinel_uri *ret, const hf_uri *uri,
                          hf_error *err) {
    const char *db;
    int rc;

    *ret = (hf_sentinel_uri){0};
    rc = read_path(ret, uri->path, &db, err);
    if (rc == HF_OK)
        rc = read_servers(ret, uri, db, err);
    if (rc == HF_OK)
        rc = read_sentinels(ret, uri, err);
    if (rc == HF_OK)
        rc = set_where(ret, uri, err);
    if (rc != HF_OK)
        hf__sentinel_uri_clear(ret);
    return rc;
}

void hf__sentinel_uri_clear(hf_sentinel_uri *u) {
    hf__free(u->name);
    hf__free(u->where);
    hf__address_free(u->servers);
    hf__address_free(u->sentinels);
    *u = (hf_sentinel_uri){0};
}

int hf__sentinel_uri_refuse(const hf_uri *uri, hf_error *err) {
    for (size_t i = 0; i < uri->n_params; i++)
        if (strncmp(uri->params[i].key, "sentinel_", 9) == 0)
            return hf__fail(err, HF_EURI,
                            "%.40s is for redis+sentinel://; there is no "
                            "sentinel here",
                            uri->params[i].key);
    return HF_OK;
}
