/* SPDX-License-Identifier: MIT
 *
 * server.c - private redis-servers for a benchmark. */
#include "server.h"

#include <dirent.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGS_MAX = 48, FIRST_PORT = 10000, PORTS = 9000 };

static bench_server servers[SERVERS_MAX];
static pid_t owner; /* who started them */

static void die(const char *what, const char *why) {
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

/* ---- the end ----------------------------------------------------------- */

static void remove_dir(const char *path) {
    DIR *dir = opendir(path);
    char file[384];

    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        unlink(file); /* "." and ".." refuse */
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

void server_stop(const bench_server *server) {
    bench_server *s = &servers[server - servers];

    if (s->pid <= 0)
        return;
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
    s->pid = 0;
    remove_dir(s->dir);
}

/* A child that exits stops none of its parent's. */
static void stop_all(void) {
    for (int i = 0; i < SERVERS_MAX && owner == getpid(); i++)
        server_stop(&servers[i]);
}

/* ---- the beginning ----------------------------------------------------- */

static bool is_free(int port) {
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    bool yes;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    yes = bind(fd, (struct sockaddr *)&at, sizeof at) == 0;
    close(fd);
    return yes;
}

static int free_port(void) {
    static int next;

    if (!next)
        next = getpid() * 7;
    for (int i = 0; i < PORTS; i++) {
        int port = FIRST_PORT + next++ % PORTS;

        if (is_free(port) && is_free(port + 10000))
            return port;
    }
    die("ports", "none is free");
    return 0;
}

static void run(const char *const *argv, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    setsid();
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

static bool answers(const bench_server *s) {
    redisContext *rc = redisConnect("127.0.0.1", s->port);
    redisReply *reply = rc && !rc->err ? redisCommand(rc, "PING") : NULL;
    bool yes = reply && reply->type == REDIS_REPLY_STATUS;

    if (reply)
        freeReplyObject(reply);
    if (rc)
        redisFree(rc);
    return yes;
}

static void launch(bench_server *s, const char *const *argv) {
    pid_t parent = getpid();

    s->pid = fork();
    if (s->pid == 0)
        run(argv, parent);
    for (int i = 0; i < 500 && !answers(s); i++)
        usleep(10000);
    if (!answers(s))
        die("redis-server", "does not start; is it installed?");
}

/* A place, a port and a folder for one more. */
static bench_server *settle(void) {
    static bool registered;
    bench_server *s = servers;

    while (s < servers + SERVERS_MAX && s->pid)
        s++;
    if (s == servers + SERVERS_MAX)
        die("redis-server", "there are too many");
    if (!registered)
        atexit(stop_all);
    registered = true;
    if (!owner)
        owner = getpid();
    s->port = free_port();
    snprintf(s->dir, sizeof s->dir, "/tmp/hf-bench-XXXXXX");
    if (!mkdtemp(s->dir))
        die("mkdtemp", strerror(errno));
    snprintf(s->socket, sizeof s->socket, "%s/redis", s->dir);
    return s;
}

const bench_server *server_start_with(const char *const *args) {
    bench_server *s = settle();
    char port[16], log[128];
    const char *argv[ARGS_MAX] = {"redis-server",
                                  "--port",
                                  port,
                                  "--bind",
                                  "127.0.0.1",
                                  "--unixsocket",
                                  s->socket,
                                  "--dir",
                                  s->dir,
                                  "--logfile",
                                  log,
                                  "--save",
                                  "",
                                  "--maxclients",
                                  "2000"};
    int n = 15;

    snprintf(port, sizeof port, "%d", s->port);
    snprintf(log, sizeof log, "%s/log", s->dir);
    while (args && *args && n < ARGS_MAX - 1)
        argv[n++] = *args++;
    launch(s, argv);
    return s;
}

const bench_server *server_start(void) {
    return server_start_with(NULL);
}

/* It writes into the file what it learns. */
const bench_server *server_start_sentinel(const bench_server *master) {
    bench_server *s = settle();
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/conf", s->dir);
    f = fopen(path, "w");
    if (!f)
        die(path, strerror(errno));
    fprintf(f,
            "port %d\nbind 127.0.0.1\ndir %s\nlogfile %s/log\n"
            "sentinel monitor bench 127.0.0.1 %d 2\n",
            s->port, s->dir, s->dir, master->port);
    fclose(f);
    launch(s, (const char *const[]){"redis-server", path, "--sentinel", NULL});
    return s;
}
