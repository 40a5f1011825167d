/* SPDX-License-Identifier: MIT
 *
 * sqlite_test.c - what is special about the embedded store: its line, and the
 * deaths of processes.  What every store must do is tested in test/contract,
 * what is special about the file in sqlite_file_test.c. */
#include "seat.h"

#include <sys/mman.h>

/* ---- the lock ---------------------------------------------------------- */

static void a_try_that_fails_writes_nothing(void **state) {
    hf_claim c = claim("job"), other = claim("job");
    char path[512];
    seat a, b;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&a, path);
    must_sit(&b, path);
    assert_int_equal(attempt(&a, &c, false), HF_OK);
    int64_t before = sql(path, "PRAGMA data_version");
    assert_int_equal(attempt(&b, &other, false), HF_BUSY);
    assert_int_equal(sql(path, "SELECT count(*) FROM hf_wait"), 0);
    assert_int_equal(sql(path, "SELECT count(*) FROM hf_client"), 1);
    assert_int_equal(sql(path, "PRAGMA data_version"), before);
    rise(&b);
    rise(&a);
}

static void asking_again_gives_the_same_token(void **state) {
    hf_claim c = claim("job");
    uint64_t token;
    char path[512];
    seat a;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&a, path);
    assert_int_equal(attempt(&a, &c, false), HF_OK);
    token = c.token;
    assert_true(token > UINT64_C(1700000000000000));
    assert_int_equal(attempt(&a, &c, false), HF_OK);
    assert_int_equal(attempt(&a, &c, true), HF_OK);
    assert_true(c.token == token);
    assert_int_equal(release(&a, &c, HF_RELEASE), HF_OK);
    assert_int_equal(release(&a, &c, HF_RELEASE), HF_ELOST);
    c = claim("job");
    assert_int_equal(attempt(&a, &c, false), HF_OK);
    assert_true(c.token > token);
    rise(&a);
}

static void a_lease_that_ended_is_lost_and_free(void **state) {
    hf_claim c = claim("job"), *one = &c, next = claim("job");
    char path[512];
    seat a, b;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&a, path);
    must_sit(&b, path);
    c.lease_ms = 1;
    assert_int_equal(attempt(&a, &c, false), HF_OK);
    hf_test_eventually(attempt(&b, &next, false) == HF_OK, SOON);
    assert_true(next.token > c.token);
    assert_int_equal(
        a.be->ops->renew(a.be, &one, 1, hf__after_ms(1000), &a.err), HF_OK);
    assert_int_equal(c.result, HF_ELOST);
    assert_int_equal(release(&a, &c, HF_RELEASE), HF_ELOST);
    rise(&b);
    rise(&a);
}

static void many_leases_are_renewed_at_once_and_each_is_answered(void **state) {
    enum { N = 1200 };
    static hf_claim claims[N], *all[N];
    static char names[N][16];
    char path[512];
    seat a;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&a, path);
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "job %d", i);
        claims[i] = claim(names[i]);
        all[i] = &claims[i];
        if (i != 700)
            assert_int_equal(attempt(&a, all[i], false), HF_OK);
    }
    assert_int_equal(
        a.be->ops->renew(a.be, all, N, hf__after_ms(10000), &a.err), HF_OK);
    for (int i = 0; i < N; i++)
        assert_int_equal(claims[i].result, i == 700 ? HF_ELOST : HF_OK);
    rise(&a);
}

static void force_raises_the_token_and_spares_other_owners(void **state) {
    hf_claim c = claim("job"), operator_ = claim("job"), next = claim("job");
    hf_time by = hf__after_ms(10000);
    char path[512], owner[80];
    seat a, b;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&a, path);
    must_sit(&b, path);
    assert_int_equal(attempt(&a, &c, false), HF_OK);
    snprintf(owner, sizeof owner, "%.36s:%llu", a.host.identity.client,
             (unsigned long long)c.owner);
    assert_int_equal(b.be->ops->release(b.be, &operator_, HF_RELEASE_FORCED,
                                        "someone:1", by, &b.err),
                     HF_EFREE);
    assert_int_equal(b.be->ops->release(b.be, &operator_, HF_RELEASE_FORCED,
                                        owner, by, &b.err),
                     HF_OK);
    assert_int_equal(b.be->ops->release(b.be, &operator_, HF_RELEASE_FORCED,
                                        NULL, by, &b.err),
                     HF_EFREE);
    assert_true((uint64_t)sql(path, "SELECT token FROM hf_lock") > c.token);
    assert_int_equal(release(&a, &c, HF_RELEASE), HF_ELOST);
    assert_int_equal(attempt(&b, &next, false), HF_OK);
    assert_true(next.token > c.token + 1);
    rise(&b);
    rise(&a);
}

