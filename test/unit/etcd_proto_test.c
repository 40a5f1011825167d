/* SPDX-License-Identifier: MIT
 *
 * etcd_proto_test.c - etcd's messages as the wire has them: what we write, what
 * we read, and bytes that are none of them. */
#include "backend/etcd/proto.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- bytes as text ----------------------------------------------------- */

/* "0a 03" and letters behind a quote: "0a 03 'abc". */
static hf_bytes wire(const char *text) {
    static uint8_t room[4096];
    size_t n = 0;
    while (*text) {
        if (*text == ' ') {
            text++;
        } else if (*text == '\'') {
            for (text++; *text && *text != ' '; text++)
                room[n++] = (uint8_t)*text;
        } else {
            char two[3] = {text[0], text[1], 0};
            room[n++] = (uint8_t)strtoul(two, NULL, 16);
            text += 2;
        }
    }
    /* A copy of the very size, so that a byte too far is noticed. */
    static uint8_t *copy;
    free(copy);
    copy = malloc(n ? n : 1);
    memcpy(copy, room, n);
    return (hf_bytes){copy, n};
}

static void assert_written(const hf_pb *b, const char *text) {
    hf_bytes expected = wire(text);
    assert_false(b->failed);
    assert_int_equal(b->n, expected.n);
    assert_memory_equal(b->at, expected.at, expected.n);
}

#define TEXT(s) hf__bytes(s)

static void assert_bytes(hf_bytes b, const char *text) {
    assert_int_equal(b.n, strlen(text));
    assert_memory_equal(b.at, text, b.n);
}

/* ---- writing ----------------------------------------------------------- */

static void zero_and_nothing_are_left_out(void **state) {
    (void)state;
    hf_pb b = {0};
    hf__pb_int(&b, 1, 0);
    hf__pb_bytes(&b, 2, TEXT(""));
    assert_int_equal(b.n, 0);
    hf__pb_int(&b, 1, 300);
    hf__pb_int(&b, 2, -1);
    assert_written(&b, "08 ac 02  10 ff ff ff ff ff ff ff ff ff 01");
    hf__pb_free(&b);
}

static void lengths_are_put_before_what_they_count(void **state) {
    (void)state;
    hf_pb b = {0};
    char text[301];
    memset(text, 'x', 300);
    text[300] = '\0';
    size_t outer = hf__pb_open(&b, 1), inner = hf__pb_open(&b, 2);
    hf__pb_bytes(&b, 3, TEXT(text));
    hf__pb_close(&b, inner);
    hf__pb_close(&b, outer);
    /* 300, 303 and 306 take two bytes each */
    assert_memory_equal(b.at, wire("0a b2 02 12 af 02 1a ac 02").at, 9);
    assert_int_equal(b.n, 309);
    hf__pb_free(&b);
}

static void a_lock_is_asked_for_as_etcd_has_it(void **state) {
    (void)state;
    hf_pb b = {0};
    hf__txn_compare(&b,
                    &(hf_compare){.target = HF_OF_CREATE, .key = TEXT("a/1")});
    hf__txn_compare(&b, &(hf_compare){.target = HF_OF_MOD,
                                      .is = HF_LESS,
                                      .value = 7,
                                      .key = TEXT("a/"),
                                      .end = TEXT("a0")});
    hf__txn_put(&b, true,
                &(hf_put){.key = TEXT("a/1"), .value = TEXT("n"), .lease = 1});
    hf__txn_range(
        &b, true,
        &(hf_range){.key = TEXT("a/"), .end = TEXT("a0"), .keys_only = true});
    hf__txn_delete(&b, false, TEXT("a/1"));
    assert_written(&b, "0a 09  10 01  1a 03 'a/1  28 00 "
                       "0a 0f  08 02  10 02  1a 02 'a/  30 07  82 04 02 'a0 "
                       "12 0c 12 0a  0a 03 'a/1  12 01 'n  18 01 "
                       "12 0c 0a 0a  0a 02 'a/  12 02 'a0  40 01 "
                       "1a 07 1a 05  0a 03 'a/1");
    hf__pb_free(&b);
}

static void what_was_put_later_is_asked_for(void **state) {
    (void)state;
    hf_pb b = {0};
    hf__write_range(&b, &(hf_range){.key = TEXT("k"), .newer = 4});
    assert_written(&b, "0a 01 'k  50 05");
    hf__pb_free(&b);
}

