/* SPDX-License-Identifier: MIT
 *
 * turn.c - one transaction on one line.
 *
 *      begin, lock the line, lock what is held, look     one round trip
 *              decide, here                              the rule of admission
 *      write what is different, tell who is concerned,   one round trip
 *      commit
 *
 * The row of the line is the mutex of everything about it: it is locked first,
 * and no transaction locks a second one.  What is held is locked as well,
 * because renewals pass by the line: one that is under way is waited for and
 * seen, one that comes later waits for us, and then finds what we left of it.
 *
 * Until the second script leaves nothing is done, whatever becomes of the
 * connection.  From then on no answer means doubt. */
#include "turn.h"

#include "../../err.h"

enum { FORGET = 64 }; /* one in so many looks for answers that are over */

/* ---- the first script -------------------------------------------------- */

static void write_look(hf_turn *turn, hf_script *s, size_t *lock, size_t *view,
                       size_t *recall) {
    const hf_claim *c = turn->asked;
    hf_params p;

    hf__tables_params(&p, turn->t, c);
    hf__script_add(s, HF_SQL_begin, &p);
    *lock = hf__script_add(s, HF_SQL_lock_line, &p);
    if (!hf__tables_is_lock(c->kind))
        hf__script_add(s, HF_SQL_lock_holds, &p);
    *view = hf__script_add(s, HF_SQL_view, &p);
    *recall = 0;
    if (!hf__tables_is_leased(c->kind))
        *recall = hf__script_add(s, HF_SQL_recall, &p);
}

static void read_answer(hf_turn *turn, const hf_rows *rows) {
    turn->answered = rows->n > 0;
    turn->result = (int)hf__tables_number(rows, 0, 0);
    turn->value = hf__tables_number(rows, 0, 1);
}

static int read_look(hf_turn *turn, const hf_answers *a, size_t lock,
                     size_t view, size_t recall, hf_error *err) {
    const hf_claim *c = turn->asked;

    if (a->n <= view || a->n <= recall)
        return hf__fail_plain(err, HF_ESTORE);
    if (a->all[lock].n == 0)
        return HF_DB_AGAIN; /* tidied away as we came */
    if (recall > 0)
        read_answer(turn, &a->all[recall]);
    return hf__sight_read(&turn->sight, hf__tables_line_of(c->kind),
                          &a->all[view], err);
}

/* Whatever goes wrong here, nothing was done. */
static int look(hf_turn *turn, hf_session *session, hf_time by, hf_error *err) {
    size_t lock, view, recall;
    hf_answers a = {0};
    hf_script s;
    int rc;

    hf__script_init(&s, turn->t->db);
    write_look(turn, &s, &lock, &view, &recall);
    rc = hf__tables_say(turn->t, session, &s, &a, by, err);
    if (rc == HF_OK)
        rc = read_look(turn, &a, lock, view, recall, err);
    else if (rc == HF_EDOUBT)
        rc = hf__fail(err, HF_EDOWN, "the database did not answer in time");
    hf__answers_clear(&a);
    hf__script_clear(&s);
    return rc;
}

/* ---- the second script ------------------------------------------------- */

static void write_answer(const hf_turn *turn, hf_script *s) {
    hf_params p;

    if (!turn->remembers)
        return;
    hf__tables_params(&p, turn->t, turn->asked);
    if (p.of[HF_PARAM_nonce].n > 0 && turn->asked->nonce[0] % FORGET == 0)
        hf__script_add(s, HF_SQL_forget, &p);
    hf_set(&p, result, turn->result);
    hf_set(&p, value, turn->value);
    hf_set(&p, until, turn->sight.now + HF_REMEMBERED_US);
    hf__script_add(s, HF_SQL_remember, &p);
}

