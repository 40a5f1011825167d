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
    atomic_ullong announced;  /* so often we said who we are             */
} hf_redis;

/* ---- record.c: who a client is, and what it does ------------------------ */

/* Who it is takes no more, with the NUL. */
enum { HF_RECORD_SIZE = 1024 };

/* One line for each thing known, `host=db1`, %-escaped. */
void hf__record_write(char *buf, const hf_identity *identity);
void hf__record_read(hf_identity *ret, const char *text);

/* All of it.  Of two records of a client the one with the higher number is the
 * newer.  NULL: out of memory; else yours to free. */
char *hf__record_new(const hf_identity *identity, uint64_t number,
                     const char *doing);
uint64_t hf__record_number(const char *text);       /* 0: it has none */
void hf__record_doing(char *buf, const char *text); /* HF_DOING_MAX + 1 bytes */

/* ---- clients.c ---------------------------------------------------------- */

int hf__redis_announce(hf_backend *be, const char *doing, int lease_ms,
                       hf_time by, hf_error *err);
int hf__redis_clients(hf_backend *be, hf_record_fn *fn, void *arg, hf_time by,
                      hf_error *err);

/* Takes our record away, if there is one and the server is quick to answer. */
void hf__redis_take_leave(hf_redis *r);

/* One client's record as it stands. */
typedef void hf_record_text_fn(void *arg, const char *client, const char *text);

/* All that one server has, which is no cluster's. */
int hf__redis_clients_node(hf_node *node, hf_record_text_fn *fn, void *arg,
                           hf_time by, hf_error *err);

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
