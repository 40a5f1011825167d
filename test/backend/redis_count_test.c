/* SPDX-License-Identifier: MIT
 *
 * redis_count_test.c - semaphores, leased permits and latches in Redis: what
 * the numbers become, what is published and what the keys look like, as
 * Redisson has them; and that everything counts once. */
#include "redis_seat.h"

#include "backend/redis/families.h"
#include "backend/redis/keys.h"

#include <limits.h>

static int64_t available(const char *name) {
    return must(HF_SEMAPHORE, name, HF_COUNT_FREE, 0);
}

static int64_t leased(const char *name) {
    return must(HF_SEMAPHORE, name, HF_COUNT_LEASED, 0);
}

static void set(const char *name, int64_t n) {
    must(HF_SEMAPHORE, name, HF_COUNT_SET, n);
}

static int64_t keys_like(const char *pattern) {
    return hf_test_server_ask_number(
        server, "EVAL 'return #redis.call(\"keys\", ARGV[1])' 0 %s", pattern);
}

/* ---- the number of a semaphore ----------------------------------------- */

static void the_number_of_permits_is_set_once(void **state) {
    (void)state;
    assert_int_equal(must(HF_SEMAPHORE, "s", HF_COUNT_SET, 3), 3);
    assert_value("s", "3");
    assert_heard("redisson_sc:{s} 3\n");
    hf_expect(HF_BUSY, cannot(HF_SEMAPHORE, "s", HF_COUNT_SET, 5));
    assert_value("s", "3");
    assert_int_equal(hf_test_server_ask_number(server, "PTTL s"), -1);
    assert_heard("");
}

static void a_semaphore_set_to_nothing_wakes_nobody(void **state) {
    (void)state;
    set("s", 0);
    assert_value("s", "0");
    set("t", -2);
    assert_value("t", "-2");
    assert_heard("");
}

static void a_semaphore_set_for_a_while_vanishes(void **state) {
    (void)state;
    hf_claim c = claim(HF_SEMAPHORE, "s", 0);
    int64_t n = 3;
    c.lease_ms = 200;
    hf_expect(HF_OK, count(&c, HF_COUNT_SET, &n));
    assert_in_range(hf_test_server_ask_number(server, "PTTL s"), 1, 200);
    hf_test_eventually(!exists("s"), HF_TEST_LONG);
    assert_int_equal(available("s"), 0);
    set("s", 4);
    assert_value("s", "4");
}

static void giving_makes_permits_where_there_were_none(void **state) {
    (void)state;
    assert_int_equal(available("s"), 0);
    assert_int_equal(must(HF_SEMAPHORE, "s", HF_COUNT_GIVE, 2), 2);
    assert_int_equal(must(HF_SEMAPHORE, "s", HF_COUNT_GIVE, 3), 5);
    assert_value("s", "5");
    assert_heard("redisson_sc:{s} 2\nredisson_sc:{s} 5\n");
}

static void what_is_not_set_can_be_left_alone(void **state) {
    (void)state;
    hf_expect(HF_EFREE, cannot(HF_SEMAPHORE, "s", HF_COUNT_GIVE_IF_SET, 2));
    assert_non_null(strstr(ERR->text, "\"s\""));
    assert_false(exists("s"));
    assert_heard("");
    set("s", 0);
    assert_int_equal(must(HF_SEMAPHORE, "s", HF_COUNT_GIVE_IF_SET, 2), 2);
    assert_heard("redisson_sc:{s} 2\n");
}

/* Redisson publishes -7 there, at which its own listeners throw. */
static void
permits_can_be_less_than_none_but_that_is_not_published(void **state) {
    (void)state;
    set("s", 3);
    heard();
    assert_int_equal(must(HF_SEMAPHORE, "s", HF_COUNT_ADD, -10), -7);
    assert_value("s", "-7");
    assert_int_equal(available("s"), -7);
    assert_int_equal(must(HF_SEMAPHORE, "s", HF_COUNT_ADD, 7), 0);
    assert_int_equal(must(HF_SEMAPHORE, "s", HF_COUNT_GIVE, 4), 4);
    assert_int_equal(must(HF_SEMAPHORE, "s", HF_COUNT_ADD, -1), 3);
    assert_heard("redisson_sc:{s} 4\n");
    assert_int_equal(must(HF_SEMAPHORE, "new", HF_COUNT_ADD, -1), -1);
    assert_value("new", "-1");
}

/* Redisson's addPermits drops it. */
static void changes_leave_the_time_to_live_alone(void **state) {
    (void)state;
    hf_claim c = claim(HF_SEMAPHORE, "s", 0),
             taker = claim(HF_SEMAPHORE, "s", 1);
    int64_t n = 3;
    c.lease_ms = 60000;
    hf_expect(HF_OK, count(&c, HF_COUNT_SET, &n));
    must(HF_SEMAPHORE, "s", HF_COUNT_ADD, 5);
    must(HF_SEMAPHORE, "s", HF_COUNT_GIVE, 5);
    must(HF_SEMAPHORE, "s", HF_COUNT_RESIZE, 7);
    hf_expect(HF_OK, attempt(&taker));
    must(HF_SEMAPHORE, "s", HF_COUNT_DRAIN, 0);
    assert_value("s", "0");
    assert_in_range(hf_test_server_ask_number(server, "PTTL s"), 1, 60000);
}

static void draining_takes_what_is_free(void **state) {
    (void)state;
    assert_int_equal(must(HF_SEMAPHORE, "s", HF_COUNT_DRAIN, 0), 0);
    assert_false(exists("s"));
    set("s", 7);
    assert_int_equal(must(HF_SEMAPHORE, "s", HF_COUNT_DRAIN, 0), 7);
    assert_value("s", "0");
    must(HF_SEMAPHORE, "s", HF_COUNT_ADD, -4);
    assert_int_equal(must(HF_SEMAPHORE, "s", HF_COUNT_DRAIN, 0), 0);
    assert_value("s", "-4"); /* a debt is not taken away */
}

