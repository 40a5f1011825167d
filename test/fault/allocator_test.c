/* SPDX-License-Identifier: MIT
 *
 * allocator_test.c - whose memory the library takes.
 *
 * The program brings an allocator that knows its own blocks by what stands in
 * front of them, and counts them.  A client lives through all there is, on
 * every store; at its end nothing is left, and nothing was freed that came
 * from elsewhere.  What was ours and is given to libc's free ends the program
 * there. */
#include "support/dir.h"
#include "support/lender.h"
#include "support/mariadb.h"
#include "support/postgres.h"
#include "support/quorum.h"
#include "support/server.h"
#include "support/stage.h"
#include "support/suite.h"
#include "support/voters.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the allocator ----------------------------------------------------- */

static const uint64_t OURS = 0x686f6c6466617374, GONE = ~(uint64_t)0;

typedef struct header {
    _Alignas(max_align_t) uint64_t magic;
    size_t size;
} header;

static atomic_llong blocks, bytes, calls;
static atomic_bool starves;
static int mark; /* whose address every call must bring */

/* Says so in any thread, where cmocka could not. */
static void refuse(const char *what) {
    fprintf(stderr, "allocator: %s\n", what);
    abort();
}

static header *header_of(void *arg, void *p) {
    header *h = (header *)p - 1;
    if (arg != &mark)
        refuse("it was not given its argument");
    if (p == NULL || h->magic != OURS)
        refuse("a block that is not ours came back");
    return h;
}

static void *take(void *arg, size_t n) {
    if (arg != &mark)
        refuse("it was not given its argument");
    if (n == 0)
        refuse("it was asked for nothing");
    header *h = atomic_load(&starves) ? NULL : malloc(sizeof *h + n);
    if (h == NULL)
        return NULL;
    memset(h + 1, 0xa5, n);
    *h = (header){.magic = OURS, .size = n};
    atomic_fetch_add(&blocks, 1);
    atomic_fetch_add(&calls, 1);
    atomic_fetch_add(&bytes, (long long)n);
    return h + 1;
}

static void give(void *arg, void *p) {
    header *h = header_of(arg, p);
    atomic_fetch_sub(&blocks, 1);
    atomic_fetch_sub(&bytes, (long long)h->size);
    h->magic = GONE;
    memset(p, 0x5a, h->size);
    free(h);
}

/* Always elsewhere: who keeps the old address is found out. */
static void *resize(void *arg, void *p, size_t n) {
    header *h = header_of(arg, p);
    void *new = take(arg, n);
    if (new == NULL)
        return NULL;
    memcpy(new, p, h->size < n ? h->size : n);
    give(arg, p);
    return new;
}

static const hf_allocator counting = {.size = sizeof counting,
                                      .alloc = take,
                                      .resize = resize,
                                      .release = give,
                                      .arg = &mark};

static __attribute__((constructor)) void begin(void) {
    if (hf_set_allocator(&counting, NULL) != HF_OK)
        refuse("it was refused");
}

/* ---- a life ------------------------------------------------------------ */

static void fact(void *arg, hf_verdict_level level, const char *what,
                 const char *text) {
    (void)arg, (void)level, (void)what, (void)text;
}

static void rule(void *arg, const hf_rule *r) {
    (void)arg, (void)r;
}

static void place(void *arg, const hf_place *p) {
    (void)arg, (void)p;
}

static void client(void *arg, const hf_presence *c) {
    (void)arg, (void)c;
}

static void circle(void *arg, const hf_stuck *c, size_t n) {
    (void)arg, (void)c, (void)n;
}

static bool has(hf_client *c, hf_kind kind) {
    return hf_can(c, kind) & HF_CAN_HOLD;
}

/* Held twice, waited for by another thread, and passed on. */
static void locks(hf_client *c) {
    static const hf_kind kinds[] = {HF_LOCK, HF_SIMPLE, HF_FAIR,  HF_SPIN,
                                    HF_READ, HF_WRITE,  HF_PERMIT};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!has(c, kinds[i]))
            continue;
        char name[20];
        snprintf(name, sizeof name, "life%zu", i);
        hf_test_kind = kinds[i];
        hf_lock *mine = hf_test_lock(c, name, NULL);
        hf_lock *other = hf_test_lock(c, name, NULL);
        hf_expect(HF_OK, hf_lock_acquire(mine, 5000, ERR));
        hf_test_thread next;
        hf_test_begin(&next, other, 20000);
        hf_expect(HF_OK, hf_lock_extend(mine, 20000, ERR));
        hf_expect(HF_OK, hf_lock_release(mine, ERR));
        hf_expect(HF_OK, hf_test_answer(&next));
        hf_expect(HF_OK, hf_list(c, NULL, place, NULL, ERR));
        hf_expect(HF_OK, hf_test_end(&next));
        hf_test_free(mine);
        hf_test_free(other);
    }
    hf_test_kind = HF_LOCK;
}

