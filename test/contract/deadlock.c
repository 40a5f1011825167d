/* SPDX-License-Identifier: MIT
 *
 * deadlock.c - those who wait for each other are found, and one gives way. */
#include "contract.h"

#include "support/peer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void ignore(void *arg, const hf_stuck *circle, size_t n) {
    (void)arg, (void)circle, (void)n;
}

static hf_client *open_as(const char *host) {
    hf_client *client = hf_contract_open(HF_CLIENT_WITH(.host = host));
    hf_test_need(hf_deadlocks(client, ignore, NULL, ERR) != HF_ECANNOT,
                 "the store keeps no records of its clients");
    return client;
}

/* ---- threads that cross ------------------------------------------------ */

/* Takes one lock, then, when all have theirs, another; lets go of what it
 * has. */
typedef struct crosser {
    pthread_t thread;
    hf_lock *first, *second;
    atomic_int *ready;
    int n;
    int got, result;
    atomic_bool answered;
    hf_error err;
} crosser;

static void *cross(void *arg) {
    crosser *c = arg;
    hf_error err;
    c->got = hf_lock_acquire(c->first, HF_TEST_LONG, &err);
    atomic_fetch_add(c->ready, 1);
    while (atomic_load(c->ready) < c->n)
        hf_test_breathe();
    c->result = hf_lock_acquire(c->second, HF_FOREVER, &c->err);
    atomic_store(&c->answered, true);
    if (c->result == HF_OK)
        hf_lock_release(c->second, &err);
    if (c->got == HF_OK)
        hf_lock_release(c->first, &err);
    return NULL;
}

static void begin(crosser *all, int n, atomic_int *ready) {
    atomic_store(ready, 0);
    for (int i = 0; i < n; i++) {
        all[i].ready = ready;
        all[i].n = n;
        assert_int_equal(pthread_create(&all[i].thread, NULL, cross, &all[i]),
                         0);
    }
}

static int answered(const crosser *all, int n) {
    int done = 0;
    for (int i = 0; i < n; i++)
        done += atomic_load(&all[i].answered);
    return done;
}

static void end(crosser *all, int n) {
    for (int i = 0; i < n; i++)
        pthread_join(all[i].thread, NULL);
    for (int i = 0; i < n; i++)
        assert_int_equal(all[i].got, HF_OK);
}

/* One was told that it waits for ever, the others went on. */
static const crosser *assert_one_gave_way(crosser *all, int n) {
    const crosser *gave_way = NULL;
    hf_test_eventually(answered(all, n) == n, 3 * HF_TEST_LONG);
    end(all, n);
    for (int i = 0; i < n; i++)
        if (all[i].result == HF_EDEADLOCK) {
            assert_null(gave_way);
            gave_way = &all[i];
        } else {
            hf_test_error = all[i].err;
            hf_expect(HF_OK, all[i].result);
        }
    assert_non_null(gave_way);
    return gave_way;
}

static void assert_nothing_is_left(hf_client *client) {
    hf_test_eventually(hf_test_holders(client, NULL) == 0 &&
                           hf_test_waiters(client, NULL) == 0,
                       HF_TEST_LONG);
}

/* ---- being told -------------------------------------------------------- */

typedef struct tale {
    int circles;
    size_t n;
    char wants[8][32], hosts[8][32];
    bool asked;
} tale;

static void listen_to(void *arg, const hf_stuck *circle, size_t n) {
    tale *t = arg;
    t->circles++;
    t->n = n;
    for (size_t i = 0; i < n && i < 8; i++) {
        snprintf(t->wants[i], sizeof t->wants[i], "%s", circle[i].wants);
        snprintf(t->hosts[i], sizeof t->hosts[i], "%s", circle[i].host);
        t->asked |= circle[i].asked;
        assert_int_equal(circle[i].pid, getpid());
        assert_true(circle[i].since_ms >= 0);
    }
}

static tale told(hf_client *client) {
    tale t = {0};
    hf_expect(HF_OK, hf_deadlocks(client, listen_to, &t, ERR));
    return t;
}