static int write_all(hf_turn *turn, hf_session *session, hf_time by,
                     hf_error *err) {
    hf_answers a = {0};
    hf_script s;
    int rc;

    hf__script_init(&s, turn->t->db);
    if (turn->remembers || hf__sight_differs(&turn->sight)) {
        hf__sight_write(&turn->sight, turn->t, turn->asked, &s);
        write_answer(turn, &s);
        if (turn->hurries && hf__tables_knows(turn->t, HF_SQL_hurry))
            hf__script_add(&s, HF_SQL_hurry, NULL);
        hf__script_add(&s, HF_SQL_commit, NULL);
    } else {
        hf__script_add(&s, HF_SQL_rollback, NULL);
    }
    rc = hf__tables_say(turn->t, session, &s, &a, by, err);
    hf__answers_clear(&a);
    hf__script_clear(&s);
    return rc;
}

/* ---- the turn ---------------------------------------------------------- */

static void begin(hf_turn *turn, hf_tables *t, const hf_claim *c) {
    *turn = (hf_turn){.t = t, .asked = c, .claim = *c};
}

/* Decided is in *result; how the database bore it is returned. */
static int take_turn(hf_turn *turn, hf_decide_fn *decide, void *arg,
                     int *result, hf_time by, hf_error *err) {
    hf_tables *t = turn->t;
    hf_session *session = NULL;
    hf_error why = {0};
    int rc = t->db->ops->borrow(&session, t->db, by, err);

    if (rc != HF_OK)
        return rc;
    rc = look(turn, session, by, err);
    if (rc == HF_OK) {
        *result = decide(turn, arg, &why);
        hf__sight_settle(&turn->sight);
        rc = *result == HF_ENO_MEMORY ? *result :
                                        write_all(turn, session, by, err);
        if (*result < 0)
            *err = why;
    }
    hf__tables_give_back(t, session, rc);
    return rc;
}

/* What was answered, and nothing else: the core reads what it asked meanwhile,
 * and what it was answered when it asked for the grant. */
static void hand_out(hf_claim *c, const hf_claim *from) {
    c->place = from->place;
    if (c->token == from->token && c->last_token == from->last_token)
        return;
    c->token = from->token;
    c->last_token = from->last_token;
}

int hf__turn(hf_tables *t, hf_claim *c, hf_decide_fn *decide, void *arg,
             hf_time by, hf_error *err) {
    int rc, result = HF_OK, tries = 0;
    hf_turn turn;

    do {
        begin(&turn, t, c);
        rc = take_turn(&turn, decide, arg, &result, by, err);
        hf__sight_clear(&turn.sight);
        if (rc == HF_OK) {
            hand_out(c, &turn.claim);
            return result;
        }
        rc = hf__tables_cure(t, rc, &tries, by, err);
    } while (rc == HF_OK);
    return rc;
}

int hf__turn_dry(hf_tables *t, hf_claim *c, const hf_rows *view,
                 const hf_rows *recall, hf_decide_fn *decide, void *arg,
                 hf_error *err) {
    hf_turn turn;
    int rc;

    begin(&turn, t, c);
    if (recall)
        read_answer(&turn, recall);
    rc = hf__sight_read(&turn.sight, hf__tables_line_of(c->kind), view, err);
    if (rc == HF_OK) {
        rc = decide(&turn, arg, err);
        hf__sight_settle(&turn.sight);
        if (turn.remembers || hf__sight_differs(&turn.sight))
            rc = HF_AGAIN;
        else if (rc >= 0)
            hand_out(c, &turn.claim);
    }
    hf__sight_clear(&turn.sight);
    return rc;
}

void hf__turn_short(hf_script *s, hf_sql which, const hf_params *p, bool looks,
                    size_t *at, size_t *view, size_t *recall) {
    bool number = which == HF_SQL_number_add;

    hf__script_add(s, HF_SQL_begin, p);
    if (looks)
        hf__script_add(s, number ? HF_SQL_number_look : HF_SQL_hold_look, p);
    hf__script_add(s, HF_SQL_lock_line, p);
    if (which != HF_SQL_hold_free)
        hf__script_add(s, HF_SQL_lock_holds, p);
    *at = hf__script_add(s, which, p);
    if (looks) {
        *recall = number ? hf__script_add(s, HF_SQL_recall, p) : 0;
        *view = hf__script_add(s, HF_SQL_view, p);
    }
    hf__script_add(s, HF_SQL_commit, p);
}
