/* SPDX-License-Identifier: MIT
 *
 * sqlite_kinds_test.c - what is special about the embedded store where several
 * hold: its tables, whom it rings, and the deaths of processes.  What is
 * special about its lock is tested in sqlite_test.c. */
#include "seat.h"

static int64_t rows(const char *path, const char *table) {
    char text[80];

    snprintf(text, sizeof text, "SELECT count(*) FROM %s", table);
    return sql(path, text);
}

static int count_by(seat *s, hf_kind kind, hf_count_op op, int64_t *value) {
    hf_claim c = claim_of(kind, "job");

    c.lease_ms = 0; /* what is set has no end */
    return s->be->ops->count(s->be, &c, op, value, hf__after_ms(10000),
                             &s->err);
}

static int do_count(seat *s, hf_kind kind, hf_count_op op, int64_t value) {
    return count_by(s, kind, op, &value);
}

static int64_t free_permits(seat *s) {
    int64_t value = 0;

    assert_int_equal(count_by(s, HF_SEMAPHORE, HF_COUNT_FREE, &value), HF_OK);
    return value;
}

/* Claims and seats of a test; the file is new. */
enum { SEATS = 4 };

typedef struct stage {
    char path[512];
    seat s[SEATS];
    hf_claim c[SEATS];
} stage;

static void set_up(stage *t, const hf_kind kinds[SEATS]) {
    new_path(t->path, sizeof t->path);
    for (int i = 0; i < SEATS; i++) {
        must_sit(&t->s[i], t->path);
        t->c[i] = claim_of(kinds[i], "job");
    }
}

static void clear(stage *t) {
    for (int i = 0; i < SEATS; i++)
        rise(&t->s[i]);
}

static void must_be_woken(stage *t, int who) {
    assert_true(wait_woken(&t->s[who], 0, hf__after_ms(SOON)));
}

static const hf_kind permits[SEATS] = {HF_PERMIT, HF_PERMIT, HF_PERMIT,
                                       HF_PERMIT};
static const hf_kind writer_first[SEATS] = {HF_WRITE, HF_READ, HF_READ,
                                            HF_READ};
static const hf_kind reader_first[SEATS] = {HF_READ, HF_WRITE, HF_READ,
                                            HF_READ};

/* ---- the tables -------------------------------------------------------- */

static void a_hold_is_a_row_and_nothing_is_left_of_it(void **state) {
    hf_claim *one;
    stage t;

    (void)state;
    set_up(&t, reader_first);
    one = &t.c[0];
    assert_int_equal(attempt(&t.s[0], &t.c[0], true), HF_OK);
    assert_int_equal(attempt(&t.s[2], &t.c[2], false), HF_OK);
    assert_int_equal(rows(t.path, "hf_hold"), 2);
    assert_int_equal(rows(t.path, "hf_lock"), 1);
    assert_true((uint64_t)sql(t.path, "SELECT max(token) FROM hf_hold") ==
                t.c[2].token);
    assert_int_equal(attempt(&t.s[1], &t.c[1], true), HF_BUSY);
    assert_int_equal(sql(t.path, "SELECT asked FROM hf_wait"), HF_WRITE);
    t.c[0].lease_ms = 2 * MINUTE;
    assert_int_equal(t.s[0].be->ops->renew(t.s[0].be, &one, 1,
                                           hf__after_ms(SOON), &t.s[0].err),
                     HF_OK);
    assert_int_equal(t.c[0].result, HF_OK);
    assert_true(sql(t.path, "SELECT max(until) - min(until) FROM hf_hold") >=
                MINUTE * INT64_C(1000));
    assert_int_equal(release(&t.s[0], &t.c[0], HF_RELEASE), HF_OK);
    assert_int_equal(release(&t.s[0], &t.c[0], HF_RELEASE), HF_ELOST);
    t.c[2].lease_ms = MINUTE;
    assert_int_equal(release(&t.s[2], &t.c[2], HF_RELEASE_AFTER), HF_OK);
    assert_int_equal(sql(t.path, "SELECT kept FROM hf_hold"), 1);
    rise(&t.s[2]); /* it stays */
    must_sit(&t.s[2], t.path);
    assert_int_equal(attempt(&t.s[1], &t.c[1], true), HF_BUSY);
    sql(t.path, "UPDATE hf_hold SET until = 1");
    assert_int_equal(attempt(&t.s[1], &t.c[1], true), HF_OK);
    assert_int_equal(rows(t.path, "hf_hold"), 1);
    assert_int_equal(rows(t.path, "hf_wait"), 0);
    assert_int_equal(release(&t.s[1], &t.c[1], HF_RELEASE), HF_OK);
    assert_int_equal(rows(t.path, "hf_hold"), 0);
    clear(&t);
}

