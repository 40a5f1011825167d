/* SPDX-License-Identifier: MIT
 *
 * exclusion.c - one owner at a time, and who that is. */
#include "contract.h"

#include "support/dir.h"
#include "support/guarded.h"

#include <stdio.h>
#include <string.h>

typedef struct party {
    hf_client *client;
    hf_test_guarded *g;
    int threads, rounds;
} party;

static void *contend(void *arg) {
    party *p = arg;
    hf_test_contend_with(p->client, "counter",
                         HF_LOCK_WITH(.kind = hf_test_kind), p->g, p->threads,
                         p->rounds);
    return NULL;
}

static void contend_with(int clients, int n_threads, int rounds) {
    char path[160];
    pthread_t threads[16];
    party parties[16];
    hf_test_fresh_path(path, sizeof path, "counter");
    hf_test_guarded *g = hf_test_guarded_map(path);
    assert_non_null(g);
    for (int i = 0; i < clients; i++)
        parties[i] = (party){hf_contract_open(NULL), g, n_threads, rounds};
    hf_test_free(hf_test_lock(parties[0].client, "counter", NULL));
    for (int i = 0; i < clients; i++)
        pthread_create(&threads[i], NULL, contend, &parties[i]);
    for (int i = 0; i < clients; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(g->failures, 0);
    assert_int_equal(g->overlaps, 0);
    assert_int_equal(g->disorders, 0);
    assert_int_equal(g->counter, clients * n_threads * rounds);
    hf_test_guarded_unmap(g);
}

void a_guarded_counter_loses_no_increment(void **state) {
    (void)state;
    contend_with(2, 8, 25);
}

void sixteen_clients_lose_no_increment(void **state) {
    (void)state;
    contend_with(16, 1, 10);
}

typedef struct trier {
    pthread_t thread;
    hf_lock *lock;
    int granted, wrong;
} trier;

static void *try_often(void *arg) {
    trier *t = arg;
    for (int i = 0; i < 200; i++) {
        int result = hf_lock_try(t->lock, NULL);
        t->granted += result == HF_OK;
        if (result == HF_OK ? !hf_lock_is_held(t->lock) ||
                                  hf_lock_release(t->lock, NULL) != HF_OK :
                              result != HF_BUSY || hf_lock_is_held(t->lock))
            t->wrong++;
    }
    return NULL;
}

void many_who_only_try_are_told_the_truth(void **state) {
    (void)state;
    enum { N = 8 };
    trier all[N];
    hf_lock *lock = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    for (int i = 0; i < N; i++) {
        all[i] = (trier){.lock = lock};
        pthread_create(&all[i].thread, NULL, try_often, &all[i]);
    }
    int granted = 0;
    for (int i = 0; i < N; i++) {
        pthread_join(all[i].thread, NULL);
        assert_int_equal(all[i].wrong, 0);
        granted += all[i].granted;
    }
    assert_true(granted > 0);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
}

void a_held_lock_answers_busy_to_a_try(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_lock *b = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_BUSY, hf_lock_acquire(b, 0, ERR));
    assert_false(hf_lock_is_held(b));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
}

void a_released_lock_can_be_taken_again(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    for (int i = 0; i < 5; i++) {
        hf_expect(HF_OK, hf_lock_acquire(lock, 0, ERR));
        assert_true(hf_lock_is_held(lock));
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        assert_false(hf_lock_is_held(lock));
    }
    assert_int_equal(hf_test_holders(client, "x"), 0);
}

void re_entry_counts_0_1_2_1_0_and_keeps_the_token(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    assert_int_equal(hf_lock_holds(lock), 0);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    assert_int_equal(hf_lock_holds(lock), 1);
    uint64_t token = hf_lock_token(lock);
    assert_true(token > 0);
    hf_expect(HF_OK, hf_lock_acquire(lock, 1000, ERR));
    assert_int_equal(hf_lock_holds(lock), 2);
    assert_true(hf_lock_token(lock) == token);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    assert_int_equal(hf_lock_holds(lock), 1);
    assert_true(hf_lock_is_held(lock));
    assert_true(hf_lock_token(lock) == token);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    assert_int_equal(hf_lock_holds(lock), 0);
    assert_false(hf_lock_is_held(lock));
}

void after_one_of_two_releases_others_stay_out(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_lock *b = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
}

static int is_held(hf_lock *lock, hf_error *err) {
    (void)err;
    return hf_lock_is_held(lock);
}

void another_thread_is_another_owner(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    assert_int_equal(hf_test_elsewhere(hf_lock_try, lock), HF_BUSY);
    assert_false(hf_test_elsewhere(is_held, lock));
    assert_true(hf_lock_is_held(lock));
    assert_int_equal(hf_lock_holds(lock), 1);
}

