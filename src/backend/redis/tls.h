/* SPDX-License-Identifier: MIT
 *
 * tls.h - OpenSSL over the sockets of our world. */
#ifndef HF_REDIS_TLS_H
#define HF_REDIS_TLS_H

#include <openssl/ssl.h>

#include "address.h"

/* What the connections to one address share: certificates and rules. */
typedef struct hf_tls hf_tls;

int hf__tls_new(hf_tls **ret, const hf_address *a, hf_error *err);
void hf__tls_free(hf_tls *tls);

/* Shakes hands over a connected socket.  HF_ETLS says what is wrong. */
int hf__tls_connect(SSL **ret, hf_tls *tls, int fd, hf_time by, hf_error *err);

/* Bytes moved; 0: not now; -1: broken, and `why` filled. */
ssize_t hf__tls_send(SSL *ssl, const void *buf, size_t size);
ssize_t hf__tls_recv(SSL *ssl, void *buf, size_t size, char *why, size_t room);

#endif
