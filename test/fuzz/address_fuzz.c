/* SPDX-License-Identifier: MIT
 *
 * address_fuzz.c - any text as the address of each store that reads it further
 * than the URI, and as what the environment says of the default store.
 *
 * Passwords are planted, in the address and in the file that it may name; they
 * are nowhere in what is shown of it, and hosts are told apart as libpq would
 * tell them apart. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/mariadb/address.h"
#include "backend/net/secret.h"
#include "backend/postgres/conninfo.h"
#include "backend/redis/address.h"
#include "backend/redis/topology/sentinel_uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char secret[] = "Tr0ub4dor";

/* No file of this host is read. */
int hf__secret_read(char **ret, const char *path, hf_error *err) {
    (void)path, (void)err;
    *ret = strdup(secret);
    assert(*ret != NULL);
    return HF_OK;
}

void hf__secret_free(char *text) {
    free(text);
}

static void no_secret(const char *text) {
    assert(text == NULL || strstr(text, secret) == NULL);
}

static void refused(int rc, const hf_error *err) {
    assert(rc < 0 && err->code == rc && err->text[0] != '\0');
    no_secret(err->text);
}

/* ---- Redis ------------------------------------------------------------- */

static void check_redis(const hf_uri *uri) {
    hf_error err = {0, ""};
    hf_sentinel_uri s;
    hf_address *a = NULL;

    for (size_t i = 0; i <= uri->n_hosts; i++) {
        int rc = hf__address_new(&a, uri, i, &err);
        if (rc != HF_OK) {
            refused(rc, &err);
            continue;
        }
        assert((a->host != NULL) != (a->socket != NULL));
        assert(a->db >= 0 && (a->socket || a->port > 0));
        no_secret(a->where);
        hf__address_free(a);
    }
    if (strcmp(uri->scheme, "redis+sentinel") != 0)
        return;
    if (hf__sentinel_uri_read(&s, uri, &err) == HF_OK) {
        assert(s.name != NULL && *s.name != '\0');
        no_secret(s.where);
    }
    hf__sentinel_uri_clear(&s);
}

/* ---- MariaDB ----------------------------------------------------------- */

static void check_mariadb(const hf_uri *uri) {
    hf_error err = {0, ""};
    hf_maria_address at;
    int rc = hf__maria_address_read(&at, uri, &err);

    if (rc == HF_OK) {
        assert(at.host != NULL && *at.host != '\0' && at.port > 0);
        assert(at.where != NULL);
        no_secret(at.where);
    } else {
        refused(rc, &err);
    }
    hf__maria_address_clear(&at);
}

/* ---- PostgreSQL -------------------------------------------------------- */

/* Instead of connecting: what would be handed to libpq. */
PGconn *__wrap_PQconnectStartParams(const char *const *keys,
                                    const char *const *values, int expand);

PGconn *__wrap_PQconnectStartParams(const char *const *keys,
                                    const char *const *values, int expand) {
    assert(expand == 0);
    for (size_t i = 0; keys[i] != NULL; i++) {
        assert(values[i] != NULL && strncmp(keys[i], "hf_", 3) != 0);
        if (strcmp(keys[i], "host") == 0 || strcmp(keys[i], "port") == 0)
            assert(strchr(values[i], ',') == NULL);
    }
    return NULL;
}

static void check_conninfo(const hf_uri *uri) {
    hf_error err = {0, ""};
    hf_conninfo *info = NULL, *ear = NULL;
    const char *listen = hf_uri_get(uri, "hf_listen");
    int rc = hf__pg_conninfo_of(&info, uri, &err);

    if (rc != HF_OK) {
        refused(rc, &err);
        return;
    }
    assert(hf__pg_conninfo_hosts(info) > 0);
    for (int i = 0; i < hf__pg_conninfo_hosts(info); i++)
        hf__pg_conninfo_start(info, i);
    if (listen != NULL) {
        rc = hf__pg_conninfo_beside(&ear, info, listen, &err);
        if (rc == HF_OK)
            hf__pg_conninfo_start(ear, 0);
        else
            refused(rc, &err);
        if (rc == HF_OK)
            hf__pg_conninfo_free(ear);
    }
    hf__pg_conninfo_free(info);
}

/* ---- the default ------------------------------------------------------- */

static void check_default(const char *state) {
    char small[16];
    hf_error err = {0, ""};
    hf_uri *uri = NULL;
    size_t n;
    char *text;

    setenv("XDG_STATE_HOME", state, 1);
    n = hf_default_store(NULL, 0);
    text = malloc(n + 1);
    assert(text != NULL && hf_default_store(text, n + 1) == n);
    assert(strlen(text) == n && strncmp(text, "sqlite:", 7) == 0);
    assert(hf_default_store(small, sizeof small) == n);
    assert(strncmp(small, text, sizeof small - 1) == 0);
    assert(hf_uri_parse(&uri, text, &err) == HF_OK);
    assert(uri->path[0] == '/');
    hf_uri_free(uri);
    free(text);
}

/* ---- all of it --------------------------------------------------------- */

static void check_uri(const char *text) {
    hf_error err = {0, ""};
    hf_uri *uri = NULL;

    if (hf_uri_parse(&uri, text, &err) != HF_OK) {
        no_secret(err.text);
        return;
    }
    if (strncmp(uri->scheme, "redis", 5) == 0)
        check_redis(uri);
    else if (strncmp(uri->scheme, "mariadb", 7) == 0)
        check_mariadb(uri);
    else if (strncmp(uri->scheme, "postgres", 8) == 0)
        check_conninfo(uri);
    hf_uri_free(uri);
}

static void check_planted(const char *junk) {
    static const char *const schemes[] = {"redis",          "rediss",
                                          "redis+sentinel", "mariadb",
                                          "mariadbs",       "postgresql"};
    char *text = NULL;

    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        assert(asprintf(&text, "%s://u:%s@%s", schemes[i], secret, junk) > 0);
        check_uri(text);
        free(text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = calloc(1, size + 1);

    assert(text != NULL);
    memcpy(text, data, size);
    if (strstr(text, secret) == NULL) {
        check_uri(text);
        check_planted(text);
        check_default(text);
    }
    free(text);
    return 0;
}