static void numbers(hf_client *c) {
    if (has(c, HF_SEMAPHORE)) {
        hf_semaphore *sem = hf_test_semaphore(c, "life:s");
        hf_expect(HF_OK, hf_semaphore_set(sem, 2, 0, ERR));
        hf_expect(HF_OK, hf_semaphore_acquire(sem, 2, 1000, ERR));
        hf_expect(HF_ETIMEOUT, hf_semaphore_acquire(sem, 1, 20, ERR));
        hf_expect(HF_OK, hf_semaphore_release(sem, 2, ERR));
        hf_expect(HF_OK, hf_semaphore_delete(sem, ERR));
    }
    if (has(c, HF_LATCH)) {
        hf_latch *latch = hf_test_latch(c, "life:l");
        hf_expect(HF_OK, hf_latch_set(latch, 1, ERR));
        hf_expect(HF_ETIMEOUT, hf_latch_wait(latch, 20, ERR));
        hf_expect(HF_OK, hf_latch_count_down(latch, ERR));
        hf_expect(HF_OK, hf_latch_wait(latch, 1000, ERR));
    }
}

static void several(hf_client *c) {
    hf_lock *a = hf_test_lock(c, "life:a", NULL);
    hf_lock *b = hf_test_lock(c, "life:b", NULL);
    hf_lock *both = HF_MULTI_OF(a, b);
    hf_expect(HF_OK, hf_lock_acquire(both, 5000, ERR));
    hf_expect(HF_OK, hf_lock_release(both, ERR));
    hf_test_free(both);
    hf_job *job;
    hf_expect(HF_OK, hf_job_begin(&job, c, "life:j", NULL, ERR));
    hf_expect(HF_OK, hf_job_end(job, ERR));
}

static void over(void *arg, int rc, const hf_error *err) {
    (void)err;
    *(int *)arg = rc;
}

/* By an event loop: one that is granted, and one that is given up with its
 * handle. */
static void loops(hf_client *c) {
    hf_lock *lock =
        hf_test_lock(c, "life:e", HF_LOCK_WITH(.flags = HF_OWNER_HANDLE));
    hf_lock *next =
        hf_test_lock(c, "life:e", HF_LOCK_WITH(.flags = HF_OWNER_HANDLE));
    struct pollfd p = {.fd = hf_fd(c), .events = POLLIN};
    int rc = 1;
    hf_expect(HF_OK, hf_lock_acquire_async(lock, 20000, over, &rc, ERR));
    while (rc == 1) {
        assert_true(poll(&p, 1, HF_TEST_LONG) > 0);
        assert_true(hf_process(c) >= 0);
    }
    hf_expect(HF_OK, rc);
    hf_expect(HF_OK, hf_lock_acquire_async(next, 20000, over, &rc, ERR));
    hf_test_free(next);
    hf_expect(HF_OK, hf_lock_release_async(lock, NULL, NULL, ERR));
    hf_test_free(lock);
}

/* What a store does not have is not asked for twice. */
static void looks(hf_client *c) {
    (void)hf_clients(c, client, NULL, ERR);
    (void)hf_deadlocks(c, circle, NULL, ERR);
    (void)hf_rights(c, "life", rule, NULL, ERR);
    hf_expect(HF_OK, hf_examine(c, fact, NULL, ERR));
}

static void live(const char *uri) {
    long long before = atomic_load(&calls);
    assert_int_equal(0, atomic_load(&blocks));
    hf_client *c = hf_test_open(uri, HF_CLIENT_WITH(.why = "to see"));
    locks(c);
    numbers(c);
    several(c);
    loops(c);
    looks(c);
    hf_test_clear();
    assert_true(atomic_load(&calls) > before + 20);
    print_message("%lld blocks\n", atomic_load(&calls) - before);
    if (atomic_load(&blocks) != 0)
        fail_msg("%s: %lld blocks, %lld bytes are left", uri,
                 atomic_load(&blocks), atomic_load(&bytes));
    assert_int_equal(0, atomic_load(&bytes));
}

static void nothing_is_left_in_memory(void **state) {
    (void)state;
    live("memory:life");
}

static void nothing_is_left_of_sqlite(void **state) {
    (void)state;
    char path[160], uri[192];
    hf_test_fresh_path(path, sizeof path, "locks");
    snprintf(uri, sizeof uri, "sqlite:%s.db", path);
    live(uri);
}

static void nothing_is_left_of_redis(void **state) {
    (void)state;
    hf_test_server *server = hf_test_server_start(NULL);
    live(hf_test_server_uri(server));
    hf_test_server_stop(server);
}

static void nothing_is_left_of_redlock(void **state) {
    (void)state;
    hf_test_voters voters;
    hf_test_voters_start(&voters, 3, NULL, "durable=1");
    live(voters.uri);
    hf_test_voters_stop(&voters);
}

static void nothing_is_left_of_zookeeper(void **state) {
    (void)state;
    char uri[256];
    hf_test_quorum_borrow(&hf_test_zookeeper_sort, uri, sizeof uri);
    live(uri);
    hf_test_give_back();
}

