/* SPDX-License-Identifier: MIT
 *
 * presence_test.c - the text of a client's record, written and read, also when
 * it is not ours; and many records in order. */
#include "../../src/records.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const hf_doing a_wait = {.does = HF_DOES_WAIT,
                                .kind = HF_LOCK,
                                .owner = "17",
                                .who = 3,
                                .since_ms = 1731742801000,
                                .asked = true,
                                .name = "orders of today"};
static const hf_doing a_hold = {.does = HF_DOES_HOLD,
                                .kind = HF_PERMIT,
                                .owner = "000102030405060708090a0b0c0d0e0f",
                                .who = UINT64_MAX,
                                .permits = 7,
                                .since_ms = 5,
                                .name = "x"};
static hf_doings text;

/* In lines of this form, for the eye. */
static void read_back(char *from, char *ret, size_t size) {
    hf_doing c;
    *ret = 0;
    while (hf__doings_next(&from, &c)) {
        size_t n = strlen(ret);
        if (c.does == HF_DOES_MORE)
            snprintf(ret + n, size - n, "more %zu %zu;", c.holds, c.waits);
        else if (c.does == HF_DOES_INSIDE)
            snprintf(ret + n, size - n, "inside %s;", c.client);
        else
            snprintf(ret + n, size - n, "%c %s %s %llu %d %lld %d %s;", c.does,
                     hf__kind_word(c.kind), c.owner, (unsigned long long)c.who,
                     c.permits, (long long)c.since_ms, c.asked, c.name);
    }
}

static void assert_reads(const char *from, const char *wanted) {
    char *copy = strdup(from), got[4096];
    read_back(copy, got, sizeof got);
    assert_string_equal(got, wanted);
    free(copy);
}

static void what_is_written_is_read(void **state) {
    (void)state;
    hf__doings_begin(&text, "");
    hf__doings_add(&text, &a_wait);
    hf__doings_add(&text, &a_hold);
    hf__doings_end(&text);
    assert_reads(text.text, "w lock 17 3 0 1731742801000 1 orders of today;"
                            "h permit 000102030405060708090a0b0c0d0e0f "
                            "18446744073709551615 7 5 0 x;");
}

#define OUTER "6f9619ff-8b86-4d01-b42d-00c04fc964ff"

static void whom_it_works_for_is_read(void **state) {
    (void)state;
    hf__doings_begin(&text, OUTER);
    hf__doings_add(&text, &a_wait);
    hf__doings_end(&text);
    assert_reads(text.text, "inside " OUTER ";"
                            "w lock 17 3 0 1731742801000 1 orders of today;");
    assert_reads("i\ni \ni x\ni " OUTER "0\n"
                 "i Gf9619ff-8b86-4d01-b42d-00c04fc964ff\n",
                 "");
}

static void who_does_nothing_still_says_something(void **state) {
    (void)state;
    hf__doings_begin(&text, "");
    hf__doings_end(&text);
    assert_string_not_equal(text.text, "");
    assert_reads(text.text, "");
}

static void what_finds_no_room_is_counted(void **state) {
    (void)state;
    enum { MANY = 2000 };
    int waits = 0, holds = 0;
    hf_doing c;
    hf__doings_begin(&text, "");
    for (int i = 0; i < MANY; i++)
        hf__doings_add(&text, &a_wait);
    for (int i = 0; i < MANY; i++)
        hf__doings_add(&text, &a_hold);
    hf__doings_end(&text);
    assert_true(strlen(text.text) <= HF_DOING_MAX);
    assert_true(strlen(text.text) > HF_DOING_MAX - 200);
    for (char *at = text.text; hf__doings_next(&at, &c);) {
        waits += c.does == HF_DOES_WAIT;
        holds += c.does == HF_DOES_HOLD;
    }
    assert_int_equal(c.does, HF_DOES_MORE);
    assert_true(waits > 100);
    assert_int_equal(waits + (int)c.waits, MANY);
    assert_int_equal(holds + (int)c.holds, MANY);
}