static void what_is_refused_writes_nothing(void **state) {
    static const hf_kind kinds[] = {HF_READ, HF_WRITE, HF_PERMIT, HF_SEMAPHORE,
                                    HF_LATCH};
    hf_claim writer = claim_of(HF_WRITE, "job");
    char path[512];
    seat a, b;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&a, path);
    must_sit(&b, path);
    assert_int_equal(attempt(&a, &writer, false), HF_OK);
    assert_int_equal(do_count(&a, HF_LATCH, HF_COUNT_SET, 1), HF_OK);
    int64_t before = sql(path, "PRAGMA data_version");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        hf_claim c = claim_of(kinds[i], "job");
        assert_int_equal(attempt(&b, &c, false), HF_BUSY);
        assert_true(c.place == 0);
    }
    assert_int_equal(sql(path, "PRAGMA data_version"), before);
    assert_int_equal(rows(path, "hf_client"), 1);
    rise(&b);
    rise(&a);
}

static void a_number_is_a_row_while_it_is_set(void **state) {
    hf_claim taker = claim_of(HF_SEMAPHORE, "job");
    stage t;

    (void)state;
    set_up(&t, permits);
    assert_int_equal(do_count(&t.s[0], HF_SEMAPHORE, HF_COUNT_SET, 3), HF_OK);
    assert_int_equal(attempt(&t.s[1], &t.c[1], false), HF_OK);
    assert_int_equal(attempt(&t.s[2], &taker, false), HF_OK);
    assert_int_equal(sql(t.path, "SELECT number FROM hf_number"), 2);
    assert_int_equal(sql(t.path, "SELECT permits FROM hf_hold"), 1);
    assert_int_equal(free_permits(&t.s[0]), 1);
    sql(t.path, "UPDATE hf_number SET boot = 1"); /* it has no end */
    assert_int_equal(free_permits(&t.s[0]), 1);
    assert_int_equal(do_count(&t.s[0], HF_SEMAPHORE, HF_COUNT_DELETE, 0),
                     HF_OK);
    assert_int_equal(rows(t.path, "hf_number") + rows(t.path, "hf_hold"), 0);
    assert_int_equal(release(&t.s[1], &t.c[1], HF_RELEASE), HF_ELOST);
    clear(&t);
}

static void a_number_with_an_end_does_not_outlive_the_boot(void **state) {
    hf_claim set = claim_of(HF_SEMAPHORE, "job");
    int64_t value = 3;
    stage t;

    (void)state;
    set_up(&t, permits);
    assert_int_equal(t.s[0].be->ops->count(t.s[0].be, &set, HF_COUNT_SET,
                                           &value, hf__after_ms(SOON),
                                           &t.s[0].err),
                     HF_OK); /* for a minute, as the claim says */
    assert_int_equal(attempt(&t.s[1], &t.c[1], false), HF_OK);
    sql(t.path, "UPDATE hf_number SET boot = 1");
    assert_int_equal(free_permits(&t.s[0]), 0);
    assert_int_equal(release(&t.s[1], &t.c[1], HF_RELEASE), HF_ELOST);
    assert_int_equal(do_count(&t.s[0], HF_SEMAPHORE, HF_COUNT_SET, 2), HF_OK);
    assert_int_equal(free_permits(&t.s[0]), 2);
    assert_int_equal(rows(t.path, "hf_hold"), 0);
    clear(&t);
}

