/* SPDX-License-Identifier: MIT
 *
 * latch.c - closed while its count is above zero, and open to all after. */
#include "contract.h"

#include "backend/fault.h"
#include "support/peer.h"

#include <string.h>

static hf_latch *open_latch(void) {
    return hf_test_latch(hf_contract_open(NULL), "x");
}

static hf_latch *latch_of(int count) {
    hf_latch *latch = open_latch();
    hf_expect(HF_OK, hf_latch_set(latch, count, ERR));
    return latch;
}

static int64_t left(hf_latch *latch) {
    int64_t n = INT64_MIN;
    hf_expect(HF_OK, hf_latch_count(latch, &n, ERR));
    return n;
}

void a_latch_that_nobody_set_is_open(void **state) {
    (void)state;
    hf_latch *latch = open_latch();
    assert_string_equal(hf_latch_name(latch), "x");
    assert_int_equal(left(latch), 0);
    hf_expect(HF_OK, hf_latch_wait(latch, 0, ERR));
    hf_expect(HF_OK, hf_latch_wait(latch, HF_FOREVER, ERR));
    hf_expect(HF_EUSAGE, hf_latch_wait(latch, -2, ERR));
    hf_expect(HF_EUSAGE, hf_latch_set(latch, -1, ERR));
    hf_expect(HF_OK, hf_latch_count(latch, NULL, ERR));
}

void a_latch_is_set_once(void **state) {
    (void)state;
    hf_latch *a = latch_of(3), *b = open_latch();
    hf_expect(HF_BUSY, hf_latch_set(b, 7, ERR));
    hf_expect(HF_BUSY, hf_latch_set(a, 3, ERR));
    assert_int_equal(left(b), 3);
    hf_expect(HF_BUSY, hf_latch_wait(b, 0, ERR));
}

void a_latch_opens_when_it_has_counted_down(void **state) {
    (void)state;
    hf_test_only_woken();
    hf_test_task waiter;
    hf_latch *a = latch_of(2), *b = open_latch();
    hf_test_await(&waiter, b, HF_FOREVER);
    hf_expect(HF_OK, hf_latch_count_down(a, ERR));
    assert_int_equal(left(b), 1);
    assert_false(atomic_load(&waiter.answered));
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_latch_count_down(b, ERR));
    hf_expect(HF_OK, hf_test_result(&waiter));
    assert_in_range(hf_test_now_ms() - began, 0, HF_CONTRACT_SOON);
    assert_int_equal(left(a), 0);
    hf_expect(HF_OK, hf_latch_wait(a, 0, ERR));
}

void counting_an_open_latch_down_is_harmless(void **state) {
    (void)state;
    hf_latch *latch = open_latch();
    hf_expect(HF_OK, hf_latch_count_down(latch, ERR));
    assert_int_equal(left(latch), 0);
    hf_expect(HF_OK, hf_latch_set(latch, 1, ERR)); /* it was not set by that */
    for (int i = 0; i < 3; i++)
        hf_expect(HF_OK, hf_latch_count_down(latch, ERR));
    assert_int_equal(left(latch), 0);
    hf_expect(HF_OK, hf_latch_set(latch, 2, ERR));
    assert_int_equal(left(latch), 2);
}

void a_wait_for_a_latch_ends_on_time(void **state) {
    (void)state;
    hf_latch *latch = latch_of(1);
    for (int ms = 1; ms <= 300; ms *= 17) {
        int64_t began = hf_test_now_ms();
        hf_expect(HF_ETIMEOUT, hf_latch_wait(latch, ms, ERR));
        assert_in_range(hf_test_now_ms() - began, ms, ms + 4000);
    }
    assert_non_null(strstr(ERR->text, "'x'"));
    hf_expect(HF_BUSY, hf_latch_wait(latch, 0, ERR));
    assert_int_equal(left(latch), 1);
}

void a_wait_for_a_latch_can_be_cancelled(void **state) {
    (void)state;
    hf_test_task waiter, other;
    hf_latch *a = latch_of(1), *b = open_latch();
    hf_test_await(&waiter, a, HF_FOREVER);
    hf_test_await(&other, b, HF_FOREVER);
    hf_test_eventually((hf_latch_cancel(a), atomic_load(&waiter.answered)),
                       HF_TEST_LONG);
    hf_expect(HF_ECANCELLED, hf_test_result(&waiter));
    assert_false(atomic_load(&other.answered));
    hf_expect(HF_OK, hf_latch_count_down(a, ERR));
    hf_expect(HF_OK, hf_test_result(&other));
}

