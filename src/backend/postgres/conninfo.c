/* SPDX-License-Identifier: MIT
 *
 * conninfo.c - the text that libpq is given, and its lists of hosts. */
#include "conninfo.h"

#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"

enum { HOSTS_MAX = 32 };

struct hf_conninfo {
    PQconninfoOption *options; /* of libpq; val is NULL where none was given */
    int hosts;
};

const char *const hf__postgres_params[] = {
    "hf_listen", "hf_schema", "hf_lease", "hf_compat", "hf_table",
    /* Of libpq, to its version 18. */
    "host", "hostaddr", "port", "dbname", "user", "password", "passfile",
    "require_auth", "channel_binding", "connect_timeout", "client_encoding",
    "options", "application_name", "fallback_application_name", "keepalives",
    "keepalives_idle", "keepalives_interval", "keepalives_count",
    "tcp_user_timeout", "replication", "gssencmode", "sslmode", "requiressl",
    "sslnegotiation", "sslcompression", "sslcert", "sslkey", "sslkeylogfile",
    "sslpassword", "sslcertmode", "sslrootcert", "sslcrl", "sslcrldir",
    "sslsni", "requirepeer", "ssl_min_protocol_version",
    "ssl_max_protocol_version", "min_protocol_version", "max_protocol_version",
    "krbsrvname", "gsslib", "gssdelegation", "scram_client_key",
    "scram_server_key", "service", "servicefile", "target_session_attrs",
    "load_balance_hosts", "oauth_issuer", "oauth_client_id",
    "oauth_client_secret", "oauth_scope", "ssl", NULL};

/* ---- reading ----------------------------------------------------------- */

/* The address under the one scheme that every libpq knows, and without the
 * parameters that are ours.  NULL: out of memory. */
static char *for_libpq(const hf_uri *uri) {
    static const char scheme[] = "postgresql";
    const char *colon = strstr(uri->text, "://"), *at;
    char *text, *to, before = '?';

    if (!colon) /* key = value */
        return hf__strdup(uri->text);
    text = hf__malloc(sizeof scheme + strlen(colon));
    if (!text)
        return NULL;
    at = colon + strcspn(colon, "?");
    to = mempcpy(stpcpy(text, scheme), colon, (size_t)(at - colon));
    while (*at) {
        size_t n = strcspn(++at, "&");

        if (n && strncmp(at, "hf_", 3) != 0) {
            *to++ = before;
            to = mempcpy(to, at, n);
            before = '&';
        }
        at += n;
    }
    *to = '\0';
    return text;
}

const char *hf__pg_conninfo_get(const hf_conninfo *info, const char *key) {
    for (const PQconninfoOption *o = info->options; o->keyword; o++)
        if (strcmp(o->keyword, key) == 0)
            return o->val && *o->val ? o->val : NULL;
    return NULL;
}

static int count(const char *list) {
    int n = 1;

    for (; list && *list; list++)
        n += *list == ',';
    return list ? n : 0;
}

/* libpq's words are not repeated: they may quote a part of the password. */
static int parse(hf_conninfo **ret, const char *text, const char *what,
                 hf_error *err) {
    hf_conninfo *info = hf__calloc(1, sizeof *info);
    char *words = NULL;
    int hosts, addrs;

    if (!info)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    info->options = PQconninfoParse(text, &words);
    if (!info->options) {
        hf__free(info);
        if (!words)
            return hf__fail_plain(err, HF_ENO_MEMORY);
        PQfreemem(words);
        return hf__fail(err, HF_EURI,
                        "libpq %d cannot read %s: look for a parameter that it "
                        "does not know, or a wrong quote",
                        PQlibVersion() / 10000, what);
    }
    hosts = count(hf__pg_conninfo_get(info, "host"));
    addrs = count(hf__pg_conninfo_get(info, "hostaddr"));
    info->hosts = hosts > addrs ? hosts : addrs > 0 ? addrs : 1;
    if (info->hosts > HOSTS_MAX) {
        hf__pg_conninfo_free(info);
        return hf__fail(err, HF_EURI, "%s has more than %d hosts", what,
                        HOSTS_MAX);
    }
    *ret = info;
    return HF_OK;
}

int hf__pg_conninfo_of(hf_conninfo **ret, const hf_uri *uri, hf_error *err) {
    char *text = for_libpq(uri);
    int rc;

    if (!text)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    rc = parse(ret, text, "the store's address", err);
    explicit_bzero(text, strlen(text));
    hf__free(text);
    return rc;
}

static bool says_where(const char *key) {
    return strcmp(key, "host") == 0 || strcmp(key, "hostaddr") == 0 ||
           strcmp(key, "port") == 0 || strcmp(key, "service") == 0 ||
           strcmp(key, "target_session_attrs") == 0;
}

