/* SPDX-License-Identifier: MIT
 *
 * etcd_bench.c - holdfast on etcd beside bare gRPC and etcd's Go client, and
 * `holdfast run` beside `etcdctl lock`.
 *
 *     etcd_bench [--go FOLDER] [--command HOLDFAST] [--results FILE]
 *                [--rounds N] [--cell MS] [--quick]
 *
 * FOLDER is what etcd/build.sh made; without it that side is left out. */
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <holdfast.h>

#include "etcd_bare.h"
#include "figures.h"
#include "rivals.h"
#include "server.h"

enum { RUNS = 61 };

static rival go_client(const char *folder) {
    static char path[600], log[600];
    const char *why = rivals_why(folder);

    if (why)
        return (rival){.name = "Go", .why = why};
    snprintf(path, sizeof path, "%s/worker", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    return (rival){.name = "Go", .argv = {path}, .log = log};
}

/* ---- the commands ------------------------------------------------------ */

/* From the fork to the end, in ms; negative: it failed. */
static double run(char *const *argv) {
    extern char **environ;
    int64_t began = now_ns();
    posix_spawn_file_actions_t actions;
    int status;
    pid_t pid;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
    status = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (status != 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        return -1;
    return (double)(now_ns() - began) / 1e6;
}

/* They take turns, so that a noisy machine hits both alike. */
static void compare_commands(const char *command, int port) {
    char *ours[] = {(char *)command, "run", "x", "--", "true", NULL};
    char *theirs[] = {"etcdctl", "lock", "y", "true", NULL};
    double a[RUNS], b[RUNS], ratio[RUNS];
    char uri[64];

    snprintf(uri, sizeof uri, "etcd://127.0.0.1:%d", port);
    setenv("HOLDFAST_STORE", uri, 1);
    setenv("ETCDCTL_API", "3", 1);
    setenv("ETCDCTL_ENDPOINTS", strchr(uri, '1'), 1);
    for (int i = 0; i < RUNS; i++) {
        a[i] = run(ours);
        b[i] = run(theirs);
        if (a[i] < 0 || b[i] < 0) {
            printf("\nthe commands: not measured, because %s failed\n",
                   a[i] < 0 ? ours[0] : theirs[0]);
            return;
        }
        ratio[i] = a[i] / b[i];
    }
    printf("\n`holdfast run x -- true`  %6.1f ms\n`etcdctl lock y true`     "
           "%6.1f ms  ratio %.2f  goal 1  %s\n",
           median(a, RUNS), median(b, RUNS), median(ratio, RUNS),
           median(ratio, RUNS) <= 1 ? "ok" : "MISSED");
}

int main(int argc, char **argv) {
    const char *command = rivals_option(argc, argv, "--command");
    const bench_server *server;
    char uri[64];

    if (argc == 2 && strcmp(argv[1], "--worker") == 0)
        return worker_main();
    rivals_options(argc, argv);
    server = server_start_etcd();
    if (!server) {
        printf("etcd: not measured, because no server starts\n");
        return 0;
    }
    snprintf(uri, sizeof uri, "etcd://127.0.0.1:%d", server->port);
    rivals_run(&(contest){
        .store = "etcd",
        .version = server_etcd_version(server),
        .uri = uri,
        .dir = server->dir,
        .bare = &etcd_calls,
        .rivals = {{.name = "holdfast", .argv = {"/proc/self/exe", "--worker"}},
                   go_client(rivals_option(argc, argv, "--go"))},
        .n = 2});
    if (command)
        compare_commands(command, server->port);
    return 0;
}