/* A peer woke one of them. */
void five_who_wait_for_a_latch_all_go(void **state) {
    (void)state;
    hf_test_only_woken();
    enum { N = 5 };
    hf_test_task waiters[2 * N];
    hf_latch *a = latch_of(N), *b = open_latch();
    for (int i = 0; i < 2 * N; i++)
        hf_test_await(&waiters[i], i < N ? a : b, HF_FOREVER);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < 2 * N; j++)
            assert_false(atomic_load(&waiters[j].answered));
        hf_expect(HF_OK, hf_latch_count_down(i % 2 ? a : b, ERR));
    }
    int64_t began = hf_test_now_ms();
    for (int i = 0; i < 2 * N; i++)
        hf_expect(HF_OK, hf_test_result(&waiters[i]));
    assert_in_range(hf_test_now_ms() - began, 0, HF_CONTRACT_SOON);
}

/* Whoever waits reads the count again and again while it changes; the change
 * that matters may fall between its reading and its listening. */
void a_latch_may_open_while_a_waiter_reads_it(void **state) {
    (void)state;
    hf_test_only_woken();
    enum { N = 6, TIMES = 15 };
    hf_latch *a = open_latch(), *b = open_latch();
    for (int i = 0; i < TIMES; i++) {
        hf_test_task waiter;
        hf_expect(HF_OK, hf_latch_set(a, N, ERR));
        hf_test_await(&waiter, b, HF_FOREVER);
        for (int j = 0; j < N; j++)
            hf_expect(HF_OK, hf_latch_count_down(a, ERR));
        int64_t began = hf_test_now_ms();
        hf_expect(HF_OK, hf_test_result(&waiter));
        assert_in_range(hf_test_now_ms() - began, 0, HF_CONTRACT_SOON);
    }
}

/* A peer's deletion left them asleep. */
void deleting_a_latch_lets_its_waiters_go(void **state) {
    (void)state;
    hf_test_only_woken();
    hf_test_task waiters[2];
    hf_latch *a = latch_of(9), *b = open_latch();
    hf_test_await(&waiters[0], a, HF_FOREVER);
    hf_test_await(&waiters[1], b, HF_FOREVER);
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_latch_delete(b, ERR));
    for (int i = 0; i < 2; i++)
        hf_expect(HF_OK, hf_test_result(&waiters[i]));
    assert_in_range(hf_test_now_ms() - began, 0, HF_CONTRACT_SOON);
    assert_int_equal(left(a), 0);
    hf_expect(HF_EFREE, hf_latch_delete(a, ERR));
    hf_expect(HF_EFREE, hf_latch_delete(open_latch(), ERR));
}

void a_latch_can_be_set_again_once_it_has_opened(void **state) {
    (void)state;
    hf_latch *a = open_latch(), *b = open_latch();
    for (int i = 0; i < 5; i++) {
        hf_test_task waiter;
        hf_expect(HF_OK, hf_latch_set(a, 1, ERR));
        hf_test_await(&waiter, b, HF_FOREVER);
        assert_false(atomic_load(&waiter.answered));
        hf_expect(HF_OK, hf_latch_count_down(a, ERR));
        hf_expect(HF_OK, hf_test_result(&waiter));
    }
}

void a_lost_answer_counts_a_latch_down_once(void **state) {
    (void)state;
    hf_backend *trouble;
    hf_latch *latch = open_latch();
    hf_latch *a = hf_test_latch(hf_contract_open_troubled(&trouble), "x");
    hf__fault_set(trouble, HF_VERB_COUNT, HF_TROUBLE_UNANSWERED, 2);
    hf_expect(HF_OK, hf_latch_set(a, 3, ERR));
    hf__fault_set(trouble, HF_VERB_COUNT, HF_TROUBLE_UNANSWERED, 2);
    hf_expect(HF_OK, hf_latch_count_down(a, ERR));
    assert_int_equal(left(latch), 2);
    hf__fault_set(trouble, HF_VERB_COUNT, HF_TROUBLE_TWICE, 1);
    hf_expect(HF_OK, hf_latch_count_down(a, ERR));
    assert_int_equal(left(latch), 1);
    hf__fault_set(trouble, HF_VERB_COUNT, HF_TROUBLE_UNANSWERED, 1);
    hf_expect(HF_OK, hf_latch_count_down(a, ERR));
    hf_expect(HF_OK, hf_latch_set(latch, 5, ERR)); /* another one by now */
    assert_int_equal(left(latch), 5);
    hf__fault_set(trouble, HF_VERB_COUNT, HF_TROUBLE_UNANSWERED, 1);
    hf_expect(HF_OK, hf_latch_delete(a, ERR));
}

