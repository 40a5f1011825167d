/* SPDX-License-Identifier: MIT
 *
 * server.c - a private redis-server for a benchmark. */
#include "server.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bench_server server;

static void server_stop(void) {
    char path[128];

    kill(server.pid, SIGKILL);
    waitpid(server.pid, NULL, 0);
    unlink(server.socket);
    snprintf(path, sizeof path, "%s/log", server.dir);
    unlink(path);
    rmdir(server.dir);
}

static void run(pid_t parent) {
    char port[16], log[128];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    setsid();
    snprintf(port, sizeof port, "%d", server.port);
    snprintf(log, sizeof log, "%s/log", server.dir);
    execlp("redis-server", "redis-server", "--port", port, "--bind",
           "127.0.0.1", "--unixsocket", server.socket, "--dir", server.dir,
           "--logfile", log, "--save", "", "--maxclients", "2000", NULL);
    _exit(127);
}

static bool answers(void) {
    redisContext *rc = redisConnect("127.0.0.1", server.port);
    redisReply *reply = rc && !rc->err ? redisCommand(rc, "PING") : NULL;
    bool yes = reply && reply->type == REDIS_REPLY_STATUS;

    if (reply)
        freeReplyObject(reply);
    if (rc)
        redisFree(rc);
    return yes;
}

static void die(const char *what, const char *why) {
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

const bench_server *server_start(void) {
    pid_t parent = getpid();

    server.port = 10000 + parent % 9000;
    snprintf(server.dir, sizeof server.dir, "/tmp/hf-bench-XXXXXX");
    if (!mkdtemp(server.dir))
        die("mkdtemp", strerror(errno));
    snprintf(server.socket, sizeof server.socket, "%s/redis", server.dir);
    server.pid = fork();
    if (server.pid == 0)
        run(parent);
    atexit(server_stop);
    for (int i = 0; i < 500 && !answers(); i++)
        usleep(10000);
    if (!answers())
        die("redis-server", "does not start; is it installed?");
    return &server;
}

double server_ticks(const bench_server *of) {
    char path[64], text[1024];
    unsigned long user = 0, kernel = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)of->pid);
    f = fopen(path, "r");
    if (f && fgets(text, sizeof text, f))
        sscanf(strrchr(text, ')') + 2,
               "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
               &kernel);
    if (f)
        fclose(f);
    return (double)(user + kernel);
}
