/* SPDX-License-Identifier: MIT
 *
 * conninfo.c - the text that libpq is given, and its lists of hosts. */
#include "conninfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../err.h"

enum { HOSTS_MAX = 32, OPTIONS_MAX = 80 };

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
 * parameters that are ours. */
static char *for_libpq(const hf_uri *uri) {
    const char *colon = strstr(uri->text, "://"), *at;
    bool any = false;
    char *text = NULL;
    size_t size;
    FILE *f;

    if (!colon) /* key = value */
        return strdup(uri->text);
    f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    at = colon + strcspn(colon, "?");
    fprintf(f, "postgresql%.*s", (int)(at - colon), colon);
    while (*at) {
        size_t n = strcspn(++at, "&");

        if (n && strncmp(at, "hf_", 3) != 0) {
            fprintf(f, "%c%.*s", any ? '&' : '?', (int)n, at);
            any = true;
        }
        at += n;
    }
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}

static PQconninfoOption *option(const hf_conninfo *info, const char *key) {
    for (PQconninfoOption *o = info->options; o->keyword; o++)
        if (strcmp(o->keyword, key) == 0)
            return o;
    return NULL;
}

const char *hf__pg_conninfo_get(const hf_conninfo *info, const char *key) {
    const PQconninfoOption *o = option(info, key);

    return o && o->val && *o->val ? o->val : NULL;
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
    hf_conninfo *info = calloc(1, sizeof *info);
    char *words = NULL;
    int hosts, addrs;

    if (!info)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    info->options = PQconninfoParse(text, &words);
    if (!info->options) {
        free(info);
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
    free(text);
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
    for (const PQconninfoOption *o = base->options; o->keyword; o++) {
        PQconninfoOption *mine = option(info, o->keyword);

        if (!mine || mine->val || !o->val || says_where(o->keyword))
            continue;
        mine->val = strdup(o->val);
        if (!mine->val) {
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
    free(info);
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

PGconn *hf__pg_conninfo_start(const hf_conninfo *info, int i) {
    const char *keys[OPTIONS_MAX], *values[OPTIONS_MAX];
    char host[1025], addr[64], port[16];
    int n = 0;

    for (const PQconninfoOption *o = info->options;
         o->keyword && n < OPTIONS_MAX - 2; o++) {
        const char *value = o->val;

        if (strcmp(o->keyword, "host") == 0)
            value = nth(host, sizeof host, value, i) ? host : NULL;
        else if (strcmp(o->keyword, "hostaddr") == 0)
            value = nth(addr, sizeof addr, value, i) ? addr : NULL;
        else if (strcmp(o->keyword, "port") == 0)
            value = nth(port, sizeof port, value, i) ? port : NULL;
        else if (strcmp(o->keyword, "fallback_application_name") == 0 && !value)
            value = "holdfast";
        if (!value)
            continue;
        keys[n] = o->keyword;
        values[n++] = value;
    }
    keys[n] = values[n] = NULL;
    return PQconnectStartParams(keys, values, 0);
}

/* ---- for the eye ------------------------------------------------------- */

static void write_hosts(FILE *f, const hf_conninfo *info, const PGconn *conn) {
    const char *hosts = hf__pg_conninfo_get(info, "host");
    const char *ports = hf__pg_conninfo_get(info, "port");
    const char *known = PQhost(conn);
    char host[1025], port[16];

    if (!hosts)
        hosts = known ? known : "";
    if (*hosts == '/' || *hosts == '@')
        return;
    for (int i = 0; i < count(hosts); i++) {
        nth(host, sizeof host, hosts, i);
        if (!nth(port, sizeof port, ports, i) || !*port)
            snprintf(port, sizeof port, "%s", ports ? "" : PQport(conn));
        fprintf(f, strchr(host, ':') ? "%s[%s]" : "%s%s", i ? "," : "", host);
        if (*port)
            fprintf(f, ":%s", port);
    }
}

char *hf__pg_conninfo_where(const hf_conninfo *info, const PGconn *conn) {
    const char *host = PQhost(conn);
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    fprintf(f, "postgresql://%s@", PQuser(conn));
    write_hosts(f, info, conn);
    fprintf(f, "/%s", PQdb(conn));
    if (host && (*host == '/' || *host == '@'))
        fprintf(f, "?host=%s&port=%s", host, PQport(conn));
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}
