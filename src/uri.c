/* SPDX-License-Identifier: MIT
 *
 * uri.c - reads the address of a store.
 *
 *     scheme://[user[:password]@]host[:port][,host[:port]...][/path][?key=value&...]
 *
 * The grammar of every store is here, also of those that are not built: what
 * can be opened is for the table of stores to say.  Aliases end here; whoever
 * comes after sees one scheme per store, one name per parameter, and a flag
 * for TLS.
 *
 * Two rules are stricter than the RFC's.  An '@' stands once, before the hosts;
 * any other must be escaped.  Whoever forgets to escape one in a password is
 * told, and is not connected to some other host; and in an address that was
 * accepted it is certain what is secret.  And no message repeats a part of the
 * authority, because in a wrong address anything may be the password. */
#include "uri.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "err.h"

enum { TEXT_MAX = 4096, PORT_MAX = 65535 };

enum shape {
    ONE_HOST,   /* //host/path                          */
    MANY_HOSTS, /* //host,host/path                     */
    LIBPQ,      /* the same, and hosts may be empty     */
    A_SOCKET,   /* ///path, perhaps with a user         */
    A_FILE,     /* a path, with or without ///          */
    ANY_WORD
};

struct scheme {
    const char *name, *canonical;
    enum shape shape;
    bool tls;
};

static const struct scheme schemes[] = {
    {"sqlite", "sqlite", A_FILE, false},
    {"file", "sqlite", A_FILE, false},
    {"redis", "redis", ONE_HOST, false},
    {"rediss", "redis", ONE_HOST, true},
    {"valkey", "redis", ONE_HOST, false},
    {"valkeys", "redis", ONE_HOST, true},
    {"redis+tls", "redis", ONE_HOST, true},
    {"redis+ssl", "redis", ONE_HOST, true},
    {"redis+unix", "redis+unix", A_SOCKET, false},
    {"redis-socket", "redis+unix", A_SOCKET, false},
    {"redis+uds", "redis+unix", A_SOCKET, false},
    {"redis+socket", "redis+unix", A_SOCKET, false},
    {"unix", "redis+unix", A_SOCKET, false},
    {"redis+sentinel", "redis+sentinel", MANY_HOSTS, false},
    {"redis-sentinel", "redis+sentinel", MANY_HOSTS, false},
    {"rediss+sentinel", "redis+sentinel", MANY_HOSTS, true},
    {"rediss-sentinel", "redis+sentinel", MANY_HOSTS, true},
    {"redis+cluster", "redis+cluster", MANY_HOSTS, false},
    {"redis-cluster", "redis+cluster", MANY_HOSTS, false},
    {"rediss+cluster", "redis+cluster", MANY_HOSTS, true},
    {"rediss-cluster", "redis+cluster", MANY_HOSTS, true},
    {"redlock", "redlock", MANY_HOSTS, false},
    {"redlocks", "redlock", MANY_HOSTS, true},
    {"zk", "zk", MANY_HOSTS, false},
    {"zookeeper", "zk", MANY_HOSTS, false},
    {"kazoo", "zk", MANY_HOSTS, false},
    {"zks", "zk", MANY_HOSTS, true},
    {"etcd", "etcd", MANY_HOSTS, false},
    {"etcds", "etcd", MANY_HOSTS, true},
    {"etcd+http", "etcd", MANY_HOSTS, false},
    {"etcd+https", "etcd", MANY_HOSTS, true},
    {"etcd3+http", "etcd", MANY_HOSTS, false},
    {"etcd3+https", "etcd", MANY_HOSTS, true},
    {"postgresql", "postgresql", LIBPQ, false},
    {"postgres", "postgresql", LIBPQ, false},
    {"mariadb", "mariadb", ONE_HOST, false},
    {"mysql", "mariadb", ONE_HOST, false},
    {"memory", "memory", ANY_WORD, false},
};

#define N_SCHEMES (sizeof schemes / sizeof schemes[0])

static bool is_redis(const hf_uri *uri) {
    return strncmp(uri->scheme, "redis", 5) == 0 ||
           strcmp(uri->scheme, "redlock") == 0;
}