static void answers_are_remembered_for_a_while(void **state) {
    hf_claim c = claim_of(HF_SEMAPHORE, "job");
    int64_t value = 1;
    char path[512];
    seat s;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&s, path);
    for (int i = 0; i < 3; i++) {
        value = 1;
        assert_int_equal(s.be->ops->count(s.be, &c, HF_COUNT_GIVE, &value,
                                          hf__after_ms(SOON), &s.err),
                         HF_OK);
        assert_int_equal(value, 1);
    }
    assert_int_equal(rows(path, "hf_answer"), 1);
    for (int i = 0; i < 5; i++)
        assert_int_equal(do_count(&s, HF_SEMAPHORE, HF_COUNT_GIVE, 1), HF_OK);
    assert_int_equal(rows(path, "hf_answer"), 6);
    sql(path, "UPDATE hf_answer SET until = 1");
    for (int i = 0; i < 2; i++)
        assert_int_equal(do_count(&s, HF_SEMAPHORE, HF_COUNT_GIVE, 1), HF_OK);
    assert_int_equal(rows(path, "hf_answer"), 2);
    assert_int_equal(free_permits(&s), 8);
    rise(&s);
}

static void ignore(void *arg, hf_verdict_level level, const char *what,
                   const char *text) {
    (void)arg, (void)level, (void)what, (void)text;
}