static void nothing_is_left_of_etcd(void **state) {
    (void)state;
    char uri[256];
    hf_test_quorum_borrow(&hf_test_etcd_sort, uri, sizeof uri);
    live(uri);
    hf_test_give_back();
}

static void nothing_is_left_of_postgres(void **state) {
    (void)state;
    char uri[256];
    hf_test_postgres_borrow_patiently(uri, sizeof uri);
    live(uri);
    hf_test_give_back();
}

static void nothing_is_left_of_mariadb(void **state) {
    (void)state;
    char uri[256];
    hf_test_mariadb_borrow_patiently(uri, sizeof uri);
    live(uri);
    hf_test_give_back();
}

static void nothing_is_left_of_an_escalation(void **state) {
    (void)state;
    hf_client *c;
    hf_expect(HF_OK, hf_escalate_to(&c, "memory:first", "memory:second", NULL,
                                    NULL, ERR));
    hf_test_adopt(c);
    hf_lock *lock = hf_test_lock(c, "life", NULL);
    hf_expect(HF_OK, hf_lock_acquire(lock, 1000, ERR));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    hf_test_clear();
    assert_int_equal(0, atomic_load(&blocks));
}

static void nothing_is_left_of_a_guard(void **state) {
    (void)state;
    char path[160];
    hf_guard *guard;
    hf_test_fresh_path(path, sizeof path, "guarded");
    hf_expect(HF_OK, hf_guard_enter(&guard, path, 7, 1000, ERR));
    assert_true(atomic_load(&blocks) > 0);
    hf_guard_leave(guard);
    assert_int_equal(0, atomic_load(&blocks));
}

/* ---- the rules --------------------------------------------------------- */

static void who_gives_nothing_is_told_that_there_is_no_memory(void **state) {
    (void)state;
    hf_client *c = NULL;
    hf_guard *guard;
    char path[160];
    hf_test_fresh_path(path, sizeof path, "guarded");
    atomic_store(&starves, true);
    hf_expect(HF_ENO_MEMORY, hf_open(&c, "memory:none", NULL, ERR));
    hf_expect(HF_ENO_MEMORY, hf_uri_check("redis://127.0.0.1", ERR));
    hf_expect(HF_ENO_MEMORY, hf_guard_enter(&guard, path, 7, 1000, ERR));
    atomic_store(&starves, false);
    c = hf_test_open("memory:none", NULL);
    atomic_store(&starves, true);
    hf_lock *lock;
    hf_expect(HF_ENO_MEMORY, hf_lock_new(&lock, c, "x", NULL, ERR));
    atomic_store(&starves, false);
    hf_test_clear();
    assert_int_equal(0, atomic_load(&blocks));
}

static void it_is_chosen_before_the_first_block(void **state) {
    (void)state;
    /* Nothing was taken yet: again is not too late. */
    hf_expect(HF_OK, hf_set_allocator(&counting, ERR));
    hf_expect(HF_OK, hf_uri_check("memory:x", ERR));
    hf_expect(HF_EUSAGE, hf_set_allocator(&counting, ERR));
    assert_non_null(strstr(ERR->text, "before anything else"));
    assert_int_equal(0, atomic_load(&blocks));
}

static void a_part_of_one_is_refused(void **state) {
    (void)state;
    hf_allocator part = counting;
    hf_expect(HF_EUSAGE, hf_set_allocator(NULL, ERR));
    part.alloc = NULL;
    hf_expect(HF_EUSAGE, hf_set_allocator(&part, ERR));
    part = counting;
    part.resize = NULL;
    hf_expect(HF_EUSAGE, hf_set_allocator(&part, ERR));
    part = counting;
    part.release = NULL;
    hf_expect(HF_EUSAGE, hf_set_allocator(&part, ERR));
    part = counting;
    part.size = 3;
    hf_expect(HF_EUSAGE, hf_set_allocator(&part, ERR));
    assert_non_null(strstr(ERR->text, "sizeof(hf_allocator)"));
}

static const struct CMUnitTest tests[] = {
    /* First, for those who run the program by hand: it is in one process. */
    cmocka_unit_test(a_part_of_one_is_refused),
    cmocka_unit_test(it_is_chosen_before_the_first_block),
    cmocka_unit_test(who_gives_nothing_is_told_that_there_is_no_memory),
    cmocka_unit_test(nothing_is_left_in_memory),
    cmocka_unit_test(nothing_is_left_of_sqlite),
    cmocka_unit_test(nothing_is_left_of_redis),
    cmocka_unit_test(nothing_is_left_of_redlock),
    cmocka_unit_test(nothing_is_left_of_zookeeper),
    cmocka_unit_test(nothing_is_left_of_etcd),
    cmocka_unit_test(nothing_is_left_of_postgres),
    cmocka_unit_test(nothing_is_left_of_mariadb),
    cmocka_unit_test(nothing_is_left_of_an_escalation),
    cmocka_unit_test(nothing_is_left_of_a_guard),
};
HF_SUITE(tests)