/* ---- pieces of text ---------------------------------------------------- */

typedef struct span {
    const char *s;
    size_t n;
} span;

static span span_of(const char *s) {
    return (span){s, strlen(s)};
}

/* Cuts `from` before the first of `stops` and returns what stood there; what
 * is left in `from` begins with the stop, or is empty. */
static span take_until(span *from, const char *stops) {
    size_t n = 0;
    while (n < from->n && strchr(stops, from->s[n]) == NULL)
        n++;
    span taken = {from->s, n};
    *from = (span){from->s + n, from->n - n};
    return taken;
}

static bool skip(span *from, const char *prefix) {
    size_t n = strlen(prefix);
    if (from->n < n || memcmp(from->s, prefix, n) != 0)
        return false;
    *from = (span){from->s + n, from->n - n};
    return true;
}

static int hex(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A copy of `from` with its escapes resolved. */
static int decode(char **ret, span from, hf_error *err) {
    char *to = malloc(from.n + 1);
    if (to == NULL)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    size_t n = 0;
    for (size_t i = 0; i < from.n; i++) {
        int c = (unsigned char)from.s[i];
        if (c == '%') {
            int high = i + 2 < from.n ? hex(from.s[i + 1]) : -1;
            int low = high >= 0 ? hex(from.s[i + 2]) : -1;
            c = low >= 0 ? high * 16 + low : 0;
            i += 2;
        }
        if (c == 0) {
            free(to);
            return hf__fail(err, HF_EURI,
                            "a '%%' in the store's address is not followed by "
                            "two digits of a byte: write '%%' itself as %%25");
        }
        to[n++] = (char)c;
    }
    to[n] = '\0';
    *ret = to;
    return HF_OK;
}

/* The same where an empty text is as good as none. */
static int decode_some(char **ret, span from, hf_error *err) {
    return from.n == 0 ? HF_OK : decode(ret, from, err);
}

static bool has_control(const char *s) {
    for (; *s != '\0'; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return true;
    return false;
}

static bool is_number(const char *s) {
    return *s != '\0' && strspn(s, "0123456789") == strlen(s);
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

static int replace(char **text, const char *by, hf_error *err) {
    char *copy = strdup(by);
    if (copy == NULL)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    free(*text);
    *text = copy;
    return HF_OK;
}

static int resolve_alias(const hf_uri *uri, hf_uri_param *param,
                         hf_error *err) {
    const char *key = NULL;
    for (size_t i = 0; is_redis(uri) && i < sizeof aliases / sizeof *aliases;
         i++)
        if (strcmp(param->key, aliases[i][0]) == 0)
            key = aliases[i][1];
    if (key == NULL)
        return HF_OK;
    if (strcmp(key, "tls_verify") == 0)
        for (size_t i = 0; i < sizeof verify_words / sizeof *verify_words; i++)
            if (strcasecmp(param->value, verify_words[i][0]) == 0 &&
                replace(&param->value, verify_words[i][1], err) != HF_OK)
                return HF_ENO_MEMORY;
    return replace(&param->key, key, err);
}

static int add_param(hf_uri *uri, span key, span value, hf_error *err) {
    hf_uri_param *params =
        reallocarray(uri->params, uri->n_params + 1, sizeof *params);
    if (params == NULL)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    uri->params = params;
    hf_uri_param *param = &params[uri->n_params++];
    *param = (hf_uri_param){NULL, NULL};
    int rc = decode(&param->key, key, err);
    if (rc == HF_OK)
        rc = decode(&param->value, value, err);
    if (rc == HF_OK)
        rc = resolve_alias(uri, param, err);
    if (rc != HF_OK)
        return rc;
    if (has_control(param->key) || param->key[0] == '\0')
        return hf__fail(err, HF_EURI,
                        "a parameter in the store's address has no name: "
                        "write ?key=value&key=value");
    if (hf_uri_get(uri, param->key) != param->value)
        return hf__fail(err, HF_EURI,
                        "the parameter '%.60s' stands twice in the store's "
                        "address: keep one",
                        param->key);
    return HF_OK;
}

static int parse_params(hf_uri *uri, span from, hf_error *err) {
    while (from.n > 0) {
        span pair = take_until(&from, "&");
        skip(&from, "&");
        if (pair.n == 0)
            continue;
        span key = take_until(&pair, "=");
        if (!skip(&pair, "="))
            return hf__fail(err, HF_EURI,
                            "a parameter in the store's address has no '=': "
                            "write ?key=value&key=value");
        int rc = add_param(uri, key, pair, err);
        if (rc != HF_OK)
            return rc;
    }
    return HF_OK;
}

const char *hf_uri_get(const hf_uri *uri, const char *key) {
    for (size_t i = 0; i < uri->n_params; i++)
        if (strcmp(uri->params[i].key, key) == 0)
            return uri->params[i].value;
    return NULL;
}

/* ---- user, password, hosts --------------------------------------------- */

static int parse_port(int *port, span from, hf_error *err) {
    long value = 0;
    for (size_t i = 0; i < from.n && value <= PORT_MAX; i++) {
        if (!isdigit((unsigned char)from.s[i]))
            value = PORT_MAX;
        value = value * 10 + (from.s[i] - '0');
    }
    if (value < 1 || value > PORT_MAX)
        return hf__fail(err, HF_EURI,
                        "a port in the store's address is not a number from 1 "
                        "to 65535: write HOST:PORT, an IPv6 address as "
                        "[::1]:PORT, a password as USER:PASSWORD@HOST");
    *port = (int)value;
    return HF_OK;
}

/* Takes the name off "name:port"; what is left is empty or the port. */
static int take_host(span *from, span *name, hf_error *err) {
    bool bracketed = skip(from, "[");
    *name = take_until(from, bracketed ? "]" : ":[]");
    if (bracketed && (!skip(from, "]") || name->n == 0))
        return hf__fail(err, HF_EURI,
                        "a '[' in the store's address has no ']', or nothing "
                        "between them: write [::1] or [::1]:PORT");
    if (from->n > 0 && from->s[0] != ':')
        return hf__fail(err, HF_EURI,
                        "only ':' and a port may follow ']' in the store's "
                        "address: write [::1]:PORT");
    return HF_OK;
}

static int check_host(const hf_uri *uri, enum shape shape, const char *host,
                      hf_error *err) {
    const char *never = shape == LIBPQ ? "" : " ,@/<>\"\\^`{|}";
    if (shape != LIBPQ && host[0] == '\0')
        return hf__fail(err, HF_EURI,
                        "a host is missing in the store's address: write "
                        "%s://HOST",
                        uri->scheme);
    if (has_control(host) || strpbrk(host, never) != NULL)
        return hf__fail(err, HF_EURI,
                        "a host in the store's address has bytes that no host "
                        "name has");
    return HF_OK;
}

static int parse_host(hf_uri *uri, enum shape shape, span from, hf_error *err) {
    span name;
    hf_uri_host *hosts =
        reallocarray(uri->hosts, uri->n_hosts + 1, sizeof *hosts);
    if (hosts == NULL)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    uri->hosts = hosts;
    hf_uri_host *host = &hosts[uri->n_hosts++];
    *host = (hf_uri_host){NULL, 0};
    int rc = take_host(&from, &name, err);
    if (rc == HF_OK)
        rc = decode(&host->host, name, err);
    if (rc == HF_OK && skip(&from, ":"))
        rc = parse_port(&host->port, from, err);
    return rc == HF_OK ? check_host(uri, shape, host->host, err) : rc;
}

static int parse_hosts(hf_uri *uri, enum shape shape, span from,
                       hf_error *err) {
    for (bool more = true; more;) {
        int rc = parse_host(uri, shape, take_until(&from, ","), err);
        if (rc != HF_OK)
            return rc;
        more = skip(&from, ",");
    }
    if (shape == ONE_HOST && uri->n_hosts > 1)
        return hf__fail(
            err, HF_EURI,
            is_redis(uri) ?
                "redis:// takes one host.  Several mean one of three "
                "things, of different safety: redis+sentinel:// or "
                "redis+cluster:// (failover), or redlock:// (a "
                "majority of independent servers)" :
                "this store's address takes one host");
    return HF_OK;
}

/* Takes "user:password@" off the authority. */
static int parse_user(hf_uri *uri, span *authority, hf_error *err) {
    span rest = *authority;
    span info = take_until(&rest, "@");
    if (!skip(&rest, "@"))
        return HF_OK;
    if (memchr(rest.s, '@', rest.n) != NULL)
        return hf__fail(err, HF_EURI,
                        "more than one '@' in the store's address: in a "
                        "password write it as %%40; user and password stand "
                        "once, before the first host");
    *authority = rest;
    span user = take_until(&info, ":");
    skip(&info, ":");
    int rc = decode_some(&uri->user, user, err);
    return rc == HF_OK ? decode_some(&uri->password, info, err) : rc;
}

/* ---- the shapes -------------------------------------------------------- */

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

static int check_database(const hf_uri *uri, hf_error *err) {
    if (uri->path == NULL || is_number(uri->path))
        return HF_OK;
    return hf__fail(err, HF_EURI,
                    "after the host of %s:// stands the number of a database "
                    "or nothing: write %s://HOST/0; in a password write '/' "
                    "as %%2F",
                    uri->scheme, uri->scheme);
}

static void drop_param(hf_uri *uri, const char *key) {
    size_t kept = 0;
    for (size_t i = 0; i < uri->n_params; i++) {
        if (strcmp(uri->params[i].key, key) != 0) {
            uri->params[kept++] = uri->params[i];
            continue;
        }
        free(uri->params[i].key);
        free(uri->params[i].value);
    }
    uri->n_params = kept;
}

/* The master's name is the path, "mymaster" or "mymaster/0"; lettuce has it in
 * a parameter and only the database in the path. */
static int settle_sentinel(hf_uri *uri, hf_error *err) {
    const char *master = hf_uri_get(uri, "sentinelMasterId");
    if (master != NULL) {
        const char *db = uri->path != NULL ? uri->path : "";
        size_t size = strlen(master) + strlen(db) + 2;
        char *path = malloc(size);
        if (path == NULL)
            return hf__fail_plain(err, HF_ENO_MEMORY);
        stpcpy(stpcpy(stpcpy(path, master), *db != '\0' ? "/" : ""), db);
        free(uri->path);
        uri->path = path;
        drop_param(uri, "sentinelMasterId");
    }
    if (uri->path == NULL || uri->path[0] == '/' || uri->path[0] == '\0')
        return hf__fail(err, HF_EURI,
                        "redis+sentinel:// does not say which master: write "
                        "redis+sentinel://HOST,HOST,HOST/MASTER");
    return HF_OK;
}

static int settle_network(hf_uri *uri, hf_error *err) {
    if (strcmp(uri->scheme, "redis+sentinel") == 0)
        return settle_sentinel(uri, err);
    int rc = is_redis(uri) ? check_database(uri, err) : HF_OK;
    if (rc == HF_OK && strcmp(uri->scheme, "redlock") == 0)
        rc = check_redlock(uri, err);
    return rc;
}

/* May the host be left out?  Where a parameter names a socket instead. */
static bool hostless(const hf_uri *uri, enum shape shape) {
    return shape == LIBPQ || (strcmp(uri->scheme, "mariadb") == 0 &&
                              (hf_uri_get(uri, "unix_socket") != NULL ||
                               hf_uri_get(uri, "socket") != NULL));
}

static int parse_network(hf_uri *uri, enum shape shape, span from,
                         hf_error *err) {
    if (!skip(&from, "//"))
        return hf__fail(err, HF_EURI,
                        "the store's address wants two slashes: write "
                        "%s://HOST",
                        uri->scheme);
    span authority = take_until(&from, "/?");
    span path = take_until(&from, "?");
    if (memchr(path.s, '@', path.n + from.n) != NULL)
        return hf__fail(err, HF_EURI,
                        "an '@' stands after the hosts in the store's "
                        "address: write it as %%40, and in a password '/' as "
                        "%%2F and '?' as %%3F");
    skip(&from, "?");
    skip(&path, "/");
    int rc = parse_user(uri, &authority, err);
    if (rc == HF_OK)
        rc = parse_params(uri, from, err);
    if (rc == HF_OK && (authority.n > 0 || !hostless(uri, shape)))
        rc = parse_hosts(uri, shape, authority, err);
    if (rc == HF_OK)
        rc = decode_some(&uri->path, path, err);
    return rc == HF_OK ? settle_network(uri, err) : rc;
}

static int parse_socket(hf_uri *uri, span from, hf_error *err) {
    int rc = HF_OK;
    if (skip(&from, "//")) {
        span authority = take_until(&from, "/?");
        rc = parse_user(uri, &authority, err);
        if (rc == HF_OK && authority.n > 0)
            from.n = 0;
    }
    span path = take_until(&from, "?");
    skip(&from, "?");
    if (rc == HF_OK)
        rc = decode_some(&uri->path, path, err);
    if (rc == HF_OK && (uri->path == NULL || uri->path[0] != '/'))
        rc = hf__fail(err, HF_EURI,
                      "redis+unix names a socket by its whole path, after "
                      "three slashes: write redis+unix:///run/redis.sock");
    return rc == HF_OK ? parse_params(uri, from, err) : rc;
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

static int parse_file(hf_uri *uri, span from, hf_error *err) {
    span path = take_until(&from, "?");
    skip(&from, "?");
    bool authority = skip(&path, "//");
    span local = path;
    if (authority && skip(&local, "localhost") && local.n > 0 &&
        local.s[0] == '/')
        path = local;
    int rc = decode_some(&uri->path, path, err);
    if (rc == HF_OK && authority && path.n > 0 && path.s[0] != '/')
        return hf__fail(err, HF_EURI,
                        "two slashes name a host, and an embedded store has "
                        "none: did you mean sqlite:%.100s or "
                        "sqlite:///%.40s?",
                        uri->path, uri->path);
    if (rc == HF_OK)
        rc = settle_file(uri, err);
    return rc == HF_OK ? parse_params(uri, from, err) : rc;
}

static int parse_memory(hf_uri *uri, span from, hf_error *err) {
    skip(&from, "//");
    span path = take_until(&from, "?");
    skip(&from, "?");
    int rc = decode_some(&uri->path, path, err);
    return rc == HF_OK ? parse_params(uri, from, err) : rc;
}

/* ---- without a scheme -------------------------------------------------- */

static bool is_bare_path(const char *text) {
    size_t n = strlen(text);
    return n > 3 && strcmp(text + n - 3, ".db") == 0 &&
           strpbrk(text, ":?") == NULL;
}

/* libpq's other form: key = 'value' ... */
static bool is_key_value(const char *text) {
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
    return n > 0 && text[n + strspn(text + n, " ")] == '=';
}

static int set_scheme(hf_uri *uri, const char *canonical, hf_error *err) {
    return replace(&uri->scheme, canonical, err);
}

static int parse_bare(hf_uri *uri, const char *text, hf_error *err) {
    int rc = set_scheme(uri, "sqlite", err);
    if (rc == HF_OK)
        rc = replace(&uri->path, text, err);
    return rc == HF_OK ? settle_file(uri, err) : rc;
}

static int parse_schemeless(hf_uri *uri, const char *text, hf_error *err) {
    if (is_key_value(text))
        return set_scheme(uri, "postgresql", err);
    if (is_bare_path(text))
        return parse_bare(uri, text, err);
    return hf__fail(err, HF_EURI,
                    "the store's address has no scheme: write sqlite:FILE, "
                    "redis://HOST, or a path that ends in .db");
}

/* ---- the whole --------------------------------------------------------- */

/* The length of the scheme, without its colon; 0 if there is none. */
static size_t scheme_length(const char *text) {
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz"
                            "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    return isalpha((unsigned char)text[0]) && text[n] == ':' ? n : 0;
}

static const struct scheme *find_scheme(const char *text, size_t n) {
    for (size_t i = 0; i < N_SCHEMES; i++)
        if (strlen(schemes[i].name) == n &&
            strncasecmp(schemes[i].name, text, n) == 0)
            return &schemes[i];
    return NULL;
}

static int unknown_scheme(const char *text, size_t n, hf_error *err) {
    const char *known[N_SCHEMES + 1] = {NULL};
    char word[41] = "";
    for (size_t i = 0; i < N_SCHEMES; i++)
        known[i] = schemes[i].name;
    strncat(word, text, n < sizeof word ? n : sizeof word - 1);
    const char *near = hf__uri_suggest(word, known);
    if (near != NULL)
        return hf__fail(err, HF_EURI,
                        "unknown scheme '%s' in the store's address: did you "
                        "mean '%s'?",
                        word, near);
    return hf__fail(err, HF_EURI,
                    "unknown scheme '%s' in the store's address: write "
                    "sqlite:FILE, redis://HOST, or another that holdfast "
                    "knows",
                    word);
}

static int parse_shape(hf_uri *uri, enum shape shape, span rest,
                       hf_error *err) {
    switch (shape) {
    case ONE_HOST:
    case MANY_HOSTS:
    case LIBPQ:
        return parse_network(uri, shape, rest, err);
    case A_SOCKET:
        return parse_socket(uri, rest, err);
    case A_FILE:
        return parse_file(uri, rest, err);
    case ANY_WORD:
        return parse_memory(uri, rest, err);
    }
    return hf__fail_plain(err, HF_EURI);
}

static int check_text(const char *text, hf_error *err) {
    if (text == NULL || text[0] == '\0')
        return hf__fail(err, HF_EURI,
                        "the store's address is empty: write sqlite:FILE or "
                        "redis://HOST");
    if (strlen(text) > TEXT_MAX)
        return hf__fail(err, HF_EURI,
                        "the store's address is longer than %d bytes",
                        TEXT_MAX);
    if (has_control(text))
        return hf__fail(err, HF_EURI,
                        "the store's address has a control byte in it: write "
                        "it as %%XX, and look for a newline at its end");
    return HF_OK;
}

static int parse(hf_uri *uri, const char *text, hf_error *err) {
    size_t n = scheme_length(text);
    if (n == 0)
        return parse_schemeless(uri, text, err);
    const struct scheme *scheme = find_scheme(text, n);
    if (scheme == NULL)
        return unknown_scheme(text, n, err);
    if (strchr(text, '#') != NULL)
        return hf__fail(err, HF_EURI,
                        "a '#' in the store's address must be written %%23");
    uri->tls = scheme->tls;
    int rc = set_scheme(uri, scheme->canonical, err);
    if (rc != HF_OK)
        return rc;
    return parse_shape(uri, scheme->shape, span_of(text + n + 1), err);
}

int hf_uri_parse(hf_uri **ret, const char *text, hf_error *err) {
    int rc = check_text(text, err);
    if (rc != HF_OK)
        return rc;
    hf_uri *uri = calloc(1, sizeof *uri);
    if (uri == NULL)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    rc = replace(&uri->text, text, err);
    if (rc == HF_OK)
        rc = parse(uri, text, err);
    if (rc == HF_OK)
        *ret = uri;
    else
        hf_uri_free(uri);
    return rc;
}

/* Memory that is given back may turn up anywhere, a core dump for one. */
static void free_secret(char *text) {
    if (text != NULL)
        explicit_bzero(text, strlen(text));
    free(text);
}

void hf_uri_free(hf_uri *uri) {
    if (uri == NULL)
        return;
    for (size_t i = 0; i < uri->n_hosts; i++)
        free(uri->hosts[i].host);
    for (size_t i = 0; i < uri->n_params; i++) {
        free(uri->params[i].key);
        free_secret(uri->params[i].value);
    }
    free(uri->hosts);
    free(uri->params);
    free(uri->path);
    free(uri->user);
    free_secret(uri->password);
    free(uri->scheme);
    free_secret(uri->text);
    free(uri);
}