static void leases_watches_and_users_are_written(void **state) {
    (void)state;
    hf_pb b = {0};
    hf__write_grant(&b, 9, 30);
    assert_written(&b, "08 1e 10 09");
    b.n = 0;
    hf__write_lease(&b, 9);
    assert_written(&b, "08 09");
    b.n = 0;
    hf__write_watch(&b, 5, TEXT("k"), TEXT(""), 0);
    assert_written(&b, "0a 05  0a 01 'k  38 05");
    b.n = 0;
    hf__write_watch(&b, 5, TEXT("k"), TEXT("l"), 10);
    assert_written(&b, "0a 0a  0a 01 'k  12 01 'l  18 0b  38 05");
    b.n = 0;
    hf__write_unwatch(&b, 5);
    assert_written(&b, "12 02 08 05");
    b.n = 0;
    hf__write_credentials(&b, "me", "pw");
    assert_written(&b, "0a 02 'me 12 02 'pw");
    hf__pb_free(&b);
}

/* ---- reading ----------------------------------------------------------- */

#define HEADER          "0a 04  08 01  18 2a " /* revision 42 */
#define KV(key, create) "0a 03 '" key " 10 " create " 18 08 20 01 30 09 "

static void a_range_is_read_key_by_key(void **state) {
    (void)state;
    hf_ranged r;
    hf_kv kv;
    assert_true(hf__read_range(wire(HEADER "12 0d " KV("a/1", "07") //
                                    "12 10 " KV("a/2", "08")        //
                                    "2a 01 'v "                     //
                                    "18 01  20 05  7a 02 'xx"),
                               &r));
    assert_int_equal(r.revision, 42);
    assert_int_equal(r.count, 5);
    assert_true(r.more);
    assert_true(hf__next_kv(&r, &kv));
    assert_bytes(kv.key, "a/1");
    assert_int_equal(kv.create, 7);
    assert_int_equal(kv.mod, 8);
    assert_int_equal(kv.version, 1);
    assert_int_equal(kv.lease, 9);
    assert_int_equal(kv.value.n, 0);
    assert_true(hf__next_kv(&r, &kv));
    assert_bytes(kv.key, "a/2");
    assert_bytes(kv.value, "v");
    assert_false(hf__next_kv(&r, &kv));
}

static void a_transaction_answers_in_order(void **state) {
    (void)state;
    hf_txned t;
    hf_ranged r;
    hf_kv kv;
    int64_t deleted;
    hf_bytes in = wire(HEADER "10 01 "
                              "1a 02 12 00 "                       /* a put   */
                              "1a 11 0a 0f 12 0d " KV("a/1", "07") /* a range */
                       "1a 04 1a 02 10 03 ");                      /* deleted */
    assert_true(hf__read_txn(in, &t));
    assert_true(t.succeeded);
    assert_int_equal(t.revision, 42);
    assert_true(hf__next_put(&t));
    assert_true(hf__next_range(&t, &r));
    assert_true(hf__next_kv(&r, &kv));
    assert_int_equal(kv.create, 7);
    assert_true(hf__next_delete(&t, &deleted));
    assert_int_equal(deleted, 3);
    assert_false(hf__next_put(&t));
}

static void an_answer_of_another_sort_is_refused(void **state) {
    (void)state;
    hf_txned t;
    hf_ranged r;
    assert_true(hf__read_txn(wire(HEADER "1a 02 12 00"), &t));
    assert_false(t.succeeded);
    assert_false(hf__next_range(&t, &r));
}

static void a_lease_that_is_over_has_no_time(void **state) {
    (void)state;
    hf_leased l;
    assert_true(hf__read_lease(wire(HEADER "10 09 18 1e"), &l));
    assert_int_equal(l.lease, 9);
    assert_int_equal(l.ttl, 30);
    assert_true(hf__read_lease(wire(HEADER "10 09"), &l));
    assert_int_equal(l.ttl, 0);
    assert_true(hf__read_lease(
        wire(HEADER "10 09 18 ff ff ff ff ff ff ff ff ff 01"), &l));
    assert_int_equal(l.ttl, -1);
}

