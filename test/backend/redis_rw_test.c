/* SPDX-License-Identifier: MIT
 *
 * redis_rw_test.c - readers and writers in Redis: the keys and messages as
 * Redisson has them, readers who are gone, and writers who go first. */
#include "redis_seat.h"

#include "backend/redis/keys.h"

#include <inttypes.h>

#define CHANNEL     "redisson_rwlock:{d}"
#define ALL_READERS CHANNEL " 1\n" CHANNEL " 0\n" /* see tell_readers.lua */
#define WRITERS     "holdfast_rw_writers:{d}"
#define JAVA        "99999999-2222-4333-8444-555555555555:7"

/* ---- short words ------------------------------------------------------- */

static hf_claim reader(void) {
    return claim(HF_READ, "d", 0);
}

static hf_claim writer(void) {
    return claim(HF_WRITE, "d", 0);
}

static int ask(hf_claim *c) {
    return hf__redis_ops.attempt(be, c, true, soon(), ERR);
}

static const char *owner_of(const hf_claim *c) {
    static char texts[4][HF_OWNER_SIZE];
    static int next;
    char *text = texts[next++ % 4];

    hf__owner_text(text, CLIENT, c);
    return text;
}

static const char *hold_of(const hf_claim *c) {
    static char text[HF_KEY_SIZE];

    hf__key_hold(text, c->name, CLIENT, c->owner);
    return text;
}

static bool holds(const hf_claim *c) {
    return hf_test_server_ask_number(server, "HEXISTS d %s", owner_of(c)) == 1;
}

static void assert_mode(const char *wanted) {
    assert_string_equal(hf_test_server_ask(server, "HGET d mode"), wanted);
}

static int64_t lease_of(const char *key) {
    return hf_test_server_ask_number(server, "PTTL %s", key);
}

/* A hold of Java's, entered `n` times, whose keys last so long. */
static void java_reads(int n, int ms) {
    hf_test_server_ask(server, "HSET d mode read " JAVA " %d", n);
    for (int i = 1; i <= n && ms > 0; i++)
        hf_test_server_ask(server, "SET {d}:" JAVA ":rwlock_timeout:%d 1 PX %d",
                           i, ms);
    hf_test_server_ask(server, "PEXPIRE d 30000");
}

static void assert_nothing_left(void) {
    assert_string_equal(hf_test_server_ask(server, "KEYS *"),
                        "redisson_lock_token:{d}");
}

/* ---- the layout -------------------------------------------------------- */

static void readers_look_as_redissons_do(void **state) {
    (void)state;
    hf_claim a = reader(), b = reader();
    char wanted[512];
    hf_expect(HF_OK, attempt(&a));
    snprintf(wanted, sizeof wanted, "mode\nread\n" CLIENT ":%" PRIu64 "\n1",
             a.owner);
    assert_string_equal(hf_test_server_ask(server, "HGETALL d"), wanted);
    snprintf(wanted, sizeof wanted,
             "{d}:" CLIENT ":%" PRIu64 ":rwlock_timeout:1", a.owner);
    assert_value(wanted, "1");
    assert_in_range(lease_of(wanted), 29000, 30000);
    assert_in_range(lease_of("d"), 29000, 30000);
    assert_int_equal(hf_test_server_ask_number(server, "DBSIZE"), 3);
    hf_expect(HF_OK, attempt(&b));
    assert_true(b.token > a.token);
    assert_int_equal(hf_test_server_ask_number(server, "HLEN d"), 3);
    assert_int_equal(hf_test_server_ask_number(server, "DBSIZE"), 4);
}

static void a_writer_looks_as_redissons_does(void **state) {
    (void)state;
    hf_claim a = writer();
    char wanted[512];
    hf_expect(HF_OK, attempt(&a));
    snprintf(wanted, sizeof wanted,
             "mode\nwrite\n" CLIENT ":%" PRIu64 ":write\n1", a.owner);
    assert_string_equal(hf_test_server_ask(server, "HGETALL d"), wanted);
    assert_in_range(lease_of("d"), 29000, 30000);
    assert_int_equal(hf_test_server_ask_number(server, "DBSIZE"), 2);
}