/* Also when nothing is held. */
static void waits_alone_that_find_no_room_are_counted(void **state) {
    (void)state;
    enum { MANY = 2000 };
    int waits = 0;
    hf_doing c;
    hf__doings_begin(&text, "");
    for (int i = 0; i < MANY; i++)
        hf__doings_add(&text, &a_wait);
    hf__doings_end(&text);
    for (char *at = text.text; hf__doings_next(&at, &c);)
        waits += c.does == HF_DOES_WAIT;
    assert_int_equal(c.does, HF_DOES_MORE);
    assert_int_equal(waits + (int)c.waits, MANY);
    assert_int_equal(c.holds, 0);
}

static void the_longest_name_fits(void **state) {
    (void)state;
    char name[HF_NAME_MAX + 2], wanted[400];
    hf_doing c = a_wait;
    memset(name, 'n', sizeof name);
    name[HF_NAME_MAX] = 0;
    c.name = name;
    hf__doings_begin(&text, "");
    hf__doings_add(&text, &c);
    hf__doings_end(&text);
    snprintf(wanted, sizeof wanted, "w lock 17 3 0 1731742801000 1 %s;", name);
    assert_reads(text.text, wanted);
    name[HF_NAME_MAX] = 'n';
    name[HF_NAME_MAX + 1] = 0;
    hf__doings_begin(&text, "");
    hf__doings_add(&text, &c);
    assert_reads(text.text, "");
}

static void a_line_that_makes_no_sense_is_passed_over(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        " ",
        "w",
        "w ",
        "ww lock 1 1 0 1 - x",
        "x lock 1 1 0 1 - x",
        "W lock 1 1 0 1 - x",
        "w mutex 1 1 0 1 - x",
        "w lock",
        "w lock 1",
        "w lock 1 1",
        "w lock 1 1 0",
        "w lock 1 1 0 1",
        "w lock 1 1 0 1 -",
        "w lock 1 1 0 1 - ",
        "w lock  1 0 1 - x",
        "w lock /etc/passwd 1 0 1 - x",
        "w lock 17/etc 1 0 1 - x",
        "w lock 0123456789012345678901234567890123456789a 1 0 1 - x",
        "w lock 1 -1 0 1 - x",
        "w lock 1 +1 0 1 - x",
        "w lock 1 1x 0 1 - x",
        "w lock 1 18446744073709551616 0 1 - x",
        "w lock 1 1 2147483648 1 - x",
        "w lock 1 1 -1 1 - x",
        "w lock 1 1 0 9223372036854775808 - x",
        "w lock 1 1 0 -1 - x",
        "w lock 1 1 0 1 - a\x01z",
        "w lock 1 1 0 1 - a\xff",
        "w lock 1 1 0 1 - a\x7f",
        "m",
        "m 1",
        "m x 1",
        "m 1 99999999999",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char lines[512];
        snprintf(lines, sizeof lines, "%s\nw fair 017 2 0 9 - y\n%s", bad[i],
                 bad[i]);
        assert_reads(lines, "w fair 017 2 0 9 0 y;");
    }
    assert_reads("m 3 4", "more 3 4;");
}

/* Any bytes: it must end, and give nothing that could not be written. */
static void noise_is_harmless(void **state) {
    (void)state;
    static const char alphabet[] =
        "whlm lock read permit 0123456789:-d\n\xc3\x80";
    unsigned seed = 7;
    for (int round = 0; round < 20000; round++) {
        char noise[200], *at = noise;
        size_t n = (size_t)(rand_r(&seed) % (int)(sizeof noise - 1));
        hf_doing c;
        for (size_t i = 0; i < n; i++) {
            unsigned r = (unsigned)rand_r(&seed);
            noise[i] = r % 50 ? alphabet[r % (sizeof alphabet - 1)] :
                                (char)(r % 255 + 1);
        }
        noise[n] = 0;
        while (hf__doings_next(&at, &c))
            if (c.does != HF_DOES_MORE) {
                assert_true(c.name >= noise && c.name < noise + n);
                assert_true(*c.name && strlen(c.name) <= HF_NAME_MAX);
                assert_true(strlen(c.owner) <= HF_DOING_OWNER);
                assert_true(c.permits >= 0 && c.since_ms >= 0);
            }
    }
}

