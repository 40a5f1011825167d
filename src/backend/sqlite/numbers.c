/* SPDX-License-Identifier: MIT
 *
 * numbers.c - semaphores and latches as numbers.
 *
 * What changes a number is one transaction with the answer that is remembered
 * by the request's nonce, so that it counts once however often it is asked
 * for.  A minute is longer than anybody goes on asking. */
#include "numbers.h"

#include "../../err.h"
#include "line.h"
#include "view.h"

#define REMEMBERED_US INT64_C(60000000)

/* ---- answers ----------------------------------------------------------- */

int hf__numbers_recall(hf_embedded *s, const hf_claim *c, int *result,
                       int64_t *value, hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, HF_QUERY_recall, c, 0, err);
    int rc;

    if (st == NULL)
        return err->code;
    hf__store_bind_asked(st, c);
    rc = hf__db_step(s->db, st, err);
    if (rc <= 0)
        return rc;
    *result = sqlite3_column_int(st, 0);
    *value = sqlite3_column_int64(st, 1);
    sqlite3_reset(st);
    return 1;
}

static int remember(hf_embedded *s, const hf_claim *c, int result,
                    int64_t value, hf_error *err) {
    sqlite3_stmt *st = hf__store_query(s, HF_QUERY_remember, c, result, err);
    int rc;

    if (st == NULL)
        return err->code;
    hf__store_bind_asked(st, c);
    sqlite3_bind_int64(st, 7, s->now + REMEMBERED_US);
    sqlite3_bind_int64(st, 10, value);
    rc = hf__db_finish(s->db, st, err);
    return rc == HF_OK ? hf__store_run(s, HF_QUERY_prune, c, 0, err) : rc;
}

/* ---- the number -------------------------------------------------------- */

/* What the view says becomes true.  A number that is new vanishes after the
 * claim's lease, if it has one. */
static int write_number(hf_embedded *s, const hf_claim *c, bool was_set,
                        hf_error *err) {
    const hf_view *v = s->view;
    sqlite3_stmt *st;
    int rc;

    if (!v->is_set && !was_set)
        return HF_OK;
    if (!v->is_set) { /* what was leased out of it goes with it */
        rc = hf__store_run(s, HF_QUERY_hold_drop_all, c, 0, err);
        return rc == HF_OK ? hf__store_run(s, HF_QUERY_unset, c, 0, err) : rc;
    }
    st = hf__store_query(s, HF_QUERY_set, c, v->number, err);
    if (st == NULL)
        return err->code;
    if (v->gone_at != INT64_MAX)
        sqlite3_bind_int64(st, 10, v->gone_at);
    else
        sqlite3_bind_null(st, 10);
    return hf__db_finish(s->db, st, err);
}

int hf__numbers_take(hf_embedded *s, const hf_claim *c, hf_error *err) {
    int rc;

    s->view->number -= c->permits;
    rc = write_number(s, c, s->view->is_set, err);
    return rc == HF_OK ? remember(s, c, HF_OK, 0, err) : rc;
}

/* Also should the attempt arrive only now: then it gets nothing. */
static int give_back(hf_embedded *s, const hf_claim *c, hf_error *err) {
    int64_t value;
    int result = HF_BUSY;
    int rc = hf__numbers_recall(s, c, &result, &value, err);

    if (rc >= 0)
        rc = hf__sqlite_line_step_out(s, c, err);
    if (rc == HF_OK)
        rc = remember(s, c, HF_BUSY, 0, err);
    if (rc == HF_OK)
        rc = hf__view_look(s, c, 0, err);
    if (rc == HF_OK && result == HF_OK && s->view->is_set) {
        s->view->number += c->permits;
        rc = write_number(s, c, true, err);
    }
    return rc < 0 ? rc : result;
}

int hf__numbers_undo(hf_embedded *s, hf_claim *c, hf_error *err) {
    int rc = hf__store_begin(s, err);

    if (rc != HF_OK)
        return rc;
    rc = hf__store_end(s, give_back(s, c, err), err);
    if (rc < 0)
        return rc;
    c->place = 0;
    hf__sqlite_line_ring(s, c);
    return rc == HF_OK ?
               HF_OK :
               hf__fail(err, HF_ELOST, "nothing was taken from %s", c->name);
}

/* ---- changing ---------------------------------------------------------- */

static void set(hf_view *v, int64_t number) {
    if (!v->is_set)
        v->gone_at = INT64_MAX;
    v->is_set = true;
    v->number = number;
}