static void a_name_with_a_tag_brings_its_braces(void **state) {
    (void)state;
    hf_claim a = claim(HF_READ, "{t}:d", 0);
    char key[128];
    hf_expect(HF_OK, attempt(&a));
    snprintf(key, sizeof key, "{t}:d:" CLIENT ":%" PRIu64 ":rwlock_timeout:1",
             a.owner);
    assert_true(exists(key));
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    assert_heard("redisson_rwlock:{t}:d 0\n");
}

static void readers_share_and_a_writer_does_not(void **state) {
    (void)state;
    hf_claim a = reader(), b = reader(), w = writer(), v = writer();
    hf_expect(HF_OK, attempt(&a));
    hf_expect(HF_OK, attempt(&b));
    hf_expect(HF_BUSY, attempt(&w));
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    hf_expect(HF_BUSY, attempt(&w));
    assert_heard("");
    hf_expect(HF_OK, release(&b, HF_RELEASE));
    assert_heard(CHANNEL " 0\n");
    assert_nothing_left();
    hf_expect(HF_OK, attempt(&w));
    assert_true(w.token > b.token);
    hf_expect(HF_BUSY, attempt(&a));
    hf_expect(HF_BUSY, attempt(&v));
    hf_expect(HF_OK, release(&w, HF_RELEASE));
    assert_heard(ALL_READERS);
    assert_nothing_left();
}

static void whoever_waits_hears_of_both(void **state) {
    (void)state;
    hf_claim w = writer(), a = reader();
    woken_for = "d";
    hf_expect(HF_OK, attempt(&w));
    hf_expect(HF_OK, watch(&a, true));
    hf_expect(HF_OK, release(&w, HF_RELEASE));
    hf_test_eventually(atomic_load(&woken[HF_WRITE]) >= 1, HF_TEST_LONG);
    hf_expect(HF_OK, attempt(&a));
    int before = atomic_load(&woken[HF_WRITE]);
    hf_expect(HF_OK, release(&a, HF_RELEASE_POSTED));
    hf_test_eventually(atomic_load(&woken[HF_WRITE]) > before, HF_TEST_LONG);
}

static void asking_again_counts_once(void **state) {
    (void)state;
    hf_claim a = reader(), w = writer();
    hf_expect(HF_OK, attempt(&a));
    uint64_t token = a.token;
    hf_expect(HF_OK, attempt(&a));
    assert_int_equal(a.token, token);
    assert_string_equal(hf_test_server_ask(server, "HVALS d"), "read\n1");
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    hf_expect(HF_ELOST, release(&a, HF_RELEASE));
    hf_expect(HF_OK, attempt(&w));
    token = w.token;
    hf_expect(HF_OK, attempt(&w));
    assert_int_equal(w.token, token);
    hf_expect(HF_OK, release(&w, HF_RELEASE));
    hf_expect(HF_ELOST, release(&w, HF_RELEASE));
    assert_nothing_left();
}

static void a_plain_lock_is_no_read_write_lock(void **state) {
    (void)state;
    hf_claim plain = claim(HF_LOCK, "d", 0), a = reader(), w = writer();
    hf_expect(HF_OK, attempt(&plain));
    hf_expect(HF_ESTORE, attempt(&a));
    assert_non_null(strstr(ERR->text, "another kind"));
    hf_expect(HF_ESTORE, attempt(&w));
    hf_expect(HF_EFREE, force(HF_READ, "d", NULL));
    hf_expect(HF_EFREE, force(HF_WRITE, "d", NULL));
    hf_expect(HF_OK, release(&plain, HF_RELEASE));
}

/* ---- both sides at once ------------------------------------------------ */