/* ---- the line ---------------------------------------------------------- */

static void
waiters_are_served_in_order_and_only_the_first_is_rung(void **state) {
    enum { N = 4 };
    hf_claim c[N];
    char path[512];
    seat s[N];

    (void)state;
    new_path(path, sizeof path);
    for (int i = 0; i < N; i++) {
        must_sit(&s[i], path);
        c[i] = claim("job");
        if (i == 0)
            assert_int_equal(attempt(&s[0], &c[0], true), HF_OK);
        else
            must_wait(&s[i], &c[i]);
    }
    for (int i = 1; i < N; i++) {
        assert_int_equal(release(&s[i - 1], &c[i - 1], HF_RELEASE), HF_OK);
        assert_true(wait_woken(&s[i], 0, hf__after_ms(SOON)));
        for (int k = i + 1; k < N; k++) {
            assert_int_equal(s[k].woken, 0);
            assert_int_equal(attempt(&s[k], &c[k], true), HF_BUSY);
        }
        hf_claim newcomer = claim("job");
        assert_int_equal(attempt(&s[0], &newcomer, false), HF_BUSY);
        assert_int_equal(attempt(&s[i], &c[i], true), HF_OK);
        assert_true(c[i].token > c[i - 1].token);
        watch(&s[i], &c[i], false);
    }
    for (int i = 0; i < N; i++)
        rise(&s[i]);
}

static void a_waiter_that_gives_up_lets_the_next_one_in(void **state) {
    hf_claim c = claim("job"), first = claim("job"), second = claim("job");
    char path[512];
    seat a, b, d;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&a, path);
    must_sit(&b, path);
    must_sit(&d, path);
    assert_int_equal(attempt(&a, &c, false), HF_OK);
    must_wait(&b, &first);
    must_wait(&d, &second);
    assert_int_equal(release(&a, &c, HF_RELEASE), HF_OK);
    watch(&b, &first, false);
    assert_int_equal(release(&b, &first, HF_RELEASE), HF_OK);
    assert_true(wait_woken(&d, 0, hf__after_ms(SOON)));
    assert_int_equal(attempt(&d, &second, true), HF_OK);
    watch(&d, &second, false);
    assert_int_equal(sql(path, "SELECT count(*) FROM hf_wait"), 0);
    rise(&d);
    rise(&b);
    rise(&a);
}

typedef struct seen {
    int n;
    char owners[8][80];
} seen;

static void on_place(void *arg, const hf_place *place) {
    seen *all = arg;

    assert_string_equal(place->name, "job");
    assert_string_equal(place->kind, "lock");
    assert_string_equal(place->why, "testing");
    assert_int_equal(place->pid, getpid());
    assert_false(place->foreign);
    assert_true(place->since_ms >= 0);
    assert_true(place->holds == (all->n == 0));
    assert_true(place->holds == (place->token != 0));
    assert_true(place->holds == (place->lease_ms > 0));
    snprintf(all->owners[all->n++], sizeof all->owners[0], "%s", place->owner);
}

