/* SPDX-License-Identifier: MIT
 *
 * quorum.c - members that are started together, and their fate. */
#include "quorum.h"

#include "dir.h"
#include "port.h"
#include "process.h"
#include "wait.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

struct hf_test_quorum {
    const hf_test_brand *brand;
    hf_test_quorum_options options;
    int n;
    hf_test_member members[HF_TEST_MEMBERS];
    char uri[256];
};

/* Three JVMs on a busy machine take their time. */
enum { UP_MS = 4 * HF_TEST_LONG };

/* ---- asking by hand ---------------------------------------------------- */

static int dial(int port) {
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = 2};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    close(fd);
    return -1;
}

size_t hf_test_say(int port, const char *words, char *buf, size_t size) {
    size_t at = 0;
    int fd = dial(port);
    if (fd >= 0)
        send(fd, words, strlen(words), MSG_NOSIGNAL);
    while (fd >= 0 && at < size - 1) {
        ssize_t n = recv(fd, buf + at, size - 1 - at, 0);
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    buf[at] = '\0';
    return at;
}

/* ---- starting ---------------------------------------------------------- */

void hf_test_arg(hf_test_args *a, const char *format, ...) {
    va_list ap;
    assert_true(a->n < HF_TEST_ARGS);
    va_start(ap, format);
    assert_true(vasprintf(&a->v[a->n], format, ap) >= 0);
    va_end(ap);
    a->v[++a->n] = NULL;
}

static void launch(hf_test_quorum *q, hf_test_member *m) {
    char path[128];
    hf_test_args a = {.n = 0};
    q->brand->command(q, m, &a);
    snprintf(path, sizeof path, "%s/log", m->dir);
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    m->pid = hf_test_spawn(a.v, -1, log, log);
    m->paused = false;
    close(log);
    for (int i = 0; i < a.n; i++)
        free(a.v[i]);
    assert_true(m->pid > 1);
}

static void write_uri(hf_test_quorum *q) {
    int at = snprintf(q->uri, sizeof q->uri, "%s%s://", q->brand->scheme,
                      q->options.tls_cert != NULL ? "s" : "");
    for (int i = 0; i < q->n; i++)
        at += snprintf(q->uri + at, sizeof q->uri - (size_t)at,
                       "%s127.0.0.1:%d", i > 0 ? "," : "", q->members[i].port);
}

/* All ports are known before the first member starts: each is told of all. */
hf_test_quorum *hf_test_quorum_launch(const hf_test_brand *brand,
                                      const hf_test_quorum_options *options) {
    const char *missing = brand->missing();
    hf_test_need(missing == NULL, missing);
    hf_test_quorum *q = calloc(1, sizeof *q);
    assert_non_null(q);
    q->brand = brand;
    if (options != NULL)
        q->options = *options;
    q->n = q->options.n != 0 ? q->options.n : 1;
    assert_in_range(q->n, 1, HF_TEST_MEMBERS);
    for (int i = 0; i < q->n; i++) {
        hf_test_member *m = &q->members[i];
        *m = (hf_test_member){
            .i = i,
            .port = hf_test_free_port(),
            .inner = {hf_test_free_port(), hf_test_free_port()}};
        hf_test_fresh_path(m->dir, sizeof m->dir, brand->name);
        assert_int_equal(mkdir(m->dir, 0700), 0);
    }
    for (int i = 0; i < q->n; i++) {
        brand->prepare(q, &q->members[i]);
        launch(q, &q->members[i]);
    }
    write_uri(q);
    return q;
}

/* What it said last: its folder is gone when the test has ended. */
static void show_log(const hf_test_member *m) {
    char path[200], last[2000];
    snprintf(path, sizeof path, "%.190s/log", m->dir);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return;
    if (fseek(f, -(long)sizeof last, SEEK_END) != 0)
        rewind(f);
    fwrite(last, 1, fread(last, 1, sizeof last, f), stderr);
    fclose(f);
}

static void await_member(const hf_test_quorum *q, int i) {
    int64_t by = hf_test_now_ms() + UP_MS;
    while (hf_test_quorum_role(q, i) == HF_TEST_AWAY) {
        if (hf_test_now_ms() > by) {
            show_log(&q->members[i]);
            fail_msg("server %d of %s does not serve", i, q->brand->name);
        }
        hf_test_breathe();
    }
}

void hf_test_quorum_await(hf_test_quorum *q) {
    for (int i = 0; i < q->n; i++)
        await_member(q, i);
    hf_test_quorum_await_leader(q);
}

hf_test_quorum *hf_test_quorum_start(const hf_test_brand *brand,
                                     const hf_test_quorum_options *options) {
    hf_test_quorum *q = hf_test_quorum_launch(brand, options);
    hf_test_quorum_await(q);
    return q;
}

/* ---- their fate -------------------------------------------------------- */

void hf_test_quorum_kill(hf_test_quorum *q, int i) {
    hf_test_kill(q->members[i].pid);
    q->members[i].pid = 0;
    q->members[i].paused = false;
}

void hf_test_quorum_revive(hf_test_quorum *q, int i) {
    if (q->members[i].pid != 0)
        hf_test_quorum_kill(q, i);
    launch(q, &q->members[i]);
}

void hf_test_quorum_restart(hf_test_quorum *q, int i) {
    hf_test_quorum_revive(q, i);
    await_member(q, i);
}

void hf_test_quorum_pause(hf_test_quorum *q, int i) {
    hf_test_pause(q->members[i].pid);
    q->members[i].paused = true;
}

void hf_test_quorum_resume(hf_test_quorum *q, int i) {
    hf_test_resume(q->members[i].pid);
    q->members[i].paused = false;
}

void hf_test_quorum_stop(hf_test_quorum *q) {
    if (q == NULL)
        return;
    for (int i = 0; i < q->n; i++)
        hf_test_quorum_kill(q, i);
    free(q);
}

/* ---- asking about them ------------------------------------------------- */

const hf_test_quorum_options *
hf_test_quorum_options_of(const hf_test_quorum *q) {
    return &q->options;
}

int hf_test_quorum_size(const hf_test_quorum *q) {
    return q->n;
}

const hf_test_member *hf_test_quorum_member(const hf_test_quorum *q, int i) {
    assert_in_range(i, 0, q->n - 1);
    return &q->members[i];
}

int hf_test_quorum_port(const hf_test_quorum *q, int i) {
    return hf_test_quorum_member(q, i)->port;
}

const char *hf_test_quorum_uri(const hf_test_quorum *q) {
    return q->uri;
}

hf_test_role hf_test_quorum_role(const hf_test_quorum *q, int i) {
    const hf_test_member *m = &q->members[i];
    return m->pid > 1 && !m->paused ? q->brand->role(m) : HF_TEST_AWAY;
}

int hf_test_quorum_leader(const hf_test_quorum *q) {
    for (int i = 0; i < q->n; i++)
        if (hf_test_quorum_role(q, i) == HF_TEST_LEADS)
            return i;
    return -1;
}

int hf_test_quorum_await_leader(const hf_test_quorum *q) {
    int leader;
    hf_test_eventually((leader = hf_test_quorum_leader(q)) >= 0, UP_MS);
    return leader;
}

/* ---- to be lent -------------------------------------------------------- */

void hf_test_quorum_borrow(const hf_test_sort *sort, char *uri, size_t size) {
    unsigned long long part = 0;
    const hf_test_set *set = hf_test_borrow(sort);
    assert_int_equal(getrandom(&part, sizeof part, 0), sizeof part);
    snprintf(uri, size, "%s/t-%016llx", set->uri, part);
}

static void *start_set(const hf_test_brand *brand, hf_test_set *ret) {
    hf_test_quorum *q = hf_test_quorum_launch(brand, NULL);
    snprintf(ret->uri, sizeof ret->uri, "%s", q->uri);
    ret->n_ports = 0;
    for (int i = 0; i < q->n; i++)
        ret->ports[ret->n_ports++] = q->members[i].port;
    return q;
}

static void await_set(void *servers) {
    hf_test_quorum_await(servers);
}

static void stop_set(void *servers) {
    hf_test_quorum_stop(servers);
}

/* Many use it at once, each its own part. */
static bool leave_as_it_is(const hf_test_set *set) {
    (void)set;
    return true;
}

static void *start_zookeeper(hf_test_set *ret) {
    return start_set(&hf_test_zookeeper, ret);
}

static void *start_etcd(hf_test_set *ret) {
    return start_set(&hf_test_etcd, ret);
}

static const char *zookeeper_missing(void) {
    return hf_test_zookeeper.missing();
}

static const char *etcd_missing(void) {
    return hf_test_etcd.missing();
}

const hf_test_sort hf_test_zookeeper_sort = {
    .name = "zookeeper",
    .shared = true,
    .missing = zookeeper_missing,
    .start = start_zookeeper,
    .await = await_set,
    .stop = stop_set,
    .empty = leave_as_it_is,
};
const hf_test_sort hf_test_etcd_sort = {
    .name = "etcd",
    .shared = true,
    .missing = etcd_missing,
    .start = start_etcd,
    .await = await_set,
    .stop = stop_set,
    .empty = leave_as_it_is,
};