static void what_is_of_no_use_is_tidied_away(void **state) {
    stage t;

    (void)state;
    set_up(&t, permits);
    assert_int_equal(do_count(&t.s[0], HF_SEMAPHORE, HF_COUNT_SET, 3), HF_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(attempt(&t.s[i], &t.c[i], false), HF_OK);
    sql(t.path, "UPDATE hf_hold SET until = 1 WHERE id = 1");
    sql(t.path, "UPDATE hf_answer SET boot = 1");
    assert_int_equal(t.s[0].be->ops->examine(t.s[0].be, ignore, NULL,
                                             hf__after_ms(SOON), &t.s[0].err),
                     HF_OK);
    assert_int_equal(rows(t.path, "hf_hold"), 1);
    assert_int_equal(rows(t.path, "hf_answer"), 0);
    assert_int_equal(rows(t.path, "hf_lock"), 1);
    assert_int_equal(free_permits(&t.s[0]), 2);
    clear(&t);
}

/* ---- who is rung ------------------------------------------------------- */

static void a_writers_end_rings_all_readers(void **state) {
    stage t;

    (void)state;
    set_up(&t, writer_first);
    assert_int_equal(attempt(&t.s[0], &t.c[0], false), HF_OK);
    for (int i = 1; i < SEATS; i++)
        must_wait(&t.s[i], &t.c[i]);
    assert_int_equal(release(&t.s[0], &t.c[0], HF_RELEASE), HF_OK);
    for (int i = 1; i < SEATS; i++) {
        must_be_woken(&t, i);
        assert_int_equal(attempt(&t.s[i], &t.c[i], true), HF_OK);
        watch(&t.s[i], &t.c[i], false);
    }
    assert_int_equal(rows(t.path, "hf_hold"), 3);
    clear(&t);
}

static void a_permit_rings_one_and_the_first(void **state) {
    stage t;

    (void)state;
    set_up(&t, permits);
    for (int i = 1; i < SEATS; i++)
        must_wait(&t.s[i], &t.c[i]);
    for (int i = 1; i < SEATS; i++) {
        assert_int_equal(do_count(&t.s[0], HF_SEMAPHORE, HF_COUNT_GIVE, 1),
                         HF_OK);
        must_be_woken(&t, i);
        for (int k = i + 1; k < SEATS; k++)
            assert_int_equal(t.s[k].woken, 0);
        assert_int_equal(attempt(&t.s[i], &t.c[i], true), HF_OK);
        watch(&t.s[i], &t.c[i], false);
    }
    clear(&t);
}

/* Who was rung for two permits finds one of them gone. */
static void what_the_first_cannot_use_is_passed_on(void **state) {
    stage t;

    (void)state;
    set_up(&t, permits);
    t.c[1].permits = 2;
    must_wait(&t.s[1], &t.c[1]);
    must_wait(&t.s[2], &t.c[2]);
    assert_int_equal(do_count(&t.s[0], HF_SEMAPHORE, HF_COUNT_GIVE, 2), HF_OK);
    must_be_woken(&t, 1);
    assert_int_equal(t.s[2].woken, 0);
    assert_int_equal(attempt(&t.s[3], &t.c[3], false), HF_OK);
    assert_int_equal(attempt(&t.s[1], &t.c[1], true), HF_BUSY);
    must_be_woken(&t, 2);
    assert_int_equal(attempt(&t.s[2], &t.c[2], true), HF_OK);
    watch(&t.s[1], &t.c[1], false);
    watch(&t.s[2], &t.c[2], false);
    clear(&t);
}

static void who_leaves_the_line_passes_its_turn_on(void **state) {
    stage t;

    (void)state;
    set_up(&t, permits);
    must_wait(&t.s[1], &t.c[1]);
    must_wait(&t.s[2], &t.c[2]);
    assert_int_equal(do_count(&t.s[0], HF_SEMAPHORE, HF_COUNT_GIVE, 1), HF_OK);
    must_be_woken(&t, 1);
    watch(&t.s[1], &t.c[1], false);
    assert_int_equal(release(&t.s[1], &t.c[1], HF_RELEASE), HF_OK);
    must_be_woken(&t, 2);
    assert_int_equal(attempt(&t.s[2], &t.c[2], true), HF_OK);
    watch(&t.s[2], &t.c[2], false);
    clear(&t);
}

static void a_latch_rings_all_when_it_opens(void **state) {
    static const hf_kind kinds[SEATS] = {HF_LATCH, HF_LATCH, HF_LATCH,
                                         HF_LATCH};
    stage t;

    (void)state;
    set_up(&t, kinds);
    assert_int_equal(do_count(&t.s[0], HF_LATCH, HF_COUNT_SET, 2), HF_OK);
    for (int i = 1; i < SEATS; i++)
        must_wait(&t.s[i], &t.c[i]);
    assert_int_equal(do_count(&t.s[0], HF_LATCH, HF_COUNT_DOWN, 0), HF_OK);
    for (int i = 1; i < SEATS; i++)
        assert_int_equal(t.s[i].woken, 0);
    assert_int_equal(do_count(&t.s[0], HF_LATCH, HF_COUNT_DOWN, 0), HF_OK);
    for (int i = 1; i < SEATS; i++) {
        must_be_woken(&t, i);
        assert_int_equal(attempt(&t.s[i], &t.c[i], true), HF_OK);
        watch(&t.s[i], &t.c[i], false);
    }
    assert_int_equal(rows(t.path, "hf_wait") + rows(t.path, "hf_number"), 0);
    clear(&t);
}

/* ---- death ------------------------------------------------------------- */

/* Takes the claim `arg`, tells so, and does nothing more. */
static void take_for_ever(const char *path, int out, void *arg) {
    hf_claim c = *(hf_claim *)arg;
    int rc;
    seat s;

    if (sit(&s, path) != HF_OK)
        _exit(2);
    rc = attempt(&s, &c, true);
    tell(out, &rc, sizeof rc);
    for (;;)
        pause();
}

/* A process that holds the claim, or waits: as `wanted` says. */
static pid_t start_with(const char *path, hf_claim c, int wanted) {
    int in, rc = HF_EDOUBT;
    pid_t pid = start(take_for_ever, path, &c, &in);

    told(in, &rc, sizeof rc);
    close(in);
    assert_int_equal(rc, wanted);
    return pid;
}

static void every_kind_of_killed_holder_is_noticed_at_once(void **state) {
    static const hf_kind kinds[] = {HF_FAIR,  HF_SPIN,   HF_READ,
                                    HF_WRITE, HF_PERMIT, HF_LOCK};
    char path[512];
    seat s;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&s, path);
    assert_int_equal(do_count(&s, HF_SEMAPHORE, HF_COUNT_SET, 1), HF_OK);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        hf_claim c = claim_of(kinds[i] == HF_READ ? HF_WRITE : kinds[i], "job");
        pid_t holder = start_with(path, claim_of(kinds[i], "job"), HF_OK);

        if (kinds[i] == HF_SPIN) { /* asks often, and hears nobody */
            assert_int_equal(attempt(&s, &c, true), HF_BUSY);
            hf_test_kill(holder);
            assert_int_equal(attempt(&s, &c, true), HF_OK);
        } else {
            must_wait(&s, &c);
            int woken = s.woken;
            hf_test_kill(holder);
            assert_true(wait_woken(&s, woken, hf__after_ms(SOON)));
            assert_int_equal(attempt(&s, &c, true), HF_OK);
            watch(&s, &c, false);
        }
        assert_int_equal(rows(path, "hf_client"), 1);
        assert_int_equal(release(&s, &c, HF_RELEASE), HF_OK);
        assert_int_equal(rows(path, "hf_hold"), 0);
    }
    rise(&s);
}

