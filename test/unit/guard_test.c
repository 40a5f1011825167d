/* SPDX-License-Identifier: MIT
 *
 * guard_test.c - a file refuses older tokens than it has seen. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/dir.h"
#include "support/stage.h"
#include "support/suite.h"

/* A path that nobody guards yet. */
static const char *fresh(void) {
    static char path[256];
    hf_test_fresh_path(path, sizeof path, "file");
    return path;
}

static int enter(hf_guard **g, const char *path, uint64_t token) {
    return hf_guard_enter(g, path, token, 0, ERR);
}

static void passes(const char *path, uint64_t token) {
    hf_guard *g;
    hf_expect(HF_OK, enter(&g, path, token));
    hf_guard_leave(g);
}

static void is_refused(const char *path, uint64_t token) {
    hf_guard *g;
    hf_expect(HF_ELOST, enter(&g, path, token));
    assert_null(g);
}

static void an_older_token_is_refused_and_an_equal_one_passes(void **state) {
    (void)state;
    const char *path = fresh();
    passes(path, 7);
    passes(path, 7);
    is_refused(path, 6);
    assert_non_null(strstr(ERR->text, "6 is older than 7"));
    passes(path, 8);
    is_refused(path, 7);
    passes(path, INT64_MAX);
    is_refused(path, INT64_MAX - 1);
}

static void a_newer_one_waits_until_the_older_is_out(void **state) {
    (void)state;
    const char *path = fresh();
    hf_guard *old, *new;
    hf_expect(HF_OK, enter(&old, path, 1));
    hf_expect(HF_OK, hf_guard_check(old, ERR));
    hf_expect(HF_BUSY, enter(&new, path, 2));
    hf_expect(HF_ETIMEOUT, hf_guard_enter(&new, path, 2, 30, ERR));
    hf_expect(HF_ELOST, hf_guard_check(old, ERR)); /* and the older knows */
    is_refused(path, 1);
    hf_guard_leave(old);
    passes(path, 2);
}

static void who_is_inside_hears_of_a_newer_one(void **state) {
    (void)state;
    const char *path = fresh();
    hf_guard *old, *new;
    hf_expect(HF_OK, enter(&old, path, 1));
    struct pollfd fd = {.fd = hf_guard_fd(old), .events = POLLIN};
    assert_true(fd.fd >= 0);
    assert_int_equal(hf_guard_fd(old), fd.fd);
    passes(path, 1);
    assert_int_equal(poll(&fd, 1, 0), 0);
    hf_expect(HF_BUSY, enter(&new, path, 2));
    assert_int_equal(poll(&fd, 1, HF_TEST_LONG), 1);
    hf_expect(HF_ELOST, hf_guard_check(old, ERR));
    hf_guard_leave(old);
}

static void equal_ones_are_inside_together(void **state) {
    (void)state;
    const char *path = fresh();
    hf_guard *a, *b, *new;
    hf_expect(HF_OK, enter(&a, path, 5));
    hf_expect(HF_OK, enter(&b, path, 5));
    hf_guard_leave(a);
    hf_expect(HF_BUSY, enter(&new, path, 6));
    hf_guard_leave(b);
    passes(path, 6);
}

static void all_ways_to_a_file_lead_to_one_record(void **state) {
    (void)state;
    char path[256], link[300], round[600];
    const char *base;
    snprintf(path, sizeof path, "%s", fresh());
    base = strrchr(path, '/') + 1;
    snprintf(link, sizeof link, "%s-link", path);
    snprintf(round, sizeof round, "%s/../%s/%s", hf_test_dir(),
             strrchr(hf_test_dir(), '/') + 1, base);
    passes(path, 3); /* it does not exist yet */
    is_refused(round, 2);
    assert_int_equal(symlink(path, link), 0);
    hf_guard *g;
    hf_expect(HF_EUSAGE, enter(&g, link, 9)); /* a link to nothing */
    assert_int_equal(close(creat(path, 0600)), 0);
    is_refused(link, 2);
    passes(link, 4);
    is_refused(path, 3);
    assert_int_equal(chdir(hf_test_dir()), 0);
    is_refused(base, 3);
    passes(base, 4);
}

static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    hf_guard *g;
    hf_expect(HF_EUSAGE, enter(&g, fresh(), 0));
    hf_expect(HF_EUSAGE, enter(&g, fresh(), UINT64_C(1) << 63));
    hf_expect(HF_EUSAGE, enter(&g, "", 1));
    hf_expect(HF_EUSAGE, enter(&g, "/", 1));
    hf_expect(HF_EUSAGE, enter(&g, NULL, 1));
    hf_expect(HF_EUSAGE, enter(NULL, fresh(), 1));
    hf_expect(HF_EUSAGE, hf_guard_enter(&g, fresh(), 1, -2, ERR));
    hf_expect(HF_ESYSTEM, enter(&g, "/nowhere/at/all", 1));
    hf_expect(HF_EUSAGE, hf_guard_check(NULL, ERR));
    assert_int_equal(hf_guard_fd(NULL), HF_EUSAGE);
    hf_guard_leave(NULL);
    assert_null(hf_guard_text("oracle"));
    assert_null(hf_guard_text(NULL));
    assert_non_null(strstr(hf_guard_text("redis"), "-- A guard for Redis"));
}