static void the_list_has_the_holder_first_and_who_they_are(void **state) {
    hf_claim c[3] = {claim("job"), claim("job"), claim("job")};
    char path[512], owner[80];
    seen one = {0}, all = {0};
    seat s[3];

    (void)state;
    new_path(path, sizeof path);
    for (int i = 0; i < 3; i++) {
        must_sit(&s[i], path);
        assert_int_equal(attempt(&s[i], &c[i], true), i ? HF_BUSY : HF_OK);
    }
    hf_time by = hf__after_ms(10000);
    assert_int_equal(
        s[2].be->ops->list(s[2].be, "job", on_place, &one, by, &s[2].err), 0);
    assert_int_equal(
        s[2].be->ops->list(s[2].be, NULL, on_place, &all, by, &s[2].err), 0);
    assert_int_equal(one.n, 3);
    assert_int_equal(all.n, 3);
    for (int i = 0; i < 3; i++) {
        snprintf(owner, sizeof owner, "%.36s:%llu", s[i].host.identity.client,
                 (unsigned long long)c[i].owner);
        assert_string_equal(one.owners[i], owner);
    }
    assert_int_equal(
        s[2].be->ops->list(s[2].be, "jo", on_place, &one, by, &s[2].err), 0);
    assert_int_equal(one.n, 3);
    for (int i = 0; i < 3; i++)
        rise(&s[i]);
}

enum { NAMES = 2345, HELD_EACH = 20 };

/* Names that nobody holds any more, and some that somebody does: more of both
 * than a page has. */
static void fill(const char *path, seat *holder, hf_claim *held, char *names) {
    char text[512];

    snprintf(text, sizeof text,
             "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n"
             " WHERE i + 1 < %d)"
             "INSERT INTO hf_lock (name, kind, owner, client, boot, until,"
             "    since, kept, token) SELECT printf('job%%05d', i), 0, 0, '',"
             "    0, 0, 0, 0, 1 FROM n",
             NAMES);
    sql(path, text);
    for (int i = 0; i < NAMES; i += HELD_EACH) {
        char *name = names + i / HELD_EACH * 16;

        snprintf(name, 16, "job%05d", i);
        held[i / HELD_EACH] = claim(name);
        assert_int_equal(attempt(holder, &held[i / HELD_EACH], false), HF_OK);
    }
}

typedef struct walk {
    seat *s, *other; /* who lists, and who writes meanwhile */
    int n;
    char last[16];
} walk;

/* In order, none twice; and while they are told the store is nobody's. */
static void on_step(void *arg, const hf_place *place) {
    walk *w = arg;

    assert_true(strcmp(place->name, w->last) > 0);
    snprintf(w->last, sizeof w->last, "%s", place->name);
    assert_int_equal(atoi(place->name + 3), w->n++ * HELD_EACH);
    if (w->n == 1) {
        hf_claim c[2] = {claim("zzz"), claim("zzz")};

        assert_int_equal(attempt(w->s, &c[0], false), HF_OK);
        assert_int_equal(release(w->s, &c[0], HF_RELEASE), HF_OK);
        assert_int_equal(attempt(w->other, &c[1], false), HF_OK);
        assert_int_equal(release(w->other, &c[1], HF_RELEASE), HF_OK);
    }
}

static void a_long_list_is_told_page_by_page(void **state) {
    enum { HELD = (NAMES + HELD_EACH - 1) / HELD_EACH };
    static hf_claim held[HELD];
    static char names[HELD * 16];
    char path[512];
    seat a, b;
    walk w = {.s = &a, .other = &b};

    (void)state;
    new_path(path, sizeof path);
    must_sit(&a, path);
    must_sit(&b, path);
    fill(path, &b, held, names);
    assert_int_equal(
        a.be->ops->list(a.be, NULL, on_step, &w, hf__after_ms(MINUTE), &a.err),
        HF_OK);
    assert_int_equal(w.n, HELD);
    rise(&b);
    rise(&a);
}

/* ---- records ----------------------------------------------------------- */

typedef struct told_records {
    int n;
    const seat *of; /* whose is looked at */
    char doing[HF_DOING_MAX + 1];
    hf_identity who;
} told_records;

static void on_record(void *arg, const hf_identity *who, const char *doing) {
    told_records *all = arg;

    all->n++;
    if (strcmp(who->client, all->of->host.identity.client) != 0)
        return;
    all->who = *who;
    snprintf(all->doing, sizeof all->doing, "%s", doing);
}

static void ask_clients(seat *s, const seat *of, told_records *ret) {
    *ret = (told_records){.of = of};
    if (s->be->ops->clients(s->be, on_record, ret, hf__after_ms(MINUTE),
                            &s->err) != HF_OK)
        fail_msg("clients: %s", s->err.text);
}