static void permits_go_up_to_the_largest_int(void **state) {
    (void)state;
    hf_claim c = claim(HF_SEMAPHORE, "s", INT_MAX);
    set("s", INT_MAX);
    assert_int_equal(available("s"), INT_MAX);
    hf_expect(HF_OK, attempt(&c));
    assert_value("s", "0");
    assert_int_equal(must(HF_SEMAPHORE, "s", HF_COUNT_GIVE, INT_MAX), INT_MAX);
    assert_heard("redisson_sc:{s} 2147483647\nredisson_sc:{s} 2147483647\n");
}

static void resizing_counts_what_is_leased(void **state) {
    (void)state;
    hf_claim c = claim(HF_PERMIT, "s", 3);
    assert_int_equal(must(HF_SEMAPHORE, "s", HF_COUNT_RESIZE, 5), 5);
    hf_expect(HF_OK, attempt(&c));
    assert_heard("redisson_sc:{s} 5\n");
    assert_int_equal(must(HF_SEMAPHORE, "s", HF_COUNT_RESIZE, 10), 7);
    assert_value("s", "7");
    assert_heard("redisson_sc:{s} 7\n");
    assert_int_equal(must(HF_SEMAPHORE, "s", HF_COUNT_RESIZE, 2), -1);
    assert_value("s", "-1");
    assert_int_equal(must(HF_SEMAPHORE, "s", HF_COUNT_RESIZE, 2), -1);
    assert_heard("");
    hf_expect(HF_OK, release(&c, HF_RELEASE));
    assert_value("s", "2");
}

static void deleting_a_semaphore_takes_its_leases_along(void **state) {
    (void)state;
    hf_claim c = claim(HF_PERMIT, "s", 2);
    set("s", 5);
    hf_expect(HF_OK, attempt(&c));
    heard();
    must(HF_SEMAPHORE, "s", HF_COUNT_DELETE, 0);
    assert_heard("redisson_sc:{s} 0\n"); /* our own waiters look again */
    assert_false(exists("s"));
    assert_false(exists("{s}:timeout"));
    hf_expect(HF_EFREE, cannot(HF_SEMAPHORE, "s", HF_COUNT_DELETE, 0));
    hf_expect(HF_ELOST, release(&c, HF_RELEASE));
    assert_false(exists("s"));
    assert_heard("");
}

/* ---- taking permits ---------------------------------------------------- */

static void permits_are_taken_together_or_not_at_all(void **state) {
    (void)state;
    hf_claim two = claim(HF_SEMAPHORE, "s", 2),
             four = claim(HF_SEMAPHORE, "s", 4);
    hf_time now = hf__now();
    hf_expect(HF_BUSY, attempt(&two));
    assert_false(exists("s"));
    set("s", 5);
    hf_expect(HF_OK, attempt(&two));
    assert_value("s", "3");
    hf_expect(HF_BUSY, attempt(&four));
    assert_true(four.ask_again >= now + HF_SECOND);
    assert_true(four.ask_again <= hf__now() + 3 * HF_SECOND);
    must(HF_SEMAPHORE, "s", HF_COUNT_GIVE, 1);
    hf_expect(HF_OK, attempt(&four));
    assert_value("s", "0");
}

static void nothing_can_be_taken_from_nothing(void **state) {
    (void)state;
    hf_claim c = claim(HF_SEMAPHORE, "s", 0);
    hf_expect(HF_OK, attempt(&c));
    assert_false(exists("s"));
}

static void asking_twice_takes_once(void **state) {
    (void)state;
    hf_claim c = claim(HF_SEMAPHORE, "s", 2), again = c;
    set("s", 5);
    hf_expect(HF_OK, attempt(&c));
    hf_expect(HF_OK, attempt(&again));
    hf_expect(HF_OK, attempt(&again));
    assert_value("s", "3");
    must(HF_SEMAPHORE, "s", HF_COUNT_GIVE, 1); /* deletes the marker */
    hf_expect(HF_OK, attempt(&c));
    assert_value("s", "4");
}

static void an_attempt_can_be_undone_once(void **state) {
    (void)state;
    hf_claim c = claim(HF_SEMAPHORE, "s", 2);
    set("s", 5);
    hf_expect(HF_OK, attempt(&c));
    heard();
    hf_expect(HF_OK, release(&c, HF_RELEASE));
    assert_value("s", "5");
    assert_heard("redisson_sc:{s} 5\n");
    hf_expect(HF_ELOST, release(&c, HF_RELEASE));
    assert_value("s", "5");
    assert_heard("");
}

/* It was answered, and others have been there since. */
static void an_attempt_can_be_undone_when_its_marker_is_gone(void **state) {
    (void)state;
    hf_claim c = claim(HF_SEMAPHORE, "s", 2), d = claim(HF_SEMAPHORE, "s", 1);
    set("s", 5);
    hf_expect(HF_OK, attempt(&c));
    hf_expect(HF_OK, attempt(&d));
    hf_expect(HF_OK, release(&c, HF_RELEASE));
    assert_value("s", "4");
    hf_expect(HF_ELOST, release(&c, HF_RELEASE));
    hf_expect(HF_OK, release(&d, HF_RELEASE));
    assert_value("s", "5");
}

static void an_attempt_that_comes_after_its_undoing_gets_nothing(void **state) {
    (void)state;
    hf_claim c = claim(HF_SEMAPHORE, "s", 2);
    set("s", 5);
    hf_expect(HF_ELOST, release(&c, HF_RELEASE));
    hf_expect(HF_BUSY, attempt(&c));
    assert_value("s", "5");
}

static void undoing_does_not_bring_a_deleted_semaphore_back(void **state) {
    (void)state;
    hf_claim c = claim(HF_SEMAPHORE, "s", 2);
    set("s", 5);
    hf_expect(HF_OK, attempt(&c));
    must(HF_SEMAPHORE, "s", HF_COUNT_DELETE, 0);
    hf_expect(HF_OK, release(&c, HF_RELEASE));
    assert_false(exists("s"));
}

