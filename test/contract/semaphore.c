/* SPDX-License-Identifier: MIT
 *
 * semaphore.c - permits that are nobody's: they add up, whoever gives them,
 * and count once, whatever is lost on the way. */
#include "contract.h"

#include "backend/fault.h"
#include "client.h"
#include "support/dir.h"
#include "support/guarded.h"
#include "support/peer.h"

#include <limits.h>
#include <signal.h>
#include <string.h>

static hf_semaphore *open_semaphore(void) {
    return hf_test_semaphore(hf_contract_open(NULL), "x");
}

static hf_semaphore *semaphore_of(int permits) {
    hf_semaphore *sem = open_semaphore();
    hf_expect(HF_OK, hf_semaphore_set(sem, permits, 0, ERR));
    return sem;
}

static int64_t available(hf_semaphore *sem) {
    int64_t n = INT64_MIN, leased = INT64_MIN;
    hf_expect(HF_OK, hf_semaphore_count(sem, &n, &leased, ERR));
    assert_int_equal(leased, 0);
    return n;
}

static int try_to_take(hf_semaphore *sem, int n) {
    return hf_semaphore_acquire(sem, n, 0, ERR);
}

/* ---- the number -------------------------------------------------------- */

void a_semaphore_that_nobody_set_has_nothing(void **state) {
    (void)state;
    hf_semaphore *sem = open_semaphore();
    assert_string_equal(hf_semaphore_name(sem), "x");
    assert_int_equal(available(sem), 0);
    hf_expect(HF_BUSY, try_to_take(sem, 1));
    hf_expect(HF_ETIMEOUT, hf_semaphore_acquire(sem, 1, 50, ERR));
    assert_int_equal(available(sem), 0);
}

void the_first_to_set_a_semaphore_wins(void **state) {
    (void)state;
    hf_semaphore *a = semaphore_of(3), *b = open_semaphore();
    hf_expect(HF_BUSY, hf_semaphore_set(b, 10, 0, ERR));
    assert_int_equal(available(b), 3);
    hf_expect(HF_OK, try_to_take(a, 3));
    hf_expect(HF_BUSY, hf_semaphore_set(b, 10, 0, ERR)); /* none is a number */
    assert_int_equal(available(b), 0);
}

void a_semaphore_set_for_a_while_vanishes(void **state) {
    (void)state;
    hf_semaphore *sem = open_semaphore();
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_semaphore_set(sem, 4, 400, ERR));
    hf_expect(HF_OK, try_to_take(sem, 1));
    hf_expect(HF_OK, hf_semaphore_release(sem, 2, ERR));
    hf_test_eventually(available(sem) == 0, HF_TEST_LONG);
    assert_in_range(hf_test_now_ms() - began, 380, HF_TEST_LONG);
    hf_expect(HF_EFREE, hf_semaphore_release_if_set(sem, 1, ERR));
    hf_expect(HF_OK, hf_semaphore_set(sem, 2, 0, ERR));
}

void permits_add_up(void **state) {
    (void)state;
    hf_semaphore *a = semaphore_of(5), *b = open_semaphore();
    hf_expect(HF_OK, try_to_take(a, 2));
    assert_int_equal(available(b), 3);
    hf_expect(HF_BUSY, try_to_take(b, 4));
    assert_int_equal(available(b), 3); /* a refusal takes nothing */
    hf_expect(HF_OK, try_to_take(b, 3));
    hf_expect(HF_BUSY, try_to_take(a, 1));
    hf_expect(HF_OK, hf_semaphore_release(b, 1, ERR));
    hf_expect(HF_OK, hf_semaphore_release(a, 4, ERR));
    assert_int_equal(available(a), 5);
    hf_expect(HF_OK, hf_semaphore_add(a, 3, ERR));
    assert_int_equal(available(b), 8);
    hf_expect(HF_OK, try_to_take(b, 8));
    assert_int_equal(available(a), 0);
}

