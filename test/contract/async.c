/* SPDX-License-Identifier: MIT
 *
 * async.c - what is begun without waiting: told once, in hf_process, and with
 * the same answer that the waiting form would have had. */
#include "contract.h"

#include "client.h"
#include "support/loop.h"

#include <string.h>
#include <unistd.h>

#define OWNED HF_LOCK_WITH(.flags = HF_OWNER_HANDLE)

static hf_lock *owned(hf_client *client) {
    return hf_test_lock(client, "x", OWNED);
}

void what_is_begun_is_told_in_process_and_nowhere_else(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = owned(client), *b = owned(hf_contract_open(NULL));
    hf_test_told told = {0};
    hf_expect(HF_OK,
              hf_lock_acquire_async(a, HF_FOREVER, hf_test_tell, &told, ERR));
    hf_test_eventually(hf_test_readable(client), HF_TEST_LONG);
    assert_int_equal(told.n, 0);
    assert_int_equal(hf_process(client), 1);
    assert_int_equal(told.n, 1);
    hf_expect(HF_OK, told.rc);
    assert_false(hf_test_readable(client));
    assert_int_equal(hf_process(client), 0);
    assert_true(hf_lock_is_held(a));
    assert_true(hf_lock_token(a) > 0);
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_release_async(a, hf_test_tell, &told, ERR));
    assert_false(hf_lock_is_held(a));
    hf_test_pump(client, told.n == 2);
    hf_expect(HF_OK, told.rc);
    hf_expect(HF_OK, hf_lock_try(b, ERR));
}

void what_is_begun_answers_as_the_waiting_form_does(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = owned(client), *b = owned(hf_contract_open(NULL));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    hf_expect(HF_BUSY, hf_test_acquired(client, a, 0));
    hf_expect(HF_ETIMEOUT, hf_test_acquired(client, a, 60));
    assert_non_null(strstr(hf_test_error.text, "'x'"));
    hf_expect(HF_ENOT_OWNER, hf_test_released(client, a));
    assert_int_equal(hf_test_waiters(client, "x"), 0);
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    hf_expect(HF_OK, hf_test_acquired(client, a, 0));
    hf_expect(HF_OK, hf_test_acquired(client, a, 0)); /* again */
    assert_int_equal(hf_lock_holds(a), 2);
    hf_expect(HF_OK, hf_test_released(client, a));
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_test_released(client, a));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
}

/* It has asked, was told no, and listens. */
static bool rests(hf_lock *lock) {
    pthread_mutex_lock(&lock->spot->mu);
    bool since = lock->spot->first && lock->spot->first->since;
    pthread_mutex_unlock(&lock->spot->mu);
    return since;
}

void a_wait_that_was_begun_ends_with_the_release(void **state) {
    (void)state;
    hf_test_only_woken();
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = owned(client), *b = owned(hf_contract_open(NULL));
    hf_test_told told = {0};
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    uint64_t token = hf_lock_token(b);
    hf_expect(HF_OK,
              hf_lock_acquire_async(a, HF_FOREVER, hf_test_tell, &told, ERR));
    hf_test_pump(client, rests(a));
    assert_int_equal(told.n, 0);
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    hf_test_pump(client, told.n == 1);
    hf_expect(HF_OK, told.rc);
    assert_true(hf_lock_token(a) > token);
}

void a_wait_that_was_begun_can_be_cancelled(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = owned(client), *b = owned(hf_contract_open(NULL));
    hf_test_told told = {0};
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    hf_expect(HF_OK,
              hf_lock_acquire_async(a, HF_FOREVER, hf_test_tell, &told, ERR));
    hf_lock_cancel(a); /* at once is not too early */
    hf_test_pump(client, told.n == 1);
    hf_expect(HF_ECANCELLED, told.rc);
    hf_test_eventually(hf_test_waiters(client, "x") == 0, HF_TEST_LONG);
}

void who_is_freed_while_it_waits_is_not_told(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = owned(client), *b = owned(hf_contract_open(NULL));
    hf_test_told told = {0};
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    hf_expect(HF_OK,
              hf_lock_acquire_async(a, HF_FOREVER, hf_test_tell, &told, ERR));
    hf_test_free(a);
    assert_int_equal(hf_process(client), 0);
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    hf_lock *c = owned(client);
    hf_expect(HF_OK, hf_lock_acquire(c, HF_TEST_LONG, ERR));
    assert_int_equal(told.n, 0);
}

void a_grant_that_nobody_heard_of_goes_back(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = owned(client), *b = owned(hf_contract_open(NULL));
    hf_test_told told = {0};
    hf_expect(HF_OK,
              hf_lock_acquire_async(a, HF_FOREVER, hf_test_tell, &told, ERR));
    hf_test_eventually(hf_test_readable(client), HF_TEST_LONG);
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_test_free(a);
    assert_false(hf_test_readable(client));
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_int_equal(told.n, 0);
}