/* In whatever order they die. */
static void a_writer_enters_when_the_last_of_its_readers_is_dead(void **state) {
    enum { N = 3 };
    static const int order[N] = {1, 2, 0};
    hf_claim c = claim_of(HF_WRITE, "job");
    pid_t readers[N];
    char path[512];
    seat s;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&s, path);
    for (int i = 0; i < N; i++)
        readers[i] = start_with(path, claim_of(HF_READ, "job"), HF_OK);
    must_wait(&s, &c);
    for (int i = 0; i < N; i++) {
        int woken = s.woken;
        hf_test_kill(readers[order[i]]);
        assert_true(wait_woken(&s, woken, hf__after_ms(SOON)));
        assert_int_equal(attempt(&s, &c, true), i == N - 1 ? HF_OK : HF_BUSY);
    }
    assert_int_equal(rows(path, "hf_client"), 1);
    watch(&s, &c, false);
    rise(&s);
}

static void any_of_those_who_lease_may_be_the_one_who_dies(void **state) {
    enum { N = 3 };
    hf_claim c[N];
    pid_t holders[N];
    char path[512];
    seat s;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&s, path);
    assert_int_equal(do_count(&s, HF_SEMAPHORE, HF_COUNT_SET, N), HF_OK);
    for (int i = 0; i < N; i++)
        holders[i] = start_with(path, claim_of(HF_PERMIT, "job"), HF_OK);
    for (int i = N - 1; i >= 0; i--) {
        c[i] = claim_of(HF_PERMIT, "job");
        must_wait(&s, &c[i]);
        int woken = s.woken;
        hf_test_kill(holders[i]);
        assert_int_equal(free_permits(&s), 1); /* buried or not */
        assert_true(wait_woken(&s, woken, hf__after_ms(SOON)));
        assert_int_equal(attempt(&s, &c[i], true), HF_OK);
        watch(&s, &c[i], false);
    }
    assert_int_equal(free_permits(&s), 0);
    rise(&s);
}

static void what_the_dead_leased_can_be_drained(void **state) {
    int64_t taken = 0;
    char path[512];
    seat s;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&s, path);
    assert_int_equal(do_count(&s, HF_SEMAPHORE, HF_COUNT_SET, 3), HF_OK);
    pid_t holder = start_with(path, claim_of(HF_PERMIT, "job"), HF_OK);
    hf_test_kill(holder);
    assert_int_equal(count_by(&s, HF_SEMAPHORE, HF_COUNT_DRAIN, &taken), HF_OK);
    assert_int_equal(taken, 3);
    assert_int_equal(rows(path, "hf_hold") + rows(path, "hf_client"), 0);
    rise(&s);
}

