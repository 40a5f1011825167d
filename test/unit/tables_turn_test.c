/* SPDX-License-Identifier: MIT
 *
 * tables_turn_test.c - the verbs over tables, on a database that answers what
 * it is told to and fails when it is told to.
 *
 * A script is a list of words here: statements write their own name, and some
 * of their parameters behind it.  A line is what a view answers, row by row,
 * as it stands in the table below. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/backend/tables/statements.h"
#include "../../src/backend/tables/tables.h"
#include "../../src/err.h"
#include "../../src/world.h"
#include "support/suite.h"

enum { COLUMNS = 17, MOST = 8 };

#define US_STR "11111111111111111111111111111111"
#define THEM   "22222222222222222222222222222222"
#define OTHERS "33333333333333333333333333333333"

static const char *texts[HF_N_SQL] = {
    [HF_SQL_now] = "now",
    [HF_SQL_layout_1] = "layout_1",
    [HF_SQL_layout] = "layout",
    [HF_SQL_take] = "take {owner}",
    [HF_SQL_take_first] = "take_first",
    [HF_SQL_free] = "free",
    [HF_SQL_renew] = "renew {name}",
    [HF_SQL_hold_renew] = "hold_renew {name}",
    [HF_SQL_keep_place] = "keep_place {name}",
    [HF_SQL_begin] = "begin",
    [HF_SQL_lock_line] = "lock_line",
    [HF_SQL_lock_holds] = "lock_holds",
    [HF_SQL_view] = "view",
    [HF_SQL_recall] = "recall",
    [HF_SQL_write] = "write {owner} {token} {waits} {number}",
    [HF_SQL_hold] = "hold {owner} {token} {until}",
    [HF_SQL_hold_set] = "hold_set {owner} {until} {kept}",
    [HF_SQL_hold_drop] = "hold_drop {owner}",
    [HF_SQL_join] = "join {owner} {ticket} {until}",
    [HF_SQL_stay] = "stay {ticket}",
    [HF_SQL_leave] = "leave {ticket}",
    [HF_SQL_remember] = "remember {result}",
    [HF_SQL_forget] = "forget",
    [HF_SQL_tell] = "tell {client}",
    [HF_SQL_may] = "",
    [HF_SQL_hold_fits] = "",
    [HF_SQL_hold_look] = "hold_look",
    [HF_SQL_hold_take] = "",
    [HF_SQL_hold_free] = "",
    [HF_SQL_number_fits] = "",
    [HF_SQL_number_look] = "number_look",
    [HF_SQL_number_add] = "",
    [HF_SQL_hurry] = "hurry",
    [HF_SQL_commit] = "commit",
    [HF_SQL_rollback] = "rollback",
    [HF_SQL_calls] = "",
    [HF_SQL_announce] = "announce",
    [HF_SQL_take_leave] = "take_leave",
    [HF_SQL_list] = "list",
    [HF_SQL_tidy_clients] = "tidy",
    [HF_SQL_tidy_answers] = "tidy",
    [HF_SQL_tidy_waits] = "tidy",
    [HF_SQL_tidy_holds] = "tidy",
    [HF_SQL_tidy_lines] = "tidy",
};

/* ---- the database ------------------------------------------------------ */

static struct {
    char asked[4096];       /* all scripts, a bar between two */
    const char *rows[MOST]; /* of a view; the first is the line */
    const char *word;       /* a script that has it… */
    int fails, times;       /* …fails so, so often */
    int64_t changed;        /* by everything that writes */
    bool was_ruined;
} db;

static size_t literal(char *to, const void *bytes, size_t n) {
    const unsigned char *from = bytes;

    for (size_t i = 0; i < n; i++)
        sprintf(to + 2 * i, "%02x", from[i]);
    return 2 * n;
}

static int borrow(hf_session **ret, hf_database *d, hf_time by, hf_error *err) {
    (void)d, (void)by, (void)err;
    *ret = (hf_session *)&db;
    return HF_OK;
}

