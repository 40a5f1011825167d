/* SPDX-License-Identifier: MIT
 *
 * stats.c - what somebody did with locks stands in the numbers. */
#include "contract.h"

#include "support/numbers.h"

#include <string.h>

#define KEPT_ALIVE HF_LOCK_WITH(.watchdog_ms = 2000, .renew_ms = 50)

#define expect_number(client, wanted, metric, labels)                          \
    assert_int_equal((int)hf_test_number(client, metric, labels), wanted)

static double number(hf_client *client, const char *metric,
                     const char *labels) {
    return hf_test_number(client, metric, labels);
}

void grants_and_refusals_are_counted(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_lock *b = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    assert_true(number(client, "lock_acquisitions_total", "lock=x") < 0);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    expect_number(client, 1, "lock_held", "lock=x mode=exclusive");
    hf_expect(HF_OK, hf_lock_try(a, ERR)); /* counted up, not granted */
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    expect_number(client, 0, "lock_hold_seconds", "lock=x");
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    expect_number(client, 0, "lock_held", "lock=x");
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    hf_expect(HF_BUSY, hf_lock_try(a, ERR));
    hf_expect(HF_BUSY, hf_lock_try(a, ERR));
    hf_expect(HF_ETIMEOUT, hf_lock_acquire(a, 500, ERR));
    expect_number(client, 1, "lock_acquisitions_total", "lock=x result=ok");
    expect_number(client, 2, "lock_acquisitions_total", "lock=x result=busy");
    expect_number(client, 1, "lock_acquisitions_total",
                  "lock=x result=timeout mode=exclusive");
    expect_number(client, 0, "lock_acquisitions_total", "lock=x result=error");
    expect_number(client, 2, "lock_wait_seconds", "lock=x"); /* no tries */
    expect_number(client, 1, "lock_hold_seconds", "lock=x mode=exclusive");
    expect_number(client, 0, "lock_lost_total", "lock=x");
    expect_number(client, 1, "store_up", "");
    assert_true(number(client, "store_rtt_seconds", "verb=attempt") >= 3);
    expect_number(client, 1, "store_rtt_seconds", "verb=release");
}

void who_waits_is_counted_while_it_does(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_lock *b = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    hf_test_begin(&waiter, a, HF_FOREVER);
    hf_test_eventually(number(client, "lock_waiters", "lock=x") == 1,
                       HF_TEST_LONG);
    hf_expect(HF_ECANCELLED, hf_test_cancel(&waiter));
    hf_test_end(&waiter);
    expect_number(client, 0, "lock_waiters", "lock=x");
    expect_number(client, 1, "lock_acquisitions_total",
                  "lock=x result=cancelled");
    expect_number(client, 0, "lock_acquisitions_total", "lock=x result=ok");
}

void renewals_and_loss_are_counted(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(client, "x", KEPT_ALIVE);
    hf_lock *operator_ = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_eventually(
        number(client, "lease_renewals_total", "lock=x result=ok") > 1,
        HF_TEST_LONG);
    assert_true(number(client, "store_rtt_seconds", "verb=renew") > 1);
    double slack = number(client, "lease_slack_seconds", "lock=x");
    assert_true(slack > 0 && slack < 2);
    hf_expect(HF_OK, hf_lock_force_release(operator_, NULL, ERR));
    hf_test_eventually(number(client, "lock_lost_total", "lock=x") == 1,
                       HF_TEST_LONG);
    expect_number(client, 1, "lock_lost_total", "lock=x reason=taken");
    expect_number(client, 0, "lock_held", "lock=x");
    expect_number(client, 1, "lock_hold_seconds", "lock=x");
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    expect_number(client, 1, "lock_lost_total", "lock=x");
    expect_number(client, 1, "lock_hold_seconds", "lock=x");
    expect_number(client, 1, "lease_renewals_total", "lock=x result=lost");
}

void a_lease_that_ends_by_itself_is_counted_as_such(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(client, "x", HF_LOCK_WITH(.lease_ms = 500));
    hf_lock *b = hf_test_lock(
        client, "y", HF_LOCK_WITH(.watchdog_ms = 5000, .max_hold_ms = 100));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    hf_test_eventually(number(client, "lock_lost_total", "") == 2,
                       HF_TEST_LONG);
    expect_number(client, 1, "lock_lost_total", "lock=x reason=expired");
    expect_number(client, 1, "lock_lost_total", "lock=y reason=limit");
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_expect(HF_ELOST, hf_lock_release(b, ERR));
}

/* ---- events ------------------------------------------------------------ */

typedef struct log_ {
    atomic_int granted, refused, released, lost;
    _Atomic int64_t waited_us, held_us;
    atomic_int code;
} log_;

static void write_down(void *arg, const hf_event *event) {
    log_ *log = arg;
    atomic_store(&log->waited_us, event->waited_us);
    atomic_store(&log->held_us, event->held_us);
    atomic_store(&log->code, event->code);
    if (event->kind == HF_EVENT_GRANTED)
        atomic_fetch_add(&log->granted, 1);
    if (event->kind == HF_EVENT_REFUSED)
        atomic_fetch_add(&log->refused, 1);
    if (event->kind == HF_EVENT_RELEASED)
        atomic_fetch_add(&log->released, 1);
    if (event->kind == HF_EVENT_LOST)
        atomic_fetch_add(&log->lost, 1);
}

void events_say_how_long_it_took(void **state) {
    (void)state;
    log_ log = {0};
    hf_client *client = hf_contract_open(
        HF_CLIENT_WITH(.on_event = write_down, .event_arg = &log));
    hf_lock *a = hf_test_lock(client, "x", KEPT_ALIVE);
    hf_lock *b = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    int64_t began = hf_test_now_ms(); /* whole ones: one may be missing */
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_int_equal(atomic_load(&log.granted), 1);
    hf_test_throughout(hf_lock_is_held(a), 30);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    int64_t all_ms = hf_test_now_ms() - began + 1;
    assert_int_equal(atomic_load(&log.released), 1);
    assert_true(log.held_us >= 29 * 1000 && log.held_us <= all_ms * 1000);

    hf_expect(HF_OK, hf_lock_try(b, ERR));
    hf_expect(HF_BUSY, hf_lock_try(a, ERR));
    assert_int_equal(atomic_load(&log.refused), 1);
    assert_int_equal(atomic_load(&log.code), HF_BUSY);
    hf_expect(HF_ETIMEOUT, hf_lock_acquire(a, 500, ERR));
    assert_int_equal(atomic_load(&log.refused), 2);
    assert_int_equal(atomic_load(&log.code), HF_ETIMEOUT);
    assert_true(log.waited_us >= 500 * 1000);
    hf_expect(HF_OK, hf_lock_release(b, ERR));

    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_test_throughout(hf_lock_is_held(a), 30);
    hf_expect(HF_OK, hf_lock_force_release(b, NULL, ERR));
    hf_test_eventually(atomic_load(&log.lost) == 1, HF_TEST_LONG);
    assert_true(log.held_us >= 29 * 1000);
    hf_test_free(a);
    hf_test_close(client); /* no event comes after this: log is ours again */
}