static void watches_tell_of_their_making_events_and_end(void **state) {
    (void)state;
    hf_watched w;
    hf_kv kv;
    bool deleted;
    assert_true(hf__read_watch(wire(HEADER "10 05 18 01"), &w));
    assert_int_equal(w.id, 5);
    assert_int_equal(w.revision, 42);
    assert_true(w.created);
    assert_true(hf__read_watch(
        wire(HEADER "10 05 5a 07 12 05 0a 03 'a/1  5a 09 08 01 12 05 0a 03 "
                    "'a/2"),
        &w));
    assert_true(hf__next_event(&w, &deleted, &kv));
    assert_false(deleted);
    assert_true(hf__next_event(&w, &deleted, &kv));
    assert_true(deleted);
    assert_bytes(kv.key, "a/2");
    assert_false(hf__next_event(&w, &deleted, &kv));
    assert_true(
        hf__read_watch(wire(HEADER "10 05 20 01 28 07 32 03 'old"), &w));
    assert_true(w.cancelled);
    assert_int_equal(w.compacted, 7);
    assert_bytes(w.reason, "old");
}

static void servers_tell_who_they_are(void **state) {
    (void)state;
    hf_status s;
    hf_members m;
    hf_alarms a;
    hf_bytes token;
    assert_true(hf__read_status(wire("0a 02 10 07  12 06 '3.4.23 20 08"), &s));
    assert_bytes(s.version, "3.4.23");
    assert_int_equal(s.member, 7);
    assert_int_equal(s.leader, 8);
    assert_true(hf__read_members(
        wire(HEADER "12 02 08 01  12 04 08 02 28 01  12 02 08 03"), &m));
    assert_int_equal(m.n, 3);
    assert_int_equal(m.learners, 1);
    assert_true(hf__read_alarms(wire(HEADER "12 04 08 01 10 01"), &a));
    assert_true(a.no_space);
    assert_false(a.corrupt);
    assert_true(hf__read_token(wire(HEADER "12 05 'abc.1"), &token));
    assert_bytes(token, "abc.1");
}

/* ---- what is no message ------------------------------------------------ */

static const char *const hostile[] = {
    "0a",                                  /* no length                      */
    "0a 05 'abc",                          /* longer than there is           */
    "0a ff ff ff ff ff ff ff ff ff 01",    /* as long as can be              */
    "0a ff ff ff ff 0f 'abc",              /* 4 GB                           */
    "10",                                  /* no number                      */
    "10 80",                               /* a number without an end        */
    "10 80 80 80 80 80 80 80 80 80 02",    /* more than 64 bits              */
    "10 80 80 80 80 80 80 80 80 80 80 01", /* more than ten bytes         */
    "00 01",                               /* field 0                        */
    "0b 01 0c",                            /* a group                        */
    "0f 01",                               /* no such type                   */
    "0d 01 02 03",                         /* four bytes, of which one lacks */
    "09 01 02 03 04 05 06 07",             /* eight, likewise                */
    "80 80 80 80 10 01",                   /* a field beyond the last        */
    "80",                                  /* a field without its number     */
    "08 01",                               /* a header that is a number      */
    "0a 02 18 80",                         /* a header that is cut short     */
};

static void hostile_bytes_are_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        hf_ranged r;
        hf_txned t;
        hf_watched w;
        if (hf__read_range(wire(hostile[i]), &r))
            fail_msg("taken for a range: %s", hostile[i]);
        if (hf__read_txn(wire(hostile[i]), &t))
            fail_msg("taken for a transaction: %s", hostile[i]);
        if (hf__read_watch(wire(hostile[i]), &w))
            fail_msg("taken for a watch: %s", hostile[i]);
    }
}

/* Of a good answer every beginning is read to its end, and not beyond. */
static void answers_cut_short_are_survived(void **state) {
    (void)state;
    hf_bytes all = wire(HEADER "12 0d " KV("a/1", "07") "18 01  20 05");
    for (size_t n = 0; n < all.n; n++) {
        uint8_t *copy = malloc(n ? n : 1);
        hf_ranged r;
        hf_kv kv;
        memcpy(copy, all.at, n);
        if (hf__read_range((hf_bytes){copy, n}, &r))
            while (hf__next_kv(&r, &kv))
                assert_true(kv.key.n <= n);
        free(copy);
    }
}

static void fields_of_the_wrong_sort_are_refused(void **state) {
    (void)state;
    hf_ranged r;
    hf_leased l;
    hf_status s;
    assert_false(hf__read_range(wire("12 03 0a 01 'k 22 01 'x"), &r));
    assert_false(hf__read_range(wire("12 02 08 01"), &r)); /* a key of 1 */
    assert_false(hf__read_lease(wire("12 01 'x"), &l));
    assert_false(hf__read_status(wire("10 05"), &s));
}