/* ---- in the callback --------------------------------------------------- */

typedef struct end {
    hf_client *client;
    hf_lock *lock;
    int told;
} end;

static void free_and_close(void *arg, int rc, const hf_error *err) {
    end *e = arg;
    (void)err;
    assert_int_equal(hf_process(e->client), HF_EUSAGE);
    e->told += rc == HF_OK;
    hf_test_free(e->lock);
    hf_test_close(e->client);
}

void a_callback_may_free_the_lock_and_close_the_client(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    end e = {.client = client, .lock = owned(client)};
    hf_lock *b = owned(hf_contract_open(NULL));
    hf_expect(HF_OK, hf_lock_acquire_async(e.lock, HF_FOREVER, free_and_close,
                                           &e, ERR));
    while (e.told == 0) {
        hf_test_await_readable(client);
        hf_process(client);
    }
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
}

/* ---- many, in one thread ----------------------------------------------- */

enum { CROWD = 60, TURNS = 3 };

typedef struct crowd {
    hf_lock *locks[CROWD];
    int inside, passed, failed;
    uint64_t token;
} crowd;

typedef struct member {
    crowd *all;
    hf_lock *lock;
    int turns;
} member;

static void enter(void *arg, int rc, const hf_error *err);

static void leave(void *arg, int rc, const hf_error *err) {
    member *m = arg;
    (void)err;
    m->all->failed += rc != HF_OK;
    if (++m->turns < TURNS)
        m->all->failed +=
            hf_lock_acquire_async(m->lock, HF_FOREVER, enter, m, NULL) != HF_OK;
}

static void enter(void *arg, int rc, const hf_error *err) {
    member *m = arg;
    crowd *all = m->all;
    (void)err;
    uint64_t token = hf_lock_token(m->lock);
    all->failed += rc != HF_OK || all->inside++ != 0 || token <= all->token;
    all->token = token;
    all->passed++;
    all->inside--;
    all->failed += hf_lock_release_async(m->lock, leave, m, NULL) != HF_OK;
}

void many_in_one_thread_enter_one_by_one(void **state) {
    (void)state;
    hf_client *one = hf_contract_open(NULL), *two = hf_contract_open(NULL);
    crowd all = {0};
    member members[CROWD];
    for (int i = 0; i < CROWD; i++) {
        members[i] = (member){&all, owned(i % 8 ? one : two), 0};
        hf_expect(HF_OK, hf_lock_acquire_async(members[i].lock, HF_FOREVER,
                                               enter, &members[i], ERR));
    }
    int by_now = 0;
    int64_t by = hf_test_now_ms() + HF_TEST_LONG;
    while (all.passed < CROWD * TURNS) {
        hf_process(one);
        hf_process(two);
        if (all.passed != by_now)
            by = hf_test_now_ms() + HF_TEST_LONG;
        assert_true(hf_test_now_ms() < by);
        by_now = all.passed;
        hf_test_breathe();
    }
    assert_int_equal(all.failed, 0);
    for (int i = 0; i < CROWD; i++) {
        hf_client *client = i % 8 ? one : two;
        hf_test_pump(client, members[i].turns == TURNS);
    }
    assert_int_equal(all.failed, 0);
}

void threads_and_a_loop_wait_in_one_line(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = owned(client), *b = owned(client), *c = owned(client);
    hf_test_told told = {0};
    hf_test_thread thread;
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&thread, b, HF_FOREVER);
    hf_expect(HF_OK,
              hf_lock_acquire_async(c, HF_FOREVER, hf_test_tell, &told, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&thread));
    assert_int_equal(told.n, 0);
    hf_expect(HF_OK, hf_test_end(&thread));
    hf_test_pump(client, told.n == 1);
    hf_expect(HF_OK, told.rc);
    assert_true(hf_lock_is_held(c));
}

/* ---- the other verbs --------------------------------------------------- */

void leases_are_set_anew_without_waiting(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(
        client, "x", HF_LOCK_WITH(.flags = HF_OWNER_HANDLE, .lease_ms = 20000));
    hf_lock *b = owned(hf_contract_open(NULL));
    hf_test_told told = {0};
    hf_expect(HF_OK, hf_test_acquired(client, a, HF_FOREVER));
    hf_expect(HF_OK, hf_lock_extend_async(a, 40000, hf_test_tell, &told, ERR));
    hf_test_pump(client, told.n == 1);
    hf_expect(HF_OK, told.rc);
    assert_true(hf_lock_remaining_ms(a) > hf_contract_believed(40000) - 15000);
    hf_expect(HF_OK,
              hf_lock_release_after_async(a, 300, hf_test_tell, &told, ERR));
    hf_test_pump(client, told.n == 2);
    hf_expect(HF_OK, told.rc);
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
}

