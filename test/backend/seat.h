/* SPDX-License-Identifier: MIT
 *
 * seat.h - what the tests of the embedded store sit on.
 *
 * A *seat* is a client without a core: the backend, and a host that counts how
 * often it is woken.  Children are forked, and end with the test. */
#ifndef HF_TEST_SEAT_H
#define HF_TEST_SEAT_H

#include "support/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "claim.h"
#include "identity.h"
#include "support/dir.h"
#include "support/process.h"
#include "support/wait.h"
#include "world.h"

extern const hf_backend_ops hf__sqlite_ops;

enum { MINUTE = 60000, SOON = 5000 };

/* ---- seats ------------------------------------------------------------- */

typedef struct seat {
    hf_host host;
    hf_backend *be;
    atomic_int woken;
    pthread_mutex_t mu;
    pthread_cond_t cond;
    hf_error err;
} seat;

static inline void on_woken(void *core, hf_kind kind, const char *name,
                            uint64_t owner) {
    seat *s = core;

    (void)kind, (void)name, (void)owner;
    pthread_mutex_lock(&s->mu);
    s->woken++;
    pthread_cond_broadcast(&s->cond);
    pthread_mutex_unlock(&s->mu);
}

static inline void on_unreleased(void *core, const char *name, int code) {
    (void)core, (void)name, (void)code;
}

static inline int sit(seat *s, const char *path) {
    char text[4096];
    hf_uri *uri = NULL;
    int rc;

    memset(s, 0, sizeof *s);
    pthread_mutex_init(&s->mu, NULL);
    pthread_cond_init(&s->cond, NULL);
    hf__identity_make(&s->host.identity, &(hf_options){.why = "testing"});
    s->host.timeout_ms = 3000;
    s->host.woken = on_woken;
    s->host.unreleased = on_unreleased;
    s->host.core = s;
    snprintf(text, sizeof text, "sqlite:%s", path);
    rc = hf_uri_parse(&uri, text, &s->err);
    if (rc == HF_OK)
        rc = hf__sqlite_ops.open(&s->be, uri, &s->host, hf__after_ms(10000),
                                 &s->err);
    hf_uri_free(uri);
    return rc;
}

static inline void must_sit(seat *s, const char *path) {
    if (sit(s, path) != HF_OK)
        fail_msg("open: %s", s->err.text);
}

static inline void rise(seat *s) {
    hf__sqlite_ops.close(s->be, false);
}

static inline hf_claim claim(const char *name) {
    static atomic_ullong owners;

    return (hf_claim){
        .name = name, .kind = HF_LOCK, .owner = ++owners, .lease_ms = MINUTE};
}

/* The same of another kind; one permit, where it counts. */
static inline hf_claim claim_of(hf_kind kind, const char *name) {
    hf_claim c = claim(name);

    c.kind = kind;
    c.mode = hf__mode(kind);
    c.permits = 1;
    memcpy(c.nonce, &c.owner, sizeof c.owner);
    return c;
}

static inline int attempt(seat *s, hf_claim *c, bool waits) {
    int rc = s->be->ops->attempt(s->be, c, waits, hf__after_ms(10000), &s->err);

    if (rc < 0)
        print_error("attempt: %s\n", s->err.text);
    return rc;
}

static inline int release(seat *s, hf_claim *c, hf_how how) {
    return s->be->ops->release(s->be, c, how, NULL, hf__after_ms(10000),
                               &s->err);
}

static inline int watch(seat *s, const hf_claim *c, bool on) {
    return s->be->ops->watch(s->be, c, on, hf__after_ms(10000), &s->err);
}

static inline int wait_woken(seat *s, int more_than, hf_time by) {
    int rc = 0;

    pthread_mutex_lock(&s->mu);
    while (s->woken <= more_than && rc != ETIMEDOUT)
        rc = hf__world->wait(&s->cond, &s->mu, by);
    rc = s->woken > more_than;
    pthread_mutex_unlock(&s->mu);
    return rc;
}