/* Number or bytes: each field of each message is looked at. */
static void every_field_must_be_of_its_sort(void **state) {
    (void)state;
    hf_ranged r;
    hf_watched w;
    hf_status s;
    hf_alarms a;
    assert_false(hf__read_range(wire("0a 03 1a 01 'x"), &r)); /* revision   */
    assert_false(hf__read_watch(wire("58 01"), &w));          /* event      */
    assert_false(hf__read_watch(wire("5a 02 10 01"), &w));    /* its key    */
    assert_false(hf__read_watch(wire("5a 04 12 02 08 01"), &w));
    assert_false(hf__read_watch(wire("5a 03 0a 01 'x"), &w));  /* its sort   */
    assert_false(hf__read_status(wire("08 01"), &s));          /* header     */
    assert_false(hf__read_status(wire("0a 03 12 01 'x"), &s)); /* member     */
    assert_false(hf__read_status(wire("22 01 'x"), &s));       /* leader     */
    assert_false(hf__read_alarms(wire("12 03 12 01 'x"), &a)); /* what it is */
}

static void what_was_done_is_looked_at_when_it_is_asked_for(void **state) {
    (void)state;
    hf_txned t;
    hf_ranged r;
    int64_t deleted;
    assert_true(hf__read_txn(wire("1a 04 0a 02 08 01"), &t));
    assert_false(hf__next_range(&t, &r));
    assert_true(hf__read_txn(wire("1a 05 1a 03 12 01 'x"), &t));
    assert_false(hf__next_delete(&t, &deleted));
    assert_true(hf__read_txn(wire("1a 06 1a 04 0a 00 10 01"), &t));
    assert_true(hf__next_delete(&t, &deleted));
    assert_int_equal(deleted, 1);
    assert_true(hf__read_txn(wire("1a 02 1a 00"), &t));
    assert_false(hf__next_put(&t)); /* that was a deletion */
    assert_false(hf__next_delete(&t, &deleted));
}

static void fields_of_later_versions_are_skipped(void **state) {
    (void)state;
    hf_ranged r;
    hf_watched w;
    hf_kv kv;
    bool deleted;
    assert_true(hf__read_range(wire("12 05 38 01 0a 01 'k"), &r));
    assert_true(hf__next_kv(&r, &kv));
    assert_bytes(kv.key, "k");
    assert_true(hf__read_watch(wire("5a 07 18 01 12 03 0a 01 'k"), &w));
    assert_true(hf__next_event(&w, &deleted, &kv));
    assert_bytes(kv.key, "k");
}

/* As if nobody had read the whole before. */
static void what_nobody_has_looked_at_is_no_entry(void **state) {
    (void)state;
    hf_ranged r = {.rest = wire("10 01")};
    hf_watched w;
    hf_kv kv;
    bool deleted;
    assert_false(hf__next_kv(&r, &kv));
    r.rest = wire("12 02 08 01");
    assert_false(hf__next_kv(&r, &kv));
    w = (hf_watched){.rest = wire("5a 02 10 01")};
    assert_false(hf__next_event(&w, &deleted, &kv));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(zero_and_nothing_are_left_out),
    cmocka_unit_test(lengths_are_put_before_what_they_count),
    cmocka_unit_test(a_lock_is_asked_for_as_etcd_has_it),
    cmocka_unit_test(what_was_put_later_is_asked_for),
    cmocka_unit_test(leases_watches_and_users_are_written),
    cmocka_unit_test(a_range_is_read_key_by_key),
    cmocka_unit_test(a_transaction_answers_in_order),
    cmocka_unit_test(an_answer_of_another_sort_is_refused),
    cmocka_unit_test(a_lease_that_is_over_has_no_time),
    cmocka_unit_test(watches_tell_of_their_making_events_and_end),
    cmocka_unit_test(servers_tell_who_they_are),
    cmocka_unit_test(hostile_bytes_are_refused),
    cmocka_unit_test(answers_cut_short_are_survived),
    cmocka_unit_test(fields_of_the_wrong_sort_are_refused),
    cmocka_unit_test(every_field_must_be_of_its_sort),
    cmocka_unit_test(what_was_done_is_looked_at_when_it_is_asked_for),
    cmocka_unit_test(fields_of_later_versions_are_skipped),
    cmocka_unit_test(what_nobody_has_looked_at_is_no_entry),
};
HF_SUITE(tests)