void only_the_owner_releases(void **state) {
    (void)state;
    hf_client *other = hf_contract_open(NULL);
    hf_lock *lock = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_lock *foreign = hf_test_lock(other, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    uint64_t token = hf_lock_token(lock);
    assert_int_equal(hf_test_elsewhere(hf_lock_release, lock), HF_ENOT_OWNER);
    hf_expect(HF_ENOT_OWNER, hf_lock_release(foreign, ERR));
    assert_non_null(strstr(ERR->text, "'x'"));
    assert_true(hf_lock_is_held(lock));
    assert_true(hf_lock_token(lock) == token);
    assert_int_equal(hf_test_holders(other, "x"), 1);
    hf_expect(HF_BUSY, hf_lock_try(foreign, ERR));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
}

void nobody_releases_what_is_not_held(void **state) {
    (void)state;
    hf_lock *lock = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_expect(HF_ENOT_OWNER, hf_lock_release(lock, ERR));
    hf_expect(HF_ENOT_OWNER, hf_lock_release_after(lock, 100, ERR));
    hf_expect(HF_ENOT_OWNER, hf_lock_extend(lock, 1000, ERR));
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    hf_expect(HF_ENOT_OWNER, hf_lock_release(lock, ERR));
}

void a_handle_that_owns_is_released_by_any_thread(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *lock =
        hf_test_lock(client, "x", HF_LOCK_WITH(.flags = HF_OWNER_HANDLE));
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    assert_true(hf_test_elsewhere(is_held, lock));
    assert_int_equal(hf_test_elsewhere(hf_lock_try, lock), HF_OK);
    assert_int_equal(hf_lock_holds(lock), 2);
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    assert_int_equal(hf_test_elsewhere(hf_lock_release, lock), HF_OK);
    assert_false(hf_lock_is_held(lock));
    assert_int_equal(hf_test_holders(client, "x"), 0);
}

void two_handles_that_own_exclude_each_other_in_one_thread(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    const hf_lock_options *owns = HF_LOCK_WITH(.flags = HF_OWNER_HANDLE);
    hf_lock *a = hf_test_lock(client, "x", owns);
    hf_lock *b = hf_test_lock(client, "x", owns);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_ENOT_OWNER, hf_lock_release(b, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
}

void a_thousand_grants_have_a_thousand_growing_tokens(void **state) {
    (void)state;
    hf_lock *locks[2];
    uint64_t last = 0;
    for (int i = 0; i < 2; i++)
        locks[i] = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    for (int i = 0; i < 1000; i++) {
        hf_lock *lock = locks[i % 2];
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        uint64_t token = hf_lock_token(lock);
        if (token <= last)
            fail_msg("token %llu after %llu", (unsigned long long)token,
                     (unsigned long long)last);
        last = token;
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
    }
}

static const char *const odd_names[] = {
    "a",      "A",     "a ",       " a",
    "a:b",    "a:b:c", "{a}",      "a{b}c",
    "{t}a",   "{t}:b", "a{{b}}",   "a/b",
    "a\\b",   "a'b",   "a\"b",     "a%b",
    "a*",     "a?",    "[a]",      "-",
    "--help", ".",     "..",       "größe",
    "鍵",     "🔑",     "a;b",      "$(a)",
    "%s%n",   "a,b",   "holdfast", "redisson_lock__channel:{a}",
    "NULL",   "0",     "a=b&c=d",
};

/* Some stores cannot have every name, and say so. */
static bool is_refused(const char *name) {
    const char *const *p = hf_contract_under_test.refused;
    while (p != NULL && *p != NULL && strcmp(*p, name) != 0)
        p++;
    return p != NULL && *p != NULL;
}

static void expect_refusal(hf_client *client, const char *name) {
    hf_lock *lock = NULL;
    hf_expect(HF_OK, hf_lock_new(&lock, client, name,
                                 HF_LOCK_WITH(.kind = hf_test_kind), ERR));
    hf_expect(HF_ENAME, hf_lock_try(lock, ERR));
    assert_non_null(strstr(ERR->text, name));
    hf_expect(HF_ENAME, hf_lock_acquire(lock, HF_TEST_LONG, ERR));
    hf_expect(HF_ENAME, hf_lock_force_release(lock, NULL, ERR));
    hf_lock_free(lock);
}

/* All are taken at once: had two of them one place in the store, the second
 * would be busy. */
void names_of_every_kind_do_not_collide(void **state) {
    (void)state;
    enum { N = sizeof odd_names / sizeof odd_names[0] };
    hf_client *client = hf_contract_open(NULL), *other = hf_contract_open(NULL);
    hf_lock *locks[N + 1];
    char longest[HF_NAME_MAX + 1];
    size_t most = hf_contract_under_test.name_max;
    most = most != 0 ? most : HF_NAME_MAX;
    memset(longest, 'n', most);
    longest[most] = 0;
    for (size_t i = 0; i <= N; i++) {
        const char *name = i < N ? odd_names[i] : longest;
        locks[i] = NULL;
        if (hf_test_kind == HF_PERMIT && strcmp(name, "{a}") == 0)
            continue; /* Redisson keeps the leases of a and {a} in one place */
        if (is_refused(name)) {
            expect_refusal(client, name);
            continue;
        }
        locks[i] = hf_test_lock(client, name, NULL);
        assert_string_equal(hf_lock_name(locks[i]), name);
        hf_expect(HF_OK, hf_lock_try(locks[i], ERR));
        assert_int_equal(hf_test_holders(other, name), 1);
        hf_expect(HF_BUSY, hf_lock_try(hf_test_lock(other, name, NULL), ERR));
    }
    for (size_t i = 0; i <= N; i++)
        if (locks[i] != NULL)
            hf_expect(HF_OK, hf_lock_release(locks[i], ERR));
    assert_int_equal(hf_test_holders(other, NULL), 0);
}

void a_posted_release_lets_the_next_one_in(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a =
        hf_test_lock(client, "x", HF_LOCK_WITH(.flags = HF_POST_RELEASE));
    hf_lock *b = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    for (int i = 0; i < 20; i++) {
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        uint64_t token = hf_lock_token(a);
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
        assert_true(hf_lock_token(b) > token);
        hf_expect(HF_OK, hf_lock_release(b, ERR));
    }
}

/* ---- threads of one process -------------------------------------------- */

typedef struct crowd {
    hf_lock *lock;
    atomic_bool stop;
    atomic_int entered, wrong;
} crowd;

static void *come_and_go(void *arg) {
    crowd *c = arg;
    while (!atomic_load(&c->stop)) {
        if (hf_lock_acquire(c->lock, 3 * HF_TEST_LONG, NULL) != HF_OK ||
            hf_lock_release(c->lock, NULL) != HF_OK)
            atomic_fetch_add(&c->wrong, 1);
        atomic_fetch_add(&c->entered, 1);
    }
    return NULL;
}

/* Threads of one process may hand a lock to each other, but not for ever. */
void a_crowd_of_threads_lets_another_client_in(void **state) {
    (void)state;
    enum { N = 8, TURNS = 5 };
    pthread_t threads[N];
    crowd c = {.lock = hf_test_lock(hf_contract_open(NULL), "x", NULL)};
    hf_lock *other = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, come_and_go, &c);
    int result = HF_OK;
    for (int i = 0; i < TURNS && result == HF_OK; i++) {
        int before = atomic_load(&c.entered);
        while (atomic_load(&c.entered) < before + N)
            hf_test_breathe();
        result = hf_lock_acquire(other, HF_TEST_LONG, ERR);
        if (result == HF_OK)
            result = hf_lock_release(other, ERR);
    }
    atomic_store(&c.stop, true);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    hf_expect(HF_OK, result);
    assert_int_equal(atomic_load(&c.wrong), 0);
}

typedef struct traveller {
    pthread_t thread;
    hf_lock *const *locks;
    int number, wrong;
} traveller;

static void *go_round(void *arg) {
    traveller *t = arg;
    for (int i = 0; i < 20; i++) {
        hf_lock *lock = t->locks[(t->number + i) % 5];
        if (hf_lock_acquire(lock, 3 * HF_TEST_LONG, NULL) != HF_OK ||
            hf_lock_release(lock, NULL) != HF_OK)
            t->wrong++;
    }
    return NULL;
}

void thirty_two_threads_on_five_names_all_get_through(void **state) {
    (void)state;
    enum { N = 32 };
    traveller all[N];
    hf_client *clients[2] = {hf_contract_open(NULL), hf_contract_open(NULL)};
    hf_lock *locks[2][5];
    for (int i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof name, "name %d", i % 5);
        locks[i / 5][i % 5] = hf_test_lock(clients[i / 5], name, NULL);
    }
    for (int i = 0; i < N; i++) {
        all[i] = (traveller){.locks = locks[i % 2], .number = i};
        pthread_create(&all[i].thread, NULL, go_round, &all[i]);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(all[i].thread, NULL);
        assert_int_equal(all[i].wrong, 0);
    }
    assert_int_equal(hf_test_holders(clients[0], NULL), 0);
    assert_int_equal(hf_test_waiters(clients[0], NULL), 0);
}