static void say(seat *s, const char *doing) {
    if (s->be->ops->announce(s->be, doing, MINUTE, hf__after_ms(MINUTE),
                             &s->err) != HF_OK)
        fail_msg("announce: %s", s->err.text);
}

static void a_record_says_who_and_what_and_goes_with_its_client(void **state) {
    static told_records all;
    char path[512], *most = malloc(HF_DOING_MAX + 1);
    seat a, b;

    (void)state;
    memset(most, 'x', HF_DOING_MAX);
    most[HF_DOING_MAX] = '\0';
    new_path(path, sizeof path);
    must_sit(&a, path);
    must_sit(&b, path);
    say(&b, "h job\n\xff\xfe no text at all");
    ask_clients(&a, &b, &all);
    assert_int_equal(all.n, 1);
    assert_string_equal(all.doing, "h job\n\xff\xfe no text at all");
    assert_memory_equal(&all.who.pid, &b.host.identity.pid, sizeof(int64_t));
    assert_string_equal(all.who.host, b.host.identity.host);
    assert_string_equal(all.who.program, b.host.identity.program);
    assert_string_equal(all.who.user, b.host.identity.user);
    assert_string_equal(all.who.why, "testing");
    say(&b, most);
    say(&a, "");
    ask_clients(&a, &b, &all);
    assert_int_equal(all.n, 2);
    assert_string_equal(all.doing, most);
    rise(&b);
    ask_clients(&a, &b, &all);
    assert_int_equal(all.n, 1);
    free(most);
    rise(&a);
}

static void a_killed_clients_record_is_not_told(void **state) {
    static told_records all;
    uint64_t token;
    char path[512];
    pid_t child;
    seat s;

    (void)state;
    new_path(path, sizeof path);
    child = start_holder(path, &token);
    must_sit(&s, path);
    ask_clients(&s, &s, &all);
    assert_int_equal(all.n, 1);
    hf_test_kill(child);
    ask_clients(&s, &s, &all);
    assert_int_equal(all.n, 0);
    rise(&s);
}

/* Nobody who waits is disturbed by a record that says what it said. */
static void a_record_that_is_the_same_is_not_written(void **state) {
    sqlite3 *other = NULL;
    char path[512];
    seat s;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&s, path);
    say(&s, "h job");
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    sqlite3_db_config(other, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL),
                     SQLITE_OK);
    say(&s, "h job"); /* although another one writes all the time */
    assert_int_equal(
        s.be->ops->announce(s.be, "h other", MINUTE, hf__after_ms(50), &s.err),
        HF_EDOWN);
    sqlite3_close(other);
    say(&s, "h other");
    rise(&s);
}

/* More than are read at once. */
static void many_records_are_all_told(void **state) {
    enum { N = 150 };
    static told_records all;
    static seat seats[N];
    char path[512];

    (void)state;
    new_path(path, sizeof path);
    for (int i = 0; i < N; i++) {
        must_sit(&seats[i], path);
        say(&seats[i], i == N / 2 ? "h half" : "h job");
    }
    ask_clients(&seats[0], &seats[N / 2], &all);
    assert_int_equal(all.n, N);
    assert_string_equal(all.doing, "h half");
    for (int i = 0; i < N; i++)
        rise(&seats[i]);
}

/* ---- death ------------------------------------------------------------- */

static void a_killed_holder_is_noticed_at_once_by_a_waiter(void **state) {
    hf_claim c = claim("job");
    uint64_t token;
    char path[512];
    seat s;

    (void)state;
    new_path(path, sizeof path);
    pid_t holder = start_holder(path, &token);
    must_sit(&s, path);
    must_wait(&s, &c);
    hf_test_kill(holder);
    assert_true(wait_woken(&s, 0, hf__after_ms(SOON)));
    assert_int_equal(attempt(&s, &c, true), HF_OK);
    assert_true(c.token > token);
    watch(&s, &c, false);
    rise(&s);
}

