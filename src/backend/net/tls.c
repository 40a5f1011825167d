/* SPDX-License-Identifier: MIT
 *
 * tls.c - OpenSSL over the sockets of our world.
 *
 * OpenSSL's own socket BIO writes with write(2), which raises SIGPIPE in the
 * program we live in when the server has gone.  So the bytes go through a BIO
 * of ours, which sends as everything else here does. */
#include "tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "dial.h"

struct hf_tls {
    hf_tls_peer peer;
    SSL_CTX *ctx;
    BIO_METHOD *method;
    atomic_bool worked; /* some handshake succeeded: it does speak TLS */
};

/* ---- the rules --------------------------------------------------------- */

/* Copies a string that may be absent.  False: out of memory. */
static bool copy(char **ret, const char *text) {
    *ret = text ? hf__strdup(text) : NULL;
    return *ret || !text;
}

static int set_verify(hf_tls_rules *r, const char *text, hf_error *err) {
    static const char *const words[] = {"full", "ca", "none"};

    if (!text)
        return HF_OK;
    for (int i = 0; i < 3; i++)
        if (strcmp(text, words[i]) == 0) {
            r->verify = (hf_verify)i;
            return HF_OK;
        }
    return hf__fail(err, HF_EURI, "tls_verify=%s: say full, ca or none", text);
}

int hf__tls_rules_read(hf_tls_rules *r, const hf_uri *uri, const char *secure,
                       hf_error *err) {
    const char *ca = hf_uri_get(uri, "tls_ca");
    const char *cert = hf_uri_get(uri, "tls_cert");
    const char *key = hf_uri_get(uri, "tls_key");
    const char *name = hf_uri_get(uri, "tls_server_name");

    *r = (hf_tls_rules){0};
    if (!copy(&r->ca, ca) || !copy(&r->cert, cert) || !copy(&r->key, key) ||
        !copy(&r->server_name, name))
        return hf__fail_plain(err, HF_ENO_MEMORY);
    if (!uri->tls && (ca || cert || key))
        return hf__fail(err, HF_EURI, "tls_ parameters without TLS: write %s",
                        secure);
    return set_verify(r, hf_uri_get(uri, "tls_verify"), err);
}

int hf__tls_rules_copy(hf_tls_rules *r, const hf_tls_rules *from,
                       hf_error *err) {
    *r = (hf_tls_rules){.verify = from->verify};
    if (copy(&r->ca, from->ca) && copy(&r->cert, from->cert) &&
        copy(&r->key, from->key) && copy(&r->server_name, from->server_name))
        return HF_OK;
    return hf__fail_plain(err, HF_ENO_MEMORY);
}

void hf__tls_rules_clear(hf_tls_rules *r) {
    hf__free(r->ca);
    hf__free(r->cert);
    hf__free(r->key);
    hf__free(r->server_name);
    *r = (hf_tls_rules){0};
}

/* ---- the BIO ----------------------------------------------------------- */

static int fd_of(BIO *bio) {
    return (int)(intptr_t)BIO_get_data(bio);
}

static bool passing(int why) {
    return why == EAGAIN || why == EWOULDBLOCK || why == EINTR;
}

static int bio_write(BIO *bio, const char *buf, int size) {
    ssize_t n = hf__world->send(fd_of(bio), buf, (size_t)size);

    BIO_clear_retry_flags(bio);
    if (n < 0 && passing(errno))
        BIO_set_retry_write(bio);
    return (int)n;
}

static int bio_read(BIO *bio, char *buf, int size) {
    ssize_t n = hf__world->recv(fd_of(bio), buf, (size_t)size);

    BIO_clear_retry_flags(bio);
    if (n < 0 && passing(errno))
        BIO_set_retry_read(bio);
    return (int)n;
}

static long bio_ctrl(BIO *bio, int what, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return what == BIO_CTRL_FLUSH;
}

static int bio_create(BIO *bio) {
    BIO_set_init(bio, 1);
    return 1;
}

static BIO_METHOD *bio_method(void) {
    BIO_METHOD *m =
        BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "holdfast");

    if (m && BIO_meth_set_write(m, bio_write) &&
        BIO_meth_set_read(m, bio_read) && BIO_meth_set_ctrl(m, bio_ctrl) &&
        BIO_meth_set_create(m, bio_create))
        return m;
    BIO_meth_free(m);
    return NULL;
}

/* ---- what goes wrong --------------------------------------------------- */

/* The oldest reason on OpenSSL's list, which is the one that caused the
 * others. */
static const char *reason(void) {
    unsigned long code = ERR_get_error();
    const char *text = code ? ERR_reason_error_string(code) : NULL;

    ERR_clear_error();
    return text ? text : "no reason given";
}

static const char *server_name(const hf_tls_peer *p) {
    return p->rules->server_name ? p->rules->server_name : p->host;
}

