/* SPDX-License-Identifier: MIT
 *
 * uri_rules.c - what a store demands of its address beyond the grammar.
 *
 * Each rule is there because the address would otherwise be accepted and mean
 * something else than its writer thinks: another file, another server, another
 * kind of safety. */
#include <string.h>
#include <strings.h>

#include "alloc.h"
#include "err.h"
#include "uri.h"

static bool is_scheme(const hf_uri *uri, const char *scheme) {
    return strcmp(uri->scheme, scheme) == 0;
}

static bool is_redis(const hf_uri *uri) {
    return strncmp(uri->scheme, "redis", 5) == 0 || is_scheme(uri, "redlock");
}

/* ---- parameters -------------------------------------------------------- */

/* Other clients' names for what we call otherwise, on Redis. */
static const char *const aliases[][2] = {
    {"ssl_ca_certs", "tls_ca"},   {"ssl_certfile", "tls_cert"},
    {"ssl_keyfile", "tls_key"},   {"ssl_cert_reqs", "tls_verify"},
    {"verifyPeer", "tls_verify"}, {"database", "db"},
};

static const char *const verify_words[][2] = {
    {"true", "full"}, {"required", "full"}, {"full", "full"},
    {"ca", "ca"},     {"false", "none"},    {"none", "none"},
};

static int translate(hf_uri_param *param, hf_error *err) {
    const char *key = NULL;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(param->key, aliases[i][0]) == 0)
            key = aliases[i][1];
    if (key == NULL)
        return HF_OK;
    if (strcmp(key, "tls_verify") == 0)
        for (size_t i = 0; i < sizeof verify_words / sizeof *verify_words; i++)
            if (strcasecmp(param->value, verify_words[i][0]) == 0 &&
                hf__uri_replace(&param->value, verify_words[i][1], err) !=
                    HF_OK)
                return HF_ENO_MEMORY;
    return hf__uri_replace(&param->key, key, err);
}

static int settle_params(hf_uri *uri, hf_error *err) {
    for (size_t i = 0; i < uri->n_params; i++) {
        hf_uri_param *param = &uri->params[i];
        int rc = is_redis(uri) ? translate(param, err) : HF_OK;
        if (rc != HF_OK)
            return rc;
        if (hf_uri_get(uri, param->key) != param->value)
            return hf__fail(err, HF_EURI,
                            "the parameter '%.60s' stands twice in the store's "
                            "address: keep one",
                            param->key);
    }
    return HF_OK;
}

static void drop_param(hf_uri *uri, const char *key) {
    size_t kept = 0;
    for (size_t i = 0; i < uri->n_params; i++) {
        if (strcmp(uri->params[i].key, key) != 0) {
            uri->params[kept++] = uri->params[i];
            continue;
        }
        hf__free(uri->params[i].key);
        hf__free(uri->params[i].value);
    }
    uri->n_params = kept;
}

/* ---- hosts ------------------------------------------------------------- */

/* A parameter may name a socket instead. */
static bool needs_host(const hf_uri *uri) {
    if (is_scheme(uri, "mariadb"))
        return hf_uri_get(uri, "unix_socket") == NULL &&
               hf_uri_get(uri, "socket") == NULL;
    return !is_scheme(uri, "postgresql");
}

static int check_hosts(const hf_uri *uri, hf_error *err) {
    if (uri->n_hosts == 0 && needs_host(uri))
        return hf__fail(err, HF_EURI,
                        "a host is missing in the store's address: write "
                        "%s://HOST",
                        uri->scheme);
    if (uri->n_hosts > 1 && is_scheme(uri, "redis"))
        return hf__fail(err, HF_EURI,
                        "redis:// takes one host.  Several mean one of three "
                        "things, of different safety: redis+sentinel:// or "
                        "redis+cluster:// (failover), or redlock:// (a "
                        "majority of independent servers)");
    if (uri->n_hosts > 1 && is_scheme(uri, "mariadb"))
        return hf__fail(err, HF_EURI, "mariadb:// takes one host");
    return HF_OK;
}

static int same_host(const hf_uri_host *a, const hf_uri_host *b) {
    int a_port = a->port != 0 ? a->port : 6379;
    int b_port = b->port != 0 ? b->port : 6379;
    return a_port == b_port && strcasecmp(a->host, b->host) == 0;
}