/* Whoever cannot read what was seen lets nobody pass. */
static void a_record_that_is_none_is_an_error(void **state) {
    (void)state;
    char path[256], record[300];
    hf_guard *g;
    snprintf(path, sizeof path, "%s", fresh());
    passes(path, 3);
    snprintf(record, sizeof record, "%s/.%s.hf-token", hf_test_dir(),
             strrchr(path, '/') + 1);
    for (const char *const *bad =
             (const char *const[]){"", "x", "-3\n", "3", "3\n4\n", NULL};
         *bad; bad++) {
        int fd = open(record, O_WRONLY | O_TRUNC);
        assert_int_equal(write(fd, *bad, strlen(*bad)), strlen(*bad));
        close(fd);
        hf_expect(HF_ESYSTEM, enter(&g, path, 9));
    }
}

static void who_is_killed_inside_keeps_nobody_out(void **state) {
    (void)state;
    const char *path = fresh();
    int ready[2];
    hf_guard *g;
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        if (hf_guard_enter(&g, path, 1, 0, NULL) == HF_OK &&
            write(ready[1], "", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    hf_expect(HF_BUSY, enter(&g, path, 2));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ready[0]);
    close(ready[1]);
    passes(path, 2);
}

/* ---- many at once ------------------------------------------------------ */

/* What is guarded: it knows the truth, and looks. */
typedef struct resource {
    char path[256];
    atomic_uint_least64_t newest; /* that has been inside      */
    atomic_int wrong, passed, refused;
} resource;

enum { WRITERS = 6, ROUNDS = 60, TOKENS = 300 };

static void change(resource *r, uint64_t token) {
    uint64_t newest = atomic_load(&r->newest);
    while (newest < token &&
           !atomic_compare_exchange_weak(&r->newest, &newest, token))
        ;
    /* Long enough for others to come: nobody newer begins meanwhile. */
    for (int64_t until = hf_test_now_ms() + 5; hf_test_now_ms() < until;) {
        if (atomic_load(&r->newest) > token)
            atomic_fetch_add(&r->wrong, 1);
        sched_yield();
    }
}

static void *write_with_random_tokens(void *arg) {
    resource *r = arg;
    unsigned seed = (unsigned)(uintptr_t)pthread_self() ^ (unsigned)getpid();
    for (int i = 0; i < ROUNDS; i++) {
        /* Growing, with late ones among them. */
        uint64_t token = 1 + (uint64_t)(i * TOKENS / ROUNDS) +
                         (uint64_t)(rand_r(&seed) % 20);
        hf_guard *g;
        int rc = hf_guard_enter(&g, r->path, token, HF_FOREVER, NULL);
        if (rc == HF_OK) {
            change(r, token);
            hf_guard_leave(g);
        }
        atomic_fetch_add(rc == HF_OK    ? &r->passed :
                         rc == HF_ELOST ? &r->refused :
                                          &r->wrong,
                         1);
    }
    return NULL;
}

static void no_older_one_is_ever_inside_beside_or_after_a_newer(void **state) {
    (void)state;
    static resource r;
    pthread_t threads[WRITERS];
    snprintf(r.path, sizeof r.path, "%s", fresh());
    for (int i = 0; i < WRITERS; i++)
        pthread_create(&threads[i], NULL, write_with_random_tokens, &r);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(r.wrong, 0);
    assert_true(r.passed > 0);
    assert_true(r.refused > 0);
    is_refused(r.path, r.newest - 1);
    passes(r.path, r.newest);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_older_token_is_refused_and_an_equal_one_passes),
    cmocka_unit_test(a_newer_one_waits_until_the_older_is_out),
    cmocka_unit_test(who_is_inside_hears_of_a_newer_one),
    cmocka_unit_test(equal_ones_are_inside_together),
    cmocka_unit_test(all_ways_to_a_file_lead_to_one_record),
    cmocka_unit_test(what_makes_no_sense_is_refused),
    cmocka_unit_test(a_record_that_is_none_is_an_error),
    cmocka_unit_test(who_is_killed_inside_keeps_nobody_out),
    cmocka_unit_test(no_older_one_is_ever_inside_beside_or_after_a_newer),
};
HF_SUITE(tests)