int hf__pg_conninfo_beside(hf_conninfo **ret, const hf_conninfo *base,
                           const char *text, hf_error *err) {
    hf_conninfo *info;
    int rc = parse(&info, text, "hf_listen", err);

    if (rc != HF_OK)
        return rc;
    for (PQconninfoOption *o = info->options; o->keyword; o++) {
        const char *val = hf__pg_conninfo_get(base, o->keyword);

        if (o->val || !val || says_where(o->keyword))
            continue;
        o->val = hf__foreign_strdup(val); /* PQconninfoFree's */
        if (!o->val) {
            hf__pg_conninfo_free(info);
            return hf__fail_plain(err, HF_ENO_MEMORY);
        }
    }
    *ret = info;
    return HF_OK;
}

void hf__pg_conninfo_free(hf_conninfo *info) {
    if (!info)
        return;
    for (PQconninfoOption *o = info->options; o->keyword; o++)
        if (o->val)
            explicit_bzero(o->val, strlen(o->val));
    PQconninfoFree(info->options);
    hf__free(info);
}

/* ---- the hosts --------------------------------------------------------- */

int hf__pg_conninfo_hosts(const hf_conninfo *info) {
    return info->hosts;
}

/* The i-th of a list; the only one of a list of one.  False: not given. */
static bool nth(char *buf, size_t size, const char *list, int i) {
    if (!list)
        return false;
    if (count(list) > 1)
        for (; i > 0 && *list; i--) {
            list += strcspn(list, ",");
            list += *list == ',';
        }
    snprintf(buf, size, "%.*s", (int)strcspn(list, ","), list);
    return true;
}

typedef struct one_host {
    char host[1025], addr[64], port[16];
} one_host;

/* What libpq is told of an option for the i-th host; NULL: nothing. */
static const char *told(one_host *h, const PQconninfoOption *o, int i) {
    if (strcmp(o->keyword, "host") == 0)
        return nth(h->host, sizeof h->host, o->val, i) ? h->host : NULL;
    if (strcmp(o->keyword, "hostaddr") == 0)
        return nth(h->addr, sizeof h->addr, o->val, i) ? h->addr : NULL;
    if (strcmp(o->keyword, "port") == 0)
        return nth(h->port, sizeof h->port, o->val, i) ? h->port : NULL;
    if (strcmp(o->keyword, "fallback_application_name") == 0 && !o->val)
        return "holdfast";
    return o->val;
}

PGconn *hf__pg_conninfo_start(const hf_conninfo *info, int i) {
    const char **keys, **values;
    size_t most = 1, n = 0;
    one_host host;
    PGconn *conn;

    for (const PQconninfoOption *o = info->options; o->keyword; o++)
        most++;
    keys = hf__calloc(2 * most, sizeof *keys);
    if (!keys)
        return NULL;
    values = keys + most;
    for (const PQconninfoOption *o = info->options; o->keyword; o++) {
        values[n] = told(&host, o, i);
        if (values[n])
            keys[n++] = o->keyword;
    }
    conn = PQconnectStartParams(keys, values, 0);
    hf__free(keys);
    return conn;
}

/* ---- for the eye ------------------------------------------------------- */

static bool is_local(const char *host) {
    return *host == '/' || *host == '@';
}

/* "host:port,[host]:port", of each host its part of the list, four characters
 * and a port.  NULL: out of memory. */
static char *shown_hosts(const char *hosts, const char *ports,
                         const char *usual_port) {
    enum { PORT_SIZE = 16 };
    int n = count(hosts);
    char *text = hf__calloc(1, strlen(hosts) + (size_t)n * (PORT_SIZE + 4) + 1);
    char host[1025], port[PORT_SIZE], *to = text;

    if (!text)
        return NULL;
    for (int i = 0; i < n; i++) {
        nth(host, sizeof host, hosts, i);
        if (!nth(port, sizeof port, ports, i))
            snprintf(port, sizeof port, "%s", usual_port);
        to += sprintf(to, strchr(host, ':') ? "%s[%s]" : "%s%s", i ? "," : "",
                      host);
        to += sprintf(to, "%s%s", *port ? ":" : "", port);
    }
    return text;
}

char *hf__pg_conninfo_where(const hf_conninfo *info, const PGconn *conn) {
    const char *hosts = hf__pg_conninfo_get(info, "host");
    const char *ports = hf__pg_conninfo_get(info, "port");
    const char *host = PQhost(conn) ? PQhost(conn) : "", *port = PQport(conn);
    char *shown, *text;
    int n;

    if (!hosts)
        hosts = host;
    shown = is_local(hosts) ? hf__strdup("") : shown_hosts(hosts, ports, port);
    if (!shown)
        return NULL;
    n = is_local(host) ?
            hf__asprintf(&text, "postgresql://%s@%s/%s?host=%s&port=%s",
                         PQuser(conn), shown, PQdb(conn), host, port) :
            hf__asprintf(&text, "postgresql://%s@%s/%s", PQuser(conn), shown,
                         PQdb(conn));
    hf__free(shown);
    return n < 0 ? NULL : text;
}