/* Who leased them may be dead, and nobody else may ever ask. */
static void who_takes_permits_finds_those_whose_lease_is_over(void **state) {
    (void)state;
    hf_claim lease = claim(HF_PERMIT, "s", 3), c = claim(HF_SEMAPHORE, "s", 2);
    set("s", 3);
    lease.lease_ms = 100;
    hf_expect(HF_OK, attempt(&lease));
    heard();
    hf_expect(HF_BUSY, attempt(&c));
    assert_true(c.ask_again <= hf__now() + 102 * HF_MS);
    hf_test_eventually(attempt(&c) == HF_OK, HF_TEST_LONG);
    assert_value("s", "1");
    assert_heard("redisson_sc:{s} 1\n"); /* the rest is for others */
}

/* ---- leased permits ---------------------------------------------------- */

/* Is the i-th permit of the claim there, under the 16 bytes it should have? */
static bool has_permit(const char *zset, const hf_claim *c, unsigned i) {
    unsigned char id[16];
    redisContext *conn = raw(hf_test_server_port(server));
    unsigned last = ((unsigned)c->nonce[12] << 24 | c->nonce[13] << 16 |
                     c->nonce[14] << 8 | c->nonce[15]) +
                    i;
    memcpy(id, c->nonce, 12);
    for (int k = 0; k < 4; k++)
        id[12 + k] = (unsigned char)(last >> (24 - 8 * k));
    redisReply *reply = redisCommand(conn, "ZSCORE %s %b", zset, id, sizeof id);
    bool found = reply->type == REDIS_REPLY_STRING;
    freeReplyObject(reply);
    redisFree(conn);
    return found;
}

static void permits_are_leased_under_ids_of_sixteen_bytes(void **state) {
    (void)state;
    hf_claim c = claim(HF_PERMIT, "s", 3);
    memset(c.nonce + 12, 0xff, 4); /* the number goes round */
    c.nonce[4] = 0;
    set("s", 5);
    hf_expect(HF_OK, attempt(&c));
    assert_true(c.token > 0);
    assert_value("s", "2");
    assert_int_equal(hf_test_server_ask_number(server, "ZCARD {s}:timeout"), 3);
    for (unsigned i = 0; i < 3; i++)
        assert_true(has_permit("{s}:timeout", &c, i));
    int64_t now = hf__world->wall_us() / 1000;
    int64_t ends = hf_test_server_ask_number(
        server, "EVAL 'return tonumber(redis.call(\"zrange\", KEYS[1], 0, 0, "
                "\"WITHSCORES\")[2])' 1 {s}:timeout");
    assert_in_range(ends, now + 10000, now + 31000);
    assert_int_equal(available("s"), 2);
    assert_int_equal(leased("s"), 3);
    char token[32];
    snprintf(token, sizeof token, "%llu", (unsigned long long)c.token);
    assert_value("redisson_lock_token:{s}", token);
    assert_heard("redisson_sc:{s} 5\n");
}

static void who_has_permits_and_asks_again_has_the_same_ones(void **state) {
    (void)state;
    hf_claim c = claim(HF_PERMIT, "s", 2), again = c;
    set("s", 2);
    c.lease_ms = 5000;
    hf_expect(HF_OK, attempt(&c));
    again.lease_ms = 90000;
    hf_expect(HF_OK, attempt(&again));
    assert_true(again.token == c.token);
    assert_value("s", "0");
    assert_int_equal(leased("s"), 2);
}

static void who_has_lost_some_of_its_permits_takes_them_anew(void **state) {
    (void)state;
    hf_claim c = claim(HF_PERMIT, "s", 3);
    uint64_t token;
    set("s", 3);
    hf_expect(HF_OK, attempt(&c));
    token = c.token;
    hf_test_server_ask(server, "ZPOPMIN {s}:timeout 2");
    hf_expect(HF_ELOST, renew(&c));
    hf_expect(HF_BUSY, attempt(&c));
    hf_test_server_ask(server, "INCRBY s 2");
    hf_expect(HF_OK, attempt(&c));
    assert_true(c.token > token);
    assert_value("s", "0");
    assert_int_equal(leased("s"), 3);
}

static void who_comes_too_late_learns_when_the_next_lease_ends(void **state) {
    (void)state;
    hf_claim a = claim(HF_PERMIT, "s", 1), b = claim(HF_PERMIT, "s", 1),
             c = claim(HF_PERMIT, "s", 2);
    hf_time now = hf__now();
    hf_expect(HF_BUSY, attempt(&c)); /* not set: there is none */
    assert_true(c.ask_again >= now + HF_SECOND);
    assert_true(c.ask_again <= hf__now() + 3 * HF_SECOND);
    set("s", 2);
    a.lease_ms = 60000;
    hf_expect(HF_OK, attempt(&a));
    b.lease_ms = 400;
    hf_expect(HF_OK, attempt(&b));
    hf_expect(HF_BUSY, attempt(&c));
    assert_true(c.ask_again <= hf__now() + 402 * HF_MS);
    b.lease_ms = 1;
    hf_expect(HF_OK, renew(&b));
    now = hf__now();
    if (attempt(&c) == HF_BUSY) /* not at once, however soon it ends */
        assert_true(c.ask_again >= now + 50 * HF_MS);
}

static void permits_are_given_back_once(void **state) {
    (void)state;
    hf_claim c = claim(HF_PERMIT, "s", 2);
    set("s", 3);
    hf_expect(HF_OK, attempt(&c));
    heard();
    hf_expect(HF_OK, release(&c, HF_RELEASE));
    assert_value("s", "3");
    assert_false(exists("{s}:timeout"));
    assert_heard("redisson_sc:{s} 3\n");
    hf_expect(HF_ELOST, release(&c, HF_RELEASE));
    assert_value("s", "3");
    assert_heard("");
}

