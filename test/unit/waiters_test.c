/* SPDX-License-Identifier: MIT
 *
 * waiters_test.c - spots and their queues. */
#include <stdio.h>

#include "../../src/waiters.h"
#include "support/suite.h"

/* Somebody who waits through the handle of that number. */
static hf_waiter waiter_via(int i, hf_mode mode) {
    static const char handles[8];

    return (hf_waiter){
        .via = &handles[i], .owner = (uint64_t)i + 1, .mode = mode};
}

static hf_spots spots;
static hf_spot *spot;

static int open_spot(hf_kind kind) {
    hf__spots_init(&spots);
    spot = hf__spot_get(&spots, kind, "x");
    return spot != NULL;
}

static void close_spot(void) {
    while (spot->first)
        hf__waiter_leave(spot, spot->first);
    hf__spot_put(&spots, spot);
    assert_int_equal(spots.n, 0);
    hf__spots_free(&spots);
}

static void a_name_has_one_spot_and_each_kind_its_own(void **state) {
    hf_spot *a, *b, *c;

    (void)state;
    hf__spots_init(&spots);
    a = hf__spot_get(&spots, HF_LOCK, "a");
    b = hf__spot_get(&spots, HF_LOCK, "a");
    c = hf__spot_get(&spots, HF_SIMPLE, "a");
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    hf__spot_put(&spots, a);
    assert_int_equal(spots.n, 2);
    hf__spot_put(&spots, b);
    hf__spot_put(&spots, c);
    assert_int_equal(spots.n, 0);
    hf__spots_free(&spots);
}

static void many_names_are_all_found_again(void **state) {
    enum { MANY = 5000 };
    static hf_spot *all[MANY];
    char name[32];

    (void)state;
    hf__spots_init(&spots);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "name-%d", i);
        all[i] = hf__spot_get(&spots, HF_LOCK, name);
    }
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "name-%d", i);
        assert_ptr_equal(hf__spot_get(&spots, HF_LOCK, name), all[i]);
        hf__spot_put(&spots, all[i]);
        hf__spot_put(&spots, all[i]);
    }
    assert_int_equal(spots.n, 0);
    hf__spots_free(&spots);
}

static void only_the_first_in_the_queue_is_woken(void **state) {
    hf_waiter a = waiter_via(0, HF_EXCLUSIVE);
    hf_waiter b = waiter_via(1, HF_EXCLUSIVE);

    (void)state;
    assert_true(open_spot(HF_LOCK));
    hf__waiter_join(spot, &a);
    hf__waiter_join(spot, &b);
    assert_true(hf__waiter_first(spot, &a));
    assert_false(hf__waiter_first(spot, &b));
    hf__spots_woken(&spots, HF_LOCK, "x", 0);
    assert_true(a.woken);
    assert_false(b.woken);
    hf__waiter_leave(spot, &a);
    assert_true(b.woken); /* its turn has come */
    assert_true(hf__waiter_first(spot, &b));
    close_spot();
}

static void a_message_about_everything_reaches_every_spot(void **state) {
    hf_waiter a = waiter_via(0, HF_EXCLUSIVE);
    hf_waiter b = waiter_via(1, HF_EXCLUSIVE);
    hf_spot *other;

    (void)state;
    assert_true(open_spot(HF_LOCK));
    other = hf__spot_get(&spots, HF_LOCK, "y");
    hf__waiter_join(spot, &a);
    hf__waiter_join(other, &b);
    hf__spots_woken(&spots, HF_LOCK, NULL, 0);
    assert_true(a.woken && b.woken);
    hf__waiter_leave(other, &b);
    hf__spot_put(&spots, other);
    close_spot();
}

static void a_message_for_one_reaches_no_other(void **state) {
    hf_waiter a = waiter_via(0, HF_EXCLUSIVE);
    hf_waiter b = waiter_via(1, HF_EXCLUSIVE);

    (void)state;
    assert_true(open_spot(HF_FAIR));
    hf__waiter_join(spot, &a);
    hf__waiter_join(spot, &b);
    hf__spots_woken(&spots, HF_FAIR, "x", b.owner);
    assert_true(b.woken);
    assert_false(a.woken);
    hf__spots_woken(&spots, HF_FAIR, "x", 77); /* nobody we know */
    hf__spots_woken(&spots, HF_FAIR, "nobody waits here", b.owner);
    assert_false(a.woken);
    close_spot();
}

static void in_a_fair_line_everybody_asks_for_himself(void **state) {
    hf_waiter a = waiter_via(0, HF_EXCLUSIVE);
    hf_waiter b = waiter_via(1, HF_EXCLUSIVE);

    (void)state;
    assert_true(open_spot(HF_FAIR));
    hf__waiter_join(spot, &a);
    hf__waiter_join(spot, &b);
    a.refused = true;
    assert_true(hf__waiter_first(spot, &b));
    hf__spots_woken(&spots, HF_FAIR, "x", 0); /* for nobody: for all */
    assert_true(a.woken && b.woken);
    close_spot();
}

static void a_grant_that_came_unasked_reaches_its_owner(void **state) {
    hf_waiter a = waiter_via(0, HF_EXCLUSIVE);
    hf_waiter b = waiter_via(1, HF_EXCLUSIVE);

    (void)state;
    assert_true(open_spot(HF_FAIR));
    b.above = 100;
    hf__waiter_join(spot, &a);
    hf__waiter_join(spot, &b);
    hf__spots_granted(&spots, HF_FAIR, "x", b.owner, 100, 5);
    assert_false(b.granted); /* an old story */
    hf__spots_granted(&spots, HF_FAIR, "x", b.owner, 101, 7);
    assert_true(b.granted && b.woken);
    assert_true(b.token == 101 && b.until == 7);
    assert_false(a.granted || a.woken);
    hf__spots_granted(&spots, HF_FAIR, "x", 77, 102, 9); /* gone by now */
    close_spot();
}

