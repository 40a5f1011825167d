/* SPDX-License-Identifier: MIT
 *
 * loop.c - a client in a loop, whichever it is: the sentences of loop.h.
 *
 * A test begins things, says how many it wants to be told of, and runs the
 * loop, which is stopped by the last of them; or by the timer, after too long a
 * time.  So whatever is told, is told by the loop. */
#include "loop.h"

#include "support/dir.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static char uri[200];
static int wanted;         /* so many are to be told of until it stops */
static int64_t by;         /* the loop stops then, at the latest       */
static int ticks;          /* of the timer                             */
static void (*each)(void); /* tick; NULL: nothing                      */

void hf_loop_begin(void **state) {
    char path[160];
    hf_test_fresh_path(path, sizeof path, "locks");
    snprintf(uri, sizeof uri, "sqlite:%s.db", path);
    each = NULL;
    hf_test_body(state);
}

int hf_loop_end(void **state) {
    (void)state;
    hf_test_clear();
    return 0;
}

void hf_loop_tick(void) {
    ticks++;
    if (each != NULL)
        each();
    if (hf_test_now_ms() > by)
        hf_loop_stop();
}

static void one_less(void) {
    if (wanted > 0 && --wanted == 0)
        hf_loop_stop();
}

static void run_until_told(int n) {
    wanted = n;
    by = hf_test_now_ms() + 3 * HF_TEST_LONG;
    hf_loop_run();
    if (wanted != 0)
        fail_msg("%d of %d were not told", wanted, n);
}

/* For as many ticks. */
static void run_for(int n) {
    each = one_less;
    run_until_told(n);
    each = NULL;
}

/* What is to be told. */
typedef struct answer {
    int times, rc;
    pthread_t where;
} answer;

static void note(void *arg, int rc, const hf_error *err) {
    answer *a = arg;
    if (rc < 0)
        assert_int_equal(err->code, rc);
    a->times++;
    a->rc = rc;
    a->where = pthread_self();
    one_less();
}

static void never(void *arg, int rc, const hf_error *err) {
    (void)arg, (void)err;
    fail_msg("told of what is over, with %s", hf_error_name(rc));
}

static hf_client *attached(int i) {
    hf_client *client = hf_test_open(uri, NULL);
    hf_expect(HF_OK, hf_loop_attach(i, client));
    return client;
}

static hf_lock *lock_of(hf_client *client, const char *name) {
    return hf_test_lock(client, name, HF_LOCK_WITH(.flags = HF_OWNER_HANDLE));
}

/* Nobody in a loop: it has what others wait for. */
static hf_lock *taken(const char *name) {
    hf_lock *lock = lock_of(hf_test_open(uri, NULL), name);
    hf_expect(HF_OK, hf_lock_acquire(lock, 0, ERR));
    return lock;
}

static bool due(hf_client *client) {
    struct pollfd in = {.fd = hf_fd(client), .events = POLLIN};
    return poll(&in, 1, 0) > 0;
}

static void serves(hf_client *client) {
    hf_lock *lock = lock_of(client, "served");
    answer got = {0};
    hf_expect(HF_OK, hf_lock_acquire_async(lock, 0, note, &got, ERR));
    run_until_told(1);
    hf_expect(HF_OK, got.rc);
    hf_test_free(lock);
}

/* ---- what is told ------------------------------------------------------ */

void a_grant_and_a_release_are_told_in_the_loop(void **state) {
    (void)state;
    hf_loop_open();
    hf_client *client = attached(0);
    hf_lock *lock = lock_of(client, "one");
    answer got = {0}, gone = {0};
    hf_expect(HF_OK, hf_lock_acquire_async(lock, HF_FOREVER, note, &got, ERR));
    hf_test_eventually(due(client), HF_TEST_LONG);
    assert_int_equal(got.times, 0);
    run_until_told(1);
    hf_expect(HF_OK, got.rc);
    assert_true(hf_lock_is_held(lock));
    hf_expect(HF_OK, hf_lock_release_async(lock, note, &gone, ERR));
    assert_false(hf_lock_is_held(lock));
    run_until_told(1);
    hf_expect(HF_OK, gone.rc);
    assert_false(due(client));
    hf_loop_detach(0);
    hf_loop_close();
}

