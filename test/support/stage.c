/* SPDX-License-Identifier: MIT
 *
 * stage.c - clients, locks and threads of a test, and their end. */
#include "stage.h"

#include "client.h"
#include "world.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLIENTS_MAX = 64, LOCKS_MAX = 512, NUMBERS_MAX = 64, MULTIS_MAX = 64 };

hf_error hf_test_error;
hf_kind hf_test_kind = HF_LOCK;

static hf_client *clients[CLIENTS_MAX];
static hf_lock *locks[LOCKS_MAX];
static hf_lock *multis[MULTIS_MAX]; /* freed before their members */
static hf_semaphore *semaphores[NUMBERS_MAX];
static hf_latch *latches[NUMBERS_MAX];
static atomic_int threads; /* that may still use them */

void hf_test_expect(int wanted, int got, const char *call, const char *file,
                    int line) {
    if (wanted == got)
        return;
    print_error("%s gave %s, not %s: %s\n", call, hf_error_name(got),
                hf_error_name(wanted),
                got < 0 ? hf_test_error.text : "(not an error)");
    _fail(file, line);
}

/* ---- clients and locks ------------------------------------------------- */

hf_client *hf_test_adopt(hf_client *client) {
    for (int i = 0; i < CLIENTS_MAX; i++) {
        if (clients[i] != NULL)
            continue;
        clients[i] = client;
        return client;
    }
    fail_msg("more than %d clients", CLIENTS_MAX);
    return NULL;
}

/* Who is told to give up before others would has perhaps only met a machine
 * that was busy elsewhere. */
static bool gives_up_soon(const hf_options *options) {
    return options != NULL && options->timeout_ms > 0 &&
           options->timeout_ms < 3000;
}

/* stderr, and so not mixed with what the test prints. */
static void print_entry(void *arg, const hf_log_entry *e) {
    (void)arg;
    flockfile(stderr);
    fprintf(stderr, "log: %s", e->text);
    for (size_t i = 0; i < e->n_fields; i++)
        fprintf(stderr, " %s=%s", e->fields[i].name, e->fields[i].value);
    fputc('\n', stderr);
    funlockfile(stderr);
}

/* With HF_TEST_LOG=1 one sees what happens. */
static const hf_options *watched(const hf_options *options, hf_options *room) {
    if (getenv("HF_TEST_LOG") == NULL || (options && options->on_log))
        return options;
    *room = options ? *options : (hf_options)HF_OPTIONS_INIT;
    room->on_log = print_entry;
    room->log_level = HF_LOG_DEBUG;
    return room;
}

hf_client *hf_test_open(const char *uri, const hf_options *options) {
    hf_client *client;
    hf_options room;
    options = watched(options, &room);
    int64_t by = hf_test_now_ms() + 3 * HF_TEST_LONG;
    int rc = hf_open(&client, uri, options, ERR);
    while ((rc == HF_EDOWN || rc == HF_EDOUBT) && gives_up_soon(options) &&
           hf_test_now_ms() < by)
        rc = hf_open(&client, uri, options, ERR);
    hf_expect(HF_OK, rc);
    return hf_test_adopt(client);
}

static void set_one_permit(hf_client *client, const char *name) {
    hf_semaphore *sem;
    hf_expect(HF_OK, hf_semaphore_new(&sem, client, name, ERR));
    int rc = hf_semaphore_set(sem, 1, 0, ERR);
    hf_semaphore_free(sem);
    hf_expect(HF_OK, rc == HF_BUSY ? HF_OK : rc);
}

hf_lock *hf_test_lock(hf_client *client, const char *name,
                      const hf_lock_options *options) {
    hf_lock_options o = HF_LOCK_OPTIONS_INIT;
    if (options != NULL)
        o = *options;
    if (o.kind == HF_LOCK) {
        o.kind = hf_test_kind;
        if (o.kind == HF_PERMIT)
            set_one_permit(client, name);
    }
    for (int i = 0; i < LOCKS_MAX; i++) {
        if (locks[i] != NULL)
            continue;
        hf_expect(HF_OK, hf_lock_new(&locks[i], client, name, &o, ERR));
        return locks[i];
    }
    fail_msg("more than %d locks", LOCKS_MAX);
    return NULL;
}

