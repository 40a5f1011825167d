/* SPDX-License-Identifier: MIT
 *
 * address.h - where the database is, and as whom we go there. */
#ifndef HF_MARIADB_ADDRESS_H
#define HF_MARIADB_ADDRESS_H

#include "../net/tls.h"

/* Strings are NULL where nothing was given: the option files may say it. */
typedef struct hf_maria_address {
    char *host;
    int port;
    char *socket; /* by which it is reached instead */
    char *user, *password, *database;
    char *option_file; /* beside the usual ones */
    bool secure;
    hf_tls_rules tls;
    char *where; /* without secrets, for errors and lists */
} hf_maria_address;

/* The parameters of an address, for hf_backend_ops. */
#define HF_MARIADB_PARAMS                                                      \
    "unix_socket", "socket", "password_file", "option_file", "tls_ca",         \
        "tls_cert", "tls_key", "tls_verify", "hf_compat", "hf_table",          \
        "hf_zone", "hf_lease"

/* What was set is freed by _clear, whatever the result. */
int hf__maria_address_read(hf_maria_address *at, const hf_uri *uri,
                           hf_error *err);
void hf__maria_address_clear(hf_maria_address *at);

#endif