static void give_back(hf_session *s, bool ruined) {
    (void)s;
    db.was_ruined = ruined;
}

static void answer_row(hf_rows *to, const char *row) {
    char *copy = strdup(row), *at = copy, *cell;

    to->columns = COLUMNS;
    to->cells = realloc(to->cells, (to->n + 1) * COLUMNS * sizeof(char *));
    for (int i = 0; i < COLUMNS; i++) {
        cell = strsep(&at, " ");
        to->cells[to->n * COLUMNS + (size_t)i] =
            cell && strcmp(cell, "-") != 0 ? strdup(cell) : NULL;
    }
    to->n++;
    free(copy);
}

static void answer(hf_rows *to, const char *statement) {
    to->changed = db.changed;
    for (int i = 0; strcmp(statement, "view") == 0 && db.rows[i]; i++)
        answer_row(to, db.rows[i]);
    if (strcmp(statement, "lock_line") == 0)
        answer_row(to, "1");
    if (strncmp(statement, "take ", 5) == 0)
        answer_row(to, "0 0 0 -1 1"); /* not free, or somebody waits */
}

static int ask(hf_session *s, const char *script, hf_answers *ret, hf_time by,
               hf_error *err) {
    char *copy = strdup(script), *at = copy, *statement;

    (void)s, (void)by;
    *ret = (hf_answers){0};
    while ((statement = strsep(&at, ";")) != NULL) {
        statement += strspn(statement, "\n");
        ret->all = realloc(ret->all, (ret->n + 1) * sizeof *ret->all);
        ret->all[ret->n] = (hf_rows){0};
        answer(&ret->all[ret->n++], statement);
        strcat(strcat(db.asked, statement), at ? ", " : " | ");
    }
    free(copy);
    if (!db.word || !strstr(script, db.word) || db.times-- <= 0)
        return HF_OK;
    hf__answers_clear(ret);
    return db.fails < 0 ? hf__fail(err, db.fails, "as it was told") : db.fails;
}

static void attend(hf_database *d, size_t waiting, int ahead) {
    (void)d, (void)waiting, (void)ahead;
}

static bool hears(const hf_database *d) {
    (void)d;
    return true;
}

static void close_database(hf_database *d, bool forked) {
    (void)d, (void)forked;
}

static int open_database(hf_database **ret, const hf_uri *uri,
                         const hf_database_host *host, hf_time by,
                         hf_error *err);

static const hf_database_ops ops = {.texts = texts,
                                    .literal = literal,
                                    .open = open_database,
                                    .close = close_database,
                                    .borrow = borrow,
                                    .give_back = give_back,
                                    .ask = ask,
                                    .attend = attend,
                                    .hears = hears};
static hf_database database = {.ops = &ops};

static int open_database(hf_database **ret, const hf_uri *uri,
                         const hf_database_host *host, hf_time by,
                         hf_error *err) {
    (void)uri, (void)host, (void)by, (void)err;
    *ret = &database;
    return HF_OK;
}

/* ---- the store --------------------------------------------------------- */

static const hf_backend_ops verbs = {HF_TABLES_VERBS};
static hf_host host = {.identity.client =
                           "11111111-1111-1111-1111-111111111111"};
static const hf_uri nowhere;
static hf_backend *be;
static hf_error err;

static int begin(void **state) {
    (void)state;
    memset(&db, 0, sizeof db);
    assert_int_equal(
        hf__tables_open(&be, &verbs, &ops, &nowhere, &host, HF_NEVER, &err),
        HF_OK);
    memset(&db, 0, sizeof db);
    return 0;
}

static int end(void **state) {
    (void)state;
    hf__tables_close(be, false);
    return 0;
}

static hf_claim claim_of(hf_kind kind, uint64_t owner) {
    return (hf_claim){.name = "x",
                      .kind = kind,
                      .mode = kind == HF_READ ? HF_SHARED : HF_EXCLUSIVE,
                      .owner = owner,
                      .lease_ms = 30000};
}