hf_lock *hf_test_multi(hf_lock *const *members, size_t n) {
    for (int i = 0; i < MULTIS_MAX; i++) {
        if (multis[i] != NULL)
            continue;
        hf_expect(HF_OK, hf_multi_new(&multis[i], members, n, ERR));
        return multis[i];
    }
    fail_msg("more than %d multi-locks", MULTIS_MAX);
    return NULL;
}

hf_semaphore *hf_test_semaphore(hf_client *client, const char *name) {
    for (int i = 0; i < NUMBERS_MAX; i++) {
        if (semaphores[i] != NULL)
            continue;
        hf_expect(HF_OK, hf_semaphore_new(&semaphores[i], client, name, ERR));
        return semaphores[i];
    }
    fail_msg("more than %d semaphores", NUMBERS_MAX);
    return NULL;
}

hf_latch *hf_test_latch(hf_client *client, const char *name) {
    for (int i = 0; i < NUMBERS_MAX; i++) {
        if (latches[i] != NULL)
            continue;
        hf_expect(HF_OK, hf_latch_new(&latches[i], client, name, ERR));
        return latches[i];
    }
    fail_msg("more than %d latches", NUMBERS_MAX);
    return NULL;
}

void hf_test_free(hf_lock *lock) {
    for (int i = 0; i < LOCKS_MAX; i++)
        if (locks[i] == lock)
            locks[i] = NULL;
    for (int i = 0; i < MULTIS_MAX; i++)
        if (multis[i] == lock)
            multis[i] = NULL;
    hf_lock_free(lock);
}

void hf_test_close(hf_client *client) {
    for (int i = 0; i < CLIENTS_MAX; i++)
        if (clients[i] == client)
            clients[i] = NULL;
    hf_close(client);
}

/* A test that failed may leave threads behind that use what it made; then
 * nothing is freed, and the process ends soon. */
void hf_test_clear(void) {
    if (atomic_load(&threads) != 0)
        return;
    for (int i = 0; i < MULTIS_MAX; i++)
        if (multis[i] != NULL)
            hf_test_free(multis[i]);
    for (int i = 0; i < LOCKS_MAX; i++)
        if (locks[i] != NULL)
            hf_test_free(locks[i]);
    for (int i = 0; i < NUMBERS_MAX; i++) {
        hf_semaphore_free(semaphores[i]);
        hf_latch_free(latches[i]);
        semaphores[i] = NULL;
        latches[i] = NULL;
    }
    for (int i = 0; i < CLIENTS_MAX; i++)
        if (clients[i] != NULL)
            hf_test_close(clients[i]);
    hf__look_again = 5 * HF_SECOND;
    unsetenv("HF_TEST_ONLY_WOKEN");
}

typedef struct census {
    int holders, waiters;
} census;

/* A semaphore and a latch are in the list, too, but are nobody. */
static void count(void *arg, const hf_place *place) {
    census *seen = arg;
    if (strcmp(place->kind, "semaphore") == 0 ||
        strcmp(place->kind, "latch") == 0)
        return;
    if (place->holds)
        seen->holders++;
    else
        seen->waiters++;
}

/* Straight from the store: what clients' records add is a second old. */
static census take_census(hf_client *client, const char *name) {
    census seen = {0, 0};
    char full[HF_NAME_MAX + 1];
    snprintf(full, sizeof full, "%s%s", client->prefix, name ? name : "");
    hf_expect(HF_OK,
              client->be->ops->list(client->be, name ? full : NULL, count,
                                    &seen, hf__after_ms(HF_TEST_LONG), ERR));
    return seen;
}

int hf_test_holders(hf_client *client, const char *name) {
    return take_census(client, name).holders;
}

int hf_test_waiters(hf_client *client, const char *name) {
    return take_census(client, name).waiters;
}

void hf_test_hear(void *arg, hf_lock *lock, hf_state state, int why) {
    hf_test_ear *e = arg;
    (void)lock, (void)why;
    atomic_fetch_add(state == HF_STATE_HELD  ? &e->held :
                     state == HF_STATE_DOUBT ? &e->doubt :
                                               &e->lost,
                     1);
}

bool hf_test_is_told(hf_lock *lock) {
    struct pollfd p = {.fd = hf_lock_lost_fd(lock), .events = POLLIN};
    assert_true(p.fd >= 0);
    return poll(&p, 1, 0) == 1;
}

void hf_test_only_woken(void) {
    hf__look_again = 120 * HF_SECOND;
    setenv("HF_TEST_ONLY_WOKEN", "1", 1);
}

