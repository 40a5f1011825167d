/* SPDX-License-Identifier: MIT
 *
 * redisson_latch_test.c - a latch that C and Java count down together. */
#include "redisson.h"

#include <signal.h>
#include <stdio.h>

static int64_t count(hf_latch *latch) {
    int64_t n = -1;
    hf_expect(HF_OK, hf_latch_count(latch, &n, ERR));
    return n;
}

static void both_see_the_same_count(void **state) {
    (void)state;
    for (int i = 0; i < n_names; i++) {
        const char *name = names[i];
        hf_latch *latch = hf_test_latch(client, name);
        java_says("0", "latch count %s", name);
        java_says("YES", "latch timed 0 %s", name);
        hf_expect(HF_OK, hf_latch_wait(latch, 0, ERR));
        hf_expect(HF_OK, hf_latch_set(latch, 3, ERR));
        java_says("NO", "latch set 9 %s", name);
        java_says("3", "latch count %s", name);
        java_says("OK", "latch down %s", name);
        assert_int_equal(count(latch), 2);
        hf_expect(HF_BUSY, hf_latch_wait(latch, 0, ERR));
        java_says("NO", "latch timed 20 %s", name);
        hf_expect(HF_OK, hf_latch_count_down(latch, ERR));
        hf_expect(HF_OK, hf_latch_count_down(latch, ERR));
        hf_expect(HF_OK, hf_latch_count_down(latch, ERR)); /* once too often */
        java_says("0", "latch count %s", name);
        java_says("YES", "latch timed %d %s", SOON, name);
        java_says("YES", "latch set 1 %s", name);
        hf_expect(HF_BUSY, hf_latch_set(latch, 1, ERR));
        java_says("YES", "latch delete %s", name);
        assert_int_equal(count(latch), 0);
        hf_expect(HF_EFREE, hf_latch_delete(latch, ERR));
    }
}

static void all_on_both_sides_pass_when_either_opens_it(void **state) {
    (void)state;
    enum { EACH = 2 };
    hf_test_task tasks[EACH];
    for (int i = 0; i < 2 * n_names; i++) {
        const char *name = names[i / 2];
        hf_latch *latch = hf_test_latch(client, name);
        hf_expect(HF_OK, hf_latch_set(latch, 2, ERR));
        for (int k = 0; k < EACH; k++) {
            java_waits(1 + k, "latch await %s", name);
            hf_test_await(&tasks[k], latch, HF_TEST_LONG);
        }
        if (i % 2 == 0)
            java_says("OK", "latch down %s", name);
        hf_expect(HF_OK, hf_latch_count_down(latch, ERR));
        if (i % 2 == 1)
            java_says("OK", "latch down %s", name);
        for (int k = 0; k < EACH; k++) {
            java_answers(1 + k, "OK");
            hf_expect(HF_OK, hf_test_result(&tasks[k]));
        }
    }
}

/* Redisson's own delete lets nobody through who waits already; ours does. */
static void a_latch_that_c_deletes_lets_all_through(void **state) {
    (void)state;
    hf_test_task task;
    hf_latch *latch = hf_test_latch(client, "x");
    java_says("YES", "latch set 5 x");
    java_waits(1, "latch await x");
    java_waits(2, "latch timed %d x", LONG_LEASE);
    hf_test_await(&task, latch, HF_TEST_LONG);
    hf_expect(HF_OK, hf_latch_delete(latch, ERR));
    java_answers(1, "OK");
    java_answers(2, "YES");
    hf_expect(HF_OK, hf_test_result(&task));
}

static void what_java_deletes_lets_c_through(void **state) {
    (void)state;
    hf_test_task task;
    hf_latch *latch = hf_test_latch(client, "x");
    hf_expect(HF_OK, hf_latch_set(latch, 5, ERR));
    hf_test_await(&task, latch, HF_TEST_LONG);
    java_says("YES", "latch delete x");
    hf_expect(HF_OK, hf_test_result(&task));
}

static void a_latch_can_be_set_again(void **state) {
    (void)state;
    hf_test_task task;
    hf_latch *latch = hf_test_latch(client, "x");
    for (int i = 0; i < 3; i++) {
        if (i % 2 == 0)
            hf_expect(HF_OK, hf_latch_set(latch, 1, ERR));
        else
            java_says("YES", "latch set 1 x");
        java_waits(1, "latch await x");
        hf_test_await(&task, latch, HF_TEST_LONG);
        if (i % 2 == 0)
            java_says("OK", "latch down x");
        else
            hf_expect(HF_OK, hf_latch_count_down(latch, ERR));
        java_answers(1, "OK");
        hf_expect(HF_OK, hf_test_result(&task));
    }
}

static void a_latch_outlives_who_set_it(void **state) {
    (void)state;
    hf_test_peer *peer = c_peer(SHORT_LEASE);
    hf_latch *latch = hf_test_latch(client, "j");
    c_says(peer, "OK", "latch 0 c");
    c_says(peer, "OK", "count 0 2");
    c_says(peer, "OK", "down 0");
    hf_test_peer_signal(peer, SIGKILL);
    hf_test_peer_stop(peer);
    java_says("1", "latch count c");
    java_waits(1, "latch await c");
    hf_latch *c = hf_test_latch(client, "c");
    hf_expect(HF_OK, hf_latch_count_down(c, ERR));
    java_answers(1, "OK");
    java_says("YES", "latch set 1 j");
    java_kill();
    hf_expect(HF_BUSY, hf_latch_wait(latch, 0, ERR));
    hf_expect(HF_OK, hf_latch_count_down(latch, ERR));
    hf_expect(HF_OK, hf_latch_wait(latch, 0, ERR));
}

static const struct CMUnitTest tests[] = {
    WITH_LONG(both_see_the_same_count),
    WITH_LONG(all_on_both_sides_pass_when_either_opens_it),
    WITH_LONG(a_latch_that_c_deletes_lets_all_through),
    WITH_LONG(what_java_deletes_lets_c_through),
    WITH_LONG(a_latch_can_be_set_again),
    WITH_SHORT(a_latch_outlives_who_set_it),
};
HF_SUITE(tests)