static int release(hf_claim *c) {
    return be->ops->release(be, c, HF_RELEASE, NULL, hf__after_ms(1000), &err);
}

static void fails(const char *word, int how, int times) {
    db.word = word;
    db.fails = how;
    db.times = times;
}

/* The clock stands at 100 s.  A lock line of token 5, held by us as owner 7
 * until 110 s, and two who wait. */
#define HELD "0 " US_STR " 7 0 0 - 5 0 110000000 90000000 0 0 100000000 2 4 - -"
#define WAITS(ticket, client, owner)                                           \
    "2 " client " " owner " 0 0 - 0 " ticket                                   \
    " 110000000 95000000 1 30000000 0 0 0 0 0"
#define ENDED(ticket, client, owner)                                           \
    "2 " client " " owner " 0 0 - 0 " ticket                                   \
    " 99000000 95000000 1 30000000 0 0 0 0 0"
#define WAITED(n) "0 - 0 0 0 - 5 0 90000000 90000000 0 0 100000000 " n " 4 - -"
#define READS(client, owner, token)                                            \
    "1 " client " " owner " 4 0 - " token " " token                            \
    " 110000000 95000000 0 0 0 0 0 0 0"

#define WRITES(client, owner, token)                                           \
    "1 " client " " owner " 5 0 - " token " " token                            \
    " 110000000 95000000 0 0 0 0 0 0 0"

static void line_is(const char *line, const char *first, const char *second) {
    db.rows[0] = line;
    db.rows[1] = first;
    db.rows[2] = second;
}

/* ---- tests ------------------------------------------------------------- */

static void who_leaves_gives_it_to_the_first_in_line(void **state) {
    hf_claim c = claim_of(HF_LOCK, 7);

    (void)state;
    line_is(HELD, WAITS("3", THEM, "8"), WAITS("4", OTHERS, "9"));
    assert_int_equal(release(&c), HF_OK);
    assert_string_equal(db.asked, "free | begin, lock_line, view | write 8 "
                                  "100000000 1 NULL, leave 3, tell " THEM
                                  ", hurry, commit | ");
}

static void a_place_that_nobody_kept_is_passed(void **state) {
    hf_claim c = claim_of(HF_LOCK, 7);

    (void)state;
    line_is(HELD, ENDED("3", THEM, "8"), WAITS("4", OTHERS, "9"));
    assert_int_equal(release(&c), HF_OK);
    assert_non_null(strstr(db.asked,
                           "write 9 100000000 0 NULL, leave 3, "
                           "leave 4, tell " OTHERS ", hurry, commit"));
}

static void who_waits_and_is_not_let_in_writes_nothing(void **state) {
    hf_claim c = claim_of(HF_LOCK, 7);

    (void)state;
    c.place = 4;
    line_is("0 " THEM " 8 0 0 - 5 0 110000000 90000000 0 0 100000000 1 4 - -",
            WAITS("4", US_STR, "7"), NULL);
    assert_int_equal(be->ops->attempt(be, &c, true, hf__after_ms(1000), &err),
                     HF_BUSY);
    assert_string_equal(db.asked, "take 7 | view | ");
    assert_int_equal(c.place, 4);
}

static void a_lease_that_ended_unseen_is_passed_on(void **state) {
    hf_claim c = claim_of(HF_LOCK, 7);

    (void)state;
    c.place = 4;
    line_is(WAITED("2"), WAITS("3", THEM, "8"), WAITS("4", US_STR, "7"));
    assert_int_equal(be->ops->attempt(be, &c, true, hf__after_ms(1000), &err),
                     HF_BUSY);
    assert_non_null(strstr(db.asked, "take 7 | view | begin, lock_line, view | "
                                     "write 8 100000000 1 NULL, leave 3, "
                                     "tell " THEM ", commit"));
}

