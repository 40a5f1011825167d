/* SPDX-License-Identifier: MIT
 *
 * line.h - makes a store of a port.
 *
 *     static const char *const schemes[] = {"etcd", NULL};
 *     static const char *const params[] = {"session", …, NULL};
 *     HF_LINE_STORE(hf__etcd_ops, hf__etcd_port, schemes, params)
 *
 * is all that a store needs beside its port: the table of its verbs, and in a
 * module the symbol that the library looks for. */
#ifndef HF_LINE_H
#define HF_LINE_H

#include "port.h"

int hf__lines_open(hf_backend **ret, const hf_backend_ops *ops,
                   const hf_port_ops *port, const hf_uri *uri,
                   const hf_host *host, hf_time by, hf_error *err);
void hf__lines_close(hf_backend *be, bool forked);
unsigned hf__lines_can(const hf_backend *be, hf_kind kind);
const char *hf__lines_where(const hf_backend *be);
int hf__lines_attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                      hf_error *err);
int hf__lines_watch(hf_backend *be, const hf_claim *c, bool on, hf_time by,
                    hf_error *err);
int hf__lines_renew(hf_backend *be, hf_claim *const *claims, size_t n,
                    hf_time by, hf_error *err);
int hf__lines_release(hf_backend *be, hf_claim *c, hf_how how,
                      const char *whose, hf_time by, hf_error *err);
int hf__lines_count(hf_backend *be, hf_claim *c, hf_count_op op, int64_t *value,
                    hf_time by, hf_error *err);
int hf__lines_announce(hf_backend *be, const char *doing, int lease_ms,
                       hf_time by, hf_error *err);
int hf__lines_clients(hf_backend *be, hf_record_fn *fn, void *arg, hf_time by,
                      hf_error *err);
int hf__lines_list(hf_backend *be, const char *name, hf_place_fn *fn, void *arg,
                   hf_time by, hf_error *err);
int hf__lines_examine(hf_backend *be, hf_fact_fn *fn, void *arg, hf_time by,
                      hf_error *err);
int hf__lines_rights(hf_backend *be, const char *prefix, hf_rule_fn *fn,
                     void *arg, hf_time by, hf_error *err);

#ifdef HF_MODULE
#define HF_LINE_MODULE(table)                                                  \
    HF_API extern const hf_module hf_module_ops;                               \
    const hf_module hf_module_ops = {.abi = HF_MODULE_ABI, .ops = &(table)};
#else
#define HF_LINE_MODULE(table)
#endif

#define HF_LINE_STORE(table, port, schemes_, params_)                          \
    extern const hf_backend_ops table;                                         \
    static int open_line(hf_backend **ret, const hf_uri *uri,                  \
                         const hf_host *host, hf_time by, hf_error *err) {     \
        return hf__lines_open(ret, &(table), &(port), uri, host, by, err);     \
    }                                                                          \
    const hf_backend_ops table = {.schemes = schemes_,                         \
                                  .params = params_,                           \
                                  .open = open_line,                           \
                                  .close = hf__lines_close,                    \
                                  .can = hf__lines_can,                        \
                                  .where = hf__lines_where,                    \
                                  .attempt = hf__lines_attempt,                \
                                  .watch = hf__lines_watch,                    \
                                  .renew = hf__lines_renew,                    \
                                  .release = hf__lines_release,                \
                                  .count = hf__lines_count,                    \
                                  .announce = hf__lines_announce,              \
                                  .clients = hf__lines_clients,                \
                                  .list = hf__lines_list,                      \
                                  .examine = hf__lines_examine,                \
                                  .rights = hf__lines_rights};                 \
    HF_LINE_MODULE(table)

#endif
