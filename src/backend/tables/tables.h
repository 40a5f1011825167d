/* SPDX-License-Identifier: MIT
 *
 * tables.h - the verbs of a store whose lines are tables of a database.  A
 * database's file has its own hf_backend_ops with these in it, and an `open`
 * that calls hf__tables_open. */
#ifndef HF_TABLES_H
#define HF_TABLES_H

#include "database.h"

/* `verbs` become those of the backend. */
int hf__tables_open(hf_backend **ret, const hf_backend_ops *verbs,
                    const hf_database_ops *ops, const hf_uri *uri,
                    const hf_host *host, hf_time by, hf_error *err);

/* The database under it. */
hf_database *hf__tables_database(hf_backend *be);

void hf__tables_close(hf_backend *be, bool forked);
unsigned hf__tables_can(const hf_backend *be, hf_kind kind);
const char *hf__tables_where(const hf_backend *be);
int hf__tables_attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                       hf_error *err);
int hf__tables_watch(hf_backend *be, const hf_claim *c, bool on, hf_time by,
                     hf_error *err);
int hf__tables_renew(hf_backend *be, hf_claim *const *claims, size_t n,
                     hf_time by, hf_error *err);
int hf__tables_release(hf_backend *be, hf_claim *c, hf_how how,
                       const char *whose, hf_time by, hf_error *err);
int hf__tables_count(hf_backend *be, hf_claim *c, hf_count_op op,
                     int64_t *value, hf_time by, hf_error *err);
int hf__tables_announce(hf_backend *be, const char *doing, int lease_ms,
                        hf_time by, hf_error *err);
int hf__tables_clients(hf_backend *be, hf_record_fn *fn, void *arg, hf_time by,
                       hf_error *err);
int hf__tables_list(hf_backend *be, const char *name, hf_place_fn *fn,
                    void *arg, hf_time by, hf_error *err);
int hf__tables_examine(hf_backend *be, hf_fact_fn *fn, void *arg, hf_time by,
                       hf_error *err);
int hf__tables_rights(hf_backend *be, const char *prefix, hf_rule_fn *fn,
                      void *arg, hf_time by, hf_error *err);

#define HF_TABLES_VERBS                                                        \
    .close = hf__tables_close, .can = hf__tables_can,                          \
    .where = hf__tables_where, .attempt = hf__tables_attempt,                  \
    .watch = hf__tables_watch, .renew = hf__tables_renew,                      \
    .release = hf__tables_release, .count = hf__tables_count,                  \
    .announce = hf__tables_announce, .clients = hf__tables_clients,            \
    .list = hf__tables_list, .examine = hf__tables_examine,                    \
    .rights = hf__tables_rights

#endif
