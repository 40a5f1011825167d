/* SPDX-License-Identifier: MIT
 *
 * lender.c - a folder with a file for each set: its address, its ports, and a
 * lock that whoever borrows it holds.
 *
 * The kernel takes that lock away with the process, so that a test that was
 * killed keeps nothing; the next one empties what it left. */
#include "lender.h"

#include "wait.h"

#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SETS_MAX = 8, WAIT_MS = 50000 };

/* To add a sort: a line here. */
static const hf_test_sort *const sorts[] = {
    &hf_test_cluster_sort, &hf_test_sentinel_sort, &hf_test_zookeeper_sort,
    &hf_test_etcd_sort,    &hf_test_postgres_sort, &hf_test_mariadb_sort};

/* ---- the folder -------------------------------------------------------- */

static void path_of(char path[160], const char *sort, const char *file) {
    const char *base = getenv("HF_TEST_DIR");
    snprintf(path, 160, "%.100s/lent-%s%s%s", base != NULL ? base : "/tmp",
             sort, *file != '\0' ? "/" : "", file);
}

static void path_of_set(char path[160], const char *sort, int i) {
    char file[16];
    snprintf(file, sizeof file, "%d", i);
    path_of(path, sort, file);
}

/* A whole file at once: nobody reads half of it. */
static bool write_file(const char *path, const char *text) {
    char draft[176];
    snprintf(draft, sizeof draft, "%s.new", path);
    FILE *f = fopen(draft, "we");
    if (f == NULL)
        return false;
    fputs(text, f);
    return fclose(f) == 0 && rename(draft, path) == 0;
}

static bool write_set(const char *path, const hf_test_set *set) {
    char text[512];
    int at = snprintf(text, sizeof text, "%s\n", set->uri);
    for (int i = 0; i < set->n_ports; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%d\n",
                       set->ports[i]);
    return write_file(path, text);
}

static bool read_set(hf_test_set *set, int fd) {
    char text[512] = "", *at = text;
    if (pread(fd, text, sizeof text - 1, 0) <= 0)
        return false;
    size_t n = strcspn(text, "\n");
    snprintf(set->uri, sizeof set->uri, "%.*s", (int)n, text);
    set->n_ports = 0;
    for (at += n; *at != '\0' && set->n_ports < HF_TEST_SET_MAX;) {
        int port = (int)strtol(at, &at, 10);
        at += strspn(at, "\n");
        if (port > 0)
            set->ports[set->n_ports++] = port;
    }
    return set->n_ports > 0;
}

/* ---- borrowing --------------------------------------------------------- */

static hf_test_set borrowed;
static int borrowed_fd = -1;
static const hf_test_sort *own_sort; /* of what was started for us alone */
static void *own;

static bool flush_one(int port) {
    redisContext *c = redisConnect("127.0.0.1", port);
    bool ok = c != NULL && c->err == 0;
    const char *const commands[] = {"FLUSHALL", "SCRIPT FLUSH"};
    for (int i = 0; ok && i < 2; i++) {
        redisReply *reply = redisCommand(c, commands[i]);
        ok = reply != NULL && reply->type == REDIS_REPLY_STATUS;
        freeReplyObject(reply);
    }
    if (c != NULL)
        redisFree(c);
    return ok;
}

bool hf_test_flush(const hf_test_set *set, int n) {
    for (int i = 0; i < n; i++)
        if (!flush_one(set->ports[i]))
            return false;
    return true;
}

/* Tries one; a set that is not fit is passed over by everybody. */
static bool borrow_one(const hf_test_sort *sort, int i, bool *exists) {
    char path[160];
    path_of_set(path, sort->name, i);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    *exists = true;
    int how = sort->shared ? LOCK_SH : LOCK_EX;
    if (flock(fd, how | LOCK_NB) == 0 && read_set(&borrowed, fd) &&
        sort->empty(&borrowed)) {
        borrowed_fd = fd;
        return true;
    }
    close(fd);
    return false;
}

