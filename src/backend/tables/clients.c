/* SPDX-License-Identifier: MIT
 *
 * clients.c - who is there, for lists; and what is swept up behind those who
 * are no more.  Nothing here decides about a line. */
#include "../../err.h"
#include "roll.h"
#include "store.h"

#define IDLE_US     (24 * INT64_C(3600000000)) /* then a row is dropped */
#define TIDY_AGAIN  (3600 * HF_SECOND)
#define HF_LEAVE_MS 300

static const hf_claim none = {.name = ""};

static int run(hf_tables *t, hf_sql which, const hf_params *p, hf_time by,
               hf_error *err) {
    hf_answers a = {0};
    hf_script s;
    int rc;

    hf__script_init(&s, t->db);
    hf__script_add(&s, which, p);
    rc = hf__tables_ask(t, &s, &a, by, err);
    hf__answers_clear(&a);
    hf__script_clear(&s);
    return rc;
}

/* Lines last: those that nothing hangs on any more go. */
static void tidy(hf_tables *t, hf_time by) {
    static const hf_sql steps[] = {HF_SQL_tidy_clients, HF_SQL_tidy_answers,
                                   HF_SQL_tidy_waits, HF_SQL_tidy_holds,
                                   HF_SQL_tidy_lines};
    hf_params p;
    hf_error err;

    hf__tables_params(&p, t, &none);
    hf_set(&p, lease, IDLE_US);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (run(t, steps[i], &p, by, &err) != HF_OK)
            return; /* another time */
}

static void set_text(hf_params *p, hf_sql_param which, const char *text) {
    p->of[which] =
        (hf_value){.type = HF_IS_BYTES, .bytes = text, .n = strlen(text)};
}

/* Tables of old have no place for what a client does, and not everybody may
 * alter them; then others see at least who it is. */
static int write_record(hf_tables *t, const hf_params *p, hf_time by,
                        hf_error *err) {
    int rc;

    if (atomic_load(&t->plain))
        return run(t, HF_SQL_introduce, p, by, err);
    rc = run(t, HF_SQL_announce, p, by, err);
    if (rc == HF_EFORBIDDEN) {
        rc = run(t, HF_SQL_introduce, p, by, err);
        if (rc == HF_OK)
            atomic_store(&t->plain, true);
    }
    return rc;
}

int hf__tables_announce(hf_backend *be, const char *doing, int lease_ms,
                        hf_time by, hf_error *err) {
    hf_tables *t = (hf_tables *)be;
    const hf_identity *me = &be->host->identity;
    bool tidies;
    hf_params p;
    int rc;

    hf__tables_params(&p, t, &none);
    hf_set(&p, pid, me->pid);
    hf_set(&p, lease, lease_ms * HF_US_OF_MS);
    set_text(&p, HF_PARAM_host, me->host);
    set_text(&p, HF_PARAM_program, me->program);
    set_text(&p, HF_PARAM_login, me->user);
    set_text(&p, HF_PARAM_why, me->why);
    set_text(&p, HF_PARAM_doing, doing);
    rc = write_record(t, &p, by, err);
    pthread_mutex_lock(&t->mu);
    t->announced = t->announced || rc == HF_OK;
    tidies = rc == HF_OK && t->tidy_at <= hf__now();
    if (tidies)
        t->tidy_at = hf__now() + hf__jitter(TIDY_AGAIN);
    pthread_mutex_unlock(&t->mu);
    if (tidies)
        tidy(t, by);
    return rc;
}

static int tell_some(hf_tables *t, unsigned char last[HF_ID], hf_record_fn *fn,
                     void *arg, hf_time by, hf_error *err) {
    hf_answers a = {0};
    hf_params p;
    hf_script s;
    int rc;

    hf__tables_params(&p, t, &none);
    hf_set_bytes(&p, client, last, HF_ID);
    hf_set(&p, limit, HF_ROLL);
    hf__script_init(&s, t->db);
    hf__script_add(&s, HF_SQL_clients, &p);
    rc = hf__tables_ask(t, &s, &a, by, err);
    if (rc == HF_EDOUBT)
        rc = hf__fail(err, HF_EDOWN, "the database did not answer in time");
    if (rc == HF_OK)
        rc = hf__roll_tell(&a, 0, last, fn, arg, err);
    hf__answers_clear(&a);
    hf__script_clear(&s);
    return rc;
}

int hf__tables_clients(hf_backend *be, hf_record_fn *fn, void *arg, hf_time by,
                       hf_error *err) {
    unsigned char last[HF_ID] = {0};
    int rc;

    do {
        rc = tell_some((hf_tables *)be, last, fn, arg, by, err);
        by = hf__after_ms(be->host->timeout_ms);
    } while (rc > 0);
    return rc;
}

void hf__tables_take_leave(hf_tables *t) {
    hf_params p;
    hf_error err;

    if (!t->announced)
        return;
    hf__tables_params(&p, t, &none);
    run(t, HF_SQL_take_leave, &p, hf__after_ms(HF_LEAVE_MS), &err);
}
