/* SPDX-License-Identifier: MIT
 *
 * store.c - the store that the port makes. */
#include "../tables/tables.h"
#include "mariadb.h"

extern const hf_backend_ops hf__mariadb_ops;

static const char *const schemes[] = {"mariadb", NULL};
static const char *const params[] = {HF_MARIADB_PARAMS, NULL};

static int open_store(hf_backend **ret, const hf_uri *uri, const hf_host *host,
                      hf_time by, hf_error *err) {
    return hf__tables_open(ret, &hf__mariadb_ops, &hf__mariadb_database, uri,
                           host, by, err);
}

const hf_backend_ops hf__mariadb_ops = {
    .schemes = schemes,
    .params = params,
    .open = open_store,
    HF_TABLES_VERBS,
};

#ifdef HF_MODULE
HF_API extern const hf_module hf_module_ops;
const hf_module hf_module_ops = {.abi = HF_MODULE_ABI, .ops = &hf__mariadb_ops};
#endif
