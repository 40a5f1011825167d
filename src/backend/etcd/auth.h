/* SPDX-License-Identifier: MIT
 *
 * auth.h - who we are: a user and a password, for which the server gives a
 * token that goes with every request and ends some day. */
#ifndef HF_ETCD_AUTH_H
#define HF_ETCD_AUTH_H

#include "calls.h"

typedef struct hf_auth hf_auth;

/* From the address, password_file= or ETCDCTL_USER. */
int hf__auth_new(hf_auth **ret, const hf_uri *uri, hf_error *err);
void hf__auth_free(hf_auth *a);

/* The token as it is now, a copy; NULL: none is needed, or memory is short.
 * *serial says which one it is. */
char *hf__auth_token(hf_auth *a, unsigned *serial);

/* Asks for another token than that one, unless somebody just did.  HF_EAUTH:
 * the server refuses us. */
int hf__auth_renew(hf_auth *a, hf_calls *calls, unsigned serial, hf_time by,
                   hf_error *err);

const char *hf__auth_user(const hf_auth *a); /* NULL: nobody */

/* The server knows users; false also while nobody was asked. */
bool hf__auth_is_on(hf_auth *a);

#endif
