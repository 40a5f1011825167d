/* SPDX-License-Identifier: MIT
 *
 * loss.c - a holder that no longer holds is told, once and in every way.
 *
 * Loss comes by the operator's hand here, because that works at any moment and
 * on every store; the holder learns it at its next renewal. */
#include "contract.h"

#include <string.h>

#define KEPT_ALIVE HF_LOCK_WITH(.watchdog_ms = 2000, .renew_ms = 50)

/* What the callback heard; written on the library's thread. */
typedef struct ear {
    atomic_int held, doubt, lost, why;
    int released; /* what release from the callback said */
} ear;

static void hear(void *arg, hf_lock *lock, hf_state state, int why) {
    ear *e = arg;
    (void)lock;
    atomic_store(&e->why, why);
    atomic_fetch_add(state == HF_STATE_HELD  ? &e->held :
                     state == HF_STATE_DOUBT ? &e->doubt :
                                               &e->lost,
                     1);
}

static void force(hf_client *operator_, const char *name) {
    hf_lock *lock = hf_test_lock(operator_, name, NULL);
    hf_expect(HF_OK, hf_lock_force_release(lock, NULL, ERR));
    hf_test_free(lock);
}

void a_forced_release_is_told_once_in_every_way(void **state) {
    (void)state;
    ear e = {0};
    hf_client *operator_ = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x", KEPT_ALIVE);
    hf_lock_on_state(a, hear, &e);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    assert_false(hf_test_is_told(a));
    force(operator_, "x");
    hf_test_eventually(atomic_load(&e.lost) == 1, HF_TEST_LONG);
    assert_int_equal(atomic_load(&e.why), HF_ELOST);
    assert_false(hf_lock_is_held(a));
    assert_true(hf_test_is_told(a));
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    assert_non_null(strstr(ERR->text, "'x'"));
    assert_false(hf_test_is_told(a));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_true(hf_lock_token(a) > token);
    hf_test_throughout(hf_lock_is_held(a), 200);
    assert_int_equal(atomic_load(&e.lost), 1);
}

void who_lost_must_release_before_taking_it_again(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x", KEPT_ALIVE);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    force(hf_contract_open(NULL), "x");
    hf_test_eventually(!hf_lock_is_held(a), HF_TEST_LONG);
    hf_expect(HF_ELOST, hf_lock_try(a, ERR));
    hf_expect(HF_ELOST, hf_lock_acquire(a, 1000, ERR));
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
}

/* Redisson#2515, #3194, #3712: a name was never renewed again once one renewal
 * of it had failed. */
void a_lost_lock_taken_again_is_kept_alive_again(void **state) {
    (void)state;
    hf_client *other = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x", KEPT_ALIVE);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    force(other, "x");
    hf_test_eventually(!hf_lock_is_held(a), HF_TEST_LONG);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_throughout(hf_lock_is_held(a), 2500);
    hf_expect(HF_BUSY, hf_lock_try(hf_test_lock(other, "x", NULL), ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

void who_learns_of_the_loss_by_extending_is_told(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    force(hf_contract_open(NULL), "x");
    hf_expect(HF_ELOST, hf_lock_extend(a, 60000, ERR));
    assert_false(hf_lock_is_held(a));
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
}

void every_hold_of_a_lost_lock_is_counted_down(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x", KEPT_ALIVE);
    for (int i = 0; i < 3; i++)
        hf_expect(HF_OK, hf_lock_try(a, ERR));
    force(hf_contract_open(NULL), "x");
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    for (int i = 0; i < 3; i++)
        hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_expect(HF_ENOT_OWNER, hf_lock_release(a, ERR));
    assert_false(hf_test_is_told(a));
}

void force_on_a_free_lock_says_free(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_expect(HF_EFREE, hf_lock_force_release(a, NULL, ERR));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_EFREE, hf_lock_force_release(a, NULL, ERR));
}

static void note_owner(void *arg, const hf_place *place) {
    if (place->holds)
        strncpy(arg, place->owner, 127);
}

void force_may_be_limited_to_one_owner(void **state) {
    (void)state;
    char owner[128] = "";
    hf_client *operator_ = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_lock *b = hf_test_lock(operator_, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_list(operator_, "x", note_owner, owner, ERR));
    assert_string_not_equal(owner, "");
    assert_true(hf_lock_force_release(b, "somebody else", ERR) < 0);
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_force_release(b, owner, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
}

void a_forced_release_lets_a_waiter_in_with_a_higher_token(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_lock *b = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    hf_test_begin(&waiter, b, HF_TEST_LONG);
    force(hf_contract_open(NULL), "x");
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_true(waiter.token > token);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

/* ---- events ------------------------------------------------------------ */

typedef struct log_ {
    atomic_int granted, released, lost;
    _Atomic uint64_t token;
    atomic_bool wrong_name;
} log_;

static void write_down(void *arg, const hf_event *event) {
    log_ *log = arg;
    if (strcmp(event->name, "x") != 0)
        atomic_store(&log->wrong_name, true);
    if (event->kind == HF_EVENT_GRANTED)
        atomic_fetch_add(&log->granted, 1);
    if (event->kind == HF_EVENT_RELEASED)
        atomic_fetch_add(&log->released, 1);
    if (event->kind == HF_EVENT_LOST)
        atomic_fetch_add(&log->lost, 1);
    atomic_store(&log->token, event->token);
}

void events_tell_of_grant_release_and_loss(void **state) {
    (void)state;
    log_ log = {0};
    hf_client *client = hf_contract_open(
        HF_CLIENT_WITH(.on_event = write_down, .event_arg = &log));
    hf_lock *a = hf_test_lock(client, "x", KEPT_ALIVE);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_eventually(atomic_load(&log.granted) == 1, HF_TEST_LONG);
    assert_true(atomic_load(&log.token) == hf_lock_token(a));
    hf_expect(HF_OK, hf_lock_try(a, ERR)); /* counted here, not granted */
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    assert_int_equal(atomic_load(&log.released), 0);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_test_eventually(atomic_load(&log.released) == 1, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    force(hf_contract_open(NULL), "x");
    hf_test_eventually(atomic_load(&log.lost) == 1, HF_TEST_LONG);
    assert_int_equal(atomic_load(&log.granted), 2);
    assert_false(atomic_load(&log.wrong_name));
    hf_test_free(a);
    hf_test_close(client); /* no event comes after this: log is ours again */
}

void a_callback_that_was_taken_away_is_not_called(void **state) {
    (void)state;
    ear e = {0};
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x", KEPT_ALIVE);
    hf_lock_on_state(a, hear, &e);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_lock_on_state(a, NULL, NULL);
    force(hf_contract_open(NULL), "x");
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    assert_int_equal(atomic_load(&e.lost), 0);
}

static void release_it(void *arg, hf_lock *lock, hf_state what, int why) {
    ear *e = arg;
    if (what == HF_STATE_LOST) {
        e->released = hf_lock_release(lock, NULL);
        hf_lock_on_state(lock, NULL, NULL);
        hear(arg, lock, what, why);
    }
}

void a_callback_may_release_the_lock(void **state) {
    (void)state;
    ear e = {0};
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(client, "x",
                              HF_LOCK_WITH(.watchdog_ms = 1000, .renew_ms = 50,
                                           .flags = HF_OWNER_HANDLE));
    hf_lock_on_state(a, release_it, &e);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    force(hf_contract_open(NULL), "x");
    hf_test_eventually(atomic_load(&e.lost) == 1, HF_TEST_LONG);
    assert_int_equal(e.released, HF_ELOST);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
}