void several_locks_are_taken_without_waiting(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL), *other = hf_contract_open(NULL);
    hf_lock *both = HF_MULTI_OF(hf_test_lock(client, "x", OWNED),
                                hf_test_lock(client, "y", OWNED));
    hf_lock *y = hf_test_lock(other, "y", OWNED);
    hf_test_told told = {0};
    hf_expect(HF_OK, hf_test_acquired(client, both, HF_FOREVER));
    hf_expect(HF_BUSY, hf_lock_try(y, ERR));
    hf_expect(HF_OK, hf_test_released(client, both));
    hf_expect(HF_OK, hf_lock_acquire(y, HF_TEST_LONG, ERR));
    hf_expect(HF_BUSY, hf_test_acquired(client, both, 0));
    hf_expect(HF_ETIMEOUT, hf_test_acquired(client, both, 60));
    hf_expect(HF_OK, hf_lock_acquire_async(both, HF_FOREVER, hf_test_tell,
                                           &told, ERR));
    hf_lock_cancel(both);
    hf_test_pump(client, told.n == 1);
    hf_expect(HF_ECANCELLED, told.rc);
    hf_expect(HF_OK, hf_lock_acquire_async(both, HF_FOREVER, hf_test_tell,
                                           &told, ERR));
    hf_expect(HF_OK, hf_lock_release(y, ERR));
    hf_test_pump(client, told.n == 2);
    hf_expect(HF_OK, told.rc);
    assert_true(hf_lock_is_held(both));
}

void a_job_is_begun_and_ended_without_waiting(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL), *other = hf_contract_open(NULL);
    hf_job *a = NULL, *b = (hf_job *)&a;
    hf_test_told told = {0};
    hf_expect(HF_OK, hf_job_begin_async(&a, client, "nightly", NULL,
                                        hf_test_tell, &told, ERR));
    hf_test_pump(client, told.n == 1);
    hf_expect(HF_OK, told.rc);
    assert_true(hf_lock_is_held(hf_job_lock(a)));
    hf_expect(HF_OK, hf_job_begin_async(&b, other, "nightly", NULL,
                                        hf_test_tell, &told, ERR));
    hf_test_pump(other, told.n == 2);
    hf_expect(HF_BUSY, told.rc);
    assert_null(b);
    hf_expect(HF_OK, hf_job_end_async(a, hf_test_tell, &told, ERR));
    hf_test_pump(client, told.n == 3);
    hf_expect(HF_OK, told.rc);
    hf_expect(HF_OK, hf_job_begin(&b, other, "nightly", NULL, ERR));
    hf_expect(HF_OK, hf_job_end(b, ERR));
}

void permits_are_taken_and_given_without_waiting(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_semaphore *sem = hf_test_semaphore(client, "s");
    hf_test_told took = {0}, gave = {0};
    hf_expect(HF_OK, hf_semaphore_set(sem, 1, 0, ERR));
    hf_expect(HF_OK, hf_semaphore_acquire_async(sem, 1, HF_FOREVER,
                                                hf_test_tell, &took, ERR));
    hf_test_pump(client, took.n == 1);
    hf_expect(HF_OK, took.rc);
    hf_expect(HF_OK, hf_semaphore_acquire_async(sem, 1, HF_FOREVER,
                                                hf_test_tell, &took, ERR));
    hf_expect(HF_OK,
              hf_semaphore_release_async(sem, 1, hf_test_tell, &gave, ERR));
    hf_test_pump(client, took.n == 2 && gave.n == 1);
    hf_expect(HF_OK, took.rc);
    hf_expect(HF_OK, gave.rc);
    hf_expect(HF_OK, hf_semaphore_acquire_async(sem, 1, HF_FOREVER,
                                                hf_test_tell, &took, ERR));
    hf_semaphore_cancel(sem);
    hf_test_pump(client, took.n == 3);
    hf_expect(HF_ECANCELLED, took.rc);
}

void a_latch_is_awaited_without_waiting(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_latch *latch = hf_test_latch(client, "l");
    hf_test_told open = {0}, down = {0};
    hf_expect(HF_OK, hf_latch_set(latch, 2, ERR));
    hf_expect(HF_OK,
              hf_latch_wait_async(latch, HF_FOREVER, hf_test_tell, &open, ERR));
    hf_expect(HF_OK,
              hf_latch_count_down_async(latch, hf_test_tell, &down, ERR));
    hf_test_pump(client, down.n == 1);
    assert_int_equal(open.n, 0);
    hf_latch_cancel(latch);
    hf_test_pump(client, open.n == 1);
    hf_expect(HF_ECANCELLED, open.rc);
    hf_expect(HF_OK,
              hf_latch_wait_async(latch, HF_FOREVER, hf_test_tell, &open, ERR));
    hf_expect(HF_OK,
              hf_latch_count_down_async(latch, hf_test_tell, &down, ERR));
    hf_test_pump(client, open.n == 2 && down.n == 2);
    hf_expect(HF_OK, open.rc);
    hf_expect(HF_OK, down.rc);
}