void a_circle_of_waits_is_told_of(void **state) {
    (void)state;
    atomic_int ready;
    hf_client *one = open_as("one"), *two = open_as("two");
    crosser all[] = {{.first = hf_test_lock(one, "x", NULL),
                      .second = hf_test_lock(one, "y", NULL)},
                     {.first = hf_test_lock(two, "y", NULL),
                      .second = hf_test_lock(two, "x", NULL)}};
    assert_int_equal(told(one).circles, 0);
    begin(all, 2, &ready);
    hf_client *onlooker = open_as("three");
    hf_test_eventually(told(onlooker).circles == 1, 2 * HF_TEST_LONG);
    tale t = told(onlooker);
    assert_int_equal(t.n, 2);
    int first = strcmp(t.hosts[0], "one") == 0 ? 0 : 1;
    assert_string_equal(t.hosts[first], "one");
    assert_string_equal(t.wants[first], "y");
    assert_string_equal(t.hosts[1 - first], "two");
    assert_string_equal(t.wants[1 - first], "x");
    assert_false(t.asked);
    assert_int_equal(answered(all, 2), 0); /* nobody asked to be */
    while (!atomic_load(&all[0].answered)) {
        hf_lock_cancel(all[0].second);
        hf_test_breathe();
    }
    end(all, 2);
    assert_int_equal(all[0].result, HF_ECANCELLED);
    assert_int_equal(all[1].result, HF_OK);
    hf_test_eventually(told(onlooker).circles == 0, HF_TEST_LONG);
    hf_expect(HF_EUSAGE, hf_deadlocks(one, NULL, NULL, ERR));
    hf_expect(HF_EUSAGE, hf_deadlocks(NULL, ignore, NULL, ERR));
}

/* ---- giving way -------------------------------------------------------- */

static hf_lock *asking(hf_client *client, const char *name) {
    return hf_test_lock(client, name, HF_LOCK_WITH(.flags = HF_DEADLOCK));
}

void of_two_who_wait_for_each_other_one_gives_way(void **state) {
    (void)state;
    atomic_int ready;
    hf_client *one = open_as("one"), *two = open_as("two");
    crosser all[] = {{.first = asking(one, "x"), .second = asking(one, "y")},
                     {.first = asking(two, "y"), .second = asking(two, "x")}};
    begin(all, 2, &ready);
    const crosser *c = assert_one_gave_way(all, 2);
    char pid[32];
    snprintf(pid, sizeof pid, "pid %d on %s", (int)getpid(),
             c == &all[0] ? "two" : "one");
    assert_non_null(strstr(c->err.text, "'x'"));
    assert_non_null(strstr(c->err.text, "'y'"));
    assert_non_null(strstr(c->err.text, pid));
    assert_nothing_is_left(one);
}

/* They queue within the client and do not ask the store. */
void of_two_threads_that_wait_for_each_other_one_gives_way(void **state) {
    (void)state;
    atomic_int ready;
    hf_client *one = open_as("one");
    crosser all[] = {{.first = asking(one, "x"), .second = asking(one, "y")},
                     {.first = asking(one, "y"), .second = asking(one, "x")}};
    begin(all, 2, &ready);
    const crosser *c = assert_one_gave_way(all, 2);
    assert_non_null(strstr(c->err.text, "a thread of this process"));
    assert_nothing_is_left(one);
}

/* The one who asked, though it did not come last. */
void of_three_in_a_circle_one_gives_way(void **state) {
    (void)state;
    atomic_int ready;
    hf_client *one = open_as("one"), *two = open_as("two"),
              *three = open_as("three");
    crosser all[] = {
        {.first = hf_test_lock(one, "x", NULL), .second = asking(one, "y")},
        {.first = hf_test_lock(two, "y", NULL),
         .second = hf_test_lock(two, "z", NULL)},
        {.first = hf_test_lock(three, "z", NULL),
         .second = hf_test_lock(three, "x", NULL)}};
    begin(all, 3, &ready);
    assert_ptr_equal(assert_one_gave_way(all, 3), &all[0]);
    assert_nothing_is_left(one);
}