void a_lost_message_does_not_keep_a_latch_closed(void **state) {
    (void)state;
    hf_test_task waiters[3];
    hf_backend *trouble;
    hf_latch *latch = latch_of(1);
    hf_latch *a = hf_test_latch(hf_contract_open_troubled(&trouble), "x");
    hf__fault_set(trouble, HF_VERB_WATCH, HF_TROUBLE_MUTE, -1);
    for (int i = 0; i < 3; i++)
        hf_test_await(&waiters[i], a, HF_FOREVER);
    hf_expect(HF_OK, hf_latch_count_down(latch, ERR));
    int64_t began = hf_test_now_ms();
    for (int i = 0; i < 3; i++)
        hf_expect(HF_OK, hf_test_result(&waiters[i]));
    assert_in_range(hf_test_now_ms() - began, 0, 10000);
}

typedef struct seen {
    int n;
    int64_t count;
} seen;

static void look(void *arg, const hf_place *place) {
    seen *s = arg;
    if (strcmp(place->kind, "latch") == 0 && strcmp(place->name, "x") == 0) {
        assert_string_equal(place->owner, "");
        s->n++;
        s->count = place->count;
    }
}

/* In Redis it is a number like any other, unless somebody waits for it. */
void the_list_shows_a_latch_and_its_count(void **state) {
    (void)state;
    seen s = {0, 0};
    hf_test_task waiter;
    hf_client *client = hf_contract_open(NULL);
    hf_latch *latch = latch_of(4);
    hf_expect(HF_OK, hf_latch_count_down(latch, ERR));
    hf_test_await(&waiter, latch, HF_FOREVER);
    hf_expect(HF_OK, hf_list(client, "x", look, &s, ERR));
    assert_int_equal(s.n, 1);
    assert_int_equal(s.count, 3);
    hf_expect(HF_OK, hf_latch_delete(latch, ERR));
    hf_expect(HF_OK, hf_test_result(&waiter));
    s = (seen){0, 0};
    hf_expect(HF_OK, hf_list(client, "x", look, &s, ERR));
    assert_int_equal(s.n, 0);
}

void a_latch_that_is_null_is_refused(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_latch *latch = (hf_latch *)client; /* must become NULL */
    hf_expect(HF_EUSAGE, hf_latch_new(NULL, client, "x", ERR));
    hf_expect(HF_EUSAGE, hf_latch_new(&latch, NULL, "x", ERR));
    hf_expect(HF_ENAME, hf_latch_new(&latch, client, "", ERR));
    assert_null(latch);
    hf_expect(HF_ENAME, hf_latch_new(&latch, client, "x{}y", ERR));
    hf_expect(HF_EUSAGE, hf_latch_set(NULL, 1, ERR));
    hf_expect(HF_EUSAGE, hf_latch_count_down(NULL, ERR));
    hf_expect(HF_EUSAGE, hf_latch_count(NULL, NULL, ERR));
    hf_expect(HF_EUSAGE, hf_latch_wait(NULL, 0, ERR));
    hf_expect(HF_EUSAGE, hf_latch_delete(NULL, ERR));
    hf_latch_cancel(NULL);
    hf_latch_free(NULL);
    assert_string_equal(hf_latch_name(NULL), "");
    latch = hf_test_latch(client, "a{t}b"); /* without an error to fill */
    assert_int_equal(hf_latch_set(latch, 1, NULL), HF_OK);
    assert_int_equal(hf_latch_wait(latch, 0, NULL), HF_BUSY);
    assert_int_equal(hf_latch_count_down(latch, NULL), HF_OK);
    assert_int_equal(hf_latch_delete(latch, NULL), HF_EFREE);
}

void a_latch_is_counted_down_by_another_process(void **state) {
    (void)state;
    hf_test_only_woken();
    hf_test_task waiter;
    hf_latch *latch = latch_of(2);
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_peer_ask(peer, "latch 0 x");
    hf_test_await(&waiter, latch, HF_FOREVER);
    assert_string_equal(hf_test_peer_ask(peer, "down 0"), "OK");
    assert_string_equal(hf_test_peer_ask(peer, "left 0"), "OK 1");
    assert_false(atomic_load(&waiter.answered));
    int64_t began = hf_test_now_ms();
    assert_string_equal(hf_test_peer_ask(peer, "down 0"), "OK");
    hf_expect(HF_OK, hf_test_result(&waiter));
    hf_expect(HF_OK, hf_latch_set(latch, 1, ERR));
    hf_test_peer_send(peer, "await 0 %d", HF_TEST_LONG);
    assert_null(hf_test_peer_answer(peer, 50));
    hf_expect(HF_OK, hf_latch_count_down(latch, ERR));
    assert_string_equal(hf_test_peer_answer(peer, HF_TEST_LONG), "OK");
    assert_in_range(hf_test_now_ms() - began, 0, HF_CONTRACT_SOON);
    hf_test_peer_stop(peer);
}
