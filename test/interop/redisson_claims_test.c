/* SPDX-License-Identifier: MIT
 *
 * redisson_claims_test.c - what docs/interop-redisson.md says of Redisson.
 *
 * None of our locks takes part: the other client is this test, which writes
 * keys and messages by hand.  Our scripts were written for what is found here;
 * a version of Redisson that behaves otherwise shows in this file first. */
#include "redisson.h"

#include <string.h>

/* Long enough for a sleeper that looks again by itself to have done so. */
enum { A_WHILE = 1000 };

#define redis(...)   hf_test_server_ask(server, __VA_ARGS__)
#define redis_n(...) hf_test_server_ask_number(server, __VA_ARGS__)

static int64_t now_ms(void) {
    return redis_n("EVAL \"local t = redis.call('TIME') "
                   "return t[1] * 1000 + math.floor(t[2] / 1000)\" 0");
}

/* Somebody whose lock will not end by itself. */
static void a_stranger_holds(const char *name) {
    redis("HSET %s stranger:1 1", name);
    redis("PEXPIRE %s %d", name, LONG_LEASE);
}

static void freed_with(const char *name, const char *payload) {
    redis("DEL %s", name);
    redis("PUBLISH redisson_lock__channel:{%s} %s", name, payload);
}

/* ---- messages ---------------------------------------------------------- */

static void of_its_threads_0_wakes_one_and_1_all_and_7_none(void **state) {
    (void)state;
    a_stranger_holds("x");
    for (int k = 1; k <= 3; k++)
        java_waits(k, "lock lock x");
    int64_t before = scripts_run();
    redis("PUBLISH redisson_lock__channel:{x} 7");
    redis("PUBLISH redisson_lock__channel:{x} -1");
    hf_test_throughout(scripts_run() == before, A_WHILE);
    redis("PUBLISH redisson_lock__channel:{x} 0");
    hf_test_eventually(scripts_run() == before + 1, HF_TEST_LONG);
    hf_test_throughout(scripts_run() == before + 1, A_WHILE);
    redis("PUBLISH redisson_lock__channel:{x} 1");
    hf_test_eventually(scripts_run() == before + 4, HF_TEST_LONG);
    hf_test_throughout(scripts_run() == before + 4, A_WHILE);
}

/* Its decoder throws and drops what it had read together with the message;
 * what comes later is heard again. */
static void a_message_that_is_no_number_swallows_the_next_one(void **state) {
    (void)state;
    static const char *const payloads[] = {"unlock", "0.0", "''"};
    for (int i = 0; i < 3; i++) {
        a_stranger_holds("x");
        java_waits(1, "lock lock x");
        redis("EVAL \"redis.call('DEL', 'x') "
              "redis.call('PUBLISH', KEYS[1], ARGV[1]) "
              "redis.call('PUBLISH', KEYS[1], '0')\" 1 "
              "redisson_lock__channel:{x} %s",
              payloads[i]);
        hf_test_throughout(!java_answered(1), A_WHILE);
        freed_with("x", "0");
        java_answers(1, "OK");
        java_thread_says("OK", 1, "lock unlock x");
    }
}

/* One more of its threads dies, and that is all. */
static void a_negative_number_of_permits_is_survived(void **state) {
    (void)state;
    java_waits(1, "sem acquire 1 -1 x");
    redis("PUBLISH redisson_sc:{x} -7");
    redis("SET x 1");
    redis("PUBLISH redisson_sc:{x} 1");
    java_answers(1, "YES");
}

/* ---- no second look ---------------------------------------------------- */

/* Nor is the end of a latch that Java itself deletes: its message, 1, wakes
 * nobody. */
static void what_is_not_announced_is_never_noticed(void **state) {
    (void)state;
    redis("HSET lock stranger:1 1"); /* without a lease */
    redis("SET latch 1");
    java_says("YES", "latch set 1 deleted");
    java_waits(1, "lock lock lock");
    java_waits(2, "sem acquire 1 -1 sem");
    java_waits(3, "latch await latch");
    java_waits(4, "latch await deleted");
    redis("DEL lock");
    redis("SET sem 1");
    redis("DEL latch");
    java_says("YES", "latch delete deleted");
    hf_test_throughout(!java_answered(1) && !java_answered(2) &&
                           !java_answered(3) && !java_answered(4),
                       A_WHILE);
    redis("PUBLISH redisson_lock__channel:{lock} 0");
    redis("PUBLISH redisson_sc:{sem} 1");
    redis("PUBLISH redisson_countdownlatch__channel__{latch} 0");
    redis("PUBLISH redisson_countdownlatch__channel__{deleted} 0");
    java_answers(1, "OK");
    java_answers(2, "YES");
    java_answers(3, "OK");
    java_answers(4, "OK");
}

/* ---- fair -------------------------------------------------------------- */

static void an_interrupted_fair_waiter_stays_in_the_queue(void **state) {
    (void)state;
    a_stranger_holds("x");
    java_waits(1, "fair patient x");
    java_waits(2, "fair lock x");
    java_says("OK", "interrupt 1");
    java_says("OK", "interrupt 2");
    java_answers(1, "INTERRUPTED");
    assert_false(java_answered(2)); /* this manner of waiting goes on */
    assert_int_equal(redis_n("LLEN redisson_lock_queue:{x}"), 2);
    assert_int_equal(redis_n("ZCARD redisson_lock_timeout:{x}"), 2);
}

/* Whoever pauses asks a few times until that head is forgotten. */
static void behind_a_dead_fair_head_java_asks_without_pause(void **state) {
    (void)state;
    redis("RPUSH redisson_lock_queue:{x} stranger:1");
    redis("ZADD redisson_lock_timeout:{x} %lld stranger:1",
          (long long)now_ms() + 5000);
    java_begins(1, "fair lock x");
    hf_test_eventually(scripts_run() > 100, 5000);
    java_answers(1, "OK");
}