void to_take_nothing_always_succeeds(void **state) {
    (void)state;
    hf_semaphore *sem = open_semaphore();
    hf_expect(HF_OK, try_to_take(sem, 0));
    hf_expect(HF_OK, hf_semaphore_acquire(sem, 0, HF_FOREVER, ERR));
    hf_expect(HF_EFREE, hf_semaphore_delete(sem, ERR)); /* and makes nothing */
    hf_expect(HF_EUSAGE, try_to_take(sem, -1));
    hf_expect(HF_EUSAGE, hf_semaphore_release(sem, -1, ERR));
    hf_expect(HF_EUSAGE, hf_semaphore_release_if_set(sem, -1, ERR));
    hf_expect(HF_EUSAGE, hf_semaphore_set(sem, -1, 0, ERR));
    hf_expect(HF_EUSAGE, hf_semaphore_set(sem, 1, -1, ERR));
    hf_expect(HF_EUSAGE, hf_semaphore_resize(sem, -1, ERR));
    hf_expect(HF_EUSAGE, hf_semaphore_acquire(sem, 1, -2, ERR));
    assert_int_equal(available(sem), 0);
}

void whoever_likes_gives_permits(void **state) {
    (void)state;
    hf_semaphore *a = open_semaphore(), *b = open_semaphore();
    hf_expect(HF_OK, hf_semaphore_release(a, 2, ERR)); /* out of nothing */
    assert_int_equal(available(b), 2);
    hf_expect(HF_OK, try_to_take(b, 2));
    hf_expect(HF_BUSY, hf_semaphore_set(a, 9, 0, ERR));
    hf_expect(HF_OK, hf_semaphore_release(a, 3, ERR));
    assert_int_equal(available(b), 3);
}

void a_semaphore_that_is_not_set_can_be_left_so(void **state) {
    (void)state;
    hf_semaphore *sem = open_semaphore();
    hf_expect(HF_EFREE, hf_semaphore_release_if_set(sem, 3, ERR));
    assert_int_equal(available(sem), 0);
    hf_expect(HF_OK, hf_semaphore_set(sem, 0, 0, ERR));
    hf_expect(HF_OK, hf_semaphore_release_if_set(sem, 3, ERR));
    assert_int_equal(available(sem), 3);
}

void permits_may_become_less_than_none_and_recover(void **state) {
    (void)state;
    hf_semaphore *sem = semaphore_of(10);
    hf_expect(HF_OK, try_to_take(sem, 5));
    hf_expect(HF_OK, hf_semaphore_add(sem, -10, ERR));
    assert_int_equal(available(sem), -5);
    hf_expect(HF_BUSY, try_to_take(sem, 1));
    hf_expect(HF_OK, hf_semaphore_release(sem, 5, ERR));
    hf_expect(HF_BUSY, try_to_take(sem, 1));
    hf_expect(HF_OK, hf_semaphore_add(sem, 5, ERR));
    hf_expect(HF_OK, try_to_take(sem, 5));
    assert_int_equal(available(sem), 0);
}

void draining_takes_what_is_free(void **state) {
    (void)state;
    int64_t taken = -1;
    hf_semaphore *sem = open_semaphore();
    hf_expect(HF_OK, hf_semaphore_drain(sem, &taken, ERR));
    assert_int_equal(taken, 0);
    hf_expect(HF_EFREE, hf_semaphore_delete(sem, ERR)); /* it made nothing */
    hf_expect(HF_OK, hf_semaphore_set(sem, 10, 0, ERR));
    hf_expect(HF_OK, try_to_take(sem, 3));
    hf_expect(HF_OK, hf_semaphore_drain(sem, &taken, ERR));
    assert_int_equal(taken, 7);
    assert_int_equal(available(sem), 0);
    hf_expect(HF_OK, hf_semaphore_drain(sem, NULL, ERR));
    hf_expect(HF_OK, hf_semaphore_add(sem, -2, ERR));
    hf_expect(HF_OK, hf_semaphore_drain(sem, &taken, ERR));
    assert_int_equal(taken, 0);
    assert_int_equal(available(sem), -2); /* nothing is made up for */
}

void a_semaphore_is_resized(void **state) {
    (void)state;
    hf_semaphore *sem = open_semaphore();
    hf_expect(HF_OK, hf_semaphore_resize(sem, 4, ERR));
    assert_int_equal(available(sem), 4);
    hf_expect(HF_BUSY, hf_semaphore_set(sem, 9, 0, ERR));
    hf_expect(HF_OK, hf_semaphore_resize(sem, 2, ERR));
    assert_int_equal(available(sem), 2);
    hf_expect(HF_OK, hf_semaphore_resize(sem, 0, ERR));
    assert_int_equal(available(sem), 0);
}