static void a_posted_release_gives_permits_back(void **state) {
    (void)state;
    hf_claim c = claim(HF_PERMIT, "s", 2);
    set("s", 3);
    hf_expect(HF_OK, attempt(&c));
    hf_expect(HF_OK, release(&c, HF_RELEASE_POSTED));
    assert_int_equal(available("s"), 3); /* which does not overtake it */
    assert_false(exists("{s}:timeout"));
}

/* Too late, but not reaped yet: they return to the others all the same. */
static void
permits_that_ended_return_once_however_they_are_found(void **state) {
    (void)state;
    hf_claim c = claim(HF_PERMIT, "s", 2), d = claim(HF_PERMIT, "s", 2);
    set("s", 2);
    c.lease_ms = 1;
    hf_expect(HF_OK, attempt(&c));
    hf_test_eventually(release(&c, HF_RELEASE) == HF_ELOST, HF_TEST_LONG);
    assert_value("s", "2");
    hf_expect(HF_ELOST, release(&c, HF_RELEASE));
    assert_value("s", "2");
    d.lease_ms = 1;
    hf_expect(HF_OK, attempt(&d));
    hf_test_eventually(available("s") == 2, HF_TEST_LONG);
    assert_int_equal(leased("s"), 0);
    hf_expect(HF_ELOST, renew(&d));
    hf_expect(HF_ELOST, release(&d, HF_RELEASE));
    assert_value("s", "2");
}

static void counting_gives_back_what_has_ended_and_tells(void **state) {
    (void)state;
    hf_claim c = claim(HF_PERMIT, "s", 2);
    set("s", 5);
    c.lease_ms = 50;
    hf_expect(HF_OK, attempt(&c));
    heard();
    hf_test_eventually(available("s") == 5, HF_TEST_LONG);
    assert_heard("redisson_sc:{s} 5\n");
    assert_int_equal(leased("s"), 0);
    assert_heard("");
}

static void a_lease_of_permits_is_renewed(void **state) {
    (void)state;
    hf_claim c = claim(HF_PERMIT, "s", 2), unknown = claim(HF_PERMIT, "s", 1);
    set("s", 3);
    c.lease_ms = 300;
    hf_expect(HF_OK, attempt(&c));
    c.lease_ms = 60000;
    hf_expect(HF_OK, renew(&c));
    hf_expect(HF_ELOST, renew(&unknown));
    hf_test_throughout(leased("s") == 2, 500);
    hf_test_server_ask(server, "SET {s}:timeout text");
    hf_expect(HF_ELOST, renew(&c));
}

static void many_leases_of_permits_are_renewed_together(void **state) {
    (void)state;
    enum { N = 600 };
    static hf_claim claims[N], *pointers[N];
    must(HF_SEMAPHORE, "even", HF_COUNT_SET, N);
    must(HF_SEMAPHORE, "odd", HF_COUNT_SET, 2 * N);
    for (int i = 0; i < N; i++) {
        claims[i] = claim(HF_PERMIT, i % 2 ? "odd" : "even", 1 + i % 2);
        pointers[i] = &claims[i];
        hf_expect(HF_OK, attempt(&claims[i]));
    }
    hf_expect(HF_OK, release(&claims[10], HF_RELEASE));
    hf_expect(HF_OK, release(&claims[511], HF_RELEASE));
    hf_expect(HF_OK, hf__redis_ops.renew(be, pointers, N, soon(), ERR));
    for (int i = 0; i < N; i++)
        assert_int_equal(claims[i].result,
                         i == 10 || i == 511 ? HF_ELOST : HF_OK);
}

static void an_operator_takes_one_permit_or_all_of_them(void **state) {
    (void)state;
    hf_claim c = claim(HF_PERMIT, "s", 3);
    char id[HF_OWNER_SIZE];
    uint64_t token;
    set("s", 3);
    hf_expect(HF_EFREE, force(HF_PERMIT, "s", NULL));
    hf_expect(HF_OK, attempt(&c));
    token = c.token;
    heard();
    hf_expect(HF_EFREE, force(HF_PERMIT, "s", "no id"));
    hf_expect(HF_EFREE,
              force(HF_PERMIT, "s", "0123456789abcdef0123456789abcdef"));
    hf__owner_text(id, CLIENT, &c);
    hf_expect(HF_OK, force(HF_PERMIT, "s", id));
    assert_value("s", "1");
    assert_int_equal(leased("s"), 2);
    hf_expect(HF_ELOST, renew(&c));
    hf_expect(HF_OK, force(HF_PERMIT, "s", NULL));
    assert_value("s", "3");
    assert_false(exists("{s}:timeout"));
    assert_heard("redisson_sc:{s} 1\nredisson_sc:{s} 3\n");
    assert_true((uint64_t)must(HF_PERMIT, "s", HF_COUNT_TOKEN, 0) > token);
    hf_expect(HF_ELOST, release(&c, HF_RELEASE));
    assert_value("s", "3");
}

static void permits_cannot_be_released_for_later(void **state) {
    (void)state;
    hf_claim c = claim(HF_PERMIT, "s", 1);
    set("s", 1);
    hf_expect(HF_OK, attempt(&c));
    hf_expect(HF_ECANNOT, release(&c, HF_RELEASE_AFTER));
    assert_value("s", "0");
}

static void leases_vanish_with_their_semaphore(void **state) {
    (void)state;
    hf_claim set_it = claim(HF_SEMAPHORE, "s", 0), c = claim(HF_PERMIT, "s", 1);
    int64_t n = 2;
    set_it.lease_ms = 60000;
    hf_expect(HF_OK, count(&set_it, HF_COUNT_SET, &n));
    hf_expect(HF_OK, attempt(&c));
    assert_in_range(hf_test_server_ask_number(server, "PTTL {s}:timeout"), 1,
                    60000);
}