void a_refused_try_is_told_in_the_loop(void **state) {
    (void)state;
    hf_loop_open();
    taken("one");
    answer got = {0};
    hf_expect(HF_OK, hf_lock_acquire_async(lock_of(attached(0), "one"), 0, note,
                                           &got, ERR));
    run_until_told(1);
    hf_expect(HF_BUSY, got.rc);
    hf_loop_detach(0);
    hf_loop_close();
}

void a_wait_ends_in_time_and_the_loop_ticks_meanwhile(void **state) {
    (void)state;
    hf_loop_open();
    taken("one");
    hf_lock *lock = lock_of(attached(0), "one");
    answer got = {0};
    int64_t began = hf_test_now_ms();
    int before = ticks;
    hf_expect(HF_OK, hf_lock_acquire_async(lock, 300, note, &got, ERR));
    assert_true(hf_test_now_ms() - began < 300);
    run_until_told(1);
    hf_expect(HF_ETIMEOUT, got.rc);
    assert_true(hf_test_now_ms() - began >= 300);
    assert_true(ticks - before >= 10); /* of 300: the machine may be busy */
    hf_loop_detach(0);
    hf_loop_close();
}

void a_cancelled_wait_is_told_in_the_loop(void **state) {
    (void)state;
    hf_loop_open();
    taken("one");
    hf_lock *lock = lock_of(attached(0), "one");
    answer got = {0};
    hf_expect(HF_OK, hf_lock_acquire_async(lock, HF_FOREVER, note, &got, ERR));
    run_for(5);
    assert_int_equal(got.times, 0);
    hf_lock_cancel(lock);
    run_until_told(1);
    hf_expect(HF_ECANCELLED, got.rc);
    hf_loop_detach(0);
    hf_loop_close();
}

/* A second hold is counted here, and so is its end; the client can be closed
 * after that. */
void what_needs_no_store_is_told_in_the_loop(void **state) {
    (void)state;
    hf_loop_open();
    hf_lock *lock = lock_of(attached(0), "one");
    answer last = {0};
    for (int i = 0; i < 2; i++) {
        hf_expect(HF_OK, hf_lock_acquire_async(lock, 0, note, &last, ERR));
        run_until_told(1);
        hf_expect(HF_OK, last.rc);
    }
    assert_int_equal(hf_lock_holds(lock), 2);
    for (int i = 0; i < 3; i++) {
        hf_expect(HF_OK, hf_lock_release_async(lock, note, &last, ERR));
        run_until_told(1);
        hf_expect(i < 2 ? HF_OK : HF_ENOT_OWNER, last.rc);
    }
    assert_int_equal(last.times, 5);
    hf_loop_detach(0);
    hf_loop_close();
}

/* Its number means something to the caller alone, and it runs once. */
typedef struct errand {
    answer got; /* the first: it is note's */
    int number, runs;
} errand;

static int count_and_return(void *arg, hf_error *err) {
    errand *e = arg;
    (void)err;
    e->runs++;
    return e->number;
}

void whatever_work_returns_is_told_in_the_loop(void **state) {
    (void)state;
    hf_loop_open();
    hf_client *client = attached(0);
    errand all[12] = {{.number = 0}};
    for (int i = 0; i < 12; i++) {
        all[i].number = i;
        hf_expect(HF_OK,
                  hf_call_async(client, count_and_return, note, &all[i], ERR));
    }
    run_until_told(12);
    for (int i = 0; i < 12; i++) {
        assert_int_equal(all[i].got.rc, i);
        assert_int_equal(all[i].got.times, 1);
        assert_int_equal(all[i].runs, 1);
    }
    hf_loop_detach(0);
    hf_loop_close();
}

/* ---- many -------------------------------------------------------------- */

/* Acquires, keeps it past the next tick, releases, and begins again. */
typedef struct visitor {
    hf_lock *lock;
    int rounds, seen;
} visitor;

static int counter;
static uint64_t last_token;
static visitor *inside;

