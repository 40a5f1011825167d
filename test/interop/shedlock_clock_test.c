/* SPDX-License-Identifier: MIT
 *
 * shedlock_clock_test.c - ShedLock by its own clock, in UTC, which on this
 * machine is the database's as well. */
#include "shedlock.h"

enum { LEAST = 1500, MINUTE = 60000 };

static void they_exclude_each_other_all_the_same(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    java_says("NO", "lock try %d 0 x", MINUTE);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    java_says("YES", "lock wait %d 0 %d x", MINUTE, SOON);
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    java_says("OK", "lock unlock x");
    hf_expect(HF_OK, hf_lock_acquire(lock, HF_TEST_LONG, ERR));
}

static void together_they_count_without_losing_one(void **state) {
    (void)state;
    both_add_up(&the_java, HF_LOCK, "lock", "x");
}

static void c_keeps_out_for_as_long_as_java_said_at_least(void **state) {
    (void)state;
    hf_lock *lock = c_lock(HF_LOCK, "x");
    java_says("YES", "lock try %d 0 warm", MINUTE); /* takes its time */
    int64_t began = hf_test_now_ms();
    java_says("YES", "lock try %d %d x", MINUTE, LEAST);
    java_says("OK", "lock unlock x");
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_acquire(lock, HF_TEST_LONG, ERR));
    assert_in_range(hf_test_now_ms() - began, LEAST - 5, LEAST + SOON);
}

static const struct CMUnitTest tests[] = {
    WITH_OWN_TIME(they_exclude_each_other_all_the_same),
    WITH_OWN_TIME(together_they_count_without_losing_one),
    WITH_OWN_TIME(c_keeps_out_for_as_long_as_java_said_at_least),
};
HF_SUITE(tests)
