/* SPDX-License-Identifier: MIT
 *
 * etcd.h - the port to etcd: its parts, and what they do for each other. */
#ifndef HF_ETCD_H
#define HF_ETCD_H

#include "../line/port.h"
#include "ask.h"
#include "keys.h"
#include "session.h"
#include "streams.h"

extern const hf_port_ops hf__etcd_port;

typedef struct hf_etcd {
    hf_port base;
    const hf_host *host;
    hf_speaker speaker;
    hf_session *session;
    hf_streams *streams;
    char *where;
    char prefix[HF_PREFIX_MAX + 2];
} hf_etcd;

static inline hf_etcd *hf__etcd_of(hf_port *p) {
    return (hf_etcd *)p;
}

/* ---- look.c ------------------------------------------------------------ */

/* The ranges that make up a line, one or two, WRITE before READ. */
typedef struct hf_folders {
    size_t n;
    hf_key key[2], end[2];
} hf_folders;

void hf__look_folders(const hf_etcd *e, const hf_line *line, hf_folders *f);
void hf__look_write(hf_pb *b, bool then, const hf_folders *f, bool notes);

/* The answers to those ranges, which are next in the transaction. */
int hf__look_read(const hf_etcd *e, const hf_line *line, hf_txned *t,
                  bool notes, hf_lineup *all, hf_error *err);

int hf__etcd_look(hf_port *p, const hf_line *line, bool notes, hf_lineup *all,
                  hf_time by, hf_error *err);
int hf__etcd_record(hf_port *p, const char *text, hf_time by, hf_error *err);
int hf__etcd_records(hf_port *p, hf_record_text_fn *fn, void *arg, hf_time by,
                     hf_error *err);
int hf__etcd_names(hf_port *p, void (*fn)(void *arg, const hf_line *line),
                   void *arg, hf_time by, hf_error *err);

/* ---- entry.c, permit.c ------------------------------------------------- */

/* An entry in the making. */
typedef struct hf_making {
    hf_etcd *etcd;
    const hf_wish *wish;
    hf_arrival *came;
    hf_time by;
    hf_error *err;
    int64_t lease;
    unsigned n; /* of the entry in the session */
    hf_key key;
} hf_making;

/* The line after a transaction.  OK: our entry is in it; HF_BUSY: it is not. */
int hf__making_came(hf_making *m, hf_txned *t);

int hf__enter_permit(hf_making *m);

int hf__etcd_enter(hf_port *p, const hf_wish *w, bool only_if_free,
                   hf_arrival *came, hf_time by, hf_error *err);
int hf__etcd_leave(hf_port *p, const hf_wish *w, const char *key, hf_time by,
                   hf_error *err);
int hf__etcd_keep_out(hf_port *p, const hf_wish *w, const char *key, int ms,
                      hf_time by, hf_error *err);

/* ---- check.c ----------------------------------------------------------- */

int hf__etcd_check(hf_port *p, const char *const *keys, int *found, size_t n,
                   hf_time by, hf_error *err);
int hf__etcd_watch(hf_port *p, const hf_line *line, const char *key,
                   uint64_t as_of, uint64_t watch, hf_time by, hf_error *err);

/* ---- number.c ---------------------------------------------------------- */

int hf__etcd_read(hf_port *p, const hf_line *line, hf_number_state *state,
                  int64_t *leased, hf_time by, hf_error *err);
int hf__etcd_write(hf_port *p, const hf_line *line,
                   const hf_number_state *state, hf_time by, hf_error *err);

/* A lease that is no session: it ends by itself. */
int hf__lease_grant(hf_etcd *e, int ms, int64_t *lease, hf_time by,
                    hf_error *err);

/* ---- examine.c, rights.c ----------------------------------------------- */

int hf__etcd_examine(hf_port *p, hf_fact_fn *fn, void *arg, hf_time by,
                     hf_error *err);
int hf__etcd_rights(hf_port *p, const char *prefix, hf_rule_fn *fn, void *arg,
                    hf_time by, hf_error *err);

#endif