static void enter(visitor *v);

static void left(void *arg, int rc, const hf_error *err) {
    visitor *v = arg;
    (void)err;
    hf_expect(HF_OK, rc);
    if (--v->rounds > 0)
        enter(v);
    else
        one_less();
}

static void leave(void) {
    visitor *v = inside;
    if (v == NULL)
        return;
    counter = v->seen + 1;
    inside = NULL;
    hf_expect(HF_OK, hf_lock_release_async(v->lock, left, v, ERR));
}

static void entered(void *arg, int rc, const hf_error *err) {
    visitor *v = arg;
    uint64_t token = hf_lock_token(v->lock);
    (void)err;
    hf_expect(HF_OK, rc);
    if (inside != NULL || token <= last_token) /* see tools/lane.sh */
        fail_msg("UNSAFE: somebody was inside, or token %" PRIu64
                 " is not above %" PRIu64,
                 token, last_token);
    inside = v;
    v->seen = counter;
    last_token = token;
    if (each == NULL)
        leave();
}

static void enter(visitor *v) {
    hf_expect(HF_OK,
              hf_lock_acquire_async(v->lock, HF_FOREVER, entered, v, ERR));
}

static void visit(visitor *all, int n, int rounds) {
    counter = 0;
    last_token = 0;
    inside = NULL;
    for (int i = 0; i < n; i++) {
        all[i].rounds = rounds;
        enter(&all[i]);
    }
    run_until_told(n);
    each = NULL;
    assert_int_equal(counter, n * rounds);
}

void what_a_callback_begins_is_told_as_well(void **state) {
    (void)state;
    hf_loop_open();
    visitor alone = {.lock = lock_of(attached(0), "one")};
    visit(&alone, 1, 50);
    hf_loop_detach(0);
    hf_loop_close();
}

void two_clients_in_one_loop_exclude_each_other(void **state) {
    (void)state;
    enum { EACH = 3 };
    hf_loop_open();
    visitor all[2 * EACH];
    hf_client *clients[2] = {attached(0), attached(1)};
    for (int i = 0; i < 2 * EACH; i++)
        all[i].lock = lock_of(clients[i % 2], "one");
    each = leave;
    visit(all, 2 * EACH, 10);
    hf_loop_detach(0);
    hf_loop_detach(1);
    hf_loop_close();
}

void a_hundred_waiters_are_served_and_need_no_threads(void **state) {
    (void)state;
    enum { ALL = 100, FEW = 20 };
    static visitor all[ALL];
    hf_loop_open();
    hf_client *client = attached(0);
    hf_lock *other = taken("one");
    counter = 0;
    last_token = 0;
    inside = NULL;
    int before = 0;
    for (int i = 0; i < ALL; i++) {
        all[i] = (visitor){.lock = lock_of(client, "one"), .rounds = 1};
        enter(&all[i]);
        if (i == 0)
            before = hf_test_threads();
    }
    run_for(20);
    assert_int_equal(counter, 0);
    assert_true(hf_test_threads() < before + FEW);
    hf_expect(HF_OK, hf_lock_release(other, ERR));
    run_until_told(ALL);
    assert_int_equal(counter, ALL);
    hf_loop_detach(0);
    hf_loop_close();
}

/* ---- the end of a client ----------------------------------------------- */

/* Frees the locks, then the clients, in a callback. */
typedef struct ending {
    hf_client *clients[2];
    hf_lock *locks[4];
    int times;
} ending;

static void end_all(void *arg, int rc, const hf_error *err) {
    ending *e = arg;
    (void)err;
    hf_expect(HF_OK, rc);
    assert_int_equal(e->times++, 0);
    for (int i = 0; i < 4 && e->locks[i] != NULL; i++)
        hf_test_free(e->locks[i]);
    for (int i = 0; i < 2 && e->clients[i] != NULL; i++) {
        hf_loop_detach(i);
        hf_test_close(e->clients[i]);
    }
    one_less();
}

