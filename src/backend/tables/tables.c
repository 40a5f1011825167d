/* SPDX-License-Identifier: MIT
 *
 * tables.c - a store whose lines are tables of a database: its beginning and
 * its end, and what it can do.
 *
 * A line is a row that whoever decides about the line locks (turn.c), with rows
 * for those who hold and wait (sight.c).  A lock that is free and nobody waits
 * for is taken, and given back, by one statement (attempt.c, release.c).  Who
 * leaves gives what it had to the next in line and tells it so (ears.c).
 *
 * Time is the database's; so are tokens, which never fall below its clock.
 * Nothing depends on a session: connections may be lent out by a pooler, and
 * break between any two scripts.  What a session has prepared (script.c) only
 * saves time. */

#include "../../alloc.h"
#include "../../err.h"
#include "session.h"
#include "shedlock.h"
#include "store.h"

unsigned hf__tables_can(const hf_backend *be, hf_kind kind) {
    (void)be;
    switch (kind) {
    case HF_LOCK:
    case HF_FAIR:
        return HF_CAN_HOLD | HF_CAN_ORDER | HF_CAN_WAKE;
    case HF_READ:
    case HF_WRITE:
    case HF_PERMIT:
    case HF_SEMAPHORE:
    case HF_LATCH:
        return HF_CAN_HOLD | HF_CAN_WAKE;
    case HF_SPIN:
        return HF_CAN_HOLD;
    default:
        return 0;
    }
}

hf_database *hf__tables_database(hf_backend *be) {
    return ((hf_tables *)be)->db;
}

const char *hf__tables_where(const hf_backend *be) {
    const hf_database *db = ((const hf_tables *)be)->db;

    return db->ops->where(db);
}

static void tell_guarantees(hf_fact_fn *fn, void *arg) {
    fn(arg, HF_GOOD, "order",
       "first come, first served, for locks and fair locks");
    fn(arg, HF_GOOD, "token",
       "grows with every grant, also across crashes and restores, as long as "
       "the database's clock is not set back");
    fn(arg, HF_FACT, "clock",
       "leases and tokens go by the clock of the database");
}

int hf__tables_examine(hf_backend *be, hf_fact_fn *fn, void *arg, hf_time by,
                       hf_error *err) {
    hf_database *db = ((hf_tables *)be)->db;
    int rc = db->ops->examine(db, fn, arg, by, err);

    if (rc == HF_OK)
        tell_guarantees(fn, arg);
    return rc;
}

int hf__tables_rights(hf_backend *be, const char *prefix, hf_rule_fn *fn,
                      void *arg, hf_time by, hf_error *err) {
    hf_database *db = ((hf_tables *)be)->db;

    return db->ops->rights(db, prefix, fn, arg, by, err);
}

/* ---- open and close ---------------------------------------------------- */

/* Dashes left out. */
static void read_id(const char *text, unsigned char id[HF_ID]) {
    char plain[2 * HF_ID + 1];
    size_t n = 0;

    for (; *text && n < sizeof plain - 1; text++)
        if (*text != '-')
            plain[n++] = *text;
    plain[n] = '\0';
    hf__tables_unhex(plain, id, HF_ID);
}

void hf__tables_close(hf_backend *be, bool forked) {
    hf_tables *t = (hf_tables *)be;

    if (t->db && !forked)
        hf__tables_take_leave(t);
    if (t->db)
        t->db->ops->close(t->db, forked);
    hf__free(t->prepare);
    hf__tables_free_ears(t);
    if (!forked)
        pthread_mutex_destroy(&t->mu);
    hf__free(t);
}

static int write_prepare(hf_tables *t, hf_error *err) {
    hf_script s;

    if (!hf__tables_knows(t, HF_SQL_calls))
        return HF_OK;
    t->db->key = hf__script_key(t->db);
    hf__script_init(&s, t->db);
    hf__script_prepare(&s);
    if (s.failed) {
        hf__script_clear(&s);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    t->db->prepare = t->prepare = s.text.words;
    return HF_OK;
}

/* ShedLock's table and locks of a session are stores of their own. */
int hf__tables_open(hf_backend **ret, const hf_backend_ops *verbs,
                    const hf_database_ops *ops, const hf_uri *uri,
                    const hf_host *host, hf_time by, hf_error *err) {
    hf_tables *t;
    int rc;

    if (hf_uri_get(uri, "hf_compat") != NULL)
        return hf__shedlock_open(ret, ops, uri, host, by, err);
    if (hf_uri_get(uri, "hf_lease") != NULL)
        return hf__tied_open(ret, ops, uri, host, by, err);
    t = hf__calloc(1, sizeof *t);
    if (!t)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    t->base.ops = verbs;
    t->base.host = host;
    t->tidy_at = hf__after_ms(3600 * 1000);
    t->ears_of = (hf_database_host){.host = host,
                                    .told = hf__tables_told,
                                    .missed = hf__tables_missed,
                                    .store = t};
    pthread_mutex_init(&t->mu, NULL);
    read_id(host->identity.client, t->client);
    rc = ops->open(&t->db, uri, &t->ears_of, by, err);
    if (rc == HF_OK)
        rc = write_prepare(t, err);
    if (rc == HF_OK)
        rc = hf__tables_check_layout(t, by, err);
    if (rc == HF_OK)
        *ret = &t->base;
    else
        hf__tables_close(&t->base, false);
    return rc;
}