void a_lock_without_re_entry_refuses_its_owner(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a =
        hf_test_lock(client, "x", HF_LOCK_WITH(.flags = HF_NO_REENTRY));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_EUSAGE, hf_lock_try(a, ERR));
    assert_non_null(strstr(ERR->text, "'x'"));
    hf_expect(HF_EUSAGE, hf_lock_acquire(a, HF_FOREVER, ERR));
    assert_int_equal(hf_lock_holds(a), 1);
    assert_int_equal(hf_test_holders(client, "x"), 1);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
}

static uint64_t last_token(hf_lock *lock) {
    uint64_t token = 1;
    hf_expect(HF_OK, hf_lock_last_token(lock, &token, ERR));
    return token;
}

void the_last_token_of_a_name_is_asked_of_the_store(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x",
                              HF_LOCK_WITH(.flags = HF_NO_COHORT));
    hf_lock *b = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    bool moves = hf_contract_under_test.moves_token;
    uint64_t last = last_token(b);
    assert_true(moves || last == 0);
    for (int i = 0; i < 3; i++) {
        hf_expect(HF_OK, hf_lock_try(a, ERR));
        uint64_t token = hf_lock_token(a);
        assert_true(token > last);
        assert_true(last_token(b) == token);
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        last = last_token(b); /* it stays when nobody holds */
        assert_true(moves ? last >= token : last == token);
    }
}
