/* SPDX-License-Identifier: MIT
 *
 * start_bench.c HOLDFAST - what `holdfast run x -- true` costs beside
 * `flock x true`, from the fork to the end.
 *
 * They take turns, so that a noisy machine hits both alike; the medians are
 * compared.  The store is a file in a folder of its own. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "figures.h"

enum { ROUNDS = 301 };

#define GOAL 4.0

static double run(char *const *argv) {
    extern char **environ;
    int64_t began = now_ns();
    int status;
    pid_t pid;

    if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) != 0 ||
        waitpid(pid, &status, 0) < 0 || status != 0) {
        fprintf(stderr, "start_bench: %s failed\n", argv[0]);
        exit(1);
    }
    return (double)(now_ns() - began) / 1e6;
}

int main(int argc, char **argv) {
    char dir[] = "/tmp/holdfast-bench-XXXXXX", store[64], file[64], side[80];
    char *ours[] = {argv[1], "run", "x", "--", "true", NULL};
    char *theirs[] = {"flock", file, "true", NULL};
    double a[ROUNDS], b[ROUNDS], ratio;
    static const char *const left[] = {
        "/s/h.db", "/s/h.db-wal", "/s/h.db-shm", "/s/h.db.d", "/s", "/x"};

    if (argc != 2 || !mkdtemp(dir)) {
        fprintf(stderr, "usage: start_bench PATH-OF-HOLDFAST\n");
        return 64;
    }
    snprintf(store, sizeof store, "sqlite:%s/s/h.db", dir);
    snprintf(file, sizeof file, "%s/x", dir);
    setenv("HOLDFAST_STORE", store, 1);
    run(ours);
    run(theirs);
    for (int i = 0; i < ROUNDS; i++) {
        a[i] = run(ours);
        b[i] = run(theirs);
    }
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        snprintf(side, sizeof side, "%s%s", dir, left[i]);
        remove(side);
    }
    rmdir(dir);
    ratio = median(a, ROUNDS) / median(b, ROUNDS);
    printf("start of the command, embedded store (medians of %d)\n", ROUNDS);
    printf("  %-34s %8.2f ms\n", "flock x true", median(b, ROUNDS));
    printf("  %-34s %8.2f ms\n", "holdfast run x -- true", median(a, ROUNDS));
    printf("  %-34s %8.2f    goal <= %.1f  %s\n", "ratio", ratio, GOAL,
           ratio <= GOAL ? "met" : "NOT MET");
    return 0;
}