static void who_comes_lines_up_behind_the_last_ticket(void **state) {
    hf_claim c = claim_of(HF_READ, 7);

    (void)state;
    c.writers_first = true;
    line_is("0 - 0 0 0 - 5 0 0 0 0 0 100000000 1 4 - -",
            "1 " THEM " 8 5 0 - 5 5 110000000 95000000 0 0 0 0 0 0 0", NULL);
    assert_int_equal(be->ops->attempt(be, &c, true, hf__after_ms(1000), &err),
                     HF_BUSY);
    assert_int_equal(c.place, 5);
    assert_non_null(strstr(db.asked, "lock_holds, view | write 0 5 1 NULL, "
                                     "join 7 5 115000000, commit"));
}

static void tokens_follow_the_clock_and_the_last_token(void **state) {
    hf_claim c = claim_of(HF_READ, 7);

    (void)state;
    line_is("0 - 0 0 0 - 200000000 0 0 0 0 0 100000000 0 0 - -",
            READS(THEM, "8", "200000000"), NULL);
    assert_int_equal(be->ops->attempt(be, &c, false, hf__after_ms(1000), &err),
                     HF_OK);
    assert_int_equal(c.token, 200000001);
    line_is("0 - 0 0 0 - 5 0 0 0 0 0 100000000 0 0 - -", NULL, NULL);
    c = claim_of(HF_READ, 9);
    assert_int_equal(be->ops->attempt(be, &c, false, hf__after_ms(1000), &err),
                     HF_OK);
    assert_int_equal(c.token, 100000000);
}

static void who_holds_and_asks_again_keeps_its_token(void **state) {
    hf_claim c = claim_of(HF_READ, 7);

    (void)state;
    line_is("0 - 0 0 0 - 50 0 0 0 0 0 100000000 0 0 - -",
            READS(US_STR, "7", "50"), NULL);
    assert_int_equal(be->ops->attempt(be, &c, false, hf__after_ms(1000), &err),
                     HF_OK);
    assert_int_equal(c.token, 50);
    assert_non_null(strstr(db.asked, "hold_set 7 130000000 0"));
}

/* What they would take is not there, as the view says, too. */
static void who_only_tries_looks_before_it_locks(void **state) {
    hf_claim c = claim_of(HF_READ, 7), sem = claim_of(HF_SEMAPHORE, 9);

    (void)state;
    texts[HF_SQL_hold_take] = "hold_take";
    texts[HF_SQL_number_add] = "number_add";
    line_is("0 - 0 0 0 - 50 0 0 0 0 0 100000000 0 0 - -",
            WRITES(THEM, "8", "50"), NULL);
    assert_int_equal(be->ops->attempt(be, &c, false, hf__after_ms(1000), &err),
                     HF_BUSY);
    sem.permits = 1;
    line_is("0 - 0 0 0 - 50 0 0 0 0 0 100000000 0 0 0 -", NULL, NULL);
    assert_int_equal(
        be->ops->attempt(be, &sem, false, hf__after_ms(1000), &err), HF_BUSY);
    assert_string_equal(db.asked, "begin, hold_look, lock_line, lock_holds, "
                                  "hold_take, view, commit | "
                                  "begin, number_look, lock_line, lock_holds, "
                                  "number_add, recall, view, commit | ");
    texts[HF_SQL_hold_take] = texts[HF_SQL_number_add] = "";
}

static void what_was_not_answered_before_the_writes_was_not_done(void **state) {
    hf_claim c = claim_of(HF_READ, 7);

    (void)state;
    line_is("0 - 0 0 0 - 5 0 0 0 0 0 100000000 0 0 - -", NULL, NULL);
    fails("lock_line", HF_EDOUBT, 1);
    assert_int_equal(be->ops->attempt(be, &c, false, hf__after_ms(1000), &err),
                     HF_EDOWN);
    assert_true(db.was_ruined);
}