/* Redisson's permits without a lease. */
static void a_permit_without_an_end_is_waited_for_by_messages(void **state) {
    (void)state;
    hf_claim c = claim(HF_PERMIT, "s", 1);
    hf_time now = hf__now();
    hf_test_server_ask(server, "SET s 0");
    hf_test_server_ask(server,
                       "ZADD {s}:timeout 922337203685477 0123456789abcdef");
    hf_expect(HF_BUSY, attempt(&c));
    assert_true(c.ask_again >= now + HF_SECOND);
    assert_true(c.ask_again <= hf__now() + 3 * HF_SECOND);
    assert_int_equal(leased("s"), 1);
    assert_int_equal(available("s"), 0);
}

static void names_with_braces_keep_them(void **state) {
    (void)state;
    hf_claim c = claim(HF_PERMIT, "{t}s", 1);
    set("{t}s", 2);
    hf_expect(HF_OK, attempt(&c));
    assert_true(exists("{t}s:timeout"));
    assert_true(exists("redisson_lock_token:{t}s"));
    assert_heard("redisson_sc:{t}s 2\n");
    must(HF_LATCH, "{t}l", HF_COUNT_SET, 1);
    assert_heard("redisson_countdownlatch__channel__{{t}l} 1\n");
}

/* ---- latches ----------------------------------------------------------- */

static void a_latch_counts_down_and_is_gone(void **state) {
    (void)state;
    assert_int_equal(must(HF_LATCH, "l", HF_COUNT_SET, 2), 2);
    assert_heard("redisson_countdownlatch__channel__{l} 1\n");
    hf_expect(HF_BUSY, cannot(HF_LATCH, "l", HF_COUNT_SET, 9));
    assert_value("l", "2");
    assert_int_equal(must(HF_LATCH, "l", HF_COUNT_DOWN, 1), 1);
    assert_int_equal(must(HF_LATCH, "l", HF_COUNT_FREE, 0), 1);
    assert_heard("");
    assert_int_equal(must(HF_LATCH, "l", HF_COUNT_DOWN, 1), 0);
    assert_heard("redisson_countdownlatch__channel__{l} 0\n");
    assert_false(exists("l"));
    assert_int_equal(must(HF_LATCH, "l", HF_COUNT_DOWN, 1), 0);
    assert_false(exists("l"));
    assert_heard("");
    assert_int_equal(must(HF_LATCH, "l", HF_COUNT_FREE, 0), 0);
    must(HF_LATCH, "l", HF_COUNT_SET, 1); /* and can be set again */
}

static void a_latch_is_open_when_nothing_is_left(void **state) {
    (void)state;
    hf_claim c = claim(HF_LATCH, "l", 0);
    hf_time now = hf__now();
    hf_expect(HF_OK, attempt(&c));
    must(HF_LATCH, "l", HF_COUNT_SET, 1);
    hf_expect(HF_BUSY, attempt(&c));
    assert_true(c.ask_again >= now + HF_SECOND);
    assert_true(c.ask_again <= hf__now() + 3 * HF_SECOND);
    must(HF_LATCH, "l", HF_COUNT_DOWN, 1);
    hf_expect(HF_OK, attempt(&c));
    hf_expect(HF_OK, release(&c, HF_RELEASE)); /* which has nothing to do */
    must(HF_LATCH, "zero", HF_COUNT_SET, 0);
    c.name = "zero";
    hf_expect(HF_OK, attempt(&c));
    assert_int_equal(must(HF_LATCH, "zero", HF_COUNT_DOWN, 1), 0);
    assert_false(exists("zero"));
}

/* Redisson publishes 1, and leaves who waits asleep. */
static void deleting_a_latch_opens_it(void **state) {
    (void)state;
    must(HF_LATCH, "l", HF_COUNT_SET, 5);
    heard();
    must(HF_LATCH, "l", HF_COUNT_DELETE, 0);
    assert_heard("redisson_countdownlatch__channel__{l} 0\n");
    assert_false(exists("l"));
    hf_expect(HF_EFREE, cannot(HF_LATCH, "l", HF_COUNT_DELETE, 0));
    assert_heard("");
}

/* ---- once -------------------------------------------------------------- */

static const struct {
    hf_kind kind;
    hf_count_op op;
    int64_t number;
    const char *before, *after; /* "": there is none */
} changes[] = {
    {HF_SEMAPHORE, HF_COUNT_SET, 4, "", "4"},
    {HF_SEMAPHORE, HF_COUNT_ADD, 4, "5", "9"},
    {HF_SEMAPHORE, HF_COUNT_ADD, -7, "5", "-2"},
    {HF_SEMAPHORE, HF_COUNT_RESIZE, 8, "5", "8"},
    {HF_SEMAPHORE, HF_COUNT_GIVE, 4, "5", "9"},
    {HF_SEMAPHORE, HF_COUNT_GIVE_IF_SET, 4, "5", "9"},
    {HF_SEMAPHORE, HF_COUNT_DRAIN, 0, "5", "0"},
    {HF_SEMAPHORE, HF_COUNT_DELETE, 0, "5", ""},
    {HF_LATCH, HF_COUNT_SET, 4, "", "4"},
    {HF_LATCH, HF_COUNT_DOWN, 1, "5", "4"},
    {HF_LATCH, HF_COUNT_DOWN, 1, "1", ""},
    {HF_LATCH, HF_COUNT_DELETE, 0, "5", ""},
};
enum { N_CHANGES = sizeof changes / sizeof changes[0] };

static void begin_with(const char *key, const char *value) {
    hf_test_server_ask(server, *value ? "SET %s %s" : "DEL %s", key, value);
}

static void every_change_counts_once_and_is_answered_twice(void **state) {
    (void)state;
    for (int i = 0; i < N_CHANGES; i++) {
        hf_claim c = claim(changes[i].kind, "x", 0);
        int64_t first = changes[i].number, second = first;
        c.lease_ms = 0;
        begin_with("x", changes[i].before);
        hf_expect(HF_OK, count(&c, changes[i].op, &first));
        heard();
        hf_expect(HF_OK, count(&c, changes[i].op, &second));
        assert_int_equal(first, second);
        assert_string_equal(hf_test_server_ask(server, "GET x"),
                            changes[i].after);
        assert_heard("");
    }
}

