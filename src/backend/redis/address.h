/* SPDX-License-Identifier: MIT
 *
 * address.h - what a redis URI says: where the server is, which database, who
 * we are, and how much of TLS we insist on. */
#ifndef HF_REDIS_ADDRESS_H
#define HF_REDIS_ADDRESS_H

#include "../net/tls.h"

/* Strings are NULL where nothing was given. */
typedef struct hf_address {
    char *host; /* NULL: a Unix socket */
    int port;
    char *socket;
    int db;
    char *user, *password;
    bool tls;
    hf_tls_rules rules; /* of TLS */
    char *where;        /* all of it as a URI, without the password */

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

/* What the TLS connections to the address share; lives no longer than it. */
int hf__address_tls(hf_tls **ret, const hf_address *a, hf_error *err);

#endif
