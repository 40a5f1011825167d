/* SPDX-License-Identifier: MIT
 *
 * auth.c - who we are.
 *
 * The password comes from the URI, else from password_file=, else with the user
 * from ETCDCTL_USER, as etcdctl has it.  A server that knows no users is used
 * without a token, and asked again when it changes its mind. */
#include "auth.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "../net/secret.h"
#include "proto.h"
#include "status.h"

struct hf_auth {
    char *user, *password; /* NULL: nobody */
    pthread_mutex_t mu;
    pthread_cond_t changed;
    bool asking;     /* mu */
    char *token;     /* mu; NULL: the server wants none */
    unsigned serial; /* mu; 0: none was asked for yet */
};

/* ---- life -------------------------------------------------------------- */

static int copy(char **ret, const char *text, hf_error *err) {
    *ret = hf__strdup(text);
    return *ret ? HF_OK : hf__fail_plain(err, HF_ENO_MEMORY);
}

/* "user:password" */
static int from_environment(hf_auth *a, hf_error *err) {
    const char *both = secure_getenv("ETCDCTL_USER");
    const char *colon = both ? strchr(both, ':') : NULL;

    if (!colon)
        return HF_OK;
    a->user = hf__strndup(both, (size_t)(colon - both));
    if (!a->user)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    return copy(&a->password, colon + 1, err);
}

static int read_uri(hf_auth *a, const hf_uri *uri, hf_error *err) {
    const char *file = hf_uri_get(uri, "password_file");
    int rc;

    if (!uri->user)
        return file ? hf__fail(err, HF_EURI,
                               "password_file without a user: write "
                               "etcd://USER@HOST") :
                      from_environment(a, err);
    rc = copy(&a->user, uri->user, err);
    if (rc != HF_OK)
        return rc;
    if (!uri->password && file)
        return hf__secret_read(&a->password, file, err);
    return copy(&a->password, uri->password ? uri->password : "", err);
}

int hf__auth_new(hf_auth **ret, const hf_uri *uri, hf_error *err) {
    hf_auth *a = hf__calloc(1, sizeof *a);
    int rc;

    if (!a)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    pthread_mutex_init(&a->mu, NULL);
    pthread_cond_init(&a->changed, NULL);
    rc = read_uri(a, uri, err);
    if (rc == HF_OK)
        *ret = a;
    else
        hf__auth_free(a);
    return rc;
}

void hf__auth_free(hf_auth *a) {
    if (!a)
        return;
    hf__free(a->user);
    hf__secret_free(a->password);
    hf__secret_free(a->token);
    pthread_mutex_destroy(&a->mu);
    pthread_cond_destroy(&a->changed);
    hf__free(a);
}

const char *hf__auth_user(const hf_auth *a) {
    return a->user;
}

bool hf__auth_is_on(hf_auth *a) {
    bool on;

    pthread_mutex_lock(&a->mu);
    on = a->token != NULL;
    pthread_mutex_unlock(&a->mu);
    return on;
}

/* ---- the token --------------------------------------------------------- */

char *hf__auth_token(hf_auth *a, unsigned *serial) {
    char *token;

    *serial = 0;
    if (!a->user)
        return NULL;
    pthread_mutex_lock(&a->mu);
    token = a->token ? hf__strdup(a->token) : NULL;
    *serial = a->serial;
    pthread_mutex_unlock(&a->mu);
    return token;
}

static int take_token(const hf_question *q, char **ret, hf_error *err) {
    hf_bytes message, token;

    if (hf__status_says(&q->call, "authentication is not enabled"))
        return HF_OK;
    if (!q->done || q->call.status != 0)
        return hf__status_fail(&q->call, q->done, "etcd", err);
    if (!hf__grpc_answer(&q->call, &message) ||
        !hf__read_token(message, &token) || token.n == 0 ||
        memchr(token.at, '\0', token.n))
        return hf__fail(err, HF_ESTORE, "the server's token cannot be read");
    *ret = hf__strndup((const char *)token.at, token.n);
    return *ret ? HF_OK : hf__fail_plain(err, HF_ENO_MEMORY);
}

static int ask(hf_auth *a, hf_calls *calls, char **token, hf_time by,
               hf_error *err) {
    hf_question q = {.path = "/etcdserverpb.Auth/Authenticate"};
    unsigned link;
    int rc;

    hf__write_credentials(&q.body, a->user, a->password);
    rc = hf__calls_ask(calls, &q, 1, NULL, &link, by, err);
    if (rc == HF_OK)
        rc = take_token(&q, token, err);
    hf__question_clear(&q);
    return rc;
}

int hf__auth_renew(hf_auth *a, hf_calls *calls, unsigned serial, hf_time by,
                   hf_error *err) {
    char *token = NULL;
    int rc = HF_OK;

    if (!a->user)
        return hf__fail(err, HF_EAUTH,
                        "the server wants a user: write etcd://USER@HOST with "
                        "password_file=FILE");
    pthread_mutex_lock(&a->mu);
    while (a->asking && hf__now() < by)
        hf__world->wait(&a->changed, &a->mu, by);
    if (a->asking || a->serial != serial) {
        rc = a->asking ? hf__fail_plain(err, HF_EDOWN) : HF_OK;
        pthread_mutex_unlock(&a->mu);
        return rc;
    }
    a->asking = true;
    pthread_mutex_unlock(&a->mu);
    rc = ask(a, calls, &token, by, err);
    pthread_mutex_lock(&a->mu);
    a->asking = false;
    pthread_cond_broadcast(&a->changed);
    if (rc == HF_OK) {
        hf__secret_free(a->token);
        a->token = token;
        a->serial++;
    }
    pthread_mutex_unlock(&a->mu);
    return rc;
}