/* The answer is lost, the connection with it; then it is asked again. */
static void a_lost_answer_is_asked_for_again(void **state) {
    (void)state;
    for (int i = 0; i < N_CHANGES; i++) {
        hf_claim c = claim(changes[i].kind, "x", 0);
        int64_t value = changes[i].number;
        c.lease_ms = 0;
        begin_with("x", changes[i].before);
        hf_test_proxy_catch(proxy, "EVALSHA", "x", 0);
        hf_expect(HF_EDOUBT, count(&c, changes[i].op, &value));
        assert_int_equal(value, changes[i].number);
        hf_expect(HF_OK, count(&c, changes[i].op, &value));
        assert_string_equal(hf_test_server_ask(server, "GET x"),
                            changes[i].after);
    }
}

static void a_lost_grant_of_permits_is_asked_for_again_or_undone(void **state) {
    (void)state;
    hf_claim c = claim(HF_SEMAPHORE, "s", 2), d = claim(HF_SEMAPHORE, "s", 2);
    set("s", 5);
    hf_test_proxy_catch(proxy, "EVALSHA", "s", 0);
    hf_expect(HF_EDOUBT, attempt(&c));
    assert_true(c.place != 0); /* so that the core takes it out again */
    hf_expect(HF_OK, attempt(&c));
    assert_value("s", "3");
    hf_test_proxy_catch(proxy, "EVALSHA", "s", 0);
    hf_expect(HF_EDOUBT, attempt(&d));
    assert_value("s", "1");
    hf_test_proxy_catch(proxy, "EVALSHA", "s", 0);
    hf_expect(HF_EDOUBT, release(&d, HF_RELEASE));
    hf_expect(HF_ELOST, release(&d, HF_RELEASE));
    assert_value("s", "3");
}

static void reading_leaves_no_doubt(void **state) {
    (void)state;
    hf_test_proxy_catch(proxy, "EVALSHA", "s", 0);
    hf_expect(HF_EDOWN, cannot(HF_SEMAPHORE, "s", HF_COUNT_FREE, 0));
    hf_test_proxy_catch(proxy, "GET", "s", 0);
    hf_expect(HF_EDOWN, cannot(HF_SEMAPHORE, "s", HF_COUNT_TOKEN, 0));
}

/* ---- markers ----------------------------------------------------------- */

static void a_marker_has_an_end(void **state) {
    (void)state;
    hf_claim c = claim(HF_SEMAPHORE, "s", 2);
    char key[HF_KEY_SIZE];
    set("s", 5);
    hf_expect(HF_OK, attempt(&c));
    hf__key_marker(key, "s", c.nonce);
    assert_int_equal(strlen(key), strlen("holdfast_request:{s}:") + 32);
    assert_int_equal(strncmp(key, "holdfast_request:{s}:", 21), 0);
    assert_in_range(hf_test_server_ask_number(server, "PTTL %s", key), 50000,
                    60000);
}

static void markers_do_not_pile_up(void **state) {
    (void)state;
    for (int i = 0; i < 300; i++) {
        hf_claim c = claim(HF_SEMAPHORE, "s", 1);
        must(HF_SEMAPHORE, "s", HF_COUNT_GIVE, 1);
        hf_expect(HF_OK, attempt(&c));
    }
    assert_in_range(keys_like("holdfast_request:*"), 0, 2);
}

static void *give_and_take(void *arg) {
    int *wrong = arg;

    for (int i = 0; i < 200; i++) {
        hf_claim give = claim(HF_SEMAPHORE, "s", 0);
        hf_claim take = claim(HF_SEMAPHORE, "s", 1);
        int64_t one = 1;
        hf_error err;

        give.lease_ms = 0;
        *wrong += hf__redis_ops.count(be, &give, HF_COUNT_GIVE, &one, soon(),
                                      &err) != HF_OK;
        *wrong +=
            hf__redis_ops.attempt(be, &take, false, soon(), &err) != HF_OK;
    }
    return NULL;
}

static void markers_of_many_threads_do_not_pile_up(void **state) {
    (void)state;
    enum { N = 32 };
    pthread_t threads[N];
    int wrong[N] = {0};
    for (int i = 0; i < N; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, give_and_take, &wrong[i]), 0);
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(wrong[i], 0);
    }
    assert_value("s", "0");
    assert_in_range(keys_like("holdfast_request:*"), 0, 2 * N);
}

/* A copy of it may come late: that must find the marker. */
static void the_marker_of_a_request_in_doubt_stays(void **state) {
    (void)state;
    hf_claim c = claim(HF_SEMAPHORE, "s", 0);
    char key[HF_KEY_SIZE];
    int64_t n = 2;
    c.lease_ms = 0;
    hf__key_marker(key, "s", c.nonce);
    hf_test_proxy_catch(proxy, "EVALSHA", "s", 0);
    hf_expect(HF_EDOUBT, count(&c, HF_COUNT_GIVE, &n));
    hf_expect(HF_OK, count(&c, HF_COUNT_GIVE, &n));
    for (int i = 0; i < 10; i++)
        must(HF_SEMAPHORE, "s", HF_COUNT_GIVE, 1);
    assert_true(exists(key));
    hf_expect(HF_OK, count(&c, HF_COUNT_GIVE, &n));
    assert_int_equal(n, 2);
    assert_value("s", "12");
}

