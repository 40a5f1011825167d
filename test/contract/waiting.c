/* SPDX-License-Identifier: MIT
 *
 * waiting.c - who waits gets in, or gets out, in time and without a trace. */
#include "contract.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

/* Late is whoever must have been forgotten; early is an error of any size. */
enum { LATE = 4000 };

static hf_lock *lock_of_a_new_client(const char *name) {
    return hf_test_lock(hf_contract_open(NULL), name, NULL);
}

void a_timed_wait_ends_on_time_and_leaves_nothing(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = lock_of_a_new_client("x"),
            *b = hf_test_lock(client, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    for (int ms = 1; ms <= 300; ms *= 17) {
        int64_t began = hf_test_now_ms();
        int rc = hf_lock_acquire(b, ms, ERR);
        int64_t took = hf_test_now_ms() - began;
        /* A busy store may not have answered the last question yet. */
        hf_expect(rc == HF_EDOUBT ? HF_EDOUBT : HF_ETIMEOUT, rc);
        assert_in_range(took, ms, ms + LATE);
    }
    assert_false(hf_lock_is_held(b));
    hf_test_eventually(hf_test_waiters(client, "x") == 0, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_test_eventually(hf_test_holders(client, "x") == 0, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_try(a, ERR)); /* no late grant stands in the way */
}

void a_wait_for_ever_ends_with_the_release(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *a = lock_of_a_new_client("x"), *b = lock_of_a_new_client("x");
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    hf_test_begin(&waiter, b, HF_FOREVER);
    assert_false(atomic_load(&waiter.answered));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_true(waiter.token > token);
    hf_expect(HF_OK, hf_test_end(&waiter));
}

/* Two clients hand the lock to each other.  Its lease is long, so that who is
 * not woken looks again after seconds; twenty such naps do not fit. */
void a_release_wakes_the_waiter_without_polling(void **state) {
    (void)state;
    enum { TURNS = 20, TOO_LONG = 10000 };
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(client, "x", NULL),
            *b = lock_of_a_new_client("x");
    assert_true(hf_contract_under_test.polls || hf_test_kind == HF_SPIN ||
                hf_can(client, hf_test_kind) & HF_CAN_WAKE);
    int64_t spent = 0;
    for (int i = 0; i < TURNS; i++) {
        hf_test_thread waiter;
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        hf_test_begin(&waiter, b, HF_TEST_LONG);
        int64_t began = hf_test_now_ms();
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        hf_expect(HF_OK, hf_test_answer(&waiter));
        spent += hf_test_now_ms() - began;
        hf_expect(HF_OK, hf_test_end(&waiter));
    }
    assert_in_range(spent, 0, TOO_LONG);
}

void a_waiter_enters_when_a_fixed_lease_ends(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x",
                              HF_LOCK_WITH(.lease_ms = 400));
    hf_lock *b = lock_of_a_new_client("x");
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_false(hf_lock_is_held(a)); /* it stopped believing before */
    assert_in_range(hf_test_now_ms() - began, 0, 400 + LATE);
    assert_true(hf_lock_token(b) > token);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    assert_true(hf_lock_is_held(b));
}

void a_cancelled_wait_ends_at_once_and_leaves_nothing(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = lock_of_a_new_client("x"),
            *b = hf_test_lock(client, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_expect(HF_ECANCELLED, hf_test_cancel(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    assert_int_equal(hf_test_waiters(client, "x"), 0);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    assert_int_equal(hf_test_holders(client, "x"), 0);
}

void cancelling_ends_only_the_waits_that_are_under_way(void **state) {
    (void)state;
    hf_test_thread cancelled, other;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = lock_of_a_new_client("x");
    hf_lock *b = hf_test_lock(client, "x", NULL);
    hf_lock *c = hf_test_lock(client, "x", NULL);
    hf_lock_cancel(b); /* nobody waits: without effect on what comes */
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&cancelled, b, HF_FOREVER);
    hf_test_begin(&other, c, HF_FOREVER);
    hf_expect(HF_ECANCELLED, hf_test_cancel(&cancelled));
    hf_expect(HF_OK, hf_test_end(&cancelled));
    assert_false(atomic_load(&other.answered));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&other));
    hf_expect(HF_OK, hf_test_end(&other));
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
}

/* Redisson#2714, the race that left a lock renewed for ever: the waiter goes
 * while the grant comes.  Whatever it is told must be true. */
void a_wait_cancelled_around_its_grant_is_held_or_gone(void **state) {
    (void)state;
    hf_lock *a = lock_of_a_new_client("x"), *b = lock_of_a_new_client("x");
    for (int i = 0; i < 30; i++) {
        hf_test_thread waiter;
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        hf_test_begin(&waiter, b, HF_FOREVER);
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        if (hf_test_cancel(&waiter) == HF_OK)
            hf_expect(HF_BUSY, hf_lock_try(a, ERR));
        else
            assert_int_equal(waiter.result, HF_ECANCELLED);
        hf_expect(HF_OK, hf_test_end(&waiter));
    }
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
}

enum { CROWD = 200 };

typedef struct line {
    hf_lock *lock;
    int entered[CROWD]; /* written by whoever holds the lock */
    int n;
} line;

typedef struct person {
    pthread_t thread;
    _Atomic pid_t tid;
    line *line;
    int number, result;
} person;

static void *stand_in_line(void *arg) {
    person *p = arg;
    line *l = p->line;
    atomic_store(&p->tid, gettid());
    p->result = hf_lock_acquire(l->lock, 3 * HF_TEST_LONG, NULL);
    if (p->result == HF_OK) {
        l->entered[l->n++] = p->number;
        p->result = hf_lock_release(l->lock, NULL);
    }
    return NULL;
}

void two_hundred_waiters_enter_in_the_order_they_came(void **state) {
    (void)state;
    static person crowd[CROWD];
    line l = {.lock = lock_of_a_new_client("x")};
    hf_expect(HF_OK, hf_lock_try(l.lock, ERR));
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = (person){.line = &l, .number = i};
        pthread_create(&crowd[i].thread, NULL, stand_in_line, &crowd[i]);
        hf_test_eventually(hf_test_asleep(atomic_load(&crowd[i].tid)),
                           HF_TEST_LONG);
    }
    hf_expect(HF_OK, hf_lock_release(l.lock, ERR));
    for (int i = 0; i < CROWD; i++)
        pthread_join(crowd[i].thread, NULL);
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(crowd[i].result, HF_OK);
        assert_int_equal(l.entered[i], i);
    }
}