void a_deleted_semaphore_is_gone(void **state) {
    (void)state;
    hf_semaphore *a = semaphore_of(3), *b = open_semaphore();
    hf_expect(HF_OK, hf_semaphore_delete(b, ERR));
    assert_int_equal(available(a), 0);
    hf_expect(HF_BUSY, try_to_take(a, 1));
    hf_expect(HF_EFREE, hf_semaphore_delete(a, ERR));
    hf_expect(HF_OK, hf_semaphore_set(a, 1, 0, ERR));
}

void a_semaphore_bears_the_largest_numbers(void **state) {
    (void)state;
    hf_semaphore *sem = semaphore_of(INT_MAX);
    if (hf_contract_under_test.small_numbers) {
        hf_expect(HF_EUSAGE, hf_semaphore_release(sem, 1, ERR));
        assert_int_equal(available(sem), INT_MAX);
    } else {
        hf_expect(HF_OK, hf_semaphore_release(sem, INT_MAX, ERR));
        assert_true(available(sem) == 2 * (int64_t)INT_MAX);
        hf_expect(HF_OK, try_to_take(sem, INT_MAX));
    }
    hf_expect(HF_OK, try_to_take(sem, INT_MAX));
    assert_int_equal(available(sem), 0);
    hf_expect(HF_OK, hf_semaphore_add(sem, INT_MIN + 1, ERR));
    assert_true(available(sem) == -(int64_t)INT_MAX);
}

/* ---- waiting ----------------------------------------------------------- */

void a_wait_for_permits_ends_on_time(void **state) {
    (void)state;
    hf_semaphore *sem = semaphore_of(2);
    for (int ms = 1; ms <= 300; ms *= 17) {
        int64_t began = hf_test_now_ms();
        hf_expect(HF_ETIMEOUT, hf_semaphore_acquire(sem, 3, ms, ERR));
        assert_in_range(hf_test_now_ms() - began, ms, ms + 4000);
    }
    assert_non_null(strstr(ERR->text, "'x'"));
    assert_int_equal(available(sem), 2); /* no late grant takes some */
    hf_expect(HF_OK, hf_semaphore_release(sem, 1, ERR));
    assert_int_equal(available(sem), 3);
}

void a_wait_for_permits_ends_with_their_release(void **state) {
    (void)state;
    hf_test_task waiter;
    hf_semaphore *a = semaphore_of(0), *b = open_semaphore();
    hf_test_take(&waiter, b, 1, HF_FOREVER);
    assert_false(atomic_load(&waiter.answered));
    hf_expect(HF_OK, hf_semaphore_release(a, 1, ERR));
    hf_expect(HF_OK, hf_test_result(&waiter));
    assert_int_equal(available(a), 0);
}

void a_wait_for_many_permits_needs_them_all(void **state) {
    (void)state;
    hf_test_task waiter;
    hf_semaphore *a = semaphore_of(0), *b = open_semaphore();
    hf_test_take(&waiter, b, 4, HF_FOREVER);
    hf_expect(HF_OK, hf_semaphore_release(a, 3, ERR));
    hf_test_throughout(!atomic_load(&waiter.answered), 200);
    assert_int_equal(available(a), 3);
    hf_expect(HF_OK, hf_semaphore_add(a, 1, ERR));
    hf_expect(HF_OK, hf_test_result(&waiter));
    assert_int_equal(available(a), 0);
}

void a_wait_for_permits_can_be_cancelled(void **state) {
    (void)state;
    hf_test_task waiter, other;
    hf_semaphore *a = semaphore_of(0), *b = open_semaphore();
    hf_semaphore_cancel(b); /* nobody waits: without effect on what comes */
    hf_test_take(&waiter, b, 1, HF_FOREVER);
    hf_test_take(&other, a, 1, HF_FOREVER);
    hf_test_eventually((hf_semaphore_cancel(b), atomic_load(&waiter.answered)),
                       HF_TEST_LONG);
    hf_expect(HF_ECANCELLED, hf_test_result(&waiter));
    assert_false(atomic_load(&other.answered));
    hf_expect(HF_OK, hf_semaphore_release(b, 1, ERR));
    hf_expect(HF_OK, hf_test_result(&other));
    assert_int_equal(available(a), 0);
}

