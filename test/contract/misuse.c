/* SPDX-License-Identifier: MIT
 *
 * misuse.c - what cannot be is refused in words; what ends leaves nothing. */
#include "contract.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined __has_feature
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define UNDER_TSAN 1
#endif

/* Refused with `code`, and the text has the word in it. */
static void refused(int code, int got, const char *word) {
    hf_expect(code, got);
    assert_int_equal(ERR->code, code);
    if (strstr(ERR->text, word) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", ERR->text, word);
}

void names_that_cannot_be_used_are_refused_by_name(void **state) {
    (void)state;
    char over[HF_NAME_MAX + 2];
    hf_client *client = hf_contract_open(NULL);
    hf_lock *lock = (hf_lock *)client; /* must become NULL */
    memset(over, 'n', sizeof over);
    over[HF_NAME_MAX + 1] = 0;
    refused(HF_ENAME, hf_lock_new(&lock, client, "", NULL, ERR), "empty");
    assert_null(lock);
    refused(HF_ENAME, hf_lock_new(&lock, client, over, NULL, ERR), "255");
    refused(HF_ENAME, hf_lock_new(&lock, client, "a\nb", NULL, ERR), "0x0a");
    refused(HF_ENAME, hf_lock_new(&lock, client, "\x1b[1m", NULL, ERR), "0x1b");
    refused(HF_ENAME, hf_lock_new(&lock, client, "a\x7f", NULL, ERR), "0x7f");
    refused(HF_ENAME, hf_lock_new(&lock, client, "a\xff", NULL, ERR), "0xff");
    over[HF_NAME_MAX] = 0;
    hf_test_lock(client, over, NULL);
}

/* In a Redis cluster a lock of such a name could be taken but not released. */
void names_whose_braces_are_no_tag_are_refused(void **state) {
    (void)state;
    static const char *const torn[] = {"a{b", "a}b", "{}x", "x{}y",
                                       "{",   "}",   "}{x}"};
    static const char *const whole[] = {"{t}a", "a{b}c", "a{{b}}", "{t}{}"};
    hf_client *client = hf_contract_open(NULL);
    hf_lock *lock;
    for (size_t i = 0; i < sizeof torn / sizeof torn[0]; i++) {
        refused(HF_ENAME, hf_lock_new(&lock, client, torn[i], NULL, ERR),
                torn[i]);
        assert_null(lock);
    }
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        lock = hf_test_lock(client, whole[i], NULL);
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
    }
}

void negative_durations_are_refused(void **state) {
    (void)state;
    hf_lock *lock;
    hf_client *client = hf_contract_open(NULL), *none;
    const char *uri = hf_contract_uri;
    refused(HF_EUSAGE,
            hf_lock_new(&lock, client, "x", HF_LOCK_WITH(.lease_ms = -1), ERR),
            "lease_ms");
    refused(
        HF_EUSAGE,
        hf_lock_new(&lock, client, "x", HF_LOCK_WITH(.watchdog_ms = -1), ERR),
        "watchdog_ms");
    refused(HF_EUSAGE,
            hf_lock_new(&lock, client, "x", HF_LOCK_WITH(.renew_ms = -7), ERR),
            "renew_ms");
    refused(
        HF_EUSAGE,
        hf_lock_new(&lock, client, "x", HF_LOCK_WITH(.max_hold_ms = -7), ERR),
        "max_hold_ms");
    refused(HF_EUSAGE, hf_open(&none, uri, HF_CLIENT_WITH(.lease_ms = -1), ERR),
            "lease -1");
    refused(HF_EUSAGE,
            hf_open(&none, uri, HF_CLIENT_WITH(.timeout_ms = -5), ERR),
            "timeout -5");
    refused(HF_EUSAGE,
            hf_open(&none, uri, HF_CLIENT_WITH(.patience_ms = -5), ERR),
            "patience -5");
    lock = hf_test_lock(client, "x", NULL);
    refused(HF_EUSAGE, hf_lock_acquire(lock, -2, ERR), "-2");
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    refused(HF_EUSAGE, hf_lock_extend(lock, -1, ERR), "lease");
    refused(HF_EUSAGE, hf_lock_release_after(lock, -1, ERR), "negative");
    assert_int_equal(hf_lock_holds(lock), 1);
}