void when_the_first_waiter_gives_up_the_second_still_enters(void **state) {
    (void)state;
    hf_test_thread first, second;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = lock_of_a_new_client("x");
    hf_lock *b = hf_test_lock(client, "x", NULL);
    hf_lock *c = hf_test_lock(client, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&first, b, 100);
    hf_test_begin(&second, c, HF_TEST_LONG);
    hf_expect(HF_ETIMEOUT, hf_test_answer(&first));
    hf_expect(HF_OK, hf_test_end(&first));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&second));
    hf_expect(HF_OK, hf_test_end(&second));
}

/* etcd#664: after the end of a lease several were let in at once. */
void three_waiters_never_enter_together(void **state) {
    (void)state;
    hf_test_thread waiters[3];
    uint64_t last;
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x",
                              HF_LOCK_WITH(.lease_ms = 300));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    last = hf_lock_token(a);
    for (int i = 0; i < 3; i++)
        hf_test_begin(&waiters[i], lock_of_a_new_client("x"), HF_TEST_LONG);
    for (int left = 3; left > 0; left--) {
        int in = -1;
        for (int64_t by = hf_test_now_ms() + HF_TEST_LONG;
             in < 0 && hf_test_now_ms() < by; hf_test_breathe())
            for (int i = 0; i < 3; i++)
                if (waiters[i].lock != NULL &&
                    atomic_load(&waiters[i].answered))
                    in = i;
        assert_true(in >= 0);
        hf_expect(HF_OK, hf_test_answer(&waiters[in]));
        assert_true(waiters[in].token > last);
        last = waiters[in].token;
        for (int i = 0; i < 3; i++)
            assert_true(i == in || waiters[i].lock == NULL ||
                        !atomic_load(&waiters[i].answered));
        hf_expect(HF_OK, hf_test_end(&waiters[in]));
        waiters[in].lock = NULL;
    }
}

static void let_go(void *lock) {
    hf_lock_release(lock, NULL);
}

typedef struct victim {
    hf_lock *lock;
    _Atomic pid_t tid;
} victim;

static void *be_cancelled(void *arg) {
    victim *v = arg;
    atomic_store(&v->tid, gettid());
    if (hf_lock_acquire(v->lock, HF_TEST_LONG, NULL) != HF_OK)
        return NULL;
    pthread_cleanup_push(let_go, v->lock);
    pthread_testcancel(); /* not sooner */
    pthread_cleanup_pop(1);
    return NULL;
}

/* A thread that pthread_cancel ends in the middle of a call would leave its
 * claim in the store and its mutexes locked. */
void a_cancelled_thread_ends_when_its_call_has(void **state) {
    (void)state;
    pthread_t thread;
    void *ended;
    hf_lock *a = lock_of_a_new_client("x"), *b = lock_of_a_new_client("x");
    victim v = {.lock = b};
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_int_equal(pthread_create(&thread, NULL, be_cancelled, &v), 0);
    hf_test_eventually(atomic_load(&v.tid) != 0 &&
                           hf_test_asleep(atomic_load(&v.tid)),
                       HF_TEST_LONG);
    assert_int_equal(pthread_cancel(thread), 0);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    pthread_join(thread, &ended);
    assert_ptr_equal(ended, PTHREAD_CANCELED);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_release(b, ERR));
}

static void ignore(int sig) {
    (void)sig;
}

/* A thousand signals a second, none of which restarts what it interrupts. */
static void storm(bool on) {
    struct itimerval every = {{0, on ? 1000 : 0}, {0, on ? 1000 : 0}};
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = ignore}, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
}

void a_storm_of_signals_disturbs_nothing(void **state) {
    (void)state;
    hf_lock *a = lock_of_a_new_client("x"), *b = lock_of_a_new_client("x");
    storm(true);
    for (int i = 0; i < 100; i++) {
        hf_expect(HF_OK, hf_lock_try(a, ERR));
        hf_expect(HF_OK, hf_lock_release(a, ERR));
    }
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    int64_t began = hf_test_now_ms();
    hf_expect(HF_ETIMEOUT, hf_lock_acquire(b, 200, ERR));
    assert_in_range(hf_test_now_ms() - began, 200, 200 + LATE);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    storm(false);
}
