/* SPDX-License-Identifier: MIT
 *
 * sqlite_upgrade_test.c - files of an earlier layout are used on, with all
 * that is held and waited for in them. */
#include "seat.h"

/* "HF" and the version, as user_version has it. */
#define LAYOUT_1 "1212547073"
#define LAYOUT_2 "1212547074"
#define NOW      1212547075

/* As the first layout had them. */
static const char first_tables[] =
    "CREATE TABLE hf_lock (id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
    "    kind INTEGER NOT NULL, owner INTEGER NOT NULL, client TEXT NOT NULL,"
    "    boot INTEGER NOT NULL, until INTEGER NOT NULL,"
    "    since INTEGER NOT NULL, kept INTEGER NOT NULL,"
    "    token INTEGER NOT NULL, UNIQUE (name, kind));"
    "CREATE TABLE hf_wait (name TEXT NOT NULL, kind INTEGER NOT NULL,"
    "    ticket INTEGER NOT NULL, owner INTEGER NOT NULL,"
    "    client TEXT NOT NULL, since INTEGER NOT NULL,"
    "    PRIMARY KEY (name, kind, ticket)) WITHOUT ROWID;"
    "CREATE TABLE hf_client (client TEXT NOT NULL PRIMARY KEY,"
    "    boot INTEGER NOT NULL, pidns INTEGER NOT NULL, pid INTEGER NOT NULL,"
    "    host TEXT NOT NULL, program TEXT NOT NULL, user TEXT NOT NULL,"
    "    why TEXT NOT NULL) WITHOUT ROWID;";

/* The file becomes what the first layout would have made of it. */
static void make_old(const char *path) {
    sqlite3 *db = NULL;
    char *text = sqlite3_mprintf(
        "BEGIN IMMEDIATE;"
        "CREATE TEMP TABLE l AS SELECT id, name, kind, owner, client, boot,"
        "    until, since, kept, token FROM hf_lock;"
        "CREATE TEMP TABLE w AS SELECT name, kind, ticket, owner, client, since"
        "    FROM hf_wait;"
        "CREATE TEMP TABLE c AS SELECT client, boot, pidns, pid, host, program,"
        "    user, why FROM hf_client;"
        "DROP TABLE hf_lock; DROP TABLE hf_wait; DROP TABLE hf_client;"
        "DROP TABLE hf_hold; DROP TABLE hf_number; DROP TABLE hf_answer;"
        "%s"
        "INSERT INTO main.hf_lock SELECT * FROM l;"
        "INSERT INTO main.hf_wait SELECT * FROM w;"
        "INSERT INTO main.hf_client SELECT * FROM c;"
        "PRAGMA user_version = " LAYOUT_1 ";"
        "COMMIT",
        first_tables);

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_busy_timeout(db, SOON);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_free(text);
    sqlite3_close(db);
}

static void
a_file_of_the_first_layout_is_used_on_with_who_holds_and_waits(void **state) {
    hf_claim c = claim("job"), *one = &c, mine = claim("job");
    hf_claim reader = claim_of(HF_READ, "pages"), late = claim("job");
    uint64_t ticket;
    char path[512];
    seat a, b, d;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&a, path);
    must_sit(&b, path);
    assert_int_equal(attempt(&a, &c, false), HF_OK);
    must_wait(&b, &mine);
    ticket = mine.place;
    make_old(path);
    must_sit(&d, path);
    assert_int_equal(sql(path, "PRAGMA user_version"), NOW);
    assert_int_equal(attempt(&d, &late, true), HF_BUSY);
    assert_int_equal(attempt(&d, &reader, false), HF_OK);
    assert_int_equal(
        a.be->ops->renew(a.be, &one, 1, hf__after_ms(SOON), &a.err), HF_OK);
    assert_int_equal(c.result, HF_OK);
    assert_int_equal(release(&a, &c, HF_RELEASE), HF_OK);
    assert_true(wait_woken(&b, 0, hf__after_ms(SOON)));
    assert_int_equal(attempt(&d, &late, true), HF_BUSY);
    assert_true(mine.place == ticket);
    assert_int_equal(attempt(&b, &mine, true), HF_OK);
    assert_true(mine.token > c.token);
    watch(&b, &mine, false);
    rise(&d);
    rise(&b);
    rise(&a);
}