/* A reader behind a writer that waits, where writers come first. */
static void wait_behind(stage *t, pid_t *head) {
    hf_claim writer = claim_of(HF_WRITE, "job");

    set_up(t, reader_first);
    assert_int_equal(attempt(&t->s[0], &t->c[0], false), HF_OK);
    writer.writers_first = true;
    *head = start_with(t->path, writer, HF_BUSY);
    t->c[2].writers_first = true;
    must_wait(&t->s[2], &t->c[2]);
}

static void a_dead_writer_in_the_line_is_passed_at_once(void **state) {
    pid_t head;
    stage t;

    (void)state;
    wait_behind(&t, &head);
    hf_test_kill(head);
    must_be_woken(&t, 2);
    assert_int_equal(attempt(&t.s[2], &t.c[2], true), HF_OK);
    assert_int_equal(rows(t.path, "hf_wait"), 0);
    watch(&t.s[2], &t.c[2], false);
    clear(&t);
}

static void a_stopped_writer_in_the_line_costs_seconds_only(void **state) {
    pid_t head;
    stage t;

    (void)state;
    wait_behind(&t, &head);
    assert_int_equal(kill(head, SIGSTOP), 0);
    assert_int_equal(release(&t.s[0], &t.c[0], HF_RELEASE), HF_OK);
    assert_int_equal(attempt(&t.s[2], &t.c[2], true), HF_BUSY);
    hf_test_eventually(attempt(&t.s[2], &t.c[2], true) == HF_OK, HF_TEST_LONG);
    assert_int_equal(rows(t.path, "hf_wait"), 1);
    hf_test_kill(head);
    watch(&t.s[2], &t.c[2], false);
    clear(&t);
}

/* It was rung, and nobody is there: the next one is. */
static void a_dead_waiter_keeps_no_permit_from_the_living(void **state) {
    stage t;

    (void)state;
    set_up(&t, permits);
    assert_int_equal(do_count(&t.s[0], HF_SEMAPHORE, HF_COUNT_SET, 0), HF_OK);
    pid_t head = start_with(t.path, claim_of(HF_PERMIT, "job"), HF_BUSY);
    must_wait(&t.s[1], &t.c[1]);
    hf_test_kill(head);
    assert_int_equal(do_count(&t.s[0], HF_SEMAPHORE, HF_COUNT_GIVE, 1), HF_OK);
    must_be_woken(&t, 1);
    assert_int_equal(attempt(&t.s[1], &t.c[1], true), HF_OK);
    assert_int_equal(rows(t.path, "hf_wait"), 0);
    watch(&t.s[1], &t.c[1], false);
    clear(&t);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_hold_is_a_row_and_nothing_is_left_of_it),
    cmocka_unit_test(what_is_refused_writes_nothing),
    cmocka_unit_test(a_number_is_a_row_while_it_is_set),
    cmocka_unit_test(a_number_with_an_end_does_not_outlive_the_boot),
    cmocka_unit_test(answers_are_remembered_for_a_while),
    cmocka_unit_test(what_is_of_no_use_is_tidied_away),
    cmocka_unit_test(a_writers_end_rings_all_readers),
    cmocka_unit_test(a_permit_rings_one_and_the_first),
    cmocka_unit_test(what_the_first_cannot_use_is_passed_on),
    cmocka_unit_test(who_leaves_the_line_passes_its_turn_on),
    cmocka_unit_test(a_latch_rings_all_when_it_opens),
    cmocka_unit_test(every_kind_of_killed_holder_is_noticed_at_once),
    cmocka_unit_test(a_writer_enters_when_the_last_of_its_readers_is_dead),
    cmocka_unit_test(any_of_those_who_lease_may_be_the_one_who_dies),
    cmocka_unit_test(what_the_dead_leased_can_be_drained),
    cmocka_unit_test(a_dead_writer_in_the_line_is_passed_at_once),
    cmocka_unit_test(a_stopped_writer_in_the_line_costs_seconds_only),
    cmocka_unit_test(a_dead_waiter_keeps_no_permit_from_the_living),
};
HF_SUITE(tests)
