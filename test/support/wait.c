/* SPDX-License-Identifier: MIT
 *
 * wait.c - the clock of the tests, and what /proc says about ourselves. */
#include "wait.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t hf_test_now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void hf_test_breathe(void) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

void hf_test_body(void **state) {
    CMUnitTestFunction body = (CMUnitTestFunction)*state;
    *state = NULL;
    body(state);
}

/* How often the thread has gone to sleep so far, if it sleeps; else 0. */
static long sleeps(pid_t tid) {
    char path[64], line[128];
    bool asleep = false;
    long times = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)tid);
    FILE *f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        asleep = asleep || strncmp(line, "State:\tS", 8) == 0;
        if (strncmp(line, "voluntary_ctxt_switches:", 24) == 0)
            times = atol(line + 24);
    }
    if (f != NULL)
        fclose(f);
    return asleep ? times : 0;
}

/* Sanitizers make everybody stop for longer on his way. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { CALM_MS = 6 };
#else
enum { CALM_MS = 2 };
#endif

bool hf_test_asleep(pid_t tid) {
    long before = tid != 0 ? sleeps(tid) : 0;
    if (before == 0)
        return false;
    for (int i = 0; i < CALM_MS; i++)
        hf_test_breathe();
    return sleeps(tid) == before;
}

static int entries(const char *path) {
    int n = 0;
    DIR *dir = opendir(path);
    if (dir == NULL)
        return -1;
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

int hf_test_descriptors(void) {
    return entries("/proc/self/fd");
}

int hf_test_threads(void) {
    return entries("/proc/self/task");
}

bool hf_test_installed(const char *program) {
    char *path = strdup(getenv("PATH") != NULL ? getenv("PATH") : "/usr/bin");
    bool found = false;
    for (char *rest = path, *dir; !found && (dir = strsep(&rest, ":"));) {
        char full[512];
        snprintf(full, sizeof full, "%s/%s", dir, program);
        found = access(full, X_OK) == 0;
    }
    free(path);
    return found;
}