/* A member that is asked twice votes twice. */
static int check_redlock(const hf_uri *uri, hf_error *err) {
    for (size_t i = 0; i < uri->n_hosts; i++)
        for (size_t j = 0; j < i; j++)
            if (same_host(&uri->hosts[i], &uri->hosts[j]))
                return hf__fail(err, HF_EURI,
                                "redlock:// names the same server twice: a "
                                "majority needs different ones");
    return HF_OK;
}

/* ---- paths ------------------------------------------------------------- */

/* Or nothing at all. */
static bool is_number(const char *s) {
    return s[strspn(s, "0123456789")] == '\0';
}

static int check_database(const hf_uri *uri, hf_error *err) {
    if (uri->path == NULL || is_number(uri->path))
        return HF_OK;
    return hf__fail(err, HF_EURI,
                    "after the host of %s:// stands the number of a database "
                    "or nothing: write %s://HOST/0; in a password write '/' "
                    "as %%2F",
                    uri->scheme, uri->scheme);
}

/* The master's name is the path, "mymaster" or "mymaster/0"; lettuce has it in
 * a parameter and only the database in the path. */
static int settle_sentinel(hf_uri *uri, hf_error *err) {
    const char *master = hf_uri_get(uri, "sentinelMasterId");
    if (master != NULL) {
        const char *db = uri->path != NULL ? uri->path : "";
        size_t size = strlen(master) + strlen(db) + 2;
        char *path = hf__malloc(size);
        if (path == NULL)
            return hf__fail_plain(err, HF_ENO_MEMORY);
        stpcpy(stpcpy(stpcpy(path, master), *db != '\0' ? "/" : ""), db);
        hf__free(uri->path);
        uri->path = path;
        drop_param(uri, "sentinelMasterId");
    }
    if (uri->path == NULL || uri->path[0] == '/' || uri->path[0] == '\0')
        return hf__fail(err, HF_EURI,
                        "redis+sentinel:// does not say which master: write "
                        "redis+sentinel://HOST,HOST,HOST/MASTER");
    return HF_OK;
}

static int check_socket(const hf_uri *uri, hf_error *err) {
    if (uri->path != NULL && uri->path[0] == '/')
        return HF_OK;
    return hf__fail(err, HF_EURI,
                    "redis+unix names a socket by its whole path, after three "
                    "slashes: write redis+unix:///run/redis.sock");
}

/* The file's name if it stands directly in the root folder, however many
 * slashes and dots lead there. */
static const char *in_root(const char *path) {
    if (*path != '/')
        return NULL;
    while (*path == '/' || (*path == '.' && path[1] == '/'))
        path++;
    return strchr(path, '/') == NULL ? path : NULL;
}

/* SQLAlchemy's sqlite:///locks.db is relative, everybody else's is absolute.
 * Nobody wants a database in the root folder, and a silently different file is
 * a silently different lock: hence refused. */
static int settle_file(hf_uri *uri, hf_error *err) {
    char *path = uri->path;
    size_t n = path != NULL ? strlen(path) : 0;
    if (n == 0 || path[n - 1] == '/')
        return hf__fail(err, HF_EURI,
                        "the store's address names no file: write "
                        "sqlite:locks.db or sqlite:/var/lib/locks.db");
    if (strcmp(path + strspn(path, "/"), ":memory:") == 0)
        return hf__fail(err, HF_EURI,
                        "a database in memory is seen by nobody else and "
                        "locks nobody out: write sqlite:locks.db");
    const char *name = in_root(path);
    if (name != NULL)
        return hf__fail(err, HF_EURI,
                        "a database directly in / is refused: did you mean "
                        "sqlite:%.150s?",
                        name);
    size_t slashes = strspn(path, "/");
    if (slashes > 1)
        memmove(path, path + slashes - 1, n - slashes + 2);
    return HF_OK;
}

/* ---- the rules of each store ------------------------------------------- */

static int settle_network(hf_uri *uri, hf_error *err) {
    int rc = check_hosts(uri, err);
    if (rc == HF_OK && is_scheme(uri, "redis+sentinel"))
        return settle_sentinel(uri, err);
    if (rc == HF_OK && is_redis(uri))
        rc = check_database(uri, err);
    if (rc == HF_OK && is_scheme(uri, "redlock"))
        rc = check_redlock(uri, err);
    return rc;
}

int hf__uri_settle(hf_uri *uri, hf_error *err) {
    int rc = settle_params(uri, err);
    if (rc != HF_OK || is_scheme(uri, "memory"))
        return rc;
    if (is_scheme(uri, "sqlite"))
        return settle_file(uri, err);
    if (is_scheme(uri, "redis+unix"))
        return check_socket(uri, err);
    return settle_network(uri, err);
}