static void names_that_are_used_once_do_not_fill_our_memory(void **state) {
    (void)state;
    static hf_spent spent;
    unsigned char nonces[HF_SPENT_TAKE][16], nonce[16] = "a", own[16] = "b";
    char name[32];
    hf__spent_init(&spent);
    for (int i = 0; i < 10 * HF_SPENT_ROOM; i++) {
        snprintf(name, sizeof name, "name-%d", i);
        hf__spent_note(&spent, name, nonce);
    }
    assert_int_equal(hf__spent_take(&spent, name, own, nonces), 1);
    assert_memory_equal(nonces[0], nonce, sizeof nonce);
    assert_int_equal(hf__spent_take(&spent, name, own, nonces), 0);
    for (int i = 0; i < HF_SPENT_TAKE + 1; i++)
        hf__spent_note(&spent, "busy", nonce);
    assert_int_equal(hf__spent_take(&spent, "busy", own, nonces),
                     HF_SPENT_TAKE);
    assert_int_equal(hf__spent_take(&spent, "busy", own, nonces), 1);
    hf__spent_note(&spent, "busy", own);
    assert_int_equal(hf__spent_take(&spent, "busy", own, nonces), 0);
    hf__spent_clear(&spent);
}

/* ---- waking ------------------------------------------------------------ */

static void whoever_waits_for_permits_hears_of_them(void **state) {
    (void)state;
    woken_for = "s";
    hf_claim plain = claim(HF_SEMAPHORE, "s", 1),
             lease = claim(HF_PERMIT, "s", 1);
    hf_expect(HF_OK, watch(&plain, true));
    hf_expect(HF_OK, watch(&lease, true));
    must(HF_SEMAPHORE, "s", HF_COUNT_GIVE, 1);
    hf_test_eventually(atomic_load(&woken[HF_SEMAPHORE]) > 0, HF_TEST_LONG);
    assert_int_equal(atomic_load(&woken[HF_PERMIT]), 0);
    hf_expect(HF_OK, watch(&plain, false));
    hf_expect(HF_OK, watch(&lease, false));
}

static void whoever_waits_for_a_latch_hears_of_it(void **state) {
    (void)state;
    woken_for = "l";
    hf_claim c = claim(HF_LATCH, "l", 0);
    must(HF_LATCH, "l", HF_COUNT_SET, 1);
    hf_expect(HF_OK, watch(&c, true));
    must(HF_LATCH, "l", HF_COUNT_DOWN, 1);
    hf_test_eventually(atomic_load(&woken[HF_LATCH]) > 0, HF_TEST_LONG);
    hf_expect(HF_OK, watch(&c, false));
}

static void a_latch_with_braces_in_its_name_is_heard(void **state) {
    (void)state;
    woken_for = "{t}:l";
    hf_claim c = claim(HF_LATCH, "{t}:l", 0);
    must(HF_LATCH, "{t}:l", HF_COUNT_SET, 1);
    hf_expect(HF_OK, watch(&c, true));
    must(HF_LATCH, "{t}:l", HF_COUNT_DELETE, 0);
    hf_test_eventually(atomic_load(&woken[HF_LATCH]) > 0, HF_TEST_LONG);
    hf_expect(HF_OK, watch(&c, false));
}

/* ---- what cannot be ---------------------------------------------------- */

static void a_name_that_is_something_else_is_said_so(void **state) {
    (void)state;
    static const hf_count_op ops[] = {
        HF_COUNT_FREE, HF_COUNT_SET,   HF_COUNT_ADD,   HF_COUNT_RESIZE,
        HF_COUNT_GIVE, HF_COUNT_DRAIN, HF_COUNT_DELETE};
    hf_claim sem = claim(HF_SEMAPHORE, "h", 1),
             permit = claim(HF_PERMIT, "h", 1), latch = claim(HF_LATCH, "h", 0);
    hf_test_server_ask(server, "HSET h field 1");
    hf_test_server_ask(server, "SET t text");
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        hf_expect(HF_ESTORE, cannot(HF_SEMAPHORE, "h", ops[i], 1));
        assert_non_null(strstr(ERR->text, "\"h\""));
        assert_non_null(strstr(ERR->text, "it is a hash"));
        hf_expect(HF_ESTORE, cannot(HF_SEMAPHORE, "t", ops[i], 1));
        assert_non_null(strstr(ERR->text, "it is a string, no counter"));
    }
    hf_expect(HF_ESTORE, cannot(HF_LATCH, "h", HF_COUNT_DOWN, 1));
    hf_expect(HF_ESTORE, cannot(HF_LATCH, "h", HF_COUNT_DELETE, 1));
    hf_expect(HF_ESTORE, attempt(&sem));
    hf_expect(HF_ESTORE, attempt(&permit));
    assert_non_null(strstr(ERR->text, "it is a hash"));
    hf_expect(HF_ESTORE, attempt(&latch));
    assert_value("t", "text");
    assert_int_equal(hf_test_server_ask_number(server, "HLEN h"), 1);
    assert_int_equal(keys_like("holdfast_request:*"), 0);
}

static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    hf_claim c = claim(HF_LATCH, "l", 0);
    hf_expect(HF_ECANNOT, cannot(HF_SEMAPHORE, "s", HF_COUNT_DOWN, 1));
    hf_expect(HF_ECANNOT, cannot(HF_LATCH, "l", HF_COUNT_ADD, 1));
    hf_expect(HF_ECANNOT, cannot(HF_LATCH, "l", HF_COUNT_LEASED, 1));
    hf_expect(HF_ECANNOT, cannot(HF_LOCK, "k", HF_COUNT_FREE, 1));
    hf_expect(HF_ECANNOT, release(&c, HF_RELEASE_FORCED));
    assert_int_equal(keys_like("*"), 0);
}

static void the_last_token_of_anything_can_be_asked_for(void **state) {
    (void)state;
    hf_claim c = claim(HF_LOCK, "k", 0);
    assert_int_equal(must(HF_LOCK, "k", HF_COUNT_TOKEN, 0), 0);
    hf_expect(HF_OK, attempt(&c));
    hf_expect(HF_OK, release(&c, HF_RELEASE));
    assert_true((uint64_t)must(HF_LOCK, "k", HF_COUNT_TOKEN, 0) == c.token);
}