void hf_test_let_go(hf_lock *lock) {
    int rc = hf_lock_release(lock, ERR);
    if (rc != HF_EDOUBT && rc != HF_EDOWN)
        hf_expect(HF_OK, rc);
    assert_false(hf_lock_is_held(lock));
}

/* ---- threads ----------------------------------------------------------- */

typedef struct errand {
    int (*call)(hf_lock *, hf_error *);
    hf_lock *lock;
    int result;
} errand;

static void *run_errand(void *arg) {
    errand *e = arg;
    e->result = e->call(e->lock, NULL);
    return NULL;
}

int hf_test_elsewhere(int (*call)(hf_lock *, hf_error *), hf_lock *lock) {
    errand e = {call, lock, 0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_errand, &e), 0);
    pthread_join(thread, NULL);
    return e.result;
}

static void *acquire_and_keep(void *arg) {
    hf_test_thread *t = arg;
    int64_t began = hf_test_now_ms();
    atomic_store(&t->tid, gettid());
    t->result = hf_lock_acquire(t->lock, t->wait_ms, &t->err);
    t->took_ms = hf_test_now_ms() - began;
    t->token = hf_lock_token(t->lock);
    atomic_store(&t->answered, true);
    while (sem_wait(&t->let_go) != 0 && errno == EINTR)
        ;
    t->released =
        t->result == HF_OK ? hf_lock_release(t->lock, &t->err) : HF_OK;
    return NULL;
}

void hf_test_begin(hf_test_thread *t, hf_lock *lock, int wait_ms) {
    memset(t, 0, sizeof *t);
    t->lock = lock;
    t->wait_ms = wait_ms;
    sem_init(&t->let_go, 0, 0);
    atomic_fetch_add(&threads, 1);
    assert_int_equal(pthread_create(&t->thread, NULL, acquire_and_keep, t), 0);
    hf_test_eventually(atomic_load(&t->answered) ||
                           hf_test_asleep(atomic_load(&t->tid)),
                       HF_TEST_LONG);
}

int hf_test_answer(hf_test_thread *t) {
    hf_test_eventually(atomic_load(&t->answered), HF_TEST_LONG);
    if (t->result < 0)
        hf_test_error = t->err;
    return t->result;
}

int hf_test_cancel(hf_test_thread *t) {
    hf_test_eventually((hf_lock_cancel(t->lock), atomic_load(&t->answered)),
                       HF_TEST_LONG);
    return hf_test_answer(t);
}

int hf_test_end(hf_test_thread *t) {
    hf_test_answer(t);
    sem_post(&t->let_go);
    pthread_join(t->thread, NULL);
    atomic_fetch_sub(&threads, 1);
    sem_destroy(&t->let_go);
    if (t->released < 0)
        hf_test_error = t->err;
    return t->released;
}

static void *run_task(void *arg) {
    hf_test_task *t = arg;
    int64_t began = hf_test_now_ms();
    atomic_store(&t->tid, gettid());
    t->result = t->latch != NULL ?
                    hf_latch_wait(t->latch, t->wait_ms, &t->err) :
                    hf_semaphore_acquire(t->sem, t->n, t->wait_ms, &t->err);
    t->took_ms = hf_test_now_ms() - began;
    atomic_store(&t->answered, true);
    return NULL;
}

static void start_task(hf_test_task *t) {
    atomic_fetch_add(&threads, 1);
    assert_int_equal(pthread_create(&t->thread, NULL, run_task, t), 0);
    hf_test_eventually(atomic_load(&t->answered) ||
                           hf_test_asleep(atomic_load(&t->tid)),
                       HF_TEST_LONG);
}

void hf_test_take(hf_test_task *t, hf_semaphore *sem, int n, int wait_ms) {
    memset(t, 0, sizeof *t);
    t->sem = sem;
    t->n = n;
    t->wait_ms = wait_ms;
    start_task(t);
}

void hf_test_await(hf_test_task *t, hf_latch *latch, int wait_ms) {
    memset(t, 0, sizeof *t);
    t->latch = latch;
    t->wait_ms = wait_ms;
    start_task(t);
}

int hf_test_result(hf_test_task *t) {
    hf_test_eventually(atomic_load(&t->answered), HF_TEST_LONG);
    pthread_join(t->thread, NULL);
    atomic_fetch_sub(&threads, 1);
    if (t->result < 0)
        hf_test_error = t->err;
    return t->result;
}