void a_wait_that_can_end_is_left_alone(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_client *one = open_as("one"), *two = open_as("two");
    hf_lock *a = hf_test_lock(one, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, asking(two, "x"), HF_FOREVER);
    /* Long enough for several looks. */
    hf_test_throughout(!atomic_load(&waiter.answered), 5000);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

void who_waits_for_several_gives_way_as_well(void **state) {
    (void)state;
    atomic_int ready;
    hf_client *one = open_as("one"), *two = open_as("two");
    crosser all[] = {
        {.first = hf_test_lock(one, "x", NULL),
         .second = HF_MULTI_OF(asking(one, "y"), asking(one, "z"))},
        {.first = hf_test_lock(two, "y", NULL),
         .second = hf_test_lock(two, "x", NULL)}};
    begin(all, 2, &ready);
    assert_ptr_equal(assert_one_gave_way(all, 2), &all[0]);
    assert_nothing_is_left(one);
}

void a_client_without_a_record_cannot_ask_for_that(void **state) {
    (void)state;
    hf_lock *lock;
    open_as("seen");
    hf_client *hidden = hf_contract_open(HF_CLIENT_WITH(.hidden = true));
    hf_expect(HF_ECANNOT, hf_lock_new(&lock, hidden, "x",
                                      HF_LOCK_WITH(.flags = HF_DEADLOCK), ERR));
}

void a_circle_may_go_through_readers(void **state) {
    (void)state;
    atomic_int ready;
    hf_client *one = open_as("one"), *two = open_as("two"),
              *three = open_as("three");
    hf_lock *reader = hf_test_lock(three, "x", HF_LOCK_WITH(.kind = HF_READ));
    hf_expect(HF_OK, hf_lock_try(reader, ERR)); /* not stuck */
    crosser all[] = {
        {.first = hf_test_lock(one, "x", HF_LOCK_WITH(.kind = HF_READ)),
         .second = hf_test_lock(one, "y", NULL)},
        {.first = hf_test_lock(two, "y", NULL),
         .second = hf_test_lock(
             two, "x", HF_LOCK_WITH(.kind = HF_WRITE, .flags = HF_DEADLOCK))}};
    begin(all, 2, &ready);
    assert_ptr_equal(assert_one_gave_way(all, 2), &all[1]);
    hf_expect(HF_OK, hf_lock_release(reader, ERR));
    assert_nothing_is_left(one);
}

void a_circle_may_go_through_permits(void **state) {
    (void)state;
    atomic_int ready;
    hf_client *one = open_as("one"), *two = open_as("two");
    hf_expect(HF_OK, hf_semaphore_set(hf_test_semaphore(one, "s"), 1, 0, ERR));
    crosser all[] = {
        {.first = hf_test_lock(one, "s", HF_LOCK_WITH(.kind = HF_PERMIT)),
         .second = asking(one, "y")},
        {.first = hf_test_lock(two, "y", NULL),
         .second = hf_test_lock(two, "s", HF_LOCK_WITH(.kind = HF_PERMIT))}};
    begin(all, 2, &ready);
    assert_ptr_equal(assert_one_gave_way(all, 2), &all[0]);
    assert_nothing_is_left(one);
}

/* ---- in another process ------------------------------------------------ */

/* Its answer, should it come before the crosser's. */
static const char *first_answer(hf_test_peer *peer, crosser *c) {
    const char *answer = NULL;
    int64_t by = hf_test_now_ms() + 3 * HF_TEST_LONG;
    while (answer == NULL && !atomic_load(&c->answered)) {
        assert_true(hf_test_now_ms() < by);
        answer = hf_test_peer_answer(peer, 50);
    }
    return answer;
}

void of_two_processes_that_wait_for_each_other_one_gives_way(void **state) {
    (void)state;
    atomic_int ready;
    char pid[32];
    hf_client *client = open_as("here");
    crosser c = {.first = asking(client, "x"), .second = asking(client, "y")};
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    snprintf(pid, sizeof pid, "pid %d on ", (int)hf_test_peer_pid(peer));
    hf_test_peer_ask(peer, "lock 0 y flags=%d", HF_DEADLOCK);
    hf_test_peer_ask(peer, "lock 1 x flags=%d", HF_DEADLOCK);
    assert_memory_equal(hf_test_peer_ask(peer, "try 0"), "OK ", 3);
    begin(&c, 1, &ready);
    hf_test_eventually(atomic_load(&ready) == 1, HF_TEST_LONG);
    hf_test_peer_send(peer, "acquire 1 -1");
    const char *answer = first_answer(peer, &c);
    if (answer != NULL && strncmp(answer, "OK ", 3) != 0) {
        /* The peer gives way; we have what it lets go. */
        assert_string_equal(answer, "DEADLOCK 0");
        assert_string_equal(hf_test_peer_ask(peer, "release 0"), "OK");
        end(&c, 1);
        assert_int_equal(c.result, HF_OK);
    } else {
        end(&c, 1);
        assert_int_equal(c.result, HF_EDEADLOCK);
        assert_non_null(strstr(c.err.text, pid));
        if (answer == NULL) /* else it was quicker than our own thread */
            answer = hf_test_peer_answer(peer, HF_TEST_LONG);
        assert_non_null(answer);
        assert_memory_equal(answer, "OK ", 3);
    }
    hf_test_peer_stop(peer);
}