static void
a_killed_holder_does_not_stop_a_try_and_leaves_nothing(void **state) {
    hf_claim c = claim("job");
    uint64_t token;
    char path[512];
    seat s;

    (void)state;
    new_path(path, sizeof path);
    pid_t holder = start_holder(path, &token);
    must_sit(&s, path);
    assert_int_equal(attempt(&s, &c, false), HF_BUSY);
    hf_test_kill(holder);
    assert_int_equal(attempt(&s, &c, false), HF_OK);
    assert_true(c.token > token);
    assert_int_equal(sql(path, "SELECT count(*) FROM hf_client"), 1);
    char folder[600];
    snprintf(folder, sizeof folder, "%s.d", path);
    assert_true(socket_exists(path, s.host.identity.client));
    assert_int_equal(release(&s, &c, HF_RELEASE), HF_OK);
    rise(&s);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(sql(path, "SELECT count(*) FROM hf_client"), 0);
}

/* Holds, and forks a child that keeps all descriptors. */
static void hold_and_fork(const char *path, int out, void *arg) {
    hf_claim c = claim("job");
    pid_t child;
    seat s;

    (void)arg;
    if (sit(&s, path) != HF_OK || acquire(&s, &c) != HF_OK)
        _exit(2);
    child = fork();
    if (child == 0)
        for (;;)
            pause();
    tell(out, &child, sizeof child);
    for (;;)
        pause();
}

static void who_inherits_the_socket_holds_on_for_the_dead(void **state) {
    hf_claim c = claim("job");
    pid_t holder, child;
    char path[512];
    seat s;
    int in;

    (void)state;
    new_path(path, sizeof path);
    holder = start(hold_and_fork, path, NULL, &in);
    told(in, &child, sizeof child);
    close(in);
    must_sit(&s, path);
    must_wait(&s, &c);
    hf_test_kill(holder);
    assert_true(wait_woken(&s, 0, hf__after_ms(SOON)));
    assert_int_equal(attempt(&s, &c, true), HF_BUSY);
    kill(child, SIGKILL);
    hf_test_eventually(attempt(&s, &c, true) == HF_OK, SOON);
    watch(&s, &c, false);
    rise(&s);
}

static void a_dead_waiter_at_the_head_is_skipped(void **state) {
    hf_claim c = claim("job"), mine = claim("job");
    char path[512];
    seat a, b;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&a, path);
    assert_int_equal(attempt(&a, &c, false), HF_OK);
    pid_t head = start_waiter(path);
    must_sit(&b, path);
    must_wait(&b, &mine);
    int64_t waiting = sql(path, "SELECT count(*) FROM hf_wait");
    assert_int_equal(waiting, 2);
    hf_test_kill(head);
    int woken = b.woken;
    assert_int_equal(release(&a, &c, HF_RELEASE), HF_OK);
    assert_true(woken > 0 || wait_woken(&b, woken, hf__after_ms(SOON)));
    assert_int_equal(attempt(&b, &mine, true), HF_OK);
    watch(&b, &mine, false);
    rise(&b);
    rise(&a);
}

static void a_stopped_waiter_at_the_head_costs_seconds_only(void **state) {
    hf_claim c = claim("job"), mine = claim("job");
    char path[512];
    seat a, b;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&a, path);
    assert_int_equal(attempt(&a, &c, false), HF_OK);
    pid_t head = start_waiter(path);
    assert_int_equal(kill(head, SIGSTOP), 0);
    must_sit(&b, path);
    must_wait(&b, &mine);
    assert_int_equal(release(&a, &c, HF_RELEASE), HF_OK);
    assert_int_equal(attempt(&b, &mine, true), HF_BUSY);
    hf_test_eventually(attempt(&b, &mine, true) == HF_OK, HF_TEST_LONG);
    assert_int_equal(sql(path, "SELECT count(*) FROM hf_wait"), 1);
    hf_test_kill(head);
    watch(&b, &mine, false);
    rise(&b);
    rise(&a);
}