void unknown_kinds_flags_and_sizes_are_refused(void **state) {
    (void)state;
    hf_lock *lock;
    hf_client *client = hf_contract_open(NULL), *none;
    refused(
        HF_EUSAGE,
        hf_lock_new(&lock, client, "x", HF_LOCK_WITH(.kind = HF_KINDS), ERR),
        "kind");
    refused(HF_EUSAGE,
            hf_lock_new(&lock, client, "x", HF_LOCK_WITH(.flags = 64), ERR),
            "flags 0x40");
    refused(HF_EUSAGE,
            hf_lock_new(&lock, client, "x", &(hf_lock_options){.size = 0}, ERR),
            "size");
    refused(HF_EUSAGE,
            hf_lock_new(&lock, client, "x", &(hf_lock_options){.size = 1 << 20},
                        ERR),
            "size");
    refused(HF_EUSAGE,
            hf_open(&none, hf_contract_uri, &(hf_options){.size = 0}, ERR),
            "size");
    refused(HF_EUSAGE,
            hf_lock_new(&lock, client, "x",
                        HF_LOCK_WITH(.watchdog_ms = 100, .renew_ms = 100), ERR),
            "100 ms");
}

void options_that_belong_to_another_kind_are_refused(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *lock;
    const struct {
        const hf_lock_options *options;
        const char *word;
    } wrong[] = {
        {HF_LOCK_WITH(.permits = 2), "permits"},
        {HF_LOCK_WITH(.kind = HF_PERMIT, .permits = -1), "permits"},
        {HF_LOCK_WITH(.backoff_ms = 5), "back-off"},
        {HF_LOCK_WITH(.max_backoff_ms = 5), "back-off"},
        {HF_LOCK_WITH(.kind = HF_SPIN, .backoff_ms = -5), "backoff_ms"},
        {HF_LOCK_WITH(.flags = HF_WRITERS_FIRST), "HF_WRITERS_FIRST"},
        {HF_LOCK_WITH(.kind = HF_SEMAPHORE), "hf_semaphore_new"},
        {HF_LOCK_WITH(.kind = HF_LATCH), "hf_latch_new"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        refused(HF_EUSAGE,
                hf_lock_new(&lock, client, "x", wrong[i].options, ERR),
                wrong[i].word);
}

void kinds_that_the_store_lacks_are_refused_in_words(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_semaphore *sem = NULL;
    hf_latch *latch = NULL;
    assert_true(hf_can(client, HF_LOCK) & HF_CAN_HOLD);
    for (hf_kind kind = HF_LOCK; kind <= HF_PERMIT; kind++) {
        bool has = (hf_can(client, kind) & HF_CAN_HOLD) != 0;
        hf_lock *lock = NULL;
        int rc =
            hf_lock_new(&lock, client, "x", HF_LOCK_WITH(.kind = kind), ERR);
        hf_lock_free(lock);
        if (has)
            hf_expect(HF_OK, rc);
        else
            refused(HF_ECANNOT, rc, hf_contract_under_test.store);
    }
    int rc = hf_semaphore_new(&sem, client, "x", ERR);
    hf_semaphore_free(sem);
    if (hf_can(client, HF_SEMAPHORE) & HF_CAN_HOLD)
        hf_expect(HF_OK, rc);
    else
        refused(HF_ECANNOT, rc, "semaphore");
    rc = hf_latch_new(&latch, client, "x", ERR);
    hf_latch_free(latch);
    if (hf_can(client, HF_LATCH) & HF_CAN_HOLD)
        hf_expect(HF_OK, rc);
    else
        refused(HF_ECANNOT, rc, "latch");
}

void null_where_something_must_be_is_refused(void **state) {
    (void)state;
    hf_lock *lock;
    hf_client *client = hf_contract_open(NULL);
    refused(HF_EUSAGE, hf_open(NULL, hf_contract_uri, NULL, ERR), "NULL");
    refused(HF_EUSAGE, hf_lock_new(NULL, client, "x", NULL, ERR), "NULL");
    refused(HF_EUSAGE, hf_lock_new(&lock, NULL, "x", NULL, ERR), "NULL");
    refused(HF_ENAME, hf_lock_new(&lock, client, NULL, NULL, ERR), "empty");
    refused(HF_EUSAGE, hf_lock_acquire(NULL, 0, ERR), "NULL");
    refused(HF_EUSAGE, hf_lock_try(NULL, ERR), "NULL");
    refused(HF_EUSAGE, hf_lock_release(NULL, ERR), "NULL");
    refused(HF_EUSAGE, hf_lock_release_after(NULL, 1, ERR), "NULL");
    refused(HF_EUSAGE, hf_lock_extend(NULL, 1000, ERR), "NULL");
    refused(HF_EUSAGE, hf_lock_force_release(NULL, NULL, ERR), "NULL");
    refused(HF_EUSAGE, hf_list(NULL, "x", NULL, NULL, ERR), "NULL");
    refused(HF_EUSAGE, hf_list(client, "x", NULL, NULL, ERR), "NULL");
    refused(HF_EUSAGE, hf_examine(NULL, NULL, NULL, ERR), "NULL");
    refused(HF_EUSAGE, hf_rights(NULL, NULL, NULL, NULL, ERR), "NULL");
}

void null_where_nothing_may_be_is_harmless(void **state) {
    (void)state;
    hf_lock *lock;
    hf_client *client = hf_contract_open(NULL);
    hf_close(NULL);
    hf_lock_free(NULL);
    hf_lock_cancel(NULL);
    hf_lock_on_state(NULL, NULL, NULL);
    assert_false(hf_lock_is_held(NULL));
    assert_int_equal(hf_lock_new(&lock, client, "", NULL, NULL), HF_ENAME);
    assert_int_equal(hf_lock_new(&lock, client, "x", NULL, NULL), HF_OK);
    assert_int_equal(hf_lock_release(lock, NULL), HF_ENOT_OWNER);
    assert_int_equal(hf_lock_try(lock, NULL), HF_OK);
    assert_int_equal(hf_lock_extend(lock, 5000, NULL), HF_OK);
    assert_int_equal(hf_lock_release(lock, NULL), HF_OK);
    assert_int_equal(hf_lock_owner(lock, NULL, 0), 0);
    hf_lock_free(lock);
}

/* ---- fork -------------------------------------------------------------- */

/* Runs in the child, which must not use cmocka: the number of the step that
 * went wrong, or 0. */
static int as_a_child(hf_client *client, hf_lock *lock) {
    hf_lock *another;
    if (hf_lock_is_held(lock))
        return 1;
    if (hf_lock_try(lock, NULL) != HF_EFORKED)
        return 2;
    if (hf_lock_release(lock, NULL) != HF_EFORKED)
        return 3;
    if (hf_lock_new(&another, client, "y", NULL, NULL) != HF_EFORKED)
        return 4;
    hf_lock_free(lock);
    hf_close(client);
    return 0;
}

#ifndef UNDER_TSAN /* it forbids threads in a forked child */
/* The child's own client meets the parent's lock from outside. */
static int with_a_client_of_its_own(void) {
    hf_client *own;
    hf_lock *lock;
    if (strncmp(hf_contract_uri, "memory:", 7) == 0)
        return 0;
    if (hf_open(&own, hf_contract_uri, NULL, NULL) != HF_OK)
        return 5;
    if (hf_lock_new(&lock, own, "x", HF_LOCK_WITH(.kind = hf_test_kind),
                    NULL) != HF_OK)
        return 6;
    if (hf_lock_try(lock, NULL) != HF_BUSY)
        return 7;
    hf_lock_free(lock);
    hf_close(own);
    return 0;
}
#else
static int with_a_client_of_its_own(void) {
    return 0;
}
#endif

void a_forked_child_owns_nothing_and_the_parent_keeps_all(void **state) {
    (void)state;
    hf_test_need_fork();
    int status;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(
        client, "x", HF_LOCK_WITH(.watchdog_ms = 3000, .renew_ms = 50));
    hf_lock *b = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    pid_t pid = fork();
    if (pid == 0) {
        int wrong = as_a_child(client, a);
        _exit(wrong != 0 ? wrong : with_a_client_of_its_own());
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(hf_lock_is_held(a));
    hf_test_throughout(hf_lock_try(b, ERR) == HF_BUSY, 3200);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

/* As above: the number of the step that went wrong. */
static int with_numbers(hf_client *client, hf_semaphore *sem, hf_latch *latch) {
    hf_semaphore *another;
    hf_latch *another_latch;
    if (hf_semaphore_acquire(sem, 1, 0, NULL) != HF_EFORKED)
        return 1;
    if (hf_semaphore_release(sem, 1, NULL) != HF_EFORKED)
        return 2;
    if (hf_semaphore_count(sem, NULL, NULL, NULL) != HF_EFORKED)
        return 3;
    if (hf_latch_count_down(latch, NULL) != HF_EFORKED)
        return 4;
    if (hf_latch_wait(latch, HF_FOREVER, NULL) != HF_EFORKED)
        return 5;
    if (hf_semaphore_new(&another, client, "y", NULL) != HF_EFORKED)
        return 6;
    if (hf_latch_new(&another_latch, client, "y", NULL) != HF_EFORKED)
        return 7;
    hf_semaphore_cancel(sem);
    hf_latch_cancel(latch);
    hf_semaphore_free(sem);
    hf_latch_free(latch);
    hf_close(client);
    return 0;
}

void a_forked_child_leaves_numbers_alone(void **state) {
    (void)state;
    hf_test_need_fork();
    int status;
    int64_t n = 0;
    hf_client *client = hf_contract_open(NULL);
    hf_semaphore *sem = hf_test_semaphore(client, "x");
    hf_latch *latch = hf_test_latch(client, "latch");
    hf_expect(HF_OK, hf_semaphore_set(sem, 3, 0, ERR));
    hf_expect(HF_OK, hf_latch_set(latch, 2, ERR));
    pid_t pid = fork();
    if (pid == 0)
        _exit(with_numbers(client, sem, latch));
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    hf_expect(HF_OK, hf_semaphore_count(sem, &n, NULL, ERR));
    assert_int_equal(n, 3);
    hf_expect(HF_OK, hf_latch_count(latch, &n, ERR));
    assert_int_equal(n, 2);
    hf_expect(HF_OK, hf_semaphore_acquire(sem, 3, 0, ERR));
}

/* ---- nothing is left --------------------------------------------------- */

/* A client that is used: renewing, listening, with a descriptor of loss. */
static void use_a_client(void) {
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(
        client, "x", HF_LOCK_WITH(.watchdog_ms = 1000, .renew_ms = 20));
    hf_lock *b = hf_test_lock(client, "y", NULL);
    hf_lock *c = hf_test_lock(hf_contract_open(NULL), "y", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_try(c, ERR));
    assert_false(hf_test_is_told(a));
    /* A busy store may have no time to say that it is taken. */
    assert_true(hf_lock_acquire(b, 300, ERR) < 0);
    hf_test_clear();
}

/* The first time is for what is loaded but once, also by the sanitizers. */
void nothing_is_left_when_a_client_is_closed(void **state) {
    (void)state;
    use_a_client();
    int descriptors = hf_test_descriptors(), threads = hf_test_threads();
    for (int i = 0; i < 3; i++)
        use_a_client();
    hf_test_eventually(hf_test_threads() <= threads, HF_TEST_LONG);
    assert_int_equal(hf_test_descriptors(), descriptors);
}

enum { MOST_DESCRIPTORS = 1024 };

/* libzookeeper wakes its thread through a pipe that nobody else has a use for. */
static bool is_libzookeepers(const char *what) {
    return strncmp(hf_contract_uri, "zk:", 3) == 0 &&
           strncmp(what, "pipe:", 5) == 0;
}

/* In the middle of it, with all descriptors that there are. */
void what_a_client_opens_is_closed_on_exec(void **state) {
    (void)state;
    bool before[MOST_DESCRIPTORS];
    char path[64], what[128];
    int opened = 0;
    for (int fd = 0; fd < MOST_DESCRIPTORS; fd++)
        before[fd] = fcntl(fd, F_GETFD) >= 0;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_lock *b = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_true(hf_lock_acquire(b, 300, ERR) < 0);
    assert_true(hf_lock_lost_fd(a) >= 0);
    assert_true(hf_fd(client) >= 0);
    for (int fd = 0; fd < MOST_DESCRIPTORS; fd++) {
        int flags = before[fd] ? -1 : fcntl(fd, F_GETFD);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = flags < 0 ? 0 : readlink(path, what, sizeof what - 1);
        what[n > 0 ? n : 0] = '\0';
        if (flags >= 0 && !(flags & FD_CLOEXEC) && !is_libzookeepers(what))
            fail_msg("%s stays open", what);
        opened += flags >= 0;
    }
    assert_true(opened >= 2);
}

void clients_may_be_opened_and_closed_a_hundred_times(void **state) {
    (void)state;
    for (int i = 0; i < 100; i++) {
        hf_client *client = hf_contract_open(NULL);
        hf_lock *lock = hf_test_lock(client, "x", NULL);
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        hf_test_free(lock);
        hf_test_close(client);
    }
}

enum { FEW = 64 };

void without_descriptors_it_fails_in_words(void **state) {
    (void)state;
    int used[FEW], n = 0;
    struct rlimit before;
    hf_client *client = NULL;
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){FEW, before.rlim_max});
    while (n < FEW && (used[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        n++;
    int opened = hf_open(&client, hf_contract_uri, NULL, ERR);
    int lost_fd = hf_lock_lost_fd(a);
    while (n > 0)
        close(used[--n]);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_true(opened == HF_OK || (opened < 0 && ERR->text[0] != 0));
    hf_close(client);
    assert_true(lost_fd < 0);
    assert_true(hf_lock_is_held(a));
    assert_false(hf_test_is_told(a)); /* works now */
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

/* ---- who holds --------------------------------------------------------- */

typedef struct seen {
    int n;
    char name[300], owner[128], host[80], program[80], why[160], kind[16];
    uint64_t token;
    int64_t pid, lease_ms;
    bool foreign;
} seen;

static void look(void *arg, const hf_place *p) {
    seen *s = arg;
    s->n++;
    snprintf(s->name, sizeof s->name, "%s", p->name);
    snprintf(s->owner, sizeof s->owner, "%s", p->owner);
    snprintf(s->host, sizeof s->host, "%s", p->host);
    snprintf(s->program, sizeof s->program, "%s", p->program);
    snprintf(s->why, sizeof s->why, "%s", p->why);
    snprintf(s->kind, sizeof s->kind, "%s", p->kind);
    s->token = p->token;
    s->pid = p->pid;
    s->lease_ms = p->lease_ms;
    s->foreign = p->foreign;
}

static bool record_is_there(hf_client *client, seen *s) {
    memset(s, 0, sizeof *s);
    hf_expect(HF_OK, hf_list(client, "x", look, s, ERR));
    return s->pid != 0;
}

/* A spin lock is a lock once it is held. */
static const char *word_of(hf_kind kind) {
    return kind == HF_FAIR ? "fair" : kind == HF_WRITE ? "write" : "lock";
}

void the_list_says_who_holds_and_why(void **state) {
    (void)state;
    seen s;
    char owner[128];
    hf_client *client = hf_contract_open(
        HF_CLIENT_WITH(.why = "to see it listed", .host = "somewhere"));
    hf_client *other = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_lock_owner(a, owner, sizeof owner);
    hf_test_eventually(record_is_there(other, &s), HF_TEST_LONG);
    assert_int_equal(s.n, 1);
    assert_string_equal(s.name, "x");
    assert_string_equal(s.kind, word_of(hf_test_kind));
    assert_string_equal(s.owner, owner);
    assert_string_equal(s.host, "somewhere");
    assert_int_equal(s.pid, getpid());
    assert_true(s.token == hf_lock_token(a));
    assert_false(s.foreign);
    if (hf_contract_under_test.curt)
        return;
    assert_string_equal(s.why, "to see it listed");
    assert_string_not_equal(s.program, "");
    assert_in_range(s.lease_ms, 1, 30000);
}

void the_list_of_everything_has_every_name(void **state) {
    (void)state;
    enum { N = 12 };
    seen s = {0};
    hf_client *client = hf_contract_open(NULL);
    for (int i = 0; i < N; i++) {
        char name[32];
        snprintf(name, sizeof name, "name %d", i);
        hf_expect(HF_OK, hf_lock_try(hf_test_lock(client, name, NULL), ERR));
    }
    assert_int_equal(hf_test_holders(client, NULL), N);
    hf_expect(HF_OK, hf_list(client, "name 7", look, &s, ERR));
    assert_int_equal(s.n, 1);
    assert_string_equal(s.name, "name 7");
    hf_expect(HF_OK, hf_list(client, "nobody has this", look, &s, ERR));
    assert_int_equal(s.n, 1);
}