void a_callback_may_detach_and_close(void **state) {
    (void)state;
    hf_loop_open();
    int before = hf_test_descriptors();
    taken("busy");
    hf_client *client = attached(0);
    hf_lock *one = lock_of(client, "one"), *busy = lock_of(client, "busy");
    ending e = {{client}, {one, busy}, 0};
    hf_expect(HF_OK, hf_lock_acquire_async(busy, HF_FOREVER, never, NULL, ERR));
    hf_expect(HF_OK, hf_lock_acquire_async(one, HF_FOREVER, end_all, &e, ERR));
    run_until_told(1);
    run_for(20);
    hf_test_clear();
    assert_int_equal(hf_test_descriptors(), before);
    hf_loop_close();
}

/* Both are readable before the loop looks: who comes first ends the other,
 * which the loop has on its list by then. */
void a_callback_may_close_a_client_that_is_due_as_well(void **state) {
    (void)state;
    hf_loop_open();
    hf_client *a = attached(0), *b = attached(1);
    hf_lock *one = lock_of(a, "one"), *two = lock_of(b, "two");
    ending e = {{a, b}, {one, two}, 0};
    hf_expect(HF_OK, hf_lock_acquire_async(one, HF_FOREVER, end_all, &e, ERR));
    hf_expect(HF_OK, hf_lock_acquire_async(two, HF_FOREVER, end_all, &e, ERR));
    hf_test_eventually(due(a) && due(b), HF_TEST_LONG);
    run_until_told(1);
    run_for(20);
    assert_int_equal(e.times, 1);
    hf_loop_close();
}

static hf_client *successor;

static void end_and_begin(void *arg, int rc, const hf_error *err) {
    end_all(arg, rc, err);
    successor = attached(0); /* on the same descriptor, as a rule */
}

void a_callback_may_put_a_new_client_in_the_place(void **state) {
    (void)state;
    hf_loop_open();
    hf_client *client = attached(0);
    hf_lock *one = lock_of(client, "one");
    ending e = {{client}, {one}, 0};
    hf_expect(HF_OK,
              hf_lock_acquire_async(one, HF_FOREVER, end_and_begin, &e, ERR));
    run_until_told(1);
    serves(successor);
    hf_loop_detach(0);
    hf_loop_close();
}

void what_was_freed_is_not_told(void **state) {
    (void)state;
    hf_loop_open();
    hf_client *client = attached(0);
    taken("busy");
    hf_lock *free_one = lock_of(client, "free"),
            *busy = lock_of(client, "busy");
    hf_expect(HF_OK,
              hf_lock_acquire_async(free_one, HF_FOREVER, never, NULL, ERR));
    hf_expect(HF_OK, hf_lock_acquire_async(busy, HF_FOREVER, never, NULL, ERR));
    hf_test_eventually(due(client), HF_TEST_LONG);
    hf_test_free(free_one);
    hf_test_free(busy);
    run_for(20);
    hf_loop_detach(0);
    hf_loop_close();
}

/* ---- loss -------------------------------------------------------------- */

static int lost;
static pthread_t told_in;

static void hear(void *arg, hf_lock *lock, hf_state state, int why) {
    (void)arg, (void)why;
    assert_false(hf_lock_is_held(lock));
    assert_int_equal(state, HF_STATE_LOST);
    told_in = pthread_self();
    lost++;
    one_less();
}

static void hear_event(void *arg, const hf_event *event) {
    assert_true(pthread_equal(pthread_self(), *(pthread_t *)arg));
    if (event->kind == HF_EVENT_LOST)
        one_less();
}

void loss_is_told_in_the_loop(void **state) {
    (void)state;
    hf_loop_open();
    pthread_t self = pthread_self();
    hf_client *client =
        hf_test_open(uri, HF_CLIENT_WITH(.loop = true, .on_event = hear_event,
                                         .event_arg = &self));
    hf_expect(HF_OK, hf_loop_attach(0, client));
    hf_lock *lock = hf_test_lock(
        client, "one", HF_LOCK_WITH(.flags = HF_OWNER_HANDLE, .lease_ms = 200));
    answer got = {0}, gone = {0};
    lost = 0;
    hf_lock_on_state(lock, hear, NULL);
    hf_expect(HF_OK, hf_lock_acquire_async(lock, HF_FOREVER, note, &got, ERR));
    run_until_told(3); /* granted; lost, as a state and as an event */
    hf_expect(HF_OK, got.rc);
    assert_int_equal(lost, 1);
    assert_true(pthread_equal(told_in, self));
    hf_expect(HF_OK, hf_lock_release_async(lock, note, &gone, ERR));
    run_until_told(1);
    hf_expect(HF_ELOST, gone.rc);
    hf_loop_detach(0);
    hf_loop_close();
}