/* ---- states and events ------------------------------------------------- */

typedef struct news {
    pthread_t thread;
    int lost, events, wrong;
} news;

static void on_lost(void *arg, hf_lock *lock, hf_state state, int why) {
    news *heard = arg;
    (void)why;
    heard->wrong += !pthread_equal(heard->thread, pthread_self());
    if (state == HF_STATE_LOST) {
        heard->lost++;
        hf_test_free(lock);
    }
}

static void on_event(void *arg, const hf_event *event) {
    news *heard = arg;
    heard->wrong += !pthread_equal(heard->thread, pthread_self()) ||
                    strcmp(event->name, "x") != 0;
    heard->events++;
}

void in_a_loop_loss_is_told_there_and_the_lock_may_be_freed(void **state) {
    (void)state;
    news heard = {.thread = pthread_self()};
    hf_client *client = hf_contract_open(
        HF_CLIENT_WITH(.loop = true, .lease_ms = 600, .on_event = on_event,
                       .event_arg = &heard));
    hf_lock *a = owned(client), *b = owned(hf_contract_open(NULL));
    hf_lock_on_state(a, on_lost, &heard);
    hf_expect(HF_OK, hf_test_acquired(client, a, HF_FOREVER));
    hf_expect(HF_OK, hf_lock_force_release(b, NULL, ERR));
    hf_test_eventually(hf_test_readable(client), HF_TEST_LONG);
    hf_test_eventually(!hf_lock_is_held(a), HF_TEST_LONG);
    assert_int_equal(heard.lost, 0);
    hf_test_pump(client, heard.lost == 1);
    hf_test_pump(client, heard.events >= 2); /* granted, lost */
    assert_int_equal(heard.wrong, 0);
}

static void count_lost(void *arg, hf_lock *lock, hf_state state, int why) {
    (void)lock, (void)why;
    *(int *)arg += state == HF_STATE_LOST;
}

void in_a_loop_a_new_callback_hears_what_nobody_was_told(void **state) {
    (void)state;
    int old = 0, new = 0;
    hf_client *client =
        hf_contract_open(HF_CLIENT_WITH(.loop = true, .lease_ms = 600));
    hf_lock *a = owned(client), *b = owned(hf_contract_open(NULL));
    hf_lock_on_state(a, count_lost, &old);
    hf_expect(HF_OK, hf_test_acquired(client, a, HF_FOREVER));
    hf_expect(HF_OK, hf_lock_force_release(b, NULL, ERR));
    hf_test_eventually(hf_test_readable(client), HF_TEST_LONG);
    hf_test_eventually(!hf_lock_is_held(a), HF_TEST_LONG);
    hf_lock_on_state(a, count_lost, &new);
    hf_test_pump(client, new == 1);
    assert_int_equal(old, 0);
    hf_lock_on_state(a, NULL, NULL);
}

/* ---- misuse ------------------------------------------------------------ */

static int count_calls(void *arg, hf_error *err) {
    (void)err;
    ++*(atomic_int *)arg;
    return HF_EFREE;
}

void what_cannot_be_begun_is_refused_in_words(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *mine = hf_test_lock(client, "x", NULL);
    hf_test_told told = {0};
    hf_expect(HF_EUSAGE,
              hf_lock_acquire_async(mine, 0, hf_test_tell, &told, ERR));
    assert_non_null(strstr(hf_test_error.text, "HF_OWNER_HANDLE"));
    hf_expect(HF_EUSAGE, hf_lock_acquire_async(NULL, 0, NULL, NULL, ERR));
    hf_expect(HF_EUSAGE,
              hf_lock_acquire_async(owned(client), -2, NULL, NULL, ERR));
    hf_expect(HF_EUSAGE, hf_lock_release_async(mine, NULL, NULL, ERR));
    hf_expect(HF_EUSAGE, hf_call_async(client, NULL, NULL, NULL, ERR));
    hf_expect(HF_EUSAGE, hf_fd(NULL));
    hf_expect(HF_EUSAGE, hf_process(NULL));
    assert_int_equal(hf_process(client), 0);
    assert_int_equal(told.n, 0);
}

void anything_may_be_called_on_a_thread_of_the_librarys(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    atomic_int calls = 0;
    hf_expect(HF_OK, hf_call_async(client, count_calls, NULL, &calls, ERR));
    hf_test_pump(client, calls == 1);
    hf_expect(HF_OK, hf_call_async(client, count_calls, NULL, &calls, ERR));
    hf_test_close(client); /* waits for it */
    assert_int_equal(calls, 2);
}
