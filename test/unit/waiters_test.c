/* SPDX-License-Identifier: MIT
 *
 * waiters_test.c - spots and their queues. */
#include <stdio.h>

#include "../../src/waiters.h"
#include "support/suite.h"

static const hf_lock *handle(int i) {
    static char handles[8];

    return (const hf_lock *)(const void *)&handles[i];
}

static void a_name_has_one_spot_and_each_kind_its_own(void **state) {
    hf_spots spots;
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
    hf_spots spots;
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
    hf_spots spots;
    hf_spot *spot;
    hf_waiter a, b;

    (void)state;
    hf__spots_init(&spots);
    spot = hf__spot_get(&spots, HF_LOCK, "x");
    hf__waiter_join(spot, &a, handle(0));
    hf__waiter_join(spot, &b, handle(1));
    hf__spots_woken(&spots, HF_LOCK, "x");
    assert_true(a.woken);
    assert_false(b.woken);
    hf__waiter_leave(spot, &a);
    assert_true(b.woken); /* its turn has come */
    hf__waiter_leave(spot, &b);
    hf__spot_put(&spots, spot);
    hf__spots_free(&spots);
}

static void a_message_about_everything_reaches_every_spot(void **state) {
    hf_spots spots;
    hf_spot *x, *y;
    hf_waiter a, b;

    (void)state;
    hf__spots_init(&spots);
    x = hf__spot_get(&spots, HF_LOCK, "x");
    y = hf__spot_get(&spots, HF_LOCK, "y");
    hf__waiter_join(x, &a, handle(0));
    hf__waiter_join(y, &b, handle(0));
    hf__spots_woken(&spots, HF_LOCK, NULL);
    assert_true(a.woken && b.woken);
    hf__waiter_leave(x, &a);
    hf__waiter_leave(y, &b);
    hf__spot_put(&spots, x);
    hf__spot_put(&spots, y);
    hf__spots_free(&spots);
}

static void cancel_ends_the_waits_of_one_handle(void **state) {
    hf_spots spots;
    hf_spot *spot;
    hf_waiter a, b, c;

    (void)state;
    hf__spots_init(&spots);
    spot = hf__spot_get(&spots, HF_LOCK, "x");
    hf__waiter_join(spot, &a, handle(0));
    hf__waiter_join(spot, &b, handle(1));
    hf__waiter_join(spot, &c, handle(0));
    hf__spot_cancel(spot, handle(0));
    assert_true(a.cancelled && c.cancelled);
    assert_false(b.cancelled);
    hf__waiter_leave(spot, &b); /* from the middle: nobody's turn changes */
    assert_false(a.woken || c.woken);
    hf__waiter_leave(spot, &c);
    hf__waiter_leave(spot, &a);
    hf__spot_put(&spots, spot);
    hf__spots_free(&spots);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_name_has_one_spot_and_each_kind_its_own),
    cmocka_unit_test(many_names_are_all_found_again),
    cmocka_unit_test(only_the_first_in_the_queue_is_woken),
    cmocka_unit_test(a_message_about_everything_reaches_every_spot),
    cmocka_unit_test(cancel_ends_the_waits_of_one_handle),
};
HF_SUITE(tests)
