/* SPDX-License-Identifier: MIT
 *
 * redis_batch_test.c - requests that go together, and the WAIT they share. */
#include "backend/redis/batch.h"

#include <stdlib.h>
#include <string.h>

#include "support/suite.h"

static hf_batch *batch;

static int setup(void **state) {
    (void)state;
    batch = hf__batch_new();
    return batch ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    hf__batch_put(batch);
    return 0;
}

/* Adds a request whose bytes are the text; where its replies come. */
static size_t add(const char *text, size_t n, int replicas) {
    hf_request q = {text, strlen(text), n, replicas};
    size_t first;

    assert_true(hf__batch_add(batch, &q, 100, &first));
    return first;
}

static void expect_bytes(const char *text) {
    assert_int_equal(batch->len, strlen(text));
    assert_memory_equal(batch->bytes, text, batch->len);
}

#define WAIT_1 "*3\r\n$4\r\nWAIT\r\n$1\r\n1\r\n$3\r\n100\r\n"
#define WAIT_2 "*3\r\n$4\r\nWAIT\r\n$1\r\n2\r\n$3\r\n100\r\n"

static void requests_follow_one_another(void **state) {
    (void)state;
    assert_int_equal(0, add("a", 1, 0));
    assert_int_equal(1, add("bcd", 3, 0));
    assert_int_equal(4, add("e", 1, 0));
    assert_int_equal(5, batch->n);
    expect_bytes("abcde");
}

static void those_who_want_as_many_replicas_share_one_wait(void **state) {
    (void)state;
    assert_int_equal(0, add("a", 1, 1));
    assert_int_equal(1, add("b", 1, 1));
    assert_int_equal(2, add("c", 1, 1));
    assert_int_equal(4, batch->n);
    expect_bytes("abc" WAIT_1);
}

static void those_who_want_more_replicas_wait_for_themselves(void **state) {
    (void)state;
    add("a", 1, 1);
    add("b", 1, 2);
    expect_bytes("a" WAIT_1 "b" WAIT_2);
}

static void everybody_finds_the_wait_behind_its_request(void **state) {
    size_t a, b, c;

    (void)state;
    a = add("a", 1, 1);
    b = add("b", 2, 1);
    c = add("c", 1, 2);
    batch->slots[3].reply = calloc(1, sizeof(redisReply));
    batch->slots[5].reply = calloc(1, sizeof(redisReply));
    assert_ptr_equal(batch->slots[3].reply, hf__batch_wait(batch, a));
    assert_ptr_equal(batch->slots[3].reply, hf__batch_wait(batch, b));
    assert_ptr_equal(batch->slots[5].reply, hf__batch_wait(batch, c));
}

static void who_wants_no_replicas_is_not_waited_for(void **state) {
    (void)state;
    assert_null(hf__batch_wait(batch, add("a", 1, 0)));
}

static void what_is_withdrawn_takes_all_its_bytes_along(void **state) {
    size_t b;

    (void)state;
    add("a", 1, 1);
    b = add("bbb", 2, 1);
    add("c", 1, 1);
    hf__batch_withdraw(batch, b, 2);
    expect_bytes("ac" WAIT_1);
    assert_true(batch->slots[b].gone && batch->slots[b + 1].gone);
    add("d", 1, 1);
    expect_bytes("acd" WAIT_1);
}

static void a_post_has_no_part_in_a_wait(void **state) {
    hf_post post = {.bytes = (char *)(uintptr_t) "p", .len = 1};

    (void)state;
    add("a", 1, 1);
    assert_true(hf__batch_add_post(batch, &post));
    add("b", 1, 1);
    expect_bytes("a" WAIT_1 "pb" WAIT_1);
    batch->slots[2].post = NULL;
}

#define IN_A_BATCH(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
    IN_A_BATCH(requests_follow_one_another),
    IN_A_BATCH(those_who_want_as_many_replicas_share_one_wait),
    IN_A_BATCH(those_who_want_more_replicas_wait_for_themselves),
    IN_A_BATCH(everybody_finds_the_wait_behind_its_request),
    IN_A_BATCH(who_wants_no_replicas_is_not_waited_for),
    IN_A_BATCH(what_is_withdrawn_takes_all_its_bytes_along),
    IN_A_BATCH(a_post_has_no_part_in_a_wait),
};
HF_SUITE(tests)