static void a_writer_may_read_beside_itself(void **state) {
    (void)state;
    hf_claim w = writer(), beside = reader(), other = reader();
    hf_expect(HF_OK, attempt(&w));
    beside.beside = w.owner;
    other.beside = w.owner + 1000;
    hf_expect(HF_BUSY, attempt(&other));
    hf_expect(HF_OK, attempt(&beside));
    assert_mode("write");
    hf_expect(HF_BUSY, attempt(&other));
    hf_expect(HF_OK, release(&beside, HF_RELEASE));
    assert_mode("write");
    assert_true(holds(&w));
    assert_in_range(lease_of("d"), 29000, 30000);
    assert_heard("");
    hf_expect(HF_OK, release(&w, HF_RELEASE));
    assert_nothing_left();
}

static void a_downgrade_lets_readers_in(void **state) {
    (void)state;
    hf_claim w = writer(), beside = reader(), a = reader(), v = writer();
    hf_expect(HF_OK, attempt(&w));
    beside.beside = w.owner;
    hf_expect(HF_OK, attempt(&beside));
    hf_expect(HF_OK, release(&w, HF_RELEASE));
    assert_heard(ALL_READERS);
    assert_mode("read");
    assert_true(holds(&beside));
    hf_expect(HF_OK, attempt(&a));
    hf_expect(HF_BUSY, attempt(&v));
    hf_expect(HF_OK, release(&beside, HF_RELEASE));
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    assert_heard(CHANNEL " 0\n");
    assert_nothing_left();
}

static void a_side_does_not_shorten_the_other(void **state) {
    (void)state;
    hf_claim w = writer(), beside = reader();
    hf_expect(HF_OK, attempt(&w));
    beside.beside = w.owner;
    beside.lease_ms = 60000;
    hf_expect(HF_OK, attempt(&beside));
    hf_expect(HF_OK, renew(&w));
    assert_in_range(lease_of("d"), 59000, 60000);
    beside.lease_ms = 1000;
    hf_expect(HF_OK, renew(&beside));
    assert_in_range(lease_of("d"), 59000, 60000);
    assert_in_range(lease_of(hold_of(&beside)), 1, 1000);
    hf_expect(HF_OK, release(&beside, HF_RELEASE));
    hf_expect(HF_OK, renew(&w)); /* alone: just what it asks for */
    assert_in_range(lease_of("d"), 29000, 30000);
}

/* ---- how long it lasts ------------------------------------------------- */

static void the_lock_lasts_as_long_as_its_longest_hold(void **state) {
    (void)state;
    hf_claim brief = reader(), middle = reader(), longest = reader();
    brief.lease_ms = 10000;
    longest.lease_ms = 90000;
    hf_expect(HF_OK, attempt(&brief));
    hf_expect(HF_OK, attempt(&longest));
    assert_in_range(lease_of("d"), 89000, 90000);
    hf_expect(HF_OK, attempt(&middle));
    assert_in_range(lease_of("d"), 89000, 90000);
    hf_expect(HF_OK, release(&brief, HF_RELEASE));
    assert_in_range(lease_of("d"), 89000, 90000);
    hf_expect(HF_OK, release(&longest, HF_RELEASE));
    assert_in_range(lease_of("d"), 28000, 30000);
}

static void renewal_keeps_lock_and_hold_together(void **state) {
    (void)state;
    hf_claim a = reader(), b = reader(), w = writer(), x[2];
    hf_claim *all[] = {&a, &b, &w, &x[0], &x[1]};
    x[0] = claim(HF_READ, "x", 0);
    x[1] = claim(HF_READ, "x", 0);
    hf_expect(HF_OK, attempt(&a));
    hf_expect(HF_OK, attempt(&x[1]));
    a.lease_ms = 60000;
    b.token = w.token = x[0].token = 1; /* they think they hold */
    hf_expect(HF_OK, hf__redis_ops.renew(be, all, 5, soon(), ERR));
    assert_int_equal(a.result, HF_OK);
    assert_int_equal(b.result, HF_ELOST);
    assert_int_equal(w.result, HF_ELOST);
    assert_int_equal(x[0].result, HF_ELOST);
    assert_int_equal(x[1].result, HF_OK);
    assert_in_range(lease_of("d"), 59000, 60000);
    assert_in_range(lease_of(hold_of(&a)), 59000, 60000);
    hf_test_server_ask(server, "DEL %s", hold_of(&a));
    hf_expect(HF_OK, renew(&a));
    assert_value(hold_of(&a), "1");
    assert_in_range(lease_of(hold_of(&a)), 59000, 60000);
}

