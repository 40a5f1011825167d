/* SPDX-License-Identifier: MIT
 *
 * address.h - what a redis URI says: where the server is, which database, who
 * we are, and how much of TLS we insist on. */
#ifndef HF_REDIS_ADDRESS_H
#define HF_REDIS_ADDRESS_H

#include <stdatomic.h>

#include "../../../include/holdfast/backend.h"

typedef enum hf_verify {
    HF_VERIFY_FULL, /* the chain, and the name or IP in the certificate */
    HF_VERIFY_CA,   /* the chain only                                   */
    HF_VERIFY_NONE
} hf_verify;

/* Strings are NULL where nothing was given. */
typedef struct hf_address {
    char *host; /* NULL: a Unix socket */
    int port;
    char *socket;
    int db;
    char *user, *password;
    bool tls;
    char *tls_ca, *tls_cert, *tls_key, *tls_server_name;
    hf_verify tls_verify;
    char *where; /* all of it as a URI, without the password */

    /* Once true, nobody goes on connecting there: another server has taken
     * its place.  Lent; NULL: that cannot be. */
    const atomic_bool *given_up;
} hf_address;

/* Of the i-th host.  HF_EURI: a parameter makes no sense; HF_EAUTH: the
 * password file cannot be read. */
int hf__address_new(hf_address **ret, const hf_uri *uri, size_t i,
                    hf_error *err);

/* Another server of the same sort, reached with the same credentials and
 * rules. */
int hf__address_at(hf_address **ret, const hf_address *like, const char *host,
                   int port, hf_error *err);
void hf__address_free(hf_address *a);

/* Waits for a socket on which we connect.  False: `by` has come, or the
 * address was given up. */
bool hf__address_wait(const hf_address *a, int fd, short events, hf_time by);

#endif