/* First the waiter is behind us, then before us, then dead. */
static void a_waiter_follows_who_is_before_it(void **state) {
    hf_claim c = claim("job"), mine = claim("job");
    uint64_t token, ticket;
    char path[512];
    seat a, b;
    int in;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&a, path);
    assert_int_equal(attempt(&a, &c, false), HF_OK);
    pid_t next = start(hold_for_ever, path, NULL, &in);
    hf_test_eventually(sql(path, "SELECT count(*) FROM hf_wait") == 1, SOON);
    must_sit(&b, path);
    must_wait(&b, &mine);
    ticket = mine.place;
    assert_int_equal(release(&a, &c, HF_RELEASE), HF_OK);
    told(in, &token, sizeof token);
    close(in);
    assert_true(token > c.token);
    assert_int_equal(attempt(&b, &mine, true), HF_BUSY);
    assert_true(mine.place == ticket);
    int woken = b.woken;
    hf_test_kill(next);
    assert_true(wait_woken(&b, woken, hf__after_ms(SOON)));
    assert_int_equal(attempt(&b, &mine, true), HF_OK);
    assert_true(mine.token > token);
    watch(&b, &mine, false);
    rise(&b);
    rise(&a);
}

static void hold_after_exit(const char *path, int out, void *arg) {
    hf_claim c = claim("job");
    seat s;

    if (sit(&s, path) != HF_OK || attempt(&s, &c, false) != HF_OK)
        _exit(2);
    c.lease_ms = *(int *)arg;
    if (release(&s, &c, HF_RELEASE_AFTER) != HF_OK)
        _exit(2);
    rise(&s);
    tell(out, &c.token, sizeof c.token);
}

static void
released_later_it_stays_held_though_the_process_ended(void **state) {
    hf_claim c = claim("job");
    uint64_t token;
    int in, ms = MINUTE;
    char path[512];
    seat s;

    (void)state;
    new_path(path, sizeof path);
    pid_t child = start(hold_after_exit, path, &ms, &in);
    told(in, &token, sizeof token);
    close(in);
    waitpid(child, NULL, 0);
    must_sit(&s, path);
    assert_int_equal(attempt(&s, &c, false), HF_BUSY);
    assert_int_equal(attempt(&s, &c, true), HF_BUSY);
    assert_true(c.ask_again > hf__now());
    assert_int_equal(sql(path, "UPDATE hf_lock SET until = 1"), -1);
    assert_int_equal(attempt(&s, &c, true), HF_OK);
    assert_true(c.token > token);
    rise(&s);
}

static void a_row_of_another_boot_is_free(void **state) {
    hf_claim c = claim("job"), next = claim("job");
    char path[512];
    seat a, b;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&a, path);
    must_sit(&b, path);
    assert_int_equal(attempt(&a, &c, false), HF_OK);
    sql(path, "UPDATE hf_lock SET boot = 1");
    assert_int_equal(attempt(&b, &next, false), HF_OK);
    assert_true(next.token > c.token);
    assert_int_equal(release(&a, &c, HF_RELEASE), HF_ELOST);
    rise(&b);
    rise(&a);
}

static void tokens_grow_across_a_power_loss(void **state) {
    uint64_t token;
    char path[512], log[600];

    (void)state;
    new_path(path, sizeof path);
    for (int i = 0; i < 3; i++) {
        hf_claim c = claim("job");
        seat s;

        pid_t holder = start_holder(path, &token);
        if (i == 1) /* something reached the disk, the last grants did not */
            sql(path, "PRAGMA wal_checkpoint");
        hf_test_kill(holder);
        if (i == 1)
            hf_test_kill(start_holder(path, &token));
        snprintf(log, sizeof log, "%s-wal", path);
        assert_int_equal(unlink(log), 0);
        snprintf(log, sizeof log, "%s-shm", path);
        assert_int_equal(unlink(log), 0);
        must_sit(&s, path);
        assert_int_equal(attempt(&s, &c, false), HF_OK);
        assert_true(c.token > token);
        rise(&s);
    }
}

/* ---- many processes ---------------------------------------------------- */

enum { HAMMERS = 4, TURNS = 1000, TURNS_MAX = 20000 };

typedef struct arena {
    atomic_int inside, wrong, ready;
    atomic_bool fair, over; /* for all of them, once one has seen it */
    _Atomic uint64_t token;
    atomic_int turns[HAMMERS], total;
} arena;