void waiters_are_woken_by_permits_without_polling(void **state) {
    (void)state;
    enum { TURNS = 20 };
    hf_semaphore *a = semaphore_of(0), *b = open_semaphore();
    int64_t spent = 0;
    for (int i = 0; i < TURNS; i++) {
        hf_test_task waiter;
        hf_test_take(&waiter, b, 1, HF_TEST_LONG);
        int64_t began = hf_test_now_ms();
        hf_expect(HF_OK, hf_semaphore_release(a, 1, ERR));
        hf_expect(HF_OK, hf_test_result(&waiter));
        spent += hf_test_now_ms() - began;
    }
    assert_in_range(spent, 0, 8000);
}

void a_semaphore_that_is_set_wakes_who_waits_for_it(void **state) {
    (void)state;
    hf_test_only_woken();
    hf_test_task waiter;
    hf_semaphore *a = open_semaphore(), *b = open_semaphore();
    static int (*const set[])(hf_semaphore *, int, hf_error *) = {
        hf_semaphore_resize, hf_semaphore_add, hf_semaphore_release};
    int64_t began = hf_test_now_ms();
    hf_test_take(&waiter, b, 2, HF_FOREVER);
    hf_expect(HF_OK, hf_semaphore_set(a, 2, 0, ERR));
    hf_expect(HF_OK, hf_test_result(&waiter));
    for (int i = 0; i < 3; i++) {
        hf_expect(HF_OK, hf_semaphore_delete(a, ERR));
        hf_test_take(&waiter, b, 2, HF_FOREVER);
        hf_expect(HF_OK, set[i](a, 2, ERR));
        hf_expect(HF_OK, hf_test_result(&waiter));
    }
    assert_in_range(hf_test_now_ms() - began, 0, HF_CONTRACT_SOON);
}

/* ---- many at once ------------------------------------------------------ */

typedef struct party {
    pthread_t thread;
    hf_client *client;
    hf_test_guarded *g;
} party;

static void *contend(void *arg) {
    party *p = arg;
    hf_test_contend_for_permit(p->client, "counter", p->g, 6, 20);
    return NULL;
}

static hf_test_guarded *guard(void) {
    char path[160];
    hf_test_fresh_path(path, sizeof path, "counter");
    hf_test_guarded *g = hf_test_guarded_map(path);
    assert_non_null(g);
    return g;
}

void one_permit_excludes_like_a_lock(void **state) {
    (void)state;
    enum { CLIENTS = 3 };
    party parties[CLIENTS];
    hf_test_guarded *g = guard();
    for (int i = 0; i < CLIENTS; i++)
        parties[i] = (party){.client = hf_contract_open(NULL), .g = g};
    hf_semaphore *sem = hf_test_semaphore(parties[0].client, "counter");
    hf_expect(HF_OK, hf_semaphore_set(sem, 1, 0, ERR));
    for (int i = 0; i < CLIENTS; i++)
        pthread_create(&parties[i].thread, NULL, contend, &parties[i]);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(parties[i].thread, NULL);
    assert_int_equal(g->failures, 0);
    assert_int_equal(g->overlaps, 0);
    assert_int_equal(g->counter, CLIENTS * 6 * 20);
    assert_int_equal(available(sem), 1);
    hf_test_guarded_unmap(g);
}

typedef struct hall {
    atomic_int inside, most, wrong;
} hall;

typedef struct guest {
    pthread_t thread;
    hf_semaphore *sem;
    hall *hall;
    int n;
} guest;

static void *come_in_often(void *arg) {
    guest *g = arg;
    for (int i = 0; i < 15; i++) {
        if (hf_semaphore_acquire(g->sem, g->n, 3 * HF_TEST_LONG, NULL) !=
            HF_OK) {
            atomic_fetch_add(&g->hall->wrong, 1);
            continue;
        }
        int inside = atomic_fetch_add(&g->hall->inside, g->n) + g->n;
        int most = atomic_load(&g->hall->most);
        while (inside > most &&
               !atomic_compare_exchange_weak(&g->hall->most, &most, inside))
            ;
        hf_test_breathe();
        atomic_fetch_sub(&g->hall->inside, g->n);
        if (hf_semaphore_release(g->sem, g->n, NULL) != HF_OK)
            atomic_fetch_add(&g->hall->wrong, 1);
    }
    return NULL;
}