/* As with locks: it grants nothing, but renews and takes back. */
static void a_full_server_takes_permits_back_but_grants_none(void **state) {
    (void)state;
    hf_claim c = claim(HF_SEMAPHORE, "s", 2), lease = claim(HF_PERMIT, "s", 1),
             more = claim(HF_PERMIT, "s", 1);
    set("s", 5);
    must(HF_LATCH, "l", HF_COUNT_SET, 2);
    hf_expect(HF_OK, attempt(&c));
    hf_expect(HF_OK, attempt(&lease));
    hf_test_server_ask(server, "CONFIG SET maxmemory 1");
    hf_claim d = claim(HF_SEMAPHORE, "s", 1);
    hf_expect(HF_EFULL, attempt(&d));
    hf_expect(HF_EFULL, attempt(&more));
    hf_expect(HF_EFULL, cannot(HF_SEMAPHORE, "new", HF_COUNT_SET, 1));
    hf_expect(HF_EFULL, cannot(HF_LATCH, "new", HF_COUNT_SET, 1));
    assert_value("s", "2");
    assert_false(exists("new"));
    hf_expect(HF_OK, renew(&lease));
    hf_expect(HF_OK, release(&lease, HF_RELEASE));
    hf_expect(HF_OK, release(&c, HF_RELEASE));
    assert_int_equal(must(HF_SEMAPHORE, "s", HF_COUNT_GIVE, 1), 6);
    assert_int_equal(must(HF_LATCH, "l", HF_COUNT_DOWN, 1), 1);
    assert_int_equal(must(HF_LATCH, "l", HF_COUNT_DOWN, 1), 0);
    must(HF_SEMAPHORE, "s", HF_COUNT_DELETE, 0);
    hf_test_server_ask(server, "CONFIG SET maxmemory 0");
    assert_false(exists("l"));
    assert_false(exists("s"));
}

static void nothing_is_left_of_what_was_deleted(void **state) {
    (void)state;
    hf_claim c = claim(HF_PERMIT, "s", 2), take = claim(HF_SEMAPHORE, "s", 1);
    set("s", 5);
    hf_expect(HF_OK, attempt(&c));
    hf_expect(HF_OK, attempt(&take));
    must(HF_SEMAPHORE, "s", HF_COUNT_GIVE, 1);
    hf_expect(HF_OK, release(&c, HF_RELEASE));
    must(HF_SEMAPHORE, "s", HF_COUNT_DELETE, 0);
    must(HF_LATCH, "l", HF_COUNT_SET, 1);
    must(HF_LATCH, "l", HF_COUNT_DOWN, 1);
    assert_in_range(keys_like("holdfast_request:*"), 0, 2);
    assert_int_equal(keys_like("*") - keys_like("holdfast_request:*"), 1);
    assert_true(exists("redisson_lock_token:{s}"));
}

static const struct CMUnitTest tests[] = {
    TEST(the_number_of_permits_is_set_once),
    TEST(a_semaphore_set_to_nothing_wakes_nobody),
    TEST(a_semaphore_set_for_a_while_vanishes),
    TEST(giving_makes_permits_where_there_were_none),
    TEST(what_is_not_set_can_be_left_alone),
    TEST(permits_can_be_less_than_none_but_that_is_not_published),
    TEST(changes_leave_the_time_to_live_alone),
    TEST(draining_takes_what_is_free),
    TEST(permits_go_up_to_the_largest_int),
    TEST(resizing_counts_what_is_leased),
    TEST(deleting_a_semaphore_takes_its_leases_along),
    TEST(permits_are_taken_together_or_not_at_all),
    TEST(nothing_can_be_taken_from_nothing),
    TEST(asking_twice_takes_once),
    TEST(an_attempt_can_be_undone_once),
    TEST(an_attempt_can_be_undone_when_its_marker_is_gone),
    TEST(an_attempt_that_comes_after_its_undoing_gets_nothing),
    TEST(undoing_does_not_bring_a_deleted_semaphore_back),
    TEST(who_takes_permits_finds_those_whose_lease_is_over),
    TEST(permits_are_leased_under_ids_of_sixteen_bytes),
    TEST(who_has_permits_and_asks_again_has_the_same_ones),
    TEST(who_has_lost_some_of_its_permits_takes_them_anew),
    TEST(who_comes_too_late_learns_when_the_next_lease_ends),
    TEST(permits_are_given_back_once),
    TEST(a_posted_release_gives_permits_back),
    TEST(permits_that_ended_return_once_however_they_are_found),
    TEST(counting_gives_back_what_has_ended_and_tells),
    TEST(a_lease_of_permits_is_renewed),
    TEST(many_leases_of_permits_are_renewed_together),
    TEST(an_operator_takes_one_permit_or_all_of_them),
    TEST(permits_cannot_be_released_for_later),
    TEST(leases_vanish_with_their_semaphore),
    TEST(a_permit_without_an_end_is_waited_for_by_messages),
    TEST(names_with_braces_keep_them),
    TEST(a_latch_counts_down_and_is_gone),
    TEST(a_latch_is_open_when_nothing_is_left),
    TEST(deleting_a_latch_opens_it),
    TEST(every_change_counts_once_and_is_answered_twice),
    TEST_PROXY(a_lost_answer_is_asked_for_again),
    TEST_PROXY(a_lost_grant_of_permits_is_asked_for_again_or_undone),
    TEST_PROXY(reading_leaves_no_doubt),
    TEST(a_marker_has_an_end),
    TEST(markers_do_not_pile_up),
    TEST(markers_of_many_threads_do_not_pile_up),
    TEST_PROXY(the_marker_of_a_request_in_doubt_stays),
    cmocka_unit_test(names_that_are_used_once_do_not_fill_our_memory),
    TEST(whoever_waits_for_permits_hears_of_them),
    TEST(whoever_waits_for_a_latch_hears_of_it),
    TEST(a_latch_with_braces_in_its_name_is_heard),
    TEST(a_name_that_is_something_else_is_said_so),
    TEST(what_makes_no_sense_is_refused),
    TEST(the_last_token_of_anything_can_be_asked_for),
    TEST(a_full_server_takes_permits_back_but_grants_none),
    TEST(nothing_is_left_of_what_was_deleted),
};
HF_SUITE(tests)
