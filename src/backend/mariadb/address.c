/* SPDX-License-Identifier: MIT
 *
 * address.c - what an address says of a MariaDB server. */
#include "address.h"

#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../net/secret.h"

enum { DEFAULT_PORT = 3306 };

/* False: out of memory. */
static bool copy(char **ret, const char *text) {
    *ret = text ? hf__strdup(text) : NULL;
    return *ret || !text;
}

static const char *socket_of(const hf_uri *uri) {
    const char *path = hf_uri_get(uri, "unix_socket");

    return path ? path : hf_uri_get(uri, "socket");
}

static int password_of(hf_maria_address *at, const hf_uri *uri, hf_error *err) {
    const char *file = hf_uri_get(uri, "password_file");

    if (file && !uri->password)
        return hf__secret_read(&at->password, file, err);
    return copy(&at->password, uri->password) ?
               HF_OK :
               hf__fail_plain(err, HF_ENO_MEMORY);
}

static bool name_it(hf_maria_address *at) {
    const char *database = at->database ? at->database : "";
    const char *scheme = at->secure ? "mariadbs" : "mariadb";
    bool v6 = strchr(at->host, ':') != NULL;
    int n = at->socket ? hf__asprintf(&at->where, "%s:///%s?socket=%s", scheme,
                                      database, at->socket) :
                         hf__asprintf(&at->where, "%s://%s%s%s:%d/%s", scheme,
                                      v6 ? "[" : "", at->host, v6 ? "]" : "",
                                      at->port, database);

    if (n < 0)
        at->where = NULL;
    return n >= 0;
}

static int check_tls(const hf_maria_address *at, hf_error *err) {
    if (at->secure && at->socket)
        return hf__fail(err, HF_EURI,
                        "a socket of this host needs no TLS: write mariadb://");
    return HF_OK;
}

/* Only with a socket there may be no host; what there is is not empty. */
int hf__maria_address_read(hf_maria_address *at, const hf_uri *uri,
                           hf_error *err) {
    static const hf_uri_host local = {.host = "127.0.0.1"};
    const hf_uri_host *host = uri->n_hosts > 0 ? &uri->hosts[0] : &local;
    int rc;

    *at = (hf_maria_address){.port = host->port ? host->port : DEFAULT_PORT,
                             .secure = uri->tls};
    rc = hf__tls_rules_read(&at->tls, uri, "mariadbs://", err);
    if (rc == HF_OK &&
        (!copy(&at->host, host->host) || !copy(&at->socket, socket_of(uri)) ||
         !copy(&at->user, uri->user) ||
         !copy(&at->option_file, hf_uri_get(uri, "option_file")) ||
         !copy(&at->database, uri->path) || !name_it(at)))
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    if (rc == HF_OK)
        rc = check_tls(at, err);
    return rc == HF_OK ? password_of(at, uri, err) : rc;
}

void hf__maria_address_clear(hf_maria_address *at) {
    hf__secret_free(at->password);
    hf__tls_rules_clear(&at->tls);
    hf__free(at->host);
    hf__free(at->socket);
    hf__free(at->user);
    hf__free(at->database);
    hf__free(at->option_file);
    hf__free(at->where);
    *at = (hf_maria_address){0};
}
