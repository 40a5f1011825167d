/* SPDX-License-Identifier: MIT
 *
 * world.c - the real world. */
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t clock_ns(clockid_t clock) {
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (int64_t)ts.tv_sec * HF_SECOND + ts.tv_nsec;
}

static hf_time real_now(void) {
    return clock_ns(CLOCK_BOOTTIME);
}

static int64_t real_wall_us(void) {
    return clock_ns(CLOCK_REALTIME) / 1000;
}

static void real_random(void *buf, size_t size) {
    unsigned char *p = buf;

    while (size > 0) {
        ssize_t got = getrandom(p, size, 0);
        if (got <= 0)
            continue; /* only EINTR: requests this small are not refused */
        p += got;
        size -= (size_t)got;
    }
}

static int real_thread_start(pthread_t *ret, void *(*run)(void *), void *arg) {
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(ret, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

static void real_thread_join(pthread_t thread) {
    pthread_join(thread, NULL);
}

/* Condition variables know CLOCK_MONOTONIC, not BOOTTIME.  The two run at the
 * same rate except while suspended, and after that we look again anyway. */
static int real_wait(pthread_cond_t *cond, pthread_mutex_t *mu, hf_time by) {
    struct timespec ts;
    hf_time left, at;

    if (by == HF_NEVER)
        return pthread_cond_wait(cond, mu);
    left = by - real_now();
    if (left <= 0)
        return ETIMEDOUT;
    at = clock_ns(CLOCK_MONOTONIC) + left;
    ts.tv_sec = (time_t)(at / HF_SECOND);
    ts.tv_nsec = (long)(at % HF_SECOND);
    return pthread_cond_clockwait(cond, mu, CLOCK_MONOTONIC, &ts);
}

static void real_park(atomic_uint *word, unsigned seen, hf_time by) {
    hf_time left = by - real_now();
    struct timespec ts = {.tv_sec = (time_t)(left / HF_SECOND),
                          .tv_nsec = (long)(left % HF_SECOND)};

    if (left > 0)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen,
                by == HF_NEVER ? NULL : &ts, NULL, 0);
}

static void real_unpark(const atomic_uint *word, int n) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

/* On one processor who waits keeps the other from changing it. */
static void real_linger(const atomic_uint *word, unsigned seen) {
    static atomic_int processors;
    int looks = 200;

    if (!atomic_load_explicit(&processors, memory_order_relaxed))
        atomic_store(&processors, (int)sysconf(_SC_NPROCESSORS_ONLN));
    if (atomic_load_explicit(&processors, memory_order_relaxed) < 2)
        return;
    while (looks-- > 0 &&
           atomic_load_explicit(word, memory_order_acquire) == seen)
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#else
        atomic_signal_fence(memory_order_seq_cst);
#endif
}

static int real_dial(const struct sockaddr *addr, socklen_t len) {
    int fd =
        socket(addr->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    if (connect(fd, addr, len) < 0 && errno != EINPROGRESS) {
        int why = errno;
        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

static ssize_t real_send(int fd, const void *buf, size_t size) {
    return send(fd, buf, size, MSG_NOSIGNAL);
}

static ssize_t real_recv(int fd, void *buf, size_t size) {
    return recv(fd, buf, size, 0);
}

static int real_poll(struct pollfd *fds, nfds_t n, hf_time by) {
    struct timespec ts;
    hf_time left;

    if (by == HF_NEVER)
        return poll(fds, n, -1);
    left = by - real_now();
    if (left < 0)
        left = 0;
    ts.tv_sec = (time_t)(left / HF_SECOND);
    ts.tv_nsec = (long)(left % HF_SECOND);
    return ppoll(fds, n, &ts, NULL);
}

static void real_close(int fd) {
    close(fd);
}

const hf_world hf__real_world = {
    .now = real_now,
    .wall_us = real_wall_us,
    .random = real_random,
    .thread_start = real_thread_start,
    .thread_join = real_thread_join,
    .wait = real_wait,
    .park = real_park,
    .unpark = real_unpark,
    .linger = real_linger,
    .dial = real_dial,
    .send = real_send,
    .recv = real_recv,
    .poll = real_poll,
    .close = real_close,
};

const hf_world *hf__world = &hf__real_world;
hf_time hf__look_again = 5 * HF_SECOND;

hf_time hf__after_ms(int ms) {
    return ms < 0 ? HF_NEVER : hf__now() + ms * HF_MS;
}

int hf__ms_until(hf_time at) {
    hf_time left;

    if (at == HF_NEVER)
        return -1;
    left = at - hf__now();
    if (left <= 0)
        return 0;
    left = (left + HF_MS - 1) / HF_MS;
    return left > INT32_MAX ? INT32_MAX : (int)left;
}

hf_time hf__jitter(hf_time ns) {
    uint32_t dice;

    hf__world->random(&dice, sizeof dice);
    return ns / 2 + (hf_time)((double)ns / 2 * dice / UINT32_MAX);
}