static int bad_certificate(hf_error *err, const hf_tls_peer *p, long verdict) {
    switch (verdict) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return hf__fail(err, HF_ETLS,
                        "%s: its certificate is for another name than %s: "
                        "give tls_server_name=NAME",
                        p->where, server_name(p));
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return hf__fail(err, HF_ETLS,
                        "%s: its certificate comes from an unknown CA (%s): "
                        "give tls_ca=FILE",
                        p->where, X509_verify_cert_error_string(verdict));
    default:
        return hf__fail(err, HF_ETLS, "%s: its certificate is refused: %s",
                        p->where, X509_verify_cert_error_string(verdict));
    }
}

static int handshake_failed(hf_error *err, hf_tls *tls, SSL *ssl) {
    const hf_tls_peer *p = &tls->peer;
    long verdict = SSL_get_verify_result(ssl);
    unsigned long code = ERR_peek_error();

    if (p->rules->verify != HF_VERIFY_NONE && verdict != X509_V_OK) {
        ERR_clear_error();
        return bad_certificate(err, p, verdict);
    }
    if (ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER) {
        ERR_clear_error();
        return hf__fail(err, HF_ETLS,
                        "%s: the server speaks plain text: write %s", p->where,
                        p->plain);
    }
    if (!code && atomic_load(&tls->worked))
        return hf__fail(err, HF_EDOWN, "%s: closed during the TLS handshake",
                        p->where);
    return hf__fail(err, HF_ETLS, "%s: the TLS handshake failed: %s", p->where,
                    reason());
}

/* A plain-text server waits for the rest of what it takes for a command. */
static int handshake_slow(hf_error *err, hf_tls *tls) {
    const atomic_bool *given_up = tls->peer.given_up;

    if (atomic_load(&tls->worked) || (given_up && atomic_load(given_up)))
        return hf__fail(err, HF_EDOWN, "%s: no answer to the TLS handshake",
                        tls->peer.where);
    return hf__fail(err, HF_ETLS,
                    "%s: no answer to the TLS handshake; if the server speaks "
                    "plain text write %s",
                    tls->peer.where, tls->peer.plain);
}

/* ---- the shared part --------------------------------------------------- */

static int load_ca(SSL_CTX *ctx, const hf_tls_rules *r, hf_error *err) {
    struct stat st;
    bool is_dir;

    if (r->verify == HF_VERIFY_NONE)
        return HF_OK;
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    is_dir = r->ca && stat(r->ca, &st) == 0 && S_ISDIR(st.st_mode);
    if (!r->ca ? SSL_CTX_set_default_verify_paths(ctx) :
        is_dir ? SSL_CTX_load_verify_locations(ctx, NULL, r->ca) :
                 SSL_CTX_load_verify_locations(ctx, r->ca, NULL))
        return HF_OK;
    return hf__fail(err, HF_ETLS, "tls_ca %s cannot be read: %s",
                    r->ca ? r->ca : "(default)", reason());
}

static int load_own(SSL_CTX *ctx, const hf_tls_rules *r, hf_error *err) {
    const char *key = r->key ? r->key : r->cert;

    if (!r->cert)
        return HF_OK;
    if (SSL_CTX_use_certificate_chain_file(ctx, r->cert) != 1)
        return hf__fail(err, HF_ETLS, "tls_cert %s cannot be used: %s", r->cert,
                        reason());
    if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
        return hf__fail(err, HF_ETLS, "tls_key %s cannot be used: %s", key,
                        reason());
    return HF_OK;
}

/* A key with a pass phrase would make OpenSSL ask on the terminal. */
static int no_pass_phrase(char *buf, int size, int writing, void *arg) {
    (void)buf, (void)size, (void)writing, (void)arg;
    return 0;
}

/* The list that ALPN wants: a length and the name. */
static int offer(hf_tls *tls, hf_error *err) {
    const char *name = tls->peer.alpn;
    unsigned char list[32];
    size_t size = name ? strlen(name) : 0;

    if (!name)
        return HF_OK;
    list[0] = (unsigned char)size;
    memcpy(list + 1, name, size);
    if (SSL_CTX_set_alpn_protos(tls->ctx, list, (unsigned)size + 1) == 0)
        return HF_OK;
    return hf__fail(err, HF_ETLS, "OpenSSL cannot be used: %s", reason());
}

