/* SPDX-License-Identifier: MIT
 *
 * conninfo.h - an address as libpq wants it.
 *
 * libpq reads the address itself, but for our own parameters (hf_…), which it
 * does not know.  What libpq leaves to its caller in the non-blocking way of
 * connecting is done here: a list of hosts is taken apart, so that one that is
 * silent costs its share of the time and not all of it. */
#ifndef HF_POSTGRES_CONNINFO_H
#define HF_POSTGRES_CONNINFO_H

#include <libpq-fe.h>

#include "../../../include/holdfast/backend.h"

typedef struct hf_conninfo hf_conninfo;

/* Of the store's address; HF_EURI where libpq refuses it.  Nothing is returned
 * with an error. */
int hf__pg_conninfo_of(hf_conninfo **ret, const hf_uri *uri, hf_error *err);

/* Of another text (hf_listen), which takes from `base` what it does not say
 * itself: who asks and which database, but not where. */
int hf__pg_conninfo_beside(hf_conninfo **ret, const hf_conninfo *base,
                           const char *text, hf_error *err);
void hf__pg_conninfo_free(hf_conninfo *info); /* NULL is allowed */

/* How many hosts there are to be tried; at least one. */
int hf__pg_conninfo_hosts(const hf_conninfo *info);

/* What the address says of it, or NULL. */
const char *hf__pg_conninfo_get(const hf_conninfo *info, const char *key);

/* Begins a connection to the i-th host; NULL: out of memory. */
PGconn *hf__pg_conninfo_start(const hf_conninfo *info, int i);

/* "postgresql://user@host:port/database", malloced; `conn` knows what the
 * address leaves open. */
char *hf__pg_conninfo_where(const hf_conninfo *info, const PGconn *conn);

/* Parameters that libpq knows, NULL at the end, with ours. */
extern const char *const hf__postgres_params[];

#endif