/* ---- the loop itself --------------------------------------------------- */

void a_loop_may_stop_and_run_again(void **state) {
    (void)state;
    hf_loop_open();
    hf_lock *other = taken("one");
    hf_client *client = attached(0);
    answer got = {0};
    hf_expect(HF_OK, hf_lock_acquire_async(lock_of(client, "one"), HF_FOREVER,
                                           note, &got, ERR));
    run_for(5);
    hf_expect(HF_OK, hf_lock_release(other, ERR));
    hf_test_eventually(due(client), HF_TEST_LONG); /* without the loop */
    assert_int_equal(got.times, 0);
    run_until_told(1);
    hf_expect(HF_OK, got.rc);
    hf_loop_detach(0);
    hf_loop_close();
}

void a_detached_client_is_told_when_it_is_attached_again(void **state) {
    (void)state;
    hf_loop_open();
    hf_client *client = attached(0);
    answer got = {0};
    hf_expect(HF_OK, hf_lock_acquire_async(lock_of(client, "one"), HF_FOREVER,
                                           note, &got, ERR));
    hf_test_eventually(due(client), HF_TEST_LONG);
    hf_loop_detach(0);
    run_for(20);
    assert_int_equal(got.times, 0);
    hf_expect(HF_OK, hf_loop_attach(0, client));
    run_until_told(1);
    hf_expect(HF_OK, got.rc);
    hf_loop_detach(0);
    hf_loop_close();
}

void no_client_is_not_attached(void **state) {
    (void)state;
    hf_loop_open();
    assert_true(hf_loop_attach(0, NULL) < 0);
    hf_loop_detach(0);
    run_for(5);
    hf_loop_close();
}

/* The first thread begins things; who runs the loop is told. */
static sem_t is_open;

static void *run_elsewhere(void *client) {
    hf_loop_open();
    hf_expect(HF_OK, hf_loop_attach(0, client));
    sem_post(&is_open);
    run_until_told(2);
    hf_loop_detach(0);
    hf_loop_close();
    return NULL;
}

void a_loop_may_run_in_another_thread(void **state) {
    (void)state;
    pthread_t thread;
    hf_client *client = hf_test_open(uri, NULL);
    hf_lock *one = lock_of(client, "one"), *two = lock_of(client, "two");
    answer first = {0}, second = {0};
    assert_int_equal(sem_init(&is_open, 0, 0), 0);
    hf_expect(HF_OK, hf_lock_acquire_async(one, HF_FOREVER, note, &first, ERR));
    assert_int_equal(pthread_create(&thread, NULL, run_elsewhere, client), 0);
    while (sem_wait(&is_open) != 0)
        ;
    hf_expect(HF_OK,
              hf_lock_acquire_async(two, HF_FOREVER, note, &second, ERR));
    assert_int_equal(pthread_join(thread, NULL), 0);
    hf_expect(HF_OK, first.rc);
    hf_expect(HF_OK, second.rc);
    assert_true(pthread_equal(first.where, thread));
    assert_true(pthread_equal(second.where, thread));
    sem_destroy(&is_open);
}

/* Where the kernel knows of the loop, parent and child share that. */
void a_child_that_detaches_leaves_the_parent_in_the_loop(void **state) {
    (void)state;
    hf_test_need_fork();
    int status;
    hf_loop_open();
    hf_client *client = attached(0);
    serves(client);
    pid_t child = fork();
    if (child == 0) {
        hf_loop_fork();
        hf_loop_detach(0);
        _exit(0);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
    serves(client);
    hf_loop_detach(0);
    hf_loop_close();
}
