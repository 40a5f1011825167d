/* SPDX-License-Identifier: MIT
 *
 * async_fault_test.c - thousands who wait in one thread, and stores that say
 * nothing to them. */
#include "backend/fault.h"
#include "client.h"
#include "support/dir.h"
#include "support/loop.h"
#include "support/server.h"
#include "support/suite.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MANY = 1000, SANITIZED = 1 };
#else
enum { MANY = 10000, SANITIZED = 0 };
#endif

enum {
    THREADS = 24,     /* the client's own, the runner's, the store's */
    BYTES_EACH = 4096 /* handle, wait and all */
};

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
    return 0;
}

/* ---- ten thousand ------------------------------------------------------ */

typedef struct crowd {
    hf_lock **locks;
    int inside, passed, failed;
    uint64_t token;
} crowd;

typedef struct member {
    crowd *all;
    hf_lock *lock;
} member;

static void enter(void *arg, int rc, const hf_error *err) {
    member *m = arg;
    uint64_t token = hf_lock_token(m->lock);
    (void)err;
    m->all->failed += rc != HF_OK || m->all->inside++ || !token;
    m->all->passed++;
    m->all->inside--;
    m->all->failed += hf_lock_release_async(m->lock, NULL, NULL, NULL) != HF_OK;
}

static void begin_all(hf_client *client, crowd *all, member *members,
                      bool one_name) {
    for (int i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof name, "many-%d", one_name ? 0 : i);
        hf_expect(HF_OK,
                  hf_lock_new(&members[i].lock, client, name,
                              HF_LOCK_WITH(.flags = HF_OWNER_HANDLE), ERR));
        members[i].all = all;
        hf_expect(HF_OK, hf_lock_acquire_async(members[i].lock, HF_FOREVER,
                                               enter, &members[i], ERR));
    }
}

static void let_all_pass(hf_client *client, const crowd *all) {
    int64_t by = hf_test_now_ms() + HF_TEST_LONG;
    for (int seen = 0; all->passed < MANY;) {
        hf_test_turn(client);
        if (all->passed != seen)
            by = hf_test_now_ms() + HF_TEST_LONG;
        seen = all->passed;
        if (hf_test_now_ms() > by)
            fail_msg("%d of %d came in, and nobody for long", seen, MANY);
    }
    assert_int_equal(all->failed, 0);
}

/* One holds what all of them want; what they cost while they wait is looked
 * at; then it lets go. */
static void many_wait(const char *uri) {
    hf_client *client = hf_test_open(uri, NULL);
    hf_lock *first = hf_test_lock(hf_test_open(uri, NULL), "many-0", NULL);
    member *members = calloc(MANY, sizeof *members);
    crowd all = {0};
    hf_expect(HF_OK, hf_lock_try(first, ERR));
    size_t before = mallinfo2().uordblks;
    begin_all(client, &all, members, true);
    hf_test_turn(client);
    size_t each = (mallinfo2().uordblks - before) / MANY;
    print_message("%d waiters in one thread: %zu bytes each, %d threads\n",
                  MANY, each, hf_test_threads());
    assert_true(hf_test_threads() <= THREADS || SANITIZED);
    assert_true(each <= BYTES_EACH || SANITIZED);
    assert_int_equal(all.passed, 0);
    hf_expect(HF_OK, hf_lock_release(first, ERR));
    let_all_pass(client, &all);
    for (int i = 0; i < MANY; i++)
        hf_lock_free(members[i].lock);
    free(members);
}

static void thousands_wait_in_one_thread_on_the_embedded_store(void **state) {
    char path[160], uri[200];
    (void)state;
    hf_test_fresh_path(path, sizeof path, "locks");
    snprintf(uri, sizeof uri, "sqlite:%s.db", path);
    many_wait(uri);
}

static void thousands_wait_in_one_thread_on_redis(void **state) {
    hf_test_server *server = hf_test_server_start(NULL);
    (void)state;
    many_wait(hf_test_server_uri(server));
    hf_test_clear();
    hf_test_server_stop(server);
}

static void thousands_of_names_are_taken_in_one_thread(void **state) {
    hf_test_server *server = hf_test_server_start(NULL);
    hf_client *client = hf_test_open(hf_test_server_uri(server), NULL);
    member *members = calloc(MANY, sizeof *members);
    crowd all = {0};
    (void)state;
    begin_all(client, &all, members, false);
    let_all_pass(client, &all);
    assert_true(hf_test_threads() <= THREADS || SANITIZED);
    for (int i = 0; i < MANY; i++)
        hf_lock_free(members[i].lock);
    free(members);
    hf_test_clear();
    hf_test_server_stop(server);
}

