/* SPDX-License-Identifier: MIT
 *
 * redis.h - the backend, as its files share it. */
#ifndef HF_REDIS_H
#define HF_REDIS_H

#include "spent.h"
#include "topology/topology.h"

typedef struct hf_redis {
    hf_backend base;
    hf_topology *topology;
    hf_spent spent;
    atomic_ullong last_token; /* the highest granted to us, in a cluster */
} hf_redis;

/* ---- record.c: who a client is ----------------------------------------- */

enum { HF_RECORD_SIZE = 1024 };

/* One line for each thing known, `host=db1`, %-escaped. */
void hf__record_write(char *buf, const hf_identity *identity);
void hf__record_read(hf_identity *ret, const char *text);

/* ---- renew.c ------------------------------------------------------------ */

int hf__redis_renew(hf_backend *be, hf_claim *const *claims, size_t n,
                    hf_time by, hf_error *err);

/* ---- count.c ------------------------------------------------------------ */

int hf__redis_count(hf_backend *be, hf_claim *c, hf_count_op op, int64_t *value,
                    hf_time by, hf_error *err);

/* ---- list.c, examine.c, rights.c: verbs for those who look -------------- */

int hf__redis_list(hf_backend *be, const char *name, hf_place_fn *fn, void *arg,
                   hf_time by, hf_error *err);

/* As list, of one server. */
int hf__redis_list_node(hf_node *node, const char *name, hf_place_fn *fn,
                        void *arg, hf_time by, hf_error *err);
int hf__redis_examine(hf_backend *be, hf_fact_fn *fn, void *arg, hf_time by,
                      hf_error *err);
int hf__redis_rights(hf_backend *be, const char *prefix, hf_rule_fn *fn,
                     void *arg, hf_time by, hf_error *err);

#endif
