/* SPDX-License-Identifier: MIT
 *
 * stage.h - what the examples need beside locks: processes that play hosts, a
 * clock, a folder for the moment.  None of it is about holdfast; read the
 * examples first.  To be included before anything else. */
#ifndef EXAMPLES_STAGE_H
#define EXAMPLES_STAGE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STAGE_LIMIT_S = 60 }; /* an example that takes longer is ended */

typedef struct stage {
    char folder[200];  /* for this run only              */
    const char *store; /* where the locks are            */
    char own[256];     /* that, if nothing else was said */
    int64_t began_ms;  /* for what is printed as time    */
} stage;

/* For what cannot go wrong unless the machine is out of something. */
static inline void stage_need(bool ok, const char *what) {
    if (ok)
        return;
    perror(what);
    exit(1);
}

static inline int64_t stage_now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline void stage_sleep_us(long us) {
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

/* ---- where ------------------------------------------------------------- */

/* `store` is an address, "redis://…"; NULL: an embedded store of this run. */
static inline void stage_open(stage *s, const char *store) {
    const char *tmp = getenv("TMPDIR");
    setvbuf(stdout, NULL, _IOLBF, 0); /* a line is seen when it is written */
    alarm(STAGE_LIMIT_S);
    s->began_ms = stage_now_ms();
    snprintf(s->folder, sizeof s->folder, "%.150s/holdfast-XXXXXX",
             tmp && *tmp ? tmp : "/tmp");
    stage_need(mkdtemp(s->folder) != NULL, s->folder);
    snprintf(s->own, sizeof s->own, "sqlite:%s/locks.db", s->folder);
    s->store = store ? store : s->own;
    printf("locks in %s\n", store ? "the store that was named" : s->own);
}

static inline int stage_remove(const char *path, const struct stat *st,
                               int type, struct FTW *ftw) {
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline void stage_close(const stage *s) {
    nftw(s->folder, stage_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* Opens a file of this run, to be read, written, and made if need be. */
static inline int stage_file(const stage *s, const char *name, int flags) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0600);
    stage_need(fd >= 0, path);
    return fd;
}

/* Zeroed memory that is shared with the processes started from now on. */
static inline void *stage_share(size_t size) {
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stage_need(p != MAP_FAILED, "mmap");
    return p;
}

/* A barrier in such memory, for n threads of any of these processes. */
static inline void stage_barrier(pthread_barrier_t *b, unsigned n) {
    pthread_barrierattr_t shared;
    stage_need(pthread_barrierattr_init(&shared) == 0 &&
                   pthread_barrierattr_setpshared(
                       &shared, PTHREAD_PROCESS_SHARED) == 0 &&
                   pthread_barrier_init(b, &shared, n) == 0,
               "pthread_barrier_init");
    pthread_barrierattr_destroy(&shared);
}

/* *highest becomes n, unless it is higher. */
static inline void stage_raise(atomic_int *highest, int n) {
    int seen = atomic_load(highest);
    while (n > seen && !atomic_compare_exchange_weak(highest, &seen, n))
        ;
}

/* ---- processes --------------------------------------------------------- */

/* Runs fn(arg) in a process of its own, which ends with this one. */
static inline pid_t stage_start(int (*fn)(void *arg), void *arg) {
    fflush(NULL); /* or the child would print it again */
    pid_t pid = fork();
    stage_need(pid >= 0, "fork");
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    exit(fn(arg));
}

/* True: it returned 0. */
static inline bool stage_ended_well(pid_t pid) {
    int status;
    while (waitpid(pid, &status, 0) < 0)
        stage_need(errno == EINTR, "waitpid");
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* kill -9, and it is gone when this returns. */
static inline void stage_kill(pid_t pid) {
    kill(pid, SIGKILL);
    stage_ended_well(pid);
}

/* SIGSTOP, and it stands still when this returns. */
static inline void stage_stop(pid_t pid) {
    int status;
    kill(pid, SIGSTOP);
    stage_need(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status),
               "waitpid");
}

/* ---- pipes ------------------------------------------------------------- */

/* A gate opens when everybody who was started behind it has come, and whoever
 * made it has opened it: a pipe that ends when nobody can write to it. */
typedef struct stage_gate {
    int ends[2];
} stage_gate;

static inline void stage_gate_make(stage_gate *g) {
    stage_need(pipe2(g->ends, O_CLOEXEC) == 0, "pipe");
}

static inline void stage_gate_wait(const stage_gate *g) {
    char byte;
    close(g->ends[1]);
    stage_need(read(g->ends[0], &byte, 1) == 0, "gate");
    close(g->ends[0]);
}

static inline void stage_gate_open(const stage_gate *g) {
    close(g->ends[0]);
    close(g->ends[1]);
}

/* A message, whole or not at all: it is smaller than PIPE_BUF. */
static inline void stage_tell(int fd, const void *message, size_t size) {
    stage_need(write(fd, message, size) == (ssize_t)size, "write");
}

/* The next message; false: none came within wait_ms. */
static inline bool stage_hear(int fd, void *message, size_t size, int wait_ms) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, wait_ms) == 1 &&
           read(fd, message, size) == (ssize_t)size;
}

#endif