/* Had one message been lost, the last ones would wait for ever. */
void three_permits_let_three_in_and_lose_no_wake_up(void **state) {
    (void)state;
    enum { N = 12 };
    guest guests[N];
    hall h = {0};
    hf_semaphore *sems[2] = {semaphore_of(3), open_semaphore()};
    for (int i = 0; i < N; i++) {
        guests[i] = (guest){.sem = sems[i % 2], .hall = &h, .n = 1 + i / 2 % 3};
        pthread_create(&guests[i].thread, NULL, come_in_often, &guests[i]);
    }
    for (int i = 0; i < N; i++)
        pthread_join(guests[i].thread, NULL);
    assert_int_equal(atomic_load(&h.wrong), 0);
    assert_in_range(atomic_load(&h.most), 2, 3);
    assert_int_equal(available(sems[0]), 3);
}

void two_who_want_both_permits_get_them_in_turn(void **state) {
    (void)state;
    hf_test_task first, second;
    hf_semaphore *a = semaphore_of(0), *b = open_semaphore();
    hf_test_take(&first, a, 2, HF_FOREVER);
    hf_test_take(&second, b, 2, HF_FOREVER);
    hf_expect(HF_OK, hf_semaphore_release(a, 2, ERR));
    hf_test_eventually(atomic_load(&first.answered) ||
                           atomic_load(&second.answered),
                       HF_TEST_LONG);
    assert_false(atomic_load(&first.answered) && atomic_load(&second.answered));
    hf_expect(HF_OK, hf_semaphore_release(b, 2, ERR));
    hf_expect(HF_OK, hf_test_result(&first));
    hf_expect(HF_OK, hf_test_result(&second));
    assert_int_equal(available(a), 0);
}

/* ---- trouble ----------------------------------------------------------- */

void a_lost_answer_counts_once(void **state) {
    (void)state;
    static const hf_trouble troubles[] = {HF_TROUBLE_UNANSWERED,
                                          HF_TROUBLE_TWICE};
    hf_backend *trouble;
    int64_t taken = 0;
    hf_semaphore *sem = semaphore_of(20);
    hf_semaphore *a =
        hf_test_semaphore(hf_contract_open_troubled(&trouble), "x");
    for (int i = 0; i < 2; i++) {
        hf__fault_set(trouble, HF_VERB_ATTEMPT, troubles[i], 2);
        hf_expect(HF_OK, hf_semaphore_acquire(a, 3, HF_TEST_LONG, ERR));
        assert_int_equal(available(sem), 17);
        hf__fault_set(trouble, HF_VERB_COUNT, troubles[i], 2);
        hf_expect(HF_OK, hf_semaphore_release(a, 2, ERR));
        assert_int_equal(available(sem), 19);
        hf__fault_set(trouble, HF_VERB_COUNT, troubles[i], 2);
        hf_expect(HF_OK, hf_semaphore_add(a, 1, ERR));
        assert_int_equal(available(sem), 20);
        hf__fault_set(trouble, HF_VERB_COUNT, troubles[i], 2);
        hf_expect(HF_OK, hf_semaphore_drain(a, &taken, ERR));
        assert_int_equal(taken, 20);
        hf__fault_set(trouble, HF_VERB_COUNT, troubles[i], 2);
        hf_expect(HF_OK, hf_semaphore_release_if_set(a, 5, ERR));
        assert_int_equal(available(sem), 5);
        hf__fault_set(trouble, HF_VERB_COUNT, troubles[i], 2);
        hf_expect(HF_OK, hf_semaphore_delete(a, ERR));
        hf__fault_set(trouble, HF_VERB_COUNT, troubles[i], 2);
        hf_expect(HF_OK, hf_semaphore_set(a, 20, 0, ERR));
        assert_int_equal(available(sem), 20);
    }
}

void a_take_without_an_answer_is_given_back(void **state) {
    (void)state;
    hf_backend *trouble;
    hf_semaphore *sem = semaphore_of(5);
    hf_semaphore *a =
        hf_test_semaphore(hf_contract_open_troubled(&trouble), "x");
    hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_UNANSWERED, 1);
    hf_expect(HF_EDOUBT, hf_semaphore_acquire(a, 2, 0, ERR));
    assert_non_null(strstr(ERR->text, "'x'"));
    hf_test_eventually(available(sem) == 5, HF_TEST_LONG);
    hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_UNANSWERED, -1);
    hf__fault_set(trouble, HF_VERB_RELEASE, HF_TROUBLE_UNANSWERED, 2);
    hf_expect(HF_EDOUBT, hf_semaphore_acquire(a, 2, 150, ERR));
    hf_test_eventually(available(sem) == 5, HF_TEST_LONG);
    hf_test_throughout(available(sem) == 5, 1500); /* and only once */
}

