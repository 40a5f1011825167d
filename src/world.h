/* SPDX-License-Identifier: MIT
 *
 * world.h - everything the library asks of the outside: time, randomness,
 * threads, sockets.  One table, so that the same core can run in a simulated
 * world where a seed decides what happens.
 *
 * Moments are hf_time: nanoseconds of CLOCK_BOOTTIME, which also counts while
 * the machine is suspended - a lease does not pause with the laptop.  They
 * never leave the process. */
#ifndef HF_WORLD_H
#define HF_WORLD_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

typedef int64_t hf_time; /* also in backend.h; C11 allows the repetition */

#define HF_NEVER  INT64_MAX
#define HF_US     INT64_C(1000)
#define HF_MS     INT64_C(1000000)
#define HF_SECOND INT64_C(1000000000)

typedef struct hf_world {
    hf_time (*now)(void);
    int64_t (*wall_us)(void); /* since 1970; only where a format demands it */
    void (*random)(void *buf, size_t size);

    /* A thread with all signals blocked, so that the program's handlers never
     * run on it.  0 or an errno. */
    int (*thread_start)(pthread_t *ret, void *(*run)(void *), void *arg);
    void (*thread_join)(pthread_t thread);

    /* Sleeps on `cond` until woken (0) or `by` has come (ETIMEDOUT); may also
     * return for nothing.  HF_NEVER has no end. */
    int (*wait)(pthread_cond_t *cond, pthread_mutex_t *mu, hf_time by);

    /* Sleeps while *word is `seen`, at most until `by`; may also return for
     * nothing.  Who changes the word wakes up to `n` who sleep on it; it need
     * not exist any more by then.  Unlike `wait` nobody who wakes up has to
     * queue for a mutex. */
    void (*park)(atomic_uint *word, unsigned seen, hf_time by);
    void (*unpark)(const atomic_uint *word, int n);

    /* Looks at *word for some microseconds while it is `seen`, without
     * sleeping: the change is near, and to sleep and wake takes longer. */
    void (*linger)(const atomic_uint *word, unsigned seen);

    /* Non-blocking, close-on-exec stream sockets.  Results as connect(2) and
     * friends; sending never raises SIGPIPE. */
    int (*dial)(const struct sockaddr *addr, socklen_t len); /* fd or -1 */
    ssize_t (*send)(int fd, const void *buf, size_t size);
    ssize_t (*recv)(int fd, void *buf, size_t size);
    int (*poll)(struct pollfd *fds, nfds_t n, hf_time by);
    void (*close)(int fd);
} hf_world;

extern const hf_world hf__real_world;

/* The world we live in.  Set before the first client is opened, if ever. */
extern const hf_world *hf__world;

static inline hf_time hf__now(void) {
    return hf__world->now();
}

/* now + ms, without overflow; a negative ms means never. */
hf_time hf__after_ms(int ms);

/* Milliseconds from now until `at`, rounded up, 0 if past, -1 for never. */
int hf__ms_until(hf_time at);

static inline hf_time hf__sooner(hf_time a, hf_time b) {
    return a < b ? a : b;
}

/* The longest that who waits sleeps between two questions, however well it
 * listens: a message can be lost.  5 s; a test that wants to see messages work
 * makes it longer, before the first client is opened. */
extern hf_time hf__look_again;

/* A random duration in [ns / 2, ns]: for looking again without a herd. */
hf_time hf__jitter(hf_time ns);

#endif