typedef struct hammer {
    arena *arena;
    int who;
} hammer;

static bool is_fair(const arena *a) {
    for (int i = 0; i < HAMMERS; i++)
        if (a->turns[i] < a->total / HAMMERS / 3)
            return false;
    return true;
}

/* A busy machine may keep one of them from running at first; only in the long
 * run must all have their share. */
static bool is_over(arena *a) {
    if (a->total >= TURNS && is_fair(a))
        a->fair = a->over = true;
    if (a->total >= TURNS_MAX)
        a->over = true;
    return a->over;
}

static void strike(const char *path, int out, void *arg) {
    hammer *h = arg;
    arena *a = h->arena;
    seat s;

    (void)out;
    if (sit(&s, path) != HF_OK)
        _exit(2);
    a->ready++;
    while (a->ready < HAMMERS)
        sched_yield();
    while (!is_over(a)) {
        hf_claim c = claim("job");
        if (acquire(&s, &c) != HF_OK)
            _exit(2);
        if (a->inside++ != 0 || c.token <= a->token)
            a->wrong++;
        a->token = c.token;
        a->turns[h->who]++;
        a->total++;
        a->inside--;
        if (release(&s, &c, HF_RELEASE) != HF_OK)
            _exit(2);
    }
    rise(&s);
}

static void four_processes_share_a_name_fairly_and_never_overlap(void **state) {
    arena *a = mmap(NULL, sizeof *a, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t children[HAMMERS];
    hammer hammers[HAMMERS];
    char path[512];

    (void)state;
    assert_ptr_not_equal(a, MAP_FAILED);
    new_path(path, sizeof path);
    for (int i = 0; i < HAMMERS; i++) {
        int in;
        hammers[i] = (hammer){a, i};
        children[i] = start(strike, path, &hammers[i], &in);
        close(in);
    }
    for (int i = 0; i < HAMMERS; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(a->wrong, 0);
    if (!a->fair)
        fail_msg("unfair: %d %d %d %d", a->turns[0], a->turns[1], a->turns[2],
                 a->turns[3]);
    assert_int_equal(sql(path, "SELECT count(*) FROM hf_wait"), 0);
    munmap(a, sizeof *a);
}

static void open_and_take(const char *path, int out, void *arg) {
    hf_claim c = claim("job");
    seat s;

    (void)arg;
    if (sit(&s, path) != HF_OK) {
        fprintf(stderr, "%s\n", s.err.text);
        _exit(2);
    }
    if (acquire(&s, &c) != HF_OK)
        _exit(2);
    release(&s, &c, HF_RELEASE);
    rise(&s);
    tell(out, &c.token, sizeof c.token);
}

static void many_may_open_a_new_file_at_once(void **state) {
    enum { N = 8 };
    pid_t children[N];
    char path[512];
    int in[N];

    (void)state;
    new_path(path, sizeof path);
    for (int i = 0; i < N; i++)
        children[i] = start(open_and_take, path, NULL, &in[i]);
    for (int i = 0; i < N; i++) {
        int status;
        waitpid(children[i], &status, 0);
        close(in[i]);
        assert_int_equal(status, 0);
    }
}

static void
a_file_that_stays_busy_ends_every_verb_by_its_deadline(void **state) {
    hf_claim c = claim("job"), *one = &c, waiting = claim("job");
    sqlite3 *other = NULL;
    char path[512];
    seat s;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&s, path);
    assert_int_equal(attempt(&s, &c, false), HF_OK);
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    sqlite3_db_config(other, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL),
                     SQLITE_OK);
    const hf_backend_ops *ops = s.be->ops;
    int64_t before = hf_test_now_ms();
    assert_int_equal(
        ops->attempt(s.be, &waiting, true, hf__after_ms(50), &s.err), HF_EDOWN);
    assert_non_null(strstr(s.err.text, path));
    assert_int_equal(ops->renew(s.be, &one, 1, hf__after_ms(50), &s.err),
                     HF_EDOWN);
    assert_int_equal(c.result, HF_EDOWN);
    assert_int_equal(
        ops->release(s.be, &c, HF_RELEASE, NULL, hf__after_ms(50), &s.err),
        HF_EDOWN);
    assert_true(hf_test_now_ms() - before < SOON);
    sqlite3_close(other);
    assert_int_equal(release(&s, &c, HF_RELEASE), HF_OK);
    rise(&s);
}