/* By its own wait, whatever theirs: a place must be worth more than all the
 * waits of those before it. */
static void a_fair_grant_brings_the_end_of_all_places_nearer(void **state) {
    (void)state;
    a_stranger_holds("x");
    java_waits(1, "fair lock x");
    int64_t ends = now_ms() + LONG_FAIR / 2;
    redis("RPUSH redisson_lock_queue:{x} stranger:2");
    redis("ZADD redisson_lock_timeout:{x} %lld stranger:2", (long long)ends);
    redis("DEL x");
    redis("EVAL \"return redis.call('PUBLISH', KEYS[1] .. ':' .. "
          "redis.call('LINDEX', KEYS[2], 0), 0)\" 2 "
          "redisson_lock__channel:{x} redisson_lock_queue:{x}");
    java_answers(1, "OK");
    assert_int_equal(redis_n("ZSCORE redisson_lock_timeout:{x} stranger:2"),
                     ends - LONG_FAIR);
    java_thread_says("OK", 1, "fair unlock x");
    assert_int_equal(redis_n("LLEN redisson_lock_queue:{x}"), 0);
}

/* ---- fenced ------------------------------------------------------------ */

static void a_fenced_lock_for_a_while_is_held_without_end(void **state) {
    (void)state;
    java_says("1", "token lockfor 3000 x");
    assert_true(redis_n("PTTL x") > 3000);
}

static void trying_for_a_fenced_lock_waits_without_end(void **state) {
    (void)state;
    a_stranger_holds("x");
    java_begins(1, "token try x");
    hf_test_eventually(scripts_run() >= 2,
                       HF_TEST_LONG); /* it asked, it listens */
    hf_test_throughout(!java_answered(1), A_WHILE);
    freed_with("x", "0");
    java_answers(1, "1");
}

/* ---- read and write ---------------------------------------------------- */

static void a_stranger_reads(const char *name, int lease_ms) {
    redis("HSET %s mode read stranger:1 1", name);
    redis("PEXPIRE %s %d", name, LONG_LEASE);
    if (lease_ms > 0)
        redis("SET {%s}:stranger:1:rwlock_timeout:1 1 PX %d", name, lease_ms);
}

static void read_holds_live_as_long_as_their_timeout_keys(void **state) {
    (void)state;
    a_stranger_reads("x", LONG_LEASE);
    java_says("YES", "read try x");
    java_says("OK", "read unlock x");
    java_says("NO", "write try x");
    assert_int_equal(redis_n("HEXISTS x stranger:1"), 1);

    a_stranger_reads("y", 0);
    java_says("YES", "read try y");
    java_says("OK", "read unlock y");
    assert_int_equal(redis_n("EXISTS y"), 0);
}

/* Since 4.4; before it whoever reads keeps the dead alive. */
static void reading_renews_ones_own_holds_only_in_4(void **state) {
    (void)state;
    int64_t last = 4 * SHORT_LEASE, renewed = 0;
    a_stranger_reads("x", (int)last);
    java_says("OK", "read lock x");
    for (int64_t by = hf_test_now_ms() + 2 * SHORT_LEASE; hf_test_now_ms() < by;
         hf_test_breathe()) {
        int64_t left = redis_n("PTTL {x}:stranger:1:rwlock_timeout:1");
        /* Java's is the shorter lease: once it is lowered, it rises. */
        renewed += left > last;
        last = left;
    }
    assert_true(java_is_4() ? renewed == 0 : renewed > 0);
}

/* The renewal of a thread's write lock ends with its read lock. */
static void a_read_lock_released_inside_a_write_lock_ends_both(void **state) {
    (void)state;
    java_says("OK", "write lock x");
    java_says("OK", "read lock x");
    java_says("OK", "read unlock x");
    hf_test_eventually(redis_n("EXISTS x") == 0, 3 * SHORT_LEASE);
    java_says("NOT_OWNER", "write unlock x");
}

static void a_lock_does_not_keep_readers_and_writers_out(void **state) {
    (void)state;
    java_says("OK", "lock lock x");
    java_thread_says("YES", 1, "write try x");
    java_says("OK", "lock lock y");
    java_thread_says("YES", 1, "read try y");
    /* The other way round it does. */
    java_says("OK", "write lock z");
    java_thread_says("NO", 1, "lock try z");
}

static const struct CMUnitTest tests[] = {
    WITH_LONG(of_its_threads_0_wakes_one_and_1_all_and_7_none),
    WITH_LONG(a_message_that_is_no_number_swallows_the_next_one),
    WITH_LONG(a_negative_number_of_permits_is_survived),
    WITH_LONG(what_is_not_announced_is_never_noticed),
    WITH_LONG(an_interrupted_fair_waiter_stays_in_the_queue),
    WITH_LONG(behind_a_dead_fair_head_java_asks_without_pause),
    WITH_LONG(a_fair_grant_brings_the_end_of_all_places_nearer),
    WITH_LONG(a_fenced_lock_for_a_while_is_held_without_end),
    WITH_LONG(trying_for_a_fenced_lock_waits_without_end),
    WITH_LONG(read_holds_live_as_long_as_their_timeout_keys),
    WITH_SHORT(reading_renews_ones_own_holds_only_in_4),
    WITH_SHORT(a_read_lock_released_inside_a_write_lock_ends_both),
    WITH_LONG(a_lock_does_not_keep_readers_and_writers_out),
};
HF_SUITE(tests)