static int set_up(hf_tls *tls, hf_error *err) {
    int rc;

    tls->method = bio_method();
    tls->ctx = SSL_CTX_new(TLS_client_method());
    if (!tls->method || !tls->ctx)
        return hf__fail(err, HF_ETLS, "OpenSSL cannot be used: %s", reason());
    SSL_CTX_set_min_proto_version(tls->ctx, TLS1_2_VERSION);
    SSL_CTX_set_options(tls->ctx, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(tls->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                   SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_default_passwd_cb(tls->ctx, no_pass_phrase);
    rc = load_ca(tls->ctx, tls->peer.rules, err);
    if (rc == HF_OK)
        rc = load_own(tls->ctx, tls->peer.rules, err);
    return rc == HF_OK ? offer(tls, err) : rc;
}

int hf__tls_new(hf_tls **ret, const hf_tls_peer *peer, hf_error *err) {
    hf_tls *tls = hf__calloc(1, sizeof *tls);
    int rc;

    if (!tls)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    tls->peer = *peer;
    ERR_clear_error();
    rc = set_up(tls, err);
    if (rc == HF_OK)
        *ret = tls;
    else
        hf__tls_free(tls);
    return rc;
}

void hf__tls_free(hf_tls *tls) {
    if (!tls)
        return;
    SSL_CTX_free(tls->ctx);
    BIO_meth_free(tls->method);
    hf__free(tls);
}

/* ---- one connection ---------------------------------------------------- */

/* Whom we expect.  Names go into the greeting too, so that a server with many
 * certificates picks the right one; for addresses that is not allowed. */
static bool expect(SSL *ssl, const hf_tls_peer *p) {
    const char *name = server_name(p);
    unsigned char ip[16];
    bool is_ip;

    if (!name)
        return true;
    is_ip =
        inet_pton(AF_INET, name, ip) == 1 || inet_pton(AF_INET6, name, ip) == 1;
    if (!is_ip && !SSL_set_tlsext_host_name(ssl, name))
        return false;
    if (p->rules->verify != HF_VERIFY_FULL)
        return true;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return is_ip ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) :
                   SSL_set1_host(ssl, name);
}

static SSL *attach(hf_tls *tls, int fd) {
    SSL *ssl = SSL_new(tls->ctx);
    BIO *bio = BIO_new(tls->method);

    if (!ssl || !bio || !expect(ssl, &tls->peer)) {
        SSL_free(ssl);
        BIO_free(bio);
        return NULL;
    }
    BIO_set_data(bio, (void *)(intptr_t)fd);
    SSL_set_bio(ssl, bio, bio);
    return ssl;
}

static int shake(hf_tls *tls, SSL *ssl, int fd, hf_time by, hf_error *err) {
    for (;;) {
        int rc, want;

        ERR_clear_error();
        rc = SSL_connect(ssl);
        if (rc == 1)
            return HF_OK;
        want = SSL_get_error(ssl, rc);
        if (want != SSL_ERROR_WANT_READ && want != SSL_ERROR_WANT_WRITE)
            return handshake_failed(err, tls, ssl);
        if (!hf__net_wait(fd, want == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT,
                          by, tls->peer.given_up))
            return handshake_slow(err, tls);
    }
}

/* The server may know TLS and not our protocol. */
static int agreed(hf_tls *tls, const SSL *ssl, hf_error *err) {
    const char *wanted = tls->peer.alpn;
    const unsigned char *got;
    unsigned size;

    if (!wanted)
        return HF_OK;
    SSL_get0_alpn_selected(ssl, &got, &size);
    if (size == strlen(wanted) && memcmp(got, wanted, size) == 0)
        return HF_OK;
    return hf__fail(err, HF_ETLS, "%s: the server does not speak %s by TLS",
                    tls->peer.where, wanted);
}

int hf__tls_connect(SSL **ret, hf_tls *tls, int fd, hf_time by, hf_error *err) {
    SSL *ssl = attach(tls, fd);
    int rc;

    if (!ssl)
        return hf__fail(err, HF_ETLS, "%s: OpenSSL refuses: %s",
                        tls->peer.where, reason());
    rc = shake(tls, ssl, fd, by, err);
    if (rc == HF_OK)
        rc = agreed(tls, ssl, err);
    if (rc != HF_OK) {
        SSL_free(ssl);
        return rc;
    }
    atomic_store(&tls->worked, true);
    *ret = ssl;
    return HF_OK;
}

static ssize_t moved(SSL *ssl, int rc, size_t n, char *why, size_t room) {
    int want = SSL_get_error(ssl, rc);

    if (rc == 1)
        return (ssize_t)n;
    if (want == SSL_ERROR_WANT_READ || want == SSL_ERROR_WANT_WRITE)
        return 0;
    if (want == SSL_ERROR_SSL)
        snprintf(why, room, "TLS: %s", reason());
    else
        snprintf(why, room, "the server closed the connection");
    return -1;
}

ssize_t hf__tls_send(SSL *ssl, const void *buf, size_t size) {
    char why[1];
    size_t n = 0;
    int rc;

    ERR_clear_error();
    rc = SSL_write_ex(ssl, buf, size, &n);
    return moved(ssl, rc, n, why, sizeof why);
}

ssize_t hf__tls_recv(SSL *ssl, void *buf, size_t size, char *why, size_t room) {
    size_t n = 0;
    int rc;

    ERR_clear_error();
    rc = SSL_read_ex(ssl, buf, size, &n);
    return moved(ssl, rc, n, why, room);
}
