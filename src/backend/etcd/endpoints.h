/* SPDX-License-Identifier: MIT
 *
 * endpoints.h - the servers that an address names, any of which will do.
 *
 * One is used until it fails; then the next one in turn is. */
#ifndef HF_ETCD_ENDPOINTS_H
#define HF_ETCD_ENDPOINTS_H

#include <stdatomic.h>

#include "../net/tls.h"
#include "grpc.h"

typedef struct hf_endpoints hf_endpoints;

/* HF_EURI: a parameter makes no sense; HF_ETLS: a file cannot be used. */
int hf__endpoints_new(hf_endpoints **ret, const hf_uri *uri,
                      const hf_host *host, hf_error *err);
void hf__endpoints_free(hf_endpoints *e);

/* Connects to one of them and says which.  Each has its share of the time.
 * HF_EDOWN: none can be reached; those that just failed are left alone for a
 * while. */
int hf__endpoints_dial(hf_endpoints *e, hf_grpc **ret, size_t *which,
                       hf_time by, hf_error *err);

/* That one did not serve us well: another goes first. */
void hf__endpoints_shun(hf_endpoints *e, size_t which);

/* Nobody goes on connecting. */
void hf__endpoints_stop(hf_endpoints *e);

size_t hf__endpoints_count(const hf_endpoints *e);
const char *hf__endpoint_where(const hf_endpoints *e, size_t which);
const hf_tls_rules *hf__endpoints_rules(const hf_endpoints *e); /* or NULL */

/* One of them in particular, for those who examine. */
int hf__endpoint_dial(hf_endpoints *e, size_t which, hf_grpc **ret, hf_time by,
                      hf_error *err);

#endif
