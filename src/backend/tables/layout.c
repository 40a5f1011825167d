/* SPDX-License-Identifier: MIT
 *
 * layout.c - makes the tables, where there are none.
 *
 * Whoever opens the store makes them: the first claim would be too late, for
 * that takes longer than a short lease. */
#include <stdlib.h>

#include "../../err.h"
#include "store.h"

enum { LAYOUT = 1 };

static int run(hf_tables *t, hf_sql which, hf_answers *ret, hf_time by,
               hf_error *err) {
    hf_session *session = NULL;
    hf_script s;
    int rc = t->db->ops->borrow(&session, t->db, by, err);

    if (rc != HF_OK)
        return rc;
    hf__script_init(&s, t->db);
    hf__script_add(&s, which, NULL);
    if (s.failed)
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    else
        rc = t->db->ops->ask(session, s.text.words, ret, by, err);
    t->db->ops->give_back(session, rc != HF_OK && rc != HF_DB_NO_TABLES);
    hf__script_clear(&s);
    return rc;
}

/* Whoever else makes them at the same time waits, and finds them. */
int hf__tables_make(hf_tables *t, hf_time by, hf_error *err) {
    hf_answers a = {0};
    int rc = run(t, HF_SQL_layout_1, &a, by, err);

    hf__answers_clear(&a);
    if (rc == HF_DB_AGAIN)
        return HF_OK;    /* another one's were first */
    if (rc == HF_EDOUBT) /* what was asked for was not even tried */
        return hf__fail(err, HF_EDOWN, "the database did not answer in time");
    return rc == HF_DB_NO_TABLES ?
               hf__fail(err, HF_ESTORE, "the tables could not be made") :
               rc;
}

int hf__tables_check_layout(hf_tables *t, hf_time by, hf_error *err) {
    hf_answers a = {0};
    int64_t version = 0;
    int rc = run(t, HF_SQL_layout, &a, by, err);

    if (rc == HF_OK && a.n > 0)
        version = hf__tables_number(&a.all[0], 0, 0);
    hf__answers_clear(&a);
    if (rc == HF_EDOUBT)
        return hf__fail(err, HF_EDOWN, "the database did not answer in time");
    if (rc == HF_EFORBIDDEN) /* whoever lacks rights can ask which */
        return HF_OK;
    if (rc < 0)
        return rc;
    if (version == 0) { /* who may not make them is told so when it matters */
        rc = hf__tables_make(t, by, err);
        return rc == HF_EFORBIDDEN || rc == HF_EREAD_ONLY ? HF_OK : rc;
    }
    if (version > LAYOUT)
        return hf__fail(err, HF_ESTORE,
                        "the tables are of layout %d, which is newer than this "
                        "library: use a newer one",
                        (int)version);
    return HF_OK;
}