static void readers_are_woken_together_up_to_a_writer(void **state) {
    static const hf_mode modes[] = {HF_SHARED, HF_SHARED, HF_EXCLUSIVE,
                                    HF_SHARED};
    hf_waiter all[4];

    (void)state;
    assert_true(open_spot(HF_WRITE));
    for (int i = 0; i < 4; i++) {
        all[i] = waiter_via(i, modes[i]);
        hf__waiter_join(spot, &all[i]);
    }
    assert_true(hf__waiter_first(spot, &all[1])); /* side by side */
    assert_false(hf__waiter_first(spot, &all[2]));
    assert_false(hf__waiter_first(spot, &all[3]));
    all[0].refused = true;
    assert_false(hf__waiter_first(spot, &all[1])); /* it would be, too */
    hf__spots_woken(&spots, HF_WRITE, "x", 0);
    assert_true(all[0].woken && all[1].woken);
    assert_false(all[2].woken || all[3].woken);
    assert_true(hf__waiter_first(spot, &all[1]));
    close_spot();
}

static void who_waits_for_permits_is_woken_one_by_one(void **state) {
    hf_waiter a = waiter_via(0, HF_PERMITS), b = waiter_via(1, HF_PERMITS);

    (void)state;
    assert_true(open_spot(HF_SEMAPHORE));
    hf__waiter_join(spot, &a);
    hf__waiter_join(spot, &b);
    hf__spots_woken(&spots, HF_SEMAPHORE, "x", 0);
    assert_true(a.woken);
    assert_false(b.woken);
    hf__waiter_leave(spot, &a);
    assert_true(b.woken);
    close_spot();
}

static void everybody_who_waits_for_a_latch_is_woken(void **state) {
    hf_waiter all[3];

    (void)state;
    assert_true(open_spot(HF_LATCH));
    for (int i = 0; i < 3; i++) {
        all[i] = waiter_via(i, HF_ZERO);
        hf__waiter_join(spot, &all[i]);
        all[i].refused = true;
        assert_true(hf__waiter_first(spot, &all[i]));
    }
    hf__spots_woken(&spots, HF_LATCH, "x", 0);
    assert_true(all[0].woken && all[1].woken && all[2].woken);
    close_spot();
}

static void who_is_given_a_hold_is_out_of_the_queue(void **state) {
    hf_waiter a = waiter_via(0, HF_EXCLUSIVE);
    hf_waiter b = waiter_via(1, HF_EXCLUSIVE);
    hf_hold *hold = (hf_hold *)&a; /* looked at by nobody */

    (void)state;
    assert_true(open_spot(HF_LOCK));
    hf__waiter_join(spot, &a);
    hf__waiter_join(spot, &b);
    hf__bells_ring(hf__waiter_give(spot, hold));
    assert_ptr_equal(a.given, hold);
    assert_ptr_equal(spot->first, &b);
    assert_int_equal(b.bell,
                     HF_BELL_RUNG); /* it is next, and had better be awake */
    assert_false(b.woken);          /* but has nothing to ask for */
    assert_true(hf__waiter_first(spot, &b));
    close_spot();
}

static void numbers_come_back_the_newest_first(void **state) {
    enum { MANY = 100 };
    hf_number number;

    (void)state;
    assert_true(open_spot(HF_FAIR));
    assert_false(hf__number_take(spot, &number));
    for (uint64_t i = 1; i <= MANY; i++)
        hf__number_put(spot, (hf_number){.owner = i, .token = 10 * i});
    for (uint64_t i = MANY; i >= 1; i--) {
        assert_true(hf__number_take(spot, &number));
        assert_true(number.owner == i && number.token == 10 * i);
    }
    assert_false(hf__number_take(spot, &number));
    hf__number_put(spot, (hf_number){.owner = 1, .token = 2});
    close_spot(); /* what was not taken is freed with the spot */
}

static void cancel_ends_the_waits_of_one_handle(void **state) {
    hf_waiter a = waiter_via(0, HF_EXCLUSIVE);
    hf_waiter b = waiter_via(1, HF_EXCLUSIVE);
    hf_waiter c = waiter_via(0, HF_EXCLUSIVE);

    (void)state;
    assert_true(open_spot(HF_LOCK));
    hf__waiter_join(spot, &a);
    hf__waiter_join(spot, &b);
    hf__waiter_join(spot, &c);
    hf__spot_cancel(spot, a.via);
    assert_true(a.cancelled && c.cancelled);
    assert_false(b.cancelled);
    hf__waiter_leave(spot, &b); /* from the middle: nobody's turn changes */
    assert_false(a.woken || c.woken);
    close_spot();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_name_has_one_spot_and_each_kind_its_own),
    cmocka_unit_test(many_names_are_all_found_again),
    cmocka_unit_test(only_the_first_in_the_queue_is_woken),
    cmocka_unit_test(a_message_about_everything_reaches_every_spot),
    cmocka_unit_test(a_message_for_one_reaches_no_other),
    cmocka_unit_test(in_a_fair_line_everybody_asks_for_himself),
    cmocka_unit_test(a_grant_that_came_unasked_reaches_its_owner),
    cmocka_unit_test(readers_are_woken_together_up_to_a_writer),
    cmocka_unit_test(who_waits_for_permits_is_woken_one_by_one),
    cmocka_unit_test(everybody_who_waits_for_a_latch_is_woken),
    cmocka_unit_test(who_is_given_a_hold_is_out_of_the_queue),
    cmocka_unit_test(numbers_come_back_the_newest_first),
    cmocka_unit_test(cancel_ends_the_waits_of_one_handle),
};
HF_SUITE(tests)