/* The verbs themselves: a request that was overtaken by its own undoing. */
void what_was_undone_before_it_came_takes_nothing(void **state) {
    (void)state;
    hf_error err;
    hf_semaphore *sem = semaphore_of(5);
    hf_client *client = hf_contract_open(NULL);
    hf_backend *be = client->be;
    hf_claim c = {.name = "x",
                  .kind = HF_SEMAPHORE,
                  .mode = HF_PERMITS,
                  .permits = 2,
                  .owner = 1001,
                  .nonce = "of the first one",
                  .lease_ms = 30000};
    hf_claim late = c, again;
    late.owner = 1002;
    memcpy(late.nonce, "of the late one!", 16);
    again = c;
    hf_time by = hf__after_ms(HF_TEST_LONG);
    assert_int_equal(be->ops->attempt(be, &c, false, by, &err), HF_OK);
    assert_int_equal(be->ops->attempt(be, &again, false, by, &err), HF_OK);
    assert_int_equal(available(sem), 3);
    assert_int_equal(be->ops->release(be, &again, HF_RELEASE, NULL, by, &err),
                     HF_OK);
    assert_int_equal(be->ops->release(be, &again, HF_RELEASE, NULL, by, &err),
                     HF_ELOST);
    assert_int_equal(available(sem), 5);
    assert_int_equal(be->ops->release(be, &late, HF_RELEASE, NULL, by, &err),
                     HF_ELOST);
    assert_int_equal(be->ops->attempt(be, &late, false, by, &err), HF_BUSY);
    assert_int_equal(available(sem), 5);
}

void a_lost_message_does_not_keep_permits_from_a_waiter(void **state) {
    (void)state;
    hf_test_task waiter;
    hf_backend *trouble;
    hf_semaphore *sem = semaphore_of(0);
    hf_semaphore *a =
        hf_test_semaphore(hf_contract_open_troubled(&trouble), "x");
    hf__fault_set(trouble, HF_VERB_WATCH, HF_TROUBLE_MUTE, -1);
    hf_test_take(&waiter, a, 2, HF_FOREVER);
    hf_expect(HF_OK, hf_semaphore_release(sem, 2, ERR));
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_test_result(&waiter));
    assert_in_range(hf_test_now_ms() - began, 0, 10000);
}

/* ---- the list ---------------------------------------------------------- */

typedef struct seen {
    int n;
    int64_t count;
} seen;

static void look(void *arg, const hf_place *place) {
    seen *s = arg;
    if (strcmp(place->kind, "semaphore") != 0 || strcmp(place->name, "x") != 0)
        return;
    assert_string_equal(place->owner, "");
    s->n++;
    s->count = place->count;
}

void the_list_shows_a_semaphore_and_its_count(void **state) {
    (void)state;
    seen s = {0, 0};
    hf_client *client = hf_contract_open(NULL);
    hf_semaphore *sem = semaphore_of(7);
    hf_expect(HF_OK, try_to_take(sem, 2));
    hf_expect(HF_OK, hf_list(client, "x", look, &s, ERR));
    assert_int_equal(s.n, 1);
    assert_int_equal(s.count, 5);
    hf_expect(HF_OK, hf_semaphore_delete(sem, ERR));
    s = (seen){0, 0};
    hf_expect(HF_OK, hf_list(client, "x", look, &s, ERR));
    assert_int_equal(s.n, 0);
}