/* ---- many of them ------------------------------------------------------ */

#define ONE   "11111111-1111-4111-8111-111111111111"
#define TWO   "22222222-2222-4222-8222-222222222222"
#define NONCE "000102030405060708090a0b0c0d0e0f"

static void add(hf_records *r, const char *client, const char *doing) {
    hf_identity who = {.pid = 1};
    snprintf(who.client, sizeof who.client, "%s", client);
    hf__records_add(r, &who, doing);
}

static void claims_are_found_by_their_owner(void **state) {
    (void)state;
    hf_records r = {0};
    add(&r, TWO,
        "1\nw lock 17 1 0 50 - x\nw lock 18 2 0 40 - x\nm 2 3\n"
        "h permit " NONCE " 1 2 7 - s\n");
    add(&r, ONE, "1\nh lock 17 1 0 1 - x\nl lock 19 1 0 1 - y\n");
    add(&r, TWO, "1\nh lock 99 1 0 1 - z\n"); /* a twin */
    assert_int_equal(hf__records_sort(&r), HF_OK);
    assert_int_equal(r.n, 2);
    assert_ptr_equal(hf__records_client(&r, ONE, 36), &r.all[0]);
    assert_null(hf__records_client(&r, ONE, 35));
    assert_int_equal(r.all[0].holds, 1);
    assert_int_equal(r.all[0].waits, 0);
    assert_int_equal(r.all[1].holds, 3);
    assert_int_equal(r.all[1].waits, 5);
    assert_int_equal(r.all[1].waits_since_ms, 40);
    hf_told *t = hf__records_find(&r, TWO ":17", "x");
    assert_non_null(t);
    assert_ptr_equal(t->record, &r.all[1]);
    assert_int_equal(t->of.does, HF_DOES_WAIT);
    t = hf__records_find(&r, ONE ":17", "x");
    assert_non_null(t);
    assert_int_equal(t->of.does, HF_DOES_HOLD);
    t = hf__records_find(&r, NONCE, "s");
    assert_non_null(t);
    assert_int_equal(t->of.permits, 2);
    assert_null(hf__records_find(&r, ONE ":18", "x"));
    assert_null(hf__records_find(&r, ONE ":17", "y"));
    assert_null(hf__records_find(&r, TWO ":99", "z"));
    assert_null(hf__records_find(&r, "somebody", "x"));
    assert_null(hf__records_find(&r, "", "x"));
    hf__records_free(&r);
}

static void a_record_that_is_too_long_says_nothing(void **state) {
    (void)state;
    char *doing = malloc(HF_DOING_MAX + 3);
    hf_records r = {0};
    assert_non_null(doing);
    memset(doing, '\n', HF_DOING_MAX + 2);
    memcpy(doing, "h lock 17 1 0 1 - x", strlen("h lock 17 1 0 1 - x"));
    doing[HF_DOING_MAX + 2] = 0;
    add(&r, ONE, doing);
    free(doing);
    assert_int_equal(hf__records_sort(&r), HF_OK);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.n_claims, 0);
    hf__records_free(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_is_written_is_read),
    cmocka_unit_test(whom_it_works_for_is_read),
    cmocka_unit_test(who_does_nothing_still_says_something),
    cmocka_unit_test(what_finds_no_room_is_counted),
    cmocka_unit_test(waits_alone_that_find_no_room_are_counted),
    cmocka_unit_test(the_longest_name_fits),
    cmocka_unit_test(a_line_that_makes_no_sense_is_passed_over),
    cmocka_unit_test(noise_is_harmless),
    cmocka_unit_test(claims_are_found_by_their_owner),
    cmocka_unit_test(a_record_that_is_too_long_says_nothing),
};
HF_SUITE(tests)