/* ---- readers who are gone ---------------------------------------------- */

static void a_writer_sweeps_out_who_is_gone(void **state) {
    (void)state;
    hf_claim w = writer();
    java_reads(2, 0);
    hf_expect(HF_OK, attempt(&w));
    assert_mode("write");
    assert_int_equal(hf_test_server_ask_number(server, "HLEN d"), 2);
}

static void a_writer_leaves_those_who_live(void **state) {
    (void)state;
    hf_claim gone = reader(), lives = reader(), w = writer();
    gone.lease_ms = 90000;
    hf_expect(HF_OK, attempt(&gone));
    hf_expect(HF_OK, attempt(&lives));
    hf_test_server_ask(server, "DEL %s", hold_of(&gone));
    hf_expect(HF_BUSY, attempt(&w));
    assert_false(holds(&gone));
    assert_true(holds(&lives));
    assert_in_range(lease_of("d"), 28000, 30000);
    assert_int_equal(renew(&gone), HF_ELOST);
}

/* Java counts entries, and each has a key. */
static void a_reader_of_java_lives_by_any_of_its_holds(void **state) {
    (void)state;
    hf_claim w = writer(), a = reader();
    java_reads(3, 20000);
    hf_test_server_ask(server, "DEL {d}:" JAVA ":rwlock_timeout:1"
                               " {d}:" JAVA ":rwlock_timeout:3");
    hf_expect(HF_BUSY, attempt(&w));
    hf_expect(HF_OK, attempt(&a));
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    assert_in_range(lease_of("d"), 18000, 20000);
    hf_test_server_ask(server, "DEL {d}:" JAVA ":rwlock_timeout:2");
    hf_expect(HF_OK, attempt(&w));
}

static void the_last_who_lives_frees_the_lock(void **state) {
    (void)state;
    hf_claim a = reader();
    java_reads(1, 0);
    hf_expect(HF_OK, attempt(&a));
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    assert_heard(CHANNEL " 0\n");
    assert_nothing_left();
}

/* ---- writers who go first ---------------------------------------------- */

static void a_waiting_writer_keeps_new_readers_out(void **state) {
    (void)state;
    hf_claim a = reader(), b = reader(), polite = reader(), w = writer();
    w.writers_first = polite.writers_first = true;
    hf_expect(HF_OK, attempt(&a));
    hf_expect(HF_BUSY, attempt(&w)); /* only tries */
    assert_false(exists(WRITERS));
    assert_int_equal(w.place, 0);
    hf_expect(HF_BUSY, ask(&w));
    assert_int_equal(w.place, 1);
    assert_string_equal(hf_test_server_ask(server, "ZRANGE " WRITERS " 0 -1"),
                        owner_of(&w));
    assert_in_range(lease_of(WRITERS), 10000, 60000);
    hf_expect(HF_BUSY, attempt(&polite));
    assert_true(polite.ask_again <= hf__now() + 10 * HF_SECOND);
    hf_expect(HF_OK, attempt(&b)); /* who did not ask to be polite */
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    hf_expect(HF_OK, release(&b, HF_RELEASE));
    hf_expect(HF_BUSY, attempt(&polite)); /* free, and the writer's */
    hf_expect(HF_OK, ask(&w));
    assert_false(exists(WRITERS));
    hf_expect(HF_OK, release(&w, HF_RELEASE));
    hf_expect(HF_OK, attempt(&polite));
    hf_expect(HF_OK, release(&polite, HF_RELEASE));
    assert_nothing_left();
}

