/* SPDX-License-Identifier: MIT
 *
 * tls.h - OpenSSL over the sockets of our world, and how much of it an address
 * insists on. */
#ifndef HF_NET_TLS_H
#define HF_NET_TLS_H

#include <openssl/ssl.h>
#include <stdatomic.h>

#include "../../../include/holdfast/backend.h"

/* The parameters of an address that are about TLS. */
#define HF_TLS_PARAMS                                                          \
    "tls_ca", "tls_cert", "tls_key", "tls_verify", "tls_server_name"

typedef enum hf_verify {
    HF_VERIFY_FULL, /* the chain, and the name or IP in the certificate */
    HF_VERIFY_CA,   /* the chain only                                   */
    HF_VERIFY_NONE
} hf_verify;

/* Strings are NULL where nothing was given. */
typedef struct hf_tls_rules {
    char *ca, *cert, *key, *server_name;
    hf_verify verify;
} hf_tls_rules;

/* What the address says.  HF_EURI: it makes no sense; `secure` is the scheme
 * to write for TLS, with its slashes.  What was set is freed by _clear,
 * whatever the result. */
int hf__tls_rules_read(hf_tls_rules *r, const hf_uri *uri, const char *secure,
                       hf_error *err);
int hf__tls_rules_copy(hf_tls_rules *r, const hf_tls_rules *from,
                       hf_error *err);
void hf__tls_rules_clear(hf_tls_rules *r);

/* Whom we expect.  All of it is lent, for as long as the hf_tls lives. */
typedef struct hf_tls_peer {
    const hf_tls_rules *rules;
    const char *where; /* the server, in errors                              */
    const char *host;  /* in its certificate, unless the rules have another;
                          NULL: no name is expected                          */
    const char *plain; /* what to write for plain text: "redis://"           */
    const char *alpn;  /* the protocol to agree on; NULL: none               */
    const atomic_bool *given_up; /* see hf__net_wait                         */
} hf_tls_peer;

/* What the connections to one server share: certificates and rules. */
typedef struct hf_tls hf_tls;

int hf__tls_new(hf_tls **ret, const hf_tls_peer *peer, hf_error *err);
void hf__tls_free(hf_tls *tls);

/* Shakes hands over a connected socket.  HF_ETLS says what is wrong. */
int hf__tls_connect(SSL **ret, hf_tls *tls, int fd, hf_time by, hf_error *err);

/* Bytes moved; 0: not now; -1: broken, and `why` filled. */
ssize_t hf__tls_send(SSL *ssl, const void *buf, size_t size);
ssize_t hf__tls_recv(SSL *ssl, void *buf, size_t size, char *why, size_t room);

#endif
