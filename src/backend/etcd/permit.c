/* SPDX-License-Identifier: MIT
 *
 * permit.c - permits are leased out of a number.
 *
 * Whoever leases some touches the number, which is put again as it is, and only
 * if nobody did so since it was read.  So the sum of what is leased never grows
 * above the number, although it stands in keys of its own. */
#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "etcd.h"
#include "value.h"

static void write_look(hf_pb *b, bool then, const hf_making *m,
                       const hf_key *number) {
    hf_folders f;

    hf__look_folders(m->etcd, &m->wish->line, &f);
    if (!then)
        hf__txn_range(b, then, &(hf_range){.key = hf__etcd_key_bytes(number)});
    hf__look_write(b, then, &f, false);
}

/* version 0: nothing is known yet, so it only looks. */
static void write_permit(hf_pb *b, const hf_making *m, const hf_key *number,
                         int64_t version) {
    hf__txn_compare(b, &(hf_compare){.target = HF_OF_CREATE,
                                     .key = hf__etcd_key_bytes(&m->key)});
    hf__txn_compare(b, &(hf_compare){.target = HF_OF_MOD,
                                     .value = version ? version : -1,
                                     .key = hf__etcd_key_bytes(number)});
    if (version) {
        hf__txn_put(b, true,
                    &(hf_put){.key = hf__etcd_key_bytes(number),
                              .same_value = true,
                              .same_lease = true});
        hf__txn_put(b, true,
                    &(hf_put){.key = hf__etcd_key_bytes(&m->key),
                              .value = hf__bytes(m->wish->note),
                              .lease = m->lease});
        write_look(b, true, m, number);
    }
    write_look(b, false, m, number);
}

/* The number first, then who leases out of it.  HF_BUSY: our entry is not
 * there, and *version is to be compared with, or 0 if too few are free. */
static int judge(hf_making *m, hf_txned *t, int64_t *version) {
    hf_number_state state = {0};
    hf_ranged r;
    hf_kv kv = {0};
    int64_t leased = 0;
    int rc;

    if (t->succeeded)
        return hf__making_came(m, t);
    if (!hf__next_range(t, &r))
        return hf__ask_nonsense(m->err);
    if (hf__next_kv(&r, &kv) && !hf__etcd_value_read(&state, kv.value))
        return hf__fail(m->err, HF_ESTORE, "%.*s is not holdfast's",
                        (int)kv.key.n, (const char *)kv.key.at);
    rc = hf__making_came(m, t);
    for (size_t i = 0; i < m->came->line.n; i++)
        leased += m->came->line.all[i].permits;
    *version =
        state.is_set && state.number - leased >= m->wish->permits ? kv.mod : 0;
    return rc;
}

int hf__enter_permit(hf_making *m) {
    int64_t version = 0;
    hf_key number;
    hf_txned t;
    int rc;

    hf__etcd_key_number(&number, m->etcd->prefix, &m->wish->line);
    do {
        hf_question q = {.changes = version != 0};

        write_permit(&q.body, m, &number, version);
        rc = hf__ask_txn(&m->etcd->speaker, &q, &t, m->by, m->err);
        if (q.repeated)
            hf__etcd_slot_doubt(m->etcd->session, m->lease, m->n);
        if (rc == HF_OK)
            rc = judge(m, &t, &version);
        hf__question_clear(&q);
    } while (rc == HF_BUSY && version && hf__now() < m->by);
    return rc;
}
