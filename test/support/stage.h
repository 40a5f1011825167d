/* SPDX-License-Identifier: MIT
 *
 * stage.h - what a test about locks is written with.
 *
 * Clients, locks and the like that are made here are freed at the end of the
 * test, whatever becomes of it.  hf_expect prints the library's own words when
 * an answer is not the one that was wanted.  Main thread only, but for what is
 * said to be otherwise. */
#ifndef HF_TEST_STAGE_H
#define HF_TEST_STAGE_H

#include "holdfast.h"
#include "wait.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

/* Options in one word: HF_CLIENT_WITH(.lease_ms = 500). */
#define HF_CLIENT_WITH(...)                                                    \
    (&(hf_options){.size = sizeof(hf_options), __VA_ARGS__})
#define HF_LOCK_WITH(...)                                                      \
    (&(hf_lock_options){.size = sizeof(hf_lock_options), __VA_ARGS__})

/* The members in one word: HF_MULTI_OF(a, b). */
#define HF_MULTI_OF(...)                                                       \
    hf_test_multi((hf_lock *[]){__VA_ARGS__},                                  \
                  sizeof((hf_lock *[]){__VA_ARGS__}) / sizeof(hf_lock *))

/* What the last call that got ERR had to say. */
extern hf_error hf_test_error;
#define ERR (&hf_test_error)

#define hf_expect(wanted, call)                                                \
    hf_test_expect((wanted), (call), #call, __FILE__, __LINE__)
void hf_test_expect(int wanted, int got, const char *call, const char *file,
                    int line);

/* All must succeed. */
hf_client *hf_test_open(const char *uri, const hf_options *options);
hf_lock *hf_test_lock(hf_client *client, const char *name,
                      const hf_lock_options *options);
hf_lock *hf_test_multi(hf_lock *const *members, size_t n);
hf_semaphore *hf_test_semaphore(hf_client *client, const char *name);
hf_latch *hf_test_latch(hf_client *client, const char *name);

/* The kind of the locks made here whose options ask for no other: a sentence
 * about locks in general can be said of each kind.  Where it is HF_PERMIT,
 * there is one permit of every name. */
extern hf_kind hf_test_kind;

/* A client opened in another way is freed here as well. */
hf_client *hf_test_adopt(hf_client *client);

/* Earlier than the end of the test. */
void hf_test_free(hf_lock *lock);
void hf_test_close(hf_client *client);

/* The end of the test. */
void hf_test_clear(void);

/* How many hold, how many wait for `name` (NULL: for anything), as the store
 * sees it. */
int hf_test_holders(hf_client *client, const char *name);
int hf_test_waiters(hf_client *client, const char *name);

/* Whether lost_fd is readable. */
bool hf_test_is_told(hf_lock *lock);

/* How often a lock was said to be in which state: hf_lock_on_state(lock,
 * hf_test_hear, &ear). */
typedef struct hf_test_ear {
    atomic_int held, doubt, lost;
} hf_test_ear;

void hf_test_hear(void *arg, hf_lock *lock, hf_state state, int why);

/* From here to the end of the test nobody looks again by itself, neither here
 * nor in a peer that is started later: whoever comes before a minute is over was
 * woken.  But where a store says when to ask, that is done.  Before the first
 * client is opened. */
void hf_test_only_woken(void);

/* Releases it.  For clients who give up soon: a store that had no time to answer
 * is told again by the library, and whoever waits for the lock will see. */
void hf_test_let_go(hf_lock *lock);

/* ---- somebody else ----------------------------------------------------- */

/* A call made by another thread, which has ended when this returns. */
int hf_test_elsewhere(int (*call)(hf_lock *, hf_error *), hf_lock *lock);

/* A thread that acquires, keeps the lock until it is told to let go, and
 * releases it. */
typedef struct hf_test_thread {
    pthread_t thread;
    hf_lock *lock;
    int wait_ms;
    _Atomic pid_t tid;
    atomic_bool answered; /* result, err, token and took_ms are there */
    int result;
    hf_error err;
    uint64_t token;
    int64_t took_ms;
    int released; /* what release answered */
    sem_t let_go;
} hf_test_thread;

/* Starts it.  Returns when the thread has its answer, or sleeps. */
void hf_test_begin(hf_test_thread *t, hf_lock *lock, int wait_ms);

/* Waits for the answer to acquire; fails the test after HF_TEST_LONG. */
int hf_test_answer(hf_test_thread *t);

/* Cancels until it has its answer: one call alone may come too early. */
int hf_test_cancel(hf_test_thread *t);

/* Lets it release and end; what release answered. */
int hf_test_end(hf_test_thread *t);

/* A thread that takes permits, or waits for a latch, and ends. */
typedef struct hf_test_task {
    pthread_t thread;
    hf_semaphore *sem; /* one of these */
    hf_latch *latch;
    int n, wait_ms;
    _Atomic pid_t tid;
    atomic_bool answered;
    int result;
    hf_error err;
    int64_t took_ms;
} hf_test_task;

/* As hf_test_begin. */
void hf_test_take(hf_test_task *t, hf_semaphore *sem, int n, int wait_ms);
void hf_test_await(hf_test_task *t, hf_latch *latch, int wait_ms);

/* Waits for its answer and its end. */
int hf_test_result(hf_test_task *t);

#endif