/* ---- fork -------------------------------------------------------------- */

static void a_forked_copy_is_closed_without_harm(void **state) {
    hf_claim c = claim("job"), *one = &c;
    char path[512];
    int status;
    seat s;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&s, path);
    assert_int_equal(attempt(&s, &c, false), HF_OK);
    pid_t child = fork();
    if (child == 0) {
        hf_claim mine = claim("job"), free_one = claim("other");
        seat own;

        hf__sqlite_ops.close(s.be, true);
        if (sit(&own, path) != HF_OK || attempt(&own, &mine, false) != HF_BUSY)
            _exit(2);
        if (attempt(&own, &free_one, false) != HF_OK)
            _exit(3);
        rise(&own);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(socket_exists(path, s.host.identity.client));
    assert_int_equal(
        s.be->ops->renew(s.be, &one, 1, hf__after_ms(1000), &s.err), HF_OK);
    assert_int_equal(c.result, HF_OK);
    rise(&s);
}

/* ---- threads ----------------------------------------------------------- */

typedef struct crew {
    seat *s;
    atomic_int inside, wrong;
} crew;

static void *work(void *arg) {
    crew *all = arg;

    for (int i = 0; i < 50; i++) {
        hf_claim c = claim("job");
        if (acquire(all->s, &c) != HF_OK || all->inside++ != 0)
            all->wrong++;
        all->inside--;
        if (release(all->s, &c, HF_RELEASE) != HF_OK)
            all->wrong++;
    }
    return NULL;
}

static void threads_of_one_client_exclude_each_other(void **state) {
    pthread_t threads[4];
    char path[512];
    crew all = {0};
    seat s;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&s, path);
    all.s = &s;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &all), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(all.wrong, 0);
    rise(&s);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_try_that_fails_writes_nothing),
    cmocka_unit_test(asking_again_gives_the_same_token),
    cmocka_unit_test(a_lease_that_ended_is_lost_and_free),
    cmocka_unit_test(many_leases_are_renewed_at_once_and_each_is_answered),
    cmocka_unit_test(force_raises_the_token_and_spares_other_owners),
    cmocka_unit_test(waiters_are_served_in_order_and_only_the_first_is_rung),
    cmocka_unit_test(a_waiter_that_gives_up_lets_the_next_one_in),
    cmocka_unit_test(the_list_has_the_holder_first_and_who_they_are),
    cmocka_unit_test(a_long_list_is_told_page_by_page),
    cmocka_unit_test(a_record_says_who_and_what_and_goes_with_its_client),
    cmocka_unit_test(a_killed_clients_record_is_not_told),
    cmocka_unit_test(a_record_that_is_the_same_is_not_written),
    cmocka_unit_test(many_records_are_all_told),
    cmocka_unit_test(a_killed_holder_is_noticed_at_once_by_a_waiter),
    cmocka_unit_test(a_killed_holder_does_not_stop_a_try_and_leaves_nothing),
    cmocka_unit_test(who_inherits_the_socket_holds_on_for_the_dead),
    cmocka_unit_test(a_dead_waiter_at_the_head_is_skipped),
    cmocka_unit_test(a_stopped_waiter_at_the_head_costs_seconds_only),
    cmocka_unit_test(a_waiter_follows_who_is_before_it),
    cmocka_unit_test(released_later_it_stays_held_though_the_process_ended),
    cmocka_unit_test(a_row_of_another_boot_is_free),
    cmocka_unit_test(tokens_grow_across_a_power_loss),
    cmocka_unit_test(four_processes_share_a_name_fairly_and_never_overlap),
    cmocka_unit_test(many_may_open_a_new_file_at_once),
    cmocka_unit_test(a_file_that_stays_busy_ends_every_verb_by_its_deadline),
    cmocka_unit_test(a_forked_copy_is_closed_without_harm),
    cmocka_unit_test(threads_of_one_client_exclude_each_other),
};
HF_SUITE(tests)