static bool borrow(const hf_test_sort *sort) {
    int64_t by = hf_test_now_ms() + WAIT_MS;
    bool exists;
    do {
        exists = false;
        for (int i = 0; i < SETS_MAX; i++)
            if (borrow_one(sort, i, &exists))
                return true;
        hf_test_breathe();
    } while (exists && hf_test_now_ms() < by);
    return false;
}

const hf_test_set *hf_test_borrow(const hf_test_sort *sort) {
    hf_test_give_back();
    if (borrow(sort))
        return &borrowed;
    own = sort->start(&borrowed);
    own_sort = sort;
    sort->await(own);
    return &borrowed;
}

void hf_test_give_back(void) {
    if (borrowed_fd >= 0)
        close(borrowed_fd);
    borrowed_fd = -1;
    if (own_sort != NULL)
        own_sort->stop(own);
    own_sort = NULL;
}

const char *hf_test_redis_missing(void) {
    return hf_test_installed("redis-server") ? NULL :
                                               "redis-server is not installed";
}

/* ---- lending ----------------------------------------------------------- */

const hf_test_sort *hf_test_sort_of(const char *name) {
    for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++)
        if (strcmp(sorts[i]->name, name) == 0)
            return sorts[i];
    return NULL;
}

static volatile sig_atomic_t told;

static void on_term(int signal) {
    (void)signal;
    told = 1;
}

/* Until somebody says so, or the one who wanted it is no more. */
static void stay(int until) {
    sigset_t term, before;
    int fd = (int)syscall(SYS_pidfd_open, until, 0);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, &before);
    while (!told && fd >= 0 && ppoll(&p, 1, NULL, &before) <= 0)
        ;
    if (fd >= 0)
        close(fd);
}

static void forget(const char *sort) {
    char path[160];
    for (int i = 0; i < SETS_MAX; i++) {
        path_of_set(path, sort, i);
        unlink(path);
    }
    path_of(path, sort, "pid");
    unlink(path);
}

/* All sets are started before the first is lent: a test may begin then. */
int hf_test_lend(const char *name, int n, int until, int ready) {
    const hf_test_sort *sort = hf_test_sort_of(name);
    hf_test_set sets[SETS_MAX] = {0};
    void *servers[SETS_MAX];
    char path[160], pid[32];
    bool ok = sort != NULL && n > 0 && n <= SETS_MAX;

    signal(SIGTERM, on_term);
    path_of(path, name, "");
    ok = ok && (mkdir(path, 0700) == 0 || errno == EEXIST);
    if (!ok)
        return 1;
    for (int i = 0; i < n; i++)
        servers[i] = sort->start(&sets[i]);
    for (int i = 0; i < n; i++)
        sort->await(servers[i]);
    snprintf(pid, sizeof pid, "%d\n", (int)getpid());
    path_of(path, name, "pid");
    ok = write_file(path, pid);
    for (int i = 0; ok && i < n; i++) {
        path_of_set(path, name, i);
        ok = write_set(path, &sets[i]);
    }
    if (ok && write(ready, "!", 1) == 1) {
        close(ready);
        stay(until);
    }
    forget(name);
    for (int i = 0; i < n; i++)
        sort->stop(servers[i]);
    return ok ? 0 : 1;
}

int hf_test_stop_lending(const char *name) {
    char path[160], text[32] = "";
    int64_t by = hf_test_now_ms() + HF_TEST_LONG;
    path_of(path, name, "pid");
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return 0;
    pid_t pid = fgets(text, sizeof text, f) != NULL ? atoi(text) : 0;
    fclose(f);
    if (pid <= 1 || kill(pid, SIGTERM) != 0)
        return 0;
    while (kill(pid, 0) == 0 && hf_test_now_ms() < by)
        hf_test_breathe();
    return kill(pid, 0) == 0;
}