/* The wait loop of the core in small. */
static inline int acquire(seat *s, hf_claim *c) {
    int rc = attempt(s, c, true);

    if (rc != HF_BUSY)
        return rc;
    rc = watch(s, c, true);
    if (rc != HF_OK)
        return rc;
    for (;;) {
        int woken = s->woken;
        rc = attempt(s, c, true);
        if (rc != HF_BUSY)
            break;
        wait_woken(s, woken, c->ask_again);
    }
    watch(s, c, false);
    return rc;
}

/* Joins the line and listens, as the core does before it sleeps. */
static inline void must_wait(seat *s, hf_claim *c) {
    assert_int_equal(attempt(s, c, true), HF_BUSY);
    assert_int_equal(watch(s, c, true), HF_OK);
    assert_int_equal(attempt(s, c, true), HF_BUSY);
}

static inline void new_path(char *buf, size_t size) {
    hf_test_fresh_path(buf, size, "store");
    assert_int_equal(mkdir(buf, 0700), 0);
    strncat(buf, "/locks.db", size - strlen(buf) - 1);
}

/* ---- children ---------------------------------------------------------- */

typedef void child_fn(const char *path, int out, void *arg);

/* Runs fn in a child; `ret` gets what it writes. */
static inline pid_t start(child_fn *fn, const char *path, void *arg, int *ret) {
    pid_t parent = getpid(), pid;
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            fn(path, ends[1], arg);
        _exit(0);
    }
    close(ends[1]);
    *ret = ends[0];
    return pid;
}

static inline void told(int in, void *buf, size_t size) {
    struct pollfd p = {.fd = in, .events = POLLIN};

    assert_int_equal(poll(&p, 1, HF_TEST_LONG), 1);
    assert_int_equal(read(in, buf, size), size);
}

static inline void tell(int out, const void *buf, size_t size) {
    if (write(out, buf, size) != (ssize_t)size)
        _exit(3);
}

/* Takes `arg` (else "job"), tells the token, and holds it. */
static inline void hold_for_ever(const char *path, int out, void *arg) {
    hf_claim c = claim(arg != NULL ? arg : "job");
    seat s;

    if (sit(&s, path) != HF_OK || acquire(&s, &c) != HF_OK)
        _exit(2);
    tell(out, &c.token, sizeof c.token);
    for (;;)
        pause();
}

/* Joins the line of "job", tells so, and never comes when it is rung. */
static inline void wait_for_ever(const char *path, int out, void *arg) {
    hf_claim c = claim("job");
    seat s;

    (void)arg;
    if (sit(&s, path) != HF_OK || attempt(&s, &c, true) != HF_BUSY)
        _exit(2);
    tell(out, &c.place, sizeof c.place);
    for (;;)
        pause();
}

static inline pid_t start_holder(const char *path, uint64_t *token) {
    int in;
    pid_t pid = start(hold_for_ever, path, NULL, &in);

    told(in, token, sizeof *token);
    close(in);
    return pid;
}

static inline pid_t start_waiter(const char *path) {
    uint64_t ticket;
    int in;
    pid_t pid = start(wait_for_ever, path, NULL, &in);

    told(in, &ticket, sizeof ticket);
    close(in);
    return pid;
}

/* ---- looking into the file --------------------------------------------- */

static inline int64_t sql(const char *path, const char *text) {
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    int64_t ret = -1;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_busy_timeout(db, 5000);
    assert_int_equal(sqlite3_prepare_v2(db, text, -1, &st, NULL), SQLITE_OK);
    if (sqlite3_step(st) == SQLITE_ROW)
        ret = sqlite3_column_int64(st, 0);
    assert_int_equal(sqlite3_finalize(st), SQLITE_OK);
    sqlite3_close(db);
    return ret;
}

static inline mode_t mode_of(const char *path, const char *suffix) {
    char full[4096];
    struct stat st;

    snprintf(full, sizeof full, "%s%s", path, suffix);
    assert_int_equal(lstat(full, &st), 0);
    return st.st_mode & 07777;
}

static inline bool socket_exists(const char *path, const char *client) {
    char full[4096];

    snprintf(full, sizeof full, "%s.d/%s.sock", path, client);
    return access(full, F_OK) == 0;
}

#endif