void a_semaphore_that_is_null_is_refused(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_semaphore *sem = (hf_semaphore *)client; /* must become NULL */
    hf_expect(HF_EUSAGE, hf_semaphore_new(NULL, client, "x", ERR));
    hf_expect(HF_EUSAGE, hf_semaphore_new(&sem, NULL, "x", ERR));
    hf_expect(HF_ENAME, hf_semaphore_new(&sem, client, "", ERR));
    assert_null(sem);
    hf_expect(HF_ENAME, hf_semaphore_new(&sem, client, NULL, ERR));
    hf_expect(HF_ENAME, hf_semaphore_new(&sem, client, "a{b", ERR));
    assert_null(sem);
    hf_expect(HF_EUSAGE, hf_semaphore_set(NULL, 1, 0, ERR));
    hf_expect(HF_EUSAGE, hf_semaphore_acquire(NULL, 1, 0, ERR));
    hf_expect(HF_EUSAGE, hf_semaphore_release(NULL, 1, ERR));
    hf_expect(HF_EUSAGE, hf_semaphore_release_if_set(NULL, 1, ERR));
    hf_expect(HF_EUSAGE, hf_semaphore_add(NULL, 1, ERR));
    hf_expect(HF_EUSAGE, hf_semaphore_resize(NULL, 1, ERR));
    hf_expect(HF_EUSAGE, hf_semaphore_drain(NULL, NULL, ERR));
    hf_expect(HF_EUSAGE, hf_semaphore_count(NULL, NULL, NULL, ERR));
    hf_expect(HF_EUSAGE, hf_semaphore_delete(NULL, ERR));
    hf_semaphore_cancel(NULL);
    hf_semaphore_free(NULL);
    assert_string_equal(hf_semaphore_name(NULL), "");
    sem = hf_test_semaphore(client, "{t}x"); /* without an error to fill */
    assert_int_equal(hf_semaphore_set(sem, 2, 0, NULL), HF_OK);
    assert_int_equal(hf_semaphore_acquire(sem, 1, 0, NULL), HF_OK);
    assert_int_equal(hf_semaphore_acquire(sem, -1, 0, NULL), HF_EUSAGE);
    assert_int_equal(hf_semaphore_release(sem, 1, NULL), HF_OK);
    assert_int_equal(hf_semaphore_delete(sem, NULL), HF_OK);
}

/* ---- other processes --------------------------------------------------- */

void permits_are_given_back_by_another_process(void **state) {
    (void)state;
    hf_test_only_woken();
    hf_test_task waiter;
    hf_semaphore *sem = semaphore_of(2);
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_peer_ask(peer, "semaphore 0 x");
    hf_expect(HF_OK, try_to_take(sem, 2));
    assert_string_equal(hf_test_peer_ask(peer, "take 0 1 0"), "BUSY");
    hf_test_take(&waiter, sem, 1, HF_FOREVER);
    int64_t began = hf_test_now_ms();
    assert_string_equal(hf_test_peer_ask(peer, "give 0 1"), "OK");
    hf_expect(HF_OK, hf_test_result(&waiter));
    hf_test_peer_send(peer, "take 0 1 %d", HF_TEST_LONG);
    assert_null(hf_test_peer_answer(peer, 50));
    hf_expect(HF_OK, hf_semaphore_release(sem, 1, ERR));
    assert_string_equal(hf_test_peer_answer(peer, HF_TEST_LONG), "OK");
    assert_in_range(hf_test_now_ms() - began, 0, HF_CONTRACT_SOON);
    assert_string_equal(hf_test_peer_ask(peer, "available 0"), "OK 0");
    hf_test_peer_stop(peer);
}

void one_permit_excludes_between_processes(void **state) {
    (void)state;
    enum { THREADS = 6, ROUNDS = 15 };
    char path[160];
    hf_test_fresh_path(path, sizeof path, "counter");
    hf_test_guarded *g = hf_test_guarded_map(path);
    assert_non_null(g);
    hf_client *client = hf_contract_open(NULL);
    hf_semaphore *sem = hf_test_semaphore(client, "counter");
    hf_expect(HF_OK, hf_semaphore_set(sem, 1, 0, ERR));
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_peer_send(peer, "contend %s counter %d %d %d", path, THREADS,
                      ROUNDS, HF_SEMAPHORE);
    hf_test_contend_for_permit(client, "counter", g, THREADS, ROUNDS);
    assert_string_equal(hf_test_peer_answer(peer, 3 * HF_TEST_LONG), "OK");
    assert_int_equal(g->failures, 0);
    assert_int_equal(g->overlaps, 0);
    assert_int_equal(g->counter, 2 * THREADS * ROUNDS);
    hf_test_guarded_unmap(g);
    hf_test_peer_stop(peer);
}

void taken_permits_outlive_their_process(void **state) {
    (void)state;
    hf_semaphore *sem = semaphore_of(3);
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_peer_ask(peer, "semaphore 0 x");
    assert_string_equal(hf_test_peer_ask(peer, "take 0 2 0"), "OK");
    hf_test_peer_signal(peer, SIGKILL);
    assert_int_equal(available(sem), 1);
    hf_expect(HF_OK, hf_semaphore_release(sem, 2, ERR)); /* whoever likes */
    assert_int_equal(available(sem), 3);
    hf_test_peer_stop(peer);
}
