/* SPDX-License-Identifier: MIT
 *
 * demo_server.c - private Redis servers for a demonstration. */
#include "demo_server.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "moment.h"
#include "status.h"

enum { WORDS = 32, TRIES = 8, ANSWER_MS = 10000, PAUSE_MS = 10 };

/* ---- programs ---------------------------------------------------------- */

static bool is_installed(const char *program) {
    const char *path = getenv("PATH");
    char file[512];
    for (; path && *path; path += strspn(path, ":")) {
        int n = (int)strcspn(path, ":");
        snprintf(file, sizeof(file), "%.*s/%s", n, path, program);
        if (access(file, X_OK) == 0)
            return true;
        path += n;
    }
    return false;
}

int demo_server_needs(void) {
    static const char *const programs[][2] = {{"redis-server", "redis-server"},
                                              {"redis-cli", "redis-tools"}};
    int status = 0;
    for (int i = 0; i < 2; i++) {
        if (is_installed(programs[i][0]))
            continue;
        complain("%s is not installed; on Debian: apt install %s",
                 programs[i][0], programs[i][1]);
        status = EXIT_UNAVAILABLE;
    }
    return status;
}

typedef struct program {
    const char *words[WORDS];
    const char *log; /* where its output goes, a file; NULL: to `out`       */
    int out;
} program;

static int execute(void *arg) {
    program *p = arg;
    int in = open("/dev/null", O_RDONLY), out = p->out;
    if (p->log)
        out = open(p->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 ||
        dup2(out, 2) < 0)
        return 127;
    execvp(p->words[0], (char **)p->words);
    return 127;
}

/* ---- asking ------------------------------------------------------------ */

/* Everything until the end, or until it has taken too long. */
static void read_reply(int fd, reply r) {
    int64_t by = moment_now() + ANSWER_MS;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    size_t len = 0;
    ssize_t n = 1;
    while (n > 0 && len < REPLY_SIZE - 1 && poll(&p, 1, moment_timeout(by)) > 0)
        if ((n = read(fd, r + len, REPLY_SIZE - 1 - len)) > 0)
            len += (size_t)n;
    while (len > 0 && r[len - 1] == '\n')
        len--;
    r[len] = '\0';
}

void demo_server_ask(const demo_server *s, reply r, ...) {
    char port[16];
    program p = {.words = {"redis-cli", "-h", "127.0.0.1", "-p", port}};
    int fds[2], n = 5;
    va_list words;
    pid_t pid;
    r[0] = '\0';
    snprintf(port, sizeof(port), "%d", s->port);
    va_start(words, r);
    while (n < WORDS - 1 && (p.words[n] = va_arg(words, const char *)) != NULL)
        n++;
    va_end(words);
    if (pipe2(fds, O_CLOEXEC) != 0)
        return;
    p.out = fds[1];
    pid = demo_fork(execute, &p);
    close(fds[1]);
    read_reply(fds[0], r);
    close(fds[0]);
    if (pid > 0) {
        kill(pid, SIGKILL); /* it has ended, or it hangs */
        waitpid(pid, NULL, 0);
    }
}

/* ---- starting and stopping --------------------------------------------- */

static bool is_free(int port) {
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    bool ok;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    ok = bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0;
    close(fd);
    return ok;
}

/* Below the range from which the kernel takes ports by itself, so that nobody
 * sits on ours when the server comes back. */
static int free_port(void) {
    static unsigned next;
    if (next == 0)
        next = (unsigned)getpid() * 7;
    for (int i = 0; i < 20000; i++) {
        int port = 12000 + (int)(next++ % 20000);
        if (is_free(port))
            return port;
    }
    return 0;
}

static void launch(demo_server *s) {
    char port[16], of[32], log[300];
    program p = {.words = {"redis-server", "--port", port, "--bind",
                           "127.0.0.1", "--dir", s->folder, "--save", "",
                           "--appendonly", "no", "--repl-diskless-sync-delay",
                           "0", s->master ? "--replicaof" : NULL, of},
                 .log = log};
    snprintf(port, sizeof(port), "%d", s->port);
    snprintf(of, sizeof(of), "127.0.0.1 %d", s->master);
    snprintf(log, sizeof(log), "%s/log", s->folder);
    s->pid = demo_fork(execute, &p);
}

/* False: it ended instead, or does not answer. */
static bool becomes_ready(demo_server *s) {
    int64_t by = moment_now() + ANSWER_MS;
    reply r;
    while (s->pid > 0 && moment_now() < by) {
        demo_server_ask(s, r, "PING", NULL);
        if (strcmp(r, "PONG") == 0)
            return true;
        if (waitpid(s->pid, NULL, WNOHANG) == s->pid)
            s->pid = 0;
        poll(NULL, 0, PAUSE_MS);
    }
    demo_server_kill(s);
    return false;
}

bool demo_server_start(demo_server *s, const demo *d, const char *name,
                       const demo_server *master) {
    demo_path(d, name, s->folder, sizeof(s->folder));
    s->master = master ? master->port : 0;
    if (mkdir(s->folder, 0700) != 0)
        return false;
    /* Somebody else may take the port before the server does. */
    for (int i = 0; i < TRIES; i++) {
        s->port = free_port();
        launch(s);
        if (becomes_ready(s))
            return true;
    }
    complain("redis-server does not start");
    return false;
}

void demo_server_kill(demo_server *s) {
    if (s->pid <= 0)
        return;
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
    s->pid = 0;
}

bool demo_server_restart(demo_server *s) {
    launch(s);
    return becomes_ready(s);
}
