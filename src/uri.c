/* SPDX-License-Identifier: MIT
 *
 * uri.c - reads the address of a store.
 *
 *     scheme://[user[:password]@]host[:port][,host[:port]...][/path][?key=value&...]
 *
 * The grammar of every store is here, also of those that are not built: what
 * can be opened is for the table of stores to say.  What else a store demands
 * of its address, and aliases of parameters, follow in uri_rules.c; whoever
 * comes after sees one scheme per store and a flag for TLS.
 *
 * Two rules are stricter than the RFC's.  An '@' stands once, before the hosts;
 * any other must be escaped.  Whoever forgets to escape one in a password is
 * told, and is not connected to some other host; and in an address that was
 * accepted it is certain what is secret.  And no message repeats a part of the
 * authority, because in a wrong address anything may be the password. */
#include "uri.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "alloc.h"
#include "err.h"

enum { TEXT_MAX = 4096, PORT_MAX = 65535 };

enum shape {
    HOSTS,    /* //host,host/path                     */
    LIBPQ,    /* the same, and hosts may be empty     */
    A_SOCKET, /* ///path, perhaps with a user         */
    A_FILE,   /* a path, with or without ///          */
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
    {"redis", "redis", HOSTS, false},
    {"rediss", "redis", HOSTS, true},
    {"valkey", "redis", HOSTS, false},
    {"valkeys", "redis", HOSTS, true},
    {"redis+tls", "redis", HOSTS, true},
    {"redis+ssl", "redis", HOSTS, true},
    {"redis+unix", "redis+unix", A_SOCKET, false},
    {"redis-socket", "redis+unix", A_SOCKET, false},
    {"redis+uds", "redis+unix", A_SOCKET, false},
    {"redis+socket", "redis+unix", A_SOCKET, false},
    {"unix", "redis+unix", A_SOCKET, false},
    {"redis+sentinel", "redis+sentinel", HOSTS, false},
    {"redis-sentinel", "redis+sentinel", HOSTS, false},
    {"rediss+sentinel", "redis+sentinel", HOSTS, true},
    {"rediss-sentinel", "redis+sentinel", HOSTS, true},
    {"redis+cluster", "redis+cluster", HOSTS, false},
    {"redis-cluster", "redis+cluster", HOSTS, false},
    {"rediss+cluster", "redis+cluster", HOSTS, true},
    {"rediss-cluster", "redis+cluster", HOSTS, true},
    {"redlock", "redlock", HOSTS, false},
    {"redlocks", "redlock", HOSTS, true},
    {"zk", "zk", HOSTS, false},
    {"zookeeper", "zk", HOSTS, false},
    {"kazoo", "zk", HOSTS, false},
    {"zks", "zk", HOSTS, true},
    {"etcd", "etcd", HOSTS, false},
    {"etcds", "etcd", HOSTS, true},
    {"etcd+http", "etcd", HOSTS, false},
    {"etcd+https", "etcd", HOSTS, true},
    {"etcd3+http", "etcd", HOSTS, false},
    {"etcd3+https", "etcd", HOSTS, true},
    {"postgresql", "postgresql", LIBPQ, false},
    {"postgres", "postgresql", LIBPQ, false},
    {"mariadb", "mariadb", HOSTS, false},
    {"mariadbs", "mariadb", HOSTS, true},
    {"mysql", "mariadb", HOSTS, false},
    {"mysqls", "mariadb", HOSTS, true},
    {"memory", "memory", ANY_WORD, false},
};

#define N_SCHEMES (sizeof schemes / sizeof schemes[0])

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
    char *to = hf__malloc(from.n + 1);
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
            hf__free(to);
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

/* ---- parameters -------------------------------------------------------- */

int hf__uri_replace(char **text, const char *by, hf_error *err) {
    char *copy = hf__strdup(by);
    if (copy == NULL)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    hf__free(*text);
    *text = copy;
    return HF_OK;
}

static int add_param(hf_uri *uri, span key, span value, hf_error *err) {
    hf_uri_param *params =
        hf__reallocarray(uri->params, uri->n_params + 1, sizeof *params);
    if (params == NULL)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    uri->params = params;
    hf_uri_param *param = &params[uri->n_params++];
    *param = (hf_uri_param){NULL, NULL};
    int rc = decode(&param->key, key, err);
    if (rc == HF_OK)
        rc = decode(&param->value, value, err);
    if (rc != HF_OK)
        return rc;
    if (has_control(param->key) || param->key[0] == '\0')
        return hf__fail(err, HF_EURI,
                        "a parameter in the store's address has no name: "
                        "write ?key=value&key=value");
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
        hf__reallocarray(uri->hosts, uri->n_hosts + 1, sizeof *hosts);
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
    if (rc == HF_OK && authority.n > 0)
        rc = parse_hosts(uri, shape, authority, err);
    return rc == HF_OK ? decode_some(&uri->path, path, err) : rc;
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
    return rc == HF_OK ? parse_params(uri, from, err) : rc;
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
    return hf__uri_replace(&uri->scheme, canonical, err);
}

static int parse_bare(hf_uri *uri, const char *text, hf_error *err) {
    int rc = set_scheme(uri, "sqlite", err);
    return rc == HF_OK ? hf__uri_replace(&uri->path, text, err) : rc;
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
    if (shape == HOSTS || shape == LIBPQ)
        return parse_network(uri, shape, rest, err);
    if (shape == A_SOCKET)
        return parse_socket(uri, rest, err);
    if (shape == A_FILE)
        return parse_file(uri, rest, err);
    return parse_memory(uri, rest, err); /* ANY_WORD */
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
    hf_uri *uri = hf__calloc(1, sizeof *uri);
    if (uri == NULL)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    rc = hf__uri_replace(&uri->text, text, err);
    if (rc == HF_OK)
        rc = parse(uri, text, err);
    if (rc == HF_OK)
        rc = hf__uri_settle(uri, err);
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
    hf__free(text);
}

void hf_uri_free(hf_uri *uri) {
    if (uri == NULL)
        return;
    for (size_t i = 0; i < uri->n_hosts; i++)
        hf__free(uri->hosts[i].host);
    for (size_t i = 0; i < uri->n_params; i++) {
        hf__free(uri->params[i].key);
        free_secret(uri->params[i].value);
    }
    hf__free(uri->hosts);
    hf__free(uri->params);
    hf__free(uri->path);
    hf__free(uri->user);
    free_secret(uri->password);
    hf__free(uri->scheme);
    free_secret(uri->text);
    hf__free(uri);
}
