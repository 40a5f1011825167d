/* SPDX-License-Identifier: MIT
 *
 * address.c - what a redis URI says.
 *
 * The password comes from the URI, else from password_file=, else from
 * REDISCLI_AUTH, as redis-cli has it.  It is wiped when we are done. */
#include "address.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../err.h"
#include "../../world.h"

enum { PASSWORD_MAX = 4096, DEFAULT_PORT = 6379 };

static const hf_time LOOK_UP = 50 * HF_MS;

/* Copies a string that may be absent.  False: out of memory. */
static bool copy(char **ret, const char *text) {
    *ret = text ? strdup(text) : NULL;
    return *ret || !text;
}

static int set_db(hf_address *a, const char *text, hf_error *err) {
    char *end;
    long db;

    if (!text || !*text)
        return HF_OK;
    errno = 0;
    db = strtol(text, &end, 10);
    if (*end || db < 0 || db > 1000000 || errno)
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

static int set_verify(hf_address *a, const char *text, hf_error *err) {
    static const char *const words[] = {"full", "ca", "none"};

    if (!text)
        return HF_OK;
    for (int i = 0; i < 3; i++)
        if (strcmp(text, words[i]) == 0) {
            a->tls_verify = (hf_verify)i;
            return HF_OK;
        }
    return hf__fail(err, HF_EURI, "tls_verify=%s: say full, ca or none", text);
}

/* Reads at most PASSWORD_MAX - 1 bytes.  Whoever may read the file may use the
 * password, so it must not be everybody.  The length, or HF_EAUTH. */
static ssize_t slurp(char *text, const char *path, hf_error *err) {
    struct stat st;
    ssize_t size = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && fstat(fd, &st) == 0)
        size = read(fd, text, PASSWORD_MAX);
    if (size < 0)
        size = hf__fail(err, HF_EAUTH, "cannot read password_file %s: %s", path,
                        strerror(errno));
    else if (st.st_mode & (S_IROTH | S_IWOTH))
        size = hf__fail(err, HF_EAUTH,
                        "password_file %s is open to everybody: chmod 600 it",
                        path);
    else if (size == PASSWORD_MAX)
        size = hf__fail(err, HF_EAUTH, "password_file %s is too long", path);
    if (fd >= 0)
        close(fd);
    return size;
}

/* The file's first line. */
static int read_password(hf_address *a, const char *path, hf_error *err) {
    char text[PASSWORD_MAX];
    ssize_t size = slurp(text, path, err);
    int rc = HF_OK;

    if (size < 0)
        return HF_EAUTH;
    text[size] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    if (!copy(&a->password, text))
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    explicit_bzero(text, sizeof text);
    return rc;
}

static int set_credentials(hf_address *a, const hf_uri *uri, hf_error *err) {
    const char *file = hf_uri_get(uri, "password_file");
    const char *password = uri->password;

    if (!password && file)
        return copy(&a->user, uri->user) ? read_password(a, file, err) :
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
    if (!copy(&a->tls_ca, hf_uri_get(uri, "tls_ca")) ||
        !copy(&a->tls_cert, hf_uri_get(uri, "tls_cert")) ||
        !copy(&a->tls_key, hf_uri_get(uri, "tls_key")) ||
        !copy(&a->tls_server_name, hf_uri_get(uri, "tls_server_name")))
        return hf__fail_plain(err, HF_ENO_MEMORY);
    if (!a->tls && (a->tls_ca || a->tls_cert || a->tls_key))
        return hf__fail(err, HF_EURI,
                        "tls_ parameters without TLS: write rediss://");
    return set_verify(a, hf_uri_get(uri, "tls_verify"), err);
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
        size = asprintf(&a->where, "redis+unix://%s%s%s?db=%d", user, at,
                        a->socket, a->db);
    else
        size = asprintf(&a->where, "redis%s://%s%s%s%s%s:%d/%d",
                        a->tls ? "s" : "", user, at, v6 ? "[" : "", a->host,
                        v6 ? "]" : "", a->port, a->db);
    if (size >= 0)
        return HF_OK;
    a->where = NULL;
    return hf__fail_plain(err, HF_ENO_MEMORY);
}

int hf__address_new(hf_address **ret, const hf_uri *uri, size_t i,
                    hf_error *err) {
    hf_address *a = calloc(1, sizeof *a);
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
    hf_address *a = calloc(1, sizeof *a);
    int rc = HF_OK;

    if (!a)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    a->port = port;
    a->db = like->db;
    a->tls = like->tls;
    a->tls_verify = like->tls_verify;
    if (!copy(&a->host, host) || !copy(&a->user, like->user) ||
        !copy(&a->password, like->password) ||
        !copy(&a->tls_ca, like->tls_ca) ||
        !copy(&a->tls_cert, like->tls_cert) ||
        !copy(&a->tls_key, like->tls_key) ||
        !copy(&a->tls_server_name, like->tls_server_name))
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    if (rc == HF_OK)
        rc = set_where(a, err);
    if (rc == HF_OK)
        *ret = a;
    else
        hf__address_free(a);
    return rc;
}

bool hf__address_wait(const hf_address *a, int fd, short events, hf_time by) {
    struct pollfd pfd = {.fd = fd, .events = events};

    for (;;) {
        hf_time until = a->given_up ? hf__now() + LOOK_UP : HF_NEVER;

        if (hf__world->poll(&pfd, 1, hf__sooner(by, until)) > 0)
            return true;
        if (hf__now() >= by || (a->given_up && atomic_load(a->given_up)))
            return false;
    }
}

void hf__address_free(hf_address *a) {
    if (!a)
        return;
    if (a->password)
        explicit_bzero(a->password, strlen(a->password));
    free(a->host);
    free(a->socket);
    free(a->user);
    free(a->password);
    free(a->tls_ca);
    free(a->tls_cert);
    free(a->tls_key);
    free(a->tls_server_name);
    free(a->where);
    free(a);
}