static void a_writer_that_gives_up_lets_readers_in(void **state) {
    (void)state;
    hf_claim a = reader(), polite = reader(), w = writer();
    w.writers_first = polite.writers_first = true;
    hf_expect(HF_OK, attempt(&a));
    hf_expect(HF_BUSY, ask(&w));
    hf_expect(HF_BUSY, attempt(&polite));
    hf_expect(HF_OK, release(&w, HF_RELEASE));
    assert_heard(ALL_READERS);
    hf_expect(HF_OK, attempt(&polite));
    hf_expect(HF_ELOST, release(&w, HF_RELEASE));
    assert_heard("");
}

static void a_dead_writer_keeps_nobody_out_for_long(void **state) {
    (void)state;
    hf_claim a = reader(), polite = reader(), w = writer(), v = writer();
    w.writers_first = v.writers_first = polite.writers_first = true;
    hf_expect(HF_OK, attempt(&a));
    hf_expect(HF_BUSY, ask(&w));
    hf_test_server_ask(server, "ZADD " WRITERS " 1 %s", owner_of(&w));
    hf_expect(HF_OK, attempt(&polite));
    hf_expect(HF_BUSY, ask(&v)); /* and is swept out by the next */
    assert_string_equal(hf_test_server_ask(server, "ZRANGE " WRITERS " 0 -1"),
                        owner_of(&v));
    assert_int_equal(renew(&w), HF_ELOST);
}

static void a_waiting_writer_is_kept_by_saying_so(void **state) {
    (void)state;
    hf_claim a = reader(), w = writer();
    w.writers_first = true;
    hf_expect(HF_OK, attempt(&a));
    hf_expect(HF_BUSY, ask(&w));
    hf_test_server_ask(server, "ZADD " WRITERS " 1 %s", owner_of(&w));
    hf_expect(HF_OK, renew(&w));
    assert_true(hf_test_server_ask_number(server, "ZSCORE " WRITERS " %s",
                                          owner_of(&w)) > 1000000);
    hf_test_server_ask(server, "DEL " WRITERS);
    hf_expect(HF_ELOST, renew(&w));
}

static void a_writer_may_read_though_others_go_first(void **state) {
    (void)state;
    hf_claim w = writer(), beside = reader(), v = writer();
    v.writers_first = beside.writers_first = true;
    hf_expect(HF_OK, attempt(&w));
    hf_expect(HF_BUSY, ask(&v));
    beside.beside = w.owner;
    hf_expect(HF_OK, attempt(&beside));
}

/* ---- other ways out ---------------------------------------------------- */

static void force_throws_out_one_reader_or_all(void **state) {
    (void)state;
    hf_claim a = reader(), b = reader(), c = reader(), w = writer();
    hf_expect(HF_EFREE, force(HF_READ, "d", NULL));
    hf_expect(HF_OK, attempt(&a));
    hf_expect(HF_OK, attempt(&b));
    hf_expect(HF_EFREE, force(HF_READ, "d", JAVA));
    hf_expect(HF_EFREE, force(HF_READ, "d", "mode"));
    hf_expect(HF_EFREE, force(HF_WRITE, "d", NULL)); /* the other side */
    hf_expect(HF_OK, force(HF_READ, "d", owner_of(&a)));
    assert_false(exists(hold_of(&a)));
    assert_true(holds(&b));
    assert_heard("");
    hf_expect(HF_OK, attempt(&c));
    assert_true(c.token > b.token + 1);
    hf_expect(HF_OK, force(HF_READ, "d", NULL));
    assert_heard(CHANNEL " 0\n");
    assert_nothing_left();
    hf_expect(HF_OK, attempt(&w));
    assert_true(w.token > c.token + 1);
    hf_expect(HF_EFREE, force(HF_READ, "d", NULL));
    hf_expect(HF_EFREE, force(HF_READ, "d", owner_of(&w)));
    hf_expect(HF_EFREE, force(HF_WRITE, "d", owner_of(&a)));
    hf_expect(HF_OK, force(HF_WRITE, "d", owner_of(&w)));
    assert_heard(ALL_READERS);
    assert_nothing_left();
}