static void what_was_not_answered_behind_them_is_in_doubt(void **state) {
    hf_claim c = claim_of(HF_READ, 7);

    (void)state;
    line_is("0 - 0 0 0 - 5 0 0 0 0 0 100000000 0 0 - -", NULL, NULL);
    fails("commit", HF_EDOUBT, 1);
    assert_int_equal(be->ops->attempt(be, &c, false, hf__after_ms(1000), &err),
                     HF_EDOUBT);
    assert_true(db.was_ruined);
    assert_int_equal(c.token, 0);
    assert_int_equal(c.place, 0);
}

static void what_was_undone_is_done_again(void **state) {
    hf_claim c = claim_of(HF_READ, 7);

    (void)state;
    line_is("0 - 0 0 0 - 5 0 0 0 0 0 100000000 0 0 - -", NULL, NULL);
    fails("commit", HF_DB_AGAIN, 2);
    assert_int_equal(be->ops->attempt(be, &c, false, hf__after_ms(5000), &err),
                     HF_OK);
    assert_int_equal(c.token, 100000000);
    assert_non_null(strstr(db.asked, "commit | rollback | begin"));
}

static void what_is_undone_for_ever_ends_in_time(void **state) {
    hf_claim c = claim_of(HF_READ, 7);
    hf_time before = hf__now();

    (void)state;
    line_is("0 - 0 0 0 - 5 0 0 0 0 0 100000000 0 0 - -", NULL, NULL);
    fails("lock_line", HF_DB_AGAIN, INT32_MAX);
    assert_int_equal(be->ops->attempt(be, &c, false, hf__after_ms(50), &err),
                     HF_EDOWN);
    assert_true(hf__now() < before + 5 * HF_SECOND);
}

static void missing_tables_are_made_once(void **state) {
    hf_claim c = claim_of(HF_READ, 7);

    (void)state;
    line_is("0 - 0 0 0 - 5 0 0 0 0 0 100000000 0 0 - -", NULL, NULL);
    fails("lock_line", HF_DB_NO_TABLES, 1);
    assert_int_equal(be->ops->attempt(be, &c, false, hf__after_ms(1000), &err),
                     HF_OK);
    assert_non_null(strstr(db.asked, "rollback | layout_1 | begin"));
}

static void renewals_go_in_the_order_of_names(void **state) {
    hf_claim b = claim_of(HF_LOCK, 1), a = claim_of(HF_READ, 2),
             waits = claim_of(HF_FAIR, 3);
    hf_claim *all[] = {&waits, &b, &a};

    (void)state;
    b.name = waits.name = "b";
    a.name = "a";
    b.token = a.token = 5;
    assert_int_equal(be->ops->renew(be, all, 3, hf__after_ms(1000), &err),
                     HF_OK);
    assert_string_equal(db.asked, "hold_renew 61, renew 62, keep_place 62 | ");
    assert_int_equal(a.result, HF_ELOST); /* nothing was written */
}

#define IN(name) cmocka_unit_test_setup_teardown(name, begin, end)

static const struct CMUnitTest tests[] = {
    IN(who_leaves_gives_it_to_the_first_in_line),
    IN(a_place_that_nobody_kept_is_passed),
    IN(who_waits_and_is_not_let_in_writes_nothing),
    IN(a_lease_that_ended_unseen_is_passed_on),
    IN(who_comes_lines_up_behind_the_last_ticket),
    IN(tokens_follow_the_clock_and_the_last_token),
    IN(who_holds_and_asks_again_keeps_its_token),
    IN(who_only_tries_looks_before_it_locks),
    IN(what_was_not_answered_before_the_writes_was_not_done),
    IN(what_was_not_answered_behind_them_is_in_doubt),
    IN(what_was_undone_is_done_again),
    IN(what_is_undone_for_ever_ends_in_time),
    IN(missing_tables_are_made_once),
    IN(renewals_go_in_the_order_of_names),
};
HF_SUITE(tests)