/* ---- a store that says nothing ----------------------------------------- */

enum {
    SOME = 300,
    ASKING = 15, /* as many as ever do: see src/runner.c */
    TIMEOUT_MS = 3000
};

/* Each question takes 3 s, and there are far fewer workers than waiters: one
 * after the other they would be told after a minute. */
static void deadlines_do_not_suffer_from_a_silent_store(void **state) {
    static hf_lock *locks[SOME];
    hf_test_told told = {0};
    hf_backend *trouble;
    hf_client *client;
    (void)state;
    hf_expect(HF_OK, hf__open_wrapped(&client, "memory:silent",
                                      HF_CLIENT_WITH(.timeout_ms = TIMEOUT_MS),
                                      hf__fault_wrap, &trouble, ERR));
    hf_test_adopt(client);
    hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_SILENT, -1);
    for (int i = 0; i < SOME; i++) {
        char name[32];
        snprintf(name, sizeof name, "silent-%d", i);
        hf_expect(HF_OK,
                  hf_lock_new(&locks[i], client, name,
                              HF_LOCK_WITH(.flags = HF_OWNER_HANDLE), ERR));
        hf_expect(HF_OK, hf_lock_acquire_async(locks[i], 500, hf_test_tell,
                                               &told, ERR));
    }
    hf_test_pump(client, told.n == SOME);
    hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_NONE, 0);
    hf_expect(HF_OK, hf_test_acquired(client, locks[SOME - 1], 10000));
    for (int i = 0; i < SOME; i++)
        hf_lock_free(locks[i]);
}

static void who_is_cancelled_does_not_wait_for_a_silent_store(void **state) {
    static hf_lock *locks[SOME];
    hf_test_told told = {0};
    hf_backend *trouble;
    hf_client *client;
    (void)state;
    hf_expect(HF_OK, hf__open_wrapped(&client, "memory:silent-too", NULL,
                                      hf__fault_wrap, &trouble, ERR));
    hf_test_adopt(client);
    hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_SILENT, -1);
    for (int i = 0; i < SOME; i++) {
        char name[32];
        snprintf(name, sizeof name, "silent-%d", i);
        hf_expect(HF_OK,
                  hf_lock_new(&locks[i], client, name,
                              HF_LOCK_WITH(.flags = HF_OWNER_HANDLE), ERR));
        hf_expect(HF_OK, hf_lock_acquire_async(locks[i], HF_FOREVER,
                                               hf_test_tell, &told, ERR));
    }
    hf_test_eventually(hf__fault_calls(trouble, HF_VERB_ATTEMPT) >= ASKING,
                       HF_TEST_LONG);
    for (int i = 0; i < SOME; i++)
        hf_lock_cancel(locks[i]);
    hf_test_pump(client, told.n == SOME);
    for (int i = 0; i < SOME; i++)
        hf_lock_free(locks[i]);
}

/* It should have freed the lock before; but to hang helps nobody. */
static void who_closes_too_early_does_not_hang(void **state) {
    hf_lock *first, *second;
    hf_client *client, *other;
    (void)state;
    hf_test_need(!SANITIZED, "a lock is lost on purpose");
    other = hf_test_open("memory:early", NULL);
    first = hf_test_lock(other, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(first, ERR));
    hf_expect(HF_OK, hf_open(&client, "memory:early", NULL, ERR));
    hf_expect(HF_OK, hf_lock_new(&second, client, "x",
                                 HF_LOCK_WITH(.flags = HF_OWNER_HANDLE), ERR));
    hf_expect(HF_OK,
              hf_lock_acquire_async(second, HF_FOREVER, NULL, NULL, ERR));
    hf_close(client);
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)
static const struct CMUnitTest tests[] = {
    TEST(thousands_wait_in_one_thread_on_the_embedded_store),
    TEST(thousands_wait_in_one_thread_on_redis),
    TEST(thousands_of_names_are_taken_in_one_thread),
    TEST(deadlines_do_not_suffer_from_a_silent_store),
    TEST(who_is_cancelled_does_not_wait_for_a_silent_store),
    TEST(who_closes_too_early_does_not_hang),
};
HF_SUITE(tests)