static void force_leaves_who_reads_beside_the_writer(void **state) {
    (void)state;
    hf_claim w = writer(), beside = reader();
    hf_expect(HF_OK, attempt(&w));
    beside.beside = w.owner;
    hf_expect(HF_OK, attempt(&beside));
    hf_expect(HF_OK, force(HF_WRITE, "d", NULL));
    assert_mode("read");
    hf_expect(HF_OK, renew(&beside));
    hf_expect(HF_ELOST, renew(&w));
}

static void a_writer_may_leave_for_later_and_a_reader_not(void **state) {
    (void)state;
    hf_claim w = writer(), a = reader();
    hf_expect(HF_OK, attempt(&w));
    w.lease_ms = 300;
    hf_expect(HF_OK, release(&w, HF_RELEASE_AFTER));
    assert_heard(CHANNEL " 1\n");
    assert_mode("write");
    assert_int_equal(
        hf_test_server_ask_number(server, "HEXISTS d " CLIENT ":0:write"), 1);
    hf_expect(HF_BUSY, attempt(&a));
    hf_test_eventually(attempt(&a) == HF_OK, HF_TEST_LONG);
    hf_expect(HF_ELOST, release(&w, HF_RELEASE_AFTER));
    hf_expect(HF_ECANNOT, release(&a, HF_RELEASE_AFTER));
    assert_true(holds(&a));
}

static void a_full_server_still_lets_go(void **state) {
    (void)state;
    hf_claim w = writer(), beside = reader(), a = reader();
    hf_expect(HF_OK, attempt(&w));
    beside.beside = w.owner;
    hf_expect(HF_OK, attempt(&beside));
    hf_test_server_ask(server, "CONFIG SET maxmemory 1");
    hf_expect(HF_OK, renew(&w));
    hf_expect(HF_OK, renew(&beside));
    hf_expect(HF_BUSY, attempt(&a));
    hf_expect(HF_OK, release(&w, HF_RELEASE));
    hf_expect(HF_EFULL, attempt(&a));
    hf_expect(HF_OK, release(&beside, HF_RELEASE));
    assert_nothing_left();
}

static const struct CMUnitTest tests[] = {
    TEST(readers_look_as_redissons_do),
    TEST(a_writer_looks_as_redissons_does),
    TEST(a_name_with_a_tag_brings_its_braces),
    TEST(readers_share_and_a_writer_does_not),
    TEST(whoever_waits_hears_of_both),
    TEST(asking_again_counts_once),
    TEST(a_plain_lock_is_no_read_write_lock),
    TEST(a_writer_may_read_beside_itself),
    TEST(a_downgrade_lets_readers_in),
    TEST(a_side_does_not_shorten_the_other),
    TEST(the_lock_lasts_as_long_as_its_longest_hold),
    TEST(renewal_keeps_lock_and_hold_together),
    TEST(a_writer_sweeps_out_who_is_gone),
    TEST(a_writer_leaves_those_who_live),
    TEST(a_reader_of_java_lives_by_any_of_its_holds),
    TEST(the_last_who_lives_frees_the_lock),
    TEST(a_waiting_writer_keeps_new_readers_out),
    TEST(a_writer_that_gives_up_lets_readers_in),
    TEST(a_dead_writer_keeps_nobody_out_for_long),
    TEST(a_waiting_writer_is_kept_by_saying_so),
    TEST(a_writer_may_read_though_others_go_first),
    TEST(force_throws_out_one_reader_or_all),
    TEST(force_leaves_who_reads_beside_the_writer),
    TEST(a_writer_may_leave_for_later_and_a_reader_not),
    TEST(a_full_server_still_lets_go),
};
HF_SUITE(tests)
