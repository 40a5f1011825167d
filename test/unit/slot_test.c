/* SPDX-License-Identifier: MIT
 *
 * slot_test.c - the slot of a key, as the servers count it. */
#include "backend/redis/keys.h"
#include "backend/redis/topology/slot.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What CLUSTER KEYSLOT said. */
static void slots_are_those_of_the_servers(void **s) {
    static const struct {
        const char *key;
        unsigned slot;
    } cases[] = {
        {"", 0},
        {"a", 15495},
        {"foo", 12182},
        {"123456789", 12739},
        {"orders:7", 4453},
        {"\xc3\xa4\xc3\xb6\xc3\xbc \xff", 12150},
        {"holdfast:client:11111111-2222-4333-8444-555555555555", 93},
    };
    (void)s;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (hf__slot(cases[i].key) != cases[i].slot)
            fail_msg("'%s': %u, not %u", cases[i].key, hf__slot(cases[i].key),
                     cases[i].slot);
}

static void what_stands_in_the_first_braces_counts(void **s) {
    static const char *const same[][2] = {
        {"{a}", "a"},          {"{a}b", "a"},   {"x{a}y{b}", "a"},
        {"redisson:{a}", "a"}, {"{{a}}", "{a"}, {"{a}}", "a"},
        {"a}b{c}", "c"},
    };
    static const char *const whole[] = {"{}a", "a{b", "{}{a}", "x{}{a}"};
    (void)s;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_int_equal(hf__slot(same[i][0]), hf__slot(same[i][1]));
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        assert_int_not_equal(hf__slot(whole[i]), hf__slot("a"));
}

static void every_slot_has_a_tag_that_lies_in_it(void **s) {
    static uint32_t tags[HF_SLOTS];
    char key[32];
    (void)s;
    hf__slot_tags(tags);
    for (unsigned slot = 0; slot < HF_SLOTS; slot++) {
        assert_true(tags[slot] > 0);
        snprintf(key, sizeof key, "era:{%u}", tags[slot]);
        assert_int_equal(hf__slot(key), slot);
    }
}

/* So that as many masters as can share the records of clients. */
static void there_is_a_shelf_in_every_eighth_of_the_slots(void **s) {
    unsigned eighths = 0;
    char record[HF_KEY_SIZE], all[HF_KEY_SIZE];
    (void)s;
    for (int i = 0; i < HF_SHELVES; i++) {
        hf__key_client(record, hf__shelves[i], "a");
        hf__key_client(all, hf__shelves[i], HF_ALL_CLIENTS);
        assert_int_equal(hf__slot(record), hf__slot(all));
        eighths |= 1u << hf__slot(all) / (HF_SLOTS / 8);
    }
    assert_int_equal(eighths, 255);
}

/* A server that is alone has no shelves. */
static void a_record_is_called_by_its_shelf_and_client(void **s) {
    char key[HF_KEY_SIZE];
    (void)s;
    hf__key_client(key, NULL, "a");
    assert_string_equal(key, "holdfast:client:a");
    hf__key_client(key, "26", "a");
    assert_string_equal(key, "holdfast:client:{26}:a");
}

/* Clients of all versions and machines must agree on it. */
static void the_shelf_of_a_client_stays_what_it_is(void **s) {
    (void)s;
    assert_string_equal(hf__shelf_of("11111111-2222-4333-8444-555555555555"),
                        "28");
    assert_string_equal(hf__shelf_of("99999999-8888-4777-8666-555555555555"),
                        "26");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(slots_are_those_of_the_servers),
    cmocka_unit_test(what_stands_in_the_first_braces_counts),
    cmocka_unit_test(there_is_a_shelf_in_every_eighth_of_the_slots),
    cmocka_unit_test(a_record_is_called_by_its_shelf_and_client),
    cmocka_unit_test(the_shelf_of_a_client_stays_what_it_is),
    cmocka_unit_test(every_slot_has_a_tag_that_lies_in_it),
};
HF_SUITE(tests)