static int set_first(hf_embedded *s, const hf_claim *c, int64_t number) {
    if (s->view->is_set)
        return HF_BUSY;
    set(s->view, number);
    if (c->lease_ms > 0)
        s->view->gone_at = s->now + c->lease_ms * INT64_C(1000);
    return HF_OK;
}

static int give_if_set(hf_view *v, int64_t n) {
    if (!v->is_set)
        return HF_EFREE;
    v->number += n;
    return HF_OK;
}

/* How many that are, and they are gone. */
static int64_t drain(hf_view *v) {
    int64_t taken = v->number - hf__view_leased(v);

    if (taken < 0)
        return 0;
    v->number -= taken;
    return taken;
}

static void unset(hf_view *v) {
    v->is_set = false;
    v->number = 0;
    v->n = v->n_holds = 0;
}

static void count_down(hf_view *v) {
    if (v->is_set && --v->number <= 0)
        unset(v);
}

static int forget(hf_view *v) {
    if (!v->is_set)
        return HF_EFREE;
    unset(v);
    return HF_OK;
}

/* The answer, and in *value what goes with it. */
static int change(hf_embedded *s, const hf_claim *c, hf_count_op op,
                  int64_t *value) {
    hf_view *v = s->view;
    int result = HF_OK;

    switch (op) {
    case HF_COUNT_SET:
        result = set_first(s, c, *value);
        break;
    case HF_COUNT_RESIZE:
        set(v, *value);
        break;
    case HF_COUNT_ADD:
    case HF_COUNT_GIVE:
        set(v, v->number + *value);
        break;
    case HF_COUNT_GIVE_IF_SET:
        result = give_if_set(v, *value);
        break;
    case HF_COUNT_DRAIN:
        *value = drain(v);
        return HF_OK;
    case HF_COUNT_DOWN:
        count_down(v);
        break;
    default:
        result = forget(v);
    }
    *value = v->number - hf__view_leased(v);
    return result;
}

/* Once per nonce; inside a transaction.  What the dead leased is free. */
static int change_once(hf_embedded *s, const hf_claim *c, hf_count_op op,
                       int64_t *value, int *result, hf_error *err) {
    bool was_set;
    int rc = hf__numbers_recall(s, c, result, value, err);

    if (rc != 0)
        return rc < 0 ? rc : HF_OK;
    rc = hf__view_look(s, c, 0, err);
    if (rc == HF_OK && op == HF_COUNT_DRAIN)
        rc = hf__view_bury(s, c, err);
    if (rc < 0)
        return rc;
    was_set = s->view->is_set;
    *result = change(s, c, op, value);
    rc = write_number(s, c, was_set, err);
    return rc == HF_OK ? remember(s, c, *result, *value, err) : rc;
}

static int change_for_good(hf_embedded *s, const hf_claim *c, hf_count_op op,
                           int64_t *value, hf_error *err) {
    int result = HF_OK;
    int rc = hf__store_begin(s, err);

    if (rc != HF_OK)
        return rc;
    rc = change_once(s, c, op, value, &result, err);
    rc = hf__store_end(s, rc, err);
    if (rc < 0)
        return rc;
    if (result == HF_OK)
        hf__sqlite_line_ring(s, c);
    return result < 0 ? hf__fail(err, result, "%s is not set", c->name) :
                        result;
}

/* ---- the verb ---------------------------------------------------------- */

/* What the dead leased is free, though nobody has buried them yet. */
static int tell(hf_embedded *s, const hf_claim *c, bool leased, int64_t *value,
                hf_error *err) {
    int rc = hf__view_look(s, c, 0, err);

    if (rc == HF_OK)
        rc = hf__view_bury(s, c, err);
    if (rc < 0)
        return rc;
    *value = hf__view_leased(s->view);
    if (!leased)
        *value = s->view->number - *value;
    return HF_OK;
}

int hf__numbers_count(hf_embedded *s, hf_claim *c, hf_count_op op,
                      int64_t *value, hf_error *err) {
    int rc;

    switch (op) {
    case HF_COUNT_FREE:
    case HF_COUNT_LEASED:
        return tell(s, c, op == HF_COUNT_LEASED, value, err);
    case HF_COUNT_TOKEN:
        *value = 0;
        rc = hf__store_ask_number(s, HF_QUERY_token, c, 0, value, err);
        return rc < 0 ? rc : HF_OK;
    default:
        return change_for_good(s, c, op, value, err);
    }
}