/* A process that was there before the upgrade goes on with what it knows. */
static void what_an_older_holdfast_writes_is_understood(void **state) {
    hf_claim c = claim_of(HF_FAIR, "job"), mine = claim("job");
    char path[512], text[512];
    seat a, b;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&a, path);
    must_sit(&b, path);
    assert_int_equal(attempt(&a, &c, false), HF_OK);
    assert_int_equal(attempt(&b, &mine, true), HF_BUSY);
    assert_int_equal(release(&b, &mine, HF_RELEASE), HF_OK);
    snprintf(text, sizeof text,
             "INSERT INTO hf_wait (name, kind, ticket, owner, client, since)"
             "VALUES ('job', 0, 1, %llu, '%s', 1)",
             (unsigned long long)mine.owner, b.host.identity.client);
    sql(path, text);
    assert_int_equal(sql(path, "SELECT fifo FROM hf_wait"), 1);
    assert_int_equal(sql(path, "SELECT asked FROM hf_wait"), HF_LOCK);
    assert_int_equal(release(&a, &c, HF_RELEASE), HF_OK);
    c = claim_of(HF_FAIR, "job");
    assert_int_equal(attempt(&a, &c, false), HF_BUSY); /* it is first */
    assert_int_equal(attempt(&b, &mine, true), HF_OK);
    rise(&b);
    rise(&a);
}

static void on_record(void *arg, const hf_identity *who, const char *doing) {
    char *found = arg;

    (void)who;
    strcat(found, doing);
}

/* Also while somebody who knows the second layout only has it open. */
static void a_file_of_the_second_layout_gets_records(void **state) {
    hf_claim c = claim("job");
    char path[512], said[64] = "";
    seat a, b;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&a, path);
    assert_int_equal(attempt(&a, &c, false), HF_OK);
    sql(path, "ALTER TABLE hf_client DROP COLUMN doing");
    sql(path, "PRAGMA user_version = " LAYOUT_2);
    must_sit(&b, path);
    assert_int_equal(sql(path, "PRAGMA user_version"), NOW);
    assert_int_equal(
        b.be->ops->announce(b.be, "waits", MINUTE, hf__after_ms(SOON), &b.err),
        HF_OK);
    sql(path, "INSERT OR REPLACE INTO hf_client (client, boot, pidns, pid,"
              "    host, program, user, why) SELECT client, boot, pidns, pid,"
              "    host, program, user, why FROM hf_client WHERE doing = ''");
    assert_int_equal(
        b.be->ops->clients(b.be, on_record, said, hf__after_ms(SOON), &b.err),
        HF_OK);
    assert_string_equal(said, "waits");
    assert_int_equal(release(&a, &c, HF_RELEASE), HF_OK);
    rise(&b);
    rise(&a);
}

static void open_and_read(const char *path, int out, void *arg) {
    hf_claim c = claim_of(HF_READ, "pages");
    seat s;

    (void)arg;
    if (sit(&s, path) != HF_OK || acquire(&s, &c) != HF_OK)
        _exit(2);
    release(&s, &c, HF_RELEASE);
    rise(&s);
    tell(out, &c.token, sizeof c.token);
}

static void many_may_open_an_old_file_at_once(void **state) {
    enum { N = 8 };
    pid_t children[N];
    char path[512];
    int in[N];
    seat s;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&s, path);
    rise(&s);
    make_old(path);
    for (int i = 0; i < N; i++)
        children[i] = start(open_and_read, path, NULL, &in[i]);
    for (int i = 0; i < N; i++) {
        int status;
        waitpid(children[i], &status, 0);
        close(in[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(sql(path, "PRAGMA user_version"), NOW);
}

static void an_upgrade_that_fails_leaves_the_file_as_it_was(void **state) {
    char path[512];
    seat s;

    (void)state;
    new_path(path, sizeof path);
    must_sit(&s, path);
    rise(&s);
    make_old(path);
    sql(path, "CREATE TABLE hf_answer (of INTEGER)"); /* in the way */
    assert_int_equal(sit(&s, path), HF_ESTORE);
    assert_non_null(strstr(s.err.text, path));
    assert_int_equal(sql(path, "PRAGMA user_version"), NOW - 2);
    assert_int_equal(sql(path, "SELECT count(*) FROM sqlite_schema"
                               " WHERE name = 'hf_hold'"),
                     0);
    sql(path, "DROP TABLE hf_answer");
    must_sit(&s, path);
    rise(&s);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(
        a_file_of_the_first_layout_is_used_on_with_who_holds_and_waits),
    cmocka_unit_test(what_an_older_holdfast_writes_is_understood),
    cmocka_unit_test(a_file_of_the_second_layout_gets_records),
    cmocka_unit_test(many_may_open_an_old_file_at_once),
    cmocka_unit_test(an_upgrade_that_fails_leaves_the_file_as_it_was),
};
HF_SUITE(tests)
