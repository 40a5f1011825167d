/* SPDX-License-Identifier: MIT
 *
 * kin.c - a process and its descendants, read from /proc. */
#include "kin.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DEEPEST = 64 };

typedef void number_fn(void *arg, int number);

/* A number at *text, which is moved behind it; -1: there is none. */
static int read_number(const char **text) {
    int n = 0;
    if (**text < '0' || **text > '9')
        return -1;
    for (; **text >= '0' && **text <= '9'; ++*text)
        n = n * 10 + (**text - '0');
    return n;
}

/* Not readdir: it takes memory, and another thread may have held the
 * allocator's lock when this process was copied. */
static void each_entry(const char *path, number_fn *fn, void *arg) {
    char buf[4096] __attribute__((aligned(8)));
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long n;
    if (fd < 0)
        return;
    while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
        for (long at = 0; at < n;) {
            const struct dirent64 *entry = (const void *)(buf + at);
            const char *name = entry->d_name;
            int number = read_number(&name);
            if (number >= 0)
                fn(arg, number);
            at += entry->d_reclen;
        }
    close(fd);
}

/* snprintf may take memory, this does not: "/proc/", n, tail. */
static char *put(char *to, const char *text) {
    while (*text)
        *to++ = *text++;
    *to = '\0';
    return to;
}

static char *put_number(char *to, int n) {
    char digits[12];
    int count = 0;
    do
        digits[count++] = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    while (count > 0)
        *to++ = digits[--count];
    *to = '\0';
    return to;
}

typedef struct visit {
    pid_t pid;
    int sig, depth;
} visit;

static void signal_tree(pid_t pid, int sig, int depth);

/* The children that one thread of v->pid has made. */
static void signal_children(void *arg, int thread) {
    const visit *v = arg;
    char path[80], list[4096];
    const char *next = list;
    ssize_t n;
    int fd, child;
    char *end = put_number(put(path, "/proc/"), v->pid);
    put(put_number(put(end, "/task/"), thread), "/children");
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, list, sizeof(list) - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return;
    list[n] = '\0';
    while ((child = read_number(&next)) > 0) {
        signal_tree(child, v->sig, v->depth + 1);
        next += *next == ' ';
    }
}

/* The children are found before the parent is signalled: once it is dead they
 * are nobody's. */
static void signal_tree(pid_t pid, int sig, int depth) {
    visit v = {pid, sig, depth};
    char path[80];
    if (depth > DEEPEST)
        return;
    put(put_number(put(path, "/proc/"), pid), "/task");
    each_entry(path, signal_children, &v);
    kill(pid, sig);
}

void kin_signal(pid_t pid, int sig) {
    signal_tree(pid, sig, 0);
}
