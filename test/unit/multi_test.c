/* SPDX-License-Identifier: MIT
 *
 * multi_test.c - the order in which members are taken, as the name of a
 * multi-lock shows it. */
#include "support/stage.h"
#include "support/suite.h"

static int clear(void **state) {
    (void)state;
    hf_test_clear();
    return 0;
}

static void members_are_taken_by_name_however_they_are_given(void **state) {
    (void)state;
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const char *const names[] = {"a", "a b", "b"};
    hf_client *client = hf_test_open("memory:order", NULL);
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        hf_lock *members[3];
        for (int k = 0; k < 3; k++)
            members[k] = hf_test_lock(client, names[orders[i][k]], NULL);
        assert_string_equal(hf_lock_name(hf_test_multi(members, 3)),
                            "a + a b + b");
    }
}

static void the_store_counts_before_the_name(void **state) {
    (void)state;
    hf_client *one = hf_test_open("memory:1", NULL);
    hf_client *two = hf_test_open("memory:2", NULL);
    hf_lock *z = hf_test_lock(one, "z", NULL),
            *a = hf_test_lock(two, "a", NULL);
    hf_lock *all = HF_MULTI_OF(a, z);
    assert_string_equal(hf_lock_name(all), "z + a");
    hf_expect(HF_OK, hf_lock_try(all, ERR));
    hf_test_free(all);
    all = HF_MULTI_OF(hf_test_lock(one, "z2", NULL),
                      hf_test_lock(hf_test_open("memory:1", NULL), "y", NULL));
    assert_string_equal(hf_lock_name(all),
                        "y + z2"); /* one store, two clients */
}

static void a_prefix_obeys_the_rules_of_names(void **state) {
    (void)state;
    hf_client *client = NULL;
    hf_error err;
    assert_int_equal(
        hf_open(&client, "memory:prefix?hf_prefix=a%E2", NULL, &err), HF_EURI);
    assert_string_equal(err.text, "byte 2 of hf_prefix is a control character "
                                  "or not UTF-8");
    assert_int_equal(hf_open(&client, "zk://h/x%E2", NULL, &err), HF_EURI);
}

/* What counts is the name in the store. */
static void a_prefix_is_part_of_the_name_and_not_shown(void **state) {
    (void)state;
    hf_lock *multi;
    hf_client *plain = hf_test_open("memory:prefix", NULL);
    hf_client *job = hf_test_open("memory:prefix?hf_prefix=job:", NULL);
    hf_lock *a = hf_test_lock(job, "a", NULL),
            *b = hf_test_lock(plain, "b", NULL);
    assert_string_equal(hf_lock_name(HF_MULTI_OF(a, b)), "b + a");
    hf_lock *const same[] = {hf_test_lock(job, "x", NULL),
                             hf_test_lock(plain, "job:x", NULL)};
    hf_expect(HF_EUSAGE, hf_multi_new(&multi, same, 2, ERR));
    hf_lock *const apart[] = {same[0], hf_test_lock(plain, "x", NULL)};
    assert_string_equal(hf_lock_name(hf_test_multi(apart, 2)), "x + x");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(members_are_taken_by_name_however_they_are_given,
                              clear),
    cmocka_unit_test_teardown(the_store_counts_before_the_name, clear),
    cmocka_unit_test(a_prefix_obeys_the_rules_of_names),
    cmocka_unit_test_teardown(a_prefix_is_part_of_the_name_and_not_shown,
                              clear),
};
HF_SUITE(tests)
