/* SPDX-License-Identifier: MIT
 *
 * etcdctl.c - a process for every question. */
#include "etcdctl.h"

#include "process.h"
#include "wait.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 24 };

static char printed[1 << 16];

static void run(char *const argv[]) {
    int out[2], status;
    size_t n = 0;
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    setenv("ETCDCTL_API", "3", 1);
    pid_t pid = hf_test_spawn(argv, -1, out[1], out[1]);
    close(out[1]);
    for (ssize_t got;
         n < sizeof printed - 1 &&
         (got = read(out[0], printed + n, sizeof printed - 1 - n)) > 0;)
        n += (size_t)got;
    printed[n] = '\0';
    close(out[0]);
    waitpid(pid, &status, 0);
}

const char *hf_test_etcdctl(int port, const char *format, ...) {
    char endpoint[64], line[2048], *at = line;
    char *argv[WORDS + 4] = {"etcdctl", endpoint};
    int n = 2;
    va_list ap;
    va_start(ap, format);
    vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    snprintf(endpoint, sizeof endpoint, "--endpoints=127.0.0.1:%d", port);
    for (char *word; n < WORDS && (word = strsep(&at, " ")) != NULL;)
        argv[n++] = word;
    assert_null(at);
    run(argv);
    return printed;
}

/* The command puts an empty line behind every key. */
const char *hf_test_etcd_keys(int port, const char *prefix) {
    hf_test_etcdctl(port, "get --prefix --keys-only %s", prefix);
    size_t kept = 0;
    for (size_t i = 0; printed[i] != '\0'; i++)
        if (printed[i] != '\n' || (kept > 0 && printed[kept - 1] != '\n'))
            printed[kept++] = printed[i];
    printed[kept] = '\0';
    return printed;
}

int hf_test_etcd_count(int port, const char *prefix) {
    int n = 0;
    for (const char *p = hf_test_etcd_keys(port, prefix); *p != '\0'; p++)
        n += *p == '\n';
    return n;
}

int64_t hf_test_etcd_fact(int port, const char *key, const char *what) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\" : ", what);
    hf_test_etcdctl(port, "get -w fields %s", key);
    const char *at = strstr(printed, quoted);
    return at != NULL ? atoll(at + strlen(quoted)) : -1;
}
