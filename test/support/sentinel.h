/* SPDX-License-Identifier: MIT
 *
 * sentinel.h - a private master with two replicas, and three sentinels that
 * watch them.
 *
 * Server 0 begins as the master; the numbers stay when the roles change.  On
 * request it stands behind a proxy, by which replicas, sentinels and clients
 * know it, so that it can be cut off from all of them. */
#ifndef HF_TEST_SENTINEL_H
#define HF_TEST_SENTINEL_H

#include "lender.h"
#include "proxy.h"
#include "server.h"

enum { HF_TEST_SERVERS = 3, HF_TEST_SENTINELS = 3 };

typedef struct hf_test_ensemble hf_test_ensemble;

typedef struct hf_test_ensemble_options {
    bool unwatched;       /* no sentinels                                   */
    bool proxied;         /* the master is known by its proxy's port        */
    int down_after_ms;    /* until a sentinel takes a server for dead; 0: it
                             is not to happen by itself                     */
    const char *password; /* of the servers                                 */
    const char *sentinel_password;
    const char *tls_cert;    /* sentinels also listen with TLS              */
    bool tls;                /* and servers do so, for each other, too      */
    const char *const *args; /* more arguments for each server              */
    const char *const *first_args; /* and more for server 1                 */
} hf_test_ensemble_options;

/* Returns when the replicas are in step and all sentinels know of all.
 * options may be NULL. */
hf_test_ensemble *
hf_test_ensemble_start(const hf_test_ensemble_options *options);
void hf_test_ensemble_stop(hf_test_ensemble *e); /* NULL is allowed */

/* "redis+sentinel://127.0.0.1:PORT,…/mymaster", without the passwords.
 * Lent. */
const char *hf_test_ensemble_uri(const hf_test_ensemble *e);

hf_test_server *hf_test_ensemble_server(hf_test_ensemble *e, int i);
hf_test_server *hf_test_ensemble_sentinel(hf_test_ensemble *e, int i);
hf_test_proxy *hf_test_ensemble_proxy(hf_test_ensemble *e);

/* The number of the server that all sentinels name; -1: they do not agree. */
int hf_test_ensemble_master(hf_test_ensemble *e);

/* Waits until they name another than `i`, and it is a master; its number. */
int hf_test_ensemble_await_failover(hf_test_ensemble *e, int i);

/* Asks a sentinel to give the role to another server; then await it. */
void hf_test_ensemble_fail_over(hf_test_ensemble *e);

/* Waits until the two others have all that was written to server i. */
void hf_test_ensemble_sync(hf_test_ensemble *e, int i);

#endif
