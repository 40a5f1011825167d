/* SPDX-License-Identifier: MIT
 *
 * record.c - what clients say of themselves: a key for each, which goes with
 * the lease of its session. */
#include <stdlib.h>
#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "etcd.h"

enum { PAGE = 64 };

/* ---- our own ----------------------------------------------------------- */

static int put_once(hf_etcd *e, const hf_key *key, const char *text, hf_time by,
                    hf_error *err) {
    hf_question q = {.changes = true};
    uint64_t generation;
    int64_t lease;
    hf_txned t;
    int rc = hf__session_need(e->session, &lease, &generation, by, err);

    if (rc != HF_OK)
        return rc;
    hf__txn_put(&q.body, true,
                &(hf_put){.key = hf__etcd_key_bytes(key),
                          .value = hf__bytes(text),
                          .lease = lease});
    rc = hf__ask_txn(&e->speaker, &q, &t, by, err);
    if (rc == HF_EFREE)
        hf__session_over(e->session, lease);
    hf__question_clear(&q);
    return rc;
}

/* A session that turns out to be over is followed by another. */
int hf__etcd_record(hf_port *p, const char *text, hf_time by, hf_error *err) {
    hf_etcd *e = hf__etcd_of(p);
    hf_key key;
    int rc;

    hf__etcd_key_make(&key, e->prefix, HF_KEY_CLIENTS,
                      e->host->identity.client);
    do
        rc = put_once(e, &key, text, by, err);
    while (rc == HF_EFREE && hf__now() < by);
    return rc == HF_EFREE ? hf__fail(err, HF_EDOWN, "the session is over") : rc;
}

/* ---- all of them ------------------------------------------------------- */

/* What has no lease was put there by somebody else, for ever. */
static void tell(const hf_kv *kv, size_t skip, hf_record_text_fn *fn,
                 void *arg) {
    char client[64];
    size_t n = kv->key.n - skip;

    if (kv->key.n <= skip || n >= sizeof client || kv->lease == 0)
        return;
    memcpy(client, kv->key.at + skip, n);
    client[n] = '\0';
    fn(arg, client, (const char *)kv->value.at, kv->value.n);
}

/* 1: there are more, behind the last. */
static int tell_page(hf_etcd *e, hf_key *from, const hf_key *end, size_t skip,
                     hf_record_text_fn *fn, void *arg, hf_time by,
                     hf_error *err) {
    hf_question q = {.path = HF_RPC_RANGE};
    hf_ranged r = {0};
    hf_kv kv = {0};
    int rc;

    hf__write_range(&q.body, &(hf_range){.key = hf__etcd_key_bytes(from),
                                         .end = hf__etcd_key_bytes(end),
                                         .limit = PAGE});
    rc = hf__ask(&e->speaker, &q, 1, by, err);
    if (rc == HF_OK && !hf__read_range(q.answer, &r))
        rc = hf__ask_nonsense(err);
    while (rc == HF_OK && hf__next_kv(&r, &kv))
        tell(&kv, skip, fn, arg);
    if (rc == HF_OK && r.more && kv.key.n > 0 && kv.key.n + 1 < HF_KEY_SIZE) {
        memcpy(from->at, kv.key.at, kv.key.n);
        from->at[kv.key.n] = '\0';
        from->n = kv.key.n + 1;
        rc = 1;
    }
    hf__question_clear(&q);
    return rc;
}

int hf__etcd_records(hf_port *p, hf_record_text_fn *fn, void *arg, hf_time by,
                     hf_error *err) {
    hf_etcd *e = hf__etcd_of(p);
    hf_key from, end;
    size_t skip;
    int rc;

    hf__etcd_key_make(&from, e->prefix, HF_KEY_CLIENTS, "");
    hf__etcd_key_end(&end, &from);
    skip = from.n;
    while ((rc = tell_page(e, &from, &end, skip, fn, arg, by, err)) > 0)
        by = hf__after_ms(e->host->timeout_ms);
    return rc;
}
